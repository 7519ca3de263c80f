"""Loads of motors, drives, transmissions and ropes over time.

A part with rows reports a multiple of its multiplier, a motor what its law gives for the coordinate
and its rate at that time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd.base.dual import plain
from mbd.history.joint_coordinates import over_time as coordinates_over_time
from mbd.history.observed_forces import load
from mbd.history.trajectory import Trajectory
from mbd.interactions.laws import Law, check
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, ints, kernel, law_call
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.parts.part import Part


@kernel
def laws_kernel(I: Any, F: Any, k: int) -> None:
    """Evaluate a law n times: I[k:] has n, the places of inputs and outputs, its record."""
    S, law, parameters = ints(F), address_at(I, k + 3), I[k + 3 + m.LAW_PARAMETERS]
    for e in range(I[k]):
        at = I[k + 1] + 3 * e
        if law_call(law, F, at, I[k + 2] + 3 * e, parameters) != 0 and S[m.BAD_HOW] == 0:
            S[m.BAD_HOW], S[m.BAD_LAW] = m.RAISED, k + 3
            for i in range(3):
                F[m.BAD_AT + i] = F[at + i]


def law_over_time(law: Law, *inputs: np.ndarray) -> np.ndarray:
    """Return the three numbers that a law writes (n, 3), for arrays (n,) of its arguments."""
    n, at, k = len(inputs[0]), m.F_HEADER, m.I_HEADER
    end = at + 6 * n
    F = np.append(np.zeros(end), plain(law.parameters))
    I = m.entries(np.zeros(k), (n, at, at + 3 * n), law.record(0, end))
    F[at : at + 3 * n].reshape(n, 3)[:, : len(inputs)] = np.column_stack(inputs)
    laws_kernel(I, F, k)
    check((law,), I, F)
    return F[at + 3 * n : end].reshape(n, 3)


def over_time(run: Trajectory, some: Sequence[tuple[Part, str]]) -> np.ndarray:
    """Return loads of parts over time (n, k): of rows and of motors whose effort is a number.

    What a law gives for a coordinate and its rate takes their turns into account.
    """
    rows = run.model.numbering.owners
    driven = {
        i: x.drives for i, (x, _) in enumerate(some) if x.law is not None and x.name not in rows
    }
    others = [x for i, x in enumerate(some) if i not in driven]
    loads = np.empty((len(run.t), len(some)))
    loads[:, [i for i in range(len(some)) if i not in driven]] = run.observed(
        lambda tables: (load(tables, *x) for x in others)
    )
    along = {f"{x.joint}.{x.name}": x for x in driven.values() if x is not None}
    u, rate, _ = coordinates_over_time(run, along) if along else (loads, loads, loads)
    for i, x in driven.items():
        part, what = some[i]
        assert x is not None
        assert part.law is not None
        k = [*along].index(f"{x.joint}.{x.name}")
        loads[:, i] = part.reads[what] * law_over_time(part.law, u[:, k], rate[:, k], run.t)[:, 0]
    return loads


def units_of_loads(model: Model) -> dict[str, str]:
    """Return the units of all loads by name: N m or N."""
    return {name: part.units[what] for name, (part, what) in all_loads(model).items()}


@per_model
def all_loads(model: Model) -> dict[str, tuple[Part, str]]:
    """Return all loads by name, "motor.load" or "rope.tension": part and word."""
    return {
        f"{name}.{what}": (part, what)
        for name, part in model.system.parts.items() for what in part.reads
    }  # fmt: skip
