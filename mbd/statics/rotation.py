"""Steady rotation of a rotor on a support at rest: the pose in which all forces are in balance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import HELD, LARGEST, ROUND_OFF
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.face_maps import face_maps, inverses
from mbd.small_motions.rotors import Rotor, turned
from mbd.statics.balance import Balance, Statics, accepted, least_multipliers
from mbd.statics.curvature import Curvature
from mbd.statics.imbalance import Imbalance, imbalance
from mbd.statics.search import EquilibriumError, HeldTangent, nearest


@dataclass(frozen=True, eq=False)
class Rotation:
    """A rotor that turns steadily in a problem: its axis, the balance of forces, what is left.

    Memories of loads are at rest with the motion.
    """

    problem: Statics
    rotor: Rotor
    factor: float
    balance: Balance
    imbalance: Imbalance
    iterations: int

    @property
    def model(self) -> Model:
        """The model."""
        return self.problem.model

    @property
    def speed(self) -> float:
        """The speed about the axis [rad/s]."""
        return self.problem.speed

    @property
    def state(self) -> State:
        """The pose with its velocities, accelerations and multipliers."""
        return self.balance.state

    def turned(self, angle: float) -> "Rotation":
        """Return the same motion with the rotor turned on, and what is out of balance there."""
        pose = turned(self.model, self.state, self.rotor, angle)
        if abs(self.speed) * LARGEST > 1.0:  # laws of time go on
            pose = pose.replace(t=pose.t + angle / self.speed)
        return _rotation(self.problem, pose, self.factor)


def _rotation(problem: Statics, pose: State, factor: float) -> Rotation:
    """Return the rotation of a rotor from a pose as it is."""
    balance = least_multipliers(problem.at(pose, factor), problem.scale)
    return _rotation_at(problem, factor, balance, problem.imbalance(balance, factor), 0)


def _rotation_at(
    problem: Statics, factor: float, balance: Balance, left: Imbalance, iterations: int
) -> Rotation:
    assert problem.rotor is not None
    state = accepted(problem.model, balance.state)
    rotor = problem.rotor.at(problem.model, state)
    return Rotation(problem, rotor, factor, replace(balance, state=state), left, iterations)


def require_steady(owner: str, here: Rotation, angle: float = 0.0) -> None:
    """Refuse a rotation that rows do not let go on, or with forces out of balance at an angle."""
    if not here.imbalance.round:
        where = f"turned by {np.degrees(angle):.4g} degrees" if angle else "at poses nearby"
        raise ValueError(
            f"{owner}: the rotation is not steady: {where} {here.imbalance.largest} are out of "
            f"balance, with loads of {here.imbalance.loads}; weight, wind and springs "
            "must be the same all around the axis (leave gravity out)"
        )


def warn_unsteady(owner: str, turned: Sequence[Rotation]) -> None:
    """Warn of forces that are out of balance at other azimuths; refuse a pose that has some itself.

    For a function that a public one calls, itself called through its record.
    """
    require_steady(owner, turned[0])
    unsteady = [x.imbalance for x in turned if not x.imbalance.round]
    if unsteady:
        worst = max(unsteady, key=lambda x: x.share)
        warnings.warn(
            f"{owner}: the rotation is not steady, {worst.largest} are out of balance with loads "
            f"of {worst.loads}; these are small motions about it, not about the periodic motion "
            "that the forces make of it, which mbd.periodic finds",
            RuntimeWarning,
            stacklevel=5,
        )


def rotating(model: Model, rotor: Rotor, speed: float, scaled: tuple[str, ...] = ()) -> Statics:
    """Return the balance of forces of a rotor on a support at rest."""
    zero = np.zeros(3)
    return Statics(model, scaled, zero, zero, {}, rotor, speed)


def turns_alike(problem: Statics, pose: State, factor: float) -> bool:
    """Tell whether forces turn with the rotor, at a pose in balance or not, but for round-off."""
    now = _rotation(problem, pose, factor)
    then, rotor = now.turned(1.0), now.rotor
    R, blocks = rotor.rotation(1.0), []
    some = face_maps(now.model, now.state), face_maps(now.model, then.state)
    for body, back in zip(some[0], inverses(some[1]), strict=True):
        Y = body.whole("Y")
        if body.name not in rotor.bodies:
            blocks.append(np.linalg.pinv(Y) @ Y)
            continue
        field = np.einsum("ab,kbn->kan", R, Y.reshape(-1, 3, Y.shape[1])).reshape(Y.shape)
        blocks.append(back @ field)
    P = sp.block_diag(blocks, format="csr")
    g = P.T @ then.balance.forces - now.balance.forces
    return imbalance(now.model, now.state, g, now.balance.K).round


def balanced_rotation(
    problem: Statics, state: State, factor: float = 1.0, most: int = 100
) -> Rotation:
    """Return the pose nearby in which the rotor turns steadily; a pose in balance is the answer.

    By Newton's steps; where blades have no stiffness across before they are stretched, first
    without loads; else by the search, a short one where forces do not turn with the rotor at the
    start: `require_steady` tells then what is left.
    """
    now = _by_newton(problem, state, factor, most)
    if now.imbalance.balanced:
        return now
    alike = turns_alike(problem, state, factor)
    stretched = _by_newton(problem, state, 0.0, most)
    if stretched.imbalance.balanced:
        loaded = _by_newton(problem, stretched.state, factor, most)
        if loaded.imbalance.balanced:
            return loaded
    try:
        result = nearest(problem, state, factor, most if alike else min(most, 20))
    except EquilibriumError:
        if alike:
            raise
        return now
    return _rotation_at(problem, factor, result.balance, result.imbalance, result.iterations)


def _by_newton(problem: Statics, state: State, factor: float, most: int) -> Rotation:
    """Return where Newton's steps end, what is neutral held where it is, or get no shorter."""
    now, last = _rotation(problem, state, factor), np.inf
    for i in range(0 if now.imbalance.balanced else most):
        balance = problem.at(now.state, factor)  # K with the multipliers there
        W = Curvature(problem.model, balance).W
        delta = HeldTangent(balance.K, HELD * W, balance).step(now.balance.residual, balance.gap)
        size = float(np.abs(delta / problem.model.units).max(initial=0.0))
        if now.imbalance.balanced and (size <= ROUND_OFF**0.5 or not size < 0.5 * last):
            return replace(now, iterations=i)
        if not size < last:
            break
        last, pose = size, displaced(problem.model, now.state, delta)
        now = _rotation(problem, pose, factor)
    return now
