"""A pendulum of three bodies in every formulation, and mixed: one motion, second order in all."""

from functools import cache

import numpy as np
from families import spread
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, SHARP

STEPS = (4e-3, 2e-3, 1e-3)
MIXED = [("directors", "se3", "euler_parameters"), ("unified", "so3", "scalable")]
QUANTITIES = ("position", "rotation", "velocity", "angular velocity", "multipliers")


def pendulum(joint, formulations):
    """Three bodies of no symmetry, eccentric, turned and at rest; hinges are not parallel."""
    rng = np.random.default_rng(90173)
    system = mbd.System(gravity=(0, 0, -9.81))
    previous = system.ground
    for i, formulation in enumerate(formulations):
        G = rng.uniform(-1, 1, (3, 3))
        body = system.add(
            mbd.RigidBody(
                f"body {i + 1}", mass=2.0 - 0.4 * i, inertia=0.05 * np.eye(3) + 0.02 * G @ G.T,
                position=(0.8 * i + 0.4, 0, 0), center_of_mass=rng.uniform(-0.1, 0.1, 3),
                rotation=Rotation.from_rotvec(rng.uniform(-1, 1, 3)), formulation=formulation,
            )
        )  # fmt: skip
        name, at = f"joint {i + 1}", (0.8 * i, 0, 0)
        if joint == "spherical":
            system.add(mbd.Spherical(name, previous, body, at=at))
        else:
            axis = (0.2 * i, np.cos(0.4 * i), np.sin(0.4 * i))
            system.add(mbd.Revolute(name, previous, body, at=at, axis=axis))
        previous = body
    return system


@cache
def final(joint, formulations, h):
    """Return positions, rotations, velocities and multipliers of the joints at half a second."""
    system = pendulum(joint, formulations)
    s = mbd.simulate(system, 0.5, h, method=SHARP, every=1_000_000)
    bodies = [s[f"body {i}"] for i in (1, 2, 3)]
    values = (
        [b.position[-1] for b in bodies],
        [b.rotation[-1] for b in bodies],
        [b.velocity[-1] for b in bodies],
        [b.angular_velocity[-1] for b in bodies],
        [s[f"joint {i}"].multipliers[-1] for i in (1, 2, 3)],
    )
    return {name: np.array(x).ravel() for name, x in zip(QUANTITIES, values, strict=True)}


def extrapolated(joint, formulations, steps):
    """Return the limit of the errors h^2 and h^3 of three steps, each half the last."""
    a, b, c = (final(joint, formulations, h) for h in steps)
    first = {k: ((4 * b[k] - a[k]) / 3, (4 * c[k] - b[k]) / 3) for k in a}
    return {k: (8 * y - x) / 7 for k, (x, y) in first.items()}


@spread(joint=["spherical", "hinge"], formulations=[*((f,) * 3 for f in RIGID), *MIXED])
def test_one_motion_of_second_order(joint, formulations):
    one = extrapolated(joint, ("so3",) * 3, (1e-3, 5e-4, 2.5e-4))
    found = extrapolated(joint, formulations, (1e-3, 5e-4, 2.5e-4))
    for name in ("position", "rotation"):
        assert np.abs(found[name] - one[name]).max() < 2e-7, name
    for name in QUANTITIES:
        errors = [np.abs(final(joint, formulations, h)[name] - one[name]).max() for h in STEPS]
        order = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
        assert abs(order - 2) < 0.15, (name, order, errors)


def test_the_pendulum_really_moves():
    for joint in ("spherical", "hinge"):
        x = final(joint, ("so3",) * 3, 1e-3)
        start = np.array([(0.4, 0, 0), (1.2, 0, 0), (2.0, 0, 0)]).ravel()
        assert np.abs(x["position"] - start).max() > 0.5
        assert np.abs(x["multipliers"]).max() > 10
