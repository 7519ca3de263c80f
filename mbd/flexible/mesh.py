"""Mass and stiffness matrices, nodal coordinates and interfaces of a finite element model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.base.checked import absent, file_path, mapping, shown, sized
from mbd.base.door import array, label
from mbd.base.tolerances import MESH_FAR
from mbd.flexible.files import MATRICES, NODES, Matrix, Nodes, labelled

_SYMMETRIC = 1e-9  # of the largest entry
_STILL = 1e-8  # force of a rigid motion, of the largest that entries of K could give
_THIN = 1e-7  # mass over the cube of the length [kg/m^3] of no machine: in mm and t at most 2e-8
_UNITS = (
    {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": 0.0254, "ft": 0.3048},
    {"kg": 1.0, "t": 1e3, "g": 1e-3, "lb": 0.45359237, "slug": 14.593902937206364,
     "slinch": 175.12683524647637},
    {"s": 1.0, "ms": 1e-3},
)  # fmt: skip


def read_matrix(path: str | Path, name: str = "K") -> Matrix:
    """Read a matrix of a finite element program, as ``FlexibleBody`` does.

    Parameters
    ----------
    path : str or Path
    name : str
        "M" or "K": which one of a file with both, the one whose name begins so.

    Returns
    -------
    Matrix
        ``A``, sparse and symmetric, in the units of the file; ``labels`` (n, 2), of each row node
        and degree of freedom 1 to 6, or None.

    Examples
    --------
    >>> import mbd
    >>> K, labels = mbd.read_matrix("rod_STIF2.mtx")  # doctest: +SKIP
    """
    if not isinstance(name, str) or name not in ("M", "K"):
        raise ValueError(f"read_matrix: name must be 'M' or 'K', got {shown(name)}")
    path = file_path("read_matrix", path)
    with naming_files(path):
        return square("read_matrix", name, path)


def read_nodes(path: str | Path) -> Nodes:
    """Read the nodes of a finite element program, as ``FlexibleBody`` does.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Nodes
        ``x`` (n, 3), in the units of the file; ``labels`` (n,), rising, or None; ``sets`` of labels
        by name; ``cells`` of a mesh that meshio reads.
    """
    path = file_path("read_nodes", path)
    with naming_files(path):
        return _coordinates("read_nodes", path)


class RowOrder(NamedTuple):
    """Where rows of files stand: labels of all their nodes, rows kept of six a node, units."""

    nodes: Nodes
    kept: np.ndarray
    d: int
    units: tuple[float, float, float]

    def placed(self, matrix: sp.csc_array, inertia: bool) -> sp.csc_array:
        """Return a matrix of six rows a node as rows that are kept, in SI: as M, or as K."""
        length, mass, time = self.units
        turns = np.tile(np.repeat([1.0 / length, 1.0], 3)[: self.d], len(self.kept) // self.d)
        factor = mass * length**2 / (1.0 if inertia else time**2)
        A = sp.csc_array(sp.csr_array(matrix)[self.kept][:, self.kept])
        S = sp.diags_array(turns)
        return sp.csc_array(factor * (S @ A @ S))


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
        Nodes of each patch.
    soft : frozenset of str
        Patches over which loads are spread; others are rigid.
    references : (r, n d) array [N], [N m]
        Reference loads whose stress stiffens.
    labels : (n,) int array
        Of the nodes, rising.
    patches : dict
        Of each centre (3,), degrees of freedom (k,) and rigid motions (k, 6).
    """

    who: str
    M: sp.csc_array
    K: sp.csc_array
    x: np.ndarray
    interfaces: dict[str, np.ndarray]
    order: RowOrder
    labels: np.ndarray
    soft: frozenset[str] = frozenset()
    references: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def checked(
        cls,
        who: str,
        M: Any,
        K: Any,
        coordinates: Any,
        interfaces: Any,
        units: str = "m kg s",
        loads: Any = None,
    ) -> "FiniteElementModel":
        """Return the model of matrices, arrays or names of files; refuse what is none."""
        nodes, factors = _coordinates(who, coordinates), _factors(who, units)
        both = _spread(who, nodes, {"M": square(who, "M", M), "K": square(who, "K", K)})
        used = sum(np.diff(A.indptr) for A in both) > 0
        by_node = used.reshape(-1, 6)
        d = 6 if by_node[:, 3:].any() else 3
        there = by_node.any(axis=1) | (nodes.labels is None)
        rows = np.flatnonzero(there)[:, None] * 6 + np.arange(d)
        order = RowOrder(nodes, rows.ravel(), d, factors)
        mass, stiffness = order.placed(both[0], True), order.placed(both[1], False)
        x = factors[0] * nodes.x[there]
        far, extent = float(np.abs(x).max()), float(np.ptp(x, axis=0).max())
        if far > MESH_FAR * extent > 0.0:
            raise ValueError(
                f"{who}: nodes must be near the origin of the body, got one {far:.6g} m from it, "
                f"of a mesh of {extent:.6g} m: too few digits would be left of how it bends; give "
                "nodes - nodes.mean(axis=0), and position= where that is"
            )
        massive = (mass.diagonal() > 0) | (np.arange(len(rows) * d) % d < 3)
        if factor(sp.csc_array(mass[massive][:, massive])) is None or abs(mass[~massive]).sum() > 0:
            raise ValueError(
                f"{who}: M must be positive definite; give every degree of freedom a mass, or "
                "condense those without"
            )
        labels = None if nodes.labels is None else nodes.labels[there]
        soft = mapping(who, "loads", {} if loads is None else loads, "{'pad': [0, 1, 2]}")
        rigid = mapping(who, "interfaces", interfaces, "{'left': [0, 1, 2]}")
        patches = _patches(who, rigid, soft, len(x), nodes._replace(labels=labels))
        mesh = cls(
            who,
            mass,
            stiffness,
            x,
            patches,
            order,
            np.arange(len(x)) if labels is None else labels,
            frozenset(soft),
        )
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
        return self.order.d

    @property
    def active(self) -> np.ndarray:
        """Degrees of freedom that have stiffness or mass; nodes of solids have no rotations."""
        return np.flatnonzero(np.diff(self.K.indptr) + np.diff(self.M.indptr))

    @property
    def doubt(self) -> str:
        """What is to be said of its units, or nothing."""
        mass = float(self.M.sum() if self.d == 3 else self.M[0::6][:, 0::6].sum() * 3) / 3
        size = float(np.ptp(self.x, axis=0).max())
        if mass > _THIN * size**3:
            return ""
        return (
            f"{self.who}: it has {mass:.3g} kg on {size:.6g} m, as a mesh in mm, t, s would have: "
            "give units='mm t s', or what its matrices and coordinates are in"
        )

    def another(self, what: str, value: Any, inertia: bool) -> sp.csc_array:
        """Return another matrix of the mesh, in the units of M or of K."""
        (A,) = _spread(self.who, self.order.nodes, {what: square(self.who, what, value)})
        return self.order.placed(A, inertia)

    def with_references(self, loads: Mapping[str, Any]) -> "FiniteElementModel":
        """Return the mesh with reference loads, nodal forces in balance."""
        n, rows = self.M.shape[0], []
        length, mass, time = self.order.units
        force = mass * length / time**2
        R = np.abs(rigid := rigid_motions(self.x - self.x.mean(axis=0), self.d))
        for name, value in loads.items():
            what = f"load_stiffness[{name!r}]"
            F = array(self.who, what, file_of(self.who, what, value), "nodal forces [N], [N m]")
            if F.size != n or not np.isfinite(F).all() or not F.any():
                raise ValueError(
                    f"{self.who}: {what} must have {n} nodal forces and moments [N], [N m], finite "
                    f"and not all zero, got shape {F.shape}"
                )
            rows.append(F.ravel() * np.tile(np.repeat([1.0, length], 3)[: self.d], len(self.x)))
            if (np.abs(rigid.T @ rows[-1]) > _STILL * (R.T @ np.abs(rows[-1]))).any():
                raise ValueError(
                    f"{self.who}: {what} must be in balance, with the reactions at its supports, "
                    f"got the sums {shown((rigid.T @ rows[-1]).round(12).tolist())}"
                )
        return replace(self, references=force * np.array(rows).reshape(-1, n))

    @cached_property
    def patches(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Interfaces, checked."""
        return {name: self._patch(name) for name in self.interfaces}

    def _patch(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nodes, d = self.interfaces[name], self.d
        center = self.x[nodes].mean(axis=0)
        dofs = (d * nodes[:, None] + np.arange(d)).ravel()
        some = np.isin(dofs, self.active)
        shifts = some & (np.arange(len(dofs)) % d < 3)
        R = rigid_motions(self.x[nodes] - center, d)
        size = max(float(np.ptp(self.x, axis=0).max()), 1e-300)
        for rows in (shifts, some) if name in self.soft else (some,):
            values = np.linalg.svd(R[rows] / np.repeat([1.0, size], 3), compute_uv=False)
            if len(values) == 6 and values[-1] >= 1e-6:
                return center, dofs[rows], R[rows]
        raise ValueError(
            f"{self.who}: {'loads' if name in self.soft else 'interface'} {name!r} must have nodes "
            f"that say how it turns, three or more that are not in line, got {len(nodes)}; give "
            "more nodes" + ("" if d == 6 else ", or matrices with rotations")
        )


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


def file_of(who: str, what: str, value: Any) -> Any:
    """Return what a file holds, as Matrix or Nodes if it may have labels; others as they are."""
    if not isinstance(value, str | Path):
        return value
    path = file_path(f"{who}: {what}", value)
    if not path.is_file():
        raise FileNotFoundError(f"{who}: {what} must be a file or numbers, no such file: {value!r}")
    try:
        ending = path.suffix.lower()
        if what == "coordinates" and ending in NODES:
            return NODES[ending](path)
        if what not in ("coordinates", "faces") and ending in MATRICES:
            return MATRICES[ending](path, "M" if what == "M" else "K")
        if path.suffix == ".npy":
            return np.load(path)
        if path.suffix == ".npz":
            with np.load(path) as kept:
                if "format" in kept.files:
                    return sp.load_npz(path)
                (name,) = kept.files
                return kept[name]
        if what in ("coordinates", "faces"):
            return _mesh(who, what, path)
    except ImportError:
        raise
    except Exception as error:  # libraries raise errors of all kinds for damaged files
        why = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{who}: {what}: {str(path)!r} cannot be read: {shown(why)}; write it again"
        ) from None
    return path


def _mesh(who: str, what: str, path: Path) -> Nodes:
    """Return the nodes and cells of a mesh."""
    try:
        import meshio
    except ImportError:
        raise ImportError(
            f"{who}: {what} from {str(path)!r} need meshio: pip install 'mbd[mesh]'"
        ) from None
    try:
        mesh = meshio.read(path)
    except SystemExit:  # of files whose kind it does not know
        raise ValueError("no mesh of a kind that meshio knows") from None
    return Nodes(mesh.points, cells=[(x.type, x.data) for x in mesh.cells])


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


def _factors(who: str, units: Any) -> tuple[float, float, float]:
    """Return metres, kilograms and seconds in units of length, mass and time."""
    words = units.split() if isinstance(units, str) else []
    if len(words) != 3 or any(x not in table for x, table in zip(words, _UNITS, strict=True)):
        raise ValueError(
            f"{who}: units must be those of length, mass and time, as 'mm t s', of "
            f"{'; '.join(', '.join(x) for x in _UNITS)}, got {shown(units)}"
        )
    length, mass, time = (table[x] for x, table in zip(words, _UNITS, strict=True))
    return length, mass, time


def _spread(who: str, nodes: Nodes, matrices: dict[str, Matrix]) -> list[sp.csc_array]:
    """Return matrices as ones of six rows for each node."""
    n, spread = len(nodes.x), []
    shapes = {k: x.A.shape for k, x in matrices.items() if x.labels is None}
    if len(set(shapes.values())) > 1 or not {x[0] for x in shapes.values()} <= {3 * n, 6 * n}:
        raise ValueError(
            f"{who}: {' and '.join(shapes)} must be ({3 * n}, {3 * n}), 3 translations of each of "
            f"the {n} nodes in coordinates, or twice that with rotations, got "
            f"{' and '.join(map(str, shapes.values()))}"
        )
    for what, (A, labels) in matrices.items():
        if labels is None:
            rows = (6 * np.arange(n)[:, None] + np.arange(A.shape[0] // n)).ravel()
        else:
            here = np.zeros(0, int) if nodes.labels is None else nodes.labels
            lost = np.setdiff1d(labels[:, 0], here)
            if lost.size:
                raise ValueError(
                    f"{who}: coordinates must have the nodes of {what}, by their labels, "
                    f"{f'but not {lost[0]}' if here.size else 'but have none'}; give a file with "
                    "labels, or a table (n, 4) of label, x, y, z"
                )
            rows = 6 * np.searchsorted(here, labels[:, 0]) + labels[:, 1] - 1
        P = sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (6 * n, len(rows)))
        B = sp.csc_array(P @ A @ P.T)
        B.eliminate_zeros()
        spread.append(B)
    return spread


def square(who: str, what: str, value: Any) -> Matrix:
    """Return a symmetric sparse matrix, given as one, as an array, or by the name of a file."""
    value = file_of(who, what, value)
    labels = None
    if isinstance(value, Matrix):
        value, labels = value
    if isinstance(value, Path):
        raise ValueError(
            f"{who}: {what} must be a matrix, or a file .mtx (Matrix Market, Abaqus), .npz "
            "(scipy.sparse), .npy, .op4, .pch (Nastran), .sti, .mas (CalculiX) or .matrix (Ansys), "
            f"got {str(value)!r}"
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
    return Matrix(sp.csc_array(0.5 * (A + A.T)), labels)


def _coordinates(who: str, value: Any) -> Nodes:
    """Return nodes, given as an array or by the name of a file of numbers or a mesh."""
    value = file_of(who, "coordinates", value)
    nodes = value if isinstance(value, Nodes) else Nodes(value)
    x = array(who, "coordinates", nodes.x, "an (n, 3) array [m], or the name of a file")
    if x.ndim != 2 or x.shape[1] not in (3, 4) or not len(x) or not np.isfinite(x).all():
        raise ValueError(
            f"{who}: coordinates must be an (n, 3) array of finite numbers [m], or (n, 4) with "
            f"labels in front, got shape {x.shape}"
        )
    sized(who, "coordinates", x[:, -3:], "m")
    if x.shape[1] == 3:
        return nodes._replace(x=x)
    try:
        return labelled(x[:, 0], x[:, 1:])
    except ValueError as error:
        raise ValueError(f"{who}: coordinates: {error}") from None


def _patches(
    who: str, rigid: Mapping[str, Any], soft: Mapping[str, Any], n: int, names: Nodes
) -> dict[str, np.ndarray]:
    """Return the nodes of each patch; no node belongs to two of them, and no name."""
    if set(rigid) & set(soft):
        raise ValueError(
            f"{who}: interfaces and loads must have names of their own, both have "
            f"{min(set(rigid) & set(soft))!r}"
        )
    interfaces: dict[str, np.ndarray] = {}
    owner: dict[int, str] = {}
    for name, members in {**rigid, **soft}.items():
        label(name, f"{who}: interfaces")
        nodes = members
        if isinstance(members, str):
            nodes = names.sets.get(members, names.sets.get(members.upper()))
            if nodes is None:
                raise ValueError(
                    f"{who}: interface {name!r}: {absent('set ', members, names.sets)}"
                )
        i = np.atleast_1d(np.asarray(nodes))
        if names.labels is not None and i.size and i.dtype.kind in "iu":
            lost = np.setdiff1d(i, names.labels)
            if lost.size:
                raise ValueError(
                    f"{who}: interface {name!r} must have nodes of M and K by their labels, got "
                    f"{lost[0]}"
                )
            i = np.searchsorted(names.labels, i)
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
