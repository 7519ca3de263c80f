"""Several events at one instant, events that set off others, and what cannot go on behind one."""

import numpy as np
import pytest
from scenes import chain, hinged, with_point

import mbd
from mbd.formulations import NAMES

FALL = np.sqrt(2 / 9.81)  # of one metre [s]
HOW = [
    {"step": 1e-2},
    {"step": 3.7e-3, "every": 7},
    {"rtol": 1e-6},
    {"rtol": 1e-6, "every": 5},
    {"step": 1e-2, "t_eval": [0.1, 0.3, 0.7, 1.0]},
    {"rtol": 1e-5, "t_eval": [0.1, 0.3, 0.7, 1.0]},
]
on_all = pytest.mark.parametrize("how", HOW, ids=str)


def balls(*heights):
    system = mbd.System(gravity=(0, 0, -9.81))
    for i, z in enumerate(heights):
        system.add(mbd.PointMass(f"ball {i}", mass=1.0, position=(i, 0, z)))
    return system


def height(i):
    return lambda solution: solution[f"ball {i}"].position[:, 2]


def rebound(i, part=1.0):
    def change(model, state):
        v = state.v.copy()
        v[3 * i + 2] *= -part
        return state.replace(v=v)

    return change


def bounce(i, part=1.0, name=""):
    return mbd.Event(name or f"floor {i}", height(i), direction=-1, change=rebound(i, part))


def names(solution):
    return [found.name for found in solution.events]


@on_all
@pytest.mark.parametrize("apart", [0.0, 2e-16, 1e-12, 1e-7])
def test_balls_that_hit_the_floor_together_all_rebound(how, apart):
    system = balls(1.0, 1.0 + apart, 1.0 - apart)
    events = [bounce(i) for i in range(3)]
    solution = mbd.simulate(system, 1.0, events=events, **how)
    assert sorted(names(solution)) == ["floor 0", "floor 1", "floor 2"]
    if apart == 0.0:
        assert names(solution) == ["floor 0", "floor 1", "floor 2"]
        assert len({found.t for found in solution.events}) == 1
    s = 1.0 - FALL
    expected = np.sqrt(2 * 9.81) * s - 9.81 / 2 * s * s
    for i in range(3):
        assert solution[f"ball {i}"].position[-1, 2] == pytest.approx(expected, abs=1e-5)


def test_the_order_given_is_the_order_applied():
    def times(factor, add):
        def change(model, state):
            return state.replace(v=factor * state.v + add)

        return change

    events = [
        mbd.Event("twice", lambda s: s.t - 0.25, change=times(2.0, 0.0)),
        mbd.Event("faster", lambda s: s.t - 0.25, change=times(1.0, 1.0)),
    ]
    system, _ = with_point("m", velocity=(1, 0, 0))
    for order, speed in ((events, 3.0), (events[::-1], 4.0)):
        solution = mbd.simulate(system, 1.0, 1e-2, events=order)
        assert names(solution) == [event.name for event in order]
        assert solution["m"].velocity[-1, 0] == speed
        assert np.count_nonzero(np.diff(solution.t) == 0) == 1  # before and behind, once


@on_all
def test_a_terminal_event_ends_the_run_after_the_others_of_its_instant(how):
    end = mbd.Event("stop", height(0), direction=-1, terminal=True)
    for events in ([end, bounce(0)], [bounce(0), end]):
        solution = mbd.simulate(balls(1.0), 1.0, events=events, **how)
        assert solution.message.startswith("ended by 'stop' at t = 0.4515")
        assert names(solution) == [event.name for event in events]
        assert solution.t[-1] == pytest.approx(FALL, abs=1e-13)
        assert solution.state.v[2] == pytest.approx(np.sqrt(2 * 9.81), rel=1e-9)
        assert solution["ball 0"].velocity[-1, 2] == solution.state.v[2]


@on_all
def test_a_terminal_event_applies_its_own_changes(how):
    end = mbd.Event("lets go", lambda s: s.t - 0.123, terminal=True, release="pin 0")
    solution = mbd.simulate(chain(1), 1.0, events=end, **how)
    assert solution.message.startswith("ended by 'lets go'")
    assert solution.state.off == ("pin 0",)
    later = mbd.simulate(chain(1), 0.3, 1e-2, state=solution.state)
    assert np.allclose(later["bar 0"].acceleration, (0, 0, -9.81))


