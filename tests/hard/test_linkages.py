"""Random linkages: none is silently wrong, nearly all finish, and what is refused is named.

Families are given by the decades that masses span and by the shape: any, flat (parallel hinges) or
on a line, which is singular. Laws hold for every member, so that no linkage stands for a remedy.
"""

from collections import Counter

import numpy as np
import pytest
from scenes import GRAVITY, hinged
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.linear.saddle import unmet
from mbd.machine import buffer as m
from mbd.model.assembly import assemble
from mbd.model.workspace import Workspace

from .linkages import DECADES, RTOL, SHAPES, judged, linkage

CHUNK, FEW = 100, 4
families = pytest.mark.parametrize(
    "family", [(d, s) for d in DECADES for s in SHAPES], ids=lambda x: f"{x[0]} decades, {x[1]}"
)


def seen(seeds, family=None):
    """Judge linkages; return how many of each outcome, and what must not be."""
    outcomes = [judged(seed, family) for seed in seeds]
    bad = [x for x in outcomes if x.what in ("wrong", "unnamed")]
    return Counter(x.what for x in outcomes), "\n".join(f"{x.seed}: {x.why}" for x in bad)


def test_linkages_span_what_they_shall():
    systems = [linkage(seed) for seed in range(40)]
    assert {len(s.bodies) for s in systems} == {1, 2, 3, 4, 5, 6}
    assert {b.formulation.name.split(" ")[0] for s in systems for b in s.bodies.values()} >= {
        *NAMES
    }
    assert len({type(j) for s in systems for j in s.joints.values()}) >= 12
    ratios = [
        max(b.mass for b in s.bodies.values()) / min(b.mass for b in s.bodies.values())
        for s in systems
    ]
    assert max(ratios) > 1e6
    assert sum(s.build().report().n_redundant > 0 for s in systems[:12]) >= 2


@families
def test_no_linkage_is_silently_wrong(family):
    count, bad = seen(range(FEW), family)
    assert not bad, bad
    assert count["finished"] + count["undecided"] == FEW, count


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, CHUNK))
def test_no_linkage_of_many_is_silently_wrong(first):
    count, bad = seen(range(first, first + CHUNK))
    assert not bad, bad
    assert count["finished"] + count["undecided"] + count["smaller step"] >= CHUNK - 1, count


@families
def test_starts_meet_all_rows_by_the_nearest_velocities(family):
    """What is taken off the described velocities is an impulse of the rows, redundant or not."""
    for seed in range(FEW):
        model = linkage(seed, "se3", family).build()
        start, described = mbd.consistent(model, project=True), assemble(model, model.state)
        work = Workspace(model, start)
        work.evaluate()
        assert np.abs(work.rates()[0]).max() < 1e-12 * max(1.0, np.abs(start.v).max())
        free, M = null_space(described.B.toarray(), rcond=1e-9), described.M.toarray()
        impulse = free.T @ M @ (start.v - model.state.v)
        assert np.abs(impulse).max(initial=0.0) < 1e-11 * max(1.0, np.abs(M @ model.state.v).max())


def unbalanced(run):
    """Return the largest force that inertia, loads and reactions leave, of inertia forces."""
    model, worst = run.model, 0.0
    v = model.numbering.v
    mass = model.F[model.I[m.DIAG] + v] * model.units
    for k in range(1, len(run.t)):
        work = Workspace(
            model, mbd.State(float(run.t[k]), run.q[k], run.v[k], run.a[k], run.lam[k])
        )
        work.evaluate()
        inertia = mass * np.abs(run.a[k] / model.units).max()
        worst = max(worst, float(np.max(np.abs(work.vector(m.X)[v]) / inertia)))
    return worst


@families
def test_steps_are_met_quickly_and_in_balance(family):
    """Rows to round-off, whatever bodies are beside; reactions are those of the motion."""
    for seed in range(FEW):
        run = mbd.simulate(linkage(seed, None, family), 0.01, 1e-3, project=True)
        assert run.stats["rejected"] == run.stats["divided_steps"] == 0
        assert run.stats["iterations"] < 8 * run.stats["steps"]
        assert run.gap.max() < 1e-12
        assert unbalanced(run) < 1e-2


