"""Operations on states and the residual in parts, of every formulation and part."""

import numpy as np
import pytest
import scipy.sparse as sp
from flexible.meshes import ends, lattice
from recipes import FORMS, FORMULATIONS, JOINT_RECIPES, STILL, WORN, pair
from scenes import chain, four_bar
from test_derivatives import RECIPES, described

import mbd
from mbd.formulations import NAMES
from mbd.model import state_operations

TERMS = ("inertia", "gyroscopic", "gravity", "internal", "forces", "rows")
ALL = FORMS | FORMULATIONS
WEIGHTS = {1: 2 / 3, 2: -1 / 12}


def flexible():
    """A beam, a flexible body, a spring between them, and a chain of all formulations."""
    system = chain(6, NAMES, joint="Revolute", spin=0.5)
    section = mbd.Section(stiffness=(1e4, 5e3, 5e3, 20.0, 30.0, 20.0), mass=0.5,
                          inertia=(2e-4, 1e-4, 1e-4))  # fmt: skip
    beam = system.add(mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=2,
                               first=system.ground, damping=1e-3))  # fmt: skip
    M, K, X = lattice(stiffness=2e5)
    system.add(mbd.FlexibleBody("bar", M, K, X, ends(X), modes=3, damping=0.02))
    system.add(mbd.Spring("spring", beam.last, system["bar"], stiffness=30.0, length=0.5))
    return system


def some_state(model, seed=0):
    """Return a state in which everything moves."""
    rng = np.random.default_rng(seed)
    n, k = model.n_v, model.n_lam
    state = model.moved(model.state, 0.05 * model.units * rng.normal(size=n))
    return state.replace(
        t=0.3, v=state.v + 0.3 * rng.normal(size=n), a=rng.normal(size=n), lam=rng.normal(size=k)
    )


def close(x, y, tolerance, size=0.0):
    assert np.abs(x - y).max(initial=0.0) <= tolerance * max(np.abs(y).max(initial=0.0), size, 1e-9)


def check(model, tolerance=1e-8):
    """Sums of terms are the residual, and their differences the matrices."""
    state = some_state(model)
    A = model.assemble(state)
    size = sum(np.abs(getattr(A.terms, x)).max(initial=0.0) for x in TERMS)
    close(sum(getattr(A.terms, x) for x in TERMS), A.residual, 1e-13, size)
    close(sum(A.terms[x] for x in A.terms.parts), A.residual, 1e-13, size)
    d = np.random.default_rng(1).normal(size=model.n_v) * model.units
    ways = {
        "M": lambda e: state.replace(a=state.a + e * d),
        "G": lambda e: state.replace(v=state.v + e * d),
        "K": lambda e: model.moved(state, e * d),
    }
    for name, there in ways.items():
        total = np.zeros(model.n_v)
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                terms = model.assemble(there(sign * k * 1e-3)).terms
                total += sign * w / 1e-3 * sum(getattr(terms, x) for x in TERMS)
        matrix = getattr(A, name)
        close(matrix @ d, total, tolerance, size + np.abs(matrix).sum(axis=1).max(initial=0.0))


@pytest.mark.parametrize("key", RECIPES, ids=str)
def test_terms_of_every_part_are_the_residual_and_their_differences_the_matrices(key):
    check(described(RECIPES[key], 0.0).build())


@pytest.mark.parametrize("name", [x for x, f in ALL.items() if f.axes])
def test_terms_of_every_formulation(name):
    check(described(JOINT_RECIPES["Revolute"], 0.0, ALL[name]).build())


def test_terms_of_points():
    system = mbd.System(gravity=(0.3, 0, -9.81))
    one, two = (
        system.add(mbd.PointMass(name, mass=1.3, position=x, velocity=(0.3, -0.2, 0.1)))
        for name, x in (("one", (0, 0, 0)), ("two", (1.0, 0.2, 0)))
    )
    system.add(mbd.Distance("rod", one, two))
    system.add(mbd.Spring("spring", system.ground, two, stiffness=30.0, damping=2.0, length=0.5))
    check(system.build())


@pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")
def test_terms_of_beams_and_flexible_bodies():
    model = flexible().build()
    check(model)
    terms = model.assemble(some_state(model)).terms
    assert np.abs(terms.internal).max() > 0
    assert np.abs(terms["spring"]).max() > 0


