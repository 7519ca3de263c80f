"""Slender shaft on modes: it spins on two pins at three quarters of its first frequency.

Weight acts from the start, when the shaft is straight. Its modes turn with it: Coriolis and
centrifugal forces of the deformation must cancel, and what is seen is the motion of the shaft that
does not spin, a sum over sines: z(L/2) = -sum 4 g/(n pi w^2) sin(n pi/2) (1 - cos w t), n odd,
w = (n pi/L)^2 sqrt(EI/mu).

Mass and stiffness matrices are those of a beam of the library; a finite element program would write
them to files.
"""

import numpy as np

import mbd

LENGTH, RADIUS, YOUNG, DENSITY, ELEMENTS = 1.0, 0.01, 210e9, 7850.0, 16
AREA, BENDING, G = np.pi * RADIUS**2, YOUNG * np.pi * RADIUS**4 / 4, 9.81
MU = DENSITY * AREA
FIRST = (np.pi / LENGTH) ** 2 * np.sqrt(BENDING / MU)  # 255.2 rad/s
RUN = {"t_end": 0.05, "step": 5e-5}


def _middle(t: float) -> tuple[float, float, float]:
    n = np.arange(1, 60, 2)
    w = FIRST * n**2
    z = -(4 * G / (n * np.pi * w**2) * np.sin(n * np.pi / 2) * (1 - np.cos(w * t))).sum()
    return (0.5 * LENGTH, 0.0, float(z))


_SOURCE = "Euler-Bernoulli beam on pins, series"
REFERENCE = tuple(
    ("shaft/middle.position", t, _middle(t), 2e-6, _SOURCE) for t in (0.01, 0.03, 0.05)
)


def build(spin: float = 0.75 * FIRST) -> mbd.System:
    """Return the shaft, straight, at a spin [rad/s]."""
    slender = mbd.Section(
        stiffness=(YOUNG * AREA, *[1e3 * YOUNG * AREA] * 2, YOUNG / 1.3 * AREA * RADIUS**2 / 4,
                   BENDING, BENDING),
        mass=MU, inertia=(MU * RADIUS**2 / 2, *[MU * RADIUS**2 / 4] * 2),
    )  # fmt: skip
    mesh = mbd.System()
    beam = mesh.add(mbd.Beam("shaft", points=[(0, 0, 0), (LENGTH, 0, 0)], section=slender,
                             elements=ELEMENTS))  # fmt: skip
    matrices = mesh.build().assemble()
    nodes = [node.position for node in beam.nodes()]
    ends = {"left": [0], "middle": [ELEMENTS // 2], "right": [ELEMENTS]}

    system = mbd.System(gravity=(0, 0, -G))
    shaft = system.add(
        mbd.FlexibleBody(
            "shaft", matrices.M, matrices.K, nodes, ends, fixed_modes=4, geometric_stiffness={},
            angular_velocity=(spin, 0, 0),
            shape=mbd.Cylinder(RADIUS, LENGTH, at=(LENGTH / 2, 0, 0), axis=(1, 0, 0)),
        )
    )  # fmt: skip
    axes = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # the third one is along the shaft
    rail = system.ground.frame((LENGTH, 0, 0), axes)
    system.add(mbd.Spherical("left pin", system.ground, shaft, at=(0, 0, 0)))
    system.add(mbd.PointOnLine("right pin", rail, shaft.interface("right")))
    return system
