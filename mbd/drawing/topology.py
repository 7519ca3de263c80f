"""Bodies and joints of a model as a graph, the names of edges moved until all can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.drawing.figure import checked_axes, new_figure

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.figure import Figure

    from mbd.model.model import Model

_TRIES, _LARGER = 6, 1.2  # a figure grows until its names do not cover each other
_ENTRY = 2.4  # width of an entry of the legend [inch]
_STARTS, _RANDOM = 40, 8  # nodes up to which several starts of the layout are tried; of chance
_STYLES = {  # colour and dashes: they differ in print too
    "joint": {"color": "black", "linestyle": "-", "linewidth": 1.4},
    "joint with redundant rows": {"color": "C3", "linestyle": (0, (5, 2)), "linewidth": 2.2},
    "drive or motor": {"color": "C0", "linestyle": (0, (6, 1.5, 1, 1.5)), "linewidth": 1.8},
    "transmission": {"color": "C2", "linestyle": (0, (3, 1)), "linewidth": 1.8},
    "force between bodies": {"color": "0.5", "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
}

# where along an edge and how far beside it, in sizes of the name, a name may be: the best first
_ALONG = (0.5, 0.43, 0.57, 0.36, 0.64, 0.29, 0.71)
_BESIDE = (0.6, -0.6, 1.1, -1.1)
_FAR = (1.7, -1.7, 2.3, -2.3)  # where nothing nearer is free
_GAP = 2.0  # pixels

Box = tuple[float, float, float, float]
# names of both ends, text, style
Edge = tuple[str, str, str, str]


def plot_topology(model: Model, ax: Any) -> Figure:
    """Draw bodies as nodes and joints as edges; see ``Model.plot_topology``."""
    bodies, edges = list(model.nodes), _edges(model.graph())
    title = f"{len(bodies)} bodies, {len(model.system.joints)} joints"
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
            break
        figure.set_size_inches(*(_LARGER * figure.get_size_inches()))
    else:
        place(True)
    figure.set_layout_engine("none")  # names stay where they are in the picture
    return figure


def _edges(graph: nx.MultiGraph) -> list[Edge]:
    """Return first and second body, text, and style of every edge of ``Model.graph``."""
    styles = {"drive": "drive or motor", "transmission": "transmission", "joint": "joint"}
    edges = []
    for a, b, facts in graph.edges(data=True):
        text, style = f"{facts['part']}\n{facts['type']}", styles.get(facts["kind"], "")
        if n := len(facts["redundant"]):
            text += f", {n} of {len(facts['rows'])} rows redundant"
            style = "joint with redundant rows" if style == "joint" else style
        edges.append((a, b, text, style or "force between bodies"))
    return edges


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
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        text = ax.text(0, 0, name, ha="center", va="center", fontsize="x-small", zorder=2, bbox=box)
        names.append((text, line))
    nodes = [_node(ax, name, *place) for name, place in places.items()]
    used = [style for style in _STYLES if any(edge[3] == style for edge in edges)]
    for style in used:
        ax.plot([], [], label=style, **_STYLES[style])
    if used:
        columns = max(1, int(ax.figure.get_size_inches()[0] / _ENTRY))
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), frameon=False, ncols=columns,
                  fontsize="small", handlelength=3.5)  # fmt: skip
    ax.set_title(title, fontsize="medium", loc="left")
    ax.margins(0.15)
    ax.axis("off")

    return lambda beside: _settle(ax, names, nodes, beside=beside)


def _node(ax: Any, name: str, x: float, y: float) -> Any:
    ground = name == "ground"
    box = {
        "boxstyle": "square,pad=0.4" if ground else "round,pad=0.4",
        "facecolor": "0.85" if ground else "white",
        "edgecolor": "black",
    }
    return ax.text(x, y, name, ha="center", va="center", fontsize="small", bbox=box, zorder=3)


def _places(bodies: list[str], edges: list[Edge]) -> dict[str, Any]:
    """Return where the nodes are: distances in the picture are those in the graph.

    Of several starts of the search (Kamada and Kawai), a plane drawing among them where there is
    one, that is taken after which the fewest edges cross.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(bodies)
    graph.add_edges_from((a, b) for a, b, _, _ in edges)
    if len(graph) == 1:
        return dict.fromkeys(graph, np.zeros(2))
    best = nx.kamada_kawai_layout(graph)
    least = _crossings(best, graph)
    starts = [nx.spiral_layout, *(partial(nx.random_layout, seed=i) for i in range(_RANDOM))]
    if nx.check_planarity(graph)[0]:
        starts.insert(0, nx.planar_layout)
    for start in starts if len(graph) <= _STARTS else ():
        if least == 0:
            break
        places = nx.kamada_kawai_layout(graph, pos=start(graph))
        if (n := _crossings(places, graph)) < least:
            best, least = places, n
    return dict(best)


