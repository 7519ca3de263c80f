"""Results that go to a file while the run goes on."""

import gc
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mbd
from mbd.store import stream
from tests.results.samples import everything, spinner

ROOT = Path(__file__).parents[2]


def same(found, solution):
    for what in ("t", "q", "v", "a", "lam", "gap"):
        assert np.array_equal(getattr(found, what), getattr(solution, what)), what
    for name in solution.model.system.bodies:
        assert np.array_equal(found[name].position, solution[name].position)
        if solution[name].body.formulation.axes:
            assert np.array_equal(found[name].quaternion, solution[name].quaternion)
    for name in solution.model.system.joints:
        assert np.array_equal(found[name].moment, solution[name].moment)
    scale = np.abs(solution.energy.total).max()
    assert np.allclose(found.energy.total, solution.energy.total, rtol=0, atol=1e-14 * scale)
    assert np.allclose(found.momentum.angular, solution.momentum.angular, rtol=0, atol=1e-13)


@pytest.mark.parametrize("make", [everything, spinner])
def test_a_streamed_run_is_the_run(make, tmp_path, monkeypatch):
    """Written in many pieces, it says what one in memory says: to the last bit, but for sums."""
    monkeypatch.setattr(stream, "_BYTES", 1 << 15)
    model = make().build()
    path = tmp_path / "new" / "run.nc"
    run = mbd.simulate(model, 0.6, 2e-3, every=2, stream=path)
    kept = mbd.simulate(model, 0.6, 2e-3, every=2)
    assert run.success
    same(run, kept)
    found = mbd.load(path)
    same(found, kept)
    assert found.stats["steps"] == 300
    assert [p.name for p in path.parent.iterdir()] == ["run.nc"]
    with xr.open_dataset(path) as data:  # a finished file is read by anyone
        name = next(iter(model.bodies))
        assert np.array_equal(data.position.sel(body=name), kept[name].position)
        assert data.sizes["time"] == 151
        assert data.attrs["status"] == 0


def test_a_model_without_rows(tmp_path):
    system = mbd.System()
    system.add(mbd.PointMass("m", mass=1.0, velocity=(1, 0, 0)))
    run = mbd.simulate(system, 0.01, 1e-3, stream=tmp_path / "run.nc")
    assert run.lam.shape == mbd.load(tmp_path / "run.nc").lam.shape == (11, 0)
    assert np.allclose(run["m"].position[:, 0], run.t)


def test_free_steps_and_events(tmp_path):
    """Whatever the times of the instants are, and with joints that let go."""
    model = everything().build()
    event = mbd.Event("low", lambda s: s["bob"].position[:, 2] + 0.05, release=("pin",))
    for how in ({"rtol": 1e-4, "t_eval": np.linspace(0, 0.2, 9)}, {"step": 2e-3, "events": event}):
        run = mbd.simulate(model, 0.2, stream=tmp_path / "run.nc", **how)
        same(run, mbd.simulate(model, 0.2, **how))
        assert mbd.load(tmp_path / "run.nc").state.off == run.state.off


def test_a_streamed_solution_is_saved_in_pieces(tmp_path):
    run = mbd.simulate(everything(), 0.05, 1e-3, stream=tmp_path / "a.nc")
    again = run.save(tmp_path / "b.nc", title="copy")
    with xr.open_dataset(tmp_path / "a.nc") as one, xr.open_dataset(again) as two:
        for name in two.variables:
            assert np.array_equal(
                one[name].values, two[name].values, equal_nan=one[name].dtype.kind == "f"
            )
    same(mbd.load(run.save(tmp_path / "c.npz")), run)


def test_a_run_goes_on_from_a_streamed_one(tmp_path):
    model = everything().build()
    run = mbd.simulate(model, 0.02, 1e-3, stream=tmp_path / "a.nc")
    whole = mbd.simulate(model, 0.04, 1e-3)
    rest = mbd.simulate(model, 0.04, 1e-3, state=run.state)
    assert np.allclose(rest.q[-1], whole.q[-1], rtol=0, atol=1e-9)


def test_the_path_is_checked_before_the_run(tmp_path):
    with pytest.raises(
        ValueError, match=r"stream must be the path .* ends in \.nc, got 'run\.csv'"
    ):
        mbd.simulate(spinner(), 1.0, 1e-3, stream="run.csv")


def test_a_run_that_fails_says_so_in_its_file(tmp_path):
    path = tmp_path / "run.nc"
    method = mbd.GeneralizedAlpha(max_iterations=1)
    with pytest.raises(mbd.SimulationError) as caught:
        mbd.simulate(everything(), 5.0, 0.5, method=method, stream=path)
    found = mbd.load(path)
    assert (found.status, found.message) == (1, str(caught.value))
    assert len(found.t) == len(caught.value.solution.t) >= 1

    def law(t):
        if t > 0.0105:
            raise ArithmeticError("too late")
        return (0, 0, 0)

    system = everything()
    system.add(mbd.PointForce("late", system["bob"], law))
    with pytest.raises(RuntimeError, match="too late"):
        mbd.simulate(system, 1.0, 1e-3, stream=path)
    found = mbd.load(path)
    assert found.status == 1
    assert "late: its law raised ArithmeticError: too late" in found.message
    assert len(found.t) == len(found.gap) >= 1


