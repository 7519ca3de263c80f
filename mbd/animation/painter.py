"""Painter's algorithm: faces sorted by distance, drawn by matplotlib, names beside them.

Camera and names are those of a page when it opens: ``camera.js``, ``panel.js``.
"""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from mbd.animation.beams import surface_of
from mbd.animation.drawing import MEASURES, Arrow, Drawing, End, Rod
from mbd.base.checked import extra, file_path, shown
from mbd.base.door import vector
from mbd.drawing.figure import save_figure
from mbd.drawing.surfaces import shade, surface
from mbd.parts.shapes import Mesh

_LIGHT = np.array([-0.42, 0.64, 0.64])  # in the axes of the eye: over the left shoulder
_GREY = "#454c55"
_DPI = 100
_FRAME = 4.0  # pixels around a name
_FAINT, _UNTOLD = 0.25, "#a9b0b8"
_BEHIND = 1e3  # ghosts are painted first: they would cover what moved a little only
_FRONT = 1e-3  # arrows are painted over everything: forces often run inside the bars

_TALL = np.tan(np.deg2rad(15.0))  # half the height of the picture at distance one
_MARGIN = 0.88
_GAP = 6.0  # pixels between a point and its name
# where a name may stand: to the right of its point or to the left, above or below
_CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


class Camera:
    """A perspective view of all that is to be seen.

    Parameters
    ----------
    drawing : Drawing
    width, height : float
        Of the picture, in pixels.

    Attributes
    ----------
    axes : (3, 3) array
        Rows are to the right, upwards, towards the eye.
    """

    def __init__(self, drawing: Drawing, width: float, height: float) -> None:
        towards = drawing.view
        right = np.cross(drawing.up, towards)
        right /= np.linalg.norm(right)
        self.axes = np.array([right, np.cross(towards, right), towards])
        self.middle = 0.5 * (drawing.low + drawing.high)
        half = 0.5 * (drawing.high - drawing.low)
        signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
        x, y, z = (signs * half @ self.axes.T).T
        tall, wide = _MARGIN * _TALL, _MARGIN * _TALL * width / height
        self.distance = float((z + np.maximum(np.abs(x) / wide, np.abs(y) / tall)).max())
        self.width, self.height = width, height
        self._drawing = drawing

    def eye(self, i: int) -> np.ndarray:
        """Return where the eye is at instant i."""
        return self._target(i) + self.distance * self.axes[2]

    def _target(self, i: int) -> np.ndarray:
        name = self._drawing.follow
        if not name:
            return self.middle
        path = self._drawing.at(End(name, np.zeros(3)))
        return self.middle + path[i] - path[0]

    def project(self, points: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels (..., 2), from the lower left, and distances from the eye (...)."""
        in_view = (points - self.eye(i)) @ self.axes.T
        depth = np.maximum(-in_view[..., 2], 1e-6 * self.distance)
        scale = 0.5 * self.height / _TALL / depth
        pixels = np.stack([in_view[..., 0] * scale, in_view[..., 1] * scale], -1)
        return pixels + 0.5 * np.array([self.width, self.height]), depth

    def pixels(self, length: float) -> float:
        """Return how long a length [m] is in the middle of the picture."""
        return 0.5 * self.height / _TALL / self.distance * length


class Polygons:
    """Faces (m, 4, 2) in pixels, their distances and colours, collected from all that is drawn."""

    def __init__(self, camera: Camera, i: int) -> None:
        self.camera, self.i = camera, i
        self._faces: list[np.ndarray] = []
        self._depth: list[np.ndarray] = []
        self._color: list[np.ndarray] = []

    def solid(
        self, vertices: np.ndarray, faces: np.ndarray, color: str | np.ndarray, closed: bool, *,
        nearer: float = 1.0, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        """Add the faces of a surface that are seen, shaded; `nearer` scales their distance.

        The colour may be one (m, 3) for each face.
        """
        corners = vertices[faces]
        normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
        thin = np.linalg.norm(normal, axis=1) == 0  # the last corner of a triangle counts twice
        normal[thin] = np.cross(
            corners[thin, 1] - corners[thin, 0], corners[thin, 2] - corners[thin, 0]
        )
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-300
        facing = np.einsum("nc,nc->n", normal, self.camera.eye(self.i) - corners.mean(1))
        visible = facing > 0 if closed else np.ones(len(faces), bool)
        normal = normal[visible] * np.where(facing[visible] < 0, -1.0, 1.0)[:, None]
        lit = np.clip(normal @ (_LIGHT @ self.camera.axes), 0, 1)
        pixels, _ = self.camera.project(corners[visible], self.i)
        _, depth = self.camera.project(corners[visible].mean(1), self.i)
        own = _rgb(color) if isinstance(color, str) else color[visible]
        lit_color = np.clip(own * (0.55 + 0.5 * lit)[:, None], 0, 1)
        depth *= nearer if alpha == 1 else _BEHIND
        self._put(pixels, depth, alpha * lit_color + (1 - alpha))

    def line(
        self, points: np.ndarray, width: float, color: str, *, alpha: float = 1.0,
        nearer: float = 1.0,
    ) -> None:  # fmt: skip
        """Add a line through points (k, 3), `width` pixels wide."""
        pixels, depth = self.camera.project(points, self.i)
        along = np.diff(pixels, axis=0)
        across = np.column_stack([-along[:, 1], along[:, 0]])
        across *= 0.5 * width / (np.linalg.norm(along, axis=1, keepdims=True) + 1e-9)
        a, b = pixels[:-1], pixels[1:]
        faces = np.stack([a - across, b - across, b + across, a + across], 1)
        shade = alpha * _rgb(color) + (1 - alpha)
        depth *= nearer + 1e-3 * (1 - alpha)  # what is faint lies behind
        self._put(faces, 0.5 * (depth[:-1] + depth[1:]), np.tile(shade, (len(faces), 1)))

    def _put(self, faces: np.ndarray, depth: np.ndarray, color: np.ndarray) -> None:
        self._faces.append(faces)
        self._depth.append(depth)
        self._color.append(np.clip(color, 0, 1))

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return faces and colours, the farthest first."""
        if not self._faces:
            return np.zeros((0, 4, 2)), np.zeros((0, 3))
        order = np.argsort(-np.concatenate(self._depth), kind="stable")
        return np.concatenate(self._faces)[order], np.concatenate(self._color)[order]


def _rgb(color: str) -> np.ndarray:
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def _painted(d: Drawing, camera: Camera, i: int) -> Polygons:
    """Return the faces of all that is visible at instant i."""
    faces = Polygons(camera, i)
    for ghost in d.ghosts if "bodies" in d.show else ():
        if ghost != i:
            _bodies(faces, d, ghost, ("bodies",), _FAINT)
    _bodies(faces, d, i, d.show, 1.0)
    for w in d.wires:
        if w.layer in d.show:
            faces.line(d.placed(w.frame, w.points, i), 1.6, w.color)
    for link in d.links:
        if link.layer in d.show:
            _link(faces, d, link, i)
    for arrow in d.arrows:
        if arrow.layer in d.show and arrow.unit in d.scales:
            _arrow(faces, d, arrow, i)
    for trail in d.trails if "trails" in d.show else ():
        path = d.at(trail.end)
        faces.line(path[i:], 1.2, trail.color, alpha=0.3)
        faces.line(path[: i + 1], 1.8, trail.color)
    return faces


def _bodies(faces: Polygons, d: Drawing, i: int, show: tuple[str, ...], alpha: float) -> None:
    """Add solids, beams and cables as they are at instant i."""
    for s in d.solids:
        if s.layer in show and not (alpha < 1 and s.frame == "ground"):
            vertices, quads = surface(s.shape)
            placed = d.placed(s.frame, vertices, i)
            closed = not isinstance(s.shape, Mesh)
            faces.solid(placed, quads, s.color, closed=closed, alpha=alpha)
    for x in d.bending if "bodies" in show else ():
        vertices, quads, values = surface_of(d, x, i)
        color: str | np.ndarray = x.color
        if d.color_by and values is None:
            color = _UNTOLD
        elif values is not None and alpha == 1:
            color = shade(values[quads].mean(axis=1), d.largest[d.color_by])
        faces.solid(vertices, quads, color, closed=False, alpha=alpha)


def _link(faces: Polygons, d: Drawing, link: Rod, i: int) -> None:
    a, b = (d.placed(e.frame, e.point[None], i)[0] for e in link.ends)
    length = float(np.linalg.norm(b - a))
    if length == 0:
        return
    if link.form == "rod":
        width = max(1.5, 2 * faces.camera.pixels(link.radius))
        faces.line(a + np.linspace(0, 1, 25)[:, None] * (b - a), width, link.color)
        return
    u = np.linspace(0, 1, 217)[:, None]
    side = np.cross(b - a, np.eye(3)[np.argmin(np.abs(b - a))])
    side /= np.linalg.norm(side)
    other = np.cross(b - a, side) / length
    r = link.radius * np.minimum(1, 12 * np.minimum(u, 1 - u))
    turn = 18 * np.pi * u
    coil = a + u * (b - a) + r * (np.cos(turn) * side + np.sin(turn) * other)
    faces.line(coil, max(1.2, 0.3 * faces.camera.pixels(link.radius)), link.color)


def _arrow(faces: Polygons, d: Drawing, arrow: Arrow, i: int) -> None:
    value, drawn = d.scales[arrow.unit]
    v = arrow.vectors[i] * drawn / value
    length, width = float(np.linalg.norm(v)), 0.006 * float(np.linalg.norm(d.high - d.low))
    if length <= width:
        return
    e = v / length
    tail = d.placed(arrow.end.frame, arrow.end.point[None], i)[0]
    side = np.cross(e, np.eye(3)[np.argmin(np.abs(e))])
    side /= np.linalg.norm(side)
    other = np.cross(e, side)
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)[:, None]
    ring = 2.6 * width * (np.cos(turn) * side + np.sin(turn) * other)
    heads = 2 if arrow.unit == "N m" else 1
    small = min(1.0, length / (8 * width * heads))
    for k in range(heads):
        tip = tail + (length - 6 * width * small * k) * e
        base = tip - 6 * width * small * e
        j = np.arange(12)
        cone = np.column_stack([j, (j + 1) % 12, np.full(12, 12), np.full(12, 12)])
        cone_points = np.vstack([base + small * ring, tip])
        faces.solid(cone_points, cone, arrow.color, closed=False, nearer=_FRONT)
    shaft = tail + np.linspace(0, 1, 9)[:, None] * (tip - 4 * width * small * e - tail)
    thick = max(1.2, 1.4 * faces.camera.pixels(width * small))
    faces.line(shaft, thick, arrow.color, nearer=_FRONT)


