"""Unified velocities: the printed matrices of the paper, other sets, and runs that equal se3."""

import numpy as np
import pytest
from families import some
from scenes import chain, hinged, with_body
from scipy.spatial.transform import Rotation

import mbd
from mbd.algebra.rotations import tilde
from mbd.formulations import named, unified, velocity_sets

from .tools import SHARP, converge, ends, published

S = 1 / np.sqrt(2)
M_, J1, J2, J3 = 3.0, 1.1, 1.7, 2.3
MASS = np.diag([M_, M_, M_, J1, J2, J3])
HEXAHEDRAL = np.array([
    [S, 0, 0, 0, 0, S], [-S, 0, 0, 0, 0, S], [0, S, 0, S, 0, 0],
    [0, -S, 0, S, 0, 0], [0, 0, S, 0, S, 0], [0, 0, -S, 0, S, 0],
])  # fmt: skip


def test_hexahedral_projection_is_the_printed_orthogonal_matrix():  # Eqs. (70)-(73)
    D = velocity_sets.projection(*velocity_sets.hexahedral())
    assert np.allclose(D, HEXAHEDRAL, rtol=0, atol=1e-16)
    assert np.allclose(D.T @ D, np.eye(6), rtol=0, atol=1e-15)
    assert np.allclose(
        velocity_sets.inverse(*velocity_sets.hexahedral()), HEXAHEDRAL.T, rtol=0, atol=1e-15
    )
    assert np.isclose(np.linalg.det(D), -1, rtol=1e-14)
    for alpha, lengths in ((S, (0.3, 2.0, 5.0)), (1.3, (0.2, 0.7, 0.4))):
        D = velocity_sets.projection(*velocity_sets.hexahedral(alpha, lengths))
        assert np.isclose(np.linalg.det(D), -8 * alpha**6 * np.prod(lengths), rtol=1e-13)


def test_tetrahedral_projection_is_the_printed_matrix():  # Eqs. (74)-(81)
    a, l = 0.8, 1.7
    y, b = velocity_sets.tetrahedral(a, l)
    D = velocity_sets.projection(y, b)
    printed = np.zeros((6, 6))
    printed[:3, :3] = a * np.eye(3)
    printed[3:, :3] = a * np.array([[-1, 1, 0], [0, -1, 1], [1, 0, -1]])
    printed[3, 5] = printed[4, 3] = printed[5, 4] = l * a
    assert np.allclose(D, printed, rtol=0, atol=1e-15)
    assert np.isclose(np.linalg.det(D), a**6 * l**3, rtol=1e-14)
    E = np.zeros((6, 6))
    E[:3, :3] = np.eye(3) / a
    E[3, [1, 2, 4]] = np.array([1, -1, 1]) / (l * a)
    E[4, [0, 2, 5]] = np.array([-1, 1, 1]) / (l * a)
    E[5, [0, 1, 3]] = np.array([1, -1, 1]) / (l * a)
    assert np.allclose(velocity_sets.inverse(y, b), E, rtol=0, atol=1e-14)


def test_hexahedral_mass_matrix_has_the_printed_blocks():  # Eq. (93)
    printed = np.zeros((6, 6))
    for k, J in enumerate((J3, J1, J2)):
        printed[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[M_ + J, J - M_], [J - M_, M_ + J]]
    assert np.allclose(
        velocity_sets.mass_matrix(MASS, HEXAHEDRAL), 0.5 * printed, rtol=0, atol=1e-14
    )


def test_velocity_interpolation():  # Eqs. (24), (32), (83)
    rng = np.random.default_rng(55001)
    y, b = velocity_sets.hexahedral(0.9, (0.4, 0.5, 0.7))
    D, w = velocity_sets.projection(y, b), rng.normal(size=6)
    V = np.linalg.solve(D, w)
    for point, direction, wi in zip(y, b, w, strict=True):
        N = velocity_sets.velocity_interpolation(point, D)
        assert np.allclose(N @ w, V[:3] + np.cross(V[3:], point), rtol=0, atol=1e-14)
        assert np.isclose(direction @ N @ w, wi, rtol=1e-13)


