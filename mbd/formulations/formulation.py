r"""Formulation: declared facts of a choice of coordinates, and its functions of one node.

Every body shows the rest of the system the same *face*, an origin and three directors,
:math:`y = (r, d_1, d_2, d_3) \in R^{12}`. A formulation says how its coordinates make the face and
what a force on the face does to its equations; ``families.py`` runs that for all bodies of a kind.

The functions work in place on the flat buffer ``F``. Where the numbers of a node are in it says a
record, `NodeRecord`: ``F[n.q]`` is the first coordinate of node ``n``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from mbd.algebra.vec import copy
from mbd.base.checked import shown, whole
from mbd.base.recorded_call import reduced
from mbd.machine.buffer import DIRECTOR, FORCE, MAP_ROW, MOMENT, OWN, ROTATION, TRANSLATION
from mbd.machine.jit import PYTHON, is_compiled, jit

NodeFunction = Callable[..., Any]
Array = np.ndarray
InitialValues = tuple[Array, Array]  # q and v

# what the loops of families.py call the functions of a node with
_ARGUMENTS = {
    **dict.fromkeys(("retract", "face", "face_velocity", "face_acceleration"), ("F", "n")),
    "residual": ("F", "n", "s"),
    "tangent": ("F", "n"),
    "maps": ("F", "n", "to"),
    "second_maps": ("F", "n", "to"),
    "own_rates": ("F", "n"),
    "flow": ("F", "n", "k"),
    "convect": ("F", "s", "d", "w"),
    "carry": ("F", "n", "motion", "twist"),
    "energy": ("F", "n"),
}
_OF_STEP = {
    "residual": ("F", "n", "v0", "s"),
    "tangent": ("F", "n", "v0"),
    "maps": ("F", "n", "v0", "to"),
    "ending": ("F", "n", "v0"),
}
_MASS = ("mass", "center_of_mass", "second_moments")
_OF_ARRAYS = {"constants": _MASS, "faces": ("q",), "mass_matrix": _MASS}
_MOTION = ("position", "rotation", "velocity", "angular_velocity")
_OPTIONAL = {"flow", "convect", "carry", "second_maps", "energy", "faces", "mass_matrix"}
_OF_VELOCITIES = {"TRANSLATION": TRANSLATION, "ROTATION": ROTATION, "DIRECTOR": DIRECTOR}
_OF_ROWS = {"FORCE": FORCE, "MOMENT": MOMENT, "OWN": OWN}


class NodeRecord(NamedTuple):
    """Places of the numbers of a node in F, each that of the first.

    Coordinates (n_q), vectors over its n_v velocities, with its own rows after them, and faces, of
    12 numbers each.
    """

    par: int  #: its constants
    q0: int  #: coordinates at the start of the step
    q: int  #: coordinates now
    d: int  #: increment since the start of the step
    v: int  #: velocities
    a: int  #: accelerations, at ``a + n_v`` the multipliers of the own rows
    y: int  #: faces
    yd: int  #: their rates
    ydd: int  #: their second rates
    f: int  #: forces on them
    x: int  #: the residual, at ``x + n_v`` that of the own rows
    S: int  #: its block of the matrix
    ld: int  #: length of a row of that: no place
    rate: int  #: first time derivatives of the own rows
    second: int  #: second ones
    u: int  #: its first unknown in vectors over all: no place


class MapRecord(NamedTuple):
    """Places of the weights of an attachment and its maps, rows MAP_ROW apart; what is wanted."""

    w: int  #: weights on all faces of the node
    P: int  #: test map
    PT: int  #: trial map of increments
    DP: int  #: derivative of the velocity
    PV: int  #: trial map of velocities; P where test and trial agree
    rate: int  #: whether DP is asked for
    still: int  #: whether DP is not, and the increment is zero: T = 1, so that PT is PV


class SecondMapRecord(NamedTuple):
    """Places of the weights of an attachment, and of the maps of its acceleration."""

    w: int  #: weights on all faces of the node
    AV: int  #: by velocities
    AQ: int  #: by increments


@dataclass(frozen=True, eq=False)
class Conserving:
    r"""Functions of one node in a step that conserves energy and momenta (``EnergyMomentum``).

    They see it in its middle: at y and yd the means and the differences over h of the faces at both
    ends, at q and d the pose at its end and the whole increment. The velocities at its start are at
    v0, for v has those that are tried; F[ROW_RATE] is h. Forces :math:`f_y` act on the mean faces
    and are tested by displacements :math:`\bar Z\delta` of these, among which are translations,
    turns and :math:`\Delta y` itself, so that they do the work :math:`f_y\cdot\Delta y`; inertia
    is tested so that without forces energy and momenta of both ends are the same.

    Parameters
    ----------
    residual : function
        ``(F, n, v0, s)``: to x[:n_v] s (inertia - weight + :math:`\bar Z^T f_y` + those of own
        multipliers); own rows at the end to x[n_v:].
    tangent : function
        ``(F, n, v0)``: add the derivative by the increment, s = SCALE_R, to the matrix.
    maps : function
        ``(F, n, v0, to)``, to a `MapRecord`: :math:`\bar Z^T w` to P, the derivative of the
        faces at the end by the increment to PT and, if rate, zeros to DP.
    ending : function
        ``(F, n, v0)``: the velocities at the end to v.
    """

    residual: NodeFunction
    tangent: NodeFunction
    maps: NodeFunction
    ending: NodeFunction

    def __post_init__(self) -> None:
        """Refuse functions that take other arguments."""
        for name, arguments in _OF_STEP.items():
            _check_function("Conserving", name, getattr(self, name), arguments)


@dataclass(frozen=True, eq=False, repr=False)
class Formulation:
    r"""One choice of coordinates.

    Parameters
    ----------
    name : str
        What a user writes as ``formulation=``.
    velocities, own_rows : tuple of str
        Names of the entries of v and of the formulation's own constraint rows.
    velocity_kinds, own_kinds : tuple of int
        Kind of each (see ``machine/buffer.py``), for scaling and convergence.
    n_q : int
        Number of stored coordinates.
    axes : bool
        False if the face has an origin only (a point).
    constants : callable
        ``(mass, center_of_mass, second_moments) -> (n_par,)`` array; second moments
        :math:`E = \int\rho\rho^T dm` about the origin of the body frame [kg m^2].
    initial : callable
        ``(position, rotation, velocity, angular_velocity) -> q, v``.
    stacks : bool
        Whether ``constants`` and ``initial`` take those of many bodies too, (n, ...) arrays, and
        return (n, ...), with the same bits.
    retract : function
        ``(F, n)``: q = q0 [+] d.
    face : function
        ``(F, n)``: write the 12 numbers of the face to y.
    face_velocity : function
        ``(F, n)``, to yd: :math:`\dot y = Y v`, all numbers, zeros too.
    face_acceleration : function
        ``(F, n)``, to ydd: :math:`\ddot y = Y \dot v + \dot Y v`.
    residual : function
        ``(F, n, s)``: with the face force at f, the scaled residual
        x[:n_v] = s (inertia - weight + Z^T f_y + own B^T lam); own rows Phi to x[n_v:].
        The multipliers of the own rows stand after the accelerations, at a + n_v.
    tangent : function
        ``(F, n)``: add w_M M + w_G G + w_K (K + C) T and the blocks of
        the own rows to the matrix at F[S], rows ld apart.
    maps : function
        ``(F, n, to)``, to a `MapRecord`: for the weights at w the transposes,
        (3, n_v) with rows MAP_ROW apart, of the test map P = Z^T w, the trial map of increments
        PT = (Y T)^T w, the trial map of velocities PV = Y^T w (where test and trial agree PV is P,
        the same place) and, if rate, of the derivative of the velocity of the weighted point,
        DP = (d(Y v)/dq T)^T w.
    own_rates : function
        ``(F, n)``: first and second time derivative of the own rows, to rate and second.
    flow : function, optional
        ``(F, n, k)``: k = T(d)^{-1} v, the rate of the increment d while q0 [+] d moves with
        v; for methods that integrate increments (explicit ones, collocation).
    convect : function, optional
        ``(F, s, d, w)``: turn the components of the velocity w with the increment s d, s = 1 or -1,
        so that those of a body that keeps spinning stay what they are; None: they do anyway.
    carry : function, optional
        ``(F, n, motion, twist)``: for a body moved from q0 by a translation and then turned by a
        rotation vector, body axes, both at motion (6), with the velocity of the origin and the
        angular velocity, body axes, at twist (6): the increments d and velocities v that say the
        same.
    second_maps : function, optional
        ``(F, n, to)``, to a `SecondMapRecord`: for the weights at w the transposes, as those of
        ``maps``, of the derivatives of the acceleration of the weighted point by velocities and by
        increments; a frame of modes needs it, and elements with mass (``Kind.accelerated``).
    energy : function, optional
        ``(F, n)``: add what the body stores to F[POTENTIAL], what it dissipates to
        F[DISSIPATED].
    quaternion : int, optional
        Where in q a quaternion stands whose unit length no own row holds; that of every state that
        comes in is checked.
    galerkin : bool
        Whether virtual displacements are taken as velocities are, Z = Y.
    holonomic : bool
        False if a constraint on velocities is built in, so that positions have more freedoms than
        velocities; then moments of momentum change, and ``flow``, ``carry`` are None.
    canonical : bool
        Whether increments are canonical coordinates of the first kind, or of a vector space:
        :math:`(q \boxplus sd) \boxplus td = q \boxplus (s + t)d`.
    linear : bool
        Whether q is a vector on which the face depends linearly (then rows are quadratic in q).
    conserving : Conserving, optional
        Functions of steps that conserve energy and momenta; linear coordinates need none.
    scales : bool
        Whether the length of the directors is a coordinate, held by a row or free.
    rigid : bool
        False if the body may change its scale: its directors are orthogonal, of one length.
    sized : bool
        Whether ``initial`` takes the radius of gyration about the origin [m] too.
    n_faces : int
        Number k of faces that a body shows, one after the other in y, its rates and f, 12 k
        numbers each; weights w are 4 k then. The first is the face of position and rotation.
    n_inner : int
        How many of the faces, the last ones, only carry mass: nothing is attached to them.
    faces : callable, optional
        ``q -> (k, 4, 3)``, the faces as an array; needed if there are several.
    mass_matrix : callable, optional
        What ``constants`` takes to the (4 k, 4 k) matrix W of the kinetic energy
        :math:`\tfrac12\dot y^T(W\otimes I_3)\dot y`; default that of the first face.
    normal : int, optional
        The inertial axis that is normal to the plane in which the body moves, if it does.
    like : Formulation, optional
        That of which it has the functions, with constants of its own.
    """

    name: str
    velocities: tuple[str, ...]
    velocity_kinds: tuple[int, ...]
    own_rows: tuple[str, ...]
    own_kinds: tuple[int, ...]
    n_q: int
    axes: bool
    constants: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    initial: Callable[..., tuple[np.ndarray, np.ndarray]]
    retract: NodeFunction
    face: NodeFunction
    face_velocity: NodeFunction
    face_acceleration: NodeFunction
    residual: NodeFunction
    tangent: NodeFunction
    maps: NodeFunction
    own_rates: NodeFunction
    flow: NodeFunction | None = None
    convect: NodeFunction | None = None
    carry: NodeFunction | None = None
    second_maps: NodeFunction | None = None
    energy: NodeFunction | None = None
    quaternion: int | None = None
    galerkin: bool = True
    rigid: bool = True
    scales: bool = False
    linear: bool = False
    canonical: bool = True
    holonomic: bool = True
    sized: bool = False
    stacks: bool = False
    n_faces: int = 1
    n_inner: int = 0
    faces: Callable[[np.ndarray], np.ndarray] | None = None
    mass_matrix: Callable[[float, np.ndarray, np.ndarray], np.ndarray] | None = None
    conserving: Conserving | None = None
    normal: int | None = None
    like: "Formulation | None" = None

    def __post_init__(self) -> None:
        """Refuse facts that contradict each other, and functions that take other arguments."""
        who = f"Formulation {self.name!r}"
        if self.n_v > MAP_ROW:
            raise ValueError(f"{who} must have at most {MAP_ROW} velocities, got {self.n_v}")
        _check_names(f"{who}: velocities", self.velocities)
        _check_names(f"{who}: own_rows", self.own_rows)
        _check_codes(f"{who}: velocity_kinds", self.velocity_kinds, self.velocities, _OF_VELOCITIES)
        _check_codes(f"{who}: own_kinds", self.own_kinds, self.own_rows, _OF_ROWS)
        whole(who, "n_q", self.n_q, 1)
        whole(who, "n_faces", self.n_faces, 1)
        if not 0 <= whole(who, "n_inner", self.n_inner, 0) < self.n_faces:
            raise ValueError(f"{who}: n_inner must be below n_faces, got {self.n_inner}")
        for name, arguments in _ARGUMENTS.items():
            _check_function(who, name, getattr(self, name), arguments)
        for name, arguments in _OF_ARRAYS.items():
            _check_arguments(f"{who}: {name}", getattr(self, name), arguments)
        _check_arguments(f"{who}: initial", self.initial, _MOTION + ("size",) * self.sized)

    def __reduce__(self) -> Any:
        return reduced(self)

    def __repr__(self) -> str:
        return f"Formulation({self.name!r})"

    @property
    def n_v(self) -> int:
        """Number of velocities."""
        return len(self.velocities)

    @property
    def n_shown(self) -> int:
        """Number of faces to which something may be attached."""
        return self.n_faces - self.n_inner

    @property
    def n_own(self) -> int:
        """Number of own constraint rows."""
        return len(self.own_rows)


@jit
def no_rates(F: Any, n: Any) -> None:
    """No own rows."""


def vector_space(n_q: int) -> tuple[Any, Any]:
    """Return ``retract`` and ``flow`` of n_q coordinates of a vector space, v = q'."""

    @jit
    def retract(F: Any, n: Any) -> None:
        """Write q0 + d."""
        for i in range(n_q):
            F[n.q + i] = F[n.q0 + i] + F[n.d + i]

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        """Write the rates."""
        copy(F, k, n.v, n_q)

    return retract, flow


