"""Shallow truss: two springs in an arch under a load; the path of equilibria snaps through.

At the height z the load P = 2 k z (l0 / l - 1), l^2 = a^2 + z^2, is in balance; it rises to a limit
of 3.019 N, falls to its opposite, and rises again. Here the load is put on suddenly and the top
swings; its motion was integrated as one scalar equation by DOP853 at 1e-13.
"""

import numpy as np

import mbd

STIFFNESS, HEIGHT, HALF, MASS, LOAD = 1000.0, 0.2, 1.0, 1.0, 2.0
RUN = {"t_end": 1.0, "step": 5e-4}
REFERENCE = (
    ("top.position", 0.5, (0.0, 0.0, 0.1198854654048), 1e-5, "scalar equation, DOP853"),
    ("top.position", 1.0, (0.0, 0.0, 0.1971060988965), 1e-5, "scalar equation, DOP853"),
)


def load_at(z: np.ndarray) -> np.ndarray:
    """Return the load that holds the top at a height [N]."""
    length = np.hypot(HALF, z)
    return 2 * STIFFNESS * z * (np.hypot(HALF, HEIGHT) / length - 1)


def build(load: float = LOAD) -> mbd.System:
    """Return the truss with its load [N], guided in its plane."""
    system = mbd.System()
    top = system.add(mbd.PointMass("top", mass=MASS, position=(0, 0, HEIGHT)))
    for name, x in (("left", -HALF), ("right", HALF)):
        system.add(mbd.Spring(name, system.ground, top, at=(x, 0, 0), stiffness=STIFFNESS))
    system.add(mbd.PointInPlane("guide", system.ground, top, at=(0, 0, HEIGHT), axis=(0, 1, 0)))
    system.add(mbd.PointForce("push", top, (0, 0, -load)))
    return system
