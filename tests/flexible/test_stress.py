"""Stiffness from the stress of loads: columns, spinning blades, bars held at both ends."""

import warnings

import numpy as np
import pytest
from families import some
from scipy.special import ellipk

import mbd
from mbd.model.workspace import displaced

from .meshes import beam


def stressed(n, length, tension):
    """Geometric stiffness of Hermite elements of a beam along x, of the tension in each [N]."""
    h, G = length / n, np.zeros((6 * n + 6, 6 * n + 6))
    for e in range(n):
        for w, t, s in ((1, 5, 1.0), (2, 4, -1.0)):
            dofs = [6 * e + w, 6 * e + t, 6 * e + 6 + w, 6 * e + 6 + t]
            a, b = s * 3 * h, h * h
            G[np.ix_(dofs, dofs)] += tension[e] / (30 * h) * np.array([
                [36, a, -36, a], [a, 4 * b, -a, -b], [-36, -a, 36, -a], [a, -b, -a, 4 * b],
            ])  # fmt: skip
    return G


def pull(n):
    """Unit tension: of the ends against each other."""
    F = np.zeros(6 * n + 6)
    F[0], F[6 * n] = -1.0, 1.0
    return F


N, EI = 16, 150.0
M, K, X = beam(N, 1.0, EA=2.1e7, GJ=110.0, EI2=EI, EI3=2 * EI, mass_per_length=0.78)
PULL, G = pull(N), stressed(N, 1.0, np.ones(N))


def column(references, formulation="so3", **options):
    system = mbd.System()
    ends = {"a": [0], "b": [N]}
    rod = system.add(mbd.FlexibleBody("rod", M, K, X, ends, load_stiffness=references,
                                      formulation=formulation, **options))  # fmt: skip
    system.add(mbd.Fixed("wall", system.ground, rod, at=(0, 0, 0)))
    system.add(mbd.PointForce("load", rod.interface("b"), (-1, 0, 0)))
    return system


def test_a_column_of_one_body_has_the_load_of_euler():
    """pi^2 EI / 4 L^2; of the end's motions alone 0.75 % too much, as one element has."""
    euler = np.pi**2 * EI / 4
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # it knows that loads soften it
        for options, error, tolerance in (({}, 0.0, 5e-5), ({"fixed_modes": 0}, 0.00752, 2e-5)):
            factor = mbd.buckling(column({"pull": (PULL, G)}, **options)).factors[0]
            assert factor / euler - 1 == pytest.approx(error, abs=tolerance)


def far_column(x):
    """Return frequencies and critical load of a column whose nodes are at x from its origin."""
    system, nodes = mbd.System(), X + np.array([x, 0.0, 0.0])
    rod = mbd.FlexibleBody("rod", M, K, nodes, {"a": [0], "b": [N]}, position=(-x, 0, 0),
                           load_stiffness={"pull": (PULL, G)})  # fmt: skip
    system.add(mbd.Fixed("wall", system.ground, system.add(rod), at=(0, 0, 0)))
    system.add(mbd.PointForce("load", rod.interface("b"), (-1, 0, 0)))
    modes = mbd.modes(mbd.equilibrium(system), n=3)
    return [*modes.frequency, mbd.buckling(system).factors[0]]


def test_a_mesh_far_from_its_origin_is_as_at_home_or_refused():
    """Beyond some hundred lengths digits are lost."""
    at_home = far_column(0.0)
    for x in (1e2, 2.9e2):
        assert np.allclose(far_column(x), at_home, rtol=1e-5)
    for x in (1e3, 1e7):
        with pytest.raises(ValueError, match=r"rod: nodes must be near .* from it, of a mesh of 1"):
            far_column(x)


def test_what_the_references_are_called_and_how_large_they_are_does_not_matter():
    """Two loads and two others that they make up are the same body."""
    twist = np.zeros_like(PULL)
    twist[0 * 6 + 1], twist[0 * 6 + 5], twist[6 * N + 1] = -1.0, -1.0, 1.0  # a cantilever's load
    H = stressed(N, 1.0, np.linspace(1, 2, N))  # any symmetric matrix will do here
    pairs = (
        {"a": (PULL, G), "b": (twist, H)},
        {"c": (7 * PULL - twist, 7 * G - H), "d": (twist + 90 * PULL, H + 90 * G)},
    )
    K2 = []
    for references in pairs:
        system = column(references)
        model = system.build()
        start = model.state
        bent = displaced(model, start, 1e-3 * np.linspace(-1, 1, model.n_v))
        K2.append(model.assemble(bent).K.toarray())
    assert np.abs(K2[0] - K2[1]).max() < 1e-9 * np.abs(K2[0]).max()


@pytest.mark.parametrize("frame", some(["so3", "directors"], 2))
def test_stress_is_a_force_with_its_tangent(frame):
    system = column({"pull": (PULL, G)}, frame, damping=0.01)
    system.add(mbd.PointForce("side", system["rod"].interface("b"), (300.0, 4.0, -9.0)))
    model = system.build()
    bent = displaced(model, model.state, 1e-3 * np.linspace(-1, 1, model.n_v))
    mbd.check_tangents(model, state=bent)  # raises


