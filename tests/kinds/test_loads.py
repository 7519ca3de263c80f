"""Loads on every body, at any scale: the power F.v + m.omega, the impulses F and x x F + m."""

import numpy as np
import pytest
from moving import faces
from recipes import (
    FORMS,
    FORMULATIONS,
    JOINT_RECIPES,
    LOADS,
    PAIR_FORCES,
    SCALINGS,
    STILL,
    by_motion,
    elsewhere,
    pair,
)
from scenes import with_body
from test_energy import check_told

import mbd
from mbd.formulations import NAMES
from mbd.linear.saddle import accelerate
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace

T = 0.3
LAW = np.array([np.cos(T), np.sin(T), 1 + T])  # of the recipes, at that time
SIZE = 1.37  # length of the directors of a body that breathes
BODIES = {**{name: name for name in NAMES}, **FORMS}
#: what acts on the scale acts on bodies that have one
CASES = [(load, body) for load in {**LOADS, **SCALINGS} for body in BODIES
         if load in LOADS or "scalable" in body or "breathing" in body]  # fmt: skip


def loaded(load, formulation):
    """Return the load and a work space with one body under it, at its accelerations."""
    system, one, _ = pair(formulation, "ground", gravity=(0, 0, 0))
    part = system.add({**LOADS, **SCALINGS}[load](one, STILL))
    model = system.build()
    rng = np.random.default_rng(61291)
    q, v = elsewhere(model, rng)
    if not one.formulation.rigid:
        q[3:7] *= np.sqrt(SIZE)
        v += rng.normal(size=model.n_v)  # swells too
    state = State(T, q, v, np.zeros(model.n_v), np.zeros(model.n_lam))
    work = Workspace(model, state)
    accelerate(work)
    work.evaluate()
    work.rates()
    return part, work


@pytest.mark.parametrize(("load", "body"), CASES, ids=str)
def test_power_and_impulses(load, body):
    part, work = loaded(load, BODIES[body])
    y, yd, ydd = (work.vector(x, 24)[12:].reshape(4, 3) for x in (m.Y, m.YD, m.YDD))
    s2 = np.sum(y[1:] ** 2) / 3
    R = y[1:].T / np.sqrt(s2)
    omega = 0.5 * np.cross(y[1:], yd[1:]).sum(0) / s2
    at = np.array(part.frame.point()) if load[0] != "ScalingForce" else None
    if load[1] == "motion":
        value, follow = (
            np.array(getattr(by_motion, "py_func", by_motion)(T, R, at @ yd, omega, 0.3)),
            False,
        )
    else:
        size = part.value if load[0] == "ScalingForce" else part.applied.value
        value, follow = LAW if part.law else np.asarray(size), part.applied and part.applied.follow
    force, moment, power, x, v = (np.zeros(3), np.zeros(3), 0.0, np.zeros(3), np.zeros(3))
    if load[0] == "ScalingForce":
        size = value if part.law is None else 2.0 - 9 * T
        power = size * np.sum(y[1:] * yd[1:]) / 3 / np.sqrt(s2)  # times the rate of the scale
    else:
        value = R @ value if follow else value  # of the size given, whatever the scale
        if load[0] == "Moment":
            moment = value
        else:
            force = value
            x, v = at @ y, at @ yd
        power = force @ v + moment @ omega
    Wa, Wv = (part.body.mass_matrix @ z for z in (ydd, yd))
    assert np.abs(np.sum(yd * Wa) - power) < 1e-10 * (1 + abs(power))  # rate of kinetic energy
    assert np.allclose(Wa[0], force, rtol=0, atol=1e-11)  # of linear momentum
    assert np.allclose(np.cross(y, Wa).sum(0), np.cross(x, force) + moment, rtol=0, atol=1e-10)
    assert abs(power) > 0.1 or np.isclose(s2, 1)
    assert np.abs(Wv).max() > 0.1


@pytest.mark.parametrize("velocities", ["rates", "u"])
@pytest.mark.parametrize("follow", [False, True])
def test_a_moment_gives_its_impulse_to_a_body_that_breathes(velocities, follow):
    """Spin and moment about z: 1 N m for 2 s is 2 N m s, however long the directors become."""
    gained = []
    for J, spin, size, t_end in ((1.0, 1.0, 1.0, 2.0), (0.4, -2.0, 0.7, 1.5)):
        system, body = with_body(
            "b", inertia=(J, J, J), angular_velocity=(0, 0, spin),
            formulation=mbd.Scalable(rigid=False, velocities=velocities),
        )  # fmt: skip
        system.add(mbd.Moment("m", body, (0, 0, size), follow=follow))
        run = mbd.simulate(system, t_end, 2e-3)
        L = run.momentum.angular
        gained.append((L[-1] - L[0])[2] / (size * t_end))
        assert run["b"].scale[-1] > 1.2
    assert np.allclose(gained, 1, rtol=0, atol=2e-6)


