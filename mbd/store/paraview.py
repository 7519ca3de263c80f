"""Results for ParaView: a ``.pvd`` file that lists one ``.vtp`` file for each instant.

A file of an instant has bodies and joints as points with vectors (the filter *Glyph* draws them):

=============  =====================================================================================
``kind``       0: body, at its origin; 1: joint, at its place on the second body
``number``     of the body or joint; the names, in this order, are in the field data ``names``
bodies         ``velocity``, ``angular_velocity``, ``axis_x``, ``axis_y``, ``axis_z``, ``mass``
joints         ``force`` and ``moment`` on the second body
=============  =====================================================================================

The file of the paths belongs to all instants: one line for each body, with ``time`` on its points.
Numbers are stored as they are, in raw blocks behind the XML.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from mbd.base.atomic import replaced_set

if TYPE_CHECKING:
    from mbd.history.history import History

__all__ = ["BODY", "JOINT", "polydata", "save_paraview"]

BODY, JOINT = 0, 1
_TYPES = {"f": "Float64", "i": "Int64", "u": "UInt8"}
_OF_BODIES = ("velocity", "angular_velocity", "axis_x", "axis_y", "axis_z")
_OF_JOINTS = ("force", "moment")
_ORDER = "LittleEndian" if sys.byteorder == "little" else "BigEndian"


def save_paraview(solution: History, path: str | Path, every: int = 1) -> Path:
    """Write ``NAME.pvd`` and, in a folder in ``NAME``, one file for every so many instants."""
    path = Path(path)
    shown = slice(None, None, every)
    t = np.asarray(solution.t[shown])
    places, vectors = _bodies(solution, shown)
    entries = []
    frames = zip(t.tolist(), _frames(solution, shown, places, vectors), strict=True)
    with replaced_set(path, "save") as (file, members):
        members.write("paths.vtp", _paths(solution, t, places))
        for i, (time, frame) in enumerate(frames):
            members.write(f"{i:06d}.vtp", frame)
            for part, name in enumerate((f"{i:06d}.vtp", "paths.vtp")):
                where = quoteattr(f"{members.name}/{name}")
                entries.append(f'<DataSet timestep="{time!r}" part="{part}" file={where}/>')
        text = [
            '<?xml version="1.0"?>',
            f'<VTKFile type="Collection" version="1.0" byte_order="{_ORDER}">',
            "<Collection>",
            *entries,
            "</Collection>",
            "</VTKFile>",
        ]
        file.write(("\n".join(text) + "\n").encode())
    return path


def _bodies(solution: History, shown: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n, bodies, 3) and vectors (n, bodies, 5, 3): velocities, then the axes."""
    bodies = solution.model.system.bodies
    n = len(solution.t[shown])
    places, vectors = np.empty((n, len(bodies), 3)), np.zeros((n, len(bodies), 5, 3))
    for b, (name, body) in enumerate(bodies.items()):
        h = solution.body(name)
        places[:, b], vectors[:, b, 0] = h.position[shown], h.velocity[shown]
        if body.formulation.axes:
            vectors[:, b, 1] = h.angular_velocity[shown]
            vectors[:, b, 2:] = np.swapaxes(h.rotation[shown], 1, 2)
    return places, vectors


