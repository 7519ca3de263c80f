"""Broken files, places that cannot be written, questions without an answer: what is said."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import mbd
from tests.results.samples import spinner


@pytest.fixture(scope="module")
def solution():
    """Return a run of a model with a law in Python, which no file can hold."""
    system = spinner()
    system.add(mbd.PointMass("bob", mass=0.2, position=(0, 3, 0)))
    system.add(
        mbd.Motor("motor", system.joints["hinge"].angle, lambda u, rate, t: 0.1 - 0.2 * rate)
    )
    return mbd.simulate(system, 0.02, 1e-3)


# --- files that lost their end --------------------------------------------------------------------
@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = mbd.simulate(spinner(), 0.3, 1e-3).save(tmp_path_factory.mktemp("whole") / "run.nc")
    with h5py.File(path) as h5:
        assert h5.id.get_filesize() == path.stat().st_size  # no room is left at the end
    return path


LOADED = """
import sys, mbd
for path in sys.argv[1:]:
    try:
        mbd.load(path)
    except ValueError as error:
        print(error)
"""


def test_a_file_without_its_end_is_refused_at_once(whole, tmp_path):
    """In a process of its own: HDF5 would wait for the end for ever."""
    data = whole.read_bytes()
    parts = [tmp_path / f"{kept}.nc" for kept in (0.999, 0.5, 0.1)]
    for part in parts:
        part.write_bytes(data[: int(float(part.stem) * len(data))])
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *parts], capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    for part, line in zip(parts, done.stdout.splitlines(), strict=True):
        assert f"{part} is incomplete: {len(part.read_bytes())} of {len(data)} bytes" in line


@pytest.mark.parametrize("ending", ["nc", "npz"])
@pytest.mark.parametrize("data", [b"", b"x" * 10, b"words, not numbers; " * 50, None])
def test_what_is_no_file_of_results_is_named(tmp_path, ending, data):
    path = tmp_path / f"run.{ending}"
    if data is None:
        expected, text = FileNotFoundError, "no such file"
    else:
        path.write_bytes(data)
        expected, text = ValueError, "is not a"
    with pytest.raises(expected, match=text) as said:
        mbd.load(path)
    assert str(said.value).startswith(f"load: {path}")
    assert "\n" not in str(said.value)


def test_half_an_archive_and_a_single_array_are_no_results(solution, tmp_path):
    path = solution.save(tmp_path / "run.npz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match="not a whole file"):
        mbd.load(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(ValueError, match="not a whole file"):
        mbd.load(path)


# --- places that cannot be written ----------------------------------------------------------------
def test_a_place_that_cannot_be_written_has_the_name_that_was_given(solution, tmp_path):
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "file" / "run.nc", tmp_path / "taken.nc"):
        (tmp_path / "taken.nc").mkdir(exist_ok=True)
        with pytest.raises(OSError, match=f"save: {path} cannot be written"):
            solution.save(path)
        with pytest.raises(OSError, match=f"stream: {path} cannot be written"):
            mbd.simulate(spinner(), 0.02, 1e-3, stream=path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "taken.nc"]


def test_a_missing_extra_names_the_file_that_was_asked_for(solution, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(ImportError, match=r"save run\.nc: .*pip install 'mbd\[results\]'"):
        solution.save(tmp_path / "run.nc")
    with pytest.raises(ImportError, match=r"run\.nc: "):
        mbd.simulate(spinner(), 0.02, 1e-3, stream=tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["nc", "npz"])
def test_notes_that_no_file_can_hold_are_named(solution, tmp_path, ending):
    with pytest.raises(TypeError, match="notes must be text, numbers.* got title=<object"):
        solution.save(tmp_path / f"run.{ending}", number=3, title=object())
    assert not list(tmp_path.iterdir())


# --- questions ------------------------------------------------------------------------------------
def stored(solution, folder):
    return mbd.load(solution.save(folder / "run.npz"))


def test_unknown_names_and_points_that_are_none(solution, tmp_path):
    for found in (solution, stored(solution, tmp_path)):
        with pytest.raises(KeyError, match=r"no body or joint named 'x'; there are: "):
            found["x"]
        with pytest.raises(KeyError, match=r" \(did you mean 'wheel'\?\); there are: "):
            found["weel"]
        with pytest.raises(ValueError, match=r"'wheel'.*point must be 3 numbers \[m\]"):
            found["wheel"].at((1, 2))
        with pytest.raises(TypeError, match="plot: names must be text .* got 3"):
            found.plot(3)


def test_pictures_say_who_needs_matplotlib(solution, tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.collections", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="^animate: drawing needs matplotlib"):
        solution.animate(tmp_path / "run.gif")
    with pytest.raises(ImportError, match="^snapshot: drawing needs matplotlib"):
        solution.snapshot(tmp_path / "run.png")


# --- what is shown at a prompt --------------------------------------------------------------------
def test_histories_say_what_they_have(solution, tmp_path):
    for found in (solution, stored(solution, tmp_path)):
        for name in ("wheel", "bob", "hinge", "motor"):
            said = repr(found[name])
            assert repr(name) in said
            assert f"{len(solution.t)} instants" in said
            listed = said.partition("instants: ")[2].removesuffix(")").split(", ")
            for what in listed:
                assert hasattr(found[name], what.partition("(")[0]), (name, what)
        assert "angle" in repr(found["hinge"])
        assert "quaternion" not in repr(found["bob"])
