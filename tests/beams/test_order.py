"""Elements of order four: frequencies against transfer matrices, masses, conservation."""

import warnings

import numpy as np
import pytest
from families import some
from scipy.linalg import block_diag, expm
from scipy.optimize import brentq

import mbd
from mbd.algebra.rotations import tilde
from mbd.interactions.kind import Element
from mbd.interactions.masses.points import masses
from mbd.parts.part import Part

RECTANGLE = mbd.Section.rectangle(0.04, 0.06, young=210e9, poisson=0.3, density=7850)


def full():
    """Return a section with all couplings: bending with torsion, forces with moments, offsets."""
    C = np.diag([1368.17e3, 88.56e3, 38.78e3, 16.96e3, 59.12e3, 141.47e3])
    C[3:, 3:] += [[0, 17.61e3, -351], [17.61e3, 0, -370], [-351, -370, 0]]
    C[0, 4] = C[4, 0] = 4e4
    C[1, 3] = C[3, 1] = 8e3
    return mbd.Section(stiffness=C, mass=1.0, inertia=(0.02, 0.005, 0.015), center=(0.02, -0.03))


def frequency(section, curvature, L, near, width):
    """Return the circular frequency of a clamped, free beam in a bracket; strains are u' + X u.

    State (u, theta, N, M) in section axes: u' = C^-1 sigma - X u, sigma' = X^T sigma - omega^2 w u,
    with constant X of the reference; a frequency makes the transfer of (N, M) singular.
    """
    C, W = section.stiffness, section.mass_matrix
    mu, E = W[0, 0], W[1:, 1:]
    offset = tilde(W[0, 1:])
    w = np.block([[mu * np.eye(3), -offset], [offset, np.trace(E) * np.eye(3) - E]])
    turn = tilde(np.array(curvature))
    X = np.block([[turn, tilde(np.array([1.0, 0.0, 0.0]))], [np.zeros((3, 3)), turn]])
    size = np.repeat([1.0, near**2 * mu], 6)

    def determinant(omega):
        A = np.block([[-X, np.linalg.inv(C)], [-(omega**2) * w, X.T]])
        return np.linalg.det(expm(A / size[:, None] * size * L)[6:, 6:])

    return brentq(determinant, near * (1 - width), near * (1 + width), xtol=1e-12 * near)


def omegas(n, options, order=4):
    system = mbd.System()
    system.add(mbd.Beam("beam", elements=n, order=order, first=system.ground, **options))
    return np.sort(2 * np.pi * mbd.modes(system).frequency)


def straight(L, section=RECTANGLE, twist=0.0):
    options = {"points": [(0, 0, 0), (L, 0, 0)], "section": section, "twist": twist}
    return options, (twist / L, 0, 0), L


def arc(R, section):
    def points(p):
        return R * np.sin(np.pi / 2 * p), R * (1 - np.cos(np.pi / 2 * p)), 0

    return {"points": points, "section": section}, (0, 0, 1 / R), R * np.pi / 2


# largest errors of the first four frequencies with 8, 16 and 32 elements
FAMILY = [
    *((straight(0.06 * r), (3e-3, 4e-5, 3e-6)) for r in (5, 20, 100, 1000)),
    *((straight(0.6, twist=x), (3e-3, 5e-5, 5e-6)) for x in (np.pi / 2, np.pi)),
    (straight(3.0, full()), (2e-3, 5e-5, 1e-5)),
    (straight(10.0, full(), 1.0), (4e-3, 2e-4, 3e-5)),
    (arc(0.5, RECTANGLE), (2e-3, 1e-4, 1e-5)),
]


@pytest.mark.parametrize(("beam", "errors"), FAMILY)
def test_frequencies_of_order_four(beam, errors):
    """Of slenderness 5 to 1000, twisted by 0, 90 and 180 degrees, coupled, curved."""
    options, curvature, L = beam
    found = [omegas(n, options)[:4] for n in (8, 16, 32)]
    exact = [frequency(options["section"], curvature, L, x, 2e-4) for x in found[-1]]
    got = np.abs(np.array(found) / exact - 1).max(axis=1)
    assert (got < errors).all(), got
    assert got[2] < got[1] / 8 or got[2] < 1e-5, got
    two = np.abs(omegas(32, options, order=2)[:4] / exact - 1).max()
    assert got[2] < 0.5 * two


def test_the_eighth_frequency_of_timoshenko_s_beam():
    """With 64 elements it was 3e-3 off."""
    options, curvature, L = straight(0.6)
    found = omegas(64, options)[7]
    assert found == pytest.approx(frequency(RECTANGLE, curvature, L, found, 1e-4), rel=2e-6)


