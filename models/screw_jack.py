"""Screw jack: a nut sinks along a screw by its weight, turning as it goes.

Source of the numbers: theta'' = m g h / (I + m h^2) with h = pitch / (2 pi).
"""

import mbd

PITCH, MASS, INERTIA = 0.02, 2.0, 0.01
RUN = {"t_end": 1.0, "step": 1e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("screw.angle_rate", 1.0, 6.23261005836009, 2e-4, _SOURCE),
    ("screw.angle", 1.0, 0.5 * 6.23261005836009, 2e-4, _SOURCE),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the nut on its screw, axis downwards."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    nut = system.add(
        mbd.RigidBody(
            "nut",
            mass=MASS,
            inertia=(INERTIA, INERTIA, INERTIA),
            formulation=formulation,
            shape=mbd.Cylinder(radius=0.1, length=0.03, axis=(0, 0, 1)),
        )
    )
    system.add(mbd.Screw("screw", system.ground, nut, at=(0, 0, 0), axis=(0, 0, -1), pitch=PITCH))
    return system
