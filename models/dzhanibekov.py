"""Free body spun about its middle axis: it turns over again and again (Dzhanibekov, tennis racket).

Source of the numbers: Euler's equations and quaternion ODE at tolerance 1e-13.
"""

import mbd

RUN = {"t_end": 5.0, "step": 1e-3}
_SOURCE = "Euler's equations, 1e-13"
REFERENCE = (
    ("body.angular_velocity_body", 1.0, (-6.4884797034e-3, 4.99999589, 3.8340739369e-3), 1e-6, _SOURCE),
    (
        "body.angular_velocity_body", 5.0,
        (-0.1471917651, -4.9978330889, 0.0849851275), 1e-4, _SOURCE,
    ),
    ("energy.total", 5.0, 25.000002, 2e-5, "conserved"),
)  # fmt: skip


def build(formulation: str = "so3") -> mbd.System:
    """Return a free body with principal moments 1, 2, 3 kg m^2."""
    system = mbd.System()
    system.add(
        mbd.RigidBody(
            "body",
            mass=1.0,
            inertia=(1.0, 2.0, 3.0),
            angular_velocity=(1e-3, 5.0, 1e-3),
            formulation=formulation,
        )
    )
    return system