def test_a_very_slender_beam_has_the_frequencies_of_bernoulli():
    roots = np.array([1.87510406871196, 4.69409113297418, 7.85475743823761])
    section = mbd.Section(stiffness=(1e8, 1e8, 1e8, 1.0, 1.0, 3.0), mass=1.0)  # L/r = 1e4
    found = omegas(20, {"points": [(0, 0, 0), (1, 0, 0)], "section": section})
    assert np.allclose(found[[0, 2, 4]], roots**2, rtol=2e-5)


def test_no_motion_has_a_negative_energy():
    """Of any ratio of stiffness, inertia and length, tapered, twisted, with corners."""
    rng = np.random.default_rng(1)
    for k in range(40):
        L, n = 10 ** rng.uniform(-1, 2), int(rng.integers(1, 9))
        EI, GA = 10 ** rng.uniform(-2, 4, 2), 10 ** rng.uniform(-2, 8, 2)
        EA, center = 10 ** rng.uniform(0, 8), rng.normal(size=2)
        r2 = L**2 * 10 ** rng.uniform(-8, 0.5, 2)
        third = np.ptp(r2) + (1.0 if k % 3 else 0.4) * 2 * r2.min()
        sections = [
            mbd.Section(stiffness=np.array([EA, *GA, 1.0, *EI]) * f, mass=f,
                        inertia=(third * f, *(r2 * f)), center=center * np.sqrt(r2))
            for f in (1.0, 0.3)
        ]  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of masses that are shared by halves
            beam = mbd.Beam("beam", points=L * np.array([(0, 0, 0), (0.6, 0.2, 0), (1, 0, 0.3)]),
                            section=sections, elements=n, twist=0.5, smooth=bool(k % 2),
                            order=4)  # fmt: skip
        M = np.zeros((12 * len(beam.nodes()),) * 2)
        for a, node in enumerate(beam.nodes()):
            E = 0.5 * np.trace(node.inertia) * np.eye(3) - node.inertia
            c = np.concatenate([[1.0], node.center_of_mass])
            W = node.mass * np.outer(c, c) + block_diag(0.0, E)
            M[12 * a : 12 * a + 12, 12 * a : 12 * a + 12] += np.kron(W, np.eye(3))
        for element in beam.elements():
            if element.kind.accelerated:
                lift = np.zeros((8, len(M) // 3))
                for row, end in zip(lift, element.attachments, strict=True):
                    a = 4 * int(end.body.split(".")[1])
                    row[a : a + 4] = end.weights
                m = lift.T @ np.reshape(element.numbers, (8, 8)) @ lift
                M += np.kron(m, np.eye(3))
        P = block_diag(*[_turning(x.rotation) for x in beam.nodes()])
        M = P.T @ M @ P
        d = 1 / np.sqrt(np.diag(M))
        assert np.linalg.eigvalsh(d[:, None] * M * d)[0] > -1e-13


def _turning(R):
    """Return the rates of origin and directors by those of position and rotation, (12, 6)."""
    P = np.zeros((12, 6))
    P[:3, :3] = np.eye(3)
    for k in range(3):
        P[3 + 3 * k : 6 + 3 * k, 3:] = -tilde(R[:, k])
    return P


class Frames(Part):
    """A constant mass between two frames."""

    def __init__(self, one, two):
        self.name, self.A, self.B = "part", one, two
        L = np.random.default_rng(4).normal(size=(8, 8))
        self.numbers = (0.1 * L @ L.T).ravel()

    @property
    def ends(self):
        return self.A, self.B

    def elements(self):
        ends = [frame.end(axis) for frame in self.ends for axis in (None, 0, 1, 2)]
        return [Element(masses(8, frames=True), ends, self.numbers)]


@pytest.mark.parametrize(
    "formulations",
    some([("so3", "directors"), ("se3", "unified"), ("euler_parameters", "scalable")], 2),
)
def test_masses_between_frames_have_the_properties_of_every_part(formulations):
    one, two = (
        mbd.RigidBody(name, mass=2.0, inertia=(0.3, 0.4, 0.5), position=p, formulation=f)
        for name, p, f in zip("ab", ((0, 0, 0), (0.8, 0.3, -0.1)), formulations, strict=True)
    )
    assert mbd.check_part(Frames(one.frame((0.1, 0.2, -0.1)), two.frame((0.2, -0.1, 0.1)))).ok
