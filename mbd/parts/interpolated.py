r"""Interpolated functions of time, by values at given times, linear in these.

.. math:: u(t) = \Phi(t)\,c

with a sparse row :math:`\Phi`: of values that are held one entry, of lines two, of splines four.
Loads, motors and drives take them, and evaluate them in compiled code.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mbd.base.checked import one_of, shown
from mbd.base.door import array, number, vector
from mbd.base.recorded_call import Recorded
from mbd.base.tolerances import WHOLE_STEPS
from mbd.interactions.laws import Law
from mbd.interactions.tables_of_time import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BETWEEN = ("hold", "line", "spline")


class Interpolated(Recorded):
    """A function of time by values at given times: of a load, an effort, a speed.

    It stands where a load, a motor or a drive takes a number or a law of time, and is evaluated in
    the compiled loop. Its values are parameters: see ``mbd.Problem``.

    Parameters
    ----------
    times : (n,) array [s]
        Increasing.
    values : (n,) array, or a number for all of them, optional
        In the unit of what takes it.
    between : {"hold", "line", "spline"}
        What is between the times: the value of the time before, up to and with the next one; a
        line; or a cubic polynomial, with slopes by the parabolas through three neighbours. Before
        the first and after the last time the value is constant.

    Examples
    --------
    >>> import mbd
    >>> push = mbd.Interpolated([0.0, 1.0, 2.0], [0.0, 3.0, 1.0], between="line")
    >>> push(0.5), push(2.5)
    (1.5, 1.0)
    """

    def __init__(
        self, times: Any, values: Any = 0.0, between: Literal["hold", "line", "spline"] = "hold"
    ) -> None:
        t = array("Interpolated", "times", times, "numbers [s]")
        if t.ndim != 1 or not len(t) or not np.isfinite(t).all():
            raise ValueError(
                f"Interpolated: times must be (n,) finite numbers [s], n at least 1, got {shown(times)}"
            )
        if (bad := np.flatnonzero(np.diff(t) <= 0.0)).size:
            i = int(bad[0])
            raise ValueError(
                f"Interpolated: times must increase [s], got {t[i + 1]:g} s after {t[i]:g} s; leave "
                "one of them out"
            )
        self.between = one_of("Interpolated", "between", between, _BETWEEN)
        self.times = t
        c = array("Interpolated", "values", values, "numbers")
        if c.ndim == 0:
            c = np.full(len(t), number("Interpolated", "values", values, "-"))
        self.values = vector("Interpolated", "values", c, "-", len(t))

    @cached_property
    def _ends(self) -> np.ndarray:
        """Ends of the pieces [s]; a time that is nearer than round-off belongs to the one before.

        The first piece is before all times, the last one after them.
        """
        t = self.times
        near = WHOLE_STEPS * (float(np.diff(t).min()) if len(t) > 1 else abs(t[0]))
        return np.append(t + near, np.inf)

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.append(self.times[:1], self.times)

    @cached_property
    def _map(self) -> csr_array:
        """The coefficients of all pieces by the values, (4 (n + 1), n)."""
        from scipy import sparse

        n = len(self.times)
        one = sparse.eye_array(n, format="csr")
        C = [sparse.csr_array((n + 1, n)) for _ in range(4)]
        C[0] = sparse.vstack([one[:1], one]).tocsr()
        if self.between != "hold" and n > 1:
            d = sparse.diags_array(1.0 / np.diff(self.times))
            chord = d @ (one[1:] - one[:-1])
            inner: list[Any] = [chord]
            if self.between == "spline":
                slope = self._slopes(chord)
                first, last = slope[:-1], slope[1:]
                inner = [first, d @ (3 * chord - 2 * first - last), d @ d @ (
                    first + last - 2 * chord)]  # fmt: skip
            none = sparse.csr_array((1, n))
            C[1 : 1 + len(inner)] = [sparse.vstack([none, x, none]).tocsr() for x in inner]
        order = np.arange(4 * (n + 1)).reshape(4, -1).T.ravel()
        return sparse.vstack(C).tocsr()[order]

    def _slopes(self, chord: Any) -> Any:
        """Return slopes at the times by values: of parabolas through neighbours, lines at ends."""
        from scipy import sparse

        h = np.diff(self.times)
        share = h[1:] / (h[1:] + h[:-1])
        inner = sparse.diags_array(share) @ chord[:-1] + sparse.diags_array(1.0 - share) @ chord[1:]
        return sparse.vstack([chord[:1], inner, chord[-1:]]).tocsr()

    def coefficients(self, values: np.ndarray) -> np.ndarray:
        """Return the coefficients of all pieces, (4 (n + 1),), of its values or of others."""
        return np.asarray(self._map @ values)

    def rows(self, t: np.ndarray, order: int = 0) -> csr_array:
        """Return the rows of Phi at times, or those of a derivative by time, (len(t), n)."""
        from scipy import sparse

        piece = np.searchsorted(self._ends, t)
        x = t - self._starts[piece]
        powers = np.zeros((len(t), 4))
        for j in range(order, 4):
            factor = float(np.prod(np.arange(j - order + 1, j + 1)))
            powers[:, j] = factor * x ** (j - order)
        at = 4 * piece[:, None] + np.arange(4)
        pointer = np.arange(0, 4 * len(t) + 1, 4)
        shape = (len(t), 4 * len(self._ends))
        return sparse.csr_array((powers.ravel(), at.ravel(), pointer), shape=shape) @ self._map

    def __call__(self, t: float) -> float:
        """Return the value at t [s]."""
        return self.with_rates(t)[0]

    def with_rates(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        i = bisect_left(self._own_ends, t)
        a, b, c, d = self._own_pieces[i]
        x = t - self._own_starts[i]
        return (
            a + x * (b + x * (c + x * d)), b + x * (2.0 * c + 3.0 * x * d), 2.0 * c + 6.0 * x * d
        )  # fmt: skip

    @cached_property
    def _own_ends(self) -> list[float]:
        return list(map(float, self._ends))

    @cached_property
    def _own_starts(self) -> list[float]:
        return list(map(float, self._starts))

    @cached_property
    def _own_pieces(self) -> list[list[float]]:
        return list(self.coefficients(self.values).reshape(-1, 4).tolist())

    def replaced(self, values: Any) -> Interpolated:
        """Return the function of other values at the same times."""
        return Interpolated(self.times, values, self.between)

    def term(self, M: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Return the term of a table that adds M (s, s', s'')."""
        return M, self._ends, self._starts, self.coefficients(self.values)


