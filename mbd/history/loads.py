"""Loads of motors, drives, transmissions and ropes over time.

A part with rows reports a multiple of its multiplier, a motor what its law gives for the coordinate
and its rate at that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.history.faces import Faces, all_columns
from mbd.history.joint_coordinates import Coordinates
from mbd.history.quantities import PartHistory
from mbd.interactions.laws import Law, check
from mbd.machine import buffer as m
from mbd.machine.jit import kernel, law_call
from mbd.model.frozen import per_model
from mbd.parts.actuators import Motor

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model

__all__ = ["Loads", "MotorHistory", "all_loads"]


@kernel
def laws_kernel(I: Any, F: Any, k: int) -> None:
    """Evaluate a law n times: I[k:] has n, its address, the places of inputs and outputs."""
    for e in range(I[k]):
        at = I[k + 2] + 3 * e
        if law_call(I[k + 1], F, at, I[k + 3] + 3 * e) != 0 and I[m.BAD_HOW] == 0:
            I[m.BAD_HOW], I[m.BAD_LAW] = m.RAISED, I[k + 1]
            for i in range(3):
                F[m.BAD_AT + i] = F[at + i]


def _effort(law: Law, u: np.ndarray, rate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return what a motor does (n,); the law of its spring is a tension, which pulls u down."""
    n, at, k = len(t), m.F_HEADER, m.I_HEADER
    I, F = np.zeros(k + 4, np.int64), np.zeros(at + 6 * n)
    I[k:] = n, law.address, at, at + 3 * n
    F[at : at + 3 * n] = np.column_stack([u, rate, t]).ravel()
    laws_kernel(I, F, k)
    check((law,), I, F)
    return -F[at + 3 * n :: 3]


@dataclass(frozen=True)
class Loads:
    """The loads of all parts that report one.

    Attributes
    ----------
    units : dict
        Of each load by name, "motor.load" or "rope.tension": N m or N.
    rows, factors : arrays
        Of the first ones: multipliers and what they are multiplied by.
    motors : Coordinates
        Of the others: what they act along, by the name of the load, and their laws.
    """

    units: dict[str, str]
    rows: np.ndarray
    factors: np.ndarray
    motors: Coordinates
    laws: tuple[Law, ...]

    def over_time(
        self, faces: Faces, lam: np.ndarray, t: np.ndarray, before: Mapping[str, Any]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the loads (n, k), and what those of the instants that follow need of the last."""
        u, rate, _ = self.motors.over_time(faces, t, before)
        efforts = [_effort(law, u[:, i], rate[:, i], t) for i, law in enumerate(self.laws)]
        loads = np.column_stack([self.factors * lam[:, self.rows], *efforts])
        return loads, self.motors.after(t, u, rate) if len(t) else {}


@per_model
def all_loads(model: Model) -> Loads:
    """Return the loads of all parts of a model."""
    rows, factors, units, motors = [], [], {}, {}
    for name, part in model.system.forces.items():
        if isinstance(part, Motor):
            motors[f"{name}.load"] = part
            continue
        for what, factor in getattr(type(part), "reads", {}).items():
            units[f"{name}.{what}"] = part.units[what]
            rows.append(model.numbering.owners[name].start)
            factors.append(factor)
    along = {name: part.coordinate for name, part in motors.items()}
    units |= {name: x.load_unit for name, x in along.items()}
    return Loads(
        units, np.array(rows, int), np.array(factors), Coordinates.of(along, all_columns(model)),
        tuple(part.law for part in motors.values()),
    )  # fmt: skip


class MotorHistory(PartHistory):
    """A motor over time: ``load``, torque [N m] or force [N] along its coordinate.

    Positive drives the second body forward.
    """

    owners = ()

    def __init__(self, motor: Motor, trajectory: Trajectory) -> None:
        self.motor, self.name, along = motor, motor.name, motor.coordinate
        faces = trajectory.faces(end.body for end in along.attachments)
        one = Coordinates.of({f"{motor.name}.load": along}, faces.column)
        u, rate, _ = one.over_time(faces, trajectory.t, trajectory.before)
        self.load, self.instants = _effort(motor.law, u[:, 0], rate[:, 0], trajectory.t), len(u)

    def _columns(self) -> list[str]:
        return ["load"]
