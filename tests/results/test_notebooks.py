"""What notebooks show: tables for models and results, figures, the bar of a long run."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import mbd
from mbd.base.html_tables import facts, table
from mbd.runs.progress import Progress
from tests.results.samples import everything


class Tags(HTMLParser):
    """Check that each tag that opens closes; collect the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} "


def shown():
    """Return everything that has a table, and words that must be in it."""
    system = everything()
    model = system.build()
    run = mbd.simulate(model, 0.01, 5e-3)
    hanging = mbd.System(gravity=(0, 0, -9.81))
    rod = hanging.add(mbd.RigidBody("<rod>", mass=1, inertia=(0.1, 0.1, 0.1), position=(0, 0, -1)))
    hanging.add(mbd.Revolute("hinge", hanging.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    names = [*system.bodies, "joint 0"]
    return {
        "system": (system, [*names, "Revolute", "0.3, -9.81"]),
        "model": (model, [*names, f"{model.n_v} velocities"]),
        "report": (model.report(), [*names, "degrees of freedom"]),
        "solution": (run, ["reached t = 0.01", "3", "position, velocity", "force, moment"]),
        "equilibrium": (mbd.equilibrium(hanging), ["<rod>", "stable", "True", "9.81"]),
        "modes": (mbd.modes(hanging), ["Hz", "0.47"]),
        "campbell": (mbd.campbell(lambda _: hanging, [0.0]), ["whirl [-]", "0.47", "<rod>"]),
    }


def test_tables_say_what_there_is():
    for name, (thing, words) in shown().items():
        text = Tags(thing._repr_html_()).text
        for word in words:
            assert word in text, (name, word, text)


def test_long_tables_are_cut_and_text_is_escaped():
    text = table("a & b", ("x", "<y>"), [(i, f"<{i}>") for i in range(50)])
    assert text.count("<tr>") == 21
    assert "&lt;19&gt;" in text
    assert "&lt;20&gt;" not in text
    assert "the first 20 of 50" in Tags(text).text
    assert table("none", ("x",), []) == ""
    assert "empty" not in facts(empty="", one=1.23456789)
    assert "1.23457" in facts(one=1.23456789)


def test_notebooks_have_a_bar_of_their_own(monkeypatch):
    import tqdm.auto

    bars = []
    monkeypatch.setattr(tqdm.auto, "tqdm", lambda **options: bars.append(options))
    assert not Progress(10, "steps", None).shown
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    progress = Progress(10, "steps", None)
    assert progress.shown
    progress.due = 0.0
    progress.update(2)
    assert bars == [{"total": 10, "unit": "steps", "initial": 2, "leave": False}]


CELLS = [
    "import mbd",
    "system = mbd.System(gravity=(0, 0, -9.81))\n"
    "ball = system.add(mbd.PointMass('ball', mass=1.0, velocity=(3, 0, 4)))\n"
    "system",
    "run = mbd.simulate(system, t_end=1.0, step=1e-2)\nrun",
    "run.plot('ball.position')",
    "run.animate()",
    "system.build().plot_topology()",
]


@pytest.mark.slow
def test_a_notebook_shows_figures_and_tables(monkeypatch, tmp_path):
    """Run a notebook in a kernel: each cell shows a picture or a table, and no warning."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(x) for x in CELLS])
    monkeypatch.delenv("MPLBACKEND", raising=False)
    client.NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    kinds = []
    for cell in book.cells:
        assert not [x for x in cell.outputs if x.get("name") == "stderr" and "Warn" in x.text]
        kinds.append([kind for x in cell.outputs for kind in x.get("data", {})])
    assert kinds[0] == []
    for i in (1, 2, 4):
        assert "text/html" in kinds[i]
    for i in (3, 5):
        assert kinds[i].count("image/png") == 1, kinds
    html = book.cells[1].outputs[0].data["text/html"]
    assert re.search("ball.*point", re.sub("<[^>]*>", " ", html))
    assert np.all([len(x) for x in kinds[1:]])