def test_quadratic_velocities_of_newton_and_euler():  # Eqs. (97), (100), (105)
    rng = np.random.default_rng(55009)
    V = rng.normal(size=6)
    U, Omega = V[:3], V[3:]
    w = HEXAHEDRAL @ V
    gamma = velocity_sets.quadratic_velocity_matrix(w, MASS, HEXAHEDRAL) @ w
    force = np.concatenate([M_ * np.cross(Omega, U), np.cross(Omega, MASS[3:, 3:] @ Omega)])
    assert np.allclose(gamma, HEXAHEDRAL @ force, rtol=0, atol=1e-14)
    # the second entry as printed, with the sign of J22 that the first one has
    w1, w2, w3, w4, w5, w6 = w
    second = M_ * (w1 + w2) * (w3 - w4)
    second -= ((J1 - J2) * (w3 + w4) + M_ * (w5 - w6)) * (w5 + w6)
    assert np.isclose(gamma[1], second / (2 * np.sqrt(2)), rtol=1e-12)
    # eccentric centre of mass: the same as the weights of the face
    body = mbd.RigidBody("b", mass=2.0, inertia=(1, 1.2, 1.4), center_of_mass=(0.3, -0.2, 0.5))
    W = body.mass_matrix
    J = np.trace(W[1:, 1:]) * np.eye(3) - W[1:, 1:]
    M = np.block([[W[0, 0] * np.eye(3), tilde(W[0, 1:]).T], [tilde(W[0, 1:]), J]])
    gamma = velocity_sets.quadratic_velocity_matrix(w, M, HEXAHEDRAL) @ w
    directors = np.vstack([np.zeros(3), np.eye(3)])  # R = I
    second = np.cross(Omega, np.cross(Omega, directors))
    second[0] = np.cross(Omega, U)
    pulled = W @ second
    generalized = np.concatenate([pulled[0], np.cross(directors, pulled).sum(0)])
    assert np.allclose(gamma, HEXAHEDRAL @ generalized, rtol=0, atol=1e-13)


def test_mass_matrix_of_a_body_is_the_printed_one():
    system, _ = with_body(
        "body", mass=M_, inertia=(J1, J2, J3), formulation="unified",
        rotation=Rotation.from_rotvec((0.3, 0.4, -0.2)),
    )  # fmt: skip
    A = system.build().assemble()
    assert np.allclose(
        A.M.toarray(), velocity_sets.mass_matrix(MASS, HEXAHEDRAL), rtol=0, atol=1e-14
    )
    assert list(A.rows) == [f"body.w_{i}" for i in range(1, 7)]


# --- sets ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("radius", "length"), [
    (1.0, 1.0), (0.2, 1.0), (7.0, 1.0), (0.05, 1 / 64), (30.0, 64.0), (3e-7, 64.0**-4),
    (5e8, 64.0**5),
])  # fmt: skip
def test_the_length_of_a_set_is_that_of_the_body(radius, length):
    assert unified.length_of(radius) == length
    J = radius**2 * np.array([0.5, 0.7, 0.8])
    system, _ = with_body("body", mass=2.0, inertia=2.0 * J, formulation="unified")
    model = system.build()
    assert model.state.q[7] == length
    M = model.assemble().M.toarray()
    D = velocity_sets.projection(*velocity_sets.hexahedral(length=length))
    whole = 2.0 * np.diag([1, 1, 1, *J])
    assert np.allclose(M, velocity_sets.mass_matrix(whole, D), rtol=0, atol=1e-13 * np.abs(M).max())
    assert np.linalg.cond(M) < 200


def own_set():
    rng = np.random.default_rng(55021)
    return {"points": rng.uniform(-1, 1, (6, 3)), "directions": rng.normal(size=(6, 3))}


def test_sets_are_made_once():
    assert mbd.Unified() is named("unified")
    assert mbd.Unified("hexahedral", alpha=S) is mbd.Unified()
    assert mbd.Unified("hexahedral", length=(1, 1, 1)) is mbd.Unified(length=1.0)
    assert mbd.Unified(length=1.0) is not mbd.Unified()
    assert mbd.Unified(**own_set()) is mbd.Unified(**own_set())
    assert mbd.Unified("tetrahedral") is not mbd.Unified()


@pytest.mark.parametrize("options", some([  # each has kernels of its own; kinds/test_forms.py too
    {"length": (0.3, 2.0, 0.5), "alpha": 2.0}, {"kind": "tetrahedral", "length": 0.6}, own_set(),
], 3))  # fmt: skip
def test_tangents_of_other_sets(options):
    assert mbd.check_tangents(mbd.Unified(**options), tolerance=1e-8).ok


