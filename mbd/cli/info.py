"""Floor 7. ``mbd info``: what a model is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mbd.cli.codes import DONE
from mbd.cli.scene import FILE, read, reading
from mbd.cli.told import facts

HELP = "report bodies, freedoms, loops, redundant rows"


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="FILE", help=FILE)
    command.add_argument(
        "--matrices", metavar="FOLDER", help="write M, G, K, B at the initial pose (Matrix Market)"
    )
    command.add_argument(
        "--spy", metavar="PNG", help="draw the iteration matrix (needs the extra 'plot')"
    )
    reading(command)


def run(options: argparse.Namespace) -> int:
    """Report a model."""
    scene, parameters = read(options)
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
        found = {"model": facts(report), "notes": list(scene.notes), "written": written}
        print(json.dumps(found, indent=2))
        return DONE
    print(report)
    for note in scene.notes:
        print(f"note: {note}")
    for path in written:
        print(f"wrote {path}")
    return DONE
