"""The closed loop of sampled laws, compiled: laws, inputs, steps and observations in one call.

All laws that are due see the same observations; then inputs are set. What each has seen and set
goes to rows of its own. Where a law fails, rows are full or a step asks for care, the loop returns
there, and Python goes on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd.base.tolerances import LARGEST
from mbd.control.compiled_law import CompiledLaw
from mbd.control.compiled_step import C_EXCHANGE, C_INPUTS, EXCHANGE_HEAD, steps_with_inputs
from mbd.integration.newton_loop import CONVERGED
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, address_of, floats_at, ints, jit, law_call, loop

_ROWS = 1024  # of each law that are kept before Python takes them over
LAW_FAILED = 8  # next to the statuses of steps: the law that is due is to be asked in Python
# floats G of a loop: steps done, whether a gap between samples is left half way; then of each law
# states, outputs, inputs, count of rows, rows
DONE, HALF_WAY, HEAD = range(3)
# record at I[k]: the record of the step, the address of G, laws
L_STEP, L_FLOATS, _HIGH, L_NUMBER, L_HEAD = range(5)
# law: address, period in steps, how many numbers it sees, sets and keeps as states, which ones it
# sees and sets, where its floats begin, how many rows there may be
LAW, _HIGH_OF_LAW, PERIOD, N_Y, N_U, N_X, WHICH_Y, WHICH_U, AT, MOST, LAW_SIZE = range(11)


@jit
def _parts(I: Any, c: int) -> tuple[int, int, int, int]:
    """Return where states, outputs, inputs and rows of a law are in G."""
    x, n_x = I[c + AT], I[c + N_X]
    out = x + n_x
    inputs = out + I[c + N_U] + n_x
    return x, out, inputs, inputs + 1 + I[c + N_Y] + n_x


@jit
def sample(I: Any, F: Any, k: int) -> bool:
    """Ask all laws that are due, and set inputs; tell whether that went well: else all stays."""
    step, G = I[k + L_STEP], floats_at(address_at(I, k + L_FLOATS))
    done, y = int(G[DONE]), I[step + C_EXCHANGE] + EXCHANGE_HEAD + I[step + C_INPUTS]
    first, end = k + L_HEAD, k + L_HEAD + I[k + L_NUMBER] * LAW_SIZE
    for c in range(first, end, LAW_SIZE):
        if done % I[c + PERIOD] != 0:
            continue
        x, out, inputs, _ = _parts(I, c)
        n_y, n_x = I[c + N_Y], I[c + N_X]
        G[inputs] = F[m.T]
        for i in range(n_y):
            G[inputs + 1 + i] = F[y + I[I[c + WHICH_Y] + i]]
        for i in range(n_x):
            G[inputs + 1 + n_y + i] = G[x + i]
        if law_call(address_at(I, c + LAW), G, inputs, out, inputs) != 0:
            return False
        for i in range(out, inputs):
            if not abs(G[i]) <= LARGEST:
                return False
    for c in range(first, end, LAW_SIZE):
        if done % I[c + PERIOD] == 0:
            _note(I, F, G, c, y)
    return True


@jit
def _note(I: Any, F: Any, G: Any, c: int, y: int) -> None:
    """Keep what a law has seen and set, and go on to its next states."""
    x, out, _, rows = _parts(I, c)
    n_y, n_u, n_x = I[c + N_Y], I[c + N_U], I[c + N_X]
    row = rows + 1 + int(G[rows]) * (1 + n_y + n_u + n_x)
    G[row] = F[m.T]
    for i in range(n_y):
        G[row + 1 + i] = F[y + I[I[c + WHICH_Y] + i]]
    for i in range(n_u):
        G[row + 1 + n_y + i] = G[out + i]
    for i in range(n_x):
        G[row + 1 + n_y + n_u + i] = G[x + i]
        G[x + i] = G[out + n_u + i]
    G[rows] += 1.0


@jit
def _set(I: Any, F: Any, G: Any, k: int) -> None:
    """Set the outputs of the laws that were due."""
    u = I[I[k + L_STEP] + C_EXCHANGE] + EXCHANGE_HEAD
    for c in range(k + L_HEAD, k + L_HEAD + I[k + L_NUMBER] * LAW_SIZE, LAW_SIZE):
        if int(G[DONE]) % I[c + PERIOD] == 0:
            _, out, _, _ = _parts(I, c)
            for i in range(I[c + N_U]):
                F[u + I[I[c + WHICH_U] + i]] = G[out + i]


@jit
def _gap(I: Any, G: Any, k: int) -> int:
    """Return how many steps there are to the next sample, 0 if rows of one that is due are full."""
    done, gap = int(G[DONE]), 1 << 40
    for c in range(k + L_HEAD, k + L_HEAD + I[k + L_NUMBER] * LAW_SIZE, LAW_SIZE):
        gap = min(gap, I[c + PERIOD] - done % I[c + PERIOD])
        _, _, _, rows = _parts(I, c)
        if done % I[c + PERIOD] == 0 and G[rows] >= I[c + MOST]:
            return 0
    return gap


@loop
def closed_loop_kernel(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps in closed loop, by the record at I[k].

    The count of steps goes on with whole gaps between samples; where one is left half way,
    S[N_STEPS] is its length.
    """
    S, G = ints(F), floats_at(address_at(I, k + L_FLOATS))
    left, G[HALF_WAY] = S[m.N_STEPS], 0.0
    S[m.STATUS] = CONVERGED
    while left > 0:
        gap = min(left, _gap(I, G, k))
        if gap == 0:
            return
        if not sample(I, F, k):
            S[m.STATUS] = LAW_FAILED
            return
        _set(I, F, G, k)
        S[m.N_STEPS] = gap
        if not steps_with_inputs(I, F, I[k + L_STEP]):
            G[HALF_WAY] = 1.0
            return
        G[DONE] += gap
        left -= gap


