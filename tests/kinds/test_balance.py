"""Resultants of loads, the sign of damping.

Action and reaction, power and rates of rows of parts are checked in ``test_part_checks.py``.
"""

import numpy as np
import pytest
from recipes import (
    LOADS,
    PAIR_FORCES,
    STILL,
    elsewhere,
    on_pairs,
    pair,
)

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace


def moving(system, seed, *, move=True):
    """Return a work space of a system at random poses with random velocities, own rows satisfied.

    Accelerations and the multipliers of joints are random too.
    """
    model = system.build()
    rng = np.random.default_rng(seed)
    q, v = elsewhere(model, rng) if move else (model.state.q, model.state.v)
    a, lam = rng.normal(size=model.n_v), rng.uniform(0.5, 1.5, model.n_lam)
    for name in system.bodies:
        lam[model.numbering.owners[name]] = 0.0
    return Workspace(model, State(0.3, q, v, a, lam))


def faces(work):
    """Return face, velocity and force (n, 4, 3) of ground and all bodies, just evaluated."""
    size = 12 * (work.model.n_faces + 1)
    work.vector(m.FY, 12)[:] = 0.0
    work.evaluate()
    return tuple(work.vector(x, size).reshape(-1, 4, 3).copy() for x in (m.Y, m.YD, m.FY))


def curve(work):
    """Return a function that moves a work space along its velocities and accelerations."""
    n = work.model.numbering
    v, a = work.vector(m.V)[n.v], work.vector(m.A)[n.v]
    t0 = work.F[m.T]

    def move(t):
        work.F[m.T] = t0 + t
        work.vector(m.D)[n.v] = t * v
        work.vector(m.V)[n.v] = v + t * a

    return move


def derivative(f, h=1e-3):
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)


@pytest.mark.parametrize("formulation", NAMES)
@pytest.mark.parametrize("name", LOADS, ids="-".join)
def test_load_has_its_resultant(name, formulation):
    system, one, _ = pair(formulation, "ground")
    part = system.add(LOADS[name](one, STILL))
    y, _, f = faces(moving(system, 40111))
    value = np.array(LAW_AT if part.law else part.applied.value)
    if part.applied.follow:
        value = y[1, 1:].T @ value
    force, moment = -f[1, 0], -np.cross(y[1], f[1]).sum(0)
    if name[0] == "Moment":
        assert np.allclose(force, 0, atol=1e-14)
        assert np.allclose(moment, value, rtol=1e-13)
    else:
        at = np.array(part.frame.point()) @ y[1]
        assert np.allclose(force, value, rtol=1e-13)
        assert np.allclose(moment, np.cross(at, value), rtol=1e-12, atol=1e-13)


LAW_AT = (np.cos(0.3), np.sin(0.3), 1.3)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    on_pairs(sorted({n for n, variant in PAIR_FORCES if variant == "damped"}), ground=True),
)
def test_damping_takes_energy(name, first, second):
    power = {}
    for variant in ("elastic", "damped"):
        system, one, two = pair(first, second)
        options = {"stiffness": (1.0,) * 6 if name == "Bushing" else 1.0}
        if variant == "damped":
            options["damping"] = (0.5,) * 6 if name == "Bushing" else 0.5
        if name in ("RotationalSpring", "JointSpring"):
            hinge = mbd.Revolute("hinge", one, two, at=(0, 0, 0), axis=(0.6, 0, 0.8))
            part = getattr(mbd, name)("part", hinge, **options)
        else:
            part = getattr(mbd, name)("part", one, two, at=(0.3, 0.2, 0.1), **options)
        system.add(part)
        _, yd, f = faces(moving(system, 40129))
        power[variant] = np.sum(f * yd)
    # the residual holds minus the force on the body, so positive power leaves the bodies
    assert power["damped"] - power["elastic"] > 1e-4


def check_rates(work, atol=1e-9):
    """Compare both derivatives of all rows with differences along a curve."""
    lam = work.model.numbering.lam
    move = curve(work)

    def rows(t):
        move(t)
        work.evaluate()
        return work.vector(m.X)[lam].copy()

    def rates(t):
        move(t)
        work.evaluate()
        return work.rates()[0].copy()

    move(0.0)
    work.evaluate()
    first, second = (x.copy() for x in work.rates())
    placed = work.model.numbering.lam_kinds != m.VELOCITY_ROW
    assert np.allclose(first[placed], derivative(rows)[placed], rtol=0, atol=atol)
    assert np.allclose(second, derivative(rates), rtol=0, atol=atol)
    assert np.abs(first).max() > 1e-3
    assert np.abs(second).max() > 1e-3
