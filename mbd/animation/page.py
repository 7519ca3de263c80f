"""HTML page that needs nothing else: data, viewer and three.js in one file.

Numbers are packed: rounded to a step, differences over time, bytes by weight, gzip. A table (n, k),
time first, is stored column by column as integers value/step. The differences d of neighbours are
written as 2d or -2d - 1 (small whatever the sign), then all lowest bytes, all second ones, and so
on: the high bytes of smooth motions are zero and cost next to nothing. ``unpack.js`` reads it.
"""

import base64
import gzip
import html
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mbd.algebra.rotations import quaternion_from_matrix
from mbd.animation.drawing import MEASURES, Drawing, End, MovingSkin, Strand, SweptBeam, Track
from mbd.drawing.surfaces import COLORS
from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

_HERE = Path(__file__).parent
_SCRIPTS = ("unpack.js", "batches.js", "beams.js", "skins.js", "world.js", "camera.js",
            "panel.js", "plots.js", "viewer.js")  # fmt: skip
_NOTHING = 1e-4  # of the largest of all modes: colours show less as nothing
_SHADES = 200  # steps of a measure that colours can tell apart
_SHAPES = 5e-4  # step of shapes and of their strains and stresses, of the largest of each
_MODAL = 1e-6  # step of modal coordinates, of the largest
_SCREEN = 1e-5  # step of plots, of their height
_FINE = 2e-5  # step of positions, of the length of a body, and of quaternions

_FORMS: dict[type, tuple[str, tuple[str, ...]]] = {
    Box: ("box", ("size",)),
    Sphere: ("sphere", ("radius",)),
    Cylinder: ("cylinder", ("radius", "length")),
    Capsule: ("capsule", ("radius", "length")),
    Mesh: ("mesh", ()),
}


class Pack:
    """Tables one after the other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def table(self, values: Any, step: float) -> dict[str, Any]:
        """Append a table (n,) or (n, k) to within step/2; return how to find it."""
        rows = np.asarray(values, float)
        rows = rows.reshape(len(rows), -1)
        whole = np.rint(rows.T / step)
        if not np.isfinite(whole).all() or np.abs(whole).max(initial=0) >= 2**30:
            raise ValueError(
                f"animate: values must be finite and below {2**30 * step:.3g}, got some up to "
                f"{np.abs(rows).max():.3g}; did the run blow up?"
            )
        d = np.diff(whole.astype(np.int64), axis=1, prepend=0)
        zigzag = np.where(d >= 0, 2 * d, -2 * d - 1).astype("<u4").ravel()
        planes = zigzag.view(np.uint8).reshape(-1, 4).T
        entry = {"at": self._size, "rows": rows.shape[0], "columns": rows.shape[1], "step": step}
        self._parts.append(np.ascontiguousarray(planes).tobytes())
        self._size += planes.size
        return entry

    def text(self) -> str:
        """Return everything as base64 of a gzip stream."""
        return _squeezed(b"".join(self._parts))


def _squeezed(data: bytes) -> str:
    """Return base64 of a gzip stream, the same for the same data."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def page(drawing: Drawing) -> str:
    """Return the text of the page."""
    pack = Pack()
    data = _data(drawing, pack)
    text = (_HERE / "viewer.html").read_text(encoding="utf-8")
    scripts = "\n".join(
        f"<script>\n{(_HERE / name).read_text(encoding='utf-8')}</script>" for name in _SCRIPTS
    )
    # "<" is written so that no text of the user's can end the script it stands in
    holes = {
        "TITLE": html.escape(drawing.title or "mbd"),  # of the window
        "HEADING": html.escape(drawing.title),
        "STYLE": (_HERE / "viewer.css").read_text(encoding="utf-8"),
        "LICENCE": (_HERE / "three.LICENSE").read_text(encoding="utf-8"),
        "THREE": _three(),
        "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "NUMBERS": pack.text(),
        "SCRIPTS": scripts,
    }
    first, *rest = text.split("{{")
    pieces = [first]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [holes[name], after]
    return "".join(pieces)