def mass_matrix(mass: Any, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return W = [[m, m c^T], [m c, E]] (..., 4, 4) of bodies of one face: m, c and E of each."""
    mass = np.asarray(mass)
    W = np.empty((*second.shape[:-2], 4, 4), np.result_type(mass, center, second))
    W[..., 0, 0], W[..., 1:, 1:] = mass, second
    W[..., 0, 1:] = W[..., 1:, 0] = mass[..., None] * center
    return W


def _check_names(who: str, names: Any) -> None:
    """Refuse what is no tuple of different names."""
    if not isinstance(names, tuple) or not all(isinstance(x, str) and x for x in names):
        raise TypeError(f"{who} must be a tuple of names, got {shown(names)}")
    if len(set(names)) < len(names):
        raise ValueError(f"{who} must differ from each other, got {', '.join(names)}")


def _check_codes(who: str, codes: Any, names: tuple[str, ...], words: Mapping[str, int]) -> None:
    """Refuse kinds that are not one for each name, or not of those known."""
    if not isinstance(codes, tuple) or len(codes) != len(names):
        raise ValueError(f"{who} must be a tuple of {len(names)} kinds, got {shown(codes)}")
    if not set(codes) <= set(words.values()):
        raise ValueError(
            f"{who} must be of {', '.join(words)} (mbd.machine.buffer), got {shown(codes)}"
        )


def _check_function(who: str, name: str, function: Any, arguments: tuple[str, ...]) -> None:
    """Refuse a function of a node that is not compiled, or takes other arguments."""
    if function is not None and callable(function) and not (PYTHON or is_compiled(function)):
        raise TypeError(
            f"{who}: {name} must be compiled into its callers, got a plain function; write @jit of "
            "mbd.machine.jit above it"
        )
    _check_arguments(f"{who}: {name}", function, arguments)


def _check_arguments(who: str, function: Any, arguments: tuple[str, ...]) -> None:
    """Refuse a function that cannot be called with so many arguments."""
    name = who.rpartition(" ")[2]
    if function is None and name in _OPTIONAL:
        return
    if not callable(function):
        raise TypeError(f"{who} must be a function ({', '.join(arguments)}), got {shown(function)}")
    own = signature(getattr(function, "py_func", function))
    try:
        own.bind(*arguments)
    except TypeError:
        hint = " (and a size, if it is `sized`)" if name == "initial" else ""
        if "n" in arguments and len(own.parameters) > len(arguments):
            hint = ": a record n says where the numbers of the node are, F[n.q] in place of F[q]"
        raise TypeError(f"{who} must take ({', '.join(arguments)}), got {own}{hint}") from None
