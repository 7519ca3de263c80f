"""The sidebar: pages of objects and scenes appear in it with their neighbours, and nowhere else.

They are many, and the tree of all of them in each page would cost more than the pages. Sphinx makes
the tree without them, once for each folder; here neighbours are put below the page that lists them.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

import furo
import gallery
import objects
import pictures
from sphinx.application import Sphinx
from sphinx.util import logging

Neighbours = tuple[list[str], list[tuple[str, str]]]  # pages that are above, pages and their titles

furo.get_navigation_tree = cache(furo.get_navigation_tree)


@cache
def neighbours(docs: Path) -> dict[str, Neighbours]:
    """Return what is around each page of an object or scene."""
    around: dict[str, Neighbours] = {}
    _, sections = objects.sections((docs / "reference.rst").read_text(encoding="utf-8"))
    for section in sections:
        pages = [(f"reference/{x.path}", x.title) for x in section.objects]
        around |= dict.fromkeys(dict(pages), (["reference", f"reference/{section.path}"], pages))
    for names in gallery.themes().values():
        pages = [(f"gallery/{pictures.place(x)}", gallery.words(x)[0]) for x in names]
        around |= dict.fromkeys(dict(pages), (["scenes"], pages))
    return around


_TREES: dict[tuple[str, str], Any] = {}  # by folder and options


def _once(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Make the tree once for all pages of a folder that are not in it."""
    if page not in neighbours(Path(app.srcdir)) and not page.startswith("_modules/"):
        return
    make, folder = context["toctree"], dirname(page)

    def made(**options: Any) -> Any:
        key = folder, str(options)
        if key not in _TREES:
            _TREES[key] = make(**options)
        return _TREES[key]

    context["toctree"] = made


def _put(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Unfold what is above the page, and put its neighbours there."""
    above, pages = neighbours(Path(app.srcdir)).get(page, ([], []))
    tree = context.get("furo_navigation_tree", "")

    def link(to: str) -> str:
        return relpath(f"{to}.html", dirname(page) or ".")

    for i, to in enumerate(above):
        item = re.compile(
            r'<li class="([^"]*)">(<a class="reference internal" '
            rf'href="{re.escape(link(to))}">[^<]*</a>)(<input)?'
        )
        below = ""
        if i == len(above) - 1:
            items = "".join(
                f'<li class="toctree-l{i + 2}{" current current-page" * (x == page)}">'
                f'<a class="reference internal" href="{link(x)}">{html.escape(title)}</a></li>'
                for x, title in pages
            )
            below = f"<ul>{items}</ul>"
        tree, found = item.subn(
            lambda m, below=below: (
                f'<li class="{m[1]} current">{m[2]}{below}' + ("<input checked" if m[3] else "")
            ),
            tree,
            count=1,
        )
        if not found:
            logging.getLogger(__name__).warning(
                "%s: %s is not in the tree of the sidebar", page, to
            )
    context["furo_navigation_tree"] = tree


def setup(app: Sphinx) -> dict[str, bool]:
    """Come before the theme, and after it."""
    app.connect("html-page-context", _once, priority=400)
    app.connect("html-page-context", _put, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
