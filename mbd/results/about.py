"""Floor 5. What a file of results says of the run: plain values that JSON can hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.results.fields import SCHEMA

if TYPE_CHECKING:
    from mbd.model.model import Model

__all__ = ["method_text", "model_from_text", "model_text", "of_model", "of_run", "plain"]


def of_model(model: Model, method: Any, notes: dict[str, Any]) -> dict[str, Any]:
    """Return what is known before a run: version, method, the model as text, notes."""
    from mbd import __version__

    found = {
        "mbd_version": __version__,
        "schema": SCHEMA,
        "method": method_text(method),
        "gravity": np.asarray(model.system.gravity),
    }
    text = model_text(model)
    if text:
        found["model"] = text
    if notes:
        found["notes"] = json.dumps(plain(notes))
    return found


def of_run(status: int, message: str, stats: dict[str, float]) -> dict[str, Any]:
    """Return what is known after it: how it ended and what it cost."""
    statistics = {f"statistics_{name}": value for name, value in stats.items()}
    return {"status": status, "message": message, **plain(statistics)}


def method_text(method: Any) -> str:
    """Return how a method is written; of a loaded run it is text already."""
    return method if isinstance(method, str) else repr(method)


def model_text(model: Model) -> str:
    """Return the model as the text of a model file; empty if it cannot be said in one."""
    return ""


def model_from_text(text: str) -> Model | None:
    """Return the model of a text, if there is one."""
    return None


def plain(value: Any) -> Any:
    """Return a value without numpy in it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
