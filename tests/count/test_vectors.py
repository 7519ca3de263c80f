"""A vector of the buffers has one meaning: it is written by those who compute that, no others."""

import ast

import numpy as np
import pytest
from scenes import chain
from sources import FILES, nodes

import mbd
from mbd.machine import buffer as m

NAMES = {v.name for v in m.VECTORS.values()}
STORES = "store3", "copy", "add", "clear"


def _vector(node, local):
    """Return the vector that a place F[...] belongs to: I[V] + i, I[m.V] + i, v + i."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "I":
        name = getattr(node.slice, "attr", getattr(node.slice, "id", ""))
        return name if name in NAMES else None
    return local.get(getattr(node, "id", ""))


def _pairs(target, value):
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def written(nodes):
    """Return the vectors that the functions of a file assign to, or pass to one that stores."""
    vectors = set()
    for function in (n for n in nodes if isinstance(n, ast.FunctionDef)):
        local = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target, value in (p for t in node.targets for p in _pairs(t, node.value)):
                    if isinstance(target, ast.Name):
                        local[target.id] = _vector(value, {})
        for node in ast.walk(function):
            places = []
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                places = [e for t in targets for e in getattr(t, "elts", [t])]
                places = [
                    t.slice
                    for t in places
                    if isinstance(t, ast.Subscript) and getattr(t.value, "id", "") == "F"
                ]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in STORES:
                places = node.args[1:2]
            vectors |= {_vector(place, local) for place in places}
    return vectors - {None}


def test_the_search_finds_what_is_written():
    lines = """def f(I, F, k):
    a, d = I[A], I[m.D]
    F[a + i] += F[I[m.V] + i]
    F[d], F[I[QN] + 2 * i] = 1, 2
    store3(F, I[PHID] + u, x)
    clear(F, I[m.X], n)"""
    assert written(ast.walk(ast.parse(lines))) == {"A", "D", "QN", "PHID", "X"}


METHODS, MODEL = "integration", "model"
TREE = "joint_tree"  # which shows faces by its own recursions, in work spaces of its own
AGAIN = {"derivatives"}  # steps that were taken are looked at once more
ALLOWED = {
    "PHID": {"interactions"},  # own rows of bodies: the family passes the place
    "PHIDD": {"interactions"},
    "R": {METHODS},  # velocities that are put aside
    "GAP": {MODEL, "linear", METHODS},  # of a projection too; of laws that begin
    "OFF": set(), "HELD": set(),  # by Python: which rows do not act
    "LEFT": {MODEL},
    # of one front: least pivots, and that one of them is missed
    "XS": {"linear", "machine", "derivatives"},
    "DIAG": {MODEL},
    "AL": {METHODS, "control"},  # at a jump of a load
    "AN": {METHODS, "control", *AGAIN},
    "AB": {METHODS, "control"},
    "VN": {METHODS, *AGAIN},
    "V": {METHODS, "linear", *AGAIN},  # onto the rows; of recorded instants
    "Q": {METHODS, MODEL, "derivatives"},  # back to the start of a step; of an angle looked at
    "QN": {METHODS, MODEL, "linear", "control", *AGAIN},  # of poses at which multipliers are read
    # where accelerations are found again
    "D": {METHODS, MODEL, "linear", "control", "derivatives"},
    # least multipliers; those of compliant rows where they act as springs
    "A": {METHODS, "linear", "interactions", "control", TREE, *AGAIN},
    # residual, rows, solution; before a jump and a way back
    "X": {METHODS, MODEL, "linear", "interactions", "control", "derivatives"},
    "FY": {*AGAIN, "history", TREE},  # formulations clear it by the record of a node
    "YD": {MODEL, TREE},  # forgotten where nothing needs it in a step
    "Y": {TREE}, "YDD": {TREE},  # elsewhere places are passed to the formulation
}  # fmt: skip


def test_every_vector_is_in_the_list():
    assert set(ALLOWED) == NAMES


def test_vectors_are_written_where_they_are_computed():
    rooms = {name: set() for name in NAMES}
    for file in FILES:
        for name in written(nodes(file)):
            rooms[name].add(file.split("/")[0])
    assert rooms == ALLOWED


RUNS = {
    "alpha": (mbd.GeneralizedAlpha(), "so3", True),
    "conserving": (mbd.EnergyMomentum(), "directors", True),
    "explicit": (mbd.ExplicitRungeKutta(), "so3", True),
    "motion vector": (mbd.LieRungeKutta4(), "so3", False),
    "commutator free": (mbd.LieRungeKutta4("commutator_free"), "so3", False),
    "quaternion": (mbd.LieRungeKutta4("quaternion"), "directors", False),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_state_carries_accelerations_whatever_the_method(name):
    """What generalized-alpha goes on from is an acceleration, no increment of another method."""
    method, formulation, jointed = RUNS[name]
    system = chain(2, (formulation,), spin=0.0)
    if not jointed:
        system = mbd.System(gravity=(0.3, 0, -9.81))
        inertia, omega = (0.2, 0.3, 0.4), (1.0, -2.0, 0.5)
        system.add(mbd.RigidBody("top", mass=1.3, inertia=inertia, angular_velocity=omega,
                                 formulation=formulation))  # fmt: skip
    state = mbd.simulate(system, 0.05, 1e-3, method=method).state
    size = np.abs(state.a).max()
    assert size > 1.0
    assert np.abs(state.alg - state.a).max() < 0.02 * size
