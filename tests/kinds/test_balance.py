"""Action and reaction, power, rates of rows: every part between every two formulations."""

import numpy as np
import pytest
from recipes import (
    FORMULATIONS,
    JOINT_RECIPES,
    LOADS,
    PAIR_FORCES,
    PAIRS,
    POINT_PARTS,
    STILL,
    elsewhere,
    pair,
)

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace

ON_POINTS = [(name, other) for name in POINT_PARTS for other in (*NAMES, "ground")]


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
    size = 12 * (len(work.model.system.bodies) + 1)
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


def check_action(system, *, move):
    """Sum forces and moments of all faces; rows are satisfied where the bodies do not move."""
    work = moving(system, 40093, move=move)
    y, _, f = faces(work)
    size = np.abs(f).max()
    assert size > 1e-2
    assert np.allclose(f[:, 0].sum(0), 0, atol=1e-13 * size)
    assert np.allclose(np.cross(y, f).sum((0, 1)), 0, atol=1e-13 * size)


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("name", JOINT_RECIPES)
def test_joint_action_is_reaction(name, first, second):
    system, one, two = pair(first, second)
    system.add(JOINT_RECIPES[name](one, two, STILL))
    check_action(system, move=False)


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("name", PAIR_FORCES, ids="-".join)
def test_force_action_is_reaction(name, first, second):
    system, one, two = pair(first, second)
    system.add(PAIR_FORCES[name](one, two, STILL))
    check_action(system, move=True)


@pytest.mark.parametrize(("name", "other"), [x for x in ON_POINTS if x[0] != "PointForce"])
def test_action_is_reaction_on_a_point(name, other):
    system, one, two = pair("point", other)
    system.add(POINT_PARTS[name](one, two, STILL))
    check_action(system, move=name == "Spring")


@pytest.mark.parametrize("formulation", NAMES)
@pytest.mark.parametrize("name", LOADS, ids="-".join)
def test_load_has_its_resultant(name, formulation):
    system, one, _ = pair(formulation, "ground")
    part = system.add(LOADS[name](one, STILL))
    y, _, f = faces(moving(system, 40111))
    value = np.array(LAW_AT if part.law else part.value)
    if part.follow:
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


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("name", JOINT_RECIPES)
def test_power_of_a_joint_is_multipliers_times_rates(name, first, second):
    """Hence an ideal joint does no work."""
    system, one, two = pair(first, second)
    system.add(JOINT_RECIPES[name](one, two, STILL))
    work = moving(system, 40123)
    _, yd, f = faces(work)
    lam = work.vector(m.A)[work.model.numbering.lam]
    rate, _ = work.rates()
    assert np.isclose(np.sum(f * yd), lam @ rate, rtol=1e-12, atol=1e-13)
    assert abs(lam @ rate) > 1e-3


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("name", sorted({n for n, variant in PAIR_FORCES if variant == "damped"}))
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


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("name", JOINT_RECIPES)
def test_rates_of_rows(name, first, second):
    system, one, two = pair(first, second)
    system.add(JOINT_RECIPES[name](one, two, STILL))
    check_rates(moving(system, 40151))


@pytest.mark.parametrize(("name", "other"), [x for x in ON_POINTS if x[0] in JOINT_RECIPES])
def test_rates_of_rows_on_a_point(name, other):
    system, one, two = pair("point", other)
    system.add(POINT_PARTS[name](one, two, STILL))
    check_rates(moving(system, 40153))


@pytest.mark.parametrize("name", [n for n, f in FORMULATIONS.items() if f.n_own])
def test_rates_of_own_rows(name):
    system, _, _ = pair(name, "ground")
    work = moving(system, 40163)
    rng = np.random.default_rng(40169)
    n = work.model.numbering
    work.vector(m.V)[n.v] = rng.normal(size=len(n.v))
    check_rates(work)
    # the described state satisfies the own rows
    start = Workspace(work.model, work.model.state)
    start.evaluate()
    assert np.abs(start.vector(m.X)[n.lam]).max() < 1e-15
    assert np.abs(start.rates()[0]).max() < 1e-15
