"""Runs of a comparison and its reference: one formulation and method at a time, rows of numbers."""

import math
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbd.base.checked import called, shown
from mbd.base.door import rotation_matrix, vector
from mbd.base.tolerances import WHOLE_STEPS
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.front.richardson import weights
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.runs.methods import sharp
from mbd.studies import error_measures as em
from mbd.studies.comparison import COLUMNS

_LAST = 1 << 60  # keep the first and the last instant only
_FAILURES = (ArithmeticError, RuntimeError, np.linalg.LinAlgError)
_MICROSECOND = 1e-6  # s
_TURN = 0.02  # a timed turn has as many runs as begin within this time [s]
_RELATIVE = [what for what, x in em.QUANTITIES.items() if x.reaction]


@dataclass
class Trial:
    """One formulation and method: its model, its runs, its rows.

    Attributes
    ----------
    choice : str or Formulation
        As it is given to the scene.
    name : str
    method : integrator, optional
    how : str
        What the method is called in the table.
    model : Model, optional
        None where the scene refuses, and ``error`` says why; ``refusal`` may be of the method too.
    rows : dict
        What was measured, by step.
    seconds : dict
        Of the turns, by step.
    """

    choice: str | Formulation
    name: str
    method: Any = None
    how: str = ""
    model: Model | None = None
    refusal: str = ""
    error: ValueError | None = None
    rows: dict[float, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[float, list[float]] = field(default_factory=dict)

    @property
    def formulation(self) -> Formulation:
        """The formulation."""
        return named(self.choice) if isinstance(self.choice, str) else self.choice

    def build(self, who: str, make: Callable[..., System], parameters: dict[str, Any]) -> None:
        """Build the model, or note why the scene refuses."""
        from mbd.model.system import System

        try:
            system = called(f"{who}: build", make, formulation=self.choice, **parameters)
            if not isinstance(system, System):
                raise TypeError(f"{who}: build must return an mbd.System, got {system!r}")
            self.model = system.build()
        except ValueError as error:
            self.error, self.refusal = error, str(error.__cause__ or error) or "ValueError"

    def by(self, method: Any, how: str) -> "Trial":
        """Return the same formulation, which is built, with a method."""
        return replace(self, method=method, how=how, rows={}, seconds={})

    def run(
        self, h: float, options: dict[str, Any], every: int = _LAST, method: Any = None
    ) -> tuple[Solution | None, str]:
        """Return the solution, or None, and what went wrong or was warned of."""
        method = self.method if method is None else method
        model: Any = self.model
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                solution = simulate(
                    model, step=h, method=method, every=every, raise_on_failure=False, **options
                )
            except ValueError as error:
                self.refusal = str(error)
                return None, self.refusal
            except _FAILURES as error:
                return None, f"{type(error).__name__}: {error}"
        if solution.status < 0:
            raise KeyboardInterrupt
        texts = [str(w.message) for w in caught]
        return solution, "; ".join(texts if solution.success else [solution.message, *texts])

    def measure(
        self, h: float, options: dict[str, Any], truth: em.Values, masks: em.Values
    ) -> None:
        """Run once, with everything kept; what is refused with one step is so with all."""
        if self.refusal:
            return
        solution, message = self.run(h, options, every=1)
        row = self.rows[h] = {"message": message}
        row["status"] = "refused" if self.refusal else "failed"
        if solution is None:
            return
        n = max(1.0, solution.stats["steps"])
        row |= {k: solution.stats[k] / n for k in ("iterations", "factorizations")}
        row |= {k: int(solution.stats[k]) for k in ("steps", "rejected")}
        energy = solution.energy
        row |= {"gap": float(solution.gap.max()), "conservative": energy.conservative}
        row["energy_change"] = float(np.abs(energy.total - energy.total[0]).max())
        numbering = solution.model.numbering
        own = [solution.lam[:, numbering.owners[b]] for b in solution.model.nodes]
        first = (x[0] for x in (solution.t, solution.q, solution.v, solution.a, solution.lam))
        start = solution.model.assemble(State(*first))
        row["condition"] = start.condition(step=h) if solution.model.n_v else math.nan
        row["own_multiplier"] = max((float(np.abs(x).max()) for x in own if x.size), default=0.0)
        if not solution.success:
            return
        row["status"] = "done"
        turning = [x for x in solution.model.nodes.values() if x.formulation.axes]
        turns = (solution[x.name].rotation for x in turning)
        away = (np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max() for R in turns)
        row["rotation_drift"] = float(max(away, default=0.0))
        end = em.last(solution, truth)
        for what in em.QUANTITIES:
            row[f"{what}_error"] = em.difference(end, truth, what, masks)
        zero = {k: np.zeros_like(x) for k, x in truth.items()}
        for what in _RELATIVE:
            size = em.difference(truth, zero, what, masks)
            if size > 0:
                row[f"{what}_error_relative"] = row[f"{what}_error"] / size

    def clock(self, h: float, options: dict[str, Any]) -> None:
        """Take the fastest of the runs of one turn, if the measured run was good."""
        if self.rows.get(h, {}).get("status") != "done":
            return
        began, best = time.perf_counter(), math.inf
        while True:
            solution, _ = self.run(h, options)
            if solution is None or not solution.success:
                return
            best = min(best, solution.stats["seconds"])
            if time.perf_counter() - began > _TURN:
                break
        self.seconds.setdefault(h, []).append(best)


def tabulate(
    problem: str, trials: list[Trial], steps: list[float], unsure: dict[str, float]
) -> list[dict]:
    """Return the rows of the comparison, each with all columns."""
    done = [one for one in trials if any(r["status"] == "done" for r in one.rows.values())]
    rows = []
    for one in trials:
        mine = []
        for h in steps[:1] if one.refusal else steps:
            row: dict[str, Any] = dict.fromkeys(COLUMNS, math.nan)
            row |= {"problem": problem, "formulation": one.name, "method": one.how, "step": h,
                    "status": "refused", "steps": 0, "rejected": 0, "conservative": False,
                    "message": one.refusal}  # fmt: skip
            sizes = (("n_q", "n_q"), ("n_v", "n_v"), ("n_rows", "n_lam"))
            row |= {key: getattr(one.model, name, 0) for key, name in sizes}
            row |= one.rows.get(h, {})
            if one.seconds.get(h):
                row["run_time"] = statistics.median(one.seconds[h])
                row["step_time"] = row["run_time"] / max(1, row["steps"]) / _MICROSECOND
                if done[0].seconds.get(h):
                    base = statistics.median(done[0].seconds[h])
                    row["time_ratio"] = row["run_time"] / base
            mine.append(row)
        for what in em.QUANTITIES:
            least = 2 * unsure[what] if math.isfinite(unsure[what]) else 0.0
            order = _order(
                [
                    (row["step"], row[f"{what}_error"])
                    for row in mine
                    if row[f"{what}_error"] > max(least, _round_off(one, what, row))
                ]
            )
            for row in mine:
                row[f"{what}_order"] = order
        rows += mine
    return rows


def telling(trials: list[Trial], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the quantities that have an error above round-off in some row."""
    of = {(one.name, one.how): one for one in trials}
    return tuple(
        what
        for what in em.QUANTITIES
        if any(
            row[f"{what}_error"] > _round_off(of[row["formulation"], row["method"]], what, row)
            for row in rows
        )
    )


def _round_off(one: Trial, what: str, row: dict[str, Any]) -> float:
    """Return the size of errors of a row that are round-off."""
    return 0.0 if one.model is None else em.noise(one.model, what, row["step"])


def _order(points: list[tuple[float, float]]) -> float:
    """Return the slope of errors over steps."""
    if len(points) < 2:
        return math.nan
    x, y = np.log(points).T
    return float(np.polyfit(x, y, 1)[0])


@dataclass
class Reference:
    """Values at the end, what they are and how sure they are."""

    values: em.Values
    label: str
    error: dict[str, float] = field(default_factory=lambda: dict.fromkeys(em.QUANTITIES, math.nan))


def published(entries: Any, model: Model, keys: list[str], end: float) -> Reference | None:
    """Return what a scene knows at the end of what counts, or None."""
    can, names = em.known_as(model), {em.owner(key) for key in keys}
    there = {
        x: (value, source)
        for x, t, value, _, source in entries
        if abs(t - end) <= WHOLE_STEPS * end and x in can and em.owner(x) in names
    }
    if not there:
        return None
    sources = dict.fromkeys(source for _, source in there.values())
    values = {x: np.atleast_1d(np.array(value, float)) for x, (value, _) in there.items()}
    return Reference(values, f"what the scene knows: {', '.join(sources)}")


def reference_of(
    who: str, choice: Any, trials: list[Trial], keys: list[str], steps: list[float],
    options: dict[str, Any], masks: em.Values,
) -> Reference:  # fmt: skip
    """Return the reference that errors are measured against."""
    if isinstance(choice, Solution):
        end = options["t_end"]
        if abs(choice.t[-1] - end) > WHOLE_STEPS * end:
            raise ValueError(
                f"{who}: the reference must end at t_end = {end:g} s, it ends at {choice.t[-1]:g} s"
            )
        return Reference(em.last(choice, keys), "the solution given")
    if isinstance(choice, Mapping):
        return Reference(_values(who, choice, trials, keys), "the values given")
    best = sorted(trials, key=lambda one: -one.method.facts.orders[0])  # the first of the best
    for one in best if choice is None else [_meant(who, choice, trials)]:
        if one.model is not None:
            extrapolated = _extrapolated(one, keys, steps, options, masks)
            if extrapolated is not None:
                if len({x.how for x in trials}) > 1:
                    extrapolated.label += f", by {one.how}"
                return extrapolated
    return Reference({}, "nothing: the runs of the reference failed")


def _values(
    who: str, given_values: Mapping[str, Any], trials: list[Trial], keys: list[str]
) -> em.Values:
    """Return known values by name, checked."""
    model = next(one.model for one in trials if one.model is not None)
    can, names, values = em.known_as(model), {em.owner(key) for key in keys}, {}
    for key, value in given_values.items():
        if key not in can:
            raise ValueError(
                f"{who}: the reference may have {', '.join(list(can)[:20])}, got {shown(key)}"
            )
        what = f"reference {key!r}"
        if can[key] == "rotation":
            checked = rotation_matrix(who, what, value)
        else:
            rows = len(
                model.numbering.lam_labels[model.numbering.owners.get(em.owner(key), slice(0))]
            )
            size = {"load": 1, "scale": 1, "multipliers": rows}.get(can[key], 3)
            unit = em.QUANTITIES[can[key]].unit
            one = np.atleast_1d(value) if size == 1 else value
            checked = vector(who, what, one, unit, size)
        if em.owner(key) in names:
            values[key] = checked
    return values


def _meant(who: str, choice: Any, trials: list[Trial]) -> Trial:
    """Return the formulation that a reference names: its name, words with options, the object."""
    names = ", ".join(one.name for one in trials)
    formulation = choice
    if isinstance(choice, str):
        for one in trials:
            if one.name == choice:
                return one
        try:
            formulation = named(choice)
        except ValueError:
            formulation = None
    if not isinstance(formulation, Formulation):
        raise ValueError(
            f"{who}: reference must be a solution, values by name or one of the formulations "
            f"({names}; of {', '.join(NAMES)}), got {shown(choice)}"
        )
    for one in trials:
        if one.formulation is formulation:
            return one
    raise ValueError(
        f"{who}: the reference {formulation.name!r} is not among the formulations, {names}; add it"
    )


def _extrapolated(
    one: Trial, keys: list[str], steps: list[float], options: dict[str, Any], masks: em.Values,
) -> Reference | None:  # fmt: skip
    """Extrapolate a formulation to the step zero; None if a run fails."""
    best = sharp(one.method)
    levels = [*steps[-2:], steps[-1] / 2]
    runs = []
    for h in levels:
        if one.refusal:
            return None
        solution, _ = one.run(h, options, method=best)
        if solution is None or not solution.success:
            return None
        runs.append(em.last(solution, keys))

    def limit(n: int) -> em.Values:
        of = [weights(p, np.array(levels[-n:])) for p in one.method.facts.orders]
        return {
            k: sum(
                w * r[k]
                for w, r in zip(of[em.QUANTITIES[em.quantity(k)].reaction], runs[-n:], strict=True)
            )
            for k in runs[0]
        }

    values = limit(len(levels))
    extrapolated = Reference(
        values, f"{one.name}, extrapolated from steps {', '.join(f'{h:g}' for h in levels)} s"
    )
    if len(levels) == 3:
        extrapolated.error = {
            what: em.difference(values, limit(2), what, masks) for what in em.QUANTITIES
        }
    return extrapolated
