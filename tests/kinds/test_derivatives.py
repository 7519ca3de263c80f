"""Derivatives of runs are those of what is run: of every part, formulation, level, both ways."""

import numpy as np
import pytest
import recipes
from recipes import FORMS, FORMULATIONS, JOINT_RECIPES, STILL, _along
from scenes import with_body

import mbd
from mbd.base.recorded_call import signature

# near the stop: pushed far it would leave it where its force ends in a kink
RECIPES = recipes.RECIPES | {
    ("Stop", "touching"): _along(
        "Stop", "angle", lower=-9.0, upper=-0.3, stiffness=30.0, dissipation=0.1
    )
}
ROUND_OFF = {("Gear", "unlike angles"): 1e-3}  # of the differences, in loops of many rows
WEIGHTS = {1: 2 / 3, 2: -1 / 12}
STEP, STEPS = 0.01, 4
MADE = []


def varied(value, p, factor):
    """Return an argument with all of its numbers as formulas of p, or None if it has none."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None
    if isinstance(value, int | float):
        return value * (1 + factor * p) + 0.003 * p
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        return None
    return (
        tuple(y * (1 + factor * p) + 0.003 * p for y in x) if x.ndim == 1 and x.size < 9 else None
    )


def described(recipe, value, formulation="so3", moving=True):
    """Return two bodies and a part on them, every number of the first and the part by one p.

    A body that is not `moving` stays at its place: parts are placed on it once.
    """
    p = mbd.Parameter("p", value)
    system, one = with_body(
        "one", gravity=(0.1, -0.2, -9.7 * (1 + 0.1 * p)), mass=1.7 + 0.3 * p,
        inertia=(0.31 + 0.1 * p, 0.42 + 0.2 * p, 0.37),
        position=(0.1 + (0.02 * p if moving else 0.0), 0.2, -0.3),
        center_of_mass=(0.05, 0.02 * p, -0.03), velocity=(0.4, 0.1 + 0.2 * p, -0.3),
        angular_velocity=(0.3, -0.5 + 0.1 * p, 0.4), formulation=formulation,
    )  # fmt: skip
    two = system.add(
        mbd.RigidBody(
            "two", mass=0.9, inertia=(0.2, 0.3, 0.25), position=(0.7, -0.1, 0.2),
            velocity=(-0.2, 0.1, 0.3), angular_velocity=(0.1, 0.3, -0.2), formulation=formulation,
        )
    )  # fmt: skip
    thing = recipe(one, two, STILL)
    for joint in MADE:
        if joint.name not in system:
            system.add(joint)
    MADE.clear()
    system.add(with_formulas(thing, p))
    return system


def with_formulas(part, p):
    """Return a part of which every number that may change does so with p."""
    bound = signature(type(part)).bind(*part.call.args, **part.call.options)
    bound.apply_defaults()
    for i, (argument, value) in enumerate(list(bound.arguments.items())):
        around = [mbd.Parameter("p", x) for x in (0.0, 0.01, -0.01)]
        *around, new = (varied(value, x, 0.1 + 0.03 * i) for x in (*around, p))
        if new is None:
            continue
        try:
            kinds = []
            for bound.arguments[argument] in (*around, new):
                thing = type(part)(*bound.args, **bound.kwargs)
                kinds.append([e.kind for e in thing.elements()])
            if kinds[0] != kinds[1]:  # a compliance of zero is none: rows of another kind
                bound.arguments[argument] = value
        except (ValueError, TypeError):
            bound.arguments[argument] = value
    return type(part)(*bound.args, **bound.kwargs)


def numbers(run):
    """Return what is compared of a run or of its derivative: positions, turns, reactions."""
    return {
        "position": np.array([run[x].position for x in ("one", "two")]),
        "turn": np.array([run[x].rotation for x in ("one", "two")]),
        "velocity": np.array([run[x].velocity for x in ("one", "two")]),
        "energy": run.energy.kinetic,
    }


def differences(make, method, e):
    """Return derivatives of runs by differences of order four."""
    total = {}
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            run = mbd.simulate(make(sign * k * e), STEP * STEPS, STEP, method=method, project=True)
            for name, x in numbers(run).items():
                total[name] = total.get(name, 0.0) + sign * w / e * x
    return total


OBJECTIVE = mbd.Objective(
    terminal=lambda last: last["two"].position[2] + last["one"].velocity[0],
    running=lambda run: run["two"].velocity[:, 1] ** 2 + run["one"].rotation[:, 0, 1],
)


def check(make, method, tolerance=1e-6):
    """Compare forward with differences, and the adjoint with forward."""
    options = {"t_end": STEP * STEPS, "step": STEP, "method": method, "project": True}
    s = mbd.sensitivities(make(0.0), **options)
    mine, theirs = numbers(s["p"]), differences(make, method, 2e-3)
    for name, x in theirs.items():
        assert np.abs(mine[name] - x).max() <= tolerance * np.abs(x).max(), name
    z, run = s["p"], s.solution
    forward = z["two"].position[-1, 2] + z["one"].velocity[-1, 0] + np.trapezoid(
        2 * run["two"].velocity[:, 1] * z["two"].velocity[:, 1] + z["one"].rotation[:, 0, 1],
        run.t,
    )  # fmt: skip
    g = mbd.gradient(OBJECTIVE, make(0.0), **options)
    assert g["p"] == pytest.approx(forward, rel=1e-10, abs=1e-12)


@pytest.fixture
def joints_of_recipes(monkeypatch):
    """Let joints that recipes make for their coordinates be parts of the system."""

    def kept(cls):
        def make(*args, **options):
            MADE.append(cls(*args, **options))
            return MADE[-1]

        return make

    for name in ("Cylindrical", "Universal"):
        monkeypatch.setattr(mbd, name, kept(getattr(mbd, name)))


@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part(key, joints_of_recipes):
    """One parameter in every number of a part and of a body."""
    moving = key[0] in ("joint", "PointForce", "Moment", "Spring", "Bushing", "RotationalSpring")
    moving = moving and key[1] != "PrescribedMotion"
    method = mbd.GeneralizedAlpha(tol=1e-12)
    make = lambda p: described(RECIPES[key], p, moving=moving)  # noqa: E731
    check(make, method, ROUND_OFF.get(key, 1e-6))


@pytest.mark.slow
@pytest.mark.parametrize("name", [x for x, f in (FORMS | FORMULATIONS).items() if f.axes])
@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part_in_every_formulation(key, name, joints_of_recipes):
    """The whole product, at the level of rows that the number of its name gives."""
    formulation, level = (FORMS | FORMULATIONS)[name], ("position", "velocity")[len(name) % 2]
    moving = key[0] in ("joint", "PointForce", "Moment", "Spring", "Bushing", "RotationalSpring")
    moving = moving and key[1] != "PrescribedMotion"
    make = lambda p: described(RECIPES[key], p, formulation, moving)  # noqa: E731
    try:
        redundant = make(0.0).build().redundant
    except ValueError as error:  # parts that refuse bodies which do not keep their size
        if not name.startswith("breathing"):
            raise
        pytest.skip(str(error))
    method = mbd.GeneralizedAlpha(tol=1e-12, constraints="position" if redundant else level)
    check(make, method, ROUND_OFF.get(key, 1e-6))


@pytest.mark.parametrize(("i", "name"), [*enumerate([*FORMULATIONS, *FORMS])])
def test_every_formulation(i, name):
    """A ball joint between two bodies that turn, by their masses, places and velocities."""
    formulation = (FORMS | FORMULATIONS)[name]
    if formulation.axes:
        level = ("position", "velocity")[i % 2]
        method = mbd.GeneralizedAlpha(tol=1e-12, constraints=level)
        check(lambda p: described(JOINT_RECIPES["Spherical"], p, formulation), method)


@pytest.mark.slow
@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_every_part_about_a_pose_at_rest(key, joints_of_recipes):
    """Eigenvalues of two bodies on bushings with a part between them, by a number in all of it."""
    p = mbd.Parameter("p", 0.0)
    system = mbd.System(gravity=(0.1, -0.2, -9.7 * (1 + 0.1 * p)))
    common = {"inertia": (0.31 + 0.1 * p, 0.42 + 0.2 * p, 0.37), "center_of_mass": (0, 0.02 * p, 0)}
    bodies = [
        system.add(mbd.RigidBody(name, mass=mass + 0.3 * p, position=at, **common))
        for name, mass, at in (("one", 1.7, (0.1, 0.2, -0.3)), ("two", 0.9, (0.7, -0.1, 0.2)))
    ]
    for body, k in zip(bodies, (900.0, 700.0), strict=True):
        stiffness = (k, 800.0, 1600.0 - k, 60.0, 50.0, 40.0)
        system.add(
            mbd.Bushing(
                f"{body.name} held", system.ground, body, at=body.position, stiffness=stiffness
            )
        )
    thing = RECIPES[key](*bodies, STILL)
    for joint in MADE:
        if joint.name not in system:
            system.add(joint)
    MADE.clear()
    system.add(with_formulas(thing, p))
    try:
        pose = mbd.equilibrium(system)
        modes = mbd.modes(pose)
    except (ValueError, RuntimeError) as error:  # parts that move their bodies
        pytest.skip(str(error))
    mine, total, e = mbd.sensitivities(modes)["p"].eigenvalues, 0.0, 1e-3
    free = np.abs(modes.eigenvalues) < 1e-6  # where rows on velocities leave positions
    assert np.array_equal(np.isnan(mine), free)
    mine[free] = 0.0
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            model = pose.model.with_values({"p": sign * k * e})
            s = mbd.modes(mbd.equilibrium(model, state=pose.state)).eigenvalues
            ahead = modes.eigenvalues + sign * k * e * mine  # those that cross change their order
            total = total + sign * w / e * s[np.abs(ahead[:, None] - s).argmin(axis=1)]
    assert np.abs(mine - total)[~free].max() <= 1e-6 * np.abs(total[~free]).max()
