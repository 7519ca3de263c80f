"""Reduction of finite element models: frequencies, invariants, what is refused."""

import warnings

import numpy as np
import pytest
import scipy.io
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import eigh

import mbd
from mbd.flexible.inertia import invariants
from mbd.flexible.mesh import FiniteElementModel, rigid_motions
from mbd.flexible.reduction import given_shapes, reduced

from .meshes import beam, ends, lattice

BAR = lattice()
HERMITE = beam(10, 1.0, EA=2.1e7, GJ=110.0, EI2=200.0, EI3=150.0, mass_per_length=0.78)


def frequencies(M, K):
    squared = eigh(K.toarray(), M.toarray(), eigvals_only=True)
    return np.sqrt(np.maximum(squared, 0.0)) / (2 * np.pi)


def test_without_interfaces_frequencies_are_those_of_the_matrices():
    for M, K, x in (BAR, HERMITE):
        exact = frequencies(M, K)[6:12]
        shapes = reduced(FiniteElementModel.checked("body", M, K, x, {}), 6, None)
        assert shapes.frequencies == pytest.approx(exact, rel=1e-9)


def test_interfaces_of_one_node_stiffen_nothing():
    M, K, x = HERMITE
    mesh = FiniteElementModel.checked("body", M, K, x, {"left": [0], "right": [10]})
    exact = frequencies(M, K)[6:]
    few = reduced(mesh, 6, None).frequencies / exact[:6] - 1
    assert (few > -1e-10).all()  # from above, as Rayleigh says
    assert few.max() < 5e-4
    everything = reduced(mesh, len(exact), None)  # all fixed-interface modes
    assert everything.frequencies == pytest.approx(exact, rel=1e-7)


def test_rigid_patches_are_those_of_the_constrained_matrices():
    M, K, x = BAR
    patches = ends(x)
    T = np.eye(len(x) * 3)[
        :, np.repeat(~np.isin(np.arange(len(x)), [*patches["left"], *patches["right"]]), 3)
    ]
    for nodes in patches.values():
        R = np.zeros((len(x) * 3, 6))
        R[(3 * nodes[:, None] + np.arange(3)).ravel()] = rigid_motions(x[nodes], 3)
        T = np.column_stack([T, R])
    exact = frequencies(sp.csr_matrix(T.T @ M @ T), sp.csr_matrix(T.T @ K @ T))[6:]
    mesh = FiniteElementModel.checked("body", M, K, x, patches)
    shapes = reduced(mesh, 30, None)
    assert shapes.frequencies == pytest.approx(exact[:30], rel=1e-8)
    cut = 0.5 * (exact[4] + exact[5])
    assert len(reduced(mesh, None, cut).K) == 5


def test_a_large_mesh_takes_the_sparse_way():
    M, K, x = lattice((14, 3, 3), seed=3)
    exact = frequencies(M, K)[6:10]
    assert reduced(
        FiniteElementModel.checked("b", M, K, x, {}), 4, None
    ).frequencies == pytest.approx(exact)
    soft = reduced(FiniteElementModel.checked("b", M, K, x, {}), None, 0.5 * (exact[2] + exact[3]))
    assert len(soft.K) == 3


