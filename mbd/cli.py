"""Floor 6. Command line: ``mbd run``, ``mbd info``, ``mbd compare``, ``mbd demo``.

Nothing heavy is imported before a command needs it. Exit codes: 0 done, 1 the run failed, 2 the
input was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbd.files.scenes import Scene
    from mbd.model.report import Report
    from mbd.results.solution import Solution

__all__ = ["main"]

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
_INPUT = (OSError, ValueError, TypeError, KeyError, ImportError, SyntaxError)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:  # `mbd info ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if options.traceback:
            raise
        text, of_scene = _line(error)
        return _say(text, WRONG if of_scene or isinstance(error, _INPUT) else FAILED)


def _say(text: str, code: int) -> int:
    print(f"mbd: {text}", file=sys.stderr)
    return code


def _line(error: Exception) -> tuple[str, bool]:
    """Return an error as one line, with its place if the code of a scene caused it, and whether."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(str(text).split()) or type(error).__name__
    trace, place, package = error.__traceback__, None, str(Path(__file__).parent)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if trace.tb_frame.f_globals.get("__name__", "").startswith("mbd_scene_"):
            place = f"{file}:{trace.tb_lineno}"
        elif place and file.startswith(package):
            return f"{place}: {text}", True  # an error of the library, caused there
        trace = trace.tb_next
    return (f"{place}: {type(error).__name__}: {text}", True) if place else (text, False)


def _parser() -> argparse.ArgumentParser:
    from mbd import __version__

    parser = argparse.ArgumentParser(
        prog="mbd",
        description="Multibody dynamics: run and inspect models written as Python scenes.",
    )
    parser.add_argument("--version", action="version", version=f"mbd {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    scene = "Python file with build(**parameters) -> mbd.System"

    run = commands.add_parser("run", help="simulate a model, report and write results")
    run.add_argument("file", metavar="FILE", help=scene)
    run.set_defaults(command=_run)

    info = commands.add_parser("info", help="report bodies, freedoms, loops, redundant rows")
    info.add_argument("file", metavar="FILE", help=scene)
    info.add_argument(
        "--matrices", metavar="FOLDER", help="write M, G, K, B at the initial pose (Matrix Market)"
    )
    info.add_argument(
        "--spy", metavar="PNG", help="draw the iteration matrix (needs the extra 'plot')"
    )
    info.set_defaults(command=_info)

    compare = commands.add_parser("compare", help="run a model in several formulations")
    compare.add_argument("file", metavar="MODEL", help=f"{scene}, or the name of a demo")
    compare.add_argument(
        "--formulations", default="all", metavar="NAMES", help="all, or names with commas"
    )
    compare.add_argument(
        "--steps", metavar="S,S,...", help="step sizes [s] (default 4, 2 and 1 times the scene's)"
    )
    compare.add_argument("--newton", default="modified", help="modified (default) or full")
    compare.add_argument(
        "--turns", type=int, default=3, metavar="N", help="timed runs of each (default 3)"
    )
    compare.add_argument("--plot", metavar="PNG", help="draw errors (needs the extra 'plot')")
    compare.set_defaults(command=_compare)

    demo = commands.add_parser("demo", help="list the scenes that come along, or run one")
    demo.add_argument("file", metavar="NAME", nargs="?", help="name of a scene")
    demo.set_defaults(command=_demo)

    for command in (run, info, compare, demo):
        command.add_argument(
            "-p",
            metavar="NAME=VALUE",
            dest="parameters",
            action="append",
            default=[],
            help="parameter of build; may be repeated",
        )
        command.add_argument("--json", action="store_true", help="print one JSON object instead")
        command.add_argument(
            "--traceback", action="store_true", help="show where in the code an error arose"
        )
    for command in (run, compare, demo):
        command.add_argument("--t-end", type=float, metavar="S", help="end time [s]")
        command.add_argument("--rho", type=float, help="spectral radius, 0 to 1 (default 0.8)")
        command.add_argument("--csv", metavar="CSV", help="write results as a table of text")
    for command in (run, demo):
        command.add_argument("--step", type=float, metavar="S", help="step size [s]")
        command.add_argument("--every", type=int, metavar="N", help="keep every so many steps")
        command.add_argument(
            "--project",
            action="store_true",
            default=None,
            help="move the initial state to the nearest consistent one",
        )
        command.add_argument("-o", "--output", metavar="NPZ", help="write results, names and units")
        command.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def _demo(options: argparse.Namespace) -> int:
    from mbd.files import scenes

    if options.file is not None:
        options.file = str(scenes.named(options.file))
        return _run(options)
    found = {name: scenes.summary(path) for name, path in scenes.shipped().items()}
    if options.json:
        print(json.dumps(found, indent=2))
        return DONE
    print("scenes that come with mbd; run one by `mbd demo NAME`:")
    width = max(map(len, found))
    for name, text in found.items():
        print(f"  {name:{width}}  {text}")
    return DONE


def _scene(options: argparse.Namespace) -> tuple[Scene, dict[str, Any]]:
    from mbd.files import scenes

    parameters = dict(scenes.parameter(text) for text in options.parameters)
    return scenes.load(options.file), parameters


def _info(options: argparse.Namespace) -> int:
    scene, parameters = _scene(options)
    model = scene.build(parameters).build()
    report = model.report()
    written = []
    if options.matrices:
        written += [str(path) for path in model.assemble().save(options.matrices)]
    if options.spy:
        figure = model.assemble().spy(step=scene.run.get("step", 1e-3))
        Path(options.spy).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.spy, dpi=150)
        written.append(options.spy)
    if options.json:
        print(json.dumps({"model": _facts(report), "written": written}, indent=2))
        return DONE
    print(report)
    for path in written:
        print(f"wrote {path}")
    return DONE


