"""Stresses that a search for balance keeps of its own: of every kind that holds a potential."""

import numpy as np
import pytest
from recipes import PAIR_FORCES, STILL, elsewhere, pair

import mbd
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.statics.balance import Statics

SECTION = mbd.Section(stiffness=(90.0, 50.0, 40.0, 5.0, 8.0, 3.0), mass=1.0)


def beam(one, two, _):
    return mbd.Beam("part", points=(one.position, two.position), section=SECTION, elements=1,
                    first=one, last=two)  # fmt: skip


ALL = {**PAIR_FORCES, ("Beam", "elastic"): beam}
del ALL["JointFriction", "sliding"]  # at rest nothing rubs


def problem(name, first="so3", second="unified"):
    """Return the statics of a part between two bodies, and a random pose at rest."""
    system, one, two = pair(first, second, gravity=(0, 0, 0))
    system.add(ALL[name](one, two, STILL))
    model = system.build()
    rng = np.random.default_rng(40609)
    q, v = elsewhere(model, rng)
    state = State(0.3, q, 0.0 * v, 0.0 * v, np.zeros(model.n_lam))
    zero = np.zeros(3)
    return Statics(model, (), zero, zero, {}), state, rng.normal(size=model.n_v)


@pytest.mark.parametrize("name", ALL, ids="-".join)
def test_stresses_of_every_kind(name):
    """Those of the pose give the forces and K; ahead they are the first two terms of a series."""
    statics, state, delta = problem(name)
    still = np.zeros(len(delta))
    stress = statics.stresses(state, still)
    assert len(stress)
    assert np.abs(stress).max() > 1e-3
    true, same = statics.at(state, 1.0), statics.at(state, 1.0, stress)
    assert np.allclose(same.carried, true.forces, rtol=1e-12, atol=1e-12)
    assert np.allclose(same.K.toarray(), true.K.toarray(), rtol=1e-11, atol=1e-11)

    def moved(h):
        return statics.stresses(displaced(statics.model, state, h * delta), still)

    h = 1e-3
    slope = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
    ahead = statics.stresses(state, delta)
    assert np.allclose(ahead - stress, slope, rtol=1e-7, atol=1e-7 * np.abs(stress).max())


@pytest.mark.parametrize("name", [n for n in ALL if n[1] == "elastic"], ids="-".join)
def test_forces_and_stiffness_are_linear_in_the_stresses(name):
    """What acts is B^T sigma; of no stresses K is material, symmetric and not negative."""
    statics, state, _ = problem(name, "so3", "so3")
    one = statics.stresses(state, np.zeros(statics.model.n_v))
    two = np.random.default_rng(40627).normal(size=len(one))
    none = statics.at(state, 1.0, 0.0 * one)
    parts = [statics.at(state, 1.0, x) for x in (one, two, 0.3 * one - 2 * two)]
    for read in (lambda b: b.carried, lambda b: b.K.toarray()):
        a, b, both = (read(x) - read(none) for x in parts)
        assert np.allclose(both, 0.3 * a - 2 * b, rtol=1e-11, atol=1e-11)
        assert np.abs(a).max() > 1e-3
    K = none.K.toarray()
    assert np.allclose(K, K.T, rtol=0, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()
    assert np.allclose(none.carried, 0.0, atol=1e-12)