@pytest.mark.parametrize("patches", [{"a": [0], "b": [10]}, {"a": [0], "b": [4], "c": [10]}])
def test_missing_compliance_is_that_of_the_whole_mesh(patches):
    """Largest F (C - C_s) F of the largest F C F, loads in balance, by a pseudo-inverse of K."""
    M, K, x = HERMITE
    mesh = FiniteElementModel.checked("body", M, K, x, patches)
    loads = np.concatenate([6 * nodes[0] + np.arange(6) for nodes in patches.values()])
    N = np.zeros((len(x) * 6, len(loads)))
    N[loads, np.arange(len(loads))] = np.tile([1, 1, 1, *[1 / np.ptp(x, axis=0).max()] * 3],
                                              len(patches))  # fmt: skip
    N = N @ scipy.linalg.null_space(rigid_motions(x, 6).T @ N)
    C = N.T @ np.linalg.pinv(K.toarray(), rcond=1e-14, hermitian=True) @ N
    missing = []
    for shapes in (*(reduced(mesh, n, None) for n in (3, 6, 12, 20)), reduced(mesh, None, None, 2)):
        G = N.T @ shapes.values.reshape(len(N), -1)
        lacking = np.linalg.eigvalsh(C - G @ np.linalg.solve(shapes.K, G.T))[-1]
        missing.append(shapes.missing_compliance)
        assert missing[-1] == pytest.approx(lacking / np.linalg.eigvalsh(C)[-1], rel=1e-5, abs=1e-9)
    assert np.diff(missing).max() < 1e-9
    assert missing[0] > 0.5
    assert missing[-1] < 1e-9
    own = given_shapes(mesh, reduced(mesh, 6, None).values.reshape(len(x) * 6, -1))
    assert own.missing_compliance == pytest.approx(missing[1], rel=1e-6)


@pytest.mark.parametrize("rigid", [(), (0,), (0, 10)])
@pytest.mark.parametrize("fixed", [1, 6])
def test_loads_on_soft_patches_have_the_statics_of_the_mesh(rigid, fixed):
    """All loads in balance, on soft patches and interfaces, against a pseudo-inverse of K."""
    for (M, K, x), soft in ((HERMITE, {"p": [3], "q": [6]}), (BAR, {"p": range(8, 12)})):
        patches = {f"i{n}": [n] for n in rigid}
        if M is BAR[0]:
            patches = {
                name: ends(x)[name] for name, _ in zip(("left", "right"), rigid, strict=False)
            }
        mesh = FiniteElementModel.checked("body", M, K, x, patches, loads=soft)
        shapes = reduced(mesh, None, None, fixed)
        psi = shapes.values.reshape(K.shape[0], -1)
        assert psi.shape[1] == 6 * len(soft) + fixed + 6 * max(len(rigid) - 1, 0)
        R = rigid_motions(x, mesh.d)
        F = np.zeros((K.shape[0], 6 * len(mesh.patches)))
        for k, (_, dofs, motions) in enumerate(mesh.patches.values()):
            F[dofs, 6 * k : 6 * k + 6] = np.linalg.pinv(motions).T
        F = F @ scipy.linalg.null_space(R.T @ F) if F.shape[1] > 6 else F[:, :0]
        free = np.eye(len(F))
        for name, (_, dofs, motions) in mesh.patches.items():
            if name not in soft:  # made rigid
                free[np.ix_(dofs, dofs)] = motions @ np.linalg.pinv(motions)
        u = np.linalg.pinv(free @ K @ free, rcond=1e-13, hermitian=True) @ F
        modal = psi @ np.linalg.solve(shapes.K, psi.T @ F)
        energy = np.einsum("ij,ij->j", F, u)
        assert np.einsum("ij,ij->j", F, modal) == pytest.approx(energy, rel=1e-6)
    M, K, x = HERMITE  # P a^2 (3 L - a) / 6 EI at the tip of a cantilever
    system = mbd.System()
    rod = system.add(mbd.FlexibleBody("rod", M, K, x, {"a": [0]}, loads={"p": [3], "tip": [10]}))
    system.add(mbd.Fixed("wall", system.ground, rod, at=(0, 0, 0)))
    system.add(mbd.PointForce("load", rod.interface("p"), (0, 0, 0.5)))
    tip = mbd.equilibrium(system)["rod/tip"].position[2]
    assert tip == pytest.approx(0.5 * 0.3**2 * (3 - 0.3) / (6 * 200.0), rel=1e-6)
    mbd.check_tangents(system.build())  # raises
    assert np.ptp(mbd.simulate(system, 0.01, 1e-4).energy.balance) < 1e-9


