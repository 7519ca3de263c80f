"""A free body with a red and a green ball and a blue bar: each marks a known point."""

from __future__ import annotations

from functools import cache

import mbd

RED, GREEN, BLUE = (0.7, 0.1, 0.2), (-0.4, 0.5, 0.1), (0.0, 0.0, 0.0)
BAR = (1.0, 2.0, 0.5)  # axis of the bar


def marked(title_of_body: str = "marked") -> mbd.System:
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(
        mbd.RigidBody(
            title_of_body,
            mass=1.0,
            inertia=(0.3, 0.2, 0.4),
            velocity=(0.8, 0.3, 4.0),
            angular_velocity=(0.5, 2.0, 1.0),
            shape=[
                mbd.Sphere(0.06, at=RED, color="#ff0000"),
                mbd.Sphere(0.06, at=GREEN, color="#00ff00"),
            ],
        )
    )
    system.add(
        mbd.RigidBody(
            "bar",
            mass=1.0,
            inertia=(0.3, 0.2, 0.4),
            position=(0.5, -0.4, 1.5),
            angular_velocity=(3.0, -1.0, 0.5),
            velocity=(0.0, 0.0, 3.0),
            shape=mbd.Cylinder(0.03, 0.6, axis=BAR, color="#0000ff"),
        )
    )
    return system


@cache
def run() -> mbd.Solution:
    return mbd.simulate(marked(), t_end=1.0, step=1e-3, progress=False)


@cache
def pendulum() -> mbd.Solution:
    system = mbd.System(gravity=(0, 0, -9.81))
    rod = system.add(mbd.RigidBody("rod", mass=2.0, inertia=(0.01, 0.2, 0.2), position=(0.5, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.PointForce("push", rod, lambda t: (0.0, 0.0, 3.0 * t), at=(1, 0, 0)))
    system.add(mbd.Moment("twist", rod, (0, 0.5, 0), follow=True))
    return mbd.simulate(system, t_end=0.5, step=1e-3, progress=False)
