"""Tests that fail without a threshold (mbd/base/tolerances.py), where no other test does."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scenes import four_bar, hinged, random_system, two_links, with_point
from scipy.integrate import solve_ivp

import mbd
from mbd.base.tolerances import TARGET_PUSHES
from mbd.formulations import NAMES
from mbd.integration.newton_loop import advance
from mbd.integration.starting_values import Nearby
from mbd.linear.fronts import factor_and_solve
from mbd.linear.inertia import Inertia
from mbd.machine import buffer as m
from mbd.model import independent_rows
from mbd.model.workspace import Workspace
from mbd.statics import inverse_kinematics as targets
from mbd.statics.balance import Balance
from mbd.statics.curvature import Curvature


def filled(model, step):
    """Return a work space with the matrix of a step of the trapezoidal rule."""
    from mbd.model.evaluation import evaluate_kernel, linearise_kernel

    state = mbd.consistent(model)
    work, method = Workspace(model, state), mbd.GeneralizedAlpha(rho=1.0)
    F = work.F
    F[m.H], F[m.TOL], F[m.THETA] = step, 1e-7, 0.5
    F[m.ALPHA_M], F[m.ALPHA_F] = method.alpha_m, method.alpha_f
    F[m.BETA], F[m.GAMMA] = method.beta, method.gamma
    advance(work.I, work.F)  # no step: weights alone
    work.load(state)
    evaluate_kernel(work.I, work.F)
    linearise_kernel(work.I, work.F)
    return work


# --- models ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", ["ladder", "grid", "ring", "web"])
def test_many_rows_are_counted_as_few_are(shape, monkeypatch):
    """Redundant rows in meshes: by pivots of the sparse matrix as by singular values."""
    rng = np.random.default_rng(60917)
    models = [random_system(shape, rng).build() for _ in range(3)]
    models += [four_bar(NAMES[:3]).build(), four_bar(NAMES[3:6]).build()]
    few = [model.report() for model in models]
    monkeypatch.setattr(independent_rows, "DENSE", 0)
    for model, expected in zip(models, few, strict=True):
        found = model.report()
        assert len(found.redundant) == len(expected.redundant)
        assert set(found.not_unique) == set(expected.not_unique)
    assert any(x.redundant for x in few)


# --- targets --------------------------------------------------------------------------------------
def test_a_target_out_of_reach_is_given_up(monkeypatch):
    """The first descent, and one for each push."""
    system, *_ = hinged("arm", gravity=(0, 0, 0), inertia=(0.01, 0.1, 0.1))
    calls, real = [], targets._TargetSearch._downhill

    def counted(self, state):
        calls.append(1)
        return real(self, state)

    monkeypatch.setattr(targets._TargetSearch, "_downhill", counted)
    tip = "arm(0.5, 0, 0).position"
    mbd.assemble_pose(system, targets={tip: (3, 0, 0)}, weights={tip: 1.0})
    assert len(calls) == 1 + len(TARGET_PUSHES)


# --- pivots ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("part", "trusted"), [(2.0**-20, True), (2.0**-44, False)])
def test_a_pivot_that_is_round_off_is_none(part, trusted):
    """A spring so negative that of the mass's pivot only a part is left."""
    step = 2.0**-6  # with rho = 1 the weights are powers of two: w_M = 1, w_K = 2^-14
    system, far = with_point("far", mass=3.0, position=(3, 0, 0))
    two = system.add(mbd.PointMass("two", mass=1.0, position=(2, 0, 0)))
    one = system.add(mbd.PointMass("one", mass=1.0, position=(1, 0, 0)))
    system.add(mbd.Spring("t", two, far, stiffness=20.0, length=0.9))
    system.add(mbd.Spring("s", one, two, stiffness=-(2.0**14) * (1 - part), length=1.0))
    work = filled(system.build(), step)
    work.S[m.SMALL_PIVOTS] = 0
    factor_and_solve(work.I, work.F, 1)
    assert (work.S[m.SMALL_PIVOTS] == 0) == trusted


@pytest.mark.parametrize("thin", [1e-6, 1e-8, 1e-11, 0.0])
def test_a_plate_is_a_plate_however_thin(thin):
    """On directors the mass along its normal is a pivot; rows that hold it come to its help."""
    motion = []
    for formulation in ("directors", "so3"):
        system, *_ = hinged(
            "plate", "pin", kind="Spherical", inertia=(0.1, 0.2, 0.3 * (1 - thin)),
            position=(0.3, 0.2, 0), angular_velocity=(0, 0, 0), formulation=formulation,
        )  # fmt: skip
        run = mbd.simulate(system, 0.1, 1e-3)
        assert run.stats["pivoting_steps"] == 0
        motion.append(run["plate"].position[-1])
    assert np.allclose(*motion, rtol=0, atol=1e-6)


