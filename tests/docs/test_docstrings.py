"""Every public class and function says what each of its parameters is, numbers with their units."""

import inspect
import re

import pytest

import mbd

# "at, to : (3,) array [m]" and the lines that explain it
ENTRY = re.compile(r"^(\**\w+(?:, \**\w+)*) : (.*)$\n?((?:^ +.*\n?)*)|^(\*\*\w+)$", re.MULTILINE)
# matrices, shares of red, flags, tables
PURE = {"rotation", "color", "rows", "I", "F", "triangles"}


def entries(thing):
    """Return type and explanation of each documented name."""
    found = {}
    for match in ENTRY.finditer(inspect.getdoc(thing) or ""):
        names = match[1] or match[4]
        for name in names.split(", "):
            found[name.lstrip("*")] = (match[2] or "", match[3] or "")
    return found


@pytest.mark.parametrize("name", mbd.__all__)
def test_every_parameter_is_documented(name):
    thing = getattr(mbd, name)
    missing = set(inspect.signature(thing).parameters) - set(entries(thing))
    assert not missing, f"help(mbd.{name}) does not say what {sorted(missing)} are"


@pytest.mark.parametrize("name", mbd.__all__)
def test_numbers_have_units(name):
    for parameter, (kind, text) in entries(getattr(mbd, name)).items():
        if parameter not in PURE and re.search(r"\b(float|arrays?)\b", kind):
            assert re.search(r"\[[^\]]+\]", kind + text), f"{name}: {parameter} has no unit"
