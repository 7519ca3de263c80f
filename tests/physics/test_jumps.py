"""A drive whose law jumps is followed, or the run stops there and names it."""

import math
import re

import numba
import numpy as np
import pytest
from scenes import hinged

import mbd
from mbd.formulations import NAMES
from mbd.runs import stretch as module

AT = 0.05
RIGID = [name for name in NAMES if name not in ("point",)]


def step(size, at=AT):
    return lambda t: 0.0 if t < at else size


def step_with_derivatives(size, at=AT):
    return lambda t: (0.0 if t < at else size, 0.0, 0.0)


def arm(law, formulation="so3", drive="angle"):
    """Two bars; the first one is driven at its hinge, along a slide, or by a rope over both."""
    system = mbd.System(gravity=(0, 0, -9.81))
    first, second = (
        mbd.RigidBody(
            name, mass=1.3, inertia=(0.01, 0.11, 0.1), position=(0.5 + i, 0, 0),
            formulation=formulation,
        )
        for i, name in enumerate(("first", "second"))
    )  # fmt: skip
    system.add(first)
    system.add(second)
    if drive == "displacement":
        joint = mbd.Prismatic("slide", system.ground, first, at=(0, 0, 0), axis=(0, 0, 1))
    else:
        joint = mbd.Revolute("hinge", system.ground, first, at=(0, 0, 0), axis=(0, 1, 0))
    system.add(joint)
    knee = mbd.Revolute("knee", first, second, at=(1, 0, 0), axis=(0, 1, 0))
    system.add(knee)
    if drive == "sum":
        system.add(mbd.Coupler("motor", [joint.angle, knee.angle], [1.0, 0.5], law))
    else:
        of = joint.displacement if drive == "displacement" else joint.angle
        system.add(mbd.Drive("motor", of, position=law))
    return system


def energy(solution):
    return np.asarray(solution.energy.total)


def stopped(solution, size, unit="rad", at=AT):
    """The run stops in front of the jump, and says who, where and how far."""
    assert solution.status == 1
    said = solution.message
    assert said.startswith(f"motor: its law jumps by {size:g} {unit} at t = ")
    assert float(said.split("t = ")[1].split(" s")[0]) == pytest.approx(at, abs=1e-8)
    assert "constraints='stabilized' with a law that says its rates" in said
    assert solution.t[-1] <= at + 1e-12
    assert np.abs(energy(solution)).max() < 1e-3


@pytest.mark.parametrize("formulation", ["so3", "directors"])
@pytest.mark.parametrize(
    ("drive", "unit"), [("angle", "rad"), ("displacement", "m"), ("sum", "rad")]
)
@pytest.mark.parametrize("make", [step, step_with_derivatives])
def test_a_law_that_jumps_is_named_at_position_level(make, drive, unit, formulation):
    for size in (0.5, -0.1):
        for h in (1e-3, 7e-3):
            solution = mbd.simulate(
                arm(make(size), formulation, drive), 0.3, h, raise_on_failure=False
            )
            stopped(solution, size, unit)


def test_a_jump_of_a_jitted_law_is_named_and_the_pieces_do_not_matter(monkeypatch):
    at, size = 0.0521, 0.3
    law = numba.njit(lambda t: 0.0 if t < at else size)
    model = arm(law).build()
    steps, found = module.Stretch._chunk, []
    for length in (1, 7, 10**6):
        with monkeypatch.context() as patch:
            patch.setattr(module, "_CHUNK_SECONDS", math.inf)
            patch.setattr(
                module.Stretch,
                "_chunk",
                lambda run, n, last=False, m=length: steps(run, min(n, m), last),
            )
            found.append(mbd.simulate(model, 0.3, 1e-3, raise_on_failure=False))
    for solution in found:
        stopped(solution, size, at=at)
        assert len(solution.t) == 53
        assert np.array_equal(solution.q, found[0].q)


