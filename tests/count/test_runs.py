"""Bookkeeping of runs: records, last step, going on, stopping early, initial poses."""

import numpy as np
import pytest
from scenes import chain, four_bar, hinged, with_point

import mbd
from mbd.formulations import NAMES
from mbd.model import pattern
from mbd.runs import record
from mbd.runs import stretch as module

TIGHT = mbd.GeneralizedAlpha(tol=1e-11)


# --- times ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("t_end", "step", "expected"), [
    (0.3, 0.1, [0, 0.1, 0.2, 0.3]),
    (0.25, 0.1, [0, 0.1, 0.2, 0.25]),
    (0.05, 0.1, [0, 0.05]),
    (0.1, 0.1, [0, 0.1]),
    (0.7, 0.1, np.arange(8) * 0.1),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:steps of")  # coarse ones: when they end is all that counts
def test_the_last_step_is_shortened(t_end, step, expected):
    solution = mbd.simulate(chain(1), t_end, step)
    assert np.allclose(solution.t, expected, rtol=0, atol=1e-15)
    assert solution.stats["steps"] == len(expected) - 1
    assert solution.state.t == pytest.approx(t_end, abs=1e-15)
    assert f"reached t = {t_end:g} s" in solution.message
    for x in (solution.q, solution.v, solution.a, solution.lam):
        assert len(x) == len(expected)


def test_the_short_step_is_as_accurate_as_the_others():
    """A free fall from rest is exact whatever the steps are."""
    system, _ = with_point("p", gravity=(0, 0, -10.0), mass=2.0, velocity=(1, 0, 3))
    p = mbd.simulate(system, 0.47, 0.1)["p"].position[-1]
    assert np.allclose(p, (0.47, 0, 3 * 0.47 - 5 * 0.47**2), rtol=0, atol=1e-14)


@pytest.mark.parametrize("t_end", [0.1, 0.1004])
@pytest.mark.parametrize("every", [1, 3, 7, 100, 1000])
def test_every(every, t_end):
    whole = mbd.simulate(chain(2), t_end, 1e-3)
    some = mbd.simulate(chain(2), t_end, 1e-3, every=every)
    last = len(whole.t) - 1
    kept = sorted({*range(0, last + 1, every), last})
    assert np.array_equal(some.t, whole.t[kept])
    for name in ("q", "v", "a", "lam"):
        assert np.array_equal(getattr(some, name), getattr(whole, name)[kept])
    assert some.stats["iterations"] == whole.stats["iterations"]


def test_long_records_are_taken_over_in_pieces(monkeypatch):
    """A small buffer gives the same record."""
    whole = mbd.simulate(chain(2), 0.2, 1e-3)
    monkeypatch.setattr(record, "_CHUNK_BYTES", 5000)
    pieces = mbd.simulate(chain(2), 0.2, 1e-3)
    assert np.array_equal(pieces.t, whole.t)
    assert np.array_equal(pieces.q, whole.q)
    monkeypatch.setattr(module, "_CHUNK_SECONDS", 1e-9)
    steps = mbd.simulate(chain(2), 0.2, 1e-3, every=4)
    assert np.array_equal(steps.q, whole.q[::4])


def test_a_run_repeats_to_the_last_bit():
    model = chain(4, NAMES).build()
    one, two = (mbd.simulate(model, 0.1, 1e-3) for _ in range(2))
    assert np.array_equal(one.q, two.q)
    assert np.array_equal(one.lam, two.lam)


# --- going on ------------------------------------------------------------------------------------
@pytest.mark.parametrize("build", [lambda: chain(3, NAMES, spin=1.0), four_bar])
def test_two_halves_are_one_run(build):
    model = build().build()
    whole = mbd.simulate(model, 0.2, 1e-3, method=TIGHT)
    first = mbd.simulate(model, 0.1, 1e-3, method=TIGHT)
    second = mbd.simulate(model, 0.2, 1e-3, method=TIGHT, state=first.state)
    assert second.t[0] == first.t[-1]
    assert np.allclose(np.concatenate([first.t, second.t[1:]]), whole.t, rtol=0, atol=1e-14)
    q = np.concatenate([first.q, second.q[1:]])
    v = np.concatenate([first.v, second.v[1:]])
    assert np.allclose(q, whole.q, rtol=0, atol=1e-9)
    assert np.allclose(v, whole.v, rtol=0, atol=1e-7)
    assert np.ptp(q, axis=0).max() > 0.05