def _grid(d: Drawing, camera: Camera, i: int) -> np.ndarray:
    """Return lines (k, 2, 2) in pixels of a grid at the lowest place."""
    spacing, size = d.spacing, float(np.linalg.norm(d.high - d.low))
    n = int(np.ceil(0.75 * size / spacing))
    u, v = (e for e in np.eye(3) if not abs(e @ d.up))
    middle = np.round(camera.middle / spacing) * spacing
    bottom = min(d.low @ d.up, d.high @ d.up) - 0.01 * size
    middle += (bottom - middle @ d.up) * d.up
    ticks = spacing * np.arange(-n, n + 1)[:, None]
    ends = spacing * n * np.array([-1.0, 1.0])
    lines = [middle + np.stack([ticks * p + e * q for e in ends], 1) for p, q in ((u, v), (v, u))]
    return camera.project(np.concatenate(lines), i)[0]


def _legend(d: Drawing) -> list[tuple[str, str]]:
    """Return lines of text and their colours."""
    texts = [(f"grid {_metres(d.spacing)}", _GREY)] if "grid" in d.show else []
    words = {
        ("N", "loads"): "force",
        ("N m", "loads"): "moment",
        ("N", "reactions"): "reaction force",
        ("N m", "reactions"): "reaction moment",
    }
    for (unit, layer), word in words.items():
        arrows = [a for a in d.arrows if (a.unit, a.layer) == (unit, layer)]
        if arrows and layer in d.show and unit in d.scales:
            value, length = d.scales[unit]
            texts.append((f"{word}: {value:g} {unit} drawn as {_metres(length)}", arrows[0].color))
    return texts


