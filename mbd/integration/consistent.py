r"""Initial conditions: rows satisfied, consistent accelerations and multipliers.

.. math:: \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \dot v \\ \lambda \end{bmatrix} =
          \begin{bmatrix} f - g \\ -\ddot\Phi|_{\dot v=0} \end{bmatrix}

The same matrix with other right-hand sides moves positions and velocities to the nearest ones (in
the metric of M) that satisfy the rows.
"""

import warnings
from typing import Any

import numpy as np

from mbd.base import tolerances
from mbd.base.checked import flag, shown
from mbd.integration.contradiction import contradicting_rows, contradiction
from mbd.linear.saddle import Saddle, accelerate
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, refuse_set_valued, state_of
from mbd.model.least_multipliers import OPEN, of_state, resolved
from mbd.model.state import State
from mbd.model.workspace import Workspace


def violations(work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows Phi and their time derivative at the state in a work space.

    Their second derivative is then in PHIDD, the residual of the velocities in X.
    """
    work.evaluate(all_rows=True)
    gap = work.vector(m.X)[..., work.model.numbering.lam]
    return gap, work.rates()[0]


def _sizes(model: FrozenModel, F: np.ndarray) -> np.ndarray:
    """Return the size that the violation of each row is compared with, (..., n_lam)."""
    return np.where(model.numbering.lam_kinds == m.FORCE, F[..., m.LENGTH, None], 1.0)


def allowed(model: FrozenModel) -> np.ndarray:
    """Return the violation of positions that is accepted of each row."""
    return tolerances.ROWS_MET * _sizes(model, model.F)


def limits(work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Return the violations that are accepted of rows and of their rates, (..., n_lam)."""
    size = _sizes(work.model, work.F)
    speed = np.abs(work.vector(m.V)).max(-1, keepdims=True, initial=1.0)
    return tolerances.ROWS_MET * size, tolerances.ROWS_MET * size * speed


def described_starts(work: Workspace, share: float = 1.0) -> tuple[State, Saddle | None]:
    """Return what `settled` does of many runs, as they are described; the others leave.

    These have rows that are violated by more than a share of what is accepted, or no accelerations.
    """
    work.vector(m.A)[...] = 0.0
    if work.model.n_lam:
        for rows, most in zip(violations(work), limits(work), strict=True):
            work.leaves(~(np.abs(rows) <= share * most).all(axis=-1))
    A, saddle = accelerate(work, evaluated=work.model.n_lam > 0)
    work.leaves(~np.isfinite(A).all(axis=-1) | (work.S[:, m.BAD_HOW] != 0))
    first = work.store()
    if len(dropped := work.dropped):
        lam, F = first.lam.copy(), work.F
        lam[:, dropped] = OPEN
        t = np.array([first.t])
        with_least = [resolved(work.model, t, q[None], x[None], f)[0]
                      for q, x, f in zip(first.q, lam, F, strict=True)]  # fmt: skip
        first = first.replace(lam=np.array(with_least))
    return first.replace(alg=first.a), saddle


def violated(model: FrozenModel, value: np.ndarray, size: np.ndarray, *, rate: bool = False) -> str:
    """Return the worst rows of those whose value exceeds a size, in words; none is no words.

    Values are those of the rows, or their rates; of a row on velocities always its own.
    """
    if (np.abs(value) <= size).all():
        return ""
    worst, names = np.argsort(-np.abs(value / size))[:3], model.numbering
    unit = names.rate_unit if rate else names.lam_units.__getitem__
    return ", ".join(
        f"{names.lam_labels[i]!r} by {value[i]:.3g} {unit(i)}"
        for i in worst
        if abs(value[i]) > size[i]
    )


_CORRECT = (
    "correct them, or let the nearest consistent ones be found: simulate(..., project=True) or "
    "mbd.assemble_pose(system)"
)
_OPEN = (
    "no pose nearby meets all of them: parts do not reach each other, or two drives or joints ask "
    "for different positions; start from another pose (state=)"
)
_NONE = "none meet all of them: two drives or joints ask for different velocities"


def _check(what: str, named: str, advice: str, work: Workspace) -> None:
    if named:
        if advice == _CORRECT:  # nothing was tried; is there anything to try?
            reason = contradiction(work.model, work, True) or f"{named}; {advice}"
        else:
            reason = f"{contradicting_rows(work.model, work, True) or named}; {advice}"
        raise ValueError(f"{what} violate constraints: {reason}")


def consistent(
    model: FrozenModel,
    state: State | None = None,
    *,
    project: bool | str | None = False,
    rows: np.ndarray | None = None,
) -> State:
    """Return a state with consistent accelerations and multipliers.

    Equation :eq:`consistent` of the theory page.

    Parameters
    ----------
    model : Model
    state : State, optional
        Default: the initial state of the description.
    project : bool, "velocities" or None
        Move positions and velocities (or velocities alone: an impact) to the nearest consistent
        ones; otherwise a violation is an error that names the row. None moves them, with a warning,
        if no row is violated by more than a thousandth of the length and speed of the model.
    rows : (n_lam,) array of bool, optional
        Which rows of positions are checked; default all. A row is violated from 1e-7 on, of the
        length of the model [m] or of one [-].
    """
    if isinstance(model, FrozenModel):
        refuse_set_valued("consistent", model)
    return settled(model, state, project=project, rows=rows)[0]


def settled(
    model: FrozenModel,
    state: State | None = None,
    *,
    project: bool | str | None = False,
    rows: np.ndarray | None = None,
    room: int = 0,
) -> tuple[State, Saddle | None]:
    """Return what `consistent` does, and the matrix at this state, factored, in its work space.

    That one has some `room` for the run that comes.
    """
    if not isinstance(model, FrozenModel):
        raise TypeError(f"consistent: model must be a Model, system.build(), got {shown(model)}")
    if project is not None and not (isinstance(project, str) and project == "velocities"):
        project = flag("consistent", "project", project)
    if rows is not None:
        rows = _checked(model, rows)
    start = None if state is None else state_of("consistent", model, state)
    work = Workspace(model, start, extra=room)
    work.vector(m.A)[:] = 0.0
    little = ""
    if model.n_lam:
        words = _violated(work, rows)
        if project is None:
            little = _little(work) if any(words) else ""
            project = bool(little)
        if project is True:
            _project_positions(model, work, _sizes(model, work.F))
        if project:
            _project_velocities(model, work)
            words = _violated(work, rows)
        if bad_law := work.bad_law():
            raise ValueError(bad_law)
        open_rows, named = words
        advice = _OPEN if project is True else _CORRECT
        _check("initial positions", open_rows, advice, work)
        if project:
            _check("velocities", named, _NONE, work)
        _check("initial velocities", named, _CORRECT, work)
        if little:
            warnings.warn(
                f"{little}; the nearest consistent ones are taken. Say project=True if this is "
                "meant, project=False to be told where",
                RuntimeWarning,
                stacklevel=4,
            )
    A, saddle = accelerate(work, evaluated=model.n_lam > 0)
    if not np.isfinite(A).all():
        raise ValueError(
            work.bad_law()
            or work.no_numbers()
            or "initial accelerations are not finite: the mass matrix is singular on the motions "
            "that the constraints allow; check masses, inertias and applied laws"
        )
    done = of_state(work)
    return done.replace(alg=done.a.copy()), saddle


def _violated(work: Workspace, rows: np.ndarray | None = None, part: float = 1.0) -> list[str]:
    """Return the worst rows and the worst rates beyond a part of what is accepted, in words."""
    gap, rate = violations(work)
    if rows is not None:
        gap = np.where(rows, gap, 0.0)
    far, fast = limits(work)
    return [
        violated(work.model, gap, part * far), violated(work.model, rate, part * fast, rate=True)
    ]  # fmt: skip


def _little(work: Workspace) -> str:
    """Return the worst rows of those that are violated, if none are by much."""
    if any(_violated(work, part=tolerances.START_NEAR / tolerances.ROWS_MET)):
        return ""
    positions, velocities = _violated(work)
    what, rows = ("positions", positions) if positions else ("velocities", velocities)
    return f"initial {what} violate constraints a little: {rows}"


def _checked(model: FrozenModel, rows: Any) -> np.ndarray:
    """Return which rows are checked."""
    try:
        which = np.asarray(rows)
    except Exception:  # also what the value's own methods raise
        which = np.zeros(())
    if which.dtype != bool or which.shape != (model.n_lam,):
        raise TypeError(
            f"consistent: rows must be {model.n_lam} times True or False, got {shown(rows)}"
        )
    return which


def _project_positions(model: FrozenModel, work: Workspace, size: np.ndarray) -> None:
    """Satisfy the rows: far from them all in the sense of least squares, near to them exactly."""
    lam, v = model.numbering.lam, model.numbering.v
    for _ in range(25):
        gap, _ = violations(work)
        if np.abs(gap / size).max() < 1e-14:
            break
        saddle = Saddle(work, soft=bool((np.abs(gap) > tolerances.START_NEAR * size).any()))
        r = np.zeros(int(work.I[m.N_U]))
        r[lam] = gap
        step = saddle.solve(r)[v]
        # a turn of more than a radian would leave the range of Newton's method
        step *= min(1.0, 0.5 / max(1e-30, float(np.abs(step).max() / max(1.0, model.F[m.LENGTH]))))
        work.vector(m.D)[v] = -step
        work.evaluate()
        work.vector(m.QN, model.n_q)[:] = work.vector(m.Q, model.n_q)
        work.vector(m.D)[:] = 0.0
        if np.abs(step).max() < 1e-15 * float(model.F[m.LENGTH]):
            break


def _project_velocities(model: FrozenModel, work: Workspace) -> None:
    r"""Satisfy the time derivative of the rows by an impulse, :math:`M\,\Delta v = B^T\Lambda`.

    Redundant rows cost digits of one solution, so that it would be no longer the nearest: it is
    refined by what the impulse leaves out of balance, large enough not to be lost among loads.
    """
    lam, v = model.numbering.lam, model.numbering.v
    _, rate = violations(work)
    saddle, V, A = Saddle(work), work.vector(m.V), work.vector(m.A)
    change, r, scale = np.zeros(len(A)), np.zeros(len(A)), 0.0
    start = V[v].copy()
    for _ in range(4):
        r[lam] = rate
        change += saddle.solve(r)
        V[v] = start - change[v]
        _, rate = violations(work)
        loads = work.vector(m.X)[v].copy()
        moved = np.abs(model.F[model.I[m.DIAG] + v] * change[v]).max(initial=0.0)
        scale = scale or max(1.0, float(np.abs(loads).max(initial=0.0) / max(moved, 1e-100)))
        A[:] = scale * change
        work.evaluate()
        r[v] = (loads - work.vector(m.X)[v]) / scale
        A[:] = 0.0
    V[lam] = 0.0  # impulses, which nobody asks for