@pytest.mark.parametrize("name", [x for x, f in ALL.items() if f.axes])
def test_increments_from_one_pose_to_another(name):
    """Both ways, with the derivative of the increment."""
    model = described(JOINT_RECIPES["Revolute"], 0.0, ALL[name]).build()
    rng = np.random.default_rng(3)
    one = model.state
    size = min(1.0, 0.3 / max(1.0, float(np.abs(one.q).max(initial=0.0))))
    d, e = (size * model.units * rng.normal(size=model.n_v) for _ in range(2))
    two = model.moved(one, d)
    close(model.difference(one, two), d, 1e-10)
    T, away = model.tangent_operator(one, d), []
    for h in (1e-2, 5e-3):
        there = model.moved(one, d + h * e)
        away.append(np.abs(model.difference(model.moved(two, T @ (h * e)), there)).max())
    assert away[0] < 0.1 * np.abs(e).max() * 1e-2
    assert away[1] < max(0.3 * away[0], 1e-12)


def test_matrices_by_name():
    model = four_bar(("so3", "directors")).build()
    A = model.assemble(mbd.consistent(model))
    n = model.n_v
    assert A.block("left", "A", of="Bt").shape == (6, 5)
    assert (A.block("A", "left", of="B") != A.block("left", "A", of="Bt").T).nnz == 0
    S = A.iteration_matrix(1e-3)
    mine = A.block("coupler", "coupler.rows", step=1e-3)
    rows = model.numbering.owners["coupler"]
    assert (mine != S[6:18, n + rows.start : n + rows.stop]).nnz == 0
    assert A.rank == model.n_lam - 3 == len(A.acting)
    assert A.index == 3
    N = A.null_space()
    assert N.shape == (n, 1)
    assert np.abs(A.B @ N).max() < 1e-14
    assert np.isclose(A.condition("M"), np.linalg.cond(A.M.toarray(), 1))
    use = np.r_[:n, n + A.acting]
    dense = A.iteration_matrix(1e-3)[use][:, use].toarray()
    assert 0.5 < A.condition(step=1e-3) / np.linalg.cond(dense, 1) < 1 + 1e-9
    assert A.symmetric[0] == "M"
    assert {type(getattr(A, x)).__name__ for x in ("M", "G", "K", "B", "Bt", "turn")} == {
        "csr_array"
    }


def test_motions_of_separate_mechanisms_share_no_column():
    """A null space is sparse by mechanisms; a body without rows moves as it likes."""
    system = four_bar()
    system.add(mbd.RigidBody("free", mass=1.0, inertia=(1, 1, 1)))
    arm = system.add(mbd.RigidBody("arm", mass=1.0, inertia=(1, 1, 1), position=(5, 0, 0),
                                   formulation="directors"))  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, arm, at=(5, 0, 0), axis=(0, 1, 0)))
    model = system.build()
    A = model.assemble()
    N = A.null_space()
    assert N.shape == (model.n_v, 1 + 6 + 1)
    assert np.abs(A.B @ N).max() < 1e-14
    for names, n in ((("left", "coupler", "right"), 1), (("free",), 6), (("arm",), 1)):
        rows = [i for i, x in enumerate(model.numbering.v_labels) if x.partition(".")[0] in names]
        assert len(set(N[rows].nonzero()[1])) == n
    assert np.linalg.matrix_rank(N.toarray()) == N.shape[1]


@pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")
def test_structures_by_name():
    """The velocities of all their nodes, and their rows; all matrices are of one kind."""
    model = flexible().build()
    A = model.assemble(some_state(model))
    nodes = [x for x in model.nodes if x.startswith("beam.")]
    assert A.block("beam", "beam", of="M").shape == (6 * len(nodes),) * 2
    for i, one in enumerate(nodes):
        for j, other in enumerate(nodes):
            part = A.block("beam", "beam", of="K")[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            assert (part != A.block(one, other, of="K")).nnz == 0
    assert A.block("beam.rows", "beam", of="B").shape == (6, 6 * len(nodes))
    n = model.nodes["bar"].formulation.n_v
    assert A.block("bar", "bar", step=1e-3).shape == (n, n)
    assert (
        type(A.iteration_matrix(1e-3))
        is type(A.M)
        is type(model.tangent_operator(A.state, np.zeros(model.n_v)))
    )


def test_second_rates_of_rows():
    model = chain(3, NAMES, joint="Revolute", spin=1.0).build()
    state = mbd.consistent(model, project=True)
    rates = model.assemble(state).rates
    assert np.abs(rates.first).max() < 1e-10
    assert np.abs(rates.second).max() < 1e-9
    other = state.replace(a=np.zeros(model.n_v))
    assert np.allclose(model.assemble(other).rates.right, rates.right, atol=1e-9)
    assert np.allclose(model.assemble(state).B @ state.a, rates.right, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, A: m.moved(m.state, [1.0]), r"Model.moved: d must be \d+ numbers"),
        (lambda m, A: m.moved(m.state, "up"), "Model.moved: d must be .* numbers, got 'up'"),
        (lambda m, A: m.moved(None, np.full(m.n_v, np.nan)), "must be finite, got nan for 'left.x"),
        (lambda m, A: m.tangent_operator(3, np.zeros(m.n_v)), "state must be a State"),
        (lambda m, A: A.block("lefd", "A"), "part with unknowns 'lefd'.*did you mean 'left'"),
        (lambda m, A: A.block("A", "left", of="K"), "'A' is no part of K"),
        (lambda m, A: A.block("A", "left", of="X"), "of must be one of"),
        (lambda m, A: A.iteration_matrix(), "give step"),
        (lambda m, A: A.iteration_matrix(1e-3, weights=(1, 1, 1)), "not both"),
        (lambda m, A: A.iteration_matrix(weights=(1, 1, 0)), "weights must be three numbers"),
        (lambda m, A: A.iteration_matrix(1e-3, tangent=np.eye(2)), "tangent must be of shape"),
        (lambda m, A: A.right_side(1e-3, rows="all"), "rows must be one of"),
        (lambda m, A: A.condition("K"), "which must be one of"),
        (lambda m, A: A.terms["nobody"], "part 'nobody'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, words):
    model = four_bar().build()
    with pytest.raises((ValueError, TypeError, KeyError), match=words):
        call(model, model.assemble())


@pytest.mark.parametrize("name", ["so3", "se3", "unified"])
@pytest.mark.parametrize("angle", [1e-9, 1.0, 3.1, np.pi])
def test_rotations_up_to_half_a_turn_are_joined(name, angle):
    system = mbd.System()
    system.add(mbd.RigidBody("b", mass=1, inertia=(1, 2, 3), position=(1, 2, 3), formulation=name))
    model = system.build()
    d = np.array([1.0, 0, 0, 0.6 * angle, 0, 0.8 * angle])
    close(model.difference(model.state, model.moved(model.state, d)), d, 1e-14)


def test_poses_that_no_increment_joins_are_named(monkeypatch):
    monkeypatch.setattr(state_operations, "tangent_operator", lambda m, *_: -sp.eye_array(m.n_v))
    model = four_bar().build()
    there = model.moved(model.state, np.ones(model.n_v))
    with pytest.raises(ValueError, match="Model.difference: no increment takes 'left' from one"):
        model.difference(model.state, there)


@pytest.mark.parametrize("formulation", NAMES)
@pytest.mark.parametrize("name", WORN, ids="-".join)
def test_the_matrix_shown_holds_the_derivative_of_rows_on_velocities(name, formulation):
    """The row of the iteration matrix is A + (h beta / gamma) dg/dq."""
    system, one, _ = pair(formulation, "ground")
    part = system.add(WORN[name](one, STILL))
    model = system.build()
    A, mine = model.assemble(some_state(model)), model.numbering.owners[part.name]
    h, method = 1e-2, mbd.GeneralizedAlpha(rho=0.6)
    S = A.iteration_matrix(h, 0.6).toarray()[model.n_v :, : model.n_v][mine]
    turn = A.turn.toarray()[mine]
    np.testing.assert_allclose(S, A.B.toarray()[mine] + h * method.beta / method.gamma * turn)
    if formulation == "so3":  # in body-fixed velocities the row does not depend on the pose
        assert np.abs(turn).max() > 1e-2
