"""Beams that rotate: frequencies over speed, with Coriolis and centrifugal forces; extension.

Frequencies of a uniform beam clamped to the axis: of the thin beam (Wright, Smith, Thresher, Wang,
J. Appl. Mech. 49 (1982), flap) by power series, of the geometrically exact one by Legendre
polynomials of order 18. The steady extension is that of the beam of Simo and Vu-Quoc, J. Appl.
Mech. 53 (1986), by shooting.
"""

from math import cos, pi

import numpy as np
import pytest

import mbd

from .test_motion import STEEL

THIN = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1.0, 1.0, 1.0), mass=1.0, inertia=(2e-6, 1e-6, 1e-6))


def clamped(section, n=16):
    """Return a beam of 1 m on a hub that turns about z and is too heavy to feel it."""
    system = mbd.System()
    hub = system.add(mbd.RigidBody("hub", mass=1.0, inertia=(1e7, 1e7, 1e7)))
    system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Beam("blade", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=n,
                        first=hub))  # fmt: skip
    return system.build()


EXACT = {  # chord, flap, chord, flap [rad/s], extension of the tip [m]
    200.0: ((275.16180237, 340.30919262, 1686.9291386, 1698.9086467), 0.00049871098),
    400.0: ((306.05046582, 504.22672176, 1866.5628509, 1909.6838734), 0.0019984319),
}


@pytest.mark.parametrize("speed", EXACT)
def test_frequencies_of_a_rotating_beam(speed):
    """With 16 elements within the errors of the beam at rest."""
    pose = mbd.equilibrium(clamped(STEEL), rotating=(0, 0, speed))
    omega = np.sort(mbd.modes(pose).eigenvalues.imag)
    frequencies, extension = EXACT[speed]
    got = omega[omega > 1.0][:4]
    assert np.allclose(got[:2], frequencies[:2], rtol=4e-5)
    assert np.allclose(got[2:], frequencies[2:], rtol=2e-4)
    assert pose["blade.16"].position[0] - 1 == pytest.approx(extension, rel=1e-5)


def test_campbell_diagram_of_a_rotating_beam():
    """Both bending modes of a thin beam over the speed, sqrt(m L^4/EI) = 1 s."""
    model = clamped(THIN, 6)
    speeds = [0.0, 2.0, 5.0]
    chord = [3.51601526905, 3.62179696395, 4.07389586082]
    flap = [3.51601526905, 4.13731957287, 6.4495447502]

    def turning(speed):
        return mbd.equilibrium(model, rotating=(0, 0, speed))

    omega = mbd.campbell(turning, speeds).eigenvalues.imag
    for i, speed in enumerate(speeds):
        for value in (chord[i], flap[i]):
            assert np.abs(omega[i] / value - 1).min() < 2e-3, (speed, value)


SPUN = mbd.Section(stiffness=(2.8e7, 1e7, 1e7, 1.4e4, 1.4e4, 1.4e4), mass=1.2,
                   inertia=(1.2e-3, 6e-4, 6e-4))  # fmt: skip
EXTENSION = 5.14311e-4  # of the beam of 10 m at 6 rad/s [m]


def test_steady_extension_of_a_spun_up_beam():
    for n in (8, 16):
        system = mbd.System()
        hub = system.add(mbd.RigidBody("hub", mass=1.0, inertia=(1, 1, 1)))
        system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1)))
        system.add(mbd.Beam("beam", points=[(0, 0, 0), (10, 0, 0)], section=SPUN, elements=n,
                            first=hub))  # fmt: skip
        pose = mbd.equilibrium(system, rotating=(0, 0, 6))
        assert pose[f"beam.{n}"].position[0] - 10 == pytest.approx(EXTENSION, rel=2e-5)


def test_spin_up_in_time():
    """From rest to 6 rad/s in 15 s; what a prototype has at 15 and 20 s with the same step."""
    T = 15.0

    def angle(t):
        return (
            0.4 * (t**2 / 2 + (T / 2 / pi) ** 2 * (cos(2 * pi * t / T) - 1))
            if t < T
            else 6 * t - 45
        )

    system = mbd.System()
    beam = system.add(mbd.Beam("beam", points=[(0, 0, 0), (10, 0, 0)], section=SPUN, elements=8))
    hub = system.add(mbd.Revolute("hub", system.ground, beam.first, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("motor", hub, position=angle))
    run = mbd.simulate(system, 20.0, 0.01, method=mbd.GeneralizedAlpha(rho=0.9), every=10)
    x, phi = run["beam.8"].position, run["hub"].angle
    along = x[:, 0] * np.cos(phi) + x[:, 1] * np.sin(phi) - 10
    assert along[[150, 200]] == pytest.approx((5.1426e-4, 5.1488e-4), abs=2e-8)
    assert np.allclose(along[160:], EXTENSION, rtol=0, atol=2e-6)  # the rest swings