def test_ctrl_c_keeps_what_was_computed(tmp_path):
    """The law interrupts the run as Ctrl-C does."""

    def law(t):
        if t > 0.05:
            raise KeyboardInterrupt
        return (0, 0, 0)

    system = spinner()
    system.add(mbd.PointForce("stop", system["wheel"], law))
    run = mbd.simulate(system, 1.0, 1e-3, stream=tmp_path / "run.nc")
    assert run.status == -1
    assert "interrupted by the user" in run.message
    assert np.array_equal(run.q[-1], run.state.q)
    found = mbd.load(tmp_path / "run.nc")
    assert found.status == -1
    assert found.message == run.message
    assert np.array_equal(found["wheel"].position, run["wheel"].position)


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("streamed", [False, True])
def test_ctrl_c_leaves_no_hole(streamed, every, tmp_path):
    """A signal in the midst of compiled steps: every step that was taken is kept."""
    pressed = []

    def law(t):
        if t > 0.15 and not pressed:
            pressed.append(t)
            os.kill(os.getpid(), signal.SIGINT)
        return (0, 0, 0)

    system = spinner()
    system.add(mbd.PointForce("press", system["wheel"], law))
    how = {"stream": tmp_path / "run.nc"} if streamed else {}
    run = mbd.simulate(system, 50.0, 1e-3, every=every, **how)  # soon over if the signal is lost
    assert pressed
    assert run.status == -1
    assert run.stats["steps"] == round(run.t[-1] / 1e-3)
    assert np.allclose(np.diff(run.t)[:-1], every * 1e-3, rtol=0, atol=1e-9)
    assert run.t[-1] - run.t[-2] < every * 1e-3 + 1e-9
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_memory_does_not_grow_with_the_run(tmp_path, monkeypatch):
    """Four times the steps need no more memory, also without the collector of cycles.

    Pieces are so small that both runs have many, however fast the machine is.
    """
    monkeypatch.setattr(stream, "_BYTES", 1 << 15)
    monkeypatch.setattr(stream, "_INSTANTS", 1)
    monkeypatch.setattr(stream, "_PIECE", 1 << 8)
    monkeypatch.setattr("mbd.runs.record._CHUNK_BYTES", 1 << 15)
    model = spinner().build()
    mbd.simulate(model, 0.1, 1e-3, stream=tmp_path / "run.nc")
    peaks = []
    gc.disable()
    try:
        for t_end in (0.3, 1.2):
            gc.collect()
            tracemalloc.start()
            mbd.simulate(model, t_end, 1e-3, stream=tmp_path / "run.nc")
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    finally:
        gc.enable()
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_a_killed_run_is_read_up_to_the_last_writing(tmp_path):
    """Killed at random moments, and read while it was alive."""
    expected = mbd.simulate(spinner(), 2.0, 1e-3)
    paths = [tmp_path / f"run {i}.nc" for i in range(3)]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py")), *map(str, paths)],
        capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    for path, alive in zip(paths, map(int, done.stdout.split()), strict=True):
        found = mbd.load(path)
        assert found.status == -1
        assert "was killed or is still going on" in found.message
        n = len(found.t)
        assert n >= alive > 0
        for name in ("t", "q", "v", "a", "lam", "gap"):
            assert len(getattr(found, name)) == n
        assert np.all(np.isfinite(np.asarray(found.q)))
        assert np.allclose(np.diff(found.t), 1e-3, rtol=0, atol=1e-12)
        k = min(n, len(expected.t))
        assert np.array_equal(found.q[:k], expected.q[:k])
        assert np.array_equal(found["wheel"].quaternion[:k], expected["wheel"].quaternion[:k])
        assert np.array_equal(found["hinge"].moment[:k], expected["hinge"].moment[:k])
        assert np.all(np.isfinite(found["hinge"].moment))
        assert np.all(np.isfinite(found.energy.total))
        assert np.allclose(found.state.memory, found["hinge"].angle[-1], rtol=0, atol=1e-9)  # turns
        copy = found.save(path.with_name("copy.nc"))
        with xr.open_dataset(copy) as data:  # of which every program reads a copy
            assert data.sizes["time"] == n
            assert np.array_equal(data.q, found.q)
    rest = mbd.simulate(
        found.model, found.t[-1] + 0.01, 1e-3, state=found.state, project=True
    )  # what the run had done further
    assert np.isclose(rest.energy.total[-1], expected.energy.total[0], rtol=1e-3)
