"""Tables of the elimination grow with the fill, also where loops close; what an entry can hold."""

import numpy as np
import pytest
from scenes import random_system

import mbd
from mbd.analyses.conformance import random_state
from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON
from mbd.model import layout
from mbd.model.evaluation import evaluate_kernel
from mbd.model.workspace import Workspace


def net(n):
    """Return a square net of bodies on bushings."""
    system, bodies = mbd.System(), {}
    for i in range(n * n):
        here = (i // n, i % n)
        bodies[here] = system.add(mbd.RigidBody(f"b{i}", mass=1.0, inertia=(1, 1, 1)))
        for before in ((here[0] - 1, here[1]), (here[0], here[1] - 1)):
            if before in bodies:
                one, name = bodies[before], f"b{i} {before}"
                system.add(mbd.Bushing(name, one, bodies[here], at=(0, 0, 0), stiffness=[1.0] * 6))
    return system.build()


def test_tables_grow_with_the_fill():
    small, large = net(4), net(12)
    groups = [sum(len(f.updates) for f in model.fronts) for model in (small, large)]
    entries = [len(model.I) for model in (small, large)]
    fill = [n / len(model.fronts) for n, model in zip(groups, (small, large), strict=True)]
    assert fill[1] > 1.8 * fill[0]  # what each body reaches
    assert entries[1] - entries[0] < 32 * (groups[1] - groups[0])


@pytest.mark.parametrize("shape", ["web", "tree", "ladder"])
def test_a_matrix_filled_in_stretches_is_the_matrix(shape, monkeypatch):
    """Each front a stretch: what reaches into another one is there when it is cleared."""
    system = random_system(shape, np.random.default_rng(3), 8)
    whole = system.build()
    monkeypatch.setattr(layout, "STRETCH", 1)
    parts = system.build()
    assert len(parts.kernels[m.TANGENT]) >= 2 * len(parts.fronts)
    assert len(whole.kernels[m.TANGENT]) < len(parts.kernels[m.TANGENT])
    state = random_state(whole, np.random.default_rng(4))
    one, other = whole.assemble(state), parts.assemble(state)
    for name in ("M", "G", "K", "B", "Bt"):
        a, b = getattr(one, name).toarray(), getattr(other, name).toarray()
        assert np.abs(a - b).max() <= 1e-13 * np.abs(a).max(), name


def test_entries_hold_places_and_halves_of_addresses():
    large = [0, 1, m.PLACES - 1]
    assert m.entries(large, [7]).tolist() == [*large, 7]
    for address in (0, 5, (1 << 47) - 3, (1 << 57) + (1 << 31) + 1):
        I = m.entries([4], m.halves(address))
        assert m.joined(I, 1) == address


@pytest.mark.parametrize("wrong", [-1, m.PLACES])
def test_what_no_entry_can_hold_is_refused(wrong):
    with pytest.raises(MemoryError, match=r"tables hold places from 0 to 2147483648 floats"):
        m.entries([3], [wrong])


def test_a_model_beyond_the_places_of_its_tables_is_refused(monkeypatch):
    monkeypatch.setattr(m, "PLACES", 1 << 10)
    with pytest.raises(MemoryError, match="take fewer bodies"):
        net(3)


@pytest.mark.skipif(PYTHON, reason="compiled kernels alone read memory as it is")
def test_a_kernel_takes_no_other_tables():
    model = net(2)
    work = Workspace(model)
    with pytest.raises(TypeError, match="array of int32, got int64"):
        evaluate_kernel(model.I.astype(np.int64), work.F)
    with pytest.raises(TypeError, match="array of float64, got float32"):
        evaluate_kernel(model.I, work.F.astype(np.float32))
