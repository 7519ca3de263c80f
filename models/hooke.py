"""Hooke's joint: of two shafts at 30 degrees the second turns unevenly (Cardan).

tan(theta2) = tan(theta1)/cos(beta); without load the kinetic energy is constant, which gives the
free motion by a quadrature. The shafts' bearings over-determine the cross: three redundant rows.
Source of the numbers: energy quadrature at 30 digits.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

BETA = np.deg2rad(30.0)
RUN = {"t_end": 1.0, "step": 5e-4}
_SOURCE = "energy quadrature"
_T = 11.12765000107
REFERENCE = (
    ("input.angular_velocity_body", 0.1, (11.80201260171, 0, 0), 1e-4, _SOURCE),
    ("output.angular_velocity_body", 0.1, (10.84519860367, 0, 0), 1e-4, _SOURCE),
    ("input(0, 1, 0).position", 1.0, (0, np.cos(_T), np.sin(_T)), 2e-4, _SOURCE),
    ("input.angular_velocity_body", 1.0, (12.24220286281, 0, 0), 1e-3, _SOURCE),
    ("output.angular_velocity_body", 1.0, (10.64822618841, 0, 0), 1e-3, _SOURCE),
)


def build(formulation: str = "so3", rate: float = 10.0, angle: float = BETA) -> mbd.System:
    """Return the shafts, the arm of the input in their common plane; rate [rad/s], angle [rad]."""
    system = mbd.System()
    turned = Rotation.from_rotvec([0, 0, angle])
    axis = turned.apply([1, 0, 0])
    shafts = []
    for name, side, J, R, omega in (
        ("input", -1, 0.2, Rotation.identity(), np.array([rate, 0, 0])),
        ("output", 1, 0.5, turned, rate / np.cos(angle) * axis),
    ):
        shaft = mbd.RigidBody(
            name,
            mass=1.0,
            inertia=(J, 0.6 * J, 0.6 * J),
            rotation=R,
            angular_velocity=omega,
            formulation=formulation,
            shape=[
                mbd.Cylinder(0.05, 0.5, at=(side * 0.3, 0, 0), axis=(1, 0, 0)),
                mbd.Cylinder(0.2, 0.05, at=(side * 0.55, 0, 0), axis=(1, 0, 0)),
                mbd.Box((0.06, 0.3, 0.05), at=(side * 0.55, 0, 0), color="#f2f2f2"),
            ],
        )
        shafts.append(system.add(shaft))
    first, second = shafts
    system.add(mbd.Revolute("bearing 1", system.ground, first, at=(-0.5, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Revolute("bearing 2", system.ground, second, at=0.5 * axis, axis=axis))
    cross = {"axis": (0, 1, 0), "second_axis": (0, 0, 1)}
    system.add(mbd.Universal("cross", first, second, at=(0, 0, 0), **cross))
    return system