def _crossings(places: dict[str, Any], graph: Any) -> int:
    """Return how many pairs of edges cross, drawn as straight lines."""
    ends = np.array([[places[a], places[b]] for a, b in graph.edges if a != b])
    a, d = ends[:, 0], ends[:, 1] - ends[:, 0]

    def side(i: Any, p: np.ndarray) -> np.ndarray:  # of edge i is point p
        r = p - a[i]
        return np.asarray(d[i, 0] * r[:, 1] - d[i, 1] * r[:, 0])

    i, j = np.triu_indices(len(ends), 1)
    apart = side(i, ends[j, 0]) * side(i, ends[j, 1]) < 0
    return int((apart & (side(j, ends[i, 0]) * side(j, ends[i, 1]) < 0)).sum())


def _bent(a: Any, b: Any, bend: float) -> np.ndarray:
    """Return a line (41, 2) from a to b, bent to the side by a part of its length."""
    a, b = np.asarray(a), np.asarray(b)
    across = np.array([a[1] - b[1], b[0] - a[0]])
    s = np.linspace(0.0, 1.0, 41)[:, None]
    return (1 - s) * a + s * b + 4 * s * (1 - s) * bend * across


def _settle(
    ax: Any, names: list[tuple[Any, np.ndarray]], nodes: list[Any], *, beside: bool
) -> bool:
    """Place names on their edges; return whether none covers another one or a node.

    Of the free places a name takes one where it is on few other edges.

    Parameters
    ----------
    ax : matplotlib Axes
    names : list
        A text and its line (n, 2) in data coordinates, for each edge.
    nodes : list
        Texts with a box, which stay where they are.
    beside : bool
        Whether a name that finds no room on its edge may stand beside it.
    """
    ax.figure.draw_without_rendering()  # the layout is known, and with it where points are
    held = [(n.get_bbox_patch() or n).get_window_extent() for n in nodes]
    taken: list[Box] = [(x.x0, x.y0, x.x1, x.y1) for x in held]
    to_data = ax.transData.inverted()
    lines = [ax.transData.transform(line) for _, line in names]
    clear = True
    for i, (text, _) in enumerate(names):
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height]) + _GAP
        others = np.vstack([x for k, x in enumerate(lines) if k != i] or [np.empty((0, 2))])
        boxes: list[Box] = []
        costs: list[tuple[float, int]] = []
        for sides in ((0.0, *_BESIDE), _FAR) if beside else ((0.0,),):
            middles = _candidates(lines[i], size, sides)
            here: list[Box] = [(*(p - size / 2), *(p + size / 2)) for p in middles]
            costs += [(sum(_common(b, x) for x in taken), _inside(b, others)) for b in here]
            boxes += here
            k = min(range(len(costs)), key=costs.__getitem__)
            if costs[k][0] == 0.0:
                break
        clear &= costs[k][0] == 0.0
        left, low, right, high = boxes[k]
        text.set_position(to_data.transform((0.5 * (left + right), 0.5 * (low + high))))
        taken.append(boxes[k])
    return clear


def _candidates(
    line: np.ndarray, size: np.ndarray, sides: tuple[float, ...]
) -> Iterator[np.ndarray]:
    """Yield middles of a name [pixels]: on the line first, then beside it."""
    n = len(line) - 1
    for beside in sides:
        for along in _ALONG:
            k = round(along * n)
            direction = line[min(k + 1, n)] - line[max(k - 1, 0)]
            normal = np.array([-direction[1], direction[0]])
            normal /= np.linalg.norm(normal) or 1.0
            yield line[k] + beside * normal * size


def _common(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    return max(w, 0.0) * max(h, 0.0)


def _inside(box: Box, points: np.ndarray) -> int:
    """Return how many points (n, 2) are in a box."""
    return int(np.all((points > box[:2]) & (points < box[2:]), axis=1).sum())
