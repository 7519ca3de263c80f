"""Forms other than the defaults: properties of every formulation, over a covering set of parts.

``M > 0`` is left to the defaults: all forms of Euler parameters but the default test inertia by
moments, with rotational blocks of rank three by design.
"""

import numpy as np
import pytest
from recipes import (
    FORM_FORCES,
    FORM_JOINTS,
    FORM_LOADS,
    FORMS,
    GRAVITY,
    JOINT_RECIPES,
    LOADS,
    PAIR_FORCES,
    STILL,
    WORN,
    pair,
)
from scenes import chain
from test_balance import check_rates, derivative, moving
from test_inertia import face, loaded, test_map, trial_map
from test_invariance import check_batch, check_moved
from test_part_checks import check

import mbd
from mbd.machine import buffer as m

RANK_DEFICIENT = [name for name, f in FORMS.items() if not f.galerkin]
EVERY = pytest.mark.parametrize("name", FORMS)


def test_all_parts_meet_a_form():
    assert {j for _, j in FORM_JOINTS} == set(JOINT_RECIPES)
    assert {p for _, p in FORM_FORCES} == set(PAIR_FORCES)
    assert {p for _, p in FORM_LOADS} == set(LOADS)
    assert set(RANK_DEFICIENT) == {name for name in FORMS if name.startswith("euler")}


@EVERY
def test_tangents(name):
    assert mbd.check_tangents(FORMS[name], tolerance=5e-8).ok


@EVERY
def test_mass_matrix_is_the_pull_back(name):
    """With the test map of forces, or that of moments, which takes out what is along p."""
    body, work = loaded(FORMS[name], 70223)
    Y, zt = trial_map(work), test_map(work)
    M = work.model.assemble(work.store()).M.toarray()
    pulled = zt @ np.kron(body.mass_matrix, np.eye(3)) @ Y
    if name.startswith("euler") and not name.endswith(("B1", "None")):
        p = work.vector(m.Q, 7)[3:7]
        off = np.eye(7)
        off[3:, 3:] = (p @ p) * np.eye(4) - np.outer(p, p)
        pulled = off @ pulled
    assert np.allclose(M, pulled, rtol=0, atol=2e-14 * np.abs(M).max())
    if name in RANK_DEFICIENT:
        assert np.linalg.matrix_rank(M, tol=1e-10) == 6
    else:
        assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize("name", [n for n in FORMS if n not in RANK_DEFICIENT])
def test_power_of_inertia_is_the_rate_of_kinetic_energy(name):
    """Forms that test by moments lose the power along p off the unit sphere: left out."""
    body, work = loaded(FORMS[name], 70237, gravity=(0, 0, 0))
    n, W = work.model.numbering, body.mass_matrix
    v, a = work.vector(m.V), work.vector(m.A)
    work.evaluate()
    power = work.vector(m.X)[n.v] @ v[n.v]
    start = v.copy()

    def kinetic(t):
        work.vector(m.D)[n.v] = t * start[n.v]
        v[n.v] = start[n.v] + t * a[n.v]
        work.evaluate()
        yd = face(work, m.YD)
        return 0.5 * np.sum(yd * (W @ yd))

    assert np.isclose(power, derivative(kinetic), rtol=1e-8)
    assert abs(power) > 0.1


@EVERY
def test_free_flight_is_newton_and_euler(name):
    system, body, _ = pair(FORMS[name], "ground")
    model = system.build()
    work = mbd.model.model.Workspace(model, mbd.consistent(model))
    work.evaluate()
    work.rates()
    y, ydd = face(work, m.Y), face(work, m.YDD)
    c = np.array([1, *body.center_of_mass])
    assert np.allclose(c @ ydd, GRAVITY, rtol=0, atol=1e-11)
    rate = np.cross(y, body.mass_matrix @ ydd).sum(0) - np.cross(
        c @ y, body.mass * np.array(GRAVITY)
    )
    assert np.allclose(rate, 0, atol=1e-11)


@pytest.mark.parametrize("name", [n for n, f in FORMS.items() if f.n_own])
def test_rates_of_own_rows(name):
    system, _, _ = pair(FORMS[name], "ground")
    work = moving(system, 40163)
    n = work.model.numbering
    work.vector(m.V)[n.v] = np.random.default_rng(40169).normal(size=len(n.v))
    check_rates(work)


@EVERY
def test_body_does_not_know_where_it_is(name):
    check_moved(lambda motion: pair(FORMS[name], "ground", motion)[0])


@EVERY
def test_batch(name):
    """Three bodies in one model are three models of one, to the last bit."""

    def bodies(numbers):
        system = mbd.System(gravity=GRAVITY)
        for i in numbers:
            system.add(
                mbd.RigidBody(f"body {i}", mass=1.0 + i, inertia=(0.3, 0.4, 0.5),
                              center_of_mass=(0.1, 0.2, 0.1 * i), formulation=FORMS[name])
            )  # fmt: skip
            bar = system[f"body {i}"]
            system.add(mbd.Revolute(f"pin {i}", system.ground, bar, at=(1, 2, i), axis=(0, 1, 0)))
        return system

    check_batch(bodies(range(3)), [bodies([i]) for i in range(3)])


@pytest.mark.parametrize(("name", "joint"), FORM_JOINTS)
def test_joint(name, joint):
    _, one, two = pair(FORMS[name], "so3")
    check(JOINT_RECIPES[joint](one, two, STILL))


@pytest.mark.parametrize(("name", "force"), FORM_FORCES)
def test_force_between_bodies(name, force):
    _, one, two = pair("so3", FORMS[name])
    check(PAIR_FORCES[force](one, two, STILL))


@pytest.mark.parametrize(("name", "load"), FORM_LOADS)
def test_load(name, load):
    def make(motion):
        system, one, _ = pair(FORMS[name], "ground", motion)
        system.add(LOADS[load](one, motion))
        return system

    check_moved(make)
    _, one, _ = pair(FORMS[name], "ground")
    assert mbd.check_tangents(LOADS[load](one, STILL), tolerance=5e-8).ok


@EVERY
def test_row_on_velocities(name):
    _, one, _ = pair(FORMS[name], "ground")
    worn = WORN["NonTwisting", "uneven"](one, STILL)
    assert mbd.check_tangents(worn, tolerance=5e-8).ok


@pytest.mark.parametrize("name", [n for n, f in FORMS.items() if f.rigid])
def test_run_is_that_of_so3(name):
    sharp = mbd.GeneralizedAlpha(tol=1e-10, newton="full")
    runs = [
        mbd.simulate(chain(3, f, spin=2.0), 0.2, 1e-3, method=sharp)
        for f in (("so3",), (FORMS[name], "so3"))
    ]
    mine, other = (run["bar 2"] for run in runs)
    assert np.allclose(mine.position, other.position, rtol=0, atol=2e-5)
    assert np.ptp(mine.position[:, 2]) > 0.05
