"""Driven slider-crank: the moment of the motor at constant speed, the forces in the joints.

``mbd.inverse_dynamics`` gives the same numbers without steps. Source: Newton and Euler for the three
links, 8 x 8, checked by virtual power.
"""

import math

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

CRANK, ROD, SPEED, START = 0.1, 0.3, 20.0, 30.0
DEGREE = math.pi / 180 / SPEED  # s
RUN = {"t_end": 150 * DEGREE, "step": DEGREE}
_SOURCE = "Newton and Euler, 8 x 8"
REFERENCE = (
    ("motor.load", 60 * DEGREE, -2.262741699797, 2e-3, _SOURCE),
    ("bearing.force", 60 * DEGREE, (22.627416998, -19.171, 0), 2e-2, _SOURCE),
    ("motor.load", 105 * DEGREE, -3.105935483191, 2e-3, _SOURCE),
    ("slider pin.force", 105 * DEGREE, (33.4568941977, -10.9851314218, 0), 1e-2, _SOURCE),
    ("slider.acceleration", 105 * DEGREE, (27.8807451648, 0, 0), 1e-2, _SOURCE),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the mechanism, crank at 30 degrees, y up; joints in the plane have no redundant rows."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    angle = math.radians(START)
    pin = CRANK * np.array([math.cos(angle), math.sin(angle), 0.0])
    lean = -math.asin(pin[1] / ROD)
    end = np.array([pin[0] + ROD * math.cos(lean), 0.0, 0.0])
    spin = -SPEED * pin[0] / (end[0] - pin[0])
    v_pin = SPEED * np.array([-pin[1], pin[0], 0.0])
    v_end = v_pin + spin * np.array([pin[1], end[0] - pin[0], 0.0])
    shapes = {
        "crank": mbd.Capsule(0.01, CRANK, axis=(1, 0, 0)),
        "rod": mbd.Capsule(0.008, ROD, at=(0, 0, 0.018), axis=(1, 0, 0)),
        "slider": mbd.Box((0.07, 0.04, 0.03)),
    }
    parts = {
        name: system.add(
            mbd.RigidBody(
                name,
                mass=mass,
                inertia=mass * length**2 / 12 * np.array([0.01, 1, 1]),
                position=place,
                rotation=Rotation.from_rotvec([0, 0, turn]),
                velocity=velocity,
                angular_velocity=(0, 0, omega),
                formulation=formulation,
                shape=shapes[name],
            )
        )
        for name, mass, length, place, velocity, turn, omega in (
            ("crank", 0.5, CRANK, pin / 2, v_pin / 2, angle, SPEED),
            ("rod", 0.8, ROD, (pin + end) / 2, (v_pin + v_end) / 2, lean, spin),
            ("slider", 1.2, 0.05, end, v_end, 0.0, 0.0),
        )
    }
    crank, rod, slider = parts.values()
    z = (0, 0, 1)
    bearing = mbd.Revolute("bearing", system.ground, crank, at=(0, 0, 0), axis=z)
    system.add(bearing)
    system.add(mbd.Revolute("crank pin", crank, rod, at=pin, axis=z))
    system.add(mbd.PointOnLine("slider pin", rod, slider, at=end, axis=z))
    system.add(mbd.Prismatic("guide", system.ground, slider, at=end, axis=(1, 0, 0)))
    system.add(mbd.Drive("motor", bearing, position=mbd.ConstantSpeed(SPEED)))
    return system
