"""Stepping by hand, inputs that are set, and sampled feedback laws."""

import copy
import pickle
import signal
import threading
import time

import numba
import numpy as np
import pytest
import scipy.linalg
from scenes import chain, four_bar, hinged, with_body, with_point

import mbd
from mbd.machine.jit import PYTHON
from mbd.model.workspace import Workspace

H = 1e-3


def same(state, other):
    for name in ("q", "v", "a", "lam", "alg"):
        assert np.array_equal(getattr(state, name), getattr(other, name)), name
    assert state.t == other.t


@pytest.mark.parametrize(
    "method",
    [None, mbd.GeneralizedAlpha(rho=0.6, constraints="stabilized")],
    ids=str,
)
@pytest.mark.parametrize("make", [lambda: chain(3, spin=1.0), four_bar])
def test_the_bits_of_simulate(make, method):
    """Step by step, some at a time, from the start and from a state of a run, after a reset."""
    model = make().build()
    alone = mbd.simulate(model, 0.03, H, method=method)
    stepper = mbd.Stepper(model, H, method=method)
    for _ in range(7):
        stepper.step()
    half = stepper.state
    stepper.step(23)
    same(stepper.state, alone.state)
    stepper.reset()
    stepper.step(30)
    same(stepper.state, alone.state)
    stepper.reset(half)
    assert stepper.t == half.t
    stepper.step(23)
    on = mbd.simulate(model, 0.03, H, method=method, state=half)
    same(stepper.state, on.state)


def test_a_step_makes_nothing(monkeypatch):
    """One call of the compiled loop a step; no work space is made."""
    stepper = mbd.Stepper(chain(2), H)
    stepper.step()
    calls = []
    kernel = type(stepper.run.advance)
    before = kernel.__call__
    monkeypatch.setattr(kernel, "__call__", lambda self, *a: (calls.append(1), before(self, *a))[1])
    monkeypatch.setattr(Workspace, "__init__", None)
    for _ in range(5):
        stepper.step()
    assert len(calls) == 5


def arm():
    """A link on a motor, another one on a drive, a push."""
    system = mbd.System(gravity=(0, 0, -9.81))
    one = system.add(mbd.RigidBody("one", mass=1.0, inertia=(0.1, 0.2, 0.2), position=(0.4, 0, 0)))
    two = system.add(mbd.RigidBody("two", mass=0.6, inertia=(0.1, 0.1, 0.1), position=(1.1, 0, 0)))
    shoulder = mbd.Revolute("shoulder", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0))
    elbow = mbd.Revolute("elbow", one, two, at=(0.8, 0, 0), axis=(0, 1, 0))
    for part in (shoulder, elbow, mbd.Motor("motor", shoulder, 0.0)):
        system.add(part)
    system.add(mbd.Drive("drive", elbow, velocity=0.0))
    system.add(mbd.PointForce("push", two, (0.0, 0.0, 0.0)))
    return system


NEW = {"motor.effort": 7.0, "push.force": (1.0, 2.0, -3.0), "drive.velocity": 0.0}


def test_inputs_are_met_by_new_accelerations():
    """Those of a model that is described with these loads, at the pose and speed of the run."""
    model = arm().build()
    stepper = mbd.Stepper(model, H)
    stepper.step(40)
    for name, value in NEW.items():
        stepper[name] = value
    now = stepper.state
    other = model.with_values(NEW)
    there = mbd.consistent(other, now.replace(alg=None), rows=np.zeros(model.n_lam, bool),
                           project="velocities")  # fmt: skip
    assert np.allclose(now.a, there.a, rtol=1e-5, atol=1e-6)
    assert np.allclose(now.lam, there.lam, rtol=1e-5, atol=1e-5)
    stepper["drive.velocity"] = 0.8
    stepper.step(200)
    assert stepper["elbow.angle_rate"] == pytest.approx(0.8, abs=1e-5)
    stepper.reset()
    stepper.step(40)
    same(stepper.state, mbd.simulate(model, 0.04, H).state)