def _joints(solution: History, shown: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n, joints, 3) and loads (n, joints, 2, 3): force, moment."""
    joints = solution.model.system.joints
    n = len(solution.t[shown])
    places, loads = np.empty((n, len(joints), 3)), np.empty((n, len(joints), 2, 3))
    for j, (name, joint) in enumerate(joints.items()):
        places[:, j] = solution.vector_of(joint.B.name, joint.B.point())[shown]
        reaction = solution[name]
        loads[:, j, 0], loads[:, j, 1] = reaction.force[shown], reaction.moment[shown]
    return places, loads


def _frames(
    solution: History, shown: slice, places: np.ndarray, vectors: np.ndarray
) -> Iterator[bytes]:
    """Yield the files of the instants."""
    system = solution.model.system
    held, loads = _joints(solution, shown)
    n, n_joints = len(system.bodies), len(system.joints)
    masses = [body.mass for body in system.bodies.values()]
    same = {
        "kind": np.repeat([BODY, JOINT], [n, n_joints]),
        "number": np.arange(n + n_joints),
        "mass": np.concatenate([masses, np.zeros(n_joints)]),
    }
    names = {"names": _names([*system.bodies, *system.joints])}
    verts = np.arange(n + n_joints)[:, None]
    for i in range(len(places)):
        data = dict(same)
        for k, name in enumerate(_OF_BODIES):
            data[name] = np.concatenate([vectors[i, :, k], np.zeros((n_joints, 3))])
        for k, name in enumerate(_OF_JOINTS):
            data[name] = np.concatenate([np.zeros((n, 3)), loads[i, :, k]])
        yield polydata(np.concatenate([places[i], held[i]]), data, names, verts=verts)


def _paths(solution: History, t: np.ndarray, places: np.ndarray) -> bytes:
    """Return the file of the paths of all bodies."""
    n, bodies, _ = places.shape
    data = {"time": np.tile(t, bodies), "number": np.repeat(np.arange(bodies), n)}
    lines = np.arange(bodies * n).reshape(bodies, n)
    names = {"names": _names(list(solution.model.system.bodies))}
    return polydata(places.transpose(1, 0, 2).reshape(-1, 3), data, names, lines=lines)


def _names(names: list[str]) -> np.ndarray:
    """Return names as bytes, one name on a line."""
    return np.frombuffer("\n".join(names).encode(), np.uint8)


def polydata(
    points: np.ndarray,
    data: dict[str, np.ndarray],
    fixed: dict[str, np.ndarray],
    verts: np.ndarray | None = None,
    lines: np.ndarray | None = None,
) -> bytes:
    """Return the content of a ``.vtp`` file.

    Parameters
    ----------
    points : (n, 3) array
    data : dict
        Arrays (n,) or (n, 3) on the points, by name.
    fixed : dict
        Arrays that belong to the whole.
    verts, lines : (cells, points of each) arrays of int
    """
    none = np.zeros((0, 1), np.int64)
    verts, lines = (none if x is None else x for x in (verts, lines))
    appended = _Appended()
    text = [
        '<?xml version="1.0"?>',
        f'<VTKFile type="PolyData" version="1.0" byte_order="{_ORDER}" header_type="UInt64">',
        "<PolyData>",
        "<FieldData>",
        *(appended.array(name, values, field=True) for name, values in fixed.items()),
        "</FieldData>",
        f'<Piece NumberOfPoints="{len(points)}" NumberOfVerts="{len(verts)}" '
        f'NumberOfLines="{len(lines)}" NumberOfStrips="0" NumberOfPolys="0">',
        "<PointData>",
        *(appended.array(name, values) for name, values in data.items()),
        "</PointData>",
        "<Points>",
        appended.array("position", points),
        "</Points>",
    ]
    for tag, cells in (("Verts", verts), ("Lines", lines)):
        ends = np.arange(1, len(cells) + 1) * cells.shape[1]
        text += [
            f"<{tag}>",
            appended.array("connectivity", cells.ravel()),
            appended.array("offsets", ends),
            f"</{tag}>",
        ]
    text += ["</Piece>", "</PolyData>", '<AppendedData encoding="raw">', "_"]
    return "\n".join(text).encode() + appended.content + b"\n</AppendedData>\n</VTKFile>\n"


class _Appended:
    """The raw blocks behind the XML: for each array its length in bytes, then its numbers."""

    def __init__(self) -> None:
        self.content = b""

    def array(self, name: str, values: np.ndarray, field: bool = False) -> str:
        """Append an array; return the element that says where it is."""
        kind = values.dtype.kind
        raw = values.astype(np.int64).tobytes() if kind == "i" else values.tobytes()
        width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim > 1 else ""
        count = f' NumberOfTuples="{len(values)}"' if field else ""
        at = len(self.content)
        self.content += np.uint64(len(raw)).tobytes() + raw
        return (
            f"<DataArray type={quoteattr(_TYPES[kind])} Name={quoteattr(name)}{width}{count} "
            f'format="appended" offset="{at}"/>'
        )
