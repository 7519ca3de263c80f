"""Bouncing ball: it is thrown, bounces to rest and rolls on.

Impacts follow each other faster and faster, each by Newton's law of restitution; dry friction
turns sliding into rolling, at 5/7 of the speed (solid ball). Source of the numbers: the closed
form.
"""

import mbd

RADIUS = 0.1
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("ball.velocity", 2.0, (20 / 7, 0, 0), 5e-4, _SOURCE),
    ("ball.angular_velocity", 2.0, (0, 200 / 7, 0), 5e-3, _SOURCE),
    ("floor.force", 2.0, (0, 0, 9.81), 1e-6, "weight"),
)


def build(restitution: float = 0.5, formulation: str = "so3") -> mbd.System:
    """Return the ball above the floor."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    ball = system.add(
        mbd.RigidBody(
            "ball",
            mass=1.0,
            inertia=[0.4 * RADIUS**2] * 3,
            position=(0, 0, 1.0 + RADIUS),
            velocity=(4.0, 0, 0),
            formulation=formulation,
            shape=mbd.Sphere(RADIUS),
        )
    )
    system.add(mbd.Contact("floor", system.ground, ball, friction=0.2, restitution=restitution))
    return system
