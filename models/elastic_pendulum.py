"""Elastic pendulum: a point mass on a spring, with large swings and stretching.

Source of the numbers: ODE by an extrapolation method in extended precision, energy to 3e-16.
"""

import mbd

RUN = {"t_end": 10.0, "step": 1e-3}
_SOURCE = "ODE in Cartesian coordinates"
REFERENCE = (
    ("mass.position", 1.0, (-0.700713135723142, -1.49291821688929, 0.0), 1e-5, _SOURCE),
    ("mass.velocity", 1.0, (-1.17282303790587, 2.60079197642716, 0.0), 5e-5, _SOURCE),
    ("mass.position", 10.0, (-0.716887404285764, -1.12466298482315, 0.0), 5e-4, _SOURCE),
    ("energy.total", 10.0, -4.905 + 15 * (1.46**0.5 - 1) ** 2, 1e-4, "conserved"),
)


def build(stiffness: float = 30.0, length: float = 1.0, mass: float = 1.0) -> mbd.System:
    """Return a mass at (1.1, -0.5, 0) at rest on a spring to the origin, y up [N/m, m, kg]."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    point = system.add(mbd.PointMass("mass", mass=mass, position=(1.1, -0.5, 0)))
    system.add(mbd.Spring("spring", system.ground, point, stiffness=stiffness, length=length))
    return system
