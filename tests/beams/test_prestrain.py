"""Beams with strains that need no stress: temperature, bimetal, prestress."""

import numpy as np
import pytest
from scipy.optimize import brentq

import mbd

LONG = [(0, 0, 0), (0.2, 0, 0)]


def bimetal(E, t, alpha, heat, width=0.01):
    """Return section and strains without stress of two layers, the first one below."""
    E, t, alpha = map(np.asarray, (E, t, alpha))
    z = 0.5 * np.array([-t[1], t[0]])  # of the middle of each layer, along axis 3
    EA, ES, EI2 = width * np.array(
        [(E * t).sum(), (E * t * z).sum(), (E * t * (t**2 / 12 + z**2)).sum()]
    )
    C = np.diag([EA, EA / 3, EA / 3, 1.0, EI2, EA * width**2 / 12])
    C[0, 4] = C[4, 0] = ES
    load = width * heat * np.array([(E * t * alpha).sum(), 0, 0, 0, (E * t * z * alpha).sum(), 0])
    section = mbd.Section(stiffness=C, mass=0.1, inertia=(2e-6, 1e-6, 1e-6))
    return section, np.linalg.solve(C, load)


def curvature(E, t, alpha, heat):
    """Return that of a bimetal: S. Timoshenko, J. Opt. Soc. Am. 11 (1925) 233-255, equation 4."""
    m, n = t[0] / t[1], E[0] / E[1]
    return 6 * (alpha[1] - alpha[0]) * heat * (1 + m) ** 2 / (
        sum(t) * (3 * (1 + m) ** 2 + (1 + m * n) * (m * m + 1 / (m * n)))
    )  # fmt: skip


@pytest.mark.parametrize("thermostat", [
    ((200e9, 100e9), (1e-3, 1.5e-3), (12e-6, 19e-6), 100.0),
    ((140e9, 170e9), (2e-4, 1e-4), (19e-6, 1e-6), 300.0),  # bent to five radians
])  # fmt: skip
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_the_bimetal_of_timoshenko(thermostat, formulation):
    section, strain = bimetal(*thermostat)
    k = curvature(*thermostat)
    assert strain[4] == pytest.approx(k, rel=1e-12)
    system = mbd.System()
    system.add(mbd.Beam("strip", points=LONG, section=section, elements=8, prestrain=strain,
                        formulation=formulation, first=system.ground))  # fmt: skip
    pose = mbd.equilibrium(system)
    line = (1 + strain[0]) / k * np.array([np.sin(0.2 * k), 0, np.cos(0.2 * k) - 1])
    assert np.allclose(pose["strip.8"].position, line, atol=1e-10)
    run = mbd.simulate(system, 1e-4, 1e-4, state=pose.state)["strip"]
    assert np.abs(run.moment).max() < 1e-6 * section.stiffness[4, 4] * abs(k)


def test_a_heated_bar_between_walls_is_pressed():
    """N = -EA alpha T, of a change of temperature that grows along the bar: of its mean."""
    section = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1e2, 1e2, 1e2), mass=1.0)
    for strain in ([(2e-4, *(0,) * 5), (4e-4, *(0,) * 5)], lambda p: (2e-4 + 2e-4 * p, *(0,) * 5)):
        system = mbd.System()
        system.add(mbd.Beam("bar", points=LONG, section=section, elements=3, prestrain=strain,
                            first=system.ground, last=system.ground))  # fmt: skip
        force = mbd.simulate(system, 1e-6, 1e-6, state=mbd.equilibrium(system).state)["bar"].force
        assert np.allclose(force[0, :, :, 0], -300.0, rtol=1e-6)


@pytest.mark.parametrize("pull", [-5.0, 10.0, 1000.0, 4000.0])
def test_frequencies_of_a_prestressed_beam(pull):
    """Of a clamped one in the limits of a string, and hinged: omega^2 = (EI k^4 + N k^2)/mu."""
    EA, EI, n = 1e9, 1.0, 48
    section = mbd.Section(stiffness=(EA, 1e9, 1e9, 1.0, EI, EI), mass=1.0,
                          inertia=(2e-9, 1e-9, 1e-9))  # fmt: skip
    system = mbd.System()
    beam = system.add(
        mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=n, order=4,
                 prestrain=(-pull / EA, 0, 0, 0, 0, 0), last=system.ground)
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, beam.first, at=(0, 0, 0), axis=(0, 1, 0)))
    got = np.sort(2 * np.pi * mbd.modes(system).frequency)[:8]

    # hinged and clamped: tanh(a)/a = tan(b)/b with a^2 - b^2 = N/EI, (a b)^2 = mu omega^2/EI
    def gap(b):
        a2 = b * b + pull / EI
        a = np.sqrt(abs(a2))
        left = np.tanh(a) / a if a2 > 0 else np.tan(a) / a
        return left * b * np.cos(b) - np.sin(b)

    for j in (1, 2):
        b = brentq(gap, j * np.pi, (j + 0.5) * np.pi)
        omega = b * np.sqrt(b * b + pull / EI) * np.sqrt(EI)
        assert np.abs(got / omega - 1).min() < 2e-4 * max(1.0, pull / EI / n**2)


@pytest.mark.parametrize(
    "given", [(1, 2, 3), "hot", (np.nan,) * 6, [(0,) * 6, (0,) * 5], lambda p: 3]
)
def test_strains_that_are_not_six_numbers(given):
    with pytest.raises((ValueError, TypeError), match="strip: prestrain.*must be"):
        mbd.Beam(
            "strip", points=LONG, section=bimetal((1, 1), (1, 1), (1, 1), 1)[0], prestrain=given
        )


def test_strains_that_roll_up_an_element_are_refused():
    with pytest.raises(ValueError, match="strip: prestrain turns element 0 to 12.5 rad.*elements"):
        mbd.Beam("strip", points=LONG, section=bimetal((1, 1), (1, 1), (1, 1), 1)[0], elements=1,
                 prestrain=(0, 0, 0, 0, 62.5, 0))  # fmt: skip
