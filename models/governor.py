"""Governor: two rods hinged to a turning shaft swing out until weight and rotation are in balance.

A rod of length L, hinged on the axis of the shaft at its upper end, leans by
cos(theta) = 3 g / (2 w^2 L) when the shaft turns at w (a rod in relative rest).
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

G, LENGTH, SPEED = 9.81, 0.5, 8.0
RUN = {"t_end": 1.0, "step": 5e-4}


def lean(speed: float = SPEED) -> float:
    """Return the angle between the rods and the axis [rad]."""
    return float(np.arccos(min(1.0, 1.5 * G / (speed**2 * LENGTH))))


def end(t: float) -> tuple[float, float, float]:
    """Return the lower end of the right rod at a time [m]."""
    s, c = np.sin(lean()), np.cos(lean())
    phi = SPEED * t
    return LENGTH * s * np.cos(phi), LENGTH * s * np.sin(phi), -LENGTH * c


REFERENCE = (
    ("right(0, 0, -0.25).position", 0.5, end(0.5), 1e-4, "relative equilibrium"),
    ("right(0, 0, -0.25).position", 1.0, end(1.0), 2e-4, "relative equilibrium"),
)


def build(formulation: str = "so3", speed: float = SPEED, theta: float | None = None) -> mbd.System:
    """Return the governor turning at a speed [rad/s], its rods leaning by theta [rad]."""
    system = mbd.System(gravity=(0, 0, -G))
    shaft = system.add(
        mbd.RigidBody(
            "shaft", mass=1.0, inertia=(0.02, 0.02, 0.01), angular_velocity=(0, 0, speed),
            formulation=formulation, shape=mbd.Cylinder(0.02, 0.3),
        )
    )  # fmt: skip
    system.add(mbd.Revolute("bearing", system.ground, shaft, at=(0, 0, 0), axis=(0, 0, 1)))
    theta = lean(speed) if theta is None else theta
    J = LENGTH**2 / 12
    for name, side in (("right", 1.0), ("left", -1.0)):
        R = Rotation.from_rotvec([0, -side * theta, 0])
        center = R.apply((0, 0, -LENGTH / 2))
        rod = system.add(
            mbd.RigidBody(
                name, mass=1.0, inertia=(J, J, 1e-9 * J), position=center, rotation=R,
                velocity=np.cross((0, 0, speed), center), angular_velocity=(0, 0, speed),
                formulation=formulation, shape=mbd.Capsule(0.015, LENGTH),
            )
        )  # fmt: skip
        system.add(mbd.Revolute(f"{name} hinge", shaft, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    return system