@pytest.mark.parametrize("jump", [(0.0, 0.3, 0.0), (0.2, -0.1, 0.3)])
def test_a_prescribed_rotation_that_jumps_is_named(jump):
    """One that only goes round, by a full turn of its rotation vector, is no jump."""
    system = mbd.System()
    body = mbd.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3))
    system.add(body)

    def law(t):
        return jump if t >= AT else (0.0, 0.0, 0.0)

    system.add(mbd.PrescribedMotion("motor", system.ground, body, rotation=law))
    solution = mbd.simulate(system, 0.1, 1e-3, raise_on_failure=False)
    size = np.linalg.norm(jump)
    assert solution.message.startswith(
        f"motor.rotation: its law jumps by {size:.6g} rad at t = 0.0"
    )
    assert solution.t[-1] <= AT

    system = mbd.System()
    body = mbd.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3), angular_velocity=(0, 0, 30))
    system.add(body)

    def around(t):
        return 0.0, 0.0, (30.0 * t + np.pi) % (2 * np.pi) - np.pi

    system.add(mbd.PrescribedMotion("motor", system.ground, body, rotation=around))
    assert mbd.simulate(system, 0.3, 1e-3).success


def test_an_event_before_the_jump_ends_the_run():
    end = mbd.Event("end", lambda s: s.t - 0.03, terminal=True)
    assert mbd.simulate(arm(step(0.5)), 0.3, 1e-3, events=end).message.startswith("ended by 'end'")


def test_velocities_do_not_follow_a_jump():
    method = mbd.GeneralizedAlpha(constraints="velocity")
    law = step_with_derivatives(0.5)
    stopped(mbd.simulate(arm(law), 0.3, 1e-3, method=method, raise_on_failure=False), 0.5)


