"""Exit codes; errors, warnings and what comes next on one line; JSON output."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
_ROUND_OFF = 1e-12  # parts of a sum that are


def print_line(text: str, code: int) -> int:
    """Print one line to the error stream and return the exit code."""
    print(f"mbd: {text}", file=sys.stderr)
    return code


def print_json(value: Any) -> None:
    """Print one JSON value; numbers that JSON does not have, NaN and infinities, are null."""
    print(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def collected() -> Iterator[list[str]]:
    """Fill a list with the warnings of a block: each text once, on one line."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += dict.fromkeys(" ".join(str(w.message).split()) for w in caught)


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


def tell_next(lines: tuple[str, ...], options: argparse.Namespace) -> None:
    """Print what may come next, where a person reads it and did not ask for quiet or JSON.

    It is the first line all of whose words are there: options that were used, {file} with its
    parameters, {timed} with times too, {model} and {results} for an output by its kind.
    """
    if getattr(options, "quiet", False) or options.json:
        return
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        return
    words = _words(options)
    for line in lines:
        try:
            print_line(f"next: {line.format(**words)}", DONE)
        except KeyError:  # of an option that was not used
            continue
        return


def _words(options: argparse.Namespace) -> dict[str, str]:
    """Return what lines may name: options, the model with its parameters, outputs by kind."""
    from mbd.files.modelfile import READERS
    from mbd.store.file_kinds import readable

    there = {key: x for key, x in vars(options).items() if isinstance(x, str) and x}
    words = {key: shlex.quote(x) for key, x in there.items()}
    ending = Path(there.get("output", "")).suffix
    if ending in readable():
        words["results"] = words["output"]
    if ending in READERS or ending == ".py":
        words["model"] = words["output"]
    if Path(there.get("file", "")).suffix in readable():
        words.pop("file", None)
    if "file" in words:
        words["file"] += "".join(f" -p {shlex.quote(x)}" for x in options.parameters)
        words["timed"] = words["file"]
        for key in ("t_end", "step"):
            if (value := getattr(options, key, None)) is not None:
                words["timed"] += f" --{key.replace('_', '-')} {value!r}"
    return words


def components(x: list[float], size: float) -> str:
    """Return the components of a vector as text; round-off of what they are sums of is zero."""
    return ", ".join(f"{c if abs(c) > _ROUND_OFF * size else 0.0:.6g}" for c in x)
