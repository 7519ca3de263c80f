"""`mbd.check_part`: all parts pass, and each defect of a part is named."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from families import spread
from recipes import (
    AT,
    EXAMPLES,
    JOINING,
    LOADS,
    POINT_PARTS,
    SCALING,
    SCALINGS,
    STILL,
    TO,
    WORN,
    Raw,
    examples,
    on_pairs,
    pair,
)

import mbd
from mbd.algebra.vec import minus, store3
from mbd.analyses.checks import CheckError
from mbd.formulations import NAMES
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.pullback import add_stiffness, at, each, form_maps, push
from mbd.interactions.rows import COINCIDE
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.parts.joint import Joint

TIGHT = 5e-8  # what is reached is about 1e-10 (2e-8 beside a corner); what is promised is 1e-6


def check(part):
    """Check all properties; action is reaction to round-off, the others are differences."""
    report = mbd.check_part(part, tolerance=TIGHT)
    heavy = any(x.kind.momenta for x in part.elements())  # forces are rates of momenta
    limits = {"made again": 0.0} | ({} if heavy else {"force": 1e-12, "moment": 1e-12})
    assert all(x.error <= limits.get(x.what, TIGHT) for x in report.properties), str(report)
    two = len({x.name for x in part.bodies}) > 1
    rows = sum(x.kind.n_rows for x in part.elements())
    expected = {"made again", "power"} | ({"force", "moment"} if two else set())
    expected |= {"rate of rows", "second rate of rows"} if rows else set()
    assert {x.what for x in report.properties} == expected


@pytest.mark.parametrize(("name", "first", "second"), on_pairs(JOINING, ground=True))
def test_joints_and_forces(name, first, second):
    _, one, two = pair(first, second)
    check(JOINING[name](one, two, STILL))


@pytest.mark.parametrize("name", EXAMPLES, ids="-".join)
def test_examples(name):
    _, one, two = pair("so3", "directors")
    check(EXAMPLES[name](one, two, STILL))


@spread(other=[*NAMES, "ground"], name=POINT_PARTS)
def test_parts_on_a_point(name, other):
    _, one, two = pair("point", other)
    check(POINT_PARTS[name](one, two, STILL))


@pytest.mark.parametrize("formulation", NAMES)
@pytest.mark.parametrize("name", [*LOADS, *WORN], ids="-".join)
def test_parts_on_one_body(name, formulation):
    _, one, _ = pair(formulation, "ground")
    check({**LOADS, **WORN}[name](one, STILL))


@pytest.mark.parametrize("formulation", SCALING, ids=lambda f: f.name)
@pytest.mark.parametrize("name", SCALINGS, ids="-".join)
def test_parts_on_a_scale(name, formulation):
    _, one, _ = pair(formulation, "ground")
    check(SCALINGS[name](one, STILL))


class SpringAtPoints(mbd.Spring):
    """A part that says how it is made, as a new one of the library does."""

    @classmethod
    def example(cls, one, two):
        """Return a damped spring between points of two bodies."""
        return cls("part", one, two, at=AT, to=TO, stiffness=40.0, damping=6.0)


WITH_EXAMPLE = {**EXAMPLES, **examples([SpringAtPoints])}


@pytest.mark.parametrize(("name", "first", "second"), on_pairs(WITH_EXAMPLE))
def test_examples_pass_on_all_formulations(name, first, second):
    _, one, two = pair(first, second)
    report = mbd.check_part(WITH_EXAMPLE[name](one, two), tolerance=5e-8)
    assert all(x.error < 1e-9 for x in report.properties), str(report)


@pytest.mark.parametrize(("L", "far", "k"), [(1e-6, 0.0, 1.0), (1e6, 0.0, 1e9), (1e-3, 1e3, 1e4)])
def test_size_place_and_stiffness_do_not_matter(L, far, k):
    """Also where all forces act through the origins, so that levers are round-off."""
    place, axis = np.array([far, 0, 0]), (0.6, 0, 0.8)
    one, two = (
        mbd.RigidBody(name, mass=1.0, inertia=np.array((0.3, 0.4, 0.5)) * L * L,
                      position=place + L * np.array(x), formulation=formulation)
        for name, x, formulation in (("one", (0, 0, 0), "so3"), ("two", (1, 0.2, 0.3), "directors"))
    )  # fmt: skip
    at = place + L * np.array((0.5, 0.4, 0.1))
    hinge = mbd.Cylindrical("hinge", one, two, at=at, axis=axis)
    for part in (
        mbd.Revolute("part", one, two, at=at, axis=axis),
        mbd.Distance("part", one, two),
        mbd.Rope("part", [one.frame(), two.frame()]),
        mbd.Spring("part", one, two, stiffness=k, damping=0.1 * k),
        mbd.JointSpring("part", hinge.displacement, stiffness=k),
    ):
        report = mbd.check_part(part)
        assert all(x.error < 1e-9 for x in report.properties), str(report)


# --- every property must be able to fail ---------------------------------------------------------
@each
def one_sided(I, F, e):
    """Push the first body, and nobody back."""
    push(I, F, m.FY, I[e.ends], 1.0, (2.0, -1.0, 3.0))


@each
def apart(I, F, e):
    """Push both bodies with opposite forces, whose lines are apart."""
    push(I, F, m.FY, I[e.ends], 1.0, (2.0, -1.0, 3.0))
    push(I, F, m.FY, I[e.ends + 1], -1.0, (2.0, -1.0, 3.0))


@each
def nothing(I, F, e):
    """Add nothing: the derivative of a constant force on a point."""


@kernel
def dissipates(I, F, k):
    """Add a watt that no force takes."""
    F[m.DISSIPATED] += 1.0


@each
def wrong_rate(I, F, e):
    """Write more than the rate of P - Q, by what has no derivative: tangents are right."""
    P, Q, u = I[e.ends], I[e.ends + 1], e.u
    rate = minus(at(I, F, m.YD, P), at(I, F, m.YD, Q))
    store3(F, I[m.PHID] + u, minus(rate, (0.5, -0.7, 0.3)))
    store3(F, I[m.PHIDD] + u, minus(at(I, F, m.YDD, P), at(I, F, m.YDD, Q)))


@each
def wrong_second_rate(I, F, e):
    """Write the rate of P - Q, and of the second one P alone."""
    P, Q, u = I[e.ends], I[e.ends + 1], e.u
    store3(F, I[m.PHID] + u, minus(at(I, F, m.YD, P), at(I, F, m.YD, Q)))
    store3(F, I[m.PHIDD] + u, at(I, F, m.YDD, P))


FORCE = Kind("push", 2, 0, (), apart, nothing)
WRONG = {
    "one sided": (replace(FORCE, forces=one_sided), {"force", "moment"}),
    "apart": (FORCE, {"moment"}),
    "energy": (replace(FORCE, energy=dissipates), {"moment", "power"}),
    "rate": (replace(COINCIDE, rates=wrong_rate), {"rate of rows", "power"}),
    "second rate": (replace(COINCIDE, rates=wrong_second_rate), {"second rate of rows"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_property_is_named(name):
    kind, expected = WRONG[name]
    _, one, two = pair("so3", "so3")
    ends = [Attachment("one", (1.0, 0.2, -0.1, 0.4)), Attachment("two", (1.0, 0.3, 0.5, -0.2))]
    rows = {"rows": ("x", "y", "z"), "row_kinds": (3, 3, 3)} if kind.n_rows else {}
    if kind.n_rows:  # at a point of both, where rows are met
        frames = [x.placed_frame((0.2, 0.3, 0.1), x.rotation) for x in (one, two)]
        ends = [Attachment(f.body.name, f.point()) for f in frames]
    with pytest.raises(CheckError, match="fails") as caught:
        mbd.check_part(Raw("part", (one, two), [Element(kind, ends, **rows)]))
    report = caught.value.report
    assert {x.what for x in report.properties if not x.error <= 1e-6} == expected
    assert not report.ok
    assert report.tangents.ok
    assert all(f"{what}: " in str(caught.value) for what in expected)
    with pytest.raises(KeyError, match="there are"):
        report["colour"]


class Forgetful(Joint):
    """A joint whose elements are not those of its arguments."""

    count = itertools.count()

    def __init__(self, name, first, second):
        super().__init__(name, first, second, at=(0.1, 0.2, 0.3), axis=(0, 0, 1))
        self.number = 0.001 * next(self.count)

    def elements(self):
        return [self._offset(0)._replace(numbers=(self.number,))]


def test_a_part_that_its_arguments_do_not_make_is_named():
    _, one, two = pair("so3", "so3")
    with pytest.raises(CheckError, match="made again: inf"):
        mbd.check_part(Forgetful("part", one, two))


def test_a_wrong_tangent_is_named_first():
    _, one, two = pair("so3", "so3")
    wrong = mbd.Spring("part", one, two, law=lambda u, rate, t: (u * u, 2.1 * u, 0.0))
    with pytest.raises(CheckError, match="tangents of"):
        mbd.check_part(wrong)


def test_only_joints_and_forces_are_parts():
    with pytest.raises(TypeError, match="check_part: part must be a joint or a force, got"):
        mbd.check_part(mbd.System())


# --- what a kind declares -------------------------------------------------------------------------
@each
def to_an_undeclared_pair(I, F, e):
    """Add the stiffness of a force that grows with the position of the other attachment."""
    form_maps(I, F, e, 2, False)
    add_stiffness(I, F, e, 1, 0, 1, 1.0, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize("pairs", [((0, 0),), ()])
def test_writing_to_an_undeclared_pair_is_named(pairs):
    _, one, two = pair("so3", "directors")
    ends = [Attachment(b.name, (1.0, 0.1, 0.2, 0.3)) for b in (one, two)]
    kind = Kind("greedy", 2, 0, pairs, apart, to_an_undeclared_pair)
    with pytest.raises((ValueError, IndexError), match="writes to pair 1") as caught:
        mbd.check_part(Raw("part", (one, two), [Element(kind, ends)]))
    assert "greedy" in str(caught.value) or "to_an_undeclared_pair" in str(caught.value)


@each
def by_velocity(I, F, e):
    """Push against the velocity, which the kind does not declare."""
    push(I, F, m.FY, I[e.ends], 1.0, at(I, F, m.YD, I[e.ends]))


def test_forces_by_velocities_that_are_not_declared_are_named():
    _, one, _ = pair("so3", "directors")
    ends = [Attachment(one.name, (1.0, 0.1, 0.2, 0.3))]
    kind = Kind("secret", 1, 0, (), by_velocity, None)
    part = Raw("part", (one,), [Element(kind, ends)])
    message = "part: the forces of its kind 'secret' depend on velocities; declare it"
    with pytest.raises(ValueError, match=message):
        mbd.check_part(part)
    system = mbd.System()
    system.add(one)
    system.add(part)
    with pytest.raises(ValueError, match=message):
        system.build()
