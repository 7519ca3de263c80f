"""Floor 5. The runs of a comparison: one formulation at a time, what is true, rows of numbers."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m
from mbd.formulations.formulation import Formulation
from mbd.model.model import Model
from mbd.results.comparison import COLUMNS, QUANTITIES
from mbd.results.energy import conserves
from mbd.results.solution import Solution
from mbd.solvers.methods import orders, sharp
from mbd.solvers.simulate import simulate

if TYPE_CHECKING:
    from mbd.model.system import System

__all__ = ["Trial", "Truth", "difference", "extrapolated", "last", "tabulate"]

Values = dict[str, np.ndarray]  # "bar 1.position": (3,), "bar 1.rotation": (3, 3), ...
_LAST = 1 << 60  # keep the first and the last instant only
_FAILURES = (ArithmeticError, RuntimeError, np.linalg.LinAlgError)
_ROUND_OFF = 1e-13  # of positions, relative to the size of the model
_POWER = {"position": 0, "rotation": 0, "velocity": 1, "force": 2}  # of the step, for round-off
_TURN = 0.02  # a timed turn has as many runs as begin within this time [s]


@dataclass
class Truth:
    """Values at the end, what they are and how sure they are."""

    values: Values
    said: str
    error: dict[str, float] = field(default_factory=lambda: dict.fromkeys(QUANTITIES, math.nan))


def last(solution: Solution, names: Iterable[str]) -> Values:
    """Return what is compared, at the last instant."""
    values = {}
    for name in names:
        history = solution[name]
        joint = name in solution.model.system.joints
        point = not joint and not history.body.formulation.axes
        for what in ("force",) if joint else ("position", "velocity", "rotation")[: 3 - point]:
            values[f"{name}.{what}"] = np.array(getattr(history, what)[-1])
    return values


def difference(a: Values, b: Values, what: str, masks: dict[str, np.ndarray]) -> float:
    """Return the largest distance of the two of one quantity; nan if there is none."""
    found = [math.nan]
    for name in a.keys() & b.keys():
        owner, _, kind = name.rpartition(".")
        mask = masks.get(owner, np.ones(3, bool))
        if kind == what and mask.any():
            gap = a[name] - b[name]  # of rotations: twice the sine of half the angle, times root 2
            found.append(float(np.linalg.norm(gap[mask]) / (math.sqrt(2) if gap.ndim > 1 else 1)))
    return max(found[1:], default=math.nan)


class Trial:
    """One formulation: its model, its runs, its rows."""

    def __init__(self, law: str | Formulation) -> None:
        self.law = law
        self.name = law if isinstance(law, str) else law.name
        self.model: Model | None = None
        self.refusal = ""
        self.error: ValueError | None = None
        self.found: dict[float, dict[str, Any]] = {}
        self.seconds: dict[float, list[float]] = {}

    def build(self, make: Callable[..., System], parameters: dict[str, Any]) -> None:
        """Build the model, or note why the scene refuses."""
        try:
            self.model = make(formulation=self.law, **parameters).build()
        except ValueError as error:
            self.error, self.refusal = error, str(error) or "ValueError"

    def run(
        self, h: float, method: Any, options: dict[str, Any], every: int = _LAST
    ) -> tuple[Solution | None, str]:
        """Return the solution, or None, and what went wrong or was warned of."""
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
        said = [str(w.message) for w in caught]
        return solution, "; ".join(said if solution.success else [solution.message, *said])

    def measure(
        self,
        h: float,
        method: Any,
        options: dict[str, Any],
        truth: Truth,
        masks: dict[str, np.ndarray],
    ) -> None:
        """Run once, with everything kept; what is refused with one step is so with all."""
        if self.refusal:
            return
        solution, message = self.run(h, method, options, every=1)
        row = self.found[h] = {"message": message}
        row["status"] = "refused" if self.refusal else "failed"
        if solution is None:
            return
        n = max(1.0, solution.stats["steps"])
        row |= {k: solution.stats[k] / n for k in ("iterations", "factorizations")}
        row |= {k: int(solution.stats[k]) for k in ("steps", "rejected")}
        row |= {"gap": float(solution.gap.max()), "conservative": conserves(solution.model.system)}
        energy = solution.energy.total
        row["energy_change"] = float(np.abs(energy - energy[0]).max())
        numbering = solution.model.numbering
        own = [solution.lam[:, numbering.owners[b]] for b in solution.model.system.bodies]
        row["own_multiplier"] = max((float(np.abs(x).max()) for x in own if x.size), default=0.0)
        if not solution.success:
            return
        row["status"] = "done"
        end = last(solution, {k.rpartition(".")[0] for k in truth.values})
        for what in QUANTITIES:
            row[f"{what}_error"] = difference(end, truth.values, what, masks)
        zero = {k: np.zeros_like(x) for k, x in truth.values.items()}
        size = difference(truth.values, zero, "force", masks)
        if size > 0:
            row["force_error_relative"] = row["force_error"] / size

    def clock(self, h: float, method: Any, options: dict[str, Any]) -> None:
        """Take the fastest of the runs of one turn, if the measured run was good."""
        if self.found.get(h, {}).get("status") != "done":
            return
        began, best = time.perf_counter(), math.inf
        while True:
            solution, _ = self.run(h, method, options)
            if solution is None or not solution.success:
                return
            best = min(best, solution.stats["seconds"])
            if time.perf_counter() - began > _TURN:
                break
        self.seconds.setdefault(h, []).append(best)


def extrapolated(
    one: Trial,
    names: list[str],
    steps: list[float],
    method: Any,
    options: dict[str, Any],
    masks: dict[str, np.ndarray],
) -> Truth | None:
    """Extrapolate a formulation to the step zero; None if a run fails."""
    best = sharp(method)
    levels = [*steps[-2:], steps[-1] / 2]
    runs = []
    for h in levels:
        if one.refusal:
            return None
        solution, _ = one.run(h, best, options)
        if solution is None or not solution.success:
            return None
        runs.append(last(solution, names))
    first, of_forces = orders(method)

    def limit(n: int) -> Values:
        h = np.array(levels[-n:])

        def weights(p: int) -> np.ndarray:
            powers = np.vstack([np.ones(n), *(h**k for k in range(p, p + n - 1))])
            return np.linalg.solve(powers, np.eye(n)[0])

        of = {False: weights(first), True: weights(of_forces)}
        return {
            k: sum(w * r[k] for w, r in zip(of[k.endswith(".force")], runs[-n:], strict=True))
            for k in runs[0]
        }

    values = limit(len(levels))
    truth = Truth(
        values, f"{one.name}, extrapolated from steps {', '.join(f'{h:g}' for h in levels)} s"
    )
    if len(levels) == 3:
        truth.error = {what: difference(values, limit(2), what, masks) for what in QUANTITIES}
    return truth


def tabulate(found: list[Trial], steps: list[float], unsure: dict[str, float]) -> list[dict]:
    """Return the rows of the comparison, each with all columns."""
    done = [one for one in found if any(r["status"] == "done" for r in one.found.values())]
    rows = []
    for one in found:
        mine = []
        for h in steps[:1] if one.refusal else steps:
            row: dict[str, Any] = dict.fromkeys(COLUMNS, math.nan)
            row |= {"formulation": one.name, "step": h, "status": "refused", "steps": 0,
                    "rejected": 0, "conservative": False, "message": one.refusal}  # fmt: skip
            sizes = (("n_q", "n_q"), ("n_v", "n_v"), ("n_rows", "n_lam"))
            row |= {key: getattr(one.model, name, 0) for key, name in sizes}
            row |= one.found.get(h, {})
            if one.seconds.get(h):
                row["run_time"] = statistics.median(one.seconds[h])
                row["step_time"] = 1e6 * row["run_time"] / max(1, row["steps"])
                if done[0].seconds.get(h):
                    base = statistics.median(done[0].seconds[h])
                    row["time_ratio"] = row["run_time"] / base
            mine.append(row)
        for what in QUANTITIES:
            noise = _noise(one.model, what) if one.model is not None else 0.0
            order = _order(
                [(r["step"], r[f"{what}_error"]) for r in mine], unsure[what], noise, _POWER[what]
            )
            for row in mine:
                row[f"{what}_order"] = order
        rows += mine
    return rows


def _noise(model: Model, what: str) -> float:
    """Return what round-off of positions may do to a quantity, but for powers of the step."""
    length = 1.0 if what == "rotation" else float(model.F[m.LENGTH])
    mass = max(b.mass for b in model.system.bodies.values()) if what == "force" else 1.0
    return _ROUND_OFF * length * mass


def _order(points: list[tuple[float, float]], unsure: float, noise: float, power: int) -> float:
    """Return the slope of errors over steps, of those that mean something."""
    least = 2 * unsure if math.isfinite(unsure) else 0.0
    kept = [(math.log(h), math.log(e)) for h, e in points if e > max(least, noise / h**power)]
    if len(kept) < 2:
        return math.nan
    x, y = np.array(kept).T
    return float(np.polyfit(x, y, 1)[0])
