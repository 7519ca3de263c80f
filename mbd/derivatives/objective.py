r"""Objectives: one number of a run, of quantities by name at the end and along the way.

.. math:: J = \int j_r\,dt + j_t(t_{end}), \qquad
          \int j_r\,dt := \sum_n \tfrac{h}{2}(j_{r,n} + j_{r,n+1})

Their derivatives by the coordinates are differenced too, of those parts alone that were asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.algebra.differences import EIGHTH
from mbd.analyses.equilibrium import PartAtPose
from mbd.base.checked import called, function
from mbd.derivatives.differences import CENTRAL, KinkError, differentiated, slope
from mbd.derivatives.named import moved
from mbd.derivatives.observed_terms import SumOfSquares, observed_term
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
    terminal : callable, str or sum_of_squares, optional
        ``f(last) -> number``: of the last instant, ``last["rod"].position[2]``; or a number by
        name, "rod.position.z", or ``mbd.sum_of_squares``: these are compiled.
    running : callable, str or sum_of_squares, optional
        ``f(run) -> (n,) array``: at each instant by itself, ``run["rod"].position[:, 2]**2``; it is
        integrated over time by the trapezoidal rule. Or as ``terminal``.
    of : callable, optional
        ``f(model)`` returns an ``Equilibrium``, ``Modes``, ``Linearized`` or ``Buckling`` that
        ``terminal`` is a number of, in the place of a run: ``of=mbd.modes`` and
        ``terminal=lambda modes: modes.frequency[0]``.
    """

    terminal: Callable[[Any], Any] | SumOfSquares | str | None = None
    running: Callable[[Any], Any] | SumOfSquares | str | None = None
    of: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.terminal is None and self.running is None:
            raise TypeError("Objective: give terminal= or running=, functions of a run; got none")
        for word, value, what in (
            ("terminal", self.terminal, "of a run"), ("running", self.running, "of a run"),
            ("of", self.of, "of a model"),
        ):  # fmt: skip
            if value is not None and (
                self.of is not None or not isinstance(value, SumOfSquares | str)
            ):
                function("Objective", word, value, what)
        if self.of is not None and self.running is not None:
            raise TypeError("Objective: of= goes with terminal= alone, for nothing runs; got both")

    def result(self, model: Any) -> Any:
        """Return what of= makes of a model."""
        assert self.of is not None
        return called("Objective: of", self.of, model, lacks=(EquilibriumError,))


_NEIGHBOURS = 20_000  # instants that are evaluated together
_SUMMED = (
    "{} adds up since the first instant, and a term sees single instants: give the power at each "
    "of them to running=, whose integral is part of J"
)


