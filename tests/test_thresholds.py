"""Tests that fail without a threshold (mbd/base/tolerances.py), where no other test does."""

import numpy as np
import pytest
import scipy.sparse as sp
from scenes import four_bar, random_system

import mbd
from mbd.analyses.stability import slices
from mbd.base.tolerances import TARGET_IN_VAIN
from mbd.formulations import NAMES
from mbd.integration.newton_loop import advance
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.model import independent_rows
from mbd.model.workspace import Workspace
from mbd.statics import inverse_kinematics as targets


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
    """The first descent, and the pushes that are allowed to find nothing."""
    system = mbd.System()
    arm = system.add(mbd.RigidBody("arm", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, arm, at=(0, 0, 0), axis=(0, 1, 0)))
    calls, real = [], targets._TargetSearch._downhill

    def counted(self, state):
        calls.append(1)
        return real(self, state)

    monkeypatch.setattr(targets._TargetSearch, "_downhill", counted)
    tip = "arm(0.5, 0, 0).position"
    mbd.assemble_pose(system, targets={tip: (3, 0, 0)}, weights={tip: 1.0})
    assert len(calls) == 1 + TARGET_IN_VAIN == 4


# --- pivots ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("part", "trusted"), [(2.0**-20, True), (2.0**-44, False)])
def test_a_pivot_that_is_round_off_is_none(part, trusted):
    """A spring so negative that of the mass's pivot only a part is left."""
    step = 2.0**-6  # with rho = 1 the weights are powers of two: w_M = 1, w_K = 2^-14
    system = mbd.System()
    far = system.add(mbd.PointMass("far", mass=3.0, position=(3, 0, 0)))
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
        system = mbd.System(gravity=(0, 0, -9.81))
        plate = system.add(
            mbd.RigidBody(
                "plate", mass=1.0, inertia=(0.1, 0.2, 0.3 * (1 - thin)), position=(0.3, 0.2, 0),
                angular_velocity=(0, 0, 0), formulation=formulation,
            )
        )  # fmt: skip
        system.add(mbd.Spherical("pin", system.ground, plate, at=(0, 0, 0)))
        run = mbd.simulate(system, 0.1, 1e-3)
        assert run.stats["pivoting_steps"] == 0
        motion.append(run["plate"].position[-1])
    assert np.allclose(*motion, rtol=0, atol=1e-6)


@pytest.mark.parametrize("thin", [1e-4, 1e-8, 1e-14, 0.0])
def test_fronts_solve_plates_to_round_off(thin):
    """A pivot that is nothing beside its diagonal changes place with a row."""
    from mbd.model.pattern import sparse

    system = mbd.System()
    plate = system.add(
        mbd.RigidBody("plate", mass=1.0, inertia=(0.1, 0.2, 0.3 * (1 - thin)),
                      position=(0.3, 0.2, 0), formulation="directors")
    )  # fmt: skip
    system.add(mbd.Spherical("pin", system.ground, plate, at=(0, 0, 0)))
    work = filled(system.build(), 1e-3)
    A = sparse(work.model, work.F).toarray()
    x = np.random.default_rng(7321).normal(size=len(A))
    work.vector(m.X)[:] = A @ x
    factor_and_solve(work.I, work.F, 1)
    assert np.linalg.cond(A) < 1e2
    assert np.allclose(work.vector(m.X), x, rtol=0, atol=1e-13)


# --- small motions --------------------------------------------------------------------------------
@pytest.mark.parametrize(("lopsided", "sliced"), [(1e-10, True), (1e-3, False)])
def test_a_stiffness_without_potential_is_not_sliced(lopsided, sliced):
    """Eigenvalues are counted by the inertia of a symmetric matrix; what is not has none."""
    system = mbd.System()
    for i in range(2):
        system.add(mbd.PointMass(f"p{i}", mass=1.0 + i, position=(i, 0, 0)))
    model = system.build()
    K = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    K[0, 4] = lopsided
    M = sp.csr_matrix(np.diag([1.0, 1, 1, 2, 2, 2]))
    found = slices(model, sp.csr_matrix(K), M, 5.0 * sp.eye(6), sp.csr_matrix((0, 6)), np.ones(6))
    assert (found is not None) == sliced
    if found is not None:
        assert found.unstable == 0
        assert found.lowest == pytest.approx(1.0)
