r"""``point``: a mass point. Its face has an origin and no axes: q = x, M = m I.

Joints and springs may hold it by its origin; whatever needs axes refuses it by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.algebra.vec import add_identity, load3, minus, plus, store3, store_multiple, times
from mbd.formulations.formulation import Formulation
from mbd.machine.buffer import GX, TRANSLATION, W_M
from mbd.machine.jit import jit


def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mass."""
    return np.array(mass, float)[..., None]


def initial(
    position: np.ndarray, rotation: np.ndarray, velocity: np.ndarray, omega: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity."""
    return position.copy(), velocity.copy()


@jit
def retract(F: Any, q0: int, d: int, q: int) -> None:
    """Write q0 + d."""
    store3(F, q, plus(load3(F, q0), load3(F, d)))


@jit
def face(F: Any, par: int, q: int, y: int) -> None:
    """Write the origin; the directors stay zero."""
    store3(F, y, load3(F, q))


@jit
def face_velocity(F: Any, par: int, q: int, y: int, v: int, yd: int) -> None:
    """Write the velocity of the origin, and zeros: what is not written is no number in a step."""
    store3(F, yd, load3(F, v))
    for i in range(3, 12):
        F[yd + i] = 0.0


@jit
def face_acceleration(F: Any, par: int, q: int, y: int, v: int, a: int, ydd: int) -> None:
    """Write the acceleration of the origin."""
    store3(F, ydd, load3(F, a))


@jit
def residual(F: Any, par: int, q: int, y: int, v: int, a: int, f: int, x: int, s: float) -> None:
    """Write s (m (a - g) + f)."""
    r = plus(times(F[par], minus(load3(F, a), load3(F, GX))), load3(F, f))
    store3(F, x, times(s, r))


@jit
def tangent(
    F: Any, par: int, q: int, y: int, v: int, a: int, f: int, d: int, S: int, ld: int
) -> None:
    """Add w_M m I."""
    add_identity(F, S, ld, F[W_M] * F[par])


@jit
def maps(
    F: Any, par: int, q: int, y: int, v: int, d: int, w: int, P: int, PT: int, DP: int,
    PV: int, rate: int,
) -> None:  # fmt: skip
    """Write w_0 I."""
    store_multiple(F, P, F[w])
    store_multiple(F, PT, F[w])
    if rate:
        store_multiple(F, DP, 0.0)


@jit
def second_maps(
    F: Any, par: int, q: int, y: int, v: int, a: int, d: int, w: int, AV: int, AQ: int
) -> None:
    """Write zeros: the acceleration is that of the coordinates."""
    store_multiple(F, AV, 0.0)
    store_multiple(F, AQ, 0.0)


@jit
def own_rates(F: Any, q: int, y: int, yd: int, ydd: int, rate: int, second: int) -> None:
    """No own rows."""


@jit
def flow(F: Any, q: int, d: int, v: int, k: int) -> None:
    """Write the velocity."""
    store3(F, k, load3(F, v))


@jit
def carry(F: Any, q0: int, d: int, w: int, D: int, v: int) -> None:
    """Write the translation and the velocity."""
    store3(F, D, load3(F, d))
    store3(F, v, load3(F, w))


POINT = Formulation(
    name="point",
    velocities=("x", "y", "z"),
    velocity_kinds=(TRANSLATION,) * 3,
    own_rows=(),
    own_kinds=(),
    n_q=3,
    axes=False,
    constants=constants,
    initial=initial,
    stacks=True,
    retract=retract,
    face=face,
    face_velocity=face_velocity,
    face_acceleration=face_acceleration,
    residual=residual,
    tangent=tangent,
    maps=maps,
    own_rates=own_rates,
    flow=flow,
    carry=carry,
    second_maps=second_maps,
    linear=True,
)
