"""Rack and pinion: a torque on the pinion accelerates the rack.

Source of the numbers: a = (T/r) / (m + I/r^2), the force between the teeth is m a.
"""

import mbd

RADIUS, TORQUE, MASS, INERTIA = 0.05, 1.5, 3.0, 0.02
RUN = {"t_end": 0.2, "step": 5e-4}
_SOURCE = "closed form"
REFERENCE = (
    ("slide.displacement", 0.2, 0.02 * 2.7272727272727275, 1e-4, _SOURCE),
    ("axle.angle", 0.2, 0.02 * 2.7272727272727275 / RADIUS, 1e-4, _SOURCE),
    ("teeth.load", 0.2, 8.181818181818182, 1e-3, _SOURCE),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return rack, pinion and torque."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    pinion = system.add(
        mbd.RigidBody(
            "pinion",
            mass=1.0,
            inertia=(INERTIA, INERTIA, INERTIA),
            formulation=formulation,
            shape=mbd.Cylinder(radius=RADIUS, length=0.03, axis=(0, 1, 0)),
        )
    )
    rack = system.add(
        mbd.RigidBody(
            "rack",
            mass=MASS,
            inertia=(0.01, 0.1, 0.1),
            position=(0, 0, -RADIUS - 0.01),
            formulation=formulation,
            shape=mbd.Box(size=(1.0, 0.03, 0.02)),
        )
    )
    axle = system.add(mbd.Revolute("axle", system.ground, pinion, at=(0, 0, 0), axis=(0, -1, 0)))
    slide = mbd.Prismatic("slide", system.ground, rack, at=(0, 0, -RADIUS), axis=(1, 0, 0))
    system.add(slide)
    system.add(mbd.RackPinion("teeth", axle, slide, radius=RADIUS))
    system.add(mbd.Motor("torque", axle, TORQUE))
    return system
