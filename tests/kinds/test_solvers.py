"""The matrix of the time loop: shown, factored, solved; Newton's convergence; fallbacks."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from families import spread
from scenes import chain, four_bar, hinged, random_system
from scipy.sparse.linalg import splu

import mbd
from mbd.analyses.conformance import random_state
from mbd.formulations import NAMES
from mbd.integration.newton_loop import correct, predict, set_weights
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import evaluate_kernel, linearise_kernel
from mbd.model.independent_rows import selected
from mbd.model.pattern import sparse
from mbd.model.workspace import Workspace

SHAPES = ["chain", "tree", "star", "ladder", "grid", "ring", "floating", "web"]


@kernel
def begin(I, F, k):
    """Set weights and predict a step."""
    set_weights(I, F)
    predict(I, F)


@kernel
def apply(I, F, k):
    """Correct the iterate with the solution in X."""
    correct(I, F)


def parameters(work, h, rho=0.8):
    method = mbd.GeneralizedAlpha(rho=rho)
    F = work.F
    F[m.H], F[m.TOL], F[m.THETA] = h, 1e-7, 0.5
    F[m.ALPHA_M], F[m.ALPHA_F] = method.alpha_m, method.alpha_f
    F[m.BETA], F[m.GAMMA] = method.beta, method.gamma


def filled(model, state, h, rho=0.8, drop=True):
    """Return a work space with the matrix of the time loop at a state, D = 0."""
    work = Workspace(model, state)
    parameters(work, h, rho)
    begin(work.I, work.F)
    work.load(state)
    if drop:
        work.drop(selected(model, state).dropped)
    evaluate_kernel(work.I, work.F)
    linearise_kernel(work.I, work.F)
    return work


def in_order(model, S):
    """Return a matrix over the unknowns in the order of the labels."""
    order = np.concatenate([model.numbering.v, model.numbering.lam])
    return S.tocsr()[order][:, order]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rho", [0.0, 0.6, 1.0])
def test_the_matrix_shown_is_the_matrix_factored(shape, rho):
    rng = np.random.default_rng(33013)
    model = random_system(shape, rng).build()
    state = random_state(model, rng)
    h = 3e-2
    work = filled(model, state, h, rho, drop=False)
    inside = in_order(model, sparse(model, work.F)).toarray()
    shown = model.assemble(state).iteration_matrix(h, rho).toarray()
    assert np.allclose(shown, inside, rtol=0, atol=1e-15 * np.abs(inside).max())
    corner = slice(model.n_v, None)
    assert not shown[corner, corner].any()
    assert not inside[corner, corner].any()


@spread(seed=range(36017, 36017 + 6), shape=SHAPES)
def test_fronts_solve_what_splu_solves(shape, seed):
    """Same right-hand side, random topology, mixed formulations; residual and solution agree."""
    rng = np.random.default_rng(seed)
    model = random_system(shape, rng).build()
    state = random_state(model, rng)
    state = state.replace(lam=0.1 * state.lam)
    if model.I[m.LOOPS]:  # the order is made for poses that meet their rows
        state = state.replace(q=model.state.q)
    work = filled(model, state, 1e-3)
    S = sparse(model, work.F)
    b = rng.normal(size=S.shape[0])
    work.vector(m.X)[:] = b
    work.S[m.SMALL_PIVOTS] = 0
    factor_and_solve(work.I, work.F, 1)
    x = work.vector(m.X).copy()
    assert work.S[m.SMALL_PIVOTS] == 0
    y = splu(S).solve(b)
    size = abs(S) @ np.abs(y) + np.abs(b)
    backward, same = (1e-8, 1e-8) if model.I[m.LOOPS] else (1e-11, 1e-11)
    assert np.max(np.abs(S @ x - b) / size) < backward
    # one step of refinement
    work.vector(m.X)[:] = b - S @ x
    factor_and_solve(work.I, work.F, 0)
    x = x + work.vector(m.X)
    assert np.max(np.abs(S @ x - b) / size) < (1e-12 if model.I[m.LOOPS] else 2e-15)
    v = model.numbering.v
    assert np.allclose(x[v], y[v], rtol=0, atol=same * np.abs(y[v]).max())


@pytest.mark.parametrize("shape", ["chain", "tree", "star"])
def test_fronts_are_exact_without_loops(shape):
    """Without redundant rows the solution itself has ten digits or more."""
    rng = np.random.default_rng(36107)
    for _ in range(10):
        model = random_system(shape, rng).build()
        work = filled(model, mbd.assemble_pose(model), 1e-3)
        S = sparse(model, work.F)
        b = rng.normal(size=S.shape[0])
        work.vector(m.X)[:] = b
        factor_and_solve(work.I, work.F, 1)
        y = splu(S).solve(b)
        assert np.linalg.norm(work.vector(m.X) - y) < 1e-9 * np.linalg.norm(y)


def iterate(model, h, n):
    """Return the sizes of the increments of full Newton in one large step."""
    work = Workspace(model, mbd.consistent(model))
    parameters(work, h)
    begin(work.I, work.F)
    work.F[m.T] += h
    sizes, v = [], model.numbering.v
    for _ in range(n):
        evaluate_kernel(work.I, work.F)
        linearise_kernel(work.I, work.F)
        factor_and_solve(work.I, work.F, 1)
        sizes.append(np.abs(work.vector(m.X)[v]).max())
        apply(work.I, work.F)
    return np.array(sizes)


@pytest.mark.parametrize("joint", ["Spherical", "Revolute"])
@pytest.mark.parametrize("formulations", [*((x,) for x in NAMES), NAMES])
def test_full_newton_doubles_the_digits(formulations, joint):
    model = chain(3, formulations, joint=joint, spin=3.0 if joint == "Spherical" else 0.0).build()
    sizes = iterate(model, 0.2, 9)
    digits = -np.log10(sizes)
    # from three digits on, every increment has about twice the digits of the one before
    first = int(np.argmax(digits > 3.0))
    assert digits[first] < 7
    checked = 0
    for one, two in zip(digits[first:], digits[first + 1 :], strict=False):
        if one > 8.0:
            break
        assert two > min(1.75 * one, 13.0), sizes
        checked += 1
    assert checked >= 1
    assert digits[-1] > 13.0


SCENES = {
    "chain": lambda: chain(4, NAMES, spin=2.0),
    "hinges": lambda: chain(4, NAMES, joint="Revolute"),
    "loop": lambda: four_bar(NAMES),
}


@spread(
    other=[
        {"linear_solver": "splu"},
        {"newton": "full"},
        {"newton": "full", "linear_solver": "splu"},
    ],
    name=SCENES,
)
def test_all_ways_to_solve_give_one_run(name, other):
    system = SCENES[name]()
    one = mbd.simulate(system, 0.2, 2e-3, method=mbd.GeneralizedAlpha(tol=1e-10))
    two = mbd.simulate(system, 0.2, 2e-3, method=mbd.GeneralizedAlpha(tol=1e-10, **other))
    assert np.allclose(one.q, two.q, rtol=0, atol=1e-9)
    assert np.allclose(one.v, two.v, rtol=0, atol=1e-7)
    assert np.allclose(one.a, two.a, rtol=0, atol=1e-4 * np.abs(one.a).max())
    assert np.ptp(one.q, axis=0).max() > 0.1
    if other.get("newton") == "full":
        assert two.stats["factorizations"] >= two.stats["iterations"]


def residual(solution):
    """Return the largest residual of the equations of motion at all stored instants [N]."""
    model = solution.model
    work, worst = Workspace(model), 0.0
    for i, t in enumerate(solution.t):
        now = model.state.replace(t=t, q=solution.q[i], v=solution.v[i], a=solution.a[i],
                                  lam=solution.lam[i])  # fmt: skip
        work.load(now)
        work.evaluate()
        worst = max(worst, np.abs(work.vector(m.X)[model.numbering.v]).max())
    return worst


@pytest.mark.parametrize("options", [{}, {"newton": "full"}, {"linear_solver": "splu"}])
@pytest.mark.parametrize("name", ["chain", "hinges"])
def test_stored_states_satisfy_the_equations(name, options):
    method = mbd.GeneralizedAlpha(tol=1e-10, **options)
    assert residual(mbd.simulate(SCENES[name](), 0.1, 2e-3, method=method)) < 1e-6


@pytest.mark.parametrize("options", [
    {},
    {"newton": "full"},
    {"linear_solver": "splu"},
])  # fmt: skip
def test_stored_states_satisfy_the_equations_with_redundant_rows(options):
    """Taking the loose part out of the multipliers must leave B^T lam as it is."""
    method = mbd.GeneralizedAlpha(tol=1e-10, **options)
    solution = mbd.simulate(four_bar(NAMES), 0.2, 2e-3, method=method)
    assert solution.model.redundant
    assert residual(solution) < 1e-5


# --- pivots that the fronts do not trust ---------------------------------------------------------
STEP = 2.0**-6  # with rho = 1 and this step the weights are powers of two: w_M = 1, w_K = 2^-14
EXACT = mbd.GeneralizedAlpha(rho=1.0)


def buckling():
    """Return masses on a line with a spring so negative that one pivot is exactly zero.

    The stiffness times its weight is minus the mass: the block of the mass that is eliminated
    first vanishes along the spring, while the matrix of all masses is regular.
    """
    system = mbd.System()  # the last in the chain is eliminated first
    far = system.add(mbd.PointMass("far", mass=3.0, position=(3, 0, 0)))
    other = system.add(mbd.PointMass("two", mass=1.0, position=(2, 0, 0)))
    system.add(mbd.Spring("t", other, far, stiffness=20.0, length=0.9))
    one = system.add(mbd.PointMass("one", mass=1.0, position=(1, 0, 0)))
    system.add(mbd.Spring("s", one, other, stiffness=-(2.0**14), length=1.0))
    return system


def test_a_zero_pivot_is_seen_and_solved_by_pivoting():
    model = buckling().build()
    first = mbd.consistent(model)
    work = filled(model, first, STEP, 1.0)
    S = sparse(model, work.F)
    assert np.linalg.cond(S.toarray()) < 1e4
    work.S[m.SMALL_PIVOTS] = 0
    factor_and_solve(work.I, work.F, 1)
    assert work.S[m.SMALL_PIVOTS] >= 1
    fronts = mbd.simulate(model, 5 * STEP, STEP, method=EXACT)
    assert fronts.stats["pivoting_steps"] >= 1
    method = mbd.GeneralizedAlpha(rho=1.0, linear_solver="splu")
    other = mbd.simulate(model, 5 * STEP, STEP, method=method)
    assert other.stats["pivoting_steps"] == 0
    assert np.array_equal(fronts.t, other.t)
    assert np.array_equal(fronts.t, STEP * np.arange(6))
    size = np.abs(fronts.q).max()
    assert np.allclose(fronts.q, other.q, rtol=0, atol=1e-9 * size)
    assert np.allclose(fronts.v, other.v, rtol=0, atol=1e-7 * np.abs(fronts.v).max())
    # internal forces do not move the centre of mass
    centre = fronts["one"].position + fronts["two"].position + 3 * fronts["far"].position
    assert np.allclose(centre, centre[0], rtol=0, atol=1e-9 * size)
    assert np.ptp(fronts["one"].position[:, 0]) > 1e-3


@pytest.mark.filterwarnings("ignore:steps of .* are too large:RuntimeWarning")
def test_records_are_complete_when_steps_change_solver():
    """`every` counts the steps of both solvers together."""
    model = buckling().build()
    whole = mbd.simulate(model, 7 * STEP, STEP, method=EXACT)
    some = mbd.simulate(model, 7 * STEP, STEP, method=EXACT, every=3)
    assert some.stats["pivoting_steps"] >= 1
    assert np.array_equal(some.t, STEP * np.array([0, 3, 6, 7]))
    assert np.array_equal(some.q, whole.q[[0, 3, 6, 7]])


def test_a_plate_without_thickness():
    """Its director has no mass along the thickness: rows change places inside the front."""

    def build(formulation):
        system, *_ = hinged(
            "plate", "pin", kind="Spherical", inertia=(0.1, 0.2, 0.3), angular_velocity=(0.4, 0, 0),
            formulation=formulation,
        )  # fmt: skip
        return mbd.simulate(system, 0.2, 1e-3)

    flat, lie = build("directors"), build("so3")
    assert abs(flat["plate"].body.second_moments[2, 2]) < 1e-15
    assert np.allclose(flat["plate"].position, lie["plate"].position, rtol=0, atol=1e-5)
    assert np.allclose(flat["pin"].force, lie["pin"].force, rtol=0, atol=2e-2)
    assert np.ptp(lie["plate"].position, axis=0).max() > 0.05


# --- plain Python --------------------------------------------------------------------------------
_SCRIPT = """
import numpy as np
import mbd
from mbd.machine.jit import PYTHON

