"""Critical loads of beams whose pose the loads move; flutter; modes under load.

Exact numbers of columns, lateral buckling and own weight: boundary value problems of the
geometrically exact beam, by shooting to 1e-12 (Greenhill's 7.8373 by Bessel functions); the
right-angle frame agrees with the 1.088 and 0.680 of J. H. Argyris et al., Comput. Methods Appl.
Mech. Engrg. 17/18 (1979), and J. C. Simo, L. Vu-Quoc, 58 (1986).
"""

import numpy as np
import pytest

import mbd

from .test_statics import cantilever


def column(n, axial=100.0, **options):
    section = mbd.Section(stiffness=(axial, 0.4 * axial, 0.4 * axial, 1, 1, 1), mass=1.0)
    return cantilever(n, section=section, force=(-1, 0, 0), **options)


def lateral(n, **options):
    section = mbd.Section(stiffness=(1e5, 4e4, 4e4, 0.8, 1, 20), mass=1.0)
    return cantilever(n, section=section, force=(0, 1, 0), **options)


def frame(n, force=1.0, **options):
    """Return a right-angle frame of strips 30 x 0.6, n elements a leg, loaded in its plane."""
    h, w, E = 30.0, 0.6, 71240.0
    G = E / 2 / 1.31
    stiffness = (E * h * w, G * h * w, G * h * w, G * h * w**3 / 3, E * h * w**3 / 12,
                 E * w * h**3 / 12)  # fmt: skip
    points = ((0, 0, 0), (240, 0, 0), (240, 240, 0))
    return cantilever(2 * n, section=mbd.Section(stiffness=stiffness, mass=1.0), points=points,
                      smooth=False, up=(0, 0, 1), force=(force, 0, 0), **options)  # fmt: skip


def heavy(n, EI=1.0, length=1.0):
    """Return an upright column under its own weight: mass per length and gravity are one."""
    system = mbd.System(gravity=(0, 0, -1.0))
    section = mbd.Section(stiffness=(1e6 * EI,) * 3 + (EI,) * 3, mass=1.0,
                          inertia=(2e-6, 1e-6, 1e-6))  # fmt: skip
    points = ((0, 0, 0), (0, 0, length))
    system.add(mbd.Beam("beam", points=points, section=section, elements=n, up=(1, 0, 0),
                        first=system.ground))  # fmt: skip
    return system


# critical load factor; error by elements, of a prototype, relative
CASES = {
    "column that shortens": (column, 2.3822727485, {2: 9.1e-3, 4: 1.74e-3, 8: 4.0e-4}),
    "lateral": (lateral, 3.794001045, {4: 3.2e-2, 8: 8.2e-3}),
    "frame, outwards": (frame, 1.0875179377, {2: 9.4e-3, 4: 2.4e-3}),
    "frame, inwards": (lambda n: frame(n, -1.0), 0.6804274094, {2: 1.9e-2, 4: 4.7e-3}),
    "own weight": (heavy, 7.83734743, {4: 1.7e-3, 8: -7.0e-5}),
}


@pytest.mark.parametrize("case", CASES)
def test_critical_loads_converge_to_the_exact_ones(case):
    make, exact, errors = CASES[case]
    for n, error in errors.items():
        assert mbd.buckling(make(n)).factors[0] / exact - 1 == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(
    ("make", "exact", "n", "error"),
    [(column, 2.3822727485, 2, 3.2e-3), (column, 2.3822727485, 8, 1.3e-5),
     (lateral, 3.794001045, 4, 7.2e-4), (frame, 1.0875179377, 2, 5.4e-4),
     pytest.param(lateral, 3.794001045, 8, 5.1e-5, marks=pytest.mark.slow),
     pytest.param(frame, 1.0875179377, 8, 2.2e-6, marks=pytest.mark.slow)],
)  # fmt: skip
def test_critical_loads_of_order_four(make, exact, n, error):
    """Of columns, lateral and of a frame: 30 to 280 times nearer than order two with 8 elements."""
    assert mbd.buckling(make(n, order=4)).factors[0] / exact - 1 == pytest.approx(error, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "n", "error"),
    [("column that shortens", 16, 9.8e-5), ("lateral", 32, 5.2e-4), ("frame, outwards", 16, 1.5e-4),
     ("frame, inwards", 32, 7.3e-5), ("own weight", 16, -8.5e-6)],
)  # fmt: skip
def test_critical_loads_of_many_elements(case, n, error):
    make, exact, _ = CASES[case]
    assert mbd.buckling(make(n)).factors[0] / exact - 1 == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(("make", "low"), [(column, 0.0), (lateral, 3.0), (frame, 0.5)])
