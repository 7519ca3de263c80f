"""Spin-up of a beam: inclined, with two different bending stiffnesses, clamped to a turning hub.

Bending in both planes, torsion, stiffening by centrifugal forces and Coriolis forces all act; the
sections are turned by 0.5 rad about an axis that is inclined by 0.4 rad.

Source of the numbers: Legendre polynomials of order 16 and 20 for the equations of the geometrically
exact beam (difference 6e-12).
"""

import math

import mbd

RUN = {"t_end": 2.0, "step": 2e-3}
_SOURCE = "geometrically exact beam, spectral"
REFERENCE = (
    ("blade.12.position", 0.5, (1.841144197386, 0.00488109472418, 0.7810843360353), 2e-4, _SOURCE),
    ("blade.12.position", 1.0, (1.799011928237, 0.2488626182202, 0.8357346987679), 5e-4, _SOURCE),
    ("blade.12.position", 1.5, (1.284200201248, 1.288537662539, 0.82833956487), 1e-3, _SOURCE),
    ("blade.12.position", 2.0, (-1.095853083426, 1.596116929017, 0.493997629926), 2e-3, _SOURCE),
)
# of the hub [rad], from rest to 4 rad/s in 3 s
ANGLE = "4/3*(t**2/2 + (cos(2*pi*t/3) - 1)*(3/(2*pi))**2)"


def build(elements: int = 12, formulation: str = "so3") -> mbd.System:
    """Return the beam at rest, of 2 m length."""
    system = mbd.System()
    section = mbd.Section(
        stiffness=(2e4, 8e3, 8e3, 12, 20, 60), mass=1.0, inertia=(4e-3, 1e-3, 3e-3)
    )
    slope, turn = 0.4, 0.5
    two = (-math.sin(slope) * math.sin(turn), math.cos(turn), math.cos(slope) * math.sin(turn))
    along = (math.cos(slope), 0.0, math.sin(slope))
    up = (
        along[1] * two[2] - along[2] * two[1],
        along[2] * two[0] - along[0] * two[2],
        along[0] * two[1] - along[1] * two[0],
    )
    tip = tuple(2 * x for x in along)
    blade = system.add(
        mbd.Beam("blade", points=[(0, 0, 0), tip], section=section, elements=elements, up=up,
                 formulation=formulation)
    )  # fmt: skip
    hub = system.add(mbd.Revolute("hub", system.ground, blade.first, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("motor", hub, position=mbd.Expression(ANGLE)))
    return system
