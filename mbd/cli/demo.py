"""``mbd demo``: the scenes that come with the package."""

from __future__ import annotations

import argparse

from mbd.cli.codes import DONE, print_json
from mbd.cli.run import SHOWS
from mbd.cli.run import run as run_scene
from mbd.cli.scene import reading, running, stepping

HELP = "list the scenes that come along, or run one"
NEXT = (
    SHOWS,
    "`mbd view {timed}` shows it moving; `mbd convert {file} model.py` is a start of your own",
    "`mbd demo fourbar` runs one, `mbd view fourbar` shows it",
)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="NAME", nargs="?", help="name of a scene")
    reading(command)
    running(command)
    stepping(command)


def run(options: argparse.Namespace) -> int:
    """List the scenes, or run one."""
    from mbd.files import scenes

    if options.file is not None:
        options.file = str(scenes.named(options.file))
        return run_scene(options)
    summaries = {name: scenes.summary(path) for name, path in scenes.shipped().items()}
    if options.json:
        print_json(summaries)
        return DONE
    print("scenes that come with mbd; run one by `mbd demo NAME`:")
    width = max(map(len, summaries))
    for name, text in summaries.items():
        print(f"  {name:{width}}  {text}")
    return DONE
