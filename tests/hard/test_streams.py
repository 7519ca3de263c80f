"""Streams onto a full disk; checksums and size of files; what is refused first."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import mbd
from mbd.cli import main
from mbd.results.about import OWN
from tests.hard.files import content, full_disk
from tests.results.samples import everything, spinner

ROOT = Path(__file__).parents[2]
STREAM = """
import sys, resource, mbd
from mbd.results import stream
from tests.results.samples import spinner
stream._SECONDS = 0.0
mbd.simulate(spinner(), 0.01, 1e-3)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
try:
    mbd.simulate(spinner(), 1e3, 1e-3, stream={path!r}, progress=False)
except mbd.SimulationError as error:
    print(len(error.solution.t), error.solution.t[-1])
    print(error)
"""


@pytest.mark.parametrize("size", [3_456_789])
def test_a_stream_onto_a_full_disk(size, tmp_path):
    """The error has path, remedy and solution; all that was written is read."""
    path = tmp_path / "run.nc"
    done = subprocess.run(
        [sys.executable, "-c", STREAM.format(size=size, path=str(path))], cwd=ROOT, check=False,
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    first, text = done.stdout.splitlines()
    n, t = int(first.split()[0]), float(first.split()[1])
    assert str(path) in text
    assert "ulimit" in text
    found = mbd.load(path)
    assert found.status == 1
    assert "cannot be written" in found.message
    assert len(found.t) == n > 20
    assert found.t[-1] == t
    expected = mbd.simulate(spinner(), t, 1e-3)
    assert np.array_equal(found.q, expected.q)
    assert np.array_equal(found["hinge"].moment, expected["hinge"].moment)
    assert size / 2 < path.stat().st_size <= size
    with xr.open_dataset(path) as data:
        assert data.sizes["time"] == n
    rest = mbd.simulate(found.model, t + 0.01, 1e-3, state=found.state, project=True)
    assert rest.success


def test_a_changed_number_is_seen(tmp_path):
    """Each number of the histories is under a checksum, of saved files."""
    run = mbd.simulate(spinner(), 0.05, 1e-3, stream=tmp_path / "s.nc")
    run.save(tmp_path / "x.nc")
    for path in (tmp_path / "x.nc",):
        with h5py.File(path) as h5:
            arrays = [x for x in h5.values() if x.chunks and x.dtype == float and x.size]
            assert all(x.fletcher32 for x in arrays)
            place = h5["position"].id.get_chunk_info(0).byte_offset
        data = bytearray(path.read_bytes())
        data[place + 100] ^= 4
        path.write_bytes(data)
        with pytest.raises(Exception, match=path.name):
            mbd.load(path).stored["wheel.position"]


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
    import json

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
    monkeypatch.setattr("mbd.solvers.simulate.simulate", lambda *_, **__: 1 / 0)
    with full_disk(1000):
        assert main(command) == 2
    path.chmod(0o444)
    assert main(command) == 2
    assert capsys.readouterr().err.count("cannot be written") == 2
    assert content(path) == before
    assert main(["run", str(model), word, str(tmp_path / "m.toml" / name), *more]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert sorted(x.name for x in tmp_path.rglob("*")) == sorted(["m.toml", "out", name])
