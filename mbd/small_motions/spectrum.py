r"""All eigenvalues s and vectors of a pencil, :math:`A x = s E x`, E regular, however far apart.

Beside the entries stand their sizes, sums of the absolute values of what was added: round-off of
an entry is a few eps of its size, and nothing smaller is told from zero.

*Zeros.* Rows and columns are scaled until the largest size of each is one [1]_. A vector is in the
null space if every row of A x is round-off of what is added in it. Null spaces X are moved away,
:math:`A \to A - \rho E X Z^T`, :math:`Z^T X = 1` [2]_: what was zero is :math:`-\rho`, the other
eigenvalues stay, and the null space that is left is the next level of Jordan's chains. A free body
has levels (6, 6), positions and velocities; with a drag on its translations (6, 3).

*Slow and fast.* Round-off of an eigenvalue is that of the largest of its problem. Those of
:math:`A^{-1} E`, which are 1/s, are exact where s is small, those of :math:`E^{-1} A` where it is
large. They are cut between two moduli where both count alike, so that none is lost or found twice.

References
----------
.. [1] D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices,
   RAL-TR-2001-034, 2001.
.. [2] A. Brauer, Limits for the characteristic roots of a matrix IV, Duke Math. J. 19, 75, 1952.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mbd.base.tolerances import ROUND_OFF


def is_real(s: np.ndarray) -> np.ndarray:
    """Tell which eigenvalues are real: round-off of a double one is the root of that of others."""
    return np.abs(s.imag) <= ROUND_OFF**0.5 * np.abs(s)


@dataclass(frozen=True, eq=False)
class Pencil:
    """A and E, (n, n), and the sizes of their entries."""

    A: np.ndarray
    E: np.ndarray
    A_size: np.ndarray
    E_size: np.ndarray


@dataclass(frozen=True, eq=False)
class Level:
    """A null space X, (n, k), that was moved to the eigenvalue -rate, along Z."""

    X: np.ndarray
    Z: np.ndarray
    rate: float


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """Eigenvalues and vectors.

    Attributes
    ----------
    zeros : tuple of (n, k) arrays
        Null spaces of the levels of zero.
    s : (m,) array
        The other eigenvalues, slowest first.
    X : (n, m) array
    """

    zeros: tuple[np.ndarray, ...]
    s: np.ndarray
    X: np.ndarray

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of zeros of each level."""
        return tuple(x.shape[1] for x in self.zeros)


def spectrum(pencil: Pencil, *, slow: bool = False) -> Eigenvalues:
    """Return all eigenvalues; real ones and vectors where both matrices are symmetric, E > 0.

    Of ``slow`` ones the inverse problem alone is solved.
    """
    if not len(pencil.A):
        return Eigenvalues((), np.zeros(0), np.zeros((0, 0)))
    definite = _is_definite(pencil)
    pencil = _symmetrised(pencil) if definite else pencil
    scaled, c = _scaled(pencil)
    rate = _typical(scaled)
    levels, moved = list[Level](), 0
    while moved < len(c) and (X := _null_space(scaled)).size:
        # to no round number, which an eigenvalue may be too, and each level to another one
        level = _moved(scaled, X, rate * np.exp(1.0 / (3.0 + len(levels))), definite)
        levels.append(Level(c[:, None] * level.X, level.Z / c, level.rate))
        moved += X.shape[1]
        pencil = _without(pencil, levels[-1], definite)
        scaled, c = _scaled(pencil)
    if moved < len(c):
        s, V = _both_halves(scaled, levels, definite, slow)
    else:
        s, V = np.zeros(0), np.zeros((len(c), 0))
    return Eigenvalues(tuple(x.X for x in levels), s, moved_back(c[:, None] * V, s, levels))


def moved_back(V: np.ndarray, s: np.ndarray, levels: Sequence[Level]) -> np.ndarray:
    """Return the vectors to eigenvalues s of the pencil whose null spaces were moved away."""
    for level in reversed(levels):
        V = V + level.X @ (level.rate * (level.Z @ V) / s)
    return V


def moved_zeros(s: np.ndarray, levels: Sequence[Level], complete: bool = True) -> np.ndarray:
    """Tell which eigenvalues are zeros that were moved: of each level those nearest to its rate.

    Where not all eigenvalues are known some of a level may be missing.
    """
    moved = np.zeros(len(s), bool)
    for level in levels:
        apart = np.where(moved, np.inf, np.abs(s / level.rate + 1.0))
        first = np.argsort(apart)[: level.X.shape[1]]
        moved[first[apart[first] <= (np.inf if complete else 1e-6)]] = True
    return moved


def _scaled(pencil: Pencil) -> tuple[Pencil, np.ndarray]:
    """Return the pencil with sizes of one, and by what its columns are multiplied."""
    r, c = _equilibrated(pencil.A_size)
    return Pencil(*(r[:, None] * x * c for x in vars(pencil).values())), c


def _symmetrised(pencil: Pencil) -> Pencil:
    """Return the symmetric parts, which differ by round-off."""
    return Pencil(*(0.5 * (x + x.T) for x in vars(pencil).values()))


def _is_definite(pencil: Pencil) -> bool:
    """Tell whether both matrices are symmetric but for round-off, and E is positive."""
    pairs = ((pencil.A, pencil.A_size), (pencil.E, pencil.E_size))
    if any((np.abs(x - x.T) > ROUND_OFF * (y + y.T)).any() for x, y in pairs):
        return False
    try:
        scipy.linalg.cholesky(pencil.E)
    except np.linalg.LinAlgError:
        return False
    return True


