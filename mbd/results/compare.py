"""Floor 5. ``mbd.compare``: the same model in several formulations, accuracy beside cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.formulations import NAMES
from mbd.formulations.formulation import Formulation
from mbd.parts.door import number, rotation_matrix, vector
from mbd.results.comparison import Comparison
from mbd.results.solution import Solution
from mbd.results.trials import Trial, Truth, extrapolated, last, tabulate
from mbd.solvers.generalized_alpha import GeneralizedAlpha
from mbd.solvers.methods import changed, orders, said
from mbd.solvers.methods import method as integrator_of

if TYPE_CHECKING:
    from mbd.model.system import System

__all__ = ["compare"]


def compare(
    build: Callable[..., System] | str | Path,
    *,
    formulations: str | Iterable[str | Formulation] = "all",
    steps: Sequence[float] | None = None,
    t_end: float | None = None,
    method: Any = None,
    rho: float | None = None,
    newton: str | None = None,
    watch: Sequence[str] | None = None,
    turns: int = 3,
    reference: str | Solution | Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Comparison:
    r"""Run a model in several formulations with several steps, and measure errors and cost.

    Parameters
    ----------
    build : callable, or str or Path
        ``build(formulation=..., **parameters) -> mbd.System``; or the path of a scene, or the name
        of one that comes along (`mbd demo` lists them).
    formulations : str, or sequence of str and Formulation
        "all", or names, in a list or with commas between. The first one is what the times of the
        others are compared with.
    steps : sequence of float [s]
        Step sizes; default 4, 2 and 1 times the step of the scene.
    t_end : float [s]
        End time; default that of the scene.
    method : integrator or str, optional
        :class:`mbd.GeneralizedAlpha`, :class:`mbd.EnergyMomentum`, :class:`mbd.LieRungeKutta4`, an
        object or words such as ``"LieRungeKutta4(scheme='quaternion')"``; default that of the
        scene. Formulations that it cannot move are refused with the reason, the others run.
    rho : float [-], optional
        Spectral radius of :class:`mbd.GeneralizedAlpha`; default that of the scene, or 0.8.
    newton : {"modified", "full"}, optional
        Its iteration; default that of the scene, or "modified".
    watch : sequence of str, optional
        Names of the bodies and joints whose errors count; default all.
    turns : int
        Timed turns of each formulation and step, after a run that is not timed; the median counts.
        The formulations run by turns, so that they share the noise of the machine, and short runs
        are repeated within a turn, the fastest counts. 0: no times.
    reference : str, Solution or mapping, optional
        What errors are measured against: the name of the formulation to extrapolate; a solution
        that ends at `t_end`; or known values at `t_end` such as
        ``{"bar 1.position": (3,) [m], "bar 1.rotation": (3, 3) or a scipy Rotation,
        "bar 1.velocity": (3,) [m/s], "joint 1.force": (3,) [N]}``, then only these are compared.
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

    Forces of joints that redundant rows leave undetermined are not compared, direction by
    direction.

    Examples
    --------
    >>> import mbd
    >>> table = mbd.compare("chain", steps=[4e-3, 2e-3], t_end=0.2, turns=0, formulations="so3")
    >>> [row["status"] for row in table.rows]
    ['done', 'done']
    """
    make, name, run = _maker(build)
    steps = _steps(steps, run)
    end = number("compare", "t_end", run.get("t_end") if t_end is None else t_end, "s",
                 positive=True)  # fmt: skip
    if steps[0] > end:
        raise ValueError(
            f"compare: steps must not be longer than t_end = {end:g} s, got {steps[0]:g}"
        )
    if isinstance(turns, bool) or not (isinstance(turns, int) and turns >= 0):
        raise ValueError(f"compare: turns must be a whole number from 0, got {turns!r}")
    integrator = _method(run, method, rho, newton)
    options = {"t_end": end, "project": run.get("project", False), "progress": False}
    found = [Trial(law) for law in _chosen(formulations)]
    for one in found:
        one.build(make, parameters)
    built = [one for one in found if one.model is not None]
    if not built and found[0].error is not None:
        raise found[0].error
    names = _watched(built[0].model, watch)
    masks = _unique(built[0].model, names)
    truth = _reference(reference, found, names, steps, integrator, options, masks)
    for h in steps:
        for one in built:
            one.measure(h, integrator, options, truth, masks)
    for _ in range(turns):
        for h in steps:
            for one in built:
                one.clock(h, integrator, options)
    rows = tabulate(found, steps, truth.error)
    title = f"{name} to t = {end:g} s, {said(integrator)}"
    notes = _notes(masks, rows)
    return Comparison(title, rows, truth.said, truth.error, notes, orders(integrator))


# --- what is to be compared -----------------------------------------------------------------------


def _maker(build: Any) -> tuple[Callable[..., System], str, dict[str, Any]]:
    """Return the function, its name and how the scene is run."""
    if isinstance(build, str | Path):
        from mbd.files.scenes import found

        scene = found(build)

        def make(**parameters: Any) -> System:
            return scene.build(parameters)

        known, name, run = scene.make, scene.path.stem, scene.run
    elif callable(build):
        make, known, run = build, build, {}
        name = getattr(build, "__name__", "build")
    else:
        raise TypeError(
            f"compare: build must be a function build(formulation=...) or a scene, got {build!r}"
        )
    has = inspect.signature(known).parameters
    if "formulation" not in has and not any(p.kind is p.VAR_KEYWORD for p in has.values()):
        raise ValueError(
            f"compare: {name} has no parameter 'formulation' to compare; it has "
            f"{', '.join(has) or 'none'}"
        )
    return make, name, run


def _method(run: dict[str, Any], given: Any, rho: Any, newton: Any) -> Any:
    """Return the integrator: what is given, else what the scene says."""
    options = {k: x for k, x in (("rho", rho), ("newton", newton)) if x is not None}
    chosen = run.get("method") if given is None else given
    if chosen is None:
        return GeneralizedAlpha(**{"rho": run.get("rho", GeneralizedAlpha.rho), **options})
    return changed(integrator_of(chosen), **options)


def _steps(steps: Any, run: dict[str, Any]) -> list[float]:
    """Return the step sizes, coarse ones first."""
    if steps is None:
        if "step" not in run:
            raise ValueError("compare: steps must be given [s], such as steps=[1e-3, 5e-4]")
        steps = [4 * run["step"], 2 * run["step"], run["step"]]
    given = [steps] if isinstance(steps, int | float) else list(steps)
    if not given:
        raise ValueError("compare: steps must have at least one step [s], got none")
    return sorted({number("compare", "step", h, "s", positive=True) for h in given}, reverse=True)


def _chosen(formulations: Any) -> list[str | Formulation]:
    """Return the formulations, each once."""
    if isinstance(formulations, Formulation):
        formulations = [formulations]
    elif isinstance(formulations, str):
        formulations = [x.strip() for x in formulations.split(",")]
    chosen: list[str | Formulation] = []
    for x in formulations:
        for one in NAMES if isinstance(x, str) and x == "all" else [x]:
            if isinstance(one, str) and one not in NAMES:
                raise ValueError(
                    f"compare: formulations must be all or of {', '.join(NAMES)}, got {one!r}"
                )
            if not isinstance(one, str | Formulation):
                raise TypeError(
                    f"compare: a formulation must be a name or a Formulation, got {one!r}"
                )
            if one not in chosen:
                chosen.append(one)
    if not chosen:
        raise ValueError(f"compare: name formulations, of {', '.join(NAMES)}")
    return chosen


def _watched(model: Any, watch: Any) -> list[str]:
    """Return the names of the bodies and joints that count."""
    known = [*model.system.bodies, *model.system.joints]
    for name in watch or ():
        if name not in known:
            raise ValueError(
                f"compare: there is no body or joint {name!r} to watch; there are "
                f"{', '.join(known[:20])}"
            )
    return known if watch is None else list(watch)


def _unique(model: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Return for each joint which components of its force are determined, (3,) bool."""
    free = set(model.report().not_unique)
    labels = model.numbering.lam_labels
    masks = {}
    for name in (n for n in names if n in model.system.joints):
        mask = np.ones(3, bool)
        for element, row in model.numbering.elements[name]:
            hit = [labels[row + i] in free for i in range(element.kind.n_rows)]
            if element.kind.name == "coincide":
                mask &= ~np.array(hit)
            elif any(hit) and any(a.weights[0] for a in element.attachments):
                mask[:] = False
        masks[name] = mask
    return masks


