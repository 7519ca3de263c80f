"""Rope in a current: as heavy as water, held at both ends, it takes the shape of a chain.

The drag of the flow across it, R (u_n/U)^2 per length, bends it by T dpsi/ds = R cos^2 psi, psi the angle
out of the line between the ends, and the tension T stays the same all along: that is a catenary
x = a (cosh(b/a) - cosh(y/a)) with a = T/R.
Source of the numbers: this closed form, b = 1 m and b/a = 1.2; the rope comes to rest in it.
"""

from math import cosh, sinh

from numba import njit

import mbd

RUN = {"t_end": 6.0, "step": 5e-3}
CURRENT, DENSITY, DIAMETER, COEFFICIENT, STIFFNESS = 2.0, 1000.0, 0.02, 1.2, 1e6
A = 1.0 / 1.2
DRAG = 0.5 * DENSITY * DIAMETER * COEFFICIENT * CURRENT**2  # N/m
TENSION = A * DRAG / (1.0 + A * DRAG / STIFFNESS)
REFERENCE = (
    ("rope.16.position", 6.0, (A * (cosh(1.2) - 1.0), 0.0, 0.0), 1e-3, "catenary"),
    ("rope.8.position", 6.0, (0.4648428704914594, -0.5807728555317742, 0.0), 1e-3, "catenary"),
)


@njit
def drag(R, v, current, density, diameter, coefficient):
    """Return the drag across the rope, rho D C |u_n| u_n / 2."""
    t0, t1, t2 = R[0, 0], R[1, 0], R[2, 0]
    u0, u1, u2 = current - v[0], -v[1], -v[2]
    along = u0 * t0 + u1 * t1 + u2 * t2
    u0, u1, u2 = u0 - along * t0, u1 - along * t1, u2 - along * t2
    k = 0.5 * density * diameter * coefficient * (u0 * u0 + u1 * u1 + u2 * u2) ** 0.5
    return k * u0, k * u1, k * u2


def build(elements: int = 32) -> mbd.System:
    """Return the rope, hanging in a triangle."""
    system = mbd.System()
    length = 2.0 * A * sinh(1.2) / (1.0 + TENSION / STIFFNESS)
    out = (0.25 * length**2 - 1.0) ** 0.5
    rope = system.add(
        mbd.Cable("rope", points=[(0, -1, 0), (out, 0, 0), (0, 1, 0)], smooth=False,
                  stiffness=STIFFNESS, mass=1.0, elements=elements, damping=1e-4,
                  length=length, first=system.ground, last=system.ground)
    )  # fmt: skip
    water = {"current": CURRENT, "density": DENSITY, "diameter": DIAMETER}
    system.add(
        mbd.SectionLoad("water", rope, drag, parameters=water | {"coefficient": COEFFICIENT})
    )
    return system
