r"""Forces at the joints of a robot: springs, dampers, friction, stops, armature, actuators.

A stop is a spring that pushes back. Its stiffness is that of an oscillation of 20 Hz of all that
the joint carries, at the initial pose and with the joint as the only one that moves,

.. math:: k = (2\pi\,20\,\mathrm{Hz})^2\,\big(I_a + \sum_b n^TJ_bn + m_b|n\times(c_b - p)|^2\big)

about the axis n through p; of a slider the sum of the masses. So it needs no steps smaller than a
millisecond.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mbd.files.robots.description import JOINTS, Effort, RobotJoint
from mbd.model.system import System
from mbd.parts.actuators import JointFriction, JointSpring, Motor, Stop
from mbd.parts.bodies import RigidBody
from mbd.parts.forces import Bushing
from mbd.parts.joints import Revolute
from mbd.parts.part import Part
from mbd.parts.shapes import Sphere
from mbd.parts.transmissions import Coupler

_STOP = 2 * np.pi * 20.0  # rad/s, of what meets a stop
_STICKY = {"rad": 1.0, "m": 10.0}  # s/rad, s/m: an impact of one rad/s loses most of its energy
_LIGHT = 1e-9  # [mass of what the joint carries] of a rotor, of which the inertia alone counts

Name = Callable[[str, str], str]


def interval(joint: RobotJoint) -> tuple[float, float]:
    """Return the range of a coordinate, infinite where there is none."""
    low, high = joint.limits.lower, joint.limits.upper
    return (-np.inf if low is None else low, np.inf if high is None else high)


def of(
    joint: RobotJoint, part: Any, q: float, carried: list[Any], name: Name, options: Any
) -> Iterator[Part]:
    """Yield what acts at a joint, which starts at the coordinate q and carries bodies."""
    if joint.type == "ball":
        if joint.stiffness or joint.damping:
            about = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
            yield Bushing(
                name(f"{part.name} spring", "force"), part.A, part.B,
                stiffness=joint.stiffness * about, damping=joint.damping * about,
            )  # fmt: skip
        return
    if JOINTS[joint.type] != 1:
        return
    turns = whole_turns(part, q)
    if joint.stiffness:
        yield JointSpring(
            name(f"{part.name} spring", "force"), part, stiffness=joint.stiffness,
            damping=joint.damping, reference=joint.reference - turns,
        )  # fmt: skip
    elif joint.damping:
        yield JointSpring(name(f"{part.name} damping", "force"), part, damping=joint.damping)
    if joint.friction and options.friction == "smoothed":
        yield JointFriction(name(f"{part.name} friction", "force"), part, friction=joint.friction)
    low, high = interval(joint)
    lower = low - turns if np.isfinite(low) and q >= low else None
    upper = high - turns if np.isfinite(high) and q <= high else None
    if low < high and options.limits == "stops" and not lower is upper is None:
        (u,) = part.coordinates.values()
        k = _STOP**2 * (joint.armature + _carried_inertia(part, carried, u.unit))
        yield Stop(
            name(f"{part.name} stop", "force"), part, lower=lower, upper=upper, stiffness=k,
            dissipation=_STICKY[u.unit],
        )  # fmt: skip


def whole_turns(part: Any, q: float) -> float:
    """Return by what a coordinate of a file is more than that of its joint, at the start."""
    (u,) = part.coordinates.values()
    return float(2 * np.pi * np.round((q - u.start) / (2 * np.pi))) if u.unit == "rad" else 0.0


def _carried_inertia(part: Any, carried: list[Any], unit: str) -> float:
    """Return the inertia of bodies about the axis of a joint [kg m^2], or their mass [kg]."""
    if unit == "m":
        return float(sum(body.mass for body in carried))
    p, axes = part.A.start
    n, inertia = axes[:, 2], 0.0
    for body in carried:
        R = body.rotation
        arm = np.cross(n, body.position + R @ body.center_of_mass - p)
        inertia += float(n @ R @ body.inertia @ R.T @ n + body.mass * arm @ arm)
    return inertia


def rotor(
    joint: RobotJoint, part: Any, rate: float, mass: float, system: System, name: Name
) -> Iterator[Part]:
    r"""Yield a rotor next to the robot whose turn is the coordinate: armature, a/2 du/dt^2 exactly.

    It turns on the ground, about its centre of mass, so that it has neither weight nor reaction;
    its own mass is a small part of that which the joint carries.
    """
    (u,) = part.coordinates.values()
    a, where = joint.armature, part.A.start[0]
    called = name(f"{part.name} rotor", "link")
    wheel = RigidBody(
        called, mass=_LIGHT * mass, inertia=(a, a, a), position=where,
        angular_velocity=(0, 0, rate), shape=Sphere(1e-3),
    )  # fmt: skip
    axle = Revolute(
        name(f"{part.name} axle", "joint"), system.ground, wheel, at=where, axis=(0, 0, 1)
    )
    yield wheel
    yield axle
    yield Coupler(name(f"{part.name} armature", "force"), [u, axle], (1.0, -1.0))


def actuators(effort: Effort, part: Any, q: float, name: Name) -> Iterator[Part]:
    """Yield an actuator at a joint: a spring and damper about what is commanded, or a motor."""
    if effort.stiffness or effort.damping:
        yield JointSpring(
            name(effort.name, "actuator"), part, stiffness=effort.stiffness,
            damping=effort.damping, reference=effort.reference - whole_turns(part, q),
        )  # fmt: skip
    if effort.effort or not (effort.stiffness or effort.damping):
        yield Motor(name(effort.name, "motor"), part, effort.effort)
