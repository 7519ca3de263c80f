"""Runs in pieces: the states between them are kept, and steps are taken again when needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import number
from mbd.base.run_tolerances import WHOLE_STEPS
from mbd.derivatives.legs import Leg, legs_of
from mbd.derivatives.runs import Prepared, check_steps, quiet
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.model.state import State
from mbd.runs.plan import number_of_steps

_WHO = "gradient"


def refuse_with_every(rtol: Any, events: Any) -> None:
    """Refuse what does not go in pieces of as many steps each."""
    for name, value in (("rtol", rtol), ("events", None if events == () else events)):
        if value is not None and not (isinstance(value, list) and not value):
            raise ValueError(
                f"{_WHO}: every= belongs to steps of one size without events, got {name}="
                f"{shown(value)}; leave one of them out"
            )


@dataclass(frozen=True, eq=False)
class RunPiece:
    """Some steps of a run, on from a state of it; none: from its start."""

    of: Prepared
    state: State | None
    t_end: float
    step: float

    def run(self, progress: Any, every: int = 1) -> Solution:
        """Take the steps; keep every so many."""
        start = self.of.start
        solution = simulate(
            self.of.model, self.t_end, self.step, method=self.of.method, progress=progress,
            every=every, state=start.state if self.state is None else self.state,
            project=start.project if self.state is None else None,
        )  # fmt: skip
        check_steps(_WHO, solution)
        return solution

    def again(self) -> tuple[Solution, list[Leg]]:
        """Take the steps again; return them, all of them kept, and their legs."""
        with quiet():
            solution = self.run(False)
            start = self.of.start if self.state is None else self.state
            of = self.of
            return solution, legs_of(
                _WHO, of.model, of.method, solution, start, self.step, self.t_end
            )


def in_pieces(
    of: Prepared, t_end: Any, step: Any, progress: Any, every: int
) -> tuple[list[RunPiece], Solution]:
    """Run in pieces of so many steps; return them, and a solution of the instants between them."""
    h, end = (number(_WHO, word, x, "s", positive=True) for word, x in
              (("step", step), ("t_end", t_end)))  # fmt: skip
    begin = 0.0 if of.start.state is None else float(of.start.state.t)
    n = int(np.ceil(number_of_steps(_WHO, end - begin, every * h) - (1.0 + WHOLE_STEPS) / every))
    times = [begin + k * every * h for k in range(1, max(n, 1))] + [end]
    pieces, runs = list[RunPiece](), list[Solution]()
    for t in times:
        pieces.append(RunPiece(of, runs[-1].state if runs else None, t, h))
        try:
            runs.append(pieces[-1].run(progress, every))
        except BaseException as error:
            own = vars(error).get("solution")
            some = runs if own is None else [*runs, own]
            if some:
                vars(error)["solution"] = _joined(of, some, end, every)
            raise
    return pieces, _joined(of, runs, end, every)


def _joined(of: Prepared, runs: list[Solution], end: float, every: int) -> Solution:
    """Return the instants of runs that go on from each other."""
    stats = dict[str, float]()
    for name in runs[0].stats:
        stats[name] = sum(x.stats[name] for x in runs)

    def of_all(name: str) -> np.ndarray:
        first, *others = (np.asarray(getattr(x, name)) for x in runs)
        return np.concatenate([first, *(x[1:] for x in others)])

    return Solution(
        of.model, *(of_all(x) for x in ("t", "q", "v", "a", "lam")), status=runs[-1].status,
        message=runs[-1].message, stats=stats, last=runs[-1].state, method=of.method,
        before=runs[0].before, options=runs[0].options | {"t_end": end, "every": every},
    )  # fmt: skip
