"""Stewart platform: six driven legs, six loops; the platform heaves and turns as it is told.

Each leg is a cylinder on a universal joint and a piston in it with a ball joint under the platform:
thirteen bodies, 78 rows for 78 velocities, none redundant. The lengths of the legs are laws of time:
those that belong to one path of the platform, so that it must follow this path exactly.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

BASE, TABLE, HEIGHT = 1.0, 0.6, 1.1  # radii, height [m]
HEAVE, TWIST, RATE = 0.15, 0.25, 2.0  # m, rad, rad/s
RUN = {"t_end": 2.0, "step": 1e-3}


def rim(radius: float, spread: float, i: int) -> np.ndarray:
    """Return the place of joint i on the rim of base or platform: pairs, 120 degrees apart."""
    angle = 2 * np.pi * ((i + 1) // 2) / 3 + (spread if i % 2 else -spread)
    return radius * np.array([np.cos(angle), np.sin(angle), 0.0])


def stroke(foot: np.ndarray, head: np.ndarray) -> Callable[[float], tuple[float, float, float]]:
    """Return the law of the length of a leg against that at the start, with its derivatives.

    l^2 = z^2 + |b|^2 + |h|^2 - 2 b . R(psi) h, of the places b on the base and h on the platform.
    """
    across, along = float(foot[1] * head[0] - foot[0] * head[1]), float(foot @ head)
    rest = float(foot @ foot + head @ head)
    start = math.sqrt(HEIGHT**2 + rest - 2 * along)

    def law(t: float) -> tuple[float, float, float]:
        s, c = math.sin(RATE * t), math.cos(RATE * t)
        z, v, a = HEIGHT + HEAVE * s, HEAVE * RATE * c, -HEAVE * RATE * RATE * s
        w, wr = TWIST * RATE * c, -TWIST * RATE * RATE * s
        p, q = math.cos(TWIST * s), math.sin(TWIST * s)
        u, ur = along * p + across * q, across * p - along * q  # b . R h and d/dpsi
        length = math.sqrt(z * z + rest - 2 * u)
        rate = (z * v - w * ur) / length
        growth = (v * v + z * a - wr * ur + w * w * u - rate * rate) / length
        return length - start, rate, growth

    return law


def place(t: float, x: float = 0.0) -> tuple[float, float, float]:
    """Return where a point of the platform, x from its middle, is at a time."""
    s = math.sin(RATE * t)
    return (x * math.cos(TWIST * s), x * math.sin(TWIST * s), HEIGHT + HEAVE * s)


_SOURCE = "the path that the lengths belong to"
REFERENCE = (
    ("platform.position", 1.3, place(1.3), 1e-9, _SOURCE),
    ("platform(0.5, 0, 0).position", 1.3, place(1.3, 0.5), 1e-9, _SOURCE),
    ("platform(0.5, 0, 0).position", 2.0, place(2.0, 0.5), 1e-9, _SOURCE),
)


def build() -> mbd.System:
    """Return the platform in motion, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    lift, spin = HEAVE * RATE * np.array([0.0, 0.0, 1.0]), TWIST * RATE
    platform = system.add(
        mbd.RigidBody(
            "platform",
            mass=30.0,
            inertia=(3.0, 3.0, 6.0),
            position=(0, 0, HEIGHT),
            velocity=lift,
            angular_velocity=(0, 0, spin),
            shape=mbd.Cylinder(TABLE, 0.06, axis="z"),
        )
    )
    for i in range(6):
        foot, head = rim(BASE, np.deg2rad(50.0), i), rim(TABLE, np.deg2rad(2.0), i)
        d = head - foot + np.array([0.0, 0.0, HEIGHT])
        rate = lift + spin * np.cross((0.0, 0.0, 1.0), head)
        length = float(np.linalg.norm(d))
        n = d / length
        along = n @ rate
        swing = (rate - along * n) / length  # of the direction of the leg
        omega = np.cross(n, swing)
        side = np.cross([0.0, 0.0, 1.0], n)  # the pin on the base lies flat
        side /= np.linalg.norm(side)
        axes = np.column_stack([np.cross(side, n), side, n])
        legs = {}
        for name, mass, place, size, radius in (
            ("cylinder", 4.0, 0.4, 0.8, 0.04),
            ("piston", 2.0, length - 0.35, 0.7, 0.025),
        ):
            inertia = mass * np.array([size**2 / 12, size**2 / 12, radius**2 / 2])
            legs[name] = system.add(
                mbd.RigidBody(
                    f"{name} {i}",
                    mass=mass,
                    inertia=inertia,
                    position=foot + place * n,
                    rotation=Rotation.from_matrix(axes),
                    velocity=place * swing + (along * n if name == "piston" else 0.0),
                    angular_velocity=omega,
                    shape=mbd.Cylinder(radius, size, axis="z"),
                )
            )
        pins = {"axis": side, "second_axis": axes[:, 0]}
        system.add(mbd.Universal(f"foot {i}", system.ground, legs["cylinder"], at=foot, **pins))
        slide = mbd.Prismatic(f"slide {i}", *legs.values(), at=foot, axis=n)
        system.add(slide)
        system.add(mbd.Spherical(f"ball {i}", legs["piston"], platform, at=foot + d))
        system.add(mbd.Drive(f"leg {i}", slide, position=stroke(foot, head)))
    return system
