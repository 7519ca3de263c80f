r"""``point``: a mass point. Its face has an origin and no axes: q = x, M = m I.

Joints and springs may hold it by its origin; whatever needs axes refuses it by name.
"""

from typing import Any

import numpy as np

from mbd.algebra.vec import add_identity, clear, load3, minus, plus, store3, store_multiple, times
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates
from mbd.machine.buffer import GX, TRANSLATION, W_M
from mbd.machine.jit import jit


def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mass."""
    return np.array(mass)[..., None]


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return position and velocity."""
    return position.copy(), velocity.copy()


@jit
def retract(F: Any, n: Any) -> None:
    """Write q0 + d."""
    store3(F, n.q, plus(load3(F, n.q0), load3(F, n.d)))


@jit
def face(F: Any, n: Any) -> None:
    """Write the origin; the directors stay zero."""
    store3(F, n.y, load3(F, n.q))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write the velocity of the origin, and zeros: what is not written is no number in a step."""
    store3(F, n.yd, load3(F, n.v))
    clear(F, n.yd + 3, 9)


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write the acceleration of the origin."""
    store3(F, n.ydd, load3(F, n.a))


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s (m (a - g) + f)."""
    r = plus(times(F[n.par], minus(load3(F, n.a), load3(F, GX))), load3(F, n.f))
    store3(F, n.x, times(s, r))


@jit
def tangent(F: Any, n: Any) -> None:
    """Add w_M m I."""
    add_identity(F, n.S, n.ld, F[W_M] * F[n.par])


@jit
def maps(F: Any, n: Any, to: Any) -> None:
    """Write w_0 I."""
    store_multiple(F, to.P, F[to.w])
    store_multiple(F, to.PT, F[to.w])
    if to.rate:
        store_multiple(F, to.DP, 0.0)


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write zeros: the acceleration is that of the coordinates."""
    store_multiple(F, to.AV, 0.0)
    store_multiple(F, to.AQ, 0.0)


@jit
def flow(F: Any, n: Any, k: int) -> None:
    """Write the velocity."""
    store3(F, k, load3(F, n.v))


@jit
def carry(F: Any, n: Any, motion: int, twist: int) -> None:
    """Write the translation and the velocity."""
    store3(F, n.d, load3(F, motion))
    store3(F, n.v, load3(F, twist))


POINT = Formulation(
    name="point", velocities=("x", "y", "z"), velocity_kinds=(TRANSLATION,) * 3, own_rows=(),
    own_kinds=(), n_q=3, axes=False, constants=constants, initial=initial, stacks=True,
    retract=retract, face=face, face_velocity=face_velocity, face_acceleration=face_acceleration,
    residual=residual, tangent=tangent, maps=maps, own_rates=no_rates, flow=flow, carry=carry,
    second_maps=second_maps, linear=True,
)  # fmt: skip
