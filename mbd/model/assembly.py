r"""Global matrices M, G, K, B of a model at a state, with labels.

.. math:: M = \partial r/\partial\dot v, \quad G = \partial r/\partial v, \quad
          K = \partial r/\partial q, \quad B = \partial\Phi/\partial q

in the order of the model: velocities body by body, rows body by body and joint by joint. They are
read from the very fronts that the time loop factors, filled with one weight at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.algebra.newmark import damping_weights, matrix_weights
from mbd.base.above import from_above
from mbd.base.atomic import replaced, replaced_together
from mbd.base.checked import absent, file_path, floats, one_of, scalar, shown
from mbd.base.door import array
from mbd.base.matlab import structures
from mbd.base.read_only import read_only
from mbd.base.tolerances import ROUND_OFF
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import selected
from mbd.model.null_space import null_space
from mbd.model.pattern import pattern
from mbd.model.state import State
from mbd.model.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.model.terms import ResidualTerms

_MATRICES = ("M", "G", "K", "B", "Bt", "turn")
_SIDES = dict.fromkeys("MGK", ("velocities", "velocities")) | {
    "B": ("rows", "velocities"), "turn": ("rows", "velocities"), "Bt": ("velocities", "rows"),
}  # fmt: skip
_FILES = (".mtx", ".npy", ".csv", ".txt", ".h5", ".nc")  # what a folder is not called


class RowRates(NamedTuple):
    """Rates of the rows at a state, (n_lam,) each.

    Attributes
    ----------
    first : array
        B v and what laws of time add; rows on velocities are of this kind by themselves.
    second : array
        Their derivative with the accelerations of the state.
    right : array
        What B v' must be: the second rates are B v' - right.
    """

    first: np.ndarray
    second: np.ndarray
    right: np.ndarray


@dataclass(frozen=True, eq=False)
class Assembly:
    """Global matrices at a state.

    Equations :eq:`residual` and :eq:`tangents` of the theory page.

    Attributes
    ----------
    M, G, K : (n_v, n_v) csr_array
        Tangents of the residual with respect to accelerations, velocities and positions.
    B : (n_lam, n_v) csr_array
        Gradient of the rows: by positions, or by velocities for rows on velocities. That of a
        compliant row is zero: its stiffness is in K.
    Bt : (n_v, n_lam) csr_array
        What multipliers add to the residual: the transpose of B but for formulations whose
        velocities are no rates of what their rows are differentiated by.
    turn : (n_lam, n_v) csr_array
        Derivative of rows on velocities by positions; empty for all others.
    residual : (n_v,) array
        r = inertia + internal - applied + B^T lam.
    gap : (n_lam,) array
        The rows: Phi, of rows on velocities g. Each has its unit in ``gap_units``.
    """

    model: FrozenModel
    state: State
    M: sp.csr_array
    G: sp.csr_array
    K: sp.csr_array
    B: sp.csr_array
    Bt: sp.csr_array
    turn: sp.csr_array
    residual: np.ndarray
    gap: np.ndarray

    @property
    def rows(self) -> tuple[str, ...]:
        """Labels of the velocities: rows and columns of M, G, K, columns of B."""
        return self.model.numbering.v_labels

    @property
    def constraints(self) -> tuple[str, ...]:
        """Labels of the rows of B."""
        return self.model.numbering.lam_labels

    @property
    def gap_units(self) -> tuple[str, ...]:
        """Units of the gap: "m", "rad", "m^2", "-", of rows on velocities "m/s", "rad/s"."""
        return self.model.numbering.lam_units

    @cached_property
    def rates(self) -> RowRates:
        """First and second rates of the rows, and what B v' must be that the second are zero."""
        work = Workspace(self.model, self.state)
        work.evaluate()
        first, second = (x.copy() for x in work.rates())
        return RowRates(*read_only((first, second, self.B @ self.state.a - second)))

    @cached_property
    def terms(self) -> "ResidualTerms":
        """The residual in parts: by what acts, ``terms.gravity``, and by part, ``terms["rod"]``."""
        from mbd.model.terms import terms

        return terms(self)

    @cached_property
    def acting(self) -> np.ndarray:
        """Rows that act and depend on no others, (n,) of int: B[acting] has full rank."""
        off = self.model.rows_of(self.state.off)
        dropped = selected(self.model, self.state).dropped
        rows = np.setdiff1d(np.arange(self.model.n_lam), np.concatenate([off, dropped]))
        return read_only(rows[~self.model.compliant[rows]])

    @property
    def rank(self) -> int:
        """Number of rows of B that act and depend on no others, in units of the model."""
        return len(self.acting)

    @property
    def index(self) -> int:
        """Differentiation index: 3 with rows of positions, 2 with rows on velocities alone, else 1.

        Without rows the equations are ordinary ones, of index 0.
        """
        kinds = self.model.numbering.lam_kinds[self.acting]
        if not len(kinds):
            return int(self.model.compliant.any())
        return 2 if (kinds == m.VELOCITY_ROW).all() else 3

    @property
    def symmetric(self) -> tuple[str, ...]:
        """Which of M, G, K are symmetric, to round-off of their entries."""

        def same(A: Any) -> bool:
            size = abs(A).max() if A.nnz else 0.0
            return not A.nnz or bool(abs(A - A.T).max() <= ROUND_OFF * size)

        return tuple(x for x in ("M", "G", "K") if same(getattr(self, x)))

    def null_space(self) -> sp.csr_array:
        """Return the motions that the rows allow, (n_v, n_v - rank): B times it is zero.

        Orthonormal where translations count in lengths of the model. Each column is of one
        mechanism, and moves all bodies of it that hang together.
        """
        return null_space(self.B[self.acting], self.model.units)

    def condition(self, which: str = "S", **how: Any) -> float:
        """Return an estimate of the condition in the 1-norm of M or S, with rows that act alone.

        Other arguments are those of ``iteration_matrix``. It is LAPACK's: a lower bound, seldom
        less than half the value, the same in every run.
        """
        from scipy.sparse.linalg import LinearOperator, norm, onenormest, splu

        one_of("condition", "which", which, ("S", "M"))
        A = self.M.tocsc() if which == "M" else self.iteration_matrix(**how)
        if which == "S":
            keep = np.concatenate([np.arange(self.model.n_v), self.model.n_v + self.acting])
            A = A[keep][:, keep].tocsc()
        if not A.shape[0]:
            return 1.0
        try:
            lu = splu(A)
        except RuntimeError:  # exactly singular
            return float("inf")
        solve = LinearOperator(
            A.shape, matvec=lu.solve, rmatvec=lambda x: lu.solve(x, trans="T"), dtype=float,
        )  # fmt: skip
        return float(norm(A, 1) * onenormest(solve, t=1))  # more columns would be random ones

    def iteration_matrix(
        self, step: float | None = None, rho: float = 0.8, *,
        weights: Sequence[float] | None = None, tangent: Any = None,
    ) -> sp.csr_array:  # fmt: skip
        r"""Return the scaled matrix that one Newton iteration factors.

        .. math:: \begin{bmatrix} w_M M + w_G G + w_K K\,T & B^T \\ B\,T + t & 0 \end{bmatrix}

        The unknowns are increments of positions and multipliers, these times :math:`w_K`, and
        residuals of velocities are multiplied by :math:`w_K` too: :math:`w_M = 1/(\beta' )`.
        Generalized-alpha has :math:`w_M = \tfrac{1-\alpha_m}{1-\alpha_f}`,
        :math:`w_G = h\gamma`, :math:`w_K = \beta h^2`. Rows on velocities stand as they are for an
        increment of velocities of :math:`w_G/w_K` times that of positions, divided by this.

        Parameters
        ----------
        step : float [s], optional
            Of generalized-alpha.
        rho : float
            Its spectral radius.
        weights : (w_M, w_G, w_K), optional [-, s, s^2]
            Of another method, in the place of step and rho: an increment x of positions is one of
            :math:`w_G/w_K\,x` of velocities and of :math:`w_M/w_K\,x` of accelerations.
        tangent : (n_v, n_v) sparse, optional
            T of ``Model.tangent_operator``, where x adds to the increment of the step; else x moves
            the pose at hand.
        """
        w_m, w_g, w_k, turn = self._weights(step, rho, weights)
        n = self.model.n_v
        K, B, turned = self.K, self.B, self.turn
        if tangent is not None:
            T = self._operator(tangent)
            by = sp.diags_array(1.0 * (self.model.numbering.lam_kinds != m.VELOCITY_ROW)) @ B
            K, B, turned = K @ T, by @ T + (B - by), turned @ T
        parts = ((w_m, self.M, 0, 0), (w_g, self.G, 0, 0), (w_k, K, 0, 0), (1.0, self.Bt, 0, n),
                 (1.0, B, n, 0), (turn, turned, n, 0))  # fmt: skip
        rows = [i + np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) for _, A, i, _ in parts]
        columns = [j + A.indices for _, A, _, j in parts]
        values = np.concatenate([w * A.data for w, A, *_ in parts])
        places = (np.concatenate(rows), np.concatenate(columns))
        S = sp.csr_array((values, places), shape=(n + self.model.n_lam,) * 2)
        S.eliminate_zeros()
        return S

    def _operator(self, tangent: Any) -> sp.csr_array:
        """Return T as a sparse matrix, checked."""
        if not sp.issparse(tangent):
            expected = f"a matrix of shape {self.M.shape}"
            tangent = array("iteration_matrix", "tangent", tangent, expected)
        if tangent.shape != self.M.shape:
            raise ValueError(
                f"iteration_matrix: tangent must be of shape {self.M.shape}, got {tangent.shape}"
            )
        T = sp.csr_array(tangent)
        if not np.isfinite(T.data).all():
            raise ValueError("iteration_matrix: tangent must be finite")
        return T

    def right_side(
        self, step: float | None = None, rho: float = 0.8, *,
        weights: Sequence[float] | None = None, rows: str = "positions",
    ) -> np.ndarray:  # fmt: skip
        r"""Return the right-hand side of ``iteration_matrix``, in its scaling, (n_v + n_lam,).

        :math:`w_K r`, then the gap of rows of positions, and the gap of rows on velocities divided
        by :math:`w_G/w_K`. With ``rows="rates"`` the first rates of all rows stand in their place,
        divided by this too. A step of Newton subtracts the solution: x from the increment of the
        pose, :math:`w_G/w_K\,x` from velocities, :math:`w_M/w_K\,x` from accelerations, and the
        rest over :math:`w_K` from multipliers.
        """
        one_of("right_side", "rows", rows, ("positions", "rates"))
        *_, w_k, turn = self._weights(step, rho, weights)
        by_rate = self.model.numbering.lam_kinds == m.VELOCITY_ROW
        gap = np.where(by_rate, turn * self.gap, self.gap)
        if rows == "rates":
            gap = turn * self.rates.first
        return np.concatenate([w_k * self.residual, gap])

    def _weights(self, step: Any, rho: Any, weights: Any) -> tuple[float, float, float, float]:
        """Return the weights of M, G, K and of rows on velocities by positions."""
        if weights is not None:
            if step is not None:
                raise ValueError("iteration_matrix: give step [s] or weights, not both")
            w = floats(weights)
            if w.shape != (3,) or not np.isfinite(w).all() or w[2] <= 0.0 or w[1] < 0.0:
                raise ValueError(
                    "iteration_matrix: weights must be three numbers, of M [-], G [s] and K [s^2], "
                    f"that of K positive, that of G not negative, got {shown(weights)}"
                )
            w_m, w_g, w_k = w.tolist()
            return w_m, w_g, w_k, w_k / w_g if w_g else 0.0
        if step is None:
            raise ValueError("iteration_matrix: give step [s] and rho [-], or weights=")
        step = scalar("iteration_matrix", "step", step, "s")
        rho = scalar("iteration_matrix", "rho", rho, "-")
        if step <= 0.0 or not 0.0 <= rho <= 1.0:
            raise ValueError(
                "iteration_matrix: step must be positive [s] and rho in [0, 1] [-], got "
                f"{step:g} and {rho:g}"
            )
        return matrix_weights(*damping_weights(rho), step)

    def block(self, row: str, column: str, of: str = "S", **how: Any) -> sp.csr_array:
        """Return the block between two parts, by name: of the iteration matrix S or of another.

        Parameters
        ----------
        row, column : str
            Bodies, for their velocities, structures, for those of all their nodes, or parts with
            rows, for these: "hinge", and "rod.rows" for the own rows of a body or a structure.
        of : {"S", "M", "G", "K", "B", "Bt", "turn"}
        **how
            Arguments of ``iteration_matrix``.
        """
        one_of("block", "of", of, ("S", *_MATRICES))
        n_v = self.model.n_v
        r, c = self._place(row), self._place(column)
        if of == "S":
            whole: Any = self.iteration_matrix(**how)
        else:
            whole = getattr(self, of)
            starts = {"B": (n_v, 0), "turn": (n_v, 0), "Bt": (0, n_v)}.get(of, (0, 0))
            r, c = r - starts[0], c - starts[1]
            for x, size, name in ((r, whole.shape[0], row), (c, whole.shape[1], column)):
                if len(x) and not 0 <= x[0] < size:
                    raise ValueError(
                        f"block: {name!r} is no part of {of}, which has "
                        f"{' and '.join(_SIDES[of])} in rows and columns"
                    )
        return sp.csr_array(whole[r][:, c])

    def _place(self, name: str) -> np.ndarray:
        """Return which unknowns, velocities and then rows, are those of a name."""
        model = self.model
        structures = model.system.structures
        if name in model.nodes or name in structures:
            nodes = [name] if name in model.nodes else [x.name for x in structures[name].nodes()]
            return np.flatnonzero(np.isin(model.node_of_velocity, [model.bodies[x] for x in nodes]))
        owner = name.removesuffix(".rows")
        some = model.numbering.owners.get(owner, slice(0, 0))
        if some.stop == some.start:
            names = list(dict.fromkeys([*model.nodes, *structures, *model.numbering.owners]))
            raise ValueError(f"block: {absent('part with unknowns ', name, names)}")
        return model.n_v + np.arange(some.start, some.stop)

    def spy(
        self, which: Literal["S", "M", "G", "K", "B", "Bt", "turn"] = "S", *, step: float = 1e-3,
        ax: Any = None,
    ) -> "Figure":  # fmt: skip
        """Draw the pattern of a matrix, or of the iteration matrix "S", with labels."""
        one_of("spy", "which", which, (*_MATRICES, "S"))
        return from_above("Assembly.spy", self, which, step, ax)

    def save(self, path: str | Path) -> list[Path]:
        """Write M, G, K, B, Bt, turn with their labels; return the paths of the files.

        Parameters
        ----------
        path : str or Path
            A folder: one Matrix Market file for each matrix, and ``labels.txt``. Or the name of one
            archive of numpy, which ends in ``.npz``: of each matrix ``M.data``, ``M.indices``,
            ``M.indptr`` and ``M.shape`` as scipy.sparse.csr_array takes them, ``residual``
            [N, N m], ``gap`` with its ``gap_units``, and the labels ``rows`` and ``constraints``.
            Or a file for MATLAB, ``.mat``, with the same names and sparse matrices.
        """
        path = file_path("save", path)
        if path.suffix == ".npz":
            return [self._archive(path)]
        if path.suffix == ".mat":
            return [self._matlab(path)]
        if path.suffix in _FILES:
            raise ValueError(
                "save: matrices are written to a folder, as Matrix Market files, or to a file "
                f"that ends in .npz or .mat, got {shown(str(path))}"
            )
        return self._market(path)

    def _archive(self, path: Path) -> Path:
        """Write one archive; nothing in it is pickled."""
        arrays = {"residual": self.residual, "gap": self.gap}
        for name in _MATRICES:
            A = getattr(self, name).tocsr()
            arrays |= {f"{name}.{x}": getattr(A, x) for x in ("data", "indices", "indptr", "shape")}
        texts = {
            "rows": self.rows, "constraints": self.constraints, "gap_units": self.gap_units
        }  # fmt: skip
        arrays |= {name: np.array(text, str) for name, text in texts.items()}
        with replaced(path, "save") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        return path

    def _matlab(self, path: Path) -> Path:
        """Write one file for MATLAB; its sparse matrices have columns that are compressed."""
        from scipy.io import savemat

        texts = {
            x: np.array(getattr(self, x), object) for x in ("rows", "constraints", "gap_units")
        }
        values = {"residual": self.residual, "gap": self.gap, **texts}
        values |= {name: getattr(self, name).tocsc() for name in _MATRICES}
        with replaced(path, "save") as file:
            savemat(file, structures(values), do_compression=True, oned_as="column")
        return path

    def _market(self, folder: Path) -> list[Path]:
        """Write a file for each matrix and one for the labels."""
        from scipy.io import mmwrite

        paths = [folder / f"{name}.mtx" for name in _MATRICES] + [folder / "labels.txt"]
        with replaced_together(paths, "save") as (*files, labels):
            for name, file in zip(_MATRICES, files, strict=True):
                text = "velocities and rows as in labels.txt"
                mmwrite(file, getattr(self, name), comment=text)
            labels.write("".join(f"{x}\n" for x in self.model.labels).encode())
        return paths

    def __repr__(self) -> str:
        return (
            f"Assembly(t={self.state.t:g} s, {self.model.n_v} velocities, {self.model.n_lam} rows, "
            f"nnz M {self.M.nnz}, G {self.G.nnz}, K {self.K.nnz}, B {self.B.nnz})"
        )


