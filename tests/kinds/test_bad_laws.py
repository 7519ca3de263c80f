"""User code that raises, or is no number: named with its instant, and nothing computed is lost."""

import decimal
import functools
import math
import re
import threading

import numba
import numpy as np
import pytest
from families import spread

import mbd
from mbd.runs import stretch as module

H, LAST = 1e-3, 0.0305  # step; until then laws are all right


def raising(end):
    def f(t):
        if t > end:
            raise ArithmeticError("off the drum")
        return 0.1 * t**3

    return f


def not_a_number(end):
    return lambda t: math.nan if t > end else 0.1 * t**3


def pendulum(formulation="so3"):
    """A bar on a hinge."""
    system = mbd.System(gravity=(0, 0, -9.81))
    bar = mbd.RigidBody(
        "bar", mass=1.0, inertia=(0.02, 0.1, 0.1), position=(0.5, 0, 0), formulation=formulation
    )
    system.add(bar)
    hinge = mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
    return system, bar, system.add(hinge)


def breathing():
    system = mbd.System()
    body = mbd.RigidBody("bar", mass=1.0, inertia=(1, 1, 1), formulation=mbd.Scalable(rigid=False))
    return system, system.add(body), None


# from a function of time: part and law
PARTS = {
    "force": lambda s, bar, hinge, f, w: mbd.PointForce("x", bar, w(lambda t: (f(t), 0.0, 1.0))),
    "moment": lambda s, bar, hinge, f, w: mbd.Moment("x", bar, w(lambda t: (0.0, f(t), 1.0))),
    "spring": lambda s, bar, hinge, f, w: mbd.Spring(
        "x", s.ground, bar, at=(0, 0, 1), law=w(lambda u, rate, t: 3 * u + f(t))
    ),
    "spring with derivatives": lambda s, bar, hinge, f, w: mbd.Spring(
        "x", s.ground, bar, at=(0, 0, 1), law=w(lambda u, rate, t: (3 * u + f(t), 3.0, 0.0))
    ),
    "joint spring": lambda s, bar, hinge, f, w: mbd.JointSpring(
        "x", hinge.angle, law=w(lambda u, rate, t: u + f(t))
    ),
    "motor": lambda s, bar, hinge, f, w: mbd.Motor(
        "x", hinge.angle, w(lambda u, rate, t: f(t) - rate)
    ),
    "drive": lambda s, bar, hinge, f, w: mbd.Drive("x", hinge.angle, position=w(f)),
    "drive with derivatives": lambda s, bar, hinge, f, w: mbd.Drive(
        "x", hinge.angle, position=w(lambda t: (f(t), 0.3 * t**2, 0.6 * t))
    ),
    "drive of a rate": lambda s, bar, hinge, f, w: mbd.Drive("x", hinge.angle, velocity=w(f)),
    "transmission": lambda s, bar, hinge, f, w: mbd.Coupler("x", [hinge.angle], [2.0], w(f)),
    "scaling": lambda s, bar, hinge, f, w: mbd.ScalingForce("x", bar, w(f)),
}


def build(kind, jitted, f):
    system, bar, hinge = breathing() if kind == "scaling" else pendulum()

    def wrap(law):
        return numba.njit(law) if jitted and law is not f else law

    f = numba.njit(f) if jitted else f
    system.add(PARTS[kind](system, bar, hinge, f, wrap))
    return system.build()


def sound(solution, least=26):
    """The histories are those of a good run up to the last good step."""
    assert solution.status == 1
    n = len(solution.t)
    assert least < n <= 31
    assert np.allclose(solution.t, np.arange(n) * H, rtol=0, atol=1e-15)
    for x in (solution.q, solution.v, solution.a, solution.lam):
        assert np.isfinite(x).all()
    assert solution.state.t == solution.t[-1]
    assert np.array_equal(solution.state.q, solution.q[-1])


@spread(jitted=[False, True], kind=PARTS)
def test_a_law_that_raises_is_named_and_what_was_computed_is_kept(kind, jitted, capfd):
    model = build(kind, jitted, raising(LAST))
    with pytest.raises(
        mbd.SimulationError, match=r"^x: its law raised ArithmeticError: off the"
    ) as e:
        mbd.simulate(model, 0.1, H)
    assert isinstance(e.value.__cause__, ArithmeticError)
    sound(e.value.solution)
    told = float(str(e.value).split("t = ")[1].split(" s")[0])
    assert LAST < told < LAST + 2 * H
    assert "finite numbers there" in str(e.value)
    assert "ArithmeticError" not in capfd.readouterr().err  # numba prints what it ignores
    # nothing stays behind: the same model runs where the law is all right, and at the start of a
    # run behind that it is named again
    assert mbd.simulate(model, 0.02, H).success
    with pytest.raises(
        RuntimeError, match="x: its law raised ArithmeticError: off the drum .*t = (1|0.99)"
    ):
        mbd.simulate(model, 2.0, H, state=model.state.replace(t=1.0))


