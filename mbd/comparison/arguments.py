"""Arguments of ``mbd.compare``, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.checked import file_path, listed, meant, shown
from mbd.base.door import number
from mbd.base.public import public
from mbd.base.spoken_options import parted
from mbd.comparison.error_measures import comparable
from mbd.comparison.trials import Trial
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import name_of
from mbd.runs.methods import changed
from mbd.runs.methods import method as integrator_of

if TYPE_CHECKING:
    from mbd.model.system import System


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