def test_a_following_force_keeps_its_size_on_a_body_that_breathes():
    """Through the centre of a body that swells without turning: m a = F, the size given."""
    system, body = with_body(
        "b", mass=2.0, inertia=(1.0, 1.0, 1.0), formulation=mbd.Scalable(rigid=False)
    )
    system.add(mbd.ScalingForce("swell", body, 5.0))
    system.add(mbd.PointForce("f", body, (3.0, 0.0, 0.0), follow=True))
    run = mbd.simulate(system, 1.0, 5e-3)
    assert run["b"].scale[-1] > 2
    assert np.allclose(run["b"].acceleration, (1.5, 0, 0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("load", [*LOADS, *SCALINGS], ids="-".join)
@pytest.mark.parametrize("body", ["breathing rates", "breathing u"])
def test_tangents_on_long_directors(load, body):
    _, work = loaded(load, BODIES[body])
    assert mbd.check_tangents(work.model, state=work.store(), tolerance=1e-8).ok


@pytest.mark.parametrize("first", ["breathing rates", "breathing u"])
@pytest.mark.parametrize("name", PAIR_FORCES, ids="-".join)
def test_forces_between_bodies_that_breathe(name, first):
    """Action is reaction, the power what the element tells, tangents exact, at any scale."""
    system, one, two = pair(BODIES[first], "so3")
    if name[0] == "Bushing":  # no frame has a place in SE(3) whose axes breathe
        with pytest.raises(ValueError, match=r"must keep their size, but 'one' breathes"):
            PAIR_FORCES[name](one, two, STILL)
        return
    system.add(PAIR_FORCES[name](one, two, STILL))
    model = system.build()
    rng = np.random.default_rng(61297)
    q, v = elsewhere(model, rng)
    q[3:7] *= np.sqrt(SIZE)
    state = model.state.replace(t=T, q=q, v=v + rng.normal(size=len(v)))
    assert mbd.check_tangents(model, state=state, tolerance=5e-8).ok
    work = Workspace(model, state)
    y, _, f = faces(work)
    size = np.abs(f).max()
    assert np.allclose(f[:, 0].sum(0), 0, rtol=0, atol=1e-12 * size)
    assert np.allclose(np.cross(y, f).sum((0, 1)), 0, rtol=0, atol=1e-12 * size)
    check_told(work)


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_a_motor_along_an_axis_that_breathes_gives_its_force(velocities):
    """A slider on a body that swells: its displacement is a length, its force the one given."""
    system, base = with_body(
        "base", mass=2.0, inertia=(1.0, 1.3, 1.6), angular_velocity=(0, 0, 0.0),
        formulation=mbd.Scalable(rigid=False, velocities=velocities),
    )  # fmt: skip
    cart = system.add(mbd.RigidBody("cart", mass=0.5, inertia=(1.0, 1.0, 1.0)))
    slider = system.add(mbd.Prismatic("slider", base, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Motor("motor", slider, 3.0))
    system.add(mbd.ScalingForce("swell", base, 5.0))
    run = mbd.simulate(system, 0.5, 1e-3)
    assert run["base"].scale[-1] > 1.2
    assert np.allclose(run["cart"].acceleration, (6, 0, 0), rtol=0, atol=1e-8)
    assert np.allclose(run["base"].acceleration, (-1.5, 0, 0), rtol=0, atol=1e-8)
    apart = run["cart"].position[:, 0] - run["base"].position[:, 0]
    assert np.allclose(run["slider"].displacement, apart, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["RollingDisc", "RollingBall", "KnifeEdge"])
def test_rolling_refuses_bodies_that_breathe(name):
    for bodies in (("breathing u", "so3"), ("so3", "breathing rates")):
        _, one, two = pair(*(BODIES[x] for x in bodies))
        with pytest.raises(ValueError, match="must keep their size, but '(one|two)' breathes"):
            JOINT_RECIPES[name](one, two, STILL)


@pytest.mark.parametrize("name", SCALINGS, ids="-".join)
@pytest.mark.parametrize("body", [x for x, f in {**FORMULATIONS, **FORMS}.items() if not f.scales])
def test_bodies_without_a_scale_refuse_what_acts_on_it(name, body):
    _, one, _ = pair(BODIES.get(body, body), "ground")
    with pytest.raises((ValueError, TypeError), match="'one' is carried by .*, which has none"):
        SCALINGS[name](one, STILL)
