"""Equilibria past critical points: columns that bend over, rotors that may turn.

The elastica by elliptic integrals: S. P. Timoshenko, J. M. Gere, Theory of elastic stability, 1961,
2.7; a cantilever whose end turns by a under P has P = K(k)^2 EI/L^2, k = sin(a/2).
"""

import numpy as np
import pytest
from families import some, spread
from scenes import hinged
from scipy.special import ellipe, ellipk

import mbd


def pushed(turn, EA, direction=(1, 0, 0), n=16):
    """Return a column with EI = L = 1 in all planes under the load that turns its end so far."""
    system = mbd.System()
    section = mbd.Section(stiffness=(EA, EA, EA, 1, 1, 1), mass=1.0)
    end = np.array(direction) / np.linalg.norm(direction)
    column = system.add(mbd.Beam("column", points=((0, 0, 0), end), section=section, elements=n,
                                 first=system.ground))  # fmt: skip
    k = np.sin(turn / 2)
    system.add(mbd.PointForce("load", column.last, -(ellipk(k**2) ** 2) * end))
    return system, end


def tip(turn):
    """Return where the end is, along the column and across."""
    k = np.sin(turn / 2)
    K, E = ellipk(k**2), ellipe(k**2)
    return 2 * E / K - 1, 2 * k / K


@spread(degrees=[120, 176, 60], EA=[1e4, 1e10, 1e8], direction=[(1, 0, 0), (1, 2, 3)])
def test_a_straight_column_without_imperfection_becomes_the_elastica(degrees, EA, direction):
    """In no plane of its own: what may turn about the line of the load is free."""
    turn = np.radians(degrees)
    system, end = pushed(turn, EA, direction)
    found = mbd.equilibrium(system)
    assert found.stable
    assert found.free
    assert found.iterations <= 130
    at = found["column.16"].position
    along = at @ end
    across = np.linalg.norm(at - along * end)
    shortened = 25 / EA  # by the load, and as it bends
    assert (along, across) == pytest.approx(tip(turn), rel=0, abs=2e-5 + shortened)


@pytest.mark.parametrize("factor", some([1.01, 1.1, 1.5, 2.0], 2))
def test_a_column_bends_as_far_as_the_load_asks(factor):
    """The turn a of the end from K(sin(a/2))^2 = f pi^2/4."""
    low, high = 0.0, np.pi * 0.99
    for _ in range(60):
        turn = 0.5 * (low + high)
        low, high = ((turn, high) if ellipk(np.sin(turn / 2) ** 2) ** 2 < factor * np.pi**2 / 4
                     else (low, turn))  # fmt: skip
    system, end = pushed(1.0, 1e7)
    load = ellipk(np.sin(0.5) ** 2) ** 2
    found = mbd.equilibrium(system, load_factor=factor * np.pi**2 / 4 / load)
    across = np.linalg.norm(np.cross(found["column.16"].position, end))
    assert across == pytest.approx(tip(turn)[1], abs=2e-4)


@pytest.mark.parametrize("EA", [1e5, 1e8])
@pytest.mark.parametrize("n", [2, 3])
def test_a_rotor_that_may_turn_comes_to_rest(n, EA):
    """Blades alike on a shaft: gravity asks next to nothing of where it stands."""
    system, hub, _ = hinged("hub", "shaft", mass=10.0, inertia=(1, 1, 1), position=(0, 0, 0))
    section = mbd.Section(stiffness=(EA, EA, EA, 200, 200, 400), mass=1.0)
    for i in range(n):
        angle = 2 * np.pi * i / n + 0.3
        out = np.array([np.cos(angle), 0, np.sin(angle)])
        blade = mbd.Beam(f"blade {i}", points=(0.2 * out, 3 * out), section=section, elements=8,
                         up=(0, 1, 0))  # fmt: skip
        system.add(blade)
        system.add(mbd.Fixed(f"root {i}", hub, blade.first, at=0.2 * out))
    found = mbd.equilibrium(system)
    assert found.stable
    weight = 9.81 * (10.0 + n * 2.8)
    assert found["shaft"].force[2] == pytest.approx(weight, rel=1e-6)
    assert found.iterations <= 25
