"""Sphinx configuration: `python -m sphinx -W -b html docs docs/_build`."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mbd
import mbd.base.tolerances
import mbd.history.quantities

sys.path.insert(0, str(Path(__file__).parent))
import notebooks
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
    "gallery",
    "objects",
    "sidebar",
]
exclude_patterns = ["_build"]
Path(__file__).with_name("gallery").joinpath("moving").mkdir(parents=True, exist_ok=True)
html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_extra_path = ["gallery/moving"]
html_css_files = ["mathml.css", "pages.css"]
html_title = f"mbd {release}"

suppress_warnings = ["ref.citation"]  # sources at the end of a docstring
numfig = True
math_eqref_format = "({number})"
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False


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
    """Write the notebooks that tutorials offer."""
    notebooks.write(notebooks.OFFERED)


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.connect("builder-inited", _write)
    app.add_directive("quantities", Quantities)
    app.add_directive("tolerances", Tolerances)
