"""A model with a bit of everything, and its runs."""

import numpy as np

import mbd
from mbd.formulations import NAMES
from tests.scenes import with_body


def everything(law: bool = False):
    """Return one body of every formulation on a chain, a worn row, springs, and a load."""
    system = mbd.System(gravity=(0, 0.3, -9.81))
    last, first = system.ground, None
    for i, name in enumerate(NAMES):
        body = system.add(
            mbd.RigidBody(
                f"body, {name}", mass=1.0 + 0.1 * i, inertia=(1e-2, 0.05, 0.04 + 0.002 * i),
                position=(i + 0.5, 0, 0), center_of_mass=(0.1, 0, 0.05), formulation=name,
            )
        )  # fmt: skip
        kind = (mbd.Revolute, mbd.Cylindrical)[i % 2]
        joint = system.add(kind(f"joint {i}", last, body, at=(i, 0, 0), axis=(0, 1, 0.2 * i)))
        first = first or joint
        last = body
    bob = system.add(mbd.PointMass("bob", mass=0.2, position=(len(NAMES), 0, 0)))
    system.add(mbd.Spherical("pin", last, bob, at=(len(NAMES), 0, 0)))
    system.add(mbd.RotationalSpring("clock", first, stiffness=0.5, damping=0.01))
    system.add(
        mbd.Spring("rope", system.ground, bob, at=(0, 0, 3), to=(len(NAMES), 0, 0), stiffness=3)
    )
    flier = system.add(
        mbd.RigidBody("flier", mass=1, inertia=(1, 2, 1.5), angular_velocity=(0.1, 9, 0),
                      position=(0, 5, 0))
    )  # fmt: skip
    system.add(mbd.NonTwisting("row", flier))
    system.add(
        mbd.RigidBody("balloon", mass=1, inertia=(1, 2, 1.5), angular_velocity=(1, 2, 3),
                      position=(0, -5, 0), formulation=mbd.Scalable(rigid=False))
    )  # fmt: skip
    force = (lambda t: (0, 0, np.sin(9 * t))) if law else (0, 0, 1.0)
    system.add(mbd.PointForce("load", flier, force))
    return system


def spinner():
    """Return a wheel on a rotational spring that makes many turns: an angle that is counted."""
    system, wheel = with_body("wheel", mass=1, inertia=(1, 1, 2), angular_velocity=(0, 0, 40))
    hinge = mbd.Revolute("hinge", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1))
    system.add(hinge)
    system.add(mbd.RotationalSpring("spring", hinge, stiffness=2.0))
    return system
