"""Press: two cranks and a ram on four columns, over-determined on purpose, 28 redundant rows.

An eccentric shaft in three bearings, driven at constant speed, moves the ram by two rods; the ram
slides on four columns, and the work piece, a spring, is met off the middle. All joints are what they are
in the machine. How the columns share the tilting moment depends on how stiff they are:
``mbd.share_reactions``. Source of the numbers: the slider-crank in closed form.
"""

import numpy as np

import mbd

CRANK, ROD, TOP, SPEED = 0.1, 0.5, 1.2, 6.0  # m, m, m, rad/s
RUN = {"t_end": 2.0, "step": 1e-3}


def ram(t: float) -> tuple[float, float, float]:
    """Return height, velocity and acceleration of the ram at a time; it begins at the top."""
    c, s = CRANK * np.cos(SPEED * t), CRANK * np.sin(SPEED * t)
    root = np.sqrt(ROD**2 - s**2)
    rate = -SPEED * s * (1 - c / root)
    growth = SPEED**2 * ((c * c - s * s) / root + (c * s) ** 2 / root**3 - c)
    return float(TOP + c - root), float(rate), float(growth)


_SOURCE = "slider-crank in closed form"
REFERENCE = (
    ("ram.position", 1.3, (0, 0, ram(1.3)[0]), 1e-9, _SOURCE),
    ("ram.velocity", 1.3, (0, 0, ram(1.3)[1]), 1e-4, _SOURCE),
    ("ram.acceleration", 1.3, (0, 0, ram(1.3)[2]), 1e-3, _SOURCE),
    ("ram.position", 2.0, (0, 0, ram(2.0)[0]), 1e-9, _SOURCE),
)


def build() -> mbd.System:
    """Return the press in motion, z up, the shaft along y."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    z_ram = ram(0.0)[0]
    cheeks = [mbd.Cylinder(0.13, 0.03, at=(0, y, 0.02), axis="y") for y in (-0.25, 0.25)]
    shaft = system.add(
        mbd.RigidBody(
            "shaft",
            mass=20.0,
            inertia=(1.0, 0.1, 1.0),
            position=(0, 0, TOP),
            angular_velocity=(0, SPEED, 0),
            shape=[mbd.Cylinder(0.03, 1.0, axis="y"), *cheeks],
        )
    )
    block = system.add(
        mbd.RigidBody(
            "ram",
            mass=50.0,
            inertia=(4.0, 4.0, 6.0),
            position=(0, 0, z_ram),
            shape=mbd.Box((0.7, 0.7, 0.12)),
        )
    )
    for name, y in (("left", -0.4), ("middle", 0.0), ("right", 0.4)):
        bearing = mbd.Revolute(f"{name} bearing", system.ground, shaft, at=(0, y, TOP), axis="y")
        system.add(bearing)
    for name, y in (("left", -0.25), ("right", 0.25)):
        pin, foot = np.array([0, y, TOP + CRANK]), np.array([0, y, z_ram])
        rod = system.add(
            mbd.RigidBody(
                f"{name} rod",
                mass=5.0,
                inertia=(0.1, 0.1, 0.01),
                position=(pin + foot) / 2,
                velocity=(SPEED * CRANK / 2, 0, 0),
                angular_velocity=(0, SPEED * CRANK / ROD, 0),
                shape=mbd.Capsule(0.025, ROD, axis="z"),
            )
        )
        system.add(mbd.Revolute(f"{name} pin", shaft, rod, at=pin, axis="y"))
        system.add(mbd.Revolute(f"{name} foot", rod, block, at=foot, axis="y"))
    for i, (x, y) in enumerate(((-0.3, -0.3), (-0.3, 0.3), (0.3, -0.3), (0.3, 0.3))):
        at = (x, y, z_ram)
        system.add(mbd.Cylindrical(f"column {i}", system.ground, block, at=at, axis="z"))
    system.add(
        mbd.Stop(
            "work piece",
            system.joints["column 3"],
            coordinate="displacement",
            lower=-0.15,
            stiffness=2e5,
        )
    )
    system.add(mbd.Drive("motor", bearing, position=mbd.ConstantSpeed(SPEED)))
    return system
