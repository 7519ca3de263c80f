r"""Eigenvalues s and shapes of small motions, :math:`\delta(t) = \hat\delta\,e^{st}`.

`dense` works in independent coordinates, with all eigenvalues of a pencil: of the squares,
:math:`L^T K N \hat\eta = -s^2 L^T M N \hat\eta`, where nothing moves and nothing damps, otherwise
of the states. `sparse` finds some modes of the descriptor pencil (``descriptor.py``), those nearest
to a shift, by Arnoldi's method; by default the slowest, those nearest to zero, its null spaces
moved away.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbd.base.html_tables import TextColumn, html, text
from mbd.linear.arnoldi import largest
from mbd.small_motions.descriptor import SparsePencil
from mbd.small_motions.minimal import Minimal
from mbd.small_motions.small_motion import SmallMotion
from mbd.small_motions.spectrum import (
    Eigenvalues,
    Pencil,
    is_real,
    moved_back,
    moved_zeros,
    spectrum,
)


def dense(
    minimal: Minimal, *, slow: bool = False
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return all eigenvalues, one of each conjugate pair, and shapes (n_v, modes), slowest first.

    A free motion appears once, with the eigenvalue zero. Last come the zeros by level. Where only
    ``slow`` ones are wanted, fast ones are less exact, in half the time.
    """
    motion, k = minimal.motion, minimal.n_positions
    if not len(minimal.pencil.A):
        return np.zeros(0, complex), np.zeros((motion.model.n_v, 0), complex), ()
    plain = motion.at_rest and not motion.G.nnz and not motion.Bv.shape[0]
    solved = spectrum(_of_squares(minimal.pencil, k) if plain else minimal.pencil, slow=slow)
    s, X = _roots(solved) if plain else (solved.s, solved.X)
    turned = ~is_real(s)
    keep = (s.imag > 0.0) | ~turned
    s = np.where(turned, s, s.real)[keep]
    free = solved.zeros[0] if solved.zeros else np.zeros((len(X), 0))
    s = np.concatenate([np.zeros(free.shape[1], complex), s])
    eta = np.hstack([free, X[:, keep]])[:k].astype(complex)
    order = np.lexsort((s.imag, np.round(np.abs(s), 9)))
    # a zero of the squares is a position and its velocity
    levels = tuple(n for x in solved.levels for n in (x,) * (2 if plain else 1))
    return s[order], minimal.bases.Np @ eta[:, order], levels


def _of_squares(pencil: Pencil, k: int) -> Pencil:
    """Return the pencil of squares: of nothing that moves or damps positions alone are states."""
    down, up = slice(k, None), slice(None, k)
    return Pencil(
        pencil.A[down, up], pencil.E[down, down], pencil.A_size[down, up], pencil.E_size[down, down]
    )  # fmt: skip


def _roots(squares: Eigenvalues) -> tuple[np.ndarray, np.ndarray]:
    """Return both roots of each square; of real ones exactly on an axis."""
    real = is_real(squares.s)
    root = np.sqrt(np.where(real, squares.s.real, squares.s).astype(complex))
    return np.concatenate([root, -root]), np.hstack([squares.X, squares.X])


def grows(s: np.ndarray) -> np.ndarray:
    """Tell which motions grow."""
    return (s.real > 0.0) & ~is_real(1j * s)


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents s of motions, one of each complex pair: what modes of every kind begin with."""

    eigenvalues: np.ndarray

    @property
    def frequency(self) -> np.ndarray:
        """Frequency of oscillation [Hz], Im(s) / 2 pi; zero where a mode does not oscillate."""
        return self.eigenvalues.imag / (2 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """Damping ratio [-], -Re(s) / abs(s).

        1 for a decaying, -1 for a growing mode that does not oscillate, 0 for a free motion.
        """
        size = np.abs(self.eigenvalues)
        return np.asarray(-self.eigenvalues.real / np.where(size > 0.0, size, 1.0) + 0.0)

    @property
    def stable(self) -> bool:
        """Whether no mode grows (free motions are not counted as growing)."""
        return not grows(self.eigenvalues).any()

    def __len__(self) -> int:
        return self.eigenvalues.shape[-1]

    def columns(self) -> list[TextColumn]:
        """Return the columns of their table."""
        f = TextColumn("frequency", "Hz", ">11.6g", self.frequency)
        damping = TextColumn("damping", "-", ">9.4f", self.damping)
        return [TextColumn("", "", ">3", range(len(self))), f, damping]

    def __str__(self) -> str:
        """Return the modes as a table."""
        return text(self.columns())

    def _repr_html_(self) -> str:
        return html(repr(self), self.columns())


def alike(s: np.ndarray) -> list[np.ndarray]:
    """Return the groups of modes with the same eigenvalue, each of two or more."""
    groups: list[list[int]] = []
    for i, value in enumerate(s):
        for group in groups:
            if abs(value - s[group[0]]) <= 1e-9 * max(abs(value), 1e-9 * np.abs(s).max()):
                group.append(i)
                break
        else:
            groups.append([i])
    return [np.array(g) for g in groups if len(g) > 1]


def sparse(
    motion: SmallMotion, n: int, shift: complex | None = None,
    solved: Callable[[], None] = lambda: None,
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:  # fmt: skip
    """Return the n slowest modes, or those nearest to a shift [1/s], like `dense`.

    Fewer, with a warning, where eigenvalues gather so that they are not told apart. ``solved`` is
    called at every solution with the shifted matrix: what takes the time.
    """
    pencil = SparsePencil(motion, 0.0 if shift is None else shift)
    while shift is None and (X := pencil.null_space()).shape[1]:
        pencil = pencil.without(X)
    zeros = pencil.moved[0].X if pencil.moved else np.zeros((2 * motion.model.n_v, 0))
    extra = sum(x.X.shape[1] for x in pencil.moved)
    scale = pencil.scale()
    wanted = 2 * max(n - zeros.shape[1], 0) + extra + 2

    def step(x: np.ndarray) -> np.ndarray:
        solved()
        return pencil.step(scale * x) / scale

    inverse, X, complete = largest(step, 2 * motion.model.n_v, wanted, pencil.dtype)
    s = pencil.sigma + 1.0 / inverse
    X = scale[:, None] * X
    keep = ~moved_zeros(s, pencil.moved, complete=False)
    s = s[keep]
    X = moved_back(X[:, keep], s, pencil.moved)
    s = np.where(np.abs(s) <= 1e-9 * abs(pencil.sigma), 0.0, s)
    s = np.where(is_real(s), s.real, s)
    up = np.flatnonzero(s.imag >= 0.0)
    if shift is not None:
        up = up[np.argsort(np.abs(s[up] - shift))][:n]
    s = np.concatenate([np.zeros(zeros.shape[1]), s[up]]).astype(complex)
    X = np.hstack([zeros, X[:, up]])[: motion.model.n_v]
    order = np.lexsort((s.imag, np.round(np.abs(s), 9)))[:n]
    if len(order) < n and not complete:
        text = (
            f"modes: {len(order)} of {n} are told apart; beyond them eigenvalues gather, as of "
            "damping proportional to stiffness at minus stiffness over damping; ask for fewer, "
            "for others with near= [Hz], or for all with solver='dense'"
        )
        if not len(order):
            raise ValueError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return s[order], X[:, order].astype(complex), tuple(x.X.shape[1] for x in pencil.moved)
