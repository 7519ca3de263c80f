"""Drawings of solutions: poses at chosen instants, shapes, symbols, arrows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.animation import arrows as loads_and_reactions
from mbd.animation import beams
from mbd.animation.drawing import (
    LAYERS,
    MEASURES,
    Arrow,
    Drawing,
    End,
    FixedShape,
    Label,
    MovingSkin,
    PlayedMode,
    Plot,
    Rod,
    Strand,
    SweptBeam,
    Track,
    Trail,
    Wire,
)
from mbd.animation.glyphs import Drawn, draw_motors, draw_symbol
from mbd.animation.looks import Sizes, looks
from mbd.animation.view import chosen, corners, direction, pace, upwards
from mbd.base import checked
from mbd.base.door import array, number, unit_vector, vector
from mbd.drawing.curves import lines as lines_of
from mbd.drawing.curves import panels_of
from mbd.drawing.surfaces import surface
from mbd.history.history import History
from mbd.interactions.kind import face_name
from mbd.model.model import Model
from mbd.parts.part import Body, Frame, Part

PALETTE = ("#3b78b4", "#e08a2e", "#4f9d5d", "#b5524e", "#7f6bb0", "#8a6a52", "#c678a8", "#2f9ea0")
SHOWN = ("bodies", "joints", "springs", "trails", "loads", "grid")
_SYMBOL = 0.045  # size of a symbol, of the smallest body it joins
_LINE = 0.03  # radius of a line, of a typical body
_GHOSTS = 8
_POINT = "the name of a body, or (name, point in body axes [m])"
_AWAY = 8.0  # the eye follows a body that leaves by so many extents of the model


@dataclass(frozen=True)
class DrawOptions:
    """Options of an animation; see ``mbd.Solution.animate``."""

    trails: Any = ()
    lines: Any = ()
    show: Sequence[str] = SHOWN
    arrows: bool = True
    speed: float | None = None
    up: Any = None
    view: Any = None
    follow: Any = None
    title: str | None = None
    color_by: str | None = None
    ghosts: Any = ()
    plots: Any = ()


def draw(
    solution: History, options: DrawOptions, also: float | None = None,
    modes: beams.SmallModes = None,
) -> Drawing:  # fmt: skip
    """Return the drawing of a solution; the instant nearest to `also` [s] is among those shown.

    Of modes, colours say what they change, to first order.
    """
    model, system = solution.model, solution.model.system
    if not model.nodes:
        raise ValueError("animate: there is nothing to show, the system has no bodies")
    t = np.asarray(solution.t)
    if not len(t):
        raise ValueError("animate: there is nothing to show, the run has no instants")
    title = "" if options.title is None else options.title
    if not isinstance(title, str):
        raise TypeError(f"animate: title must be text, got {checked.shown(title)}")
    words = modes[2] if modes else []
    n = (len(t) - 1) // len(words) if words else len(t)  # instants that play in one go
    speed = pace(float(t[n - 1] - t[0]))
    if options.speed is not None:
        speed = number("animate", "speed", options.speed, "s of the model per s", positive=True)
    ghosts = _ghosts(options.ghosts)
    kept = ghosts if also is None else np.append(ghosts, also)
    wanted = np.abs(t - kept[:, None]).argmin(axis=1)
    spans = [[i * n, (i + 1) * n - 1] for i in range(len(words))]
    k = np.unique(np.r_[chosen(t, speed, _fastest(solution)), wanted, np.ravel(spans).astype(int)])
    shown = solution.part(k, solution.before)
    tracks = {
        place: _track(shown, place, body)
        for name, body in model.nodes.items()
        for place in (face_name(name, i) for i in range(body.formulation.n_shown))
    }
    sizes = Sizes(model)
    colors = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(model.nodes)}

    bears = beams.borne(shown, k, n, modes)
    swept = beams.sweeps(shown, bears, colors)
    cables = beams.strands(shown, bears, colors, max(0.1 * _SYMBOL * sizes.typical, sizes.visible))
    meshes = beams.skins(shown, bears, colors)
    bending: tuple[SweptBeam | Strand | MovingSkin, ...] = (*swept, *cables, *meshes)
    moved = [model.nodes[x.frame] for x in meshes]
    hidden = beams.hidden_nodes(model) | {x.name for x in moved if beams.carries(x) or not x.shapes}
    solids = [
        FixedShape(name, shape, shape.color or colors[name], "bodies", name)
        for name, body in model.nodes.items()
        if name not in hidden
        for shape in looks(body, sizes)
    ]
    drawn: list[Drawn] = []
    for part in system.parts.values():
        if part.bars:
            continue
        drawn += draw_symbol(part, _SYMBOL * sizes.of(*(b.name for b in part.bodies)), tracks)
    drawn += draw_motors(system, lambda *names: _SYMBOL * sizes.of(*names))
    solids += [x for x in drawn if isinstance(x, FixedShape)]
    drawn += _lines(model, options.lines, colors, _LINE * sizes.typical)

    up = upwards(system.gravity) if options.up is None else _axis(options.up)
    layers = checked.names("animate", "show", options.show)
    show = tuple(checked.one_of("animate", "show", x, LAYERS) for x in layers)
    visible = {*show, "bodies"}  # plates and rails of joints may be far larger than all bodies
    points = corners(
        tracks,
        [x for x in solids if x.layer in visible],
        [x for x in drawn if isinstance(x, Rod) and x.layer in visible],
        beams.reach(swept, cables),
        [(x.frame, x.skin.x) for x in meshes],
    )
    follow, low, high = _followed(points, solution, options.follow)
    vectors: list[Arrow] = []
    if checked.flag("animate", "arrows", options.arrows):
        vectors = loads_and_reactions.loads(shown)
        vectors += loads_and_reactions.contacts(shown)
        moving = loads_and_reactions.touches(shown) + loads_and_reactions.of_motion(shown)
        for point, arrow in moving:
            tracks[point.name] = point
            vectors.append(arrow)
        vectors += loads_and_reactions.reactions(shown)
        terms = loads_and_reactions.inertial(shown)
        vectors = loads_and_reactions.visible(vectors, sizes.typical, terms)
    extent = high - low  # of all but arrows: they say neither the size nor the plane of a motion
    scales = loads_and_reactions.scales(vectors, 0.2 * float(np.linalg.norm(extent)))
    if not follow:
        arrows = [x for x in vectors if x.layer in show]
        ends = np.vstack([low, high, loads_and_reactions.tips(arrows, scales, tracks)])
        low, high = ends.min(0), ends.max(0)
    return Drawing(
        title=title,
        t=shown.t,
        speed=speed,
        tracks=tracks,
        solids=tuple(solids),
        wires=tuple(x for x in drawn if isinstance(x, Wire)),
        links=tuple(x for x in drawn if isinstance(x, Rod)),
        arrows=tuple(vectors),
        trails=_trails(model, options.trails, colors),
        labels=(
            *_labels((*solids, *(x for x in drawn if not isinstance(x, FixedShape)))),
            *beams.names(bending),
        ),
        length=sizes.typical,
        low=low,
        high=high,
        up=up,
        view=_view(options.view, extent, up),
        follow=follow,
        scales=scales,
        show=show,
        sweeps=swept,
        strands=cables,
        skins=meshes,
        ghosts=tuple(np.searchsorted(k, wanted[: len(ghosts)]).tolist()),
        color_by=_color_by(options.color_by, {y for x in bending for y in x.measures}),
        plots=_plots(solution, options.plots, k),
        modes=tuple(
            PlayedMode(text, int(first), int(last), seconds)
            for (first, last), (text, seconds) in zip(np.searchsorted(k, spans), words, strict=True)
        ),
    )


def _plots(solution: History, names: Any, k: np.ndarray) -> tuple[Plot, ...]:
    """Return what is plotted beside the picture, at the instants k."""
    panels = panels_of(solution, checked.names("animate", "plots", names), "animate")
    return tuple(
        Plot(
            panel[0].title if len(panel) == 1 else panel[0].name.split(".")[0],
            panel[0].unit,
            tuple((label, values[k]) for label, values in lines_of(panel)),
        )
        for panel in panels
    )


def _ghosts(instants: Any) -> np.ndarray:
    t = np.atleast_1d(array("animate", "ghosts", instants, "instants [s]"))
    if t.ndim != 1 or len(t) > _GHOSTS or not np.isfinite(t).all():
        raise ValueError(
            f"animate: ghosts must be up to {_GHOSTS} instants [s], got {checked.shown(instants)}"
        )
    return t


def _color_by(name: Any, there: set[str]) -> str:
    """Return the measure that colours what bends at first."""
    if name is None:
        return ""
    if not there:
        raise ValueError(
            f"animate: color_by={checked.shown(name)} is for beams, cables and flexible bodies "
            "with faces; there are none"
        )
    return checked.one_of("animate", "color_by", name, tuple(x for x in MEASURES if x in there))


def _fastest(solution: History) -> float:
    """Return the largest angular velocity of a body [rad/s], of up to 2000 instants."""
    turning = [n for n, b in solution.model.nodes.items() if b.formulation.axes]
    k = np.unique(np.linspace(0, len(solution.t) - 1, 2000).astype(int))
    some = solution.part(k, solution.before)
    rates = (np.linalg.norm(some.body(n).angular_velocity, axis=1).max() for n in turning)
    return float(max(rates, default=0.0))


def _track(shown: History, place: str, body: Body) -> Track:
    history, formulation = shown.body(place), body.formulation
    quaternion = history.quaternion if formulation.axes else None
    scale = history.scale if formulation.axes and not formulation.rigid else None
    return Track(place, history.position, quaternion, scale)


def _axis(up: Any) -> np.ndarray:
    axis = unit_vector("animate", "up", up)
    if np.abs(axis).max() < 1 - 1e-9:
        raise ValueError(f"animate: up must be along x, y or z, got {axis.tolist()}")
    return np.round(axis)


def _view(view: Any, extent: np.ndarray, up: np.ndarray) -> np.ndarray:
    if view is None:
        return direction(extent, up)
    towards = unit_vector("animate", "view", view)
    if abs(towards @ up) > 1 - 1e-6:  # straight from above or below: which side is up is chosen
        towards = towards - 1e-3 * direction(np.ones(3), up)
    return towards / np.linalg.norm(towards)


def _followed(
    points: np.ndarray, solution: History, name: Any
) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the body to follow and the box that is seen: all of it, if nothing runs away."""
    nodes = solution.model.nodes
    if name is not None and not (isinstance(name, str) and name in ("", *nodes)):
        raise ValueError(
            f"animate: follow must name a body, got {checked.shown(name)}; there are "
            f"{', '.join(nodes)}"
        )
    low, high = points.min((0, 1)), points.max((0, 1))
    at_start = points[0].min(0), points[0].max(0)
    away = np.linalg.norm(high - low) > _AWAY * np.linalg.norm(at_start[1] - at_start[0])
    if name or (name is None and away):
        heaviest = solution.model.heaviest.name
        return name or heaviest, *at_start
    return "", low, high


