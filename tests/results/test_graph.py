"""The graph of a model, for networkx."""

import networkx as nx
import numpy as np
import pytest
from scenes import chain, four_bar, random_system

import mbd

SHAPES = ("chain", "tree", "star", "ladder", "ring", "floating", "web")


@pytest.mark.parametrize("shape", SHAPES)
def test_loops_islands_and_rows_are_those_of_the_report(shape):
    model = random_system(shape, np.random.default_rng(5)).build()
    graph, report = model.graph(), model.report()
    rows = [e for *_, e in graph.edges(data=True) if e["rows"]]
    n_rows = sum(len(e["rows"]) for e in rows)
    own = sum(x.formulation.n_own for x in model.nodes.values())
    assert n_rows == model.n_lam - own
    assert sum(len(x) for _, x in graph.nodes(data="rows")) == own
    joints = graph.edge_subgraph(
        (a, b, k) for a, b, k, e in graph.edges(keys=True, data=True) if e["rows"]
    )
    loops = joints.number_of_edges() - joints.number_of_nodes()
    assert loops + nx.number_connected_components(joints) == len(report.loops)
    alone = nx.MultiGraph(joints)
    alone.add_nodes_from(model.nodes)
    alone.remove_nodes_from(["ground"])
    assert sorted(map(sorted, nx.connected_components(alone))) == sorted(map(list, report.islands))


def test_reactions_are_those_of_the_state():
    model = chain(4).build()
    state = mbd.consistent(model)
    graph = model.graph(state)
    path = nx.shortest_path(graph, "ground", "bar 3")
    assert path == ["ground", "bar 0", "bar 1", "bar 2", "bar 3"]
    lifted = [graph.edges[a, b, f"pin {i}"]["reaction"][2] for i, (a, b) in
              enumerate(zip(path, path[1:], strict=False))]  # fmt: skip
    assert np.allclose(lifted, [state.lam[model.numbering.owners[f"pin {i}"]][2] for i in range(4)])
    assert graph.graph["t"] == state.t


def test_what_is_no_joint():
    system = four_bar()
    section = mbd.Section(stiffness=(1e4, 5e3, 5e3, 20.0, 30.0, 20.0), mass=0.5,
                          inertia=(2e-4, 1e-4, 1e-4))  # fmt: skip
    beam = system.add(mbd.Beam("beam", points=[(0, 3, 0), (1, 3, 0)], section=section, elements=2,
                               first=system.ground))  # fmt: skip
    system.add(mbd.Spring("spring", beam.last, system["right"], stiffness=30.0))
    system.add(mbd.Motor("motor", system["A"].angle, 3.0))
    model = system.build()
    graph = model.graph()
    assert graph.has_edge("beam.2", "right", "spring")
    kinds = {e["part"]: e["kind"] for *_, e in graph.edges(data=True)}
    assert kinds["motor"] == "drive"
    assert kinds["spring"] == kinds["push"] == "force"
    assert kinds["beam"] == "structure"
    assert kinds["A"] == "joint"
    (loop,) = model.report().loops  # clamps are none
    assert set(loop) == {"left", "coupler", "right", "ground"}
    of_beam = {k: e for *_, k, e in graph.edges(keys=True, data=True) if k.startswith("beam[")}
    assert len(of_beam) >= 2
    clamp = [e for e in of_beam.values() if e["rows"]]  # elements bend, the clamp alone holds
    assert [len(e["rows"]) for e in clamp] == [len(clamp[0]["reaction"])] == [6]
    assert graph.nodes["left"]["mass"] == 1.0
    assert nx.has_path(graph, "beam.2", "ground")
