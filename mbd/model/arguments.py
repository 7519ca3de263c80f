"""What functions take, checked: a model, and a state of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.base.checked import floats, scalar, shown
from mbd.model.frozen import FrozenModel
from mbd.model.state import State

__all__ = ["state_of"]


def state_of(owner: str, model: FrozenModel, state: Any) -> State:
    """Return a state of a model; None is the described one."""
    if state is None:
        return model.state
    if not isinstance(state, State):
        raise TypeError(
            f"{owner}: state must be a State (model.state, solution.state), got {shown(state)}"
        )
    scalar(owner, "t of the state", state.t, "s")
    for name, size in (("q", model.n_q), ("v", model.n_v), ("a", model.n_v), ("lam", model.n_lam)):
        try:
            x = floats(getattr(state, name))
        except TypeError:
            raise TypeError(
                f"{owner}: {name} of the state must be {size} numbers, got "
                f"{shown(getattr(state, name))}"
            ) from None
        if x.shape != (size,):
            raise ValueError(
                f"{owner}: {name} of the state must be {size} numbers, got shape {x.shape}; it is "
                "of another model"
            )
        if name in ("q", "v") and not np.all(np.isfinite(x)):
            raise ValueError(f"{owner}: {name} of the state must be finite")
    return state
