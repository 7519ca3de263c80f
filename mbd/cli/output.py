"""Output of commands: results as text or JSON, warnings and errors on one line; exit codes."""

import argparse
import json
import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbd.front.solution import Solution
    from mbd.model.report import Report

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
_ROUND_OFF = 1e-12  # parts of a sum that are


def print_line(text: str, code: int) -> int:
    """Print one line to the error stream and return the exit code."""
    print(f"mbd: {text}", file=sys.stderr)
    return code


def print_json(value: Any) -> None:
    """Print one JSON value; numbers that JSON does not have, NaN and infinities, are null."""
    print(json.dumps(_finite(value), indent=2, allow_nan=False))


def answer(
    options: argparse.Namespace, values: Any, *lines: object, remarks: Iterable[str] = (),
    code: int = DONE, why: str = "",
) -> int:  # fmt: skip
    """Print what a command found, as JSON or in lines, then warnings; return the exit code.

    `why` is a last line of the error stream.
    """
    if options.json:
        print_json(values)
    else:
        for line in lines:
            print(line)
    for remark in remarks:
        print_line(f"warning: {remark}", DONE)
    return print_line(why, code) if why else code


def ended(solution: "Solution") -> tuple[int, str]:
    """Return exit code and last line of a run, which may have failed or been interrupted."""
    if solution.status == 0:
        return DONE, ""
    return FAILED if solution.status > 0 else INTERRUPTED, solution.message


def wrote(*paths: str | Path, sizes: bool = False) -> list[str]:
    """Return a line for each file that was written, with its size if asked for."""
    size = [f" ({Path(x).stat().st_size / 1e6:.2g} MB)" if sizes else "" for x in paths]
    return [f"wrote {path}{x}" for path, x in zip(paths, size, strict=True)]


def report_values(report: "Report") -> dict[str, Any]:
    """Return the report of a model as plain values."""
    from dataclasses import asdict

    derived = ("freedoms", "gruebler_freedoms", "n_redundant")
    return asdict(report) | {name: getattr(report, name) for name in derived}


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
