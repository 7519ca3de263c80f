"""Sling: a rod swings down, lets go of its load at 45 degrees, and the load flies.

A massless arm would do; here the arm is a uniform rod, the load a point on its end. Energy gives the
speed at which the pin is released, a parabola the flight behind it:
w^2 = 2 g sin(45 deg) (m_rod/2 + m)/(m_rod/3 + m) for a length of one metre, started level at rest.
"""

import numpy as np

import mbd

_ANGLE = np.pi / 4


def _below(solution):
    """Return the angle of the rod below the level, less 45 degrees."""
    x = solution["rod"].rotation[:, :, 0]
    return np.arctan2(-x[:, 2], x[:, 0]) - _ANGLE


RUN = {
    "t_end": 1.5,
    "rtol": 1e-6,
    "events": (mbd.Event("lets go", _below, direction=1, release="pin"),),
}
_G, _ROD, _LOAD = 9.81, 0.5, 2.0
_W = np.sqrt(2 * _G * np.sin(_ANGLE) * (_ROD / 2 + _LOAD) / (_ROD / 3 + _LOAD))  # rad/s
_T = 0.3968167509601  # s, of the swing: integral of dphi/w(phi)
_C, _S = np.cos(_ANGLE), np.sin(_ANGLE)


def _flight(t):
    """Return place and velocity of the load a time after the swing."""
    s = t - _T
    place = (_C - _W * _S * s, 0.0, -_S - _W * _C * s - _G * s * s / 2)
    return place, (-_W * _S, 0.0, -_W * _C - _G * s)


_SOURCE = "energy and parabola"
REFERENCE = (
    ("load.position", 1.0, _flight(1.0)[0], 1e-4, _SOURCE),
    ("load.velocity", 1.0, _flight(1.0)[1], 1e-4, _SOURCE),
    ("load.position", 1.5, _flight(1.5)[0], 1e-4, _SOURCE),
    ("pin.force", 1.0, (0.0, 0.0, 0.0), 1e-12, "released"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return a rod along x, hinged about y at the origin, with a load on its end [m, kg], z up."""
    system = mbd.System(gravity=(0, 0, -_G))
    J = _ROD / 12
    rod = system.add(
        mbd.RigidBody(
            "rod", mass=_ROD, inertia=(1e-3, J, J), position=(0.5, 0, 0), formulation=formulation,
            shape=mbd.Capsule(0.02, 1.0, axis=(1, 0, 0)),
        )
    )  # fmt: skip
    load = system.add(mbd.PointMass("load", mass=_LOAD, position=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spherical("pin", rod, load, at=(1, 0, 0)))
    return system
