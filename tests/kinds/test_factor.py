"""Factors as a value: solutions with the matrix and with its transpose, against SuperLU."""

import numpy as np
import pytest
from families import spread
from scenes import random_system
from scipy.sparse.linalg import splu

from mbd.analyses.conformance import random_state
from mbd.linear.fronts import factor_and_solve, factor_kernel, transposed_kernel
from mbd.machine import buffer as m
from mbd.model.independent_rows import selected
from mbd.model.pattern import pattern
from mbd.model.workspace import Workspace

SHAPES = ["chain", "tree", "star", "ladder", "grid", "ring", "floating", "web"]


class Factor:
    """The factors of the matrix that ``Workspace.linearise`` has filled; the work space goes on."""

    def __init__(self, work):
        self._I, self._F = work.I, work.F[: work.model.size].copy()
        self._order = np.concatenate([work.model.numbering.v, work.model.numbering.lam])
        S = m.integers(self._F)
        S[m.SMALL_PIVOTS] = 0
        factor_kernel(self._I, self._F)
        self.trusted = bool(S[m.SMALL_PIVOTS] == 0)

    def solve(self, b):
        """Return S^-1 b, (n_v + n_lam,), velocities first, then rows, as in `labels`."""
        return self._solved(factor_and_solve, b)

    def solve_transposed(self, b):
        """Return S^-T b, with the same factors: what adjoint sensitivities need."""
        return self._solved(transposed_kernel, b)

    def _solved(self, kernel, b):
        at = self._I[m.X] + self._order
        self._F[at] = b
        kernel(self._I, self._F)
        return self._F[at]


def backward_error(S, x, b):
    return np.max(np.abs(S @ x - b) / (abs(S) @ np.abs(x) + np.abs(b)))


@pytest.mark.parametrize("seed", [41201, 41202])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_solutions_of_one_factor(shape, seed):
    """The unsymmetric matrix of the time loop, damped and stiff; other work goes on meanwhile."""
    rng = np.random.default_rng(seed)
    model = random_system(shape, rng).build()
    state = random_state(model, rng)
    if model.I[m.LOOPS]:  # the order is made for poses that meet their rows
        state = state.replace(q=model.state.q)
    work = Workspace(model, state.replace(lam=0.1 * state.lam))
    work.drop(selected(model, state).dropped)
    work.evaluate()
    work.linearise(1.0, 3e-3, 2e-6)
    S = pattern(model).read(work.F)
    factor = Factor(work)
    work.linearise(0.0, 1.0, 1.0)
    work.vector(m.X)[:] = np.nan
    b, c = rng.normal(size=(2, S.shape[0]))
    assert factor.trusted
    x, y = factor.solve(b), factor.solve_transposed(c)
    for matrix, solve, z, right in (
        (S, factor.solve, x, b), (S.T.tocsr(), factor.solve_transposed, y, c),
    ):  # fmt: skip
        z = z - solve(matrix @ z - right)  # of a small pivot, or of redundant rows, little is left
        assert backward_error(matrix, z, right) < 1e-7


@spread(seed=range(41210, 41214), shape=SHAPES)
def test_exchanged_pivots(shape, seed):
    """Random numbers in the fronts, zeros where the first pivots are: rows must change places."""
    rng = np.random.default_rng(seed)
    model = random_system(shape, rng).build()
    work, at = Workspace(model, random_state(model, rng)), pattern(model)
    n = len(at.starts) - 1
    work.evaluate()
    work.linearise(1.0, 1.0, 1.0)
    values = rng.normal(size=len(at.places)) * (work.F[at.places] != 0.0)
    rows = np.repeat(np.arange(n), np.diff(at.starts))
    first = model.I[model.I[m.FRONTS] + m.FR_U :: m.FR_SIZE][: model.I[m.N_FRONTS]]
    order = np.concatenate([model.numbering.v, model.numbering.lam])
    values[(rows == at.columns) & np.isin(order[rows], first)] = 0.0
    corner = (rows == at.columns) & (rows >= model.n_v)  # rows of loops may meet others
    values[corner] = rng.normal(size=int(corner.sum()))
    work.F[at.places] = (float(work.vector(m.DIAG).max()) + 1.0) * values
    S = at.read(work.F)
    factor = Factor(work)
    assert factor.trusted
    b = rng.normal(size=n)
    for matrix, x in ((S, factor.solve(b)), (S.T.tocsr(), factor.solve_transposed(b))):
        y = splu(matrix.tocsc()).solve(b)
        assert np.linalg.norm(x - y) < 1e-6 * np.linalg.norm(y)
