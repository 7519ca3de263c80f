r"""Functions of time as tables of cubic polynomials, evaluated in compiled code.

.. math:: y = y_0 + \sum_k M_k\,(s_k, \dot s_k, \ddot s_k)^T, \qquad
          s_k(t) = \sum_{j=0}^3 c_{ij}\,(t - x_i)^j, \quad e_{i-1} < t \le e_i

with three outputs y of a law. A table stands in an array of its own, at an address that its law
knows: new coefficients are new values of the law, and nothing is compiled again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.machine.jit import law_of_table

# a table: which input is the time, number of terms, y_0, then the terms
INPUT, N_TERMS, OUTPUTS, TERMS = 0, 1, 2, 5
# a term: number of pieces, M by rows, then of all pieces their ends, starts and four coefficients
N_PIECES, MATRIX, PIECES = 0, 1, 10


@dataclass(frozen=True, eq=False)
class TimeTable:
    """A table: its numbers, M of its terms (3, 3), and where their coefficients are."""

    numbers: np.ndarray
    matrices: tuple[np.ndarray, ...] = ()
    places: tuple[slice, ...] = ()

    @classmethod
    def of(
        cls, at: int, outputs: Any, terms: Sequence[tuple[Any, np.ndarray, np.ndarray, np.ndarray]]
    ) -> "TimeTable":
        """Return a table, whose input `at` is the time.

        Terms are M (3, 3), the ends and starts of pieces (n,) [s] and their coefficients (n, 4).
        """
        numbers, places = [float(at), float(len(terms)), *map(float, outputs)], []
        for M, ends, starts, coefficients in terms:
            numbers += [float(len(ends)), *np.ravel(M).tolist(), *ends.tolist(), *starts.tolist()]
            places.append(slice(len(numbers), len(numbers) + 4 * len(ends)))
            numbers += np.ravel(coefficients).tolist()
        matrices = tuple(np.array(x[0], float) for x in terms)
        return cls(np.array(numbers), matrices, tuple(places))

    def constant(self, outputs: Any) -> "TimeTable":
        """Return the table with these outputs at all times."""
        return TimeTable.of(int(self.numbers[INPUT]), outputs, ())


@law_of_table
def polynomials(inputs: Any, outputs: Any, table: Any) -> int:
    """Write the outputs of a law by its table."""
    t = inputs[int(table[INPUT])]
    for i in range(3):
        outputs[i] = table[OUTPUTS + i]
    term = TERMS
    for _ in range(int(table[N_TERMS])):
        n = int(table[term + N_PIECES])
        ends = term + PIECES
        low, high = 0, n - 1
        while low < high:
            middle = (low + high) // 2
            if t <= table[ends + middle]:
                high = middle
            else:
                low = middle + 1
        x, c = t - table[ends + n + low], ends + 2 * n + 4 * low
        s = table[c] + x * (table[c + 1] + x * (table[c + 2] + x * table[c + 3]))
        s1 = table[c + 1] + x * (2.0 * table[c + 2] + 3.0 * x * table[c + 3])
        s2 = 2.0 * table[c + 2] + 6.0 * x * table[c + 3]
        for i in range(3):
            M = term + MATRIX + 3 * i
            outputs[i] += table[M] * s + table[M + 1] * s1 + table[M + 2] * s2
        term = ends + 6 * n
    return 0
