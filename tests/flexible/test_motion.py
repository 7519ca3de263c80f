"""Flexible bodies against published values, exact solutions and beams."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import brentq

import mbd
from mbd.formulations import named
from mbd.formulations.modal.body import modal
from mbd.formulations.modal.constants import ModalConstants

from .meshes import beam, ends, lattice

# few shapes on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")


# --- the slider crank of the Test Set for IVP Solvers -------------------------------------------
def test_the_slider_crank_of_simeon():
    r"""Two sines across, a quadratic along; B. Simeon, Math. Modelling of Systems 2 (1996).

    The published longitudinal mass matrix is 15 times that of the rod: the rest moves along the
    chord only. Values: Test Set for IVP Solvers, "Slider crank", MEBDFI with 1e-14.
    """
    speed, crank, rod, mass, slider = 150.0, 0.15, 0.3, 0.151104, 0.075552
    start = np.array([0, 0, 1.03339863e-5, 1.69327969e-5])  # q1 ... q4
    rates = np.array([0.444896105, 4.63434311e-3, -1.78591076e-6, -2.68938672e-6])
    spin = -speed * crank / (rod + start[3])
    s, w = np.polynomial.legendre.leggauss(20)
    s, w = 0.5 * (s + 1), 0.5 * w * mass
    shapes = np.zeros((20, 4, 3))
    shapes[:, 0, 1], shapes[:, 1, 1] = np.sin(np.pi * s), np.sin(2 * np.pi * s)
    shapes[:, 2, 0], shapes[:, 3, 0] = 4 * s * (1 - s), 2 * s**2 - s
    w0 = np.column_stack([np.ones(20), rod * s, 0 * s, 0 * s])
    W0 = (w0 * w[:, None]).T @ w0
    W0[[2, 3], [2, 3]] += 0.0045339259 - mass * rod**2 / 3
    W2 = np.einsum("n,nik,njl->ijkl", w, shapes, shapes)
    along = mass * np.array([[8.0, 1], [1, 2]])
    W2[2:, 2:, 0, 0] += 14 / 15 * along
    stiffness = np.zeros((4, 4))
    area = 2e11 * 0.008**2 / rod
    stiffness[[0, 1], [0, 1]] = area * (0.008 / rod) ** 2 * np.pi**4 * np.array([1 / 24, 2 / 3])
    stiffness[2:, 2:] = area / 3 * np.array([[16.0, -8], [-8, 7]])
    end = np.zeros((1, 4, 3))
    end[0, 3, 0] = 1.0
    constants = ModalConstants(
        W0, np.einsum("n,nk,njl->jkl", w, w0, shapes), W2, stiffness, np.zeros((4, 4)),
        np.zeros((4, 4, 3, 3)), np.array([[rod, 0, 0]]), end, np.zeros((1, 4, 3)),
    )  # fmt: skip
    system = mbd.System()
    wheel = system.add(mbd.RigidBody("crank", mass=0.36, inertia=(2e-3, 2e-3, 2e-3),
                                     angular_velocity=(0, 0, speed)))  # fmt: skip
    body = system.add(mbd.RigidBody("rod", mass=mass, inertia=(1e-3, 1e-3, 1e-3),
                                    formulation=modal(named("so3"), constants),
                                    position=(crank, 0, 0), velocity=(0, speed * crank, 0),
                                    angular_velocity=(0, 0, spin)))  # fmt: skip
    block = system.add(mbd.PointMass("slider", mass=slider, position=(crank + rod + start[3], 0, 0),
                                     velocity=(rates[3], 0, 0)))  # fmt: skip
    axle = system.add(mbd.Revolute("axle", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("pin", wheel, body, at=(crank, 0, 0), axis=(0, 0, 1)))
    tip = mbd.Frame(body, face=1)
    y_axis = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # axes whose third one is y
    system.add(mbd.Spherical("wrist", tip, mbd.Frame(block)))
    system.add(
        mbd.PointInPlane("guide", mbd.Frame(system.ground, axes=y_axis),
                         mbd.Frame(block))
    )  # fmt: skip
    system.add(mbd.Drive("motor", axle, position=mbd.ConstantSpeed(speed)))
    model = system.build()
    state = model.state
    q, v = state.q.copy(), state.v.copy()
    q[14:18], v[12:16] = start, rates
    solution = mbd.simulate(model, 0.1, 1e-5, state=state.replace(q=q, v=v), every=100)
    last = solution.state.q[14:18]
    chord = solution["rod"].rotation[-1]
    assert np.arctan2(chord[1, 0], chord[0, 0]) == pytest.approx(-0.331173498825626, abs=1e-7)
    assert solution["slider"].position[-1, 0] == pytest.approx(0.169737332842786, abs=1e-7)
    assert last[0] == pytest.approx(1.893192899613509e-4, abs=5e-8)
    assert last[1] == pytest.approx(2.375751249879174e-5, abs=2e-8)
    assert last[2:] == pytest.approx([-5.3238967705697e-6, -8.36331327911213e-6], abs=3e-8)


# --- a beam that turns: Wright et al. 1982, exact series ----------------------------------------
def clamped_modes(n, x):
    """Shapes of a clamped beam of length 1 and their slopes."""

    def characteristic(b):
        return np.cos(b) + 1 / np.cosh(b)

    roots = [brentq(characteristic, a, a + np.pi) for a in np.pi * np.arange(n)]
    shapes = []
    for b in roots:
        c = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        shapes.append((
            np.cosh(b * x) - np.cos(b * x) - c * (np.sinh(b * x) - np.sin(b * x)),
            b * (np.sinh(b * x) + np.sin(b * x) - c * (np.cosh(b * x) - np.cos(b * x))),
        ))  # fmt: skip
    return np.array(shapes)  # (n, 2, nodes)


@pytest.fixture(scope="module")
def turning():
    """Matrices of the modal coordinates of a clamped beam with EI = rho A = L = 1, spun at 6."""
    n, count, spin = 400, 5, 6.0
    M, K, x = beam(n, 1.0, 1e4, 1.0, 1.0, 1.0, 1.0, inertia=(1e-12,) * 3)
    h, middle = 1 / n, (np.arange(n) + 0.5) / n
    tension = 0.5 * (1 - middle**2)  # of unit spin
    G = sp.lil_array(K.shape)
    for e in range(n):
        for c in (1, 2):
            dofs = [6 * e + c, 6 * e + 6 + c]
            G[np.ix_(dofs, dofs)] += tension[e] / h * np.array([[1, -1], [-1, 1]])
    shapes = clamped_modes(count, x[:, 0])
    basis = np.zeros((n + 1, 6, 2 * count))
    basis[:, 1, :count], basis[:, 5, :count] = shapes[:, 0].T, shapes[:, 1].T
    basis[:, 2, count:], basis[:, 4, count:] = shapes[:, 0].T, -shapes[:, 1].T
    matrices = {}
    for name, stiffness in (("with", {"zz": G.tocsc()}), ("without", None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of the fast spin, told elsewhere
            body = mbd.FlexibleBody(
                "blade", M, K, x, {"root": [0]}, modes=basis.reshape(-1, 2 * count),
                geometric_stiffness=stiffness, angular_velocity=(0, 0, spin),
            )  # fmt: skip
        system = mbd.System()
        system.add(body)
        model = system.build()
        if stiffness is not None:
            at = {"at": (0, 0, 0), "axis": (0, 0, 1)}
            system.add(mbd.Revolute("hub", system.ground, body, **at))
            system.add(mbd.Drive("motor", system["hub"], position=mbd.ConstantSpeed(spin)))
            matrices["modes"] = mbd.modes(system, rotating=(0, 0, spin))
        A = model.assemble(model.state)
        matrices[name] = [X.toarray()[6:, 6:] for X in (A.M, A.K, A.G)]
    return matrices


def lowest(matrices, first, n):
    M, K, _ = (x[first : first + n, first : first + n] for x in matrices)
    return np.sqrt(eigh(K, M, eigvals_only=True)[0] + 0j)


def test_a_turning_beam_has_the_frequencies_of_the_exact_one(turning):
    """1, 2, 3, 5 modes; exact 4.2632254 and 7.3603730 (Wright et al. 1982, flap)."""
    for n, chord, flap in (
        (1, 4.3957, 7.4379), (2, 4.2901, 7.3760), (3, 4.2688, 7.3636), (5, 4.2639, 7.3608)
    ):  # fmt: skip
        assert lowest(turning["with"], 0, n).real == pytest.approx(chord, rel=1e-4)
        assert lowest(turning["with"], 5, n).real == pytest.approx(flap, rel=1e-4)
    assert np.abs(turning["with"][2]).max() < 1e-10
    modes = turning["modes"]
    assert 2 * np.pi * modes.frequency[:2] == pytest.approx([4.2632254, 7.3603730], rel=2e-4)
    assert {mode.label for mode in modes} == {"deformation of 'blade'"}


def test_without_geometric_stiffness_it_is_too_soft(turning):
    assert lowest(turning["without"], 0, 1).imag == pytest.approx(
        np.sqrt(36 - 3.516015**2), rel=1e-4
    )
    assert lowest(turning["without"], 5, 1).real == pytest.approx(3.516015, rel=1e-4)


# --- all modes there are: the whole mesh --------------------------------------------------------
def test_with_all_modes_a_body_bends_as_its_mesh():
    M, K, x = lattice((3, 2, 2), stiffness=1e6, mass=3.0)
    patches = ends(x)
    system = mbd.System()
    bar = system.add(mbd.FlexibleBody("bar", M, K, x, patches, fixed_modes=12))
    system.add(mbd.Fixed("wall", system.ground, bar, at=bar.patches["left"]))
    load = np.array([0.1, -0.15, 0.25])
    tip = bar.interface("right")
    system.add(mbd.PointForce("pull", tip, load))

    # the mesh with its left patch held and its right one rigid
    right = patches["right"]
    T = np.zeros((36, 18))
    inside = [i for i in range(12) if i not in {*patches["left"], *right}]
    T[(3 * np.array(inside)[:, None] + np.arange(3)).ravel(), np.arange(12)] = 1.0
    arms = x[right] - x[right].mean(axis=0)
    for node, arm in zip(right, arms, strict=True):
        T[3 * node : 3 * node + 3, 12:15] = np.eye(3)
        T[3 * node : 3 * node + 3, 15:] = np.cross(np.eye(3), arm).T
    stiff, mass = T.T @ K @ T, T.T @ M @ T
    f = np.zeros(18)
    f[12:15] = load
    exact = np.linalg.solve(stiff, f)[12:15]
    pose = mbd.equilibrium(system)
    moved = pose["bar/right"].position - tip.start[0]
    assert np.allclose(moved, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    frequencies = np.sqrt(eigh(stiff, mass, eigvals_only=True)) / (2 * np.pi)
    system = mbd.System()
    system.add(bar)
    system.add(mbd.Fixed("wall", system.ground, bar, at=bar.patches["left"]))
    modes = mbd.modes(mbd.equilibrium(system))
    assert [x.frequency for x in modes][:12] == pytest.approx(frequencies[:12], rel=1e-6)


# --- a crank drive against a beam ---------------------------------------------------------------
def crank_drive(rod, speed=60.0):
    """A crank of 0.1 m at constant speed, a steel rod of 0.3 m, 8 mm square, a block of 0.05 kg."""
    system = mbd.System()
    crank = system.add(mbd.RigidBody("crank", mass=0.2, inertia=(1e-4,) * 3, position=(0.05, 0, 0),
                                     velocity=(0, 0.05 * speed, 0),
                                     angular_velocity=(0, 0, speed)))  # fmt: skip
    axle = system.add(mbd.Revolute("axle", system.ground, crank, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("motor", axle, position=mbd.ConstantSpeed(speed)))
    block = system.add(mbd.RigidBody("block", mass=0.05, inertia=(1e-5,) * 3, position=(0.4, 0, 0)))
    start = {"velocity": (0, 0.1 * speed, 0), "angular_velocity": (0, 0, -speed / 3)}
    section = mbd.Section.rectangle(0.008, 0.008, young=2e11, poisson=0.3, density=7850)
    if rod == "beam":
        part = system.add(mbd.Beam("rod", points=[(0.1, 0, 0), (0.4, 0, 0)], section=section,
                                   elements=8, **start))  # fmt: skip
        first, last = part.first, part.last
    else:
        EA, _, _, GJ, EI2, EI3 = np.diag(section.stiffness)
        M, K, x = beam(16, 0.3, EA, GJ, 1e3 * EI2, EI3, section.mass, inertia=(1e-6,) * 3)
        first = last = system.add(
            mbd.FlexibleBody("rod", M, K, x, {"pin": [0], "wrist": [16]}, modes=3,
                             position=(0.1, 0, 0), **start)
        )  # fmt: skip
    system.add(mbd.Revolute("pin", crank, first, at=(0.1, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("wrist", last, block, at=(0.4, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Prismatic("guide", system.ground, block, at=(0.4, 0, 0), axis=(1, 0, 0)))
    return system


def test_a_crank_drive_bends_as_one_with_a_beam():
    runs = [mbd.simulate(crank_drive(x), 0.1, 1e-4) for x in ("beam", "modes")]
    middles, chords = [], []
    for run, ends_ in zip(runs, (("rod.0", "rod.8"), ("rod/pin", "rod/wrist")), strict=True):
        a, b = (run[x].position for x in ends_)
        there = run["rod.4"].position if "rod.8" in ends_ else run["rod"].points(8)[:, 0]
        chord = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
        across = np.column_stack([-chord[:, 1], chord[:, 0]])
        middles.append(((there - a)[:, :2] * across).sum(axis=1))
        chords.append(b)
    size = np.abs(middles[0]).max()
    assert size > 2e-5
    assert np.abs(middles[1] - middles[0]).max() < 0.05 * size
    assert np.abs(chords[1] - chords[0]).max() < 5e-6


def test_a_column_of_pieces_buckles_and_one_that_is_too_few_is_told():
    """Euler's load of a cantilever; a body with modes is not softened by loads, its pieces are."""
    EI, told = 150.0, []
    for pieces, error in ((1, 0.22), (2, 0.053), (8, 0.0032)):
        L = 1 / pieces
        M, K, x = beam(4, L, EA=2.1e7, GJ=110.0, EI2=EI, EI3=2 * EI, mass_per_length=0.78)
        system = mbd.System()
        end = system.ground
        for i in range(pieces):
            body = system.add(
                mbd.FlexibleBody(f"r{i}", M, K, x, {"a": [0], "b": [4]}, position=(i * L, 0, 0))
            )
            system.add(mbd.Fixed(f"weld {i}", end, body, at=(i * L, 0, 0)))
            end = body
        system.add(mbd.PointForce("load", end.interface("b"), (-1, 0, 0)))
        with warnings.catch_warnings(record=True) as some:
            warnings.simplefilter("always")
            factor = mbd.buckling(system).factors[0]
        assert factor / (np.pi**2 * EI / 4) - 1 == pytest.approx(error, rel=0.1)
        told.append(any("its modes do not know" in str(w.message) for w in some))
    assert told == [True, True, False]
