"""The scalable body: equations of the paper, breathing against an ODE, rigid by one row."""

import numpy as np
import pytest
from scenes import with_body
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mbd
from mbd.algebra.quaternions import H, Q, scaled_rotation
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

from .test_chains import TOLERANCE, bars, table
from .tools import SHARP, converge, ends, published, scene

ALL = [(rigid, velocities) for rigid in (True, False) for velocities in ("rates", "u")]
THETA = np.array([[0.7, 0.1, -0.05], [0.1, 0.9, 0.2], [-0.05, 0.2, 1.1]])
MASS, AT, FORCE, GRAVITY = 2.3, np.array([0.2, -0.4, 0.3]), (3.0, -2.0, 5.0), (1.3, -0.7, -9.81)
SWELL = -7.3
SEEDS = range(72017, 72021)


def thrown(rigid, velocities, seed):
    """Return a body about its centre of mass with a force, at a random scale unless rigid."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=4)
    A /= np.linalg.norm(A)
    system, body = with_body(
        "body", gravity=GRAVITY, mass=MASS, inertia=THETA, rotation=scaled_rotation(A),
        velocity=rng.normal(size=3), angular_velocity=2 * rng.normal(size=3),
        formulation=mbd.Scalable(rigid=rigid, velocities=velocities),
    )  # fmt: skip
    system.add(mbd.PointForce("push", body, FORCE, at=scaled_rotation(A) @ AT))
    system.add(mbd.ScalingForce("swell", body, SWELL))
    model = system.build()
    state = model.state
    if not rigid:
        q, v = state.q.copy(), state.v.copy()
        q[3:] *= rng.uniform(0.7, 1.4)
        v[3] += rng.normal()  # scales, in both velocities
        state = state.replace(q=q, v=v)
    return model, mbd.consistent(model, state)


def paper(state, velocities):
    """Return s, R, u and its rate at a state."""
    A = state.q[3:]
    s = A @ A
    if velocities == "u":
        return s, scaled_rotation(A) / s, state.v, state.a
    rate, second = state.v[3:], state.a[3:]
    u = np.append(state.v[:3], Q(A) @ rate)
    return s, scaled_rotation(A) / s, u, np.append(state.a[:3], Q(rate) @ rate + Q(A) @ second)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rigid", "velocities"), ALL)
def test_equations_of_the_paper(rigid, velocities, seed):
    _, state = thrown(rigid, velocities, seed)
    s, R, u, rate = paper(state, velocities)
    nu, w = u[3], u[4:]
    f = R.T @ FORCE
    virial, moment = AT @ f + SWELL, np.cross(AT, f)  # c_S is that of the force and the load
    lam = -state.lam[0] / 2 if rigid else 0.0  # of the row |A|^2 - 1, on the right-hand side
    scale = 0.5 * np.trace(THETA) * rate[3] - w @ THETA @ w / s - virial - lam
    spin = THETA @ rate[4:] + nu * THETA @ w / s + np.cross(w, THETA @ w) / s - moment
    size = 10 + np.abs(w @ THETA @ w)
    assert np.allclose(MASS * (rate[:3] - GRAVITY), FORCE, rtol=0, atol=1e-12)
    assert abs(scale) < 1e-12 * size
    assert np.allclose(spin, 0, rtol=0, atol=1e-12 * size)
    if rigid:
        assert np.isclose(lam, -(w @ THETA @ w) / s - virial, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_in_u_is_constant(seed):
    model, state = thrown(False, "u", seed)
    M = model.assemble(state).M.toarray()
    wanted = np.zeros((7, 7))
    wanted[:3, :3], wanted[3, 3], wanted[4:, 4:] = MASS * np.eye(3), 0.5 * np.trace(THETA), THETA
    assert np.allclose(M, wanted, rtol=0, atol=1e-14)
    model, state = thrown(False, "rates", seed)
    whole = np.eye(7)
    whole[3:, 3:] = Q(state.q[3:])
    M = model.assemble(state).M.toarray()
    assert np.allclose(M, whole.T @ wanted @ whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rigid", [True, False])
def test_velocities_u_are_those_of_the_rates(rigid):
    """Eccentric, with a joint: accelerations of the faces agree at the same state."""
    found = []
    for velocities in ("rates", "u"):
        system = mbd.System(gravity=GRAVITY)
        rng = np.random.default_rng(72031)
        body = system.add(
            mbd.RigidBody(
                "body", mass=MASS, inertia=THETA, center_of_mass=(0.1, -0.2, 0.3),
                rotation=Rotation.from_rotvec(rng.normal(size=3)), position=rng.normal(size=3),
                angular_velocity=rng.normal(size=3), velocity=rng.normal(size=3),
                formulation=mbd.Scalable(rigid=rigid, velocities=velocities),
            )
        )  # fmt: skip
        system.add(
            mbd.Revolute("pin", system.ground, body, at=(0.3, 0.2, -0.5), axis=(0, 0.6, 0.8))
        )
        model = system.build()
        state = mbd.assemble_pose(model)
        work = Workspace(model, state)
        work.evaluate()
        work.rates()
        found.append([work.vector(x, 24)[12:].copy() for x in (m.Y, m.YD, m.YDD)])
    for a, b in zip(*found, strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-10 * max(1, np.abs(b).max()))


def test_increments_follow_the_flow():
    """Constant u for unit time, by the increment and by A' = A (nu, omega) / (2 |A|^2)."""
    model, state = thrown(False, "u", 72043)
    d = np.array([0.1, 0.2, -0.3, 0.4, 0.5, -0.7, 0.3])
    for change in (d, d * 1e-3, np.where(np.arange(7) == 3, 0.0, d)):
        work = Workspace(model, state)
        work.vector(m.D)[model.numbering.v] = change
        work.evaluate()

        def flow(t, q, u=change):
            A = q[3:]
            product = np.append(A[0] * u[3] - A[1:] @ u[4:], A[1:] * u[3] + H(u[4:])[1:] @ A)
            return np.append(u[:3], product / (2 * A @ A))

        end = solve_ivp(flow, (0, 1), state.q, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
        assert np.allclose(work.vector(m.Q, 7), end, rtol=0, atol=1e-12)


# --- a free body spins and swells -----------------------------------------------------------------
def breathing(velocities, center=(0, 0, 0)):
    system, _ = with_body(
        "body", mass=MASS, inertia=THETA, center_of_mass=center, velocity=(0.1, 0.2, 0.3),
        angular_velocity=(1.0, -2.0, 1.5),
        formulation=mbd.Scalable(rigid=False, velocities=velocities),
    )  # fmt: skip
    return system


def reference(t_end):
    """Integrate the equations of the paper, page 10."""
    half = 0.5 * np.trace(THETA)

    def rate(t, x):
        A, nu, w = x[:4], x[4], x[5:]
        s = A @ A
        gyro = nu * np.eye(3) + np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        Ad = np.append(A[0] * nu - A[1:] @ w, A[1:] * nu + A[0] * w + np.cross(A[1:], w)) / (2 * s)
        wd = -np.linalg.solve(THETA, gyro @ THETA @ w) / s
        return np.concatenate([Ad, [w @ THETA @ w / (s * half)], wd])

    start = np.array([1, 0, 0, 0, 0, 1.0, -2.0, 1.5])
    x = solve_ivp(rate, (0, t_end), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return x[:4], x[5:]


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_free_body_breathes_like_the_ode(velocities):
    A, w = reference(2.0)
    s = A @ A
    R = scaled_rotation(A) / s
    exact = {
        "s": s,
        "R": R,
        "omega": R @ w / s,
        "y": np.vstack([(0.2, 0.4, 0.6), scaled_rotation(A).T]),
    }
    energy = 0.5 * np.array([1.0, -2.0, 1.5]) @ THETA @ (1.0, -2.0, 1.5)
    # the virial theorem: the moment of inertia about the centre is a parabola of time
    assert np.isclose(s**2, 1 + 4 * energy * 2.0**2 / np.trace(THETA), rtol=1e-12)
    assert s > 2
    run = ends(breathing(velocities), 2.0, s="body.scale", R="body.rotation",
               omega="body.angular_velocity", y="body.y")  # fmt: skip
    converge(run, exact, step=8e-3, tolerance=2e-8)


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_free_body_keeps_energy_and_momenta_with_second_order(velocities):
    change = []
    for h in (8e-3, 4e-3):
        run = mbd.simulate(breathing(velocities, (0.1, -0.2, 0.3)), 2.0, h, method=SHARP)
        p, L, E = run.momentum.linear, run.momentum.angular, run.energy.total
        change.append([np.abs(x - x[0]).max() for x in (p, L, E)])
        assert run["body"].scale[-1] > 1.5
    for coarse, fine in zip(*change, strict=True):
        assert fine < 1e-3
        assert fine < 0.3 * coarse or fine < 1e-9


def test_results_of_a_breathing_body():
    """Rotation, angular velocity and acceleration are those of R, not of the long directors."""
    body = mbd.simulate(breathing("u"), 1.0, 1e-3, method=SHARP)["body"]
    R, t = body.rotation, np.arange(1001) * 1e-3
    assert np.allclose(R @ np.swapaxes(R, 1, 2), np.eye(3), rtol=0, atol=1e-13)
    assert np.allclose(np.linalg.norm(body.quaternion, axis=1), 1, rtol=0, atol=1e-13)
    turned = Rotation.from_matrix(R[2:] @ np.swapaxes(R[:-2], 1, 2)).as_rotvec() / (t[2] - t[0])
    assert np.allclose(body.angular_velocity[1:-1], turned, rtol=0, atol=1e-5)
    slope = (body.angular_velocity[2:] - body.angular_velocity[:-2]) / (t[2] - t[0])
    assert np.allclose(body.angular_acceleration[3:-3], slope[2:-2], rtol=0, atol=1e-4)
    assert np.abs(slope).max() > 1
    # a rigid one has scale one
    rigid = mbd.simulate(scene("heavy_top").build("scalable"), 0.01, 1e-3)["top"]
    assert (rigid.scale == 1).all()


# --- squeezed -------------------------------------------------------------------------------------
def squeezed(force, **options):
    """Return a body that spins about a principal axis under a force on its scale."""
    system, body = with_body(
        "body", mass=MASS, inertia=(0.7, 0.9, 1.1), angular_velocity=(0, 0, 3.0),
        formulation=mbd.Scalable(**options),
    )  # fmt: skip
    system.add(mbd.ScalingForce("squeeze", body, force))
    return system


HOLDING = -1.1 * 3.0**2  # - omega Theta omega at scale one


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_squeezed_body_turns_back_at_the_closed_form(velocities):
    """1/4 tr Theta nu^2 + 1/2 Theta w0^2 / s^2 - c s is constant: s = (1 + sqrt(1 + 8k)) / (4k)."""
    k = 3.0
    body = mbd.simulate(
        squeezed(k * HOLDING, rigid=False, velocities=velocities), 2.0, 5e-4, method=SHARP
    )["body"]
    s = body.scale
    assert np.isclose(s.min(), 0.5, rtol=0, atol=1e-5)
    assert np.isclose(s.max(), 1.0, rtol=0, atol=1e-5)
    # the momentum about the axis, s^2 times the angular velocity
    assert np.allclose(s**2 * body.angular_velocity[:, 2], 3.0, rtol=0, atol=1e-4)

    def rate(t, x):
        return x[1], (1.1 * 9.0 / x[0] ** 3 + k * HOLDING) / (0.5 * 2.7)

    exact = solve_ivp(rate, (0, 2), (1.0, 0.0), method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    run = ends(squeezed(k * HOLDING, rigid=False, velocities=velocities), 2.0, s="body.scale")
    converge(run, {"s": exact}, step=4e-3, tolerance=1e-6)


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_held_body_keeps_its_scale_without_a_row(velocities):
    s = mbd.simulate(squeezed(HOLDING, rigid=False, velocities=velocities), 2.0, 1e-2)["body"].scale
    # constant u is exact; the rates of a quaternion that turns are not constant
    assert np.allclose(s, 1.0, rtol=0, atol=1e-12 if velocities == "u" else 1e-6)


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_reaction_of_the_rigid_body_along_a_run(velocities):
    """Of the row |A|^2 - 1: - w Theta w - c_S(t), to round-off; the squeeze turns its sign."""
    rng = np.random.default_rng(72053)
    system, body = with_body(
        "body", mass=MASS, inertia=THETA, angular_velocity=2 * rng.normal(size=3),
        formulation=mbd.Scalable(velocities=velocities),
    )  # fmt: skip
    system.add(mbd.ScalingForce("squeeze", body, lambda t: -60 * t))
    free = mbd.simulate(system, 0.5, 1e-3, method=SHARP)
    lam = -free.lam[:, free.model.numbering.owners["body"]][:, 0] / 2
    for i in range(len(free.t)):  # what the integrator holds, its scale and accelerations included
        state = mbd.State(free.t[i], free.q[i], free.v[i], free.a[i], free.lam[i])
        s, _, u, rate = paper(state, velocities)
        w = u[4:]
        wanted = 0.5 * np.trace(THETA) * rate[3] - w @ THETA @ w / s + 60 * free.t[i]
        assert abs(lam[i] - wanted) < 1e-10, i
        # and nothing of the scale moves but for the error of the step
        assert abs(lam[i] + w @ THETA @ w - 60 * free.t[i]) < 1e-3
    assert lam[0] < -1
    assert lam[-1] > 1
    # the motion does not see the force
    system.forces.clear()
    alone = mbd.simulate(system, 0.5, 1e-3, method=SHARP)
    assert np.allclose(alone["body"].rotation, free["body"].rotation, rtol=0, atol=1e-11)


def test_scaling_force_in_wrong_places():
    body = mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ValueError, match="squeeze: .* 'b' is carried by 'so3', which has none"):
        mbd.ScalingForce("squeeze", body, 1.0)
    with pytest.raises(TypeError, match="squeeze: must act on a body"):
        mbd.ScalingForce("squeeze", mbd.System().ground, 1.0)
    soft = mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), formulation="scalable")
    with pytest.raises(ValueError, match=r"squeeze: the law of time must return a number, got \("):
        mbd.ScalingForce("squeeze", soft, lambda t: (1.0, 2.0, 3.0))


# --- rigid ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_rigid_body_is_the_heavy_top(velocities):
    system = scene("heavy_top").build(mbd.Scalable(velocities=velocities))
    run = ends(system, 1.0, x="top.position", reaction="pin.force")
    exact = {k: published("heavy top")["1.0"][k] for k in ("x", "reaction")}
    converge(run, exact, step=5e-4, tolerance={"x": 2e-7, "reaction": 1e-3})


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_rigid_chain_is_that_of_so3(velocities):
    run = bars(n=2, kind="zigzag", formulation=[mbd.Scalable(velocities=velocities)])
    converge(run, table("zigzag_N2"), step=1e-3, tolerance=TOLERANCE)


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="velocities must be one of rates, u, got 'w'"):
        mbd.Scalable(velocities="w")
