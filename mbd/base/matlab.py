"""Files for MATLAB and Octave (``.mat``, version 5): one structure for each part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.atomic import replaced

__all__ = ["save_mat"]


def _identifier(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that MATLAB takes and that is not taken."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)[:60]
    word = word if word[:1].isalpha() else f"x{word}"
    number, free = 1, word
    while free in taken:
        number, free = number + 1, f"{word}_{number + 1}"
    return free


def save_mat(path: Path, values: Mapping[str, Any]) -> Path:
    """Write values by name, ``"rod.position"`` as field ``position`` of the structure ``rod``.

    Letters that MATLAB does not take become underscores; of names that are the same then, the later
    ones get a number. Then the variable ``names`` has the new names and the old ones.
    """
    from scipy.io import savemat

    variables: dict[str, Any] = {}
    structures: dict[str, dict[str, Any]] = {"": variables}
    changed = []
    for name, value in values.items():
        part, _, quantity = name.rpartition(".")
        if part not in structures:
            word = _identifier(part, variables)
            structures[part] = variables[word] = {}
            changed += [[word, part]] if word != part else []
        word = _identifier(quantity, structures[part])
        structures[part][word] = value
        changed += [[word, name]] if word != quantity else []
    if changed:
        variables[_identifier("names", variables)] = np.array(changed, object)
    with replaced(path, "save") as file:
        savemat(file, variables, do_compression=True, long_field_names=True, oned_as="column")
    return path
