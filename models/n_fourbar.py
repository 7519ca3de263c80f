"""N four-bars in a row: a parallelogram linkage that passes its singular pose at every half turn.

When all bars lie on one line the freedoms jump from 1 to N + 1; the true motion stays a
parallelogram. Problem A02 of the multibody benchmark library of the IFToMM Technical Committee (also
LIM, Univ. da Coruna). Source of the numbers (N = 1): one-freedom ODE solved with Jacobi functions.
The bars are bodies in space between parallel hinges, so that 3 N rows are redundant anyway.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

RUN = {"t_end": 5.0, "step": 1e-3}
_SOURCE = "IFToMM A02, Jacobi functions"
REFERENCE = (
    ("bar 0(0.5, 0, 0).position", 0.5, (0.701512678910477, 0.712656973113886, 0), 1e-5, _SOURCE),
    ("bar 0(0.5, 0, 0).velocity", 0.5, (1.98589819011429, -1.95484337058176, 0), 1e-4, _SOURCE),
    ("bar 0(0.5, 0, 0).position", 2.0, (0.0770854717928671, 0.997024488183952, 0), 2e-4, _SOURCE),
    ("bar 0(0.5, 0, 0).position", 5.0, (-0.944908186042954, -0.327335485318983, 0), 1e-3, _SOURCE),
)


def build(n: int = 1, formulation: str = "so3") -> mbd.System:
    """Return n four-bars, upright, moving to the right at 1 m/s, y up."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    z = (0, 0, 1)

    def bar(
        name: str, position: tuple, turn: float, velocity: float, omega: float
    ) -> mbd.RigidBody:
        return system.add(
            mbd.RigidBody(
                name,
                mass=1.0,
                inertia=(1e-3, 1 / 12, 1 / 12),
                position=position,
                rotation=Rotation.from_rotvec([0, 0, turn]),
                velocity=(velocity, 0, 0),
                angular_velocity=(0, 0, omega),
                formulation=formulation,
            )
        )

    upright = []
    for i in range(n + 1):
        upright.append(bar(f"bar {i}", (i, 0.5, 0), np.pi / 2, 0.5, -1.0))
        system.add(mbd.Revolute(f"ground {i}", system.ground, upright[i], at=(i, 0, 0), axis=z))
        if i:
            top = bar(f"top {i}", (i - 0.5, 1, 0), 0.0, 1.0, 0.0)
            system.add(mbd.Revolute(f"left {i}", upright[i - 1], top, at=(i - 1, 1, 0), axis=z))
            system.add(mbd.Revolute(f"right {i}", top, upright[i], at=(i, 1, 0), axis=z))
    return system
