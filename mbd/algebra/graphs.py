"""Undirected graphs: components and blocks."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node")
Graph = Mapping[Node, Iterable[Node]]


def neighbours(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> dict[Node, list[Node]]:
    """Return the neighbours of each node, each once, in the order of the edges."""
    around: dict[Node, dict[Node, None]] = {a: {} for a in nodes}
    for a, b in edges:
        around.setdefault(a, {})[b] = None
        around.setdefault(b, {})[a] = None
    return {a: list(others) for a, others in around.items()}


def components(graph: Graph[Node]) -> list[list[Node]]:
    """Return the nodes of each connected component."""
    left = dict.fromkeys(graph)
    pieces = []
    while left:
        piece = [left.popitem()[0]]
        for a in piece:
            for b in graph[a]:
                if b in left:
                    del left[b]
                    piece.append(b)
        pieces.append(piece)
    return pieces


def blocks(graph: Graph[Node]) -> list[list[tuple[Node, Node]]]:
    """Return the edges of each two-connected component; a bridge is one of its own.

    References
    ----------
    .. [1] J. Hopcroft and R. Tarjan, Efficient algorithms for graph manipulation, Comm. ACM 16
       (1973), algorithm 447.
    """
    pieces: list[list[tuple[Node, Node]]] = []
    depth: dict[Node, int] = {}
    for root in graph:
        if root in depth:
            continue
        depth[root] = 0
        low, edges = {root: 0}, list[tuple[Node, Node]]()
        stack = [(root, root, iter(graph[root]), 0)]
        while stack:
            a, parent, others, first = stack[-1]
            b = next(others, None)
            if b is not None:
                if b not in depth:
                    depth[b] = low[b] = len(depth)
                    edges.append((a, b))
                    stack.append((b, a, iter(graph[b]), len(edges) - 1))
                elif b != parent and depth[b] < depth[a]:
                    edges.append((a, b))
                    low[a] = min(low[a], depth[b])
                continue
            stack.pop()
            if stack:
                low[parent] = min(low[parent], low[a])
                if low[a] >= depth[parent]:
                    pieces.append(edges[first:])
                    del edges[first:]
    return pieces
