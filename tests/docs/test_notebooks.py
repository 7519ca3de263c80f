"""The tutorials as notebooks: every block of a page is a cell, and all cells run."""

import json
import re
import sys

import pytest
from test_examples import ROOT, blocks

sys.path.insert(0, str(ROOT / "docs"))
import notebooks

PAGES = pytest.mark.parametrize("page", notebooks.TUTORIALS, ids=lambda p: p.stem)


@PAGES
def test_what_is_code_in_a_page_is_a_cell(page):
    cells = notebooks.notebook(page)["cells"]
    code = [x["source"] for x in cells if x["cell_type"] == "code"]
    code = [x for x in code if not x.startswith(notebooks.SHOW)]
    assert code[1:] == [text.strip("\n") for language, text in blocks(page) if language == "python"]
    words = "\n".join(x["source"] for x in cells if x["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert not re.search(r":\w+:`|^\.\. |(?<!`)``\w|^[=~-]{4,}$", words, re.M), words
    assert words.count("$$") % 2 == 0
    long = [x for x in page.read_text().split() if x.isalpha() and len(x) > 9]
    assert sum(x in words or any(x in c for c in code) for x in long) > 0.75 * len(
        long
    )  # all but captions


@pytest.mark.slow
@PAGES
def test_notebooks_run_and_show_their_figures(page):
    for name in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(name)
    book = notebooks.executed(notebooks.notebook(page))
    for cell in book.cells:
        kinds = {kind for x in cell.get("outputs", []) for kind in x.get("data", {})}
        if cell.source.startswith(notebooks.SHOW) or cell.source.endswith(".plot()"):
            assert "image/png" in kinds
        if cell.source.splitlines()[-1].startswith("solution.animate("):
            assert "text/html" in kinds


def test_a_notebook_that_was_run_is_kept_while_its_page_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "TUTORIALS", notebooks.TUTORIALS[:1])
    notebooks.write(tmp_path)
    (path,) = tmp_path.glob("*.ipynb")
    book = json.loads(path.read_text())
    book["cells"][0]["outputs"] = ["printed"]
    path.write_text(json.dumps(book))
    notebooks.write(tmp_path)
    assert "printed" in path.read_text()
    book["cells"][0]["source"] = "another page"
    path.write_text(json.dumps(book))
    notebooks.write(tmp_path)
    assert "printed" not in path.read_text()
