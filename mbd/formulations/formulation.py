r"""Formulation: declared facts of a choice of coordinates, and its functions of one node.

Every body shows the rest of the system the same *face*, an origin and three directors,
:math:`y = (r, d_1, d_2, d_3) \in R^{12}`. A formulation says how its coordinates make the face and
what a force on the face does to its equations; ``families.py`` runs that for all bodies of a kind.

The functions work in place on the flat buffer ``F``; every other argument is an index into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.recorded_call import reduced
from mbd.machine.buffer import MAP_ROW

NodeFunction = Callable[..., Any]


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
        ``(F, q0, d, q)``: q = q0 [+] d.
    face : function
        ``(F, par, q, y)``: the 12 numbers of the face.
    face_velocity : function
        ``(F, par, q, y, v, yd)``: :math:`\dot y = Y v`, all numbers, zeros too.
    face_acceleration : function
        ``(F, par, q, y, v, a, ydd)``: :math:`\ddot y = Y \dot v + \dot Y v`.
    residual : function
        ``(F, par, q, y, v, a, f, x, s)``: with the face force at f, the scaled residual
        x[:n_v] = s (inertia - weight + Z^T f_y + own B^T lam); own rows Phi to x[n_v:].
        The multipliers of the own rows stand behind the accelerations, at a + n_v.
    tangent : function
        ``(F, par, q, y, v, a, f, d, S, ld)``: add w_M M + w_G G + w_K (K + C) T and the blocks of
        the own rows to the matrix at F[S], rows ld apart.
    maps : function
        ``(F, par, q, y, v, d, w, P, PT, DP, PV, rate)``: for the weights at w the transposes,
        (3, n_v) with rows MAP_ROW apart, of the test map P = Z^T w, the trial map of increments
        PT = (Y T)^T w, the trial map of velocities PV = Y^T w (where test and trial agree PV is P,
        the same place) and, if rate, of the derivative of the velocity of the weighted point,
        DP = (d(Y v)/dq T)^T w.
    own_rates : function
        ``(F, q, y, yd, ydd, rate, second)``: first and second time derivative of the own rows.
    flow : function, optional
        ``(F, q, d, v, k)``: k = T(d)^{-1} v, the rate of the increment d while q [+] d moves with
        v; for methods that integrate increments (explicit ones, collocation).
    convect : function, optional
        ``(F, s, d, w)``: turn the components of the velocity w with the increment s d, s = 1 or -1,
        so that those of a body that keeps spinning stay what they are; None: they do anyway.
    carry : function, optional
        ``(F, q0, d, w, D, v)``: for a body moved from q0 by a translation and then turned by a
        rotation vector, body axes, both at d (6), with the velocity of the origin and the angular
        velocity, body axes, at w (6): the increments D and velocities v that say the same.
    second_maps : function, optional
        ``(F, par, q, y, v, a, d, w, AV, AQ)``: for the weights at w the transposes, as those of
        ``maps``, of the derivatives of the acceleration of the weighted point by velocities and by
        increments; a frame of modes needs it, and elements with mass (``Kind.accelerated``).
    energy : function, optional
        ``(F, par, q, v)``: add what the body stores to F[POTENTIAL], what it dissipates to
        F[DISSIPATED].
    quaternion : int, optional
        Where in q a quaternion stands whose unit length no own row holds; that of every state that
        comes in is checked.
    galerkin : bool
        Whether virtual displacements are taken as velocities are, Z = Y.
    linear : bool
        Whether q is a vector on which the face depends linearly (then rows are quadratic in q).
    scales : bool
        Whether the length of the directors is a coordinate, held by a row or free.
    rigid : bool
        False if the body may change its scale: its directors are orthogonal, of one length.
    sized : bool
        Whether ``initial`` takes the radius of gyration about the origin [m] too.
    n_faces : int
        Number k of faces that a body shows, one behind the other in y, its rates and f, 12 k
        numbers each; weights w are 4 k then. The first is the face of position and rotation.
    n_inner : int
        How many of the faces, the last ones, only carry mass: nothing is attached to them.
    faces : callable, optional
        ``q -> (k, 4, 3)``, the faces as an array; needed if there are several.
    mass_matrix : callable, optional
        What ``constants`` takes to the (4 k, 4 k) matrix W of the kinetic energy
        :math:`\tfrac12\dot y^T(W\otimes I_3)\dot y`; default that of the first face.
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
    sized: bool = False
    stacks: bool = False
    n_faces: int = 1
    n_inner: int = 0
    faces: Callable[[np.ndarray], np.ndarray] | None = None
    mass_matrix: Callable[[float, np.ndarray, np.ndarray], np.ndarray] | None = None
    like: Formulation | None = None

    def __post_init__(self) -> None:
        """Refuse more velocities than a map has room for."""
        if self.n_v > MAP_ROW:
            raise ValueError(
                f"Formulation {self.name!r} must have at most {MAP_ROW} velocities, got {self.n_v}"
            )

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
