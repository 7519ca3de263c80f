"""Streams onto a full disk; checksums and size of files; what is refused first."""

import json
import math
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from scenes import with_point

import mbd
from mbd.cli import main
from mbd.store.contents import Contents
from mbd.store.log import MAGIC, Log, LogWriter
from mbd.store.run_record import OWN
from mbd.store.source import FileSource
from tests.hard.files import content, full_disk
from tests.results.samples import everything, spinner

ROOT = Path(__file__).parents[2]


def filled(folder, often, sizes):
    """Return what runs saw whose stream could not grow beyond these sizes."""
    program = [sys.executable, str(Path(__file__).with_name("filling.py")), str(folder)]
    done = subprocess.run(
        [*program, str(often), *map(str, sizes)], cwd=ROOT, check=False, capture_output=True,
        text=True, timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [x["size"] for x in lines] == list(sizes)
    return lines


def check_filled(folder, lines, expected):
    """Each run ended with path, remedy and solution, and as programs do; its file is read."""
    for line in lines:
        path = folder / f"{line['size']}.nc"
        assert line["status"] == 0  # no signal, also at the exit
        assert line["second"] == 21
        assert f"{path} cannot be written: files may not be as large (ulimit" in line["text"]
        if not path.exists():  # no room for what stands before the first instant
            assert line["n"] == 0
            continue
        assert path.stat().st_size <= line["size"]
        data = path.read_bytes()
        stored = mbd.load(path)
        n = len(stored.t)
        assert line["n"] == max(n, 1)
        assert path.read_bytes() == data
        assert stored.status != 0
        assert "cannot be written" in stored.message or "was cut off" in stored.message
        if n:
            assert line["t"] == stored.t[-1]
            assert line["q"] == stored.q[-1].tolist()
        for name in ("wheel.position", "hinge.moment", "energy.kinetic", "gap"):
            assert np.array_equal(stored.stored[name], expected.stored[name][:n]), name
        for name in ("t", "q", "v", "a", "lam"):
            assert np.array_equal(getattr(stored, name), getattr(expected, name)[:n]), name


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory):
    """The run without a limit, as a file."""
    run = mbd.simulate(spinner(), 13.0, 1e-3)
    return mbd.load(run.save(tmp_path_factory.mktemp("whole") / "run.nc"))


@pytest.mark.slow
def test_a_stream_onto_a_full_disk(unlimited, tmp_path):
    """Limits at places of all kinds: before the first instant, and in the midst of many blocks."""
    rng = np.random.default_rng(914)
    sizes = [10_001, 60_001, int(rng.integers(260_000, 600_000))]
    lines = filled(tmp_path, 1, sizes)
    check_filled(tmp_path, lines, unlimited)
    for line in lines:
        if line["size"] > 250_000:
            assert line["n"] > (line["size"] - 240_000) / 1000


@pytest.mark.slow
def test_a_long_stream_onto_a_full_disk(unlimited, tmp_path):
    """Of a large block that has no room as many instants are written as have."""
    lines = filled(tmp_path, 0, [6_654_321])
    check_filled(tmp_path, lines, unlimited)
    assert lines[0]["n"] > 5000


@pytest.mark.slow
def test_many_streams_onto_full_disks(unlimited, tmp_path):
    sizes = np.random.default_rng(915).integers(5_000, 900_000, 150)
    check_filled(tmp_path, filled(tmp_path, 1, sorted({*map(int, sizes)})), unlimited)


def test_a_disk_that_is_full_at_the_end_keeps_the_log(tmp_path):
    """Where netCDF has no room next to the log all instants stay in it, which is told."""
    path = tmp_path / "x.nc"
    whole = mbd.simulate(spinner(), 0.3, 1e-3)
    with full_disk(195_000), pytest.warns(RuntimeWarning, match="cannot be written.*all instants"):
        run = mbd.simulate(spinner(), 0.3, 1e-3, stream=path)
    assert path.read_bytes().startswith(MAGIC)
    found = mbd.load(path)
    for x in (run, found):
        assert x.success
        assert np.array_equal(x.q, whole.q)
        assert np.array_equal(x["hinge"].moment, whole["hinge"].moment)
    assert found.message == run.message
    assert np.array_equal(found.state.alg, whole.state.alg)
    assert [p.name for p in tmp_path.iterdir()] == ["x.nc"]
    main(["convert", str(path), str(tmp_path / "y.nc")])
    with h5py.File(tmp_path / "y.nc") as h5:
        assert np.array_equal(h5["q"], whole.q)


KILLED = """
import os, mbd
from mbd.store import stream
from tests.results.samples import spinner
stream._SECONDS, stream._BYTES, stream._INSTANTS = 0.0, 1 << 14, 1
stream.FileRecord.close = lambda *_: os._exit(9)
mbd.simulate(spinner(), 1.0, 1e-3, stream={path!r}, progress=False)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The file of a run that was killed at its end."""
    path = tmp_path_factory.mktemp("killed") / "killed.nc"
    code = KILLED.format(path=str(path))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 9
    return path