@spread(jitted=[False, True], kind=PARTS)
def test_a_law_that_is_no_number_is_named(kind, jitted):
    model = build(kind, jitted, not_a_number(LAST))
    solution = mbd.simulate(model, 0.1, H, raise_on_failure=False)
    assert "x: its law returned a value or derivative that is not finite" in solution.message
    sound(solution)
    with pytest.raises(ValueError, match=r"^x: its law returned .* not finite at .*t = 1 s"):
        mbd.simulate(model, 2.0, H, state=model.state.replace(t=1.0))


@numba.njit
def snapping(u, rate, t):
    """A spring that breaks where it is longer than one."""
    if u > 1.0:
        raise ArithmeticError("broken")
    return 5.0 * u


@numba.njit
def lost(u, rate, t):
    return 5.0 * u if u < 1.0 else math.nan


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(("law", "said"), [(snapping, "its law raised"), (lost, "not finite")])
def test_of_parts_with_one_function_that_which_fails_is_named(law, said, which):
    system = mbd.System()
    for i in range(3):
        speed = 9.0 if i == which else 0.1
        body = mbd.PointMass(f"p{i}", mass=1.0, position=(0.5, i, 0), velocity=(speed, 0, 0))
        system.add(body)
        system.add(mbd.Spring(f"s{i}", system.ground, body, at=(0, i, 0), length=0.0, law=law))
    model = system.build()
    assert len({x.address for x in model.laws}) == 1  # compiled once for all
    with pytest.raises(mbd.SimulationError, match=f"s{which}: .*{said}"):
        mbd.simulate(model, 1.0, 1e-2)
    places = model.state.replace(q=model.state.q + 3.0 * (np.arange(9) == 3 * which))
    with pytest.raises((ValueError, RuntimeError), match=f"s{which}: .*{said}"):
        mbd.modes(model, state=places)


METHODS = {
    "stabilized": {"method": mbd.GeneralizedAlpha(constraints="stabilized")},
    "velocity": {"method": mbd.GeneralizedAlpha(constraints="velocity")},
    "careful": {"method": mbd.GeneralizedAlpha(linear_solver="splu")},
    "tolerance": {"rtol": 1e-6, "max_step": 2e-3},
    "times": {"t_eval": np.arange(100) * H},
    "every": {"every": 7},
    "energy-momentum": {"method": mbd.EnergyMomentum()},
    "explicit": {"method": mbd.ExplicitRungeKutta()},
    "motion vector": {"method": mbd.LieRungeKutta4()},
    "commutator free": {"method": mbd.LieRungeKutta4(scheme="commutator_free")},
    "quaternion": {"method": mbd.LieRungeKutta4(scheme="quaternion")},
}


@functools.cache
def spring_law(make):
    """Return a jitted law, compiled once for all methods."""
    f = numba.njit(make(LAST))
    return numba.njit(lambda u, rate, t: (3 * u + f(t), 3.0, 0.0))


@pytest.mark.filterwarnings("ignore:energies are not known")  # at the end of a conserving step
@spread(make=[raising, not_a_number], name=METHODS)
def test_every_method_keeps_what_was_computed(name, make, tmp_path):
    system = mbd.System()
    formulation = "directors" if name == "energy-momentum" else "so3"
    bar = mbd.RigidBody(
        "bar", mass=1.0, inertia=(0.02, 0.1, 0.1), position=(0.5, 0, 0), formulation=formulation
    )
    system.add(bar)
    law = spring_law(make)
    system.add(mbd.Spring("x", system.ground, bar, at=(0, 0, 1), law=law))
    model = system.build()
    for stream in (None, tmp_path / "run.nc"):
        options = {"raise_on_failure": False, "stream": stream, **METHODS[name]}
        solution = mbd.simulate(model, 0.1, H, **options)
        assert solution.status == 1
        assert "x: its law r" in solution.message
        assert 0.028 < solution.t[-1] < LAST + H  # a conserving step asks in its middle
        assert np.isfinite(np.asarray(solution.q)).all()
        if name not in ("tolerance", "times"):
            end, options = float(solution.t[-1]), {**options, "stream": None}
            assert np.array_equal(solution.q, mbd.simulate(model, end, H, **options).q)
    saved = mbd.load(tmp_path / "run.nc")
    assert not saved.success
    assert "x: its law r" in saved.message


