"""The reference: ``reference.rst`` lists objects by section; each gets a page, each section too.

The pages hold the directives of the list as they are. On a page of an object are the pages of the
documentation that speak of it, and the scenes that have it; its neighbours are in the sidebar.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pictures
from gallery import written
from sphinx.application import Sphinx

from mbd.files import scenes

_ENTRY = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?: +.*\n|\n(?= +:))*)", re.M)
_MOST = 8  # pages and scenes that are named


@dataclass
class Object:
    """One entry of the list.

    Attributes
    ----------
    kind, name : str
        Of the directive, "class", "function", "exception" or "module"; the whole name.
    text : str
        The directive.
    """

    kind: str
    name: str
    text: str

    @property
    def title(self) -> str:
        """What the page is called: names of ``mbd`` alone, of modules whole, of others the last."""
        return self.name if self.kind == "module" else self.name.rpartition(".")[2]

    @property
    def path(self) -> str:
        """Place of the page: names that differ in capitals only have different folders."""
        return f"{self.kind}/{self.name.removeprefix('mbd.')}"


@dataclass
class Section:
    """A section of the list: its text, with objects in their places.

    Attributes
    ----------
    text : list of str and Object
    """

    title: str
    text: list[str | Object] = field(default_factory=list)

    @property
    def objects(self) -> list[Object]:
        """The objects, in order."""
        return [x for x in self.text if isinstance(x, Object)]

    @property
    def path(self) -> str:
        """Place of its page."""
        return re.sub(r"\W+", "_", self.title.lower())


def sections(text: str) -> tuple[str, list[Section]]:
    """Return what stands before the first section, and the sections."""
    parts = re.split(r"^(.+)\n-+\n", text, flags=re.M)
    found = [Section(title) for title in parts[1::2]]
    for section, body in zip(found, parts[2::2], strict=True):
        last = 0
        for m in _ENTRY.finditer(body):
            section.text += [body[last : m.start()], Object(m[1], _whole(m[2]), m[0])]
            last = m.end()
        section.text.append(body[last:])
        section.text = [x for x in section.text if isinstance(x, Object) or x.strip()]
    return parts[0], found


def _whole(name: str) -> str:
    return name if name.startswith("mbd.") else f"mbd.{name}"


def write(docs: Path) -> None:
    """Write all pages; remove those of objects that are gone."""
    _, found = sections((docs / "reference.rst").read_text(encoding="utf-8"))
    folder, wanted = docs / "reference", set[Path]()
    for section in found:
        pages = {section.path: _of_section(section)}
        pages |= {x.path: _of_object(x, section, docs) for x in section.objects}
        for place, text in pages.items():
            path = folder / f"{place}.rst"
            path.parent.mkdir(parents=True, exist_ok=True)
            written(path, text)
            wanted.add(path)
    for path in set(folder.rglob("*.rst")) - wanted:
        path.unlink()


def _of_section(section: Section) -> str:
    """Return the page of a section: its text, and tables of its objects."""
    lines = [section.title, "=" * len(section.title), ""]
    table = False
    for x in section.text:
        if isinstance(x, Object):
            lines += [] if table else [".. autosummary::", "    :nosignatures:", ""]
            lines.append(f"    ~{x.name}" if x.kind != "module" else f"    {x.name}")
        else:
            lines += ["", re.sub(r"\.\. currentmodule.*", "", x).strip(), ""]
        table = isinstance(x, Object)
    return "\n".join(lines) + "\n"


def _of_object(x: Object, section: Section, docs: Path) -> str:
    """Return the page of an object."""
    directive = x.text.rstrip() + "\n"
    if not x.name.startswith(directive.split()[2]):
        directive = directive.replace(f":: {x.name.removeprefix('mbd.')}", f":: {x.name}", 1)
    title = f"``{x.title}``"
    lines = [":orphan:", "", title, "=" * len(title), "", directive]
    if re.fullmatch(r"mbd\.\w+", x.name):
        word = re.compile(rf"\bmbd\.{x.title}\b|``{x.title}[`(]")
        lines += _links(
            "Pages that use it", (k for k, text in _texts(docs).items() if word.search(text))
        )
        lines += _links(
            "Scenes that have it", (k for k, text in _sources().items() if word.search(text))
        )
    return "\n".join(lines)


def _links(title: str, places: Any) -> list[str]:
    """Return a paragraph of links, if there are some."""
    some = [f":doc:`{place}`" for place in places]
    if len(some) > _MOST:
        some = [*some[:_MOST], "..."]
    return [f".. rubric:: {title}", "", ", ".join(some), ""] if some else []


@cache
def _texts(docs: Path) -> dict[str, str]:
    """Return the pages that explain, by place."""
    paths = [*sorted(docs.glob("tutorials/*.rst")), *sorted(docs.glob("howto/*.rst"))]
    return {f"/{p.relative_to(docs).with_suffix('')}": p.read_text(encoding="utf-8") for p in paths}


@cache
def _sources() -> dict[str, str]:
    """Return the scenes in Python, by the place of their page."""
    return {
        f"/gallery/{pictures.place(name)}": path.read_text(encoding="utf-8")
        for name, path in scenes.shipped().items()
    }


def _overview(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put in the place of the list its sections, with the names in each."""
    if docname != "reference":
        return
    head, found = sections(source[0])
    lines = [head]
    for x in found:
        lines += [f":doc:`reference/{x.path}`"]
        lines += [
            "    " + ", ".join(f":doc:`{y.title} <reference/{y.path}>`" for y in x.objects),
            "",
        ]
    lines += [".. toctree::", "    :hidden:", "", *(f"    reference/{x.path}" for x in found)]
    source[0] = "\n".join(lines) + "\n"


def _signature(app: Sphinx, what: str, name: str, obj: Any, options: Any, *signature: Any) -> Any:
    """Hide the arguments of classes that say none: they are made by functions, not by users."""
    made = what == "class" and not re.search(r"^Parameters\n", inspect.getdoc(obj) or "", re.M)
    return ("", None) if made else None


def _inner(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Leave out what only the library gives to a constructor: "Other Parameters"."""
    if what == "class" and "Other Parameters" in lines:
        del lines[lines.index("Other Parameters") :]


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before they are looked for."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir)))
    app.connect("source-read", _overview)
    app.connect("autodoc-process-signature", _signature, priority=100)
    app.connect("autodoc-process-docstring", _inner, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
