"""Sphinx configuration: `python -m sphinx -W -b html docs docs/_build`."""

import ast
import inspect
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mbd
import mbd.base.tolerances
import mbd.history.quantities
from mbd.files import scenes

sys.path.insert(0, str(Path(__file__).parent))
import notebooks
import pictures
import quantities
import tolerances

project = "mbd"
author = "The mbd developers"
copyright = "2026, the mbd developers"
version = release = mbd.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "mathml",
]
exclude_patterns = ["_build"]
Path(__file__).with_name("gallery").joinpath("moving").mkdir(parents=True, exist_ok=True)
html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_extra_path = ["gallery/moving"]
html_css_files = ["mathml.css"]
html_title = f"mbd {release}"

suppress_warnings = ["ref.citation"]  # sources at the end of a docstring
numfig = True
math_eqref_format = "({number})"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False


class Scenes(SphinxDirective):
    """List the scenes that come with the package: what they say of themselves, and pictures."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each scene."""
        folder = Path(self.env.srcdir) / "gallery"
        folder.mkdir(exist_ok=True)
        self.env.note_dependency(pictures.__file__)
        files = pictures.files()
        unknown = set(pictures.PICTURES) - set(files)
        if unknown:
            raise ValueError(f"pictures.py: there are no scenes {sorted(unknown)}")
        lines = []
        for name, path in files.items():
            self.env.note_dependency(str(path))
            scene = scenes.load(path)
            text = _text(path)
            run = pictures.run(name, scene)
            said = {k: x if isinstance(x, str) else repr(x) for k, x in run.items()}
            how = ", ".join(f"``{key} = {value}``" for key, value in said.items())
            parts = re.split("(``.*?``)", text)  # plain text but for literals
            parts[::2] = [re.sub(r"([\\*|_`])", r"\\\1", part) for part in parts[::2]]
            lines += [name, "-" * len(name), ""]
            for shown, file in zip(
                ("at one instant", "over time"), pictures.make(name, scene, folder), strict=True
            ):
                lines += [f".. image:: /gallery/{file.name}", "    :width: 49%"]
                lines += [f"    :target: {pictures.page(name)}"]
                lines += [f"    :alt: The scene {name} {shown}; the page behind it plays.", ""]
            lines += [*"".join(parts).splitlines(), ""]
            if path.suffix == ".py":
                signature = inspect.signature(scene.make).replace(
                    return_annotation=inspect.Signature.empty
                )
                lines += [f"``build{signature}``", ""]
            lines += [f"Run with {how}.", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _text(path: Path) -> str:
    """Return what a file says of itself: its docstring, or the comment in which XML begins."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    comment = re.search(r"<!--(.*?)-->", text, re.S) if path.suffix in (".urdf", ".xml") else None
    return " ".join(comment[1].split()) if comment else scenes.summary(path) + "."


class Tolerances(SphinxDirective):
    """List the tolerances of the package with their reasons and tests."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each part of the solvers."""
        for module in (tolerances, mbd.base.tolerances):
            self.env.note_dependency(module.__file__)
        return self.parse_text_to_nodes(tolerances.page(), allow_section_headings=True)


class Quantities(SphinxDirective):
    """List the quantities of results: names, units, axes, what they are."""

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        for module in (quantities, mbd.history.quantities):
            self.env.note_dependency(module.__file__)
        return self.parse_text_to_nodes(quantities.page())


def _write(app: Sphinx) -> None:
    """Write what pages offer: notebooks of tutorials, the moving picture of the first page."""
    notebooks.write(notebooks.OFFERED)
    moving = notebooks.OFFERED / "moving"
    moving.mkdir(exist_ok=True)
    pictures.move("strandbeest", moving / "strandbeest.html")


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.connect("builder-inited", _write)
    app.add_directive("quantities", Quantities)
    app.add_directive("scenes", Scenes)
    app.add_directive("tolerances", Tolerances)
