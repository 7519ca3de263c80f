"""``mbd compare``: a model in several formulations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mbd.cli.codes import DONE, FAILED, print_json
from mbd.cli.scene import (
    FILE,
    STORED,
    check_ending,
    parameters,
    reading,
    running,
    whole_run,
    writable,
)

if TYPE_CHECKING:
    from mbd.front.solution import Solution

HELP = "run a model in several formulations"
NEXT = ("open {plot}", "--plot errors.png draws the errors")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="MODEL", help=FILE)
    command.add_argument(
        "--formulations",
        default="all",
        metavar="NAMES",
        help="all, or names with commas, with options such as \"EulerParameters('reduced')\"",
    )
    command.add_argument(
        "--steps", metavar="S,S,...", help="step sizes [s] (default 4, 2 and 1 times the scene's)"
    )
    command.add_argument("--newton", help="modified (default) or full")
    command.add_argument(
        "--turns", type=int, default=3, metavar="N", help="timed runs of each (default 3)"
    )
    command.add_argument(
        "--watch", metavar="NAMES", help="bodies, joints, drives whose errors count (default all)"
    )
    command.add_argument(
        "--reference",
        metavar="NAME",
        help="formulation to extrapolate, or a file of results "
        f"({', '.join(STORED)}) that ends at --t-end",
    )
    command.add_argument("--plot", metavar="PNG", help="draw errors (needs the extra 'plot')")
    command.add_argument(
        "--quantity", metavar="NAME", help="error that is drawn, such as rotation or force"
    )
    reading(command)
    running(command)


def run(options: argparse.Namespace) -> int:
    """Compare formulations."""
    import inspect

    from mbd.files import scenes
    from mbd.studies.compare import compare

    _check_outputs(options)
    build_arguments = parameters(options)
    if "formulation" in build_arguments:
        raise ValueError("compare: formulation is what is compared; choose by --formulations")
    for name in build_arguments.keys() & inspect.signature(compare).parameters.keys():
        raise ValueError(f"compare: {name!r} is its own option; it cannot be one of the scene here")
    steps = None
    if options.steps is not None:
        try:
            steps = [float(x) for x in options.steps.split(",")]
        except ValueError:
            raise ValueError(
                f"compare: --steps must be numbers with commas [s], got {options.steps!r}"
            ) from None
    scene = scenes.load(options.file)
    comparison = compare(
        scene.path, formulations=options.formulations, steps=steps, t_end=options.t_end,
        method=options.method, rho=options.rho, newton=options.newton, turns=options.turns,
        watch=_names(options.watch), reference=_reference(options.reference), **build_arguments,
    )  # fmt: skip
    written = []
    if not options.json:
        print(comparison, flush=True)
    try:  # the comparison is printed even if it cannot be written
        if options.csv:
            written.append(str(comparison.to_csv(options.csv)))
        if options.plot:
            comparison.plot(options.plot, options.quantity)
            written.append(options.plot)
    finally:
        if options.json:
            print_json({**comparison.plain(), "written": written})
    if not options.json:
        for path in written:
            print(f"wrote {path}")
    return DONE if any(row["status"] == "done" for row in comparison.rows) else FAILED


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse before the runs what could not be written after them."""
    check_ending(options.csv, ".csv")
    if options.quantity and not options.plot:
        raise ValueError(
            f"compare: --quantity says what --plot draws, got {options.quantity!r} without "
            "--plot; give --plot NAME.png"
        )
    if options.plot:
        from mbd.drawing.figure import checked_path
        from mbd.studies.comparison import checked_quantity

        checked_path(options.plot, "plot")
        checked_quantity(options.quantity or "position")
    writable("compare", options.csv, options.plot)


def _names(text: str | None) -> list[str] | None:
    """Return names with commas between."""
    return None if text is None else [x.strip() for x in text.split(",")]


def _reference(text: str | None) -> str | Solution | None:
    """Return a formulation by its name, or the solution of a file."""
    if text is None or Path(text).suffix not in STORED:
        return text
    return whole_run(text, "so it is no reference; compare in Python with reference=solution")
