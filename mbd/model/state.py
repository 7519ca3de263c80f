"""The state of a model: positions, velocities, accelerations, multipliers at one instant."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import absent, floats
from mbd.base.read_only import own

_ARRAYS = ("q", "v", "a", "lam", "alg", "memory", "set_valued")


@dataclass(frozen=True)
class State:
    """Numbers of one instant.

    Parameters
    ----------
    t : float [s]
    q, v, a, lam : arrays [m, -; m/s, rad/s, 1/s; their rates; N, N m]
        Stored coordinates, velocities, accelerations, multipliers, in the order of the model.
    alg : array, optional [as a]
        Algorithmic acceleration of generalized-alpha; default a.
    memory : array, optional [rad]
        Angles with their full turns, of all that counts them: rotational springs, rows on angles,
        joints. ``model.remembered`` has their names; default those described.
    off : tuple of str
        Joints that are switched off: their rows do not act, their multipliers are zero.
    step : float, optional [s]
        Size of the step that ended here. At position level velocities and multipliers belong to
        it: a run that goes on with another one finds them again.
    set_valued : array, optional [m/s, N, 1/kg, -]
        What steps go on from at set-valued laws: of each what its method notes (branches,
        velocities) and the history of its forces. Default found again from the other numbers.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    alg: np.ndarray | None = None
    memory: np.ndarray | None = None
    off: tuple[str, ...] = ()
    step: float | None = None
    set_valued: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Take copies of arrays that somebody may write to: nobody writes to those of a state."""
        mine = vars(self)
        for name in _ARRAYS:
            x = mine[name]
            if x is not None and not (type(x) is np.ndarray and x.base is None
                                      and not x.flags.writeable):  # fmt: skip
                mine[name] = _own(x)

    def __reduce__(self) -> Any:
        """Return its numbers: what is unpickled or copied is made by them."""
        return State, tuple(vars(self).values())

    def replace(self, **changes: Any) -> "State":
        """Return a copy with changes; new q, v or a forget what steps went on from."""
        if unknown := changes.keys() - vars(self).keys():
            raise TypeError(f"State.replace: {absent('', min(unknown), vars(self))}")
        if "alg" not in changes and changes.keys() & {"q", "v", "a"}:
            changes["alg"] = None
        if "alg" in changes and changes["alg"] is not self.alg:
            changes = {"set_valued": None} | changes
        return State(**(vars(self) | changes))


def _own(x: Any) -> Any:
    """Return an array that nobody writes to; what is none is left to the checks of a state."""
    with suppress(TypeError):
        x = floats(x) if isinstance(x, list) else x
    return own(x)