@cache
def _three() -> str:
    return _squeezed((_HERE / "three.bundle.js").read_bytes())


def _largest(d: Drawing) -> list[dict[str, float]]:
    """Return the largest value of each measure in each mode, as colours have it."""
    return [
        {name: max(x, _NOTHING * d.largest[name])
         for name, x in d.largest_between(mode.first, mode.last + 1).items()}
        for mode in d.modes
    ] or [d.largest]  # fmt: skip


def _data(d: Drawing, pack: Pack) -> dict[str, Any]:
    fine = _FINE * d.length
    common = ("frame", "color", "layer", "label")
    duration, largest = float(d.t[-1] - d.t[0]), _largest(d)
    least = {name: min(x[name] for x in largest) for name in d.largest}
    return {
        "title": d.title,
        "speed": d.speed,
        "t": pack.table(d.t - d.t[0], max(duration, 1e-9) * 2.0**-29),
        "start": float(d.t[0]),
        "frames": [_frame(track, pack, fine, d.origin) for track in d.tracks.values()],
        "origin": d.origin.tolist(),
        "solids": [{**_some(s, common), **_shape(s.shape, pack, fine)} for s in d.solids],
        "wires": [{**_some(w, common), "points": _plain(w.points)} for w in d.wires],
        "links": [
            {**_some(x, ("form", "color", "layer", "label")), "radius": _plain(x.radius),
             "ends": [_end(e) for e in x.ends]}
            for x in d.links
        ],
        "arrows": [
            {**_some(a, ("unit", "color", "layer", "label")), **_end(a.end),
             "vectors": pack.table(a.vectors, d.scales[a.unit][0] * 1e-3)}
            for a in d.arrows if a.unit in d.scales
        ],
        "sweeps": [_sweep(x, d, pack, least) for x in d.sweeps],
        "strands": [
            {**_some(x, ("color", "label")), "ends": list(x.ends), "lengths": _plain(x.lengths),
             "radius": _plain(x.radius), "loads": _loads(x, d, pack, least)} for x in d.strands
        ],
        "skins": [_skin(x, pack) for x in d.skins],
        "largest": {name: _plain(x) for name, x in d.largest.items()},
        "modes": [
            {**_some(mode, ("text", "first", "last", "seconds")),
             "largest": {name: _plain(x) for name, x in most.items()}}
            for mode, most in zip(d.modes, largest, strict=False)
        ],
        "measures": {name: MEASURES[name] for name in d.largest},
        "colors": COLORS,
        "colorBy": d.color_by,
        "ghosts": list(d.ghosts),
        "trails": [{**_some(x, ("color", "label")), **_end(x.end)} for x in d.trails],
        "labels": [
            {**_some(x, ("text", "layer")), "ends": [_end(e) for e in x.ends]} for x in d.labels
        ],
        "plots": [
            {**_some(x, ("title", "unit")),
             "lines": [{"label": label, **_line(values, pack)} for label, values in x.lines]}
            for x in d.plots
        ],
        "scales": {unit: _plain(np.array(x)) for unit, x in d.scales.items()},
        "spacing": _plain(d.spacing),
        "low": _plain(d.low - d.origin),
        "high": _plain(d.high - d.origin),
        "up": _plain(d.up),
        "view": _plain(d.view),
        "follow": d.follow,
        "show": list(d.show),
    }  # fmt: skip


def _some(x: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(x, name) for name in names}


def _plain(x: Any) -> Any:
    """Return numbers with seven digits, as lists."""
    if isinstance(x, np.ndarray):
        return [_plain(y) for y in x]
    return float(f"{float(x):.7g}")


def _end(end: End) -> dict[str, Any]:
    return {"frame": end.frame, "point": _plain(end.point)}


