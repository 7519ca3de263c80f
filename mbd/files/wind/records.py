r"""What files of wind turbines say: slender bodies, blades in the air, masses, numbers.

All is in SI and radians. Files have matrices of forces and moments (F_x, F_y, F_z, M_x, M_y, M_z)
with z along the body; a ``Section`` has axis 1 along it, so that (1, 2, 3) = (z, x, y), and ``up``
of a beam is y. Of masses about the reference axis,

.. math:: M = \begin{bmatrix} m I & m\tilde c^T \\ m\tilde c & J \end{bmatrix}, \qquad
          J_c = J - m\,(c\cdot c\,I - c\,c^T) .

Stiffness, mass and twist are linear between stations, each between its own; a body has all of them
at the stations of all, where they are what they were.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from mbd.base.checked import absent, sized
from mbd.base.door import array, mass_properties, rotation_matrix, vector
from mbd.base.read_only import read_only
from mbd.beams.beam import Beam
from mbd.beams.curve import Path as Line
from mbd.beams.section import Section

_ORDER = np.array((2, 0, 1, 5, 3, 4))  # of (x, y, z, x, y, z) as axes (1, 2, 3, 1, 2, 3)
_POLAR = 1e-2  # of a polar moment that is above the sum of the others by what a file rounds


class Profile(NamedTuple):
    """Values at stations from 0 to 1, linear between them.

    Attributes
    ----------
    at : (k,) array [-]
    values : (k, ...) array
    where : callable
        Place of entry i in the file, for errors.
    """

    at: np.ndarray
    values: np.ndarray
    where: Callable[[int], str]

    def checked(self, what: str) -> "Profile":
        """Return it, with stations that increase from 0 to 1, or refuse it by its place."""
        if len(self.at) < 2:
            raise ValueError(f"{self.where(0)}: {what} needs two stations or more, got one")
        steps = np.diff(self.at)
        if not (steps > 0).all():
            i = int(np.argmin(steps > 0)) + 1
            raise ValueError(
                f"{self.where(i)}: stations of {what} must increase, got {self.at[i]:g} after "
                f"{self.at[i - 1]:g}"
            )
        for i, end in ((0, 0.0), (len(self.at) - 1, 1.0)):
            if self.at[i] != end:
                raise ValueError(
                    f"{self.where(i)}: stations of {what} must go from 0 to 1 [-], got "
                    f"{self.at[i]:g} as the {'last' if i else 'first'}"
                )
        return self

    def to(self, p: np.ndarray) -> np.ndarray:
        """Return the values at other stations."""
        flat = self.values.reshape(len(self.at), -1)
        columns = [np.interp(p, self.at, column) for column in flat.T]
        return np.stack(columns, axis=-1).reshape(len(p), *self.values.shape[1:])


@dataclass(frozen=True, eq=False)
class Slender:
    """A blade, tower or shaft: its line with sections at stations, as ``mbd.Beam`` takes them.

    Attributes
    ----------
    points : (n, 3) array [m]
        Key points of its reference axis, in the axes of the file; a smooth curve joins them.
    stations : (k,) array [-]
        Shares of its length.
    sections : tuple of Section
        At the stations, about the reference axis: axis 1 along it, axes 2 and 3 the x and y of the
        file.
    twist : (k,) array [rad]
        At the stations, right-hand about axis 1; of OpenFAST and windIO minus that of the file.
    damping : (6,) array [s]
        Of ``Beam``.
    """

    points: np.ndarray
    stations: np.ndarray
    sections: tuple[Section, ...]
    twist: np.ndarray
    damping: np.ndarray

    @classmethod
    def of(
        cls, points: Any, stiffness: Profile, mass: Profile, twist: Profile, damping: Any = None
    ) -> Self:
        """Return the body of profiles: 6x6 stiffness in axes of the file, ``mass_rows``, twist."""
        profiles = (stiffness.checked("stiffness"), mass.checked("mass"), twist.checked("twist"))
        p = np.unique(np.concatenate([x.at for x in profiles]))
        sections = []
        for x, C, w in zip(p, stiffness.to(p), mass.to(p), strict=True):
            try:
                sections.append(_section(C[np.ix_(_ORDER, _ORDER)], w))
            except ValueError as error:
                i = int(np.searchsorted(stiffness.at, x, side="right")) - 1
                raise ValueError(f"{stiffness.where(i)}: station {x:g}: {error}") from None
        tau = np.zeros(6) if damping is None else np.asarray(damping, float)[_ORDER]
        return read_only_record(
            cls(np.asarray(points, float), p, tuple(sections), twist.to(p), tau)
        )

    @property
    def length(self) -> float:
        """Length of the reference axis [m]."""
        return Line("Slender", self.points, True).length

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        mu = np.array([x.mass for x in self.sections])
        return float(0.5 * (mu[1:] + mu[:-1]) @ np.diff(self.stations)) * self.length

    def arguments(self, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> dict[str, Any]:
        """Return arguments of ``mbd.Beam``: points, section, stations, twist, up, damping.

        Parameters
        ----------
        position : (3,) array [m]
            Of the origin of the file's axes.
        rotation : Rotation or (3, 3) array
            Its columns are the axes of the file.
        """
        r = vector("Slender.arguments", "position", position, "m")
        R = rotation_matrix("Slender.arguments", "rotation", rotation)
        return {
            "points": r + self.points @ R.T, "section": list(self.sections),
            "stations": self.stations, "twist": self.twist, "up": R[:, 1], "damping": self.damping,
        }  # fmt: skip

    def beam(
        self, name: str, position: Any = (0.0, 0.0, 0.0), rotation: Any = None, **options: Any
    ) -> Beam:
        """Return the beam at a pose; options of ``mbd.Beam``, as ``elements`` and ``first``."""
        return Beam(name, **(self.arguments(position, rotation) | options))

    def __repr__(self) -> str:
        return f"Slender(length={self.length:.6g}, mass={self.mass:.6g})"


class Polar(NamedTuple):
    """Coefficients of an aerofoil: c_l, c_d, c_m (n, 3) [-] by the angle of attack (n,) [rad]."""

    name: str
    alpha: np.ndarray
    coefficients: np.ndarray

    def at(self, alpha: np.ndarray) -> np.ndarray:
        """Return the coefficients (..., 3) at angles [rad], linear between those of the file."""
        return np.stack([np.interp(alpha, self.alpha, c) for c in self.coefficients.T], axis=-1)


@dataclass(frozen=True, eq=False)
class AeroBlade:
    """A blade in the air.

    Attributes
    ----------
    span : (n,) array [m]
        Of OpenFAST along z, of windIO along the reference axis.
    chord : (n,) array [m]
    twist : (n,) array [rad]
        Towards feather, as in the file.
    offset : (n, 2) array [m]
        Of the aerodynamic centre: out of the plane towards the suction side, and towards the
        trailing edge; from the pitch axis in OpenFAST, along the chord from the reference axis in
        windIO.
    polars : tuple of Polar
    polar_span : (m,) array [m]
        Where each of ``mixed`` stands.
    mixed : (m,) array of int
        Which polar; between two places there is a mixture.
    """

    span: np.ndarray
    chord: np.ndarray
    twist: np.ndarray
    offset: np.ndarray
    polars: tuple[Polar, ...]
    polar_span: np.ndarray
    mixed: np.ndarray

    def parameters(self, span: Any) -> dict[str, np.ndarray]:
        """Return chord, twist and offset at places [m], as ``SectionLoad(parameters=)`` takes."""
        s = _row("AeroBlade.parameters", "span", span, "m")
        columns = {"chord": self.chord, "twist": self.twist}
        columns |= {"ac_x": self.offset[:, 0], "ac_y": self.offset[:, 1]}
        return {name: np.interp(s, self.span, x) for name, x in columns.items()}

    def table(self, span: Any, alpha: Any) -> np.ndarray:
        """Return c_l, c_d, c_m (places, angles, 3), as ``SectionLoad(tables=)`` takes.

        Parameters
        ----------
        span : (n,) array [m]
        alpha : (k,) array [rad]
            Equally spaced ones are found without a search.
        """
        s = _row("AeroBlade.table", "span", span, "m")
        angles = _row("AeroBlade.table", "alpha", alpha, "rad")
        every = np.stack([x.at(angles) for x in self.polars])[self.mixed]
        if len(self.mixed) == 1:
            return np.repeat(every, len(s), axis=0)
        return Profile(self.polar_span, every, str).to(s)


class PointInertia(NamedTuple):
    """A mass fixed to a body of a file: mass [kg], moments (3,) [kg m^2], place (3,) [m]."""

    body: str
    node: str
    place: np.ndarray
    mass: float
    moments: np.ndarray


@dataclass(frozen=True, eq=False)
class WindFile:
    """What a file of a wind turbine says; ``file["blade"]`` is one of its bodies.

    Attributes
    ----------
    bodies : mapping of Slender
    numbers : mapping of float [SI]
        Masses, lengths and angles by the words of the file, in SI and radians.
    aero : AeroBlade or None
    masses : tuple of PointInertia
    notes : tuple of str
        What the file says and is not read, and what was changed.
    """

    bodies: Mapping[str, Slender] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    aero: AeroBlade | None = None
    masses: tuple[PointInertia, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("bodies", "numbers"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        read_only(self.masses)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (dict(self.bodies), dict(self.numbers), self.aero, self.masses, self.notes)
        return WindFile, parts

    def __getitem__(self, name: str) -> Slender:
        if name not in self.bodies:
            raise KeyError(absent("body ", name, self.bodies))
        return self.bodies[name]


def read_only_record(record: Any) -> Any:
    """Return a record whose arrays nobody can change."""
    read_only(list(vars(record).values()))
    return record


def shares(points: np.ndarray) -> np.ndarray:
    """Return the shares of the length (n,) at key points of the smooth curve through them."""
    chord = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    (piece,) = Line("the reference axis", points, True).pieces
    s = piece.lengths(chord / chord[-1])
    return np.asarray(s / s[-1])


def symmetric_of(upper: Sequence[float]) -> np.ndarray:
    """Return the 6x6 matrix of 21 numbers, its upper triangle by rows."""
    M = np.zeros((6, 6))
    M[np.triu_indices(6)] = upper
    return np.triu(M) + np.triu(M, 1).T


def planar_mass(m: float, c: Any, J: Any) -> np.ndarray:
    """Return the 6x6 mass matrix of a mass at (x, y) with moments J_x, J_y, J_xy about there."""
    x, y = c
    Jx, Jy, Jxy = J
    M = np.diag((m, m, m, Jx + m * y * y, Jy + m * x * x, Jx + Jy + m * (x * x + y * y)))
    M[0, 5] = M[5, 0] = -m * y
    M[1, 5] = M[5, 1] = m * x
    M[2, 3:5] = M[3:5, 2] = (m * y, -m * x)
    M[3, 4] = M[4, 3] = -Jxy - m * x * y
    return M


def mass_rows(matrices: Iterable[np.ndarray], where: Callable[[int], str]) -> np.ndarray:
    """Return w (k, 4, 4) of ``Section`` of mass matrices in axes of a file, or refuse them."""
    rows = []
    for i, matrix in enumerate(matrices):
        M = np.array(matrix, float)
        excess = M[5, 5] - M[3, 3] - M[4, 4]  # none in a plane; files round
        if 0 < excess < _POLAR * M[5, 5]:
            M[5, 5] = M[3, 3] + M[4, 4]
        try:
            m, c, J = mass_properties("mass", M[np.ix_(_ORDER, _ORDER)])
            if abs(c[0]) > 1e-9 * (1.0 + np.abs(c).max()):
                raise ValueError(f"mass: centre must lie in the section, got {c[0]:g} m along it")
            section = Section(stiffness=np.ones(6), mass=m, inertia=J, center=c[1:])
        except ValueError as error:
            raise ValueError(f"{where(i)}: {error}") from None
        rows.append(section.mass_matrix)
    return np.array(rows)


def moved(C: np.ndarray, at: Any, turn: float) -> np.ndarray:
    """Return a 6x6 stiffness about the origin, given at (x, y) in axes turned about z [rad]."""
    x, y = at
    T = np.eye(6)
    T[0, 5], T[1, 5], T[2, 3], T[2, 4] = -y, x, y, -x  # strain there: gamma + kappa x r
    c, s = np.cos(turn), np.sin(turn)
    R = np.array([(c, s, 0), (-s, c, 0), (0, 0, 1)])
    T = np.kron(np.eye(2), R) @ T
    return T.T @ C @ T


def _row(owner: str, what: str, value: Any, unit: str) -> np.ndarray:
    """Return finite numbers (n,)."""
    return np.atleast_1d(sized(owner, what, array(owner, what, value, f"numbers [{unit}]"), unit))


def _section(C: np.ndarray, w: np.ndarray) -> Section:
    """Return the section of stiffness and mass matrix in its own axes."""
    m, eta = w[0, 0], w[0, 1:] / w[0, 0]
    E = w[1:, 1:] - m * np.outer(eta, eta)
    return Section(stiffness=C, mass=m, inertia=np.trace(E) * np.eye(3) - E, center=eta[1:])
