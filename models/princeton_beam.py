"""Princeton beam: a strip with a weight at its end, turned so that both bendings and torsion mix.

Strip of aluminium, 508 mm long, 12.377 mm x 3.2024 mm, with 13.345 N at its end, 45 degrees off the
stiff direction. The load grows in a second and stays; the strip has next to no mass and is damped, so it
ends at rest.

Source of the problem: E. H. Dowell, J. Traybar, D. H. Hodges, J. Sound Vib. 50 (1977) 533-544, an
experiment. The numbers are those of the geometrically exact beam with this section, by shooting
(DOP853 at 1e-12, gap at the end 1e-15).
"""

import math

import mbd

RUN = {"t_end": 1.5, "step": 1e-2, "method": mbd.GeneralizedAlpha(rho=0.5)}
L, WIDE, THIN, LOAD = 0.508, 12.377e-3, 3.2024e-3, 13.345  # m, m, m, N
_SOURCE = "geometrically exact beam, shooting"
REFERENCE = (
    ("strip.8.position", 1.5, (0.47763891, -0.15658774, -0.01534216), 5e-5, _SOURCE),
    ("clamp.moment", 1.5, (-1.33284138, -4.50716318, 4.50716318), 2e-3, _SOURCE),
)


def build(elements: int = 8) -> mbd.System:
    """Return the strip along x, its wide side up; z up."""
    system = mbd.System()
    alloy = {"young": 71.7e9, "poisson": 0.31, "density": 1e-4}
    section = mbd.Section.rectangle(THIN, WIDE, **alloy)
    strip = system.add(mbd.Beam("strip", points=[(0, 0, 0), (L, 0, 0)], section=section,
                                elements=elements, damping=0.02))  # fmt: skip
    system.add(mbd.Fixed("clamp", system.ground, strip.first, at=(0, 0, 0)))
    growth = f"-{LOAD / math.sqrt(2)!r}*min(t, 1)**2*(3 - 2*min(t, 1))"
    system.add(mbd.PointForce("load", strip.last, mbd.Expression(0, growth, growth)))
    return system
