"""Slider-crank that bends: its rod is a beam of 8 elements, its crank turns at constant speed.

The mechanism of ``flexible_rod.py``, whose rod has two sines and a quadratic as its shapes and swings
freely a little. Here the rod starts straight and without deflection; its damping takes the waves of the
start, and what remains is the deflection of the steady motion, up to 1.6 mm in the middle of the rod.

Source: B. Simeon, Math. Modelling of Systems 2 (1996) 1-18; values of "Slider crank" in the Test Set for
IVP Solvers, of which the middle of the rod is to be met to 3 % of its largest deflection.
"""

import math

import mbd

RUN = {"t_end": 0.1, "step": 1e-4}
SPEED, CRANK, ROD = 150.0, 0.15, 0.3  # rad/s, m
M1, M2, M3, J1 = 0.36, 0.151104, 0.075552, 7e-4  # kg, kg m^2
E, SIDE, PIN = 2e11, 0.008, 0.01  # N/m^2, m, kg
CHORD, Q1 = -0.331173498825626, 1.893192899613509e-4  # of the source at 0.1 s: angle, deflection
_PHI = SPEED * 0.1
_C, _S = math.cos(CHORD), math.sin(CHORD)
_MIDDLE = (
    CRANK * math.cos(_PHI) + ROD / 2 * _C - Q1 * _S,
    CRANK * math.sin(_PHI) + ROD / 2 * _S + Q1 * _C,
    0.0,
)
_SOURCE = "Test Set for IVP Solvers, Slider crank"
REFERENCE = (
    ("slider.position", 0.1, (0.169737332842786, 0.0, 0.0), 2e-6, _SOURCE),
    ("slider.velocity", 0.1, (-8.75311632667053, 0.0, 0.0), 2e-2, _SOURCE),
    ("rod.4.position", 0.1, _MIDDLE, 5e-5, _SOURCE),
)


def build(elements: int = 8) -> mbd.System:
    """Return the mechanism, stretched out along x."""
    system = mbd.System()
    crank = system.add(
        mbd.RigidBody("crank", mass=M1, inertia=(1e-4, J1, J1), position=(CRANK / 2, 0, 0),
                      velocity=(0, SPEED * CRANK / 2, 0), angular_velocity=(0, 0, SPEED),
                      shape=mbd.Capsule(0.01, CRANK, axis=(1, 0, 0)))
    )  # fmt: skip
    bearing = system.add(
        mbd.Revolute("bearing", system.ground, crank, at=(0, 0, 0), axis=(0, 0, 1))
    )
    system.add(mbd.Drive("motor", bearing, position=mbd.ConstantSpeed(SPEED)))
    A, I2 = SIDE**2, SIDE**4 / 12
    section = mbd.Section(
        stiffness=(E * A, 0.3 * E * A, 0.3 * E * A, 0.6 * E * I2, E * I2, E * I2), mass=M2 / ROD
    )
    rod = system.add(
        mbd.Beam("rod", points=[(CRANK, 0, 0), (CRANK + ROD, 0, 0)], section=section,
                 elements=elements, damping=1e-4, velocity=(0, SPEED * CRANK, 0),
                 angular_velocity=(0, 0, -SPEED * CRANK / ROD))
    )  # fmt: skip
    system.add(mbd.Revolute("crank pin", crank, rod.first, at=(CRANK, 0, 0), axis=(0, 0, 1)))
    slider = system.add(
        mbd.RigidBody("slider", mass=M3, inertia=(1e-4,) * 3, position=(CRANK + ROD, 0, 0),
                      shape=mbd.Box((0.04, 0.03, 0.03)))
    )  # fmt: skip
    system.add(mbd.Spherical("wrist", rod.last, slider, at=(CRANK + ROD, 0, 0)))
    system.add(mbd.Prismatic("guide", system.ground, slider, at=(0, 0, 0), axis=(1, 0, 0)))
    return system