def test_loads_that_are_no_soft_patches_are_refused():
    M, K, x = BAR
    for options, text in (
        (
            {"loads": {"p": [8, 9]}},
            "loads 'p' must have nodes that say how it turns, three or more",
        ),
        ({"loads": {"left": [8, 9, 10]}}, "loads must have names of their own, both have 'left'"),
        ({"loads": {"p": [8, 9, 10]}, "modes": 3}, "give fixed_modes in the place of modes or cut"),
        ({"loads": {"p": ends(x)["left"]}}, "'left' and 'p' must not share nodes"),
        ({"interfaces": {}, "fixed_modes": 0}, "fixed_modes must be a whole number, at least 1"),
    ):
        given = {"interfaces": {"left": ends(x)["left"]}} | options
        with pytest.raises(ValueError, match=text):
            mbd.FlexibleBody("bar", M, K, x, **given)
    with pytest.raises(TypeError, match="loads must be a dict"):
        mbd.FlexibleBody("bar", M, K, x, {}, loads=[1, 2])


def test_a_clamped_body_bends_as_its_mesh_or_says_that_it_does_not():
    M, K, x = HERMITE
    for options, right in (({}, True), ({"modes": 12}, False), ({"modes": 6}, False)):
        system = mbd.System()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            rod = system.add(mbd.FlexibleBody("rod", M, K, x, {"a": [0], "b": [10]}, **options))
        system.add(mbd.Fixed("wall", system.ground, rod, at=(0, 0, 0)))
        system.add(mbd.PointForce("load", rod.interface("b"), (0, 0.1, 0)))
        tip = mbd.equilibrium(system)["rod/b"].position[1]
        exact = 0.1 / (3 * 150.0)
        assert abs(tip / exact - 1) < 1e-6 if right else tip < 0.9 * exact
        assert [str(x.message) for x in told if "leave out" in str(x.message)] == [
            f"'rod': its {n} shapes leave out {what} % of the compliance between its interfaces: "
            "loads there move it too little; take fixed_modes=6 in the place of modes or cutoff, "
            "or more shapes"
            for n, what in ((len(rod.frequencies), f"{100 * rod.missing_compliance:.2g}"),)
            if not right
        ]


def test_shapes_are_apart_from_rigid_motion_and_of_largest_displacement_one():
    for (M, K, x), patches in ((BAR, ends(BAR[2])), (HERMITE, {"a": [0], "b": [4], "c": [10]})):
        mesh = FiniteElementModel.checked("body", M, K, x, patches)
        shapes = reduced(mesh, 7, None)
        psi = shapes.values.reshape(-1, 7)
        coupling = rigid_motions(x, mesh.d).T @ (M @ psi)
        assert np.abs(coupling).max() < 1e-10 * M.trace()
        off = shapes.M - np.diag(np.diag(shapes.M))
        assert np.abs(off).max() < 1e-10 * shapes.M.max()
        assert shapes.values[:, :3].max() <= 1.0 + 1e-12


