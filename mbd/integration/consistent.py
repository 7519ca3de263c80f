r"""Initial conditions: rows satisfied, consistent accelerations and multipliers.

.. math:: \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \dot v \\ \lambda \end{bmatrix} =
          \begin{bmatrix} f - g \\ -\ddot\Phi|_{\dot v=0} \end{bmatrix}

The same matrix with other right-hand sides moves positions and velocities to the nearest ones (in
the metric of M) that satisfy the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.tolerances import (
    MEETING_DUST,
    MEETING_LEFT,
    MEETING_SHARE,
    MEETING_STEPS,
    OPEN_SHARE,
    SOFT_LEAST,
    START_NEAR,
    START_POSITION,
    START_VELOCITY,
)
from mbd.integration.contradiction import contradiction
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate_second_rates
from mbd.model.frozen import FrozenModel, state_of
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = [
    "Saddle", "accelerate", "allowed", "consistent", "limits", "unmet", "violated", "violations",
]  # fmt: skip


def violations(work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows Phi and their time derivative at the state in a work space.

    Their second derivative is then in PHIDD, the residual of the velocities in X.
    """
    work.evaluate()
    gap = work.vector(m.X)[..., work.model.numbering.lam]
    return gap, work.rates()[0]


@kernel
def unmet_kernel(I: Any, F: Any, k: int) -> None:
    """Write the residual and the second derivative of the rows to X.

    Before that k times subtract the solution for the ones that are there from accelerations and
    multipliers; NORM is the largest change of a velocity's in the last of these.
    """
    S = ints(F)
    for n in range(-1, k):
        F[m.NORM] = 0.0
        if n >= 0:
            call(S[m.LINEAR], I, F, 0)
            for i in range(I[m.N_U]):
                F[I[m.A] + i] -= F[I[m.X] + i]
                if is_velocity(I, i):
                    F[m.NORM] = max(F[m.NORM], abs(F[I[m.X] + i]))
        if n >= 0 or k == 0:
            evaluate_second_rates(I, F)
            for e in range(S[m.N_OFF]):
                F[I[m.X] + I[S[m.OFF] + 2 * e]] = 0.0


def unmet(work: Workspace) -> np.ndarray:
    """Return the residual r beside the second derivative of the rows, a view (n_u,) of X."""
    work.F[..., m.SCALE_R], work.F[..., m.ROW_RATE] = 1.0, 0.0
    work.run(unmet_kernel)
    work.check_laws()
    return work.vector(m.X)


def _sizes(model: FrozenModel, F: np.ndarray) -> np.ndarray:
    """Return the size that the violation of each row is compared with, (..., n_lam)."""
    return np.where(model.numbering.lam_kinds == m.FORCE, F[..., m.LENGTH, None], 1.0)


def allowed(model: FrozenModel) -> np.ndarray:
    """Return the violation of positions that is accepted of each row."""
    return START_POSITION * _sizes(model, model.F)


