"""Pendulum on a light cart: a millionth of its mass, and a nearly singular mass matrix.

The mass falls freely, the cart runs ahead below the rod, until rod and mass pass the vertical: there
the rod turns at 4429 rad/s and throws the mass back within 4e-7 s, 11 times in 10 s. Steps of one
size miss these turns, lose the energy and say so; free steps go down from 1e-2 s to 1e-10 s and up
again. Light cart-pole, proposed for the benchmark library of the IFToMM Technical Committee in 2025; numbers by quadrature of energy and momentum at 30 digits.
"""

import numpy as np

import mbd

RUN = {"t_end": 10.0, "rtol": 2e-6, "every": 100}
_SOURCE = "quadrature of energy and momentum"
_X, _PHI, _XD, _PHID = 0.38025030971886, 0.66842323117089, 4.9690232391897, -6.3315866535769
_POINT = (1.9997632824687 + np.sin(-1.5491294418948), -np.cos(-1.5491294418948))
REFERENCE = (
    ("cart.position", 0.2, (0.019436081266299, 0, 0), 1e-9, _SOURCE),
    ("cart.position", 0.4, (_X, 0, 0), 1e-9, _SOURCE),
    ("cart.velocity", 0.4, (_XD, 0, 0), 1e-4, _SOURCE),
    ("mass.position", 0.4, (_X + np.sin(_PHI), -np.cos(_PHI), 0), 1e-9, _SOURCE),
    ("mass.velocity", 0.4, (_XD + np.cos(_PHI) * _PHID, np.sin(_PHI) * _PHID, 0), 1e-6, _SOURCE),
    ("cart.position", 2.0, (0.017152050638205, 0, 0), 1e-6, _SOURCE),
    ("cart.position", 5.0, (0.48673208655541, 0, 0), 1e-6, _SOURCE),
    ("cart.position", 10.0, (1.9997632824687, 0, 0), 1e-6, _SOURCE),
    ("mass.position", 10.0, (*_POINT, 0), 1e-6, _SOURCE),
)


def build(cart: float = 1e-6, mass: float = 1.0, length: float = 1.0) -> mbd.System:
    """Return a cart on the x axis and a mass on a rod, at rest, the rod level [kg, m], y up."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    carriage = system.add(mbd.PointMass("cart", mass=cart))
    bob = system.add(mbd.PointMass("mass", mass=mass, position=(length, 0, 0)))
    system.add(mbd.PointOnLine("track", system.ground, carriage, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Distance("rod", carriage, bob))
    return system
