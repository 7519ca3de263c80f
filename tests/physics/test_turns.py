"""Angles count full turns across runs, files and equilibria: what a state knows of them."""

import numpy as np
import pytest
from families import spread

import mbd

from .tools import RIGID


def disc(formulation="so3", rate=0.0, **spring):
    """Return a disc of 0.2 kg m^2 on a hinge, with a spring if one is given."""
    s = mbd.System()
    b = mbd.RigidBody(
        "disc", mass=1, inertia=(0.1, 0.1, 0.2), angular_velocity=(0, 0, rate),
        formulation=formulation,
    )  # fmt: skip
    b = s.add(b)
    hinge = s.add(mbd.Revolute("hinge", s.ground, b, at=(0, 0, 0), axis=(0, 0, 1)))
    if spring:
        s.add(mbd.JointSpring("coil", hinge, **spring))
    return s


def add_rack(s):
    """Add a rack to a disc that turns at 3 rad/s."""
    rack = mbd.RigidBody("rack", mass=1, inertia=(0.1, 0.1, 0.2), velocity=(0.3, 0, 0))
    rail = mbd.Prismatic("rail", s.ground, s.add(rack), at=(0, 0, 0), axis=(1, 0, 0))
    s.add(mbd.RackPinion("teeth", s.joints["hinge"], s.add(rail), radius=0.1))


def add_drive(s):
    s.add(mbd.Drive("motor", s.joints["hinge"], position=mbd.ConstantSpeed(3.0)))


@pytest.mark.parametrize("formulation", RIGID)
def test_a_wound_spring_goes_on(formulation):
    s = disc(formulation, stiffness=0.2, reference=10.0)
    calm = mbd.GeneralizedAlpha(constraints="stabilized")
    whole = mbd.simulate(s, 2.0, 2e-3, method=calm)
    first = mbd.simulate(s, 1.5, 2e-3, method=calm)
    then = mbd.simulate(s, 2.0, 2e-3, state=first.state, method=calm)
    assert whole["hinge"].angle[-1] == pytest.approx(10 * (1 - np.cos(2.0)), rel=1e-3)
    assert then["hinge"].angle[0] == pytest.approx(first["hinge"].angle[-1], abs=1e-10)
    assert then["hinge"].angle[-1] == pytest.approx(whole["hinge"].angle[-1], abs=1e-6)
    assert then.energy.total[0] == pytest.approx(first.energy.total[-1], rel=1e-10)
    assert then.energy.potential[-1] == pytest.approx(whole.energy.potential[-1], rel=1e-6)


@pytest.mark.parametrize("add", [lambda s: None, add_rack, add_drive])
@pytest.mark.parametrize("steps", [{"step": 1e-2}, {"rtol": 1e-6}])
def test_free_driven_and_geared_hinges_go_on(add, steps):
    s = disc(rate=3.0)
    add(s)
    first = mbd.simulate(s, 3.0, **steps)
    then = mbd.simulate(s, 6.0, state=first.state, **steps)
    assert first.state.memory[s.build().remembered.index("hinge.angle")] == pytest.approx(9.0)
    assert then["hinge"].angle[[0, -1]] == pytest.approx([9.0, 18.0], abs=1e-6)
    assert then.freedoms["hinge.angle"][0][-1] == pytest.approx(18.0, abs=1e-6)
    if "rail" in s.joints:
        assert then["rail"].displacement[-1] == pytest.approx(1.8, abs=1e-6)


def test_steps_of_more_than_a_half_turn_are_counted():
    s = disc(rate=3.0)
    first = mbd.simulate(s, 3.0, 1.5)
    then = mbd.simulate(s, 6.0, 1.5, state=first.state)
    assert then["hinge"].angle == pytest.approx([9.0, 13.5, 18.0])


