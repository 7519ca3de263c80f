"""Every kind of file that is read, damaged: read, or refused by its name and in words."""

import ast
from collections import Counter

import pytest
from families import some
from sources import FILES, nodes, word

from tests.hard.doors import DOORS, IN_A_PROCESS, OURS, RUBBISH, answer, damaged

_MANY = 24  # damages of each kind, but for rubbish, where not all are tried


def seen(kind, folder, most):
    """Return how often damaged copies were read and refused, and what was wrong."""
    door, path = DOORS[kind], folder / kind
    door.make(path)
    door.read(path)
    whole = {x: x.read_bytes() for x in folder.iterdir()}
    copies = list(damaged(whole[path], words=not door.program))
    rubbish, rest = copies[: len(RUBBISH)], copies[len(RUBBISH) :]
    counts, wrong = Counter(), []
    for what, copy in rubbish + rest[:: max(1, len(rest) // most)]:
        for file, content in whole.items():
            file.unlink(missing_ok=True)  # a reader may still hold the one before
            file.write_bytes(copy if file == path else content)
        word = answer(door, path)
        counts[word] += 1
        kept = [x for x, content in whole.items() if x != path and x.read_bytes() != content]
        if kept or (word == "refused" and path.read_bytes() != copy):
            word = f"{word}, and changed {kept or path}"
        if word not in ("read", "refused"):
            wrong.append((what, word))
    return counts, wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", some(DOORS, 2))
def test_a_damaged_file_is_read_or_refused_by_name(kind, tmp_path):
    """Nothing else is raised, and no other file of the folder is changed."""
    counts, wrong = seen(kind, tmp_path, _MANY)
    assert not wrong
    assert counts["refused"] > 5 or kind.startswith("chunk")  # which is computed again


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", DOORS)
def test_a_file_damaged_in_every_way(kind, tmp_path):
    assert not seen(kind, tmp_path, 10**6)[1]


_OF = ("np.load", "meshio.read", "trimesh.load", "h5py.File", "h5netcdf.File")
_READ = {"read_bytes", "read_text", "mmread", "load_npz", "read_array", "fromfile",
         "spec_from_file_location", "loadtxt", "genfromtxt"}  # fmt: skip


def reading(nodes):
    """Yield lines of calls that read a file."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name, of = word(node.func), f"{word(getattr(node.func, 'value', None))}.{word(node.func)}"
        modes = {x.value for x in node.args if isinstance(x, ast.Constant)}
        if name in _READ or of in _OF:
            yield node.lineno, of
        elif name == "open" and modes & {"r", "rb", "r+b"}:
            yield node.lineno, of


def test_every_reader_has_a_door():
    found = {x for x in FILES if not x.startswith("models/") and [*reading(nodes(x))]}
    known = {x for door in DOORS.values() for x in door.by} | IN_A_PROCESS | {*OURS}
    assert found == known


def test_the_walk_finds_who_reads():
    code = """
path.read_text()
np.load(path)
with path.open("rb") as file: np.lib.format.read_array(file)
open("x", "w")
"""
    assert sorted({line for line, _ in reading(ast.walk(ast.parse(code)))}) == [2, 3, 4]
