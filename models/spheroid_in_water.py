"""Spheroid in water: as heavy as it, set off along no axis, it swings about broadside-on.

Kirchhoff's problem: H. Lamb, Hydrodynamics, 6th ed., 1932, article 127. With the impulse I, the
inertias A along and B across the long axis and Q about a short one, fluid included, the angle
theta between the long axis and I obeys Q theta'' = (B - A) I^2 sin(2 theta) / (2 A B): twice the
angle swings as a pendulum does about a right angle. Motion along the long axis, theta = 0, is unstable.
Source of the numbers: that pendulum released at 120 degrees, in elliptic integrals, with the closed
forms of article 114 for the fluid around a spheroid of semi-axes 1 and 1/2 m. The impulse is that
for which a quarter of the swing takes one second.
"""

import mbd

RUN = {"t_end": 4.0, "step": 1e-3}
SEMI_AXES = (1.0, 0.5, 0.5)
MASS = 1047.1975511965977
INERTIA = (104.71975511965977, 261.79938779914943, 261.79938779914943)
VELOCITY = (1.8795986045736328, 0.2544635200030636, 0.0)
TURNED = ((0.8660254037844386, -0.5, 0.0), (0.5, 0.8660254037844386, 0.0), (0.0, 0.0, 1.0))
REFERENCE = (
    ("spheroid.angular_velocity", 1.0, (0.0, 0.0, 1.8675973343933383), 1e-5, "pendulum"),
    ("spheroid.position", 1.0, (1.6964960311268498, 0.23599506017783778, 0.0), 1e-5, "pendulum"),
    ("spheroid.angular_velocity", 2.0, (0.0, 0.0, 0.0), 1e-4, "at its other end"),
    ("spheroid.position", 4.0, (6.785984124507399, 0.0, 0.0), 1e-4, "elliptic integrals"),
    ("energy.total", 4.0, 2413.259041108742, 0.01, "conserved"),
)  # fmt: skip


def build(formulation: str = "so3") -> mbd.System:
    """Return the spheroid in the water; weight and buoyancy carry each other."""
    system = mbd.System()
    body = system.add(
        mbd.RigidBody(
            "spheroid",
            mass=MASS,
            inertia=INERTIA,
            rotation=TURNED,
            velocity=VELOCITY,
            formulation=formulation,
            shape=mbd.Capsule(radius=0.5, length=1.0, axis=(1.0, 0.0, 0.0)),
        )
    )
    system.add(mbd.AddedMass.ellipsoid("water", body, SEMI_AXES, density=1000.0))
    return system
