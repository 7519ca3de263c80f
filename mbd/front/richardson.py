r"""Extrapolation of runs to the step zero (Richardson).

Where the error of steps of one size h is :math:`c_p h^p + c_{p+1} h^{p+1} + \dots`, the runs with
:math:`h, h/2, \dots, h/2^k` and the weights

.. math:: \sum_i w_i = 1, \qquad \sum_i w_i\, 2^{-ij} = 0, \quad j = p, \dots, p + k - 1,

are of order p + k; without the first of them, of order p + k - 1. Stored coordinates are
extrapolated as numbers, and brought back to unit length where they have one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.base.checked import is_whole, shown
from mbd.base.door import number
from mbd.front.solution import Solution
from mbd.integration.consistent import settled
from mbd.integration.method import Method, name_of
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.runs.plan import whole_steps


def checked_order(
    order: Any, method: Method, start: float, t_end: Any, step: Any, refused: dict[str, Any]
) -> tuple[int, float]:
    """Return how many runs give an order, and the step; refuse what has no expansion in it."""
    p = min(method.facts.orders)
    if method.facts.set_valued:
        raise ValueError(
            f"simulate: order={shown(order)} needs errors that are powers of the step, which those "
            f"of impacts are not; leave it out with {name_of(method)}, and take smaller steps"
        )
    if not is_whole(order, p + 1) or order > p + 3:
        raise ValueError(
            f"simulate: order must be a whole number from {p + 1} to {p + 3} with "
            f"{name_of(method)} of order {p}, got {shown(order)}"
        )
    for name, value in refused.items():
        if value is not None and not (isinstance(value, list | tuple) and not value):
            raise ValueError(
                f"simulate: order={order} compares runs with steps of one size at the same "
                f"instants and cannot have {name}; leave out {name}, or order and take "
                "method=mbd.RadauCollocation()"
            )
    if step is None:
        raise TypeError("simulate: step [s] must be given with order, whose steps are of one size")
    length = number("simulate", "t_end", t_end, "s") - start
    step = number("simulate", "step", step, "s", positive=True)
    whole_steps("simulate", length, step, " of a run with order, whose halves end together")
    return int(order) - p + 1, step


def weights(p: int, h: np.ndarray) -> np.ndarray:
    """Return the weights of n runs with steps h (n,)."""
    n = len(h)
    powers = np.vstack([np.ones(n), *(h**k for k in range(p, p + n - 1))])
    return np.asarray(np.linalg.solve(powers, np.eye(n)[0]))


def of_order(n: int, run: Callable[[int], Solution], method: Method) -> Solution:
    """Return the extrapolation of runs with 1, 2, 4, ... parts of a step; ``lower`` of fewer.

    A run that fails is returned as it is.
    """
    runs = []
    for k in range(n):
        runs.append(run(2**k))
        if not runs[-1].success:
            return runs[-1]
    solution = _extrapolated(runs, method)
    solution.lower = _extrapolated(runs[1:], method)
    return solution


def _extrapolated(runs: list[Solution], method: Method) -> Solution:
    """Return the weighted sum of runs at the same instants."""
    h = 0.5 ** np.arange(len(runs))
    of_motion, of_forces = (weights(p, h) for p in method.facts.orders)
    model: Model = runs[-1].model
    q, v, a, lam = (
        sum(w * np.asarray(getattr(x, name)) for w, x in zip(ws, runs, strict=True))
        for name, ws in (("q", of_motion), ("v", of_motion), ("a", of_forces), ("lam", of_forces))
    )
    q = _brought_back(model, np.asarray(q))
    impulsive = sum(w * x.impulses for w, x in zip(of_motion, runs, strict=True))
    t, stats = runs[-1].t, dict[str, float]()
    for x in runs:
        for name, value in x.stats.items():
            stats[name] = stats.get(name, 0) + value
    end = State(float(t[-1]), q[-1], v[-1], a[-1], lam[-1], memory=runs[-1].state.memory,
                off=runs[-1].state.off)  # fmt: skip
    steps = ", ".join(f"{x.options['step']:g}" for x in runs)
    return Solution(
        model, t, q, v, a, lam, impulsive=np.asarray(impulsive), status=0, stats=stats,
        method=method, before=runs[-1].before,
        message=f"{runs[-1].message}; extrapolated from steps of {steps} s",
        last=settled(model, end, project=True)[0], options=runs[0].options,
    )  # fmt: skip


def _brought_back(model: Model, q: np.ndarray) -> np.ndarray:
    """Return coordinates (n, n_q) at unit length where they have one: q [+] 0."""
    work = Workspace(model, model.state)
    moved = np.empty_like(q)
    for i in range(len(q)):
        work.vector(m.QN, model.n_q)[:] = q[i]
        work.evaluate()
        moved[i] = work.vector(m.Q, model.n_q)
    return moved
