"""Goland's wing: in a wind that comes up by half a degree at t = 0, below its speed of flutter.

Wing: M. Goland, J. Appl. Mech. 12 (1945), A197, clamped, 6.1 m, bending and torsion coupled by the
centre of mass. Load: quasi-steady blade elements, lift 2 pi alpha at a quarter of the chord, alpha
by the velocity of the air at three quarters of it, and what turning gives an ideal fluid there. With this load it flutters above 68.5 m/s.
Source of the numbers: the linear equations of bending and torsion by Legendre polynomials up to
order 9, without shear and inertia of turns of the sections in bending.
"""

from numba import njit

import mbd

RUN = {"t_end": 0.6, "step": 1e-3}
_SOURCE = "Legendre polynomials"
REFERENCE = (
    ("wing.12.position", 0.1, (6.096, 0.0, 0.0042130766953), 3e-5, _SOURCE),
    ("wing.12.position", 0.2, (6.096, 0.0, 0.0047663326717), 3e-5, _SOURCE),
    ("wing.12.position", 0.3, (6.096, 0.0, 0.0042527782750), 3e-5, _SOURCE),
    ("wing.12.position", 0.6, (6.096, 0.0, 0.0045914564834), 3e-5, _SOURCE),
)
SPAN, CHORD, DENSITY, WIND, RISE = 6.096, 1.8288, 1.225, 60.0, 0.00873


@njit
def strip(R, v, omega, wind, rise, chord, density):
    """Return lift and moment per length about the elastic axis; axis 2 points to the leading edge.

    In the plane of the section, with the air u at three quarters of the chord c, the lift
    pi rho c (-u_2, u_3 -> u x e_1) u_3 at a quarter of it, and rho pi c^2/4 u omega_1 at three quarters.
    """
    aft, ahead = (0.75 - 0.33) * chord, (0.33 - 0.25) * chord
    turn = R[0, 0] * omega[0] + R[1, 0] * omega[1] + R[2, 0] * omega[2]
    u2, u3 = 0.0, aft * turn
    for i in range(3):
        air = (0.0, -wind, wind * rise)[i] - v[i]
        u2 += R[i, 1] * air
        u3 += R[i, 2] * air
    q = 3.141592653589793 * density * chord
    one, two = q * u3, 0.25 * q * chord * turn
    f2, f3 = (one + two) * u3, -(one + two) * u2
    m = -(ahead * one - aft * two) * u2
    f = f2 * R[0, 1] + f3 * R[0, 2], f2 * R[1, 1] + f3 * R[1, 2], f2 * R[2, 1] + f3 * R[2, 2]
    return f, (m * R[0, 0], m * R[1, 0], m * R[2, 0])


def build(
    wind: float = WIND, rise: float = RISE, elements: int = 12, formulation: str = "so3"
) -> mbd.System:
    """Return the wing at rest, along x, its leading edge along y."""
    system = mbd.System()
    offset = -0.1 * CHORD  # of the centre of mass, behind the elastic axis
    about = 8.643 - 35.72 * offset**2
    section = mbd.Section(
        stiffness=(1e10, 1e10, 1e10, 0.987e6, 9.77e6, 1e9), mass=35.72, center=(offset, 0.0),
        inertia=(about, 1e-3 * about, 0.999 * about),
        outline=[(0.67 - 1.0, 0.05), (0.33 * CHORD, 0.0), (-0.67 * CHORD, 0.0)],
    )  # fmt: skip
    wing = system.add(
        mbd.Beam("wing", points=[(0, 0, 0), (SPAN, 0, 0)], section=section, elements=elements,
                 up=(0, 0, 1), first=system.ground, formulation=formulation)
    )  # fmt: skip
    numbers = {"wind": wind, "rise": rise, "chord": CHORD, "density": DENSITY}
    system.add(mbd.SectionLoad("air", wing, strip, parameters=numbers))
    return system
