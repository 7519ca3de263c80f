"""Bodies and joints of a model as a graph (matplotlib)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.figures.edge_labels import settle
from mbd.figures.figure import checked_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Edge", "draw_topology"]

_TRIES, _LARGER = 6, 1.2  # a figure grows until its names do not cover each other
_STYLES = {  # colour and dashes: they differ in print too
    "joint": {"color": "black", "linestyle": "-", "linewidth": 1.4},
    "joint with redundant rows": {"color": "C3", "linestyle": (0, (5, 2)), "linewidth": 2.2},
    "force between bodies": {"color": "0.5", "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
}


# names of both ends, text, style
Edge = tuple[str, str, str, str]


def draw_topology(bodies: list[str], edges: list[Edge], title: str, ax: Any = None) -> Figure:
    """Draw bodies as nodes and joints as edges; see ``Model.plot_topology``."""
    places = _places(bodies, edges)
    ax = checked_axes(ax, "plot_topology")
    if ax is not None:
        _draw(ax, title, edges, places)(True)
        return ax.figure  # type: ignore[no-any-return]
    n = len(bodies)
    size = float(np.clip(3.5 + 0.35 * n, 5.0, 14.0))
    figure = new_figure("plot_topology", figsize=(size, 0.8 * size))
    place = _draw(figure.subplots(), title, edges, places)
    for _ in range(_TRIES):
        if place(False):
            return figure
        figure.set_size_inches(*(_LARGER * figure.get_size_inches()))
    place(True)
    return figure


def _draw(ax: Any, title: str, edges: list[Edge], places: dict[str, Any]) -> Callable[[bool], bool]:
    """Draw the graph; return the function that places the names, `beside` their edges or not."""
    pairs = Counter(frozenset(edge[:2]) for edge in edges)
    drawn: Counter[frozenset[str]] = Counter()
    names = []
    for a, b, name, style in edges:
        pair = frozenset((a, b))
        side = 1.0 if a <= b else -1.0  # parallel edges bend apart
        bend = side * 0.36 * (drawn[pair] - 0.5 * (pairs[pair] - 1))
        drawn[pair] += 1
        line = _bent(places[a], places[b], bend)
        ax.plot(*line.T, zorder=1, **_STYLES[style])
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        text = ax.text(0, 0, name, ha="center", va="center", fontsize="x-small", zorder=2, bbox=box)
        names.append((text, line))
    nodes = [_node(ax, name, *place) for name, place in places.items()]
    used = [style for style in _STYLES if any(edge[3] == style for edge in edges)]
    for style in used:
        ax.plot([], [], label=style, **_STYLES[style])
    if used:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), frameon=False, ncols=3,
                  fontsize="small", handlelength=3.5)  # fmt: skip
    ax.set_title(title, fontsize="medium", loc="left")
    ax.margins(0.15)
    ax.axis("off")

    return lambda beside: settle(ax, names, nodes, beside=beside)


def _node(ax: Any, name: str, x: float, y: float) -> Any:
    ground = name == "ground"
    box = {
        "boxstyle": "square,pad=0.4" if ground else "round,pad=0.4",
        "facecolor": "0.85" if ground else "white",
        "edgecolor": "black",
    }
    return ax.text(x, y, name, ha="center", va="center", fontsize="small", bbox=box, zorder=3)


def _places(bodies: list[str], edges: list[Edge]) -> dict[str, Any]:
    """Return where the nodes are: distances in the picture are those in the graph."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(bodies)
    graph.add_edges_from((a, b) for a, b, _, _ in edges)
    if len(graph) == 1:
        return dict.fromkeys(graph, np.zeros(2))
    places = nx.kamada_kawai_layout(graph)
    return dict(places)


def _bent(a: Any, b: Any, bend: float) -> np.ndarray:
    """Return a line (41, 2) from a to b, bent to the side by a part of its length."""
    a, b = np.asarray(a), np.asarray(b)
    across = np.array([a[1] - b[1], b[0] - a[0]])
    s = np.linspace(0.0, 1.0, 41)[:, None]
    return (1 - s) * a + s * b + 4 * s * (1 - s) * bend * across
