"""The graph of a model: bodies, and the joints and forces between them, for networkx."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx

from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import redundant_rows
from mbd.model.state import State


def graph_of(model: FrozenModel, state: State) -> nx.MultiGraph:
    """Return the graph of a model at a state; see ``Model.graph``."""
    numbering, system = model.numbering, model.system
    graph = nx.MultiGraph(t=state.t)
    graph.add_node("ground", kind="ground", loads=())
    for name, body in model.nodes.items():
        labels = tuple(f"{name}.{x}" for x in body.formulation.velocities)
        graph.add_node(
            name, kind="body", formulation=body.formulation.name, mass=float(body.mass),
            velocities=labels, loads=(),
        )  # fmt: skip
    redundant, free = (
        {numbering.lam_labels[i] for i in some} for some in redundant_rows(model, state)
    )
    for name, part in (system.joints | system.forces | system.structures).items():
        rows = numbering.owners.get(name, slice(0, 0))
        labels = numbering.lam_labels[rows]
        facts: dict[str, Any] = {
            "part": name, "kind": _kind(model, name), "type": type(part).__name__, "rows": labels,
            "redundant": tuple(x for x in labels if x in redundant),
            "not_unique": tuple(x for x in labels if x in free), "reaction": state.lam[rows],
        }  # fmt: skip
        for i, bodies in enumerate(_chains(model, name)):
            key = f"{name}[{i}]" if name in system.structures else name
            if len(bodies) == 1 and not labels:
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


def _chains(model: FrozenModel, name: str) -> list[list[str]]:
    """Return which bodies each element of a structure, or a whole part, is attached to."""
    part: Any = model.system.parts[name]
    if name in model.system.joints:
        return [[part.A.name, part.B.name]]
    elements = part.elements()
    together = [[e] for e in elements] if name in model.system.structures else [elements]
    chains = [list(dict.fromkeys(a.body for e in some for a in e.attachments)) for some in together]
    return [
        [x for x in bodies if x != "ground"] if len(bodies) == 3 else bodies for bodies in chains
    ]  # of three the ground is the housing of two shafts
