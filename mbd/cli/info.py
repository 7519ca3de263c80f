"""``mbd info``: report of a model; of a file of results also how its run ended."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mbd.cli.codes import DONE, print_json
from mbd.cli.scene import FILE, STORED, read, reading, whole_run, writable
from mbd.cli.summary import facts, stored_summary

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.store.source import Source

HELP = "report bodies, freedoms, loops, redundant rows"
NEXT = ("`mbd run {file}` simulates it, `mbd view {file}` shows it moving",)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=f"{FILE}; or results ({', '.join(STORED)})")
    command.add_argument(
        "--matrices",
        metavar="PATH",
        help="write M, G, K, B at the initial pose: Matrix Market files in a folder, .npz, .mat",
    )
    command.add_argument(
        "--spy", metavar="PNG", help="draw the iteration matrix (needs the extra 'plot')"
    )
    reading(command)


def run(options: argparse.Namespace) -> int:
    """Report a model."""
    writable("info", options.spy)
    stored = Path(options.file).suffix in STORED
    model, notes, step, how = (_of_results if stored else _of_scene)(options)
    written = [] if model is None else _written(options, model, step)
    report = None if model is None else model.report()
    if options.json:
        values: dict[str, Any] = {"model": report and facts(report)}
        values |= {"run": how} if stored else {}
        print_json({**values, "notes": notes, "written": written})
        return DONE
    print(f"the model is not in {options.file}: it has laws in Python" if stored and not report
          else report)  # fmt: skip
    if how:
        print(f"run: {how['message']}")
        print(f"  {how['instants']} instants, t = {how['t_start']:g} to {how['t_end']:g} s, "
              f"{how['method']}, mbd {how['version']}")  # fmt: skip
    for note in notes:
        print(f"note: {note}")
    for path in written:
        print(f"wrote {path}")
    return DONE


def _of_scene(options: argparse.Namespace) -> tuple[Model, list[str], float, dict[str, Any]]:
    """Return the model of a scene, what is noted of it, its step."""
    scene, parameters = read(options)
    model = scene.build(parameters).build()
    return model, list(scene.notes), scene.run.get("step", 1e-3), {}


def _of_results(
    options: argparse.Namespace,
) -> tuple[Model | None, list[str], float, dict[str, Any]]:
    """Return the model in a file of results, if it is there, and how the run ended."""
    from mbd.store.load import load
    from mbd.store.stored import Stored

    if options.parameters:
        raise ValueError(f"{options.file} is a run that was done; -p is for a model")
    needs_model = options.matrices or options.spy
    without = "so there are no matrices; name the scene itself"
    run = whole_run(options.file, without) if needs_model else load(options.file)
    model = None if isinstance(run, Stored) else run.model
    source = run.source if isinstance(run, Stored) else run.stored
    return model, [], 1e-3, stored_summary(cast("Source", source))


def _written(options: argparse.Namespace, model: Model, step: float) -> list[str]:
    """Write matrices and pictures that were asked for; return their paths."""
    written = []
    if options.matrices:
        written += [str(path) for path in model.assemble().save(options.matrices)]
    if options.spy:
        figure = model.assemble().spy(step=step)
        from mbd.drawing.figure import save_figure

        save_figure(figure, options.spy, "info")
        written.append(options.spy)
    return written
