"""Rotations and small matrices: compared with numpy and scipy on many numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from mbd.algebra import so3, vec
from mbd.algebra.rotations import angular_velocity, quaternion_from_matrix, tilde

numbers = st.floats(-10, 10, allow_subnormal=False)
vectors = arrays(float, 3, elements=numbers)
matrices = arrays(float, 9, elements=numbers)
units = arrays(float, 3, elements=st.floats(-1, 1)).filter(lambda x: np.linalg.norm(x) > 0.1).map(
    lambda x: x / np.linalg.norm(x)
)  # fmt: skip
angles = st.one_of(
    st.floats(0, math.pi), st.floats(-12, math.log10(math.pi)).map(lambda e: 10.0**e)
)
turns = st.builds(lambda n, a: a * n, units, angles)


def matrix(a):
    return np.reshape(a, (3, 3))


def exp(theta):
    """Return the rotation matrix of a rotation vector through the kernels."""
    return matrix(so3.quaternion_matrix(so3.quaternion_exp(tuple(theta))))


@given(turns)
def test_exponential(theta):
    R = exp(theta)
    assert np.allclose(R, Rotation.from_rotvec(theta).as_matrix(), rtol=0, atol=5e-16 * 4)
    assert np.allclose(R.T @ R, np.eye(3), rtol=0, atol=2e-15)


@given(turns)
def test_logarithm_of_exponential(theta):
    back = Rotation.from_matrix(exp(theta)).as_rotvec()
    if np.linalg.norm(theta) < 3.1:
        assert np.allclose(back, theta, rtol=1e-12, atol=1e-15)


@given(turns, turns)
def test_product_is_composition(a, b):
    p, q = so3.quaternion_exp(tuple(a)), so3.quaternion_exp(tuple(b))
    R = matrix(so3.quaternion_matrix(so3.quaternion_product(p, q)))
    assert np.allclose(R, exp(a) @ exp(b), rtol=0, atol=3e-15)


@given(units, st.floats(-3, 3), st.floats(-3, 3))
def test_turns_about_one_axis_add(n, a, b):
    p = so3.quaternion_product(so3.quaternion_exp(tuple(a * n)), so3.quaternion_exp(tuple(b * n)))
    assert np.allclose(p, so3.quaternion_exp(tuple((a + b) * n)), rtol=0, atol=1e-15 * 4)


@given(arrays(float, 4, elements=st.floats(-2, 2)))
def test_homogeneous_matrix(p):
    """A(p) of any quaternion is its squared length times a rotation."""
    A, s = matrix(so3.quaternion_matrix(tuple(p))), p @ p
    assert np.allclose(A.T @ A, s**2 * np.eye(3), rtol=0, atol=1e-14 * max(1, s**2))
    e, E = p[1:], tilde(p[1:])
    formula = (p[0] ** 2 - e @ e) * np.eye(3) + 2 * (np.outer(e, e) + p[0] * E)
    assert np.allclose(A, formula, rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, *10.0 ** np.arange(-12, 0.5, 0.5), 2.0, 3.0, np.pi])
def test_tangent_operator_against_differences(angle):
    """d(exp(theta)) R^T is the cross-product matrix of T(theta) d theta."""
    rng = np.random.default_rng(81233)
    n = rng.normal(size=3)
    theta = angle * n / np.linalg.norm(n)
    T = matrix(so3.tangent(tuple(theta)))
    h = 1e-3
    for i in range(3):
        d = h * np.eye(3)[i]
        rate = (8 * (exp(theta + d) - exp(theta - d)) - exp(theta + 2 * d) + exp(theta - 2 * d)) / (
            12 * h
        )
        W = rate @ exp(theta).T
        assert np.allclose(W, tilde(T[:, i]), rtol=0, atol=1e-12)


@given(turns)
def test_tangent_operator_keeps_its_axis(theta):
    T = matrix(so3.tangent(tuple(theta)))
    assert np.allclose(T @ theta, theta, rtol=0, atol=1e-14)
    # T(theta)^T = T(-theta), and exp(theta) = T T^-T
    assert np.allclose(T.T, matrix(so3.tangent(tuple(-theta))), rtol=0, atol=1e-15)
    assert np.allclose(T, exp(theta) @ T.T, rtol=0, atol=2e-15)


@given(st.floats(-14, math.log10(12)))
def test_coefficients_are_smooth_where_the_series_ends(exponent):
    """Compared with the sums of their series in more digits than a double has."""
    x = 10.0**exponent
    f = np.longdouble(x)
    terms = {0: np.longdouble(1), 1: np.longdouble(0.5), 2: np.longdouble(1) / 6}
    for start, got in zip((0, 1, 2), so3.coefficients(x), strict=True):
        term, total = terms[start], np.longdouble(0)
        for k in range(40):
            total += term
            a = 2 * k + 2 + start
            term = -term * f / (a * (a + 1))
        assert abs(float(total) - got) < 2e-14


def test_coefficients_on_both_sides_of_the_switch():
    below, above = np.nextafter(1e-2, 0), np.nextafter(1e-2, 1)
    assert np.allclose(so3.coefficients(below), so3.coefficients(above), rtol=0, atol=2e-14)


@given(turns)
def test_quaternion_from_matrix(theta):
    R = Rotation.from_rotvec(theta).as_matrix()
    p = quaternion_from_matrix(R)
    assert np.isclose(np.linalg.norm(p), 1.0, rtol=0, atol=1e-15)
    assert np.allclose(matrix(so3.quaternion_matrix(tuple(p))), R, rtol=0, atol=1e-15 * 3)


def test_quaternion_from_many_matrices():
    rng = np.random.default_rng(81239)
    R = Rotation.random(200, random_state=81281)
    half = Rotation.from_rotvec(np.pi * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]]))
    both = np.concatenate([R.as_matrix(), half.as_matrix(), np.eye(3)[None]])
    p = quaternion_from_matrix(both.reshape(5, 41, 3, 3))
    assert p.shape == (5, 41, 4)
    for one, M in zip(p.reshape(-1, 4), both, strict=True):
        assert np.allclose(matrix(so3.quaternion_matrix(tuple(one))), M, rtol=0, atol=2e-15)
        # the same, one by one
        assert np.allclose(np.abs(quaternion_from_matrix(M) @ one), 1.0, rtol=0, atol=1e-15 * 4)
    # a diagonal of ones is the identity only if the rest is zero
    tiny = Rotation.from_rotvec(1e-9 * rng.normal(size=3))
    q = quaternion_from_matrix(tiny.as_matrix())
    assert np.allclose(2 * q[1:], tiny.as_rotvec(), rtol=1e-7, atol=1e-17)


@given(turns, vectors)
def test_angular_velocity_of_directors(theta, omega):
    d = Rotation.from_rotvec(theta).as_matrix().T
    assert np.allclose(angular_velocity(d, np.cross(omega, d)), omega, rtol=0, atol=1e-13)


@given(matrices, matrices, vectors, vectors)
def test_small_matrices(A, B, x, y):
    a, b, u, v = tuple(A), tuple(B), tuple(x), tuple(y)
    A, B = matrix(A), matrix(B)
    X, Y = tilde(x), tilde(y)

    def same(got, expected):
        assert np.allclose(np.ravel(got), np.ravel(expected), rtol=1e-13, atol=1e-11)

    same(vec.dot(u, v), x @ y)
    same(vec.cross(u, v), np.cross(x, y))
    same(vec.plus(u, v), x + y)
    same(vec.minus(u, v), x - y)
    same(vec.times(1.7, u), 1.7 * x)
    same(vec.mat_vec(a, u), A @ x)
    same(vec.vec_mat(u, a), A.T @ x)
    same(vec.mat_mat(a, b), A @ B)
    same(vec.mat_mat_t(a, b), A @ B.T)
    same(vec.mat_plus(a, -0.3, b), A - 0.3 * B)
    same(vec.tilde(u), X)
    same(vec.tilde(v), Y)
    same(vec.outer(u, v), np.outer(x, y))
    same(vec.tilde_mat(u, b), X @ B)
    same(vec.mat_tilde(a, v), A @ Y)


@given(arrays(float, 12, elements=numbers), arrays(float, 4, elements=numbers), vectors)
def test_weighted_and_spread_are_transposes(y, w, f):
    F = np.concatenate([y, w, np.zeros(12)])
    x = vec.weighted(F, 0, 12)
    assert np.allclose(x, w @ y.reshape(4, 3), rtol=1e-13, atol=1e-11)
    vec.spread(F, 16, 12, 2.0, tuple(f))
    assert np.isclose(F[16:] @ y, 2.0 * np.dot(f, x), rtol=1e-11, atol=1e-9)
