"""Floor 5. A long solution in pieces, evaluated one after the other in constant memory.

Two quantities look back: quaternions, whose sign does not jump, and angles of joints and rotational
springs, which count their turns. What they need of the last instant goes from piece to piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mbd.results.energy import angles
from mbd.results.freedoms import last_of_freedoms
from mbd.results.gaps import MEMORY, remembered

if TYPE_CHECKING:
    from mbd.results.solution import Solution

__all__ = ["Before", "after", "blocks", "part"]

# by name of the body its quaternion (4,), of the spring its angle [rad], of the joint's angle the
# time [s], the angle [rad] and its rate [rad/s]; memory of rows
Before = dict[str, np.ndarray]


def after(solution: Solution) -> Before:
    """Return what the instants that follow need of the last one."""
    found: Before = {}
    for name, body in solution.model.system.bodies.items():
        if body.formulation.axes:
            found[name] = solution.body(name).quaternion[-1]
    for name, values in angles(solution).items():
        found[name] = values[-1]
    memory = remembered(solution)
    if memory is not None:
        found[MEMORY] = memory
    return found | last_of_freedoms(solution)


def part(solution: Solution, instants: slice, before: Before | None = None) -> Solution:
    """Return some instants of a solution, in memory."""
    from mbd.results.solution import Solution as Piece

    arrays = (np.asarray(x[instants]) for x in (solution.q, solution.v, solution.a, solution.lam))
    return Piece(
        solution.model,
        solution.t[instants],
        *arrays,
        status=solution.status,
        message=solution.message,
        stats=solution.stats,
        last=solution.state,
        method=solution.method,
        before=before,
    )


def blocks(solution: Solution, instants: int) -> Iterator[Solution]:
    """Yield pieces of so many instants, each of which goes on where the last one ended."""
    before, n = solution.before, len(solution.t)
    for first in range(0, n, instants):
        piece = part(solution, slice(first, first + instants), before)
        yield piece
        if first + instants < n:
            before = after(piece)
