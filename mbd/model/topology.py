"""The elimination order: from the graph of bodies to fronts.

Bodies are eliminated by minimum degree, deepest first, ground being a neighbour that never goes:
leaf to root. A joint's rows go with the first of its two bodies to be eliminated; where a body has
more than one such joint the others (they close loops) go with the later body. There they may meet
rows that already hold it: the softness of the rows in the iteration matrix keeps that regular.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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


def closes(links: Iterable[Iterable[int]]) -> bool:
    """Tell whether links, each of bodies one after the other, ground among them, close a loop."""
    parent: dict[int, int] = {}

    def root(x: int) -> int:
        while (up := parent.setdefault(x, x)) != x:
            parent[x] = x = parent[up]
        return x

    for link in links:
        for a, b in pairwise(link):
            one, two = root(a), root(b)
            if one == two:
                return True
            parent[one] = two
    return False


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
    last = [max(map(place.__getitem__, bodies), default=-1) for bodies in joins]
    carried: dict[int, set[int]] = {}  # structure that children hand to a body
    done: set[int] = set()  # rows that are eliminated
    fronts = []
    for here, b in enumerate(order):
        structure = reach.pop(b) | carried.pop(b, set())
        structure = {g for g in structure if (g not in done if g < 0 else place[g] > here)}
        taken = _take(b, structure, rows, joins, place, last, freedoms[b])
        done.update(taken)
        structure.difference_update(taken)
        updates = dict.fromkeys(structure, 0)
        for i, g in enumerate(taken, 1):
            for a in joins[~g]:
                if place[a] > here:
                    structure.add(a)
                    updates.setdefault(a, i)
        fronts.append(Front(b, [b, *taken], updates))
        parents = [a for a in structure if a >= 0]
        parents += [a for g in structure if g < 0 for a in joins[~g] if place[a] > here]
        if parents:
            parent = min(parents, key=place.__getitem__)
            structure.discard(parent)
            carried.setdefault(parent, set()).update(structure)
    return fronts


def _take(
    b: int,
    structure: set[int],
    rows: Sequence[int],
    joins: Sequence[Sequence[int]],
    place: dict[int, int],
    last: Sequence[int],
    free: int,
) -> list[int]:
    """Return the row elements (as ~e) to eliminate with body b; `last` is where they are ready."""
    candidates = sorted((g for g in structure if g < 0), reverse=True)
    closed = [g for g in candidates if last[~g] <= place[b]]
    if closed:  # joints to ground first
        return sorted(closed, key=lambda g: (len(joins[~g]), -g))
    # one joint to a later body: all its row elements between the same two bodies
    taken: list[int] = []
    partner = None
    for g in candidates:
        bodies = joins[~g]
        if b in bodies and rows[~g] <= free:
            ahead = next(a for a in bodies if place[a] > place[b])
            if partner in (None, ahead):
                partner = ahead
                taken.append(g)
                free -= rows[~g]
    return taken