def interpolated_effort(owner: str, function: Interpolated) -> Law:
    """Return the law of a push along a coordinate: tension -s, no stiffness."""
    table = Table.of(2, np.zeros(3), [function.term(np.diag((-1.0, 0.0, 0.0)))])
    return Law(owner, lambda u, rate, t: (function(t), 0.0, 0.0), ("u", "rate", "t"), _first(3),
               table)  # fmt: skip


def interpolated_motion(owner: str, function: Interpolated) -> Law:
    """Return the law of a motion: s and its two derivatives."""
    table = Table.of(0, np.zeros(3), [function.term(np.eye(3))])
    return Law(owner, function.with_rates, ("t",), _first(3), table)


def components_law(owner: str, values: Any, what: str, unit: str) -> Law | None:
    """Return the law of three components, of which some are interpolated; None: none is."""
    if not isinstance(values, tuple | list) or not any(isinstance(x, Interpolated) for x in values):
        return None
    terms, base = [], np.zeros(3)
    if len(values) != 3:
        raise ValueError(f"{owner}: {what} must have 3 components [{unit}], got {len(values)}")
    for i, x in enumerate(values):
        if isinstance(x, Interpolated):
            M = np.zeros((3, 3))
            M[i, 0] = 1.0
            terms.append(x.term(M))
        else:
            base[i] = number(owner, f"component {i + 1} of {what}", x, unit)

    def at(t: float) -> list[float]:
        return [x(t) if isinstance(x, Interpolated) else float(x) for x in values]

    return Law(owner, at, ("t",), _first(1), Table.of(0, base, terms))


def _first(n: int) -> Any:
    """Return what writes three numbers of a function of n inputs."""

    def write(function: Any) -> Any:
        def evaluate(inputs: Any, outputs: Any) -> None:
            outputs[:3] = function(*inputs[:n])

        return evaluate

    return write