# --- functions of events --------------------------------------------------------------------------
def pieces(monkeypatch, length):
    steps = module.Stretch._chunk
    monkeypatch.setattr(module, "_CHUNK_SECONDS", math.inf)
    monkeypatch.setattr(
        module.Stretch, "_chunk", lambda run, n, last=False: steps(run, min(n, length), last)
    )


@pytest.mark.parametrize("error", [KeyError, MemoryError, RecursionError])
@pytest.mark.parametrize("length", [1, 7, 10**6])
@pytest.mark.parametrize("where", ["function", "change"])
def test_an_event_that_raises_keeps_what_was_computed(where, length, error, monkeypatch):
    pieces(monkeypatch, length)
    system, _, _ = pendulum()

    def function(s):
        if where == "function" and s.t.max() > LAST:
            raise error("no such table")
        return s.t - 0.0215

    def change(model, state):
        if where == "change":
            raise error("no such table")
        return state

    event = mbd.Event("ring", function, change=change)
    with pytest.raises(mbd.SimulationError, match=f"ring.* raised {error.__name__}.*no such") as e:
        mbd.simulate(system, 0.1, H, events=event)
    assert isinstance(e.value.__cause__, error)
    solution = e.value.solution
    assert [found.name for found in solution.events] == ["ring"]
    last = 0.0215 if where == "change" else 0.0305
    assert last - H <= solution.t[-1] <= last + 1e-12
    assert len(np.unique(solution.t)) == 1 + math.ceil(solution.t[-1] / H - 1e-9)
    assert solution.state.t == solution.t[-1]


@pytest.mark.parametrize("length", [1, 7, 10**6])
def test_a_run_that_ends_before_a_function_raises_is_a_success(length, monkeypatch):
    """Whatever the pieces are: what lies behind the end of a run is not asked for."""
    pieces(monkeypatch, length)
    system, _, _ = pendulum()

    def late(s):
        if s.t.max() > LAST:
            raise LookupError
        return 1.0 + s.t

    events = [mbd.Event("late", late), mbd.Event("end", lambda s: s.t - 0.025, terminal=True)]
    solution = mbd.simulate(system, 0.1, H, events=events)
    assert solution.message.startswith("ended by 'end' at t = 0.025")


@pytest.mark.parametrize("where", ["law", "function", "change"])
def test_ctrl_c_in_user_code_keeps_what_was_computed(where):
    system, bar, _ = pendulum()
    state = {"on": False}

    def interrupt(here, t):
        if here == where and state["on"] and t > LAST:
            raise KeyboardInterrupt

    def law(t):
        interrupt("law", t)
        return 0.0, 0.0, 1.0

    def function(s):
        interrupt("function", s.t.max())
        return s.t - 0.0335

    def change(model, now):
        interrupt("change", now.t)
        return now

    system.add(mbd.PointForce("x", bar, law))
    model = system.build()
    state["on"] = True
    solution = mbd.simulate(model, 0.1, H, events=mbd.Event("ring", function, change=change))
    assert solution.status == -1
    assert "interrupted by the user" in solution.message
    n = len(solution.t)
    assert np.allclose(np.diff(solution.t)[: n - 2], H, rtol=0, atol=1e-15)
    assert solution.t[-1] <= (0.0335 if where == "change" else 0.0305) + 1e-12
    assert solution.state.t == solution.t[-1]


