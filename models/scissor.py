"""Scissor lift: a hundred bars, which assemble themselves from rough poses.

Fifty crosses of two bars on hinges in space, driven at the foot: every cross closes a loop, and the
top moves fifty times as far as one cross. With ``rough`` the bars are described out of place and out
of line by as much [bar lengths, rad]: ``mbd.assemble_pose`` brings them together, none of them flipped.
Source of the numbers: all crosses have one angle, theta(t) = 0.6 + 0.15 sin(2 t).
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

BAR, MEAN, SWING, RATE = 0.4, 0.6, 0.15, 2.0  # m, rad, rad, rad/s
RUN = {"t_end": 1.0, "step": 1e-2}


def middle(stage: int, t: float = 0.0) -> tuple[float, float, float]:
    """Return the middle of a cross at a time."""
    angle = MEAN + SWING * np.sin(RATE * t)
    return (float(BAR * np.cos(angle)) / 2, 0.0, float((stage + 0.5) * BAR * np.sin(angle)))


_SOURCE = "one angle for all crosses"
REFERENCE = (
    ("rising 1.position", 0.5, middle(0, 0.5), 1e-9, _SOURCE),
    ("rising 50.position", 0.5, middle(49, 0.5), 1e-9, _SOURCE),
    ("falling 50.position", 1.0, middle(49, 1.0), 1e-9, _SOURCE),
)


def build(n: int = 50, rough: float = 0.0) -> mbd.System:
    """Return a lift of n crosses in motion, z up; with rough poses it must be assembled first."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    rng = np.random.default_rng(73561)
    across = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # columns x, z, -y: hinges along -y
    spin, c, s = SWING * RATE, np.cos(MEAN), np.sin(MEAN)
    bars = {}
    for k in range(n):
        velocity = BAR * spin * np.array([-s / 2, 0.0, (k + 0.5) * c])
        for name, side in (("rising", 1.0), ("falling", -1.0)):
            off = rough * rng.uniform(-1, 1, (2, 3))
            angle = MEAN if side > 0 else np.pi - MEAN  # about -y, from x
            lean = Rotation.from_rotvec(off[1]) * Rotation.from_rotvec([0, -angle, 0])
            bars[name, k] = system.add(
                mbd.RigidBody(
                    f"{name} {k + 1}",
                    mass=1.0,
                    inertia=(1e-4, BAR**2 / 12, BAR**2 / 12),
                    position=middle(k) + BAR * off[0],
                    rotation=lean,
                    velocity=velocity,
                    angular_velocity=(0, -side * spin, 0),
                    shape=mbd.Capsule(0.012, BAR, axis="x"),
                )
            )

    def place(name: str, k: int, x: float) -> mbd.Frame:
        """Return the frame of a hinge on a bar, x half lengths from its middle."""
        return bars[name, k].frame((x * BAR / 2, 0, 0), across)

    ground = system.ground.frame((0, 0, 0), across)
    foot = mbd.Revolute("foot", ground, place("rising", 0, -1))
    system.add(foot)
    rail = system.ground.frame((0, 0, 0), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # its axis is x
    system.add(mbd.PointOnLine("wheel", rail, place("falling", 0, -1)))
    for k in range(n):
        system.add(mbd.Revolute(f"cross {k + 1}", place("rising", k, 0), place("falling", k, 0)))
        if k:
            left, right = f"left {k}", f"right {k}"
            system.add(mbd.Revolute(left, place("falling", k - 1, 1), place("rising", k, -1)))
            system.add(mbd.Revolute(right, place("rising", k - 1, 1), place("falling", k, -1)))
    system.add(mbd.Drive("lift", foot, position=mbd.Harmonic(SWING, RATE, mean=MEAN)))
    return system