class _PartOnce:
    """Quantities of a part, each array evaluated once."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        if isinstance(value, np.ndarray):
            vars(self)[name] = value
        return value

    def __getitem__(self, name: Any) -> Any:
        return self._part[name]


class _NotingHistory:
    """A history that notes which parts are asked for; "" is all of them.

    At the end it is of a single one of its instants.
    """

    def __init__(self, history: Any, names: set[str], last: bool) -> None:
        self._history, self._names, self._last, self.instant = history, names, last, 0
        self._parts: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        self._names.add(name)
        if name not in self._parts:
            self._parts[name] = _PartOnce(self._history[name])
        part = self._parts[name]
        return PartAtPose(part, self.instant) if self._last else part

    def __getattr__(self, name: str) -> Any:
        if name == "t":
            return self._history.t[self.instant] if self._last else self._history.t
        if name == "drift":
            raise ValueError(_SUMMED.format(name))
        self._names.add("")
        value = getattr(self._history, name)
        if name == "energy":
            value = _EnergyNow(value)
        return PartAtPose(value, self.instant) if self._last else value


class _EnergyNow:
    """Energies of single instants; what adds up over a run is refused."""

    def __init__(self, energy: Any) -> None:
        self._energy = energy

    def __getattr__(self, name: str) -> Any:
        if name in (*(x.name for x in SINCE_THE_START), "conservative"):
            raise ValueError(_SUMMED.format(f"energy.{name}"))
        return getattr(self._energy, name)


class View:
    """Numbers of modes, of a linear system or of critical loads that a term may read."""

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
    """Values of the terms of n instants (n,), and their derivatives; or those of their sum.

    ``z`` (n, 3, n_u) by q, v and (v', lam), ``p`` (n_p, n) by parameters, ``t`` (n,) by time, of
    what depends on it apart from the state. Of a sum ``value`` is a number and ``p`` (n_p,).
    """

    value: Any
    z: np.ndarray
    p: np.ndarray
    t: np.ndarray


def _terms(term: Callable[[Any], Any], history: Any, names: set[str], last: bool) -> np.ndarray:
    """Return the values of a term at the instants of a history, (n,)."""
    n, view = len(history.t), _NotingHistory(history, names, last)
    shape: tuple[int, ...] = (n,)
    word, expected = "running", f"({n},) numbers, one for each instant"
    if last:
        word, expected, shape = "terminal", "one number", ()
    values = list[np.ndarray]()
    for view.instant in range(n if last else 1):
        values.append(_called(term, view, word))
        if values[-1].shape != shape:
            raise ValueError(
                f"Objective: {word} must return {expected}, got shape {values[-1].shape}"
            )
    value = np.array(values) if last else values[0]
    if not np.isfinite(value).all():
        bad = int(np.argmin(np.isfinite(value)))
        raise ValueError(
            f"Objective: {word} must be finite, got {value[bad]} at t = {history.t[bad]:.6g} s"
        )
    return value


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
            step = EIGHTH * float(abs(y[i]) or _size(y))
            for unit in (1.0, 1j) if np.iscomplexobj(y) else (1.0,):

                def there(
                    e: float, key: Any = key, y: Any = y, i: Any = i, unit: Any = unit
                ) -> float:
                    other = y.copy()
                    other[i] += e * unit
                    return number({**values, key: other})

                if there(float(0.5 * step)) != J:
                    with _kinks_of("terminal"):
                        weights[key][i] += slope(there, step) * np.conj(unit)
    return J, weights


def last_of(solution: Any) -> History:
    """Return the last instant of a solution; angles are counted on."""
    arrays = (np.asarray(x[-1:]) for x in (solution.q, solution.v, solution.a, solution.lam))
    before = turns_so_far(solution.model, solution.state)
    return History(solution.model, solution.t[-1:], *arrays, before=before)


def summed(
    objective: Objective, solution: Any, stencils: list[Stencil], h: float, last: bool,
    alone: set[Any],
) -> Gradients:  # fmt: skip
    """Return the derivatives of a number of a run; ``last``: the run ends there."""
    t = np.asarray(solution.t)
    value, by_t, p = 0.0, np.zeros(len(t)), np.zeros(len(stencils))
    z = np.zeros((len(t), INSTANT_SIZE, int(solution.model.I[m.N_U])))
    if objective.running is not None:
        w = 0.5 * (np.diff(t, prepend=t[0]) + np.diff(t, append=t[-1]))
        g = gradients(objective.running, solution, stencils, False, h, alone)
        value, z, by_t, p = float(w @ g.value), w[:, None, None] * g.z, w * g.t, g.p @ w
        # of the trapezoidal rule: half the sum of the neighbours' differences
        j = g.value
        by_t += 0.5 * (np.append(j[:1], j[:-1]) - np.append(j[1:], j[-1:]))
        by_t[0] -= j[0]
        by_t[-1] += j[-1]
    if last and objective.terminal is not None:
        g = gradients(objective.terminal, last_of(solution), stencils, True, h, alone)
        value, p = value + float(g.value[0]), p + g.p[:, 0]
        z[-1] += g.z[0]
        by_t[-1] += g.t[0]
    return Gradients(value, z, p, by_t)


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
        ends = [a for e in model.elements[name] for a in e.attachments]
        ends += [a for x in part.coordinates.values() for a in x.attachments]
        nodes |= (
            {x.name for x in part.nodes()} | {a.body for a in ends} | {x.name for x in part.bodies}
        )
    chosen = [x in nodes for x in model.nodes]
    return np.flatnonzero(np.array(chosen)[model.node_of_velocity]), np.unique(np.array(rows, int))


def gradients(
    term: Callable[[Any], Any] | SumOfSquares | str, here: History, stencils: list[Stencil],
    last: bool, h: float, alone: set[Any] | None = None,
) -> Gradients:  # fmt: skip
    """Return the derivatives of a term at the instants of a history, of steps of about size h.

    Neighbours of all instants, to all sides, are the instants of one history. Observed terms that
    read no parameter, the state alone, are noted in ``alone``, and are not asked again.
    """
    if isinstance(term, SumOfSquares | str):
        return _observed(term, here, stencils, last, set() if alone is None else alone)
    model, names, word = here.model, set[str](), "terminal" if last else "running"
    n, numbering = len(here.t), model.numbering
    out = np.zeros((n, INSTANT_SIZE, int(model.I[m.N_U])))
    widths = {"q": model.n_v, "v": model.n_v, "a": model.n_v, "lam": model.n_lam, "t": 1}
    arrays = {"v": here.v, "a": here.a, "lam": here.lam, "t": here.t[:, None]}

    def terms(of: Any = None, **changes: np.ndarray) -> np.ndarray:
        """Return the values with changes (n, k, .) of k neighbours, (k, n)."""
        k = max((x.shape[1] for x in changes.values()), default=1)
        rows = {name: np.repeat(x, k, axis=0) for name, x in arrays.items()}
        q = np.repeat(here.q, k, axis=0)
        for name, x in changes.items():
            if name == "q":
                q = moved(model, q, x.reshape(n * k, -1))
            else:
                rows[name] = rows[name] + x.reshape(n * k, -1)
        history = History(of or model, rows["t"][:, 0], q, rows["v"], rows["a"], rows["lam"],
                          before=here.before)  # fmt: skip
        return _terms(term, history, names, last).reshape(n, k).T

    rest = terms()[0]
    sizes = {name: _size(x) for name, x in arrays.items()} | {"t": h}
    read = dict[str, bool]()
    for name, x in arrays.items():
        wave = 1.0 + np.sin(1.0 + np.arange(x.size)).reshape(n, 1, -1)
        read[name] = x.size > 0 and not np.array_equal(
            rest, terms(**{name: sizes[name] * wave if name != "t" else 0.01 * h * wave})[0]
        )

    columns, multipliers = _coordinates(model, names)
    v, lam = numbering.v, numbering.lam
    wanted = [("q", i, DQ, v[i], EIGHTH * model.units[i]) for i in columns]
    for name, row, unknowns, of in (
        ("v", DV, v, columns), ("a", DA, v, columns), ("lam", DA, lam, multipliers)
    ):  # fmt: skip
        step = EIGHTH * sizes[name]
        wanted += [(name, i, row, unknowns[i], step) for i in of if read[name]]
    if read["t"]:
        wanted.append(("t", 0, -1, 0, EIGHTH * h))
    sides = np.array([k for k in CENTRAL.k if k], float)
    by_t = np.zeros(n)
    most = max(1, _NEIGHBOURS // (n * len(sides)))
    for first in range(0, len(wanted), most):
        some = wanted[first : first + most]

        def values(share: float, some: Any = some) -> list[np.ndarray]:
            k = len(sides) * len(some)
            changes = {name: np.zeros((n, k, widths[name])) for name in {x[0] for x in some}}
            for j, (name, i, _, _, step) in enumerate(some):
                at = slice(j * len(sides), (j + 1) * len(sides))
                changes[name][:, at, i] = share * step * sides
            there = terms(**changes).reshape(len(some), len(sides), n)
            return [np.concatenate([rest[None], x]) for x in there]

        with _kinks_of(word):
            slopes = differentiated(values, 1.0, sizes=[0.0] * len(some))
        for (_, _, row, unknown, step), by_share in zip(some, slopes, strict=True):
            if row < 0:
                by_t = by_share / step
            else:
                out[:, row, unknown] = by_share / step

    by_p, _ = _by_parameters(model, stencils, rest, lambda x: terms(x)[0])
    return Gradients(rest, out, by_p, by_t)


def _observed(
    term: SumOfSquares | str, here: History, stencils: list[Stencil], last: bool, alone: set[Any]
) -> Gradients:
    """Return the derivatives of a term that compiled code observes."""
    word = "terminal" if last else "running"
    value, z, by_t = observed_term(term, here, word)

    def terms(model: Any) -> np.ndarray:
        there = History(model, here.t, here.q, here.v, here.a, here.lam, before=here.before)
        return observed_term(term, there, word)[0]

    by_p = np.zeros((len(stencils), len(value)))
    if term not in alone:
        by_p, read = _by_parameters(here.model, stencils, value, terms)
        alone |= set() if read else {term}
    return Gradients(value, z, by_p, by_t)


def _by_parameters(
    model: FrozenModel, stencils: list[Stencil], rest: np.ndarray, terms: Callable[[Any], Any]
) -> tuple[np.ndarray, bool]:
    """Return derivatives by parameters, (n_p, n), of terms of a model whose values are rest.

    And whether they read any.
    """

    def reads(models: Iterable[Any]) -> bool:
        return any(not np.array_equal(rest, terms(x)) for x in models)

    by_p, read = np.zeros((len(stencils), len(rest))), False
    if len(stencils) < 2 or reads(_elsewhere(model, stencils)):
        for j, s in enumerate(stencils):
            if reads(s.described):
                by_p[j], read = s.derivative(terms), True
    return by_p, read


@contextmanager
def _kinks_of(word: str) -> Iterator[None]:
    """Name the term that is differentiated where it has a kink."""
    try:
        yield
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
