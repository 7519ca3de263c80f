"""Steady rotation of a rotor on a support at rest: the pose in which all forces are in balance."""

from dataclasses import dataclass, replace

import numpy as np

from mbd.base.tolerances import HELD, LARGEST, ROUND_OFF
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.rotors import Rotor, turned
from mbd.statics.balance import Balance, Statics, least_multipliers
from mbd.statics.curvature import Curvature
from mbd.statics.imbalance import Imbalance
from mbd.statics.search import HeldTangent, nearest


@dataclass(frozen=True, eq=False)
class Rotation:
    """A rotor that turns at a speed [rad/s]: its axis, the pose, and forces at it."""

    model: Model
    rotor: Rotor
    speed: float
    balance: Balance
    imbalance: Imbalance
    iterations: int

    @property
    def state(self) -> State:
        """The pose with its velocities, accelerations and multipliers."""
        return self.balance.state

    def turned(self, angle: float) -> "Rotation":
        """Return the same motion with the rotor turned on, and what is out of balance there."""
        pose = turned(self.model, self.state, self.rotor, angle)
        if abs(self.speed) * LARGEST > 1.0:  # laws of time go on
            pose = pose.replace(t=pose.t + angle / self.speed)
        return _rotation(self.model, pose, self.rotor, self.speed)


def _rotation(model: Model, pose: State, rotor: Rotor, speed: float) -> Rotation:
    """Return the rotation of a rotor from a pose as it is."""
    problem = _problem(model, rotor, speed)
    balance = least_multipliers(problem.at(pose, 1.0), problem.scale)
    rotor = rotor.at(model, balance.state)
    return Rotation(model, rotor, speed, balance, problem.imbalance(balance, 1.0), 0)


def _problem(model: Model, rotor: Rotor, speed: float) -> Statics:
    """Return the balance of forces of a rotor on a support at rest."""
    zero = np.zeros(3)
    return Statics(model, (), zero, zero, {}, rotor, speed)


def steady_rotation(
    model: Model, state: State, rotor: Rotor, speed: float, most: int = 100
) -> Rotation:
    """Return the pose nearby in which the rotor turns steadily; a pose in balance is the answer.

    Newton's steps, what is neutral held where it is, as long as they get shorter; else the search.
    """
    now = _rotation(model, state, rotor, speed)
    if now.imbalance.balanced:
        return now
    problem, last = _problem(model, rotor, speed), np.inf
    for i in range(most):
        balance = problem.at(now.state, 1.0)  # K with the multipliers there
        W = Curvature(model, balance).W
        delta = HeldTangent(balance.K, HELD * W, balance).step(now.balance.residual, balance.gap)
        size = float(np.abs(delta / model.units).max(initial=0.0))
        if now.imbalance.balanced and (size <= ROUND_OFF**0.5 or not size < 0.5 * last):
            return replace(now, iterations=i)
        if not size < last:
            break
        last, pose = size, displaced(model, now.state, delta)
        now = _rotation(model, pose, rotor, speed)
    result = nearest(problem, state, 1.0, most)
    rotor = rotor.at(model, result.balance.state)
    return Rotation(model, rotor, speed, result.balance, result.imbalance, result.iterations)
