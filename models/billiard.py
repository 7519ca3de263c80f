"""Billiard: of two balls on a table, the one that rolls hits the other in the middle.

It stands still for a moment and turns on: friction makes it roll again, at 2/7 of its speed, the
other one, which slides at first, at 5/7. Source of the numbers: the closed form, of solid balls and
an elastic impact without friction.
"""

import mbd

RADIUS, MASS, SPEED = 0.0286, 0.17, 1.4
RUN = {"t_end": 1.0, "step": 1e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("cue.velocity", 1.0, (2 / 7 * SPEED, 0, 0), 4e-3, _SOURCE),
    ("object.velocity", 1.0, (5 / 7 * SPEED, 0, 0), 4e-3, _SOURCE),
    ("object.angular_velocity", 1.0, (0, 5 / 7 * SPEED / RADIUS, 0), 0.1, _SOURCE),
)


def build(friction: float = 0.2, restitution: float = 1.0, formulation: str = "so3") -> mbd.System:
    """Return both balls on the cloth, 0.2 m apart."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    inertia = [0.4 * MASS * RADIUS**2] * 3
    cue = system.add(
        mbd.RigidBody(
            "cue",
            mass=MASS,
            inertia=inertia,
            position=(0, 0, RADIUS),
            velocity=(SPEED, 0, 0),
            angular_velocity=(0, SPEED / RADIUS, 0),
            formulation=formulation,
            shape=mbd.Sphere(RADIUS),
        )
    )
    ball = system.add(
        mbd.RigidBody(
            "object",
            mass=MASS,
            inertia=inertia,
            position=(0.2 + 2 * RADIUS, 0, RADIUS),
            formulation=formulation,
            shape=mbd.Sphere(RADIUS),
        )
    )
    for one in (cue, ball):
        system.add(mbd.Contact(f"cloth {one.name}", system.ground, one, friction=friction))
    system.add(mbd.Contact("hit", cue, ball, plane=False, restitution=restitution))
    return system