@on_all
def test_a_release_and_a_watch_at_one_instant(how):
    events = [
        mbd.Event("before", lambda s: s.t - 0.25),
        mbd.Event("lets go", lambda s: s.t - 0.25, release="pin 0"),
        mbd.Event("same", lambda s: 0.25 - s.t),
        mbd.Event("other side", lambda s: (0.25 - s.t) * (1 + 3e-16) + 1e-17),
        mbd.Event("earlier", lambda s: s.t - 0.2499),
        mbd.Event("later", lambda s: s.t - 0.2501),
    ]
    solution = mbd.simulate(chain(1), 0.5, events=events, **how | {"t_eval": None})
    at = ["before", "lets go", "same", "other side"]
    assert names(solution) == ["earlier", *at, "later"]


@on_all
def test_a_change_that_carries_another_function_over_zero_sets_it_off(how):
    # the ball's velocity jumps from down to up; a second ball is kicked by that, a watch sees both
    def kick(model, state):
        v = state.v.copy()
        v[3] = 2.0
        return state.replace(v=v)

    events = [
        mbd.Event("kick", lambda s: s["ball 0"].velocity[:, 2], direction=1, change=kick),
        mbd.Event("kicked", lambda s: s["ball 1"].velocity[:, 0] - 1.0, direction=1),
        mbd.Event("not this way", lambda s: s["ball 1"].velocity[:, 0] - 1.0, direction=-1),
        bounce(0),
        bounce(1),
    ]
    solution = mbd.simulate(balls(1.0, 3.0), 1.0, events=events, **how)
    assert names(solution) == ["floor 0", "kick", "kicked", "floor 1"]
    assert solution.events[1].t == solution.events[0].t == solution.events[2].t
    assert solution.state.v[3] == 2.0


@on_all
def test_events_that_undo_each_other_at_one_instant_do_not_loop(how):
    def turn(model, state):
        return state.replace(v=-state.v)

    def speed(solution):
        return solution["m"].velocity[:, 0]

    events = [
        mbd.Event("start", lambda s: s.t - 0.25, change=turn),
        mbd.Event("down", speed, direction=-1, change=turn),
        mbd.Event("up", speed, direction=1, change=turn),
    ]
    system, _ = with_point("m", velocity=(1, 0, 0))
    solution = mbd.simulate(system, 1.0, events=events, **how)
    assert names(solution) == ["start", "down", "up"]
    assert solution["m"].velocity[-1, 0] == -1.0


@on_all
def test_a_brake_that_stops_at_zero_is_locked_once(how):
    # a locked function is zero to round-off: that is no event again
    system, _disc, axle = hinged(
        "disc", "axle", axis=(0, 0, 1), gravity=(0, 0, 0), inertia=(1, 1, 2),
        angular_velocity=(0, 0, 0.5), position=(0, 0, 0),
    )  # fmt: skip
    system.add(mbd.Motor("rubs", axle.angle, lambda t, u, rate: -2.0 * (t < 2)))
    system.add(mbd.Drive("brake", axle.angle, velocity=0.0))
    system.add(mbd.PointMass("flies on", mass=1.0, velocity=(1, 0, 0)))
    stop = mbd.Event("stops", lambda s: s["axle"].angle_rate, lock="brake")
    solution = mbd.simulate(system, 1.0, off="brake", events=stop, **how)
    assert names(solution) == ["stops"]
    assert solution.events[0].t == pytest.approx(0.5, abs=1e-4)
    assert abs(solution["axle"].angle_rate[-1]) < 1e-10


@pytest.mark.parametrize("part", [0.5, 0.01, 0.0])
@on_all
def test_rebounds_that_accumulate_stop_with_a_message(how, part):
    last = FALL * (1 + 2 * part / (1 - part))  # the sum of all times of flight
    how = how | {"t_eval": [0.1, 20.0]} if "t_eval" in how else how
    with pytest.raises(mbd.SimulationError, match="let it rest") as caught:
        mbd.simulate(balls(1.0), 20.0, events=bounce(0, part), **how)
    solution = caught.value.solution
    assert not solution.success
    assert solution.message.startswith("floor 0 at t = ")
    assert "its change turns its function back" in solution.message
    assert solution.events[-1].t == pytest.approx(last, abs=5e-4)
    assert solution["ball 0"].position[:, 2].min() > -1e-9


