r"""Between states of a model and coordinates of its tree: q and v from faces, differences.

q of a shift and of a turn is the coordinate of the joint, with its full turns; of a ball, and of a
body that floats, the quaternion (scalar first) of the axes farther from the ground in those nearer
to it, whose rate is the angular velocity between both, in the axes nearer to the ground.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.algebra.rotations import quaternion_from_matrix
from mbd.joint_tree.layout import BALL, SHIFT
from mbd.joint_tree.structure import Tree, TreeJoint
from mbd.model.frozen import FrozenModel

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True)
class FaceReading:
    """Readings of coordinates off faces, all ways at once.

    Attributes
    ----------
    first, second : (w,) arrays of int
        Rows of the faces that frames A and B of each way are on.
    A, B : ((w, 3), (w, 3, 3)) arrays
        Their places and axes there.
    """

    first: np.ndarray
    second: np.ndarray
    A: tuple[np.ndarray, ...]
    B: tuple[np.ndarray, ...]
    shifts: np.ndarray  # (s, 3): place in q, way, axis
    turns: np.ndarray  # (r, 7): place in q, way, row, column and sign of the sine, row and column
    balls: tuple[tuple[int, int, bool], ...]  # place in q, way, whether A is nearer to the ground
    quaternions: np.ndarray  # (b, 4) places in q
    velocities: np.ndarray  # (b, 3) places in v
    scalars: tuple[np.ndarray, np.ndarray]  # places of all others, in q and in v

    @classmethod
    def of(cls, model: FrozenModel, tree: Tree, faces: dict[str, int]) -> "FaceReading":
        """Return what reads the coordinates of a tree; `faces` are rows by body."""
        first, second, A, B = [], [], [], []
        shifts, turns, balls = [], [], []
        q = v = 0
        quaternions, velocities = list[int](), list[int]()
        for w, way in enumerate(tree.ways):
            if way.ends is None:
                pair: tuple[str, ...] = "ground", way.body
                frames: tuple[Any, ...] = ((np.zeros(3), np.eye(3)),) * 2
            else:
                pair = tuple(x.body.name for x in way.ends)
                frames = tuple((x.position, x.axes) for x in way.ends)
            first.append(faces[pair[0]])
            second.append(faces[pair[1]])
            A.append(frames[0])
            B.append(frames[1])
            for place, step in _places(way, q):
                if step.motion == SHIFT:
                    shifts.append((place, w, step.axis))
                elif step.motion == BALL:
                    balls.append((place, w, way.forwards))
                else:
                    turns.append((place, w, *_angle(way, step)))
            for i in way.links:
                if tree.links[i].motion == BALL:
                    quaternions += range(q, q + 4)
                    velocities += range(v, v + 3)
                q += len(tree.links[i].positions)
                v += len(tree.links[i].labels)
        of_A, of_B = (tuple(map(np.array, zip(*x, strict=True))) for x in (A, B))
        return cls(
            np.array(first), np.array(second), of_A, of_B,
            np.array(shifts, int).reshape(-1, 3), np.array(turns, int).reshape(-1, 7),
            tuple(balls), np.array(quaternions, int).reshape(-1, 4),
            np.array(velocities, int).reshape(-1, 3),
            (np.setdiff1d(np.arange(q), quaternions), np.setdiff1d(np.arange(v), velocities)),
        )  # fmt: skip

    def positions(self, y: np.ndarray, n_q: int) -> np.ndarray:
        """Return q (n_q,) from all faces (n, 4, 3), ground first; angles within half a turn."""
        axes = np.swapaxes(y[:, 1:], 1, 2)
        P, a = self._frames(y, axes, self.first, self.A)
        Q, b = self._frames(y, axes, self.second, self.B)
        q = np.empty(n_q)
        d = np.einsum("wij,wi->wj", a, Q - P)
        R = np.einsum("wij,wik->wjk", a, b)
        at, way, axis = self.shifts.T
        q[at] = d[way, axis]
        at, way, i, j, sign, k, l = self.turns.T
        q[at] = np.arctan2(sign * R[way, i, j], R[way, k, l])
        for place, w, forwards in self.balls:
            p = quaternion_from_matrix(R[w] if forwards else R[w].T)
            q[place : place + 4] = p if p[0] >= 0.0 else -p
        return q

    def moved(self, q: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return q moved by d along all columns."""
        q, (in_q, in_v) = np.array(q, float), self.scalars
        q[in_q] += d[in_v]
        if len(self.quaternions):
            half = 0.5 * d[self.velocities]
            size = np.linalg.norm(half, axis=1, keepdims=True)
            turns = np.hstack([np.cos(size), np.sinc(size / np.pi) * half])
            p = _product(turns, q[self.quaternions])
            q[self.quaternions] = p / np.linalg.norm(p, axis=1, keepdims=True)
        return q

    def between(self, one: np.ndarray, two: np.ndarray) -> np.ndarray:
        """Return d along all columns with `moved(one, d)` = two."""
        d = np.empty(self.velocities.size + len(self.scalars[1]))
        p = _product(two[self.quaternions], one[self.quaternions] * _CONJUGATE)
        p *= np.where(p[:, :1] < 0, -1.0, 1.0)
        size = np.linalg.norm(p[:, 1:], axis=1, keepdims=True)
        angle = 2 * np.arctan2(size, p[:, :1])
        per_size = np.divide(angle, size, out=np.full_like(size, 2.0), where=size > 0)
        d[self.velocities] = p[:, 1:] * per_size
        in_q, in_v = self.scalars
        d[in_v] = two[in_q] - one[in_q]
        return d

    def _frames(self, y: Any, axes: Any, which: Any, frames: Any) -> tuple[Any, Any]:
        place, own = frames
        return (
            y[which, 0] + np.einsum("wij,wj->wi", axes[which], place),
            np.einsum("wij,wjk->wik", axes[which], own),
        )