def _trails(model: Model, ends: Any, colors: dict[str, str]) -> tuple[Trail, ...]:
    """Return the trails of bodies (their origins), frames, or pairs of a name and a point."""
    paths = []
    if isinstance(ends, str | Frame | Part):
        ends = [ends]
    for item in checked.listed(f"animate: trails must be a list, each {_POINT}", ends):
        end = _point(model, item, "trail")
        paths.append(Trail(end, colors[end.frame.partition("/")[0]], f"path of {end.frame}"))
    return tuple(paths)


def _lines(model: Model, sequences: Any, colors: dict[str, str], radius: float) -> list[Rod]:
    """Return bars between neighbours of each sequence of points; a radius [m]."""
    bars = []
    expected = f"animate: lines must be a list of lists, each point {_POINT}"
    for line in checked.listed(expected, sequences):
        if isinstance(line, str) or not isinstance(line, Sequence) or len(line) < 2:
            raise TypeError(
                f"animate: a line must be two or more points, each of them {_POINT}, got "
                f"{checked.shown(line)}"
            )
        ends = [_point(model, item, "line") for item in line]
        label = f"{ends[0].frame} to {ends[-1].frame}"
        color = colors[ends[0].frame.partition("/")[0]]
        bars += [Rod(pair, "rod", radius, color, "bodies", label) for pair in pairwise(ends)]
    return bars


