"""All eigenvalues of small motions, however far apart: none lost, none found twice, zeros by level.

Laws that hold for every size: stiffness-proportional damping, drags, discs on damped shafts.
"""

import numpy as np
import pytest
from families import spread
from scenes import hinged, with_body

import mbd
from mbd.base.tolerances import ROUND_OFF
from mbd.small_motions.spectrum import Pencil, spectrum

STEEL = {"young": 210e9, "poisson": 0.3, "density": 7850.0}
THIN, SQUARE = (0.02, 0.005), (0.05, 0.05)
DAMPING = [0.0, 1e-5, 1e-3, 1e-2, 0.1]  # [s]


def cantilever(section, disc, elements, damping):
    """A steel beam of 1 m; damping [s] times the stiffness."""
    system = mbd.System()
    section = mbd.Section.rectangle(*section, **STEEL)
    beam = system.add(
        mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=elements,
                 damping=damping, first=system.ground)
    )  # fmt: skip
    if disc:
        inertia = (disc * 5e-3, disc * 2.5e-3, disc * 2.5e-3)
        body = system.add(mbd.RigidBody("disc", mass=disc, inertia=inertia, position=(1, 0, 0)))
        system.add(mbd.Fixed("hub", beam.nodes()[-1], body, at=(1, 0, 0)))
    return system


def roots(w, tau):
    """s^2 + tau w^2 s + w^2 = 0: one of each pair, both where it does not oscillate."""
    half = 0.5 * tau * w**2
    apart = half**2 > w**2
    fast = -half[apart] - np.sqrt(half[apart] ** 2 - w[apart] ** 2)
    slow = w[apart] ** 2 / fast
    turning = -half[~apart] + 1j * np.sqrt(w[~apart] ** 2 - half[~apart] ** 2)
    return np.concatenate([fast, slow, turning])


@spread(tau=DAMPING, elements=[4, 8], disc=[0.0, 5.0], section=[THIN, SQUARE])
def test_damped_cantilevers_have_all_their_modes(section, disc, elements, tau):
    w = mbd.modes(cantilever(section, disc, elements, 0.0)).eigenvalues.imag
    assert len(w) == 6 * elements
    found = mbd.modes(cantilever(section, disc, elements, tau)).eigenvalues
    expected = roots(w, tau)
    assert len(found) == len(expected)
    for s in expected:
        nearest = found[np.argmin(np.abs(found - s))]
        assert abs(nearest - s) < 1e-8 * abs(s)
    # modes and the state matrix of linearize are one thing
    model = cantilever(section, disc, elements, tau)
    if elements == 4:
        poles = mbd.linearize(model).poles
        assert len(poles) == 12 * elements
        for s in expected:
            assert np.abs(poles - s).min() < 1e-8 * abs(s)


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("tau", [0.0, 1e-3])
def test_free_beams_of_any_slenderness(stiffness, tau):
    """EA L^2 / EI: six free motions that go on, the others as Euler's beam says, or damped."""
    system = mbd.System()
    shear = 0.5 * stiffness
    section = mbd.Section(
        stiffness=(stiffness, shear, shear, 1, 1, 1), mass=1.0, inertia=np.diag([2e-4, 1e-4, 1e-4])
    )
    system.add(mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=8,
                        damping=tau))  # fmt: skip
    found = mbd.modes(system)
    assert found.free_levels == (6, 6)
    s = found.eigenvalues
    assert np.count_nonzero(s == 0.0) == 6
    assert np.all(s[6:].real <= 1e-8 * np.abs(s[6:]))
    assert np.all(np.abs(s[6:]) > 1.0)
    assert found.stable
    if stiffness >= 1e6:  # 22.37 of Euler's free beam, with masses lumped at nine nodes
        lowest = np.sort(np.abs(s[6:]))[0]
        assert lowest == pytest.approx(22.373, rel=0.06)


