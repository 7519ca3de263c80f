"""Forms other than the defaults with a covering set of parts, in batches and in motion.

What holds for a form by itself is in ``test_formulation_checks.py``.
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
from test_invariance import check_batch
from test_part_checks import check

import mbd

EVERY = pytest.mark.parametrize("name", FORMS)


def test_all_parts_meet_a_form():
    assert {j for _, j in FORM_JOINTS} == set(JOINT_RECIPES)
    assert {p for _, p in FORM_FORCES} == set(PAIR_FORCES)
    assert {p for _, p in FORM_LOADS} == set(LOADS)


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