def test_an_angle_is_remembered_across_runs():
    """A wheel that has turned several times keeps its wound-up spring when a run goes on."""
    system, _wheel, hinge = hinged(
        "wheel", "h", axis=(0, 0, 1), gravity=(0, 0, 0), inertia=(1, 1, 2.0),
        angular_velocity=(0, 0, 20.0), position=(0, 0, 0),
    )  # fmt: skip
    system.add(mbd.RotationalSpring("s", hinge, stiffness=0.5))
    model = system.build()
    whole = mbd.simulate(model, 2.0, 5e-3, method=TIGHT)
    first = mbd.simulate(model, 1.0, 5e-3, method=TIGHT)
    second = mbd.simulate(model, 2.0, 5e-3, method=TIGHT, state=first.state)
    # 20 rad/s for a second are three turns; omega = 20 cos(t/2)
    omega = second["wheel"].angular_velocity[-1, 2]
    assert omega == pytest.approx(20 * np.cos(1.0), abs=1e-3)
    assert omega == pytest.approx(whole["wheel"].angular_velocity[-1, 2], abs=1e-9)


# --- stopping early ------------------------------------------------------------------------------
def pushed(law):
    system, p = with_point("p", velocity=(1, 0, 0))
    system.add(mbd.PointForce("push", p, law))
    return system


@pytest.mark.parametrize("solver", ["fronts", "splu"])
def test_ctrl_c_in_a_law_returns_what_was_computed(solver):
    def law(t):
        if t > 0.0505:
            raise KeyboardInterrupt
        return (0.0, 0.0, 0.0)

    method = mbd.GeneralizedAlpha(linear_solver=solver)
    solution = mbd.simulate(pushed(law), 1.0, 1e-3, method=method)
    assert not solution.success
    assert solution.status == -1
    assert "interrupted by the user at t = 0.05" in solution.message
    assert np.allclose(solution.t, np.arange(51) * 1e-3, rtol=0, atol=1e-15)
    assert np.allclose(solution["p"].position[:, 0], solution.t, rtol=0, atol=1e-14)
    assert solution.state.t == pytest.approx(0.05, abs=1e-12)


def test_ctrl_c_between_chunks(monkeypatch):
    calls, real = [], mbd.GeneralizedAlpha().kernel

    def advance(I, F, k=0):
        calls.append(k)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(I, F, k)

    advance.address, advance.is_ready = real.address, True
    monkeypatch.setattr(mbd.GeneralizedAlpha, "kernel", property(lambda self: advance))
    solution = mbd.simulate(pushed(lambda t: (0, 0, 0)), 1.0, 1e-3)
    assert solution.status == -1
    assert 1 < len(solution.t) < 1001
    assert solution.t[-1] == pytest.approx(solution.state.t)
    assert np.allclose(solution["p"].position[:, 0], solution.t, rtol=0, atol=1e-13)


def test_ctrl_c_in_the_middle_of_a_pivoting_step(monkeypatch):
    """The unfinished step leaves no trace."""
    calls, real = [], pattern.sparse

    def sparse(*args):
        calls.append(1)
        if len(calls) == 16:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(pattern, "sparse", sparse)
    method = mbd.GeneralizedAlpha(linear_solver="splu", newton="full")
    system = chain(2)
    part = mbd.simulate(system, 1.0, 1e-3, method=method)
    assert part.status == -1
    monkeypatch.undo()
    whole = mbd.simulate(system, 0.02, 1e-3, method=method)
    n = len(part.t)
    assert 3 < n < 15
    assert np.array_equal(part.q, whole.q[:n])
    assert np.array_equal(part.v, whole.v[:n])
    assert np.array_equal(part.state.q, part.q[-1])
    assert part.state.t == part.t[-1]


def breaking():
    """Return a pendulum that is asked for the impossible at 30 ms: not a number."""
    system = chain(2)
    bar = system["bar 1"]
    system.add(mbd.PointForce("gust", bar, lambda t: (np.nan if t > 0.0305 else 1.0, 0, 0)))
    return system


def test_a_failed_run_raises_with_its_data():
    with pytest.raises(mbd.SimulationError) as caught:
        mbd.simulate(breaking(), 0.1, 1e-3)
    solution = caught.value.solution
    assert str(caught.value) == solution.message
    assert "the step to t = 0.031 s (h = 0.001 s) failed: gust: its law" in solution.message
    assert np.allclose(solution.t, np.arange(31) * 1e-3, rtol=0, atol=1e-15)


