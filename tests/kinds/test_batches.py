"""Runs that are taken together have the bits of the runs one by one, whatever is in the model."""

import numpy as np
import pytest
from families import spread
from recipes import BODIES, RECIPES, STILL
from scenes import four_bar

import mbd
from mbd.history.instants import instants_of_runs
from mbd.history.totals import masses
from mbd.machine import buffer as m
from mbd.machine.batch import Batch
from mbd.model.least_multipliers import resolved
from mbd.runs.plan import Plan, checked_plan
from mbd.studies.batch_run import Batches

MASSES = (1.7, 0.6, 3.1)
H, STEPS = 1e-3, 12


def described(recipe, mass=1.7):
    """Return two bodies at rest, so that all rows are met, and a part on them."""
    system = mbd.System(gravity=(0.1, -0.2, -9.7))
    one = system.add(
        mbd.RigidBody("one", mass=mass, inertia=(0.31, 0.42, 0.37), position=(0.1, 0.2, -0.3))
    )
    two = system.add(
        mbd.RigidBody("two", mass=0.9, inertia=(0.2, 0.3, 0.25), position=(0.7, -0.1, 0.2))
    )
    system.add(recipe(one, two, STILL))
    return system


def compared(models, method, h=H, steps=STEPS, every=1):
    """Return how many runs are good for a batch, all of them compared with simulate."""
    method = method.facts.complete(False) if method.facts.complete else method
    way = Batches(models[0], method, Plan(steps * h, h, every=every))
    if not way.open:
        assert models[0].laws
        return 0
    F = np.array([x.F for x in models])
    instants = way.go(F)
    told = instants_of_runs(models[0], F, np.array([masses(x) for x in models]), instants.rows)
    for i in np.flatnonzero(instants.clean):
        alone = mbd.simulate(models[i], steps * h, h, method=method, every=every)
        assert np.array_equal(instants.t, alone.t)
        q, v, a, lam = (x[i] for x in instants.raw)
        lam = resolved(models[i], instants.t, q, lam)
        for name, x in zip(("q", "v", "a", "lam"), (q, v, a, lam), strict=True):
            assert np.array_equal(x, getattr(alone, name)), name
        energy, momentum = alone.energy, alone.momentum
        same = (
            *zip(told.energies, (energy.kinetic, energy.potential, energy.dissipated, energy.work,
                                  energy.impulsive),
                 strict=True),
            *zip(told.momenta, (momentum.linear, momentum.angular), strict=True),
            (told.gap, alone.gap),
        )  # fmt: skip
        assert all(np.array_equal(x[i], y) for x, y in same)
    return int(instants.clean.sum())


FREE = (
    mbd.GeneralizedAlpha(), mbd.ExplicitRungeKutta(), mbd.RadauCollocation(stages=3),
    mbd.ExplicitRungeKutta(tableau="tsit5"),
)  # fmt: skip
LIMITS = ({"rtol": 1e-6}, {"rtol": 1e-4, "t_eval": [0.0, 0.011, 0.02]}, {"rtol": 1e-7, "step": H})


def compared_free(models, method, t_end, **limits):
    """Return how many runs whose steps are chosen are good for a batch, compared with simulate."""
    method = method.facts.complete(True) if method.facts.complete else method
    options = {"step": None, "atol": None, "max_step": None, "t_eval": None, "every": 1} | limits
    first = mbd.consistent(models[0])
    way = Batches(models[0], method, checked_plan(models[0], first, method, t_end=t_end, **options))
    if not way.open:
        assert models[0].laws
        return 0
    instants = way.go(np.array([x.F for x in models]))
    for i in np.flatnonzero(instants.clean):
        alone = mbd.simulate(models[i], t_end, method=method, **limits)
        assert np.array_equal(instants.of(i, instants.rows[i, :, 0]), alone.t)
        q, v, a, lam = (instants.of(i, x[i]) for x in instants.raw)
        lam = resolved(models[i], alone.t, q, lam)
        for name, x in zip(("q", "v", "a", "lam"), (q, v, a, lam), strict=True):
            assert np.array_equal(x, getattr(alone, name)), name
    return int(instants.clean.sum())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@spread(key=RECIPES, method=FREE, limits=LIMITS)
