"""Floor 7. ``mbd convert``: a model from one form into another."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mbd.cli.codes import DONE, say
from mbd.cli.scene import FILE, read, reading

HELP = "write a model as a model file (.toml) or as a Python scene (.py)"


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="IN", help=FILE)
    command.add_argument("output", metavar="OUT", help="a new file, .toml or .py")
    command.add_argument("--force", action="store_true", help="write over a file that exists")
    reading(command)


def run(options: argparse.Namespace) -> int:
    """Convert a model."""
    output = Path(options.output)
    if output.suffix not in (".toml", ".py"):
        raise ValueError(f"convert: OUT must end in .toml or .py, got {options.output!r}")
    if output.exists() and not options.force:
        raise FileExistsError(f"{output}: there is a file already; --force writes over it")
    from mbd.files import code, modelfile, scenes
    from mbd.files.vocabulary import run_settings
    from mbd.solvers.generalized_alpha import GeneralizedAlpha

    scene, parameters = read(options)
    system = scene.build(parameters)
    how = dict(scene.run)
    if "rho" in how:
        how["method"] = GeneralizedAlpha(rho=how.pop("rho"))
    how = {key: how[key] for key in run_settings() if key in how}
    title = scenes.summary(scene.path).rstrip(".")
    if output.suffix == ".toml":
        text = modelfile.to_text(system, run=how, title=title, folder=output.parent)
    else:
        text = code.scene_text(system, run=how, title=title, folder=output.parent)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    for note in scene.notes:
        say(f"warning: {note}", DONE)
    if options.json:
        print(json.dumps({"written": [str(output)], "warnings": list(scene.notes)}))
    else:
        print(f"wrote {output}")
    return DONE
