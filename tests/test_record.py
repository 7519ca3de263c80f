"""Where recorded instants go: an array that grows, and what a run hands to it."""

import numpy as np
import pytest

import mbd
from mbd.runs.record import ArrayRecord
from tests.scenes import chain


def blocks(model, sizes):
    rng = np.random.default_rng(3)
    for n in sizes:
        widths = (model.n_q, model.n_v, model.n_v, model.n_lam)
        yield rng.random(n), *(rng.random((n, width)) for width in widths), rng.random((n, 1))


@pytest.mark.parametrize("expected", [0, 1, 7, 1000])
def test_a_record_grows_and_keeps_everything(expected):
    model = chain(2).build()
    record = ArrayRecord(model, expected)
    given = list(blocks(model, (1, 5, 0, 40, 3)))
    for block in given:
        record.append(*block)
    for kept, parts in zip(record.histories(), zip(*given, strict=True), strict=True):
        assert np.array_equal(kept, np.concatenate(parts))


@pytest.mark.parametrize(("every", "t_end"), [(1, 0.02), (3, 0.02), (4, 0.0205), (1, 0.0203)])
def test_instants_of_a_run(every, t_end):
    """First and last are always kept, the last one at the end also if the step was shortened."""
    step = 1e-3
    solution = mbd.simulate(chain(2), t_end, step, every=every)
    n = int(t_end / step + 1e-9)
    expected = [k * step for k in range(0, n + 1, every)]
    if t_end - expected[-1] > 1e-9:
        expected.append(t_end)
    assert np.allclose(solution.t, expected, rtol=0, atol=1e-15)
    assert np.array_equal(solution.q[-1], solution.state.q)
    assert np.array_equal(solution.lam[-1], solution.state.lam)
    assert (
        len(solution.q)
        == len(solution.v)
        == len(solution.a)
        == len(solution.lam)
        == len(solution.t)
    )
