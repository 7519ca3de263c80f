"""Floor 5. A long solution in pieces, evaluated one after the other in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mbd.results.everything import Before, in_pieces

if TYPE_CHECKING:
    from mbd.results.solution import Solution

__all__ = ["after", "blocks"]


def after(solution: Solution) -> Before:
    """Return what the instants that follow need of the last one."""
    for piece in in_pieces(solution):
        last = piece
    return last.after()


def blocks(solution: Solution, instants: int) -> Iterator[Solution]:
    """Yield pieces of so many instants, each of which goes on where the last one ended."""
    before, n = solution.before, len(solution.t)
    for first in range(0, n, instants):
        piece = solution.part(slice(first, first + instants), before)
        yield piece
        if first + instants < n:
            before = after(piece)
