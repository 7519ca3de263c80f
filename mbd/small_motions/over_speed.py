r"""Small motions of bodies that spin in a pose, as polynomials of the speed.

Velocities are linear in the speed :math:`\Omega`, accelerations and multipliers quadratic; so are
the entries of the pencil, :math:`A(\Omega) = A_0 + \Omega A_1 + \Omega^2 A_2`, where no force is
another function of velocities. That is checked at a fourth speed.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mbd.base.tolerances import ROUND_OFF
from mbd.small_motions.eigenvalues import dense
from mbd.small_motions.minimal import Minimal, minimal
from mbd.small_motions.small_motion import SmallMotion
from mbd.small_motions.spectrum import Pencil


class OverSpeed:
    """Eigenvalues and shapes over the speed [rad/s].

    Parameters
    ----------
    motion_at : callable
        The small motions at a speed; in a pose that does not depend on it.
    fastest : float [rad/s]
        Not zero.
    """

    def __init__(self, motion_at: Callable[[float], SmallMotion], fastest: float) -> None:
        self.fastest = fastest
        slow, rest, fast = (minimal(motion_at(x * fastest)) for x in (-1.0, 0.0, 1.0))
        self.base: Minimal = fast
        A = [x.pencil.A for x in (slow, rest, fast)]
        self.A = (A[1], 0.5 * (A[2] - A[0]), 0.5 * (A[2] + A[0]) - A[1])
        self.size = np.maximum(fast.pencil.A_size, rest.pencil.A_size)
        between = minimal(motion_at(0.5 * fastest))
        pairs = [(self.pencil(0.5 * fastest).A, between.pencil.A), (rest.pencil.E, fast.pencil.E)]
        size = self.size.sum(1)[:, None]
        apart = [np.abs(x - y) > ROUND_OFF**0.5 * size for x, y in pairs]
        places = [(x.bases.positions, x.bases.velocities) for x in (slow, rest, fast, between)]
        alike = all(np.array_equal(x, y) for p in places for x, y in zip(p, places[0], strict=True))
        self.polynomial = alike and not any(x.any() for x in apart)

    def pencil(self, speed: float) -> Pencil:
        """Return the pencil at a speed."""
        x, (A, B, C) = speed / self.fastest, self.A
        pencil = self.base.pencil
        return Pencil(A + x * (B + x * C), pencil.E, self.size, pencil.E_size)

    def at(self, speed: float, *, slow: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues, one of each pair, and shapes; ``slow``: fast ones less exactly."""
        s, shapes, _ = dense(replace(self.base, pencil=self.pencil(speed)), slow=slow)
        return s, shapes
