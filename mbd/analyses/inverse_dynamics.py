r"""Inverse dynamics: from a driven motion to the loads of the motors, without integration.

Where the drives leave no freedom, positions, velocities and accelerations follow from the rows,

.. math:: \Phi(\theta, t) = 0, \qquad G\dot\theta = -\Phi_t, \qquad
          G\ddot\theta = -\ddot\Phi|_{\ddot\theta = 0},

in the coordinates of the tree of joints (``mbd/joint_tree/loops.py``), and the multipliers from the
equations of motion. There is no error of integration: every instant is exact to round-off, whatever
the distance to the next one.
"""

from typing import Any

import numpy as np

from mbd.base.checked import shown, sized
from mbd.base.door import array, speaking_as
from mbd.base.tolerances import POSE_STEP
from mbd.front.solution import Solution, solution_of
from mbd.integration.consistent import consistent, limits
from mbd.joint_tree.coordinates import JointCoordinates
from mbd.linear.saddle import accelerate, anew_kernel
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.least_multipliers import OPEN, of_state
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.model.workspace import Workspace

_WHO = "inverse_dynamics"


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
    model = model_of(_WHO, system)
    expected = "increasing numbers [s]"
    t = np.atleast_1d(array(_WHO, "times", times, expected))
    if t.ndim != 1 or not len(t) or np.any(np.diff(t) <= 0):
        raise ValueError(f"{_WHO}: times must be {expected}, got {shown(times)}")
    t = sized(_WHO, "times", t, "s")
    first = _posed(model, state_of(_WHO, model, state).replace(t=float(t[0])))
    with speaking_as(_WHO, "JointCoordinates"):
        tree = JointCoordinates(model, state=first)
        q = tree.q(first)
    _refuse_freedoms(model, tree)
    work = Workspace(model, first)
    work.vector(m.A)[:] = 0.0
    accelerate(work)
    history: list[State] = []
    for i, now in enumerate(map(float, t)):
        if i:
            q = _onwards(tree, q, history[-1], now)
        work.F[m.T] = now
        tree.put(work, q, ())
        history.append(_balanced(model, work))
    message, before = f"inverse dynamics at {len(t)} instants", turns_so_far(model, first)
    facts = {"message": message, "stats": {"steps": len(t)}, "before": before}
    return solution_of(model, history, last=of_state(work), **facts)


def _refuse_freedoms(model: Model, tree: JointCoordinates) -> None:
    """Refuse what is not fully driven."""
    if tree.labels:
        raise ValueError(
            f"{_WHO}: the drives must leave no freedom, but {len(tree.labels)} are left, "
            f"{', '.join(tree.labels)}; add a Drive for each, or use mbd.simulate for a motion "
            "that follows from forces"
        )
    open_rows = np.flatnonzero(model.numbering.lam_kinds == m.VELOCITY_ROW)
    if len(open_rows):
        raise ValueError(
            f"{_WHO}: rows on velocities leave positions open: "
            f"{model.numbering.lam_labels[open_rows[0]]!r}; drive positions, or use mbd.simulate"
        )


def _posed(model: Model, state: State) -> State:
    """Return the state nearby that satisfies all rows at its time, or say which it cannot."""
    try:
        return consistent(model, state, project=True)
    except ValueError as error:
        raise ValueError(
            f"{_WHO}: the mechanism does not follow its drives at t = {state.t:g} s: {error}"
        ) from None


def _balanced(model: Model, work: Workspace) -> State:
    """Return the state at the pose and rates in a work space, with what holds it."""
    work.S[m.SMALL_PIVOTS] = 0
    work.run(anew_kernel)
    if work.S[m.SMALL_PIVOTS]:  # other rows depend on each other here
        accelerate(work)
    if (np.abs(work.rates()[0]) > limits(work)[1]).any():
        _posed(model, work.store())  # says which drives contradict each other
    work.accept()
    state = work.store()
    lam = state.lam.copy()
    lam[work.dropped] = OPEN
    return state.replace(lam=lam)


def _onwards(tree: JointCoordinates, q: np.ndarray, last: State, t_end: float) -> np.ndarray:
    """Go on to a time, in strides short enough that the next pose is the one nearest by."""
    t = last.t
    while t < t_end:
        v, a = tree.rates(q, (), (), t=t)
        speed, growth = (float(np.abs(x / tree.sizes).max()) for x in (v, a))
        before, rest = t, t_end - t
        h = min(rest, POSE_STEP / max(speed, np.sqrt(POSE_STEP * growth), 1e-300))
        guess = tree.add_all(q, h * v + 0.5 * h * h * a)
        t = t_end if h == rest else t + h
        if t == before:
            raise ValueError(
                f"{_WHO}: at t = {t:g} s the drives are too fast for a next pose: no time near it "
                "is resolved"
            )
        try:
            q = tree.close(guess, t=t)
        except ValueError:
            q = tree.q(_posed(tree.model, last.replace(t=t)))
    return q
