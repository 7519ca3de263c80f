"""``mbd convert``: a model, or a file of results, from one form into another."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.codes import DONE, print_json, print_line
from mbd.cli.scene import FILE, STORED, integrator, read, reading, whole_run
from mbd.store.file_kinds import writable

if TYPE_CHECKING:
    from mbd.model.description import Description

HELP = f"write a model as .toml or .py, or results as {', '.join(writable())}"
NEXT = ("`mbd run {model}` simulates it", "`mbd info {results}` reports what is in it")
_MODELS = (".toml", ".py")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("file", metavar="IN", help=f"{FILE}; or results ({', '.join(STORED)})")
    command.add_argument("output", metavar="OUT", help="a new file: .toml, .py; .csv, .pvd, ...")
    command.add_argument("--force", action="store_true", help="write over a file that exists")
    reading(command)


def run(options: argparse.Namespace) -> int:
    """Convert a model or results."""
    output, stored = Path(options.output), Path(options.file).suffix in STORED
    endings = (*_MODELS, *writable()) if stored else _MODELS
    if output.suffix not in endings:
        raise ValueError(f"convert: OUT must end in {', '.join(endings)}, got {options.output!r}")
    if os.path.exists(output) and not options.force:
        raise FileExistsError(f"{output}: there is a file already; --force writes over it")
    notes = (_results if stored else _model)(options, output)
    for note in notes:
        if note.startswith("unknown"):
            continue  # said when the file was read
        print_line(f"warning: {note}", DONE)
    if options.json:
        print_json({"written": [str(output)], "warnings": list(notes)})
    else:
        print(f"wrote {output}")
    return DONE


def _model(options: argparse.Namespace, output: Path) -> tuple[str, ...]:
    """Write the model of a scene; return what of an imported file is not used."""
    from mbd.files import scenes
    from mbd.files.vocabulary import run_settings

    scene, parameters = read(options)
    how = dict(scene.run)
    if "rho" in how:
        how["method"] = integrator(how)
    left = [
        f"{key} of RUN is left out: files cannot hold it"
        for key in how
        if key not in run_settings()
    ]
    how = {key: how[key] for key in run_settings() if key in how}
    title = scenes.summary(scene.path).rstrip(".")
    _write(scene.build(parameters), how, title, output)
    return (*scene.notes, *left)


def _results(options: argparse.Namespace, output: Path) -> tuple[str, ...]:
    """Write results in another form, or the model that they hold."""
    from mbd.files.vocabulary import run_settings
    from mbd.store.load import load

    if output.suffix == ".nc":  # which needs no model
        load(options.file).save(output)
        return ()
    without = "so that nothing else can be written; run the model again and save as you need it"
    solution = whole_run(options.file, without)
    if output.suffix in writable():
        solution.save(output)
    else:
        how = {key: x for key, x in solution.options.items() if key in run_settings()}
        how["method"] = integrator({"method": solution.method})
        _write(solution.model.system, how, "", output)
    return ()


def _write(system: Description, how: dict[str, Any], title: str, output: Path) -> None:
    from mbd.base.atomic import replaced
    from mbd.files import code, modelfile

    write = modelfile.to_text if output.suffix == ".toml" else code.scene_text
    text = write(system, run=how, title=title, folder=output.parent)
    with replaced(output, "convert") as file:
        file.write(text.encode())