def run():
    system = mbd.System(gravity=(0, 0, -9.81))
    a = system.add(mbd.RigidBody("a", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0),
                                 center_of_mass=(0.1, 0, 0)))
    b = system.add(mbd.RigidBody("b", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(1.5, 0, 0),
                                 formulation="directors"))
    system.add(mbd.Revolute("A", system.ground, a, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Universal("B", a, b, at=(1, 0, 0), axis=(0, 1, 0), second_axis=(0, 0, 1)))
    system.add(mbd.Spring("s", system.ground, b, at=(2, 1, 0), stiffness=50.0, damping=1.0))
    system.add(mbd.RotationalSpring("r", system["A"], stiffness=3.0))
    system.add(mbd.Moment("m", b, lambda t: (np.sin(t), 0, 1.0), follow=True))
    s = mbd.simulate(system, 0.01, 1e-3, method=mbd.GeneralizedAlpha(tol=1e-10))
    return np.concatenate([s.q[-1], s.v[-1], s.lam[-1]]), s.stats["iterations"]
"""


def test_plain_python_gives_the_same_numbers():
    here: dict = {}
    exec(_SCRIPT, here)
    numbers, iterations = here["run"]()
    script = _SCRIPT + (
        "numbers, n = run()\nassert PYTHON\nprint(n, *(float(x).hex() for x in numbers))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, timeout=120,
    )  # fmt: skip
    n, *hexes = done.stdout.split()
    slow = np.array([float.fromhex(x) for x in hexes])
    assert int(n) == iterations
    # fused multiply-add and the order of vector sums make the last digits differ
    assert np.allclose(slow, numbers, rtol=1e-6, atol=1e-8)
    assert not here["PYTHON"]


def test_labels_name_every_row_and_column():
    model = four_bar(NAMES).build()
    A = model.assemble()
    assert len(set(model.labels)) == len(model.labels) == model.n_v + model.n_lam
    assert A.rows + A.constraints == model.labels
    whole = sp.block_array([[A.M, A.Bt], [A.B, None]])
    assert whole.shape == (len(model.labels), len(model.labels))
    # B of a body's own row touches this body only
    B = A.B.toarray()
    for i, label in enumerate(A.constraints):
        owner = label.split(".")[0]
        touched = {A.rows[c].split(".")[0] for c in np.flatnonzero(B[i])}
        if owner in model.bodies:
            assert touched == {owner}
        else:
            joint = model.system.joints[owner]
            assert touched <= {b.name for b in joint.bodies}
