"""Planetary gear: sun 24 teeth, ring 72 teeth that stands still, one planet on a carrier.

The angle of the planet is that against the carrier, where its hinge is. Source of the numbers:
w_s N_s + w_r N_r = w_c (N_s + N_r), and the balance of power.
"""

import numpy as np

import mbd

SUN, RING = 24, 72
PLANET = (RING - SUN) // 2
SPEED, BRAKE = 10.0, 8.0
RUN = {"t_end": 1.0, "step": 1e-3}
_SOURCE = "Willis"
REFERENCE = (
    ("carrier.angular_velocity", 1.0, (0, 0, 2.5), 1e-5, _SOURCE),
    ("planet.angular_velocity", 1.0, (0, 0, 2.5 - 7.5), 1e-4, _SOURCE),
    ("carrier bearing.angle", 1.0, 2.5, 1e-9, _SOURCE),
    ("motor.load", 1.0, BRAKE / 4, 1e-6, "balance of power"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the gear; the sun is driven, the carrier brakes with a constant moment."""
    system = mbd.System()
    z = (0, 0, 1)
    carrier_speed = SPEED * SUN / (SUN + RING)
    planet_speed = carrier_speed * (1 - RING / PLANET)
    place = np.array([0.06, 0.0, 0.0])
    sizes = {
        "sun": (SPEED, (0, 0, 0), (0, 0, 0)),
        "carrier": (carrier_speed, (0, 0, 0), (0, 0, 0)),
        "planet": (planet_speed, place, carrier_speed * np.cross(z, place)),
    }
    mark = mbd.Box((0.05, 0.006, 0.004), at=(0, 0, 0.01), color="#f2f2f2")  # shows that it turns
    shapes = {
        "sun": [mbd.Cylinder(0.03, 0.02, axis=z), mark],
        "carrier": mbd.Box((0.08, 0.015, 0.005), at=(0.03, 0, 0.02)),
        "planet": [mbd.Cylinder(0.03, 0.02, axis=z), mark],
    }
    made = {
        name: system.add(
            mbd.RigidBody(
                name,
                mass=0.5,
                inertia=(2e-4, 2e-4, 4e-4),
                position=position,
                velocity=velocity,
                angular_velocity=(0, 0, speed),
                formulation=formulation,
                shape=shapes[name],
            )
        )
        for name, (speed, position, velocity) in sizes.items()
    }
    sun, carrier, planet = made.values()
    shaft = system.add(mbd.Revolute("shaft", system.ground, sun, at=(0, 0, 0), axis=z))
    arm = mbd.Revolute("carrier bearing", system.ground, carrier, at=(0, 0, 0), axis=z)
    system.add(arm)
    pin = system.add(mbd.Revolute("planet pin", carrier, planet, at=place, axis=z))
    # teeth: (sun - carrier) and planet turn against each other, planet and (ring - carrier) do not
    system.add(mbd.Coupler("sun teeth", [shaft, arm, pin], [SUN, -SUN, PLANET]))
    system.add(mbd.Gear("ring teeth", arm, pin, ratio=-RING / PLANET))
    system.add(mbd.Drive("motor", shaft, position=mbd.ConstantSpeed(SPEED)))
    system.add(mbd.Motor("brake", arm, -BRAKE))
    return system
