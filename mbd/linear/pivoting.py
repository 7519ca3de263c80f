"""Linear equations by SuperLU with threshold pivoting, where pivots of the fronts are none."""

from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.jit import called_back
from mbd.model.workspace import Workspace


class PivotingSolver:
    """`factor_and_solve` of one work space in Python: the matrix of its fronts, by SuperLU.

    Its ``address`` in S[LINEAR] makes any method solve by it, slower, in the same unknowns. What is
    raised on the way, by Ctrl-C say, is kept until `check`; until then solutions are no numbers, so
    that steps fail.
    """

    def __init__(self, work: Workspace) -> None:
        self.work, self.lu = work, None
        self.error: BaseException | None = None
        self.address, self._keeper = called_back(self)

    def __call__(self, _I: Any, _F: Any, k: int = 0) -> None:
        """Factor if k is 1, then solve; right-hand side and solution in X."""
        from scipy.sparse.linalg import splu  # a tenth of a second that other runs need not spend

        from mbd.model.pattern import sparse

        work, x = self.work, self.work.vector(m.X)
        try:
            if k == 1:
                work.S[m.N_FACTOR] += 1
                self.lu = splu(sparse(work.model, work.F), permc_spec="COLAMD")
            x[:] = np.nan if self.error or self.lu is None else self.lu.solve(x)
        except RuntimeError:  # exactly singular
            work.S[m.SMALL_PIVOTS] += 1
        except BaseException as error:
            self.error, x[:] = error, np.nan

    def check(self) -> None:
        """Raise what was raised within."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
