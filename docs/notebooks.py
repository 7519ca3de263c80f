"""Notebooks of the tutorials, made from their pages: what is code there is a cell here.

``python docs/notebooks.py`` runs them, so that they hold what their cells print and draw; the pages
offer them without, where nobody did.
"""

from __future__ import annotations

import json
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
OFFERED = FOLDER / "gallery"
TUTORIALS = sorted((FOLDER / "tutorials").glob("*.rst"))

_FIRST = """\
# where mbd comes from if it is not there: a clone, a wheel, or git+https://...
SOURCE = "."
try:
    import mbd
except ModuleNotFoundError:
    %pip install -q "{SOURCE}[plot]"\
"""
SHOW = "from IPython.display import Image, display"  # of what a cell has written to a file
_LEVELS = {"=": "#", "-": "##", "~": "###"}
_DIRECTIVE = re.compile(r"\.\. ([\w-]+):: ?(.*)")
_ROLE = re.compile(r"(?:\\\s)?:([\w:+-]+):`([^`]+)`(?:\\\s)?", re.S)
_REFERENCE = re.compile(r"`([^`<]+?)\s*<([^>`]+)>`__?")


def notebook(path: Path) -> dict[str, Any]:
    """Return the notebook of a page, format 4.5, without outputs."""
    cells = [_cell("code", _FIRST)]
    words: list[str] = []

    def close() -> None:
        if text := "\n".join(words).strip():
            cells.append(_cell("markdown", _marked(text)))
        words.clear()

    lines = path.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        line, i = lines[i], i + 1
        below = lines[i] if i < len(lines) else ""
        if (
            below
            and below[0] in _LEVELS
            and set(below) == {below[0]}
            and len(below) >= len(line) > 0
        ):
            words += [f"{_LEVELS[below[0]]} {line}", ""]
            i += 1
            continue
        directive = _DIRECTIVE.match(line)
        if not directive:
            if not line.startswith(":download:"):  # of the notebook itself
                words.append(line)
            continue
        inside: list[str] = []
        while i < len(lines) and (not lines[i].strip() or lines[i].startswith(" ")):
            inside.append(lines[i])
            i += 1
        kind, argument = directive.groups()
        body = textwrap.dedent("\n".join(inside)).strip("\n")
        if kind == "code-block" and argument == "python":
            close()
            cells.append(_cell("code", body))
            if pictures := re.findall(r'"(\w+\.png)"', body):
                cells.append(
                    _cell("code", "\n".join([SHOW, *(f'display(Image("{x}"))' for x in pictures)]))
                )
        elif kind == "code-block":
            words += [f"```{argument}", body, "```", ""]
        elif kind == "math":
            words += ["$$", re.sub(r"^:\w+:.*\n+", "", body), "$$", ""]
        # pictures are those that the cells draw
    close()
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def executed(book: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with what its cells print and draw, from a kernel in an empty folder.

    What a cell raises is raised.
    """
    import nbclient
    import nbformat

    done = nbformat.from_dict(book)
    nbformat.validate(done)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(done, timeout=600, kernel_name="python3", resources=where).execute()
    return done


def write(folder: Path, *, run: bool = False) -> None:
    """Write the notebooks of all tutorials; one that was run stays while its cells are the same."""
    folder.mkdir(exist_ok=True)
    for page in TUTORIALS:
        book, path = notebook(page), folder / f"{page.stem}.ipynb"
        if run:
            book = executed(book)
        elif path.exists() and _sources(json.loads(path.read_text("utf-8"))) == _sources(book):
            continue
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _sources(book: dict[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in book["cells"]]


def _cell(kind: str, text: str) -> dict[str, Any]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text, **more}


def _marked(text: str) -> str:
    """Return text in Markdown: formulas, references by what they are called, literals."""

    def role(found: re.Match[str]) -> str:
        kind, inside = found.groups()
        if kind == "math":
            return f"${inside}$"
        if kind in ("sub", "sup"):
            return f"<{kind}>{inside}</{kind}>"
        called = re.match(r"(.+?)\s*<[^>]*>$", inside, re.S)
        return called[1] if called else f"`{inside.removeprefix('~').split('/')[-1]}`"

    text = _REFERENCE.sub(r"[\1](\2)", _ROLE.sub(role, text))
    text = re.sub(r"(?<!`)``(?!`)(.+?)(?<!`)``(?!`)", r"`\1`", text, flags=re.S)
    return re.sub(r"::$", ":", text, flags=re.M)


if __name__ == "__main__":
    write(OFFERED, run=True)
