"""Random linkages: none is silently wrong, nearly all finish, and what is refused is named."""

from collections import Counter

import numpy as np
import pytest
from scenes import GRAVITY
from scipy.linalg import null_space

import mbd
from mbd.formulations import NAMES
from mbd.linear.saddle import unmet
from mbd.machine import buffer as m
from mbd.model.assembly import assemble
from mbd.model.workspace import Workspace

from .linkages import RTOL, judged, linkage, run

CHUNK = 100


def seen(seeds):
    """Judge linkages; return how many of each outcome, and what must not be."""
    outcomes = [judged(seed) for seed in seeds]
    bad = [x for x in outcomes if x.what in ("wrong", "unnamed")]
    return Counter(x.what for x in outcomes), "\n".join(f"{x.seed}: {x.why}" for x in bad)


def test_linkages_span_what_they_shall():
    systems = [linkage(seed) for seed in range(60)]
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
    assert sum(s.build().report().n_redundant > 0 for s in systems[:20]) >= 4


def test_no_linkage_is_silently_wrong():
    count, bad = seen(range(50))
    assert not bad, bad
    assert count["finished"] + count["undecided"] >= 49, count


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, CHUNK))
def test_no_linkage_of_many_is_silently_wrong(first):
    count, bad = seen(range(first, first + CHUNK))
    assert not bad, bad
    assert count["finished"] + count["undecided"] + count["smaller step"] >= CHUNK - 1, count


def test_a_step_that_ends_in_no_number_is_refused_by_name(monkeypatch):
    """Bodies of 1 to 1e8 whose steps overflow: the failure is told, not that of its explanation."""
    monkeypatch.setattr("mbd.integration.substeps.in_substeps", lambda *_: (0, 0))
    words = r"'body \d\S*' moves by .* in this step|the angle 'Univ.* not known"
    with pytest.raises(mbd.SimulationError, match=words):
        mbd.simulate(linkage(465), 0.2, 1e-3, project=True)