@on_all
def test_what_the_message_says_works(how):
    # below a speed the change itself switches on the joint that holds the ball
    system = balls(1.0)
    ball = system.bodies["ball 0"]
    system.add(mbd.PointInPlane("floor", system.ground.frame(), ball.frame()))

    def land(model, state):
        v = state.v.copy()
        v[2] *= -0.5
        return state.replace(v=v, off=() if v[2] < 0.1 else state.off)

    event = mbd.Event("lands", height(0), direction=-1, change=land)
    solution = mbd.simulate(system, 3.0, off="floor", events=event, **(how | {"t_eval": None}))
    assert len(solution.events) == 6
    assert abs(solution["ball 0"].position[-1, 2]) < 1e-12
    assert solution["floor"].force[-1, 2] == pytest.approx(9.81)
    assert solution.state.off == ()


@on_all
def test_a_change_that_only_slows_goes_on_through_zero(how):
    def water(model, state):
        return state.replace(v=0.01 * state.v)

    def turn(model, state):  # the function is a velocity: forces alone carry it through zero
        return state.replace(v=state.v + np.array([1.0, 0.0, 0.0]))

    system, _ = with_point("ball 0", gravity=(0, 0, -9.81), position=(0, 0, 1), velocity=(0, 0, 1))
    events = [
        mbd.Event("water", height(0), change=water),
        mbd.Event("top", lambda s: s["ball 0"].velocity[:, 2], change=turn),
    ]
    solution = mbd.simulate(system, 1.0, events=events, **how)
    assert names(solution) == ["top", "water"]
    assert solution.success
    assert solution["ball 0"].velocity[-1, 0] == pytest.approx(0.01, abs=1e-9)


def test_a_rebound_faster_than_a_step_is_seen():
    # flights of 10, 1, 0.1 ms with a step of 10 ms
    solution = mbd.simulate(balls(1.0), 0.6, 1e-2, events=bounce(0, 0.1), raise_on_failure=False)
    times = FALL * (1 + 2 * np.cumsum(0.1 ** np.arange(6)) - 2)
    found = [f.t for f in solution.events]
    assert len(found) >= 5
    assert found == pytest.approx(times[: len(found)], abs=1e-9)


def change_of(**new):
    return lambda model, state: state.replace(**{k: f(getattr(state, k)) for k, f in new.items()})


@on_all
@pytest.mark.parametrize(("event", "said"), [
    ({"change": change_of(t=lambda t: 0.0)}, "e at t = 0.2 s: change must leave the time"),
    ({"change": change_of(t=lambda t: t + 1e-9)}, "e at t = 0.2 s: change must leave the time"),
    ({"change": change_of(q=lambda q: q + 1)}, "e at t = 0.2 s: change"),
    ({"change": change_of(q=lambda q: q[:-1])}, "e at t = 0.2 s: change returned what is no"),
    ({"change": change_of(v=lambda v: v * np.nan)}, "e at t = 0.2 s: change returned what is"),
])  # fmt: skip
def test_changes_that_are_no_state_end_the_run(how, event, said):
    how = how | {"t_eval": None}
    event = mbd.Event("e", lambda s: s.t - 0.2, **event)
    with pytest.raises(mbd.SimulationError, match=said) as caught:
        mbd.simulate(chain(2), 1.0, events=event, **how)
    solution = caught.value.solution
    assert solution.t[-1] == pytest.approx(0.2)
    assert names(solution) == ["e"]


@pytest.mark.parametrize("formulation", NAMES)
def test_a_change_of_positions_must_meet_the_rows(formulation):
    system = chain(2, ("so3", formulation))
    model = system.build()

    def moved(model, state):
        solution = mbd.simulate(model, state.t + 0.1, 1e-2, state=state, project=True)
        return state.replace(q=solution.state.q)  # meets the rows, to the accuracy of the run

    def pulled(model, state):
        q = state.q.copy()
        at = model.numbering.q[1]
        q[at.start + 2] += 1e-3
        return state.replace(q=q)

    def swelled(model, state):
        q = state.q.copy()
        at = model.numbering.q[1]
        q[at.start + 3 : at.stop] *= 1.01
        return state.replace(q=q)

    event = mbd.Event("e", lambda s: s.t - 0.1, change=moved)
    solution = mbd.simulate(model, 0.2, 1e-3, events=event)
    assert solution.success
    assert solution.gap.max() < 1e-8
    for change, said in ((pulled, "'(pin 1|bar 1)|no rotation"), (swelled, "bar 1")):
        event = mbd.Event("e", lambda s: s.t - 0.1, change=change)
        with pytest.raises(mbd.SimulationError, match=f"e at t = 0.1 s: .*({said})"):
            mbd.simulate(model, 0.2, 1e-3, events=event)


