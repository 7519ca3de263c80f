"""Every code block of the README and of the documentation runs, and so does every doctest."""

import doctest
import importlib.util
import pkgutil
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

import matplotlib as mpl
import pytest

import mbd
from mbd.cli import main
from mbd.files import modelfile
from mbd.history.quantities import PartHistory
from mbd.store import file_kinds

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
FILES = ("toml",)  # blocks that are files, read here and used by the blocks behind them
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.rst"))]


def blocks(path: Path) -> list[tuple[str, str]]:
    """Return language and text of the code blocks of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M)
    found = re.findall(r"^( *)\.\. code-block:: (\w+)\n((?:\n|\1 +.*\n)+)", text + "\n", re.M)
    return [(language, textwrap.dedent(code)) for _, language, code in found]


def runnable(path: Path) -> list[tuple[str, str]]:
    return [block for block in blocks(path) if block[0] in ("python", "sh", *FILES)]


def file_of(code: str) -> str:
    """Return the name that a block has as a file: its first line is a comment with it."""
    found = re.match(r"\s*# (\w+/\w+\.py)\n", code)
    return found[1] if found else ""


def write(path: Path, code: str) -> None:
    """Write a module of a package that is made for it."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)


def test_blocks_are_found():
    assert len(blocks(ROOT / "README.md")) == 3
    assert sum(len(blocks(page)) for page in PAGES) > 25
    languages = {language for page in PAGES for language, _ in blocks(page)}
    assert languages == {"python", "sh", "text", *FILES}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a current folder whose packages can be imported, and are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (tmp_path / name.partition(".")[0]).is_dir():
            del sys.modules[name]


@pytest.fixture
def tables(monkeypatch):
    """Leave the tables that pages add entries to as they were."""
    monkeypatch.setattr(file_kinds, "FILE_KINDS", dict(file_kinds.FILE_KINDS))
    monkeypatch.setattr(modelfile, "READERS", dict(modelfile.READERS))
    entries = set(vars(PartHistory))
    yield
    for name in set(vars(PartHistory)) - entries:
        delattr(PartHistory, name)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "page", [p for p in PAGES if runnable(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_page(page, folder, capsys):
    """Run the blocks of a page one after the other in one name space."""
    shutil.copytree(ROOT / "models", folder / "models")
    names = {"__name__": "__main__"}
    for language, code in runnable(page):
        if language in FILES:  # its first line is a comment with the name of the file
            name = re.search(r"\w+\.toml", code.strip().splitlines()[0])
            (folder / name[0]).write_text(code)
            mbd.read(folder / name[0])
            continue
        if language == "python" and (file := file_of(code)):
            write(folder / file, code)
            continue
        if language == "python":
            exec(compile(code, f"<{page.name}>", "exec"), names)
            continue
        for line in filter(None, code.splitlines()):
            words = shlex.split(line)
            if words[:1] == ["mbd"]:
                assert main(words[1:]) == 0, line
            else:  # setting up an environment: .ci/run does that
                assert words[0] in ("python3", ".venv/bin/pip"), line
    capsys.readouterr()


def test_first_block_of_the_readme_is_two_commands():
    language, code = blocks(ROOT / "README.md")[0]
    first, second = code.splitlines()
    assert language == "sh"
    assert "models/fourbar.py -o" in first
    assert "pytest" in second


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {mbd.__version__}\n" in text


def test_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).is_file(), target


def test_all_public_names_are_in_the_reference():
    text = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")
    missing = [n for n in mbd.__all__ if not re.search(rf":: (mbd\.)?{n}$", text, re.M)]
    assert not missing


def has_examples(name: str) -> bool:
    return ">>> " in Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")


MODULES = [*filter(has_examples, (m.name for m in pkgutil.walk_packages(mbd.__path__, "mbd.")))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted
