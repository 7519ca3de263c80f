"""Line numbers of the keys of a TOML text, for errors."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]")
_ENTRY = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=")


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
