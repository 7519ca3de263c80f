"""Names in files for MATLAB and Octave: one structure for each part."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np


def _identifier(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that MATLAB takes and that is not taken."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)[:60]
    word = word if word[:1].isalpha() else f"x{word}"
    number, free = 1, word
    while free in taken:
        number, free = number + 1, f"{word}_{number + 1}"
    return free


def structures(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables for ``savemat``: ``"rod.position"`` as field ``position`` of ``rod``.

    Letters that MATLAB does not take become underscores; of names that are the same then, the later
    ones get a number. Then the variable ``names`` has the new names and the old ones.
    """
    variables: dict[str, Any] = {}
    fields: dict[str, dict[str, Any]] = {"": variables}
    changed = []
    for name, value in values.items():
        part, _, quantity = name.rpartition(".")
        if part not in fields:
            word = _identifier(part, variables)
            fields[part] = variables[word] = {}
            changed += [[word, part]] if word != part else []
        word = _identifier(quantity, fields[part])
        fields[part][word] = value
        changed += [[word, name]] if word != quantity else []
    if changed:
        variables[_identifier("names", variables)] = np.array(changed, object)
    return variables
