"""The files of the package as text and as syntax trees, each parsed once in a process."""

import ast
import functools
import gc
from pathlib import Path

import mbd

ROOT = Path(mbd.__file__).parent
#: all files of the package, by their names below it
FILES = {p.relative_to(ROOT).as_posix(): p for p in sorted(ROOT.rglob("*.py"))}


@functools.cache
def text(name):
    """Return the text of a file."""
    return FILES[name].read_text(encoding="utf-8")


@functools.cache
def tree(name):
    """Return the syntax tree of a file; it stays, and is left out of the search for garbage."""
    gc.disable()
    try:
        return ast.parse(text(name))
    finally:
        gc.freeze()
        gc.enable()


@functools.cache
def nodes(name):
    """Return all nodes of the syntax tree of a file, those above before those below."""
    return tuple(ast.walk(tree(name)))


def word(node):
    """Return what a name or an attribute is called, or ""."""
    return getattr(node, "id", getattr(node, "attr", ""))


def within(node):
    """Return the names and attributes within a node."""
    return {word(x) for x in ast.walk(node) if isinstance(x, ast.Name | ast.Attribute)}
