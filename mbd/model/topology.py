"""The elimination order: from the graph of bodies to fronts.

Bodies are eliminated by minimum degree, deepest first, ground being a neighbour that never goes:
leaf to root. A joint's rows go with the first of its two bodies to be eliminated; where a body has
more than one such joint the others (they close loops) go with the later body. There they may meet
rows that already hold it, and be independent through bodies that come later: such rows go with one
of these (`misplaced` in `mbd/model/independent_rows.py`).

For two threads the graph is divided into two sides and the few bodies between them, and each side
is eliminated towards these.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from mbd.algebra.graphs import components
from mbd.machine.buffer import BETWEEN

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


def linked(n_bodies: int, links: Sequence[Sequence[int]]) -> list[set[int]]:
    """Return the neighbours of each body; links hold bodies of an interaction, -1 ground."""
    neighbours: list[set[int]] = [set() for _ in range(n_bodies)]
    for link in links:
        for a in link:
            if a != _GROUND:
                neighbours[a].update(b for b in link if b != a)
    return neighbours


def eliminate_order(neighbours: list[set[int]], side: Sequence[int] = ()) -> list[int]:
    """Return the bodies in elimination order, side by side; the graph is used up.

    Where there are two sides, deep is what is far from those between them, side 2.
    """
    depth = _depths(neighbours, [b for b, s in enumerate(side) if s == BETWEEN])
    side = side or [0] * len(neighbours)
    heap = [(side[b], len(s), -depth[b], b) for b, s in enumerate(neighbours)]
    heapq.heapify(heap)
    gone = [False] * len(neighbours)
    order = []
    while heap:
        _, degree, _, b = heapq.heappop(heap)
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
            heapq.heappush(heap, (side[a], len(mine), -depth[a], a))
    return order


def _depths(neighbours: list[set[int]], roots: list[int]) -> list[int]:
    """Return the distance of every body from roots, ground or, if it floats, from any body."""
    depth = [-1] * len(neighbours)
    grounded = [b for b, s in enumerate(neighbours) if _GROUND in s]
    level, start = roots or grounded, 0
    for b in level:
        depth[b] = 0
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


def closes(links: Iterable[Iterable[str]]) -> bool:
    """Tell whether links, each of bodies one after the other, ground among them, close a loop."""
    parent: dict[str, str] = {}

    def root(x: str) -> str:
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
    freedoms: Sequence[int], rows: Sequence[int], joins: Sequence[Sequence[int]],
    couplings: Sequence[tuple[int, int]], order: Sequence[int], after: Mapping[int, int],
) -> list[Front]:  # fmt: skip
    """Return the fronts.

    Parameters
    ----------
    freedoms : velocities less own rows of each body.
    rows : number of rows of each row element.
    joins : bodies of each row element (without ground).
    couplings : pairs of bodies coupled by stiffness.
    order : bodies in elimination order.
    after : row elements and the body after which each is eliminated, if others are left.
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
        waits = {~e for e, a in after.items() if here <= place[a]}
        if all(g < 0 and max(map(place.__getitem__, joins[~g])) <= here for g in structure):
            waits = set()
        taken = _take(b, structure - waits, rows, joins, place, last, freedoms[b])
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
    b: int, structure: set[int], rows: Sequence[int], joins: Sequence[Sequence[int]],
    place: dict[int, int], last: Sequence[int], free: int,
) -> list[int]:  # fmt: skip
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


def _levels(first: int, neighbours: list[set[int]]) -> list[list[int]]:
    """Return bodies by their distance from one."""
    reached, levels = {first}, [[first]]
    while levels[-1]:
        new = {b for a in levels[-1] for b in neighbours[a] if b >= 0} - reached
        reached |= new
        levels.append(sorted(new))
    return levels[:-1]


