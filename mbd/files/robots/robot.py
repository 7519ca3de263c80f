"""Systems from descriptions of robots.

Every link with mass is a rigid body whose frame is the frame of the link; what cannot be a body is
lumped into its parent before (``lumping.py``). Frames of joints coincide where the coordinate is
zero, so that coordinates are those of the file. Fixed joints between links with mass stay joints,
with reactions.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import mapping
from mbd.base.door import number
from mbd.files.modelfile import ModelFile
from mbd.files.robots import joint_forces
from mbd.files.robots.description import JOINTS, LinkFrame, Origin, RobotDescription, RobotJoint
from mbd.files.robots.lumping import lump
from mbd.files.robots.options import RobotOptions
from mbd.files.robots.shapes import finder, shapes
from mbd.files.robots.touching import meetings, note_others, touching_shapes
from mbd.files.robots.xml_tree import Notes
from mbd.model.system import System
from mbd.parts.bodies import RigidBody
from mbd.parts.forces import PointForce
from mbd.parts.joint import perpendicular
from mbd.parts.joints import Fixed, Planar, Prismatic, Revolute, Spherical
from mbd.parts.part import Frame
from mbd.parts.transmissions import Coupler

_PARTS = {
    "revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "fixed": Fixed,
    "planar": Planar, "ball": Spherical,
}  # fmt: skip
_CLOSURES = {"ball": Spherical, "fixed": Fixed}


def coordinates(
    robot: RobotDescription, positions: Any, rates: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Return coordinates and rates of all joints that have one; those that follow do so."""
    joints = {j.name: j for j in robot.joints if JOINTS[j.type] == 1}
    q = {name: j.zero for name, j in joints.items() if j.mimic is None}
    rate = dict.fromkeys(q, 0.0)
    for what, by_joint, start in (("positions", positions, q), ("rates", rates, rate)):
        for name, x in mapping("read", what, by_joint or {}, "{'joint': 0.1}").items():
            if name not in start:
                raise ValueError(
                    f"{what}: no joint {name!r} with a coordinate of its own; there are "
                    f"{', '.join(start)}"
                )
            start[name] = number(what, name, x, "rad or m")
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


def built(
    robot: RobotDescription, path: Path, options: RobotOptions, run: dict[str, Any],
    start: Origin | None = None, *, floating: bool = False,
) -> ModelFile:  # fmt: skip
    """Return the system of a description, and what goes with it."""
    lump(robot, options, floating=floating)
    q, rate = coordinates(robot, options.positions, options.rates)
    builder = _Robot(robot, floating, start or Origin(), options, (q, rate))
    find = finder(path.parent, options.packages)
    if options.shapes == "visual":
        builder.find = lambda link: shapes(link.visuals, f"link {link.name!r}", find, robot.notes)
    builder.touched = lambda link, notes: shapes(
        link.collisions, f"link {link.name!r}, collision", find, notes
    )
    note_others(robot)
    builder.build()
    if touching := [x.name for x in builder.bodies.values() if x.collision]:
        robot.notes.add(
            "nothing touches anything before add_contacts() or mbd.Contact says so; collision "
            f"shapes that touch: of {', '.join(touching[:4])}{' ...' * (len(touching) > 4)}"
        )
    notes = (*robot.unknown, *robot.notes.texts())
    limits = {j.name: j.limits for j in robot.joints if j.name in builder.joints}
    frames = {name: builder.frame(place) for name, place in robot.frames.items()}
    return ModelFile(
        builder.system, run, robot.name, notes, frames=frames, limits=limits,
        collisions=Collisions(builder.collisions),
        planes={x.name: builder.frame(x.place) for x in robot.planes},
        meetings=tuple(meetings(robot, {x: body.name for x, body in builder.bodies.items()})),
    )  # fmt: skip