def test_the_pose_is_stable_below_the_critical_load_and_unstable_above(make, low):
    """Whatever the factor from which the path is followed; the shape leads to other equilibria."""
    system = make(4)
    found = mbd.buckling(system, load_factor=low)
    critical = found.factors[0]
    assert critical == pytest.approx(mbd.buckling(system).factors[0], rel=1e-7)
    for factor, stable in ((0.999, True), (1.001, False)):
        pose = mbd.equilibrium(system, found.base, seek="nearest", load_factor=factor * critical)
        assert pose.stable is stable
    bent = mbd.equilibrium(system, found.state(0, 0.05), load_factor=1.02 * critical)
    straight = mbd.equilibrium(system, found.base, seek="nearest", load_factor=1.02 * critical)
    assert bent.stable
    assert not straight.stable


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_loads_of_any_size_have_the_same_critical_force(scale):
    section = mbd.Section(stiffness=(100, 40, 40, 1, 1, 1), mass=1.0)
    system = cantilever(4, section=section, force=(-scale, 0, 0))
    one = mbd.buckling(column(4)).factors[0]
    assert mbd.buckling(system).factors[0] * scale == pytest.approx(one, rel=1e-7)


def test_what_hangs_has_no_critical_load():
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=1.0, position=(0, 0, -1)))
    system.add(mbd.Spring("rope", system.ground, ball, stiffness=40.0))
    with pytest.raises(ValueError, match="the loads move the pose .* do not lose their stiffness"):
        mbd.buckling(system)


def test_a_follower_load_makes_flutter():
    """Beck's column: at rest it has no other pose, and flutters above 20.0509 EI/L^2."""
    section = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1, 1, 1), mass=1.0, inertia=(2e-6, 1e-6, 1e-6))
    growth = []
    for load in (20.0509 * 0.985, 20.0509 * 1.015):
        system = cantilever(8, section=section)
        thrust = (-load, 0, 0)
        system.add(mbd.PointForce("thrust", system["beam"].last, thrust, follow=True))
        pose = mbd.equilibrium(system, seek="nearest")
        assert pose["beam.8"].position[1] == pytest.approx(0.0, abs=1e-9)
        growth.append(np.linalg.eigvals(mbd.linearize(pose).A).real.max())
    assert growth[0] < 1e-3
    assert growth[1] > 0.3


def test_flutter_of_many_motions_is_that_of_few(monkeypatch):
    """Along the load, which has no potential; dampers are no part of an equilibrium."""
    system = cantilever(8, section=mbd.Section(stiffness=(1e5, 1e5, 1e5, 1, 1, 4), mass=1.0))
    last = system["beam"].last
    system.add(mbd.PointForce("thrust", last, (-30.0, 0, 0), follow=True))
    none = mbd.equilibrium(system, seek="nearest", load_steps=3)
    drag = (5, 5, 5, 1, 1, 1)
    system.add(
        mbd.Bushing("drag", system.ground, last, at=last.position, stiffness=(0,) * 6, damping=drag)
    )
    monkeypatch.setattr("mbd.analyses.stability._FEW", 1)
    monkeypatch.setattr("mbd.analyses.stability.NEUTRAL_MANY", 1)
    many = mbd.equilibrium(system, seek="nearest", load_steps=3)
    for one, other, stable in zip(none.path, many.path, (True, True, False), strict=True):
        assert one.stable is other.stable is stable
        assert one.stiffness == pytest.approx(other.stiffness, rel=1e-6)


def test_frequencies_fall_with_the_load_up_to_buckling():
    """Hinged ends: omega^2 = omega_0^2 (1 - P/P_E), from tension to next to buckling."""
    section = mbd.Section(stiffness=(1e7, 1e7, 1e7, 1, 1, 1), mass=1.0, inertia=(2e-6, 1e-6, 1e-6))
    for share in (-3.0, 0.0, 0.5, 0.9):
        system = mbd.System()
        points = ((0, 0, 0), (1, 0, 0))
        beam = system.add(mbd.Beam("beam", points=points, section=section, elements=12))
        first, last = beam.first, beam.last
        system.add(mbd.Revolute("pin", system.ground, first, at=(0, 0, 0), axis=(0, 0, 1)))
        system.add(mbd.PointOnLine("guide", system.ground, last, at=(1, 0, 0), axis=(1, 0, 0)))
        system.add(mbd.PointForce("push", last, (-share * np.pi**2, 0, 0)))
        pose = mbd.equilibrium(system, seek="nearest")
        lowest = mbd.modes(pose, n=1).frequency[0] * 2 * np.pi
        assert lowest**2 / np.pi**4 == pytest.approx(1 - share, abs=5e-3)