def _metres(x: float) -> str:
    return next(f"{x / k:.3g} {u}" for k, u in ((1e3, "km"), (1, "m"), (1e-3, "mm"), (1e-6, "um"))
                if x >= k or u == "um")  # fmt: skip


def _color_bar(ax: Any, d: Drawing, width: float, text: dict[str, Any]) -> None:
    """Draw what colours of beams mean, at the lower right."""
    far, at = d.largest[d.color_by], np.linspace(-1, 1, 256)
    unit, word = MEASURES[d.color_by]
    left, right = max(12.0, width - 212), width - 12
    ax.imshow(shade(at, 1.0)[None], extent=(left, right, 26, 38), aspect="auto", zorder=3)
    ax.text(left, 56, f"{d.color_by}, {word} [{unit}]", **text)
    for place, value, side in ((left, -far, "left"), ((left + right) / 2, 0.0, "center"),
                               (right, far, "right")):  # fmt: skip
        ax.text(place, 22, f"{float(f'{value:.3g}'):g}", ha=side, **text)


class Canvas:
    """A figure that shows one instant after the other."""

    def __init__(self, d: Drawing, size: Any, who: str) -> None:
        extra(who, "drawing needs", "matplotlib.collections", "plot")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        width, height = vector(who, "size", size, "pixels", 2)
        if min(width, height) < 16 or max(width, height) > 10_000:
            raise ValueError(f"{who}: size must be 16 to 10000 pixels each, got {size!r}")
        self.d, self.camera = d, Camera(d, width, height)
        self.size = (int(width), int(height))
        self.figure: Figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        ax = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.set_axis_off()
        self.grid: Any = LineCollection([], colors="#dfe3e8", linewidths=0.7, zorder=0)
        self.faces: Any = PolyCollection([], linewidths=0.4, zorder=1)
        ax.add_collection(self.grid, autolim=False)
        ax.add_collection(self.faces, autolim=False)
        top: dict[str, Any] = {"va": "top", "zorder": 3, "fontsize": 9, "parse_math": False}
        heading = textwrap.wrap(d.title, max(10, int((width - 110) / 9)))
        bold = {**top, "fontsize": 11, "fontweight": "bold"}
        for k, line in enumerate(heading):
            ax.text(12, height - 10 - 18 * k, line, **bold)
        self.clock = ax.text(width - 12, height - 10, "", ha="right", **top)
        for k, (text, color) in enumerate(_legend(d)):
            ax.text(12, height - 12 - 18 * len(heading) - 16 * k, text, color=color, **top)
        if d.color_by and "bodies" in d.show:
            _color_bar(ax, d, width, top)
        frame = {"facecolor": "white", "edgecolor": "0.8", "pad": 1.5}
        self.labels = [x for x in d.labels if {x.layer, "labels"} <= set(d.show)]
        self.names = [
            ax.text(0, 0, x.text, bbox=frame, fontsize=8, zorder=2, parse_math=False)
            for x in self.labels
        ]
        self._agg = FigureCanvasAgg(self.figure)
        renderer = self._agg.get_renderer()
        extents = [name.get_window_extent(renderer) for name in self.names]
        self.room = np.array([(x.width, x.height) for x in extents]).reshape(-1, 2) + _FRAME

    def pixels(self, i: int) -> np.ndarray:
        """Return the picture of instant i, (height, width, 3) bytes."""
        self.show(i)
        self._agg.draw()
        return np.ascontiguousarray(np.asarray(self._agg.buffer_rgba())[..., :3])

    def show(self, i: int) -> None:
        """Draw instant i."""
        d, camera = self.d, self.camera
        faces, colors = _painted(d, camera, i).sorted()
        self.faces.set_verts(faces)
        self.faces.set_facecolor(colors)
        self.faces.set_edgecolor(colors)
        self.grid.set_segments(_grid(d, camera, i) if "grid" in d.show else [])
        self.clock.set_text(f"t = {d.t[i]:.4g} s")
        if self.labels:
            ends = [[d.placed(e.frame, e.point[None], i)[0] for e in x.ends] for x in self.labels]
            named = np.array([np.mean(some, axis=0) for some in ends])
            for name, place in zip(
                self.names, settled(*camera.project(named, i), self.room), strict=True
            ):
                name.set_visible(place is not None)
                if place is not None:
                    name.set_position(place)