def _point(model: Model, item: Any, what: str) -> End:
    """Return a point of a body."""
    name: Any = item
    point: Any = np.zeros(3)
    if isinstance(item, Frame):
        name, point = item.place, item.position
    elif isinstance(item, Part):
        name = item.name
    elif not isinstance(item, str):
        try:
            name, point = item
        except Exception:  # also what the value's own methods raise
            got = checked.shown(item)
            raise TypeError(f"animate: a {what} must be {_POINT}, got {got}") from None
    if not (isinstance(name, str) and name.partition("/")[0] in model.nodes):
        raise ValueError(
            f"animate: {what}s must be of bodies, got {checked.shown(name)}"
            f"{checked.meant(name, model.nodes)}; there are {', '.join(model.nodes)}"
        )
    return End(name, vector("animate", f"{what} of {name!r}", point, "m"))


def _labels(drawn: Iterable[FixedShape | Wire | Rod]) -> tuple[Label, ...]:
    """Return a name for each body, joint and spring, at the first thing that is drawn of it."""
    by_name: dict[str, Label] = {}
    for x in drawn:
        if x.label not in by_name:
            text = x.label if x.layer == "bodies" else x.label.rsplit(" (", 1)[0]
            by_name[x.label] = Label(text, x.layer, _ends(x))
    return tuple(by_name.values())


def _ends(x: FixedShape | Wire | Rod) -> tuple[End, ...]:
    """Return the points in whose middle the name of something is."""
    if isinstance(x, Rod):
        return x.ends
    points = surface(x.shape)[0] if isinstance(x, FixedShape) else x.points
    return (End(x.frame, 0.5 * (points.min(0) + points.max(0))),)
