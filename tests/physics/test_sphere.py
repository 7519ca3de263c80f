"""The unit sphere: geodesics, transport, and the split equations on runs of both models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbd
from mbd.algebra import s2

coordinate = st.floats(-1, 1, allow_nan=False)
vectors = st.tuples(coordinate, coordinate, coordinate).map(np.array)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@given(vectors, vectors, st.floats(1e-12, 3.1))
def test_log_undoes_exp(a, b, angle):
    if np.linalg.norm(a) < 1e-3 or np.linalg.norm(np.cross(a, b)) < 1e-3:
        return
    d = unit(a)
    v = angle * unit(b - d * (d @ b))
    end = s2.exp(d, v)
    assert abs(np.linalg.norm(end) - 1) < 1e-14
    np.testing.assert_allclose(s2.log(d, end), v, rtol=1e-12, atol=1e-15)


@given(vectors, vectors, vectors)
def test_transport_is_the_published_formula_and_keeps_angles(a, b, w):
    if min(np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(np.cross(a, b))) < 1e-2:
        return
    d0, d = unit(a), unit(b)
    w0 = w - d0 * (d0 @ w)
    moved = s2.parallel_transport(d0, d, w0)
    out, back = s2.log(d0, d), s2.log(d, d0)
    published = w0 - (out + back) * (out @ w0) / (out @ out)
    np.testing.assert_allclose(moved, published, atol=1e-12)
    assert abs(moved @ d) < 1e-12
    assert abs(moved @ moved - w0 @ w0) < 1e-12
    # the direction of the geodesic stays the direction of the geodesic
    np.testing.assert_allclose(s2.parallel_transport(d0, d, out), -back, atol=1e-12)


def test_transport_has_no_covariant_derivative():
    rng = np.random.default_rng(73417)
    d0 = unit(rng.normal(size=3))
    v = s2.covariant_derivative(d0, rng.normal(size=3))
    w0 = s2.covariant_derivative(d0, rng.normal(size=3))
    h = 1e-5
    along = [s2.parallel_transport(d0, s2.exp(d0, t * v), w0) for t in (0.7 - h, 0.7 + h)]
    rate = (along[1] - along[0]) / (2 * h)
    assert np.abs(rate).max() > 1e-2
    assert np.abs(s2.covariant_derivative(s2.exp(d0, 0.7 * v), rate)).max() < 1e-9


def test_opposite_points_have_no_log():
    with pytest.raises(ValueError, match="opposite"):
        s2.log(np.array([0, 0, 1.0]), np.array([0, 0, -1.0]))


@pytest.mark.parametrize("twisting", [True, False])
def test_split_equations_hold_along_a_run(twisting):
    J = np.array([[3, -1 / 7, 0], [-1 / 7, 4, 0], [0, 0, 5]])
    system = mbd.System()
    body = mbd.RigidBody(
        "body", mass=1.0, inertia=J, angular_velocity=(6, -18, 2.0 if twisting else 0.0)
    )
    system.add(body)
    if not twisting:
        system.add(mbd.NonTwisting("frame", body))
    run = mbd.simulate(system, 0.3, 1e-4, method=mbd.GeneralizedAlpha(tol=1e-11), every=100)
    h = run["body"]
    R, w = h.rotation, h.angular_velocity_body
    dw = np.einsum("nij,ni->nj", R, h.angular_acceleration)
    pi = np.einsum("nij,nj->ni", R, w @ J)
    torque = np.einsum("nij,nj->ni", R, dw @ J + np.cross(w, w @ J))
    d3, d3_rate = R[:, :, 2], np.cross(h.angular_velocity, R[:, :, 2])
    across, along = s2.split_balance(d3, d3_rate, pi, torque)
    size = np.abs(np.cross(w, w @ J)).max()  # N m, of the gyroscopic terms
    assert np.abs(across).max() < 1e-4 * size
    if twisting:
        assert np.abs(along).max() < 1e-4 * size
    else:
        mu = run["frame"].multipliers[:, 0]
        assert np.abs(mu).max() > 0.05 * size
        np.testing.assert_allclose(along, -mu, atol=1e-4 * size)
        assert np.abs(s2.split(d3, pi)[1]).max() < 1e-8
