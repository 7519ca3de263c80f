"""Names of numbers: where they are in F and with which slopes, of every part and formulation."""

import math
import pickle

import numpy as np
import pytest
from recipes import FORMS, FORMULATIONS
from test_derivatives import RECIPES, described, joints_of_recipes  # noqa: F401

import mbd
from mbd.base.dual import Dual
from mbd.base.parameter import LostParameterError
from mbd.formulations import NAMES
from mbd.machine import buffer as m
from mbd.model.names import Role, scale_of

E = 1e-3
WEIGHTS = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}
# values that would make other rows, or none
REFUSED = ("structure", "give way", "compliance needs")


def moving(model):
    """Return where F may depend on the description: no sizes, nothing that is measured."""
    which = np.ones(len(model.F), bool)
    which[: m.F_HEADER], which[m.GX : m.GZ + 1] = False, True
    which[model.I[m.DIAG] :][: model.I[m.N_U]] = False
    return which


def differences(model, name, value, i):
    """Return the derivative of F by number i of an argument, by differences of order four."""
    step, which = E * scale_of(model, name), moving(model)
    total = 0.0
    for k, w in WEIGHTS.items():
        x = np.array(value, float)
        x.reshape(-1)[i] += k * step
        other = model.with_values({name: x if x.ndim else float(x)})
        assert other.I is model.I or model.laws, name  # laws have another address
        total = total + w / step * (other.F[which] - model.F[which])
    return total


def check(model, name):
    """Compare the slopes of a name with differences, at all places of F; return of how many."""
    of, which = model.names[name], moving(model)
    slopes = of.slopes.reshape(len(of.places), of.value.size)
    assert which[of.places].all()
    n = 0
    for i in range(of.value.size):
        try:
            expected, full = differences(model, name, of.value, i), np.zeros(len(model.F))
        except ValueError:  # one number alone may not change: of axes, of symmetric matrices
            continue
        n += 1
        full[of.places] = slopes[:, i]
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(full[which], expected, 0, 1e-7 * size, err_msg=f"{name}[{i}]")
    if of.settable:
        x = of.value + 0.37
        F = model.F.copy()
        F[of.places] = slopes @ x.reshape(-1)
        other = model.with_values({name: x if x.ndim else float(x)})
        assert np.array_equal(F[which], other.F[which])
    return n


def check_all(system):
    """Compare all names of a system."""
    model, n = system.build(), 0
    for name in model.names:
        try:
            n += check(model, name)
        except ValueError as error:
            if not any(x in str(error) for x in REFUSED):
                raise
    assert n > 20


def some(cases, every):
    """Return all cases, of which most are slow."""
    return [pytest.param(x, id=str(x), marks=pytest.mark.slow if i % every else ())
            for i, x in enumerate(cases)]  # fmt: skip


@pytest.mark.parametrize("key", some(RECIPES, 5))
def test_every_part(key, joints_of_recipes):  # noqa: F811
    check_all(described(RECIPES[key], 0.3))


@pytest.mark.parametrize("name", some([x for x in (*FORMULATIONS, *FORMS) if x != "point"], 4))
def test_every_formulation(name):
    check_all(described(RECIPES["joint", "Spherical"], 0.3, FORMS.get(name, name)))


@pytest.mark.slow
@pytest.mark.parametrize("formulation", [x for x in NAMES if x not in ("so3", "point")])
@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part_in_every_formulation(key, formulation, joints_of_recipes):  # noqa: F811
    try:
        system = described(RECIPES[key], 0.3, formulation)
    except ValueError:  # who rolls or swells must be such a body
        return
    check_all(system)


EXPRESSIONS = [
    lambda p: 2 * p, lambda p: 1 - p / 3, lambda p: p**2 + p, lambda p: 1 / p, lambda p: 2.0**p,
    lambda p: p**p, lambda p: -p, lambda p: abs(p - 5), np.sqrt, np.sin,
    lambda p: np.cos(2 * p) * np.tan(p), lambda p: np.arctan2(p, 2 - p), lambda p: np.hypot(p, 1),
    lambda p: np.exp(-p) + np.log(p), lambda p: np.deg2rad(30 * p), lambda p: np.maximum(p, 0.1),
    lambda p: np.minimum(p, 1.0), lambda p: np.arcsin(p / 2),
    lambda p: np.linalg.norm([p, 1.0]), lambda p: np.trace(np.outer([p, 1], [1, p])),
    lambda p: np.cross([p, 0, 0], [0, p, 0])[2], lambda p: p // 1 + p % 1, lambda p: sum([p, p]),
    lambda p: np.linspace(0, p, 3)[1], lambda p: np.sinh(p) - np.tanh(p), np.cbrt,
]  # fmt: skip


