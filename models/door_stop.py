"""Door against a stop: of a leaning axis, it falls, bounces and comes to rest.

The axis leans by 5 degrees, so that the door swings to its lowest place; a rigid stop holds it 10
degrees before. What it loses is what it fell; at rest the stop carries the moment of the weight.
Source of the numbers: the closed form.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

MASS, WIDTH, HEIGHT, DEPTH, LEAN = 20.0, 0.9, 2.0, 0.04, np.deg2rad(5.0)
OPEN, STOP, G = np.deg2rad(90.0), np.deg2rad(10.0), 9.81  # angles from the lowest place
INERTIA = MASS * (WIDTH**2 + DEPTH**2) / 12 + MASS * WIDTH**2 / 4
MOMENT = MASS * G * np.sin(LEAN) * WIDTH / 2  # at a right angle
RUN = {"t_end": 10.0, "step": 2e-3}
_SOURCE = "closed form"
_CENTER = Rotation.from_rotvec([0, LEAN, 0]).apply(
    [WIDTH / 2 * np.cos(STOP), WIDTH / 2 * np.sin(STOP), HEIGHT / 2]
)
REFERENCE = (
    ("door.position", 10.0, tuple(_CENTER), 1e-9, _SOURCE),
    ("stop.multipliers", 10.0, (MOMENT * np.sin(STOP),), 1e-6, _SOURCE),
)


def build(restitution: float = 0.4, formulation: str = "so3") -> mbd.System:
    """Return the door at rest, half open."""
    system = mbd.System(gravity=(0.0, 0.0, -G))
    lean = Rotation.from_rotvec([0, LEAN, 0])
    inertia = np.array([HEIGHT**2 + DEPTH**2, HEIGHT**2 + WIDTH**2, WIDTH**2 + DEPTH**2])
    door = system.add(
        mbd.RigidBody(
            "door",
            mass=MASS,
            inertia=MASS / 12 * inertia,
            position=lean.apply([0, WIDTH / 2, HEIGHT / 2]),
            rotation=lean * Rotation.from_rotvec([0, 0, OPEN]),
            shape=mbd.Box((WIDTH, DEPTH, HEIGHT)),
            formulation=formulation,
        )
    )
    axis = lean.apply([0, 0, 1])
    hinge = system.add(mbd.Revolute("hinge", system.ground, door, at=axis, axis=axis))
    system.add(mbd.Stop("stop", hinge, lower=STOP - OPEN, restitution=restitution))
    return system
