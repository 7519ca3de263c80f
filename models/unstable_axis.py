"""Flipping spin: free at 100 rad/s almost about its middle axis, between both directions.

Example of S. Holzinger, J. Schoeberl, J. Gerstmayr, "The equations of motion for a rigid body using
non-redundant unified local velocity coordinates", Multibody Syst. Dyn. 48 (2020). Source of the
numbers: exact solution of Euler's equations. The instability multiplies every error, round-off
too, by thousands in a second: rates are compared at 0.1 s, the energy at 1 s. The integrator is that
of the reference solution of the paper, fourth order on unit quaternions, which moves bodies of every
formulation; the paper's own for ``unified`` is ``LieRungeKutta4("motion_vector")``. Tolerances are
those that generalized-alpha meets as well.
"""

import mbd

RUN = {"t_end": 1.0, "step": 1e-4, "method": mbd.LieRungeKutta4("quaternion")}
INERTIA = (5.2988, 1.1775, 4.3568)
RATES = (0.01, 0.0, 100.0)
REFERENCE = (
    (
        "body.angular_velocity_body", 0.1,
        (5.098175033948948, -5.886835615570808, 99.79490454918133), 5e-3, "exact solution",
    ),
    ("energy.total", 1.0, 21784.00026494, 1.0, "conserved"),
)  # fmt: skip


def build(formulation: str = "so3") -> mbd.System:
    """Return the free body; the spin is about its own third axis, the middle one of the three."""
    system = mbd.System()
    system.add(
        mbd.RigidBody(
            "body",
            mass=1.0,
            inertia=INERTIA,
            angular_velocity_body=RATES,
            formulation=formulation,
        )
    )
    return system
