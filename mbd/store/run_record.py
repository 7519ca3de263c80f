"""The record of a run in a file of results: plain values that JSON can hold."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.model.state import State
from mbd.runs.plan import plain
from mbd.store.fields import SCHEMA

#: What files say of a run, under these names: notes have others.
OWN = (
    "about", "components", "ends", "events", "gravity", "last_step", "loads", "mbd_version",
    "message", "method", "model", "notes", "off", "options", "outcome", "run", "schema",
    "set_valued", "stats", "status", "threads", "units", "version",
)  # fmt: skip


def checked_notes(notes: Mapping[str, Any]) -> None:
    """Refuse notes that no file can hold, or whose names the file itself uses."""
    for name, note in notes.items():
        if name in OWN:
            raise ValueError(
                f"save: {name!r} is what the file itself says of the run, not a note; choose "
                f"another name than {', '.join(OWN)}"
            )
        try:
            json.dumps(plain(note))
        except Exception:  # also what the value's own methods raise
            raise TypeError(
                "save: notes must be text, numbers, or lists and dicts of them, got "
                f"{name}={shown(note)}"
            ) from None


def of_model(
    model: Model,
    method: Any,
    notes: dict[str, Any],
    folder: Path = Path(),
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return attributes known before a run: version, method, options, the model as text, notes.

    Meshes of the model are named from the folder of the file.
    """
    from mbd.base.public import VERSION

    attributes = {
        "mbd_version": VERSION,
        "schema": SCHEMA,
        "method": method_text(method),
        "gravity": np.asarray(model.system.gravity),
        "threads": model.threads,
    }
    if options:
        attributes["run"] = json.dumps(options)
    text = file_text(model, folder, method, options)
    if text:
        attributes["model"] = text
    if notes:
        attributes["notes"] = json.dumps(plain(notes))
    return attributes


def of_run(
    status: int, message: str, stats: dict[str, float], last: State | None = None
) -> dict[str, Any]:
    """Return attributes known after a run: how it ended, its costs, which joints are off."""
    outcome = {"status": status, "message": message}
    outcome |= plain({f"statistics_{name}": value for name, value in stats.items()})
    if last is not None and last.off:
        outcome["off"] = json.dumps(last.off)
    if last is not None and last.step is not None:
        outcome["last_step"] = last.step
    return outcome


def method_text(method: Any) -> str:
    """Return how a method is written; of a loaded run it is text already."""
    return method if isinstance(method, str) else repr(method)


@per_model
def _texts(model: Model) -> dict[Path, str]:
    """Return the texts of a model that were made so far, by the folder meshes are named from."""
    return {}


def model_text(model: Model, folder: Path = Path()) -> str:
    """Return the model as the text of a model file; empty if it cannot be said in one."""
    from mbd.files.modelfile import to_text

    texts, here = _texts(model), folder.resolve()
    if here not in texts:
        try:
            texts[here] = to_text(model.system, folder=folder)
        except ValueError:  # a law in Python, a part of the user's own
            texts[here] = ""
    return texts[here]


def file_text(model: Model, folder: Path, method: Any, options: Mapping[str, Any] | None) -> str:
    """Return the model and how it was run, as far as a file can say it; empty if not the model."""
    from mbd.files.modelfile import run_text
    from mbd.runs.methods import method as integrator

    text = model_text(model, folder)
    if not text or not options:
        return text
    try:
        return f"{text}\n{run_text({**options, 'method': integrator(method)})}"
    except ValueError:  # a method of the user's own
        return text
