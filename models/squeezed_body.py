"""Squeezed body: it spins about a principal axis, a force acts on its scale; it breathes, or holds.

The scalable body of M. Moeller, C. Glocker, "Rigid body dynamics with a scalable body, quaternions
and perfect constraints", Multibody Syst. Dyn. 27 (2012), with a scaling force c. Angular momentum
w s^2 and the energy tr(inertia) s'^2 / 4 + J w0^2 / (2 s^2) - c s are constant, so that under k
times the force that would hold it, c = -k J w0^2, the scale turns back at (1 + sqrt(1 + 8 k)) / (4 k):
one half for k = 3. ``rigid=True`` locks the scale: -J w0^2 - c is what the row has to give. Source
of the numbers: equations of the paper by an ODE solver at tolerance 1e-13.
"""

from typing import Any, Literal

import mbd

RUN = {"t_end": 2.0, "step": 1e-3}
INERTIA = (0.7, 0.9, 1.1)
SPIN = 3.0  # about the third axis [rad/s]
HOLDING = -INERTIA[2] * SPIN**2  # keeps the scale where it is [N m]
_SOURCE = "equations of the paper, ODE 1e-13"
REFERENCE = (
    ("body.scale", 0.5, 0.7879081041575935, 5e-6, _SOURCE),
    ("body.scale", 1.0, 0.5036530390185507, 5e-6, _SOURCE),
    ("body.scale", 2.0, 0.9941295315641027, 5e-6, _SOURCE),
    ("body.angular_velocity", 1.0, (0.0, 0.0, 11.826557213031013), 1e-3, _SOURCE),
    ("body.angular_velocity", 2.0, (0.0, 0.0, 3.0355354178786667), 1e-3, _SOURCE),
)


def build(
    formulation: Any = "scalable",
    velocities: Literal["rates", "u"] = "rates",
    k: float = 3.0,
    rigid: bool = False,
) -> mbd.System:
    """Return the body under k times the holding force."""
    if formulation == "scalable":
        formulation = mbd.Scalable(rigid=rigid, velocities=velocities)
    elif getattr(formulation, "rigid", True):
        raise ValueError(
            "squeezed_body: formulation must be 'scalable' or an mbd.Scalable(rigid=False), whose bodies "
            f"change their size, got {formulation!r}"
        )
    system = mbd.System()
    body = system.add(
        mbd.RigidBody(
            "body",
            mass=2.3,
            inertia=INERTIA,
            angular_velocity=(0, 0, SPIN),
            formulation=formulation,
        )
    )
    system.add(mbd.ScalingForce("squeeze", body, k * HOLDING))
    return system
