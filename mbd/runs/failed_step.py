"""Diagnosis of a failed step: its time, the cause, the rows and bodies concerned."""

from typing import Any

import numpy as np

from mbd.base.tolerances import POSE_STEP, ROUND_OFF, SINGULAR, TURN_UNSURE
from mbd.integration.contradiction import contradiction_of_step
from mbd.integration.method import Method
from mbd.integration.newton_loop import grid_from_here
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

_UNITS = {
    m.TRANSLATION: "N", m.ROTATION: "N m", m.DIRECTOR: "N m", m.FORCE: "m", m.MOMENT: "-",
    m.OWN: "-", m.VELOCITY_ROW: "1/s",
}  # fmt: skip
_KINK = ", or one whose rate does (steps of one size pass that)"  # its velocities jump at any step
_ADVICE = f"allow a larger rtol, or look for loads that are too large, a law that jumps{_KINK}"


def failed_step(work: Workspace, advance: Any) -> tuple[np.ndarray, str]:
    """Return the residual of a step that failed, and which rows contradict each other there.

    The step is tried again by the kernel `advance`, which leaves it as it is when told so.
    """
    begin, start, t = work.snapshot(), work.store(), float(work.F[m.T])
    work.S[m.N_STEPS], work.S[m.RECORD_EVERY] = 1, 0
    grid_from_here(work.I, work.F)
    advance(work.I, work.F, 1)
    work.F[m.T] = t + work.F[m.H]
    work.evaluate(float(work.F[m.H]), all_rows=True)
    r, against = work.vector(m.X).copy(), ""
    if work.model.I[m.LOOPS]:
        by_rates = bool(work.S[m.LEVEL] != m.POSITION)
        against = contradiction_of_step(work.model, work, start, by_rates)
    work.restore(begin)
    return r, against


def explain(work: Workspace, method: Method) -> str:
    """Return a message with the largest residuals of the failed step by name."""
    model, numbering = work.model, work.model.numbering
    t = float(work.F[m.T])
    if bad_law := work.bad_law():
        h = work.F[m.H]
        return f"the step to t = {t + h:.6g} s (h = {h:g} s) failed: {bad_law}"
    h = float(work.F[m.H])
    turns = _unsure(work)
    r, against = failed_step(work, method.kernel)
    rows = np.concatenate([r[numbering.v], r[numbering.lam]])
    unknown_kinds = np.concatenate([numbering.v_kinds, numbering.lam_kinds])
    if turns:
        who = turns
    elif far := far_in_a_step(work):
        who = far
    elif not np.all(np.isfinite(rows)):
        who = f"not a number at {model.labels[int(np.argmin(np.isfinite(rows)))]!r}"
    else:
        worst = np.argsort(-np.abs(rows))[:3]
        who = "largest residuals " + ", ".join(
            f"{model.labels[i]!r} ({rows[i]:.2g} {_UNITS[int(unknown_kinds[i])]})" for i in worst
        )
    if against:
        return f"no step at t = {t + h:.6g} s (h = {h:g} s): {against}"
    if singular := singular_pose(work):
        who = f"{who}; {singular}"
    where = f"at t = {t + h:.6g} s (h = {h:g} s): {who}; try a smaller step"
    if np.isfinite(work.F[m.RTOL]):
        where = where.removesuffix("; try a smaller step")
        if not singular and (light := _light(work)):
            return f"the step size became too small {where}; {light}"
        if long := _long(work):
            return f"the step size became too small {where}; {long}"
        return (
            f"the step size became too small {where}; look for a law that jumps{_KINK}, allow a "
            "larger rtol, or look at model.report(state) for a singular pose"
        )
    return method.facts.failure(model, where)


def _long(work: Workspace) -> str:
    """Return that a run is too long for its tolerance, or ""."""
    whole = float(work.F[m.T_END] - work.F[m.T_START])
    rate = float(work.F[m.RTOL]) / whole  # of the error that is allowed
    if rate**1.5 >= np.finfo(float).eps:  # times a step whose error is that rate
        return ""
    return (
        f"rtol is that of the whole run, and spread over {whole:g} s leaves less than round-off "
        "for a step: allow a larger rtol, or take steps of one size"
    )


