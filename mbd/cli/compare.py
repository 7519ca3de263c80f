"""Floor 7. ``mbd compare``: a model in several formulations."""

from __future__ import annotations

import argparse
from pathlib import Path

from mbd.cli.codes import DONE, FAILED, tell
from mbd.cli.scene import FILE, parameters, reading, running

HELP = "run a model in several formulations"


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="MODEL", help=FILE)
    command.add_argument(
        "--formulations", default="all", metavar="NAMES", help="all, or names with commas"
    )
    command.add_argument(
        "--steps", metavar="S,S,...", help="step sizes [s] (default 4, 2 and 1 times the scene's)"
    )
    command.add_argument("--newton", help="modified (default) or full")
    command.add_argument(
        "--turns", type=int, default=3, metavar="N", help="timed runs of each (default 3)"
    )
    command.add_argument("--plot", metavar="PNG", help="draw errors (needs the extra 'plot')")
    reading(command)
    running(command)


def run(options: argparse.Namespace) -> int:
    """Compare formulations."""
    import inspect

    from mbd.files import scenes
    from mbd.results.compare import compare

    if options.csv and Path(options.csv).suffix != ".csv":
        raise ValueError(f"the name of this output must end in .csv, got {options.csv!r}")
    given = parameters(options)
    if "formulation" in given:
        raise ValueError("compare: formulation is what is compared; choose by --formulations")
    for name in given.keys() & inspect.signature(compare).parameters.keys():
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
    found = compare(
        scene.path, formulations=options.formulations, steps=steps, t_end=options.t_end,
        method=options.method, rho=options.rho, newton=options.newton, turns=options.turns, **given,
    )  # fmt: skip
    written = []
    if options.csv:
        written.append(str(found.to_csv(options.csv)))
    if options.plot:
        found.plot(options.plot)
        written.append(options.plot)
    if options.json:
        tell({**found.plain(), "written": written})
    else:
        print(found)
        for path in written:
            print(f"wrote {path}")
    return DONE if any(row["status"] == "done" for row in found.rows) else FAILED
