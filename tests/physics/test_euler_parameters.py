"""Euler parameters: all forms give one motion, each form its own multiplier of the norm row."""

from functools import partial

import numpy as np
import pytest
from scenes import with_body
from scipy.spatial.transform import Rotation

import mbd
from mbd.algebra.quaternions import B1, B2, G, H, L, scaled_rotation
from mbd.algebra.rotations import tilde
from mbd.formulations.euler_parameters import (
    augmented_inverse,
    augmented_matrix,
    augmented_right_side,
    parameter_acceleration,
)
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

from .tools import SHARP, converge, ends, published, scene

PAIRS = [(form, f) for form in ("full", "reduced") for f in ("B2", "B1", "H", "Q_p2")]
FORMS = [*PAIRS, ("projected", None)]
INERTIA = np.array([[0.7, 0.1, -0.05], [0.1, 0.9, 0.2], [-0.05, 0.2, 1.1]])
AT, FORCE, GRAVITY = np.array([0.2, -0.4, 0.3]), (3.0, -2.0, 5.0), (1.3, -0.7, -9.81)
SEEDS = range(71011, 71015)


def random_pose(seed):
    """Return Euler parameters, rotation, angular velocity in body axes."""
    rng = np.random.default_rng(seed)
    p = rng.normal(size=4)
    p /= np.linalg.norm(p)
    return p, scaled_rotation(p), 3 * rng.normal(size=3)


def thrown(formulation, seed, center=(0, 0, 0), gravity=GRAVITY):
    """Return a body with a force at a point, in a random state, solved for accelerations."""
    _, R, w = random_pose(seed)
    system, body = with_body(
        "body", gravity=gravity, mass=2.3, inertia=INERTIA, center_of_mass=center, rotation=R,
        velocity=(0.3, 0.2, -0.4), angular_velocity_body=w, formulation=formulation,
    )  # fmt: skip
    system.add(mbd.PointForce("push", body, FORCE, at=R @ AT))
    model = system.build()
    return model, mbd.consistent(model)


def faces(model, state):
    work = Workspace(model, state)
    work.evaluate()
    work.rates()
    return [work.vector(x, 24)[12:].reshape(4, 3).copy() for x in (m.Y, m.YD, m.YDD)]


# --- the matrices ---------------------------------------------------------------------------------
def printed(p):
    """Return A as printed, Eq. (5): a rotation on the unit sphere only."""
    e = p[1:]
    return (2 * p[0] ** 2 - 1) * np.eye(3) + 2 * (np.outer(e, e) + p[0] * tilde(e))


def test_identities_of_the_matrices():
    rng = np.random.default_rng(71003)
    for _ in range(5):
        p, x, u = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
        s, A = p @ p, scaled_rotation(p)
        R = Rotation.from_quat(p, scalar_first=True).as_matrix()
        assert np.allclose(A, s * R, rtol=0, atol=1e-13)
        assert np.allclose(L(p) @ L(p).T, s * np.eye(3), rtol=0, atol=1e-13)
        assert np.allclose(G(p).T @ G(p), s * np.eye(4) - np.outer(p, p), rtol=0, atol=1e-13)
        assert np.allclose(L(p) @ x, -L(x) @ p, rtol=0, atol=1e-14)
        assert np.allclose(L(p).T @ u, H(u) @ p, rtol=0, atol=1e-14)
        assert np.allclose(B2(p, u) @ x, B2(x, u) @ p, rtol=0, atol=1e-13)
        # the two test maps differ by a multiple of p: Eqs. (68), (74)
        assert np.allclose(B1(p, u), s * B2(p, u) - 2 * np.outer(A @ u, p), rtol=0, atol=1e-12)
        h = 1e-3
        for j, e in enumerate(np.eye(4)):
            slope = (scaled_rotation(p + h * e) - scaled_rotation(p - h * e)) @ u / (2 * h)
            assert np.allclose(B2(p, u)[:, j], slope, rtol=0, atol=1e-11)

            slope = (printed(p + h * e) - printed(p - h * e)) @ u / (2 * h)
            assert np.allclose(B2(p, u, homogeneous=False)[:, j], slope, rtol=0, atol=1e-11)


def test_augmented_system_has_its_closed_inverse_and_solution():
    rng = np.random.default_rng(71023)
    for seed in SEEDS:
        p, _, w = random_pose(seed)
        rate, n = 0.5 * L(p).T @ w, rng.normal(size=3)
        matrix = augmented_matrix(p, INERTIA)
        assert np.allclose(augmented_inverse(p, INERTIA) @ matrix, np.eye(5), rtol=0, atol=1e-13)
        wanted = parameter_acceleration(p, rate, INERTIA, n)
        for form in ("full", "reduced"):
            right = augmented_right_side(p, rate, INERTIA, n, form=form)
            x = augmented_inverse(p, INERTIA) @ right
            assert np.allclose(x, np.linalg.solve(matrix, right), rtol=0, atol=1e-11)
            assert np.allclose(x[:4], wanted, rtol=0, atol=1e-12)
            kinetic = 8 * rate @ L(p).T @ INERTIA @ L(p) @ rate
            assert np.isclose(x[4], kinetic if form == "reduced" else 0, rtol=1e-13, atol=1e-12)
        # Euler's equation
        spin = np.linalg.solve(INERTIA, n - np.cross(w, INERTIA @ w))
        assert np.allclose(2 * L(p) @ wanted, spin, rtol=0, atol=1e-12)