def _separator(piece: list[int], neighbours: list[set[int]]) -> list[int]:
    """Return few bodies without which a connected graph falls into pieces of half its size.

    Of a tree its centroid, else a level of distances from a body far away from all others.
    """
    if sum(len(neighbours[a] - {_GROUND}) for a in piece) == 2 * (len(piece) - 1):
        size, parent = dict.fromkeys(piece, 1), dict[int, int]()
        for a in piece:
            parent |= {b: a for b in neighbours[a] if b >= 0 and b != parent.get(a)}
        for a in reversed(piece[1:]):
            size[parent[a]] += size[a]
        return [min((a for a in piece if 2 * size[a] >= len(piece)), key=size.__getitem__)]
    far = _levels(piece[0], neighbours)[-1][0]
    levels, before = _levels(far, neighbours), 0
    balanced = {}
    for level in levels:
        smaller = min(before, len(piece) - before - len(level))
        before += len(level)
        if 3 * smaller > len(piece):
            balanced[len(level), -smaller] = level
    return balanced[min(balanced)] if balanced else piece


def sides(neighbours: list[set[int]]) -> list[int]:
    """Return the side of each body, 0 or 1 with no link between them, or BETWEEN; or nothing."""
    n = len(neighbours)
    pieces = components(dict(enumerate(neighbours)))
    largest = max(pieces, key=len)
    side = [BETWEEN] * n
    if 20 * len(largest) > 11 * n:
        between = set(_separator(largest, neighbours))
        pieces.remove(largest)
        pieces += components({b: neighbours[b] for b in largest if b not in between})
    sizes = [0, 0]
    for piece in sorted(pieces, key=len, reverse=True):
        k = int(sizes[1] < sizes[0])
        sizes[k] += len(piece)
        for b in piece:
            side[b] = k
    if 4 * min(sizes) < n:
        return []
    first = [b for b, s in enumerate(side) if s == 0]
    if 2 * sum(first) > len(first) * (n - 1):  # vectors by body begin with side 0, by and large
        side = [(1, 0, BETWEEN)[s] for s in side]
    return side


class Division(NamedTuple):
    """Which fronts two threads eliminate at once: those of each side but its tail.

    Attributes
    ----------
    side : list of int
        Of each body: 0 and 1 where it is independent of all of the other side, else BETWEEN.
    borders : list of int
        First front of the tail of side 0, of side 1, of its tail, and of those between.
    """

    side: list[int]
    borders: list[int]


def divided(fronts: list[Front], side: Sequence[int]) -> tuple[list[Front], Division]:
    """Return fronts side by side, each with its tail last, and where these begin.

    A tail updates what both sides update; before it in the tail are those that update it: so that
    nothing of one side, nor the rest of the last vector register of it, is written by the other.
    """
    front_of = {g: f for f, front in enumerate(fronts) for g in front.pivots}
    reached = [{front_of[g] for g in front.updates} for front in fronts]
    of = [side[front.body] for front in fronts]
    order: list[int] = []
    borders: list[int] = []
    final = list(side)
    for k in (0, 1):
        mine = [f for f, s in enumerate(of) if s == k]
        last = {f for f in mine if any(of[t] == BETWEEN for t in reached[f])} or {mine[-1]}
        last_but_one = {f for f in mine if f not in last and reached[f] & last}
        tail = sorted(last_but_one) + sorted(last)
        free = [f for f in mine if f not in last and f not in last_but_one]
        borders += [len(order) + len(free), len(order) + len(mine)]
        order += free + tail
        for f in tail:
            final[fronts[f].body] = BETWEEN
    order += [f for f, s in enumerate(of) if s == BETWEEN]
    return [fronts[f] for f in order], Division(final, borders)


def elimination(
    freedoms: Sequence[int], rows: Sequence[int], joins: Sequence[Sequence[int]],
    couplings: Sequence[tuple[int, int]], links: Sequence[Sequence[int]], *, in_two: bool,
    after: Mapping[int, int],
) -> tuple[list[Front], Division | None]:  # fmt: skip
    """Return the fronts, and how two threads divide them, if they are to and can.

    Parameters are those of `eliminate`, and all links between bodies, -1 for ground.
    """
    neighbours = linked(len(freedoms), links)
    side = sides(neighbours) if in_two else []
    fronts = eliminate(freedoms, rows, joins, couplings, eliminate_order(neighbours, side), after)
    return divided(fronts, side) if side else (fronts, None)
