"""Flying spaghetti: a free, very flexible beam, thrown by a force and a moment at one end.

A force and two moments at end A grow for 2.5 s and vanish at 5 s; then the beam flies freely. It has
an inertia against turning of its sections that no section has, 10 kg m in all directions, as in the
source, which tests large turns of sections about all axes.

Source: J. C. Simo, L. Vu-Quoc, Comput. Methods Appl. Mech. Eng. 66 (1988) 125-161. The numbers are
those of Legendre polynomials of high order (change 2e-6 from 64 to 96 of them) for the same
equations; tolerances are what 16 elements and this step leave.
"""

import mbd

RUN = {"t_end": 3.8, "step": 1e-2, "method": mbd.GeneralizedAlpha(rho=0.9)}
_SOURCE = "geometrically exact beam, spectral"
REFERENCE = (
    ("spaghetti.16.position", 1.0, (0.118642096, 7.97487846, -0.0169678169), 1e-3, _SOURCE),
    ("spaghetti.0.position", 2.5, (3.41295282, 0.196903501, 0.0173521846), 4e-3, _SOURCE),
    ("spaghetti.16.position", 2.5, (4.02380577, 8.49551964, -0.733020527), 4e-3, _SOURCE),
    ("spaghetti.16.position", 3.8, (13.3123806, 4.478583, 3.40752593), 1e-2, _SOURCE),
    ("energy.total", 3.8, 679.3548, 0.5, _SOURCE),
)


THROW = "max(0, min(80*t, 400 - 80*t))"  # moment about z at end A [N m]


def build(elements: int = 16, formulation: str = "so3") -> mbd.System:
    """Return the beam at rest, from A = (6, 0, 0) to B = (0, 8, 0)."""
    system = mbd.System()
    section = mbd.Section(stiffness=(1e4, 1e4, 1e4, 500, 500, 500), mass=1.0, inertia=(10, 10, 10))
    beam = system.add(
        mbd.Beam("spaghetti", points=[(6, 0, 0), (0, 8, 0)], section=section, elements=elements,
                 formulation=formulation)
    )  # fmt: skip
    system.add(mbd.PointForce("force", beam.first, mbd.Expression(f"{THROW}/10", 0, 0)))
    system.add(mbd.Moment("moment", beam.first, mbd.Expression(0, f"-{THROW}/2", f"-{THROW}")))
    return system
