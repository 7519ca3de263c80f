r"""Global matrices M, G, K, B of a model at a state, with labels.

.. math:: M = \partial r/\partial\dot v, \quad G = \partial r/\partial v, \quad
          K = \partial r/\partial q, \quad B = \partial\Phi/\partial q

in the order of the model: velocities body by body, rows body by body and joint by joint. They are
read from the very fronts that the time loop factors, filled with one weight at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from mbd.algebra.newmark import damping_weights, matrix_weights
from mbd.base.atomic import replaced, replaced_together
from mbd.base.checked import file_path, one_of, scalar, shown
from mbd.base.matlab import structures
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.pattern import pattern
from mbd.model.state import State
from mbd.model.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.figures.matrix_pattern import Group

_BLOCKS = ("M", "G", "K", "B")
_FILES = (".mtx", ".npy", ".csv", ".txt", ".h5", ".nc")  # what a folder is not called


@dataclass(frozen=True, eq=False)
class Assembly:
    """Global matrices at a state.

    Equations :eq:`residual` and :eq:`tangents` of the theory page.

    Attributes
    ----------
    M, G, K : (n_v, n_v) sparse
        Tangents of the residual with respect to accelerations, velocities and positions.
    B : (n_lam, n_v) sparse
        Gradient of the rows: by positions, or by velocities for rows on velocities. That of a
        compliant row is zero: its stiffness is in K.
    turn : (n_lam, n_v) sparse
        Derivative of rows on velocities by positions; empty for all others.
    residual : (n_v,) array
        r = inertia + internal - applied + B^T lam.
    gap : (n_lam,) array
        The rows: Phi, of rows on velocities g. Each has its unit in ``gap_units``.
    """

    model: FrozenModel
    state: State
    M: sp.csr_matrix
    G: sp.csr_matrix
    K: sp.csr_matrix
    B: sp.csr_matrix
    Bt: sp.csr_matrix
    turn: sp.csr_matrix
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

    def iteration_matrix(self, step: float, rho: float = 0.8) -> sp.csc_matrix:
        r"""Return the scaled matrix that one Newton iteration of generalized-alpha factors.

        .. math:: \begin{bmatrix} w_M M + w_G G + w_K K & B^T \\ B & 0 \end{bmatrix},
           \quad w_M = \tfrac{1-\alpha_m}{1-\alpha_f},\; w_G = h\gamma,\; w_K = \beta h^2

        Parameters
        ----------
        step : float [s]
        rho : float
            Spectral radius.
        """
        step = scalar("iteration_matrix", "step", step, "s")
        rho = scalar("iteration_matrix", "rho", rho, "-")
        if step <= 0.0 or not 0.0 <= rho <= 1.0:
            raise ValueError(
                "iteration_matrix: step must be positive [s] and rho in [0, 1] [-], got "
                f"{step:g} and {rho:g}"
            )
        w_m, w_g, w_k, turn = matrix_weights(*damping_weights(rho), step)
        S = w_m * self.M + w_g * self.G + w_k * self.K
        B = self.B + turn * self.turn
        return sp.block_array([[S, self.Bt], [B, None]], format="csc")

    def spy(
        self, which: Literal["S", "M", "G", "K", "B"] = "S", *, step: float = 1e-3, ax: Any = None
    ) -> Figure:
        """Draw the pattern of "M", "G", "K", "B" or of the iteration matrix "S" with labels."""
        from mbd.figures.figure import checked_axes
        from mbd.figures.matrix_pattern import spy

        one_of("spy", "which", which, (*_BLOCKS, "S"))
        ax = checked_axes(ax, "spy")
        matrix = self.iteration_matrix(step) if which == "S" else getattr(self, which)
        figure = spy(which, matrix, *self._blocks(), ax)
        if which == "S":
            axis = (figure.axes[0] if ax is None else ax).xaxis
            axis.set_label_text(f"{axis.get_label_text()}, h = {step:g} s")
        return figure

    def _blocks(self) -> tuple[list[Group], list[Group]]:
        """Return the blocks of velocities by body, and of rows by joint, with their labels."""
        velocities: list[Group] = []
        at = 0
        for name, body in self.model.nodes.items():
            labels = tuple(body.formulation.velocities)
            velocities.append((at, len(labels), name, labels))
            at += len(labels)
        numbering = self.model.numbering
        rows = [
            (s.start, s.stop - s.start, name,
             tuple(x.removeprefix(f"{name}.") for x in numbering.lam_labels[s]))
            for name, s in numbering.owners.items()
            if s.stop > s.start
        ]  # fmt: skip
        return velocities, rows

    def save(self, path: str | Path) -> list[Path]:
        """Write M, G, K, B with their labels; return the paths of the files.

        Parameters
        ----------
        path : str or Path
            A folder: one Matrix Market file for each matrix, and ``labels.txt``. Or the name of one
            archive of numpy, which ends in ``.npz``: of each matrix ``M.data``, ``M.indices``,
            ``M.indptr`` and ``M.shape`` as scipy.sparse.csr_matrix takes them, ``residual``
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
        for name in _BLOCKS:
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
        values |= {name: getattr(self, name).tocsc() for name in _BLOCKS}
        with replaced(path, "save") as file:
            savemat(file, structures(values), do_compression=True, oned_as="column")
        return path

    def _market(self, folder: Path) -> list[Path]:
        """Write a file for each matrix and one for the labels."""
        from scipy.io import mmwrite

        paths = [folder / f"{name}.mtx" for name in _BLOCKS] + [folder / "labels.txt"]
        with replaced_together(paths, "save") as (*files, labels):
            for name, file in zip(_BLOCKS, files, strict=True):
                text = "velocities and rows as in labels.txt"
                mmwrite(file, getattr(self, name), comment=text)
            labels.write("".join(f"{x}\n" for x in self.model.labels).encode())
        return paths

    def __repr__(self) -> str:
        return (
            f"Assembly(t={self.state.t:g} s, {self.model.n_v} velocities, {self.model.n_lam} rows, "
            f"nnz M {self.M.nnz}, G {self.G.nnz}, K {self.K.nnz}, B {self.B.nnz})"
        )


