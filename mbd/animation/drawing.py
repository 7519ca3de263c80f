"""Drawing: moving frames and what is fixed to them, without saying how it is painted.

``draw.py`` makes a ``Drawing`` of a solution, ``page.py`` an HTML page of it, ``painter.py`` a
picture. A frame is "ground" or the name of a body; points are in its axes [m].
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mbd.beams.swept import fibre_strain
from mbd.history.beams import SECTION_FORCES
from mbd.parts.shapes import Shape
from mbd.parts.skin import Skin

#: What colours beams, cables and meshes: unit, what it is.
MEASURES = SECTION_FORCES | {
    "strain": ("-", "of the surface"),
    "stress": ("Pa", "along the beam"),
    "mises": ("Pa", "von Mises stress"),
}
_AT_ONCE = 64  # instants whose measures are evaluated at once
_COLORS = {
    ("loads", "N"): "#c62828", ("loads", "N m"): "#7b1fa2",
    ("reactions", "N"): "#1565c0", ("reactions", "N m"): "#00838f",
}  # fmt: skip
LAYERS = ("bodies", "joints", "springs", "trails", "loads", "reactions", "labels", "grid")


@dataclass(frozen=True)
class Track:
    """Poses of a body: position (n, 3) [m], unit quaternion (n, 4), scalar first, scale (n,)."""

    name: str
    position: np.ndarray
    quaternion: np.ndarray | None
    scale: np.ndarray | None

    @cached_property
    def matrix(self) -> np.ndarray:
        """Rotation times scale (n, 3, 3), body to inertial."""
        if self.quaternion is None:
            return np.broadcast_to(np.eye(3), (len(self.position), 3, 3))
        w, x, y, z = self.quaternion.T
        rows = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
        R = np.moveaxis(np.array(rows), 2, 0)
        return R if self.scale is None else R * self.scale[:, None, None]


@dataclass(frozen=True)
class End:
    """A point of a frame."""

    frame: str
    point: np.ndarray


@dataclass(frozen=True)
class FixedShape:
    """A shape fixed to a frame."""

    frame: str
    shape: Shape
    color: str
    layer: str
    label: str


@dataclass(frozen=True)
class Wire:
    """A line through points (k, 3) fixed to a frame."""

    frame: str
    points: np.ndarray
    color: str
    layer: str
    label: str


@dataclass(frozen=True)
class Rod:
    """A rod or a coil between points of two frames, with a radius [m]."""

    ends: tuple[End, End]
    form: str
    radius: float
    color: str
    layer: str
    label: str


@dataclass(frozen=True)
class SweptBeam:
    """A beam: sections swept along helicoids between k pairs of frames.

    Attributes
    ----------
    ends : tuple of k pairs of names
    points, axes : (k, 2, 3), (k, 2, 3, 3) arrays
        Origin and axes (columns) of the sections in these frames.
    outline : (k, 2, n, 2) array [m]
    loads : dict of (t, k, 2) arrays
        Section forces by name.
    strain : (t, k, 2, 3) array [-], [1/m]
        Stretch and the two bendings.
    young : (k, 2) array [Pa]
        NaN where it is not known.
    """

    ends: tuple[tuple[str, str], ...]
    points: np.ndarray
    axes: np.ndarray
    outline: np.ndarray
    loads: dict[str, np.ndarray]
    strain: np.ndarray
    young: np.ndarray
    color: str
    label: str

    @property
    def measures(self) -> tuple[str, ...]:
        """What it may be coloured by."""
        return (*self.loads, "strain", *(("stress",) if np.isfinite(self.young).all() else ()))

    def values(self, name: str, i: int | slice) -> np.ndarray:
        """Return a measure at instants i at corners of ends of elements (..., k, 2, n or 1)."""
        if name in self.loads:
            return np.asarray(self.loads[name][i, ..., None])
        strain = fibre_strain(self.strain[i], self.outline)
        return strain if name == "strain" else self.young[..., None] * strain


@dataclass(frozen=True)
class Strand:
    """A cable: bars between k + 1 frames, of free lengths (k,) [m], with a radius [m]."""

    ends: tuple[str, ...]
    lengths: np.ndarray
    radius: float
    loads: dict[str, np.ndarray]
    color: str
    label: str

    @property
    def measures(self) -> tuple[str, ...]:
        """What it may be coloured by."""
        return tuple(self.loads)

    def values(self, name: str, i: int | slice) -> np.ndarray:
        """Return a measure at instants i at both ends of bars (..., k, 2, 1)."""
        return np.asarray(self.loads[name][i, ..., None])


@dataclass(frozen=True)
class MovingSkin:
    """The skin of a flexible body in its frame, with modal coordinates p (t, m) [m].

    Those of what it bears are others if the picture is of a mode. Edges of a mesh are seen.
    """

    frame: str
    skin: Skin
    p: np.ndarray
    bears: np.ndarray
    color: str
    label: str
    edged: bool = True

    @property
    def measures(self) -> tuple[str, ...]:
        """What it may be coloured by."""
        return ("strain", *(() if self.skin.stress is None else ("mises",)))

    def values(self, name: str, i: int | slice) -> np.ndarray:
        """Return a measure at instants i at the nodes (..., n)."""
        return self.skin.values(name, self.bears[i])

    def points(self, i: int) -> np.ndarray:
        """Return the nodes at instant i (n, 3) [m], in the frame."""
        return self.skin.x + self.skin.shapes @ self.p[i]


@dataclass(frozen=True)
class Arrow:
    """A vector (n, 3) at a point, inertial axes, of unit "N" or "N m"."""

    end: End
    vectors: np.ndarray
    unit: str
    layer: str
    label: str

    @property
    def color(self) -> str:
        """Colour of what it is."""
        return _COLORS[self.layer, self.unit]


@dataclass(frozen=True)
class Trail:
    """The path of a point."""

    end: End
    color: str
    label: str


@dataclass(frozen=True)
class Label:
    """A name, in the middle of some points, that is seen with a layer."""

    text: str
    layer: str
    ends: tuple[End, ...]


@dataclass(frozen=True)
class Plot:
    """Lines over time beside the picture: title, unit, and (n,) values by name."""

    title: str
    unit: str
    lines: tuple[tuple[str, np.ndarray], ...]


@dataclass(frozen=True)
class PlayedMode:
    """A mode that plays: what it is, its first and last instant, the seconds of a unit of t."""

    text: str
    first: int
    last: int
    seconds: float


@dataclass(frozen=True)
class Drawing:
    """Everything that is shown.

    Attributes
    ----------
    title : str
        May be empty.
    t : (n,) array [s]
    speed : float
        Seconds of the model per second of the viewer.
    tracks : dict
        By name of the body.
    length : float [m]
        Size of a typical body.
    low, high : (3,) arrays [m]
        Corners of what is seen over the whole time, or at the start if `follow` is set.
    up, view : (3,) arrays [-]
        Upwards, and from the middle to the eye.
    follow : str
        Body that the eye goes along with, or "".
    scales : dict
        By unit of an arrow: (value, its length [m]).
    show : tuple of str
        Layers that are visible at first.
    ghosts : tuple of int
        Instants that are shown faintly all the time.
    color_by : str
        Measure that colours beams, cables and meshes at first, or "".
    modes : tuple of PlayedMode
        Of which the viewer plays one at a time; empty of a run.
    """

    title: str
    t: np.ndarray
    speed: float
    tracks: dict[str, Track]
    solids: tuple[FixedShape, ...]
    wires: tuple[Wire, ...]
    links: tuple[Rod, ...]
    arrows: tuple[Arrow, ...]
    trails: tuple[Trail, ...]
    labels: tuple[Label, ...]
    length: float
    low: np.ndarray
    high: np.ndarray
    up: np.ndarray
    view: np.ndarray
    follow: str
    scales: dict[str, tuple[float, float]]
    show: tuple[str, ...]
    sweeps: tuple[SweptBeam, ...] = ()
    strands: tuple[Strand, ...] = ()
    skins: tuple[MovingSkin, ...] = ()
    ghosts: tuple[int, ...] = ()
    color_by: str = ""
    plots: tuple[Plot, ...] = ()
    modes: tuple[PlayedMode, ...] = ()

    @property
    def bending(self) -> tuple[SweptBeam | Strand | MovingSkin, ...]:
        """All beams, cables and skins."""
        return (*self.sweeps, *self.strands, *self.skins)

    @cached_property
    def largest(self) -> dict[str, float]:
        """Size of the largest value of each measure over the whole time, by name."""
        return self.largest_between(0, len(self.t))

    def largest_between(self, first: int, end: int) -> dict[str, float]:
        """Return the size of the largest value of each measure at instants before an end."""
        pieces = [slice(i, min(i + _AT_ONCE, end)) for i in range(first, end, _AT_ONCE)]
        return {
            name: max(
                float(np.abs(x.values(name, some)).max(initial=0))
                for x in self.bending if name in x.measures for some in pieces
            )
            for name in MEASURES if any(name in x.measures for x in self.bending)
        }  # fmt: skip

    @property
    def origin(self) -> np.ndarray:
        """Origin of the graphics, which has seven digits: the middle of what is far.

        A multiple of the spacing of the grid.
        """
        middle = 0.5 * (self.low + self.high)
        near = np.linalg.norm(middle) < 50 * np.linalg.norm(self.high - self.low)
        return np.zeros(3) if near else np.round(middle / self.spacing) * self.spacing

    @property
    def spacing(self) -> float:
        """Distance of the lines of the grid [m]."""
        return nice(float(np.linalg.norm(self.high - self.low)) / 8)

    def at(self, end: End) -> np.ndarray:
        """Return a point over time (n, 3) [m], inertial."""
        return over_time(self.tracks, end, len(self.t))

    def placed(self, frame: str, points: np.ndarray, i: int) -> np.ndarray:
        """Return points (k, 3) of a frame at instant i, inertial."""
        if frame == "ground":
            return points
        track = self.tracks[frame]
        return track.position[i] + points @ track.matrix[i].T

    def turned(self, frame: str, vectors: np.ndarray, i: int) -> np.ndarray:
        """Return vectors (k, 3) of a frame at instant i, in inertial axes."""
        return vectors if frame == "ground" else vectors @ self.tracks[frame].matrix[i].T


def over_time(tracks: dict[str, Track], end: End, n: int) -> np.ndarray:
    """Return a point over n instants (n, 3) [m], inertial."""
    if end.frame == "ground":
        return np.broadcast_to(end.point, (n, 3))
    track = tracks[end.frame]
    return track.position + track.matrix @ end.point


def nice(x: float) -> float:
    """Return the nearest of 1, 2, 5 times a power of ten."""
    ten = 10.0 ** np.floor(np.log10(x))
    return float(ten * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(np.log(x / ten / k))))
