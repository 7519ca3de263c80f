"""A file is the old one, whole, or the new one, whole: killed, interrupted, on a full disk."""

import ast
import errno
import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest
from families import some
from sources import FILES, nodes, within, word

import mbd
from mbd.base import atomic
from mbd.fitting import evaluations
from tests.hard.doors import DOORS
from tests.hard.files import BY, GROWING, WRITERS, Things, content, debris, full_disk

KINDS = list(WRITERS)


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    return Things(tmp_path_factory.mktemp("things"))


@pytest.fixture(scope="module")
def contents(things, tmp_path_factory):
    """The two contents of a kind of file, each written alone."""
    made = {}

    def both(kind):
        if kind not in made:
            made[kind] = []
            for n in (0, 1):
                path = tmp_path_factory.mktemp("one") / kind
                WRITERS[kind](things, n, path)
                made[kind].append(content(path))
            assert made[kind][0] != made[kind][1]
        return made[kind]

    return both


def is_whole(path, contents):
    """Whether all there is of a file is of one save."""
    return content(path) in contents


@pytest.mark.parametrize("kind", some(KINDS, 2))
def test_what_is_written_again_is_as_if_written_alone(things, contents, kind, tmp_path):
    path = tmp_path / "a" / "b" / kind
    for n in (0, 1):
        WRITERS[kind](things, n, path)
        assert content(path) == contents(kind)[n]
        assert not debris(tmp_path)


