"""Methods in plain Python: those of the page, on more models, and what surrounds them."""

import ast

import numba
import numpy as np
import pytest
from scenes import chain, four_bar
from test_door_of_methods import outside
from test_examples import ROOT, blocks

import mbd
from mbd.formulations import NAMES

PAGE = ROOT / "docs" / "howto" / "own_method.rst"
LEVELS = {"positions": "position", "rates": "velocity", "stabilized": "stabilized"}


@pytest.fixture(scope="module")
def page():
    """Return the names of the page: its classes and functions."""
    names, kept = {}, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    for language, code in blocks(PAGE):
        if language == "python":
            tree = ast.parse(code)
            tree.body = [x for x in tree.body if isinstance(x, kept)]
            exec(compile(tree, PAGE.name, "exec"), names)
    return names


@pytest.fixture(scope="module")
def alpha(tmp_path_factory):
    """Return the compiled method of the other page."""
    with outside(tmp_path_factory.mktemp("compiled")) as methods:
        yield methods["Alpha"]


def mixed(*, loop=True):
    """A chain of all formulations, a frame that does not twist, a redundant loop or three bars."""
    system = chain(6, NAMES, joint="Revolute", spin=0.5)
    needle = system.add(
        mbd.RigidBody("needle", mass=0.5, inertia=(0.01, 0.01, 0.01), position=(9.0, 0, 0),
                      formulation="directors", angular_velocity=(0.3, 0.2, 0))
    )  # fmt: skip
    system.add(mbd.NonTwisting("frame", needle))
    bars = [
        system.add(mbd.RigidBody(f"rod {i}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=x,
                                 formulation=f))
        for i, (x, f) in enumerate(zip(((0, 5, 0.5), (1, 5, 1), (2, 5, 0.5)),
                                       ("so3", "se3", "unified"), strict=True))
    ]  # fmt: skip
    ends = (system.ground, *bars, system.ground)
    for i, at in enumerate(((0, 5, 0), (0, 5, 1), (2, 5, 1), (2, 5, 0))[: None if loop else 3]):
        system.add(mbd.Revolute(f"loop {i}", ends[i], ends[i + 1], at=at, axis=(0, 1, 0)))
    system.add(mbd.PointForce("push", bars[1], (30.0, 0, 0)))
    return system


def unique(model):
    """Return the rows whose multipliers redundant rows leave unique."""
    free = set(model.report().not_unique)
    return [i for i, x in enumerate(model.numbering.lam_labels) if x not in free]


def assert_same(one, other):
    assert one.success
    assert np.abs(one.q - other.q).max() < 1e-10
    assert np.abs(one.v - other.v).max() < 1e-9
    rows = unique(one.model)
    assert np.abs(one.lam[1:, rows] - other.lam[1:, rows]).max() < 1e-5
    assert np.abs(one.energy.total - other.energy.total).max() < 1e-8


@pytest.mark.parametrize("rows", LEVELS)
def test_an_own_loop_is_that_of_the_library(page, alpha, rows):
    """50 steps, in Python and compiled; the rates of a redundant loop alone would lock it."""
    model = mixed(loop=rows != "rates").build()
    assert model.redundant == (rows != "rates")
    how = mbd.GeneralizedAlpha(tol=1e-12, constraints=LEVELS[rows])
    h = 2e-3
    first = mbd.simulate(model, h, h, method=how, project=True).state
    library = mbd.simulate(model, 51 * h, h, method=how, state=first)
    own = mbd.simulate(model, 51 * h, h, method=page["Alpha"](rows=rows), state=first)
    assert_same(own, library)
    if rows != "stabilized":
        compiled = mbd.simulate(model, 51 * h, h, method=alpha(rows=rows), state=first)
        assert_same(compiled, library)
        assert_same(compiled, own)


def test_an_own_explicit_loop_is_that_of_the_library(page):
    """But for its projection, which moves by the error of a step."""
    model, h = mixed().build(), 1e-3
    first = mbd.consistent(model, project=True)
    library = mbd.simulate(model, 50 * h, h, method=mbd.ExplicitRungeKutta("rk4"), state=first)
    own = mbd.simulate(model, 50 * h, h, method=page["HalfExplicit"](), state=first)
    assert_same(own, library)


def test_the_other_loops_converge_with_their_orders(page):
    """To what collocation finds, on the same model."""
    model = mixed().build()
    start = mbd.consistent(model, project=True)
    exact = mbd.simulate(model, 0.05, 5e-3, method=mbd.RadauCollocation(), state=start)

    def errors(runs):
        return [np.abs(q - exact.q[-1]).max() for q in runs]

    half = errors(
        mbd.simulate(model, 0.05, h, method=page["HalfExplicit"](), state=start).q[-1]
        for h in (1e-2, 5e-3)
    )
    assert half[1] < 1e-7
    assert half[0] / half[1] > 12
    two = errors(page["bdf2"](model, start, 0.05 / n, n)[-1].q for n in (10, 20))
    assert two[1] < 1e-3
    assert two[0] / two[1] > 3.3


