r"""Constants of a body with modes, and where its functions find them.

Tables stand after each other; how far after the first number of the constants each begins stands
in a head in front of them. In the room for work, what every number of modes needs comes first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mbd.formulations.formulation import Formulation, MapRecord, NodeRecord
from mbd.machine.buffer import MAP_ROW
from mbd.machine.jit import jit

# constants: numbers of modes, interfaces, reference loads, then where tables begin, then W0
(
    MODES, INTERFACES, REFERENCES, W1, W2, MASS, STIFFNESS, DAMPING, GEOMETRIC, LOADED, PLACES,
    FRAME, WORK, W0,
) = range(14)  # fmt: skip
# numbers in work, whose sizes do not depend on the modes; after them U (12) of each mode
VELOCITY, ACCELERATION, W, V1, V2, GRAM, RATES, LOAD, OWN, ROW, COLUMN, ONE, WEIGHTED = range(
    0, 13 * 24, 24
)
P = 13 * 24
PT, DP, AV, AQ = range(P + 3 * MAP_ROW, P + 15 * MAP_ROW, 3 * MAP_ROW)
EA, EV, EY, Z, PRODUCT, BLOCK = range(P + 15 * MAP_ROW, P + 15 * MAP_ROW + 6 * 324, 324)
U = BLOCK + 324


@dataclass(frozen=True, eq=False)
class ModalConstants:
    """Constants of the equations of a body with m modes and k interfaces.

    Attributes
    ----------
    W0, W1, W2 : (4, 4), (m, 4, 3), (m, m, 3, 3) arrays [kg m^2, ...]
        Invariants of inertia.
    stiffness, damping : (m, m) arrays [N/m], [N s/m]
    geometric : (m, m, 3, 3) array [kg]
        Symmetric: stiffness for each product of two components of the angular velocity.
    places : (k, 3) array [m]
        Origins of the interfaces, in the frame.
    shifts, turns : (k, m, 3) arrays [-], [rad/m]
        How each mode moves them.
    loads : (r, m) array [N]
        Of the reference loads, on the modes.
    load_stiffness : (r, m, m) array [N/m]
        Stiffness from the stress of each.
    """

    W0: np.ndarray
    W1: np.ndarray
    W2: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    geometric: np.ndarray
    places: np.ndarray
    shifts: np.ndarray
    turns: np.ndarray
    loads: np.ndarray = field(default_factory=lambda: np.zeros((0, 1)))
    load_stiffness: np.ndarray = field(default_factory=lambda: np.zeros((0, 1, 1)))

    @property
    def second(self) -> np.ndarray:
        """W2 with geometric stiffness."""
        G = self.geometric
        trace = np.trace(G, axis1=2, axis2=3)[..., None, None]
        return np.asarray(self.W2 + G - 0.5 * trace * np.eye(3))

    def table(self, frame: Formulation) -> np.ndarray:
        """Return the numbers as the functions of the formulation read them."""
        n, mass = len(self.W1), np.trace(self.W2, axis1=2, axis2=3)
        motions = np.concatenate([self.shifts, self.turns], axis=2).reshape(len(self.places), 6 * n)
        Q = self.loads.reshape(-1, n)
        inverse = np.linalg.inv(Q @ np.linalg.solve(self.stiffness, Q.T))
        stress = [inverse, inverse @ Q, self.load_stiffness, np.zeros(len(Q) * (n + 2))]
        tables = [
            self.W0, self.W1, self.second, mass, self.stiffness, self.damping,
            self.second - self.W2, np.concatenate([x.ravel() for x in stress]),
            np.concatenate([self.places, motions], axis=1),
            frame.constants(0.0, np.zeros(3), np.zeros((3, 3))), np.zeros(U + 12 * n),
        ]  # fmt: skip
        ends = W0 + np.cumsum([x.size for x in tables])
        head = [n, len(self.places), len(Q), *ends[:-1]]
        return np.concatenate([np.array(head, float), *(x.ravel() for x in tables)])

    def mass_matrix(self) -> np.ndarray:
        """Return the matrix of the kinetic energy over all faces, interfaces without mass."""
        n, k = len(self.W1), len(self.places)
        A = np.zeros((1 + k + n, 4, 1 + k + n, 4))
        A[0, :, 0] = self.W0
        A[0, :, 1 + k :, 1:] = self.W1.transpose(1, 0, 2)
        A[1 + k :, 1:, 0] = self.W1.transpose(0, 2, 1)
        A[1 + k :, 1:, 1 + k :, 1:] = self.W2.transpose(0, 2, 1, 3)
        return A.reshape(4 * (1 + k + n), -1)


class NodalShapes(NamedTuple):
    """Nodes (n, 3) [m] of a mesh in the frame, and displacements (n, d, m) for p_j = 1 m.

    ``remark(yd, q)`` says what is wrong with a motion: rates of the frame, coordinates; ``stress``
    whether loads stiffen and soften the body.
    """

    x: np.ndarray
    values: np.ndarray
    remark: Callable[[np.ndarray, np.ndarray], str]
    stress: bool


@jit
def table(F: Any, par: int, which: int) -> int:
    """Return where a table begins."""
    return par + int(F[par + which])


@jit
def frame_of(F: Any, n: Any) -> Any:
    """Return the record of the frame; its rates and second rates are in the room for work."""
    work = table(F, n.par, WORK)
    return NodeRecord(
        table(F, n.par, FRAME), n.q0, n.q, n.d, n.v, n.a, n.y, work + VELOCITY,
        work + ACCELERATION, n.f, n.x, n.S, n.ld, n.rate, n.second, n.u,
    )  # fmt: skip


@jit
def loaded_frame(F: Any, n: Any, size: int) -> Any:
    """Return the record of a frame that bears all loads; it writes in the room for work."""
    work, b = table(F, n.par, WORK), frame_of(F, n)
    return NodeRecord(
        b.par, b.q0, b.q, b.d, b.v, work + OWN, b.y, b.yd, b.ydd, work + LOAD, work + ROW,
        work + BLOCK, size, b.rate, b.second, b.u,
    )  # fmt: skip


@jit
def working_maps(work: int, w: int, rate: int) -> Any:
    """Return the record of maps in the room for work, of weights w."""
    return MapRecord(w, work + P, work + PT, work + DP, work + P, rate, 0)
