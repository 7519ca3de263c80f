"""Hanging chain: n bars released at rest; spherical, hinged, hinged with turned axes, zigzag.

Source of the numbers (n = 2, spherical): minimal-coordinate ODE at tolerance 1e-13.
``formulation`` may be a list, repeated along the chain: bodies of different coordinates in one chain.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

RUN = {"t_end": 1.0, "step": 1e-3}
_SOURCE = "minimal-coordinate ODE, 1e-13"
REFERENCE = (
    ("bar 1.position", 1.0, (-0.466798615632187, 0.0, -0.179162084280892), 1e-4, _SOURCE),
    ("bar 2.position", 1.0, (-1.29916356660441, 0.0, -0.699441823434784), 1e-4, _SOURCE),
    ("bar 2.velocity", 1.0, (-1.38572928964622, 0.0, 3.37115684862805), 1e-3, _SOURCE),
    ("bar 2.angular_velocity_body", 1.0, (0.0, 0.457372669324018, 0.0), 1e-3, _SOURCE),
    ("energy.total", 1.0, 0.0, 1e-3, "conserved"),
)
KINDS = ("spherical", "revolute", "twisted", "zigzag")


def build(
    n: int = 2,
    kind: str = "spherical",
    formulation: str | Sequence[str] = "so3",
    mass: float = 10.0,
    length: float = 1.0,
    width: float = 0.1,
) -> mbd.System:
    """Return n bars of one mass [kg], length and square section of one width [m], z up."""
    if kind not in KINDS:
        raise ValueError(f"chain: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    names: list[Any] = list(formulation) if isinstance(formulation, list | tuple) else [formulation]
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    across = mass * (length**2 + width**2) / 12
    previous, end = system.ground, np.zeros(3)
    for i in range(n):
        angle = np.deg2rad(30 if i % 2 == 0 else -30) if kind == "zigzag" else 0.0
        along = length * np.array([np.cos(angle), np.sin(angle), 0.0])
        bar = system.add(
            mbd.RigidBody(
                f"bar {i + 1}",
                mass=mass,
                inertia=(mass * width**2 / 6, across, across),
                position=end + along / 2,
                rotation=Rotation.from_rotvec([0, 0, angle]),
                formulation=names[i % len(names)],
            )
        )
        name = f"joint {i + 1}"
        if kind in ("spherical", "zigzag"):
            system.add(mbd.Spherical(name, previous, bar, at=end))
        else:
            turn = 0.3 * i if kind == "twisted" else 0.0
            axis = (0.0, np.cos(turn), np.sin(turn))
            system.add(mbd.Revolute(name, previous, bar, at=end, axis=axis))
        previous, end = bar, end + along
    return system