def test_the_loop_of_two_steps_is_the_textbooks(page):
    """BDF2 of a pendulum in x, v and its tension N, written down without the library."""
    system = mbd.System(gravity=(0.3, 0, -9.81))
    bob = system.add(mbd.PointMass("bob", mass=2.0, position=(0.6, 0, -0.8), velocity=(0, 1, 0)))
    rod = system.add(mbd.Distance("rod", system.ground, bob, length=1.0))
    model, h, n = system.build(), 4e-3, 50
    states = page["bdf2"](model, mbd.consistent(model), h, n)
    arrays = (np.array([getattr(s, x) for s in states]) for x in ("t", "q", "v", "a", "lam"))
    own = mbd.Solution(model, *arrays)
    x, v = [np.array([0.6, 0, -0.8])], [np.array([0, 1.0, 0])]
    tensions = []
    for k in range(n):
        if k == 0:
            x0, v0, w = x[0], v[0], h
        else:
            x0, v0, w = (4 * x[k] - x[k - 1]) / 3, (4 * v[k] - v[k - 1]) / 3, 2 / 3 * h
        # x = x0 + w (v0 + w (g - N x / m)) on the unit sphere: the sum without N points along x
        free = x0 + w * v0 + w * w * np.array([0.3, 0, -9.81])
        tensions.append((np.linalg.norm(free) - 1) * 2.0 / w**2)
        x.append(free / np.linalg.norm(free))
        v.append((x[-1] - x0) / w)
    assert np.abs(own["bob"].position - x).max() < 1e-10
    assert np.abs(own["bob"].velocity - v).max() < 1e-9
    assert np.abs(np.linalg.norm(own[rod.name].force[1:], axis=1) - tensions).max() < 1e-5


def test_loops_have_thirty_lines_and_public_names(page):
    """Of each: the step and what it needs; names of the library are those of mbd alone."""
    for language, code in blocks(PAGE):
        if language != "python":
            continue
        tree = ast.parse(code)
        imported = {x.module for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)}
        assert not any(str(x).startswith("mbd") for x in imported)
        assert not [x.attr for x in ast.walk(tree) if isinstance(x, ast.Attribute)
                    if x.attr.startswith("_")]  # fmt: skip
        for x in ast.walk(tree):
            if isinstance(x, ast.FunctionDef):
                assert x.end_lineno - x.lineno < 30, x.name


def test_steps_onto_an_event_and_behind(page):
    def pendulum():
        system = mbd.System(gravity=(0, 0, -9.81))
        rod = system.add(mbd.RigidBody("rod", mass=1.3, inertia=(0.02, 0.1, 0.09),
                                       position=(0.7, 0, 0)))  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
        return system.build()

    event = mbd.Event("down", lambda s: s["rod"].position[:, 0] - 0.3, terminal=True)
    method = page["HalfExplicit"]()
    run = mbd.simulate(pendulum(), 1.0, 1e-2, method=method, events=event)
    exact = mbd.simulate(pendulum(), 1.0, rtol=1e-9, events=event)
    assert abs(run.t[-1] - exact.t[-1]) < 1e-6
    assert abs(run["rod"].position[-1, 0] - 0.3) < 1e-9
    angle = run["hinge"].angle
    assert np.abs(angle[-1] - exact["hinge"].angle[-1]) < 1e-6
    stepper = mbd.Stepper(pendulum(), 1e-2, method=method)
    stepper.step(10)
    assert np.array_equal(stepper.state.q, run.q[10])


def test_feedback_laws_and_inputs_meet_steps_in_python(page):
    """Jitted laws too; all steps are recorded, and those of a stepper with arrays are the same."""
    system = mbd.System()
    cart = system.add(mbd.PointMass("cart", mass=2.0, position=(1.0, 0, 0)))
    system.add(mbd.PointForce("push", cart, (0.0, 0, 0)))
    model, method = system.build(), page["HalfExplicit"]()

    def law(t, y):
        return -9.0 * y[0] - 6.0 * y[1], 0.0, 0.0

    runs = []
    for f in (law, numba.njit(law)):
        pd = mbd.Controller("pd", ["cart.position.x", "cart.velocity.x"], ["push.force"],
                            law=f, every=0.02)  # fmt: skip
        runs.append(mbd.closed_loop(model, pd, 0.2, 0.01, method=method))
    one, other = runs
    assert len(one.solution.t) == 21
    assert np.array_equal(one.solution.q, other.solution.q)
    stepper = mbd.Stepper(model, 0.01, method=method, inputs=["push.force"],
                          observe=["cart.position.x", "cart.velocity.x"])  # fmt: skip
    for _ in range(10):
        stepper.u[:] = law(0.0, stepper.y)
        stepper.step(2)
    assert np.array_equal(stepper.state.q, one.solution.q[-1])


