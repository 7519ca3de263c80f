"""Formulas of the documentation as MathML: nothing is loaded, and what is wrong is named."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("latex2mathml")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def mathml():
    spec = importlib.util.spec_from_file_location("mathml_of_docs", DOCS / "mathml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.mathml


def test_accents_norms_and_operators(mathml):
    assert re.search(r'<mover accent="true"><mi>q</mi>', mathml(r"\dot q", "inline"))
    assert mathml("|A|", "inline").count('lspace="0" rspace="0"') == 2
    assert "<mo>+=</mo>" in mathml(r"r \mathrel{+}= f", "inline")
    assert "<mo>:=</mo>" in mathml(r"a \mathrel{:=} b", "inline")


def test_what_is_no_formula_is_named(mathml):
    with pytest.raises(ValueError, match=r"not a formula \(.*\): a &= b"):
        mathml("a &= b", "block")


def test_every_formula_of_the_pages_is_one(mathml):
    found = [x for f in DOCS.rglob("*.rst") for x in re.findall(r":math:`([^`]+)`", f.read_text())]
    assert len(found) > 100
    for formula in found:
        assert mathml(formula, "inline").startswith("<math ")


def test_pages_load_no_script_for_formulas():
    assert "mathjax" not in (DOCS / "conf.py").read_text()
