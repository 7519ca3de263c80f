"""Simple pendulum: a point on a massless rod; phase over many swings, energy and rod tension.

Problem A01 of the multibody benchmark library of the IFToMM Technical Committee (also LIM, Univ. da
Coruna). Exact: sin(theta/2) = k sn(K - w t), k = sin(pi/4); period 2.3678419475762 s.
"""

import mbd

RUN = {"t_end": 10.0, "step": 1e-3}
_SOURCE = "IFToMM A01, Jacobi sn"
REFERENCE = (
    ("mass.position", 1.0, (0.986291751131875, -0.165010853125541, 0.0), 2e-5, _SOURCE),
    ("mass.velocity", 1.0, (0.296905515916316, 1.77464364111266, 0.0), 5e-5, _SOURCE),
    ("rod.force", 1.0, (-4.789698457876, 0.8013371579365, 0.0), 2e-4, _SOURCE),
    ("mass.position", 10.0, (-0.275087462576117, -0.961419205099125, 0.0), 2e-4, _SOURCE),
    ("energy.total", 10.0, 0.0, 1e-4, "conserved"),
)


def build(length: float = 1.0, mass: float = 1.0) -> mbd.System:
    """Return a mass at (-length, 0, 0) at rest, hung from the origin, y up [m, kg]."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    point = system.add(mbd.PointMass("mass", mass=mass, position=(-length, 0, 0)))
    system.add(mbd.Distance("rod", system.ground, point, at=(0, 0, 0)))
    return system
