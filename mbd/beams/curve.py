r"""Reference curve of a beam or cable: its line, section frames and properties along the length.

Pieces are smooth; between them are corners, where a node must be. Axis 1 of a section is the
tangent of the line; axis 3 lies in the plane of axis 1 and the direction ``up``; both axes are
turned about the tangent by the twist.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.base.checked import shown, sized
from mbd.base.door import array, number, vector
from mbd.beams.section import Section

_ALONG = 1e-6  # sine of the angle between axis 1 and `up` that is too small for a plane
_PER_LENGTH = ("stiffness", "mass_matrix")
_AROUND = 24  # points of outlines whose numbers of corners differ
_SHORT, _LONG = 1e-100, 1e100  # [m] of a line: squares of others are no numbers
_GAUSS = np.polynomial.legendre.leggauss(6)


def evaluated(who: str, what: str, function: Callable[[float], Any], p: float) -> Any:
    """Return what a user's function of p gives."""
    try:
        return function(p)
    except Exception as error:
        raise ValueError(
            f"{who}: {what}, a function of p in [0, 1], raised {type(error).__name__}: {error} at "
            f"p = {p:g}"
        ) from error


Profile = Callable[[np.ndarray], np.ndarray]  # of p (...) to arrays (..., ...)


def checked_profile(
    who: str, what: str, function: Callable[[float], Any], checked: Callable[[str, Any], Any]
) -> Profile:
    """Return a user's function of many places, its values checked."""

    def at(p: np.ndarray) -> np.ndarray:
        places = np.ravel(p).tolist()
        values = [checked(f"{what}(p)", evaluated(who, what, function, x)) for x in places]
        return np.reshape(values, (*np.shape(p), *np.shape(values[0])))

    return at


@dataclass(frozen=True)
class Piece:
    """A smooth piece of the line: position by a parameter in [0, 1], its derivative, its length."""

    position: Callable[[np.ndarray], np.ndarray]
    tangent: Callable[[np.ndarray], np.ndarray]

    @staticmethod
    def line(a: np.ndarray, b: np.ndarray) -> "Piece":
        """Return a straight piece."""
        return Piece(
            lambda p: a + np.multiply.outer(p, b - a),
            lambda p: np.broadcast_to(b - a, (*np.shape(p), 3)),
        )

    def lengths(self, p: np.ndarray) -> np.ndarray:
        """Return the arc length from 0 to each parameter, which grow [m]."""
        x, w = _GAUSS
        fine = np.unique(np.concatenate([np.linspace(0.0, 1.0, 65), p]))
        low, high = fine[:-1], fine[1:]
        at = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * x
        speed = np.linalg.norm(self.tangent(at), axis=-1)
        s = np.concatenate([[0.0], np.cumsum(0.5 * (high - low) * (speed @ w))])
        return np.asarray(s[np.searchsorted(fine, p)])


class Path:
    """The line of a beam or cable by its length.

    Parameters
    ----------
    who : str
        Name of the part, for errors.
    points : (n, 3) array [m], or function of p in [0, 1]
    smooth : bool
        Whether points are joined by a cubic spline, or by straight pieces.
    """

    def __init__(self, who: str, points: Any, smooth: bool) -> None:
        if not isinstance(smooth, bool):
            raise TypeError(f"{who}: smooth must be True or False, got {shown(smooth)}")
        self.who, self.pieces = who, _pieces(who, points, smooth)
        ends = [piece.lengths(np.array([0.0, 1.0]))[1] for piece in self.pieces]
        self.corners = np.concatenate([[0.0], np.cumsum(ends)])  # [m]
        self.length = float(self.corners[-1])
        self._inverse = [_inverse(piece) for piece in self.pieces]

    def parameter(self, piece: int, s: np.ndarray) -> np.ndarray:
        """Return the parameter of a piece in which lengths s [m] lie."""
        return self._inverse[piece](s - self.corners[piece])

    def places(self, s: np.ndarray, piece: np.ndarray) -> np.ndarray:
        """Return the nodes (n + 1, 3) [m] at lengths s, with the pieces (n,) between them."""
        own = np.concatenate([piece, piece[-1:]])
        places = np.empty((len(s), 3))
        for k, part in enumerate(self.pieces):
            places[own == k] = part.position(self.parameter(k, s[own == k]))
        return places

    def nodes(self, elements: int) -> tuple[np.ndarray, np.ndarray]:
        """Return lengths (n + 1,) [m] of nodes, equal in a piece, and pieces (n,) between them."""
        counts = _counts(np.diff(self.corners), elements)
        s = [
            np.linspace(a, b, n, endpoint=False)
            for a, b, n in zip(self.corners[:-1], self.corners[1:], counts, strict=True)
        ]
        return np.concatenate([*s, [self.length]]), np.repeat(np.arange(len(counts)), counts)


