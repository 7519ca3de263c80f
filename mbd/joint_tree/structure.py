"""The tree of a model: its links and columns, found by breadth-first search over its joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from mbd.joint_tree.layout import BALL, RIGID, SHIFT, TURN
from mbd.model.frozen import FrozenModel
from mbd.model.planar_rows import normal_of
from mbd.parts.joint import Joint, PathStep
from mbd.parts.part import Body, Frame

_XYZ = "xyz"


class Placement(NamedTuple):
    """A point and axes (columns), in those of another link."""

    point: np.ndarray
    axes: np.ndarray

    def then(self, other: Placement) -> Placement:
        """Return a pose given in the axes of this one."""
        return Placement(self.point + self.axes @ other.point, self.axes @ other.axes)

    @property
    def inverse(self) -> Placement:
        """The pose of what this one is given in, in its axes."""
        return Placement(-self.axes.T @ self.point, self.axes.T)


_HERE = Placement(np.zeros(3), np.eye(3))


@dataclass(frozen=True)
class TreeLink:
    """A link: how it moves against the one before it, and the body that it is, if it is one.

    Attributes
    ----------
    before : int
        Index of the link before it; -1 is the ground.
    motion : int
        RIGID, SHIFT or TURN along or about the third axis of `joint`, BALL.
    joint : Placement
        Of its joint, in the link before it.
    labels : tuple of str
        Of its columns.
    pitch, start : float [m/rad, m]
        A turn by phi shifts by pitch phi + start.
    body : str or None
    shape : Placement
        Of the body in the link.
    """

    before: int
    motion: int
    joint: Placement
    labels: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    pitch: float = 0.0
    start: float = 0.0
    body: str | None = None
    shape: Placement = _HERE


class TreeJoint(NamedTuple):
    """Links from one body to the next one: a joint of the tree, or the freedom of a body.

    Attributes
    ----------
    joint : str or None
    ends : (Frame, Frame) or None
        A and B of the joint.
    forwards : bool
        Whether A is nearer to the ground.
    before, body : str
    steps : tuple of PathStep
        From A to B.
    links : range
    """

    joint: str | None
    ends: tuple[Frame, ...] | None
    forwards: bool
    before: str
    body: str
    steps: tuple[PathStep, ...]
    links: range


class Tree(NamedTuple):
    """Links from the ground on, the ways they belong to, and joints that are no part of it."""

    links: list[TreeLink]
    ways: list[TreeJoint]
    joints: frozenset[str]


_FREE = tuple(PathStep(SHIFT, i, f"velocity.{_XYZ[i]}") for i in range(3))
_FREELY = "position.x", "position.y", "position.z"


def refuse_other_bodies(who: str, bodies: Iterable[Body]) -> None:
    """Refuse bodies that are not rigid, or whose formulation has a constraint on velocities."""
    for body in bodies:
        f = body.formulation
        if f.n_faces > 1 or not f.rigid or not f.holonomic:
            what = (
                "is flexible" if f.n_faces > 1
                else "breathes" if not f.rigid
                else "does not spin about its axis"
            )  # fmt: skip
            raise ValueError(
                f"{who}: a tree of joints takes rigid bodies and points, but {body.name!r} {what} "
                f"({f.name!r}); use mbd.linearize or mbd.simulate, or another formulation"
            )


def movable(joint: Joint) -> tuple[PathStep, ...] | None:
    """Return the steps of a joint that can be part of a tree, else None.

    They must be all that its rows leave free: no row may give way or be one of its own.
    """
    if joint.path is None or joint.compliance or joint.angular_compliance:
        return None
    # a point at an end, but for ground, has no turn of its own
    pointed = any(not end.body.formulation.axes and end.body.moves for end in joint.ends)
    steps = tuple(x for x in joint.path if not (pointed and x.motion == BALL))
    motions = [x.motion for x in steps]
    turns = [x for x in steps if x.motion == TURN]
    if motions != sorted(motions) or len(turns) > 2 or (turns and BALL in motions):
        raise ValueError(
            f"{joint.name}: the path of a joint must be shifts, then at most two turns about "
            f"different axes or a ball, got {joint.path}; leave it out, and its rows are a loop"
        )
    return steps


def _columns(steps: Iterable[PathStep]) -> int:
    return sum(3 if x.motion == BALL else 1 for x in steps)


def tree_of(who: str, model: FrozenModel, named: Sequence[str] = ()) -> Tree:
    """Return the tree of a model; joints that are `named` are part of it before others."""
    refuse_other_bodies(who, model.nodes.values())
    graph = nx.MultiGraph()
    graph.add_nodes_from(["ground", *model.nodes])
    steps: dict[str, tuple[PathStep, ...]] = {}
    for name, joint in model.system.joints.items():
        path = movable(joint)
        if path is None:
            continue
        rows = sum(e.kind.n_rows for e in model.elements[name])
        spatial = normal_of(joint) is None and all(x.body.formulation.axes for x in joint.ends)
        freedoms = 6 if spatial else 3
        if _columns(path) + rows == freedoms or (_columns(path) == 3 == rows):
            steps[name] = path
            graph.add_edge(joint.A.body.name, joint.B.body.name, key=name)
    roots = _roots(graph)
    near: set[Any] = set()
    for root in roots:
        near |= {frozenset(x) for x in nx.bfs_edges(graph, root)}
    for a, b, name, data in graph.edges(keys=True, data=True):
        data["weight"] = 0 if name in named else 1 if frozenset((a, b)) in near else 2
    spanning = nx.Graph()
    for a, b, name in nx.minimum_spanning_edges(graph, keys=True, data=False):
        spanning.add_edge(a, b, joint=name)
    return _linked(model, roots, spanning, steps)


def _roots(graph: nx.MultiGraph) -> list[str]:
    """Return the ground, and of all that is not joined to it the first body."""
    roots, reached = ["ground"], set(nx.node_connected_component(graph, "ground"))
    for body in graph:
        if body not in reached:
            roots.append(body)
            reached |= nx.node_connected_component(graph, body)
    return roots


def _linked(
    model: FrozenModel, roots: list[str], spanning: nx.Graph, steps: dict[str, tuple[PathStep, ...]]
) -> Tree:
    """Return the links, breadth first."""
    links: list[TreeLink] = []
    ways: list[TreeJoint] = []
    where: dict[str, tuple[int, Placement]] = {"ground": (-1, _HERE)}
    for root in roots:
        if root != "ground":
            _free(model, root, links, ways, where)
        if root not in spanning:
            continue
        for before, body in nx.bfs_edges(spanning, root):
            name = spanning.edges[before, body]["joint"]
            _join(model.system.joints[name], before, body, steps[name], links, ways, where)
    return Tree(links, ways, frozenset(x.joint for x in ways if x.joint is not None))


def _free(
    model: FrozenModel, body: str, links: list[TreeLink], ways: list[TreeJoint],
    where: dict[str, tuple[int, Placement]],
) -> None:  # fmt: skip
    """Let a body float: three shifts, then any turn."""
    axes = model.nodes[body].formulation.axes
    steps = (*_FREE, PathStep(BALL, name="angular_velocity")) if axes else _FREE
    start, before = _HERE, -1
    first = len(links)
    for i, step in enumerate(steps):
        labels = (step.name,) if step.motion == SHIFT else _of_ball(step.name)
        positions = (_FREELY[i],) if step.motion == SHIFT else _QUATERNION
        pose, after = _third(start, step.axis, 1.0) if step.motion == SHIFT else (start, _HERE)
        links.append(
            TreeLink(before, step.motion, pose, _named(body, labels), _named(body, positions))
        )
        before, start = len(links) - 1, after
    where[body] = _ended(links, body, start)
    ways.append(TreeJoint(None, None, True, "ground", body, steps, range(first, len(links))))


_QUATERNION = tuple(f"quaternion.{i}" for i in range(4))


def _of_ball(name: str) -> tuple[str, ...]:
    return tuple(f"{name}.{x}" for x in _XYZ)


def _named(owner: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{owner}.{x}" for x in names)


def _third(pose: Placement, axis: int, sign: float) -> tuple[Placement, Placement]:
    """Return the pose turned so that +-axis is its third one, and what turns it back."""
    order = [(axis + 1) % 3, (axis + 2) % 3, axis]
    if sign < 0:
        order[:2] = order[1], order[0]
    turn = np.eye(3)[:, order] * np.array([1.0, 1.0, sign])
    return pose.then(Placement(np.zeros(3), turn)), Placement(np.zeros(3), turn.T)


def _ended(links: list[TreeLink], body: str, shape: Placement) -> tuple[int, Placement]:
    """Let the last link be a body at a pose in it."""
    facts = vars(links[-1]) | {"body": body, "shape": shape}
    links[-1] = TreeLink(**facts)
    return len(links) - 1, shape


def _join(
    joint: Joint, before: str, body: str, steps: tuple[PathStep, ...], links: list[TreeLink],
    ways: list[TreeJoint], where: dict[str, tuple[int, Placement]],
) -> None:  # fmt: skip
    """Let a body follow another one by a joint."""
    forwards = joint.A.body.name == before
    near, far = (
        Placement(x.position, x.axes) for x in (joint.ends if forwards else joint.ends[::-1])
    )
    at, shape = where[before]
    start = shape.then(near)
    first = len(links)
    sign = 1.0 if forwards else -1.0
    for step in steps if forwards else steps[::-1]:
        if step.motion == BALL:
            labels, positions, pose, after = _of_ball(step.name), _QUATERNION, start, _HERE
        else:
            labels = positions = (step.name,)
            pose, after = _third(start, step.axis, sign)
        named = _named(joint.name, labels), _named(joint.name, positions)
        links.append(TreeLink(at, step.motion, pose, *named, step.pitch, step.start))
        at, start = len(links) - 1, after
    if not steps:
        links.append(TreeLink(at, RIGID, start))
        start = _HERE
    where[body] = _ended(links, body, start.then(far.inverse))
    ways.append(
        TreeJoint(joint.name, joint.ends, forwards, before, body, steps, range(first, len(links)))
    )


def labels_of(tree: Tree) -> tuple[str, ...]:
    """Return the labels of all columns."""
    return tuple(chain.from_iterable(x.labels for x in tree.links))
