"""Pendulum: a uniform rod on a hinge, released at rest from the horizontal.

The exact motion is an elliptic function: sin(theta/2) = k sn(K - w t), k = sin(pi/4),
w^2 = 3 g / (2 L). Angle, hinge force and energy can be checked by hand.

Source of the numbers: Jacobi functions at 16 digits.
"""

import mbd

RUN = {"t_end": 2.0, "step": 1e-3}
REFERENCE = (
    ("rod(0.5, 0, 0).position", 0.5, (-0.0902292085737, 0.0, -0.9959210259454), 2e-5, "Jacobi sn"),
    ("rod(0.5, 0, 0).position", 2.0, (0.9994654895180, 0.0, -0.0326915166742), 1e-5, "Jacobi sn"),
    ("rod(0.5, 0, 0).velocity", 2.0, (-0.0320662175958, 0.0, -0.9803484550971), 2e-4, "Jacobi sn"),
    ("hinge.force", 2.0, (-0.7211978078462, 0.0, 2.4760896590807), 5e-4, "Jacobi sn"),
    ("energy.total", 2.0, 0.0, 1e-5, "conserved"),
)


def build(formulation: str = "so3", length: float = 1.0, mass: float = 1.0) -> mbd.System:
    """Return a rod along x, hinged about y at the origin, z up [m, kg]."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    J = mass * length**2 / 12
    rod = system.add(
        mbd.RigidBody(
            "rod",
            mass=mass,
            inertia=(1e-3 * J, J, J),
            position=(length / 2, 0, 0),
            formulation=formulation,
            shape=mbd.Capsule(0.025 * length, length, axis=(1, 0, 0)),
        )
    )
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    return system