def _unsure(work: Workspace) -> str:
    """Return which angle turned so far in a step that its turns are not known, or ""."""
    model, apart, at = work.model, float(work.F[m.UNSURE]), int(work.F[m.UNSURE_AT])
    if not apart > TURN_UNSURE:
        return ""
    tables = [model.I[k : k + m.T_HEAD].tolist() for _, k in model.kernels[m.ACCEPT]]
    records = [
        record
        for x in tables
        for record in range(x[m.T_FIRST], x[m.T_FIRST] + x[m.T_SIZE] * x[m.T_NUMBER], x[m.T_SIZE])
    ]
    its = max(records, key=lambda x: (model.I[x + m.E_MEMORY] <= at, model.I[x + m.E_MEMORY]))
    name = next(name for name, own in model.records.items() if its in own)
    return (
        f"the angle {name!r} is {apart:.2g} rad off the integral of its rate, so that its full "
        "turns in this step are not known"
    )


def far_in_a_step(work: Workspace) -> str:
    """Return which coordinate moves how far in the step at hand, or "" where none moves far.

    Of its velocity and acceleration at the start; in the length of the model, or radians.
    """
    model, h = work.model, float(work.F[m.H])
    v = model.numbering.v
    way = (
        h * np.abs(work.vector(m.V)[v]) + 0.5 * h * h * np.abs(work.vector(m.A)[v])
    ) / model.units
    i = int(np.argmax(way)) if len(way) else 0
    if not len(way) or not POSE_STEP < way[i] < np.inf:
        return ""
    return (
        f"{model.labels[i]!r} moves by {way[i]:.2g} (of the length of the model, or rad) in this "
        "step, which is to be much less than one"
    )


def _light(work: Workspace) -> str:
    """Return which body is so light that errors of free steps are round-off, or ""."""
    model, v = work.model, work.model.numbering.v
    mass = work.vector(m.DIAG)[v] * (model.units / float(work.F[m.LENGTH])) ** 2  # kg
    if not len(v) or not mass.min() < ROUND_OFF**0.5 * mass.max():
        return ""
    light, heavy = (model.labels[int(i)] for i in (np.argmin(mass), np.argmax(mass)))
    return (
        f"{light!r} has {mass.min() / mass.max():.1g} of the inertia of {heavy!r}: what moves that "
        "by round-off throws it; give it more mass, allow a larger rtol, or take steps of one size"
    )


def singular_pose(work: Workspace) -> str:
    """Return which rows depend on each other at the pose in a work space, but not at the start.

    Of rows, and velocities in their units, the smallest singular value that is not zero at the
    described state tells; where it has fallen to `SINGULAR` of what it was, the rows of its vector
    hold a motion there that they do not hold here.
    """
    from mbd.model.assembly import assemble  # scipy.sparse, which most runs do not need

    model, names = work.model, work.model.numbering
    pose = work.vector(m.Q, model.n_q)
    if not 0 < model.n_lam * model.n_v <= 1_000_000 or not np.isfinite(pose).all():
        return ""
    sizes = np.where(names.lam_kinds == m.FORCE, float(model.F[m.LENGTH]), 1.0)
    here = model.state.replace(t=float(work.F[m.T]), q=pose.copy())
    poses = [assemble(model, state) for state in (model.state, here)]
    rows = [x.B.toarray() * model.units / sizes[:, None] for x in poses]
    if not np.all(np.isfinite(rows[1])):
        return ""
    before = np.linalg.svd(rows[0], compute_uv=False)
    u, now, _ = np.linalg.svd(rows[1], full_matrices=False)
    last = poses[0].rank - 1
    if not now[last] < SINGULAR * before[last]:
        return ""
    part = np.abs(u[:, last])
    worst = [i for i in np.argsort(-part)[:4] if part[i] > 0.1]
    who = ", ".join(repr(names.lam_labels[i]) for i in worst)
    return f"the pose is singular, {who} hold {now[last] / before[last]:.1g} of what they held"


def slow_progress(work: Workspace, steps: int, further: float) -> str:
    """Return a message on free steps that do not bring a run further."""
    v = work.model.numbering.v
    change = np.abs(work.vector(m.A)[v] - work.vector(m.AN)[v]) / work.model.units
    return (
        f"the step size became too small at t = {work.F[m.T]:.9g} s (h = {work.F[m.H]:.2g} s): the "
        f"last {steps} steps took the run {further:.2g} s further; the acceleration of "
        f"{work.model.labels[int(np.argmax(change))]!r} changes most; "
        + (_long(work) or singular_pose(work) or _ADVICE)
    )
