"""Breathing body: it is free, swells when it spins, and so turns ever more slowly.

The scalable body of M. Moeller, C. Glocker, "Rigid body dynamics with a scalable body, quaternions
and perfect constraints", Multibody Syst. Dyn. 27 (2012), without the row that makes it rigid. Its
scale follows from the energy alone, s^2 = 1 + 4 E t^2 / tr(inertia): the virial theorem. Source of
the other numbers: the equations of the paper by an ODE solver at tolerance 1e-13.
"""

from typing import Any, Literal

import mbd

RUN = {"t_end": 2.0, "step": 1e-3}
INERTIA = ((0.7, 0.1, -0.05), (0.1, 0.9, 0.2), (-0.05, 0.2, 1.1))
RATES = (1.0, -2.0, 1.5)
_SOURCE = "equations of the paper, ODE 1e-13"
_TURNED = (
    (-0.040820917969851, -0.954436778614980, -0.295607997664405),
    (0.253658658605465, 0.276262605966913, -0.927003914478707),
    (0.966432065677963, -0.112824678911266, 0.230823859810885),
)
REFERENCE = (
    ("body.scale", 1.0, 2.173067468400883, 5e-6, "virial theorem"),
    ("body.scale", 2.0, 3.986086914367133, 5e-6, "virial theorem"),
    ("body.rotation", 2.0, _TURNED, 5e-6, _SOURCE),
    ("body.angular_velocity", 2.0, (0.059178185919828, -0.101132087662947, 0.124602574595573), 5e-6, _SOURCE),
    ("body.position", 2.0, (0.2, 0.4, 0.6), 1e-9, "straight and uniform"),
    ("energy.total", 2.0, 2.6735, 5e-6, "conserved"),
)  # fmt: skip


def build(formulation: Any = "scalable", velocities: Literal["rates", "u"] = "rates") -> mbd.System:
    """Return the free body; ``velocities`` are those of ``mbd.Scalable``, "rates" or "u"."""
    if formulation == "scalable":
        formulation = mbd.Scalable(rigid=False, velocities=velocities)
    elif getattr(formulation, "rigid", True):
        raise ValueError(
            "breathing_body: formulation must be 'scalable' or an mbd.Scalable(rigid=False), whose bodies "
            f"change their size, got {formulation!r}"
        )
    system = mbd.System()
    system.add(
        mbd.RigidBody(
            "body",
            mass=2.3,
            inertia=INERTIA,
            velocity=(0.1, 0.2, 0.3),
            angular_velocity=RATES,
            formulation=formulation,
        )
    )
    return system