@pytest.mark.parametrize("spin", [2.0, 6.0, 10.0])
def test_a_blade_whose_reference_load_is_that_of_the_spin_stiffens_with_it(spin):
    """Wright et al. (1982): EI = rho A = L = 1; flap, and in the plane of the disk."""
    flap = {2.0: (4.13732, 22.6149), 6.0: (7.36037, 26.8091), 10.0: (11.2023, 33.6404)}[spin]
    chord = {2.0: 3.62180, 6.0: 4.26323, 10.0: 5.04897}[spin]
    n = 32
    mass, stiff, x = beam(n, 1.0, 1e6, 1e2, 1.0, 1.0, 1.0, inertia=(1e-8,) * 3)
    F = np.zeros(6 * n + 6)
    F[::6] = mass.diagonal()[::6] * x[:, 0]
    tension = F[::6][::-1].cumsum()[::-1][1:]
    F[0] -= F[::6].sum()
    system = mbd.System()
    blade = mbd.FlexibleBody(
        "blade", mass, stiff, x, {"root": [0]}, fixed_modes=12, geometric_stiffness={},
        load_stiffness={"spin": (F, stressed(n, 1.0, tension))}, angular_velocity=(0, 0, spin),
    )  # fmt: skip
    system.add(blade)
    hub = system.add(mbd.Revolute("hub", system.ground, blade, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("motor", hub, position=mbd.ConstantSpeed(spin)))
    pose = mbd.equilibrium(system, rotating=(0, 0, spin))  # stretched: modes turn with the frame
    there = 2 * np.pi * mbd.modes(pose).frequency
    assert there[:2] == pytest.approx([chord, flap[0]], rel=5e-4)
    assert there[3] == pytest.approx(flap[1], rel=2e-3)


@pytest.mark.parametrize(("ratio", "published"), [(1.0, 1.0892), (2.0, 1.3178), (3.0, 1.6257)])
def test_a_bar_held_at_both_ends_swings_as_woinowsky_krieger_says(ratio, published):
    """Frequency over that of small amplitudes, amplitude over radius of gyration: hinged ends."""
    alpha = ratio**2 / 4
    exact = np.sqrt(1 + alpha) * np.pi / (2 * ellipk(alpha / (2 * (1 + alpha))))
    assert exact == pytest.approx(published, rel=1e-4)
    radius, n = 1e-3, 8
    mass, stiff, x = beam(n, 1.0, 1.0 / radius**2, 1.0, 1.0, 1.0, 1.0, inertia=(1e-6,) * 3)
    system = mbd.System()
    bar = system.add(mbd.FlexibleBody(
        "bar", mass, stiff, x, {"a": [0], "b": [n]}, fixed_modes=4,
        load_stiffness={"pull": (pull(n), stressed(n, 1.0, np.ones(n)))},
    ))  # fmt: skip
    system.add(mbd.Revolute("left", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    right = bar.interface("b")
    system.add(mbd.Spherical("right", system.ground.frame((1, 0, 0)), right))
    model = system.build()
    modes = mbd.modes(model)
    first = int(np.argmin(np.abs(2 * np.pi * modes.frequency - np.pi**2)))
    shape = np.real(modes.shapes[:, first])
    slow = mbd.simulate(model, 1e-9, 1e-9, state=model.state.replace(v=shape))["bar"]
    middle = np.diff(slow.points([n // 2])[:, 0, 2])[0] / 1e-9  # speed there
    size = ratio * radius * np.pi**2 * np.sqrt(1 + alpha / 2) / middle
    state = model.state.replace(v=size * shape)
    run = mbd.simulate(model, 3.0, 1e-3, state=state)
    energy = run.energy
    assert np.ptp(energy.balance) < 2e-4 * np.ptp(energy.potential)
    z = run["bar"].points([n // 2])[:, 0, 2]
    assert np.abs(z).max() == pytest.approx(ratio * radius, rel=2e-3)
    at = np.flatnonzero(z[1:] * z[:-1] < 0)[1:]
    zero = run.t[at] - z[at] * 1e-3 / (z[at + 1] - z[at])
    frequency = np.pi * (len(zero) - 1) / (zero[-1] - zero[0])
    assert frequency / np.pi**2 == pytest.approx(published, rel=2e-3)


def test_references_that_are_none_are_refused():
    ones = np.ones(len(PULL))
    for references, text in (
        ({"pull": (ones, G)}, r"load_stiffness\['pull'\] must be in balance, with the reactions"),
        ({"pull": (PULL[:6], G)}, r"load_stiffness\['pull'\] must have 102 nodal forces"),
        ({"pull": (0 * PULL, G)}, "finite and not all zero"),
        ({"pull": (np.nan * PULL, G)}, "finite and not all zero|finite"),
        ({"pull": (PULL, np.eye(6))}, r"load_stiffness\['pull'\] must be \(51, 51\)"),
        ({"a": (PULL, G), "b": (-3 * PULL, G)}, "loads that deform the body, each in its way"),
        ({"pull": (PULL, np.triu(G))}, "must be symmetric"),
    ):
        with pytest.raises(ValueError, match=text):
            column(references)
    for references in ({"pull": PULL}, [PULL, G], {"pull": 5.0}):
        with pytest.raises(TypeError, match="rod: load_stiffness"):
            column(references)
    for options, text in (
        ({"modes": 6}, "load_stiffness need the statics of all that interfaces can do"),
        ({"geometric_stiffness": {"zz": G}}, "give one of geometric_stiffness and load_stiffness"),
    ):
        with pytest.raises(ValueError, match=text):
            column({"pull": (PULL, G)}, **options)
