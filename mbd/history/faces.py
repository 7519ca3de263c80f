"""Face coordinates over time: the kernels of the formulations, run for all instants.

Bodies of one formulation are evaluated together: every instant of every body is an element of one
table, taken in blocks that stay in the cache of the processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.interactions.kind import face_name
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, per_model

_AT_ONCE = 1024  # bodies whose numbers stay in the cache of the processor


@dataclass(frozen=True)
class Group:
    """Bodies of one formulation.

    Attributes
    ----------
    names : tuple of str
    at, faces : slice or array
        Their columns in arrays over the bodies that are evaluated, and those of all their faces.
    q, v : list of slices
        Their columns in arrays over coordinates and velocities.
    """

    formulation: Formulation
    names: tuple[str, ...]
    at: Any
    faces: Any
    q: list[slice]
    v: list[slice]


@dataclass(frozen=True)
class Faces:
    """Faces of some bodies, and after them that of ground, over time.

    Attributes
    ----------
    column : dict
        Place of each face by name, and of "ground".
    y, yd, ydd : (n, faces + 1, 4, 3) arrays
        Faces, as seen from the origin of the model, their rates and, where they were asked for,
        second rates.
    """

    column: dict[str, int]
    y: np.ndarray
    yd: np.ndarray
    ydd: np.ndarray

    def vectors(self, bodies: Any, weights: np.ndarray) -> np.ndarray:
        """Return sum w_k y_k (n, ..., 3) of faces, by column, with weights (..., 4)."""
        return np.asarray((weights[..., None] * self.y[:, bodies]).sum(-2))


@per_model
def columns_of(model: FrozenModel) -> dict[str, tuple[slice, slice]]:
    """Return the columns of each body in arrays over coordinates and velocities."""
    bodies = model.nodes
    ends = np.cumsum([body.formulation.n_v for body in bodies.values()]).tolist()
    starts = [0, *ends[:-1]]
    v = (slice(a, b) for a, b in zip(starts, ends, strict=True))
    return dict(zip(bodies, zip(model.numbering.q, v, strict=True), strict=True))


def merged(slices: Iterable[slice]) -> list[slice]:
    """Return slices with those that touch each other joined."""
    merged: list[slice] = []
    for s in slices:
        touches = merged and merged[-1].stop == s.start
        merged.append(slice(merged.pop().start, s.stop) if touches else s)
    return merged


def _run(numbers: Sequence[int]) -> Any:
    """Return numbers as a slice if each follows the one before."""
    if all(b == a + 1 for a, b in pairwise(numbers)):
        return slice(numbers[0], numbers[-1] + 1)
    return np.array(numbers)


def _groups(model: FrozenModel, names: Iterable[str]) -> list[Group]:
    """Return some bodies, which are numbered as they come, by formulation."""
    by_formulation: dict[Formulation, list[tuple[int, int, str]]] = {}
    face = 0
    for i, name in enumerate(names):
        formulation = model.nodes[name].formulation
        by_formulation.setdefault(formulation, []).append((i, face, name))
        face += formulation.n_faces
    columns, groups = columns_of(model), []
    for formulation, members in by_formulation.items():
        numbers, firsts, mine = zip(*members, strict=True)
        faces = [x + i for x in firsts for i in range(formulation.n_faces)]
        q, v = (merged(columns[name][i] for name in mine) for i in (0, 1))
        groups.append(Group(formulation, mine, _run(numbers), _run(faces), q, v))
    return groups


@per_model
def all_groups(model: FrozenModel) -> list[Group]:
    """Return all bodies by formulation."""
    return _groups(model, model.nodes)


@per_model
def all_columns(model: FrozenModel) -> dict[str, int]:
    """Return the places of the faces of all bodies, and of ground."""
    return _numbered(model, model.nodes)


def places_of(model: FrozenModel, names: Iterable[str]) -> dict[str, int]:
    """Return the places of the faces of some bodies, or other faces of them, and of ground."""
    return _numbered(model, _bodies(names))


def _bodies(names: Iterable[str]) -> list[str]:
    return [x for x in dict.fromkeys(name.partition("/")[0] for name in names) if x != "ground"]


def _numbered(model: FrozenModel, names: Iterable[str]) -> dict[str, int]:
    places = [face_name(x, i) for x in names for i in range(model.nodes[x].formulation.n_faces)]
    return {place: i for i, place in enumerate([*places, "ground"])}


def faces_over_time(
    model: FrozenModel, q: Any, v: Any, a: Any, names: Iterable[str] | None = None, *,
    second: bool = True,
) -> Faces:  # fmt: skip
    """Return the faces of some bodies (default: all), and of ground, at all instants.

    The numbers of the model (n, ...) are in memory or on disk.
    """
    if names is None:
        column, groups = all_columns(model), all_groups(model)
    else:
        names = _bodies(names)
        column, groups = _numbered(model, names), _groups(model, names)
    y, yd, ydd = (np.zeros((len(q) * wanted, len(column), 4, 3)) for wanted in (1, 1, second))
    y[:, -1, 0], y[:, -1, 1:] = -model.origin, np.eye(3)
    for g in groups:
        numbers = (_taken(q, g.q), _taken(v, g.v), _taken(a, g.v) if second else None)
        _evaluate(g, *numbers, (y, yd, ydd) if second else (y, yd))
    return Faces(column, y, yd, ydd)


def _taken(x: Any, columns: list[slice]) -> np.ndarray:
    """Return columns of an array in memory or on disk."""
    parts = [x[:, s] for s in columns]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _evaluate(
    g: Group, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, to: tuple[np.ndarray, ...]
) -> None:
    """Write faces, rates and, with accelerations, second rates of bodies over n instants.

    The numbers of the bodies, (n, k n_q) and (n, k n_v), stand side by side; faces (n, ., 4, 3).
    """
    formulation, k, total = g.formulation, len(g.names), len(q)
    n_q, n_v, size = formulation.n_q, formulation.n_v, 12 * formulation.n_faces
    many = max(1, min(total, _AT_ONCE // k))  # instants
    n = many * k
    stride = n_v + formulation.n_own
    par = formulation.constants(1.0, np.zeros(3), np.eye(3))  # faces know no masses
    I = np.zeros(m.I_HEADER + 4 + n * m.NODE_SIZE, m.ENTRY)
    sizes = {
        m.Q: n * n_q, m.QN: n * n_q, m.V: n * stride, m.A: n * stride, m.D: n * stride,
        m.PHID: n * stride, m.PHIDD: n * stride,
        m.Y: size * n, m.YD: size * n, m.YDD: size * n, m.FY: size * n, m.SCRATCH: len(par),
    }  # fmt: skip
    at = m.F_HEADER
    for name, room in sizes.items():
        I[name] = at
        at += room
    F = np.zeros(at)
    F[I[m.SCRATCH] :] = par
    record = m.I_HEADER
    I[record + 1] = record + 4
    e = np.arange(n)
    nodes = I[record + 4 :].reshape(n, m.NODE_SIZE)
    nodes[:, m.NODE_PAR] = I[m.SCRATCH]
    nodes[:, m.NODE_Q], nodes[:, m.NODE_U], nodes[:, m.NODE_Y] = e * n_q, e * stride, size * e
    kernels = family(formulation)
    for first in range(0, total, many):
        here = slice(first, min(first + many, total))
        instants = here.stop - first
        I[record] = each = instants * k
        F[I[m.QN] :][: each * n_q].reshape(instants, -1)[:] = q[here]
        for place, x in ((m.V, v), (m.A, a)) if a is not None else ((m.V, v),):
            own = F[I[place] :][: each * stride].reshape(instants, k, stride)[..., :n_v]
            own[:] = x[here].reshape(own.shape)
        kernels.place(I, F, record)
        kernels.velocities(I, F, record)
        kernels.rates(I, F, record)
        for x, place in zip(to, (m.Y, m.YD, m.YDD), strict=False):
            x[here, g.faces] = F[I[place] :][: size * each].reshape(instants, -1, 4, 3)