def test_invariants_are_sums_over_mass_points():
    M, K, x = BAR
    mesh = FiniteElementModel.checked("body", M, K, x, ends(x))
    shapes = reduced(mesh, 5, None)
    W0, W1, W2 = invariants(mesh, shapes)
    m, psi = M.diagonal()[::3], shapes.values
    for n in range(1, 4):  # powers of the mass would not pass
        w0 = np.column_stack([np.ones(len(x)), x])
        assert np.allclose(W0, (w0 * m[:, None]).T @ w0, rtol=1e-13)
        for j in range(5):
            assert np.allclose(W1[j], (w0 * m[:, None]).T @ psi[:, :, j], atol=1e-15)
            assert np.allclose(
                W2[n % 5, j], (psi[:, :, n % 5] * m[:, None]).T @ psi[:, :, j], atol=1e-15
            )


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), (0.01, -0.02, 0.03)])
def test_nodes_with_inertia_are_points_around_their_centres(offset):
    """A rigid body at each node is six points on small arms and one in its middle."""
    M, K, x = beam(3, 0.9, 1e5, 50.0, 60.0, 70.0, 1.3, inertia=(0.02, 0.03, 0.04))
    m, arm, c = M.diagonal()[::6], 1e-2, np.array(offset)
    points = []  # of each node: from it, and mass
    for n in range(4):
        J = M.diagonal()[6 * n + 3 : 6 * n + 6]
        masses = 0.5 * (0.5 * J.sum() - J) / arm**2
        some = [(c, m[n] - 2 * masses.sum())]
        some += [
            (c + s * arm * e, w) for e, w in zip(np.eye(3), masses, strict=True) for s in (1, -1)
        ]
        points.append(some)
    blocks = []
    for some in points:
        block = np.zeros((6, 6))
        for rho, w in some:
            R = np.hstack([np.eye(3), np.cross(np.eye(3), rho).T])  # u + theta x rho
            block += w * R.T @ R
        blocks.append(block)
    M = sp.block_diag(blocks)
    mesh = FiniteElementModel.checked("body", M, K, x, {})
    shapes = reduced(mesh, 4, None)
    total = [np.zeros((4, 4)), np.zeros((4, 4, 3)), np.zeros((4, 4, 3, 3))]
    for n, (center, some) in enumerate(zip(x, points, strict=True)):
        for rho, w in some:
            psi = shapes.values[n, :3] + np.cross(shapes.values[n, 3:].T, rho).T
            w0 = np.array([1.0, *(center + rho)])
            total[0] += w * np.outer(w0, w0)
            total[1] += w * np.einsum("k,lj->jkl", w0, psi)
            total[2] += w * np.einsum("ki,lj->ijkl", psi, psi)
    for A, B in zip(invariants(mesh, shapes), total, strict=True):
        assert np.allclose(A, B, rtol=0, atol=1e-11 * np.abs(B).max())
    assert np.allclose(np.trace(total[2], axis1=2, axis2=3), shapes.M)


def test_files_hold_the_same_matrices(tmp_path):
    M, K, x = BAR
    scipy.io.mmwrite(tmp_path / "M.mtx", M, symmetry="symmetric")
    sp.save_npz(tmp_path / "K.npz", K)
    np.save(tmp_path / "x.npy", x)
    names = (tmp_path / "M.mtx", str(tmp_path / "K.npz"), tmp_path / "x.npy")
    there = FiniteElementModel.checked("body", *names, ends(x))
    here = FiniteElementModel.checked("body", M.toarray(), K, x.tolist(), ends(x))
    assert abs(there.M - here.M).max() < 1e-12
    assert abs(there.K - here.K).max() < 1e-6
    assert np.array_equal(there.x, here.x)


def test_meshes_are_read_by_meshio_or_it_is_named(tmp_path):
    path = tmp_path / "mesh.vtk"
    M, K, x = BAR
    try:
        import meshio
    except ImportError:
        path.write_text("")
        with pytest.raises(ImportError, match=r"need meshio: pip install 'mbd\[mesh\]'"):
            bad(coordinates=path)
    else:
        meshio.Mesh(x, [("vertex", np.arange(len(x))[:, None])]).write(path)
        assert np.allclose(FiniteElementModel.checked("body", M, K, path, ends(x)).x, x)


# --- what is refused ------------------------------------------------------------------------------
def bad(**changes):
    M, K, x = BAR
    given = {"M": M, "K": K, "coordinates": x, "interfaces": ends(x)} | changes
    return FiniteElementModel.checked("body", *given.values())


def supported():
    K = BAR[1].tolil()
    K[1, 1] += 1e3
    return K


def skewed():
    A = BAR[0].tolil()
    A[0, 3] += 1e-3
    return A


