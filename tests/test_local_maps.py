"""Local maps of rotations: that of Cayley is that of matrices; what a map changes in runs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

import mbd
from mbd.algebra import so3
from mbd.algebra.local_maps import CAYLEY, EXPONENTIAL, LocalMap
from mbd.algebra.rotations import tilde
from mbd.algebra.se3 import matrix

vectors = arrays(float, 3, elements=st.floats(-3, 3, allow_subnormal=False))
OWN = replace(CAYLEY, name="mine")


def rotation(p):
    return np.reshape(so3.quaternion_matrix(p), (3, 3))


def cayley(X):
    """Return (I - X/2)^-1 (I + X/2)."""
    one = np.eye(len(X))
    return np.linalg.solve(one - X / 2, one + X / 2)


@given(vectors, vectors)
def test_cayley_is_that_of_the_matrices(u, theta):
    """Of rotations, and of rigid motions that of the adjoint representation [Müller 2021]."""
    R = rotation(CAYLEY.quaternion(tuple(theta)))
    np.testing.assert_allclose(R, cayley(tilde(theta)), atol=1e-14)
    t = np.reshape(CAYLEY.tangent(tuple(theta)), (3, 3)) @ u
    adjoint = np.block([[tilde(theta), tilde(u)], [np.zeros((3, 3)), tilde(theta)]])
    expected = np.block([[R, tilde(t) @ R], [np.zeros((3, 3)), R]])
    np.testing.assert_allclose(expected, cayley(adjoint), atol=1e-13)


@pytest.mark.parametrize("psi", [EXPONENTIAL, CAYLEY], ids=lambda x: x.name)
@given(vectors, vectors)
def test_operators_belong_together(psi, u, theta):
    if np.linalg.norm(theta) > 3.0:
        return
    T = np.reshape(psi.tangent(tuple(theta)), (3, 3))
    back = np.reshape(psi.inverse_tangent(tuple(theta)), (3, 3))
    np.testing.assert_allclose(T @ back, np.eye(3), atol=1e-12)
    blocks = matrix(psi.tangent_blocks(tuple(u), tuple(theta)))
    np.testing.assert_allclose(blocks[:3, :3], T.T, atol=1e-12)
    inverse = matrix(psi.inverse_tangent_blocks(tuple(u), tuple(theta)))
    np.testing.assert_allclose(blocks @ inverse, np.eye(6), atol=1e-11)
    x = psi.coordinates(tuple(theta))
    turned = Rotation.from_rotvec(theta).as_matrix()
    np.testing.assert_allclose(rotation(psi.quaternion(x)), turned, atol=1e-13)


def spun(formulation, h, method, **options):
    system = mbd.System()
    system.add(
        mbd.RigidBody("top", mass=1, inertia=(1, 2, 3), angular_velocity=(1.0, 0.4, -2.0),
                      velocity=(0.3, 0, 1), center_of_mass=(0.1, 0.2, 0), formulation=formulation)
    )  # fmt: skip
    return mbd.simulate(system, 0.8, h, method=method, **options)["top"].rotation[-1]


@pytest.mark.parametrize(
    ("method", "order"),
    [(mbd.GeneralizedAlpha(tol=1e-12), 2), (mbd.LieRungeKutta4(), 4),
     (mbd.LieRungeKutta4("quaternion"), 4)],
    ids=["generalized-alpha", "motion vector", "quaternion"],
)  # fmt: skip
@pytest.mark.parametrize("make", [mbd.SO3, mbd.SE3, lambda x: mbd.Unified(local_map=x)])
def test_methods_keep_their_order(make, method, order):
    exact = spun("so3", None, mbd.RadauCollocation(), rtol=1e-11)
    errors = [np.abs(spun(make("cayley"), h, method) - exact).max() for h in (0.04, 0.02)]
    assert errors[0] / errors[1] > 0.8 * 2**order
    tight = spun(make("cayley"), None, mbd.RadauCollocation(), rtol=1e-11)
    np.testing.assert_allclose(tight, exact, atol=1e-9)


@pytest.mark.parametrize(("method", "options", "said"), [
    (mbd.LieRungeKutta4("commutator_free"), {}, "'commutator_free' composes exponentials"),
    (mbd.GeneralizedAlpha(), {"rtol": 1e-4}, "use RadauCollocation for rtol"),
])  # fmt: skip
def test_methods_that_need_canonical_coordinates_refuse(method, options, said):
    with pytest.raises(ValueError, match=f"'top' is carried by 'so3 .cayley.', .*{said}"):
        spun(mbd.SO3("cayley"), None if options else 1e-2, method, **options)


def test_a_map_of_ones_own_is_carried_and_told():
    assert mbd.SO3(OWN) is mbd.SO3(OWN)
    assert mbd.Unified("tetrahedral", local_map=OWN).name == "unified (tetrahedral, mine)"
    assert pickle.loads(pickle.dumps(mbd.SO3(OWN))).name == "so3 (mine)"
    system = mbd.System()
    system.add(mbd.RigidBody("top", mass=1, inertia=(1, 2, 3), formulation=mbd.SE3(OWN)))
    with pytest.raises(ValueError, match="'se3 .mine.' is a formulation of your own"):
        mbd.write(system, "top.toml")


@pytest.mark.parametrize(("make", "error", "said"), [
    (lambda: mbd.SO3("caley"), ValueError, "SO3: local_map must be one of .*mean 'cayley'"),
    (lambda: mbd.SE3(replace(OWN, tangent_blocks=None)), ValueError, "SE3: .*tangent_blocks"),
    (lambda: replace(OWN, tangent=3), TypeError, "LocalMap 'mine': tangent must be a compiled"),
    (lambda: replace(OWN, quaternion=lambda x: x), TypeError, "quaternion must be .*@jit"),
    (lambda: LocalMap("", *[so3.tangent] * 4), ValueError, "LocalMap: name must be a non-"),
])  # fmt: skip
def test_wrong_maps_are_named(make, error, said):
    with pytest.raises(error, match=said):
        make()
