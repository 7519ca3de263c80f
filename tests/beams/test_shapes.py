"""Beams of every shape: taper, stations, pretwist, curvature, ends on bodies; closed forms.

Of linear problems, with loads so small that squares of displacements do not count.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh

import mbd

from .test_statics import cantilever

P = 1e-4


def bending(EI):
    return mbd.Section(stiffness=(1e7, 1e7, 1e7, EI, EI, 2 * EI), mass=1.0)


def deflection(force=(0, 0, P), L=2.0, **options):
    """Return the displacement of the end of a cantilever along x."""
    system = cantilever(**({"points": [(0, 0, 0), (L, 0, 0)], "force": force} | options))
    end = system["beam"].last
    return mbd.equilibrium(system)[end.name].position - end.position


TAPERED = [
    ({"section": [bending(5), bending(1)]}, (0, 1), (5, 1)),
    ({"section": [bending(x) for x in (6, 2, 3)]}, (0, 0.5, 1), (6, 2, 3)),
    ({"section": [bending(x) for x in (6, 2, 3)], "stations": (0, 0.3, 1)}, (0, 0.3, 1), (6, 2, 3)),
    ({"section": lambda p: bending(5 - 4 * p)}, (0, 1), (5, 1)),
]


@pytest.mark.parametrize(("options", "at", "EI"), TAPERED)
def test_tapered_cantilever(options, at, EI):
    """P integral of (L - s)^2/EI(s), one element or several; EI is linear between stations."""
    L = 2.0
    want = P * quad(lambda s: (L - s) ** 2 / np.interp(s / L, at, EI), 0, L, points=[0.6, 1.0])[0]
    n = 10 if len(at) > 2 else 1  # a node at each station
    assert deflection(L=L, elements=n, **options)[2] == pytest.approx(want, rel=2e-5)


def test_stations_are_those_of_twist_too():
    """A strip that is turned by 90 degrees over the first fifth only is stiff the other way."""
    strip = mbd.Section(stiffness=(1e7, 1e7, 1e7, 5, 1, 50), mass=1.0)
    turn = {"twist": [0, np.pi / 2, np.pi / 2], "stations": (0, 0.2, 1), "elements": 10}

    def flexibility(s):
        angle = np.interp(s / 2, (0, 0.2, 1), (0, np.pi / 2, np.pi / 2))
        return (2 - s) ** 2 * (np.cos(angle) ** 2 / 1 + np.sin(angle) ** 2 / 50)

    want = P * quad(flexibility, 0, 2, points=[0.4])[0]
    assert deflection(section=strip, **turn)[2] == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize(("load", "tip"), [((0, 1, 0), 5.424e-3), ((0, 0, 1), 1.754e-3)])
def test_twisted_beam_of_macneal_and_harder(load, tip):
    """A strip turned by 90 degrees: R. MacNeal, R. Harder, Finite Elem. Anal. Des. 1 (1985) 3-20.

    Length 12, section 1.1 x 0.32, E = 29e6, nu = 0.22, clamped with its width along z.
    """
    strip = mbd.Section.rectangle(0.32, 1.1, young=29e6, poisson=0.22, density=1.0)
    got = deflection(load, L=12.0, section=strip, twist=np.pi / 2, elements=12)
    assert got[np.argmax(load)] == pytest.approx(tip, rel=5e-3)


QUARTER = [((P, 0, 0), np.pi / 4), ((0, 0, P), 3 * np.pi / 4 - 2)]


@pytest.mark.parametrize(("load", "factor"), QUARTER)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_quarter_circle_under_end_load(n, load, factor):
    """Castigliano: P R^3/EI times a factor, and pi/4 (P R/EA + P R/GA), along the load."""
    R, EA, GA, EI = 1.5, 300.0, 120.0, 4.0
    section = mbd.Section(stiffness=(EA, GA, GA, EI, EI, EI), mass=1.0)

    def arc(p):
        return R * np.sin(np.pi / 2 * p), 0, R * (1 - np.cos(np.pi / 2 * p))

    with pytest.warns(UserWarning, match="turns by") if n == 1 else nullcontext():
        got = deflection(load, points=arc, section=section, elements=n, up=(0, 1, 0))
    want = P * R * (R**2 / EI * factor + np.pi / 4 / EA + np.pi / 4 / GA)
    assert got[np.argmax(load)] == pytest.approx(want, rel=1e-4)


def pretwisted(L, EI2, EI3, turn, n=14):
    """Return circular frequencies of a pretwisted beam without shear, by Ritz's method.

    Displacements across are sums of Legendre polynomials times x^2; mass 1 kg/m.
    """
    x, w = np.polynomial.legendre.leggauss(40)
    p, w = 0.5 * (x + 1), 0.5 * w
    base = [np.polynomial.Polynomial([0, 0, 1]) * np.polynomial.Legendre.basis(
        k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial) for k in range(n)]  # fmt: skip
    f, f2 = (np.array([b.deriv(k)(p) if k else b(p) for b in base]) for k in (0, 2))
    c, s = np.cos(turn * p), np.sin(turn * p)
    mass = L * (f * w) @ f.T
    # EI3 resists bending along axis 2 = (c, s), EI2 along axis 3 = (-s, c)
    yy, zz, yz = EI3 * c * c + EI2 * s * s, EI3 * s * s + EI2 * c * c, (EI3 - EI2) * c * s
    block = [[(f2 * w * k) @ f2.T / L**3 for k in row] for row in ((yy, yz), (yz, zz))]
    return np.sqrt(eigh(np.block(block), np.kron(np.eye(2), mass), eigvals_only=True))


def test_frequencies_of_a_pretwisted_beam():
    """Ritz's method with 14 polynomials for each direction; a strip turned by 60 degrees."""
    L, EI2, EI3, turn = 2.0, 1.0, 40.0, np.pi / 3
    flat = pretwisted(L, EI2, EI3, 0.0)
    assert flat[0] == pytest.approx(3.51601526850015 / L**2)
    want = pretwisted(L, EI2, EI3, turn)[:3]
    assert np.abs(want / flat[:3] - 1).max() > 0.1
    section = mbd.Section(stiffness=(1e6, 1e6, 1e6, 500, EI2, EI3), mass=1.0,
                          inertia=(2e-6, 1e-6, 1e-6))  # fmt: skip
    system = cantilever(16, section, ((0, 0, 0), (L, 0, 0)), twist=turn)
    got = np.sort(2 * np.pi * mbd.modes(system).frequency)[:3]
    assert np.allclose(got, want, rtol=3e-3)