def assemble(model: FrozenModel, state: State, memories: bool = False) -> Assembly:
    """Return the matrices of a model at a state; memories stay, or are at rest with the motion."""
    work = Workspace(model, state)
    work.S[m.PHASE] = m.AT_REST if memories else m.ORDINARY
    work.evaluate(1.0)
    r = work.vector(m.X).copy()
    v, lam, n = model.numbering.v, model.numbering.lam, model.n_v
    parts = []
    for weights in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        work.linearise(*weights)
        parts.append(pattern(model).read(work.F))
    M, G, K = (sp.csr_array(p[:n, :n]) for p in parts)
    B, Bt = sp.csr_array(parts[0][n:, :n]), sp.csr_array(parts[0][:n, n:])
    turn = sp.csr_array(B.shape)
    if np.any(model.numbering.lam_kinds == m.VELOCITY_ROW):
        work.linearise(0.0, 0.0, 0.0, 1.0)
        turn = sp.csr_array(pattern(model).read(work.F)[n:, :n] - B)
    work.check_laws()
    return Assembly(model, state, M, G, K, B, Bt, turn, r[v], r[lam])


def rows_by_mass(model: FrozenModel) -> np.ndarray:
    r"""Return :math:`(B\,\mathrm{diag}(M)^{-1}B^T)_{ii}` (n_u,) at the described pose."""
    B, names = assemble(model, model.state).B, model.numbering
    squares = np.zeros(int(model.I[m.N_U]))
    squares[names.lam] = B.multiply(B) @ (1.0 / model.F[model.I[m.DIAG] + names.v])
    return squares


def rest_matrix(model: FrozenModel, state: State) -> sp.csr_matrix:
    r"""Return :math:`[K, B^T; B, -C]`, in which compliant rows :math:`\Phi - C\lambda` are rows.

    Memories are at rest with the pose.
    """
    work = Workspace(model, state)
    work.S[m.PHASE] = m.AT_REST
    work.S[m.ELASTIC] = 0
    work.evaluate()
    work.linearise(0.0, 0.0, 1.0)
    return pattern(model).read(work.F)


def compliance(model: FrozenModel, state: State) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return gradients (n_lam, n_v) and compliances (n_lam,) of compliant rows; of others zero."""
    S, n = rest_matrix(model, state), model.n_v
    which = sp.diags(model.compliant.astype(float))
    return sp.csr_matrix(which @ S[n:, :n]), -(which @ S[n:, n:].diagonal())
