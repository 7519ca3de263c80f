"""Other values of arguments give what a model does that is built with them, bit for bit."""

import inspect

import numpy as np
import pytest
from recipes import BODIES, RECIPES, STILL
from scenes import hinged

import mbd
from mbd.base.recorded_call import signature
from mbd.machine import buffer as m


def described(recipe, body=None, part=None, gravity=(0.1, -0.2, -9.7)):
    """Return two bodies and a part on them, arguments of the first body and the part replaced."""
    system = mbd.System(gravity=gravity)
    options = {"mass": 1.7, "inertia": (0.31, 0.42, 0.37), "position": (0.1, 0.2, -0.3)}
    one = system.add(mbd.RigidBody("one", **(options | (body or {}))))
    two = system.add(
        mbd.RigidBody("two", mass=0.9, inertia=(0.2, 0.3, 0.25), position=(0.7, -0.1, 0.2))
    )
    thing = recipe(one, two, STILL)
    if part:
        bound = signature(type(thing)).bind(*thing.call.args, **thing.call.options)
        bound.arguments |= part
        thing = type(thing)(*bound.args, **bound.kwargs)
    system.add(thing)
    return system, thing.name


def same(one, two):
    """Compare two models; addresses of laws in the tables are those of each."""
    tables = len(one.I) == len(two.I) and np.abs(one.I - two.I)[one.I < 1 << 40].max() == 0
    if tables:
        assert np.array_equal(one.F, two.F)
    assert one.redundant == two.redundant
    states = [one.state, two.state]
    assert np.array_equal(states[0].q, states[1].q)
    assert np.array_equal(states[0].v, states[1].v)
    matrices = [x.assemble() for x in (one, two)]
    for name in ("M", "G", "K", "B", "residual"):
        a, b = (np.asarray(getattr(x, name).toarray() if hasattr(getattr(x, name), "toarray")
                           else getattr(x, name)) for x in matrices)  # fmt: skip
        assert np.array_equal(a, b), name
    return tables


@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_bodies_gravity_and_what_refers_to_them(key):
    """Every part between two bodies of which one is heavier, elsewhere and moves."""
    recipe = RECIPES[key]
    model = described(recipe)[0].build()
    before = model.F.copy()
    new = {"mass": 2.3, "position": (0.15, 0.1, -0.2), "velocity": (0.4, 0.1, -0.3)}
    placed = (("joint", "PrescribedMotion"), ("Rope", "two segments"))
    if key in placed or key[1] == "function":
        del new["position"]  # their frames stay where they are on a body: the recipe places others
    values = {f"one.{k}": x for k, x in new.items()} | {"gravity": (0.0, 1.0, -3.0)}
    try:
        other = model.with_values(values)
    except ValueError as error:
        if "not in the system" not in str(error):  # the recipe has a joint of its own
            raise
        return
    same(other, described(recipe, new, gravity=(0.0, 1.0, -3.0))[0].build())
    assert np.array_equal(model.F, before)
    assert model.nodes["one"].mass == 1.7