@pytest.mark.slow
def test_a_stream_that_lost_its_end(unlimited, killed, tmp_path):
    """Cut at any byte: instants that are whole are read, with a warning; else it is refused."""
    path = tmp_path / "run.nc"
    data, whole = killed.read_bytes(), len(mbd.load(killed).t)
    assert whole > 500
    read, refused = [], []
    for kept in map(int, np.linspace(len(data) - 1, 20_000, 24)):
        path.write_bytes(data[:kept])
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                part = mbd.load(path)
        except (OSError, ValueError) as error:
            refused.append(str(error))
            continue
        n = len(part.t)
        read.append(n)
        assert bool(caught) == (n < whole)
        if caught:
            assert f"{kept} of " in str(caught[0].message)
            assert f"{n} of {whole} instants are whole" in str(caught[0].message)
        for name in ("t", "q", "v", "a", "lam"):
            assert np.array_equal(getattr(part, name), getattr(unlimited, name)[:n]), name
        for name in ("wheel.position", "hinge.moment", "gap"):
            assert np.array_equal(part.stored[name], unlimited.stored[name][:n]), name
    assert len({*read}) > 1
    assert all(str(path) in text for text in refused)


@pytest.mark.parametrize("name", ["x.nc", "s.nc", "killed.nc"])
def test_a_changed_number_is_seen(name, killed, tmp_path):
    """Each number of the histories is under a checksum: of saved files, streams, killed ones."""
    path = killed if name == "killed.nc" else tmp_path / name
    if name != "killed.nc":
        run = mbd.simulate(spinner(), 0.05, 1e-3, stream=tmp_path / "s.nc")
        run.save(tmp_path / "x.nc")
    if name == "killed.nc":
        places = places_of_log(path)
    else:
        with h5py.File(path) as h5:
            arrays = [x for x in h5.values() if x.chunks and x.dtype == float and x.size]
            assert all(x.fletcher32 for x in arrays)
            places = [
                (x.name[1:], x.id.get_chunk_info(0).byte_offset + 8 * 3 * math.prod(x.shape[1:]))
                for x in arrays
            ]
    assert len(places) > 20
    whole, rng = path.read_bytes(), np.random.default_rng(5)
    for array, place in places:
        data = bytearray(whole)
        data[place + int(rng.integers(8))] ^= 1 << int(rng.integers(8))
        damaged = tmp_path / f"{array}.nc"
        damaged.write_bytes(data)
        with pytest.raises(ValueError, match=damaged.name) as error:
            FileSource(damaged).rows(array, slice(None))
        if name == "killed.nc":
            assert f"{array!r} at the instants" in str(error.value)


def places_of_log(path):
    """Return where the fourth instant of each array is in the log of a run."""
    log = Log(path)
    block = next(x for x in log._blocks if x.first <= 3 < x.first + x.n)
    sizes = [8 * math.prod(log.contents.shape(x)) for x in log.contents.over_time()]
    return [
        (name, block.place + block.n * sum(sizes[:k]) + (3 - block.first) * sizes[k])
        for k, name in enumerate(log.contents.over_time())
    ]


def test_a_log_is_what_was_appended(tmp_path):
    """Blocks of any length, any slice; also if its writer was stopped in the midst of the note."""
    rng, path = np.random.default_rng(3), tmp_path / "x.nc"
    arrays = {"time": (("time",), {}), "x": (("time", "body"), {})}
    contents = Contents({}, {"body": 2}, {}, arrays)
    for torn in (False, True) * 20:
        log, parts = LogWriter(path, contents, "test"), [np.empty((0, 2))]
        for n in rng.choice([0, 1, 2, 9], rng.integers(8)):
            parts.append(rng.random((n, 2)))
            log.append(
                int(n), {"time": parts[-1][:, 0], "x": parts[-1]}, {"events": [["hit", 0.5]]}
            )
        log.close()
        if torn:
            data = bytearray(path.read_bytes())
            data[len(MAGIC) + 15] ^= 1
            path.write_bytes(data)
        found, whole = Log(path), np.concatenate(parts)
        assert found.n == found.written == len(whole)
        assert len(found.events) == len(parts) - 1
        for a, b, c in rng.integers((0, 0, 1), len(whole) + 2, (20, 3)):
            assert np.array_equal(found.read("x", slice(a, b, c)), whole[a:b:c])
            assert np.array_equal(found.read("x", slice(a, b, c), 1), whole[a:b:c, 1])


def test_two_threads_do_not_write_one_stream(tmp_path):
    """One of two runs to one name is refused, the other has its results; then the name is free."""
    path, there, go_on = tmp_path / "x.nc", threading.Event(), threading.Event()

    def waits(u, rate, t):
        if t > 0.2:
            there.set()
            assert go_on.wait(60)
        return 0.0

    system, mass = with_point("mass", gravity=(0, 0, -9.81), position=(0, 0, 1))
    first = system.build()
    system.add(mbd.Spring("rope", system.ground, mass, law=waits))
    runs = []
    thread = threading.Thread(
        target=lambda: runs.append(mbd.simulate(system, 0.5, 1e-2, stream=path))
    )
    thread.start()
    assert there.wait(60)
    with pytest.raises(
        ValueError, match=r"simulate: stream: .*x.nc is being written by another run"
    ):
        mbd.simulate(first, 0.1, 1e-2, stream=path)
    go_on.set()
    thread.join()
    assert len(runs[0].t) == len(mbd.load(path).t) == 51
    assert len(mbd.simulate(first, 0.1, 1e-2, stream=path).t) == len(mbd.load(path).t) == 11


