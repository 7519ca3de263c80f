"""What bends as it is drawn: swept sections, strands, skins of meshes, and what they bear."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from mbd.animation.drawing import Drawing, End, Label, MovingSkin, Strand, SweptBeam
from mbd.beams.swept import along, beam_rings, caps, closed, quads
from mbd.drawing.surfaces import hanging, surface, tube_rings
from mbd.flexible.skin import carried
from mbd.history.beams import SECTION_FORCES, BeamHistory, lines
from mbd.history.history import History
from mbd.model.model import Model
from mbd.parts.part import Body
from mbd.parts.skin import Skin

#: Modes of small amplitude, each at four quarters of its period; by how much those that are shown
#: are larger, a period of each, then the model at rest; of each its text, seconds per unit of t
SmallModes = tuple[History, float, list[tuple[str, float]]] | None
Borne = Callable[[Callable[[History], np.ndarray]], np.ndarray]
_AT_ONCE = 1 << 16  # elements times instants whose forces are evaluated at once, some 50 MB


def hidden_nodes(model: Model) -> set[str]:
    """Return the bodies that are seen as parts of beams and cables only."""
    parts = model.system.structures.values()
    return {x.name for part in parts if part.line is not None or part.bars for x in part.nodes()}


def borne(shown: History, k: np.ndarray, n: int, modes: SmallModes) -> Borne:
    """Return the function that gives what beams and meshes bear at the instants k.

    Of a mode, of n instants, it is the harmonic through half the differences to half a period
    later, of a small amplitude, by the ratio of amplitudes: this leaves out what is there at rest,
    and the stretch of what turns far along straight lines.
    """
    if modes is None:
        return lambda take: take(shown)
    small, ratio, words = modes
    mode, i = np.divmod(k, n)
    moving = mode < len(words)
    wave = moving * np.exp(2j * np.pi * i / (n - 1))
    mode = np.where(moving, mode, 0)

    def of_modes(take: Callable[[History], np.ndarray]) -> np.ndarray:
        quarters = take(small)
        x = quarters.reshape(len(words), 4, *quarters.shape[1:])
        cosine, sine = 0.5 * ratio * np.moveaxis(x[:, :2] - x[:, 2:], 1, 0)
        part = np.stack([wave.real, wave.imag]).reshape(2, -1, *[1] * (cosine.ndim - 1))
        return np.asarray(part[0] * cosine[mode] + part[1] * sine[mode])

    return of_modes


def sweeps(shown: History, bears: Borne, colors: dict[str, str]) -> tuple[SweptBeam, ...]:
    """Return all beams."""
    beams = []
    for name, line in lines(shown.model).items():
        at = [x.attachments for x in line.elements]
        w = np.array([[x.weights for x in some] for some in at]).reshape(-1, 2, 4, 4)
        forces, strain = np.split(bears(partial(_sections, name=name, k=len(at))), [6], axis=-1)
        loads = dict(zip(SECTION_FORCES, np.moveaxis(forces, -1, 0), strict=True))
        beams.append(
            SweptBeam(
                tuple((some[0].place, some[4].place) for some in at),
                w[:, :, 0, 1:], np.swapaxes(w[:, :, 1:, 1:], -1, -2), line.outline, loads, strain,
                line.young, colors[at[0][0].place.partition("/")[0]], name,
            )
        )  # fmt: skip
    return tuple(beams)


def _sections(shown: History, name: str, k: int) -> np.ndarray:
    """Return the six forces and three strains of k elements (t, k, 2, 9).

    They are taken in pieces that memory holds easily.
    """
    n, step = len(shown.t), max(1, _AT_ONCE // k)
    pieces = []
    for first in range(0, n, step):
        history = shown.part(slice(first, first + step))[name]
        assert isinstance(history, BeamHistory)
        nine = np.concatenate([history.section_forces, history.axial_strains], axis=-1)
        pieces.append(nine.astype(np.float32))
    return np.concatenate(pieces)


def skins(shown: History, bears: Borne, colors: dict[str, str]) -> tuple[MovingSkin, ...]:
    """Return all flexible bodies that have faces, or shapes that nodes with rotations carry."""
    some = []
    for name, body in shown.model.nodes.items():
        if body.nodal is not None:
            for skin, color in _skins_of(body):
                p, load = shown.body(name).modal, bears(lambda run, name=name: run.body(name).modal)
                edged = body.skin is not None
                some.append(MovingSkin(name, skin, p, load, color or colors[name], name, edged))
    return tuple(some)


def carries(body: Body) -> bool:
    """Return whether the shapes of a body bend with it: those of a mesh of nodes with rotations."""
    nodal = body.nodal
    return nodal is not None and body.skin is None and nodal.values.shape[1] == 6


def _skins_of(body: Body) -> list[tuple[Skin, str | None]]:
    """Return skins and their colours, where they have one."""
    if body.skin is not None:
        return [(body.skin, None)]
    if not carries(body) or body.nodal is None:
        return []
    x, shapes = body.nodal.x, body.nodal.values
    return [(carried(*surface(s), x, shapes), s.color) for s in body.shapes]


def strands(
    shown: History, bears: Borne, colors: dict[str, str], radius: float
) -> tuple[Strand, ...]:
    """Return all cables, of a radius [m] that can be seen."""
    cables = []
    for name, part in shown.model.system.structures.items():
        if part.bars:
            nodes = tuple(x.name for x in part.nodes())
            lengths = np.array([x.numbers[2] for x in part.bars])
            own = bears(lambda run, name=name: np.asarray(run[name].tension))
            tension = np.repeat(own[..., None], 2, axis=-1)
            cables.append(Strand(nodes, lengths, radius, {"N": tension}, colors[nodes[0]], name))
    return tuple(cables)


def names(bending: Iterable[SweptBeam | Strand | MovingSkin]) -> tuple[Label, ...]:
    """Return a name for each, in its middle."""
    labels: dict[str, Label] = {}
    for x in bending:
        if isinstance(x, MovingSkin):
            middle = End(x.frame, 0.5 * (x.skin.x.min(0) + x.skin.x.max(0)))
        else:
            place = x.ends[len(x.ends) // 2]
            middle = End(place if isinstance(place, str) else place[0], np.zeros(3))
        labels.setdefault(x.label, Label(x.label, "bodies", (middle,)))
    return tuple(labels.values())


def reach(beams: tuple[SweptBeam, ...], cables: tuple[Strand, ...]) -> dict[str, float]:
    """Return how far what is drawn goes from the frames of beams and cables [m]."""
    far = {place: x.radius for x in cables for place in x.ends}
    for x in beams:
        sizes = np.linalg.norm(x.outline, axis=-1).max(axis=-1)
        for places, both in zip(x.ends, sizes.tolist(), strict=True):
            far |= {
                place: max(r, far.get(place, 0.0)) for place, r in zip(places, both, strict=True)
            }
    return far


def surface_of(
    d: Drawing, x: SweptBeam | Strand | MovingSkin, i: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return vertices and faces at instant i, and what colours each vertex, if asked for."""
    values = x.values(d.color_by, i) if d.color_by in x.measures else None
    if isinstance(x, MovingSkin):
        return d.placed(x.frame, x.points(i), i), x.skin.faces, values
    if isinstance(x, SweptBeam):
        r, R = np.empty((len(x.ends), 2, 3)), np.empty((len(x.ends), 2, 3, 3))
        for e, places in enumerate(x.ends):
            for side, place in enumerate(places):
                r[e, side] = d.placed(place, x.points[e, side][None], i)[0]
                R[e, side] = d.turned(place, x.axes[e, side].T, i).T
        rings = beam_rings(r, R, x.outline)
    else:
        path = np.concatenate([d.placed(place, np.zeros((1, 3)), i) for place in x.ends])
        rings = tube_rings(hanging(path, x.lengths, -d.up), x.radius)
    k, m, n, _ = rings.shape
    if values is not None:
        both = along(np.broadcast_to(values, (k, 2, n))[..., None])
        values = closed(both)[:, 0]
    return closed(rings), np.vstack([quads(k, m, n), caps(k, m, n)]), values
