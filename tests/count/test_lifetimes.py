"""Three lifetimes: tables of a model, constants, numbers of a run."""

import ast

import numpy as np
import pytest
from scenes import chain
from sources import FILES, nodes

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace


def targets(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from target.elts if isinstance(target, ast.Tuple) else [target]
        elif isinstance(node, ast.AugAssign):
            yield node.target


def writes_tables(nodes):
    """Return the lines on which a function of (I, F, ...) assigns to I[...]."""
    return [
        target.lineno
        for function in nodes
        if isinstance(function, ast.FunctionDef)
        and [a.arg for a in function.args.args][:2] == ["I", "F"]
        for target in targets(function)
        if isinstance(target, ast.Subscript) and getattr(target.value, "id", "") == "I"
    ]


def test_the_search_for_writes_finds_them():
    for body, lines in (("I[k] += 1\n    a, I[3] = 1, 2", [2, 3]), ("F[I[k]] = I[0]", [])):
        assert writes_tables(ast.walk(ast.parse(f"def f(I, F, k):\n    {body}"))) == lines


def test_no_kernel_writes_the_tables_of_a_model():
    """Compiled code would not notice: they are shared by all runs."""
    assert not {name: x for name in FILES if (x := writes_tables(nodes(name)))}


METHODS = {
    "so3": [
        mbd.GeneralizedAlpha(),
        mbd.GeneralizedAlpha(constraints="stabilized"),
        mbd.GeneralizedAlpha(constraints="velocity"),
    ],
    "directors": [mbd.EnergyMomentum()],
}


@pytest.mark.parametrize("formulation", METHODS)
def test_runs_leave_the_model_as_it_is(formulation):
    model = chain(3, (formulation,)).build()
    I, F = model.I.tobytes(), model.F.tobytes()
    for method in METHODS[formulation]:
        assert mbd.simulate(model, 0.02, 1e-3, method=method).success
        mbd.simulate(model, 0.02, 1e-3, state=mbd.consistent(model).replace(off=("pin 1",)))
        assert (model.I.tobytes(), model.F.tobytes()) == (I, F)


@pytest.mark.parametrize("formulation", NAMES)
def test_a_run_owns_floats_and_shares_the_tables(formulation):
    model = chain(4, (formulation,)).build()
    one, two = Workspace(model), Workspace(model)
    assert one.I is two.I is model.I
    assert not np.shares_memory(one.F, two.F)
    assert np.shares_memory(one.F, one.S)
    with pytest.raises(ValueError, match="read-only"):
        one.I[m.N_U] = 1
    assert len(one.F) == model.size
    assert len(model.F) < 0.5 * model.size  # what every run begins with


def test_regions_are_contiguous():
    """Constants, then state, then work; the numbers of a model end with its state."""
    model = chain(4).build()
    first = {r: [] for r in (m.CONSTANTS, m.STATE, m.WORK)}
    for place, vector in m.VECTORS.items():
        first[vector.region].append(int(model.I[place]))
    numbers = [len(x) for x in (model.F, Workspace(model).F)]
    assert m.F_HEADER < max(first[m.CONSTANTS]) < min(first[m.STATE])
    assert max(first[m.STATE]) < numbers[0] <= min(first[m.WORK])
    assert max(first[m.WORK]) < int(model.I[m.MATRIX]) < numbers[1]


def test_every_vector_is_declared_once():
    assert sorted(m.VECTORS) == list(range(m.Q, m.GROUND))
    assert all(getattr(m, v.name) == place for place, v in m.VECTORS.items())