def variants(value):
    """Return other values of an argument of this kind."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [1.25 * value + 0.01]
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        return []
    return [x * 1.25 + 0.01] if x.dtype == float and 0 < x.size <= 9 else []


@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_number_of_a_part(key):
    """What the constructor accepts is in the model, or refused because its structure changes."""
    system, name = described(RECIPES[key])
    model, part = system.build(), system.parts[name]
    bound = signature(type(part)).bind(*part.call.args, **part.call.options)
    bound.apply_defaults()
    for argument, value in bound.arguments.items():
        for new in variants(value):
            try:
                fresh = described(RECIPES[key], part={argument: new})[0].build()
            except (ValueError, TypeError):
                continue
            try:
                other = model.with_values({f"{name}.{argument}": new})
            except ValueError as error:
                if "structure" not in str(error) or np.array_equal(fresh.I, model.I):
                    raise
            else:
                same(other, fresh)


def rod(**options):
    system, bar, _ = hinged(
        at=(-0.5, 0, 0), **{"position": (0, 0, 0), "inertia": (0.1, 0.2, 0.2)} | options
    )
    end = mbd.PointMass("end", mass=0.3, position=(1.5, 0, 0))
    system.add(end)
    system.add(mbd.Spring("spring", bar, end, stiffness=20.0))
    return system


@pytest.mark.parametrize("formulation", ["so3", "directors", "euler_parameters"])
def test_tables_are_shared_and_runs_are_those_of_a_built_model(formulation):
    model = rod(formulation=formulation).build()
    other = model.with_values({"rod.mass": 2.5, "spring.stiffness": 35.0, "hinge.at": (-0.4, 0, 0)})
    assert other.I is model.I
    system = rod(formulation=formulation, mass=2.5)
    fresh = mbd.System(gravity=system.gravity)
    bar = fresh.add(
        mbd.RigidBody("rod", mass=2.5, inertia=(0.1, 0.2, 0.2), formulation=formulation)
    )
    fresh.add(mbd.Revolute("hinge", fresh.ground, bar, at=(-0.4, 0, 0), axis=(0, 1, 0)))
    end = fresh.add(mbd.PointMass("end", mass=0.3, position=(1.5, 0, 0)))
    fresh.add(mbd.Spring("spring", bar, end, stiffness=35.0))
    assert same(other, fresh.build())
    one, two = (mbd.simulate(x, 0.05, 1e-3) for x in (other, fresh))
    for name in ("q", "v", "a", "lam"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert np.array_equal(one["hinge"].force, two["hinge"].force)
    assert np.array_equal(one.energy.balance, two.energy.balance)


def test_parts_along_coordinates_follow_their_joint():
    def driven(at=(-0.5, 0, 0)):
        system, _, hinge = hinged(at=at, inertia=(0.1, 0.2, 0.2), position=(0, 0, 0))
        system.add(mbd.JointSpring("spring", hinge.angle, stiffness=3.0, reference=0.2))
        return system

    model, at = driven().build(), (-0.3, 0.1, 0.2)
    other = model.with_values({"hinge.at": at})
    assert same(other, driven(at).build())
    assert other.system.parts["spring"] is not model.system.parts["spring"]


def test_weights_of_two_parts_at_one_point_may_come_apart():
    """Of two joints at one point one moves."""

    def twice(second):
        system = rod()
        bar = system.bodies["rod"]
        system.add(mbd.Spherical("ball", system.ground, bar, at=second))
        return system

    model = twice((-0.5, 0, 0)).build()
    other = model.with_values({"ball.at": (-0.5, 0.3, 0)})
    assert other.I is model.I
    same(other, twice((-0.5, 0.3, 0)).build())


@pytest.mark.parametrize(("values", "words"), [
    ({"rod.formulation": "directors"}, "rod.formulation would change the structure"),
    ({"rod.mas": 1.0}, "no argument 'mas'"),
    ({"bar.mass": 1.0}, "no part 'bar'"),
    ({"mass": 1.0}, "the system has no argument 'mass'"),
    ({"rod.name": "bar"}, "a part keeps its name"),
    ({"rod.mass": -1.0}, "mass"),
    ({"spring.stiffness": np.nan}, "stiffness"),
])  # fmt: skip
def test_refused(values, words):
    model = rod().build()
    before = model.F.copy()
    with pytest.raises(ValueError, match=words):
        model.with_values(values)
    assert np.array_equal(model.F, before)
    with pytest.raises(TypeError, match="values must be a dict"):
        model.with_values([("rod.mass", 1.0)])


def test_every_body_is_asked():
    """Values of all numbers of all kinds of bodies."""
    for name, cls in BODIES.items():
        if "example" in vars(cls) or name in ("Body", "Ground"):
            continue
        words = inspect.signature(cls).parameters
        options = {"mass": 1.3, "inertia": (0.2, 0.3, 0.35), "position": (1.0, 2.0, 3.0)}
        options = {k: v for k, v in options.items() if k in words}

        def system(cls=cls, **options):
            system = mbd.System()
            system.add(cls("body", **options))
            return system

        model = system(**options).build()
        for argument, value in options.items():
            new = np.asarray(value) * 1.5
            new = float(new) if new.ndim == 0 else new
            fresh = system(**(options | {argument: new})).build()
            assert same(model.with_values({f"body.{argument}": new}), fresh)


def test_a_system_far_from_the_origin_moves_there():
    """Positions are stored from a point that changes with them."""
    model = rod().build()
    shift = np.array([3e7, 0.0, 0.0])
    values = {"rod.position": shift, "end.position": shift + np.array([1.5, 0, 0]),
              "hinge.at": shift - np.array([0.5, 0, 0])}  # fmt: skip
    other = model.with_values(values)
    assert other.origin.any()
    assert other.F[other.I[m.GROUND]] == -other.origin[0]
    assert np.abs(other.state.q[:3]).max() < 10.0