@pytest.mark.parametrize("thin", [1e-4, 1e-8, 1e-14, 0.0])
def test_fronts_solve_plates_to_round_off(thin):
    """A pivot that is nothing beside its diagonal changes place with a row."""
    from mbd.model.pattern import sparse

    system, *_ = hinged(
        "plate", "pin", kind="Spherical", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.3 * (1 - thin)),
        position=(0.3, 0.2, 0), formulation="directors",
    )  # fmt: skip
    work = filled(system.build(), 1e-3)
    A = sparse(work.model, work.F).toarray()
    x = np.random.default_rng(7321).normal(size=len(A))
    work.vector(m.X)[:] = A @ x
    factor_and_solve(work.I, work.F, 1)
    assert np.linalg.cond(A) < 1e2
    assert np.allclose(work.vector(m.X), x, rtol=0, atol=1e-13)


# --- small motions --------------------------------------------------------------------------------
@pytest.mark.parametrize(("lopsided", "symmetric"), [(1e-14, True), (1e-11, False)])
def test_a_stiffness_without_potential_is_told_by_its_round_off(lopsided, symmetric):
    """Curvatures are counted by the inertia of a symmetric matrix; what is not has none."""
    system = mbd.System()
    for i in range(2):
        system.add(mbd.PointMass(f"p{i}", mass=1.0 + i, position=(i, 0, 0)))
    model = system.build()
    K = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    K[0, 4] = lopsided
    zero, B = np.zeros(6), sp.csr_matrix((0, 6))
    at = Balance(model.state, zero, zero, zero[:0], sp.csr_matrix(K), np.diag(K), B, B.T)
    curvature = Curvature(model, at)
    assert curvature.symmetric == symmetric
    assert curvature.negative(Inertia(model), np.zeros((6, 0))) == 0


# --- steps ----------------------------------------------------------------------------------------
# --- free steps -----------------------------------------------------------------------------------
ALPHA = mbd.GeneralizedAlpha()


def on_a_spring(**options):
    """Return a run of a point that circles and swings on a spring; 0.1 s and 0.5 m set its pace."""
    system, point = with_point("point", position=(1.5, 0, 0), velocity=(0, 1, 0))
    system.add(mbd.Spring("spring", system.ground, point, stiffness=20.0, length=1.0))
    return mbd.simulate(system, 2.0, rtol=1e-4, **{"method": ALPHA, **options})


def test_free_steps_use_what_they_are_allowed():
    def rates(_, y):
        length = np.linalg.norm(y[:2])
        return [*y[2:], *(-20.0 * (length - 1.0) * y[:2] / length)]

    exact = solve_ivp(rates, (0, 2), [1.5, 0, 0, 1], rtol=1e-11, atol=1e-12).y[:2, -1]
    run = on_a_spring()
    error = np.abs(run["point"].position[-1, :2] - exact).max()
    assert 6e-6 < error < 1e-4
    steps = np.diff(run.t)
    assert run.stats["rejected"] < len(steps) / 50
    assert np.isclose(steps[1:], steps[:-1], rtol=1e-9).mean() > 0.5  # the matrix is kept


def test_free_steps_do_not_see_a_coarse_tolerance_of_newton():
    fine, coarse = on_a_spring(), on_a_spring(method=mbd.GeneralizedAlpha(tol=1e-2))
    assert len(coarse.t) == len(fine.t)
    assert np.allclose(coarse.q[-1], fine.q[-1], rtol=0, atol=1e-8)


def test_free_steps_change_by_bounded_factors():
    """A force from an instant on: steps shrink by few trials, and grow again one by one."""
    system, mass = with_point("m")
    system.add(mbd.PointForce("f", mass, force=lambda t: (float(t > 0.3), 0, 0)))
    run = mbd.simulate(system, 1.0, rtol=1e-6, method=ALPHA)
    steps = np.diff(run.t)
    growth = (steps[1:] / steps[:-1])[:-1].max()
    assert 1.5 < growth <= 2.0 + 1e-6
    assert run.stats["rejected"] < 40


def stiff(stiffness, t_end, method=ALPHA):
    """Return a run by free steps of a point on a spring of 1 m that is drawn by another one."""
    system, point = with_point("point", position=(1.5, 0, 0))
    system.add(mbd.Spring("spring", system.ground, point, stiffness=stiffness, length=1.0))
    return mbd.simulate(system, t_end, rtol=1e-4, method=method, raise_on_failure=False)


