"""Formulas as MathML, written while the pages are built: browsers draw it without a network.

Equation numbers, labels and references are those of Sphinx. ``mathml.css`` has what MathML Core
leaves to style sheets: columns of aligned equations.
"""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

SPACE = "{http://www.w3.org/1998/Math/MathML}"
ACCENTS = set("˙¨⃛⃜^~¯→\u0307\u0308\u0302\u0303\u0304")
ElementTree.register_namespace("", SPACE[1:-1])


def mathml(formula: str, display: str) -> str:
    """Return the MathML of a formula; a mistake in it is named with the formula."""
    try:
        tree = ElementTree.fromstring(convert(formula, display=display))
    except Exception as error:
        raise ValueError(f"not a formula ({error!r}): {formula}") from error
    for part in tree.iter():
        _tidy(part)
    for part in tree.iter():
        _joined(part)
    return ElementTree.tostring(tree, encoding="unicode")


def _tidy(part: ElementTree.Element) -> None:
    """Mend what browsers would draw in another way than TeX."""
    if part.tag == f"{SPACE}mo" and len(part):  # an operator of several signs, such as :=
        part.text = "".join(part.itertext())
        part[:] = []
    if part.tag == f"{SPACE}mo" and part.text == "|":  # a norm, not an operator between two terms
        part.attrib |= {"lspace": "0", "rspace": "0"}
    if part.tag == f"{SPACE}mover" and (part[1].text or "").strip() in ACCENTS:
        part.set("accent", "true")


def _joined(part: ElementTree.Element) -> None:
    """Make += and -= one operator."""
    for sign, equals in pairwise(list(part)):
        signs = sign.text in ("+", "-", "\u2212") and equals.text == "="
        if signs and {sign.tag, equals.tag} == {f"{SPACE}mo"}:
            sign.text = f"{sign.text}="
            part.remove(equals)


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(f"{mathml(node.astext(), 'inline')}</span>")
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write the formulas of a block, one for each paragraph, and the number."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    self.body.append('<div class="formula">')
    for part in filter(str.strip, node.astext().split("\n\n")):
        lines = rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part
        self.body.append(mathml(lines, "block"))
    self.body.append("</div>")
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the writer of formulas."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