def limits(work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Return the violations that are accepted of rows and of their rates, (..., n_lam)."""
    size = _sizes(work.model, work.F)
    speed = np.abs(work.vector(m.V)).max(-1, keepdims=True, initial=1.0)
    return START_POSITION * size, START_VELOCITY * size * speed


def violated(model: FrozenModel, value: np.ndarray, size: np.ndarray, *, rate: bool = False) -> str:
    """Return the worst rows of those whose value exceeds a size, in words; none is no words.

    Values are those of the rows, or their rates; of a row on velocities always its own.
    """
    if (np.abs(value) <= size).all():
        return ""
    worst, names = np.argsort(-np.abs(value / size))[:3], model.numbering
    per_second = ["/s" if rate and k != m.VELOCITY_ROW else "" for k in names.lam_kinds]
    return ", ".join(
        f"{names.lam_labels[i]!r} by {value[i]:.3g} {names.lam_units[i]}{per_second[i]}"
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


def _check(what: str, named: str, advice: str, work: Workspace, share: float) -> None:
    if named:
        reason = f"{named}; {advice}"
        if advice == _CORRECT:  # nothing was tried; is there anything to try?
            reason = contradiction(work.model, work, True, share) or reason
        raise ValueError(f"{what} violate constraints: {reason}")


class Saddle:
    """The matrix [[M, B^T], [B, -eps]] at the state evaluated last in a work space, factored."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.pivoting: Any = None
        work.S[..., m.LINEAR] = factor_and_solve.address
        work.linearise(1.0, 0.0, 0.0)
        work.S[..., m.SMALL_PIVOTS] = 0
        work.run(factor_and_solve, 1)
        if work.leaves(work.S[..., m.SMALL_PIVOTS] != 0):
            from scipy.sparse.linalg import splu

            from mbd.model.pattern import sparse

            work.linearise(1.0, 0.0, 0.0)
            try:
                self.pivoting = splu(sparse(work.model, work.F))
            except RuntimeError:
                raise ValueError(
                    work.bad_law()
                    or "the mass matrix is singular on the motions that the constraints allow; "
                    "check masses and inertias"
                ) from None

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return S^-1 r, unknowns in solver order."""
        if self.pivoting is not None:
            return np.asarray(self.pivoting.solve(r))
        x = self.work.vector(m.X)
        x[...] = r
        self.work.run(factor_and_solve)
        return x.copy()

    def correct(self, r: np.ndarray, n: int = 1, only: Any = True) -> np.ndarray:
        """Subtract S^-1 r from accelerations and multipliers, n times; return what is unmet then.

        NORM is the largest change of an acceleration in the last of these.
        """
        work = self.work
        if self.pivoting is None:
            work.vector(m.X)[...] = r
            work.run(unmet_kernel, n, only)
            work.check_laws()
            return work.vector(m.X)
        for _ in range(n):
            step = self.solve(r)
            work.vector(m.A)[:] -= step
            r = unmet(work)
            work.F[m.NORM] = np.abs(step[work.model.numbering.v]).max(initial=0.0)
        return r


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
    if not isinstance(model, FrozenModel):
        raise TypeError(f"consistent: model must be a Model, system.build(), got {shown(model)}")
    if project is not None and not (isinstance(project, str) and project == "velocities"):
        project = flag("consistent", "project", project)
    if rows is not None:
        rows = _checked(model, rows)
    state = state_of("consistent", model, state)
    work = Workspace(model, state)
    work.vector(m.A)[:] = 0.0
    little = ""
    if model.n_lam:
        size = _sizes(model, work.F)
        if project is None:
            little = _little(model, work, size)
            project = bool(little)
        if project is True:
            _project_positions(model, work, size)
        if project:
            _project_velocities(model, work)
        gap, rate = violations(work)
        if bad_law := work.bad_law():
            raise ValueError(bad_law)
        far, fast = limits(work)
        checked = gap if rows is None else np.where(rows, gap, 0.0)
        advice = _OPEN if project is True else _CORRECT
        open_rows = violated(model, checked, far)
        _check("initial positions", open_rows, advice, work, OPEN_SHARE)
        named = violated(model, rate, fast, rate=True)
        if project:
            _check("velocities", named, _NONE, work, 0.0)
        _check("initial velocities", named, _CORRECT, work, 0.0)
        if little:
            warnings.warn(
                f"{little}; the nearest consistent ones are taken. Say project=True if this is "
                "meant, project=False to be told where",
                RuntimeWarning,
                stacklevel=4,
            )
    if not np.isfinite(accelerate(work, evaluated=model.n_lam > 0)).all():
        raise ValueError(
            work.bad_law()
            or "initial accelerations are not finite: the mass matrix is singular on the motions "
            "that the constraints allow; check masses, inertias and applied laws"
        )
    done = work.store()
    return done.replace(alg=done.a.copy())


def _little(model: FrozenModel, work: Workspace, size: np.ndarray) -> str:
    """Return the worst rows if some are violated, and none by much."""
    gap, rate = violations(work)
    fast = size * max(1.0, float(np.abs(work.vector(m.V)).max(initial=0.0)))
    if violated(model, gap, START_NEAR * size) or violated(model, rate, START_NEAR * fast):
        return ""
    for what, rows in (
        ("positions", violated(model, gap, START_POSITION * size)),
        ("velocities", violated(model, rate, START_VELOCITY * fast, rate=True)),
    ):
        if rows:
            return f"initial {what} violate constraints a little: {rows}"
    return ""


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


def accelerate(work: Workspace, *, evaluated: bool = False) -> np.ndarray:
    """Find the accelerations and multipliers of the state in a work space; return a view of them.

    Positions and velocities need not meet the rows: their second derivative is made zero, of rows
    that are nearly dependent too. The state may be `evaluated` already, by ``violations``.
    """
    lam = work.model.numbering.lam
    A, r = work.vector(m.A), (work.vector(m.X) if evaluated else unmet(work)).copy()
    if evaluated:
        r[..., lam] = work.vector(m.PHIDD)[..., lam]
    v = work.model.numbering.v
    free = np.abs(r[..., v] / work.vector(m.DIAG)[..., v]).max(-1, initial=0.0)  # without rows
    _solve(work, r)
    if work.leaves(_lack(work) > MEETING_LEFT * free):
        before, lack = A.copy(), _lack(work)
        work.F[..., m.SOFT] = SOFT_LEAST  # beside light bodies it is soft beside heavy ones
        _solve(work, unmet(work).copy())
        work.F[..., m.SOFT] = 1.0
        if not _lack(work) < lack:
            A[:] = before
            unmet(work)
    return A


def _solve(work: Workspace, r: np.ndarray) -> None:
    """Subtract from accelerations and multipliers what removes the residual and the rates r."""
    lam = work.model.numbering.lam
    saddle = Saddle(work)
    r = saddle.correct(r, 3)  # linear: two of them remove the effect of eps and round-off
    _meet_rows(saddle, work.vector(m.A), r[..., lam], lambda: unmet(work)[lam])


def _lack(work: Workspace) -> Any:
    """Return what rows lack of zero at the residual in X, beyond round-off of accelerations."""
    numbers = work.model.numbering
    largest = np.abs(work.vector(m.A)[..., numbers.v]).max(-1, initial=0.0)
    lack = np.abs(work.vector(m.X)[..., numbers.lam]).max(-1, initial=0.0)
    return np.where(lack > MEETING_LEFT * largest, lack, 0.0)


def _meet_rows(
    saddle: Saddle, x: np.ndarray, lack: np.ndarray, rates: Callable[[], np.ndarray]
) -> None:
    r"""Move x by :math:`M^{-1}B^T\mu` until its rates, now `lack`, are zero or stay.

    They are affine.

    One solve shrinks what a row lacks by :math:`\epsilon/(\epsilon + \sigma^2)`, which is little
    where the rows are nearly dependent (:math:`\sigma` small). Generalised conjugate residuals with
    this solve as preconditioner (Eisenstat, Elman, Schultz, SIAM J. Numer. Anal. 20, 1983) need one
    step for each such direction.
    """
    lam, v = saddle.work.model.numbering.lam, saddle.work.model.numbering.v
    if not len(lam):
        return
    steps: list[np.ndarray] = []
    images: list[np.ndarray] = []
    for _ in range(MEETING_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.sqrt((lack**2).sum(-1))
        largest = np.abs(x[..., v]).max(-1, initial=0.0)
        if not saddle.work.leaves(size > MEETING_DUST * largest):
            return
        r = np.zeros(int(saddle.work.I[m.N_U]))
        r[lam] = lack
        step, start = saddle.solve(r), x.copy()
        x -= step
        image = lack - rates()
        for s, y in zip(steps, images, strict=True):
            part = float(y @ image)
            step, image = step - part * s, image - part * y
        norm = float(np.linalg.norm(image))
        x[:] = start
        if not 0.0 < norm < np.inf:
            return
        steps.append(step / norm)
        images.append(image / norm)
        x -= float(images[-1] @ lack) * steps[-1]
        left = rates()
        if not np.linalg.norm(left) < MEETING_SHARE * size:  # round-off, or rows that contradict
            x[:] = start
            rates()
            return
        lack = left


def _project_positions(model: FrozenModel, work: Workspace, size: np.ndarray) -> None:
    """Satisfy the rows."""
    lam, v = model.numbering.lam, model.numbering.v
    for _ in range(25):
        gap, _ = violations(work)
        if np.abs(gap / size).max() < 1e-14:
            break
        saddle = Saddle(work)
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
    refined by what the impulse leaves out of balance, large enough not to be lost beside loads.
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
    _meet_rows(saddle, V, rate, lambda: violations(work)[1])
    V[lam] = 0.0  # impulses, which nobody asks for