def massless():
    return sp.diags(np.where(np.arange(60) == 7, 0.0, BAR[0].diagonal()))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"M": np.eye(5)}, r"M and K must be \(60, 60\), .* got \(5, 5\) and \(60, 60\)"),
        ({"M": np.ones((3, 4))}, r"M must be square and finite, got shape \(3, 4\)"),
        ({"K": np.full((60, 60), np.nan)}, "K must be square and finite"),
        ({"M": skewed}, "M must be symmetric, entries differ by 0.001"),
        ({"M": massless}, "M must be positive definite; give every degree"),
        ({"M": -BAR[0]}, "M must be positive definite"),
        ({"K": supported}, "K must leave rigid motions free, but it resists a "),
        ({"coordinates": np.zeros((20, 2))}, r"coordinates must be an \(n, 3\) array"),
        ({"coordinates": BAR[2] * [1, 1, -1]}, "K must leave rigid motions free"),
        ({"interfaces": {"left": []}}, "interface 'left' must have nodes, whole numbers"),
        ({"interfaces": {"left": [0.5]}}, "interface 'left' must have nodes, whole numbers"),
        ({"interfaces": {"left": [0, 20]}}, "'left' must have nodes from 0 to 19, got 20"),
        (
            {"interfaces": {"a": [0, 1, 2], "b": [2, 3, 4]}},
            "'a' and 'b' must not share nodes, both have 2",
        ),
        ({"M": "nowhere.mtx"}, "M must be a file or numbers, no such file: 'nowhere.mtx'"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(changes, text):
    changes = {k: v() if callable(v) else v for k, v in changes.items()}
    with pytest.raises((ValueError, FileNotFoundError), match=text):
        bad(**changes)


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "M.txt").write_text("1 2 3")
    with pytest.raises(ValueError, match="M must be a matrix, or a file .mtx"):
        bad(M=tmp_path / "M.txt")
    (tmp_path / "M.mtx").write_text("1 2 three")
    with pytest.raises(ValueError, match=r"M: .*M\.mtx' cannot be read"):
        bad(M=tmp_path / "M.mtx")
    np.savez(tmp_path / "two.npz", a=1.0, b=2.0)
    with pytest.raises(ValueError, match=r"two\.npz' cannot be read"):
        bad(K=tmp_path / "two.npz")
    with pytest.raises(TypeError, match="interfaces must be a dict such as"):
        bad(interfaces=[1, 2])


def test_patches_that_say_no_turn_and_parts_that_hang_loose_are_refused():
    M, K, x = BAR
    for nodes in ([0], [0, 1]):
        with pytest.raises(ValueError, match="'tip' must have nodes that say how it turns"):
            reduced(bad(interfaces={"tip": nodes}), 3, None)
    two = [sp.block_diag([A, A]) for A in (M, K)]
    far = np.concatenate([x, x + np.array([0.0, 1.0, 0.0])])
    for patches in (ends(x), {}):
        mesh = FiniteElementModel.checked("pair", *two, far, patches)
        with pytest.raises(ValueError, match=r"pair: K must resist all motions"):
            reduced(mesh, 3, None)


def test_bases_that_contain_rigid_motion_are_refused():
    mesh = bad()
    good = reduced(mesh, 4, None).values.reshape(-1, 4)
    shapes = given_shapes(mesh, good)
    assert np.allclose(shapes.frequencies, reduced(mesh, 4, None).frequencies)
    turn = rigid_motions(mesh.x, 3)[:, [4]]
    for basis in (np.column_stack([good, turn]), np.column_stack([good, good[:, 0] + good[:, 1]])):
        with pytest.raises(ValueError, match="modes must be free of rigid motion and independent"):
            given_shapes(mesh, basis)
    with pytest.raises(ValueError, match=r"or finite shapes \(60, m\), got shape \(60,\)"):
        given_shapes(mesh, good[:, 0])
    with pytest.raises(ValueError, match="shape 1 of modes is zero"):
        given_shapes(mesh, good * [1, 0, 1, 1])


def test_numbers_of_modes_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="must be 1 to 42 modes, the mesh has 99 of 99 shapes"):
        reduced(bad(), 99, None)
    with pytest.raises(ValueError, match="has 0 up to 3 Hz; its lowest frequency is 171"):
        reduced(bad(), None, 3.0)


