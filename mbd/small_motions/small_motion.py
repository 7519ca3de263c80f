r"""Equations of small motions about a base motion.

With :math:`q = q_0 \boxplus \delta`, :math:`v = v_0 + w`, multipliers :math:`\lambda_0 + \mu` and
a load f on the rows of the residual,

.. math::
   \dot\delta = w + A\,\delta, \qquad M\dot w + G w + K\delta + B^T\mu = f, \qquad
   B_p\,\delta = 0, \qquad B_v\,w + H\delta = 0 .

A is not zero where the base motion moves. Its faces :math:`y_0(t)` turn with the frame, at the
rate :math:`\Omega`, and about an axis of their own inside it, :math:`\dot y_0 = \tilde\Omega y_0
+ y_0 s`. Small motions are written in coordinates that are carried along by both, so that steady
motions (a spinning rotor, a precessing top, a bicycle going straight) have constant matrices:

.. math:: A = Y^+ (D - \tilde\Omega Y - Y s), \qquad
          C = Y^+ (\tilde\Omega Y + Y s - \dot Y), \qquad \dot w \to \dot w + C w,

with the maps of ``face_maps.py``; G contains M C already. `steady` checks that they are constant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.algebra.rotations import tilde
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.parts.part import Body
from mbd.small_motions.face_maps import FaceMaps, face_maps, inverses


@dataclass(frozen=True, eq=False)
class SmallMotion:
    """The matrices of small motions about a state, sparse, in the order of the model.

    Attributes
    ----------
    M, G, K, A, C : (n_v, n_v)
    Bp, Bv, H : (rows, n_v)
        Rows on positions; rows on velocities and their derivative by positions.
    Bt : (n_v, n_lam)
    omega : (3,) array [rad/s]
        Rate of the frame.
    scale : (n_v,) array
        Size of a small change of each coordinate.
    A_size, G_size : (n_v, n_v)
        Sums of the absolute values of what was added in the entries of A and G.
    memories : bool
        Whether memories of loads are at rest with the motion, or stay what they are.
    carried : bool
        Whether coordinates are carried along by the motion; those of the model at one instant else.
    M_size, K_size : (n_v, n_v), optional
        As A_size; by default the entries themselves.
    """

    model: Model
    state: State
    maps: list[FaceMaps]
    omega: np.ndarray
    M: sp.csr_matrix
    G: sp.csr_matrix
    K: sp.csr_matrix
    A: sp.csr_matrix
    C: sp.csr_matrix
    Bp: sp.csr_matrix
    Bv: sp.csr_matrix
    H: sp.csr_matrix
    Bt: sp.csr_matrix
    scale: np.ndarray
    A_size: sp.csr_matrix
    G_size: sp.csr_matrix
    memories: bool = False
    carried: bool = True
    M_size: sp.csr_matrix | None = None
    K_size: sp.csr_matrix | None = None

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves."""
        return not self.state.v.any()


class BodyMotion(NamedTuple):
    """Motions of a body: of its centre of mass (3, k) [m] and its turn (3, k) [rad].

    ``inertia`` (3, 3) is about the centre of mass, in inertial axes.
    """

    body: FaceMaps
    part: Body
    move: np.ndarray
    turn: np.ndarray
    inertia: np.ndarray


def body_motions(motion: SmallMotion, X: np.ndarray) -> Iterator[BodyMotion]:
    """Yield how each body moves in motions X (n_v, k)."""
    for body in motion.maps:
        part = motion.model.nodes[body.name]
        center = np.concatenate([[1.0], part.center_of_mass])
        R = body.y[1:].T if body.axes else np.eye(3)
        yield BodyMotion(
            body, part, body.at(center, body.Y) @ X[body.v], body.turn() @ X[body.v],
            R @ part.inertia @ R.T,
        )  # fmt: skip


def carried(body: FaceMaps, omega: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\tilde\Omega Y + Y s` (12 k, n) of k faces, and the own spin s (4, 4).

    The spin is what is left of its angular velocity in the frame, about its centre of mass.
    """
    s = np.zeros((4, 4))
    if body.axes:
        spin = tilde(body.y[1:] @ (body.omega - omega) / np.linalg.norm(body.y[1:], axis=1))
        s[1:, 1:] = spin
        s[1:, 0] = -spin @ center
    rates = []
    for face, own in zip(body.faces, body.spins(s), strict=True):
        corners = face.Y.reshape(4, 3, -1)
        rate = np.einsum("ij,kjn->kin", tilde(omega), corners)
        if body.axes:
            rate += np.einsum("jk,jcn->kcn", own, corners)
        rates.append(rate.reshape(12, -1))
    return np.concatenate(rates), s


def scale_by_mass(model: Model) -> np.ndarray:
    """Return sizes of small changes (n_v,) in which all coordinates have the same mass."""
    diagonal = model.F[model.I[m.DIAG] + model.numbering.v]
    return np.asarray(1.0 / np.sqrt(diagonal / diagonal.max()))


def small_motion(
    model: Model, state: State, omega: np.ndarray, memories: bool = False,
    own: Mapping[str, np.ndarray] | None = None,
) -> SmallMotion:  # fmt: skip
    """Return the matrices about a consistent state, in a frame that turns at the rate omega.

    Some bodies may be in frames of their ``own`` rates.
    """
    frames = own or {}
    S = model.assemble(state, memories=memories)
    maps = face_maps(model, state)
    A, C, A_size, C_size = [], [], [], []
    for body, back in zip(maps, inverses(maps), strict=True):
        moving, _ = carried(
            body, frames.get(body.name, omega), model.nodes[body.name].center_of_mass
        )
        A.append(back @ (body.whole("D") - moving))
        C.append(back @ (moving - body.whole("Yd")))
        A_size.append(abs(back) @ (abs(body.whole("D")) + abs(moving)))
        C_size.append(abs(back) @ (abs(moving) + abs(body.whole("Yd"))))
    rates = model.rolling
    A, C, A_size, C_size = (sp.block_diag(x, format="csr") for x in (A, C, A_size, C_size))
    return SmallMotion(
        model, state, maps, omega, S.M, (S.G + S.M @ C).tocsr(), S.K, A, C, S.B[~rates],
        S.B[rates], S.turn[rates], S.Bt, scale_by_mass(model),
        A_size, (abs(S.G) + abs(S.M) @ C_size).tocsr(), memories,
    )  # fmt: skip


def at_instant(motion: SmallMotion) -> SmallMotion:
    """Return the matrices in the coordinates of the model, which nothing carries along."""
    C, M = motion.C, motion.M
    return replace(
        motion, A=motion.A + C, C=0.0 * C, G=motion.G - M @ C, A_size=motion.A_size + abs(C),
        G_size=motion.G_size + abs(M) @ abs(C), carried=False,
    )  # fmt: skip
