"""Beams and cables as they are drawn: swept sections, strands, and what they bear."""

import numpy as np

from mbd.animation.drawing import Drawing, End, Label, Strand, SweptBeam
from mbd.drawing.surfaces import beam_rings, caps, hanging, quads, tube_rings
from mbd.history.beams import SECTION_FORCES, BeamHistory, lines
from mbd.history.history import History
from mbd.model.model import Model

_AT_ONCE = 1 << 16  # elements times instants whose forces are evaluated at once, some 50 MB


def hidden_nodes(model: Model) -> set[str]:
    """Return the bodies that are seen as parts of beams and cables only."""
    parts = model.system.structures.values()
    return {x.name for part in parts if part.line is not None or part.bars for x in part.nodes()}


def sweeps(shown: History, colors: dict[str, str]) -> tuple[SweptBeam, ...]:
    """Return all beams."""
    beams = []
    for name, line in lines(shown.model).items():
        at = [x.attachments for x in line.elements]
        w = np.array([[x.weights for x in some] for some in at]).reshape(-1, 2, 4, 4)
        forces = _section_forces(shown, name, len(at))
        loads = dict(zip(SECTION_FORCES, np.moveaxis(forces, -1, 0), strict=True))
        beams.append(
            SweptBeam(
                tuple((some[0].place, some[4].place) for some in at),
                w[:, :, 0, 1:], np.swapaxes(w[:, :, 1:, 1:], -1, -2), line.outline, loads,
                colors[at[0][0].place.partition("/")[0]], name,
            )
        )  # fmt: skip
    return tuple(beams)


def _section_forces(shown: History, name: str, k: int) -> np.ndarray:
    """Return the six of k elements (n, k, 2, 6), in pieces that memory holds easily."""
    n, step = len(shown.t), max(1, _AT_ONCE // k)
    pieces = []
    for first in range(0, n, step):
        history = shown.part(slice(first, first + step))[name]
        assert isinstance(history, BeamHistory)
        pieces.append(history.section_forces.astype(np.float32))
    return np.concatenate(pieces)


def strands(shown: History, colors: dict[str, str], radius: float) -> tuple[Strand, ...]:
    """Return all cables, of a radius [m] that can be seen."""
    cables = []
    for name, part in shown.model.system.structures.items():
        if part.bars:
            nodes = tuple(x.name for x in part.nodes())
            lengths = np.array([x.numbers[2] for x in part.bars])
            tension = np.repeat(shown[name].tension[..., None], 2, axis=-1)
            cables.append(Strand(nodes, lengths, radius, {"N": tension}, colors[nodes[0]], name))
    return tuple(cables)


def names(beams: tuple[SweptBeam, ...], cables: tuple[Strand, ...]) -> tuple[Label, ...]:
    """Return a name for each, in its middle."""
    middles = [
        *((x.label, x.ends[len(x.ends) // 2][0]) for x in beams),
        *((x.label, x.ends[len(x.ends) // 2]) for x in cables),
    ]
    return tuple(Label(text, "bodies", (End(place, np.zeros(3)),)) for text, place in middles)


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
    d: Drawing, x: SweptBeam | Strand, i: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return vertices and faces at instant i, and the section force on each face, if asked for."""
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
    ends = [rings[0, 0].mean(axis=0), rings[-1, -1].mean(axis=0)]
    k, m, n, _ = rings.shape
    vertices, faces = (
        np.vstack([rings.reshape(-1, 3), ends]),
        np.vstack([quads(k, m, n), caps(k, m, n)]),
    )
    if d.color_by not in x.loads:
        return vertices, faces, None
    first, last = x.loads[d.color_by][i].T[..., None]
    s = (np.arange(m - 1) + 0.5) / (m - 1)
    along = ((1 - s) * first + s * last).ravel()
    return vertices, faces, np.repeat([*along, first[0, 0], last[-1, 0]], n)
