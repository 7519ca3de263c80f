r"""Skin of a finite element mesh: its faces, strain and stress of its shapes there.

A face says how its own plane is strained. With the edges :math:`e_1, e_2` from a corner to its
neighbours, dual vectors :math:`g^i` in the plane, :math:`g^i\cdot e_j = \delta_{ij}`, and
differences :math:`u_i` of displacements along the edges

.. math:: \varepsilon = P\,\mathrm{sym}(u_i\otimes g^i)\,P, \qquad P = e_i\otimes g^i .

The corners of a quad have the mean of their shears; a node has the mean of the corners there, by
their areas. Six numbers of a tensor are xx, yy, zz,
xy, yz, zx.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.base.checked import shown
from mbd.base.door import array
from mbd.flexible.files import Nodes
from mbd.flexible.mesh import FiniteElementModel, file_of
from mbd.parts.skin import Skin

_CREASE = 0.7  # cosine of the angle between faces that are parts of one smooth surface
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
_FACES = "triangles (k, 3) or quads (k, 4), numbers of nodes"
# corners of the sides of cells, as meshio numbers them
_BOTTOM = (0, 3, 2, 1)
_SIDES: dict[str, tuple[tuple[int, ...], ...]] = {
    "triangle": ((0, 1, 2),),
    "quad": ((0, 1, 2, 3),),
    "tetra": ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)),
    "pyramid": (_BOTTOM, (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    "wedge": ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "hexahedron": (_BOTTOM, (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
}


def skin_of(mesh: FiniteElementModel, faces: Any, stress: Any, shapes: np.ndarray) -> Skin | None:
    """Return the skin of a mesh with shapes (N, d, m), None if it has no faces."""
    who, x = mesh.who, mesh.x
    whole, labels = mesh.order.nodes, mesh.labels
    rows = whole if faces is None else file_of(who, "faces", faces)
    if isinstance(rows, Nodes):
        _check_same(who, rows, whole)
        rows, labels = boundary(rows.cells), mesh.order.kept[:: mesh.d] // 6
    if faces is None and not rows:
        if stress is not None:
            raise ValueError(f"{who}: nodal_stress is for faces, and there are none")
        return None
    four = _checked(who, rows, labels)
    nodes, four = split(x, four)
    moved = shapes[nodes, :3]
    tensors = None if stress is None else _stress(who, stress, shapes)[nodes]
    return Skin(nodes, x[nodes], four, moved, strain(x[nodes], four, moved), tensors)


def carried(points: np.ndarray, faces: np.ndarray, x: np.ndarray, shapes: np.ndarray) -> Skin:
    r"""Return the surface of points (n, 3) that nodes with rotations carry, shapes (N, 6, m).

    Between the two nodes that are nearest to a point rotations are linear, and the line d
    from one to the other bends with them: at a share t of it

    .. math:: u = (1 - t)\,u_a + t\,u_b - \tfrac12 t\,(1 - t)\,(\theta_b - \theta_a)\times d .
    """
    from scipy.spatial import cKDTree

    _, two = cKDTree(x).query(points, [1, 2] if len(x) > 1 else [1])
    a, b = two[:, 0], two[:, -1]
    d = x[b] - x[a]
    length = np.maximum((d**2).sum(1), np.finfo(float).tiny)
    t = np.clip(((points - x[a]) * d).sum(1) / length, 0.0, 1.0)[:, None]
    arm, t = (points - x[a] - t * d)[:, :, None], t[:, :, None]
    (ua, ta), (ub, tb) = ((shapes[i, :3], shapes[i, 3:]) for i in (a, b))
    bow = np.cross(0.5 * t * (1 - t) * (tb - ta), d[:, :, None], axis=1)
    moves = (1 - t) * ua + t * ub - bow + np.cross((1 - t) * ta + t * tb, arm, axis=1)
    nodes, faces = split(points, faces)
    points, moves = points[nodes], moves[nodes]
    return Skin(nodes, points, faces, moves, strain(points, faces, moves), None)


def boundary(cells: Sequence[tuple[str, np.ndarray]]) -> list[list[int]]:
    """Return the sides of solid cells that no other has, or else flat cells, by their corners."""
    solid: list[np.ndarray] = []
    flat: list[np.ndarray] = []
    for name, nodes in cells:
        sides = _SIDES.get(name.rstrip("0123456789"), ())
        (flat if len(sides) == 1 else solid).extend(np.asarray(nodes)[:, list(x)] for x in sides)
    kept: list[list[int]] = []
    for n in (3, 4):
        some = [x for x in solid or flat if x.shape[1] == n]
        if some:
            all_of_n = np.concatenate(some)
            _, first, count = np.unique(
                np.sort(all_of_n, axis=1), axis=0, return_index=True, return_counts=True
            )
            kept += all_of_n[np.sort(first[count == 1] if solid else first)].tolist()
    return kept


def _check_same(who: str, read: Nodes, nodes: Nodes) -> None:
    """Refuse faces of a file with other nodes, or in another order."""
    if np.shape(read.x) != np.shape(nodes.x) or not np.allclose(read.x, nodes.x):
        raise ValueError(
            f"{who}: the file of faces must have the nodes of coordinates, in the order of their "
            "labels; give faces by the labels of their nodes"
        )


def _checked(who: str, value: Any, labels: np.ndarray) -> np.ndarray:
    """Return faces (f, 4) by places of nodes, whose labels rise."""
    rows = array(who, "faces", _as_four(who, value), _FACES)
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows):
        raise ValueError(f"{who}: faces must be {_FACES}, got shape {rows.shape}")
    faces = np.searchsorted(labels, rows).clip(max=len(labels) - 1)
    wrong = (labels[faces] != rows).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"{who}: faces must have nodes from {labels[0]} to {labels[-1]}, of M and K, got "
            f"{rows[wrong][0].tolist()}"
        )
    ordered = np.sort(faces, axis=1)
    twice = (np.diff(ordered, axis=1) == 0).sum(axis=1) > (faces[:, 2] == faces[:, 3])
    if twice.any():
        raise ValueError(f"{who}: a face must not have a node twice, got {rows[twice][0].tolist()}")
    return faces


def _as_four(who: str, value: Any) -> Any:
    """Return rows of four nodes."""
    try:
        rows = [[*row] for row in value]
    except TypeError:
        return value
    for row in rows:
        if len(row) not in (3, 4):
            raise ValueError(f"{who}: a face must have 3 or 4 nodes, got {shown(row)}")
    return [(*row, row[-1])[:4] for row in rows]


def _stress(who: str, value: Any, shapes: np.ndarray) -> np.ndarray:
    """Return the stress (N, 6, m) of all nodes."""
    value = file_of(who, "nodal_stress", value)
    S = value if sp.issparse(value) else array(who, "nodal_stress", value, "a matrix")
    n, d, m = shapes.shape
    if S.shape != (6 * n, n * d):
        raise ValueError(
            f"{who}: nodal_stress must be ({6 * n}, {n * d}), stresses xx, yy, zz, xy, yz, zx of "
            f"each node by the degrees of freedom of the mesh [Pa/m], got {S.shape}"
        )
    stress = np.asarray(S @ shapes.reshape(-1, m))
    if not np.isfinite(stress).all():
        raise ValueError(f"{who}: nodal_stress must be finite [Pa/m]")
    return stress.reshape(n, 6, m)


def split(x: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes, one for each smooth part of the surface around them, and faces (f, 4) of these.

    A face knows nothing of strain across its plane, so that means are of smooth parts only.
    """
    from scipy.sparse.csgraph import connected_components

    normal = np.cross(x[faces[:, 2]] - x[faces[:, 0]], x[faces[:, 3]] - x[faces[:, 1]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True).clip(1e-300)
    corner = np.arange(faces.size).reshape(faces.shape)
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    at = np.stack([corner, np.roll(corner, -1, axis=1)], axis=-1).reshape(-1, 2)
    turned = np.argsort(ends, axis=1)
    ends, at = (np.take_along_axis(a, turned, axis=1) for a in (ends, at))
    order = np.lexsort(ends.T)
    a, b = order[:-1], order[1:]
    same = (ends[a] == ends[b]).all(axis=1) & (ends[a, 0] != ends[a, 1])
    a, b = a[same], b[same]
    flat = (normal[a // 4] * normal[b // 4]).sum(axis=1) >= _CREASE
    last = faces[:, 2] == faces[:, 3]
    i = np.concatenate([at[a[flat]].ravel(), corner[last, 2]])
    j = np.concatenate([at[b[flat]].ravel(), corner[last, 3]])
    links = sp.coo_array((np.ones(len(i)), (i, j)), shape=(faces.size, faces.size))
    count, part = connected_components(links, directed=False)
    nodes = np.empty(count, int)
    nodes[part] = faces.ravel()
    return nodes, part.reshape(faces.shape)


def strain(x: np.ndarray, faces: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Return the strain (n, 6, m) of the planes of faces at nodes."""
    three = faces[:, 2] == faces[:, 3]
    total, weight = np.zeros((len(x), 6, shapes.shape[2])), np.zeros(len(x))
    for some in (faces[three, :3], faces[~three]):
        area, E = _at_corners(x, some, shapes)
        if some.shape[1] == 4:
            _level_shear(x[some], E)
        six = np.stack([E[:, :, r, s] for r, s in _SIX], axis=2)
        np.add.at(total, some, area[..., None, None] * six)
        np.add.at(weight, some, area)
    return np.asarray(total / np.where(weight > 0, weight, 1.0)[:, None, None])


def _at_corners(
    x: np.ndarray, faces: np.ndarray, shapes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return twice the areas (f, k) and the strains (f, k, 3, 3, m) of the corners of faces."""
    after, before = np.roll(faces, -1, axis=1), np.roll(faces, 1, axis=1)
    e = np.stack([x[after] - x[faces], x[before] - x[faces]], axis=-1)
    g = np.linalg.pinv(e)
    u = np.stack([shapes[after] - shapes[faces], shapes[before] - shapes[faces]], axis=2)
    H = np.einsum("fkri,fkis,fkjsm,fkjt->fkrtm", e, g, u, g, optimize=True)
    area = np.linalg.norm(np.cross(e[..., 0], e[..., 1]), axis=-1)
    return area, 0.5 * (H + np.swapaxes(H, 2, 3))


def _level_shear(x: np.ndarray, E: np.ndarray) -> None:
    """Give the corners of quads (f, 4, 3) the mean of their shears.

    At the corners of a quad that is bent as a beam its straight sides are sheared, as no beam is.
    """
    t = x[:, 1] + x[:, 2] - x[:, 0] - x[:, 3]
    s = np.cross(np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1]), t)
    t, s = (v / np.linalg.norm(v, axis=1, keepdims=True).clip(1e-300) for v in (t, s))
    shear = np.einsum("fr,fkrsm,fs->fkm", t, E, s)
    both = t[:, :, None] * s[:, None] + s[:, :, None] * t[:, None]
    E += (shear.mean(1, keepdims=True) - shear)[:, :, None, None] * both[:, None, :, :, None]
