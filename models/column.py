"""Column of links: rigid, with springs in the hinges, under a dead load; buckled, or straight.

n links of length h = L/n with springs EI/h, twice that at the clamp, buckle under
4 EI n^2 / L^2 sin^2(pi / 4n), which tends to Euler's load EI (pi / 2L)^2. Above it a bent pose is
stable; the column starts there and stays. Its angles follow from
k_i (a_i - a_(i-1)) - k_(i+1) (a_(i+1) - a_i) = P h sin(a_i), shot from the tip.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import mbd

N, RATIO = 8, 1.1
RUN = {"t_end": 0.5, "step": 1e-3}


def critical(n: int, stiffness: float = 1.0, length: float = 1.0) -> float:
    """Return the load under which n links buckle [N]."""
    return float(4 * stiffness * (n / length) ** 2 * np.sin(np.pi / (4 * n)) ** 2)


def bent(n: int, load: float) -> np.ndarray:
    """Return the angles of the links of a bent column of length 1 and stiffness 1 [rad]."""
    h = 1 / n

    def shoot(last: float) -> np.ndarray:
        """Return angles from the clamp to the tip, the first one that of the clamp."""
        angles = [last]
        moment = 0.0  # in the hinge above
        for i in range(n, 0, -1):
            moment += load * h * np.sin(angles[-1])
            angles.append(angles[-1] - moment / (n * (2 if i == 1 else 1)))
        return np.array(angles[::-1])

    last: Any = brentq(lambda x: shoot(x)[0], 0.1, 3.0, xtol=1e-15)
    return shoot(last)[1:]


def _tip() -> tuple[float, float, float]:
    angles = bent(N, RATIO * critical(N))
    return float(np.sin(angles).mean()), 0.0, float(np.cos(angles).mean())


REFERENCE = ((f"link {N}(0, 0, {0.5 / N}).position", 0.5, _tip(), 1e-6, "shooting"),)


def build(
    formulation: str = "so3", n: int = N, load: float | None = None, straight: bool = False
) -> mbd.System:
    """Return n links (length 1 m, stiffness 1 N m^2) under a load [N], buckled or straight."""
    load = RATIO * critical(n) if load is None else load
    angles = np.zeros(n) if straight else bent(n, load)
    h, foot, before = 1 / n, np.zeros(3), 0.0
    system = mbd.System()
    last = system.ground
    for i, angle in enumerate(angles, 1):
        R = Rotation.from_rotvec([0, angle, 0])
        up = R.apply((0, 0, h))
        link = system.add(
            mbd.RigidBody(
                f"link {i}", mass=h, inertia=(h**3 / 12, h**3 / 12, 1e-2 * h**3),
                position=foot + up / 2, rotation=R, formulation=formulation,
                shape=mbd.Capsule(0.02, h),
            )
        )  # fmt: skip
        hinge = system.add(mbd.Revolute(f"hinge {i}", last, link, at=foot, axis=(0, 1, 0)))
        k = n * (2 if i == 1 else 1)
        system.add(mbd.RotationalSpring(f"spring {i}", hinge, stiffness=k, angle=before - angle))
        foot, last, before = foot + up, link, angle
    system.add(mbd.PointForce("push", last, (0, 0, -load), at=foot))
    return system