def _frame(track: Track, pack: Pack, fine: float, origin: np.ndarray) -> dict[str, Any]:
    position = pack.table(track.position - origin, fine)
    entry: dict[str, Any] = {"name": track.name, "position": position}
    if track.quaternion is not None:
        entry["quaternion"] = pack.table(track.quaternion, _FINE)
    if track.scale is not None:
        entry["scale"] = pack.table(track.scale, _FINE)
    return entry


def _sweep(x: SweptBeam, d: Drawing, pack: Pack, least: dict[str, float]) -> dict[str, Any]:
    arm = float(np.abs(x.outline).max())  # bendings times it are strains too
    fine, strain = 1e-4 * arm, x.strain * [1.0, arm, arm]
    part = least["strain"] / (d.largest["strain"] or 1.0)
    step = part * float(np.abs(strain).max()) / (2 * _SHADES) or 1.0
    return {
        **_some(x, ("color", "label")),
        "ends": x.ends,
        "points": _plain(x.points),
        "axes": _plain(quaternion_from_matrix(x.axes)),
        "outline": pack.table(x.outline.reshape(2 * len(x.ends), -1), fine),
        "loads": _loads(x, d, pack, least),
        "strain": pack.table(strain.reshape(len(d.t), -1), step),
        "arm": _plain(arm),
        "young": _plain(x.young.ravel()) if "stress" in x.measures else None,
    }


def _skin(x: MovingSkin, pack: Pack) -> dict[str, Any]:
    """Return a skin: tables of what each shape does, in units of the largest of it."""

    def of_shapes(values: np.ndarray) -> dict[str, Any]:
        units = np.abs(values).max(axis=(0, 1)).clip(1e-300)
        return {
            "units": units.tolist(),
            **pack.table((values / units).reshape(len(values), -1), _SHAPES),
        }

    def modal(p: np.ndarray) -> dict[str, Any]:
        return pack.table(p, _MODAL * (float(np.abs(p).max()) or 1.0))

    s = x.skin
    return {
        **_some(x, ("frame", "color", "label", "edged")),
        "x": pack.table(s.x, _FINE * float(np.ptp(s.x, axis=0).max())),
        "faces": pack.table(s.faces, 1.0),
        "p": modal(x.p),
        "bears": None if np.array_equal(x.bears, x.p) else modal(x.bears),
        "shapes": of_shapes(s.shapes),
        "strain": of_shapes(s.strain),
        "mises": None if s.stress is None else of_shapes(s.stress),
    }


def _line(values: np.ndarray, pack: Pack) -> dict[str, Any]:
    """Return a line over time, as fine as a screen is, from its middle."""
    low, high = float(values.min()), float(values.max())
    middle = 0.5 * (low + high)
    step = max(high - low, 1e-9 * abs(middle), 1e-300) * _SCREEN
    return {"middle": middle, **pack.table(values - middle, step)}


def _loads(
    x: SweptBeam | Strand, d: Drawing, pack: Pack, least: dict[str, float]
) -> dict[str, Any]:
    """Return section forces, as fine as colours are."""
    return {
        name: pack.table(values.reshape(len(d.t), -1), (least[name] or 1.0) / _SHADES)
        for name, values in x.loads.items()
    }


def _shape(shape: Shape, pack: Pack, fine: float) -> dict[str, Any]:
    form, names = _FORMS[type(shape)]
    entry: dict[str, Any] = {"form": form} | {n: _plain(getattr(shape, n)) for n in names}
    if isinstance(shape, Mesh):
        entry["vertices"] = pack.table(shape.vertices, fine)
        entry["triangles"] = pack.table(shape.triangles, 1.0)
    if shape.at.any():
        entry["at"] = _plain(shape.at)
    if not np.array_equal(shape.rotation, np.eye(3)):
        entry["quaternion"] = _plain(quaternion_from_matrix(shape.rotation))
    return entry
