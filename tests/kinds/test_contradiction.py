"""Rows that contradict each other are found and named; rows that are redundant and agree run."""

import re

import numpy as np
import pytest
from recipes import JOINT_RECIPES, Motion
from scenes import GRAVITY, four_bar, hinged, with_body, with_point
from scipy.spatial.transform import Rotation

import mbd

RUNS = {
    "position": {"step": 5e-3},
    "velocity": {"step": 5e-3, "method": mbd.GeneralizedAlpha(constraints="velocity")},
    "stabilized": {"step": 5e-3, "method": mbd.GeneralizedAlpha(constraints="stabilized")},
    "full Newton": {"step": 5e-3, "method": mbd.GeneralizedAlpha(newton="full")},
    "pivoting": {"step": 5e-3, "method": mbd.GeneralizedAlpha(linear_solver="splu")},
    "free steps": {"rtol": 1e-3},
}
COORDINATES = [
    ("Revolute", "angle"), ("Cylindrical", "angle"), ("Cylindrical", "displacement"),
    ("Prismatic", "displacement"), ("Planar", "angle"), ("Universal", "angle_1"),
]  # fmt: skip


def swing(amount, start):
    """Return a law, in part of its own, that leaves another one from an instant on."""

    def law(t):
        s = max(t - start, 0.0)
        return (
            0.3 * np.sin(2 * t) + amount * s**3,
            0.6 * np.cos(2 * t) + 3 * amount * s**2,
            -1.2 * np.sin(2 * t) + 6 * amount * s,
        )

    return law


def driven(joint, coordinate, what, amount, start=0.1):
    """Return a body on a joint whose coordinate two drives prescribe."""
    system, body = with_body(
        "body", gravity=GRAVITY, inertia=(0.1, 0.2, 0.3), position=(0.5, 0.1, 0.2)
    )
    options = {"second_axis": (1, 0, 0)} if joint == "Universal" else {}
    held = system.add(
        getattr(mbd, joint)("held", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1), **options)
    )
    u = getattr(held, coordinate)
    system.add(mbd.Drive("first", u, **{what: swing(0.0, start)}))
    system.add(mbd.Drive("second", u, **{what: swing(amount, start)}))
    return system


@pytest.mark.parametrize("what", ["position", "velocity"])
@pytest.mark.parametrize(("joint", "coordinate"), COORDINATES)
def test_drives_that_part_are_named_and_their_twins_run(joint, coordinate, what):
    run = {"step": 5e-3, "project": True}
    twins = mbd.simulate(driven(joint, coordinate, what, 0.0), 0.3, **run)
    assert twins.gap.max() < 1e-9
    with pytest.raises(mbd.SimulationError, match="contradict each other") as told:
        mbd.simulate(driven(joint, coordinate, what, 0.7), 0.3, **run)
    assert "'first." in str(told.value)
    assert "'second." in str(told.value)
    kept = told.value.solution
    assert 0.1 <= kept.t[-1] < 0.12
    assert kept.gap.max() < 1e-6


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", ["position", "velocity"])
def test_every_method_names_them(run, what):
    options = RUNS[run] | {"project": True}
    twins = mbd.simulate(driven("Revolute", "angle", what, 0.0), 0.2, **options)
    assert twins.success
    with pytest.raises(mbd.SimulationError, match=r"contradict each other.*'(first|second)\."):
        mbd.simulate(driven("Revolute", "angle", what, 2.0), 0.2, **options)


@pytest.mark.parametrize(("laws", "said"), [
    ((mbd.ConstantSpeed(0.5), mbd.ConstantSpeed(1.0)), "velocities"), ((0.0, 0.3), "positions"),
    ((0.2, 0.2 + 3e-7), "positions"),
])  # fmt: skip
@pytest.mark.parametrize("project", [False, True])
def test_drives_that_never_agreed_are_named_at_the_start(laws, said, project):
    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1)))
    for name, law in zip(("one", "two"), laws, strict=True):
        system.add(mbd.Drive(name, hinge.angle, position=law))
    with pytest.raises(ValueError, match=f"{said} violate.*") as told:
        mbd.simulate(system, 1.0, 1e-2, project=project)
    assert "'one.position'" in str(told.value)
    assert "'two.position'" in str(told.value)


def doubled(name, shift):
    """Return two bodies with a joint twice, the second one of other geometry where shift is not 0.

    The joint is placed by frames, so that the second one can have others.
    """
    system = mbd.System(gravity=GRAVITY)
    one, two = (
        system.add(mbd.RigidBody(b, mass=1.5, inertia=(0.1, 0.2, 0.3), position=x))
        for b, x in (("one", (0.5, 0.25, -0.75)), ("two", (1.5, -0.5, 0.125)))
    )
    system.add(mbd.Fixed("bearing", system.ground, one, at=(0, 0.5, 0.5)))
    first = system.add(JOINT_RECIPES[name](one, two, Motion()))
    again = JOINT_RECIPES[name](one, two, Motion())
    object.__setattr__(again, "name", "again")
    if shift:
        axes = again.B.axes
        moved = two.frame(again.B.position + shift * (axes[:, 0] + axes[:, 2]), axes)
        object.__setattr__(again, "ends", (again.A, moved))
    system.add(again)
    return system, first.name


