"""Rows of parts whose bodies move in one plane: those that can change there."""

from collections.abc import Sequence

import numpy as np

from mbd.base.dual import plain
from mbd.base.tolerances import ROWS_MET
from mbd.interactions.kind import Element
from mbd.interactions.measures import OFFSET
from mbd.interactions.rows import COINCIDE, COINCIDE_IN_PLANE, DOT_ROW, row
from mbd.interactions.slip import ACROSS, ROLL_BALL, ROLL_DISC, ROLL_IN_PLANE
from mbd.parts.part import Part

#: attachments of these kinds whose directions say what can change
_DIRECTIONS = {
    COINCIDE: (), DOT_ROW: (0, 1), row(OFFSET): (0,), ROLL_BALL: ACROSS, ROLL_DISC: ACROSS,
}  # fmt: skip


def normal_of(part: Part) -> int | None:
    """Return the inertial axis normal to the plane in which all bodies of a part move, if any."""
    normals = {x.formulation.normal for x in part.bodies if x.moves}
    return normals.pop() if len(normals) == 1 else None


def elements_of(part: Part) -> Sequence[Element]:
    """Return the elements of a part, without rows that are constant where its bodies move."""
    every, axis = part.elements(), normal_of(part)
    if axis is None:
        return every
    some = [x for element in every for x in _in_plane(part, element, axis)]
    if every and not some:
        raise ValueError(f"{_where(part, axis)}, where a {type(part).__name__} holds nothing; "
                         "leave it out")  # fmt: skip
    return some


def _where(part: Part, axis: int) -> str:
    return f"{part.name}: its bodies move in the plane with the normal {'xyz'[axis]}"


def _in_plane(part: Part, element: Element, axis: int) -> list[Element]:
    r"""Return what of an element can change where bodies move in the plane normal to n.

    P - Q and slip have their components in the plane; :math:`a\cdot b` and :math:`a\cdot(P - Q)`
    are constant if a or b is along n. What is constant must be met. Rows that give way stay: they
    are no more than forces.
    """
    kind, ends = element.kind, [*element.attachments]
    if kind not in _DIRECTIONS:
        return [element]
    poses = {x.name: (plain(x.position), plain(x.rotation)) for x in part.bodies}
    weights = [plain(x.weights) for x in ends]
    at = [
        w[0] * poses[x.body][0] + poses[x.body][1] @ w[1:]
        for x, w in zip(ends, weights, strict=True)
    ]
    turned = [abs(at[i][axis]) for i in _DIRECTIONS[kind]]
    if any(ROWS_MET < x < 1.0 - ROWS_MET for x in turned):
        raise ValueError(
            f"{_where(part, axis)}, its axes must be along the normal or in the plane; turn the "
            "joint, or its frames"
        )
    along = [x > 0.5 for x in turned]
    if along and not any(along):
        return [element]
    if kind in ROLL_IN_PLANE:
        first, second = ACROSS
        if along[0]:
            ends[first], ends[second] = ends[second], ends[first]
        rows = (element.rows[1 if along[0] else 0],)
        one = element._replace(kind=ROLL_IN_PLANE[kind], attachments=ends, rows=rows)
        return [one._replace(row_kinds=element.row_kinds[:1])]
    if kind is COINCIDE:
        apart = at[0][axis] - at[1][axis]
    else:
        apart = at[0] @ (at[1] if kind is DOT_ROW else at[1] - at[2]) - plain(element.numbers)[0]
    if abs(apart) > ROWS_MET * max(1.0, *(float(np.abs(x).max()) for x in at)):
        raise ValueError(
            f"{_where(part, axis)}, and its frames are {abs(apart):.6g} apart out of it; move or "
            "turn one of them"
        )
    if kind is not COINCIDE:
        return []
    i, j = (k for k in range(3) if k != axis)
    return [
        element._replace(
            kind=COINCIDE_IN_PLANE, numbers=(*np.eye(3)[i], *np.eye(3)[j]),
            rows=(element.rows[i], element.rows[j]), row_kinds=element.row_kinds[:2],
        )
    ]  # fmt: skip
