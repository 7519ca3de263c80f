"""States that come in: coordinates that no row holds are checked at every door."""

import inspect

import numpy as np
import pytest
from recipes import FORMS, FORMULATIONS
from scenes import hinged, with_body

import mbd
from mbd.formulations import NAMES

UNHELD = ["so3", "se3", "unified", "unified tetrahedral", "unified own points",
          "so3 cayley", "se3 cayley"]  # fmt: skip
HELD = sorted({*NAMES, *FORMS} - {*UNHELD, "breathing rates", "breathing u"})
SHORT = {"t_end": 2e-3, "step": 1e-3}


def held_body(name):
    """A body at rest on a bushing."""
    system, rod = with_body("rod", inertia=(0.1, 0.2, 0.25), formulation=FORMS.get(name, name))
    stiffness = np.full(6, 100.0)
    system.add(mbd.Bushing("bush", system.ground, rod, at=(0, 0, 0), stiffness=stiffness))
    return system.build()


def driven_body(name):
    """A body on a hinge that a drive holds."""
    system, _rod, hinge = hinged(
        "rod", "hinge", axis="y", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.25),
        formulation=FORMS.get(name, name), position=(0, 0, 0),
    )  # fmt: skip
    system.add(mbd.Drive("drive", hinge, position=0.0))
    return system.build()


def of_length(model, length):
    """Return the initial state with the quaternion of its body of another length."""
    q = model.state.q.copy()
    q[3:7] *= length
    return model.state.replace(q=q)


def by_method(method):
    return lambda model, state: mbd.simulate(model, **SHORT, state=state, method=method)


def event(model, state):
    change = mbd.Event("e", lambda s: s.t - 1e-3, change=lambda _, now: now.replace(q=state.q))
    return mbd.simulate(model, **SHORT, events=change)


def controlled(model, state):
    law = mbd.Controller("c", ["rod.position.x"], ["bush.force"], law=lambda t, y: 0.0)
    return mbd.closed_loop(model, law, **SHORT, state=state)


def speed(solution):
    return float(solution["rod"].velocity[-1, 0])


OBJECTIVE = mbd.Objective(terminal=speed)
MASS = ["rod.mass"]
DOORS = {
    "simulate": by_method(mbd.GeneralizedAlpha()),
    "simulate, Runge-Kutta": by_method(mbd.LieRungeKutta4()),
    "simulate, Radau": by_method(mbd.RadauCollocation()),
    "simulate, explicit": by_method(mbd.ExplicitRungeKutta()),
    "simulate, project": lambda m, s: mbd.simulate(m, **SHORT, state=s, project=True),
    "simulate, rtol": lambda m, s: mbd.simulate(m, 2e-3, rtol=1e-6, state=s),
    "Event": event,
    "Stepper": lambda m, s: mbd.Stepper(m, 1e-3, state=s),
    "Stepper.reset": lambda m, s: mbd.Stepper(m, 1e-3).reset(s),
    "closed_loop": controlled,
    "consistent": mbd.consistent,
    "consistent, project": lambda m, s: mbd.consistent(m, s, project=True),
    "assemble_pose": lambda m, s: mbd.assemble_pose(m, state=s),
    "target_errors": lambda m, s: mbd.target_errors(m, s, {"rod.position": (0, 0, 0)}),
    "Model.assemble": lambda m, s: m.assemble(s),
    "Model.report": lambda m, s: m.report(s),
    "linearize": lambda m, s: mbd.linearize(m, state=s),
    "modes": mbd.modes,
    "buckling": mbd.buckling,
    "coleman": lambda m, s: mbd.coleman(m, s, rotor="rod", blades=["rod"] * 3, speed=1.0),
    "floquet": lambda m, s: mbd.floquet(m, s, rotor="rod", speed=1.0),
    "periodic": lambda m, s: mbd.periodic(m, s, period=0.1),
    "steady_rotation": lambda m, s: mbd.steady_rotation(m, s, rotor="rod", speed=1.0),
    "equilibrium": mbd.equilibrium,
    "inverse_dynamics": lambda m, s: mbd.inverse_dynamics(m, [0.0], state=s),
    "joint_space": mbd.joint_space,
    "check_tangents": lambda m, s: mbd.check_tangents(m, state=s),
    "sensitivities": lambda m, s: mbd.sensitivities(m, MASS, **SHORT, state=s),
    "gradient": lambda m, s: mbd.gradient(OBJECTIVE, m, MASS, **SHORT, state=s),
    "hvp": lambda m, s: mbd.hvp(OBJECTIVE, m, MASS, [1.0], **SHORT, state=s),
}
NAMED = ("rod", "must be finite", "the mass matrix is singular")
RUN = ("simulate", "simulate, Radau", "simulate, project", "Stepper", "consistent")


def test_every_function_that_takes_a_state_is_a_door():
    functions = {name: getattr(mbd, name) for name in dir(mbd)}
    takes = {
        name
        for name, x in functions.items()
        if inspect.isfunction(x) and "state" in inspect.signature(x).parameters
    }
    assert takes <= DOORS.keys()


def test_what_no_row_holds_is_declared():
    """Of a quaternion one number is too many: a row of the body's own holds it, or the door."""
    rigid = {n: f for n, f in FORMULATIONS.items() if f.rigid and f.axes and not f.own_rows}
    assert rigid
    assert all(f.quaternion is not None for f in rigid.values())
    for name in UNHELD:
        assert held_body(name).quaternions.tolist() == [[3, 4, 5, 6]]
    for name in HELD:
        assert not held_body(name).quaternions.size


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", UNHELD)
def test_a_length_that_is_not_one_is_refused_by_name(name, door):
    model = held_body(name)
    for length in (1.001, 2.0, 0.0):
        errors = (ValueError, mbd.SimulationError)
        with pytest.raises(errors, match=rf"'rod'.*q\[3:7\].*length one.*got {length:g};"):
            DOORS[door](model, of_length(model, length))
    with pytest.raises((ValueError, mbd.SimulationError), match="must be finite"):
        DOORS[door](model, of_length(model, np.nan))


@pytest.mark.parametrize("name", UNHELD)
def test_round_off_of_a_length_is_taken_away(name):
    model = held_body(name)
    for length in (1 + 1e-15, 1 - 1e-14, 1 + 6e-8):
        state = of_length(model, length)
        taken = mbd.consistent(model, state)
        assert abs(np.linalg.norm(taken.q[3:7]) - 1) < 4e-16
        assert mbd.Stepper(model, 1e-3, state=state).first.q[3:7] @ model.state.q[3:7] == 1.0
        assert model.assemble(state).state.q[3:7] @ model.state.q[3:7] == 1.0


def refusal(door, model, state):
    """Return what a door says of a state that it refuses; what it takes is on the rows."""
    try:
        begun = DOORS[door](model, state)
    except ValueError as error:
        return str(error)
    q = {"Stepper": lambda: begun.first.q, "consistent": lambda: begun.q}.get(
        door, lambda: begun.q[0]
    )()
    assert np.abs(q - model.state.q).max() < 1e-14
    return ""


@pytest.mark.parametrize("name", HELD)
def test_rows_hold_the_other_quaternions(name):
    """Off their row they are refused, or moved to it: no run begins off the rows."""
    model = driven_body(name)
    for length in (1 + 1e-15, 1.001, 2.0, 0.0, np.nan):
        state = of_length(model, length)
        for door in RUN:
            words = refusal(door, model, state)
            assert not words or any(x in words for x in NAMED), (door, length, words)
            assert not words or length != 1 + 1e-15