def _reference(
    given: Any,
    found: list[Trial],
    names: list[str],
    steps: list[float],
    integrator: Any,
    options: dict[str, Any],
    masks: dict[str, np.ndarray],
) -> Truth:
    """Return what errors are measured against."""
    if isinstance(given, Solution):
        if abs(given.t[-1] - options["t_end"]) > 1e-9 * options["t_end"]:
            raise ValueError(
                f"compare: the reference must end at t_end = {options['t_end']:g} s, it ends at "
                f"{given.t[-1]:g} s"
            )
        system = given.model.system
        shared = [n for n in names if n in system.bodies or n in system.joints]
        return Truth(last(given, shared), "the solution given")
    if isinstance(given, Mapping):
        model: Any = next(one.model for one in found if one.model is not None)
        can = [
            f"{n}.{what}"
            for n, body in model.system.bodies.items()
            for what in ("position", "velocity", "rotation")[: 3 if body.formulation.axes else 2]
        ]
        can += [f"{n}.force" for n in model.system.joints]
        for name in given:
            if name not in can:
                raise ValueError(
                    f"compare: the reference may have {', '.join(can[:20])}, got {name!r}"
                )
        kept = {k: v for k, v in given.items() if k.rpartition(".")[0] in names}
        values = {
            k: rotation_matrix("compare", f"reference {k!r}", v)
            if k.endswith(".rotation")
            else vector("compare", f"reference {k!r}", v, "SI")
            for k, v in kept.items()
        }
        return Truth(values, "the values given")
    if not (given is None or (isinstance(given, str) and given in NAMES)):
        raise ValueError(
            "compare: reference must be a solution, values by name or one of "
            f"{', '.join(NAMES)}, got {given!r}"
        )
    first = [one for one in found if one.name == given]
    if given is not None and not first:
        raise ValueError(f"compare: the reference {given!r} is not among the formulations")
    for one in first or found:
        if one.model is not None:
            truth = extrapolated(one, names, steps, integrator, options, masks)
            if truth is not None:
                return truth
    return Truth({}, "nothing: the runs of the reference failed")


def _notes(masks: dict[str, np.ndarray], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return what a reader should know."""
    notes = []
    hidden = [
        f"{name} ({', '.join(c for c, keep in zip('xyz', mask, strict=True) if not keep)})"
        for name, mask in masks.items()
        if not mask.all()
    ]
    if hidden:
        many = f" and {len(hidden) - 6} more" if len(hidden) > 6 else ""
        notes.append(f"forces that are not unique are not compared: {', '.join(hidden[:6])}{many}")
    if any(row["status"] == "done" and not row["conservative"] for row in rows):
        notes.append("energy change: loads, dampers or laws do work")
    return tuple(notes)
