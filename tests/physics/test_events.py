"""Events: where they are found, what they stop, what they release, lock and change."""

import numpy as np
import pytest
from scenes import chain, with_body, with_point

import mbd
from mbd.formulations import NAMES

FALL = np.sqrt(2 / 9.81)  # of one metre


def ball(**options):
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, position=(0, 0, 1), velocity=(1, 0, 0), **options))
    return system


def height(solution):
    return solution["ball"].position[:, 2]


def clock(solution):
    return solution.t - 0.45


HOW = [{"step": 1e-2}, {"step": 3.7e-3}, {"rtol": 1e-6}, {"step": 1e-2, "t_eval": [0.1, 0.2, 0.9]}]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_terminal_event_ends_the_run_on_its_zero(how):
    event = mbd.Event("floor", height, terminal=True, direction=-1)
    solution = mbd.simulate(ball(), 2.0, events=event, **how)
    assert solution.success
    assert solution.message.startswith("ended by 'floor' at t = 0.4515")
    assert solution.t[-1] == pytest.approx(FALL, abs=1e-13)
    assert abs(solution["ball"].position[-1, 2]) < 1e-13
    assert [f.name for f in solution.events] == ["floor"]
    assert solution.state.t == solution.t[-1]
    if "t_eval" in how:
        assert np.allclose(solution.t, [0.1, 0.2, FALL])


@pytest.mark.parametrize("how", HOW, ids=str)
def test_an_event_that_only_watches_changes_nothing(how):
    event = mbd.Event("half way", lambda s: height(s) - 0.5)
    watched = mbd.simulate(ball(), 1.0, events=[event], **how)
    plain = mbd.simulate(ball(), 1.0, **how)
    assert np.array_equal(watched.t, plain.t)
    assert np.array_equal(watched.q, plain.q)
    assert [f.t for f in watched.events] == pytest.approx([np.sqrt(1 / 9.81)], abs=1e-13)


def test_direction_and_several_events_in_order():
    system, mass = with_point("m", position=(1, 0, 0))
    system.add(mbd.Spring("s", system.ground, mass, at=(-1, 0, 0), length=1.0, stiffness=4.0))

    def place(solution):
        return solution["m"].position[:, 0]

    events = [
        mbd.Event("up", place, direction=1),
        mbd.Event("down", place, direction=-1),
        mbd.Event("clock", lambda s: s.t - 2.0),
    ]
    solution = mbd.simulate(system, 2 * np.pi, 1e-3, events=events)
    found = [(f.name, round(f.t, 4)) for f in solution.events]
    quarter = np.pi / 4
    assert found == [
        ("down", round(quarter, 4)), ("clock", 2.0), ("up", round(3 * quarter, 4)),
        ("down", round(5 * quarter, 4)), ("up", round(7 * quarter, 4)),
    ]  # fmt: skip


@pytest.mark.parametrize("how", [{"step": 1e-2}, {"rtol": 1e-6}], ids=str)
def test_a_rebound(how):
    def rebound(model, state):
        v = state.v.copy()
        v[2] *= -0.9
        return state.replace(v=v)

    event = mbd.Event("floor", height, direction=-1, change=rebound)
    solution = mbd.simulate(ball(), 2.0, events=event, **how)
    times = FALL * np.array([1, 1 + 2 * 0.9, 1 + 2 * 0.9 + 2 * 0.81])
    assert [f.t for f in solution.events] == pytest.approx(list(times), abs=1e-9)
    assert height(solution).min() > -1e-9
    double = np.flatnonzero(np.diff(solution.t) == 0)  # before and behind the impact
    assert len(double) == 3
    before, behind = (solution["ball"].velocity[i, 2] for i in (double[0], double[0] + 1))
    assert behind == pytest.approx(-0.9 * before)


@pytest.mark.parametrize("formulation", NAMES)
def test_a_released_pin_lets_go(formulation):
    system = chain(2, ("so3", formulation))
    event = mbd.Event("snap", lambda s: s.t - 0.1234, release="pin 1")
    solution = mbd.simulate(system, 0.4, 1e-3, events=event)
    at = int(np.searchsorted(solution.t, 0.1234, side="right"))
    assert np.abs(solution["pin 1"].force[:at]).max() > 0.1
    assert np.all(solution["pin 1"].force[at:] == 0.0)
    free = solution["bar 1"]
    assert np.abs(free.acceleration[at + 1 :] - (0, 0, -9.81)).max() < 1e-8
    assert solution.gap[:at].max() < 1e-11
    omega = free.angular_velocity_body[at:]
    J = np.array([1e-3, 0.02, 0.02])
    spin = np.linalg.norm(omega * J, axis=1)
    assert np.ptp(spin) < 1e-5 * spin.max()
    assert solution.state.off == ("pin 1",)
    later = mbd.simulate(system, 0.5, 1e-3, state=solution.state)
    assert np.abs(later["bar 1"].acceleration - (0, 0, -9.81)).max() < 1e-8


