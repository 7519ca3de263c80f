"""Tables of the elimination grow with the fill, also where loops close everywhere."""

import numpy as np
import pytest
from scenes import random_system

import mbd
from mbd.analyses.conformance import random_state
from mbd.machine import buffer as m
from mbd.model import layout


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
    assert entries[1] - entries[0] < 28 * (groups[1] - groups[0])


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