PLACED = [n for n in JOINT_RECIPES if n != "KnifeEdge"]


@pytest.mark.parametrize("name", PLACED)
def test_joints_that_are_there_twice_run_as_once(name):
    system, first = doubled(name, 0.0)
    twice = mbd.simulate(system, 0.05, 1e-3, project=True)
    del system.joints["again"]
    once = mbd.simulate(system, 0.05, 1e-3, project=True)
    assert np.abs(twice["two"].position - once["two"].position).max() < 1e-8
    assert twice.gap.max() < 1e-9
    del first


@pytest.mark.parametrize("name", [
    "Spherical", "Fixed", "Universal", "Revolute", "Prismatic", "Cylindrical", "Planar",
])  # fmt: skip
def test_joints_that_contradict_are_named(name):
    system, first = doubled(name, 0.02)
    with pytest.raises(ValueError, match="violate constraints") as told:
        mbd.simulate(system, 0.05, 1e-3)
    assert f"'{first}." in str(told.value)
    assert "'again." in str(told.value)


def rods(length):
    system, ball = with_point("ball", gravity=GRAVITY, position=(1, 0, 0))
    system.add(mbd.Distance("one", system.ground, ball, at=(0, 0, 0)))
    system.add(
        mbd.Distance("two", system.ground.frame((0, 0, 0)), ball.frame((0, 0, 0)), length=length)
    )
    return system


@pytest.mark.parametrize("method", [
    mbd.EnergyMomentum(), mbd.GeneralizedAlpha(), mbd.GeneralizedAlpha(constraints="stabilized"),
    mbd.GeneralizedAlpha(linear_solver="splu"),
], ids=str)  # fmt: skip
def test_a_state_of_another_model_does_not_hide_a_contradiction(method):
    """A state that goes on is not checked as a first one: the steps find it."""
    before = mbd.simulate(rods(1.0), 0.1, 1e-3, method=method)
    assert before.gap.max() < 1e-10
    with pytest.raises(ValueError, match=r"contradict.*'(one|two)\.distance'.*'(one|two)\."):
        mbd.simulate(rods(1.1), 0.2, 1e-3, method=method)
    state = before.state.replace(alg=before.state.a)
    with pytest.raises(
        mbd.SimulationError, match=r"contradict.*'(one|two)\.distance'.*'(one|two)\."
    ):
        mbd.simulate(rods(1.1), 0.2, 1e-3, method=method, state=state)


def test_a_loop_out_of_true_by_less_than_a_start_may_be_runs():
    """A planar linkage whose hinges are parallel to some digits only, moves as one in true."""
    true = mbd.simulate(four_bar(), 0.5, 1e-3)
    for tilt, runs in ((1e-9, True), (2e-8, True), (9e-8, True), (2e-7, False), (1e-3, False)):
        system = four_bar()
        coupler, right = (system.bodies[n] for n in ("coupler", "right"))
        del system.joints["C"]
        at, y = np.array((2.0, 0, 1)), np.eye(3)[:, [2, 0, 1]]
        tilted = Rotation.from_rotvec((tilt, 0, 0)).as_matrix() @ y
        frames = coupler.placed_frame(at, tilted), right.placed_frame(at, y)
        system.add(mbd.Revolute("C", *frames))
        if runs:
            run = mbd.simulate(system, 0.5, 1e-3)
            assert run.gap.max() < 2 * tilt
            assert np.abs(run.q - true.q).max() < 10 * tilt
        else:
            with pytest.raises((ValueError, mbd.SimulationError), match="violate|contradict"):
                mbd.simulate(system, 0.5, 1e-3)


def test_rates_of_rows_have_units_of_rates():
    """A row on directors has no unit, its rate is one per second; one on velocities has its own."""
    system, body, _ = hinged("body", "one", gravity=(0, 0, 0), inertia=(1, 1, 1))
    other = mbd.Revolute("two", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1))
    system.add(other)
    system.add(mbd.Drive("drive", other, position=lambda t: t))
    with pytest.raises(ValueError, match="rows contradict each other") as error:
        mbd.simulate(system, 0.1, 1e-2)
    said = str(error.value)
    assert re.search(r"'drive.position' by [-.0-9]+ rad/s", said)
    assert re.search(r"moment about .*' by [-.0-9]+ 1/s", said)
    names = system.build().numbering
    units = {names.lam_units[i]: names.rate_unit(i) for i in range(len(names.lam_units))}
    assert units == {"m": "m/s", "-": "1/s", "rad": "rad/s"}
