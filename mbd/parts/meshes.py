"""Triangles from files: STL (text and binary), OBJ, MSH; of other kinds by trimesh, an extra."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import shown

_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(file: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3), each once, and triangles (m, 3) of a file, in its units."""
    if not isinstance(file, str | Path):
        raise TypeError(f"Mesh: file must be a path to an .stl or .obj file, got {shown(file)}")
    path = Path(file)
    ending = path.suffix.lower()
    if ending not in (*_READERS, *_OF_TRIMESH):
        endings = ", ".join((*_READERS, *_OF_TRIMESH))
        raise ValueError(f"Mesh: file must end in {endings}, got {str(path)!r}; convert it")
    if not path.is_file():
        raise FileNotFoundError(f"Mesh: {path}: no such file (from {Path.cwd()})")
    try:
        data = path.read_bytes()
        vertices, triangles = _READERS[ending](data) if ending in _READERS else _by_trimesh(path)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"Mesh: {path} cannot be read: {error}") from None
    if not len(triangles):
        raise ValueError(f"Mesh: {path} has no triangles; is it empty or cut off?")
    if not np.isfinite(vertices).all():
        raise ValueError(f"Mesh: {path} has vertices that are not finite")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ValueError(f"Mesh: {path} has faces of vertices that do not exist")
    return vertices, triangles


def _stl(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    # some binary files begin with "solid" too: what decides is the count and the length
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        corners = np.frombuffer(data, _RECORD, count, 84)["corners"].reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        words = data.decode("utf-8", "replace").split()
        at = [i for i, word in enumerate(words) if word.lower() == "vertex"]
        corners = np.array([words[i + 1 : i + 4] for i in at], float).reshape(-1, 3)
    else:
        raise ValueError(f"is no STL, or cut off: {len(data)} bytes for {count} triangles")
    if len(corners) % 3:
        raise ValueError("the number of vertices is no multiple of three; it is cut off")
    vertices, index = np.unique(corners.astype(float), axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


def _obj(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif (
            word == "f"
        ):  # corners are v, v/vt, v//vn or v/vt/vn, from 1 or, negative, from the end
            corners = [int(x.split("/")[0]) for x in rest]
            corners = [i - 1 if i > 0 else len(vertices) + i for i in corners]
            triangles += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    return np.array(vertices, float).reshape(-1, 3), np.array(triangles, int).reshape(-1, 3)


def _msh(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return what a binary file of mujoco holds: four numbers, vertices, normals, uv, faces."""
    header = np.frombuffer(data, "<i4", 4).astype(int)
    sizes = np.array((3, 3, 2, 3)) * header
    if header.min() < 0 or len(data) != 16 + 4 * sizes.sum():
        raise ValueError(f"is no MSH, or cut off: {len(data)} bytes for {header.tolist()}")
    vertices = np.frombuffer(data, "<f4", sizes[0], 16).astype(float).reshape(-1, 3)
    faces = np.frombuffer(data, "<i4", sizes[3], 16 + 4 * sizes[:3].sum())
    return vertices, faces.astype(int).reshape(-1, 3)


def _by_trimesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return what the package trimesh reads, all parts of a scene where they are."""
    try:
        import trimesh
    except ImportError:
        raise ValueError(
            f"{path.suffix} needs the package trimesh: pip install 'mbd[robots]'"
        ) from None
    try:
        mesh = trimesh.load(path, force="mesh")
        return np.array(mesh.vertices, float), np.array(mesh.faces, int)
    except Exception as error:  # also what its own packages raise
        raise ValueError(f"{type(error).__name__}: {error}") from None


_READERS = {".stl": _stl, ".obj": _obj, ".msh": _msh}
_OF_TRIMESH = (".dae", ".ply", ".glb", ".gltf", ".off", ".3mf")
