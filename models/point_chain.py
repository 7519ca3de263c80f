"""Chain of points: masses on massless links of constant length, released from the horizontal.

Source of the numbers (n = 3): ODE in absolute angles, extrapolation method in extended precision;
checked by an index-1 formulation in Cartesian coordinates to 5e-13.
"""

import mbd

RUN = {"t_end": 1.0, "step": 5e-4}
_SOURCE = "ODE in absolute angles"
REFERENCE = (
    ("mass 3.position", 0.5, (2.53749689213859, -1.22485046753111, 0.0), 2e-6, _SOURCE),
    ("mass 3.position", 1.0, (-1.06283214052639, -2.62879832385381, 0.0), 1e-4, _SOURCE),
    ("mass 3.velocity", 1.0, (-7.92037137907, 3.962320722915, 0.0), 1e-3, _SOURCE),
    ("link 1.force", 1.0, (8.175037706155, 57.14523775835, 0.0), 2e-2, _SOURCE),
    ("energy.total", 1.0, 0.0, 1e-4, "conserved"),
)


def build(n: int = 3, length: float = 1.0, mass: float = 1.0) -> mbd.System:
    """Return n masses along x, y up [m, kg]."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    previous = system.ground
    for i in range(1, n + 1):
        point = system.add(mbd.PointMass(f"mass {i}", mass=mass, position=(i * length, 0, 0)))
        system.add(mbd.Distance(f"link {i}", previous, point))
        previous = point
    return system
