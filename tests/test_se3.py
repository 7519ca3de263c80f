"""Rigid motions: exponential, logarithm and tangent operators, against series and differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from mbd.algebra import se3, so3
from mbd.algebra.rotations import tilde

ANGLES = [0.0, *10.0 ** np.arange(-12, 0.4, 0.5), 0.499999, 0.500001, 2.0, 3.0, 3.1]
units = arrays(float, 3, elements=st.floats(-1, 1)).filter(lambda x: np.linalg.norm(x) > 0.1).map(
    lambda x: x / np.linalg.norm(x)
)  # fmt: skip
angles = st.one_of(st.floats(0, 3.1), st.floats(-12, math.log10(3.1)).map(lambda e: 10.0**e))
turns = st.builds(lambda n, a: a * n, units, angles)
shifts = arrays(float, 3, elements=st.floats(-2, 2, allow_subnormal=False))


def matrix(a):
    return np.reshape(a, (3, 3))


def twist(u, theta):
    """Return the 4x4 matrix of the Lie algebra."""
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = tilde(np.asarray(theta)), u
    return X


def motion(u, theta):
    """Return exp(u, theta) as a 4x4 matrix through the kernels."""
    p, x = se3.exp(tuple(u), tuple(theta))
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = matrix(so3.quaternion_matrix(p)), x
    return H


def operators(u, theta):
    u, theta = tuple(u), tuple(theta)
    return (
        se3.matrix(se3.tangent_blocks(u, theta)),
        se3.matrix(se3.inverse_tangent_blocks(u, theta)),
    )


def bracket(u, theta):
    """Return ad of (u, theta)."""
    return np.block([[tilde(theta), tilde(u)], [np.zeros((3, 3)), tilde(theta)]])


@given(shifts, turns)
def test_exponential_is_that_of_the_matrix(u, theta):
    assert np.allclose(motion(u, theta), expm(twist(u, theta)), rtol=0, atol=1e-14)


@given(shifts, turns)
def test_logarithm_of_exponential(u, theta):
    v, back = se3.log(*se3.exp(tuple(u), tuple(theta)))
    assert np.allclose(back, theta, rtol=1e-13, atol=1e-15)
    assert np.allclose(v, u, rtol=0, atol=5e-14)
    # the quaternion of the other sign is the same motion
    p, x = se3.exp(tuple(u), tuple(theta))
    v, back = se3.log(tuple(-c for c in p), x)
    assert np.allclose([*v, *back], [*u, *theta], rtol=0, atol=5e-14)


@given(shifts, turns)
def test_inverse_times_operator_is_the_identity(u, theta):
    T, inverse = operators(u, theta)
    assert np.allclose(inverse @ T, np.eye(6), rtol=0, atol=1e-13)
    assert np.allclose(T @ inverse, np.eye(6), rtol=0, atol=1e-13)
    assert np.array_equal(matrix(se3.tangent(tuple(theta))), T[:3, :3])
    assert np.array_equal(matrix(se3.inverse_tangent(tuple(theta))), inverse[:3, :3])
    # the operator of the other side is the transpose for rotations
    assert np.allclose(matrix(so3.tangent(tuple(theta))), T[:3, :3].T, rtol=0, atol=3e-14)


@given(shifts, turns)
def test_operator_keeps_its_own_direction(u, theta):
    for T in operators(u, theta):
        d = np.concatenate([u, theta])
        assert np.allclose(T @ d, d, rtol=0, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_operator_is_the_sum_of_powers_of_the_bracket(angle):
    """T = sum (-ad)^k / (k + 1)!."""
    rng = np.random.default_rng(48611)
    n, u = rng.normal(size=3), rng.normal(size=3)
    theta = angle * n / np.linalg.norm(n)
    ad = bracket(u, theta)
    total, term = np.zeros((6, 6)), np.eye(6)
    for k in range(60):
        total += term
        term = -term @ ad / (k + 2)
    T, inverse = operators(u, theta)
    assert np.allclose(T, total, rtol=0, atol=4e-14)
    assert np.allclose(inverse, np.linalg.inv(total), rtol=0, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_operator_against_differences(angle):
    """The left trivialised derivative of exp: H^-1 dH is the twist of T d."""
    rng = np.random.default_rng(48619)
    n, u = rng.normal(size=3), rng.normal(size=3)
    theta = angle * n / np.linalg.norm(n)
    T, _ = operators(u, theta)
    here, h = np.linalg.inv(motion(u, theta)), 1e-3
    for i in range(6):
        d = np.eye(6)[i]

        def at(s, d=d):
            return motion(u + s * d[:3], theta + s * d[3:])

        rate = here @ (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)
        assert np.allclose(rate, twist(T[:3, i], T[3:, i]), rtol=0, atol=1e-11)


@given(st.floats(-14, math.log10(9.5)))
def test_coefficients_in_more_digits_than_a_double_has(exponent):
    x = 10.0**exponent
    wanted = [np.longdouble(0)] * 4
    a, b = np.longdouble(0.5), np.longdouble(1) / 6
    for k in range(40):  # terms (-x)^k / (2k + 2)! and / (2k + 3)!
        wanted[0] += a
        wanted[1] += b
        wanted[2] += 2 * k * a / np.longdouble(x)
        wanted[3] += 2 * k * b / np.longdouble(x)
        a *= -np.longdouble(x) / ((2 * k + 3) * (2 * k + 4))
        b *= -np.longdouble(x) / ((2 * k + 4) * (2 * k + 5))
    got = se3.coefficients(x)
    assert np.allclose(got, np.array(wanted, float), rtol=0, atol=1e-14)


def test_coefficients_on_both_sides_of_the_switch():
    below, above = np.nextafter(0.25, 0), np.nextafter(0.25, 1)
    for f in (se3.coefficients, se3.inverse_coefficients):
        assert np.allclose(f(below), f(above), rtol=0, atol=1e-13)
