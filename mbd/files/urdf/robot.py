"""Systems from descriptions of robots.

Every link with mass is a rigid body whose frame is the frame of the link; what cannot be a body is
lumped into its parent before (``lumping.py``). Joints are frames that coincide where the coordinate
is zero, so that angles are those of the file. Fixed joints between links with mass stay joints,
with reactions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import shown
from mbd.base.door import number, rotation_matrix, vector
from mbd.files.urdf import description as urdf
from mbd.files.urdf.description import Description, Origin
from mbd.files.urdf.lumping import lump, settle_root
from mbd.files.urdf.shapes import shapes
from mbd.model.system import System
from mbd.parts.actuators import JointSpring
from mbd.parts.bodies import RigidBody
from mbd.parts.joints import Fixed, Planar, Prismatic, Revolute
from mbd.parts.part import Frame
from mbd.parts.transmissions import Coupler

__all__ = ["load"]

_JOINTS = {
    "revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "fixed": Fixed,
    "planar": Planar,
}  # fmt: skip
_MOVING = ("revolute", "continuous", "prismatic")


def load(
    path: Path,
    *,
    base: str = "fixed",
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = None,
    positions: dict[str, float] | None = None,
    rates: dict[str, float] | None = None,
    gravity: Any = (0.0, 0.0, -9.81),
    formulation: Any = None,
    packages: Any = None,
    fixed: str = "joint",
    inertia: str = "exact",
    massless: str = "refuse",
) -> tuple[System, str, list[str], list[str]]:
    """Return the system of a URDF file, its name, what is not used, and what is not known.

    Parameters
    ----------
    path : Path
    base : {"fixed", "floating"}
        Whether the root link is the ground or a free body.
    position, rotation : (3,) array [m], scipy Rotation or (3, 3) array
        Of the root link.
    positions, rates : dict
        Initial coordinates of joints [rad or m] and their rates; others are zero.
    gravity : (3,) array [m/s^2]
    formulation : str or Formulation
        Of all bodies.
    packages : path or dict
        Where ``package://name/...`` is: the folder of the packages, or one folder for each name.
        Default: the folders above the file.
    fixed : {"joint", "lumped"}
        Whether fixed joints between links that can be bodies stay joints, with reactions, or all
        such links are one body.
    inertia : {"exact", "repair"}
        Whether inertia that no body can have (negative moments, one above the sum of the others) is
        refused or changed to the nearest that one can have, with a note.
    massless : {"refuse", "repair"}
        Whether links without mass that move are refused, or lumped into their parents if they carry
        no mass, and given a millionth of the mass that they carry else, with a note.
    """
    robot = urdf.parse(path)
    for name, value, choices in (
        ("base", base, ("fixed", "floating")),
        ("fixed", fixed, ("joint", "lumped")),
        ("inertia", inertia, ("exact", "repair")),
        ("massless", massless, ("refuse", "repair")),
    ):
        if value not in choices:
            words = " or ".join(map(repr, choices))
            raise ValueError(f"{name} must be {words}, got {shown(value)}")
    start = Origin(
        vector("base", "position", position, "m"), rotation_matrix("base", "rotation", rotation)
    )
    floating = base == "floating"
    if floating:
        start = start @ settle_root(robot)
    lump(robot, floating=floating, fixed=fixed, inertia=inertia, massless=massless)
    builder = _Robot(robot, floating, start, System(gravity))
    builder.coordinates, builder.rates = _coordinates(robot, positions, rates)
    builder.options = {} if formulation is None else {"formulation": formulation}
    builder.find = lambda link: shapes(link, path.parent, packages, robot.notes)
    builder.build()
    return builder.system, robot.name, robot.notes, robot.unknown


def _coordinates(robot: Description, positions: Any, rates: Any) -> tuple[Any, Any]:
    """Return coordinates and rates of all joints that have one; those that follow do so."""
    joints = {j.name: j for j in robot.joints if j.type in _MOVING}
    starts: list[dict[str, float]] = []
    for what, values in (("positions", positions), ("rates", rates)):
        for name in values or {}:
            if name not in joints or joints[name].mimic is not None:
                free = ", ".join(n for n, j in joints.items() if j.mimic is None)
                raise ValueError(
                    f"{what}: no joint {name!r} with a coordinate of its own; there are {free}"
                )
        start = {name: number(what, name, x, "rad or m") for name, x in (values or {}).items()}
        starts.append({n: start.get(n, 0.0) for n, j in joints.items() if j.mimic is None})
    q, rate = starts
    waiting = [j for j in robot.joints if j.mimic is not None]
    while waiting:
        ready = [j for j in waiting if j.name in joints and j.mimic and j.mimic.joint in q]
        if not ready:
            raise ValueError(
                f"joint {waiting[0].name!r}: <mimic> must name another joint with one coordinate, "
                f"that does not follow it; there are {', '.join(q)}"
            )
        for j in ready:
            assert j.mimic is not None
            q[j.name] = j.mimic.factor * q[j.mimic.joint] + j.mimic.offset
            rate[j.name] = j.mimic.factor * rate[j.mimic.joint]
            waiting.remove(j)
    return q, rate


class _Robot:
    """The links that were placed so far."""

    coordinates: dict[str, float]
    rates: dict[str, float]
    options: dict[str, Any]
    find: Any

    def __init__(self, robot: Description, floating: bool, start: Origin, system: System) -> None:
        self.robot, self.system, self.start = robot, system, start
        self.bodies: dict[str, Any] = {}  # by the names of links
        self.joints: dict[str, Any] = {}
        self.floating = floating
        self.root = robot.root
        self.children: dict[str, list[urdf.Joint]] = {}
        for joint in robot.joints:
            self.children.setdefault(joint.parent, []).append(joint)

    def build(self) -> None:
        """Place the links from the root on."""
        still = (np.zeros(3), np.zeros(3))
        if self.floating:
            if not self.robot.links[self.root].mass:
                raise ValueError(
                    f"link {self.root!r}: a floating base needs mass; give it <inertial>, or take "
                    "base='fixed'"
                )
            self._body(self.root, self.start, *still)
        else:
            root = self.robot.links[self.root]
            if root.mass or root.inertia.any():
                self.robot.notes.append(f"link {root.name!r} is the ground: its mass is not used")
            if root.visuals:
                self.robot.notes.append(f"link {root.name!r} is the ground: its shape is not used")
            self.bodies[self.root] = self.system.ground
        poses = {self.root: (self.start, *still)}
        waiting = [self.root]
        while waiting:
            link = waiting.pop(0)
            for joint in self.children.get(link, ()):
                poses[joint.child] = self._place(joint, *poses[link])
                waiting.append(joint.child)
        self._tie()

    def _tie(self) -> None:
        """Add a coupler for every coordinate that follows another one."""
        for joint in self.robot.joints:
            if joint.mimic is not None:
                ends = [self.joints[joint.name], self.joints[joint.mimic.joint]]
                name = self._free_name(f"{joint.name} mimic", "force")
                factors, value = (1.0, -joint.mimic.factor), joint.mimic.offset
                self.system.add(Coupler(name, ends, factors, value))

    def _place(self, joint: urdf.Joint, at: Origin, v: Any, omega: Any) -> Any:
        """Add the child of a joint, and the joint; return pose, velocity and angular velocity."""
        axis = joint.axis / (np.linalg.norm(joint.axis) or 1.0)
        q, rate = (x.get(joint.name, 0.0) for x in (self.coordinates, self.rates))
        if joint.limits is not None and not joint.limits[0] <= q <= joint.limits[1]:
            self.robot.notes.append(f"joint {joint.name!r} starts outside of its limits, at {q:g}")
        moved = Origin(q * axis) if joint.type == "prismatic" else Origin(
            rotation=Rotation.from_rotvec(q * axis).as_matrix()
        )  # fmt: skip
        pose = at @ joint.origin @ moved
        along = pose.rotation @ axis * rate
        v = v + np.cross(omega, pose.position - at.position)
        if joint.type == "prismatic":
            v = v + along
        else:
            omega = omega + along
        link = self.robot.links[joint.child]
        if not link.mass:
            raise ValueError(
                f"link {link.name!r}: has no inertia but moves at joint {joint.name!r}; give it "
                "<inertial> with <mass> and <inertia>, make the joint fixed, or take "
                "massless='repair'"
            )
        self._body(joint.child, pose, v, omega)
        self._join(joint, axis)
        return pose, v, omega

    def _body(self, name: str, pose: Origin, v: Any, omega: Any) -> None:
        link = self.robot.links[name]
        try:
            body = RigidBody(
                self._free_name(name, "link"), mass=link.mass, inertia=link.inertia,
                center_of_mass=link.center_of_mass, position=pose.position, rotation=pose.rotation,
                velocity=v, angular_velocity=omega, shape=self.find(link), **self.options,
            )  # fmt: skip
        except ValueError as error:
            remedy = "; or take inertia='repair'" if "inertia" in str(error) else ""
            raise ValueError(f"link {error}{remedy}") from error
        self.bodies[name] = self.system.add(body)

    def _free_name(self, name: str, what: str) -> str:
        """Return a name that no other part has: links and joints may have the same one in URDF."""
        used = ("ground", *self.system.parts)
        later = self.robot.links if what == "joint" else ()
        return f"{name} {what}" if name in used or name in later else name

    def _join(self, joint: urdf.Joint, axis: np.ndarray) -> None:
        if joint.type == "floating":
            self.robot.notes.append(f"joint {joint.name!r} leaves all free: it is no part")
            if joint.damping:
                self.robot.notes.append(f"joint {joint.name!r}: its damping is not used")
            return
        one, two, own = self.bodies[joint.parent], self.bodies[joint.child], _third(axis)
        at = joint.origin @ Origin(rotation=own)
        if joint.parent == self.root and not self.floating:
            at = self.start @ at
        ends = (Frame(one, at.position, at.rotation), Frame(two, axes=own))
        part = self.system.add(_JOINTS[joint.type](self._free_name(joint.name, "joint"), *ends))
        self.joints[joint.name] = part
        if joint.damping and joint.type in _MOVING:
            name = self._free_name(f"{part.name} damping", "force")
            self.system.add(JointSpring(name, part, damping=joint.damping))
        elif joint.damping:
            self.robot.notes.append(f"joint {joint.name!r}: its damping is not used")


def _third(axis: np.ndarray) -> np.ndarray:
    """Return axes (columns) whose third one is `axis`."""
    x = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = x - axis * (axis @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])
