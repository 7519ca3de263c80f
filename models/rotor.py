"""Rotor on two bearings: rigid, in forward whirl; one point of its Campbell diagram.

With u = x + i y of the centre of mass and the tilt p of the axis, small,
m u'' = -k sum(u + z p), Jd p'' - i Jp W p' = -k sum z (u + z p), z the places of the bearings.
The rotor starts in one mode and its centre goes round at the whirl speed of that mode.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

MASS, ACROSS, POLAR, STIFFNESS = 50.0, 3.0, 5.0, 1e6
BEARINGS = (-0.4, 0.6)
RPM, WHIRL = 5000.0, 197.81530384834  # whirl speed at this speed [rad/s]
AMPLITUDE = 1e-4
RUN = {"t_end": 0.05, "step": 2e-5}


def _centre(t: float) -> tuple[float, float, float]:
    return AMPLITUDE * np.cos(WHIRL * t), AMPLITUDE * np.sin(WHIRL * t), 0.0


REFERENCE = (
    ("rotor.position", 0.025, _centre(0.025), 2e-8, "rigid rotor, linear theory"),
    ("rotor.position", 0.05, _centre(0.05), 4e-8, "rigid rotor, linear theory"),
)


def build(
    formulation: str = "so3",
    rpm: float = RPM,
    whirl: float = WHIRL,
    amplitude: float = AMPLITUDE,
    across: tuple[float, float] = (ACROSS, ACROSS),
    damping: float = 0.0,
) -> mbd.System:
    """Return the rotor at a speed, in forward whirl of an amplitude [m]; 0 for plain rotation.

    ``across`` are the moments of inertia across the axis [kg m^2], ``damping`` that of a bearing.
    """
    spin = rpm * np.pi / 30
    tilt = -amplitude * (2 * STIFFNESS - MASS * whirl**2) / (STIFFNESS * sum(BEARINGS))
    R = Rotation.from_rotvec([0, tilt, 0])
    system = mbd.System()
    rotor = system.add(
        mbd.RigidBody(
            "rotor", mass=MASS, inertia=(*across, POLAR), position=(amplitude, 0, 0), rotation=R,
            velocity=(0, whirl * amplitude, 0),
            angular_velocity=spin * R.apply((0, 0, 1)) + np.array([-whirl * tilt, 0, 0]),
            formulation=formulation, shape=mbd.Cylinder(0.3, 0.3),
        )
    )  # fmt: skip
    for name, z in zip(("left", "right"), BEARINGS, strict=True):
        here = rotor.frame((0, 0, z))
        system.add(
            mbd.Bushing(
                f"{name} bearing", system.ground.frame((0, 0, z)), here,
                stiffness=(STIFFNESS, STIFFNESS, 0, 0, 0, 0), damping=(damping,) * 2 + (0,) * 4,
            )
        )  # fmt: skip
    return system