def assemble(model: FrozenModel, state: State) -> Assembly:
    """Return the matrices of a model at a state."""
    work = Workspace(model, state)
    work.evaluate(1.0)
    r = work.vector(m.X).copy()
    v, lam, n = model.numbering.v, model.numbering.lam, model.n_v
    parts = []
    for weights in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        work.linearise(*weights)
        parts.append(pattern(model).read(work.F))
    M, G, K = (p[:n, :n] for p in parts)
    B, Bt = parts[0][n:, :n], parts[0][:n, n:]
    turn = sp.csr_matrix(B.shape)
    if np.any(model.numbering.lam_kinds == m.VELOCITY_ROW):
        work.linearise(0.0, 0.0, 0.0, 1.0)
        turn = (pattern(model).read(work.F)[n:, :n] - B).tocsr()
    return Assembly(model, state, M, G, K, B, Bt, turn, r[v], r[lam])


def rest_matrix(model: FrozenModel, state: State) -> sp.csr_matrix:
    r"""Return :math:`[K, B^T; B, -C]`, in which compliant rows :math:`\Phi - C\lambda` are rows."""
    work = Workspace(model, state)
    work.S[m.ELASTIC] = 0
    work.evaluate()
    work.linearise(0.0, 0.0, 1.0)
    return pattern(model).read(work.F)


def compliance(model: FrozenModel, state: State) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return gradients (n_lam, n_v) and compliances (n_lam,) of compliant rows; of others zero."""
    S, n = rest_matrix(model, state), model.n_v
    which = sp.diags(model.compliant.astype(float))
    return sp.csr_matrix(which @ S[n:, :n]), -(which @ S[n:, n:].diagonal())