def consistent(n, length, mass, turned, kinds, radius=0.02):
    """Mass of straight elements along an axis: products of their functions, by Gauss quadrature.

    Return M, and points (q, 3), weights (q,) and displacements there (q, 3, 6 n + 6) that have it.
    """
    across, along = kinds
    s, w = np.polynomial.legendre.leggauss(6)
    h, points, weights, fields = length / n, [], [], []
    for e in range(n):
        for a, b in zip(0.5 * (s + 1), 0.5 * w, strict=True):
            for y, z in radius * np.array([(1, 1), (-1, 1), (1, -1), (-1, -1)]):
                u = np.zeros((3, 6 * n + 6))
                i, j = 6 * e, 6 * e + 6
                u[0, i], u[0, j] = 1 - a, a
                f = [1 - 3 * a**2 + 2 * a**3, h * (a - 2 * a**2 + a**3),
                     3 * a**2 - 2 * a**3, h * (a**3 - a**2)]  # fmt: skip
                if across == "linear":
                    f = [1 - a, 0.0, a, 0.0]
                if along == "hermite":
                    u[0, i], u[0, j] = f[0], f[2]
                for node, g, gt in ((i, f[0], f[1]), (j, f[2], f[3])):
                    t = (1 - a) if node == i else a
                    if along == "hermite":
                        t = g
                    u[1, node + 1], u[1, node + 5] = g, gt
                    u[2, node + 2], u[2, node + 4] = g, -gt
                    u[:, node + 3 : node + 6] += t * np.cross(np.eye(3), [0, y, z]).T
                points.append(turned @ [h * (e + a), y, z])
                weights.append(mass * h * b / 4)
                T = np.kron(np.eye(2 * n + 2), turned)
                fields.append(turned @ u @ T.T)
    fields, weights = np.array(fields), np.array(weights)
    return np.einsum("q,qki,qkj->ij", weights, fields, fields), np.array(points), weights, fields


TURNED = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]


@pytest.mark.parametrize(
    "kinds", [("linear", "linear"), ("hermite", "hermite"), ("hermite", "linear")]
)
def test_invariants_of_consistent_masses_are_integrals_over_the_elements(kinds):
    """Of shells and beams with rotations: against sums over points of what is interpolated."""
    length, errors = 0.9, []
    for n in (6, 12):
        M, points, weights, fields = consistent(n, length, 1.3, TURNED, kinds)
        _, K, x = beam(n, length, 1e5, 50.0, 60.0, 70.0, 1.3)
        T = np.kron(np.eye(2 * n + 2), TURNED)
        mesh = FiniteElementModel.checked("body", M, T @ K @ T.T, x @ TURNED.T, {})
        shapes = reduced(mesh, 12, None)
        psi = np.einsum("qki,ij->qkj", fields, shapes.values.reshape(-1, 12))
        w0 = np.column_stack([np.ones(len(points)), points])
        total = (
            np.einsum("q,qk,ql->kl", weights, w0, w0),
            np.einsum("q,qk,qlj->jkl", weights, w0, psi),
            np.einsum("q,qki,qlj->ijkl", weights, psi, psi),
        )
        W = invariants(mesh, shapes)
        pairs = zip(W, total, strict=True)
        errors.append(max(np.abs(A - B).max() / np.abs(B).max() for A, B in pairs))
        size = np.abs(total[1]).max()
        assert np.allclose(W.W0, total[0], rtol=0, atol=1e-12)  # what M says is exact for all
        assert np.allclose(W.W1[:, 0], total[1][:, 0], rtol=0, atol=1e-10 * size)
        skew = [A[:, 1:] - A[:, 1:].swapaxes(1, 2) for A in (W.W1, total[1])]
        assert np.allclose(*skew, rtol=0, atol=1e-10 * size)
        traces = [np.trace(A, axis1=2, axis2=3) for A in (W.W2, total[2])]
        assert np.allclose(*traces, rtol=0, atol=1e-10 * np.abs(traces[1]).max())
    assert max(errors) < 1e-10 if kinds[0] == kinds[1] else errors[1] < min(0.3 * errors[0], 5e-3)


