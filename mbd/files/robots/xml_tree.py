"""Elements of an XML file that know their place, and what of them was read.

What is neither read nor spoken of is noted in the end, so that nothing vanishes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any
from xml.parsers import expat

from mbd.base.checked import meant, shown
from mbd.base.tolerances import LARGEST

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)  # they often hold what XML does not allow there


class Node:
    """An element: its tag, attributes and children, the file and the line that it is from."""

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int) -> None:
        self.tag, self.attributes, self.file, self.line = tag, attributes, file, line
        self.children: list[Node] = []
        self.who = f"<{tag}>"
        self.read: set[str] = {"name"}  # attributes
        self.entered = False  # whether it was read at all

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}line {self.line}"

    def called(self, who: str) -> Node:
        """Return the element, which was reached, with what errors call it."""
        self.who, self.entered = who, True
        return self

    def error(self, text: str) -> ValueError:
        """Return an error that says who and where."""
        return ValueError(f"{self.who}: {text} ({self.place})")

    def all(self, tag: str) -> list[Node]:
        """Return the children of a tag."""
        return [x.called(f"{self.who}, {tag}") for x in self.children if x.tag == tag]

    def one(self, tag: str) -> Node | None:
        """Return the first child of a tag."""
        here = next((x for x in self.children if x.tag == tag), None)
        return here and here.called(f"{self.who}, {tag}")

    def passed(self) -> None:
        """Count the element, and all in it, as spoken of."""
        self.entered = True
        self.read.update(self.attributes)
        for child in self.children:
            child.passed()

    def text(self, key: str, default: str | None = None) -> str:
        """Return an attribute."""
        self.read.add(key)
        value = self.attributes.get(key, default)
        if value is None:
            raise self.error(f"the attribute {key!r} is missing")
        return value

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        """Return an attribute that is one of several words."""
        value = self.text(key, default)
        if value not in choices:
            words = ", ".join(choices)
            raise self.error(
                f"{key} must be one of {words}, got {shown(value)}{meant(value, choices)}"
            )
        return value

    def numbers(
        self, key: str, default: tuple[float, ...] | None, size: int | tuple[int, int]
    ) -> tuple[float, ...]:
        """Return an attribute of as many numbers, or of a number of them between two."""
        value = self.attributes.get(key)
        self.read.add(key)
        if value is None and default is not None:
            return default
        try:
            values = tuple(float(x) for x in self.text(key).split())
        except ValueError as error:
            if value is None:
                raise
            raise self.error(f"{key} must be numbers, got {shown(value)}") from error
        least, most = (size, size) if isinstance(size, int) else size
        if not least <= len(values) <= most or not all(map(math.isfinite, values)):
            many = f"{least}" if least == most else f"{least} to {most}"
            raise self.error(f"{key} must be {many} finite numbers, got {shown(value)}")
        if any(abs(x) > LARGEST for x in values):
            raise self.error(f"{key} must not exceed {LARGEST:g}, got {shown(value)}")
        return values

    def number(self, key: str, default: float | None = None) -> float:
        """Return an attribute that is a number."""
        return self.numbers(key, None if default is None else (default,), 1)[0]


class Notes:
    """Remarks on what a file says and the system does not use, with places, each of them once."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def add(self, text: str, node: Node | None = None) -> None:
        """Note something, at an element of the file or of the whole."""
        places = self._places.setdefault(text, [])
        if node is not None:
            places.append(node.place)

    def texts(self) -> list[str]:
        """Return the notes as text."""
        return [text + _places(places) for text, places in self._places.items()]


def _places(places: list[str]) -> str:
    if not places:
        return ""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f" ({', '.join(places[:3])}{more})"


def parsed(data: bytes, file: str = "") -> Node:
    """Return the element at the top of an XML file, of which errors and notes tell the name."""
    parser = expat.ParserCreate(namespace_separator="}")
    top = Node("", {}, file, 0)
    open_ones = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        name = f"{{{tag}" if "}" in tag else tag
        node = Node(name, attributes, file and f"{file}, ", parser.CurrentLineNumber)
        open_ones[-1].children.append(node)
        open_ones.append(node)

    def end(tag: str) -> None:
        open_ones.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(_COMMENT.sub(lambda x: b"\n" * x[0].count(b"\n"), data), True)
    except expat.ExpatError as error:
        raise ValueError(f"{file and f'{file}: '}is no XML: {error}") from None
    return top.children[0]


def unread(node: Node, who: str = "") -> Iterator[tuple[str, Node]]:
    """Return notes of all below an element that was not read, and where.

    They begin with what the parents are called, or, without `who`, with the tag alone, so that many
    of a kind become one note.
    """
    for child in node.children:
        name = f" {child.attributes['name']!r}" if child.attributes.get("name") else ""
        if not child.entered:
            yield f"{who and f'{who}: '}<{child.tag}>{name if who else ''} is not used", child
            continue
        inside = (f"{child.tag}{name}" if who == "robot" else f"{who}, {child.tag}") if who else ""
        for key in child.attributes:
            if key not in child.read:
                unused = f"{inside}: the attribute {key!r}" if who else f"<{child.tag}> {key}"
                yield f"{unused} is not used", child
        yield from unread(child, inside)


def by_name(items: list[Any], what: str) -> dict[str, Any]:
    """Return items by their names, which differ."""
    named: dict[str, Any] = {}
    for item in items:
        if item.name in named:
            raise ValueError(f"{what} {item.name!r} is there twice; names must differ")
        named[item.name] = item
    return named
