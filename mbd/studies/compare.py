"""``mbd.bench`` and ``mbd.compare``: a model in several formulations, by several methods."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

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
from mbd.model.system import System
from mbd.runs.methods import METHODS, changed
from mbd.runs.methods import method as integrator_of
from mbd.runs.plan import number_of_steps
from mbd.studies.benchmarks import BENCHMARKS
from mbd.studies.comparison import Comparison
from mbd.studies.error_measures import Values, comparable, determined, owner
from mbd.studies.trials import Trial, published, reference_of, tabulate, telling


def compare(
    build: Callable[..., System] | str | Path, *,
    formulations: str | Iterable[str | Formulation] = "all", steps: Sequence[float] | None = None,
    t_end: float | None = None, method: Any = None, rho: float | None = None,
    newton: Literal["modified", "full"] | None = None, watch: str | Sequence[str] | None = None,
    turns: int = 3, reference: str | Formulation | Solution | Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Comparison:  # fmt: skip
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
        others run. Several in a list, or words with commas: each formulation by each of them;
        "all" are those of the library.
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
    The default reference is Richardson's extrapolation of the first formulation that runs, by the
    method of the highest order, from its two finest steps and half the finest step,
    :math:`x(h) = x + c_p h^p + c_{p+1} h^{p+1}` with the order p of the method; Newton's iteration
    of these three runs goes to the tolerance 1e-10. What the last term changes in the extrapolation
    from the two finest of these runs is taken as the
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
    subject = subject_of("compare", build, parameters)
    return _measured(
        subject, integrators(subject, method, rho, newton), formulations=formulations, steps=steps,
        t_end=t_end, watch=watch, turns=turns, reference=reference,
    )  # fmt: skip


def bench(
    problem: Callable[..., System] | str | Path, *,
    formulations: str | Iterable[str | Formulation] | None = None, methods: Any = "all",
    steps: Sequence[float] | None = None, t_end: float | None = None,
    watch: str | Sequence[str] | None = None, turns: int = 3,
    reference: str | Formulation | Solution | Mapping[str, Any] | None = None, **parameters: Any,
) -> Comparison:  # fmt: skip
    """Run a problem in all formulations by all methods; measure errors against what is known of it.

    It is :func:`mbd.compare` with other defaults: those of the problem, and all methods. One of
    your own joins by its name in a list.

    Parameters
    ----------
    problem : str, Path or callable
        A problem of a publication, `mbd bench` lists them; or a scene or a function, as in
        :func:`mbd.compare`.
    formulations : str, or sequence of str and Formulation, optional
        Default those of the problem, else all: ``["all", mine]`` is these and one more.
    methods : integrator or str, or sequence of these
        ``["all", Mine()]`` are those of the library and one more.
    steps : sequence of float [s], optional
        Default those of the problem, else 4, 2 and 1 times the step of the scene.
    t_end : float [s], optional
        Default that of the problem, else of the scene.
    watch : str or sequence of str, optional
        Names of the bodies, joints and drives whose errors count; default all.
    turns : int
        Timed turns of each run, as in :func:`mbd.compare`; 0: no times.
    reference : str, Formulation, Solution or mapping, optional
        Default the values that the scene knows at `t_end` of itself, with its own parameters;
        without such the extrapolation that :func:`mbd.compare` has.
    **parameters
        Further parameters of the scene; with others than its own nothing is known of it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import mbd
    >>> methods = "GeneralizedAlpha, LieRungeKutta4"
    >>> table = mbd.bench("unstable_axis", methods=methods, steps=[1e-3, 5e-4], turns=0)
    >>> table.reference
    'what the scene knows: exact solution'
    """
    mark = BENCHMARKS.get(problem) if isinstance(problem, str) else None
    if mark is None:
        subject = subject_of("bench", problem, parameters)
        values = getattr(subject.module, "REFERENCE", ())
    else:
        formulations = mark.formulations if formulations is None else formulations
        steps = mark.steps if steps is None else steps
        t_end = mark.t_end if t_end is None else t_end
        subject = subject_of("bench", mark.scene, {**mark.parameters, **parameters}, str(problem))
        values = mark.values(subject.module)
        subject = replace(subject, notes=(f"the problem is that of {mark.source}",))
    if not parameters:  # the values are those of the scene's own
        subject = replace(subject, reference=values)
    return _measured(
        subject, integrators(subject, methods), steps=steps, t_end=t_end, watch=watch, turns=turns,
        formulations="all" if formulations is None else formulations, reference=reference,
    )  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """Subject of a comparison: the function that builds it, and what a scene says of itself.

    Attributes
    ----------
    who : str
        Begins errors.
    make : callable
        ``make(formulation=..., **parameters) -> System``.
    parameters : dict
    name : str
    run : dict
        How the scene is run.
    module : module, optional
        Its file.
    reference : sequence
        Entries of ``REFERENCE`` that are errors measured against, where nothing else is given.
    notes : tuple of str
    """

    who: str
    make: Callable[..., System]
    parameters: dict[str, Any]
    name: str
    run: dict[str, Any]
    module: ModuleType | None = None
    reference: Sequence[tuple[str, float, Any, float, str]] = ()
    notes: tuple[str, ...] = ()


def _measured(
    subject: Subject, several: dict[str, Any], *, formulations: Any, steps: Any, t_end: Any,
    watch: Any, turns: Any, reference: Any,
) -> Comparison:  # fmt: skip
    """Run each formulation by each method with each step; return the table."""
    who, run = subject.who, subject.run
    steps = sizes(who, steps, run)
    end = number(who, "t_end", run.get("t_end") if t_end is None else t_end, "s", positive=True)
    number_of_steps(who, end, steps[-1])
    if steps[0] > end:
        raise ValueError(
            f"{who}: steps must not be longer than t_end = {end:g} s, got {steps[0]:g}"
        )
    turns = whole(who, "turns", turns, 0)
    options = {"t_end": end, "project": run.get("project"), "progress": False}
    formulated = chosen(who, formulations)
    for one in formulated:
        one.build(who, subject.make, subject.parameters)
    trials = [one.by(how, word) for word, how in several.items() for one in formulated]
    built = [one for one in trials if one.model is not None]
    if not built and trials[0].error is not None:
        raise trials[0].error
    model: Any = built[0].model
    keys = watched(who, model, watch)
    masks = determined(model, dict.fromkeys(map(owner, keys)))
    against = None
    if reference is None and subject.reference:
        against = published(subject.reference, model, keys, end)
    against = against or reference_of(who, reference, trials, keys, steps, options, masks)
    for h in steps:
        for one in built:
            one.measure(h, options, against.values, masks)
    for _ in range(turns):
        for h in steps:
            for one in built:
                one.clock(h, options)
    rows = tabulate(subject.name, trials, steps, against.error)
    facts = [how.facts for how in several.values()]
    how = facts[0].title if len(several) == 1 else f"{len(several)} methods"
    title = f"{subject.name} to t = {end:g} s, {how}"
    notes = (*subject.notes, *_not_unique(masks), *_shortened(steps, end))
    if any(row["status"] == "done" and not row["conservative"] for row in rows):
        notes += ("energy change: loads, dampers or laws do work",)
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


def subject_of(
    who: str, build: Any, parameters: dict[str, Any], name: str | None = None
) -> Subject:
    """Return the subject of a comparison, of a scene or a function that builds it."""
    what = "build" if who == "compare" else "problem"
    if isinstance(build, str | Path):
        from mbd.files.scenes import load

        place = file_path(who, build)
        try:
            scene = load(place)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{who}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{who}: {error}") from error

        def make(**options: Any) -> System:
            return scene.build(options)

        function = scene.make
        subject = Subject(who, make, parameters, name or scene.path.stem, scene.run, scene.module)
    elif callable(build) and not isinstance(build, type):
        function = build
        subject = Subject(who, build, parameters, getattr(build, "__name__", "build"), {})
    else:
        raise TypeError(
            f"{who}: {what} must be a function build(formulation=...) or a scene, got "
            f"{shown(build)}"
        )
    has = inspect.signature(function).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in has.values()):
        there = f"it has {', '.join(has) or 'none'}"
        if "formulation" not in has:
            raise ValueError(
                f"{who}: {subject.name} has no parameter 'formulation' to compare; {there}; "
                "give its bodies formulation=formulation"
            )
        for word in parameters:
            if word not in has:
                near = meant(word, [*has, *inspect.signature(public(who)).parameters])
                raise ValueError(f"{who}: {subject.name} has no parameter {word!r}{near}; {there}")
    return subject


def integrators(
    subject: Subject, method: Any, rho: Any = None, newton: Any = None
) -> dict[str, Any]:
    """Return the integrators by the words of the table: what is given, else what the scene says."""
    several = parted(method) if isinstance(method, str) else method
    if not isinstance(several, list | tuple):
        several = [several]
    several = [
        x for one in several for x in (METHODS if isinstance(one, str) and one == "all" else [one])
    ]
    if not several:
        raise ValueError(
            f"{subject.who}: method must be an integrator, or several in a list, got none"
        )
    each = [_integrator(subject, x, rho, newton) for x in several]
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


def _integrator(subject: Subject, method: Any, rho: Any, newton: Any) -> Any:
    """Return one integrator."""
    run = subject.run
    options = {k: x for k, x in (("rho", rho), ("newton", newton)) if x is not None}
    meant = run.get("method") if method is None else method
    if meant is None:
        return GeneralizedAlpha(**{"rho": run.get("rho", GeneralizedAlpha.rho), **options})
    return changed(integrator_of(meant, f"{subject.who}: "), **options)


def sizes(who: str, steps: Any, run: dict[str, Any]) -> list[float]:
    """Return the step sizes, coarse ones first."""
    if steps is None:
        if "step" not in run:
            raise ValueError(f"{who}: steps must be given [s], such as steps=[1e-3, 5e-4]")
        steps = [4 * run["step"], 2 * run["step"], run["step"]]
    expected = f"{who}: steps must be a number or a list of numbers [s], such as [1e-3, 5e-4]"
    values = [steps] if isinstance(steps, int | float) else list(listed(expected, steps))
    if not values:
        raise ValueError(f"{who}: steps must have at least one step [s], got none")
    return sorted({number(who, "step", h, "s", positive=True) for h in values}, reverse=True)


def chosen(who: str, formulations: Any) -> list[Trial]:
    """Return the formulations, each once, each with a name of its own."""
    if isinstance(formulations, Formulation):
        formulations = [formulations]
    elif isinstance(formulations, str):
        formulations = parted(formulations)
    expected = f"{who}: formulations must be names or Formulations in a list, or names with commas"
    trials: list[Trial] = []
    for x in listed(expected, formulations):
        for choice in NAMES if isinstance(x, str) and x == "all" else [x]:
            one = Trial(_choice(who, choice), "")
            if not any(one.formulation is other.formulation for other in trials):
                name = one.formulation.name
                same = sum(name == other.formulation.name for other in trials)
                trials.append(replace(one, name=f"{name} {same + 1}" if same else name))
    if not trials:
        raise ValueError(f"{who}: name formulations, of {', '.join(NAMES)}")
    return trials


def _choice(who: str, choice: Any) -> str | Formulation:
    """Return a name as it is, for the scene, and of words with options the formulation."""
    if not isinstance(choice, str | Formulation):
        raise TypeError(
            f"{who}: a formulation must be a name or a Formulation, got {shown(choice)}"
        )
    if isinstance(choice, Formulation) or choice in NAMES:
        return choice
    if "(" in choice:
        return named(choice)
    raise ValueError(
        f"{who}: formulations must be all or of {', '.join(NAMES)}, got {shown(choice)}"
        f"{meant(choice, NAMES)}; options are written EulerParameters('reduced')"
    )


def watched(who: str, model: Any, watch: Any) -> list[str]:
    """Return the names of the quantities of the parts that count."""
    keys = list(comparable(model))
    if watch is None:
        return keys
    expected = f"{who}: watch must be names of bodies, joints and drives in a list"
    names = [watch] if isinstance(watch, str) else list(listed(expected, watch))
    if not names:
        raise ValueError(f"{who}: watch must name something, got none; leave it out for all")
    parts = list(dict.fromkeys(map(owner, keys)))
    for name in names:
        if not isinstance(name, str) or name not in parts:
            raise ValueError(
                f"{who}: there is no body or joint {shown(name)} to watch; there are "
                f"{', '.join(parts[:20])}"
            )
    return [key for key in keys if owner(key) in names]
