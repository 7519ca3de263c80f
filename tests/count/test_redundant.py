"""Redundant rows: their multipliers are the least ones wherever they are seen, at little cost."""

import numpy as np
import pytest
from scenes import four_bar

import mbd
from mbd.machine import buffer as m
from mbd.runs import stretch

STEPS = 230


def ladder(n=2):
    """Two bars beside each other, n times, held together by rungs: each hinge is redundant."""
    system = mbd.System(gravity=(0.0, 0.3, -9.81))
    before = [system.ground, system.ground]
    for i in range(n):
        sides = [
            system.add(
                mbd.RigidBody(
                    f"bar {i}{k}", mass=1.0 + k, inertia=(1e-3, 0.1, 0.1), position=(i + 0.5, 0, k)
                )
            )
            for k in (0, 1)
        ]
        rung = system.add(
            mbd.RigidBody(
                f"rung {i}", mass=0.5, inertia=(1e-2, 1e-2, 1e-2), position=(i + 1, 0, 0.5)
            )
        )
        joints = zip((*before, *sides), (*sides, rung, rung), strict=True)
        places = ((i, 0, 0), (i, 0, 1), (i + 1, 0, 0), (i + 1, 0, 1))
        for k, ((a, b), at) in enumerate(zip(joints, places, strict=True)):
            system.add(mbd.Revolute(f"hinge {i}{k}", a, b, at=at, axis=(0, 1, 0)))
        before = sides
    return system


@pytest.fixture(scope="module", params=["four_bar", "ladder"])
def model(request):
    built = (four_bar if request.param == "four_bar" else ladder)().build()
    assert built.redundant
    return built


def test_least_multipliers_cost_nothing_before_they_are_read(model):
    """Steps are those of all models, however many are recorded."""
    often, seldom = (mbd.simulate(model, STEPS * 1e-3, 1e-3, every=n).stats for n in (1, STEPS))
    for name in ("iterations", "factorizations", "evaluations"):
        assert often[name] == seldom[name]
    assert seldom["factorizations"] < 0.5 * STEPS
    assert seldom["evaluations"] < seldom["iterations"] + 0.2 * STEPS


@pytest.mark.parametrize("every", [3, 50, 1000])
def test_multipliers_are_the_least_ones_wherever_they_are_kept(model, every):
    """At recorded instants, in the last state, and where the last step is a shorter one."""
    t_end = STEPS * 1e-3 + 4e-4
    whole = mbd.simulate(model, t_end, 1e-3)
    some = mbd.simulate(model, t_end, 1e-3, every=every)
    kept = np.searchsorted(whole.t, some.t - 1e-9)
    assert np.array_equal(some.q, whole.q[kept])  # what is kept does not change the run
    size = np.abs(whole.lam).max()
    assert np.array_equal(some.lam[:-1], whole.lam[kept][:-1])
    assert np.allclose(some.lam, whole.lam[kept], rtol=0, atol=1e-6 * size)
    assert np.allclose(some.state.lam, whole.state.lam, rtol=0, atol=1e-6 * size)
    assert np.linalg.norm(null_part(model, some.state)) < 1e-7 * size


def null_part(model, state):
    """Return the part of lam that has no effect: forces, and moments over the length."""
    length, kinds = float(model.F[m.LENGTH]), model.numbering.lam_kinds
    scale = np.where(kinds == m.FORCE, length, 1.0)  # N m
    B = model.assemble(state).Bt.toarray().T * model.units / scale[:, None]
    U, s, _ = np.linalg.svd(B)
    null = U[:, (s > 1e-9 * s.max()).sum() :]
    return null.T @ (scale * state.lam) / length


def test_a_run_that_ends_early_has_the_least_multipliers_too(model, monkeypatch):
    """Interrupted between recorded steps."""
    steps = stretch.Stretch._chunk

    def interrupted(run, n, last=False):
        run.interrupt.stop = run.done > 20
        return steps(run, 7, last)

    monkeypatch.setattr(stretch.Stretch, "_chunk", interrupted)
    cut = mbd.simulate(model, 1.0, 1e-3, every=1000)
    assert "interrupted" in cut.message
    assert cut.stats["steps"] == 28
    assert np.linalg.norm(null_part(model, cut.state)) < 1e-7 * np.abs(cut.state.lam).max()
    assert np.array_equal(cut.lam[-1], cut.state.lam)