def test_a_force_that_is_set_pushes_from_then_on():
    """Uniform acceleration, to round-off: no step feels the old load."""
    system, cart = with_point("cart", mass=2.0, velocity=(0.5, 0, 0))
    system.add(mbd.PointForce("push", cart, (0.0, 0.0, 0.0)))
    stepper = mbd.Stepper(system, 0.01)
    x, v = 0.0, 0.5
    for force in (3.0, -8.0, 0.0, 5.0):
        stepper["push.force"] = (force, 0.0, 0.0)
        stepper.step(10)
        x, v = x + 0.1 * v + 0.005 * force / 2.0, v + 0.1 * force / 2.0
        assert stepper["cart.position"] == pytest.approx([x, 0, 0], abs=1e-14)
        assert stepper["cart.velocity.x"] == pytest.approx(v, abs=1e-14)


def described(**parts):
    system = mbd.System()
    one = system.add(mbd.RigidBody("one", mass=1.0, inertia=(1, 1, 1)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Drive("turn", hinge, position=0.0))
    system.add(mbd.PointForce("law", one, lambda t: (t, 0.0, 0.0)))
    return mbd.Stepper(system, H)


@pytest.mark.parametrize(("name", "value", "text"), [
    ("turn.position", 1.0, "would make positions jump; drive a velocity"),
    ("law.force", (1, 0, 0), "must be described by numbers"),
    ("one.mass", 2.0, "cannot be set while a run goes on"),
    ("hinge.axis", (1, 0, 0), "positions jump"),
    ("gravity", (1, 0), "must be 3 finite numbers"),
    ("gravity", (1, 0, np.nan), "must be 3 finite numbers"),
    ("gravity", (1, 0, "x"), "'gravity' must be 3 finite numbers"),
    ("gravity", (1, 0, 1j), "'gravity' must be 3 finite numbers"),
    ("gravity", (1, 0, 10**400), "must be 3 finite numbers"),
    ("gravity", (1, 0, 1e200), "must not exceed 1e\\+100"),
    ("lwa.force", 1.0, "no part 'lwa'"),
    ("law.froce", 1.0, "no argument 'froce' .did you mean 'force'"),
])  # fmt: skip
def test_what_cannot_be_set(name, value, text):
    stepper = described()
    with pytest.raises((TypeError, ValueError), match=text):
        stepper[name] = value


@pytest.mark.parametrize("name", ["energy.work", "energy.dissipated", "energy.balance", "drift"])
def test_sums_since_the_start_are_no_quantities_of_an_instant(name):
    """They would be those of one instant, zero, whatever was done before."""
    stepper = mbd.Stepper(chain(2), H)
    stepper.step(3)
    assert stepper["energy.total"] == pytest.approx(
        stepper["energy.kinetic"] + stepper["energy.potential"]
    )
    with pytest.raises(ValueError, match=f"Stepper: '{name}' adds up since the start of a run"):
        stepper[name]


def test_what_a_stepper_refuses():
    stepper = described()
    with pytest.raises(ValueError, match="n must be a whole number, at least 1, got 0"):
        stepper.step(0)
    with pytest.raises(KeyError, match="Stepper: nothing is called 'one.psition'"):
        stepper["one.psition"]
    with pytest.raises(ValueError, match=r"step must be positive \[s\]"):
        mbd.Stepper(chain(1), -1.0)


M, KP, KD, DT = 2.0, 9.0, 4.0, 0.05


def cart():
    system, body = with_point("cart", mass=M, position=(1, 0, 0), velocity=(0.3, 0, 0))
    system.add(mbd.PointForce("push", body, (0.0, 0.0, 0.0)))
    return system


SEEN, SET = ["cart.position.x", "cart.velocity.x"], ["push.force"]


@pytest.mark.parametrize("jitted", [False, True])
def test_sampled_pd_has_the_poles_of_its_z_transform(jitted):
    r"""Of :math:`x_{k+1} = (\Phi - \Gamma K) x_k` with held force, at any number of steps between.

    Franklin, Powell, Workman, Digital Control of Dynamic Systems (1998), section 4.3: of 1/(m s^2)
    :math:`\Phi = [[1, T], [0, 1]], \Gamma = [T^2/2, T]/m`.
    """

    def law(t, y):
        return np.array([-KP * y[0] - KD * y[1], 0.0, 0.0])

    if jitted and not PYTHON:
        law = numba.njit(law)
    pd = mbd.Controller("pd", SEEN, SET, law=law, every=DT)
    Phi, Gamma = np.array([[1, DT], [0, 1]]), np.array([[DT**2 / 2], [DT]]) / M
    closed = Phi - Gamma @ [[KP, KD]]
    for parts in (1, 5):
        run = mbd.closed_loop(cart(), pd, 2.0, DT / parts)
        x = np.array([1.0, 0.3])
        for k in range(41):
            assert run.solution["cart"].position[parts * k, 0] == pytest.approx(x[0], abs=1e-13)
            x = closed @ x
        assert run.signals["pd"].t == pytest.approx(DT * np.arange(40))
        # the poles, from the samples themselves
        y = run.signals["pd"].inputs
        found = np.linalg.lstsq(y[:-1], y[1:], rcond=None)[0]
        poles = np.linalg.eigvals(found)
        assert np.sort_complex(poles) == pytest.approx(np.sort_complex(np.linalg.eigvals(closed)))
    assert run.signals["pd"].outputs[0] == pytest.approx([-KP - 0.3 * KD, 0, 0])


def test_own_states_and_two_rates():
    """An observer at the fast rate, an integrator at the slow one: the discrete system by hand."""
    ki = 2.5

    def integral(t, y, x):
        return (-KP * y[0] - KD * y[1] - ki * x[0], 0, 0), [x[0] + DT * y[0]]

    def kick(t, y):
        return (0.0, 3.0 if t > 0.5 else -1.0, 0.0)

    system = cart()
    system.add(mbd.PointForce("kick", system["cart"], (0.0, 0.0, 0.0)))
    run = mbd.closed_loop(
        system,
        [
            mbd.Controller("pid", SEEN, SET, law=integral, every=DT, start=[0.2]),
            mbd.Controller("kick", [], ["kick.force"], law=kick, every=0.5),
        ],
        2.0, 0.0125, every=4,
    )  # fmt: skip
    x, v, s = 1.0, 0.3, 0.2
    for k in range(40):
        assert run.solution["cart"].position[k, 0] == pytest.approx(x, abs=1e-12)
        assert run.signals["pid"].states[k, 0] == pytest.approx(s, abs=1e-12)
        u = -KP * x - KD * v - ki * s
        s += DT * x
        x, v = x + DT * v + 0.5 * DT**2 * u / M, v + DT * u / M
    assert run.signals["kick"].t.tolist() == pytest.approx([0.0, 0.5, 1.0, 1.5])
    speed = (-1.0 - 1.0 + 3.0 + 3.0) * 0.5 / M  # at t = 0.5 s itself the law still says -1
    assert run.solution["cart"].velocity[-1, 1] == pytest.approx(speed)


KI = 2.5


def ended(controller, h, **options):
    """Return position, speed and the law's state at t = 0.4 s."""
    run = mbd.closed_loop(cart(), controller, 0.4, h, **options)
    end = run.solution["cart"]
    return np.array([end.position[-1, 0], end.velocity[-1, 0]]), run.signals["c"]


@pytest.mark.parametrize("jitted", [False, True])
def test_a_continuous_law_has_the_order_of_the_run(jitted):
    """PID with an integral of its own: the linear system x' = A x, by the exponential of A."""
    A = np.array([[0, 1, 0], [-KP / M, -KD / M, -KI / M], [1, 0, 0]])
    exact = scipy.linalg.expm(0.4 * A) @ [1.0, 0.3, 0.2]

    def law(t, y, x):
        u = np.array([-KP * y[0] - KD * y[1] - KI * x[0], 0.0, 0.0])
        return u, np.array([y[0]])

    if jitted and not PYTHON:
        law = numba.njit(law)
    pid = mbd.Controller("c", SEEN, SET, law=law, start=[0.2])
    errors = []
    for h in (0.02, 0.01):
        end, signals = ended(pid, h)
        errors.append(np.abs([*(end - exact[:2]), signals.states[-1, 0] - exact[2]]))
        assert len(signals.t) == round(0.4 / h) + 1
        assert signals.outputs[-1, 0] == pytest.approx(law(0.4, end, signals.states[-1])[0][0])
    assert errors[1].max() < 1e-4
    assert np.array(errors[0]) / errors[1] == pytest.approx(4.0, rel=0.15)


def test_a_continuous_law_is_the_spring_that_it_describes():
    """But for the start, both are one method: the difference is of the order of its error."""
    exact, body = with_point("cart", mass=M, position=(1, 0, 0), velocity=(0.3, 0, 0))
    exact.add(mbd.Spring("pd", exact.ground, body, at=(-9, 0, 0), to=(1, 0, 0), stiffness=KP,
                         length=9.0, damping=KD))  # fmt: skip
    law = mbd.Controller("c", SEEN, SET, law=lambda t, y: (-KP * y[0] - KD * y[1], 0, 0))
    h = 0.01
    x = mbd.simulate(exact, 0.4, h)["cart"].position[-1, 0]
    assert ended(law, h)[0][0] == pytest.approx(x, abs=1e-5)


def test_a_continuous_law_that_the_step_cannot_follow_is_refused():
    """Its stiffness turns the fixed point away: beta h^2 k / m is above one."""
    stiff = mbd.Controller("c", SEEN, SET, law=lambda t, y: (-1e6 * y[0], 0, 0))
    with pytest.raises(mbd.SimulationError, match=r"continuous law of 'c' do not meet"):
        ended(stiff, 0.01)
    at_rest = mbd.Controller("c", SEEN, SET, law=lambda t, y: (-90 * (y[0] - 1) - y[1], 0, 0))
    system = cart().build().with_values({"cart.velocity": (0, 0, 0)})
    run = mbd.closed_loop(system, at_rest, 0.1, 0.01)
    assert not run.solution["cart"].velocity.any()
    with pytest.raises(ValueError, match=r"needs method=GeneralizedAlpha.*every=0.01"):
        ended(at_rest, 0.01, method=mbd.RadauCollocation())


def test_a_state_a_little_off_is_mended_everywhere():
    """With a warning, as simulate does; project=False refuses it."""
    model = chain(2).build()
    off = 1e-5 * np.sin(np.arange(model.n_q))
    off[model.quaternions] = 0.0  # their lengths are no rows
    state = model.state.replace(q=model.state.q + off)
    for make in (mbd.simulate, mbd.Stepper):
        options = {} if make is mbd.Stepper else {"t_end": 2 * H}
        with pytest.warns(RuntimeWarning, match="violate constraints a little"):
            make(model, step=H, state=state, **options)
        with pytest.raises(ValueError, match="violate constraints"):
            make(model, step=H, state=state, project=False, **options)


def test_what_controllers_refuse():
    def pd(**options):
        return mbd.Controller("pd", SEEN, SET, **({"law": lambda t, y: (0, 0, 0)} | options))

    with pytest.raises(ValueError, match=r"every must be a whole number of steps.*take a step of"):
        mbd.closed_loop(cart(), pd(every=0.03), 1.0, 0.02)
    with pytest.raises(ValueError, match="two controllers have the same name"):
        mbd.closed_loop(cart(), [pd(), pd()], 1.0, 0.02)
    with pytest.raises(TypeError, match="controllers must be mbd.Controller"):
        mbd.closed_loop(cart(), [3], 1.0, 0.02)
    with pytest.raises(ValueError, match="the step must divide the time"):
        mbd.closed_loop(cart(), pd(), 1.0, 0.3)
    with pytest.raises(TypeError, match=r"law must be a function law\(t, y\) -> u"):
        pd(law=3)
    with pytest.raises(ValueError, match="outputs must name what it sets"):
        mbd.Controller("pd", SEEN, [], law=lambda t, y: ())
    with pytest.raises(mbd.SimulationError, match=r"must return 3 finite numbers for push.force"):
        mbd.closed_loop(cart(), pd(law=lambda t, y: 1.0), 1.0, 0.02)

    def breaks(t, y):
        return (1.0 / (t < 0.495), 0.0, 0.0)

    for every, last in ((0.02, 0.5), (None, 0.48)):  # the law at the end of a step is part of it
        with pytest.raises(mbd.SimulationError, match="ZeroDivisionError") as error:
            mbd.closed_loop(cart(), pd(law=breaks, every=every), 1.0, 0.02)
        assert error.value.solution.t[-1] == pytest.approx(last)
        assert error.value.solution.state.t == pytest.approx(last)
        assert isinstance(error.value.__cause__, ZeroDivisionError)


def pole():
    """A pole on a cart on a rail, with a motor."""
    system, body = with_body("body", gravity=(0, 0, -9.81), mass=2.0)
    rod = system.add(mbd.RigidBody("rod", mass=0.5, inertia=(0.1, 0.1, 0.1), position=(0, 0, 0.4)))
    rail = system.add(mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", body, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Motor("motor", rail, 0.0))
    return system


def links():
    """Two links that hang, with a motor each."""
    system = mbd.System(gravity=(0, 0, -9.81))
    before = system.ground
    for i, name in enumerate(("one", "two")):
        body = mbd.RigidBody(
            name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, -0.3 - 0.6 * i)
        )
        at, joint = (0, 0, -0.6 * i), f"joint {i}"
        system.add(body)
        hinge = system.add(mbd.Revolute(joint, before, body, at=at, axis=(0, 1, 0)))
        system.add(mbd.Motor(f"motor {i}", hinge, 0.0))
        before = body
    return system


@pytest.mark.parametrize(
    ("make", "coordinates", "inputs", "efforts"),
    [
        (pole, ["rail.displacement", "hinge.angle"], ["rail"], ["motor.effort"]),
        (links, ["joint 0.angle", "joint 1.angle"], ["joint 0", "joint 1"],
         ["motor 0.effort", "motor 1.effort"]),
    ],
)  # fmt: skip
def test_a_closed_loop_has_the_eigenvalues_of_a_minus_b_k(make, coordinates, inputs, efforts):
    """Of accelerations with the law, differentiated by Richardson's differences about the pose."""
    model = make().build()
    linear = mbd.linearize(model, inputs=inputs, coordinates=coordinates)
    P = scipy.linalg.solve_continuous_are(linear.A, linear.B, np.eye(4), 0.1 * np.eye(len(inputs)))
    K = 10.0 * linear.B.T @ P
    lqr = mbd.Controller("c", list(linear.states), efforts, law=lambda t, y: -K @ y)

    def accelerations(state, x):
        pose = mbd.assemble_pose(model, targets=dict.fromkeys(linear.states, 0.0) | {state: x})
        run = mbd.closed_loop(model, lqr, H, H, state=pose)
        assert run.signals["c"].inputs[0, linear.states.index(state)] == pytest.approx(x, rel=1e-9)
        now = (name.rpartition(".") for name in coordinates)
        return np.array([getattr(run.solution[a], f"{b}_second_rate")[0] for a, _, b in now])

    def derivative(state):
        one, two = (
            (accelerations(state, x) - accelerations(state, -x)) / (2 * x) for x in (1e-3, 2e-3)
        )
        return (4 * one - two) / 3

    closed = np.zeros((4, 4))
    closed[:2, 2:] = np.eye(2)
    closed[2:] = np.array([derivative(x) for x in linear.states]).T
    expected, values = (np.linalg.eigvals(x) for x in (linear.A - linear.B @ K, closed))
    assert np.abs(np.sort_complex(values) - np.sort_complex(expected)).max() < 1e-8
    assert expected.real.max() < 0.0


@pytest.mark.parametrize(
    "answer",
    [np.nan, np.inf, 1j, "x", None, {}, True, 1e200, 10**400, (1.0, 2.0), [[1.0], [2.0, 3.0]],
     np.array([1j, 0, 0]), (1.0, 2.0, -np.inf)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("start", [None, 0.0])
def test_what_a_law_returns_is_three_numbers_or_refused_by_name(start, answer):
    def law(t, y, *x):
        u = (0.0, 0.0, 0.0) if t < 0.15 else answer
        return (u, 0.0) if x else u

    controller = mbd.Controller("pd", SEEN, SET, law=law, start=start, every=0.02)
    with pytest.raises(
        mbd.SimulationError, match=r"'pd': at t = 0.16 .* 3 finite numbers"
    ) as error:
        mbd.closed_loop(cart(), controller, 1.0, 0.02)
    assert error.value.solution.t[-1] == pytest.approx(0.16)


def test_a_law_that_raises_is_named_with_the_instant():
    def law(t, y):
        return {"early": (0.0, 0.0, 0.0)}["early" if t < 0.29 else "late"]

    controller = mbd.Controller("pd", SEEN, SET, law=law, every=0.02)
    match = r"^Controller 'pd': its law raised KeyError: 'late' \(at t = 0.3 s\); let it"
    with pytest.raises(mbd.SimulationError, match=match) as error:
        mbd.closed_loop(cart(), controller, 1.0, 0.02)
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stepper_is_carried_by_its_model_and_state(carry):
    stepper = mbd.Stepper(chain(2), 1e-3)
    stepper.step(7)
    with pytest.raises(TypeError, match="Stepper: a run that is under way .* its model and state"):
        carry(stepper)
    model, state = pickle.loads(pickle.dumps((stepper.model, stepper.state)))
    other = mbd.Stepper(model, 1e-3, state=state)
    for each in (stepper, other):
        each.step(6)
    assert np.allclose(other.state.q, stepper.state.q, rtol=0, atol=1e-12)


def _hinged():
    """Return a rod on a hinge with a motor, stops and loads, at rest without gravity."""
    system, rod, hinge = hinged("rod", "hinge", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.25))
    system.add(mbd.Motor("motor", hinge, 0.0))
    system.add(mbd.Stop("stop", hinge, lower=-0.2, upper=0.3, stiffness=1e3))
    system.add(mbd.PointForce("push", rod, (0, 0, 2.0)))
    system.add(mbd.Moment("twist", rod, (0, 3.0, 0)))
    return system.build()


def test_loads_and_motors_have_one_name_for_all_who_set_them():
    """What the Stepper sets is an input of linearize, and of the coordinates of joints."""
    model = _hinged().with_values({"push.force": (0, 0, 0), "twist.moment": (0, 0, 0)})
    columns = {}
    for name in ("motor.effort", "push.force", "twist.moment"):
        mbd.Stepper(model, 1e-3)[name] = 0.0 if name == "motor.effort" else (0, 0, 0)
        axes = [""] if name == "motor.effort" else [".x", ".y", ".z"]
        short = name.partition(".")[0]
        for axis in axes:
            one, two = (
                mbd.linearize(model, inputs=[x + axis], outputs=["hinge.angle"])
                for x in (name, short)
            )
            assert one.inputs == (name + axis,)
            assert np.array_equal(one.B, two.B)
            here = mbd.joint_space(model)
            assert np.array_equal(here.effort(name + axis), here.effort(short + axis))
            columns[name + axis] = one.B
    assert np.allclose(columns["motor.effort"], columns["twist.moment.y"], rtol=0, atol=1e-15)


@pytest.mark.parametrize("value", [-0.1, 0.1])
@pytest.mark.parametrize("name", ["stop.lower", "stop.upper"])
def test_what_is_tried_before_it_is_set_is_no_number_of_an_error(name, value):
    """Two stops whose order forbids most numbers for each."""
    stepper = mbd.Stepper(_hinged(), 1e-3)
    stepper[name] = value
    stepper.step(3)


@pytest.mark.parametrize("name", ["rod.mas", "rodd.mass", "rod.inertia.qq", "rod.inertia.xx", "p"])
def test_refusals_name_who_was_asked(name):
    model = _hinged()
    with pytest.raises(ValueError, match="^Stepper: "):
        mbd.Stepper(model, 1e-3)[name] = 0.0
    with pytest.raises(ValueError, match="^joint_space: "):
        mbd.joint_space(model).effort(name)
    with pytest.raises(ValueError, match="^joint_space: "):
        mbd.joint_space(model).jacobian(name)


METHODS = [
    mbd.GeneralizedAlpha(), mbd.GeneralizedAlpha(constraints="stabilized"), mbd.RadauCollocation(),
]  # fmt: skip


@pytest.mark.skipif(PYTHON, reason="laws are not compiled")
@pytest.mark.parametrize("method", METHODS, ids=lambda x: type(x).__name__)
def test_one_law_compiled_in_python_and_by_hand(method):
    """The same bits by a numba law, by the same in Python and by a stepper; inputs by name too."""
    sees = ["joint 0.angle", "joint 1.angle", "joint 0.angle_rate", "joint 1.angle_rate"]
    sets = ["motor 0.effort", "motor 1.effort"]

    def law(t, y, x):
        u = np.empty(2)
        for i in range(2):
            u[i] = 4.0 * (0.3 * np.sin(5.0 * t + i) - y[i]) - 0.8 * y[2 + i] - 2.0 * x[i]
        return u, x + 1e-2 * (y[:2] - 0.1)

    model, options = links().build(), {"every": 2e-3, "start": [0.0, 0.1]}
    runs = [
        mbd.closed_loop(model, mbd.Controller("c", sees, sets, law=f, **options), 0.1, H,
                        method=method)
        for f in (numba.njit(law), law)
    ]  # fmt: skip
    a, b = runs[0].signals["c"], runs[1].signals["c"]
    for name in ("t", "inputs", "outputs", "states"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    same(runs[0].solution.state, runs[1].solution.state)
    arrays, named = (
        mbd.Stepper(model, H, method=method, inputs=sets, observe=sees) for _ in range(2)
    )
    for k in range(50):
        u = a.outputs[k]
        arrays.u = u
        for name, value in zip(sets, u.tolist(), strict=True):
            named[name] = value
        arrays.step(2)
        named.step(2)
        if k < 49:
            assert np.array_equal(arrays.y, a.inputs[k + 1])
    same(arrays.state, named.state)
    same(arrays.state, runs[0].solution.state)


def test_an_array_of_inputs_is_the_same_memory_and_refused_where_it_is_no_number():
    """Reading with a load that has jumped changes no bit of the run; a snapshot has the inputs."""
    stepper = mbd.Stepper(arm(), H, inputs=["motor.effort", "push.force"], observe=["two.position"])
    assert stepper.inputs.labels == ("motor.effort", "push.force.x", "push.force.y", "push.force.z")
    u, y = stepper.u, stepper.y
    ends = []
    for look in (False, True):
        stepper.reset(stepper.first)
        stepper.step(3)
        stepper.u[:] = (2.0, 1.0, 0.0, -1.0)
        if look:
            kept = stepper.snapshot()
            stepper.u[0] = 9.0
            _ = stepper.state, stepper.observe(), stepper["two.acceleration"]
            stepper.restore(kept)
            assert stepper.u.tolist() == [2.0, 1.0, 0.0, -1.0]
        stepper.step(5)
        ends.append(stepper.state)
    same(*ends)
    assert u is stepper.u or np.shares_memory(u, stepper.u)
    assert np.array_equal(y, stepper["two.position"])
    stepper.u[2] = np.nan
    with pytest.raises(ValueError, match=r"u\[2\], 'push.force.y', must be a number"):
        stepper.step()
    stepper.u[2] = 0.0
    same(stepper.state, ends[0])
    with pytest.raises(ValueError, match="u must be 4 numbers"):
        stepper.u = (1.0, 2.0)


@pytest.mark.parametrize("wrong", ["nan", "raises"])
def test_a_numba_law_that_fails_is_asked_again_in_python(wrong):
    """Its error names the instant; what was computed before stays."""

    def law(t, y):
        if t > 0.495:
            if wrong == "raises":
                raise ValueError("too late")
            return (np.nan, 0.0, 0.0)
        return (-y[0], 0.0, 0.0)

    law = law if PYTHON else numba.njit(law)
    pd = mbd.Controller("pd", SEEN, SET, law=law, every=0.02)
    with pytest.raises(mbd.SimulationError, match="too late|finite numbers") as error:
        mbd.closed_loop(cart(), pd, 1.0, 0.01)
    assert error.value.solution.t[-1] == pytest.approx(0.5)
    assert error.value.solution.state.t == pytest.approx(0.5)


def test_a_jump_of_a_load_keeps_second_order():
    """Steps that meet it by the matrix at hand: efforts held for 10 ms, against steps of 0.1 ms."""
    model, sets = links().build(), ["motor 0.effort", "motor 1.effort"]

    def end(h):
        stepper = mbd.Stepper(
            model, h, inputs=sets, observe=["joint 1.angle", "joint 0.angle_rate"]
        )
        for k in range(20):
            stepper.u = (3.0 * np.cos(1.7 * k), -2.0 * np.cos(2.3 * k))
            stepper.step(round(0.01 / h))
        return stepper.y.copy()

    exact = end(1e-4)
    errors = [np.abs(end(h) - exact).max() for h in (5e-3, 2.5e-3)]
    assert errors[0] / errors[1] > 3.0


@pytest.mark.parametrize("jitted", [False, True])
def test_ctrl_c_ends_a_closed_loop_with_what_was_computed(jitted):
    """As it ends a run; in compiled laws too, which are not asked whether it was pressed."""

    def hold(t, y):
        return -9.0 * y[0], 0.0, 0.0

    pd = mbd.Controller("pd", SEEN, SET, law=numba.njit(hold) if jitted else hold, every=H)
    mbd.closed_loop(cart(), pd, 5 * H, H)  # compiled
    usual = signal.getsignal(signal.SIGINT)

    def press():
        while signal.getsignal(signal.SIGINT) == usual:  # until the loop listens to it
            time.sleep(1e-3)
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=press).start()
    run = mbd.closed_loop(cart(), pd, 3000.0, H)
    assert run.solution.status == -1
    assert "interrupted by the user" in run.solution.message
    alone = mbd.closed_loop(cart(), pd, run.solution.t[-1], H)
    assert np.array_equal(alone.solution.q, run.solution.q)
    outputs = run.signals["pd"].outputs
    assert np.array_equal(alone.signals["pd"].outputs[: len(outputs)], outputs)
    assert len(outputs) >= len(run.solution.t) - 1


def test_ctrl_c_ends_long_steps_by_hand_where_they_can_go_on():
    stepper = mbd.Stepper(cart(), H)
    stepper.step()
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        stepper.step(10**9)
    stepper.step()
    done = stepper.run.done
    again = mbd.Stepper(cart(), H)
    again.step(done)
    same(stepper.state, again.state)
