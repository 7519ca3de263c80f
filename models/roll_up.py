"""Roll-up: a cantilever is bent to a full circle by a moment at its end.

The moment grows to 2 pi EI/L in a second and stays; the beam has next to no mass and is damped, so
it ends where it is at rest. Constant curvature is exact in every element.

Source: K.-J. Bathe, S. Bolourchi, Int. J. Numer. Methods Eng. 14 (1979) 961-986; closed form.
"""

import math

import mbd

RUN = {"t_end": 1.5, "step": 1e-2, "method": mbd.GeneralizedAlpha(rho=0.5)}
L, EI = 10.0, 100.0  # m, N m^2
MOMENT = 2 * math.pi * EI / L  # N m
_SOURCE = "closed form"
REFERENCE = (
    ("strip.6.position", 1.5, (0.0, 0.0, 0.0), 1e-6, _SOURCE),
    ("strip.3.position", 1.5, (0.0, 0.0, L / math.pi), 1e-6, _SOURCE),
    ("clamp.moment", 1.5, (0.0, MOMENT, 0.0), 1e-4, _SOURCE),
)


def build(elements: int = 6) -> mbd.System:
    """Return the beam along x, clamped at the origin; z up."""
    system = mbd.System()
    section = mbd.Section(stiffness=(1e4, 1e4, 1e4, EI, EI, EI), mass=1e-4, inertia=(2e-6,) * 3)
    strip = system.add(
        mbd.Beam("strip", points=[(0, 0, 0), (L, 0, 0)], section=section, elements=elements,
                 damping=0.02)
    )  # fmt: skip
    system.add(mbd.Fixed("clamp", system.ground, strip.first, at=(0, 0, 0)))
    share = "min(t, 1)**2*(3 - 2*min(t, 1))"
    system.add(mbd.Moment("load", strip.last, mbd.Expression(0, f"-{MOMENT!r}*{share}", 0)))
    return system
