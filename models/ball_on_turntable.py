"""Ball on a turntable: it rolls round a circle that does not move with the table.

A plane that is fixed to another body. The velocity turns at 2/7 of the speed of the table (solid
ball); source of the numbers: the closed form.
"""

import mbd

RADIUS, SPEED = 0.1, 3.0
RUN = {"t_end": 2.0, "step": 2.5e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("ball.position", 1.0, (0.16730714927013, 0.30488803668924, RADIUS), 1e-4, _SOURCE),
    ("ball.velocity", 1.0, (-0.16133260287649, 0.27197755651725, 0), 1e-4, _SOURCE),
    ("ball.position", 2.0, (-0.084581437862469, 0.47975277606631, RADIUS), 5e-4, _SOURCE),
    ("ball.velocity", 2.0, (-0.31121666519969, 0.056073053260741, 0), 5e-4, _SOURCE),
    ("bearing.angle", 2.0, 6.0, 1e-9, "given"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return table, motor and ball."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    table = system.add(
        mbd.RigidBody(
            "table",
            mass=5.0,
            inertia=(0.4, 0.4, 0.8),
            angular_velocity=(0, 0, SPEED),
            formulation=formulation,
            shape=mbd.Cylinder(radius=0.6, length=0.02, at=(0, 0, -0.02), axis=(0, 0, 1)),
        )
    )
    bearing = mbd.Revolute("bearing", system.ground, table, at=(0, 0, 0), axis=(0, 0, 1))
    system.add(bearing)
    system.add(mbd.Drive("motor", bearing, position=mbd.ConstantSpeed(SPEED)))
    ball = system.add(
        mbd.RigidBody(
            "ball",
            mass=1.0,
            inertia=[0.4 * RADIUS**2] * 3,
            position=(0.2, 0, RADIUS),
            velocity=(0.1, 0.3, 0),
            angular_velocity=(3.0, 1.0, 0.7),
            formulation=formulation,
            shape=mbd.Sphere(RADIUS),
        )
    )
    system.add(mbd.RollingBall("roll", table, ball, radius=RADIUS))
    return system