def test_an_event_on_turns_is_where_it_is_in_one_run():
    s = disc(rate=3.0)
    turns = mbd.Event("three turns", lambda x: x["hinge"].angle - 6 * np.pi, terminal=True)
    half = mbd.Event("a turn", lambda x: x["hinge"].angle - 2 * np.pi, terminal=True)
    state = mbd.simulate(s, 3.0, 1e-2).state
    (found,) = mbd.simulate(s, 9.0, 1e-2, events=turns, state=state).events
    assert found.t == pytest.approx(2 * np.pi, abs=1e-9)
    (first,) = mbd.simulate(s, 9.0, 1e-2, events=half).events
    (found,) = mbd.simulate(s, 9.0, 1e-2, events=turns, state=first.state).events
    assert found.t == pytest.approx(2 * np.pi, abs=1e-9)


def test_a_motor_reads_the_whole_angle():
    s = disc(rate=3.0)
    s.add(mbd.Motor("motor", s.joints["hinge"], lambda u, rate, t: -1e-3 * u))
    whole = mbd.simulate(s, 6.0, 1e-2)
    state = mbd.simulate(s, 3.0, 1e-2).state
    then = mbd.simulate(s, 6.0, 1e-2, state=state)
    assert then["motor"].load[-1] == pytest.approx(whole["motor"].load[-1], rel=1e-5)


@spread(formulation=RIGID, reference=[4.0, -7.0, 20.0])
def test_equilibria_of_wound_springs(formulation, reference):
    s = disc(formulation, stiffness=0.2, reference=reference)
    found = mbd.equilibrium(s)
    assert found["hinge"].angle == pytest.approx(reference, abs=1e-9)
    assert found.solution.energy.potential[0] == pytest.approx(0.0, abs=1e-12)
    run = mbd.simulate(s, 0.1, 1e-2, state=found.state)
    assert run["hinge"].angle[-1] == pytest.approx(reference, abs=1e-9)


@pytest.mark.parametrize(
    "formulation",
    [pytest.param(x, marks=[] if x == "so3" else pytest.mark.slow) for x in RIGID],
)
def test_many_turns_are_reached(formulation):
    s = disc(formulation, stiffness=0.2, reference=-100.0)
    for seek in ("minimum", "nearest"):
        found = mbd.equilibrium(s, seek=seek)
        assert found["hinge"].angle == pytest.approx(-100.0, abs=1e-8)
        assert found.iterations < 180  # of more than 0.4 rad


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
@pytest.mark.parametrize("far", [40, 1e9])
def test_a_long_way_is_taken_by_moves_that_grow(seek, far):
    """A point on a soft spring falls by 40 lengths of it, or by many."""
    s = mbd.System(gravity=(0, 0, -9.81))
    point = s.add(mbd.PointMass("point", mass=1.0, position=(0, 0, -1)))
    s.add(mbd.Spring("spring", s.ground, point, stiffness=9.81 / far, length=1.0))
    found = mbd.equilibrium(s, seek=seek)
    assert found["point"].position == pytest.approx([0, 0, -1 - far], rel=1e-9, abs=1e-9)
    print(found.iterations)
    assert 10 < found.iterations < 20 + 4 * np.log(far)


def test_a_memory_of_another_model_is_refused():
    s = disc(stiffness=0.2)
    state = mbd.simulate(s, 0.1, 1e-2).state
    assert s.build().remembered == ("coil.0", "hinge.angle")
    for memory in (np.zeros(3), np.array([0.0, np.nan])):
        with pytest.raises(ValueError, match="state.memory must be 2 finite numbers"):
            mbd.simulate(s, 0.2, 1e-2, state=state.replace(memory=memory))


@pytest.mark.parametrize("way", ["stream", "save"])
def test_a_run_that_goes_on_keeps_its_turns_in_a_file(way, tmp_path):
    s, path = disc(rate=3.0), tmp_path / "run.nc"
    state = mbd.simulate(s, 3.0, 1e-2).state
    run = mbd.simulate(s, 6.0, 1e-2, state=state, stream=path if way == "stream" else None)
    if way == "save":
        run.save(path)
    found = mbd.load(path)
    for angle in (run["hinge"].angle, found["hinge"].angle, found.freedoms["hinge.angle"][0]):
        assert angle[[0, -1]] == pytest.approx([9.0, 18.0], abs=1e-9)
    then = mbd.simulate(s, 7.0, 1e-2, state=found.state)
    assert then["hinge"].angle[-1] == pytest.approx(21.0, abs=1e-9)
