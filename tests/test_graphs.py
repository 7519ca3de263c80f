"""Components and blocks of graphs, compared with those of networkx."""

import networkx
import numpy as np
import pytest

import mbd
from mbd.algebra.graphs import blocks, components, neighbours


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    """Trees, nets, islands, nodes alone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    edges = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(seed % 40) if n > 1]
    graph = neighbours(range(n), edges)
    other = networkx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(edges)
    assert graph == {a: list(other[a]) for a in other}

    def sets(pieces):
        return sorted(sorted(map(sorted, piece)) for piece in pieces)

    assert sets(blocks(graph)) == sets(networkx.biconnected_component_edges(other))
    assert sorted(map(sorted, components(graph))) == sorted(
        map(sorted, networkx.connected_components(other))
    )


def test_two_joints_between_two_bodies_are_a_loop():
    system = mbd.System()
    rod = system.add(mbd.RigidBody("rod", mass=1.0, inertia=(1, 1, 1)))
    for name, x in (("left", -1.0), ("right", 1.0)):
        system.add(mbd.Revolute(name, system.ground, rod, at=(x, 0, 0), axis=(1, 0, 0)))
    assert system.build().report().loops == (("rod", "ground"),)
