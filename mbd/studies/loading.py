"""Loading of a batch: constants, the described state, addresses of kernels."""

from __future__ import annotations

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.batch import Batch
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.model.workspace import Workspace

__all__ = ["first_state", "load", "others"]


def others(
    before: np.ndarray, after: np.ndarray, first: int, stop: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places at which two buffers differ, and what the second one has there."""
    one, two = (x[first:stop].view(np.int64) for x in (before, after))
    places = first + np.flatnonzero(one != two)
    return places, after[places]


def first_state(model: Model) -> int:
    """Return where the state begins: before it are integers and constants."""
    return min(int(model.I[x]) for x in m.VECTORS if m.VECTORS[x].region == m.STATE)


@per_model
def _addresses(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the integers that a work space has beside those of the model."""
    return others(model.F, Workspace(model, model.state).F, m.INTS, first_state(model))


def load(batch: Batch, model: Model, F: np.ndarray, stop: int) -> None:
    """Write constants F (n, .) to a batch as ``Workspace`` does; its work up to `stop` is zero."""
    batch.F[:, : F.shape[1]] = F
    batch.F[:, F.shape[1] : stop] = 0.0
    places, addresses = _addresses(model)
    batch.F[:, places] = addresses
    batch.vector(m.Y, 12)[:] = batch.vector(m.GROUND, 12)
    batch.vector(m.QN, model.n_q)[:] = batch.vector(m.Q, model.n_q)
