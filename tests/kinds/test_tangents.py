"""Tangents of formulations, measures and systems against differences along the manifold.

Those of joints and forces are checked with their other properties in ``test_part_checks.py``.
"""

from dataclasses import replace

import numpy as np
import pytest
from recipes import (
    FORMULATIONS,
    MEASURES,
    Raw,
    on_pairs,
    pair,
    raw_part,
)
from scenes import chain, four_bar

import mbd
from mbd.analyses.checks import CheckError
from mbd.formulations import NAMES
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.measures import ANGLE
from mbd.interactions.rows import coincide_forces, row
from mbd.machine.jit import jit, kernel

TIGHT = 5e-8  # what is reached is about 1e-10 (2e-8 beside a corner); what is promised is 1e-6


@pytest.mark.parametrize("constraint", [True, False])
@pytest.mark.parametrize(("name", "first", "second"), on_pairs(MEASURES))
def test_measure(name, first, second, constraint):
    _, one, two = pair(first, second)
    part = raw_part(MEASURES[name], one, two, constraint=constraint)
    assert mbd.check_tangents(part, tolerance=TIGHT).ok


def test_systems_and_models():
    mixed = chain(4, NAMES, joint="Revolute", spin=0.4)
    assert mbd.check_tangents(mixed).ok
    report = mbd.check_tangents(four_bar(NAMES).build())
    assert {b.block for b in report.blocks} == {"M", "G", "K", "B", "B^T", "K T", "B T", "turn"}
    assert report.error == max(b.error for b in report.blocks)
    assert report["K T"].block == "K T"
    with pytest.raises(KeyError, match="K T"):
        report["S"]
    assert "agree with" in str(report)
    assert "pin" not in report["M"].row
    with pytest.raises(AttributeError):
        report.who = "me"


def test_at_a_given_state():
    model = chain(2, NAMES).build()
    state = mbd.consistent(model)
    assert mbd.check_tangents(model, state=state).ok


def test_a_large_model_is_sampled():
    assert mbd.check_tangents(chain(45)).ok


def test_a_frame_is_not_an_item():
    with pytest.raises(TypeError, match="must be a System, a Model, a body"):
        mbd.check_tangents(3.0)
    with pytest.raises(TypeError, match="must be a System"):
        mbd.check_tangents(mbd.System().ground)


# --- the kit itself must find what is wrong ------------------------------------------------------
@pytest.mark.parametrize(("law", "block"), [
    (lambda u, rate, t: (u * u + rate, 2.001 * u, 1.0), "K"),
    (lambda u, rate, t: (u * u + rate, 2 * u, 1.001), "G"),
])  # fmt: skip
def test_a_wrong_derivative_is_named(law, block):
    _, one, two = pair("so3", "directors")
    wrong = mbd.Spring("wrong", one, two, law=law)
    with pytest.raises(CheckError, match=r"by more than 1e-06") as caught:
        mbd.check_tangents(wrong)
    bad = {b.block for b in caught.value.report.blocks if not b.error <= 1e-6}
    assert block in bad
    assert "M" not in bad
    assert "one." in str(caught.value) or "two." in str(caught.value)


def test_not_a_number_is_an_error():
    _, one, two = pair("so3", "directors")
    nan = mbd.Spring("nan", one, two, law=lambda u, rate, t: (float("nan"), 0.0, 0.0))
    with pytest.raises(CheckError, match="differences nan"):
        mbd.check_tangents(nan)


@kernel
def _nothing(I, F, k):
    pass


@jit
def _of_the_origin(F, n):
    for i in range(3):
        F[n.yd + i] = F[n.v + i]


def test_velocities_of_faces_that_are_not_written_are_named():
    wrong = replace(FORMULATIONS["directors"], name="lazy", face_velocity=_of_the_origin)
    body = mbd.RigidBody("one", mass=1.0, inertia=(1, 1, 1), formulation=wrong)
    with pytest.raises(ValueError, match="one: face_velocity of 'lazy' must write all 12 numbers"):
        mbd.check_tangents(body)


def test_a_missing_gradient_is_named():
    _, one, two = pair("so3", "so3")
    ends = (Attachment("one", (1.0, 0.1, 0.2, 0.3)), Attachment("two", (1.0, -0.2, 0.1, 0.4)))
    wrong = Kind("forgotten", 2, 3, (), coincide_forces, _nothing)
    rows = Element(wrong, ends, rows=("x", "y", "z"), row_kinds=(3, 3, 3))
    with pytest.raises(CheckError) as caught:
        mbd.check_tangents(Raw("part", (one, two), [rows]))
    errors = {b.block: b.error for b in caught.value.report.blocks}
    assert np.isclose(errors["B"], 1.0, atol=0.05)
    assert np.isclose(errors["B^T"], 1.0, atol=0.05)
    assert errors["M"] < 1e-9
    assert "part." in caught.value.report["B"].row


def test_an_element_without_the_memory_that_it_writes_is_refused():
    system, one, two = pair("so3", "so3")
    ends = [Attachment(x.name, (0.0, 1.0, 0.0, 0.0)) for x in (one, two, one)]
    element = Element(row(ANGLE), ends, (0.3,), rows=("row",), row_kinds=(3,))
    system.add(Raw("part", (one, two), [element]))
    with pytest.raises(
        ValueError, match="part: an element of the kind 'angle row' must have a memory"
    ):
        system.build()
