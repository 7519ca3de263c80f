"""Floor 7. Exit codes, and errors as one line."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["DONE", "FAILED", "INTERRUPTED", "WRONG", "explain", "say"]

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


def say(text: str, code: int) -> int:
    """Print one line to the error stream and return the exit code."""
    print(f"mbd: {text}", file=sys.stderr)
    return code


def explain(error: Exception) -> tuple[str, bool]:
    """Return an error as one line, with its place if the code of a scene caused it, and whether."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(str(text).split()) or type(error).__name__
    trace, place, package = error.__traceback__, None, str(Path(__file__).parents[1])
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if trace.tb_frame.f_globals.get("__name__", "").startswith("mbd_scene_"):
            place = f"{file}:{trace.tb_lineno}"
        elif place and file.startswith(package):
            return f"{place}: {text}", True  # an error of the library, caused there
        trace = trace.tb_next
    return (f"{place}: {type(error).__name__}: {text}", True) if place else (text, False)
