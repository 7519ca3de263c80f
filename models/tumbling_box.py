"""Tumbling box: it is thrown, tumbles and comes to rest on a face.

Eight vertices meet the floor, up to four at once: redundant contacts with dry friction. Source of
the numbers: it lies flat, and carries its weight.
"""

import mbd

SIZE, MASS = (0.3, 0.2, 0.1), 3.0
RUN = {"t_end": 2.0, "step": 1e-3}
REFERENCE = (
    ("box.velocity", 2.0, (0, 0, 0), 1e-9, "at rest"),
    ("box.angular_velocity", 2.0, (0, 0, 0), 1e-8, "at rest"),
    ("floor.force", 2.0, (0, 0, 9.81 * MASS), 1e-6, "weight"),
)


def build(friction: float = 0.4, restitution: float = 0.3, formulation: str = "so3") -> mbd.System:
    """Return the box above the floor."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    a, b, c = SIZE
    box = system.add(
        mbd.RigidBody(
            "box",
            mass=MASS,
            inertia=[MASS / 12 * x for x in (b * b + c * c, a * a + c * c, a * a + b * b)],
            position=(0, 0, 0.6),
            velocity=(1.5, 0, 0),
            angular_velocity=(3.0, 7.0, 2.0),
            formulation=formulation,
            shape=mbd.Box(SIZE),
        )
    )
    system.add(mbd.Contact("floor", system.ground, box, friction=friction, restitution=restitution))
    return system
