r"""Interpolated functions of time, by values at given times, linear in these.

.. math:: u(t) = \Phi(t)\,c

with a sparse row :math:`\Phi`: of values that are held one entry, of lines two, of splines four.
Loads, motors and drives take them, and evaluate them in compiled code.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mbd.base.checked import one_of, shown
from mbd.base.door import array, number, vector
from mbd.base.recorded_call import Recorded
from mbd.base.tolerances import WHOLE_STEPS
from mbd.interactions.laws import Law
from mbd.interactions.tables_of_time import TimeTable

_BETWEEN = ("hold", "line", "spline")


class Interpolated(Recorded):
    """A function of time by values at given times: of a load, an effort, a speed.

    It stands where a load, a motor or a drive takes a number or a law of time, and is evaluated in
    the compiled loop. Its values are parameters: see ``mbd.Problem``.

    Parameters
    ----------
    times : (n,) array [s]
        Increasing.
    values : (n,) array, or a number for all of them, optional [SI]
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
                "Interpolated: times must be (n,) finite numbers [s], n at least 1, got "
                f"{shown(times)}"
            )
        if (bad := np.flatnonzero(np.diff(t) <= 0.0)).size:
            i = int(bad[0])
            raise ValueError(
                f"Interpolated: times must increase [s], got {t[i + 1]:g} s after {t[i]:g} s; "
                "leave one of them out"
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
    def _map(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each piece which four values count, (n + 1, 4), and its coefficients by these."""
        n, h = len(self.times), np.diff(self.times)
        which = np.clip(np.arange(n + 1)[:, None] + np.arange(-2, 2), 0, n - 1)
        C = np.zeros((n + 1, 4, 4))
        C[:, 0, 1] = 1.0
        if self.between == "hold" or n == 1:
            return which, C
        chord = np.multiply.outer(1.0 / h, (0.0, -1.0, 1.0, 0.0))
        C[1:-1, 1] = chord
        if self.between == "spline":
            share = (h[1:] / (h[1:] + h[:-1]))[:, None]  # of the chord before
            before, after = np.roll(chord[:-1], -1, axis=1), np.roll(chord[1:], 1, axis=1)
            first, last = chord.copy(), chord.copy()
            first[1:] = share * before + (1.0 - share) * chord[1:]
            last[:-1] = share * chord[:-1] + (1.0 - share) * after
            C[1:-1, 1] = first
            C[1:-1, 2] = (3.0 * chord - 2.0 * first - last) / h[:, None]
            C[1:-1, 3] = (first + last - 2.0 * chord) / h[:, None] ** 2
        return which, C

    def coefficients(self, values: np.ndarray) -> np.ndarray:
        """Return the coefficients of all pieces, (4 (n + 1),), of its values or of others."""
        which, C = self._map
        return np.asarray((C @ values[which][:, :, None]).ravel())

    def rows(self, t: np.ndarray, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of Phi at times, or those of a derivative by time.

        Of each row which four values, (len(t), 4), and their factors.
        """
        piece = np.searchsorted(self._ends, t)
        x, (which, C) = t - self._starts[piece], self._map
        powers = np.zeros((len(t), 4))
        for j in range(order, 4):
            factor = float(np.prod(np.arange(j - order + 1, j + 1)))
            powers[:, j] = factor * x ** (j - order)
        return which[piece], (powers[:, None] @ C[piece])[:, 0]

    def gathered(self, t: np.ndarray, slopes: np.ndarray, order: int = 0) -> np.ndarray:
        """Return derivatives by its values, of those by the function (or a rate) at times."""
        which, factors = self.rows(t, order)
        total = np.bincount(which.ravel(), (factors * slopes[:, None]).ravel(), len(self.times))
        return np.asarray(total)

    def __call__(self, t: float) -> float:
        """Return the value at t [s]."""
        return self.with_rates(t)[0]

    def with_rates(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        ends, starts, pieces = self._lists
        i = bisect_left(ends, t)
        a, b, c, d = pieces[i]
        x = t - starts[i]
        return (
            a + x * (b + x * (c + x * d)), b + x * (2.0 * c + 3.0 * x * d), 2.0 * c + 6.0 * x * d
        )  # fmt: skip

    @cached_property
    def _lists(self) -> tuple[list[float], list[float], list[list[float]]]:
        """Ends, starts and coefficients of the pieces, looked up faster than in arrays."""
        pieces = self.coefficients(self.values).reshape(-1, 4)
        return self._ends.tolist(), self._starts.tolist(), pieces.tolist()

    def replaced(self, values: Any) -> "Interpolated":
        """Return the function of other values at the same times."""
        return Interpolated(self.times, values, self.between)  # type: ignore[arg-type]

    def law_of(self, key: tuple[Any, ...], make: Callable[[], Law]) -> Law:
        """Return the one law that it is for a part, however often that is described again."""
        laws = self._laws
        if key not in laws:
            laws[key] = make()
        return laws[key]

    @cached_property
    def _laws(self) -> dict[tuple[Any, ...], Law]:
        return {}

    def term(self, M: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Return the term of a table that adds M (s, s', s'')."""
        return M, self._ends, self._starts, self.coefficients(self.values)


def interpolated_effort(owner: str, function: Interpolated) -> Law:
    """Return the law of a push along a coordinate: tension -s, no stiffness."""

    def law() -> Law:
        table = TimeTable.of(2, np.zeros(3), [function.term(np.diag((-1.0, 0.0, 0.0)))])
        arguments = ("u", "rate", "t")
        return Law(owner, lambda u, rate, t: (-function(t), 0.0, 0.0), arguments, _first(3), table)

    return function.law_of((owner, "effort"), law)


def interpolated_motion(owner: str, function: Interpolated) -> Law:
    """Return the law of a motion: s and its two derivatives."""

    def law() -> Law:
        table = TimeTable.of(0, np.zeros(3), [function.term(np.eye(3))])
        return Law(owner, function.with_rates, ("t",), _first(1), table)

    return function.law_of((owner, "motion"), law)


def components_law(owner: str, values: Any, what: str, unit: str) -> Law | None:
    """Return the law of three components, of which some are interpolated; None: none is."""
    if not isinstance(values, tuple | list):
        return None
    several = [x for x in values if isinstance(x, Interpolated)]
    if not several:
        return None
    if len(values) != 3:
        raise ValueError(f"{owner}: {what} must have 3 components [{unit}], got {len(values)}")
    base = [
        0.0 if isinstance(x, Interpolated)
        else number(owner, f"component {i + 1} of {what}", x, unit)
        for i, x in enumerate(values)
    ]  # fmt: skip

    def law() -> Law:
        terms = []
        for i, x in enumerate(values):
            if isinstance(x, Interpolated):
                M = np.zeros((3, 3))
                M[i, 0] = 1.0
                terms.append(x.term(M))
        return Law(owner, at, ("t",), _first(1), TimeTable.of(0, base, terms))

    def at(t: float) -> list[float]:
        both = zip(values, base, strict=True)
        return [x(t) if isinstance(x, Interpolated) else y for x, y in both]

    others = [id(x) if isinstance(x, Interpolated) else x for x in values]
    return several[0].law_of((owner, *others), law)


def _first(n: int) -> Any:
    """Return what writes three numbers of a function of n inputs."""

    def write(function: Any) -> Any:
        def evaluate(inputs: Any, outputs: Any) -> None:
            outputs[:3] = function(*inputs[:n])

        return evaluate

    return write