@pytest.mark.parametrize("method", [None, ALPHA], ids=["default", "alpha"])
def test_steps_that_bring_a_run_no_further_end_it_by_name(monkeypatch, method):
    """Some 1e9 oscillations."""
    monkeypatch.setattr("mbd.runs.stretch.CRAWL_STEPS", 2_000)
    run = stiff(1e10, 2e4, method)
    assert not run.success
    assert "2000 steps took the run" in run.message
    assert "'point.x'" in run.message
    assert run.stats["steps"] == len(run.t) - 1 == 2_000


def test_many_steps_are_no_crawl(monkeypatch):
    assert stiff(1e7, 0.1).success
    monkeypatch.setattr("mbd.runs.stretch.CRAWL_STEPS", 2_000)
    run = stiff(1e7, 0.1)
    assert run.success
    assert run.stats["steps"] > 2_400


# --- starts ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [1e-2, 1e-4])
def test_the_first_change_of_accelerations_is_that_of_the_law(step):
    system, mass = with_point("m", mass=2.0)
    system.add(mbd.PointForce("f", mass, force=lambda t: (1.0 + np.sin(5.0 * t), 0, 0)))
    model = system.build()
    change = Nearby(Workspace(model), mbd.consistent(model)).jerk(step)
    assert change == pytest.approx([2.5 * step, 0, 0], rel=1e-6)


def test_no_change_is_foretold_across_a_jump():
    system, mass = with_point("m", mass=2.0)
    system.add(mbd.PointForce("f", mass, force=lambda t: (t + 9.0 * (t > 5e-3), 0, 0)))
    model = system.build()
    assert not Nearby(Workspace(model), mbd.consistent(model)).jerk(1e-2).any()


# --- Newton ---------------------------------------------------------------------------------------
def fallen(step, rate, last=1.0, **options):
    """Return a run of 20 steps of two links that fall from the horizontal."""
    method = mbd.GeneralizedAlpha(**options)
    return mbd.simulate(two_links(rate, last=last), 20 * step, step, method=method)


def test_steps_that_need_more_iterations_than_allowed_get_them():
    few, many = fallen(0.02, 2.0, max_iterations=2), fallen(0.02, 2.0)
    assert few.stats["rejected"] > 0
    assert np.allclose(few.q, many.q, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("last", "level"), [(1.0, "stabilized"), (1e-9, "position")])
def test_three_iterations_are_enough(last, level):
    run = fallen(0.01, 0.0, last, constraints=level)
    assert run.stats["iterations"] < 3.3 * run.stats["steps"]


# --- runs -----------------------------------------------------------------------------------------
def test_a_fall_from_rest_is_no_alarm():
    """The velocities of the first instant are none: the size of a run is that of its fastest."""
    system, *_ = hinged("rod", "pin", kind="Spherical")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mbd.simulate(system, 1.5, 1e-2).success


def test_many_events_in_a_long_run_are_no_accumulation():
    system, _ = with_point("m", velocity=(1, 0, 0))
    tick = mbd.Event(
        "tick", lambda s: np.sin(150 * np.pi * s.t + 0.1), change=lambda _, s: s.replace(v=-s.v)
    )
    assert len(mbd.simulate(system, 1.0, 2e-3, events=tick).events) == 150


@pytest.mark.filterwarnings("ignore:'hinge.angle' turns so far")  # by two instants it is not sure
@pytest.mark.parametrize("speed", [40.0, -50.0])
def test_drives_turn_a_crank_far_between_two_instants(speed):
    """More than half a turn from instant to instant, by poses on the way."""
    system, _, hinge = hinged("crank", gravity=(0, 0, 0))
    system.add(mbd.Drive("motor", hinge.angle, position=lambda t: speed * t**3))
    loads = mbd.inverse_dynamics(system, np.array([0.0, 0.5, 1.0]))
    assert loads["hinge"].angle[-1] == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize(
    ("t_end", "step", "n"), [(0.3, 0.1, 3), (0.7, 0.1, 7), (0.9, 0.3, 3), (16.17, 0.03, 539)]
)
def test_a_time_that_is_whole_steps_but_for_round_off(t_end, step, n):
    """Steps of 0.1 end beside 0.3: there is no fourth one of 1e-17 s, and none is refused."""
    system, _ = with_point("m", velocity=(1, 0, 0))
    assert n * step != t_end
    assert len(mbd.simulate(system, t_end, step).t) == n + 1
    assert len(mbd.sensitivities(system, ["m.mass"], t_end=t_end, step=step).solution.t) == n + 1


def test_a_tolerance_below_round_off_is_refused():
    system, _ = with_point("m", velocity=(1, 0, 0))
    with pytest.raises(ValueError, match=r"rtol must be in \[1.4e-14, 1\) \[-\], got 1e-14"):
        mbd.simulate(system, 1.0, rtol=1e-14)