class ReferenceCurve:
    """The line of a beam with its section frames and section properties.

    Parameters
    ----------
    path : Path
        The line.
    section : Section, several in a list, or function of p
        With linear changes between the entries of a list.
    stations : None or (k,) array [-]
        The p of the entries of lists; default equally spaced.
    up : (3,) array [-]
        Of unit length.
    twist : None, float [rad], several in a list, or function of p
        One number is the twist at the end, growing evenly from zero.
    prestrain : None, (6,) array [-, 1/m], several in a list, or function of p
        Strains and curvatures of sections without stress.
    """

    def __init__(
        self, path: Path, section: Any, stations: Any, up: np.ndarray, twist: Any,
        prestrain: Any = None,
    ) -> None:  # fmt: skip
        self.path, self.up, who = path, up, path.who
        p = None if stations is None else _stations(who, stations)
        self.stiffness, self.mass, self.outline, self.young = _properties(who, section, p)
        self.twist = _twist(who, twist, p)
        self.prestrain = _prestrain(who, prestrain, p)

    def at(self, piece: int, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return r0 (..., 3) and R0 (..., 3, 3) at lengths s [m], which lie in a piece."""
        part, p = self.path.pieces[piece], self.path.parameter(piece, s)
        t = part.tangent(p)
        t = t / np.linalg.norm(t, axis=-1, keepdims=True)
        two = np.cross(self.up, t)
        size = np.linalg.norm(two, axis=-1, keepdims=True)
        if np.min(size) < _ALONG:
            raise ValueError(
                f"{self.path.who}: up must not be along the beam, got {self.up.tolist()} [-], "
                f"which it is {np.ravel(s)[np.argmin(size)]:.3g} m from its start; give another "
                "direction, of axis 3 of the section"
            )
        two = two / size
        frame = np.stack([t, two, np.cross(t, two)], axis=-1)
        angle = self.twist(s / self.path.length)
        if np.any(angle):
            from scipy.spatial.transform import Rotation

            turn = Rotation.from_rotvec(np.multiply.outer(np.ravel(angle), (1.0, 0.0, 0.0)))
            frame = frame @ turn.as_matrix().reshape(*np.shape(s), 3, 3)
        return part.position(p), frame

    def steepest(self, frames: np.ndarray) -> float:
        """Return the least sine of the angle between `up` and axis 1 of some frames."""
        return float(np.linalg.norm(np.cross(self.up, frames[..., 0]), axis=-1).min())


def _pieces(who: str, points: Any, smooth: bool) -> list[Piece]:
    if callable(points):
        return [_of_function(who, points)]
    P = array(who, "points", points, "(n, 3) numbers [m]")
    if P.ndim != 2 or P.shape[1] != 3 or len(P) < 2 or not np.isfinite(P).all():
        raise ValueError(
            f"{who}: points must be two or more finite points (n, 3) [m], got {shown(points)}"
        )
    if not _SHORT < (largest := np.abs(np.diff(P, axis=0)).max(initial=0.0)) < _LONG and largest:
        raise ValueError(
            f"{who}: points must be between {_SHORT:g} and {_LONG:g} apart [m], got {largest:g}"
        )
    steps = np.linalg.norm(np.diff(P, axis=0), axis=1)
    if steps.min() <= 1e-12 * steps.sum():
        i = int(np.argmin(steps))
        raise ValueError(f"{who}: points {i} and {i + 1} must differ, got {P[i].tolist()} twice")
    if not smooth or len(P) == 2:
        return [Piece.line(a, b) for a, b in pairwise(P)]
    from scipy.interpolate import CubicSpline

    knots = np.concatenate([[0.0], np.cumsum(steps)])
    spline = CubicSpline(knots / knots[-1], P, bc_type="natural" if len(P) == 3 else "not-a-knot")
    piece = Piece(spline, spline.derivative())
    _check_moving(who, "points", piece, "; straight pieces, smooth=False, may")
    return [piece]


def _check_moving(who: str, what: str, piece: Piece, else_: str = "") -> None:
    """Refuse a curve that stops or turns back between two of many points."""
    p = np.linspace(0.0, 1.0, 257)
    v = piece.tangent(p)
    speed = np.linalg.norm(v, axis=-1)
    back = (v[1:] * v[:-1]).sum(-1) <= 0.0
    stops = speed <= 1e-9 * speed.max()
    if back.any() or stops.any():
        where = p[np.argmax(stops)] if stops.any() else p[np.argmax(back)]
        raise ValueError(
            f"{who}: {what} must be a curve that goes on without stop or turning back, which it "
            f"does at p = {where:.3g}{else_}"
        )


def _counts(lengths: np.ndarray, elements: int) -> np.ndarray:
    """Return numbers of elements of pieces: at least one each, the longest elements divided."""
    counts = np.ones(len(lengths), dtype=int)
    while counts.sum() < elements:
        counts[np.argmax(lengths / counts)] += 1
    return counts


def _of_function(who: str, function: Callable[[float], Any]) -> Piece:
    """Return the spline through many points of a user's curve."""
    from scipy.interpolate import CubicSpline

    p = np.linspace(0.0, 1.0, 257)
    values = [evaluated(who, "points", function, float(x)) for x in p]
    try:
        P = np.array(values, dtype=float)
    except (TypeError, ValueError):
        P = np.empty(0)
    if P.shape != (len(p), 3) or not np.isfinite(P).all():
        raise ValueError(
            f"{who}: points, a function of p in [0, 1], must return three finite numbers [m], got "
            f"{shown(values[0])} at p = 0"
        )
    spline = CubicSpline(p, P)
    piece = Piece(spline, spline.derivative())
    _check_moving(who, "points, a function of p in [0, 1],", piece)
    return piece


def _inverse(piece: Piece) -> Callable[[np.ndarray], np.ndarray]:
    """Return the parameter of a piece by its arc length: a spline, then Newton's iteration."""
    p = np.linspace(0.0, 1.0, 65)
    s = piece.lengths(p)
    speeds = np.linalg.norm(piece.tangent(p), axis=-1)
    if np.ptp(speeds) <= 1e-14 * speeds.max():
        return lambda x: np.clip(x / s[-1], 0.0, 1.0)
    from scipy.interpolate import CubicSpline

    guess = CubicSpline(s, p)

    def parameter(x: np.ndarray) -> np.ndarray:
        flat = np.ravel(np.clip(x, 0.0, s[-1]))
        q = np.clip(guess(flat), 0.0, 1.0)
        order = np.argsort(q)
        for _ in range(2):
            lengths = np.empty_like(q)
            lengths[order] = piece.lengths(np.sort(q))
            q = np.clip(q - (lengths - flat) / np.linalg.norm(piece.tangent(q), axis=-1), 0.0, 1.0)
        return q.reshape(np.shape(x))

    return parameter


def _stations(who: str, stations: Any) -> np.ndarray:
    """Return increasing numbers from 0 to 1."""
    p = array(who, "stations", stations, "numbers from 0 to 1 [-]")
    if p.ndim != 1 or len(p) < 2 or p[0] != 0.0 or p[-1] != 1.0 or not (np.diff(p) > 0.0).all():
        raise ValueError(
            f"{who}: stations must be numbers that increase from 0 to 1 [-], got "
            f"{shown(stations)}; a section that jumps is that of two beams, joined by first="
        )
    return p


def _spaced(who: str, what: str, n: int, stations: np.ndarray | None) -> np.ndarray:
    """Return the p of n entries of a list."""
    if stations is None:
        return np.linspace(0.0, 1.0, n)
    if len(stations) != n:
        raise ValueError(
            f"{who}: {what} must be a list with one entry for each of the {len(stations)} "
            f"stations, got {n}"
        )
    return stations


def _properties(
    who: str, section: Any, stations: np.ndarray | None
) -> tuple[Profile, Profile, Profile, Profile]:
    """Return stiffness (6, 6), mass matrix (4, 4) per length, outline (n, 2) and modulus of p."""
    if callable(section) and not isinstance(section, Section):
        return (
            lambda p: _stacked(who, section, p, lambda x: [y.stiffness for y in x]),
            lambda p: _stacked(who, section, p, lambda x: [y.mass_matrix for y in x]),
            lambda p: _stacked(who, section, p, _outlines),
            lambda p: _stacked(who, section, p, _moduli),
        )
    sections = [section] if isinstance(section, Section) else section
    if not isinstance(sections, Sequence) or not all(isinstance(x, Section) for x in sections):
        raise TypeError(
            f"{who}: section must be a Section, several in a list, or a function of p in [0, 1], "
            f"got {shown(section)}"
        )
    if not sections:
        raise ValueError(f"{who}: section must be at least one Section, got an empty list")
    at = _spaced(who, "section", len(sections), stations) if len(sections) > 1 else np.zeros(1)
    stiffness, mass = (np.array([getattr(x, a) for x in sections]) for a in _PER_LENGTH)
    outline, young = np.array(_outlines(sections)), _moduli(sections)
    return _linear(at, stiffness), _linear(at, mass), _linear(at, outline), _linear(at, young)


def _moduli(sections: Sequence[Section]) -> np.ndarray:
    """Return Young's moduli [Pa], NaN of sections that have none."""
    return np.array([np.nan if x.young is None else x.young for x in sections])


def _outlines(sections: Sequence[Section]) -> list[np.ndarray]:
    """Return the outlines, with equally many corners: else points at equal parts of them."""
    outlines = [x.corners for x in sections]
    if len({len(x) for x in outlines}) == 1:
        return outlines
    return [_points_along(x, _AROUND) for x in outlines]


def _points_along(outline: np.ndarray, n: int) -> np.ndarray:
    """Return n points at equal parts of a closed line, from axis 2 towards axis 3."""
    x, y = (outline - outline.mean(axis=0)).T
    if (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() < 0:  # twice the area
        outline = outline[::-1]
    closed = np.concatenate([outline, outline[:1]])
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    fine = np.linspace(0.0, s[-1], 32 * n, endpoint=False)
    path = np.column_stack([np.interp(fine, s, x) for x in closed.T])
    y, z = (path - path.mean(axis=0)).T
    return np.roll(path, -int(np.argmin(np.abs(np.arctan2(z, y)))), axis=0)[::32]


def _linear(stations: np.ndarray, table: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that is linear between the rows of a table."""
    if len(table) == 1:
        return lambda p: np.broadcast_to(table[0], (*np.shape(p), *table.shape[1:]))

    def at(p: np.ndarray) -> np.ndarray:
        i = np.clip(np.searchsorted(stations, p, side="right") - 1, 0, len(table) - 2)
        share = (p - stations[i]) / (stations[i + 1] - stations[i])
        share = share.reshape(*np.shape(p), *(1,) * (table.ndim - 1))
        return np.asarray((1 - share) * table[i] + share * table[i + 1])

    return at


def _stacked(
    who: str, function: Callable[[float], Any], p: np.ndarray, taken: Callable[..., Any]
) -> np.ndarray:
    """Return a property of a user's section at many places."""
    sections = [evaluated(who, "section", function, float(x)) for x in np.ravel(p)]
    for section in sections:
        if not isinstance(section, Section):
            raise TypeError(f"{who}: section(p) must return a Section, got {shown(section)}")
    table = np.array(taken(sections))
    return table.reshape(*np.shape(p), *table.shape[1:])


def _twist(who: str, twist: Any, stations: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
    """Return the twist [rad] as a function of p."""
    if twist is None:
        return np.zeros_like
    if callable(twist):
        return checked_profile(who, "twist", twist, lambda what, x: number(who, what, x, "rad"))
    values = np.atleast_1d(array(who, "twist", twist, "numbers [rad]"))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{who}: twist must be finite numbers [rad], got {shown(twist)}")
    values = sized(who, "twist", values, "rad")
    if len(values) == 1:
        values = np.array([0.0, values[0]])
    several = np.ndim(twist) == 1 and len(twist) > 1
    at = _spaced(who, "twist", len(values), stations if several else None)
    return lambda p: np.interp(p, at, values)


def _prestrain(who: str, prestrain: Any, stations: np.ndarray | None) -> Profile:
    """Return three strains [-] and three curvatures [1/m] (6,) of p."""
    if callable(prestrain):
        return checked_profile(
            who, "prestrain", prestrain, lambda what, x: vector(who, what, x, "-, 1/m", 6)
        )
    what = "six numbers [-, 1/m], or several sixes in a list"
    table = np.atleast_2d(
        np.zeros(6) if prestrain is None else array(who, "prestrain", prestrain, what)
    )
    if table.ndim != 2 or table.shape[1] != 6 or not len(table) or not np.isfinite(table).all():
        raise ValueError(f"{who}: prestrain must be {what}, got {shown(prestrain)}")
    at = _spaced(who, "prestrain", len(table), stations) if len(table) > 1 else np.zeros(1)
    return _linear(at, table)