@families
def test_levels_of_constraints_move_alike(family):
    """Multipliers of redundant rows grow in neither, and drift locks no loop."""
    levels = ("position", "velocity", "stabilized")
    methods = [mbd.GeneralizedAlpha(constraints=level) for level in levels]
    for seed in range(FEW):
        model = linkage(seed, None, family).build()
        a, *others = (mbd.simulate(model, 0.02, 5e-4, method=x, project=True) for x in methods)
        for name in model.system.bodies:
            for b in others:
                assert np.abs(a[name].position - b[name].position).max() < 1e-4, (seed, name)


def test_redundant_loops_do_not_lock_by_drift():
    """At velocity level positions would leave rows of which not all can then be met."""
    outcome = judged(25636)
    assert outcome.what == "finished", outcome.why


def test_a_step_that_ends_in_no_number_is_refused_by_name(monkeypatch):
    """Bodies of 1 to 1e8 whose steps overflow: the failure is told, not that of its explanation."""
    monkeypatch.setattr("mbd.integration.substeps.in_substeps", lambda *_: (0, 0))
    words = r"'body \d\S*' moves by .* in this step|the angle 'Univ.* not known"
    with pytest.raises(mbd.SimulationError, match=words):
        mbd.simulate(linkage(465), 0.2, 1e-3, project=True)


def slider_crank(longer, mass):
    """Return a crank of 1 kg with a rod that is hardly longer: at the fold the slider may jump."""
    system = mbd.System(gravity=GRAVITY)
    pin = np.array([np.cos(0.5), 0, -np.sin(0.5)])
    rod = np.array([np.sqrt((1 + longer) ** 2 - pin[2] ** 2), 0, -pin[2]])
    ends = {"crank": (1.0, pin / 2, pin, (0, 3, 0)), "rod": (mass, pin + rod / 2, rod, (0, 0, 0))}
    for name, (kg, at, (x, _, z), omega) in ends.items():
        turn = Rotation.from_rotvec((0, -np.arctan2(z, x), 0))
        inertia = kg / 12 * np.array([0.01, 1, 1])
        system.add(mbd.RigidBody(name, mass=kg, inertia=inertia, position=at, rotation=turn,
                                 angular_velocity=omega))  # fmt: skip
    slider = system.add(mbd.RigidBody("slider", mass=mass, inertia=(mass,) * 3, position=pin + rod))
    bodies = [system.ground, system["crank"], system["rod"], slider]
    for one, two, at in zip(bodies, bodies[1:], (0 * pin, pin, pin + rod), strict=False):
        system.add(mbd.Revolute(f"pin of {two.name}", one, two, at=at, axis=(0, 1, 0)))
    system.add(mbd.Prismatic("rail", system.ground, slider, at=pin + rod, axis=(1, 0, 0)))
    return system


@pytest.mark.parametrize("step", [5e-3, 1e-2])
@pytest.mark.filterwarnings("ignore:steps of", "ignore:.* of .* steps failed")
def test_light_bodies_are_not_thrown_across_a_fold(step):
    """The crank goes on as the pendulum that it is; speeds of 1e8 m/s were found right."""
    for longer in (1e-4, 1e-5, 3e-6):
        for mass in (1e-7, 1e-9):
            run = mbd.simulate(slider_crank(longer, mass), 3.0, step, project=True)
            crank = run["crank"]
            energy = crank.angular_velocity[:, 1] ** 2 / 6 + 9.81 * crank.position[:, 2]
            assert np.ptp(energy) < 5e-3, (longer, mass)
            assert np.abs(run["slider"].velocity).max() < 500.0


def test_free_steps_that_vanish_name_the_light_body():
    """Bodies of 4e-4 and 4e3 kg: smaller steps have larger errors, of round-off."""
    with pytest.raises(mbd.SimulationError, match=r"'body 1\S*' has \S+ of the inertia of 'body"):
        mbd.simulate(
            linkage(40979), 0.2, rtol=RTOL / 8, project=True, method=mbd.GeneralizedAlpha()
        )