def test_masses_that_no_body_has_are_refused():
    M, K, x = HERMITE
    M = M.tolil()
    M[1, 7] = M[7, 1] = 0.01
    mesh = FiniteElementModel.checked("body", M, K, x, {})
    with pytest.raises(
        ValueError, match="body: M must move rigidly as a body does, its mass the s"
    ):
        invariants(mesh, reduced(mesh, 2, None))
    M, K, x = BAR
    uneven = sp.diags(np.where(np.arange(60) == 7, 0.5, M.diagonal()))
    mesh = FiniteElementModel.checked("body", uneven, K, x, {})
    with pytest.raises(ValueError, match="M must be the same along x, y and z"):
        invariants(mesh, reduced(mesh, 2, None))


def test_four_interfaces_and_their_default_shapes_are_carried():
    M, K, x = HERMITE
    system = mbd.System(gravity=(0, 0, -9.81))
    patches = {name: [n] for name, n in zip("abcd", (0, 3, 6, 10), strict=True)}
    rod = system.add(mbd.FlexibleBody("rod", M, K, x, patches))
    assert len(rod.frequencies) == 3 * 6 + 6
    assert rod.missing_compliance < 1e-9
    system.add(mbd.Spherical("pin", system.ground, rod, at=rod.patches["b"]))
    mbd.check_tangents(system.build())  # raises
    energy = mbd.simulate(system, 0.01, 1e-4).energy
    assert np.ptp(energy.balance) < 1e-5


@pytest.mark.parametrize("interfaces", ["none", "one", "two"])
def test_low_frequencies_do_not_depend_on_how_light_a_node_is(interfaces):
    """A node of next to no mass follows the others: the limit is reached from any side."""
    M, K, x = lattice((3, 2, 2))
    faces = {"none": {}, "one": {"left": ends(x)["left"]}, "two": ends(x)}[interfaces]
    middle = int(np.argmin(np.abs(x[:, 0] - x[:, 0].mean())))
    found = []
    for share in (1e-8, 1e-12, 1e-20, 1e-100, 1e-300):
        light = sp.lil_matrix(M)
        for i in range(3 * middle, 3 * middle + 3):
            light[i, i] *= share
        body = mbd.FlexibleBody("b", sp.csc_matrix(light), K, x, faces, modes=4)
        found.append(body.frequencies)
    for frequencies in found[1:]:
        np.testing.assert_allclose(frequencies, found[0], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"modes": 1}, {"cutoff": 10.0}, {"fixed_modes": 2}])
def test_a_mesh_that_is_all_interface_is_refused_in_words(options):
    M, K, x = lattice((2, 2, 2))
    with pytest.raises(ValueError, match="^b: there must be a motion that deforms the mesh, but"):
        mbd.FlexibleBody("b", M, K, x, {"all": range(8)}, **options)


@pytest.mark.parametrize("L", [6e-5, 1e-3, 1e3])
def test_bodies_of_any_size_bend_alike(L):
    """Of one material, under loads that grow as areas: frequencies times lengths are the same."""
    found = []
    for x in (1.0, L):
        inertia = (1e-4 * x**4,) * 3
        M, K, X = beam(8, x, 2e7 * x**2, 110 * x**4, 150 * x**4, 300 * x**4, 0.78 * x**2, inertia)
        system = mbd.System()
        rod = system.add(mbd.FlexibleBody("rod", M, K, X, {"a": [0], "b": [8]}))
        system.add(mbd.Fixed("wall", system.ground, rod, at=(0, 0, 0)))
        system.add(mbd.PointForce("load", rod.interface("b"), (0, 0, x**2)))
        found.append(mbd.modes(mbd.equilibrium(system), n=3).frequency * x)
    assert np.allclose(*found, rtol=1e-9)
