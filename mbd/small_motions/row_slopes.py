r"""Derivatives of the rates of rows at a state, by differences of the kernels that write them.

:math:`\ddot\Phi` is a polynomial of second order in v, of which central differences are exact;
along positions they are of fourth order.
"""

import numpy as np

from mbd.algebra.differences import FOURTH
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace


class RowSlopes:
    """Rates of the rows beside a state, rows on positions first, those on velocities last."""

    def __init__(self, model: Model, state: State) -> None:
        self.model, self.v = model, model.numbering.v
        self.work, self.speed = Workspace(model, state), state.v
        self.order = np.concatenate([np.flatnonzero(~model.rolling), np.flatnonzero(model.rolling)])

    def along(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of first and second rates along changes of positions (n_v, k)."""
        units = self.model.units
        size = np.abs(X / units[:, None]).max(0, initial=0.0)
        steps = FOURTH / np.where(size > 0.0, size, 1.0)
        first, second = (np.zeros((len(self.order), X.shape[1])) for _ in range(2))
        for weight, at in zip((1.0, -8.0, 8.0, -1.0), (-2, -1, 1, 2), strict=True):
            for j, step in enumerate(steps):
                self.work.vector(m.D)[self.v] = at * step * X[:, j]
                rates = self._rates()
                first[:, j] += weight / (12 * step) * rates[0]
                second[:, j] += weight / (12 * step) * rates[1]
        self.work.vector(m.D)[self.v] = 0.0
        return first, second

    def by_velocity(self, X: np.ndarray) -> np.ndarray:
        """Return the derivative of the second rates along changes of velocities (n_v, k)."""
        slopes = np.zeros((len(self.order), X.shape[1]))
        most = np.abs(self.speed).max(initial=0.0) or 1.0
        for j, x in enumerate(X.T):
            step = most / (np.abs(x).max(initial=0.0) or 1.0)
            for sign in (1.0, -1.0):
                self.work.vector(m.V)[self.v] = self.speed + sign * step * x
                slopes[:, j] += sign / (2 * step) * self._rates()[1]
        self.work.vector(m.V)[self.v] = self.speed
        return slopes

    def _rates(self) -> np.ndarray:
        """Return first and second rates; those of compliant rows, which are forces, are zero."""
        self.work.evaluate(all_rows=True)
        both = np.where(self.model.compliant, 0.0, np.array(self.work.rates()))
        return np.asarray(both[:, self.order])