def test_two_sets_in_one_system():
    one, two = mbd.Unified("tetrahedral"), mbd.Unified(**own_set())
    forms = (one, two, "unified", "so3", "se3")
    system = chain(5, forms, joint="Revolute", inertia=(0.01, 0.1, 0.1))
    assert mbd.check_tangents(system).ok
    solution = mbd.simulate(system, 0.2, 1e-3, method=SHARP)
    assert abs(np.ptp(solution.energy.total)) < 1e-4
    assert solution.gap.max() < 1e-9


SINGULAR = {
    "all through one point": {"points": np.zeros((6, 3)), "directions": np.eye(6, 3) + 1.0},
    "all along one direction": {"points": np.eye(6, 3), "directions": np.ones((6, 3))},
    "a direction without length": {
        "points": velocity_sets.hexahedral()[0],
        "directions": velocity_sets.hexahedral()[1] * np.array([1, 1, 1, 1, 1, 0])[:, None],
    },
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_sets_are_refused_with_their_condition_number(name):
    with pytest.raises(ValueError, match=r"condition number (inf|\d[.\de+]*).*move points"):
        mbd.Unified(**SINGULAR[name])


def test_small_bodies_are_not_singular():
    assert mbd.Unified(length=1e-9, alpha=1e3).n_v == 6


@pytest.mark.parametrize(("options", "message"), [
    ({"kind": "cube"}, "kind must be one of hexahedral, tetrahedral, got 'cube'"),
    ({"points": np.eye(6, 3)}, "points and directions together"),
    ({"points": np.eye(5, 3), "directions": np.eye(6, 3)}, r"points must be 6x3 .*\(5, 3\)"),
    ({"points": np.eye(6, 3), "directions": np.full((6, 3), np.nan)}, "directions must be finite"),
    ({**own_set(), "kind": "hexahedral"}, "got kind 'hexahedral' and points, leave out one"),
    ({**own_set(), "length": 2.0}, "alpha and length belong to the named sets"),
    ({"alpha": -1.0}, r"alpha must be positive \[-\], got \[-1.0\]"),
    ({"kind": "tetrahedral", "length": (1, 2, 3)}, r"set must be a number \[m\], got shape"),
    ({"length": np.inf}, r"length of the .* set must be finite \[m\], got inf"),
])  # fmt: skip
def test_wrong_sets_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        mbd.Unified(**options)


@pytest.mark.parametrize("options", [
    {"alpha": "long"}, {"points": "six", "directions": np.eye(6, 3)},
])  # fmt: skip
def test_what_is_not_a_number_is_refused(options):
    with pytest.raises(TypeError, match="Unified: .* must be"):
        mbd.Unified(**options)


# --- runs ----------------------------------------------------------------------------------------
def top(formulation):
    system, *_ = hinged(
        "top", "pin", kind="Spherical", mass=15.0, inertia=(0.234375, 0.46875, 0.234375),
        position=(0, 1, 0), velocity=(4.61538, 0, 0), angular_velocity=(0, 150, -4.61538),
        formulation=formulation,
    )  # fmt: skip
    return system


@pytest.mark.parametrize("other", [mbd.Unified(), mbd.Unified("tetrahedral", length=0.6)])
def test_runs_are_those_of_se3(other):
    """A constant linear map of the velocities does not change a step."""
    one = mbd.simulate(top("se3"), 0.1, 1e-3, method=SHARP)
    two = mbd.simulate(top(other), 0.1, 1e-3, method=SHARP)
    assert np.allclose(one["top"].position, two["top"].position, rtol=0, atol=1e-10)
    assert np.allclose(one["top"].rotation, two["top"].rotation, rtol=0, atol=1e-9)
    assert np.allclose(one["pin"].force, two["pin"].force, rtol=0, atol=1e-5)
    assert np.ptp(one["top"].rotation, axis=0).max() > 1


def test_se3_does_not_know_where_the_origin_of_the_body_is():
    """The step is the same whichever point of the body carries the frame; so3's is not."""

    def run(formulation, c):
        system, *_ = hinged(
            "top", "pin", kind="Spherical", mass=15.0, inertia=(0.234375, 0.46875, 0.234375),
            position=(0, 1 - c, 0), center_of_mass=(0, c, 0), velocity=(4.61538 * (1 - c), 0, 0),
            angular_velocity=(0, 150, -4.61538), formulation=formulation,
        )  # fmt: skip
        solution = mbd.simulate(system, 0.1, 1e-3, method=SHARP)
        return solution["top"].at((0, c, 0)).position

    for name, same in (("se3", True), ("unified", True), ("so3", False)):
        difference = np.abs(run(name, 0.0) - run(name, 1.0)).max()
        assert difference < 1e-9 if same else difference > 1e-5


@pytest.mark.parametrize("formulation", ["se3", "unified"])
def test_screw_motion_is_exact_in_one_step(formulation):
    """A free body on a screw about a principal axis stands still in body-fixed velocities."""
    system, _ = with_body(
        "body", mass=2.0, inertia=(1, 2, 3), position=(0.4, 0, 0), velocity=(0, 0, 0.5),
        angular_velocity=(0, 0, 2.0), formulation=formulation,
    )  # fmt: skip
    body = mbd.simulate(system, 1.0, 0.5)["body"]
    R = Rotation.from_rotvec((0, 0, 2.0)).as_matrix()
    assert np.allclose(body.position[-1], (0.4, 0, 0.5), rtol=0, atol=1e-14)
    assert np.allclose(body.rotation[-1], R, rtol=0, atol=1e-14)


@pytest.mark.parametrize("other", [{"kind": "tetrahedral"}, own_set()])
def test_example_of_the_paper_on_other_sets(other):
    """Spin about the middle axis, section 6: order two and the exact rates."""
    exact = {k: published("R03")["0.1"][k] for k in ("Omega", "R")}
    system, _ = with_body(
        "body", inertia=(5.2988, 1.1775, 4.3568), angular_velocity_body=(0.01, 0, 100),
        formulation=mbd.Unified(**other),
    )  # fmt: skip
    run = ends(system, 0.1, Omega="body.angular_velocity_body", R="body.rotation")
    converge(run, exact, step=1e-4, tolerance={"Omega": 5e-7, "R": 1e-8})


def test_print_errors_of_sums_over_mass_points():
    """[Holzinger 2020, (84)-(87), (94)-(99)] about a point that is not the mass centre."""
    rng = np.random.default_rng(80113)
    y, rho = rng.normal(size=(20, 3)), rng.uniform(0.5, 2.0, 20)
    v, omega = rng.normal(size=(2, 3))
    D = velocity_sets.projection(*velocity_sets.hexahedral(1.0))
    w = D @ np.concatenate([v, omega])
    N = [np.hstack([np.eye(3), tilde(x).T]) @ np.linalg.inv(D) for x in y]
    M = sum(r * x.T @ x for r, x in zip(rho, N, strict=True))
    J1 = rho.sum() * np.eye(3)
    J2 = sum(r * tilde(x).T for r, x in zip(rho, y, strict=True))
    J3 = sum(r * tilde(x) @ tilde(x).T for r, x in zip(rho, y, strict=True))
    back = np.linalg.inv(D)
    for block, same in ((J2.T, True), (J2, False)):
        printed = back.T @ np.block([[J1, J2], [block, J3]]) @ back
        assert np.allclose(M, printed, rtol=0, atol=1e-12) is same
    E = tilde(omega)
    gamma = sum(r * x.T @ E @ x for r, x in zip(rho, N, strict=True))
    moved = back.T @ np.block([[E @ J1, E @ J2], [E @ J2.T, E @ J3]]) @ back
    assert np.abs(gamma - moved).max() > 0.1
    about = rho @ y / rho.sum()  # about the mass centre the product is that of the print
    N = [np.hstack([np.eye(3), tilde(x - about).T]) @ back for x in y]
    J3 = sum(r * tilde(x - about) @ tilde(x - about).T for r, x in zip(rho, y, strict=True))
    gamma = sum(r * x.T @ E @ x for r, x in zip(rho, N, strict=True))
    moved = back.T @ np.block([[E @ J1, np.zeros((3, 3))], [np.zeros((3, 3)), E @ J3]]) @ back
    assert np.abs(gamma - moved).max() > 0.1
    assert np.abs((gamma - moved) @ w).max() < 1e-12
