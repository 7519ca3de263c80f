r"""Laws of time that steps do not resolve: what they do inside of steps is looked at now and then.

A step meets a load, or a motion, at its ends. A load whose period is the step has one value there,
one whose period is twice the step two values in turn, and that of a pole between two steps may be
small. So some stretches of four steps are taken of a run, spread over it and where accelerations
change most, and each law is evaluated at the ends of their steps and at irrational fractions in
between, at the coordinate and the rate that the run has there. A polynomial through the four ends
next to a time says what steps know of the law there, and four ends around another one what they
know of that one.

A law that keeps, within a step, between its values at the two ends differs from the polynomial by
less than the four values do among themselves: a jump, a kink, a ramp are no alarm, at any size of
step. What differs by more is not resolved.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from mbd.base import tolerances
from mbd.history.history import History
from mbd.interactions.driven_rotation import DRIVEN_ROTATION
from mbd.interactions.kind import Element
from mbd.interactions.laws import Law
from mbd.interactions.measures import LAW_IN
from mbd.machine import buffer as m
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)  # its multiples are far from simple fractions of a period
_OfTime = Callable[[np.ndarray], np.ndarray]  # times (n,) -> values (n, k)


@dataclass(frozen=True, eq=False)
class _FewSteps:
    """Some steps of a run: their first time and their size [s], where the run is evaluated."""

    t: float
    h: float
    instant: int


@dataclass(frozen=True, eq=False)
class _Watched:
    """A law and its element, whose record is at I[record]; how many of its numbers are values."""

    owner: str
    law: Law
    element: Element
    record: int
    values: int

    def of_time(self, inputs: tuple[float, ...]) -> _OfTime:
        """Return the law over time at a coordinate and its rate, if it depends on them."""
        function, k = self.law.function, self.values

        def at(t: float) -> np.ndarray:
            try:
                return np.ravel(function(*inputs, t))[:k]
            except ArithmeticError:  # a pole
                return np.full(k, np.nan)

        def over(times: np.ndarray) -> np.ndarray:
            try:
                values = np.array([function(*inputs, t) for t in times.tolist()], float)
                return values.reshape(len(times), -1)[:, :k]
            except ArithmeticError:
                return np.array([at(t) for t in times.tolist()], float)

        return over


class _Gap(NamedTuple):
    """A law over time and a step of a run [s], within which a value is not what its ends tell."""

    law: _OfTime
    begin: float
    h: float
    t: float
    apart: float


def unresolved_laws(history: History, h: float, start: float, by_step: bool) -> str:
    """Return a warning that names the laws that steps do not resolve, or an empty string.

    Parameters
    ----------
    history : History
    h : float [s]
        Size of the steps.
    start : float [s]
    by_step : bool
        Whether the instants of the history are the ends of all steps.
    """
    model = history.model
    off = history.state.off
    watched = [x for x in _watched(model) if x.owner not in off] if model.laws else []
    if not watched or len(history.t) == 0:
        return ""
    stretches, n = _stretches(history, h, start, by_step)
    work, gaps = _Inputs(model, watched), list[tuple[str, _Gap, float]]()
    inputs = [work.at(history, s.instant) for s in stretches]
    for k, one in enumerate(watched):
        try:
            gap = _worst([one.of_time(values[k]) for values in inputs], stretches, n)
            if gap is not None:
                gaps.append((one.law.name, gap, _resolving(gap.law, gap.begin, gap.h)))
        except Exception:  # a law that refuses to be asked again
            continue
    if not gaps:
        return ""
    names = ", ".join(repr(name) for name in dict.fromkeys(name for name, *_ in gaps))
    _, gap, step = min(gaps, key=lambda x: x[2])
    return (
        f"steps of {h:.3g} s do not resolve the law of {names}: at t = {gap.t:.9g} s it is "
        f"{gap.apart:.3g} away from what its values at the ends of neighbouring steps tell; "
        + (
            f"take smaller steps, such as {step:.1g} s"
            if step
            else "no step resolves that; let the law have bounds, or end the run before"
        )
    )


@per_model
def _watched(model: Model) -> list[_Watched]:
    """Return the laws of a model, each once."""
    watched: dict[int, _Watched] = {}
    for name, elements in model.elements.items():
        for element, record in zip(elements, model.records[name], strict=True):
            if (law := element.law) is not None and not law.of_motion:
                several = not element.kind.n_rows or element.kind is DRIVEN_ROTATION
                values = 3 if several and len(law.arguments) == 1 else 1
                watched.setdefault(law.address, _Watched(name, law, element, record, values))
    return list(watched.values())


class _Inputs:
    """A work space that says at which coordinate and rate each law is evaluated.

    Of an angle without its full turns since the described pose.
    """

    def __init__(self, model: Model, watched: list[_Watched]) -> None:
        self.watched, self.tables = watched, list[int]()
        self.needed = any(len(one.law.arguments) > 1 for one in watched)
        if self.needed:
            self.work = work = Workspace(model)
            heads = [x.element.kind.head(1, x.record, len(x.element.memory)) for x in watched]
            self.tables = np.cumsum([len(work.I), *map(len, heads[:-1])]).tolist()
            work.I = m.entries(work.I, *heads)

    def at(self, history: History, k: int) -> list[tuple[float, ...]]:
        """Return the inputs of each law, but for the time, at an instant of a run."""
        if not self.needed:
            return [()] * len(self.watched)
        work = self.work
        q, v, a = (np.asarray(x[k]) for x in (history.q, history.v, history.a))
        lam = np.asarray(history.acting_lam(k))
        work.load(State(float(history.t[k]), q, v, a, lam))
        work.evaluate()
        inputs = list[tuple[float, ...]]()
        for one, table in zip(self.watched, self.tables, strict=True):
            n, at = len(one.law.arguments) - 1, int(work.I[m.SCRATCH]) + LAW_IN
            if n:
                one.element.kind.forces(work.I, work.F, table)
            inputs.append(tuple(work.F[at : at + n].tolist()))
        return inputs


def _stretches(
    history: History, h: float, start: float, by_step: bool
) -> tuple[list[_FewSteps], int]:
    """Return stretches of steps, and how many steps each has: four where the run has so many."""
    t, end = history.t, float(history.t[-1])
    steps = max(1, int((end - start) / h + 0.5))
    n = min(4, steps)
    if not by_step:
        firsts = np.unique(np.linspace(0, steps - n, tolerances.UNRESOLVED_STRETCHES).astype(int))
        times = start + h * firsts
        nearest = np.clip(np.searchsorted(t, times), 0, len(t) - 1)
        return [_FewSteps(float(x), h, int(k)) for x, k in zip(times, nearest, strict=True)], n
    last = max(0, int(np.searchsorted(t, end - (n - 0.5) * h)) - 1)
    h = min(h, end - start)
    chosen = np.linspace(0, last, tolerances.UNRESOLVED_STRETCHES).astype(int).tolist()
    if history.stored is None and len(t) > 2:
        change = np.diff(history.a, axis=0) / history.model.units
        size = np.einsum("ij,ij->i", change, change)
        few = min(max(1, tolerances.UNRESOLVED_STRETCHES // 3), len(size))
        most = np.argpartition(size, -few)[-few:]
        chosen += np.clip(most - 1, 0, last).tolist()
    return [_FewSteps(float(t[k]), h, k) for k in sorted(set(chosen))], n


def _through(nodes: np.ndarray, x: float) -> np.ndarray:
    """Return the weights of values at nodes in the polynomial through them, at x."""
    apart = nodes[:, None] - nodes + np.eye(len(nodes))
    factors = (x - nodes)[None, :].repeat(len(nodes), 0) / apart
    np.fill_diagonal(factors, 1.0)
    return np.asarray(factors.prod(axis=1))


class _Places(NamedTuple):
    """Places at which laws are evaluated in n steps, and what the ends of steps say of some.

    Of each that is compared its number, the numbers of those it is compared with, their weights,
    and the numbers of those whose range is the measure.
    """

    x: np.ndarray
    compared: np.ndarray
    weights: np.ndarray
    around: np.ndarray


@cache
def _places(n: int) -> _Places:
    """Return the places of stretches of n steps: the ends of these come first."""
    x = np.concatenate([np.arange(n + 1), [j % n + j * GOLDEN % 1.0 for j in range(1, 9)]])
    rows = []
    for k in range(n + 1, len(x)):
        first = min(max(int(x[k]) - 1, 0), max(n - 3, 0))
        ends = list(range(first, min(first + 3, n) + 1))
        rows.append((k, ends, ends))
    if n == 4:
        rows.append((2, [0, 1, 3, 4], [0, 1, 2, 3, 4]))
    weights, around = np.zeros((len(rows), len(x))), []
    for row, (k, ends, told) in zip(weights, rows, strict=True):
        row[ends] = _through(x[ends], float(x[k]))
        around.append(told + told[:1] * (5 - len(told)))
    return _Places(x, np.array([k for k, *_ in rows]), weights, np.array(around))


def _worst(laws: list[_OfTime], stretches: list[_FewSteps], n: int) -> _Gap | None:
    """Return where a law is resolved least, or None."""
    places = _places(n)
    f = np.array([law(s.t + s.h * places.x) for law, s in zip(laws, stretches, strict=True)])
    finite = np.isfinite(f).all(axis=2)  # one without a value where steps end needs none
    f[~finite] = 0.0
    sizes = np.abs(f).max(axis=2)
    largest = float(sizes.max())
    with np.errstate(all="ignore"):
        wrong = np.abs(places.weights @ f - f[:, places.compared])
        around = f[:, places.around]
        least = around.max(axis=2) - around.min(axis=2) + tolerances.UNRESOLVED_LEAST * largest
        beyond = (wrong - least).max(axis=2)
    beyond[~finite[:, places.compared]] = np.inf
    beyond[~finite[:, places.around].all(axis=2)] = 0.0
    if not (beyond <= 0.0).all():
        i, j = (int(k) for k in np.unravel_index(np.argmax(beyond), beyond.shape))  # or no number
        s, x = stretches[i], float(places.x[places.compared[j]])
        begin = s.t + s.h * min(int(x), n - 1)
        return _Gap(laws[i], begin, s.h, s.t + s.h * x, float(wrong[i, j].max()))
    i = int(np.argmax(sizes)) // len(places.x)
    if largest <= 2 * float(np.median(sizes[i])):  # no spike
        return None
    s = stretches[i]
    run = stretches[0].t, max(x.t for x in stretches) + s.h * n
    spike = _spike(laws[i], run, s.t + s.h * np.sort(places.x), sizes[i][np.argsort(places.x)])
    if spike is None:
        return None
    begin = s.t + s.h * float(np.floor((spike[0] - s.t) / s.h))
    return _Gap(laws[i], begin, s.h, *spike)


def _resolving(law: _OfTime, a: float, h: float) -> float:
    """Return a part of a step [s] that resolves a law within it, or 0: it has no bounds."""
    # parts of `odd` are no simple parts of the step; a coarser one may fit a period by chance
    resolves, odd = 0.0, h * (1 - tolerances.UNRESOLVED_LEAST)
    for parts in (4 << k for k in range(tolerances.HALVED, -1, -1)):
        times = a + odd / (2 * parts) * np.arange(2 * parts + 1)
        f = law(times)
        ends, middles = f[::2], f[3:-3:2]
        wrong = np.abs((9 * (ends[1:-2] + ends[2:-1]) - ends[:-3] - ends[3:]) / 16 - middles)
        if not (wrong.mean(axis=0) <= tolerances.RESOLVED_ERROR * np.ptp(f, axis=0)).all():
            break
        sizes = np.abs(f).max(axis=1)
        if not resolves and _spike(law, (times[0], times[-1]), times, sizes) is not None:
            break
        resolves = h / parts
    return resolves


def _spike(
    law: _OfTime, bounds: tuple[float, float], times: np.ndarray, sizes: np.ndarray
) -> tuple[float, float] | None:
    """Return when a law is twice as large as at the times at hand [s], and its size, or None.

    It is looked for around the largest value: a pole is higher the nearer one comes.
    """
    most = float(sizes.max())
    reach, t = float(np.diff(times).max()), float(times[np.argmax(sizes)])
    for _ in range(4):
        near = np.linspace(max(bounds[0], t - reach), min(bounds[1], t + reach), 18)
        sizes = np.nan_to_num(np.abs(law(near)).max(axis=1), nan=0.0)
        t, reach, largest = float(near[np.argmax(sizes)]), reach / 8, float(sizes.max())
        if not largest <= 2 * most:
            return t, largest
    return None
