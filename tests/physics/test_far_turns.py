"""Steps that turn wheels far: rows, springs and drives count turns right, or the step is refused.

In a driven motion the rate changes between -10 and 110 rad/s; a step of 0.5 s turns the wheel by 25
rad, and its rate goes up and down once and a half.
"""

import warnings

import numpy as np
import pytest
from families import spread

import mbd

END = 2.0
FORMS = ["so3", "se3", "unified", "euler_parameters", "directors"]
METHODS = {
    "position": mbd.GeneralizedAlpha(),
    "velocity": mbd.GeneralizedAlpha(constraints="velocity"),
    "stabilized": mbd.GeneralizedAlpha(constraints="stabilized"),
    "newmark": mbd.GeneralizedAlpha.newmark(constraints="stabilized"),
    "five stages": mbd.RadauCollocation(),
    "three stages": mbd.RadauCollocation(stages=3),
    "explicit": mbd.ExplicitRungeKutta(),
}
STEPS = [{"step": x} for x in (0.01, 0.04, 0.1, 0.25, 0.5, 2.0)] + [{"rtol": 1e-3}]


def turned(t):
    return 50.0 * t + 3.0 * np.sin(20.0 * t)


def motion(t):
    """Return the angle of the wheel and its derivatives."""
    return turned(t), 50.0 + 60.0 * np.cos(20.0 * t), -1200.0 * np.sin(20.0 * t)


def wheel(s, name, rate, at=0.0, formulation="so3", **body):
    return s.add(
        mbd.RigidBody(
            name, mass=1, inertia=(0.1, 0.1, 0.2), position=(at, 0, 0), formulation=formulation,
            angular_velocity=(0, 0, rate), **body,
        )
    )  # fmt: skip


def hinge(s, name, first, second, at=0.0):
    return s.add(mbd.Revolute(name, first, second, at=(at, 0, 0), axis=(0, 0, 1)))


def slide(s, name, formulation, speed):
    body = mbd.RigidBody(
        name, mass=0.1, inertia=(0.1, 0.1, 0.2), velocity=(speed, 0, 0), formulation=formulation
    )
    return s.add(mbd.Prismatic("rail", s.ground, s.add(body), at=(0, 0, 0), axis=(1, 0, 0)))


def rack(formulation, rate):
    """A wheel of 0.1 m moves a rack."""
    s = mbd.System()
    turn = hinge(s, "hinge", s.ground, wheel(s, "wheel", rate, formulation=formulation))
    rail = slide(s, "rack", formulation, 0.1 * rate)
    s.add(mbd.RackPinion("teeth", turn, rail, radius=0.1))
    return s, turn, lambda x: x["rail"].displacement / 0.1


def screw(formulation, rate):
    """A screw of a pitch of 0.2 pi m turns."""
    s = mbd.System()
    body = wheel(s, "screw", rate, formulation=formulation, velocity=(0, 0, 0.1 * rate))
    thread = s.add(
        mbd.Screw("thread", s.ground, body, pitch=0.2 * np.pi, at=(0, 0, 0), axis=(0, 0, 1))
    )
    return s, thread.angle, lambda x: x["screw"].position[:, 2] / 0.1


def planets(formulation, rate):
    """A planet rolls in a ring three times as large: its carrier moves a rack by another gear."""
    s = mbd.System()
    carrier = wheel(s, "carrier", rate, formulation=formulation)
    planet = wheel(
        s, "planet", -2.0 * rate, at=0.2, formulation=formulation, velocity=(0, 0.2 * rate, 0)
    )
    turn = hinge(s, "hinge", s.ground, carrier)
    s.add(mbd.Gear("ring", turn, hinge(s, "pin", carrier, planet, 0.2), ratio=-3.0))
    rail = slide(s, "rack", formulation, -0.3 * rate)
    s.add(mbd.RackPinion("teeth", s.joints["pin"], rail, radius=0.1))
    return s, turn, lambda x: x["rail"].displacement / -0.3


def wound(formulation, rate):
    """A motor reads the angle, and shows it as its moment."""
    s = mbd.System()
    turn = hinge(s, "hinge", s.ground, wheel(s, "wheel", rate, formulation=formulation))
    rail = slide(s, "rack", formulation, 0.1 * rate)
    s.add(mbd.RackPinion("teeth", turn, rail, radius=0.1))
    s.add(mbd.JointSpring("coil", turn, stiffness=1e-3))
    return s, turn, lambda x: x["rail"].displacement / 0.1


