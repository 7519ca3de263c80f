"""Block on a slope: thrown up, it stops and stays; dry friction holds it for ever.

It decelerates by g (sin a + mu cos a); the slope of 25 degrees is less steep than the friction
cone. With ``friction=0.3`` it slides down again. Source of the numbers: the closed form.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

ANGLE, SPEED, SIZE, MASS, G = np.deg2rad(25.0), 3.0, (0.3, 0.2, 0.1), 3.0, 9.81
UPHILL = np.array([np.cos(ANGLE), 0.0, np.sin(ANGLE)])
NORMAL = np.array([-np.sin(ANGLE), 0.0, np.cos(ANGLE)])
MU = 0.6
FAR = SPEED**2 / (2 * G * (np.sin(ANGLE) + MU * np.cos(ANGLE)))
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("block.position", 2.0, tuple(FAR * UPHILL + SIZE[2] / 2 * NORMAL), 1e-5, _SOURCE),
    ("block.velocity", 2.0, (0, 0, 0), 1e-12, _SOURCE),
    ("slope.force", 2.0, (0, 0, MASS * G), 1e-8, "weight"),
)


def build(friction: float = MU, formulation: str = "so3") -> mbd.System:
    """Return the block on the slope, with a speed uphill."""
    system = mbd.System(gravity=(0.0, 0.0, -G))
    a, b, c = SIZE
    block = system.add(
        mbd.RigidBody(
            "block",
            mass=MASS,
            inertia=MASS / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b]),
            position=c / 2 * NORMAL,
            rotation=Rotation.from_rotvec([0, -ANGLE, 0]),
            velocity=SPEED * UPHILL,
            shape=mbd.Box(SIZE),
            formulation=formulation,
        )
    )
    system.add(
        mbd.Contact(
            "slope", system.ground, block, through=(0, 0, 0), normal=NORMAL, friction=friction
        )
    )
    return system
