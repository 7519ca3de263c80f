"""Curved cantilever: an eighth of a circle is bent out of its plane by a force at its end.

The 45-degree bend: radius 100 m, section 1 m x 1 m, E = 1e7 N/m^2, no Poisson effect, force 600 N. The
force grows in a second and stays; the beam has next to no mass and is damped, so it ends at rest.

Source: K.-J. Bathe, S. Bolourchi, Int. J. Numer. Methods Eng. 14 (1979) 961-986, who have (47.2, 15.9,
53.4) m. The number is that of shooting with stiffness (EA, GA, GA, GJ, EI, EI) as below.
"""

import math

import mbd

RUN = {"t_end": 1.5, "step": 1e-2, "method": mbd.GeneralizedAlpha(rho=0.5)}
R, FORCE = 100.0, 600.0  # m, N
_SOURCE = "geometrically exact beam, shooting"
REFERENCE = (
    ("bow.8.position", 1.5, (47.150438574, 15.684800534, 53.474858792), 1e-3, _SOURCE),
    ("clamp.force", 1.5, (0.0, 0.0, -FORCE), 1e-2, "balance"),
)


def arc(p: float) -> tuple[float, float, float]:
    """Return the point at a share p of the length."""
    angle = math.pi / 4 * p
    return R * math.sin(angle), R * (1 - math.cos(angle)), 0.0


def build(elements: int = 8) -> mbd.System:
    """Return the bow in the plane of x and y, clamped at the origin; z up."""
    system = mbd.System()
    EI = 1e7 / 12
    section = mbd.Section(stiffness=(1e7, 5e6, 5e6, EI, EI, EI), mass=1e-6, inertia=(2e-7,) * 3)
    bow = system.add(mbd.Beam("bow", points=arc, section=section, elements=elements, damping=0.02))
    system.add(mbd.Fixed("clamp", system.ground, bow.first, at=(0, 0, 0)))
    growth = f"{FORCE}*min(t, 1)**2*(3 - 2*min(t, 1))"
    system.add(mbd.PointForce("load", bow.last, mbd.Expression(0, 0, growth)))
    return system
