"""Steady top: symmetric, in precession; the lean stays, the axis goes round at one rate.

With inertia A across and C along the axis (about the pin), lean theta, spin n and the moment F l
of a dead load F at the axis point l: A cos(theta) P^2 - C n P + F l = 0. The slow root is taken.
The centre of mass sits in the pin, the load takes the place of the weight.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

A, C, LOAD, THETA, SPIN = 0.2, 0.4, 3.0, 0.5, 60.0
RUN = {"t_end": 1.0, "step": 2.5e-4}


def rate(theta: float = THETA, spin: float = SPIN, fast: bool = False) -> float:
    """Return the rate of precession [rad/s]."""
    a, b = A * np.cos(theta), C * spin
    root = np.sqrt(b * b - 4 * a * LOAD)
    return float((b + root) / (2 * a) if fast else 2 * LOAD / (b + root))


def axis(t: float, theta: float = THETA, spin: float = SPIN, fast: bool = False) -> np.ndarray:
    """Return the direction of the axis of the top at a time."""
    phi = rate(theta, spin, fast) * t
    s = np.sin(theta)
    return np.array([s * np.sin(phi), -s * np.cos(phi), np.cos(theta)])


REFERENCE = (
    ("top(0, 0, 1).position", 0.5, tuple(axis(0.5)), 5e-6, "steady precession"),
    ("top(0, 0, 1).position", 1.0, tuple(axis(1.0)), 1e-5, "steady precession"),
)


def build(
    formulation: str = "so3", theta: float = THETA, spin: float = SPIN, fast: bool = False
) -> mbd.System:
    """Return the top leaning by theta [rad] with the total spin [rad/s] about its axis."""
    system = mbd.System()
    R = Rotation.from_rotvec([theta, 0, 0]).as_matrix()
    P = rate(theta, spin, fast)
    omega = (spin - P * np.cos(theta)) * R[:, 2] + P * np.array([0.0, 0.0, 1.0])
    top = system.add(
        mbd.RigidBody(
            "top",
            mass=1.0,
            inertia=(A, A, C),
            rotation=R,
            angular_velocity=omega,
            formulation=formulation,
            shape=[
                mbd.Cylinder(0.5, 0.06),
                mbd.Box((0.8, 0.1, 0.07), color="#f2f2f2"),  # shows that it spins
                mbd.Capsule(0.02, 1.0, at=(0, 0, 0.5)),
            ],
        )
    )
    system.add(mbd.Spherical("pin", system.ground, top, at=(0, 0, 0)))
    system.add(mbd.PointForce("load", top, (0, 0, -LOAD), at=R[:, 2]))
    return system
