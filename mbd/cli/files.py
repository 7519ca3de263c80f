"""Files that commands read results from and write to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbd.front.solution import Solution

__all__ = ["check_ending", "whole_run", "writable"]


def check_ending(path: str | None, *endings: str) -> None:
    """Refuse before the work the name of a file that says no form in which it can be written."""
    if path and Path(path).suffix not in endings:
        forms = " or ".join(endings)
        raise ValueError(f"the name of this output must end in {forms}, got {path!r}")


def writable(command: str, *paths: str | None) -> None:
    """Refuse, by trying, what could not be written after the work."""
    from mbd.base.atomic import check_writable

    for path in paths:
        if path:
            check_writable(path, command)


def whole_run(path: str, without: str) -> Solution:
    """Return the run of a file that holds its model; else say what cannot be had without."""
    from mbd.front.load import load
    from mbd.front.solution import Solution

    run = load(path)
    if not isinstance(run, Solution):
        raise ValueError(f"{path}: does not hold its model (which has laws in Python), {without}")
    return run
