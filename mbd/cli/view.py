"""``mbd view``: show a model or a saved run moving in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mbd.cli.codes import DONE, FAILED, INTERRUPTED, collected, print_json, print_line
from mbd.cli.scene import (
    STORED,
    integrator,
    parameters,
    reading,
    repeated,
    settings,
    whole_run,
    writable,
)

if TYPE_CHECKING:
    from mbd.front.solution import Solution

HELP = "show a model or a saved run moving in the browser"
NEXT = ("`mbd run {timed} -o run.npz` keeps the results", "`mbd view --help` has trails, plots")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument(
        "file",
        metavar="FILE",
        help=f"Python scene, model file (.toml), name of a demo, or results ({', '.join(STORED)})",
    )
    reading(command)
    command.add_argument("--t-end", type=float, metavar="S", help="end time [s]")
    command.add_argument("--step", type=float, metavar="S", help="step size [s]")
    command.add_argument("--project", action="store_true", default=None, help="as of mbd run")
    command.add_argument(
        "-o",
        "--output",
        metavar="HTML",
        help="where to write the page, or a .gif (default a temporary folder)",
    )
    command.add_argument("--speed", type=float, metavar="X", help="seconds of the model per second")
    repeated(command, "--trail", "BODY", "trails", "draw the path of a body")
    beside = "draw a quantity beside the picture, such as hinge.force"
    repeated(command, "--plot", "NAME", "plots", beside)
    command.add_argument("--no-open", action="store_true", help="write the page, do not open it")


def run(options: argparse.Namespace) -> int:
    """Simulate or load, write the page, open it."""
    if options.output and Path(options.output).suffix.lower() not in (".html", ".htm", ".gif"):
        raise ValueError(f"the name of the page must end in .html or .gif, got {options.output!r}")
    writable("view", options.output)
    stored = Path(options.file).suffix in STORED
    with collected() as remarks:
        name, solution = (_loaded if stored else _simulated)(options)
    path = Path(options.output) if options.output else _folder() / f"{name}.html"
    title = _title(options.file) or name.replace("_", " ")
    look = {"trails": options.trails, "speed": options.speed, "plots": options.plots}
    animation = solution.animate(path, title=title, **look)
    if not options.no_open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    if options.json:
        page = {"written": [str(path)], "instants": len(animation.drawing.t)}
        about = {"success": solution.success, "message": solution.message, "warnings": remarks}
        print_json({**page, **about})
    else:
        print(f"wrote {path} ({path.stat().st_size / 1e6:.2g} MB)")
    for remark in remarks:
        print_line(f"warning: {remark}", DONE)
    if solution.status == 0:
        return DONE
    if stored:  # it is shown as it was asked
        return print_line(f"note: {solution.message}", DONE)
    return print_line(solution.message, FAILED if solution.status > 0 else INTERRUPTED)


def _title(file: str) -> str:
    """Return what a model file says of itself."""
    from mbd.files import modelfile

    path = Path(file)
    return modelfile.reader(path)(path).title if path.suffix in modelfile.READERS else ""


def _simulated(options: argparse.Namespace) -> tuple[str, Solution]:
    """Return the name of a scene and its run."""
    from mbd.files import scenes

    scene = scenes.load(options.file)
    how = settings(options, scene, ("t_end", "step", "project"))

    from mbd.front.simulate import simulate

    method = integrator(how)
    system = scene.build(parameters(options))
    bar = False if options.json else None
    run = simulate(system, method=method, progress=bar, raise_on_failure=False, **how)
    return scene.path.stem, run


def _loaded(options: argparse.Namespace) -> tuple[str, Solution]:
    """Return the name of a file of results and the run in it."""
    for key in ("t_end", "step", "project", "parameters"):
        if getattr(options, key):
            word = "-p" if key == "parameters" else f"--{key.replace('_', '-')}"
            raise ValueError(f"{options.file} is a run that was done; {word} is for a model")
    without = "so that shapes and joints are not known; view the scene itself"
    return Path(options.file).stem, whole_run(options.file, without)


def _folder() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="mbd-view-"))
