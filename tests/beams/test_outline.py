"""Outlines of sections along a beam, which pictures show."""

import numpy as np
import pytest

import mbd

SOLID = {"young": 1e9, "poisson": 0.3, "density": 1000}


def outline(section, elements=4):
    return mbd.Beam(
        "b", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=elements
    ).line.outline


def area(x):
    y, z = np.moveaxis(x, -1, 0)
    return 0.5 * (y * np.roll(z, -1, -1) - z * np.roll(y, -1, -1)).sum(-1)


def test_equal_corners_change_evenly():
    a, b = (mbd.Section.rectangle(w, h, **SOLID) for w, h in ((0.2, 0.1), (0.1, 0.06)))
    wide = outline([a, b])
    assert wide.shape == (4, 2, 4, 2)
    assert np.allclose(np.ptp(wide[1, 0], axis=0), (0.175, 0.09))
    assert np.array_equal(wide[:-1, 1], wide[1:, 0])
    of_function = outline(lambda p: mbd.Section.rectangle(0.2 - 0.1 * p, 0.1 - 0.04 * p, **SOLID))
    assert np.allclose(of_function, wide)


def test_a_rectangle_becomes_a_circle():
    clockwise = mbd.Section(stiffness=(1,) * 6, mass=1, outline=[(0, 0.2), (0.3, 0), (0, -0.2)])
    mixed = outline([mbd.Section.circle(0.1, **SOLID), clockwise])
    assert mixed.shape == (4, 2, 24, 2)
    assert np.allclose(np.linalg.norm(mixed[0, 0], axis=-1), 0.1, rtol=2e-2)
    areas = area(mixed[:, 0])
    assert (areas > 0).all()
    assert areas[0] == pytest.approx(np.pi * 0.01, rel=0.03)
    assert area(mixed[-1, 1]) == pytest.approx(0.06, rel=0.03)


def test_without_an_outline_radii_of_gyration_are_those_of_the_section():
    w, h, A = 0.3, 0.02, 2e3
    plain = mbd.Section(stiffness=(A, 1, 1, 1, A * h**2 / 12, A * w**2 / 12), mass=1.0)
    assert np.allclose(np.ptp(outline(plain)[0, 0], axis=0), (w, h))


def test_without_an_outline_second_moments_are_those_of_the_section():
    """A rectangle whose middle is away from the origin, and turned by 0.5 rad."""
    w, h, (y, z), turn = 0.3, 0.1, (0.02, -0.05), 0.5
    axes = np.array([(np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))])
    moments = axes.T @ np.diag((w**2, h**2)) @ axes / 12 + np.outer((y, z), (y, z))
    C = np.diag([1.0, 1, 1, 1, moments[1, 1], moments[0, 0]])
    C[4, 5] = C[5, 4] = -moments[0, 1]
    C[0, 4] = C[4, 0] = z
    C[0, 5] = C[5, 0] = -y
    corners = mbd.Section(stiffness=2e9 * C, mass=1).corners
    assert np.allclose(corners.mean(0), (y, z))
    sides = np.diff(corners[[0, 1, 2]], axis=0)
    assert np.allclose(sides, np.diag((w, h)) @ axes)
