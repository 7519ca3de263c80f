"""A model with a set-valued law is refused, by part and kind, by all that does not know the law."""

import inspect

import numpy as np
import pytest
from recipes import Raw
from scenes import hinged

import mbd
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Facts
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.runs.methods import METHODS

HARD_FLOOR = Kind("hard floor", 1, 0, (), None, None, set_valued=True)
END = {"t_end": 0.1, "step": 0.01}


def system(floor=True, formulation="so3", mass=1.0):
    """Return a rod on a hinge, above a floor that no kernel of a force can say."""
    system, rod, hinge = hinged(
        mass=mass, inertia=(0.02, 0.1, 0.09), position=(0.7, 0, 0), formulation=formulation
    )
    system.add(mbd.Motor("motor", hinge, 0.0))
    if floor:
        end = Attachment("rod", (1.0, 0.0, 0.0, 0.0))
        system.add(Raw("floor", (rod,), [Element(HARD_FLOOR, [end], ())]))
    return system


def last(of):
    return of["rod"].position[2]


def law(time, angle):
    return 0.0


def refused(table):
    """Raise what rows say that are refused, as all of them must be."""
    assert {row["status"] for row in table.rows} == {"refused"}
    raise ValueError(table.rows[0]["message"])


TWO = {"formulations": ["so3", "directors"], "steps": [0.01], "t_end": 0.1}


def run_of(model):
    """Return a solution of the model, as a method that knows the law would leave it."""
    free = mbd.simulate(system(floor=False), **END)
    return mbd.Solution(model, free.t, free.q, free.v, free.a, free.lam)


# how each public function is asked, with options of a run
ANALYSES = {
    "assemble_pose": mbd.assemble_pose,
    "buckling": mbd.buckling,
    "campbell": lambda model: mbd.campbell(model, [0.0, 1.0]),
    "coleman": lambda model: mbd.coleman(model, rotor="h", blades=["a", "b", "c"], speed=1.0),
    "consistent": mbd.consistent,
    "equilibrium": mbd.equilibrium,
    "fit": lambda model: mbd.fit(
        model, {"t": [0.0, 0.1], "rod.position.z": [0.0, 0.0]}, ["rod.mass"], step=0.01
    ),
    "floquet": lambda model: mbd.floquet(model, rotor="h", speed=1.0),
    "gradient": lambda model: mbd.gradient(
        mbd.Objective(terminal=last), model, ["rod.mass"], **END
    ),
    "hvp": lambda model: mbd.hvp(mbd.Objective(terminal=last), model, ["rod.mass"], [1.0], **END),
    "inverse_dynamics": lambda model: mbd.inverse_dynamics(model, [0.0, 0.1]),
    "joint_space": mbd.joint_space,
    "linearize": mbd.linearize,
    "modes": mbd.modes,
    "periodic": lambda model: mbd.periodic(model, period=0.1),
    "steady_rotation": lambda model: mbd.steady_rotation(model, rotor="h", speed=1.0),
    "optimize": lambda model: mbd.optimize(
        mbd.Objective(terminal=last), model, ["rod.mass"], bounds={"rod.mass": (0.5, 2.0)}, **END
    ),
    "sensitivities": lambda model: mbd.sensitivities(model, ["rod.mass"], **END),
    "share_reactions": lambda model: mbd.share_reactions(run_of(model), {"hinge": (1e7,) * 6}),
    "target_errors": lambda model: mbd.target_errors(model, model.state, {}),
    "unique_reactions": lambda model: mbd.unique_reactions(run_of(model)),
    "Model.assemble": lambda model: model.assemble(),
}  # fmt: skip
RUNS = {
    "simulate": lambda model, method: mbd.simulate(model, **END, method=method),
    "Stepper": lambda model, method: mbd.Stepper(model, 0.01, method=method),
    "closed_loop": lambda model, method: mbd.closed_loop(
        model, mbd.Controller("pd", ["hinge.angle"], ["motor.effort"], law=law, every=0.01),
        **END, method=method,
    ),
    "study": lambda model, method: mbd.study(
        model, {"rod.mass": [1.0, 2.0]}, **END, method=method, outputs=["rod.position"]
    ),
    "compare": lambda model, method: refused(mbd.compare(system, **TWO, method=method)),
    "bench": lambda model, method: refused(mbd.bench(system, **TWO, methods=method)),
    "export_fmu": lambda model, method: mbd.export_fmu(
        model, "unit.fmu", step=0.01, outputs=["rod.position"], method=method
    ),
}  # fmt: skip
# they make no statement on a motion or on forces of a whole model
OTHERS = {"check_formulation", "check_part", "check_tangents", "contacts", "load", "read", "write",
          "read_aerodyn", "read_beamdyn", "read_elastodyn", "read_hawc2", "read_windio",
          "read_matrix", "read_nodes", "sample", "rotation", "parallel_coordinates",
          "sobol_indices", "sum_of_squares",
          "EulerParameters", "InPlane", "S2", "SE3", "SO3", "Scalable", "Unified"}  # fmt: skip


@pytest.mark.parametrize("door", ANALYSES)
def test_an_analysis_refuses_it_by_name(door):
    with pytest.raises(ValueError, match=rf"^{door}: 'floor' has the set-valued law 'hard floor'"):
        ANALYSES[door](system().build())


@pytest.mark.parametrize("method", [*METHODS.values(), lambda: None])
@pytest.mark.parametrize("door", RUNS)
def test_methods_that_do_not_know_it_refuse_it(door, method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = getattr(method, "__name__", "")
    name = name if name in METHODS else "GeneralizedAlpha"
    text = rf"{name}: 'floor' has the set-valued law 'hard floor', which needs a method that decl"
    with pytest.raises(ValueError, match=text):
        RUNS[door](system(), method())
    assert not list(tmp_path.glob("*.fmu"))


@pytest.mark.parametrize(
    "options",
    [{"step": None, "rtol": 1e-6}, {"t_eval": [0.05]}, {"order": 4}, {"every": 2},
     {"events": mbd.Event("low", lambda s: s["rod"].position[:, 2] + 0.3)}],
)  # fmt: skip
def test_options_of_a_run_do_not_open_the_way(options):
    with pytest.raises(ValueError, match="GeneralizedAlpha: 'floor' has the set-valued law"):
        mbd.simulate(system(), **(END | options))


def test_a_member_of_a_study_that_has_one_is_refused():
    """The first members have none: the others fail by name, and the study says so."""
    done = mbd.study(lambda n: system(floor=n > 1), {"n": [1, 2]}, **END, outputs=["rod.position"])
    status, messages = np.array(done["status"]), np.array(done["message"])
    assert status[0] == 0
    assert status[1] != 0
    assert "'floor' has the set-valued law 'hard floor'" in str(messages[1])


def test_every_public_function_is_among_them():
    public = {x for x in mbd.__all__ if inspect.isfunction(getattr(mbd, x))}
    assert public == (set(ANALYSES) | set(RUNS) | OTHERS) - {"Model.assemble", "Stepper"}


def test_what_the_kernels_say_is_checked_as_ever():
    model = system()
    assert mbd.check_tangents(model)
    assert model.build().report() is not None


def test_a_method_that_hands_steps_to_another_does_not_know_it():
    with pytest.raises(ValueError, match="Facts: with set_valued=True divided_by must be left out"):
        Facts(title="mine", orders=(1, 1), set_valued=True, divided_by=GeneralizedAlpha())