@pytest.mark.parametrize("lever", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("formulation", NAMES)
def test_rows_that_are_nearly_dependent_are_met_at_the_start(formulation, lever):
    """A rod that passes the hinge of an arm by a short lever holds the arm all the same."""
    system = mbd.System(gravity=GRAVITY)
    arm = system.add(
        mbd.RigidBody(
            "arm", mass=3.0, inertia=(0.01, 0.2, 0.2), position=(0.4, 0, 0),
            angular_velocity=(0, 2.0, 0), velocity=(0, 0, -0.8), formulation=formulation,
        )
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, arm, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Distance("rod", system.ground, arm, at=(-1, 0, lever), to=(1, 0, lever)))
    model = system.build()
    start = mbd.consistent(model, project="velocities")
    assert np.abs(start.v / model.units).max() < 1e-9
    assert np.abs(start.a / model.units).max() < 1e-6
    run = mbd.simulate(model, 0.01, 1e-3, state=start)
    tension = run["rod"].force[0] @ (1, 0, 0)
    assert abs(tension) == pytest.approx(3.0 * 9.81 * 0.4 / lever, rel=1e-6)


@pytest.mark.parametrize("seed", [734, 1232, 2030])
def test_several_directions_are_met_together(seed):
    """Each of these has two or more directions in which one solve does next to nothing."""
    model = linkage(seed).build()
    start = mbd.consistent(model, project=True)
    work = Workspace(model, start)
    work.evaluate()
    assert np.abs(work.rates()[0]).max() < 1e-9 * max(1.0, np.abs(start.v).max())


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


@pytest.mark.parametrize(
    ("seed", "formulation"), [(1530, "directors"), (1530, None), (1873, None), (5964, None)]
)
def test_light_bodies_between_heavy_ones_are_met_quickly_and_in_balance(seed, formulation):
    """Rows that are nearly dependent by masses of 1 to 1e8; the reactions are those of the motion.

    The third one is locked: its reactions are 1e10 times what is left of inertia forces.
    """
    run = mbd.simulate(linkage(seed, formulation), 0.01, 1e-3, project=True)
    assert run.stats["rejected"] == 0
    assert run.stats["iterations"] < 8 * run.stats["steps"]
    assert unbalanced(run) < 1e-2


@pytest.mark.parametrize("seed", [43608, 70116])
def test_rows_that_are_slow_to_be_met_take_a_harder_matrix(seed):
    """Without they are not met: up to 38 and 47 of 50 steps fail, and are divided."""
    run = mbd.simulate(linkage(seed), 0.05, 1e-3, project=True)
    assert run.stats["divided_steps"] == 0
    assert run.stats["iterations"] < 20 * run.stats["steps"]
    assert run.gap.max() < 1e-11


def test_a_step_on_its_way_is_not_taken_for_met():
    """An old matrix halves the gap from iteration to iteration: the last of them is not the end."""
    run = mbd.simulate(linkage(902), 0.01, 5e-4, project=True)
    assert run.gap.max() < 1e-11


@pytest.mark.parametrize("formulation", [None, "so3"])
def test_rows_that_are_nearly_dependent_are_met_to_round_off(formulation):
    """A lever of 1e-4 holds 1e7 N: gaps of 1e-11 m would be work, and each step some 50 iterations.

    The iteration is slow there; where it goes is told from two increments.
    """
    result = mbd.simulate(linkage(70382, formulation), 0.1, 1e-3, project=True)
    balance = result.energy.balance
    assert np.abs(balance - balance[0]).max() < 1e-4  # J, of 12
    assert result.gap.max() < 5e-12
    assert result.stats["iterations"] < 20 * result.stats["steps"]


@pytest.mark.parametrize("seed", [586, 21366, 25056, 25636])
def test_redundant_loops_do_not_lock_by_drift(seed):
    """At velocity level positions would leave rows of which not all can then be met."""
    outcome = judged(seed)
    assert outcome.what == "finished", outcome.why


def test_redundant_multipliers_do_not_grow_between_steps():
    """A body of 2e-4 kg on two hinges, heavy ones beyond: multipliers of no effect moved it."""
    levels = ("position", "stabilized")
    methods = [mbd.GeneralizedAlpha(constraints=level) for level in levels]
    model = linkage(61546).build()
    a, b = (mbd.simulate(model, 0.02, 5e-4, method=x, project=True) for x in methods)
    apart = max(np.abs(a[n].position - b[n].position).max() for n in model.system.bodies)
    assert apart < 1e-6


def test_a_singular_pose_is_named():
    """Rods that come into line."""
    with pytest.raises(mbd.SimulationError, match=r"pose is singular, 'Distance [78].* hold"):
        mbd.simulate(linkage(49609), 0.2, rtol=1e-7, project=True)


def test_free_steps_that_vanish_name_the_light_body():
    """Bodies of 4e-4 and 4e3 kg: smaller steps have larger errors, of round-off."""
    with pytest.raises(mbd.SimulationError, match=r"'body 1\S*' has \S+ of the inertia of 'body"):
        mbd.simulate(linkage(40979), 0.2, rtol=RTOL / 8, project=True)


@pytest.mark.parametrize("seed", [1, 7, 12, 27825, 50090, 70116, 70382])
def test_projected_velocities_are_the_nearest(seed):
    """Redundant rows cost digits of one solution: twins would start apart by 5e-7 m/s."""
    model = linkage(seed, "se3").build()
    start, described = mbd.consistent(model, project=True), assemble(model, model.state)
    free, M = null_space(described.B.toarray(), rcond=1e-9), described.M.toarray()
    impulse = free.T @ M @ (start.v - model.state.v)
    assert np.abs(impulse).max(initial=0.0) < 1e-11 * max(1.0, np.abs(M @ model.state.v).max())


@pytest.mark.parametrize("seed", [50439, 43608])
def test_free_steps_meet_rows_that_are_nearly_dependent(seed):
    """Increments that shrink slowly by the softness of rows are no round-off of positions.

    Nor are multipliers of such rows those of redundant ones, which may be taken off: the second
    linkage is held, but for a pendulum, by 1e7 N where it nearly could move.
    """
    result = mbd.simulate(linkage(seed), 0.01, rtol=1e-5, project=True)
    assert result.stats["steps"] < 250


def test_multipliers_stay_where_pivots_are_none():
    """Bodies of 1e-4 and 3e3 kg: made smallest with a singular matrix they are no number."""
    assert not run(linkage(51408, "directors"), "adaptive", 2).message


@pytest.mark.parametrize(("seed", "finer"), [(51125, 2), (51703, 1)])
def test_a_step_that_throws_velocities_off_the_rows_is_refused(seed, finer):
    """Light bodies pass poses at which they turn by 1e7 rad/s^2: a step across says nothing."""
    with pytest.warns(RuntimeWarning, match="too large for this motion"):
        result = mbd.simulate(linkage(seed), 0.2, 1e-3 / finer, project=True)
    assert result.stats["divided_steps"] > 0


def test_energy_that_is_lost_where_steps_fail_is_told():
    """A body of a crank throws another at 0.116 s: a sixth of the energy goes in one step."""
    velocity = mbd.GeneralizedAlpha(constraints="velocity")
    with pytest.warns(RuntimeWarning, match="balance of energies departs by 1[0-9] %"):
        mbd.simulate(linkage(46546), 0.2, 1e-3, method=velocity, project=True)


def test_rods_near_one_line_lose_no_energy():
    """At 0.175 s rows are nearly dependent: met to 1e-10 m alone they took 1.4 % of the energy."""
    result = mbd.simulate(linkage(73864), 0.2, 1e-3, project=True)
    balance = result.energy.balance
    assert np.abs(balance - balance[0]).max() < 1e-4 * result.energy.kinetic.max()


def test_a_step_that_throws_positions_off_the_rows_is_refused():
    """A light body is turned by 1e7 rad/s^2: where rates alone are met it is 1.3 m off its rod."""
    velocity = mbd.GeneralizedAlpha(constraints="velocity")
    result = mbd.simulate(linkage(42976), 0.007, 5e-4, method=velocity, project=True)
    assert result.gap.max() < 1e-3


def test_a_step_whose_matrix_has_no_pivots_is_divided():
    """Stiffness of multipliers outweighs masses: in a smaller step it does not."""
    with pytest.warns(RuntimeWarning, match="too large for this motion"):
        result = mbd.simulate(linkage(60134), 0.08, 1e-3, project=True)
    assert result.stats["divided_steps"] > 0


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
