"""The pages that are made while the documentation is built: of scenes and of objects."""

import sys

import pytest
from test_examples import ROOT

import mbd

pytest.importorskip("furo")
sys.path += [str(ROOT / "docs")]
import gallery
import objects
import pictures

_, SECTIONS = objects.sections((ROOT / "docs" / "reference.rst").read_text(encoding="utf-8"))
PAGES = [x for section in SECTIONS for x in section.objects]


def test_every_scene_has_a_title_of_its_own_and_a_theme():
    shown = [name for names in gallery.themes().values() for name in names]
    assert sorted(shown) == sorted(pictures.files())
    titles = [gallery.words(name)[0] for name in shown]
    assert len(set(titles)) == len(titles)
    assert {t: len(t) for t in titles if len(t) > 40} == {}
    assert [name for name in shown if name.endswith(".py") and not gallery.words(name)[1]] == []


def test_every_public_object_has_one_page_that_any_file_system_can_hold():
    assert {f"mbd.{name}" for name in mbd.__all__} <= {x.name for x in PAGES}
    places = [x.path.lower() for x in PAGES] + [x.path for x in SECTIONS]
    assert len(set(places)) == len(places)
    text = "".join(y for x in SECTIONS for y in x.text if isinstance(y, str))
    assert ".. auto" not in text  # nothing of the list was taken for text


def test_an_entry_keeps_its_options():
    (model,) = (x for x in PAGES if x.name == "mbd.Model")
    assert model.text.startswith(".. autoclass:: mbd.Model\n    :members: report,")
    assert (model.kind, model.path) == ("class", "class/Model")
