"""Runs that do not fit into memory: refused before they begin, or ended with what there is."""

import numpy as np
import pytest
from scenes import chain

import mbd
from mbd.runs import record


@pytest.fixture
def model():
    return chain(2).build()


def test_a_run_that_cannot_be_kept_says_what_to_do(model, monkeypatch):
    wide = chain(40).build()
    width = 2 + wide.n_q + 2 * wide.n_v + wide.n_lam
    with pytest.raises(
        ValueError, match=r"1e\+10 instants of 40 bodies need .* GB are free.*stream="
    ):
        mbd.simulate(wide, 1e7, 1e-3)
    monkeypatch.setattr(record, "_SMALL", 0)
    monkeypatch.setattr(record, "free_bytes", lambda: 50.0 * 8 * width)
    with pytest.raises(ValueError, match=r"104 instants of 40 bodies need .* such as every=5,"):
        mbd.simulate(wide, 0.101, 1e-3)
    record.ArrayRecord(wide, 50)


@pytest.mark.parametrize("steps", [1e15, 1e30, 1e250])
def test_a_run_that_never_ends_is_refused(model, steps, tmp_path):
    for how in ({}, {"every": 10**9}, {"stream": tmp_path / "run.nc"}):
        with pytest.raises(ValueError, match="must be less than 1e.15 steps, beyond which time"):
            mbd.simulate(model, 1e-3 * min(steps, 1e90), 1e-3 / max(1.0, steps / 1e90), **how)


@pytest.mark.parametrize("pieces", [1, 7])
def test_what_there_is_when_memory_is_full(model, monkeypatch, pieces):
    """The number of instants of free steps is not known before."""
    whole = mbd.simulate(model, 0.3, rtol=1e-7, max_step=3e-3)
    assert len(whole.t) > 80
    monkeypatch.setattr(record, "_SMALL", 0)
    monkeypatch.setattr(record, "free_bytes", lambda: 100.0 * record_size(model))
    monkeypatch.setattr("mbd.runs.record._CHUNK_BYTES", pieces * 1000)
    with pytest.raises(
        mbd.SimulationError, match="memory is full after .* every=, .* stream="
    ) as error:
        mbd.simulate(model, 0.3, rtol=1e-7, max_step=3e-3)
    kept = error.value.solution
    assert 50 < len(kept.t) <= 65
    assert np.array_equal(kept.q[:-1], whole.q[: len(kept.t) - 1])
    assert kept.t[-1] == kept.state.t
    assert isinstance(error.value.__cause__, MemoryError)
    kept = mbd.simulate(model, 0.3, rtol=1e-7, max_step=3e-3, raise_on_failure=False)
    assert not kept.success


def test_what_is_small_asks_nobody(model, monkeypatch):
    """The system is asked where a record becomes as large as the libraries themselves, once."""
    asked = []
    monkeypatch.setattr(record, "free_bytes", lambda: (asked.append(1), 1e12)[1])
    few = record._SMALL // record_size(model)
    mbd.simulate(model, 0.1, 1e-3)
    kept = record.ArrayRecord(model, few)
    assert not asked
    kept.append(*(np.zeros((few + 2, *x.shape[1:])) for x in kept._arrays))
    record.ArrayRecord(model, few + 1)
    assert len(asked) == 2


def record_size(model):
    return 8 * (2 + model.n_q + 2 * model.n_v + model.n_lam)


def test_switches_are_true_or_false(model):
    for name in ("project", "raise_on_failure", "progress"):
        for value in ("no", 1, 0.0, [True], np.array([1])):
            with pytest.raises(TypeError, match=f"^simulate: {name} must be True or False, got "):
                mbd.simulate(model, 0.01, 1e-3, **{name: value})
    with pytest.raises(TypeError, match="^simulate: t_end must be a number .s., got '1'"):
        mbd.simulate(model, "1", 1e-3)
