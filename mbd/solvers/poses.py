"""Floor 4. A pose beside another one: increments along the manifold."""

from __future__ import annotations

import numpy as np

from mbd.algebra import memory as m
from mbd.model.model import Model, State, Workspace

__all__ = ["displaced"]


def displaced(model: Model, state: State, increment: np.ndarray) -> State:
    """Return the state with the positions q [+] increment (n_v,), all else as it is."""
    work = Workspace(model, state)
    work.vector(m.D)[model.numbering.v] = increment
    work.evaluate()
    return state.replace(q=work.vector(m.Q, model.n_q).copy())
