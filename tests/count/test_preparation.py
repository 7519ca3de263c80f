"""What a run costs before its first step and behind its last one, counted."""

import numpy as np
import pytest
from scenes import chain, four_bar, with_point

import mbd
from mbd.base.tolerances import START_DIFFERENCE
from mbd.formulations import NAMES
from mbd.integration.starting_values import Nearby
from mbd.linear.saddle import accelerate
from mbd.machine import buffer as m
from mbd.model import workspace
from mbd.model.workspace import ahead
from mbd.runs import stretch


def weights():
    """Two weights on springs."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(2):
        ball = mbd.PointMass(
            f"ball{i}", mass=1.0, position=(i + 1.0, 0, 0), velocity=(i + 0.3, 0, 1)
        )
        system.add(ball)
        system.add(mbd.Spring(f"spring{i}", last, ball, stiffness=50.0))
        last = ball
    return system


STABILIZED = mbd.GeneralizedAlpha(constraints="stabilized")


@pytest.fixture
def spent(monkeypatch):
    """Return what simulate spends before and behind the loop.

    (work spaces, factorisations, evaluations) each.
    """
    works, pieces = [], []
    make, loop = workspace.Workspace.__init__, stretch.Stretch.loop

    def made(work, *args, **options):
        works.append(work)
        make(work, *args, **options)

    def close():
        counts = [(1, w.S[m.N_FACTOR], w.S[m.N_EVALUATE]) for w in works]
        pieces.append(np.sum(counts, axis=0).tolist() if counts else [0, 0, 0])
        works.clear()

    def looped(run, progress):
        close()
        return loop(run, progress)

    monkeypatch.setattr(workspace.Workspace, "__init__", made)
    monkeypatch.setattr(stretch.Stretch, "loop", looped)

    def run(*args, **options):
        pieces.clear()
        works.clear()
        mbd.simulate(*args, **options)
        close()
        return pieces

    return run


@pytest.mark.parametrize(
    ("build", "method", "most"),
    [
        (lambda: chain(1), None, (2, 1, 11)),
        (lambda: chain(7, ("directors", "se3"), spin=3.0), None, (2, 1, 12)),
        (lambda: chain(3), STABILIZED, (2, 1, 10)),
        (four_bar, None, (3, 1, 14)),  # one for what redundant rows share
    ],
)
def test_a_run_is_prepared_with_few_evaluations(spent, build, method, most):
    model = build().build()
    before, behind = spent(model, 0.15, 1e-3, method=method)
    assert all(np.array(before) <= most), before
    # the last state of redundant rows has the least multipliers
    assert all(np.array(behind) <= ((1, 6, 320) if model.redundant else (1, 1, 6))), behind


@pytest.mark.parametrize("s", [1e-9, 1e-5, 1e-3, 1e-2])
@pytest.mark.parametrize("build", [four_bar, lambda: chain(5, ("so3", "directors"), spin=2.0)])
def test_accelerations_nearby_are_those_of_a_factor_of_their_own(build, s):
    """The factor of the state serves where motions are resolved."""
    model = build().build()
    state = mbd.consistent(model)
    near = Nearby(workspace.Workspace(model), state)
    change = near.change(s, 1e-9)
    exact = accelerate(ahead(model, state, s, state.a))[0][model.numbering.v] - state.a
    size = 1e-8 * np.abs(exact).max() + 1e-11 * np.abs(state.a).max()
    assert np.abs(change - exact).max() <= size
    assert near.work.S[m.N_FACTOR] == 1


def measured(model, state, h):
    """Return the change of accelerations in h: as it is foretold, and as it is."""
    near = Nearby(workspace.Workspace(model), state)
    rate = near.change(START_DIFFERENCE * h, 1e-8) / START_DIFFERENCE
    return rate, near.change(h, 1e-3)


@pytest.mark.parametrize("h", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("name", [*NAMES, "point"])
def test_one_call_of_compiled_code_judges_the_first_change(name, h):
    """It is, bit for bit, what single evaluations give."""
    model = (weights() if name == "point" else chain(5, (name, "so3"), spin=2.0)).build()
    state = mbd.consistent(model)
    near = Nearby(workspace.Workspace(model), state)
    here = near.A.copy()
    evaluations = near.work.S[m.N_EVALUATE]
    change = near.jerk(h)
    rate, whole = measured(model, state, h)
    assert np.abs(whole - rate).max() < 0.2 * np.abs(rate).max()
    assert np.array_equal(change, rate)
    assert near.work.S[m.N_EVALUATE] - evaluations <= 6
    assert np.array_equal(near.A, here)


def test_a_change_that_is_not_foretold_is_none():
    """A jump of a load within the step; where it is `held` to be smooth it is not judged."""
    system, ball = with_point("ball")
    system.add(mbd.PointForce("step", ball, lambda t: (t + (t > 5e-4), 0.0, 0.0)))
    model = system.build()
    state = mbd.consistent(model)
    change = [Nearby(workspace.Workspace(model), state).jerk(1e-3, x) for x in (None, True, False)]
    assert np.allclose(change, [[0, 0, 0], [1e-3, 0, 0], [0, 0, 0]], atol=1e-9)


def test_a_change_is_measured_with_the_masses_of_elements_too():
    """A jump on a light ball with a heavy bar, beside a ball that is pulled steadily."""
    system, pulled = with_point("pulled")
    system.add(mbd.PointForce("pull", pulled, lambda t: (20.0 + t, 0.0, 0.0)))
    light = system.add(mbd.PointMass("light", mass=1e-9, position=(1, 0, 0)))
    system.add(mbd.BarMass("bar", system.ground, light, mass=3.0))
    system.add(mbd.PointForce("step", light, lambda t: (30.0 * (t > 5e-4), 0.0, 0.0)))
    model = system.build()
    assert not Nearby(workspace.Workspace(model), mbd.consistent(model)).jerk(1e-3).any()


@pytest.mark.parametrize("s", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize("build", [four_bar, lambda: chain(5, ("so3", "directors"), spin=20.0)])
def test_a_look_ahead_leaves_all_as_it_was(build, s):
    """Also where nothing is resolved; then the matrix is factored there, and here again."""
    model = build().build()
    state = mbd.consistent(model)
    near = Nearby(workspace.Workspace(model), state)
    here = near.A.copy()
    before, far = near.change(1e-6, 1e-9), near.change(s, 1e-3)
    assert near.work.S[m.N_FACTOR] in ((1, 3) if s < 0.1 else (3,))
    assert np.isfinite(far).all()
    assert np.array_equal(near.A, here)
    after = near.change(1e-6, 1e-9)
    assert np.abs(after - before).max() <= 1e-12 * np.abs(state.a).max()
