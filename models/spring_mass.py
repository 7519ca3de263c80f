"""Masses on springs: a chain along a line, released in its first mode; everything is a cosine.

Frequencies of a chain held at one end: 2 sqrt(k/m) sin((2j-1) pi / (2 (2n+1))), at both ends
2 sqrt(k/m) sin(j pi / (2 (n+1))), free: 2 sqrt(k/m) sin(j pi / (2n)).
Shown both with points and with rigid bodies (``formulation=``).
"""

from typing import Any

import numpy as np

import mbd

RUN = {"t_end": 2.0, "step": 1e-3}
_OMEGA = 2 * np.sqrt(150.0) * np.sin(np.pi / 42)
_X5, _X10 = (0.1 * np.sin(i * np.pi / 21) for i in (5, 10))
REFERENCE = (
    ("mass 5.position", 2.0, (5 + _X5 * np.cos(2 * _OMEGA), 0, 0), 1e-6, "exact"),
    ("mass 10.position", 2.0, (10 + _X10 * np.cos(2 * _OMEGA), 0, 0), 1e-6, "exact"),
    ("mass 10.velocity", 2.0, (-_X10 * _OMEGA * np.sin(2 * _OMEGA), 0, 0), 1e-6, "exact"),
)


def build(
    n: int = 10,
    mass: float = 2.0,
    stiffness: float = 300.0,
    ends: str = "fixed-free",
    damping: float = 0.0,
    amplitude: float = 0.1,
    formulation: str | None = None,
) -> mbd.System:
    """Return n masses 1 m apart; ends "fixed-free", "fixed-fixed" or "free-free" [kg, N/m, N s/m]."""
    if ends not in ("fixed-free", "fixed-fixed", "free-free"):
        raise ValueError(
            f"spring_mass: ends must be fixed-free, fixed-fixed or free-free, got {ends!r}"
        )
    system = mbd.System()
    masses: list[Any] = []
    for i in range(1, n + 1):
        x = i + amplitude * np.sin(i * np.pi / (2 * n + 1))
        name = f"mass {i}"
        if formulation is None:
            masses.append(mbd.PointMass(name, mass=mass, position=(x, 0, 0)))
        else:
            J = (0.1 * mass,) * 3
            masses.append(
                mbd.RigidBody(
                    name, mass=mass, inertia=J, position=(x, 0, 0), formulation=formulation
                )
            )
        system.add(masses[-1])
    number: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "length": 1.0}
    if ends != "free-free":
        system.add(mbd.Spring("spring 1", system.ground, masses[0], **number))
    for i in range(1, n):
        system.add(mbd.Spring(f"spring {i + 1}", masses[i - 1], masses[i], **number))
    if ends == "fixed-fixed":
        wall = system.ground.frame((n + 1.0, 0, 0))
        system.add(mbd.Spring(f"spring {n + 1}", masses[-1].frame(), wall, **number))
    return system
