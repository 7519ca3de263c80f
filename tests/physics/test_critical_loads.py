"""Critical load factors of families of columns, strips, shafts and arches, by published laws.

Columns: L. Euler. Strips: S. P. Timoshenko, J. M. Gere, Theory of elastic stability, 1961, 6.3.
Shafts under torque: A. G. Greenhill, Proc. Inst. Mech. Eng. 34 (1883). A load that follows in
part: Z. Kordas, M. Zyczkowski, Arch. Mech. Stos. 15 (1963). The arch: D. A. DaDeppo, R. Schmidt,
J. Appl. Mech. 42 (1975).
"""

import numpy as np
import pytest
from families import some, spread

import mbd

X = (1, 0, 0)
SKEW = (1, 2, 3)
EPS = np.finfo(float).eps


def beam(n, EA=1e6, EI=(1.0, 1.0), direction=X, held=True):
    """Return a straight beam of length one with GJ = 1, and the system."""
    system = mbd.System()
    section = mbd.Section(stiffness=(EA, EA, EA, 1.0, *EI), mass=1.0, inertia=(2e-4, 1e-4, 1e-4))
    end = np.array(direction) / np.linalg.norm(direction)
    first = {"first": system.ground} if held else {}
    line = mbd.Beam("beam", points=((0, 0, 0), end), section=section, elements=n, **first)
    return system, system.add(line), end


# --- however stiff along --------------------------------------------------------------------------
@spread(
    case=[(4, 2.3e-4), (16, 1.1e-6), (32, 1.1e-7)], EA=[1e4, 1e8, 1e9, 1e10], direction=[X, SKEW]
)
def test_the_error_of_eulers_column_is_that_of_the_mesh(case, EA, direction):
    n, mesh = case
    system, column, end = beam(n, EA, direction=direction)
    system.add(mbd.PointForce("load", column.last, -end))
    round_off = 0.0 if direction is X else 20 * EPS * EA  # axes along the beam have none
    error = mbd.buckling(system).factors[0] / (np.pi**2 / 4) - 1
    assert abs(error) <= 1.05 * mesh + round_off


@spread(EA=[1e4, 1e8, 1e10], direction=[X, SKEW])
def test_a_column_that_is_free_to_spin_has_eulers_load(EA, direction):
    system, column, end = beam(16, EA, direction=direction, held=False)
    system.add(mbd.Spherical("foot", system.ground, column.first, at=(0, 0, 0)))
    system.add(mbd.PointOnLine("guide", system.ground, column.last, at=end, axis=end))
    system.add(mbd.PointForce("load", column.last, -end))
    assert mbd.equilibrium(system, load_factor=0.0).free
    found = mbd.buckling(system)
    assert found.factors[0] / np.pi**2 - 1 == pytest.approx(1.5e-5, abs=3e-6 + 4 * EPS * EA)
    middle = found.state(0, 0.1).q.reshape(-1, 7)[8, :3]
    assert np.linalg.norm(np.cross(middle, end)) > 0.02  # it bends, it does not spin


@spread(EA=[1e6, 1e9], height=[-0.05, 0.0, 0.05])
def test_a_strip_tilts_under_loads_above_at_and_below_its_axis(height, EA):
    """P L^2 = 4.0126 sqrt(EI GJ), less a/L sqrt(EI/GJ) of it at a small height a."""
    factors = []
    for n in (8, 16):
        system, strip, _ = beam(n, EA, EI=(1.0, 1e4))
        system.add(mbd.PointForce("load", strip.last, (0, -1.0, 0), at=(1, height, 0)))
        factors.append(mbd.buckling(system).factors[0])
    exact = (4 * factors[1] - factors[0]) / 3  # errors fall with the square of n
    assert exact == pytest.approx(4.0126 * (1 - height), rel=3e-4 + 2.5 * height**2)


@pytest.mark.parametrize("EA", [1e4, 1e8])
def test_a_clamped_shaft_buckles_under_torque(EA):
    """M L / EI = 8.9868, the first root of tan(x/2) = x/2."""
    system, shaft, end = beam(16, EA)
    system.add(mbd.Cylindrical("guide", system.ground, shaft.last, at=end, axis=end))
    system.add(mbd.Moment("torque", shaft.last, (1.0, 0, 0)))
    assert mbd.buckling(system).factors[0] == pytest.approx(8.98682, rel=5e-4)


# --- loads without a potential --------------------------------------------------------------------
@spread(other=[1.0, 3.0], part=[0.2, 0.4, 0.45])
def test_a_load_that_follows_in_part(part, other):
    """It diverges at cos(kL) = -part/(1 - part), P = k^2 EI, below one half; flutter is above."""
    system, column, _ = beam(16, EI=(1.0, other))
    system.add(mbd.PointForce("dead", column.last, (part - 1, 0, 0)))
    system.add(mbd.PointForce("follower", column.last, (-part, 0, 0), follow=True))
    exact = np.arccos(-part / (1 - part)) ** 2
    assert mbd.buckling(system).factors[0] == pytest.approx(exact, rel=1e-5)


def test_a_load_that_follows_in_full_has_no_critical_factor():
    system, column, _ = beam(8, EI=(1.0, 3.0))
    system.add(mbd.PointForce("follower", column.last, (-1.0, 0, 0), follow=True))
    with pytest.raises(ValueError, match="do not lose their stiffness"):
        mbd.buckling(system)


# --- limit points ---------------------------------------------------------------------------------
@pytest.mark.parametrize("height", [0.02, 0.1, 0.3])
def test_a_truss_snaps_at_its_largest_load(height):
    system = mbd.System()
    ball = system.add(mbd.PointMass("ball", mass=1.0, position=(0, 0, height)))
    length = np.hypot(1.0, height)
    for i, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        system.add(mbd.Spring(f"bar {i}", system.ground, ball, at=(x, y, 0), stiffness=100.0,
                              length=length))  # fmt: skip
    system.add(mbd.PointForce("load", ball, (0, 0, -1.0)))
    z = np.sqrt(length ** (2 / 3) - 1)  # where the load has its largest value
    exact = 400.0 * z * (length / np.hypot(1.0, z) - 1)
    found = mbd.buckling(system)
    assert found.factors == pytest.approx([exact], rel=1e-8)
    assert found.base.q[2] == pytest.approx(z, rel=1e-4)


@pytest.mark.parametrize("EA", some([1e6, 1e8], 2))
def test_a_deep_arch_falls_over_at_its_limit_load(EA):
    """8.97 EI/R^2, of an arch without extension, clamped and hinged; in its plane."""
    half = np.radians(107.5)
    system = mbd.System()
    section = mbd.Section(stiffness=(EA, EA, EA, 1, 1, 1), mass=1.0)

    def line(p):
        angle = (2 * p - 1) * half
        return np.sin(angle), 0.0, np.cos(angle)

    arch = system.add(mbd.Beam("arch", points=line, section=section, elements=16, up=(0, 1, 0),
                               first=system.ground))  # fmt: skip
    at = arch.last.position
    system.add(mbd.Revolute("hinge", system.ground, arch.last, at=at, axis=(0, 1, 0)))
    for i in range(1, 16):
        node = arch.node(i)
        system.add(mbd.PointInPlane(f"plane {i}", system.ground, node, at=node.position,
                                    axis=(0, 1, 0)))  # fmt: skip
    system.add(mbd.PointForce("load", arch.node(8), (0, 0, -1.0)))
    assert mbd.buckling(system).factors[0] == pytest.approx(8.97, rel=1e-3)
