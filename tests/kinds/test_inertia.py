"""Inertia of every formulation: the special kernel is the pull-back of one 4x4 matrix W."""

import numpy as np
import pytest
from recipes import FORMULATIONS, GRAVITY, pair
from scenes import increment

from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

ALL = list(FORMULATIONS)


def loaded(name, seed, *, gravity=GRAVITY):
    """Return body and work space of one free body in a random state without own multipliers."""
    system, body, _ = pair(name, "ground", gravity=gravity)
    model = system.build()
    rng = np.random.default_rng(seed)
    work = Workspace(model, model.state)
    work.vector(m.D)[model.numbering.v] = increment(model, rng)
    work.evaluate()
    q = work.vector(m.Q, model.n_q).copy()
    v, a = rng.normal(size=model.n_v), rng.normal(size=model.n_v)
    work.load(model.state.replace(q=q, v=v, a=a))
    return body, work


def face(work, vector):
    """Return the face vectors (4, 3) of the only body, just evaluated."""
    return work.vector(vector, 24)[12:].reshape(4, 3).copy()


def run(work, stage):
    for kernel, record in work.model.kernels[stage]:
        kernel(work.I, work.F, record)


def trial_map(work):
    """Return Y (12, n) from unit velocities."""
    v = work.vector(m.V)
    keep = v.copy()
    columns = []
    for i in work.model.numbering.v:
        v[:] = 0.0
        v[i] = 1.0
        work.evaluate()
        columns.append(face(work, m.YD).ravel())
    v[:] = keep
    work.evaluate()
    return np.array(columns).T


def test_map(work):
    """Return Z^T (n, 12) from unit face forces."""
    x, f = work.vector(m.X), work.vector(m.FY, 24)
    v = work.model.numbering.v

    def residual(force):
        work.evaluate()
        f[12:] = force
        run(work, m.RESIDUAL)
        return x[v].copy()

    none = residual(np.zeros(12))
    return np.array([residual(e) - none for e in np.eye(12)]).T


test_map.__test__ = False


@pytest.mark.parametrize("name", ALL)
def test_residual_is_the_pull_back(name):
    body, work = loaded(name, 70213)
    n = work.model.numbering
    zt = test_map(work)
    work.evaluate()
    work.rates()
    W = body.mass_matrix
    pulled = W @ face(work, m.YDD) - np.outer(W[0], GRAVITY)
    work.evaluate()
    r = work.vector(m.X)[n.v]
    assert np.allclose(r, zt @ pulled.ravel(), rtol=0, atol=2e-14 * max(1, np.abs(r).max()))
    assert np.abs(r).max() > 1


@pytest.mark.parametrize("name", ALL)
def test_mass_matrix_is_the_pull_back(name):
    body, work = loaded(name, 70223)
    Y, zt = trial_map(work), test_map(work)
    dense = np.kron(body.mass_matrix, np.eye(3))
    M = work.model.assemble(work.store()).M.toarray()
    assert np.allclose(M, zt @ dense @ Y, rtol=0, atol=1e-14 * np.abs(M).max())
    assert np.allclose(M, M.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize("name", ALL)
def test_maps_of_attachments_are_weighted_face_maps(name):
    """The Jacobian of a body-fixed point is w (x) I times Y."""
    import mbd

    if name == "point":
        w = np.array([1.0, 0.0, 0.0, 0.0])
    else:
        w = np.array([1.0, 0.3, -0.4, 0.7])
    system, body, _ = pair(name, "ground")
    system.add(mbd.Spherical("pin", body.frame(w[1:]), system.ground.frame()))
    model = system.build()
    work = Workspace(model, model.state)
    Y = trial_map(work)
    B = model.assemble(work.store()).B.toarray()[-3:]
    assert np.allclose(B, np.kron(w, np.eye(3)) @ Y, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_power_of_inertia_is_the_rate_of_kinetic_energy(name):
    body, work = loaded(name, 70237, gravity=(0, 0, 0))
    n = work.model.numbering
    v, a, W = work.vector(m.V), work.vector(m.A), body.mass_matrix
    work.evaluate()
    power = work.vector(m.X)[n.v] @ v[n.v]
    start = v.copy()

    def kinetic(t):
        work.vector(m.D)[n.v] = t * start[n.v]
        v[n.v] = start[n.v] + t * a[n.v]
        work.evaluate()
        yd = face(work, m.YD)
        return 0.5 * np.sum(yd * (W @ yd))

    h = 1e-3
    rate = (8 * (kinetic(h) - kinetic(-h)) - kinetic(2 * h) + kinetic(-2 * h)) / (12 * h)
    assert np.isclose(power, rate, rtol=1e-9)
    assert abs(power) > 0.1


@pytest.mark.parametrize("name", ALL)
def test_free_flight_is_newton_and_euler(name):
    """Acceleration of the centre of mass is g, the moment of momentum about it is constant."""
    import mbd

    system, body, _ = pair(name, "ground")
    model = system.build()
    state = mbd.consistent(model)
    work = Workspace(model, state)
    work.evaluate()
    work.rates()
    y, yd, ydd = face(work, m.Y), face(work, m.YD), face(work, m.YDD)
    c = np.array([1, *body.center_of_mass])
    assert np.allclose(c @ ydd, GRAVITY, rtol=0, atol=1e-12)
    if name != "point":
        W = body.mass_matrix
        rate = np.cross(y, W @ ydd).sum(0) - np.cross(c @ y, body.mass * np.array(GRAVITY))
        assert np.allclose(rate, 0, atol=1e-12)
        assert np.abs(np.cross(yd[1:], ydd[1:])).max() > 1e-3
