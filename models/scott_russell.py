"""Double Scott Russell lift: two straight-line linkages carry one table, ten rows are redundant.

Each side is a crank of length a, a rod of length 2 a pinned to it in its middle, and a slider at the
rod's foot; the rod's head goes up and down a straight line above the crank's bearing. Two wheels make
the cranks turn alike: with hinges at both heads the table could else tilt a little, a second freedom
that Gruebler does not count and that is gone after a small motion. All joints are hinges and slides in
space: 42 velocities, 51 rows, one freedom. A counterweight P lifts the table, the sliders are pulled
apart by F each.

With a table as heavy as both sliders the kinetic energy is I phi'^2 / 2 with a constant I, and the
potential is -R cos(phi - 45 degrees), so that phi swings as a pendulum does:
sin((phi - 45 degrees) / 2) = k sn(K(k) - w t), k = sin(12.5 degrees).
"""

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import mbd

ARM, WIDTH, START, MIDDLE = 0.4, 1.2, np.deg2rad(70.0), np.deg2rad(45.0)
CRANK, ROD, SLIDER, TABLE, GRAVITY = 1.0, 2.0, 3.0, 6.0, 9.81
PULL = 100.0  # N, on each slider
LIFT = TABLE * GRAVITY + (CRANK / 2 + ROD) * GRAVITY + 2 * PULL * np.tan(MIDDLE)
RUN = {"t_end": 2.0, "step": 1e-3}


def height(t: float) -> float:
    """Return the height of the table at a time [s]."""
    inertia = 2 * (CRANK / 3 + ROD * 4 / 3) * ARM**2 + 4 * TABLE * ARM**2
    w = np.sqrt(4 * ARM * PULL / np.cos(MIDDLE) / inertia)
    k = np.sin((START - MIDDLE) / 2)
    sn = ellipj(ellipk(k**2) - w * t, k**2)[0]
    return float(2 * ARM * np.sin(MIDDLE + 2 * np.arcsin(k * sn)))


_SOURCE = "Jacobi sn"
REFERENCE = (
    ("table.position", 1.0, (0, 0, height(1.0)), 1e-5, _SOURCE),
    ("table.position", 2.0, (0, 0, height(2.0)), 2e-5, _SOURCE),
    ("table.angular_velocity", 2.0, (0, 0, 0), 1e-10, "straight-line linkage"),
)


def build() -> mbd.System:
    """Return the lift at rest near its highest place, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -GRAVITY))
    y, up = (0, 1, 0), np.array([0.0, 0.0, 1.0])

    def bar(name: str, mass: float, P: np.ndarray, Q: np.ndarray) -> mbd.RigidBody:
        """Return a slender bar from P to Q, along its x axis."""
        d, length = Q - P, float(np.linalg.norm(Q - P))
        J = mass * length**2 / 12
        return system.add(
            mbd.RigidBody(
                name,
                mass=mass,
                inertia=(1e-2 * J, J, J),
                position=(P + Q) / 2,
                rotation=Rotation.from_rotvec([0, -np.arctan2(d[2], d[0]), 0]),
                shape=mbd.Capsule(0.02, length, axis=(1, 0, 0)),
            )
        )

    def block(name: str, mass: float, at: np.ndarray, size: tuple) -> mbd.RigidBody:
        """Return a block."""
        shape = mbd.Box(size)
        return system.add(
            mbd.RigidBody(name, mass=mass, inertia=(0.1,) * 3, position=at, shape=shape)
        )

    table = block("table", TABLE, 2 * ARM * np.sin(START) * up, (WIDTH + 0.2, 0.4, 0.04))
    bearings = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        out = np.array([side, 0.0, 0.0])
        O = 0.5 * WIDTH * out
        B = O + ARM * (np.cos(START) * out + np.sin(START) * up)
        A, C = O + 2 * ARM * np.cos(START) * out, O + 2 * ARM * np.sin(START) * up
        crank, rod = bar(f"{name} crank", CRANK, O, B), bar(f"{name} rod", ROD, A, C)
        slider = block(f"{name} slider", SLIDER, A, (0.12, 0.1, 0.08))
        bearings.append(mbd.Revolute(f"{name} bearing", system.ground, crank, at=O, axis=y))
        system.add(bearings[-1])
        system.add(mbd.Revolute(f"{name} pin", crank, rod, at=B, axis=y))
        system.add(mbd.Revolute(f"{name} foot", rod, slider, at=A, axis=y))
        system.add(mbd.Prismatic(f"{name} guide", system.ground, slider, at=A, axis="x"))
        system.add(mbd.Revolute(f"{name} head", rod, table, at=C, axis=y))
        system.add(mbd.PointForce(f"{name} pull", slider, PULL * out))
    system.add(mbd.Gear("wheels", *bearings, ratio=-1.0))
    system.add(mbd.PointForce("counterweight", table, LIFT * up))
    return system
