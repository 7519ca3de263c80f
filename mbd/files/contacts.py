"""Contacts of the bodies of a file with planes: those that it tells, or with one of the user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbd.base.checked import absent, shown
from mbd.model.system import System
from mbd.parts.contact import Contact
from mbd.parts.part import Frame
from mbd.parts.shapes import Touching


@dataclass(frozen=True)
class Meeting:
    """Shapes of a body that a file lets touch a plane, with one friction."""

    plane: str
    body: str
    shapes: tuple[Touching, ...]
    friction: float


def of_file(
    system: System, planes: Mapping[str, Frame], meetings: Sequence[Meeting], bodies: Any,
    friction: float | None, restitution: float,
) -> list[Contact]:  # fmt: skip
    """Return the contacts that a file tells, of all bodies or of some, which the system gets.

    The friction is that of the file where none is given.
    """
    wanted = _named(system, bodies)
    contacts, used = [], set[str]()
    for x in meetings:
        if wanted and x.body not in wanted:
            continue
        name = f"{x.body} on {x.plane}"
        name = next(n for i in range(1, len(meetings) + 2)
                    if (n := f"{name} {i}" if i > 1 else name) not in used)  # fmt: skip
        used.add(name)
        body = system.bodies[x.body]
        whole = len(x.shapes) == len(body.collision or ())
        mu = x.friction if friction is None else friction
        shapes = None if whole else x.shapes
        contacts.append(
            Contact(name, planes[x.plane], body, shape=shapes, friction=mu, restitution=restitution)
        )
    met = {x.body for x in meetings}
    if lost := [x for x in wanted if x not in met] or ([] if met else ["any body"]):
        raise ValueError(
            f"add_contacts: the file does not let {', '.join(map(str, lost))} touch one of its "
            f"planes ({', '.join(planes)}) with spheres, boxes or capsules; give plane= and "
            "friction="
        )
    return _added(system, contacts)


def with_plane(
    system: System, plane: Any, bodies: Any, friction: float | None, restitution: float
) -> list[Contact]:
    """Return contacts with a plane, of all bodies with collision shapes or of some."""
    if not isinstance(plane, Frame) and plane is not system.ground:
        raise TypeError(f"add_contacts: plane must be system.ground or a Frame, got {shown(plane)}")
    if friction is None:
        raise ValueError(
            "add_contacts: friction must be given [-], no file says that of a plane of your own; "
            "friction=0 for none"
        )
    own = getattr(plane, "body", None)
    wanted = _named(system, bodies) or [
        n for n, x in system.bodies.items() if x.collision and x is not own
    ]
    if not wanted:
        raise ValueError(
            "add_contacts: no body has collision shapes that touch (spheres, boxes, capsules); "
            "give RigidBody collision=, or add mbd.Contact with shape="
        )
    contacts = [
        Contact(f"{n} on {plane.name}", plane, system.bodies[n], friction=friction,
                restitution=restitution)
        for n in wanted
    ]  # fmt: skip
    return _added(system, contacts)


def _added(system: System, contacts: list[Contact]) -> list[Contact]:
    """Add all contacts, or none where there is one already."""
    if there := [x.name for x in contacts if x.name in system.parts]:
        raise ValueError(
            f"add_contacts: there is a part {shown(there[0])} already; name the bodies that are to "
            "get contacts, each once"
        )
    return [system.add(x) for x in contacts]


def _named(system: System, bodies: Any) -> list[str]:
    """Return the names of some bodies; none for all."""
    if bodies is None:
        return []
    several = isinstance(bodies, Sequence) and not isinstance(bodies, str)
    names = [getattr(x, "name", x) for x in (bodies if several else [bodies])]
    if not names or not all(isinstance(x, str) for x in names):
        raise TypeError(
            f"add_contacts: bodies must be a name or several in a list, got {shown(bodies)}"
        )
    for name in names:
        if name not in system.bodies:
            raise ValueError(f"add_contacts: {absent('body ', name, system.bodies)}")
    return list(dict.fromkeys(names))
