"""Door on two hinges: one leaning axis, five redundant rows, a motion known exactly.

The door swings like a pendulum in the weight that is left: I theta'' = -m g sin(lean) c sin(theta);
the axis leans by 5 degrees from the vertical, so that the door falls open. Released at rest 90 degrees
from equilibrium: sin(theta/2) = k sn(K - w t), k = sin(pi/4).
Which hinge carries how much along the axis is not unique: the smallest reactions are reported.
"""

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import mbd

MASS, WIDTH, HEIGHT, DEPTH, LEAN = 20.0, 0.9, 2.0, 0.04, np.deg2rad(5.0)
RUN = {"t_end": 5.0, "step": 1e-3}


def center(t: float) -> np.ndarray:
    """Return the centre of mass at a time."""
    inertia = MASS * (WIDTH**2 + DEPTH**2) / 12 + MASS * WIDTH**2 / 4
    w = np.sqrt(MASS * 9.81 * np.sin(LEAN) * WIDTH / 2 / inertia)
    sn = ellipj(ellipk(0.5) - w * t, 0.5)[0]
    theta = 2 * np.arcsin(np.sqrt(0.5) * sn)
    c = WIDTH / 2
    placed = Rotation.from_rotvec([0, LEAN, 0]).apply([c * np.cos(theta), c * np.sin(theta), 1.0])
    return np.asarray(placed)


REFERENCE = (
    ("door.position", 1.0, tuple(center(1.0)), 1e-6, "Jacobi sn"),
    ("door.position", 5.0, tuple(center(5.0)), 1e-5, "Jacobi sn"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the door at rest, half open."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    lean = Rotation.from_rotvec([0, LEAN, 0])
    inertia = np.array([HEIGHT**2 + DEPTH**2, HEIGHT**2 + WIDTH**2, WIDTH**2 + DEPTH**2])
    turned = lean * Rotation.from_rotvec([0, 0, np.pi / 2])
    door = system.add(
        mbd.RigidBody(
            "door",
            mass=MASS,
            inertia=MASS / 12 * inertia,
            position=lean.apply([0, WIDTH / 2, HEIGHT / 2]),
            rotation=turned,
            formulation=formulation,
            shape=mbd.Box((WIDTH, DEPTH, HEIGHT)),
        )
    )
    for name, z in (("lower hinge", 0.3), ("upper hinge", 1.7)):
        axis = lean.apply([0, 0, 1])
        system.add(mbd.Revolute(name, system.ground, door, at=z * axis, axis=axis))
    return system
