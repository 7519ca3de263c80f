"""Options of the commands that read or run a scene; files that they read and write."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.codes import DONE, print_line
from mbd.store.file_kinds import readable
from mbd.store.file_kinds import writable as written

if TYPE_CHECKING:
    from mbd.files.scenes import Scene
    from mbd.front.solution import Solution
    from mbd.integration.method import Method

FILE = "Python scene (.py), model file (.toml), robot (.urdf, .xml), or the name of a demo"
STORED = readable()  # results that mbd.load reads


def reading(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that builds a scene."""
    repeated(command, "-p", "NAME=VALUE", "parameters", "parameter of build")


def repeated(
    command: argparse.ArgumentParser, flag: str, metavar: str, dest: str, help: str
) -> None:
    """Add an option that may be given several times."""
    command.add_argument(
        flag, metavar=metavar, dest=dest, action="append", default=[],
        help=f"{help}; may be repeated",
    )  # fmt: skip


def running(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that simulates."""
    command.add_argument("--t-end", type=float, metavar="S", help="end time [s]")
    command.add_argument(
        "--method",
        metavar="NAME",
        help="integrator, such as EnergyMomentum or \"LieRungeKutta4(scheme='quaternion')\"",
    )
    command.add_argument("--rho", type=float, help="spectral radius, 0 to 1 (default 0.8)")
    command.add_argument("--csv", metavar="CSV", help="write results as a table of text")


def stepping(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that simulates once."""
    command.add_argument("--step", type=float, metavar="S", help="step size [s]")
    command.add_argument("--rtol", type=float, help="let the steps be chosen to this tolerance")
    command.add_argument("--max-step", type=float, metavar="S", help="largest chosen step [s]")
    command.add_argument("--every", type=int, metavar="N", help="keep every so many steps")
    command.add_argument(
        "--project",
        action="store_true",
        default=None,
        help="move the initial state to the nearest consistent one",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help=f"write results: {', '.join(written())}"
    )
    command.add_argument(
        "--stream", action="store_true", help="write the .nc file while it runs, in constant memory"
    )
    command.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads that take a step: 1 or 2"
    )
    command.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of build that were given."""
    from mbd.files import scenes

    return dict(scenes.parameter(text) for text in options.parameters)


def settings(
    options: argparse.Namespace, scene: Scene, keys: tuple[str, ...],
    needed: tuple[str, ...] = ("t_end", "step"),
) -> dict[str, Any]:  # fmt: skip
    """Return how a scene is run, with what the options say in place of what it says."""
    values = {key: getattr(options, key) for key in keys}
    how = scene.run | {key: value for key, value in values.items() if value is not None}
    for key in needed:
        if key not in how and not ("rtol" in how and key == "step"):
            raise ValueError(
                f"{scene.path}: {key} is not known [s]; give --{key.replace('_', '-')} or put it "
                "in RUN"
            )
    return how


def integrator(how: dict[str, Any], options: argparse.Namespace | None = None) -> Method:
    """Take the integrator out of how a scene is run; --method and --rho are stronger.

    The rho of the scene is that of its own method.
    """
    from mbd.integration.generalized_alpha import GeneralizedAlpha
    from mbd.runs.methods import changed, method

    one, rho = how.pop("method", None), how.pop("rho", None)
    if options is not None and options.method is not None:
        one, rho = options.method, None
    if options is not None and options.rho is not None:
        rho = options.rho
    one = method(GeneralizedAlpha() if one is None else one)
    return one if rho is None else changed(one, rho=rho)


def read(options: argparse.Namespace) -> tuple[Scene, dict[str, Any]]:
    """Return the scene and the parameters that were given."""
    from mbd.files import scenes

    scene = scenes.load(options.file)
    for note in scene.notes:
        if note.startswith("unknown"):
            print_line(f"warning: {note}", DONE)
    return scene, parameters(options)


def check_ending(path: str | None, *endings: str) -> None:
    """Refuse before the work the name of a file that says no form in which it can be written."""
    if path and Path(path).suffix not in endings:
        forms = " or ".join(endings)
        raise ValueError(f"the name of this output must end in {forms}, got {path!r}")


def writable(command: str, *paths: str | None) -> None:
    """Refuse, by trying, what could not be written after the work."""
    from mbd.base.atomic import check_writable

    for path in paths:
        if path:
            check_writable(path, command)


def whole_run(path: str, without: str) -> Solution:
    """Return the run of a file that holds its model; else say what cannot be had without."""
    from mbd.front.solution import Solution
    from mbd.store.load import load

    run = load(path)
    if not isinstance(run, Solution):
        raise ValueError(f"{path}: does not hold its model (which has laws in Python), {without}")
    return run
