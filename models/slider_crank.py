"""Slider-crank: spatial joints, planar motion under gravity and a constant torque on the crank.

Three hinges and a slider in space: three redundant rows. Source of the numbers: ODE in the crank
angle at tolerance 1e-13, checked by an implicit method.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

CRANK, ROD = 0.1, 0.3
RUN = {"t_end": 1.0, "step": 5e-4}
_SOURCE = "ODE in the crank angle"
REFERENCE = (
    ("slider.position", 0.1, (0.3790233231596, 0, 0), 2e-6, _SOURCE),
    ("slider.position", 0.5, (0.3523768426163, 0, 0), 1e-5, _SOURCE),
    ("slider.velocity", 0.5, (-0.6173523111984, 0, 0), 1e-4, _SOURCE),
    ("slider.position", 1.0, (0.3025363261674, 0, 0), 2e-5, _SOURCE),
    ("slider.velocity", 1.0, (0.6129201503001, 0, 0), 2e-4, _SOURCE),
    ("crank.angular_velocity", 1.0, (0, 0, 5.8503733916011), 2e-3, _SOURCE),
)


def build(
    formulation: str = "so3", angle: float = 0.3, rate: float = 5.0, torque: float = 0.3
) -> mbd.System:
    """Return the mechanism at a crank angle [rad], rate [rad/s] and torque [N m], y up."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    pin = CRANK * np.array([np.cos(angle), np.sin(angle), 0.0])
    lean = -np.arcsin(pin[1] / ROD)
    end = np.array([pin[0] + ROD * np.cos(lean), 0.0, 0.0])
    spin = -CRANK * np.cos(angle) * rate / (ROD * np.cos(lean))
    v_pin = rate * np.array([-pin[1], pin[0], 0.0])
    v_end = v_pin + spin * np.array([pin[1], end[0] - pin[0], 0.0])
    x = (1, 0, 0)
    disc = mbd.Cylinder(0.03, 0.012, at=(-CRANK / 2, 0, -0.01))
    shapes = {
        "crank": [mbd.Capsule(0.01, CRANK, axis=x), disc],
        "rod": mbd.Capsule(0.008, ROD, at=(0, 0, 0.018), axis=x),
        "slider": mbd.Box((0.07, 0.04, 0.03)),
    }
    parts = {}
    for name, mass, length, place, velocity, turn, omega in (
        ("crank", 0.5, CRANK, pin / 2, v_pin / 2, angle, rate),
        ("rod", 0.8, ROD, (pin + end) / 2, (v_pin + v_end) / 2, lean, spin),
        ("slider", 1.2, 0.05, end, v_end, 0.0, 0.0),
    ):
        J = mass * length**2 / 12
        parts[name] = system.add(
            mbd.RigidBody(
                name,
                mass=mass,
                inertia=(1e-2 * J, J, J),
                position=place,
                rotation=Rotation.from_rotvec([0, 0, turn]),
                velocity=velocity,
                angular_velocity=(0, 0, omega),
                formulation=formulation,
                shape=shapes[name],
            )
        )
    crank, rod, slider = parts.values()
    z = (0, 0, 1)
    system.add(mbd.Revolute("bearing", system.ground, crank, at=(0, 0, 0), axis=z))
    system.add(mbd.Revolute("crank pin", crank, rod, at=pin, axis=z))
    system.add(mbd.Revolute("slider pin", rod, slider, at=end, axis=z))
    system.add(mbd.Prismatic("guide", system.ground, slider, at=end, axis=x))
    system.add(mbd.Moment("torque", crank, (0, 0, torque)))
    return system