def test_everyday_expressions_keep_their_derivatives():
    p, h = mbd.Parameter("p", 0.7), 1e-4
    system = mbd.System()
    ball = system.add(mbd.PointMass("ball", mass=1.0))
    for i, f in enumerate(EXPRESSIONS):
        system.add(mbd.PointForce(f"push {i}", ball, (f(p), i, 1)))
    model = system.build()
    of = model.names["p"]
    ends = [model.with_values({"p": 0.7 + k * h}).F[of.places] for k in (2, 1, -1, -2)]
    slopes = (8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h)
    assert len(of.places) == len(EXPRESSIONS)
    np.testing.assert_allclose(of.slopes, slopes, rtol=1e-9, atol=1e-9)


LOST = {
    "float": float, "int": int, "round": round, "math": math.sqrt, "range": range,
    "array": lambda x: np.array([x, 1.0], float), "place": lambda x: np.zeros(2).__setitem__(0, x),
    "slice": lambda x: np.zeros(3).__setitem__(slice(0, 2), [x, x]),
    "astype": lambda x: np.array([x, 0.0]).astype(float), "full": lambda x: np.full(2, x, float),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_a_dual_is_no_plain_number(name):
    with pytest.raises(LostParameterError, match=r"depends on p becomes a plain number at .*py:"):
        LOST[name](Dual(0.7, {"p": 1.0}))


def two_pushes():
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=2.0))
    for name in ("push", "pull"):
        system.add(mbd.PointForce(name, ball, (0.0, 0.0, 1.0)))
    return system


def test_parts_with_equal_numbers_have_places_of_their_own():
    model = pickle.loads(pickle.dumps(two_pushes().build()))
    of = model.names["push.force"]
    assert (of.role, of.unit, of.second, of.settable) == (Role.INPUT, "N", False, True)
    assert np.array_equal(of.slopes, np.eye(4, 3, -1)[4 - len(of.places) :])
    other = model.with_values({"push.force": (1.0, 2.0, 3.0)})
    assert other.I is model.I
    assert np.array_equal(other.F[of.places], (1.0, 2.0, 3.0))
    assert np.array_equal(other.assemble().residual[:3], [-1, -2, 2 * 9.81 - 4])


def test_derivatives_and_steppers_move_one_of_two_parts_with_equal_numbers():
    s = mbd.sensitivities(two_pushes(), ["push.force.x", "gravity.z"], 0.1, 0.01)
    assert s["push.force.x"]["ball"].position[-1] == pytest.approx([0.5 * 0.1**2 / 2.0, 0, 0])
    assert s["gravity.z"]["ball"].position[-1] == pytest.approx([0, 0, 0.5 * 0.1**2])
    stepper = mbd.Stepper(two_pushes(), 0.01, inputs=["pull.force"])
    stepper["push.force"] = (4.0, 0.0, 0.0)
    stepper.step(10)
    assert stepper["ball.velocity"] == pytest.approx([0.2, 0.0, 0.1 * (0.5 - 9.81)])


def test_what_names_stand_for():
    system = two_pushes()
    bar = system.add(mbd.RigidBody("bar", mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, bar, at=(1, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Motor("motor", hinge, 0.0))
    model = system.build()
    names = [
        "ball.mass",
        "ball.velocity.x",
        "bar.position",
        "gravity.z",
        "motor.effort",
        "hinge.at",
    ]
    roles = {x.name: (x.role.name, x.unit) for x in model.names.several(names)}
    assert roles == {
        "ball.mass": ("CONSTANT", "kg"), "ball.velocity.x": ("INITIAL", "m/s"),
        "bar.position": ("INITIAL", "m"), "gravity.z": ("GRAVITY", "m/s^2"),
        "motor.effort": ("INPUT", "N m"), "hinge.at": ("CONSTANT", "m"),
    }  # fmt: skip
    assert {"gravity", "ball.mass", "motor.effort"} <= set(model.names)
    for name, text in (
        ("ball.mas", "did you mean 'mass'"), ("push.at", "must be described by numbers"),
        ("bal.mass", "no part 'bal'"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=f"Model.names: .*{text}"):
            model.names[name]