@pytest.mark.parametrize("at", [0.05, 0.0473])
def test_what_is_kept_was_computed_before_differences_felt_the_jump(at):
    """The rate of a law without one is a difference of values: it reaches 4 ms ahead."""
    method = mbd.GeneralizedAlpha(constraints="velocity")
    for h in (1e-3, 3e-4, 7e-3):
        run = mbd.simulate(arm(step(0.5, at)), 0.3, h, method=method, raise_on_failure=False)
        stopped(run, 0.5, at=at)
        assert run.t[-1] >= max(0.0, at - 4e-3 - 2 * h)
        still = mbd.simulate(arm(lambda t: 0.0), 0.3, h, method=method)
        assert np.allclose(run.v, still.v[: len(run.t)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("drive", ["angle", "displacement", "sum"])
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_rates_by_differences_do_not_throw_the_stabilised_form(formulation, drive):
    """A law by its value alone has the rates J/h of a difference: no level can follow that."""
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    size, unit = -0.35, "m" if drive == "displacement" else "rad"
    for at in (0.05, 0.0473):
        law = step(size, at)
        run = mbd.simulate(
            arm(law, formulation, drive), 0.3, 2e-3, method=method, raise_on_failure=False
        )
        stopped(run, size, unit, at=at)
        assert run.t[-1] >= at - 8e-3
        still = mbd.simulate(arm(lambda t: 0.0, formulation, drive), 0.3, 2e-3, method=method)
        assert np.allclose(run.v, still.v[: len(run.t)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("level", ["stabilized", "velocity"])
@pytest.mark.parametrize("make", [step, step_with_derivatives])
def test_free_steps_that_end_at_a_jump_name_it(make, level):
    """They fail in front of it, whether it is felt ahead, or no step over it is small enough."""
    options = {"method": mbd.GeneralizedAlpha(constraints=level), "raise_on_failure": False}
    for at, every in ((0.05, 1), (0.0473, 3)):
        run = mbd.simulate(arm(make(0.4, at)), 0.3, rtol=1e-4, every=every, **options)
        stopped(run, 0.4, at=at)
        assert run.t[-1] >= at - 0.01
        assert len(np.unique(run.t)) == len(run.t)
    fast = mbd.simulate(arm(lambda t: 0.2 * math.tanh((t - 0.04) / 4e-3)), 0.08, rtol=1e-3,
                        project=True, **options)  # fmt: skip
    assert fast.success


@pytest.mark.parametrize("level", ["position", "velocity", "stabilized"])
def test_a_stepper_stops_in_front_of_a_jump(level):
    """However many steps are asked for at once, and its state is the one in front."""
    size, at, h = 0.3, 0.0521, 2e-3
    model = arm(step(size, at)).build()
    method = mbd.GeneralizedAlpha(constraints=level)
    ends = []

    def go_on(stepper, many):
        for _ in range(100):
            stepper.step(many)

    for many in (1, 7, 100):
        stepper = mbd.Stepper(model, h, method=method)
        with pytest.raises(RuntimeError, match=r"motor: its law jumps by 0.3 rad at t = 0.0521"):
            go_on(stepper, many)
        assert at - 3 * h - 4e-3 < stepper.t < at
        assert abs(stepper["energy.total"]) < 1e-3
        ends.append(stepper.state)
    for end in ends:
        assert end.t == ends[0].t
        assert np.array_equal(end.q, ends[0].q)


@pytest.mark.filterwarnings("ignore:steps of")  # none is small enough for a jump
def test_the_stabilised_form_follows_a_jump():
    """Positions move, velocities do not: the energy changes by that of the place."""
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    solution = mbd.simulate(arm(step_with_derivatives(0.5)), 0.3, 1e-3, method=method)
    assert solution["hinge"].angle[-1] == pytest.approx(0.5, abs=1e-9)
    assert np.abs(energy(solution)).max() < 40.0  # two bars of 13 N, moved by a metre at most


@pytest.mark.parametrize(
    "law",
    [
        step(2e-3),
        lambda t: 5.0 * max(0.0, t - AT),  # a jump of the rate
        lambda t: 0.5 * (1 + math.tanh((t - AT) / 0.01)),
        lambda t: 0.2 * math.sin(60.0 * t),
        lambda t: 200.0 * t**2,
        mbd.SmoothStep(0.0, 0.5, 0.02, 0.08),
    ],
)
def test_fast_laws_are_no_jumps(law):
    method = mbd.GeneralizedAlpha(rho=0.6)
    state = mbd.assemble_pose(arm(law))
    solution = mbd.simulate(arm(law), 0.15, 1e-3, method=method, state=state)
    assert solution.success
    assert solution["hinge"].angle[-1] == pytest.approx(np.atleast_1d(law(0.15))[0], abs=1e-9)


@pytest.mark.parametrize("size", [0.4, 9.0])
def test_a_jump_of_a_rate_is_an_impulse(size):
    """A drive of velocities: the energy is that of the new speed, in every level."""
    for level in ("position", "velocity", "stabilized"):
        system, _, hinge = hinged(
            "bar", gravity=(0, 0, 0), inertia=(0.02, 0.1, 0.1), position=(0, 0, 0)
        )
        system.add(mbd.Drive("motor", hinge.angle, velocity=step(size)))
        method = mbd.GeneralizedAlpha(constraints=level)
        solution = mbd.simulate(system, 0.3, 1e-3, method=method)
        assert energy(solution)[-1] == pytest.approx(0.05 * size**2, rel=1e-9)
        assert energy(solution).max() < 0.1 * size**2


@pytest.mark.slow
@pytest.mark.parametrize("formulation", RIGID)
def test_jumps_in_every_formulation(formulation):
    for make in (step, step_with_derivatives):
        stopped(mbd.simulate(arm(make(0.5), formulation), 0.3, 1e-3, raise_on_failure=False), 0.5)


AT_STEP = 0.0503  # within a step of 1 ms, not at its end


def ramp(slope, law):
    """A rate that jumps, said by the law, or found by differences of its value."""

    def with_rate(t):
        return slope * max(0.0, t - AT_STEP), slope * (t >= AT_STEP), 0.0

    return with_rate if law == "rate" else lambda t: with_rate(t)[0]


@pytest.mark.parametrize("law", ["rate", "value"])
@pytest.mark.parametrize("formulation", ["so3", "directors"])
@pytest.mark.parametrize(
    ("drive", "row"), [("angle", "position"), ("displacement", "position"), ("sum", "ratio")]
)
def test_what_velocities_lose_where_a_rate_jumps_is_told(drive, row, formulation, law):
    """At velocity level positions leave the rows there, by up to the jump times the step."""
    method = mbd.GeneralizedAlpha(constraints="velocity")
    for slope in (9.0, -6.0):
        model = arm(ramp(slope, law), formulation, drive).build()
        with pytest.warns(RuntimeWarning, match=f"left the rows, 'motor.{row}' by") as told:
            run = mbd.simulate(model, 0.15, 1e-3, method=method)
        words = str(told[0].message)
        assert "constraints='stabilized'" in words
        assert words in run.message
        said = re.search(r" by ([-+.e\d]+) \w+ at t = ([.e\d]+) s", words)
        assert abs(float(said[1])) == pytest.approx(run.gap.max(), rel=0.1)
        assert float(said[2]) == pytest.approx(AT_STEP, abs=4e-3)
        assert run.gap.max() < abs(slope) * (1e-3 if law == "rate" else 4e-3)
    other = mbd.GeneralizedAlpha(constraints="stabilized")
    run = mbd.simulate(arm(ramp(5.0, law), formulation, drive), 0.15, 1e-3, method=other)
    assert run.gap.max() < 1e-10


@pytest.mark.filterwarnings("ignore:steps of")  # an impulse does work in no time
@pytest.mark.parametrize("what", ["rotation", "position"])
def test_a_prescribed_motion_whose_rate_jumps_is_told_at_velocity_level(what):
    system = mbd.System()
    body = mbd.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.3))
    system.add(body)
    law = ramp(20.0, "value")
    motion = {what: lambda t: (law(t), 0.0, 0.0)}
    system.add(mbd.PrescribedMotion("motor", system.ground, body, **motion))
    method = mbd.GeneralizedAlpha(constraints="velocity")
    with pytest.warns(RuntimeWarning, match=r"left the rows, 'motor\.[\w. ]+' by"):
        run = mbd.simulate(system, 0.1, 1e-3, method=method)
    assert run.gap.max() > 1e-3
    other = mbd.GeneralizedAlpha(constraints="stabilized")
    assert mbd.simulate(system, 0.1, 1e-3, method=other).gap.max() < 1e-10


def test_smooth_laws_at_velocity_level_are_not_told_off():
    method = mbd.GeneralizedAlpha(constraints="velocity")
    for law in (lambda t: 0.3 * math.sin(5 * t) ** 2, mbd.SmoothStep(0.0, 0.5, 0.02, 0.12)):
        run = mbd.simulate(arm(law), 0.15, 1e-3, method=method)
        assert 0 < run.gap.max() < 1e-3


def test_free_steps_that_cannot_pass_a_kink_say_what_can():
    model = arm(ramp(5.0, "rate")).build()
    with pytest.raises(mbd.SimulationError, match=r"steps of one size pass that"):
        mbd.simulate(model, 0.15, rtol=1e-4, method=mbd.GeneralizedAlpha())
    for how in ({"step": 1e-3}, {"rtol": 1e-3}, {"rtol": 1e-8}):  # free steps: collocation
        run = mbd.simulate(model, 0.15, **how)
        assert run["hinge"].angle[-1] == pytest.approx(5 * (0.15 - AT_STEP), abs=1e-9)


@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
@pytest.mark.parametrize("make", [step, step_with_derivatives])
def test_the_default_of_free_steps_names_a_law_that_jumps(make, rtol):
    run = mbd.simulate(arm(make(0.4, 0.05)), 0.3, rtol=rtol, raise_on_failure=False)
    stopped(run, 0.4, at=0.05)
    assert 0.04 <= run.t[-1] <= 0.0501
