r"""Summary of very many members: mean, deviation, extremes, quantiles, the worst one.

Mean and sum of squares are merged as by Chan, Golub and LeVeque (1979). Quantiles come from
compacted samples (Manku, Rajagopalan and Lindsay, SIGMOD 1998): a full buffer is sorted, and every
other value goes on with twice the weight; the rank is off by less than
:math:`\log_2(n/2k)/(2k)` of all, k = 1024 values, of up to 2k members by nothing. Of one component
at one instant values are by themselves.
"""

from typing import Any

import numpy as np

_HALF = 1024


class Summary:
    """Statistics of one output.

    Parameters
    ----------
    levels : tuple of float
        Quantiles that are asked for.
    """

    def __init__(self, levels: tuple[float, ...]) -> None:
        self.levels, self.n, self.members = levels, 0, 0
        self.buffers: list[list[np.ndarray]] = [[]]
        self.turn = 0
        self.worst, self.size = -1, -np.inf

    def add(self, x: np.ndarray) -> None:
        """Take in the values (n, ...) of some members, NaN of those that failed."""
        first, self.members = self.members, self.members + len(x)
        good = np.flatnonzero(~np.isnan(x.reshape(len(x), -1)).any(axis=1))
        if not len(good):
            return
        x = x[good]
        sizes = np.abs(x.reshape(len(x), -1)).max(axis=1)
        if sizes.max() > self.size:
            self.worst, self.size = first + int(good[sizes.argmax()]), float(sizes.max())
        n, mean = len(x), x.mean(axis=0)
        squares = ((x - mean) ** 2).sum(axis=0)
        if not self.n:
            self.n, self.mean, self.squares = n, mean, squares
            self.least, self.most = x.min(axis=0), x.max(axis=0)
        else:
            change, n_old = mean - self.mean, self.n
            self.n = n_old + n
            self.mean = self.mean + change * (n / self.n)
            self.squares = self.squares + squares + change**2 * (n_old * n / self.n)
            self.least = np.minimum(self.least, x.min(axis=0))
            self.most = np.maximum(self.most, x.max(axis=0))
        if self.levels:
            self._keep(0, x)

    def _keep(self, level: int, x: np.ndarray) -> None:
        """Put values of weight 2^level to their buffer; halve what is full."""
        if level == len(self.buffers):
            self.buffers.append([])
        buffer = self.buffers[level]
        buffer.append(x)
        if sum(map(len, buffer)) > 2 * _HALF:
            values = np.sort(np.concatenate(buffer), axis=0)
            whole = len(values) // 2 * 2
            self.buffers[level] = [values[whole:]]
            self.turn = 1 - self.turn
            self._keep(level + 1, values[self.turn : whole : 2])

    def statistics(self) -> tuple[list[str], np.ndarray]:
        """Return the names of statistics, and their values (k, ...)."""
        names = ["mean", "std", "min", "max", *(f"{100 * p:g} %" for p in self.levels)]
        if not self.n:
            return names, np.full(len(names), np.nan)
        deviation = np.sqrt(self.squares / max(1, self.n - 1))
        return names, np.array([self.mean, deviation, self.least, self.most, *self._quantiles()])

    def _quantiles(self) -> list[Any]:
        if not self.levels:
            return []
        pieces = [(2.0**i, x) for i, buffer in enumerate(self.buffers) for x in buffer]
        values = np.concatenate([x for _, x in pieces])
        weights = np.concatenate([np.full(len(x), w) for w, x in pieces])
        flat = values.reshape(len(values), -1)
        done = np.empty((len(self.levels), flat.shape[1]))
        for j, column in enumerate(flat.T):
            order = np.argsort(column)
            below = np.cumsum(weights[order]) - weights[order]
            rank = below + 0.5 * (weights[order] - 1.0)
            done[:, j] = np.interp(
                np.array(self.levels) * (weights.sum() - 1.0), rank, column[order]
            )
        return list(done.reshape(len(self.levels), *values.shape[1:]))
