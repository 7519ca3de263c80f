r"""Inverse dynamics: from a driven motion to the loads of the motors, without integration.

Where the drives leave no freedom, positions, velocities and accelerations follow from the rows,

.. math:: \Phi(q, t) = 0, \qquad B v = -\Phi_t, \qquad B\dot v = -\ddot\Phi|_{\dot v = 0},

and the multipliers from the equations of motion. There is no error of integration: every instant
is exact to round-off, whatever the distance to the next one.
"""

from typing import Any

import numpy as np

from mbd.base.checked import shown, sized
from mbd.base.door import array
from mbd.base.tolerances import POSE_STEP
from mbd.front.solution import Solution
from mbd.integration.consistent import consistent
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.model.workspace import Workspace, displaced


def inverse_dynamics(system: System | Model, times: Any, *, state: State | None = None) -> Solution:
    """Return motion and loads of a system whose drives leave no freedom.

    Parameters
    ----------
    system : System or Model
        With drives on positions (``mbd.Drive(..., position=...)``, ``mbd.Coupler`` with a law).
    times : (n,) array [s]
        Increasing.
    state : State, optional
        A pose near that of the first instant; default the described one. It decides which way a
        mechanism is assembled.

    Returns
    -------
    Solution
        ``solution["motor"].load``, ``solution["hinge"].force``, ...

    Raises
    ------
    ValueError
        If freedoms are left, if a row on velocities leaves a position open, or if the mechanism
        cannot follow the drives (which row is off, at what time).

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> arm = mbd.RigidBody("arm", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> arm = system.add(arm)
    >>> hinge = mbd.Revolute("hinge", system.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    >>> hinge = system.add(hinge)
    >>> motor = system.add(mbd.Drive("motor", hinge, position=0.0))
    >>> round(float(mbd.inverse_dynamics(system, [0.0])["motor"].load[0]), 12)  # holds the arm
    -9.81
    """
    model = model_of("inverse_dynamics", system)
    expected = "increasing numbers [s]"
    t = np.atleast_1d(array("inverse_dynamics", "times", times, expected))
    if t.ndim != 1 or not len(t) or np.any(np.diff(t) <= 0):
        raise ValueError(f"inverse_dynamics: times must be {expected}, got {shown(times)}")
    t = sized("inverse_dynamics", "times", t, "s")
    now = state_of("inverse_dynamics", model, state).replace(t=float(t[0]))
    now = _posed(model, now)
    _refuse_freedoms(model, now)
    states = [now]
    for following in t[1:]:
        now = _onwards(model, now, float(following))
        states.append(now)
    history = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "a", "lam"))
    return Solution(
        model, t, *history, message=f"inverse dynamics at {len(t)} instants",
        stats={"steps": len(t)}, last=states[-1], before=turns_so_far(model, states[0]),
    )  # fmt: skip


def _refuse_freedoms(model: Model, state: State) -> None:
    """Refuse what is not fully driven."""
    report = model.report(state)
    if report.freedoms:
        raise ValueError(
            f"inverse_dynamics: the drives must leave no freedom, but {report.freedoms} are left; "
            "add a Drive for each, or use mbd.simulate for a motion that follows from forces"
        )
    open_rows = np.flatnonzero(model.numbering.lam_kinds == m.VELOCITY_ROW)
    if len(open_rows):
        raise ValueError(
            "inverse_dynamics: rows on velocities leave positions open: "
            f"{model.numbering.lam_labels[open_rows[0]]!r}; drive positions, or use mbd.simulate"
        )


def _posed(model: Model, state: State) -> State:
    """Return the state that satisfies all rows at its time, its angles remembered."""
    try:
        done = consistent(model, state, project=True)
    except ValueError as error:
        raise ValueError(
            f"inverse_dynamics: the mechanism does not follow its drives at t = {state.t:g} s: "
            f"{error}"
        ) from None
    work = Workspace(model, done)
    work.evaluate()
    work.accept()
    return work.store()


def _onwards(model: Model, state: State, t_end: float) -> State:
    """Go on to a time, in strides short enough that the next pose is the one nearest by."""
    while state.t < t_end:
        speed = float(np.abs(state.v / model.units).max())
        growth = float(np.abs(state.a / model.units).max())
        rest = t_end - state.t
        h = min(rest, POSE_STEP / max(speed, np.sqrt(POSE_STEP * growth), 1e-300))
        guess = displaced(model, state, h * state.v + 0.5 * h * h * state.a)
        t = t_end if h == rest else state.t + h
        if t == state.t:
            raise ValueError(
                f"inverse_dynamics: at t = {t:g} s the drives are too fast for a next pose: no "
                "time near it is resolved"
            )
        state = _posed(model, guess.replace(t=t, v=state.v + h * state.a))
    return state
