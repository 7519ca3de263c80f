"""Results for ParaView: a ``.pvd`` file that lists one ``.vtp`` file for each instant.

A file of an instant has bodies and joints as points with vectors (the filter *Glyph* draws them):

=============  =====================================================================================
``kind``       0: body, at its origin; 1: joint, at its place on the second body
``number``     of the body or joint; the names, in this order, are in the field data ``names``
bodies         ``mass``, ``axis_x``, ``axis_y``, ``axis_z``, and all scalars and vectors of the
               table of quantities (``mbd/history/quantities.py``): ``velocity``, ...
joints         ``force`` and ``moment`` on the second body
=============  =====================================================================================

With beams there is another file of each instant, one line for each beam with points between its
nodes (the filter *Tube* draws it): ``N``, ``V2``, ``V3``, ``T``, ``M2``, ``M3``, linear between the
ends of elements and at nodes the mean of both sides, ``station`` along the beam [m], and ``radius``
of the circle with the same radii of gyration.

And there is one of each instant with surfaces: of beams, sections swept along them, and of
flexible bodies with faces. On their points are ``number`` (of the names in ``names``), ``strain``
along a beam, or the largest of a mesh, ``stress`` along a beam [Pa] where sections have Young's
modulus, and ``mises`` of a mesh with stresses [Pa], NaN of others.

The file of the paths belongs to all instants: one line for each body, with ``time`` on its points.
Numbers are stored as they are, in raw blocks after the XML.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from mbd.base.atomic import replaced_set
from mbd.beams.swept import along, beam_rings, caps, closed, fibre_strain, quads
from mbd.history.beams import SECTION_FORCES, BeamHistory, ends_of, lines
from mbd.history.bodies import FlexibleHistory
from mbd.history.columns import model_items
from mbd.history.history import History
from mbd.history.quantities import PartHistory, table
from mbd.history.quantity import INERTIAL, SCALAR, Owner
from mbd.interactions.beams.line import Line
from mbd.parts.skin import Skin

BODY, JOINT = 0, 1
_BETWEEN = 4  # points of lines in each element
_RINGS = np.linspace(0.0, 1.0, 3)  # of surfaces in each element
_AT_ONCE = 1 << 17  # points times instants that are evaluated at once, some 50 MB
_NONE = np.zeros((0, 4), int)
_quoted = lru_cache(quoteattr)  # the names of a run stand in all its files
_TYPES = {"f8": "Float64", "f4": "Float32", "i8": "Int64", "i4": "Int32", "u1": "UInt8"}
_ORDER = "LittleEndian" if sys.byteorder == "little" else "BigEndian"


def save_paraview(solution: History, path: str | Path, every: int = 1) -> Path:
    """Write ``NAME.pvd`` and, in a folder in ``NAME``, one file for every so many instants."""
    path = Path(path)
    here = slice(None, None, every)
    t = np.asarray(solution.t[here])
    data = _points(solution, here)
    places = data["position"][:, : len(solution.model.nodes)]
    entries = []
    others = [("beams", _beams(solution, here))] if lines(solution.model) else []
    if surfaces := _surfaces(solution):
        others.append(("surfaces", _bending(solution, surfaces, here)))
    frames = zip(t.tolist(), _frames(solution, data, len(t)), strict=True)
    with replaced_set(path, "save") as (file, members):
        members.write("paths.vtp", _paths(solution, t, places))
        for i, (time, frame) in enumerate(frames):
            written = {f"{i:06d}.vtp": frame}
            written |= {f"{i:06d}_{what}.vtp": next(of) for what, of in others}
            for name, content in written.items():
                members.write(name, content)
            for part, name in enumerate((f"{i:06d}.vtp", "paths.vtp", *list(written)[1:])):
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


def _points(solution: History, here: slice) -> dict[str, np.ndarray]:
    """Return the quantities (n, points) or (n, points, 3) of bodies and joints, zero of others."""
    items, joints = model_items(solution.model), solution.model.system.joints
    points = [*items["body"], *items["joint"]]
    entries = [x for x in table(PartHistory) if x.array and x.axes in (SCALAR, INERTIAL)]
    data: dict[str, np.ndarray] = {}

    def put(name: str, k: int, values: np.ndarray) -> None:
        if name not in data:
            data[name] = np.zeros((len(values), len(points), *values.shape[1:]))
        data[name][:, k] = values

    for k, item in enumerate(points):
        history = solution[item.name]
        for x in entries:
            if x.of in item.owners:
                put(x.name, k, getattr(history, x.name)[here])
        if Owner.TURNING in item.owners:
            for i, axis in enumerate("xyz"):
                put(f"axis_{axis}", k, history.rotation[here, :, i])
        if item.name in joints:
            frame = joints[item.name].B
            put("position", k, solution.vector_of(frame.place, frame.point())[here])
    return data


def _frames(solution: History, data: dict[str, np.ndarray], n: int) -> Iterator[bytes]:
    """Yield the files of n instants."""
    nodes, joints = solution.model.nodes, solution.model.system.joints
    k, n_joints = len(nodes), len(joints)
    masses = [body.mass for body in nodes.values()]
    same = {
        "kind": np.repeat([BODY, JOINT], [k, n_joints]),
        "number": np.arange(k + n_joints),
        "mass": np.concatenate([masses, np.zeros(n_joints)]),
    }
    names = {"names": _names([*nodes, *joints])}
    verts = np.arange(k + n_joints)[:, None]
    for i in range(n):
        here = {name: x[i] for name, x in data.items()}
        yield polydata(here.pop("position"), same | here, names, verts=verts)


def _paths(solution: History, t: np.ndarray, places: np.ndarray) -> bytes:
    """Return the file of the paths of all bodies."""
    n, bodies, _ = places.shape
    data = {"time": np.tile(t, bodies), "number": np.repeat(np.arange(bodies), n)}
    lines = np.arange(bodies * n).reshape(bodies, n)
    names = {"names": _names(list(solution.model.nodes))}
    return polydata(places.transpose(1, 0, 2).reshape(-1, 3), data, names, lines=lines)


def _beams(solution: History, here: slice) -> Iterator[bytes]:
    """Yield the files of all beams at each instant."""
    some = lines(solution.model)
    names = {"names": _names(list(some))}
    places, loads, fixed = [], [], []
    for i, (name, line) in enumerate(some.items()):
        history = solution[name]
        assert isinstance(history, BeamHistory)
        places.append(history.curve(_BETWEEN)[here])
        both = history.section_forces[here]
        loads.append(np.concatenate([_along(both), both[:, -1:, 1]], axis=1))
        C = np.diagonal(line.stiffness, axis1=2, axis2=3)
        radius = np.sqrt(2 * (C[..., 4] + C[..., 5]) / C[..., 0])
        ends = np.stack([ends_of(line.stations), radius], axis=-1)[None]
        both = np.concatenate([_along(ends), ends[:, -1:, 1]], axis=1)[0]
        fixed.append(np.column_stack([both, np.full(len(both), i)]))
    x, F = np.concatenate(places, axis=1), np.concatenate(loads, axis=1)
    station, radius, number = np.concatenate(fixed).T
    same = {"station": station, "radius": radius, "number": number.astype(int)}
    cells = np.split(np.arange(len(station)), np.cumsum([p.shape[1] for p in places])[:-1])
    for points, values in zip(x, F, strict=True):
        six = dict(zip(SECTION_FORCES, np.ascontiguousarray(values.T), strict=True))
        yield polydata(points, six | same, names, lines=cells)


class _Surface(NamedTuple):
    """A surface by name: its faces (f, 4), its measures, and points (n, k, 3) and these of a piece.

    Measures are (n, k) by name.
    """

    name: str
    faces: np.ndarray
    measures: tuple[str, ...]
    of: Callable[[History], tuple[np.ndarray, dict[str, np.ndarray]]]


def _surfaces(solution: History) -> list[_Surface]:
    """Return the surfaces of all beams and of flexible bodies with faces."""
    some = [_of_beam(name, line) for name, line in lines(solution.model).items()]
    for name, body in solution.model.nodes.items():
        if body.skin is not None:
            some.append(_of_skin(name, body.skin))
    return some


def _of_beam(name: str, line: Line) -> _Surface:
    k, _, n, _ = line.outline.shape
    measures = ("strain", "stress") if np.isfinite(line.young).all() else ("strain",)

    def of(run: History) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        history = run[name]
        assert isinstance(history, BeamHistory)
        strain = fibre_strain(history.axial_strains, line.outline)
        ends = np.stack([strain, line.young[..., None] * strain], axis=-1)
        values = np.moveaxis(closed(along(ends, _RINGS)), -1, 0)
        r, R = history.sections.ends
        points = closed(beam_rings(r, R, line.outline, _RINGS))
        return points, dict(zip(measures, values, strict=False))

    m = len(_RINGS)
    return _Surface(name, np.vstack([quads(k, m, n), caps(k, m, n)]), measures, of)


def _of_skin(name: str, skin: Skin) -> _Surface:
    measures = ("strain",) if skin.stress is None else ("strain", "mises")

    def of(run: History) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        history = run.body(name)
        assert isinstance(history, FlexibleHistory)
        values = {x: skin.values(x, history.modal) for x in measures}
        return history.points(skin.nodes), values

    return _Surface(name, skin.faces, measures, of)


def _bending(solution: History, some: list[_Surface], here: slice) -> Iterator[bytes]:
    """Yield the files of all surfaces at each instant."""
    sizes = [int(x.faces.max()) + 1 for x in some]
    starts = np.cumsum([0, *sizes[:-1]])
    faces = np.concatenate([x.faces + i for x, i in zip(some, starts, strict=True)])
    words = dict.fromkeys(word for x in some for word in x.measures)
    names = {"names": _names([x.name for x in some])}
    number = {"number": np.repeat(np.arange(len(some)), sizes)}
    instants = np.arange(len(solution.t))[here]
    step = max(1, _AT_ONCE // sum(sizes))
    for first in range(0, len(instants), step):
        run = solution.part(instants[first : first + step], solution.before)
        parts = [x.of(run) for x in some]
        x = np.concatenate([points for points, _ in parts], axis=1).astype(np.float32)
        values = {word: np.full(x.shape[:2], np.nan, np.float32) for word in words}
        for i, size, (_, own) in zip(starts, sizes, parts, strict=True):
            for word, numbers in own.items():
                values[word][:, i : i + size] = numbers
        for k in range(len(x)):
            yield polydata(x[k], {w: v[k] for w, v in values.items()} | number, names, polys=faces)


def _along(x: np.ndarray) -> np.ndarray:
    """Return values (n, 4 k, ...) along k elements from those at both ends (n, k, 2, ...)."""
    first = x[:, :, 0].copy()
    first[:, 1:] = 0.5 * (x[:, 1:, 0] + x[:, :-1, 1])
    u = np.arange(_BETWEEN)[:, None] / _BETWEEN
    inner = (1 - u) * x[:, :, :1] + u * x[:, :, 1:]
    inner[:, :, 0] = first
    return inner.reshape(len(x), -1, x.shape[-1])


def _names(names: list[str]) -> np.ndarray:
    """Return names as bytes, one name on a line."""
    return np.frombuffer("\n".join(names).encode(), np.uint8)


def polydata(
    points: np.ndarray,
    data: dict[str, np.ndarray],
    fixed: dict[str, np.ndarray],
    verts: Iterable[np.ndarray] = (),
    lines: Iterable[np.ndarray] = (),
    polys: np.ndarray = _NONE,
) -> bytes:
    """Return the content of a ``.vtp`` file.

    Parameters
    ----------
    points : (n, 3) array
    data : dict
        Arrays (n,) or (n, 3) on the points, by name.
    fixed : dict
        Arrays that belong to the whole.
    verts, lines : arrays of int
        The points of each cell.
    polys : (f, 4) array of int
        Triangles have their last corner twice.
    """
    verts, lines = list(verts), list(lines)
    appended = _Appended()
    text = [
        '<?xml version="1.0"?>',
        f'<VTKFile type="PolyData" version="1.0" byte_order="{_ORDER}" header_type="UInt64">',
        "<PolyData>",
        "<FieldData>",
        *(appended.array(name, values, field=True) for name, values in fixed.items()),
        "</FieldData>",
        f'<Piece NumberOfPoints="{len(points)}" NumberOfVerts="{len(verts)}" '
        f'NumberOfLines="{len(lines)}" NumberOfStrips="0" NumberOfPolys="{len(polys)}">',
        "<PointData>",
        *(appended.array(name, values) for name, values in data.items()),
        "</PointData>",
        "<Points>",
        appended.array("position", points),
        "</Points>",
    ]
    corners = np.ones(polys.shape, bool)
    corners[:, 3] = polys[:, 2] != polys[:, 3]
    for tag, points_of, counts in (
        ("Verts", np.concatenate([np.zeros(0, int), *verts]), [len(x) for x in verts]),
        ("Lines", np.concatenate([np.zeros(0, int), *lines]), [len(x) for x in lines]),
        ("Polys", polys[corners], corners.sum(axis=1)),
    ):
        text += [
            f"<{tag}>",
            appended.array("connectivity", points_of.astype(np.int32)),
            appended.array("offsets", np.cumsum(counts, dtype=np.int32)),
            f"</{tag}>",
        ]
    text += ["</Piece>", "</PolyData>", '<AppendedData encoding="raw">', "_"]
    return "\n".join(text).encode() + b"".join(appended.blocks) + b"\n</AppendedData>\n</VTKFile>\n"


class _Appended:
    """The raw blocks after the XML: for each array its length in bytes, then its numbers."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.size = 0

    def array(self, name: str, values: np.ndarray, field: bool = False) -> str:
        """Append an array; return the element that says where it is."""
        raw = values.tobytes()
        width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim > 1 else ""
        count = f' NumberOfTuples="{len(values)}"' if field else ""
        at = self.size
        self.blocks += [np.uint64(len(raw)).tobytes(), raw]
        self.size += 8 + len(raw)
        return (
            f'<DataArray type="{_TYPES[values.dtype.str[1:]]}" Name={_quoted(name)}{width}{count} '
            f'format="appended" offset="{at}"/>'
        )
