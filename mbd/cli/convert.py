"""``mbd convert``, ``export``, ``schema``, ``completion``: what other programs read."""

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.cli.output import DONE, answer, collected, wrote
from mbd.cli.scene import check_outputs, integrator, read, settings, stored, whole_run
from mbd.store.file_kinds import writable

if TYPE_CHECKING:
    from mbd.model.description import Description

_MODELS = (".toml", ".py")
_FILES = ("file", "output", "csv", "plot", "spy", "matrices", "animate", "reference")


def convert(options: argparse.Namespace) -> int:
    """Write a model, or results, in another form."""
    output, of_run = Path(options.output), stored(options.file)
    endings = (*_MODELS, *writable()) if of_run else _MODELS
    if output.suffix not in endings:
        raise ValueError(f"convert: OUT must end in {', '.join(endings)}, got {options.output!r}")
    if os.path.exists(output) and not options.force:
        raise FileExistsError(f"{output}: there is a file already; --force writes over it")
    notes = (_results if of_run else _model)(options, output)
    new = [x for x in notes if not x.startswith("unknown")]  # those were said at reading
    values = {"written": [str(output)], "warnings": notes}
    return answer(options, values, *wrote(output), remarks=new)


def _model(options: argparse.Namespace, output: Path) -> list[str]:
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
    return [*scene.notes, *left]


def _results(options: argparse.Namespace, output: Path) -> list[str]:
    """Write results in another form, or the model that they hold."""
    from mbd.files.vocabulary import run_settings
    from mbd.store.load import load

    if output.suffix == ".nc":  # which needs no model
        load(options.file).save(output)
        return []
    without = "so that nothing else can be written; run the model again and save as you need it"
    solution = whole_run(options.file, without)
    if output.suffix in writable():
        solution.save(output)
    else:
        how = {key: x for key, x in solution.options.items() if key in run_settings()}
        how["method"] = integrator({"method": solution.method})
        _write(solution.model.system, how, "", output)
    return []


def _write(system: "Description", how: dict[str, Any], title: str, output: Path) -> None:
    """Write a model as a model file or as a scene in Python."""
    from mbd.base.atomic import replaced
    from mbd.files import code, modelfile

    write = modelfile.to_text if output.suffix == ".toml" else code.scene_text
    text = write(system, run=how, title=title, folder=output.parent)
    with replaced(output, "convert") as file:
        file.write(text.encode())


def export(options: argparse.Namespace) -> int:
    """Write a model as a unit of co-simulation."""
    check_outputs("export", (options.output, (".fmu",)))
    scene, values = read(options)
    how = settings(options, scene, ("step", "project"), ("step",))
    if "step" not in how:
        raise ValueError("export: give --step, the largest step of the unit [s]")

    from mbd.fmi.export import export_fmu

    with collected() as remarks:
        path = export_fmu(
            scene.build(values), options.output or f"{scene.path.stem}.fmu", step=how["step"],
            inputs=options.inputs, outputs=options.outputs, parameters=options.settable,
            method=integrator(how, options), project=how.get("project"),
        )  # fmt: skip
    written = {"written": [str(path)], "warnings": remarks}
    return answer(options, written, *wrote(path), remarks=remarks)


def schema(options: argparse.Namespace) -> int:
    """Print the JSON schema of model files, or write it to a file."""
    from mbd.files.schema import json_schema

    text = json.dumps(json_schema(), indent=2)
    if options.output is None:
        print(text)
        return DONE
    from mbd.base.atomic import replaced

    with replaced(options.output, "schema") as file:
        file.write(f"{text}\n".encode())
    return answer(options, {"written": [options.output]}, *wrote(options.output))


def completion(options: argparse.Namespace) -> int:
    """Print the script that lets a shell complete commands, options and files."""
    from mbd.base.checked import extra
    from mbd.cli import parser

    extra("completion", "scripts for shells need", "shtab", "shell")
    import shtab

    whole = parser()
    for command in whole.commands.values():
        for action in command._actions:
            if action.dest in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, options.shell))
    return DONE
