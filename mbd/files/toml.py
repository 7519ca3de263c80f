"""TOML: plain values in, one canonical and readable text out; lines of its keys, for errors."""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]")
_ENTRY = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=")
_WIDTH = 100


def key(name: str) -> str:
    """Return a name as a key."""
    return name if _BARE.fullmatch(name) else _string(name)


def _string(x: str) -> str:
    return json.dumps(x, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(x: Any, indent: int = 0) -> str:
    """Return a value; a list that does not fit the line has one entry a line."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return _string(x)
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key(k)} = {value(y)}" for k, y in x.items()) + "}"
    if isinstance(x, list):
        line = "[" + ", ".join(value(y) for y in x) + "]"
        if indent + len(line) <= _WIDTH or not any(isinstance(y, list | dict) for y in x):
            return line
        return "[\n" + "".join(f"    {value(y)},\n" for y in x) + "]"
    return repr(x)


def _entries(table: dict[str, Any]) -> str:
    return "".join(f"{key(k)} = {value(x, len(k) + 3)}\n" for k, x in table.items())


def text(document: dict[str, Any]) -> str:
    """Return a document: plain values, tables, and tables of tables (whose keys are names)."""
    lines = [_entries({k: x for k, x in document.items() if not isinstance(x, dict)})]
    for name, table in document.items():
        if not isinstance(table, dict):
            continue
        if table and all(isinstance(x, dict) for x in table.values()):
            lines += [f"[{key(name)}.{key(k)}]\n{_entries(x)}" for k, x in table.items()]
        else:
            lines.append(f"[{key(name)}]\n{_entries(table)}")
    return "\n".join(x for x in lines if x)


def _keys(dotted: str) -> tuple[str, ...]:
    """Return the keys of a dotted one."""
    keys: list[str] = []
    try:
        inside = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    while isinstance(inside, dict):
        ((key, inside),) = inside.items()
        keys.append(key)
    return tuple(keys)


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """Return the line, from 1, of the key that goes furthest along a path of keys."""
    table: tuple[str, ...] = ()
    best: tuple[int, int | None] = (0, None)
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            path = table = _keys(header[1])
        elif entry:
            path = table + _keys(entry[1])
        else:
            continue
        same = [a == b for a, b in zip(path, keys, strict=False)]
        shared = same.index(False) if False in same else len(same)
        if shared > best[0]:
            best = (shared, number)
    return best[1]
