"""Loads of motors, drives, transmissions and ropes over time.

A part with rows reports a multiple of its multiplier, a motor what its law gives for the coordinate
and its rate at that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.history.faces import Faces, all_columns, places_of
from mbd.history.joint_coordinates import Coordinates
from mbd.interactions.laws import Law, check
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, ints, kernel, law_call
from mbd.model.frozen import per_model
from mbd.parts.part import Coordinate, Part

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model


@kernel
def laws_kernel(I: Any, F: Any, k: int) -> None:
    """Evaluate a law n times: I[k:] has n, the places of inputs and outputs, its address."""
    S, law = ints(F), address_at(I, k + 3)
    for e in range(I[k]):
        at = I[k + 1] + 3 * e
        if law_call(law, F, at, I[k + 2] + 3 * e) != 0 and S[m.BAD_HOW] == 0:
            S[m.BAD_HOW], S[m.BAD_LAW] = m.RAISED, law
            for i in range(3):
                F[m.BAD_AT + i] = F[at + i]


def law_over_time(law: Law, *inputs: np.ndarray) -> np.ndarray:
    """Return the three numbers that a law writes (n, 3), for arrays (n,) of its arguments."""
    n, at, k = len(inputs[0]), m.F_HEADER, m.I_HEADER
    F = np.zeros(at + 6 * n)
    I = m.entries(np.zeros(k), (n, at, at + 3 * n), m.halves(law.address))
    F[at : at + 3 * n].reshape(n, 3)[:, : len(inputs)] = np.column_stack(inputs)
    laws_kernel(I, F, k)
    check((law,), m.integers(F), F)
    return F[at + 3 * n :].reshape(n, 3)


def _tension(law: Law | float, u: np.ndarray, rate: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the tension that a law gives (n,), or a number."""
    return np.full(len(t), law) if isinstance(law, float) else law_over_time(law, u, rate, t)[:, 0]


def _law(part: Part) -> Law | float:
    """Return the law of a motor's tension, or the number that it is."""
    law: Law | float | None = part.tension if part.law is None else part.law
    assert law is not None
    return law


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
        Of the others: what they act along, by the name of the load; their laws and factors.
    """

    units: dict[str, str]
    rows: np.ndarray
    factors: np.ndarray
    motors: Coordinates
    laws: tuple[tuple[Law | float, float], ...]

    def over_time(
        self, faces: Faces, lam: np.ndarray, t: np.ndarray, before: Mapping[str, Any]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the loads (n, k), and the memory at the last instant."""
        u, rate, _ = self.motors.over_time(faces, t, before)
        efforts = [
            factor * _tension(law, u[:, i], rate[:, i], t)
            for i, (law, factor) in enumerate(self.laws)
        ]
        loads = np.column_stack([self.factors * lam[:, self.rows], *efforts])
        return loads, self.motors.after(t, u, rate) if len(t) else {}


@per_model
def all_loads(model: Model) -> Loads:
    """Return the loads of all parts of a model."""
    rows, factors, units = [], [], {}
    motors: dict[str, tuple[Coordinate, Law | float, float, str]] = {}
    for name, part in model.system.parts.items():
        for what, factor in part.reads.items():
            if name in model.numbering.owners:
                units[f"{name}.{what}"] = part.units[what]
                rows.append(model.numbering.owners[name].start)
                factors.append(factor)
            else:
                assert part.drives is not None
                motors[f"{name}.{what}"] = (part.drives, _law(part), factor, part.units[what])
    along = {name: coordinate for name, (coordinate, *_) in motors.items()}
    return Loads(
        units | {name: unit for name, (*_, unit) in motors.items()},
        np.array(rows, int),
        np.array(factors),
        Coordinates.of(along, all_columns(model)),
        tuple((law, factor) for _, law, factor, _ in motors.values()),
    )


def of_law(part: Part, what: str, trajectory: Trajectory) -> np.ndarray:
    """Return the load `what` of a part that drives a coordinate by a law, over time (n,)."""
    assert part.drives is not None
    bodies = [end.body for end in part.drives.attachments]
    places = places_of(trajectory.model, bodies)
    one = Coordinates.of({f"{part.name}.{what}": part.drives}, places)
    u, rate, _ = one.of_run(trajectory, bodies)
    return part.reads[what] * _tension(_law(part), u[:, 0], rate[:, 0], trajectory.t)
