r"""Local maps of rotations: coordinates :math:`\theta \in R^3` of the group about its identity.

A local map :math:`\psi` makes a rotation of three numbers; increments of a group formulation move a
body by it, :math:`R = \psi(\theta) R_n`. With its tangent operator T

.. math:: \delta\psi = \widetilde{T(\theta)\,\delta\theta}\;\psi, \qquad \psi(0) = I, \quad
          T(0) = I, \qquad \psi(-\theta) = \psi(\theta)^{-1}, \qquad
          \psi(R\theta) = R\,\psi(\theta) R^T .

It carries over to rigid motions as formulas of vectors do to those of screws: with
:math:`\theta + \varepsilon u`, :math:`\varepsilon^2 = 0`, in the place of :math:`\theta`, and
velocities in body axes,

.. math:: \psi(u, \theta) = (T(\theta)\,u,\; \psi(\theta)), \qquad
          T(u, \theta) = \begin{bmatrix} \bar T(\theta) & \bar T'(\theta)[u] \\ 0 & \bar T(\theta)
          \end{bmatrix}, \qquad \bar T(\theta) = T(-\theta) .

``EXPONENTIAL`` has canonical coordinates of the first kind, :math:`\psi = \exp\tilde\theta`.
``CAYLEY`` has

.. math:: \psi = (I - \tfrac12\tilde\theta)^{-1}(I + \tfrac12\tilde\theta), \qquad
          T = \frac{I + \tfrac12\tilde\theta}{1 + \tfrac14\theta^T\theta}, \qquad
          T^{-1} = I - \tfrac12\tilde\theta + \tfrac14\theta\theta^T

without any function but the four rules of arithmetic: :math:`\theta` is twice the tangent of half
the angle, along the axis, which no turn by half a circle has. On rigid motions it is the Cayley map
of the adjoint representation.

References
----------
.. [1] A. Müller, Review of the exponential and Cayley map on SE(3) as relevant for Lie group
   integration of the generalized Poisson equation and flexible multibody systems, Proc. R. Soc. A
   477 (2021).
.. [2] O. A. Bauchau and L. Trainelli, The vectorial parameterization of rotation, Nonlinear
   Dynamics 32 (2003).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbd.algebra import se3, so3
from mbd.algebra.vec import dot, mat_plus, outer, tilde, times
from mbd.base.checked import one_of, shown
from mbd.base.door import label
from mbd.machine.jit import PYTHON, is_compiled, jit

_I = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class LocalMap:
    r"""Local coordinates of rotations, for ``mbd.SO3``, ``mbd.SE3`` and ``mbd.Unified``.

    Functions of tuples of three numbers, compiled (``@jit`` of ``mbd.machine.jit``); matrices are
    tuples of nine, row by row. They must be those of a map with :math:`\psi(-\theta) =
    \psi(\theta)^{-1}` that no axis is special for; ``mbd.check_formulation`` of a formulation with
    it compares them.

    Parameters
    ----------
    name : str
    quaternion : function
        ``theta`` -> the unit quaternion of :math:`\psi(\theta)`, scalar first.
    tangent, inverse_tangent : function
        ``theta`` -> :math:`T(\theta)` of :math:`\delta\psi = \widetilde{T\delta\theta}\,\psi`, and
        its inverse.
    coordinates : function
        The rotation vector of a turn [rad] -> its ``theta``.
    tangent_blocks, inverse_tangent_blocks : function, optional
        ``u, theta`` -> :math:`\bar T(\theta) = T(-\theta)`, of velocities in body axes, or its
        inverse, and the derivative of that by theta along u; ``SO3`` needs none.
    """

    name: str
    quaternion: Callable[..., Any]
    tangent: Callable[..., Any]
    inverse_tangent: Callable[..., Any]
    coordinates: Callable[..., Any]
    tangent_blocks: Callable[..., Any] | None = None
    inverse_tangent_blocks: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what is not compiled."""
        label(self.name, "LocalMap")
        for what, function in vars(self).items():
            missing = what.endswith("blocks") and function is None
            good = callable(function) if PYTHON else is_compiled(function)
            if not (what == "name" or missing or good):
                raise TypeError(
                    f"LocalMap {self.name!r}: {what} must be a compiled function, got "
                    f"{shown(function)}; write @jit of mbd.machine.jit above it"
                )


# --- canonical coordinates of the first kind ------------------------------------------------------
@jit
def _inverse(theta: Any) -> Any:
    return se3.inverse_tangent(times(-1.0, theta))


@jit
def _same(theta: Any) -> Any:
    return theta


EXPONENTIAL = LocalMap(
    "exponential", so3.quaternion_exp, so3.tangent, _inverse, _same,
    se3.tangent_blocks, se3.inverse_tangent_blocks,
)  # fmt: skip


# --- the Cayley map -------------------------------------------------------------------------------
@jit
def _cayley(theta: Any) -> Any:
    c = 1.0 / math.sqrt(1.0 + 0.25 * dot(theta, theta))
    return c, 0.5 * c * theta[0], 0.5 * c * theta[1], 0.5 * c * theta[2]


@jit
def _multiple(s: float, A: Any) -> Any:
    return *times(s, A[:3]), *times(s, A[3:6]), *times(s, A[6:])


@jit
def _cayley_tangent(theta: Any) -> Any:
    return _multiple(1.0 / (1.0 + 0.25 * dot(theta, theta)), mat_plus(_I, 0.5, tilde(theta)))


@jit
def _cayley_inverse(theta: Any) -> Any:
    return mat_plus(mat_plus(_I, -0.5, tilde(theta)), 0.25, outer(theta, theta))


@jit
def _cayley_coordinates(turn: Any) -> Any:
    half = 0.5 * math.sqrt(dot(turn, turn))
    return times(math.tan(half) / half if half > 0.0 else 1.0, turn)


@jit
def _cayley_blocks(u: Any, theta: Any) -> Any:
    k = 1.0 / (1.0 + 0.25 * dot(theta, theta))
    T = _multiple(k, mat_plus(_I, -0.5, tilde(theta)))
    return T, mat_plus(_multiple(-0.5 * k * dot(u, theta), T), -0.5 * k, tilde(u))


@jit
def _cayley_inverse_blocks(u: Any, theta: Any) -> Any:
    both = mat_plus(outer(u, theta), 1.0, outer(theta, u))
    line = mat_plus(mat_plus(_I, 0.5, tilde(theta)), 0.25, outer(theta, theta))
    return line, mat_plus(_multiple(0.5, tilde(u)), 0.25, both)


CAYLEY = LocalMap(
    "cayley", _cayley, _cayley_tangent, _cayley_inverse, _cayley_coordinates, _cayley_blocks,
    _cayley_inverse_blocks,
)  # fmt: skip


def local_map_of(who: str, value: Any, *, motions: bool = False) -> LocalMap:
    """Return a local map, or that of a name; of `motions` one that has the blocks of their T."""
    named = {x.name: x for x in (EXPONENTIAL, CAYLEY)}
    if not isinstance(value, LocalMap):
        return named[one_of(who, "local_map", value, named)]
    if motions and (value.tangent_blocks is None or value.inverse_tangent_blocks is None):
        raise ValueError(
            f"{who}: local_map {value.name!r} must have tangent_blocks and inverse_tangent_blocks, "
            "got None; give them, or use mbd.SO3"
        )
    return value
