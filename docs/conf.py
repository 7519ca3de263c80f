"""Sphinx configuration: `python -m sphinx -W -b html docs docs/_build`."""

import mbd

project = "mbd"
author = "The mbd developers"
copyright = "2026, the mbd developers"
version = release = mbd.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mbd {release}"

suppress_warnings = ["ref.citation"]  # sources at the end of a docstring
numfig = True
math_eqref_format = "({number})"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