@pytest.mark.parametrize("c", [1.0, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("stiff", [1.0, 1e8])
def test_drags_of_any_size_bring_to_rest(c, stiff):
    """s = -c/m of a body in a drag on its translations, beside a spring of any stiffness."""
    system, body = with_body("body", mass=2.0, inertia=(0.1, 0.2, 0.25))
    system.add(mbd.Bushing("drag", system.ground, body, at=(0, 0, 0), damping=(c, c, c, 0, 0, 0)))
    other = system.add(mbd.PointMass("other", mass=1.0, position=(5, 0, 0)))
    system.add(mbd.PointOnLine("line", system.ground, other, at=(5, 0, 0), axis="z"))
    system.add(
        mbd.Spring("spring", system.ground, other, at=(5, 0, 1), to=(5, 0, 0), stiffness=stiff)
    )
    found = mbd.modes(system)
    slow = found.eigenvalues[np.abs(found.eigenvalues) < 0.9]
    slow = slow[slow != 0.0]
    np.testing.assert_allclose(slow, [-c / 2] * 3, rtol=1e-10)
    assert found.free_levels == (6, 3)


@pytest.mark.parametrize("axial", [1e3, 1e8, 1e13])
@pytest.mark.parametrize("speed", [0.0, 20.0, 60.0, 120.0])
def test_damping_inside_a_shaft_makes_it_unstable(speed, axial):
    """A mass on a hub that spins: m s^2 + c (s - i speed) + k = 0, however stiff it is along."""
    m, c, k = 2.0, 5.0, 3200.0
    system, hub, _ = hinged(
        "hub", "bearing", axis="z", gravity=(0, 0, 0), inertia=(0.1, 0.1, 0.2),
        angular_velocity=(0, 0, speed), position=(0, 0, 0),
    )  # fmt: skip
    mass = system.add(mbd.RigidBody("mass", mass=m, inertia=(0.1, 0.1, 0.1)))
    system.add(
        mbd.Bushing("shaft", hub, mass, at=(0, 0, 0), stiffness=(k, k, axial, 0, 0, 0),
                    damping=(c, c, 0, 0, 0, 0))
    )  # fmt: skip
    found = mbd.modes(system)
    exact = np.roots([m, c, k - 1j * c * speed])
    exact = np.where(exact.imag < 0.0, exact.conj(), exact)  # forward and backward whirl
    s = found.eigenvalues
    for value in (*exact, 1j * np.sqrt(axial / m)):
        assert np.abs(s - value).min() < 1e-10 * abs(value)
    assert found.free_levels == (4, 4)  # the hub's turn, and those of the mass
    assert found.stable == bool(exact.real.max() <= 0.0) == (speed < 40.0)


def test_a_spinning_rotor_may_turn_and_drift():
    """Levels of a free body that spins about its axis: it may move, turn, and spin faster."""
    system, _ = with_body("top", inertia=(0.1, 0.1, 0.2), angular_velocity=(0, 0, 9))
    found = mbd.modes(system)
    assert found.free_levels[0] >= 4
    assert sum(found.free_levels) == 10
    assert "nothing holds" in str(found)


# --- pencils with known answers -------------------------------------------------------------------
@pytest.mark.parametrize("apart", [1e0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_spectrum_of_any_width(symmetric, apart):
    """Chains of springs of which each next one is stiffer, with some that are free."""
    rng = np.random.default_rng(11)
    k = np.geomspace(1.0, apart, 9)
    A, E = np.zeros((12, 12)), np.diag(rng.uniform(1, 2, 12))
    for i, x in enumerate(k):
        A[i, i] -= x
        if not symmetric and i:
            A[i, i - 1] += 0.5 * x  # rows pull at those before alone: the diagonal is the spectrum
    size = np.abs(A)
    found = spectrum(Pencil(A, E, size, E))
    assert found.levels == (3,)
    assert np.abs(np.sort(-found.s.real) / np.sort(k / E.diagonal()[:9]) - 1).max() < 1e-9
    left = A @ found.X - E @ found.X * found.s
    assert np.abs(left).max() < 1e-9 * apart


@pytest.mark.parametrize(("part", "levels"), [(0.1, (2,)), (1e4, ())])
def test_zero_is_what_round_off_can_be(part, levels):
    """An entry that is round-off of what was added in it holds nothing; a larger one does."""
    eps = np.finfo(float).eps
    A, size = np.diag([-1.0, part * eps, part * eps]), np.diag([1.0, 1.0, 1.0])
    assert spectrum(Pencil(A, np.eye(3), size, np.eye(3))).levels == levels
    assert 0.1 * eps < ROUND_OFF < 1e4 * eps


def test_vectors_of_one_group_come_from_one_solution():
    """Eigenvalues in groups of three, a decade between the groups: vectors are independent."""
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    values = np.repeat([-1.0, -10.0, -100.0], 3)
    A = (Q * values) @ Q.T
    found = spectrum(Pencil(A, np.eye(9), np.abs(A), np.eye(9)))
    assert np.linalg.cond(found.X) < 1.0 + 1e-6
