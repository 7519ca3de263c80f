"""Angles with their full turns at a state, and the memory of rows.

A state carries them in its memory, so that runs, files and equilibria go on where another one
ended. Results unwrap the angles of their first instant from here, and hand on the same to the
instants that follow.
"""

import numpy as np

from mbd.model.frozen import FrozenModel
from mbd.model.state import State

# by name of the body its quaternion (4,), of the spring its angle [rad], of the joint's angle the
# time [s], the angle [rad] and its rate [rad/s]; memory of rows
Before = dict[str, np.ndarray]
MEMORY = ""  # the key of the last one; no part has this name


def turns_so_far(model: FrozenModel, state: State) -> Before:
    """Return what results that begin with a state need of all that came before it."""
    if state.memory is None or not model.remembered:
        return {}
    memory = checked_memory(model, state.memory)
    turns: Before = dict(zip(model.remembered, memory, strict=True))
    parts = model.system.parts
    pairs = [(name, *name.rpartition(".")[::2]) for name in model.remembered]
    for name, part, which in pairs:
        if part in parts and not which.isdigit():  # here and now: no time goes by
            turns[name] = np.array([state.t, turns[name], 0.0])
    return turns | {MEMORY: memory}


def checked_memory(model: FrozenModel, memory: np.ndarray) -> np.ndarray:
    """Return the memory of a state, if it fits the model."""
    size = len(model.remembered)
    if np.shape(memory) != (size,) or not np.isfinite(memory).all():
        raise ValueError(
            f"state.memory must be {size} finite numbers for this model, the angles of "
            f"model.remembered, or None, got {memory!r}; was it made by another model?"
        )
    return memory
