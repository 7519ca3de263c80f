"""Rows over time: their kernels run for all instants of all elements of a kind.

What a row does to faces, and what it measures on them, is said in its kernels only; here they get a
table in which every instant of every element is an element, each with faces of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.history.faces import Faces
from mbd.interactions.kind import Element, Kind
from mbd.machine import buffer as m

_AT_ONCE = 1024  # elements whose numbers stay in the cache of the processor


@dataclass(frozen=True)
class ElementGroup:
    """Row elements of one kind, without their laws of time.

    Attributes
    ----------
    members : (k,) array
        Which ones of the elements that were given.
    ends : (k, n_attachments) array
        Columns of their bodies among the faces.
    weights : (k, n_attachments, 4) array
    numbers, memory : (k, ...) arrays
    """

    kind: Kind
    members: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray
    memory: np.ndarray

    def forces(self, faces: Faces, lam: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield instants, and the forces of the rows in the residual there.

        Conjugate to the faces of all attachments, one element after the other,
        (n, k n_attachments, 4, 3); multipliers are (n, k, n_rows).
        """
        for here, I, F, k in self._blocks(faces, (m.Y, m.YD)):
            mine = lam[here]
            F[I[m.A] :][: mine.size] = mine.ravel()
            out = F[I[m.FY] :][: 12 * self.ends.size * len(mine)]
            out[:] = 0.0
            self.kind.forces(I, F, k)
            yield here, out.reshape(len(mine), -1, 4, 3)

    def motion(self, faces: Faces) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of the rows, their rates and second rates, (n, k, n_rows) each."""
        motion = np.empty((3, len(faces.y), len(self.ends), self.kind.n_rows))
        for here, I, F, k in self._blocks(faces, (m.Y, m.YD, m.YDD)):
            size, shape = motion[0, here].size, motion[0, here].shape
            self.kind.forces(I, F, k)
            motion[0, here] = F[I[m.X] :][:size].reshape(shape)
            self.kind.rates(I, F, k)
            for i, place in ((1, m.PHID), (2, m.PHIDD)):
                motion[i, here] = F[I[place] :][:size].reshape(shape)
        value, rate, second = motion
        return value, rate, second

    def _blocks(
        self, faces: Faces, rates: tuple[int, ...]
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, int]]:
        """Yield instants, buffers with their faces, and the place of the record of the elements."""
        (n_e, n_a), total, k = self.ends.shape, len(faces.y), m.I_HEADER
        most = max(1, _AT_ONCE // n_e)  # instants
        many = max(1, min(total, most))
        I, at = self._layout_of_most if many == most else self._layout(many)
        I = I.copy()
        constants = (self.weights, self.numbers, self.memory)
        F = np.concatenate([np.zeros(at), *(x.ravel() for x in constants)])
        F[m.ROW_RATE] = 1.0
        for begin in range(0, total, many):
            here = slice(begin, min(begin + many, total))
            shape = (here.stop - begin, n_e, n_a, 4, 3)
            I[k + m.T_NUMBER] = shape[0] * n_e
            for place, x in zip(rates, (faces.y, faces.yd, faces.ydd), strict=False):
                to = F[I[place] :][: 12 * n_a * I[k + m.T_NUMBER]].reshape(shape)
                np.take(x[here], self.ends, axis=1, out=to, mode="clip")  # without a buffer
            yield here, I, F, k

    @cached_property
    def _layout_of_most(self) -> tuple[np.ndarray, int]:
        return self._layout(max(1, _AT_ONCE // len(self.ends)))

    def _layout(self, many: int) -> tuple[np.ndarray, int]:
        """Return the integers for `many` instants, and where the constants of elements begin."""
        kind, (n_e, n_a) = self.kind, self.ends.shape
        n, n_r = many * n_e, kind.n_rows
        k = m.I_HEADER
        first = k + m.T_HEAD + n * n_a * m.ATT_SIZE
        head = kind.head(0, first)
        I = np.zeros(first + n * head[m.T_SIZE], m.ENTRY)
        sizes = dict.fromkeys((m.X, m.A, m.PHID, m.PHIDD), n * n_r) | {m.SCRATCH: kind.scratch}
        sizes |= dict.fromkeys((m.Y, m.YD, m.YDD, m.FY), 12 * n * n_a)
        at = m.F_HEADER
        for name, size in sizes.items():
            I[name] = at
            at += size
        weights, numbers, memory = at + np.cumsum([0, self.weights.size, self.numbers.size])
        I[k : k + m.T_HEAD] = head
        e, a = np.arange(n), np.arange(n_a)
        own = e % n_e
        ends = I[k + m.T_HEAD : first].reshape(n, n_a, m.ATT_SIZE)
        ends[..., m.ATT_Y] = 12 * (n_a * e[:, None] + a)
        ends[..., m.ATT_W] = weights + 4 * (n_a * own[:, None] + a)
        records = I[first:].reshape(n, -1)
        records[:, m.E_ENDS :][:, :n_a] = k + m.T_HEAD + m.ATT_SIZE * (n_a * e[:, None] + a)
        records[:, m.E_ROW], records[:, m.E_LAW] = e * n_r, 0
        records[:, m.E_NUMBERS] = numbers + own * self.numbers.shape[1]
        records[:, m.E_MEMORY] = memory + own * self.memory.shape[1]
        return I, at


def grouped(elements: Sequence[Element], column: dict[str, int]) -> list[ElementGroup]:
    """Return elements kind by kind; `column` has the places of faces."""
    by_kind: dict[Kind, list[int]] = {}
    for i, element in enumerate(elements):
        by_kind.setdefault(element.kind, []).append(i)

    def of(kind: Kind, members: list[int]) -> ElementGroup:
        mine = [elements[i] for i in members]

        def stacked(rows: Iterable[Any]) -> np.ndarray:
            return np.array([list(row) for row in rows], float).reshape(len(mine), -1)

        return ElementGroup(
            kind,
            np.array(members),
            np.array([[column[a.place] for a in e.attachments] for e in mine]),
            stacked(np.ravel([a.weights for a in e.attachments]) for e in mine).reshape(
                len(mine), kind.n_attachments, 4
            ),
            stacked([*e.numbers, *[0.0] * kind.room] for e in mine),
            stacked(e.memory for e in mine),
        )

    return [of(kind, members) for kind, members in by_kind.items()]
