"""Some modes of sparse equations are those of all: by law, by the dense engine, by the poles."""

import time

import numpy as np
import pytest
from families import some, spread

import mbd

from .test_spectrum import DAMPING, SQUARE, STEEL, THIN, cantilever, roots


def nearest(found, wanted):
    """Return how far each wanted number is from the nearest found one, in parts of it."""
    return [np.abs(found - s).min() / abs(s) for s in wanted]


@spread(tau=DAMPING, elements=[4, 8, 16], disc=[0.0, 5.0], section=[THIN, SQUARE])
def test_sparse_dense_and_poles_are_one(section, disc, elements, tau):
    system = cantilever(section, disc, elements, tau)
    found = mbd.modes(system, n=6, solver="sparse").eigenvalues
    every = mbd.modes(system).eigenvalues
    assert np.allclose(np.sort(np.abs(found)), np.sort(np.abs(every))[:6], rtol=1e-9, atol=0)
    assert max(nearest(every, found)) < 1e-9
    if elements == 4:
        assert max(nearest(mbd.linearize(system).poles, found)) < 1e-7


@spread(tau=[0.0, 1e-3], direction=[(1, 0, 0), (1, 2, 3)], section=[THIN, SQUARE])
def test_free_beams_have_their_levels_and_their_modes(section, direction, tau):
    system = mbd.System()
    end = np.array(direction) / np.linalg.norm(direction)
    system.add(mbd.Beam("beam", points=[(0, 0, 0), end], elements=8, damping=tau,
                        section=mbd.Section.rectangle(*section, **STEEL)))  # fmt: skip
    found, every = mbd.modes(system, n=12, solver="sparse"), mbd.modes(system, n=12)
    assert found.free_levels == every.free_levels == (6, 6)
    assert not found.eigenvalues[:6].any()
    assert np.allclose(found.eigenvalues, every.eigenvalues, rtol=1e-9, atol=0)


@pytest.mark.parametrize("drag", [1.0, 1e-3, 1e-12])  # [N s/m]
def test_a_drag_however_small_is_a_mode_and_no_zero(drag):
    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 2, 3)))
    system.add(mbd.Bushing("drag", system.ground, body, at=(0, 0, 0),
                           damping=(drag, drag, drag, 0, 0, 0)))  # fmt: skip
    found = mbd.modes(system, n=9, solver="sparse")
    assert found.free_levels == (6, 3)
    assert found.eigenvalues[6:] == pytest.approx(-drag, rel=1e-12)


@pytest.mark.parametrize("case", some(
    [(THIN, 1e-2, 4), (THIN, 0.0, 4), (THIN, 1e-3, 4), (SQUARE, 1e-3, 2), (THIN, 0.1, 1),
     (SQUARE, 0.0, 4)], 3,
))  # fmt: skip
def test_the_slowest_modes_of_many_elements_end_within_seconds(case):
    """Those slower than 1/tau, where the others gather, obey s^2 + tau w^2 s + w^2 = 0."""
    section, tau, n = case
    w = mbd.modes(cantilever(section, 5.0, 330, 0.0), n=n, solver="sparse").eigenvalues.imag
    model = cantilever(section, 5.0, 330, tau).build()
    start = time.perf_counter()
    found = mbd.modes(model, n=n, solver="sparse").eigenvalues
    assert time.perf_counter() - start < 20.0  # about one on a free machine
    assert len(found) == n
    assert max(nearest(found, roots(w, tau))) < 1e-6


@pytest.mark.slow
def test_what_gathers_beyond_is_told():
    system = cantilever(THIN, 5.0, 200, 0.1)
    with pytest.warns(RuntimeWarning, match="modes: .* of 9 are told apart; beyond them .* gather"):
        found = mbd.modes(system, n=9, solver="sparse")
    w = mbd.modes(cantilever(THIN, 5.0, 200, 0.0), n=2, solver="sparse").eigenvalues.imag
    assert 1 <= len(found) < 9
    assert max(nearest(roots(w, 0.1), found.eigenvalues[:1])) < 1e-8
