"""Swing-up: a pole on a cart, where the force on the cart is a line through 51 values.

The motion is that of Kelly, An introduction to trajectory optimization, SIAM Review 59 (2017), 849:
masses 1 and 0.3 kg, a rod of 0.5 m, 2 s, at most 20 N. From this guess ``mbd.optimize`` finds values
with which the pole stands upright, at rest, one metre away (``docs/howto/controls.rst``); the
reference is the motion under the guess.
"""

import numpy as np

import mbd

T, N = 2.0, 51
CART, POLE, LENGTH, G = 1.0, 0.3, 0.5, 9.81
TIMES = np.linspace(0.0, T, N)
RUN = {"t_end": T, "step": 1e-3}


def build(push: float = 10.0) -> mbd.System:
    """Return the pole that hangs from its cart, pushed and pulled by so many newtons; y up."""
    values = push * np.sin(np.pi * TIMES)
    system = mbd.System(gravity=(0.0, -G, 0.0))
    cart = system.add(mbd.RigidBody("cart", mass=CART, inertia=(1.0, 1.0, 1.0)))
    pole = system.add(
        mbd.RigidBody("pole", mass=POLE, inertia=(1e-9, 1e-9, 1e-9), position=(0, -LENGTH, 0))
    )
    system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis=(0, 0, 1)))
    force = mbd.Interpolated(TIMES, values, between="line")
    system.add(mbd.PointForce("push", cart, (force, 0.0, 0.0)))
    return system


_SOURCE = "equations of motion of the paper with this force, DOP853, rtol 1e-12"
REFERENCE = (
    ("rail.displacement", 0.5, 0.524637765779673, 2e-5, _SOURCE),
    ("hinge.angle", 0.5, -0.7703085537654674, 2e-5, _SOURCE),
    ("rail.displacement", 1.0, 2.522881884001515, 2e-5, _SOURCE),
    ("hinge.angle", 1.0, -0.7372436426656528, 2e-5, _SOURCE),
)