class Collisions(Mapping[str, Any]):
    """Shapes that others may touch, by body; their meshes are read when they are asked for."""

    def __init__(self, makers: dict[str, Callable[[Notes], Any]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Any:
        notes = Notes()
        touched = self._makers[name](notes)
        for text in notes.texts():
            warnings.warn(text, UserWarning, stacklevel=2)
        return touched

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class _Robot:
    """The links that were placed so far."""

    find: Callable[[Any], Any] | None = None
    touched: Callable[[Any, Notes], Any]

    def __init__(
        self, robot: RobotDescription, floating: bool, start: Origin, options: RobotOptions, at: Any
    ) -> None:
        self.robot, self.start, self.options = robot, start, options
        self.system = System(options.gravity)
        self.coordinates, self.rates = at
        self.bodies: dict[str, Any] = {}  # by the names of links
        self.joints: dict[str, Any] = {}
        self.collisions: dict[str, Callable[[Notes], Any]] = {}
        self.floating = floating
        self.root = robot.root
        self.children: dict[str, list[RobotJoint]] = {}
        for joint in robot.joints:
            self.children.setdefault(joint.parent, []).append(joint)

    def build(self) -> None:
        """Place the links from the root on, then what acts between them."""
        still = (np.zeros(3), np.zeros(3))
        root = self.robot.links[self.root]
        if self.floating:
            if not root.mass:
                raise ValueError(
                    f"link {self.root!r}: a floating base needs mass; give it <inertial>, or take "
                    "base='fixed'"
                )
            self._body(self.root, self.start, *still)
        else:
            if root.mass or root.inertia.any():
                self.robot.notes.add(f"link {root.name!r} is the ground: its mass is not used")
            if root.visuals:
                self.robot.notes.add(f"link {root.name!r} is the ground: its shape is not used")
            self.bodies[self.root] = self.system.ground
            self._touched(root, "ground")
        poses = {self.root: (self.start, *still)}
        waiting = [self.root]
        while waiting:
            link = waiting.pop(0)
            for joint in self.children.get(link, ()):
                poses[joint.child] = self._place(joint, *poses[link])
                waiting.append(joint.child)
        for joint in self.robot.joints:
            if joint.name in self.joints:
                self._act(joint, self.joints[joint.name])
        self._tie()

    def _act(self, joint: RobotJoint, part: Any) -> None:
        """Add what acts at a joint."""
        q, rate = (x.get(joint.name, 0.0) for x in (self.coordinates, self.rates))
        outside = list(self._outside(joint.child))
        for force in joint_forces.of(joint, part, q, outside, self.free_name, self.options):
            self.system.add(force)
        if joint.armature and JOINTS[joint.type] == 1:
            mass = sum(body.mass for body in outside)
            for more in joint_forces.rotor(joint, part, rate, mass, self.system, self.free_name):
                self.system.add(more)

    def _outside(self, link: str) -> Iterator[RigidBody]:
        """Yield the bodies that a joint carries."""
        yield self.bodies[link]
        for joint in self.children.get(link, ()):
            yield from self._outside(joint.child)

    def frame(self, place: LinkFrame) -> Frame:
        """Return a place as a frame of a body."""
        ground = place.link == self.root and not self.floating
        at = self.start @ place.origin if ground else place.origin
        return Frame(self.bodies[place.link], at.position, at.rotation)

    def _tie(self) -> None:
        """Add what joins coordinates and places outside the tree, and what acts on them."""
        for joint in self.robot.joints:
            if joint.mimic is not None:
                ends = [self.joints[joint.name], self.joints[joint.mimic.joint]]
                name = self.free_name(f"{joint.name} mimic", "force")
                self.system.add(Coupler(name, ends, (1.0, -joint.mimic.factor)))
        for tie in self.robot.ties:
            ends = [self.joints[x] for x in tie.joints]
            turns = [
                joint_forces.whole_turns(x, self.coordinates[name])
                for x, name in zip(ends, tie.joints, strict=True)
            ]
            value = tie.value - float(np.dot(tie.factors, turns))
            self.system.add(Coupler(self.free_name(tie.name, "tie"), ends, tie.factors, value))
        for closure in self.robot.closures:
            pair = (self.frame(closure.first), self.frame(closure.second))
            name = self.free_name(closure.name, "closure")
            self.system.add(_CLOSURES[closure.type](name, *pair))
        for effort in self.robot.efforts:
            part, q = self.joints[effort.joint], self.coordinates[effort.joint]
            for acting in joint_forces.actuators(effort, part, q, self.free_name):
                self.system.add(acting)
        for lift in self.robot.lifts:
            force = -lift.mass * np.asarray(self.system.gravity)
            name = self.free_name(f"{lift.name} gravity compensation", "force")
            self.system.add(PointForce(name, self.frame(lift.place), force))

    def _place(self, joint: RobotJoint, at: Origin, v: Any, omega: Any) -> Any:
        """Add the child of a joint, and the joint; return pose, velocity and angular velocity."""
        q, rate = (x.get(joint.name, 0.0) for x in (self.coordinates, self.rates))
        self._check_range(joint, q)
        turned = q - joint.zero if joint.name in self.coordinates else 0.0
        moved, twist = joint.motion, joint.twist
        if joint.type == "prismatic":
            moved = Origin(turned * joint.axis)
            twist = (rate * joint.axis, np.zeros(3))
        elif JOINTS[joint.type] == 1:
            turn = Rotation.from_rotvec(turned * joint.axis).as_matrix()
            moved = Origin(joint.anchor - turn @ joint.anchor, turn)
            twist = (np.zeros(3), rate * joint.axis)
        elif joint.type == "ball":
            moved = Origin(joint.anchor - moved.rotation @ joint.anchor, moved.rotation)
        seat = at @ joint.origin
        pose = seat @ moved
        spin = pose.rotation @ twist[1]
        center = seat.position + seat.rotation @ joint.anchor
        v = v + np.cross(omega, center - at.position) + seat.rotation @ twist[0]
        if joint.type == "prismatic":
            v = v + np.cross(omega, pose.position - center)
        elif joint.type != "floating":
            v = v + np.cross(omega + spin, pose.position - center)
        omega = omega + spin
        link = self.robot.links[joint.child]
        if not link.mass:
            raise ValueError(
                f"link {link.name!r}: has no inertia but moves at joint {joint.name!r}; give it "
                "<inertial> with <mass> and <inertia>, make the joint fixed, or take "
                "massless='repair'"
            )
        self._body(joint.child, pose, v, omega)
        self._join(joint)
        return pose, v, omega

    def _check_range(self, joint: RobotJoint, q: float) -> None:
        """Note a coordinate that starts beyond its limits."""
        low, high = joint_forces.interval(joint)
        if JOINTS[joint.type] == 1 and not low <= q <= high:
            self.robot.notes.add(
                f"joint {joint.name!r} starts outside of its limits, at {q:g}: it has no stop there"
            )

    def _body(self, name: str, pose: Origin, v: Any, omega: Any) -> None:
        link = self.robot.links[name]
        called = self.free_name(name, "link")
        touched = self._touched(link, called)
        shape = touched if self.find is None else self.find(link)
        own = touching_shapes(link.collisions)
        formulation = self.options.formulation
        of_bodies = {} if formulation is None else {"formulation": formulation}
        try:
            body = RigidBody(
                called, mass=link.mass, inertia=link.inertia, center_of_mass=link.center_of_mass,
                position=pose.position, rotation=pose.rotation, velocity=v, angular_velocity=omega,
                shape=shape or None, collision=own if own or shape else None, **of_bodies,
            )  # fmt: skip
        except ValueError as error:
            remedy = "; or take inertia='repair'" if "inertia" in str(error) else ""
            raise ValueError(f"link {error}{remedy}") from error
        self.bodies[name] = self.system.add(body)

    def _touched(self, link: Any, called: str) -> Any:
        """Keep the collision shapes of a link, under the name of its body; return what is drawn."""
        if link.collisions:
            self.collisions[called] = lambda notes: self.touched(link, notes)
        return self.touched(link, self.robot.notes) if self.find is None else ()

    def free_name(self, name: str, what: str) -> str:
        """Return a name that no other part has: links and joints may have the same one."""
        used = ("ground", *self.system.parts)
        later = self.robot.links if what == "joint" else ()
        if name not in used and name not in later:
            return name
        name = f"{name} {what}"
        return next(x for i in range(len(used) + 1) if (x := f"{name} {i}" * bool(i) or name)
                    not in used)  # fmt: skip

    def _join(self, joint: RobotJoint) -> None:
        if joint.type == "floating":
            self.robot.notes.add(f"joint {joint.name!r} leaves all free: it is no part")
            self._left(joint)
            return
        own = perpendicular(joint.axis)
        zero = Origin()
        if joint.type == "prismatic":
            zero = Origin(-joint.zero * joint.axis)
        elif JOINTS[joint.type] == 1:
            zero = Origin(rotation=Rotation.from_rotvec(-joint.zero * joint.axis).as_matrix())
        at = joint.origin @ Origin(joint.anchor) @ zero @ Origin(rotation=own)
        first = self.frame(LinkFrame(joint.parent, at))
        second = Frame(self.bodies[joint.child], joint.anchor, own)
        part = _PARTS[joint.type](self.free_name(joint.name, "joint"), first, second)
        self.joints[joint.name] = self.system.add(part)
        if JOINTS[joint.type] != 1:
            self._left(joint)

    def _left(self, joint: RobotJoint) -> None:
        """Note what cannot act at a joint without one coordinate."""
        limits = joint.limits
        held = limits.lower is not None or limits.upper is not None
        acts = {"friction": joint.friction, "armature": joint.armature, "range": held}
        if joint.type != "ball":
            acts |= {"damping": joint.damping, "stiffness": joint.stiffness}
        for what, value in acts.items():
            if value:
                self.robot.notes.add(f"joint {joint.name!r}: its {what} is not used")