def _run(options: argparse.Namespace) -> int:
    scene, parameters = _scene(options)
    system = scene.build(parameters)
    how = dict(scene.run)
    for key in ("t_end", "step", "rho", "every", "project"):
        if getattr(options, key) is not None:
            how[key] = getattr(options, key)
    for key in ("t_end", "step"):
        if key not in how:
            raise ValueError(
                f"{scene.path}: {key} is not known [s]; give --{key.replace('_', '-')} or put "
                "it in RUN"
            )
    for path, ending in ((options.output, ".npz"), (options.csv, ".csv")):
        if path and Path(path).suffix != ending:
            raise ValueError(f"the name of this output must end in {ending}, got {path!r}")

    from mbd.results import store
    from mbd.solvers.generalized_alpha import GeneralizedAlpha
    from mbd.solvers.simulate import simulate

    talk = not options.quiet and not options.json
    method = GeneralizedAlpha(rho=how.pop("rho", GeneralizedAlpha.rho))
    model = system.build()
    report = model.report()
    if talk:
        print(report, flush=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bar = None if talk else False
        solution = simulate(model, method=method, progress=bar, raise_on_failure=False, **how)
    remarks = [str(w.message) for w in caught]
    written = []
    if options.output:
        notes = {"scene": scene.path.name, "parameters": parameters, "step": how["step"]}
        written.append(store.save_npz(solution, options.output, **notes))
    if options.csv:
        written.append(store.save_csv(solution, options.csv))
    if options.json:
        found = {"model": _facts(report), "run": _summary(solution), "warnings": remarks}
        print(json.dumps({**found, "written": [str(p) for p in written]}, indent=2))
    elif talk:
        print(_text(solution, how["step"]))
        for path in written:
            print(f"wrote {path} ({path.stat().st_size / 1e6:.2g} MB)")
    for text in remarks:
        _say(f"warning: {text}", DONE)
    if solution.status == 0:
        return DONE
    return _say(solution.message, FAILED if solution.status > 0 else INTERRUPTED)


def _compare(options: argparse.Namespace) -> int:
    import inspect

    from mbd.files import scenes
    from mbd.results.compare import compare
    from mbd.solvers.generalized_alpha import GeneralizedAlpha

    if options.csv and Path(options.csv).suffix != ".csv":
        raise ValueError(f"the name of this output must end in .csv, got {options.csv!r}")
    parameters = dict(scenes.parameter(text) for text in options.parameters)
    if "formulation" in parameters:
        raise ValueError("compare: formulation is what is compared; choose by --formulations")
    for name in parameters.keys() & inspect.signature(compare).parameters.keys():
        raise ValueError(f"compare: {name!r} is its own option; it cannot be one of the scene here")
    steps = None
    if options.steps is not None:
        try:
            steps = [float(x) for x in options.steps.split(",")]
        except ValueError:
            raise ValueError(
                f"compare: --steps must be numbers with commas [s], got {options.steps!r}"
            ) from None
    scene = scenes.found(options.file)
    rho = scene.run.get("rho", GeneralizedAlpha.rho) if options.rho is None else options.rho
    found = compare(
        scene.path, formulations=options.formulations, steps=steps, t_end=options.t_end, rho=rho,
        newton=options.newton, turns=options.turns, **parameters,
    )  # fmt: skip
    written = []
    if options.csv:
        written.append(str(found.to_csv(options.csv)))
    if options.plot:
        found.plot(options.plot)
        written.append(options.plot)
    if options.json:
        print(json.dumps({**found.plain(), "written": written}, indent=2))
    else:
        print(found)
        for path in written:
            print(f"wrote {path}")
    return DONE if any(row["status"] == "done" for row in found.rows) else FAILED


def _facts(report: Report) -> dict[str, Any]:
    """Return a report as plain values."""
    from dataclasses import asdict

    derived = ("freedoms", "gruebler_freedoms", "n_redundant")
    return asdict(report) | {name: getattr(report, name) for name in derived}


def _summary(solution: Solution) -> dict[str, Any]:
    """Return what a run did as plain values."""
    from mbd.results.energy import conserves

    energy = solution.energy
    change = float(abs(energy.total - energy.total[0]).max())
    return {
        "success": solution.success,
        "message": solution.message,
        "t_end": float(solution.t[-1]),
        "rho": solution.method.rho,
        "energy_change": change,
        "kinetic_energy_max": float(energy.kinetic.max()),
        "conservative": conserves(solution.model.system),
        "gap": float(solution.gap.max()),
        "stats": {name: float(value) for name, value in solution.stats.items()},
    }


def _text(solution: Solution, step: float) -> str:
    """Return what a run did as a few lines."""
    s, cost = _summary(solution), solution.stats
    n = max(1, int(cost["steps"]))
    change = f"{s['energy_change']:.2e} J"
    if s["kinetic_energy_max"] > 0:
        change += f", {s['energy_change'] / s['kinetic_energy_max']:.1e} of the largest kinetic one"
    if not s["conservative"]:
        change += " (loads, dampers or laws do work)"
    return "\n".join(
        (
            f"simulated to t = {s['t_end']:g} s: {n} steps of {step:g} s, generalized-alpha with "
            f"rho = {s['rho']:g}",
            f"  Newton          {cost['iterations'] / n:.2f} iterations per step, "
            f"{int(cost['factorizations'])} factorizations, {int(cost['rejected'])} repeated steps",
            f"  largest gap     {s['gap']:.1e} (of a constraint row) [m or -]",
            f"  energy change   {change}",
            f"  time            {1e6 * cost['seconds'] / n:.3g} us per step, {cost['seconds']:.3g} "
            f"s in all, {cost['seconds_preparing']:.3g} s before the first step",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
