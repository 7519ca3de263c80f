"""Increments of pose along the manifold of configurations, also over a time."""

from __future__ import annotations

import numpy as np

from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["ahead", "displaced"]


def displaced(model: FrozenModel, state: State, increment: np.ndarray) -> State:
    """Return the state with the positions q [+] increment (n_v,), all else as it is."""
    work = Workspace(model, state)
    work.vector(m.D)[model.numbering.v] = increment
    work.evaluate()
    return state.replace(q=work.vector(m.Q, model.n_q).copy())


def ahead(model: FrozenModel, state: State, s: float, a: np.ndarray) -> Workspace:
    """Return a work space a time s later: q [+] (s v + s^2 a / 2), v + s a, t + s."""
    work = Workspace(model, state)
    v = model.numbering.v
    work.vector(m.D)[v] = s * state.v + 0.5 * s * s * a
    work.vector(m.V)[v] = state.v + s * a
    work.F[m.T] = state.t + s
    return work
