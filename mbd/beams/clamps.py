"""Clamps: the joints that hold the ends of a beam or a cable, as parts of it."""

from collections.abc import Callable
from typing import Any

from mbd.base.checked import shown
from mbd.interactions.kind import Element
from mbd.parts.joint import Joint
from mbd.parts.part import Body, Frame

Clamps = tuple[tuple[str, Joint], ...]


def clamped(
    who: str, joint: Callable[..., Joint], first: Any, start: Body, last: Any, end: Body
) -> Clamps:
    """Return the joints of both end nodes to a frame, or to a body where the node is."""
    return tuple(
        (word, joint(f"{who} {word}", _frame(who, word, to, node), node.frame()))
        for word, to, node in (("first", first, start), ("last", last, end))
        if to is not None
    )


def rows_of(clamps: Clamps) -> list[Element]:
    """Return the rows of the joints, named apart."""
    return [
        x._replace(rows=[f"{word} {row}" for row in x.rows])
        for word, joint in clamps
        for x in joint.elements()
    ]


def _frame(who: str, word: str, to: Any, node: Body) -> Frame:
    if isinstance(to, Frame):
        return to
    if isinstance(to, Body):
        return to.placed_frame(node.position, node.rotation)
    raise TypeError(f"{who}: {word} must be a body or a frame of one, got {shown(to)}")
