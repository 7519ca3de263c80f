"""``Stepper.linear``: linear models of moving runs, for predictive control."""

import numpy as np
import pytest

import mbd

H = 1e-4


def cart_pole():
    system = mbd.System(gravity=(0, 0, -9.81))
    cart = system.add(mbd.RigidBody("cart", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    pole = mbd.RigidBody("pole", mass=0.5, inertia=(0.02, 0.02, 1e-3), position=(0, 0, 0.4))
    pole = system.add(pole)
    rail = system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Motor("motor", rail, 0.0))
    return system, ["motor.effort"], ["rail.displacement", "hinge.angle_rate"]


def textbook(x, u):
    """Rates of a pole on a cart: Khalil, Nonlinear Systems, 3rd ed., example 1.2.2 and others."""
    _, angle, v, w = x
    M, m, L, J = 2.0, 0.5, 0.4, 0.02
    c, s = np.cos(angle), np.sin(angle)
    mass = np.array([[M + m, m * L * c], [m * L * c, J + m * L**2]])
    return np.array([v, w, *np.linalg.solve(mass, [u + m * L * s * w**2, m * 9.81 * L * s])])


def test_a_pole_that_swings_on_a_cart_has_the_matrices_of_the_textbook():
    system, inputs, observe = cart_pole()
    stepper = mbd.Stepper(
        system, H, inputs=inputs, observe=[*observe, "rail.displacement_second_rate"]
    )
    x, u = np.array([0.3, 0.8, -1.1, 2.5]), 3.0
    stepper.u[0] = u
    stepper.set(x[:2], x[2:])
    before = stepper.snapshot()
    linear = stepper.linear()
    assert np.array_equal(stepper.snapshot().numbers, before.numbers, equal_nan=True)
    A = [(textbook(x + d, u) - textbook(x - d, u)) / 2e-5 for d in 1e-5 * np.eye(4)]
    B = (textbook(x, u + 1) - textbook(x, u - 1)) / 2
    assert linear.states[1] == "hinge.angle"
    assert np.allclose(linear.f, textbook(x, u), atol=1e-9)
    assert np.allclose(linear.A.T, A, atol=1e-7)
    assert np.allclose(linear.B[:, 0], B, atol=1e-9)
    assert np.allclose(linear.C, np.vstack([np.eye(4)[[0, 3]], linear.A[2]]), atol=1e-7)
    assert np.allclose(linear.D[:, 0], [0, 0, B[2]], atol=1e-9)
    assert np.allclose(linear.g, [x[0], x[3], linear.f[2]], atol=1e-9)


def floating():
    """A body that tumbles far from the origin, pulled by a spring and pushed; one on a ball."""
    system = mbd.System(gravity=(0, 0, -9.81))
    at = (30, -20, 10)
    one = mbd.RigidBody("one", mass=1.0, inertia=(0.1, 0.2, 0.25), position=at)
    two = mbd.RigidBody("two", mass=0.7, inertia=(0.05, 0.06, 0.04), position=(30.5, -20, 10))
    one, two = system.add(one), system.add(two)
    system.add(mbd.Spherical("ball", one, two, at=(30.2, -20, 10)))
    system.add(mbd.Spring("rope", system.ground, two, at=(30, -20, 12), to=at, stiffness=50.0))
    system.add(mbd.PointForce("push", one, (0.5, 0.0, 0.0), at=(0.1, 0.2, 0.0)))
    return system, ["push.force"], ["energy.total"]


def loop():
    """A four-bar linkage with a damper and a motor."""
    system = mbd.System(gravity=(0, 0, -9.81))
    points = [np.array(x, float) for x in ((0, 0, 0), (0, 0, 0.5), (1.2, 0, 0.9), (1.0, 0, 0))]
    last, joints = system.ground, []
    for i, (a, b) in enumerate(zip(points[:-1], points[1:], strict=True)):
        bar = mbd.RigidBody(f"bar {i}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(a + b) / 2)
        bar = system.add(bar)
        joints.append(system.add(mbd.Revolute(f"pin {i}", last, bar, at=a, axis=(0, 1, 0))))
        last = bar
    system.add(mbd.Revolute("pin 3", last, system.ground, at=points[-1], axis=(0, 1, 0)))
    system.add(mbd.Motor("motor", joints[0], 0.2))
    return system, ["motor.effort"], ["energy.total"]


@pytest.mark.parametrize("make", [floating, loop])
def test_steps_of_runs_nearby_are_those_of_the_linear_model(make):
    """Of bodies that float, on balls, in loops, with springs; energy takes the power of inputs."""
    system, inputs, observe = make()
    model = system.build()
    tree, rng = model.joint_coordinates, np.random.default_rng(3)
    stepper = mbd.Stepper(model, H, inputs=inputs, observe=observe)
    n, n_u = len(tree.labels), len(stepper.u)
    q, v = tree.q(), 0.7 * rng.normal(size=n)
    stepper.u[:] = u = rng.normal(size=n_u)
    stepper.set(q, v)
    linear = stepper.linear()
    A, B, f = linear.held(H)

    def end(x, du):
        stepper.u[:] = u + du
        stepper.set(tree.add(q, x[:n]), v + x[n:])
        stepper.step()
        state = stepper.state
        return np.concatenate([tree.difference(q, tree.q(state)), tree.v(state) - v])

    dx, du, e = rng.normal(size=2 * n), rng.normal(size=n_u), 1e-4
    moved = (end(e * dx, e * du) - end(-e * dx, -e * du)) / (2 * e)
    size = H * abs(linear.A).max() * abs(dx).max()
    assert np.allclose(end(0 * dx, 0 * du), f, atol=1e-3 * abs(f).max())
    assert np.allclose(moved - dx, A @ dx + B @ du - dx, atol=1e-2 * size)
    efforts = tree.M(q) @ linear.B[n:] @ u
    assert np.allclose(linear.C @ linear.f, efforts @ v, atol=1e-7 * abs(v) @ abs(efforts))


def test_an_input_that_drives_a_motion_is_refused_by_name():
    system, _, _ = cart_pole()
    system.add(mbd.Drive("drive", system.joints["hinge"], velocity=0.0))
    with pytest.raises(ValueError, match=r"Stepper.linear: 'drive.velocity' drives a motion"):
        mbd.Stepper(system, H, inputs=["drive.velocity"]).linear()
