r"""Objectives: one number of a run, of quantities by name at the end and along the way.

.. math:: J = \int j_r\,dt + j_t(t_{end}), \qquad
          \int j_r\,dt := \sum_n \tfrac{h}{2}(j_{r,n} + j_{r,n+1})

Their derivatives by the coordinates are differenced too, of those parts alone that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.analyses.equilibrium import PartAtPose
from mbd.base.checked import called, function
from mbd.base.tolerances import SENSITIVITY_STEP
from mbd.derivatives.differences import KinkError, slope
from mbd.derivatives.named import moved
from mbd.derivatives.parameters import Stencil
from mbd.derivatives.step_kernels import DA, DQ, DV, INSTANT_SIZE
from mbd.history.history import History
from mbd.history.quantities import SINCE_THE_START
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.turns_so_far import turns_so_far
from mbd.model.values import changed
from mbd.statics.search import EquilibriumError


@dataclass(frozen=True)
class Objective:
    """A number of a run, as a function of what it has by name.

    Parameters
    ----------
    terminal : callable, optional
        ``f(last) -> number``: of the last instant, ``last["rod"].position[2]``.
    running : callable, optional
        ``f(run) -> (n,) array``: at each instant by itself, ``run["rod"].position[:, 2]**2``; it is
        integrated over time by the trapezoidal rule.
    of : callable, optional
        ``f(model)`` returns an ``Equilibrium``, ``Modes``, ``Linearized`` or ``Buckling`` that
        ``terminal`` is a number of, in the place of a run: ``of=mbd.modes`` and
        ``terminal=lambda modes: modes.frequency[0]``.
    """

    terminal: Callable[[Any], Any] | None = None
    running: Callable[[Any], Any] | None = None
    of: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.terminal is None and self.running is None:
            raise TypeError("Objective: give terminal= or running=, functions of a run; got none")
        for word, value, what in (
            ("terminal", self.terminal, "of a run"), ("running", self.running, "of a run"),
            ("of", self.of, "of a model"),
        ):  # fmt: skip
            if value is not None:
                function("Objective", word, value, what)
        if self.of is not None and self.running is not None:
            raise TypeError("Objective: of= goes with terminal= alone, for nothing runs; got both")

    def result(self, model: Any) -> Any:
        """Return what of= makes of a model."""
        assert self.of is not None
        return called("Objective: of", self.of, model, lacks=(EquilibriumError,))


_SUMMED = (
    "{} adds up since the first instant, and a term sees single instants: give the power at each "
    "of them to running=, whose integral is part of J"
)


class _NotingHistory:
    """A history that notes which parts are asked for; "" is all of them."""

    def __init__(self, history: Any, names: set[str], last: bool) -> None:
        self._history, self._names, self._last = history, names, last

    def __getitem__(self, name: str) -> Any:
        self._names.add(name)
        part = self._history[name]
        return PartAtPose(part) if self._last else part

    def __getattr__(self, name: str) -> Any:
        if name == "t":
            return self._history.t[-1] if self._last else self._history.t
        if name == "drift":
            raise ValueError(_SUMMED.format(name))
        self._names.add("")
        value = getattr(self._history, name)
        if name == "energy":
            value = _EnergyNow(value)
        return PartAtPose(value) if self._last else value


class _EnergyNow:
    """Energies of single instants; what adds up over a run is refused."""

    def __init__(self, energy: Any) -> None:
        self._energy = energy

    def __getattr__(self, name: str) -> Any:
        if name in (*(x.name for x in SINCE_THE_START), "conservative"):
            raise ValueError(_SUMMED.format(f"energy.{name}"))
        return getattr(self._energy, name)


class View:
    """What of modes, of a linear system or of critical loads a term may read."""

    def __init__(self, of: str, **quantities: Any) -> None:
        self._of, self._quantities = of, quantities

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._quantities:
            raise AttributeError(
                f"{name!r} of {self._of} has no derivative; there are {', '.join(self._quantities)}"
            )
        return self._quantities[name]


@dataclass(frozen=True, eq=False)
class Gradients:
    """Values of the terms of n instants (n,), and their derivatives.

    ``z`` (n, 3, n_u) by q, v and (v', lam), ``p`` (n_p, n) by parameters, ``t`` (n,) by time, of
    what depends on it apart from the state.
    """

    value: np.ndarray
    z: np.ndarray
    p: np.ndarray
    t: np.ndarray


def _terms(term: Callable[[Any], Any], history: Any, names: set[str], last: bool) -> np.ndarray:
    """Return the values of a term at the instants of a history, (n,)."""
    n = len(history.t)
    word = "terminal" if last else "running"
    value = _called(term, _NotingHistory(history, names, last), word)
    if value.shape != (() if last else (n,)):
        expected = "one number" if last else f"({n},) numbers, one for each instant"
        raise ValueError(f"Objective: {word} must return {expected}, got shape {value.shape}")
    if not np.isfinite(value).all():
        bad = int(np.argmin(np.isfinite(value)))
        raise ValueError(
            f"Objective: {word} must be finite, got {value.flat[bad]} at t = "
            f"{history.t[bad - last]:.6g} s"
        )
    return np.atleast_1d(value)


def _called(term: Callable[[Any], Any], of: Any, word: str) -> np.ndarray:
    try:
        return np.asarray(term(of), float)
    except Exception as error:
        raise RuntimeError(f"Objective: {word} raised {type(error).__name__}: {error}") from error


def by_values(
    term: Callable[[Any], Any], view: Callable[[Any], Any], values: dict[Any, np.ndarray]
) -> tuple[float, dict[Any, np.ndarray]]:
    r"""Return a number J of values that a view shows, and its weights c.

    .. math:: \delta J = \mathrm{Re}\sum_k c_k\,\delta y_k

    Values that the term asks for while it is evaluated are among them then.
    """

    def number(of: Any) -> float:
        y = _called(term, view(of), "terminal")
        if y.shape:
            raise ValueError(f"Objective: terminal must return one number, got shape {y.shape}")
        if not np.isfinite(y):
            raise ValueError(f"Objective: terminal must be finite, got {float(y)}")
        return float(y)

    J = number(values)
    weights = {key: np.zeros(y.shape, complex) for key, y in values.items()}
    for key, y in values.items():
        for i in np.ndindex(y.shape):
            step = SENSITIVITY_STEP * float(abs(y[i]) or _size(y))
            for unit in (1.0, 1j) if np.iscomplexobj(y) else (1.0,):

                def there(
                    e: float, key: Any = key, y: Any = y, i: Any = i, unit: Any = unit
                ) -> float:
                    other = y.copy()
                    other[i] += e * unit
                    return number({**values, key: other})

                if there(float(0.5 * step)) != J:
                    weights[key][i] += _slope(there, step, "terminal") * np.conj(unit)
    return J, weights


def last_of(solution: Any) -> History:
    """Return the last instant of a solution; angles are counted on."""
    arrays = (np.asarray(x[-1:]) for x in (solution.q, solution.v, solution.a, solution.lam))
    before = turns_so_far(solution.model, solution.state)
    return History(solution.model, solution.t[-1:], *arrays, before=before)


def _coordinates(model: FrozenModel, names: set[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocities, and the rows, that the quantities of parts depend on."""
    system, numbering = model.system, model.numbering
    if "" in names:
        return np.arange(model.n_v), np.arange(model.n_lam)
    nodes: set[str] = set()
    rows: list[int] = []
    for name in names:
        owner = name.partition("/")[0]
        own = numbering.owners.get(owner, slice(0))
        rows += range(own.start or 0, own.stop)
        if owner in model.nodes:
            nodes.add(owner)
            continue
        part = system[name]
        ends = [a for e in part.elements() for a in e.attachments]
        ends += [a for x in part.coordinates.values() for a in x.attachments]
        nodes |= (
            {x.name for x in part.nodes()} | {a.body for a in ends} | {x.name for x in part.bodies}
        )
    chosen = [x in nodes for x in model.nodes]
    return np.flatnonzero(np.array(chosen)[model.node_of_velocity]), np.unique(np.array(rows, int))


def gradients(
    term: Callable[[Any], Any], here: History, stencils: list[Stencil], last: bool, h: float
) -> Gradients:
    """Return the derivatives of a term at the instants of a history, of steps of about size h."""
    model, names, word = here.model, set[str](), "terminal" if last else "running"
    rest = _terms(term, here, names, last)
    arrays = {"q": here.q, "v": here.v, "a": here.a, "lam": here.lam}
    out = np.zeros((len(here.t), INSTANT_SIZE, int(model.I[m.N_U])))

    def terms(of: Any = None, **changes: np.ndarray) -> np.ndarray:
        t = changes.pop("t", here.t)
        history = History(of or model, t, **(arrays | changes), before=here.before)
        return _terms(term, history, names, last)

    def depends(name: str) -> bool:
        x = arrays[name]
        wave = 1.0 + np.sin(1.0 + np.arange(x.size)).reshape(x.shape)
        return x.size > 0 and not np.array_equal(rest, terms(**{name: x + _size(x) * wave}))

    def shifted(name: str, i: int) -> Callable[[float], np.ndarray]:
        x, unit = arrays[name], np.eye(1, arrays[name].shape[1], i)[0]
        return lambda e: terms(**{name: x + e * unit})

    def turned(i: int) -> Callable[[float], np.ndarray]:
        d, node = np.eye(1, model.n_v, i), list(model.nodes)[model.node_of_velocity[i]]
        return lambda e: terms(q=moved(model, here.q, e * d, node))

    columns, rows = _coordinates(model, names)
    v, lam = model.numbering.v, model.numbering.lam
    for name, of, row, unknowns in (
        ("v", columns, DV, v), ("a", columns, DA, v), ("lam", rows, DA, lam),
    ):  # fmt: skip
        step = SENSITIVITY_STEP * _size(arrays[name])
        for i in of if depends(name) else ():
            out[:, row, unknowns[i]] = _slope(shifted(name, i), step, word)
    for i in columns:
        out[:, DQ, v[i]] = _slope(turned(i), SENSITIVITY_STEP * model.units[i], word)
    by_t = np.zeros(len(rest))
    if not np.array_equal(rest, terms(t=here.t + SENSITIVITY_STEP * h)):
        by_t = _slope(lambda e: terms(t=here.t + e), SENSITIVITY_STEP * h, word)

    def reads(models: Iterable[Any]) -> bool:
        return any(not np.array_equal(rest, terms(x)) for x in models)

    by_p = np.zeros((len(stencils), len(rest)))
    if len(stencils) < 2 or reads(_elsewhere(model, stencils)):
        for j, s in enumerate(stencils):
            if reads(s.described):
                by_p[j] = s.derivative(terms)
    return Gradients(rest, out, by_p, by_t)


def _slope(term: Callable[[float], Any], step: float, word: str) -> np.ndarray:
    """Return the derivative of a term, at the distances where it is smooth."""
    try:
        return slope(term, step)
    except KinkError as error:
        raise KinkError(
            f"Objective: {word} {error}; move its kink off the run, or smooth it, such as "
            "np.sqrt(x**2 + e**2) in the place of abs(x)"
        ) from None


def _elsewhere(model: FrozenModel, stencils: list[Stencil]) -> Iterator[Any]:
    """Yield a model in which all parameters have other values, each by a share of its own.

    Where there is no such model, those of the parameters one by one.
    """
    waves = 1.0 + 0.5 * np.sin(1.0 + np.arange(len(stencils)))
    values = {s.name: s.value + w * s.step for s, w in zip(stencils, waves, strict=True)}
    try:
        yield changed(model, values, measured=False)
    except ValueError:
        for s in stencils:
            yield from s.described


def _size(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0)) or 1.0