@pytest.mark.parametrize("kind", some([*KINDS][1:] + [*KINDS][:1], 2))
def test_a_full_disk_breaks_nothing(things, contents, kind, tmp_path):
    path = tmp_path / kind
    WRITERS[kind](things, 0, path)
    largest = max(map(len, contents(kind)[1].values()))
    for part in (0.37, 0.96):
        with full_disk(int(part * largest)), pytest.raises(OSError, match="cannot be written") as e:
            WRITERS[kind](things, 1, path)
        assert kind.split(".")[0] in str(e.value)
        assert "ulimit" in str(e.value)
        assert content(path) == contents(kind)[0]
        assert not debris(tmp_path)
    WRITERS[kind](things, 1, path)
    assert content(path) == contents(kind)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_is_full_when_a_file_is_brought_to_it_breaks_nothing(
    things, contents, kind, tmp_path, monkeypatch
):
    """File systems that allocate late say so at the end: at the first file, and at the second."""
    path = tmp_path / kind
    WRITERS[kind](things, 0, path)
    sync = os.fsync
    for good in (0, 1):
        left = [good]

        def full(file, left=left):
            if not left[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            left[0] -= 1
            sync(file)

        with monkeypatch.context() as patch:
            patch.setattr(atomic.os, "fsync", full)
            text = ""
            try:
                WRITERS[kind](things, 1, path)
            except OSError as error:
                text = str(error)
        if good == 0 or text:  # the folder is tried only
            assert str(path.with_suffix("")) in text
            assert "cannot be written: the disk is full; free some of it" in text
            assert content(path) == contents(kind)[0]
            assert not debris(tmp_path)
    WRITERS[kind](things, 1, path)
    assert content(path) == contents(kind)[1]


@pytest.mark.parametrize("what", ["fit.kept", "optimum.kept"])
def test_a_fit_and_an_optimum_on_a_full_disk(what, tmp_path, monkeypatch):
    """Each evaluation that is computed counts, and those that could be kept are whole."""
    path, written = tmp_path / what, []
    DOORS[what].make(tmp_path / "all")
    whole = (tmp_path / "all").read_bytes()
    sync = os.fsync

    def full(file):
        written.append(file)
        if len(written) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    monkeypatch.setattr(evaluations.os, "fsync", full)
    with pytest.warns(RuntimeWarning, match=rf"{path} cannot be written: the disk is full") as seen:
        DOORS[what].make(path)
    assert len([x for x in seen if "disk is full" in str(x.message)]) == 1
    monkeypatch.undo()
    assert len(path.read_bytes()) < len(whole)
    DOORS[what].make(path)
    assert path.stat().st_size == len(whole)


def test_a_folder_of_a_moment_is_removed_by_the_next_one(tmp_path, monkeypatch):
    """What a process left that was killed; not that of one who lives."""
    monkeypatch.setattr(atomic.tempfile, "tempdir", str(tmp_path))
    child = os.fork()
    if not child:
        with atomic.scratch("mbd-x", "one") as folder:
            (folder / "inside").mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with atomic.scratch("mbd-x", "one") as first:
        assert [*tmp_path.iterdir()] == [first]
        with atomic.scratch("mbd-x", "one") as second:
            assert {*tmp_path.iterdir()} == {first, second}
    assert not list(tmp_path.iterdir())


def killed(things, kind, path, seconds):
    """Write in a child, again and again, and kill it."""
    child = os.fork()
    if not child:
        try:
            while True:
                for n in (1, 0):
                    WRITERS[kind](things, n, path)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"


def kills(things, contents, kind, folder, times):
    rng = random.Random(kind)
    path = folder / kind
    WRITERS[kind](things, 0, path)
    for _ in range(times):
        killed(things, kind, path, rng.uniform(0.002, 0.06))
        if kind == "matrices":  # renamed one by one: each of them is whole
            for name, text in content(path).items():
                if not name.endswith(".new"):
                    assert text in [x[name] for x in contents(kind)]
        else:
            assert is_whole(path, contents(kind))
    WRITERS[kind](things, 1, path)
    assert content(path) == contents(kind)[1]
    assert not debris(folder)


@pytest.mark.parametrize("kind", some(KINDS, 2))
def test_who_is_killed_breaks_nothing(things, contents, kind, tmp_path):
    kills(things, contents, kind, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_who_is_killed_often_breaks_nothing(things, contents, kind, tmp_path):
    kills(things, contents, kind, tmp_path, 200)


@pytest.mark.parametrize(
    ("kind", "moments"),
    [(x, (1, 2)) for x in KINDS] + [pytest.param(x, (0, 3), marks=pytest.mark.slow) for x in KINDS],
)
def test_ctrl_c_breaks_nothing(things, contents, kind, moments, tmp_path, monkeypatch):
    """Before and after the first and the second time a file is brought to the disk, or renamed."""
    path = tmp_path / kind
    WRITERS[kind](things, 0, path)
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        for when in moments:
            calls = [0]

            def pressed(*x, calls=calls, when=when, original=original, **y):
                calls[0] += 1
                if calls[0] == 1 + when // 2:
                    if when % 2:
                        original(*x, **y)
                    raise KeyboardInterrupt
                return original(*x, **y)

            with monkeypatch.context() as patch:
                patch.setattr(atomic.os, name, pressed)
                try:
                    WRITERS[kind](things, 1, path)
                except KeyboardInterrupt:
                    pass
                else:
                    continue
            assert is_whole(path, contents(kind))
            assert not debris(tmp_path)


@pytest.mark.parametrize("kind", [x for x in KINDS if x != "matrices"])
def test_a_link_stays_and_so_do_permissions(things, contents, kind, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "elsewhere" / kind
    WRITERS[kind](things, 0, place)
    place.chmod(0o640)
    path = tmp_path / kind
    path.symlink_to(Path("elsewhere") / kind)
    WRITERS[kind](things, 1, path)
    assert path.is_symlink()
    assert content(place) == contents(kind)[1]
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", [x for x in KINDS if x != "matrices"])
def test_places_that_cannot_be_written_are_named(things, contents, kind, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="cannot be written: .*is not a folder"):
        WRITERS[kind](things, 0, tmp_path / "file" / kind)
    with pytest.raises(
        (ValueError, OSError), match=r"255 between slashes|cannot be written: .*too long"
    ):
        WRITERS[kind](things, 0, tmp_path / ("n" * 260 + kind))
    folder = tmp_path / kind
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        WRITERS[kind](things, 0, folder)
    folder.rmdir()
    folder.symlink_to(folder)
    with pytest.raises(OSError, match="circle"):
        WRITERS[kind](things, 0, folder)
    folder.unlink()
    WRITERS[kind](things, 0, folder)
    folder.chmod(0o444)
    with pytest.raises(PermissionError, match="cannot be written: .*chmod"):
        WRITERS[kind](things, 1, folder)
    assert content(folder) == contents(kind)[0]
    assert not debris(tmp_path)


def test_the_new_file_of_one_who_lives_is_not_removed(tmp_path):
    path = tmp_path / "x.csv"
    with atomic.replaced(path, "one") as first:
        first.write(b"first")
        with atomic.replaced(path, "two") as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    (tmp_path / ".x.csv.01234567.new").write_text("of one who was killed")
    (tmp_path / ".x.csv.new").write_text("of another program")
    with atomic.replaced(path, "one"):
        pass
    assert sorted(x.name for x in tmp_path.iterdir()) == [".x.csv.new", "x.csv"]


def test_folders_that_were_made_for_nothing_are_removed(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic.replaced(tmp_path / "a" / "b" / "x", "one"):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    (tmp_path / "run.pvd").write_bytes(b"of somebody else")
    with pytest.raises(ZeroDivisionError), atomic.replaced_set(tmp_path / "run.pvd", "one"):
        raise ZeroDivisionError
    assert [x.name for x in tmp_path.iterdir()] == ["run.pvd"]


def test_a_pipe_is_written_to():
    """What is no file, /dev/stdout say, cannot be replaced."""
    out, into = os.pipe()
    with atomic.replaced(f"/dev/fd/{into}", "one") as file:
        file.write(b"hello")
    assert os.read(out, 10) == b"hello"
    os.close(out)
    os.close(into)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with atomic.replaced("/dev/null", "one") as file:
        file.write(b"hello")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


_WRITE = {"write_text", "write_bytes", "touch", "tofile", "symlink_to", "rename", "mkdir"}
_INTO = {"savez", "savez_compressed", "savetxt", "savefig", "mmwrite", "dump", "imsave"}
_PRIVATE = {  # files of nobody else's, with the reason
    "base/atomic.py": "the one place",
    "machine/kernel_cache.py": "kernels, which are named by what they were compiled from",
    "store/log.py": "grows under its name",
    "fitting/evaluations.py": "grows under its name, an evaluation at a time",
    "store/netcdf.py": "writes through a wrapper of the file that is replaced",
    "cli/checks.py": "writes into memory",
    "fmi/export.py": "makes in a temporary folder what it packs into the file that is replaced",
}


def writing(nodes):
    """Yield lines of calls that write a file which no `with replaced(...) as` has opened."""
    own = set()
    for node in nodes:
        for item in node.items if isinstance(node, ast.With) else ():
            call = item.context_expr
            if isinstance(call, ast.Call) and "replaced" in word(call.func):
                own |= within(item.optional_vars)
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = of = word(node.func)
        if name not in {*_WRITE, *_INTO, "open", "File"}:
            continue
        words = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant)]
        modes = [x for x in words if isinstance(x, str) and set(x) <= set("rwaxbt+") and x]
        first = within(node.args[0]) if node.args else set()
        if name in _WRITE or (name == "open" and any(set("wax+") & set(x) for x in modes)):
            yield node.lineno, of
        elif (name in _INTO or (name == "File" and "w" in modes)) and not first & own:
            yield node.lineno, of


def test_there_is_one_place_that_writes():
    found = {name: lines for name in FILES if (lines := [*writing(nodes(name))])}
    assert found.keys() == _PRIVATE.keys(), found


def test_every_writer_is_tried():
    """All who replace files, and all whose files grow, have their place in a table."""
    found = set()
    for name in FILES:
        called = {getattr(x.func, "id", "") for x in nodes(name) if isinstance(x, ast.Call)}
        if called & {"replaced", "replaced_together", "replaced_set"}:
            found.add(name)
    assert found - {"base/atomic.py"} == {*BY, *GROWING}
    assert sorted(x for kinds in BY.values() for x in kinds) == sorted(WRITERS)
    tests = "".join(x.read_text() for x in Path(__file__).parents[1].rglob("test_*.py"))
    assert all(f"def {name}(" in tests for name in GROWING.values())


def test_the_walk_finds_who_writes():
    code = """
with open("x", "w") as file: pass
Path("x").write_text("")
np.savez(path, a=1)
with replaced(path, "me") as new: np.savez(new, a=1)
figure.savefig("x.png")
"""
    assert sorted(line for line, _ in writing([*ast.walk(ast.parse(code))])) == [2, 3, 4, 6]


def test_a_file_is_read_while_somebody_holds_its_lock(tmp_path):
    """Who replaces a file holds the lock of the new one for a moment after it is there."""
    fcntl = pytest.importorskip("fcntl")
    system = mbd.System()
    system.add(mbd.PointMass("m", mass=1.0, velocity=(2.0, 0, 0)))
    path = tmp_path / "run.nc"
    mbd.simulate(system, 0.1, 1e-2).save(path)
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert mbd.load(path)["m"].position[-1, 0] == pytest.approx(0.2)
