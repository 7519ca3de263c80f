"""``mbd.compare``: one model in several formulations and by several methods, errors and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mbd.base.checked import whole
from mbd.base.door import number
from mbd.comparison.arguments import chosen, integrators, maker, sizes, watched
from mbd.comparison.comparison import Comparison
from mbd.comparison.error_measures import Values, determined
from mbd.comparison.reference import reference_of
from mbd.comparison.trials import tabulate, telling
from mbd.formulations.formulation import Formulation
from mbd.front.solution import Solution
from mbd.runs.plan import number_of_steps

if TYPE_CHECKING:
    from mbd.model.system import System


def compare(
    build: Callable[..., System] | str | Path,
    *,
    formulations: str | Iterable[str | Formulation] = "all",
    steps: Sequence[float] | None = None,
    t_end: float | None = None,
    method: Any = None,
    rho: float | None = None,
    newton: Literal["modified", "full"] | None = None,
    watch: str | Sequence[str] | None = None,
    turns: int = 3,
    reference: str | Formulation | Solution | Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Comparison:
    r"""Run a model in several formulations, by several methods and steps; measure errors and cost.

    Parameters
    ----------
    build : callable, or str or Path
        ``build(formulation=..., **parameters) -> mbd.System``; or the path of a scene, or the name
        of one that comes along (`mbd demo` lists them).
    formulations : str, or sequence of str and Formulation
        "all", names, or words with options such as "EulerParameters('reduced')", in a list or with
        commas between; or the objects. The first one is what the times of the others are compared
        with.
    steps : sequence of float [s]
        Step sizes; default 4, 2 and 1 times the step of the scene.
    t_end : float [s]
        End time; default that of the scene.
    method : integrator or str, or sequence of these, optional
        :class:`mbd.GeneralizedAlpha`, :class:`mbd.EnergyMomentum`, :class:`mbd.LieRungeKutta4`, an
        object or words such as ``"LieRungeKutta4(scheme='quaternion')"``, or one of your own;
        default that of the scene. Formulations that it cannot move are refused with the reason, the
        others run. Several in a list, or words with commas: each formulation by each of them.
    rho : float [-], optional
        Spectral radius of :class:`mbd.GeneralizedAlpha`; default that of the scene, or 0.8. A
        method with weights, as ``GeneralizedAlpha.hht()``, has none.
    newton : {"modified", "full"}, optional
        Its iteration; default that of the scene, or "modified".
    watch : str or sequence of str, optional
        Names of the bodies, joints and drives whose errors count; default all.
    turns : int
        Timed turns of each formulation and step, after a run that is not timed; the median counts.
        The formulations run by turns, so that they share the noise of the machine, and short runs
        are repeated within a turn, the fastest counts. 0: no times.
    reference : str, Formulation, Solution or mapping, optional
        What errors are measured against: the formulation to extrapolate, by its name in the table,
        by words with options, or the object; a solution that ends at `t_end`; or known values at
        `t_end` such as ``{"bar 1.position": (3,) [m], "bar 1.rotation": (3, 3) or a scipy Rotation,
        "bar 1.velocity": (3,) [m/s], "bar 1.angular_velocity": (3,) [rad/s], "joint 1.force": (3,)
        [N], "joint 1.moment": (3,) [N m], "drive.load": float [N m or N]}``, then only these are
        compared.
    **parameters
        Further parameters of `build`.

    Returns
    -------
    Comparison
        Prints as a table. Runs that fail, and formulations that the scene or the method refuses
        with a ValueError, are rows with the message.

    Notes
    -----
    The default reference is Richardson's extrapolation of the first formulation that runs, from its
    two finest steps and half the finest step, :math:`x(h) = x + c_p h^p + c_{p+1} h^{p+1}` with the
    order p of the method; Newton's iteration of these three runs goes to the tolerance 1e-10. What
    the last term changes in the extrapolation from the two finest of these runs is taken as the
    error of the reference. Errors below twice that, or of the size of round-off, do not count in
    the observed orders. With a single step there is no last term, and the error of the reference is
    not known.

    What redundant rows leave undetermined is not compared: forces of joints direction by direction,
    moments of joints and loads of drives as a whole.

    Examples
    --------
    >>> import mbd
    >>> table = mbd.compare("chain", steps=[4e-3, 2e-3], t_end=0.2, turns=0, formulations="so3")
    >>> [row["status"] for row in table.rows]
    ['done', 'done']
    """
    make, name, run = maker(build, parameters)
    steps = sizes(steps, run)
    end = number("compare", "t_end", run.get("t_end") if t_end is None else t_end, "s",
                 positive=True)  # fmt: skip
    number_of_steps("compare", end, steps[-1])
    if steps[0] > end:
        raise ValueError(
            f"compare: steps must not be longer than t_end = {end:g} s, got {steps[0]:g}"
        )
    turns = whole("compare", "turns", turns, 0)
    several = integrators(run, method, rho, newton)
    options = {"t_end": end, "project": run.get("project"), "progress": False}
    formulated = chosen(formulations)
    for one in formulated:
        one.build(make, parameters)
    trials = [one.by(how, word) for word, how in several.items() for one in formulated]
    built = [one for one in trials if one.model is not None]
    if not built and trials[0].error is not None:
        raise trials[0].error
    model: Any = built[0].model
    names = watched(model, watch)
    masks = determined(model, names)
    against = reference_of(reference, trials, names, steps, options, masks)
    for h in steps:
        for one in built:
            one.measure(h, options, against.values, masks)
    for _ in range(turns):
        for h in steps:
            for one in built:
                one.clock(h, options)
    rows = tabulate(trials, steps, against.error)
    facts = [how.facts for how in several.values()]
    how = facts[0].title if len(several) == 1 else f"{len(several)} methods"
    title = f"{name} to t = {end:g} s, {how}"
    notes = (*_not_unique(masks), *_shortened(steps, end), *_working(rows))
    return Comparison(
        title, rows, against.label, against.error, telling(trials, rows), notes, facts[0].orders
    )


# --- what a reader should know --------------------------------------------------------------------


def _not_unique(masks: Values) -> list[str]:
    """Return which reactions are left out."""
    notes = []
    for what in ("force", "moment", "load"):
        hidden = []
        for key, mask in masks.items():
            owner, _, word = key.rpartition(".")
            if word == what and not mask.all():
                lost = ", ".join(c for c, keep in zip("xyz", mask, strict=False) if not keep)
                hidden.append(f"{owner} ({lost})" if what == "force" else owner)
        many = f" and {len(hidden) - 6} more" if len(hidden) > 6 else ""
        if hidden:
            some = ", ".join(hidden[:6])
            notes.append(f"{what}s that are not unique are not compared: {some}{many}")
    return notes


def _shortened(steps: list[float], end: float) -> list[str]:
    """Return which steps do not divide the time, so that the last one is a shorter one."""
    odd = [h for h in steps if abs(end / h - round(end / h)) > 1e-9 * end / h]
    if not odd:
        return []
    some = ", ".join(f"{h:g}" for h in odd)
    return [f"t_end = {end:g} s is no multiple of {some} s: the last step is a shorter one"]


def _working(rows: list[dict[str, Any]]) -> list[str]:
    """Return why the energy changes."""
    if any(row["status"] == "done" and not row["conservative"] for row in rows):
        return ["energy change: loads, dampers or laws do work"]
    return []
