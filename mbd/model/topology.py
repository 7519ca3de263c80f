"""The elimination order: from the graph of bodies to fronts.

Bodies are eliminated by minimum degree, deepest first, ground being a neighbour that never goes:
leaf to root. A joint's rows go with the first of its two bodies to be eliminated; where a body has
more than one such joint the others (they close loops) go with the later body. There they may meet
rows that already hold it: the softness of the rows in the iteration matrix keeps that regular.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

_GROUND = -1


@dataclass
class Front:
    """One step of the elimination.

    ``pivots``: groups eliminated together, in order; a group is a body b >= 0 or rows ~e < 0.
    ``updates``: later groups they reach, with the index of the first pivot group that does.
    """

    body: int
    pivots: list[int]
    updates: dict[int, int] = field(default_factory=dict)


def eliminate_order(n_bodies: int, links: Sequence[Sequence[int]]) -> list[int]:
    """Return the bodies in elimination order; links hold bodies of an interaction, -1 ground."""
    neighbours: list[set[int]] = [set() for _ in range(n_bodies)]
    for link in links:
        for a in link:
            if a != _GROUND:
                neighbours[a].update(b for b in link if b != a)
    depth = _depths(neighbours)
    heap = [(len(s), -depth[b], b) for b, s in enumerate(neighbours)]
    heapq.heapify(heap)
    gone = [False] * n_bodies
    order = []
    while heap:
        degree, _, b = heapq.heappop(heap)
        if gone[b] or degree != len(neighbours[b]):
            continue
        gone[b] = True
        order.append(b)
        around = neighbours[b]
        for a in around:
            if a == _GROUND:
                continue
            mine = neighbours[a]
            mine |= around
            mine.discard(a)
            mine.discard(b)
            heapq.heappush(heap, (len(mine), -depth[a], a))
    return order


def _depths(neighbours: list[set[int]]) -> list[int]:
    """Return the distance of every body from ground (from an arbitrary root if it floats)."""
    depth = [-1] * len(neighbours)
    level = [b for b, s in enumerate(neighbours) if _GROUND in s]
    for b in level:
        depth[b] = 0
    start = 0
    while True:
        while level:
            following = []
            for b in level:
                for a in neighbours[b]:
                    if a != _GROUND and depth[a] < 0:
                        depth[a] = depth[b] + 1
                        following.append(a)
            level = following
        while start < len(depth) and depth[start] >= 0:
            start += 1
        if start == len(depth):
            return depth
        depth[start] = 0
        level = [start]


def eliminate(
    freedoms: Sequence[int],
    rows: Sequence[int],
    joins: Sequence[Sequence[int]],
    couplings: Sequence[tuple[int, int]],
    order: Sequence[int],
) -> list[Front]:
    """Return the fronts.

    Parameters
    ----------
    freedoms : velocities less own rows of each body.
    rows : number of rows of each row element.
    joins : bodies of each row element (without ground).
    couplings : pairs of bodies coupled by stiffness.
    order : bodies in elimination order.
    """
    place = {b: i for i, b in enumerate(order)}
    reach: dict[int, set[int]] = {b: set() for b in order}
    for e, bodies in enumerate(joins):
        for b in bodies:
            reach[b].add(~e)
    for a, b in couplings:
        if a != b:
            reach[a].add(b)
            reach[b].add(a)
    carried: dict[int, set[int]] = {}  # structure that children hand to a body
    done: set[int] = set()  # rows that are eliminated
    fronts = []
    for b in order:
        structure = (reach.pop(b) | carried.pop(b, set())) - done
        structure = {g for g in structure if g < 0 or place[g] > place[b]}
        taken = _take(b, structure, rows, joins, place, freedoms[b])
        done.update(taken)
        front = Front(b, [b, *taken])
        pivots: set[int] = set()
        for i, g in enumerate(front.pivots):
            pivots.add(g)
            if g < 0:
                structure |= {a for a in joins[~g] if place[a] > place[b]}
            structure -= pivots
            for a in structure:
                if a not in taken:
                    front.updates.setdefault(a, i)
        fronts.append(front)
        later = [a for a in structure if a >= 0]
        waiting = [a for g in structure if g < 0 for a in joins[~g] if place[a] > place[b]]
        parents = later + waiting
        if parents:
            parent = min(parents, key=place.__getitem__)
            carried.setdefault(parent, set()).update(structure - {parent})
    return fronts


def _take(
    b: int,
    structure: set[int],
    rows: Sequence[int],
    joins: Sequence[Sequence[int]],
    place: dict[int, int],
    free: int,
) -> list[int]:
    """Return the row elements (as ~e) to eliminate with body b."""
    candidates = sorted((g for g in structure if g < 0), reverse=True)
    closed = [g for g in candidates if all(place[a] <= place[b] for a in joins[~g])]
    if closed:  # joints to ground first
        return sorted(closed, key=lambda g: (len(joins[~g]), -g))
    # one joint to a later body: all its row elements between the same two bodies
    taken: list[int] = []
    partner = None
    for g in candidates:
        ahead = [a for a in joins[~g] if place[a] > place[b]]
        if b in joins[~g] and ahead and rows[~g] <= free and partner in (None, ahead[0]):
            partner = ahead[0]
            taken.append(g)
            free -= rows[~g]
    return taken
