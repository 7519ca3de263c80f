"""Collision shapes of a robot, and the planes that they meet by the file.

MuJoCo lets a geom meet a plane where the bits of one's contype are among those of the other's
conaffinity, unless their bodies are excluded or neither of them moves.
"""

from collections.abc import Iterator, Sequence

from mbd.files.contacts import Meeting
from mbd.files.robots.description import Link, Plane, RobotDescription, Touch, Visual
from mbd.files.robots.shapes import shapes
from mbd.files.robots.xml_tree import Notes
from mbd.parts.shapes import Touching, touching

_TAKEN = ("sphere", "box", "capsule")


def touching_shapes(visuals: Sequence[Visual]) -> tuple[Touching, ...]:
    """Return those of the collision shapes of a link that contacts take."""
    taken = [x for x in visuals if x.type in _TAKEN]
    return touching("", "", shapes(taken, "", lambda name: (None, name), Notes()))


def note_others(robot: RobotDescription) -> None:
    """Note collision shapes that contacts do not take, by their type."""
    others: dict[str, list[str]] = {}
    for link in robot.links.values():
        for type_ in dict.fromkeys(x.type for x in link.collisions if x.type not in _TAKEN):
            others.setdefault(type_, []).append(link.name)
    for type_, links in others.items():
        robot.notes.add(
            f"collision shapes of type {type_} touch nothing (contacts take spheres, boxes and "
            f"capsules): those of {', '.join(links)}"
        )


def meetings(robot: RobotDescription, names: dict[str, str]) -> Iterator[Meeting]:
    """Yield what meets the planes of a file; `names` are those of the bodies of links."""
    still = _still(robot)
    for plane in robot.planes:
        for name, link in robot.links.items():
            if name not in still:
                for friction, visuals in _by_friction(robot, plane, link).items():
                    yield Meeting(plane.name, names[name], touching_shapes(visuals), friction)


def _still(robot: RobotDescription) -> set[str]:
    """Return the links that do not move: the root, and what is fixed to them."""
    still, before = {robot.root}, 0
    while len(still) > before:
        before = len(still)
        still |= {j.child for j in robot.joints if j.type == "fixed" and j.parent in still}
    return still


def _by_friction(
    robot: RobotDescription, plane: Plane, link: Link
) -> dict[float, tuple[Visual, ...]]:
    """Return what of a link meets a plane, by the coefficient of friction."""
    groups: dict[float, tuple[Visual, ...]] = {}
    for x in link.collisions:
        one, two = plane.touch, x.touch
        if two is None or x.type not in _TAKEN:
            continue
        meet = one.contype & two.conaffinity or two.contype & one.conaffinity
        if meet and frozenset((one.body, two.body)) not in robot.excluded:
            mu = _friction(one, two)
            groups[mu] = (*groups.get(mu, ()), x)
    return groups


def _friction(one: Touch, two: Touch) -> float:
    """Return the coefficient of two; of one direction alone, the normal, there is no friction."""
    counting = [x for x in (one, two) if x.priority == max(one.priority, two.priority)]
    if max(x.condim for x in counting) == 1:
        return 0.0
    return max(x.friction for x in counting)