@pytest.mark.parametrize("lever", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("formulation", NAMES)
def test_rows_that_are_nearly_dependent_are_met_at_the_start(formulation, lever):
    """A rod that passes the hinge of an arm by a short lever holds the arm all the same."""
    system, arm, _ = hinged(
        "arm", "hinge", gravity=GRAVITY, mass=3.0, inertia=(0.01, 0.2, 0.2), position=(0.4, 0, 0),
        angular_velocity=(0, 2.0, 0), velocity=(0, 0, -0.8), formulation=formulation,
    )  # fmt: skip
    system.add(mbd.Distance("rod", system.ground, arm, at=(-1, 0, lever), to=(1, 0, lever)))
    model = system.build()
    start = mbd.consistent(model, project="velocities")
    assert np.abs(start.v / model.units).max() < 1e-9
    assert np.abs(start.a / model.units).max() < 1e-6
    run = mbd.simulate(model, 0.01, 1e-3, state=start)
    tension = run["rod"].force[0] @ (1, 0, 0)
    assert abs(tension) == pytest.approx(3.0 * 9.81 * 0.4 / lever, rel=1e-6)


@pytest.mark.parametrize("formulation", ["so3", "directors"])
@pytest.mark.parametrize("speed", [0.3, 3.0])
@pytest.mark.parametrize("second", [0.5, 1.0, 3.0])
def test_a_singular_pose_is_named(second, speed, formulation):
    """The end of two rods is driven away until they are in line."""
    system = mbd.System(gravity=GRAVITY)
    at = np.array([np.cos(0.3), 0, -np.sin(0.3)])
    end = np.array([at[0] + np.sqrt(second**2 - at[2] ** 2), 0, 0])
    knee, cart = (
        system.add(mbd.RigidBody(name, mass=1.0, inertia=np.full(3, 0.1), position=x,
                                 formulation=formulation))
        for name, x in (("knee", at), ("cart", end))
    )  # fmt: skip
    rail = system.add(mbd.Prismatic("rail", system.ground, cart, at=end, axis=(1, 0, 0)))
    system.add(mbd.Drive("pull", rail, velocity=speed))
    system.add(mbd.Distance("rod 1", system.ground, knee, at=(0, 0, 0), to=at))
    system.add(mbd.Distance("rod 2", knee, cart, at=at, to=end))
    in_line = (1.0 + second - end[0]) / speed
    with pytest.raises(mbd.SimulationError, match=r"pose is singular, .*'rod [12].* hold") as told:
        mbd.simulate(system, 1.5 * in_line, rtol=1e-6, project=True)
    assert np.isclose(told.value.solution.t[-1], in_line, rtol=3e-4)


@pytest.mark.parametrize("formulation", ["so3", "euler_parameters"])
def test_rows_of_very_light_bodies_are_met_at_the_start(formulation):
    """Rods on two hinges about crosses of 1e-12 kg, each geared to a wheel: rows are met.

    Compliance that follows the mobility of a cross is soft beside rods of 1 kg.
    """
    system, last = mbd.System(gravity=(0, 0, -9.81)), "ground"
    for i in range(8):
        at, light = (0.4 * i, 0, 0), 1e-12
        bodies = (("cross", light, 1e-4 * light), ("rod", 1.0, 1e-2), ("wheel", light, 1e-3))
        cross, rod, wheel = (
            system.add(
                mbd.RigidBody(
                    f"{name} {i}", mass=mass, inertia=(inertia,) * 3, formulation=formulation,
                    position=(0.4 * i + 0.2 * (name == "rod"), 0, 0),
                )
            )
            for name, mass, inertia in bodies
        )  # fmt: skip
        before = system.ground if last == "ground" else system.bodies[last]
        system.add(mbd.Revolute(f"bend {i}", before, cross, at=at, axis=(0, 1, 0)))
        turn = system.add(mbd.Revolute(f"turn {i}", cross, rod, at=at, axis=(0, 0, 1)))
        axle = system.add(mbd.Revolute(f"axle {i}", cross, wheel, at=at, axis=(0, 0, 1)))
        system.add(mbd.Gear(f"gear {i}", turn, axle, ratio=1.0))
        last = rod.name
    model = system.build()
    state = mbd.consistent(model, project=True)
    lack = unmet(Workspace(model, state))[model.numbering.lam]
    assert np.abs(lack).max() < 1e-10
