"""Linear systems about a motion that is not steady: A(t) of a cart and its pole.

The reference are Lagrange's equations in closed form, differentiated by complex steps.
"""

import numpy as np
import pytest

import mbd

from .tools import RIGID

# the others have velocities along the axes of the body
ALONG_INERTIAL_AXES = [x for x in RIGID if x not in ("se3", "unified")]
M, m, L, J, G = 2.0, 0.5, 0.4, 0.02, 9.81
ANGLE, RATE, SPEED = 0.7, 3.0, 1.3


def swinging(formulation="so3"):
    """Return a cart and a pole that swings through; z up, turned about y."""
    system = mbd.System(gravity=(0, 0, -G))
    go = np.array([SPEED, 0, 0])
    cart = system.add(mbd.RigidBody("cart", mass=M, inertia=(0.1,) * 3, velocity=go,
                                    formulation=formulation))  # fmt: skip
    system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    c, s = np.cos(ANGLE), np.sin(ANGLE)
    R, r = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), -L * np.array([s, 0, c])
    pole = system.add(
        mbd.RigidBody("pole", mass=m, inertia=(0.02, J, 1e-3), position=r, rotation=R,
                      velocity=go + np.cross((0, RATE, 0), r), angular_velocity=(0, RATE, 0),
                      formulation=formulation)
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis=(0, 1, 0)))
    return system


def accelerations(x, px, xd, pxd, force=0.0):
    """Return x'' and the acceleration of p = x - L sin(angle), the place of the pole."""
    angle = np.arcsin((x - px) / L)
    c, s = np.cos(angle), np.sin(angle)
    rate = (xd - pxd) / (L * c)
    # (M + m) x'' - m L c t'' = -m L s t'^2 + f,  -m L c x'' + (J + m L^2) t'' = -m g L s
    right = -m * L * s * rate**2 + force, -m * G * L * s
    det = (M + m) * (J + m * L * L) - (m * L * c) ** 2
    xdd = ((J + m * L * L) * right[0] + m * L * c * right[1]) / det
    tdd = (m * L * c * right[0] + (M + m) * right[1]) / det
    return np.array([xdd, xdd - L * (c * tdd - s * rate**2)])


@pytest.mark.parametrize("formulation", ALONG_INERTIAL_AXES)
def test_matrices_at_an_instant(formulation):
    linear = mbd.linearize(
        swinging(formulation), frozen=True, inputs=["rail"],
        outputs=["hinge.angle", "hinge.angle_rate"],
    )  # fmt: skip
    x = np.array([0.0, -L * np.sin(ANGLE), SPEED, SPEED - L * np.cos(ANGLE) * RATE])
    places = ["cart.x", "pole.x"]
    order = [linear.states.index(y) for y in (*places, *(f"{y} rate" for y in places))]
    A, B = linear.A[np.ix_(order, order)], linear.B[order]
    step = 1e-30
    exact = np.array([accelerations(*(x + 1j * step * e)).imag / step for e in np.eye(4)]).T
    assert np.allclose(A[:2], np.eye(4)[2:], rtol=0, atol=1e-12)
    assert np.allclose(A[2:], exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    assert np.allclose(B[2:, 0], accelerations(*x, 1j * step).imag / step, rtol=1e-10)
    angles = [
        [np.arcsin((y[0] - y[1]) / L), (y[2] - y[3]) / np.sqrt(L**2 - (y[0] - y[1]) ** 2)]
        for y in x + 1j * step * np.eye(4)
    ]
    C = np.array(angles).imag.T / step
    assert np.allclose(linear.C[:, order], C, rtol=0, atol=1e-9 * np.abs(C).max())
    with pytest.raises(ValueError, match="neither an equilibrium nor a steady motion"):
        mbd.linearize(swinging(formulation))


def test_frozen_and_steady_are_the_same_at_rest():
    pendulum = swinging().build()
    at_rest = mbd.equilibrium(pendulum)
    one, two = mbd.linearize(at_rest), mbd.linearize(at_rest, frozen=True)
    assert np.allclose(one.A, two.A, rtol=0, atol=1e-9 * np.abs(one.A).max())
    with pytest.raises(ValueError, match="leave out rotating= and coordinates="):
        mbd.linearize(pendulum, frozen=True, rotating=(0, 0, 1))