def _places(way: TreeJoint, q: int) -> list[tuple[int, Any]]:
    """Return where the coordinate of each step is in q, which follows the links."""
    steps = way.steps if way.forwards else way.steps[::-1]
    places = []
    for step in steps:
        places.append((q, step))
        q += 4 if step.motion == BALL else 1
    return places


def _angle(way: TreeJoint, step: Any) -> tuple[int, int, int, int, int]:
    """Return row, column and sign in R = A^T B of the sine of a turn, row and column of its cosine.

    Of a turn alone the angle of the next axis; of two, i and then j, the first is that of b_j
    against a_j, the second that of a_i in B.
    """
    turns = [x for x in way.steps if x.motion != SHIFT]
    i, j, k = step.axis, (step.axis + 1) % 3, (step.axis + 2) % 3
    if len(turns) == 1:
        return k, j, 1, j, j
    other = turns[1 - turns.index(step)].axis
    third = 3 - i - other
    sign = 1 if other == j else -1
    if step is turns[0]:
        return third, other, sign, other, other
    return other, third, -sign, other, other


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return products of quaternions (n, 4): the rotation q, then p."""
    s = p[:, :1] * q[:, :1] - np.einsum("ni,ni->n", p[:, 1:], q[:, 1:])[:, None]
    e = p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])
    return np.hstack([s, e])


def rates_from(
    tree: Tree, S: np.ndarray, between: np.ndarray, way_of: np.ndarray, motions: np.ndarray
) -> np.ndarray:
    """Return v (n,) from columns S (n, 6) and the velocities across each way (w, 6).

    Axes of the turns of a way are normal to each other, so are those of its shifts.
    """
    v = np.zeros(len(S))
    turning = motions != SHIFT
    across = between[way_of]
    v[turning] = np.einsum("ni,ni->n", S[turning, :3], across[turning, :3])
    left = between[:, 3:].copy()
    np.subtract.at(left, way_of[turning], S[turning, 3:] * v[turning, None])
    shifting = ~turning
    v[shifting] = np.einsum("ni,ni->n", S[shifting, 3:], left[way_of[shifting]])
    return v
