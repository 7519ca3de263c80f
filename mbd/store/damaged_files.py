"""Reading of damaged files: correct, or refused with the name of the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["DamagedFileError", "read_or_refuse"]

T = TypeVar("T")
_WAITS = (0.0, 0.005, 0.02)  # [s] a run may be writing what is read


class DamagedFileError(ValueError):
    """A file of results that is not what was written."""


def read_or_refuse(path: Path, read: Callable[[], T], *, growing: bool = False) -> T:
    """Return what ``read`` returns; whatever it raises becomes an error that names the file.

    Libraries that read a damaged file raise errors of all kinds.

    Parameters
    ----------
    path : Path
    read : callable
    growing : bool
        A run may still write to the file: read again before it is called damaged.
    """
    for wait in (*(_WAITS if growing else ()), None):
        try:
            return read()
        except (DamagedFileError, FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            if wait is None:
                text = f"{type(error).__name__}: {str(error).strip() or 'no reason told'}"
                raise DamagedFileError(
                    f"load: {path} is not a whole file of results ({text}); copy it again, or run "
                    "the model again"
                ) from None
            time.sleep(wait)
    raise AssertionError
