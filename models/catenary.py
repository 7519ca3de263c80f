"""Catenary: an elastic cable that hangs between two pins.

It begins on the curve of the elastic catenary, whose strains are not those of equal bars; the small
waves along it are damped, and what remains are sag and reactions of the closed form:

    span = H L/EA + (2 H/q) asinh(q L/2H),    sag = q L^2/8EA + (sqrt(H^2 + (q L/2)^2) - H)/q .

Source: H. M. Irvine, Cable Structures, MIT Press 1981; H by bisection. Tolerances are what 32 bars
leave.
"""

import math

import mbd

RUN = {"t_end": 0.2, "step": 2e-3}
SPAN, LENGTH, Q, EA = 10.0, 12.0, 2.0, 1000.0  # m, m, N/m, N
H, SAG = 9.014472554, 3.033107722  # N, m
_SOURCE = "elastic catenary, closed form"
REFERENCE = (
    ("line.16.position", 0.2, (SPAN / 2, 0.0, -SAG), 4e-3, _SOURCE),
    ("left.force", 0.2, (-H, 0.0, Q * LENGTH / 2), 0.1, _SOURCE),
    ("right.force", 0.2, (H, 0.0, Q * LENGTH / 2), 0.1, _SOURCE),
)


def curve(p: float) -> tuple[float, float, float]:
    """Return the point of the catenary at a share p of its free length."""
    s, V = p * LENGTH, Q * LENGTH / 2
    x = H * s / EA + H / Q * (math.asinh(V / H) - math.asinh((V - Q * s) / H))
    z = (V * s - Q * s**2 / 2) / EA + (math.hypot(H, V) - math.hypot(H, V - Q * s)) / Q
    return x, 0.0, -z


def build(elements: int = 32) -> mbd.System:
    """Return the cable along x, z up."""
    system = mbd.System(gravity=(0, 0, -9.81))
    line = system.add(mbd.Cable("line", points=curve, length=LENGTH, stiffness=EA, mass=Q / 9.81,
                                elements=elements, damping=0.02))  # fmt: skip
    system.add(mbd.Spherical("left", system.ground, line.first, at=line.first.position))
    system.add(mbd.Spherical("right", system.ground, line.last, at=line.last.position))
    return system