@pytest.mark.parametrize("formulations", [["so3", "directors", "so3", "se3", "so3"], "so3"])
def test_a_table_on_two_leaf_springs(formulations):
    """Frames on bodies hold both ends: 24 EI/L^3 along, when the table cannot turn."""
    system = mbd.System()
    L, EI = 0.5, 3.0
    leaf = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1e3, EI, 1e3), mass=1.0)
    table = system.add(mbd.RigidBody("table", mass=1, inertia=(1, 1, 1), position=(0, 0, L + 0.1)))
    for name, x in (("left", -1.0), ("right", 1.0)):
        system.add(
            mbd.Beam(name, points=[(x, 0, 0), (x, 0, L)], section=leaf, up=(1, 0, 0), elements=4,
                     first=system.ground.frame((x, 0, 0), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
                     last=table, formulation=formulations)
        )  # fmt: skip
    system.add(mbd.PointForce("push", table, (0.1, 0, 0)))
    pose = mbd.equilibrium(system)
    assert pose["table"].position[0] == pytest.approx(0.1 * L**3 / (24 * EI), rel=1e-3)
    run = mbd.simulate(system, 1e-4, 1e-4, state=pose.state)
    assert run["left"].force[0, 0, 0, 0] == pytest.approx(0.1 * (0.1 + L / 2) / 2, rel=1e-2)
