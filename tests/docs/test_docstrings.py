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


def words(text):
    return {x.strip(" '\"") for x in text.split(",")}


def options():
    """Yield name, parameter and words of what takes one of some words, says its docstring."""
    for name in mbd.__all__:
        for parameter, (kind, _) in entries(getattr(mbd, name)).items():
            if kind.startswith("{"):
                yield name, parameter, words(kind[1 : kind.index("}")])


def test_options_are_literals():
    """An editor offers the words of which a parameter is one, and a type checker refuses others."""
    several = list(options())
    assert len(several) > 10
    for name, parameter, choices in several:
        hint = str(inspect.signature(getattr(mbd, name)).parameters[parameter].annotation)
        literal = re.search(r"Literal\[([^\]]*)\]", hint)
        assert literal, f"mbd.{name}: {parameter} is one of {choices}, its type is {hint}"
        assert words(literal[1]) == choices, (name, parameter)