@pytest.mark.parametrize("formulation", NAMES)
def test_a_lock_is_a_plastic_impact(formulation):
    # a bar falls flat and is caught at its end: v_n' of the centre is 3/4 of v, omega = v/(4/3 l/2)
    system, bar = with_body(
        "bar", gravity=(0, 0, -9.81), inertia=(1e-3, 1 / 12, 1 / 12), position=(0.5, 0, 1),
        formulation=formulation,
    )  # fmt: skip
    end = bar.frame((-0.5, 0, 0))  # the hook waits below
    system.add(mbd.Spherical("hook", system.ground.frame(), end))
    event = mbd.Event("caught", lambda s: s["bar"].position[:, 2], direction=-1, lock="hook")
    solution = mbd.simulate(system, 0.6, 1e-3, off="hook", events=event, project=False)
    at = int(np.flatnonzero(np.diff(solution.t) == 0)[0])
    v = solution["bar"].velocity[at, 2]
    assert v == pytest.approx(-np.sqrt(2 * 9.81), rel=1e-9)
    assert solution["bar"].velocity[at + 1, 2] == pytest.approx(0.75 * v, rel=1e-9)
    assert solution["bar"].angular_velocity[at + 1, 1] == pytest.approx(-1.5 * v, rel=1e-9)
    kinetic = solution.energy.kinetic
    assert kinetic[at + 1] == pytest.approx(0.75 * kinetic[at], rel=1e-9)
    assert np.abs(solution["bar"].at((-0.5, 0, 0)).position[at + 1 :]).max() < 1e-9


def test_a_joint_that_is_off_from_the_start():
    system = chain(2)
    free = mbd.simulate(system, 0.2, 1e-3, off=("pin 0", "pin 1"))
    for name in ("bar 0", "bar 1"):
        assert np.abs(free[name].acceleration - (0, 0, -9.81)).max() < 1e-10
    assert np.all(free.lam == 0.0)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: mbd.Event("e", 3), TypeError, "function must be a function of a solution"),
        (
            lambda: mbd.simulate(ball(), 1, 0.1, events=3),
            TypeError,
            "events must be an mbd.Event or several",
        ),
        (lambda: mbd.simulate(ball(), 1, 0.1, events=[3]), TypeError, "must be mbd.Event"),
        (
            lambda: mbd.simulate(ball(), 1, 0.1, events=mbd.Event("e", height, release="pin")),
            ValueError,
            "'pin' has no rows that could be switched; there are no joints",
        ),
        (
            lambda: mbd.simulate(chain(1), 1, 0.1, off="bar 0"),
            ValueError,
            "'bar 0' has no rows that could be switched; there are pin 0",
        ),
        (
            lambda: mbd.simulate(ball(), 1, 0.1, events=mbd.Event("e", lambda s: s["ball"].q)),
            ValueError,
            "e: its function must return one finite number for each of 1 instants",
        ),
        (
            lambda: mbd.simulate(ball(), 1, 0.1, events=mbd.Event("e", lambda s: s["bal"].q)),
            RuntimeError,
            "e: its function raised KeyError",
        ),
        (
            lambda: mbd.simulate(
                ball(), 1, 0.1, events=[mbd.Event("e", height), mbd.Event("e", height)]
            ),
            ValueError,
            "two events are named 'e'",
        ),
        (
            lambda: mbd.Event("e", height, release="pin", lock=("door", "pin")),
            ValueError,
            "e: a joint is released or locked, got 'pin' in both",
        ),
        (
            lambda: mbd.simulate(chain(1), 1, 0.1, events=mbd.Event("e", clock, lock="pin 0")),
            ValueError,
            "e: lock='pin 0' must be off before, but it is on from the start",
        ),
        (
            lambda: mbd.simulate(
                chain(1), 1, 0.1, off="pin 0", events=mbd.Event("e", clock, release="pin 0")
            ),
            ValueError,
            "e: release='pin 0' must be on before, but it is off from the start",
        ),
        (
            lambda: mbd.simulate(
                ball(), 1, 0.1, events=mbd.Event("e", lambda s: np.where(s.t > 0.35, np.nan, 1.0))
            ),
            mbd.SimulationError,
            "e: its function must return finite numbers, got nan at t = 0.4 s",
        ),
        (
            lambda: mbd.simulate(
                ball(), 1, 0.1, events=mbd.Event("e", clock, change=lambda model, state: state.v)
            ),
            mbd.SimulationError,
            "e at t = 0.45 s: change must return a State",
        ),
        (
            lambda: mbd.simulate(
                ball(), 1, 0.1, events=mbd.Event("e", clock, change=lambda model, state: 1 / 0)
            ),
            mbd.SimulationError,
            "e at t = 0.45 s: its change raised ZeroDivisionError",
        ),
    ],
)
def test_refusals(make, error, said):
    with pytest.raises(error, match=said):
        make()


@pytest.mark.parametrize(
    "flat",
    [lambda z: z**3, lambda z: z * abs(z), lambda z: z**5, lambda z: z * abs(z) ** 1.7,
     lambda z: 1e-30 * z**3, lambda z: np.sign(z) * np.exp(-1.0 / (abs(z) + 0.04))],
    ids=["cubic", "squared", "fifth", "2.7", "tiny", "step"],
)  # fmt: skip
@pytest.mark.parametrize("terminal", [True, False])
def test_an_event_whose_function_is_flat_at_its_zero(flat, terminal):
    """Where it is comes from the signs alone, to round-off of the time."""
    event = mbd.Event("floor", lambda s: flat(height(s)), terminal=terminal)
    solution = mbd.simulate(ball(), 0.6, 0.1, events=event)
    assert solution.success
    (happened,) = solution.events
    assert happened.t == pytest.approx(FALL, abs=2e-13)