def test_a_failed_run_is_returned_on_request():
    solution = mbd.simulate(breaking(), 0.1, 1e-3, raise_on_failure=False)
    assert not solution.success
    assert solution.status == 1
    assert len(solution.t) == 31
    assert np.all(np.isfinite(solution.q))
    assert np.all(np.isfinite(solution["pin 0"].force))
    assert "gust: its law" in repr(solution)
    # the last state is the last good one: a run can go on from it
    again = chain(2).build()
    assert mbd.simulate(again, 0.05, 1e-3, state=solution.state).success


def test_a_failure_names_a_joint():
    """Two rods that must both reach a point pulled out of their reach."""
    system, p = with_point("p", position=(0, 0, 1), velocity=(0, 0, 0))
    system.add(mbd.Distance("left", system.ground.frame((-1, 0, 0)), p))
    system.add(mbd.Distance("right", system.ground.frame((1, 0, 0)), p))
    system.add(mbd.PointForce("pull", p, lambda t: (0, 0, 1e9 * t)))
    system.add(mbd.PointForce("kick", p, lambda t: (0, 1e7, 0)))
    method = mbd.GeneralizedAlpha(max_iterations=3)
    solution = mbd.simulate(system, 1.0, 0.2, method=method, raise_on_failure=False)
    if solution.success:
        pytest.fail("the step was expected to be too large")
    assert any(name in solution.message for name in ("'left", "'right", "'p."))
    assert "try a smaller step" in solution.message


def test_the_bar_says_how_far_it_is(capsys):
    mbd.simulate(chain(1), 0.05, 1e-3, progress=True)
    mbd.simulate(chain(1), 0.05, 1e-3, progress=False)
    assert "Traceback" not in capsys.readouterr().err


# --- initial pose --------------------------------------------------------------------------------
def scattered(rng, size):
    """Return a hinged chain whose bodies are described away from their joints."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last, names = system.ground.frame(), []
    for i, f in enumerate(4 * NAMES):
        shift = size * rng.normal(size=3)
        bar = system.add(
            mbd.RigidBody(
                f"b{i}", mass=1.0, inertia=(0.01, 0.1, 0.1), formulation=f,
                position=np.array([i + 0.5, 0, 0]) + shift, velocity=rng.normal(size=3),
            )
        )  # fmt: skip
        joint = mbd.Spherical(f"j{i}", last, bar.frame((-0.5, 0, 0)))
        system.add(joint)
        last = bar.frame((0.5, 0, 0))
        names.append(bar.name)
    return system


def test_assemble_pose_closes_the_joints():
    system = scattered(np.random.default_rng(43961), 0.1)
    model = system.build()
    state = mbd.assemble_pose(system)
    A = model.assemble(state)
    assert np.abs(A.gap).max() < 1e-12
    assert np.abs(A.B @ state.v).max() < 1e-11
    assert np.abs(A.residual).max() < 1e-9
    assert mbd.simulate(model, 0.02, 1e-3, state=state).success
    with pytest.raises(ValueError, match="initial positions violate constraints: 'j"):
        mbd.simulate(system, 0.02, 1e-3)


def test_assemble_pose_leaves_a_good_pose_alone():
    model = chain(3, NAMES, spin=0.7).build()
    state = mbd.assemble_pose(model)
    assert np.allclose(state.q, model.state.q, rtol=0, atol=1e-15)
    assert np.allclose(state.v, model.state.v, rtol=0, atol=1e-13)


def test_assemble_pose_moves_as_little_as_possible():
    """Velocities are projected in the metric of M: what is removed is B^T mu."""
    system = chain(2, NAMES)
    model = system.build()
    rng = np.random.default_rng(43987)
    given = rng.normal(size=model.n_v)
    state = mbd.assemble_pose(model, model.state.replace(v=given))
    A = model.assemble(model.state)
    impulse = A.M @ (state.v - given)
    mu = np.linalg.lstsq(A.Bt.toarray(), impulse, rcond=None)[0]
    assert np.allclose(A.Bt @ mu, impulse, rtol=0, atol=1e-9)
    assert np.abs(A.B @ state.v).max() < 1e-10
    assert np.abs(impulse).max() > 0.1


def test_consistent_accelerations():
    """A hinged bar released from the horizontal: alpha = 3 g / (2 L) for a thin rod."""
    system, *_ = hinged("bar", "h", inertia=(1e-3, 1 / 12, 1 / 12))
    state = mbd.consistent(system.build())
    assert state.a[4] == pytest.approx(1.5 * 9.81, rel=1e-12)
    assert state.lam[2] == pytest.approx(9.81 / 4, rel=1e-11)
    assert np.array_equal(state.alg, state.a)
