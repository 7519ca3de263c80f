r"""Lumping of links into those that carry them, and repair of inertia that no body can have.

A link at a fixed joint moves with its parent. Where it cannot be a body of its own (without mass or
extent, or by its name) its mass, its shapes and its joints go to the parent: with masses m,
centres c and inertia J about them, in the axes of the parent,

.. math:: m = \sum_i m_i, \qquad c = \frac1m \sum_i m_i c_i, \qquad
          J = \sum_i R_i J_i R_i^T + m_i (|d_i|^2 I - d_i d_i^T), \quad d_i = c_i - c .
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mbd.base.door import inertia_tensor, label
from mbd.files.robots.description import Link, LinkFrame, Origin, RobotDescription, RobotJoint
from mbd.files.robots.options import RobotOptions
from mbd.files.robots.xml_tree import Notes

_ROUND_OFF = 1e-9  # of the largest moment: digits that a file does not have
_LEAST = 1e-8  # [what comes next] mass between the joints of a body; below, round-off is more
_THIN = 1e-6  # what a repair adds: second moments of the largest, mass of what a link carries


def settle_root(robot: RobotDescription) -> Origin:
    """Let the only link that a root without mass carries, at a fixed joint, take its place.

    Return its frame in that of the root.
    """
    at = Origin()
    while not robot.links[robot.root].mass:
        joints = _joints_at(robot, robot.root)
        if len(joints) != 1 or joints[0].type != "fixed":
            break
        (joint,) = joints
        robot.notes.add(
            f"link {robot.root!r} is left out, with joint {joint.name!r}: it has no mass"
        )
        if robot.links[robot.root].visuals:
            robot.notes.add(f"link {robot.root!r}: its shape is not used (no mass)")
        del robot.links[robot.root]
        robot.joints.remove(joint)
        robot.root, at = joint.child, at @ joint.origin
    return at


def lump(robot: RobotDescription, options: RobotOptions, *, floating: bool) -> None:
    """Lump links of a robot into their parents where they cannot, or shall not, be bodies.

    Links, joints and notes of the robot are changed; its root is a body if it is `floating`.
    """
    size, massless = _size(robot), options.massless
    for name, link in robot.links.items():
        robot.links[name] = _mended(link, robot.notes, size, options.inertia == "repair")
    left_out, carried = set(), {name: link.mass for name, link in robot.links.items()}
    moving = {j.child for j in robot.joints if j.type != "fixed"}
    if floating:
        moving.add(robot.root)
    for joint in reversed(_from_the_root(robot)):  # leaves first: their mass may be all there is
        parent, child = robot.links[joint.parent], robot.links[joint.child]
        carried[parent.name] += carried[child.name]
        if joint.type == "fixed":
            bare = not parent.mass and parent.name in moving
            if options.fixed == "lumped" or bare or not _can_be_a_body(child):
                _join(robot, joint)
        elif child.name in robot.between:
            robot.links[child.name] = _almost_nothing(robot, child)
        elif massless == "repair" and not carried[child.name]:
            robot.notes.add(f"joint {joint.name!r} is left out: nothing that has mass moves at it")
            left_out.add(joint.name)
            _join(robot, joint)
        elif massless == "repair" and not child.mass:
            robot.links[child.name] = _light(child, carried[child.name], size, robot.notes)
    for i, joint in enumerate(robot.joints):
        if joint.mimic is not None and joint.mimic.joint in left_out:
            robot.notes.add(f"joint {joint.name!r}: <mimic> of a joint that is left out")
            robot.joints[i] = replace(joint, mimic=None)


def _from_the_root(robot: RobotDescription) -> list[RobotJoint]:
    """Return the joints, each after the one that carries it."""
    order, links = [], [robot.root]
    for name in links:  # which grows meanwhile
        joints = _joints_at(robot, name)
        order += joints
        links += [j.child for j in joints]
    return order


def _joints_at(robot: RobotDescription, parent: str) -> list[RobotJoint]:
    """Return the joints that a link carries."""
    return [j for j in robot.joints if j.parent == parent]


def _can_be_a_body(link: Link) -> bool:
    """Tell whether a body may have this mass, this inertia and this name."""
    try:
        label(link.name, "link")
        inertia_tensor("link", link.inertia)
    except ValueError:
        return False
    return link.mass > 0


def _join(robot: RobotDescription, joint: RobotJoint) -> None:
    """Make the child of a joint a part of its parent, with all that hangs on it."""
    child, at = robot.links.pop(joint.child), joint.origin
    parent = robot.links[joint.parent]
    if child.mass:
        robot.notes.add(f"link {child.name!r} is a part of link {parent.name!r}")
    R, own = at.rotation, (parent.mass, parent.center_of_mass, parent.inertia)
    moved = (child.mass, at.position + R @ child.center_of_mass, R @ child.inertia @ R.T)
    visuals, collisions = (
        tuple(replace(x, origin=at @ x.origin) for x in shapes)
        for shapes in (child.visuals, child.collisions)
    )
    robot.links[parent.name] = replace(
        with_all(parent, (own, moved)), visuals=parent.visuals + visuals,
        collisions=parent.collisions + collisions,
    )  # fmt: skip
    robot.joints.remove(joint)
    robot.frames.setdefault(child.name, LinkFrame(child.name, Origin()))
    for place in robot.places():
        if place.link == child.name:
            place.link, place.origin = parent.name, at @ place.origin
    for i, other in enumerate(robot.joints):
        if other.parent == child.name:
            robot.joints[i] = replace(other, parent=parent.name, origin=at @ other.origin)


def with_all(link: Link, parts: Iterable[tuple[float, np.ndarray, np.ndarray]]) -> Link:
    """Return a link with the mass, centre and inertia of parts, which are in its axes."""
    parts = list(parts)
    m = sum(m_i for m_i, _, _ in parts)
    c = sum((m_i * c_i for m_i, c_i, _ in parts), np.zeros(3)) / (m or 1.0)
    J = np.zeros((3, 3))
    for m_i, c_i, J_i in parts:
        d = c_i - c
        J += J_i + m_i * (d @ d * np.eye(3) - np.outer(d, d))
    return replace(link, mass=m, center_of_mass=c, inertia=J)


def _second_moments(link: Link) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return :math:`E = \tfrac12 \mathrm{tr}(J) I - J` (descending), J [kg m^2] and their axes."""
    moments, axes = np.linalg.eigh(0.5 * (link.inertia + link.inertia.T))
    return 0.5 * moments.sum() - moments, moments, axes


