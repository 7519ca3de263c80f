"""Base motion: the equilibrium or steady motion that small motions are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.door import vector
from mbd.integration.consistent import consistent
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.small_motions.small_motion import SmallMotion, small_motion

if TYPE_CHECKING:
    from mbd.analyses.equilibrium import Equilibrium


def base_motion(
    owner: str, system: System | Model | Equilibrium, state: State | None, rotating: Any
) -> SmallMotion:
    """Return the small motions about a state, with consistent accelerations and multipliers."""
    from mbd.analyses.equilibrium import Equilibrium

    if isinstance(system, Equilibrium):
        if state is not None:
            raise TypeError(f"{owner}: an equilibrium has its state; leave out state=")
        model, state = system.model, system.state
        rotating = system.rotating if rotating is None else rotating
    else:
        expected = "a System, a Model or what mbd.equilibrium returned"
        model = model_of(owner, system, expected=expected)
        state = state_of(owner, model, state)
    omega = np.zeros(3) if rotating is None else vector(owner, "rotating", rotating, "rad/s")
    return small_motion(model, consistent(model, state), omega)