@on_all
def test_a_lock_says_by_how_much_its_rows_are_missed(how):
    event = mbd.Event("grab", lambda s: s.t - 0.1, lock="pin 1")
    said = r"grab at t = 0.1 s: it locks 'pin 1', whose rows are not met there: 'pin 1.force .' by "
    with pytest.raises(mbd.SimulationError, match=said) as caught:
        mbd.simulate(chain(2), 1.0, off="pin 1", events=event, **(how | {"t_eval": None}))
    assert "project=True" not in str(caught.value)
    assert "zero where the joint fits" in str(caught.value)
    assert caught.value.solution.t[-1] == pytest.approx(0.1)


def test_a_lock_that_no_velocity_meets():
    system = mbd.System()
    disc = system.add(mbd.RigidBody("disc", mass=1.0, inertia=(1, 1, 2)))
    axle = system.add(mbd.Revolute("axle", system.ground, disc, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("one", axle.angle, velocity=0.0))
    system.add(mbd.Drive("two", axle.angle, velocity=1.0))
    event = mbd.Event("both", lambda s: s.t - 0.1, lock="two")
    with pytest.raises(mbd.SimulationError, match="both at t = 0.1 s: velocities violate .*drives"):
        mbd.simulate(system, 1.0, 1e-2, off="two", events=event)


def test_what_is_on_or_off_already_is_said():
    events = [
        mbd.Event("first", lambda s: s.t - 0.1, release="pin 1"),
        mbd.Event("second", lambda s: s.t - 0.2, release="pin 1"),
    ]
    with pytest.warns(RuntimeWarning, match="second at t = 0.2 s: 'pin 1' is off already"):
        solution = mbd.simulate(chain(2), 0.3, 1e-2, events=events)
    assert names(solution) == ["first", "second"]
    # a run that goes on is not refused at the door for what happened before
    mbd.simulate(chain(2), 0.4, 1e-2, state=solution.state, events=events)


def test_two_events_that_undo_each_other_for_ever_are_stopped():
    # a mass on the border of two winds that blow it back: it can be on no side
    system, _ = with_point("m", position=(1, 0, 0), velocity=(-1, 0, 0))

    def place(solution):
        return solution["m"].position[:, 0]

    events = [
        mbd.Event("left", place, direction=-1, change=change_of(v=lambda v: -0.999999 * v)),
        mbd.Event(
            "wall", lambda s: place(s) - 1e-10, direction=1, change=change_of(v=lambda v: -v)
        ),
    ]
    with pytest.raises(mbd.SimulationError, match="the last 100 events were within"):
        mbd.simulate(system, 2.0, 1e-2, events=events)


@pytest.mark.parametrize(
    "how", [{"step": 1e-2}, {"rtol": 1e-6}, {"step": 5e-3, "every": 3}], ids=str
)
def test_a_stream_holds_the_same(how, tmp_path):
    pytest.importorskip("h5netcdf")
    events = [bounce(0), bounce(1), mbd.Event("end", lambda s: s.t - 0.8, terminal=True)]
    plain = mbd.simulate(balls(1.0, 1.0), 1.0, events=events, **how)
    mbd.simulate(balls(1.0, 1.0), 1.0, events=events, stream=tmp_path / "run.nc", **how)
    loaded = mbd.load(tmp_path / "run.nc")
    assert np.array_equal(loaded.t, plain.t)
    assert np.array_equal(loaded["ball 1"].position, plain["ball 1"].position)
    failed = tmp_path / "failed.nc"
    with pytest.raises(mbd.SimulationError, match="let it rest"):
        mbd.simulate(balls(1.0, 1.0), 20.0, events=bounce(0, 0.1), stream=failed, **how)
    loaded = mbd.load(failed)
    assert not loaded.success
    assert "let it rest" in loaded.message
    broken = tmp_path / "broken.nc"
    event = mbd.Event("e", lambda s: s.t - 0.2, change=lambda model, state: 1 / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        mbd.simulate(balls(1.0), 1.0, events=event, stream=broken, **how)
    assert mbd.load(broken).t[-1] == pytest.approx(0.2)


@on_all
def test_times_asked_for_are_the_only_ones_kept(how):
    times = np.linspace(0.0, 2.0, 21)
    how = {k: v for k, v in how.items() if k != "every"} | {"t_eval": times}
    solution = mbd.simulate(balls(1.0), 2.0, events=bounce(0, 0.9), **how)
    assert np.array_equal(solution.t, times)
    assert len(solution.events) == 3