# --- the forms, from the assembled system ---------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_acceleration_is_equation_38(form, force_map, seed):
    p, R, w = random_pose(seed)
    _, state = thrown(mbd.EulerParameters(form, force_map), seed)
    sign = np.sign(p @ state.q[3:])
    n = np.cross(AT, R.T @ FORCE)
    wanted = parameter_acceleration(p, 0.5 * L(p).T @ w, INERTIA, n)
    assert np.allclose(sign * state.a[3:], wanted, rtol=0, atol=2e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("center", [(0, 0, 0), (0.11, -0.23, 0.17)])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_accelerations_are_those_of_so3(form, force_map, seed, center):
    one = faces(*thrown(mbd.EulerParameters(form, force_map), seed, center))
    two = faces(*thrown("so3", seed, center))
    for a, b in zip(one, two, strict=True):
        assert np.allclose(a, b, rtol=0, atol=2e-12 * np.abs(b).max())


@pytest.mark.parametrize("center", [(0, 0, 0), (0.11, -0.23, 0.17)])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_multiplier_is_the_predicted_one(form, force_map, seed, center):
    model, state = thrown(mbd.EulerParameters(form, force_map), seed, center)
    y, yd, ydd = faces(model, state)
    p, rate = state.q[3:], state.v[3:]
    mass, c, g = 2.3, np.array(center), np.array(GRAVITY)
    J = INERTIA + mass * (c @ c * np.eye(3) - np.outer(c, c))
    E = 0.5 * np.trace(J) * np.eye(3) - J
    # H form: 2 p^T H^T G^T f, the force and the weight
    forces = ((AT, np.array(FORCE)), (c, mass * g))
    hanging = sum(2 * p @ H(u).T @ G(p).T @ f for u, f in forces)
    gyro = 8 * rate @ L(p).T @ J @ L(p) @ rate  # Eq. (30): four times the rotational energy
    if form == "projected":
        wanted = 0.0
    elif (form, force_map) == ("full", "B2"):
        energy = 2 * np.einsum("kl,kc,lc", E, yd[1:], yd[1:])
        wanted = energy + hanging - 2 * mass * (c @ y[1:]) @ ydd[0]
        if not c.any():
            assert np.isclose(energy, gyro, rtol=1e-12)
    else:
        wanted = (gyro if form == "reduced" else 0.0) + (0.0 if force_map == "B1" else hanging)
        if force_map == "Q_p2":  # Eq. (69)
            wanted += sum(2 * u @ f for u, f in forces)
    scale = gyro + np.abs(hanging)
    assert np.isclose(state.lam[0], wanted, rtol=0, atol=3e-13 * scale)
    if form == "projected":
        assert state.lam[0] == 0.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_inertia_is_the_pull_back_with_the_test_map_of_the_form(form, force_map, seed):
    """Z^T (W x I)(Y a + Y' v), with an eccentric centre of mass, for any acceleration."""
    center = np.array((0.11, -0.23, 0.17))
    model, state = thrown(mbd.EulerParameters(form, force_map), seed, center, (0, 0, 0))
    rng = np.random.default_rng(seed)
    state = state.replace(a=rng.normal(size=7), lam=np.zeros(1))
    work = Workspace(model, state)
    work.evaluate()
    with_force = work.vector(m.X)[model.numbering.v].copy()
    _, _, ydd = faces(model, state)
    p, rate = state.q[3:], state.v[3:]
    c = center
    J = INERTIA + 2.3 * (c @ c * np.eye(3) - np.outer(c, c))
    W = np.block([[2.3, 2.3 * c], [2.3 * c[:, None], 0.5 * np.trace(J) * np.eye(3) - J]])
    inertia = W @ ydd
    applied = np.outer(np.append(1, AT), FORCE)
    virtual = {"B1": B1, "B2": B2, "H": B2, "Q_p2": partial(B2, homogeneous=False)}

    def pulled(which, f):
        if which == "projected":  # L/2 times: the moment in body axes
            z = sum(virtual["B1"](p, e).T @ x for e, x in zip(np.eye(3), f[1:], strict=True))
            return np.append(f[0], np.append(0.0, 0.5 * L(p) @ z))
        z = sum(virtual[which](p, e).T @ x for e, x in zip(np.eye(3), f[1:], strict=True))
        return np.append(f[0], z)

    if form == "projected":
        wanted = pulled("projected", inertia - applied)
    elif (form, force_map) == ("full", "B2"):
        wanted = pulled("B2", inertia - applied)
    else:
        wanted = pulled("B1", inertia) - pulled(force_map, applied)
    if form == "reduced":
        wanted[3:] -= 8 * p * (rate @ L(p).T @ J @ L(p) @ rate)
    assert np.allclose(with_force, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_the_default_has_a_positive_definite_mass_matrix():
    for form, force_map in FORMS:
        model, state = thrown(mbd.EulerParameters(form, force_map), 71011, (0.1, -0.2, 0.1))
        M = model.assemble(state).M.toarray()
        rank = np.linalg.matrix_rank(M, tol=1e-10)
        if (form, force_map) == ("full", "B2"):
            assert np.linalg.eigvalsh(M).min() > 0.1
            assert np.allclose(M, M.T, rtol=0, atol=1e-14)
        else:
            assert rank == 6


# --- runs -----------------------------------------------------------------------------------------
def test_one_motion_of_all_forms():
    """A chain of two with every form: positions and joint forces agree at the end."""

    def run(formulation):
        system = scene("chain").build(n=2, kind="twisted", formulation=["so3", formulation])
        s = mbd.simulate(system, 0.5, 1e-3, method=SHARP, every=1_000_000)
        return np.r_[s["bar 2"].position[-1], s["joint 2"].force[-1], s["joint 1"].force[-1]]

    runs = [run(mbd.EulerParameters(*words)) for words in FORMS]
    for x in runs[1:]:
        assert np.allclose(x[:3], runs[0][:3], rtol=0, atol=1e-5)
        assert np.allclose(x[3:], runs[0][3:], rtol=0, atol=1e-2)


@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_heavy_top(form, force_map):
    words = {"x": "top.position", "reaction": "pin.force"}
    run, other = (
        ends(scene("heavy_top").build(x), 0.2, **words)
        for x in (mbd.EulerParameters(form, force_map), "so3")
    )
    coarse, fine = other(1e-4), other(5e-5)
    exact = {k: (4 * fine[k] - coarse[k]) / 3 for k in words}
    converge(run, exact, step=5e-4, tolerance={"x": 1e-6, "reaction": 2e-2})


@pytest.mark.parametrize(("form", "force_map"), FORMS)
def test_multipliers_along_a_run(form, force_map):
    """At every recorded state, the first too: the row along p has no acceleration in it.

    Of the default it has: p^T times the inertia is twice the rate of the virial.
    """
    system = scene("heavy_top").build(mbd.EulerParameters(form, force_map))
    run = mbd.simulate(system, 0.1, 2.5e-4, method=SHARP)
    lam = run.lam[:, run.model.numbering.owners["top"]][:, 0]
    top, mass = system["top"], system["top"].mass
    E = top.second_moments
    J = np.trace(E) * np.eye(3) - E
    assert not top.center_of_mass.any()
    pin, wanted = np.array((0.0, -1.0, 0.0)), []
    for q, v, force in zip(run.q, run.v, run["pin"].force, strict=True):
        p, rate = q[3:], v[3:]
        gyro = 8 * rate @ L(p).T @ J @ L(p) @ rate
        hanging = 2 * p @ H(pin).T @ G(p).T @ force  # the weight acts at the origin
        if force_map == "Q_p2":
            hanging += 2 * pin @ force
        wanted.append([gyro, hanging])
    gyro, hanging = np.array(wanted).T
    assert hanging.min() < -100 or hanging.max() > 100
    assert gyro.min() > 2e4
    known = {
        "projected": 0 * gyro,
        "full": 0 * gyro if force_map == "B1" else hanging,
        "reduced": gyro if force_map == "B1" else gyro + hanging,
    }[form]
    if (form, force_map) == ("full", "B2"):
        history = run["top"]
        W = mass * np.eye(4)
        W[1:, 1:] = E
        inertia = np.einsum("kl,nlc->nkc", W, history.ydd)
        known = hanging - 2 * np.einsum("nkc,nkc->n", history.y[:, 1:], inertia[:, 1:])
    size = gyro.max()
    assert np.abs(lam - known).max() < 1e-12 * size
    if form == "projected":
        assert np.all(lam == 0.0)


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="form must be one of full, reduced, projected, got 'x'"):
        mbd.EulerParameters("x")
    with pytest.raises(ValueError, match="force_map must be one of B2, B1, H, Q_p2, got 'B3'"):
        mbd.EulerParameters("full", "B3")
    p, J = np.eye(4)[0], np.eye(3)
    with pytest.raises(ValueError, match="form must be 'full' or 'reduced'"):
        augmented_right_side(p, p, J, np.zeros(3), form="projected")


def test_published_values_are_reached_by_the_default():
    run = ends(scene("heavy_top").build("euler_parameters"), 0.1, x="top.position")
    converge(run, {"x": published("heavy top")["0.1"]["x"]}, step=5e-4, tolerance=1e-6)