# --- runs beside each other, and within each other ------------------------------------------------
@pytest.mark.parametrize("jitted", [False, True])
def test_threads_do_not_get_each_others_exceptions(jitted):
    """One model; in half of the threads the law raises, in the others it does not come so far."""
    meet = threading.Barrier(6, timeout=60)

    def law(t):
        return 0.1 * f(t), 0.0, 1.0

    f = raising(LAST)
    if jitted:
        f = numba.njit(f)
        law = numba.njit(law)
    system, bar, _ = pendulum()
    system.add(mbd.PointForce("x", bar, law))
    model = system.build()
    alone = mbd.simulate(model, 0.03, H)
    done = {}

    def work(i):
        meet.wait()
        end = 0.1 if i % 2 else 0.03
        done[i] = [mbd.simulate(model, end, H, raise_on_failure=False) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, solutions in done.items():
        for solution in solutions:
            assert solution.status == i % 2
            assert np.array_equal(solution.q, alone.q)
    assert len(done) == 6


def test_a_run_within_a_law_of_the_same_model_has_its_own_exceptions():
    inner = []

    def law(t):
        if t > LAST:
            raise ArithmeticError("off the drum")
        if t > 0.02 and not inner:
            inner.append(0)
            inner.append(mbd.simulate(model, 0.05, H, raise_on_failure=False))
        return 0.0, 0.0, 1.0

    system, bar, _ = pendulum()
    system.add(mbd.PointForce("x", bar, law))
    model = system.build()
    assert mbd.simulate(model, 0.03, H).success
    assert "x: its law raised ArithmeticError" in inner[1].message
    sound(inner[1])


# what a law may return instead of a number, and whether it is one
RETURNED = {
    "array of no dimension": (np.array, True),
    "array of one number": (lambda x: np.array([x]), False),
    "single precision": (np.float32, True),
    "whole number": (lambda x: np.int64(0), True),
    "truth": (lambda x: np.bool_(False), True),
    "complex": (complex, False),
    "text": (str, False),
    "nothing": (lambda x: None, False),
    "decimal": (decimal.Decimal, True),
    "list": (lambda x: [x], False),
    "matrix": (lambda x: np.zeros((2, 2)), False),
    "generator": (lambda x: (y for y in (x,)), False),
    "class": (lambda x: float, False),
}


def tried(call):
    """Return what a call returns, or None and what it says."""
    try:
        return call(), ""
    except (ValueError, TypeError, RuntimeError) as error:
        return None, str(error)


@pytest.mark.filterwarnings("ignore:Casting complex values", "ignore:Conversion of an array")
@spread(late=[False, True], what=RETURNED, kind=PARTS)
def test_what_a_law_returns_is_a_number_or_refused_by_name(kind, what, late):
    """At the door, or at the step that meets it; nothing else is raised, and nothing cast."""
    other, is_number = RETURNED[what]

    def f(t):
        value = 0.0 if what in ("whole number", "truth") else 0.125 * t
        return other(value) if t > LAST or not late else value

    def plain(t):
        return float(other(0.125 * t)) if is_number else math.nan

    def run(law):
        system, bar, hinge = breathing() if kind == "scaling" else pendulum()
        system.add(PARTS[kind](system, bar, hinge, law, lambda x: x))
        return mbd.simulate(system, 0.04, H, project=True)

    solution, said = tried(lambda: run(f))
    if solution is None:
        assert said.startswith(("x: ", "the step to t = "))
        assert "x: " in said
        return
    q = solution.q
    assert is_number
    assert np.allclose(q, run(plain).q, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:the multiplier of")  # in single precision
@pytest.mark.filterwarnings("ignore:Casting complex values", "ignore:Conversion of an array")
@spread(
    late=[False, True],
    form=["a component", "all", "a rate"],
    which=["position", "rotation"],
    what=RETURNED,
)
def test_what_a_prescribed_motion_returns_is_numbers_or_refused_by_name(what, which, form, late):
    other, is_number = RETURNED[what]

    def law(t):
        x, slope = (0.0, 0.0) if what in ("whole number", "truth") else (0.125 * t, 0.125)
        bad = other(x) if t > LAST or not late else x
        rate = other(slope) if t > LAST or not late else slope
        return {
            "a component": (bad, 0.0, 0.0),
            "all": bad if t > LAST or not late else (x, 0.0, 0.0),
            "a rate": ((x, 0.0, 0.0), (rate, 0.0, 0.0), (0.0, 0.0, 0.0)),
        }[form]

    system = mbd.System()
    body = system.add(mbd.RigidBody("bar", mass=1.0, inertia=(1, 1, 1)))

    def moved():
        system.add(mbd.PrescribedMotion("x", system.ground, body, **{which: law}))
        return mbd.simulate(system, 0.04, H, project=True)

    run, said = tried(moved)
    if run is None:
        assert said.startswith(("x: ", "x.", "the step to t = "))
        assert re.search(r"x(\.\w+)?: ", said)
        return
    assert is_number
    assert form != "all"
    assert np.abs(run["bar"].position[-1, 0]) <= 0.125 * 0.04 + 1e-9
