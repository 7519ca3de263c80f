"""Mass and stiffness matrices, nodal coordinates and interfaces of a finite element model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.base.checked import file_path, shown, sized
from mbd.base.door import array, label

_SYMMETRIC = 1e-9  # of the largest entry
_STILL = 1e-8  # force of a rigid motion, of the largest that entries of K could give


@dataclass(frozen=True, eq=False)
class FiniteElementModel:
    """A free finite element model, checked.

    Attributes
    ----------
    M, K : (n d, n d) sparse [kg, kg m^2], [N/m, N m]
        Of n nodes with d = 3 translations, or 6: three translations, then three small rotations.
    x : (n, 3) array [m]
        Nodes, in the axes of the body.
    interfaces : dict
        Nodes of each rigid patch.
    patches : dict
        Of each centre (3,), degrees of freedom (k,) and rigid motions (k, 6).
    """

    who: str
    M: sp.csc_array
    K: sp.csc_array
    x: np.ndarray
    interfaces: dict[str, np.ndarray]

    @classmethod
    def checked(
        cls, who: str, M: Any, K: Any, coordinates: Any, interfaces: Any
    ) -> "FiniteElementModel":
        """Return the model of matrices, arrays or names of files; refuse what is none."""
        x = _coordinates(who, coordinates)
        mass, stiffness = square(who, "M", M), square(who, "K", K)
        if mass.shape != stiffness.shape or mass.shape[0] not in (3 * len(x), 6 * len(x)):
            raise ValueError(
                f"{who}: M and K must be ({3 * len(x)}, {3 * len(x)}), 3 translations of each of "
                f"the {len(x)} nodes in coordinates, or twice that with rotations, got "
                f"{mass.shape} and {stiffness.shape}"
            )
        if factor(mass) is None:
            raise ValueError(
                f"{who}: M must be positive definite; give every degree of freedom a mass, or "
                "condense those without"
            )
        mesh = cls(who, mass, stiffness, x, _interfaces(who, interfaces, len(x)))
        R = rigid_motions(x, mesh.d)
        force = np.abs(stiffness @ R).max(axis=0)
        most = np.asarray(abs(stiffness) @ np.abs(R)).max(axis=0)
        if (force > _STILL * most).any():
            raise ValueError(
                f"{who}: K must leave rigid motions free, but it resists {_free(force, most)}; "
                "take the matrices of the body without its supports, and check the order of the "
                "degrees of freedom, node by node"
            )
        return mesh

    @property
    def d(self) -> int:
        """Degrees of freedom of a node."""
        return int(self.M.shape[0]) // len(self.x)

    @cached_property
    def patches(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Interfaces, checked."""
        return {name: self._patch(name) for name in self.interfaces}

    def _patch(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nodes, d = self.interfaces[name], self.d
        center = self.x[nodes].mean(axis=0)
        R = rigid_motions(self.x[nodes] - center, d)
        size = max(float(np.ptp(self.x, axis=0).max()), 1e-300)
        values = np.linalg.svd(R / np.repeat([1.0, size], 3), compute_uv=False)
        if len(values) < 6 or values[-1] < 1e-6:
            raise ValueError(
                f"{self.who}: interface {name!r} must have nodes that say how it turns, three or "
                f"more that are not in line, got {len(nodes)}; give more nodes"
                + ("" if d == 6 else ", or matrices with rotations")
            )
        return center, (d * nodes[:, None] + np.arange(d)).ravel(), R


def _free(force: np.ndarray, most: np.ndarray) -> str:
    i = int(np.argmax(force / np.maximum(most, 1e-300)))
    return f"{'a shift along' if i < 3 else 'a turn about'} {'xyz'[i % 3]}"


def rigid_motions(x: np.ndarray, d: int) -> np.ndarray:
    """Return the six rigid motions (n d, 6): shifts, then turns about the origin."""
    R = np.zeros((len(x), d, 6))
    R[:, :3, :3] = np.eye(3)
    R[:, :3, 3:] = np.cross(np.eye(3), x[:, None]).swapaxes(1, 2)
    R[:, 3:, 3:] = np.eye(3)[: d - 3]
    return R.reshape(-1, 6)


def factor(A: sp.csc_array) -> Any:
    """Return the factors of a symmetric matrix, None if it is not positive definite."""
    from scipy.sparse.linalg import splu

    try:
        lu = splu(
            A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # exactly singular
        return None
    same = np.array_equal(lu.perm_r, lu.perm_c)
    d = lu.U.diagonal()
    return lu if same and (d > 1e-13 * A.diagonal()[np.argsort(lu.perm_c)]).all() else None


def _file(who: str, what: str, value: Any) -> Any:
    """Return what a file of numbers holds; anything else as it is."""
    if not isinstance(value, str | Path):
        return value
    path = file_path(f"{who}: {what}", value)
    if not path.is_file():
        raise FileNotFoundError(f"{who}: {what} must be a file or numbers, no such file: {value!r}")
    try:
        if path.suffix == ".mtx":
            from scipy.io import mmread

            return mmread(path)
        if path.suffix == ".npy":
            return np.load(path)
        if path.suffix == ".npz":
            with np.load(path) as kept:
                if "format" in kept.files:
                    return sp.load_npz(path)
                (name,) = kept.files
                return kept[name]
        if what == "coordinates":
            return _points(who, path)
    except ImportError:
        raise
    except Exception as error:  # libraries raise errors of all kinds for damaged files
        why = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{who}: {what}: {str(path)!r} cannot be read: {shown(why)}; write it again"
        ) from None
    return path


def _points(who: str, path: Path) -> Any:
    """Return the nodes of a mesh."""
    try:
        import meshio
    except ImportError:
        raise ImportError(
            f"{who}: coordinates from {str(path)!r} need meshio: pip install 'mbd[mesh]'"
        ) from None
    try:
        return meshio.read(path).points
    except SystemExit:  # of files whose kind it does not know
        raise ValueError("no mesh of a kind that meshio knows") from None


@contextmanager
def naming_files(*values: Any) -> Iterator[None]:
    """Let errors about what was read say from which files."""
    files = [str(x) for x in values if isinstance(x, str | Path)]
    try:
        yield
    except ValueError as error:
        if not files or any(x in str(error) for x in files):
            raise
        raise ValueError(f"{error} (read from {shown(', '.join(files))})") from None


def square(who: str, what: str, value: Any) -> sp.csc_array:
    """Return a symmetric sparse matrix, given as one, as an array, or by the name of a file."""
    value = _file(who, what, value)
    if isinstance(value, Path):
        raise ValueError(
            f"{who}: {what} must be a matrix, or a file .mtx (Matrix Market), .npz (scipy.sparse) "
            f"or .npy, got {str(value)!r}"
        )
    if not sp.issparse(value):
        value = np.atleast_2d(array(who, what, value, "a symmetric matrix"))
    elif value.format in ("csr", "csc", "bsr"):
        try:
            value.check_format(full_check=True)  # scipy would read beyond the ends of its arrays
        except ValueError as error:
            raise ValueError(f"{who}: {what} must be a whole sparse matrix: {error}") from None
    if value.ndim != 2:
        raise ValueError(f"{who}: {what} must be square and finite, got shape {value.shape}")
    A = sp.csc_array(value, dtype=float)
    if A.shape[0] != A.shape[1] or not A.shape[0] or not np.isfinite(A.data).all():
        raise ValueError(f"{who}: {what} must be square and finite, got shape {A.shape}")
    sized(who, what, A.data, "SI")
    gap = abs(A - A.T).max()
    if gap > _SYMMETRIC * abs(A).max():
        raise ValueError(
            f"{who}: {what} must be symmetric, entries differ by {gap:.3g} of {abs(A).max():.3g}; "
            "write both triangles, or the symmetric form of Matrix Market"
        )
    return sp.csc_array(0.5 * (A + A.T))


def _coordinates(who: str, value: Any) -> np.ndarray:
    """Return nodes (n, 3) [m], given as an array or by the name of a file of numbers or a mesh."""
    value = _file(who, "coordinates", value)
    x = array(who, "coordinates", value, "an (n, 3) array [m], or the name of a file")
    if x.ndim != 2 or x.shape[1] != 3 or not len(x) or not np.isfinite(x).all():
        raise ValueError(
            f"{who}: coordinates must be an (n, 3) array of finite numbers [m], got shape {x.shape}"
        )
    return sized(who, "coordinates", x, "m")


def _interfaces(who: str, value: Any, n: int) -> dict[str, np.ndarray]:
    """Return the nodes of each interface; no node belongs to two of them."""
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{who}: interfaces must be a dict of name and nodes, {{'left': [0, 1, 2]}}, got "
            f"{shown(value)}"
        )
    interfaces: dict[str, np.ndarray] = {}
    owner: dict[int, str] = {}
    for name, nodes in value.items():
        label(name, f"{who}: interfaces")
        i = np.atleast_1d(np.asarray(nodes))
        if i.ndim != 1 or not i.size or i.dtype.kind not in "iu":
            raise ValueError(
                f"{who}: interface {name!r} must have nodes, whole numbers from 0 to {n - 1}, got "
                f"{shown(nodes)}"
            )
        outside = i[(i < 0) | (i >= n)]
        if outside.size:
            raise ValueError(
                f"{who}: interface {name!r} must have nodes from 0 to {n - 1}, got {outside[0]}"
            )
        for node in i.tolist():
            if owner.setdefault(node, name) != name:
                raise ValueError(
                    f"{who}: interfaces {owner[node]!r} and {name!r} must not share nodes, both "
                    f"have {node}; make them one interface"
                )
        interfaces[name] = np.unique(i)
    return interfaces
