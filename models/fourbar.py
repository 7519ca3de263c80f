"""Crank-rocker: three bars between four parallel hinges in space, three redundant rows.

Planar in its motion, over-determined in space: 18 velocities, 20 rows, one freedom. The reactions
out of the plane are not unique, the smallest ones are zero. Source of the numbers: ODE in the crank
angle, I theta'' + I'/2 theta'^2 + V' = 0, at tolerance 1e-13 (derived in ``tests/physics``).
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

CRANK, COUPLER, ROCKER, GROUND = 0.4, 1.0, 0.8, 1.0
ANGLE, RATE = 1.0, 4.0
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "ODE in the crank angle"
REFERENCE = (
    ("crank(0.2, 0, 0).position", 1.0, (0.3329953250745, 0, 0.2216170423919), 1e-4, _SOURCE),
    ("crank.angular_velocity", 1.0, (0, -7.327077657488, 0), 5e-4, _SOURCE),
    ("crank(0.2, 0, 0).position", 2.0, (0.3993789558274, 0, 0.0222811499300), 2e-4, _SOURCE),
    ("crank.angular_velocity", 2.0, (0, -5.479605533781, 0), 2e-3, _SOURCE),
)


def build(formulation: str = "so3", closing: str = "revolute") -> mbd.System:
    """Return the linkage, 1 kg per metre, z up.

    With ``closing="point on line"`` the joint between coupler and rocker holds a point on the axis
    only: 17 rows, none redundant, the same motion.
    """
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    A = CRANK * np.array([np.cos(ANGLE), 0.0, np.sin(ANGLE)])
    C = np.array([GROUND, 0.0, 0.0])
    d = C - A
    D = np.linalg.norm(d)
    # B on the upper side of the line from A to C
    along = (COUPLER**2 - ROCKER**2 + D**2) / (2 * D)
    up = np.array([-d[2], 0.0, d[0]]) / D
    B = A + along * d / D + np.sqrt(COUPLER**2 - along**2) * up
    # rates about -y: v = w (y x r) with y x r = (-r_z, 0, r_x) for angles counted from x to z
    turn = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    vA = RATE * turn @ A
    rates = np.linalg.solve(
        np.column_stack([(turn @ (B - A))[[0, 2]], -(turn @ (B - C))[[0, 2]]]), -vA[[0, 2]]
    )
    ends = (("crank", np.zeros(3), A, np.zeros(3), RATE), ("coupler", A, B, vA, rates[0]),
            ("rocker", C, B, np.zeros(3), rates[1]))  # fmt: skip
    bodies = []
    for name, P, Q, vP, w in ends:
        r = Q - P
        length = float(np.linalg.norm(r))
        J = length * length**2 / 12
        bodies.append(
            system.add(
                mbd.RigidBody(
                    name,
                    mass=length,
                    inertia=(1e-2 * J, J, J),
                    position=(P + Q) / 2,
                    rotation=Rotation.from_rotvec([0, -np.arctan2(r[2], r[0]), 0]),
                    velocity=vP + w * turn @ r / 2,
                    angular_velocity=(0, -w, 0),
                    formulation=formulation,
                    shape=mbd.Capsule(0.03, length, axis=(1, 0, 0)),
                )
            )
        )
    crank, coupler, rocker = bodies
    y = (0, 1, 0)
    system.add(mbd.Revolute("hinge O", system.ground, crank, at=(0, 0, 0), axis=y))
    system.add(mbd.Revolute("hinge A", crank, coupler, at=A, axis=y))
    joints = {"revolute": mbd.Revolute, "point on line": mbd.PointOnLine}
    if closing not in joints:
        raise ValueError(f"fourbar: closing must be one of {', '.join(joints)}, got {closing!r}")
    system.add(joints[closing]("hinge B", coupler, rocker, at=B, axis=y))
    system.add(mbd.Revolute("hinge C", system.ground, rocker, at=C, axis=y))
    return system
