"""``mbd.compare``: one model in several formulations and by several methods, errors and cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mbd.base.checked import file_path, listed, meant, shown, whole
from mbd.base.door import number
from mbd.base.public import public
from mbd.base.spoken_options import parted
from mbd.base.tolerances import WHOLE_STEPS
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import name_of
from mbd.runs.methods import changed
from mbd.runs.methods import method as integrator_of
from mbd.runs.plan import number_of_steps
from mbd.studies.comparison import Comparison
from mbd.studies.error_measures import Values, comparable, determined
from mbd.studies.trials import Trial, reference_of, tabulate, telling

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
    odd = [h for h in steps if abs(end / h - round(end / h)) > WHOLE_STEPS * end / h]
    if not odd:
        return []
    some = ", ".join(f"{h:g}" for h in odd)
    return [f"t_end = {end:g} s is no multiple of {some} s: the last step is a shorter one"]


def _working(rows: list[dict[str, Any]]) -> list[str]:
    """Return why the energy changes."""
    if any(row["status"] == "done" and not row["conservative"] for row in rows):
        return ["energy change: loads, dampers or laws do work"]
    return []


def maker(
    build: Any, parameters: dict[str, Any]
) -> tuple[Callable[..., System], str, dict[str, Any]]:
    """Return the function, its name and how the scene is run."""
    if isinstance(build, str | Path):
        from mbd.files.scenes import load

        place = file_path("compare", build)
        try:
            scene = load(place)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"compare: {error}") from None
        except ValueError as error:
            raise ValueError(f"compare: {error}") from error

        def make(**options: Any) -> System:
            return scene.build(options)

        function, name, run = scene.make, scene.path.stem, scene.run
    elif callable(build) and not isinstance(build, type):
        make, function, run = build, build, {}
        name = getattr(build, "__name__", "build")
    else:
        raise TypeError(
            f"compare: build must be a function build(formulation=...) or a scene, got "
            f"{shown(build)}"
        )
    has = inspect.signature(function).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in has.values()):
        there = f"it has {', '.join(has) or 'none'}"
        if "formulation" not in has:
            raise ValueError(
                f"compare: {name} has no parameter 'formulation' to compare; {there}; give its "
                "bodies formulation=formulation"
            )
        for word in parameters:
            if word not in has:
                near = meant(word, [*has, *inspect.signature(public("compare")).parameters])
                raise ValueError(f"compare: {name} has no parameter {word!r}{near}; {there}")
    return make, name, run


def integrators(run: dict[str, Any], method: Any, rho: Any, newton: Any) -> dict[str, Any]:
    """Return the integrators by the words of the table: what is given, else what the scene says."""
    several = parted(method) if isinstance(method, str) else method
    if not isinstance(several, list | tuple):
        several = [several]
    if not several:
        raise ValueError("compare: method must be an integrator, or several in a list, got none")
    each = [_integrator(run, x, rho, newton) for x in several]
    names = [name_of(x) for x in each]
    words = [n if names.count(n) == 1 else _words(x) for n, x in zip(names, each, strict=True)]
    return {w if words.count(w) == 1 else f"{w} {i + 1}": x
            for i, (w, x) in enumerate(zip(words, each, strict=True))}  # fmt: skip


def _words(method: Any) -> str:
    """Return the name of a method with the options that are not the default ones."""
    own = ((f.name, getattr(method, f.name)) for f in fields(method) if f.default is not MISSING)
    default = {f.name: f.default for f in fields(method)}
    options = ", ".join(f"{name}={value!r}" for name, value in own if value != default[name])
    return f"{name_of(method)}({options})" if options else name_of(method)


def _integrator(run: dict[str, Any], method: Any, rho: Any, newton: Any) -> Any:
    """Return one integrator."""
    options = {k: x for k, x in (("rho", rho), ("newton", newton)) if x is not None}
    meant = run.get("method") if method is None else method
    if meant is None:
        return GeneralizedAlpha(**{"rho": run.get("rho", GeneralizedAlpha.rho), **options})
    return changed(integrator_of(meant, "compare: "), **options)


def sizes(steps: Any, run: dict[str, Any]) -> list[float]:
    """Return the step sizes, coarse ones first."""
    if steps is None:
        if "step" not in run:
            raise ValueError("compare: steps must be given [s], such as steps=[1e-3, 5e-4]")
        steps = [4 * run["step"], 2 * run["step"], run["step"]]
    expected = "steps must be a number or a list of numbers [s], such as [1e-3, 5e-4]"
    values = [steps] if isinstance(steps, int | float) else _listed(steps, expected)
    if not values:
        raise ValueError("compare: steps must have at least one step [s], got none")
    return sorted({number("compare", "step", h, "s", positive=True) for h in values}, reverse=True)


def _listed(value: Any, expected: str) -> list[Any]:
    """Return a list of what can be listed and is no text."""
    return list(listed(f"compare: {expected}", value))


def chosen(formulations: Any) -> list[Trial]:
    """Return the formulations, each once, each with a name of its own."""
    if isinstance(formulations, Formulation):
        formulations = [formulations]
    elif isinstance(formulations, str):
        formulations = parted(formulations)
    expected = "formulations must be names or Formulations in a list, or names with commas"
    trials: list[Trial] = []
    for x in _listed(formulations, expected):
        for choice in NAMES if isinstance(x, str) and x == "all" else [x]:
            one = Trial(_choice(choice))
            if not any(one.formulation is other.formulation for other in trials):
                same = sum(one.formulation.name == other.formulation.name for other in trials)
                trials.append(Trial(one.choice, f"{one.name} {same + 1}") if same else one)
    if not trials:
        raise ValueError(f"compare: name formulations, of {', '.join(NAMES)}")
    return trials


def _choice(choice: Any) -> str | Formulation:
    """Return a name as it is, for the scene, and of words with options the formulation."""
    if not isinstance(choice, str | Formulation):
        raise TypeError(
            f"compare: a formulation must be a name or a Formulation, got {shown(choice)}"
        )
    if isinstance(choice, Formulation) or choice in NAMES:
        return choice
    if "(" in choice:
        return named(choice)
    raise ValueError(
        f"compare: formulations must be all or of {', '.join(NAMES)}, got {shown(choice)}"
        f"{meant(choice, NAMES)}; options are written EulerParameters('reduced')"
    )


def watched(model: Any, watch: Any) -> list[str]:
    """Return the names of the parts that count."""
    parts = list(dict.fromkeys(key.rpartition(".")[0] for key in comparable(model)))
    if watch is None:
        return parts
    expected = "watch must be names of bodies, joints and drives in a list"
    names = [watch] if isinstance(watch, str) else _listed(watch, expected)
    if not names:
        raise ValueError("compare: watch must name something, got none; leave it out for all")
    for name in names:
        if not isinstance(name, str) or name not in parts:
            raise ValueError(
                f"compare: there is no body or joint {shown(name)} to watch; there are "
                f"{', '.join(parts[:20])}"
            )
    return names