def _equilibrated(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return powers of two by which rows and columns have one as their largest entries."""
    r, c = np.ones(len(size)), np.ones(len(size))
    for _ in range(20):
        now = r[:, None] * size * c
        rows, columns = now.max(1, initial=0.0), now.max(0, initial=0.0)
        if all(((x == 0.0) | ((x > 0.5) & (x < 2.0))).all() for x in (rows, columns)):
            break
        r *= 2.0 ** np.round(-0.5 * np.log2(np.where(rows > 0.0, rows, 1.0)))
        c *= 2.0 ** np.round(-0.5 * np.log2(np.where(columns > 0.0, columns, 1.0)))
    return r, c


def _null_space(pencil: Pencil) -> np.ndarray:
    """Return a basis of all x with A x = 0 but for round-off of what is added in each row."""
    V = np.linalg.svd(pencil.A)[2].T
    rows = np.abs(pencil.A @ V)
    allowed = ROUND_OFF * np.outer(pencil.A_size.sum(1), np.abs(V).max(0))
    null = (rows <= allowed).all(0)
    k = int(np.argmin(null[::-1])) if not null.all() else len(null)
    return V[:, len(null) - k :]


def _typical(pencil: Pencil) -> float:
    """Return an eigenvalue between slow and fast, from the entries of E where A is of size one."""
    rows, columns = pencil.A_size.max(1) > 0.0, pencil.A_size.max(0) > 0.0
    sizes = pencil.E_size[rows][:, columns].max(1, initial=0.0)
    sizes = sizes[sizes > 0.0]
    return 1.0 / float(np.median(sizes)) if len(sizes) else 1.0


def _moved(pencil: Pencil, X: np.ndarray, rate: float, definite: bool) -> Level:
    """Return how a null space is moved."""
    E = pencil.E
    if definite:
        X = X @ np.linalg.inv(scipy.linalg.cholesky(X.T @ E @ X))
    X = _without_round_off(X)
    Z = (E @ X).T if definite else _without_round_off(np.linalg.pinv(X).T).T
    return Level(X, Z, rate)


def _without_round_off(X: np.ndarray) -> np.ndarray:
    """Return vectors with zeros where they have nothing else: E X takes these to empty rows."""
    return np.where(np.abs(X) <= ROUND_OFF * np.abs(X).max(0), 0.0, X)


def _without(pencil: Pencil, level: Level, definite: bool) -> Pencil:
    """Return the pencil with a null space moved away."""
    X, Z, rate = level.X, level.Z, level.rate
    size = pencil.E_size @ np.abs(X)
    size = rate * size @ (size.T if definite else np.abs(Z))
    A = pencil.A - rate * (pencil.E @ X) @ Z
    moved = Pencil(A, pencil.E, pencil.A_size + size, pencil.E_size)
    return _symmetrised(moved) if definite else moved


def _both_halves(
    pencil: Pencil, levels: list[Level], definite: bool, only_slow: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues that were not moved, by modulus, and vectors."""
    halves = []
    for s, V in _symmetric_halves(pencil) if definite else _general_halves(pencil, only_slow):
        keep = ~moved_zeros(s, levels)
        order = np.argsort(np.abs(s[keep]))
        halves.append((s[keep][order], V[:, keep][:, order]))
    if len(halves) == 1:
        return halves[0]
    (slow, X), (fast, Y) = halves
    j = _cut(slow, fast)
    return np.concatenate([slow[:j], fast[j:]]), np.hstack([X[:, :j], Y[:, j:]])


def _symmetric_halves(pencil: Pencil) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return real eigenvalues of the inverse problem and of the problem, E = C C^T.

    Large diagonals first: entries of E go over many decades, and elimination and the reduction to
    a tridiagonal matrix keep the digits of small ones then.
    """
    order = np.argsort(-np.diag(pencil.E), kind="stable")
    A, E = (x[np.ix_(order, order)] for x in (pencil.A, pencil.E))
    C = scipy.linalg.cholesky(E, lower=True)
    inverse = C.T @ np.linalg.solve(A, C)
    straight = scipy.linalg.solve_triangular(C, A, lower=True)
    straight = scipy.linalg.solve_triangular(C, straight.T, lower=True)
    halves = []
    for matrix, invert in ((inverse, True), (straight, False)):
        s, Y = scipy.linalg.eigh(0.5 * (matrix + matrix.T))
        V = scipy.linalg.solve_triangular(C, Y, lower=True, trans=1)
        halves.append((1.0 / s if invert else s, V[np.argsort(order)]))
    return halves


def _general_halves(pencil: Pencil, only_slow: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return eigenvalues of the inverse problem and of the problem."""
    slow, X = scipy.linalg.eig(np.linalg.solve(pencil.A, pencil.E))
    if only_slow:
        with np.errstate(divide="ignore", invalid="ignore"):
            return [(1.0 / slow, X)]
    fast, Y = scipy.linalg.eig(np.linalg.solve(pencil.E, pencil.A))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [(1.0 / slow, X), (fast, Y)]


def _cut(slow: np.ndarray, fast: np.ndarray) -> int:
    """Return how many eigenvalues are taken from the slow half; of moduli without gaps all."""
    n = len(slow)
    if n < 2:
        return n
    x, y = np.abs(slow), np.abs(fast)
    middle = 0.5 * (np.log(x[0]) + np.log(y[-1]))
    edges = np.arange(1, n)
    below, above = np.maximum(x[:-1], y[:-1]), np.minimum(x[1:], y[1:])
    alike = edges[below * (1.0 + ROUND_OFF**0.5) < above]
    if not len(alike):
        return n
    places = np.log(below[alike - 1]) / 2 + np.log(above[alike - 1]) / 2
    return int(alike[np.argmin(np.abs(places - middle))])
