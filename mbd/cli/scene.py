"""Input of commands, and results that they are asked to write: scenes, settings of runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.output import DONE, print_line
from mbd.store.file_kinds import readable

if TYPE_CHECKING:
    from mbd.files.scenes import Scene
    from mbd.front.solution import Solution
    from mbd.integration.method import Method


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
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


def integrator(how: dict[str, Any], options: argparse.Namespace | None = None) -> Method | None:
    """Take the integrator, or None, out of how a scene is run; --method and --rho are stronger.

    The rho of the scene is that of its own method, by default generalized-alpha.
    """
    from mbd.integration.generalized_alpha import GeneralizedAlpha
    from mbd.runs.methods import changed, method

    one, rho = how.pop("method", None), how.pop("rho", None)
    if options is not None and options.method is not None:
        one, rho = options.method, None
    if options is not None and options.rho is not None:
        rho = options.rho
    if one is None and rho is None:
        return None
    one = method(GeneralizedAlpha() if one is None else one)
    return one if rho is None else changed(one, rho=rho)


def read(options: argparse.Namespace) -> tuple[Scene, dict[str, Any]]:
    """Return the scene and the parameters that were given."""
    from mbd.files import scenes

    scene = scenes.load(options.file)
    for note in scene.notes:
        if note.startswith("unknown"):
            print_line(f"warning: {note}", DONE)
    return scene, parameters_of(options)


def check_outputs(command: str, *outputs: tuple[str | None, Sequence[str]]) -> None:
    """Refuse before the work, by trying, what could not be written after it.

    Each path has the endings that say a form in which it can be written, or none where all can.
    """
    from mbd.base.atomic import check_writable

    for path, endings in outputs:
        if path and endings and Path(path).suffix not in endings:
            forms = " or ".join(endings)
            raise ValueError(f"the name of this output must end in {forms}, got {path!r}")
    for path, _ in outputs:
        if path:
            check_writable(path, command)


def stored(path: str) -> bool:
    """Return whether a path is that of results."""
    return Path(path).suffix in readable()


def whole_run(path: str, without: str) -> Solution:
    """Return the run of a file that holds its model; else say what cannot be had without."""
    from mbd.front.solution import Solution
    from mbd.store.load import load

    run = load(path)
    if not isinstance(run, Solution):
        raise ValueError(f"{path}: does not hold its model (which has laws in Python), {without}")
    return run
