r"""``mbd.gradient``: the gradient of one number of a run, whatever the number of parameters.

The adjoint of the recursion of ``sweeps.py`` goes back over the steps once; matrices are made anew
from the recorded instants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import number
from mbd.derivatives import sweeps
from mbd.derivatives.forward import check_rows
from mbd.derivatives.objective import Gradients, Objective, gradients, value_of
from mbd.derivatives.runs import DifferentiableRun, run
from mbd.derivatives.starts import start_of
from mbd.derivatives.sweep import Sweep
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System

__all__ = ["Gradient", "gradient"]


class Gradient(Mapping[str, float]):
    """The gradient of an objective by parameters, ``g["rod.mass"]``.

    Attributes
    ----------
    value : float
        The objective, in its own unit [-].
    array : (n_p,) array
        The gradient, in the order of the names [by the units of the parameters].
    solution : Solution
        The run.
    stats : dict
        What the way back cost: factorizations, evaluations.
    """

    def __init__(
        self, value: float, names: list[str], array: np.ndarray, solution: Solution,
        stats: dict[str, int],
    ) -> None:  # fmt: skip
        self.value, self.array, self.solution, self.stats = value, array, solution, stats
        self._at = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name: Any) -> float:
        return float(self.array[self._at[getattr(name, "name", name)]])

    def __iter__(self) -> Any:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __repr__(self) -> str:
        each = ", ".join(f"{name}: {self[name]:.6g}" for name in self)
        return f"Gradient({self.value:.6g}; {each})"


def gradient(
    objective: Objective,
    system: System | Model,
    parameters: Any = None,
    t_end: float | None = None,
    step: float | None = None,
    *,
    method: Method | None = None,
    state: State | None = None,
    project: bool = False,
    progress: bool | None = None,
    rtol: float | None = None,
    events: Any = (),
) -> Gradient:
    """Run a system, and go back over its steps for the gradient of an objective.

    It costs about three runs, whatever the number of parameters; the derivative is that of what the
    loop computes. All steps are kept in memory.

    Parameters
    ----------
    objective : Objective
    system, parameters, t_end, step, method, state, project, progress, rtol, events : optional
        As those of ``mbd.sensitivities`` [s].

    Returns
    -------
    Gradient

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> height = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    >>> g = mbd.gradient(height, system, ["gravity.z", "ball.velocity.z"], t_end=2.0, step=0.1)
    >>> round(g["gravity.z"], 9), round(g["ball.velocity.z"], 9)
    (2.0, 2.0)
    """
    if not isinstance(objective, Objective):
        raise TypeError(
            "gradient: objective must be an mbd.Objective(terminal=..., running=...), got "
            f"{shown(objective)}"
        )
    of = run("gradient", system, parameters, t_end, step, method, state, project, progress,
             rtol, events)  # fmt: skip
    array, stats = _backward(of, _gradients(of, objective))
    names = [s.name for s in of.stencils]
    return Gradient(value_of(objective, of.solution), names, array, of.solution, stats)


def _gradients(of: DifferentiableRun, objective: Objective) -> Gradients:
    """Return the derivatives of J by all instants, weighted as the terms are."""
    solution, model = of.solution, of.model
    n = len(solution.t)
    q, v, a = (np.zeros((n, model.n_v)) for _ in range(3))
    sum_of = Gradients(q, v, a, np.zeros((n, model.n_lam)), np.zeros(len(of.stencils)))
    weights = np.full(n, number("gradient", "step", of.steps.h, "s"))
    weights[[0, -1]] *= 0.5
    for term, which, w, last in (
        (objective.running, slice(0, n), weights, False),
        (objective.terminal, slice(n - 1, n), np.ones(1), True),
    ):
        if term is not None:
            g = gradients(term, solution, which, of.stencils, last)
            for name in ("q", "v", "a", "lam"):
                getattr(sum_of, name)[which] += w[:, None] * getattr(g, name)
            sum_of.p[:] += g.p @ w
    return sum_of


def _backward(of: DifferentiableRun, J: Gradients) -> tuple[np.ndarray, dict[str, int]]:
    """Return the gradient by all parameters."""
    model, n, N = of.model, int(of.model.I[m.N_U]), len(of.steps.t) - 1
    v, lam, n_p = model.numbering.v, model.numbering.lam, len(of.stencils)
    sweep = Sweep(model, of.method, of.stencils, 1, remembers=True)
    memory = _memory(of) if len(model.memory) else None
    sweep.work.load(of.first)
    terms = np.zeros((N + 1, 3, n))
    terms[:, 0, v], terms[:, 1, v], terms[:, 2, v], terms[:, 2, lam] = J.q, J.v, J.a, J.lam
    column = sweep.column(0)
    column[:] = 0.0
    column[: sweeps.DL] = terms[N]
    total, out = J.p.copy(), sweep.F[sweep.places["out"] :]
    begin = np.where(np.arange(N)[:, None, None] > 0, terms[:N], 0.0)
    sweep.F[m.OPEN] = 0.0
    for end in range(N, 0, -sweep.room):
        which = np.arange(end - 1, max(-1, end - 1 - sweep.room), -1)
        size = sweep.rows(of.steps, which, memory) * 3 * n
        out[:size] = begin[which].ravel()
        out[size : size + n_p] = 0.0
        sweep.run(sweeps.backward)
        total += out[size : size + n_p]
        check_rows(sweep, of.stencils)
    Q, V, W, A = (column[row, v] for row in range(sweeps.COLUMN_SIZE))
    for j, s in enumerate(of.stencils):
        one, two = start_of(model, s, of.start, of.first, of.begun)
        total[j] += Q @ two.q + V @ two.v + W @ two.a + A @ two.alg
        total[j] += J.q[0] @ one.q + J.v[0] @ one.v + J.a[0] @ one.a + J.lam[0] @ one.lam
    S = sweep.work.S
    return total, {
        "factorizations": int(S[m.N_FACTOR]), "evaluations": int(S[m.N_EVALUATE])
    }  # fmt: skip


def _memory(of: DifferentiableRun) -> np.ndarray:
    """Return what elements remember at the beginning of each step, (N, n_memory)."""
    sweep = Sweep(of.model, of.method, [], 1)
    sweep.I[sweep.k + sweeps.N_FLOWS] = 0
    sweep.work.load(of.first)
    N, n = len(of.steps.t) - 1, len(of.model.memory)
    room = min(sweep.room, sweep.room * 3 * sweep.n // n)
    pieces = []
    for first in range(0, N, room):
        size = sweep.rows(of.steps, np.arange(first, min(N, first + room)), None) * n
        sweep.run(sweeps.follow)
        pieces.append(sweep.F[sweep.places["out"] :][:size].reshape(-1, n).copy())
    return np.concatenate(pieces)