OTHER = """
import mbd, sys
from tests.results.samples import spinner
try:
    mbd.simulate(spinner(), 0.01, 1e-3, stream=sys.argv[1], progress=False)
except ValueError as error:
    print(error)
"""


def test_two_processes_do_not_write_one_stream(tmp_path):
    """The second one is refused while the first one runs; the file is that of the first one."""
    path, said = tmp_path / "x.nc", []

    def starts_another(u, rate, t):
        if t > 0.2 and not said:
            done = subprocess.run(
                [sys.executable, "-c", OTHER, path], cwd=ROOT, check=True, capture_output=True,
                text=True, timeout=300,
            )  # fmt: skip
            said.append(done.stdout)
        return 0.0

    system, mass = with_point("mass", position=(0, 0, 1))
    system.add(mbd.Spring("rope", system.ground, mass, law=starts_another))
    mbd.simulate(system, 0.5, 1e-2, stream=path)
    assert "x.nc is being written by another run" in said[0]
    assert len(mbd.load(path).t) == 51


def test_a_stream_that_somebody_replaces_is_not_taken_for_the_run(tmp_path):
    """As another process would: what is read at the end must not be the other's file."""
    path = tmp_path / "x.nc"

    def replaced(u, rate, t):
        if t > 0.2:
            path.with_name("y.nc").write_bytes(path.read_bytes())
            path.with_name("y.nc").replace(path)
        return 0.0

    system, mass = with_point("mass", position=(0, 0, 1))
    system.add(mbd.Spring("rope", system.ground, mass, law=replaced))
    with pytest.raises(
        OSError, match=r"x.nc is another file than the run wrote to, it was replaced"
    ):
        mbd.simulate(system, 0.5, 1e-2, stream=path)


def test_short_runs_are_short_files(tmp_path):
    """A file of results is not much longer than its numbers, however short the run."""
    for make, n in ((spinner, 10), (everything, 10), (everything, 100)):
        run = mbd.simulate(make(), n * 1e-3, 1e-3, stream=tmp_path / "s.nc")
        archive = run.save(tmp_path / "x.npz").stat().st_size
        assert run.save(tmp_path / "x.nc").stat().st_size < 1.1 * archive + 40_000
        assert (tmp_path / "s.nc").stat().st_size < 2 * archive + 70_000


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("ending", ["npz", "nc", "csv", "pvd"])
def test_notes_do_not_say_what_the_file_says(name, ending, tmp_path, run):
    with pytest.raises(ValueError, match=rf"save: '{name}' is what the file itself says.*another"):
        run.save(tmp_path / f"x.{ending}", **{name: 7})
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def run():
    return mbd.simulate(spinner(), 0.01, 1e-3)


def test_all_names_of_an_archive_are_its_own(run, tmp_path):
    with np.load(run.save(tmp_path / "x.npz", mine=1)) as data:
        assert json.loads(str(data["about"])).keys() - {"mine"} <= set(OWN)


SCENE = """
import mbd
RUN = {"t_end": 0.01, "step": 1e-3}
def build():
    raise AssertionError("it was built, or run")
"""


@pytest.mark.parametrize(
    "words",
    [
        ("view", "--no-open", "-o", "x.html"), ("modes", "--plot", "x.png"),
        ("compare", "--csv", "x.csv"), ("info", "--spy", "x.png"),
    ],
)  # fmt: skip
def test_outputs_are_tried_before_the_work(words, tmp_path, capsys):
    scene = tmp_path / "scene.py"
    scene.write_text(SCENE)
    command, *middle, name = words
    path = tmp_path / name
    path.mkdir()
    assert main([command, str(scene), *middle, str(path)]) == 2
    assert "it is a folder" in capsys.readouterr().err


@pytest.mark.parametrize("how", [("-o", "x.npz"), ("-o", "x.nc", "--stream"), ("--csv", "x.csv")])
def test_a_run_is_refused_before_it_begins(how, tmp_path, capsys, monkeypatch):
    model = mbd.write(spinner(), tmp_path / "m.toml", run={"t_end": 0.01, "step": 1e-3})
    word, name, *more = how
    path = tmp_path / "out" / name
    command = ["run", str(model), word, str(path), *more, "-q"]
    assert main(command) == 0
    before = content(path)
    monkeypatch.setattr("mbd.front.simulate.simulate", lambda *_, **__: 1 / 0)
    with full_disk(1000):
        assert main(command) == 2
    path.chmod(0o444)
    assert main(command) == 2
    assert capsys.readouterr().err.count("cannot be written") == 2
    assert content(path) == before
    assert main(["run", str(model), word, str(tmp_path / "m.toml" / name), *more]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert sorted(x.name for x in tmp_path.rglob("*")) == sorted(["m.toml", "out", name])
