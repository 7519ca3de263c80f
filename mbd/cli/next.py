"""What one does after a command, as one line for a person at a terminal."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from mbd.cli.codes import DONE, print_line
from mbd.cli.scene import STORED

__all__ = ["AFTER", "tell"]

_SHOWS = "`mbd view {results}` shows it moving, `mbd info {results}` how it went"
# the first line of a command is printed whose words there are; {file} is with its
# parameters, {timed} with times too
AFTER: dict[str, tuple[str, ...]] = {
    "run": (_SHOWS, "`mbd view {timed}` shows it moving; -o run.nc keeps the results"),
    "demo": (
        _SHOWS,
        "`mbd view {timed}` shows it moving; `mbd convert {file} model.py` is a start of your own",
        "`mbd demo fourbar` runs one, `mbd view fourbar` shows it",
    ),
    "sweep": ("`xarray.open_dataset` reads {results} by name", "-o members.nc keeps the results"),
    "info": ("`mbd run {file}` simulates it, `mbd view {file}` shows it moving",),
    "equilibrium": ("`mbd modes {file} --equilibrium` has the small motions about it",),
    "modes": (
        "open {animate} in a browser",
        "`mbd modes {file} --animate mode.html` shows one of them moving",
    ),
    "compare": ("open {plot}", "--plot errors.png draws the errors"),
    "view": (
        "`mbd run {timed} -o run.npz` keeps the results",
        "`mbd view --help` has trails, plots",
    ),
    "convert": ("`mbd run {model}` simulates it", "`mbd info {results}` reports what is in it"),
    "export": ("a tool that knows FMI 3.0 opens {output}",),
    "schema": (
        "`#:schema {output}` as first line of a model file lets an editor check it",
        "`mbd schema -o mbd.json` writes it for an editor",
    ),
    "doctor": ("`mbd demo` lists models to begin with",),
    "completion": ("the documentation of the command line says where your shell looks for it",),
}


def tell(command: str, options: argparse.Namespace) -> None:
    """Print what may come next, where a person reads it and did not ask for quiet or JSON."""
    if getattr(options, "quiet", False) or options.json:
        return
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        return
    words = _words(options)
    for line in AFTER[command]:
        try:
            print_line(f"next: {line.format(**words)}", DONE)
        except KeyError:  # of an option that was not used
            continue
        return


def _words(options: argparse.Namespace) -> dict[str, str]:
    """Return what lines may name: options, the model with its parameters, outputs by kind."""
    from mbd.files.modelfile import READERS

    there = {key: x for key, x in vars(options).items() if isinstance(x, str) and x}
    words = {key: shlex.quote(x) for key, x in there.items()}
    ending = Path(there.get("output", "")).suffix
    if ending in STORED:
        words["results"] = words["output"]
    if ending in READERS or ending == ".py":
        words["model"] = words["output"]
    if Path(there.get("file", "")).suffix in STORED:
        words.pop("file", None)
    if "file" in words:
        words["file"] += "".join(f" -p {shlex.quote(x)}" for x in options.parameters)
        words["timed"] = words["file"]
        for key in ("t_end", "step"):
            if (value := getattr(options, key, None)) is not None:
                words["timed"] += f" --{key.replace('_', '-')} {value!r}"
    return words