def outcome(s, read, options):
    """Return the angle at the end, or the message of an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(mbd.simulate(s, END, progress=False, **options))[-1]
        except mbd.SimulationError as error:
            return str(error)


@spread(
    rare=[x for x in FORMS if x != "so3"], formulation=FORMS, make=[rack, screw, planets, wound],
    method=METHODS,
)  # fmt: skip
def test_driven_wheels_are_where_they_should_be_or_the_run_says_why(formulation, make, method):
    right = 0
    for steps in STEPS:
        if method in ("position", "newmark") and "rtol" in steps:
            continue
        s, coordinate, read = make(formulation, 110.0)
        s.add(mbd.Drive("motor", coordinate, position=motion))
        found = outcome(s, read, {"method": METHODS[method], **steps})
        if isinstance(found, str):
            assert "'" in found or "motor" in found
        else:
            assert found == pytest.approx(turned(END), abs=0.5), steps
            right += 1
    assert right >= 1


def test_stages_that_are_lost_end_no_step():
    """Sweeps whose numbers overflow are not met, and rows are not chosen where they ended."""
    for step in (0.04, 0.25):
        s, coordinate, read = rack("euler_parameters", 110.0)
        s.add(mbd.Drive("motor", coordinate, position=motion))
        found = outcome(s, read, {"method": METHODS["five stages"], "step": step})
        assert found == pytest.approx(turned(END), abs=0.5) or "'wheel" in found


@pytest.mark.parametrize("method", METHODS)
def test_wheels_that_turn_evenly_are_counted_in_steps_of_any_size(method):
    for step in (0.01, 0.1, 1.0, 2.0):
        for rate in (0.5, 50.0, 150.0):
            s, _, read = rack("so3", rate)
            run = mbd.simulate(s, END, step, method=METHODS[method], progress=False)
            assert read(run)[-1] == pytest.approx(rate * END, rel=1e-6)


@pytest.mark.parametrize("steps", [{"step": 0.01}, {"step": 0.1}, {"rtol": 1e-4}])
@pytest.mark.parametrize("stages", [3, 5])
def test_a_wheel_under_a_moment_turns_as_its_equation_says(steps, stages):
    s, turn, read = rack("so3", 110.0)
    s.add(mbd.Motor("motor", turn, lambda u, rate, t: -1200 * 0.201 * np.sin(20 * t)))
    method = mbd.RadauCollocation(stages=stages)
    assert outcome(s, read, {"method": method, **steps}) == pytest.approx(turned(END), abs=0.05)


@pytest.mark.parametrize(("method", "formulation", "last"), [
    (mbd.EnergyMomentum(), "directors", 5e-3),
    (mbd.GeneralizedAlpha(constraints="stabilized"), "so3", 0.1),
    (mbd.RadauCollocation(), "directors", 0.1),
    (mbd.ExplicitRungeKutta(), "so3", 0.2),
    (mbd.LieRungeKutta4(), "so3", 0.2),
    (mbd.LieRungeKutta4(scheme="quaternion"), "directors", 0.2),
])  # fmt: skip
def test_a_wound_spring_swings_back(method, formulation, last):
    """Let a disc of 0.2 kg m^2 wind up a spring of 0.2 N m/rad, from 50 rad/s: u = 50 sin t."""
    for step in (1e-3, last):
        s = mbd.System()
        b = wheel(s, "disc", 50.0, formulation=formulation)
        turn = mbd.Revolute("hinge", s.ground, b, at=(0, 0, 0), axis=(0, 0, 1))
        s.add(mbd.RotationalSpring("coil", turn, stiffness=0.2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = mbd.simulate(s, 4.0, step, method=method, progress=False)
        place = s.build().remembered.index("coil.0")
        assert run.state.memory[place] == pytest.approx(50 * np.sin(4.0), abs=0.5)


def test_a_step_in_which_turns_are_not_sure_is_refused_by_name():
    """An explicit step of 1 s cannot follow a spring that swings with 6 rad/s."""
    s = mbd.System()
    b = wheel(s, "disc", 50.0)
    turn = mbd.Revolute("hinge", s.ground, b, at=(0, 0, 0), axis=(0, 0, 1))
    s.add(mbd.RotationalSpring("coil", turn, stiffness=0.2 * 3.1**2))
    with pytest.raises(mbd.SimulationError, match="turns in this step are not known"):
        mbd.simulate(s, 3.0, 0.6, method=mbd.LieRungeKutta4(), progress=False)


def test_angles_that_turn_too_far_between_kept_instants_are_told():
    s, turn, _ = rack("so3", 110.0)
    s.add(mbd.Drive("motor", turn, position=motion))
    fine = mbd.simulate(s, END, 1e-3, progress=False)
    assert fine["hinge"].angle[-1] == pytest.approx(turned(END), abs=1e-9)
    few = mbd.simulate(s, END, 1e-3, every=250, progress=False)
    assert few["rail"].displacement[-1] == pytest.approx(0.1 * turned(END), abs=1e-9)
    with pytest.warns(UserWarning, match="'hinge.angle' turns so far between kept instants"):
        assert len(few["hinge"].angle) == 9


def test_derivatives_follow_steps_that_turn_far():
    """The wheel and a rack of 0.1 kg at 0.1 m begin with the momentum of the wheel."""
    s, *_ = rack("so3", 110.0)
    end = mbd.Objective(terminal=lambda last: last["rail"].displacement)
    for step in (0.02, 0.1, 0.5):
        g = mbd.gradient(end, s, ["wheel.angular_velocity.z"], END, step, project=True)
        assert g.value == pytest.approx(0.1 * 110.0 * END, rel=1e-9)
        assert g.array[0] == pytest.approx(0.1 * END * 0.2 / 0.201, rel=1e-9)