def test_steps_that_are_chosen(key, method, limits):
    """Each run takes its own; those that need a look at rows or another method leave."""
    models = [described(RECIPES[key], x).build() for x in MASSES]
    try:
        clean = compared_free(models, method, 0.02, **limits)
    except ValueError:  # rows that are not met at rest, or a kind that the method refuses
        return
    assert clean in (0, len(MASSES))


def test_few_runs_leave_that_choose_their_steps():
    """As many as fit are taken together; nothing depends on how many instants there are."""
    model = described(RECIPES["joint", "Revolute"]).build()
    models = [model.with_values({"one.mass": x}) for x in MASSES]
    for method in FREE:
        for limits in (*LIMITS, {"rtol": 1e-10}, {"rtol": 1e-5, "max_step": 1e-4}):
            assert compared_free(models, method, 0.05, **limits) == len(MASSES)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part(key):
    models = [described(RECIPES[key], x).build() for x in MASSES]
    try:
        mbd.consistent(models[0])
    except ValueError:  # rows that are not met at rest: a drive that moves
        with pytest.raises(ValueError, match="violate"):
            compared(models, mbd.GeneralizedAlpha())
        return
    clean = compared(models, mbd.GeneralizedAlpha())
    assert clean == (0 if models[0].laws else len(MASSES))


@pytest.mark.parametrize("method", [
    mbd.GeneralizedAlpha(constraints="stabilized"),
    mbd.GeneralizedAlpha(constraints="velocity"),
    mbd.GeneralizedAlpha.hht(0.1),
    mbd.LieRungeKutta4(),
], ids=str)  # fmt: skip
def test_methods(method):
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    system.add(
        mbd.RigidBody("one", mass=1.0, inertia=(0.1, 0.2, 0.25), angular_velocity=(1, 0.1, 0.2))
    )
    system.add(mbd.Moment("push", system["one"], (0.1, 0.2, 0.3)))
    model = system.build()
    models = [model.with_values({"one.mass": x}) for x in MASSES]
    assert compared(models, method, steps=60) == len(MASSES)


@pytest.mark.parametrize("every", [1, 4])
def test_loops_with_redundant_rows(every):
    model = four_bar().build()
    assert model.redundant
    name = next(iter(model.nodes))
    models = [model.with_values({f"{name}.mass": x}) for x in MASSES]
    assert compared(models, mbd.GeneralizedAlpha(), steps=60, every=every) == len(MASSES)


@pytest.mark.parametrize("body", BODIES)
def test_bodies_without_rows(body):
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    if body == "Ground":
        return
    options = {} if body == "PointMass" else {"inertia": (0.1, 0.2, 0.25)}
    system.add(getattr(mbd, body)("one", mass=1.0, velocity=(1, 0, 0), **options))
    model = system.build()
    models = [model.with_values({"one.mass": x}) for x in MASSES]
    assert compared(models, mbd.GeneralizedAlpha()) == len(MASSES)


def test_runs_that_leave_the_straight_way_are_marked():
    """Rows that are not met, a step that fails, steps that are too large."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    one = system.add(mbd.RigidBody("one", mass=1.0, inertia=(0.3, 0.4, 0.35), position=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0)))
    model = system.build()
    way = Batches(model, mbd.GeneralizedAlpha().facts.complete(False), Plan(0.05, 1e-3))
    F = np.tile(model.F, (5, 1))
    F[1, model.I[m.Q]] += 0.01  # the joint is open
    F[2, model.I[m.V] + model.numbering.v[0]] += 1.0  # its rate is not zero
    F[3, m.GX] = np.nan
    F[4, m.GZ] = -1e7
    assert way.go(F).clean.tolist() == [True, False, False, False, False]


def test_memory_of_a_batch_is_taken_again_when_nobody_has_it():
    """Of two batches that live at the same time too."""
    first = Batch(3, 40)
    kept = first.F[1:2, 3]  # a view of it
    second = Batch(3, 40)
    assert not np.shares_memory(first.F, second.F)
    del first
    alone = second.F[0]
    del second
    third = Batch(3, 40)
    assert not np.shares_memory(third.F, kept.base)
    assert not np.shares_memory(third.F, alone.base)
    places = {x.__array_interface__["data"][0] for x in (kept.base, alone.base, third.F.base)}
    del kept, alone, third
    again = [Batch(2, 40) for _ in range(3)]
    assert {x.F.base.__array_interface__["data"][0] for x in again} == places