def _size(robot: RobotDescription) -> float:
    """Return the largest second moment of a mass [m^2]; where none has one, that of its bars."""
    links = [x for x in robot.links.values() if x.mass > 0]
    size = max((float(_second_moments(x)[0][0]) / x.mass for x in links), default=0.0)
    bars = [float(j.origin.position @ j.origin.position) / 12 for j in robot.joints]
    return size if size > 0.0 else max(bars, default=0.0)


def _mended(link: Link, notes: Notes, size: float, repair: bool) -> Link:
    """Return the link with inertia that a body can have, where that takes round-off or a repair.

    Second moments of a body are not negative, and two of them are positive. A repair takes the size
    of the robot for what has no extent at all.
    """
    second, moments, axes = _second_moments(link)
    most = max(second[0], _THIN * size * link.mass)
    if not link.mass > 0 or not most > 0.0 or (second[2] >= 0.0 and second[1] > 0.0):
        return link
    round_off = second[2] >= -_ROUND_OFF * most and second[1] > 0.0
    if not repair and not round_off:
        return link
    second = np.maximum(second, [most, 0.0 if round_off else _THIN * most, 0.0])
    mended = second.sum() - second
    if not round_off:
        before, after = (", ".join(f"{x:.6g}" for x in v) for v in (moments, mended))
        notes.add(
            f"link {link.name!r}: principal moments of inertia ({before}) are changed to ({after}) "
            "[kg m^2], which a body can have"
        )
    return replace(link, inertia=axes @ np.diag(mended) @ axes.T)


def _almost_nothing(robot: RobotDescription, link: Link) -> Link:
    """Return the link between two joints of a body, with a mass that nothing feels."""
    (joint,) = _joints_at(robot, link.name)
    after = robot.links[joint.child]
    if joint.child in robot.between:
        return replace(link, mass=after.mass, inertia=after.inertia)
    J = float(np.trace(after.inertia)) / 3 * np.eye(3)
    return replace(link, mass=_LEAST * after.mass, inertia=_LEAST * J)


def _light(link: Link, carried: float, size: float, notes: Notes) -> Link:
    """Return a link without mass with a small share of the mass that it carries."""
    m = _THIN * carried
    notes.add(f"link {link.name!r}: gets a mass of {m:.3g} kg, {_THIN:g} of what it carries")
    return replace(link, mass=m, inertia=m * size * np.eye(3))