def test_angles_count_turns(page):
    system = mbd.System()
    wheel = system.add(mbd.RigidBody("wheel", mass=1.0, inertia=(1, 1, 2), formulation="so3",
                                     angular_velocity=(0, 0, 30.0)))  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1)))
    run = mbd.simulate(system, 2.0, 0.2, method=page["HalfExplicit"]())  # six rad a step
    assert np.allclose(run["hinge"].angle, 30.0 * run.t, atol=1e-9)


class Raises:
    def step(self, model, state, h):
        if state.t > 0.045:
            raise FloatingPointError("given up")
        return state.replace(t=state.t + h)


class NoState(Raises):
    def step(self, model, state, h):
        return None if state.t > 0.045 else super().step(model, state, h)


class Late(Raises):
    def step(self, model, state, h):
        return state if state.t > 0.045 else super().step(model, state, h)


class NoNumbers(Raises):
    def step(self, model, state, h):
        new = super().step(model, state, h) if state.t <= 0.045 else state.replace(t=state.t + h)
        return new if state.t <= 0.045 else new.replace(lam=np.full(model.n_lam, np.nan))


class Other(Raises):
    def step(self, model, state, h):
        new = state.replace(t=state.t + h)
        return new if state.t <= 0.045 else new.replace(q=np.zeros(3))


class Releases(Raises):
    def step(self, model, state, h):
        new = state.replace(t=state.t + h)
        return new if state.t <= 0.045 else new.replace(off=("A",))


@pytest.mark.parametrize(("own", "words"), [
    (Raises, r"Raises.step raised FloatingPointError at t = 0.05 s: given up"),
    (NoState, "NoState.step must return a State, .* got None"),
    (Late, r"Late.step must return the state at t = 0.06 s, got that at 0.05 s"),
    (NoNumbers, "NoNumbers.step: lam of the state must be finite"),
    (Other, "Other.step: q of the state must be .* numbers"),
    (Releases, "Releases.step must leave off"),
])  # fmt: skip
def test_what_goes_wrong_keeps_what_was_before(own, words):
    with pytest.raises(mbd.SimulationError, match=words) as told:
        mbd.simulate(four_bar(), 0.2, 0.01, method=own())
    assert np.allclose(told.value.solution.t, 0.01 * np.arange(6))
    if own is Raises:
        assert isinstance(told.value.__cause__, FloatingPointError)


@pytest.mark.parametrize("own", [Raises, lambda model, state, h: state, 3.0])
def test_what_is_no_method_is_refused(own):
    with pytest.raises(TypeError, match=r"method must be an integrator.*step\(model, state, h\)"):
        mbd.simulate(four_bar(), 0.1, 0.01, method=own)


def test_files_say_what_the_method_was(page, tmp_path):
    run = mbd.simulate(four_bar(), 0.02, 0.01, method=page["Alpha"](), project=True)
    for name in ("run.npz", "run.nc"):
        run.save(tmp_path / name)
        assert str(mbd.load(tmp_path / name).method) == "Alpha()"


def test_what_needs_more_than_a_step_is_refused():
    with pytest.raises(ValueError, match="rtol and t_eval need GeneralizedAlpha, got Raises"):
        mbd.simulate(four_bar(), 0.1, rtol=1e-6, method=Raises())
    with pytest.raises(ValueError, match="sensitivities: method must be GeneralizedAlpha, of"):
        mbd.sensitivities(four_bar(), ["coupler.mass"], 0.1, 0.01, method=Raises())


def test_studies_and_comparisons_take_own_methods(page):
    mass = mbd.Parameter("mass", 1.0)
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=mass, position=(1.0, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, system["ball"], stiffness=40.0, length=0.5))
    method = page["HalfExplicit"]()
    runs = [mbd.simulate(system.build().with_values({"mass": x}), 0.1, 1e-2, method=method)
            for x in (1.0, 2.0)]  # fmt: skip
    study = mbd.study(system, {"mass": [1.0, 2.0]}, t_end=0.1, step=1e-2, method=method,
                      outputs=["ball.position.x"])  # fmt: skip
    assert np.allclose(study["ball.position.x"], [x["ball"].position[:, 0] for x in runs])
