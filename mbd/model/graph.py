"""The graph of a model: bodies, and the joints and forces between them, for networkx."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import networkx as nx

from mbd.interactions.kind import Element
from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import redundant_rows
from mbd.model.state import State

_NONE = slice(0, 0)


def graph_of(model: FrozenModel, state: State) -> nx.MultiGraph:
    """Return the graph of a model at a state; see ``Model.graph``."""
    numbering, system = model.numbering, model.system
    graph = nx.MultiGraph(t=state.t)
    redundant, free = (
        {numbering.lam_labels[i] for i in some} for some in redundant_rows(model, state)
    )

    def rows(at: slice) -> dict[str, Any]:
        labels = numbering.lam_labels[at]
        return {
            "rows": labels,
            "redundant": tuple(x for x in labels if x in redundant),
            "not_unique": tuple(x for x in labels if x in free),
        }

    graph.add_node("ground", kind="ground", loads=(), **rows(_NONE))
    for name, body in model.nodes.items():
        labels = tuple(f"{name}.{x}" for x in body.formulation.velocities)
        graph.add_node(
            name, kind="body", formulation=body.formulation.name, mass=float(body.mass),
            velocities=labels, loads=(), **rows(numbering.owners.get(name, _NONE)),
        )  # fmt: skip
    for name, part in (system.joints | system.forces | system.structures).items():
        facts: dict[str, Any] = {
            "part": name,
            "kind": _kind(model, name),
            "type": type(part).__name__,
        }
        for i, (bodies, at) in enumerate(_links(model, name)):
            facts = facts | rows(at) | {"reaction": state.lam[at]}
            key = f"{name}[{i}]" if name in system.structures else name
            if len(bodies) == 1 and not facts["rows"]:
                graph.nodes[bodies[0]]["loads"] += (name,)
                continue
            for a, b in pairwise(["ground", *bodies] if len(bodies) == 1 else bodies):
                graph.add_edge(a, b, key=key, **facts)
    return graph


def _kind(model: FrozenModel, name: str) -> str:
    """Return what a part is between bodies."""
    if name in model.system.joints:
        return "joint"
    if name in model.system.structures:
        return "structure"
    if model.system.parts[name].drives is not None:
        return "drive"
    return "transmission" if name in model.numbering.elements else "force"


def _links(model: FrozenModel, name: str) -> Iterator[tuple[tuple[str, ...], slice]]:
    """Yield bodies and rows of a part; of a structure, of elements between the same bodies."""
    part: Any = model.system.parts[name]
    owned = model.numbering.owners.get(name, _NONE)
    if name in model.system.joints:
        yield (part.A.name, part.B.name), owned
        return
    elements = model.elements[name]
    groups, first = [elements], owned.start
    if name in model.system.structures:  # what clamps a beam is one edge
        groups = [list(some) for _, some in groupby(elements, lambda e: _bodies([e]))]
    for elements in groups:
        bodies = _bodies(elements)
        if len(bodies) == 3:  # of three the ground is the housing of two shafts
            bodies = tuple(x for x in bodies if x != "ground")
        last = first + sum(e.kind.n_rows for e in elements)
        yield bodies, slice(first, last)
        first = last


def _bodies(elements: Sequence[Element]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(a.body for e in elements for a in e.attachments))