class LoopLaw(NamedTuple):
    """A sampled law in a compiled loop.

    Attributes
    ----------
    law : CompiledLaw
    period : int
        Steps between samples.
    y, u : (n,) arrays of int
        Numbers of observations that it sees, of inputs that it sets.
    n_x : int
        How many states it has.
    """

    law: CompiledLaw
    period: int
    y: np.ndarray
    u: np.ndarray
    n_x: int

    @property
    def width(self) -> int:
        """Numbers of a row: t, y, u, x."""
        return 1 + len(self.y) + len(self.u) + self.n_x

    @property
    def floats(self) -> int:
        """Numbers before its rows: states, outputs, inputs, count of rows."""
        return self.n_x + len(self.u) + self.n_x + 1 + len(self.y) + self.n_x + 1


class CompiledLoop:
    """Sampled laws around a compiled step, whose record is at I[step].

    Attributes
    ----------
    tables : (n,) array of int
    record : int
        Where that of the loop is.
    floats : (n,) array
        The number of steps that were taken, then what laws keep.
    exchange : list of (inputs, outputs)
        What each law is handed, t, y and x, and what it writes, u and the next x.
    """

    def __init__(self, tables: np.ndarray, step: int, laws: Sequence[LoopLaw]) -> None:
        self.laws, self.record = laws, len(tables)
        ends = np.cumsum([HEAD] + [x.floats + _ROWS * x.width for x in laws]).tolist()
        self.floats = np.zeros(ends[-1])
        which = self.record + L_HEAD + LAW_SIZE * len(laws)
        record, places = [step, *m.halves(address_of(self.floats)), len(laws)], list[int]()
        for law, at in zip(laws, ends, strict=False):
            n_y, n_u = len(law.y), len(law.u)
            first = which + len(places)
            record += [
                *m.halves(law.law.address), law.period, n_y, n_u, law.n_x, first, first + n_y,
                at, _ROWS,
            ]  # fmt: skip
            places += [*law.y, *law.u]
        self._rows = [at + x.floats - 1 for x, at in zip(laws, ends, strict=False)]
        self._states = ends
        self.exchange = []
        for law, at in zip(laws, ends, strict=False):
            out, inputs = at + law.n_x, at + 2 * law.n_x + len(law.u)
            self.exchange.append(
                (self.floats[inputs:][: 1 + len(law.y) + law.n_x], self.floats[out:inputs])
            )
        self.tables = m.entries(tables, record, places)

    def go_on(self, done: int, states: Sequence[np.ndarray]) -> None:
        """Begin after so many steps, with these states of the laws."""
        self.floats[DONE] = done
        for at, x in zip(self._states, states, strict=False):
            self.floats[at : at + len(x)] = x

    def rows(self) -> list[np.ndarray]:
        """Return the rows (n, .) of each law, t, y, u, x, since this was asked last."""
        taken = []
        for law, at in zip(self.laws, self._rows, strict=True):
            n = int(self.floats[at])
            taken.append(self.floats[at + 1 :][: n * law.width].reshape(n, law.width).copy())
            self.floats[at] = 0.0
        return taken

    def states(self) -> list[np.ndarray]:
        """Return the states of each law."""
        return [
            self.floats[at : at + x.n_x].copy()
            for x, at in zip(self.laws, self._states, strict=False)
        ]
