"""Bricard's mechanism: six hinges in a spatial loop that moves although counting says it cannot.

Problem A04 of the multibody benchmark library of the IFToMM Technical Committee: 30 velocities, 30
rows, one of them redundant, one freedom. Source of the numbers: the closed form of the symmetric
linkage, integrated at tolerance 1e-13, equal to an index-1 formulation to 3e-13.
"""

import numpy as np

import mbd

RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "closed form of the linkage"
REFERENCE = (
    ("rod 2(0.5, 0, 0).position", 0.5, (0.7747178080392, -0.9798150476557, -0.1999061589534), 2e-6, _SOURCE),
    ("rod 2(0.5, 0, 0).position", 1.0, (0.2744813192646, -0.8867079387347, -0.4623300026874), 5e-6, _SOURCE),
    ("rod 2(0.5, 0, 0).position", 2.0, (-0.7781353730333, -0.9803526834433, -0.1972526706172), 1e-5, _SOURCE),
    ("rod 2(0.5, 0, 0).velocity", 2.0, (-0.8223592716499, -0.1287529834867, 0.6399068386127), 2e-5, _SOURCE),
    ("energy.total", 2.0, -29.43, 1e-4, "conserved"),
)  # fmt: skip
POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]


def build(formulation: str = "so3") -> mbd.System:
    """Return the mechanism at rest, rods along their x axes, y up."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    previous = system.ground
    for i in range(5):
        P, Q = POINTS[i], POINTS[i + 1]
        x = Q - P
        y = np.roll(x, 1)
        rod = system.add(
            mbd.RigidBody(
                f"rod {i + 1}",
                mass=1.0,
                inertia=(0.02 / 12, 1.01 / 12, 1.01 / 12),
                position=(P + Q) / 2,
                rotation=np.column_stack([x, y, np.cross(x, y)]),
                formulation=formulation,
                shape=mbd.Box((1.0, 0.1, 0.1)),
            )
        )
        system.add(mbd.Revolute(f"hinge {i}", previous, rod, at=P, axis=AXES[i]))
        previous = rod
    system.add(mbd.Revolute("hinge 5", system.ground, previous, at=POINTS[5], axis=AXES[5]))
    return system