def settled(
    points: np.ndarray, depth: np.ndarray, sizes: np.ndarray
) -> list[tuple[float, float] | None]:
    """Return lower left corners of names that do not cover each other, None for no room.

    Parameters
    ----------
    points, sizes : (n, 2) arrays [pixels]
        Points that are named, y upwards, and widths and heights of their names.
    depth : (n,) array
        Distances from the eye: the nearest name has the choice.
    """
    places: list[tuple[float, float] | None] = [None] * len(points)
    taken: list[tuple[float, float, float, float]] = []
    for i in np.argsort(depth, kind="stable"):
        (x, y), (w, h) = points[i], sizes[i]
        for side, above in _CORNERS:
            left = x + _GAP if side > 0 else x - _GAP - w
            low = y + _GAP if above > 0 else y - _GAP - h
            if all(left >= c or left + w <= a or low >= d or low + h <= b for a, b, c, d in taken):
                places[i] = (left, low)
                taken.append((left, low, left + w, low + h))
                break
    return places


def picture(d: Drawing, path: str | Path, t: float, size: Any) -> Path:
    """Write the instant nearest to t [s] as ``.png``, ``.pdf`` or ``.svg``."""
    path = file_path("snapshot", path)
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(
            f"snapshot: the path must end in .png, .pdf or .svg, got {shown(str(path))}"
        )
    slack = 1e-9 * (d.t[-1] - d.t[0])
    if not d.t[0] - slack <= t <= d.t[-1] + slack:
        raise ValueError(
            f"snapshot: t must be within the run, {d.t[0]:g} to {d.t[-1]:g} [s], got {t:g}"
        )
    i = int(np.argmin(np.abs(d.t - t)))
    canvas = Canvas(d, size, "snapshot")
    canvas.show(i)
    save_figure(canvas.figure, path, "snapshot", _DPI)
    return path
