"""Limit loads of an arch and a frame that fall over, on paths of equilibria by arc length.

The deep circular arch of 215 degrees, one end clamped and one hinged, with a load at its crown:
D. A. DaDeppo, R. Schmidt, Instability of clamped-hinged circular arches subjected to a point load,
J. Appl. Mech. 42 (1975) 894-896, doi 10.1115/1.3423734: 8.97 EI/R^2, without extension.
The hinged right-angle frame with legs of 120, EA = 4320 and EI = 1440, loaded at a fifth of one
leg: S. L. Lee, F. S. Manuel, E. C. Rossow, Large deflections and stability of elastic frames, J.
Eng. Mech. Div. ASCE 94 (1968): 18.55 for ten times this stiffness, as K. Schweizerhof, P. Wriggers,
CMAME 59 (1986), have it.
"""

import numpy as np
import pytest

import mbd


def arch(n):
    """Return the arch of n elements, R = EI = 1, a load of 10 at its crown, and the length."""
    half = np.radians(107.5)
    system = mbd.System()
    section = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1, 1, 1), mass=1.0)

    def line(p):
        angle = (2 * p - 1) * half
        return np.sin(angle), 0.0, np.cos(angle)

    beam = system.add(mbd.Beam("arch", points=line, section=section, elements=n, up=(0, 1, 0),
                               first=system.ground))  # fmt: skip
    end = beam.last
    system.add(mbd.Revolute("hinge", system.ground, end, at=end.position, axis=(0, 1, 0)))
    system.add(mbd.PointForce("load", beam.node(n // 2), (0, 0, -10.0)))
    return system


def frame(n):
    """Return the frame of n elements a leg with a load of 20."""
    system = mbd.System()
    section = mbd.Section(stiffness=(4320, 1e6, 1e6, 1e4, 1440, 1440), mass=1.0)
    points = ((0, 0, 0), (0, 0, 120), (120, 0, 120))
    beam = system.add(mbd.Beam("frame", points=points, smooth=False, section=section,
                               elements=2 * n, up=(0, 1, 0)))  # fmt: skip
    for end in (beam.first, beam.last):
        pin = mbd.Revolute(f"pin {end.name}", system.ground, end, at=end.position, axis=(0, 1, 0))
        system.add(pin)
    system.add(mbd.PointForce("load", beam.node(n + n // 5), (0, 0, -20.0)))
    return system


@pytest.mark.parametrize(
    ("make", "n", "points", "limit"), [(arch, 16, 26, 0.897), (frame, 10, 24, 1.855 / 20)]
)
def test_limit_loads_on_the_path(make, n, points, limit):
    with pytest.raises(mbd.EquilibriumError, match="did not reach load factor 1") as failed:
        mbd.equilibrium(make(n), arc_length=0.3, max_iterations=points)
    factors = np.array([f for f, _ in failed.value.path])
    k = int(np.argmax(np.diff(factors) < 0))
    assert 0 < k < points - 2
    curve = np.polyfit((-1, 0, 1), factors[k - 1 : k + 2], 2)
    assert curve[2] - curve[1] ** 2 / curve[0] / 4 == pytest.approx(limit, rel=1.5e-3)
    assert f"to {factors.max():g} and ended" in str(failed.value)
