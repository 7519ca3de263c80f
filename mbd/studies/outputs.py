"""Outputs of a study: quantities by name, at recorded instants or reduced, of many members."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from mbd.base.checked import called, shown
from mbd.drawing.curves import curves
from mbd.front.solution import Solution
from mbd.history.columns import divided, model_columns, parts
from mbd.history.instants import Instants, instants_of_runs
from mbd.history.joint_coordinates import counted, each_instant, freedoms, periodic
from mbd.history.quantities import SINCE_THE_START, Energy, Momentum, PartHistory, table
from mbd.history.quantity import MATRIX, Owner, Quantity
from mbd.history.totals import masses
from mbd.history.trajectory import Trajectory
from mbd.model.model import Model
from mbd.model.turns_so_far import Before, turns_so_far
from mbd.runs.record import columns
from mbd.studies.batch_run import BatchRecord

_REDUCED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {  # over the axis of time
    "final": lambda x, axis: x.take(-1, axis),
    "max": np.max,
    "min": np.min,
}
_GAP = tuple(x for x in table() if x.flat == "gap")
_FREE = (Owner.BODY, Owner.TURNING, Owner.JOINT, Owner.ROWS)  # each instant by itself


@dataclass(frozen=True)
class Output:
    """Output of a run that is kept.

    Attributes
    ----------
    name : str
        In the results.
    quantity : str
        "rod.position", "rod.position.x", "energy.total"; empty: the function has the solution.
    reduce : str or callable, optional
        "final", "max", "min", or a function of the values over time (n, ...).
    """

    name: str
    quantity: str
    reduce: Any = None

    @property
    def over_time(self) -> bool:
        """Whether it has a value at each instant."""
        return self.reduce is None

    def reduced(self, values: np.ndarray) -> np.ndarray:
        """Return the output of values over time."""
        if self.reduce is None:
            return values
        named = _REDUCED.get(self.reduce)
        return self.own(values) if named is None else np.asarray(named(values, 0), float)

    def own(self, of: Any) -> np.ndarray:
        """Return what the function of a user makes of values, or of a solution."""
        return np.asarray(called(f"study: the function of {self.name!r}", self.reduce, of), float)

    def reduced_each(self, values: np.ndarray, of: BatchRecord) -> list[Any]:
        """Return the outputs of values (n, k, ...) of n runs, or what a function raised."""
        named = _REDUCED.get(self.reduce)
        if named is not None:
            return [*named(values, 1)]
        return [_tried(self.reduced, of.of(i, x)) for i, x in enumerate(values)]


def outputs_of(who: str, outputs: Any) -> tuple[Output, ...]:
    """Return the outputs that an argument stands for."""
    named = outputs.items() if isinstance(outputs, Mapping) else ((None, x) for x in _list(outputs))
    done: dict[str, Output] = {}
    for key, what in named:
        quantity, reduce = (
            what if isinstance(what, tuple | list) and len(what) == 2 else (what, None)
        )
        if callable(quantity) and reduce is None:
            quantity, reduce = "", quantity
        possible = reduce is None or callable(reduce) or reduce in tuple(_REDUCED)
        if not isinstance(quantity, str) or not possible or (not quantity and key is None):
            raise ValueError(
                f'{who}: an output must be a quantity, "rod.position", or one with "final", "max", '
                '"min" or a function, ("hinge.force", "max"); a function of the solution needs a '
                f'name, {{"reach": f}}; got {shown(what)}'
            )
        word = reduce if isinstance(reduce, str) else getattr(reduce, "__name__", "")
        name = str(key or " ".join([quantity, word]).strip())
        if name in done or name in ("t", "status", "message", "component", "member"):
            raise ValueError(f"{who}: two outputs are called {name!r}, or it is a name of results; "
                             "give names: {'tip': ...}")  # fmt: skip
        done[name] = Output(name, quantity, reduce)
    if not done:
        raise ValueError(f'{who}: outputs must name a quantity, such as ["rod.position"], got none')
    return tuple(done.values())


def _list(outputs: Any) -> Sequence[Any]:
    if isinstance(outputs, str) or callable(outputs):
        return [outputs]
    if isinstance(outputs, tuple) and len(outputs) == 2 and outputs[1] in tuple(_REDUCED):
        return [outputs]
    return list(outputs) if isinstance(outputs, Sequence) else [outputs]


def of_solution(output: Output, solution: Solution) -> np.ndarray:
    """Return an output of one solution."""
    if not output.quantity:
        return output.own(solution)
    return output.reduced(_values(solution, output.quantity)[0])


def _values(solution: Solution, quantity: str) -> tuple[np.ndarray, tuple[str, ...], str]:
    """Return values (n, ...), components and unit of a quantity."""
    several = curves(solution, quantity, "study")
    if len(several) > 1:
        names = ", ".join(x.name for x in several)
        raise KeyError(f"study: {quantity!r} stands for several quantities; name one of {names}")
    series = several[0]
    values = np.asarray(series.values, float)
    one = len(series.components) == 1 and values.ndim == 2
    return (values[:, 0], (), series.unit) if one else (values, series.components, series.unit)


def described(output: Output, solution: Solution) -> dict[str, Any]:
    """Return components and unit of an output, for the results."""
    if not output.quantity:
        return {"components": (), "unit": ""}
    _, components, unit = _values(solution, output.quantity)
    return {"components": components, "unit": unit}


@dataclass(frozen=True)
class Runs:
    """Runs of a batch that went well.

    Attributes
    ----------
    instants : BatchRecord
    same_kinematics : bool
        Whether rows and faces do not know the parameters.
    own : callable
        The model of each run.
    masses : callable
        Their ``energy.masses`` (n, .), or None if each model is to be asked.
    """

    instants: BatchRecord
    same_kinematics: bool
    own: Callable[[int], Model]
    masses: Callable[[], np.ndarray | None]

    @cached_property
    def of_masses(self) -> np.ndarray:
        """Matrices W of the bodies of all runs."""
        all_of_them = self.masses()
        if all_of_them is None:
            return np.array([masses(self.own(i)) for i in range(len(self.instants.rows))])
        return all_of_them

    def told(self, last: bool) -> Instants:
        """Return what the models tell of all instants, or of the last one alone."""
        return self._of_last if last else self._of_all

    @cached_property
    def _of_all(self) -> Instants:
        x = self.instants
        return instants_of_runs(x.model, x.F, self.of_masses, x.rows)

    @cached_property
    def _of_last(self) -> Instants:
        x = self.instants.last()
        return instants_of_runs(x.model, x.F, self.of_masses, x.rows)


def of_batch(output: Output, runs: Runs) -> list[Any]:
    """Return an output of each run of a batch, or what its function raised.

    Sums over all parts are told of by the kernel of all instants. Where rows and faces do not know
    the parameters, or the quantity is one of bodies at each instant by itself, all runs are
    evaluated at once with one model; else each with its own.
    """
    instants, same_kinematics, own = runs.instants, runs.same_kinematics, runs.own
    model = instants.model
    one_grid = instants.lengths is None  # of time, for sums over it
    of = _of_all_parts(output.quantity)
    if of is not None and (one_grid or of[0] not in SINCE_THE_START):
        alone = output.reduce == "final" and not len(model.memory) and of[0] not in SINCE_THE_START
        return output.reduced_each(_told(*of, runs.told(alone)), instants)
    if (what := _each_by_itself(output.quantity, model, same_kinematics)) is not None:
        wanted = instants.last() if output.reduce == "final" else instants
        each = [output.reduced_each(_over_instants(*what, x), x) for x in wanted.pieces()]
        return list(chain.from_iterable(each))
    coordinate = _coordinate(output.quantity, model) if same_kinematics and one_grid else None
    if coordinate is not None:
        each = [output.reduced_each(_over_runs(*coordinate, x), x) for x in instants.pieces()]
        return list(chain.from_iterable(each))
    of_joint = any(output.quantity.startswith(f"{name}.") for name in model.system.joints)
    same = same_kinematics and of_joint

    def of_run(i: int) -> np.ndarray:
        of = model if same else own(i)
        t, impulsive = (
            instants.of(i, instants.rows[i, :, k]) for k in (0, columns(instants.model)[-1])
        )
        raw = (instants.of(i, x[i]) for x in instants.raw)
        solution = Solution(of, t, *raw, before=_turns(of), impulsive=impulsive)
        return of_solution(output, solution)

    return [_tried(of_run, i) for i in range(len(instants.rows))]


def _of_all_parts(quantity: str) -> tuple[Quantity, str] | None:
    """Return the entry of a quantity of the whole model, and the component, if it is one."""
    entries = {x.flat: x for x in (*table(Energy), *table(Momentum), *_GAP)}
    name, component = divided(quantity, entries)
    there = name in entries and component in ("", *entries[name].axes.components)
    return (entries[name], component) if there else None


def _told(entry: Quantity, component: str, told: Instants) -> np.ndarray:
    """Return a quantity of the whole model, or a component, of many runs (n, k)."""
    if entry.take:
        values = entry.take(told)
    else:
        energies = Energy({x.flat: x.take(told) for x in table(Energy) if x.take})
        values = getattr(energies, entry.name)
    return values[..., entry.axes.components.index(component)] if component else values


def _turns(model: Model) -> Before:
    """Return the angles of the described pose with their turns, which results go on from."""
    return turns_so_far(model, model.state.replace(memory=model.F[model.memory]))


def _coordinate(quantity: str, model: Model) -> tuple[str, int] | None:
    """Return the joint coordinate that a quantity is, and of which order, if it is one."""
    names = enumerate((quantity, quantity.removesuffix("_rate")))
    return next(((name, order) for order, name in names if name in freedoms(model)), None)


def _over_instants(part: str, name: str, column: Any, instants: BatchRecord) -> np.ndarray:
    """Return a quantity, or a column of it, of each run (n, k, ...); of all runs at once."""
    (n, k), model = instants.rows.shape[:2], instants.model
    t = instants.rows[..., 0].reshape(-1)
    solution = Solution(model, t, *instants.flat[:3], instants.multipliers, last=model.state)
    values = np.asarray(getattr(solution[part], name), float)
    return values.reshape(n, k, *values.shape[1:])[..., column]


def _over_runs(name: str, order: int, instants: BatchRecord) -> np.ndarray:
    """Return a joint coordinate, or its rate, of each run (n, k); of all runs at once."""
    model, (n, k) = instants.model, instants.rows.shape[:2]
    one, t = {name: freedoms(model)[name]}, np.tile(instants.t, n)
    run = Trajectory(model, t, *instants.flat, last=model.state)
    u, rate, second = (x.reshape(n, k) for x in each_instant(run, one))
    if order == 0 and len(periodic(one)):
        last = _turns(model).get(name, np.full(3, np.nan))
        before = (np.full(n, x) for x in last)
        return counted(u.T, rate.T, instants.t, *before, second=second.T)[0].T
    return (u, rate)[order]


def _tried(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Exception as error:
        return error


def _each_by_itself(
    quantity: str, model: Model, same_kinematics: bool
) -> tuple[str, str, Any] | None:
    """Return part, quantity and column of it, if it needs only the numbers of its instant."""
    part, what = divided(quantity, parts(model_columns(model)))
    word, _, component = what.partition(".")
    entry = {x.name: x for x in table(PartHistory)}.get(word)
    if entry is None or entry.of not in _FREE or entry.keep or entry.axes is MATRIX:
        return None
    own, of_body = model_columns(model).get(f"{part}.{word}"), part in model.nodes
    if own and own.array != entry.array:
        return None  # another kind of owner has a quantity of this name, as sections have a force
    if (entry.of in (Owner.BODY, Owner.TURNING)) != of_body or not (of_body or same_kinematics):
        return None
    names = (own or entry.axes).components
    if not component:
        return part, word, 0 if len(names) == 1 else slice(None)
    return (part, word, names.index(component)) if component in names else None
