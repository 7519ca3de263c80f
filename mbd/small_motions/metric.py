r"""Sizes of increments of bodies, the same in all coordinates.

With the map :math:`\delta y = Y\delta` of a body, :math:`y = (x, d_1, d_2, d_3)`,

.. math:: |\delta|^2_x = \delta x^T \delta x = \delta^T P_x\,\delta, \qquad
          |\delta|^2_d = \tfrac12\textstyle\sum_k \delta d_k^T \delta d_k = \delta^T P_d\,\delta

are the squares of how far it moves [m] and turns [rad].
"""

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import HELD_BODY, POSE_STEP, REST_LIGHT, REST_TURN
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.small_motions.face_maps import face_maps


class Metric:
    """Sizes of increments at a state; along a motion they hardly change."""

    def __init__(self, model: Model, state: State) -> None:
        bodies = list(model.nodes.values())
        sizes = np.array([b.formulation.n_v for b in bodies])
        self.first = np.cumsum(sizes) - sizes
        self.body = model.node_of_velocity
        self.length = float(model.F[m.LENGTH])
        maps = face_maps(model, state)
        self.far = max(float(np.linalg.norm(x.y[0])) for x in maps) / self.length
        corners = [[face.Y.reshape(4, 3, -1) for face in x.faces] for x in maps]
        moves = [sum(Y[0].T @ Y[0] for Y in faces) for faces in corners]
        turns = [
            sum(0.5 * np.einsum("kci,kcj->ij", Y[1:], Y[1:]) for Y in faces) for faces in corners
        ]
        self.Px = sp.block_diag(moves, format="csr")
        self.Pd = sp.block_diag(turns, format="csr")
        self.move, self.turn = np.sqrt(self.Px.diagonal()), np.sqrt(self.Pd.diagonal())
        mass = np.array([b.mass for b in bodies])
        self.mass = np.maximum(mass, 1e-6 * mass.max())

    def _weighted(self, move: np.ndarray, turn: np.ndarray) -> sp.csr_matrix:
        """Return a move Px + b turn Pd for numbers of each body."""
        moves = sp.diags(move[self.body]) @ self.Px
        return sp.csr_matrix(moves + sp.diags(turn[self.body]) @ self.Pd)

    def heavy(self) -> sp.csr_matrix:
        """Return the weights in which bodies rather move than turn: masses, masses times length^2.

        Rows of a chain are then restored by moving its bodies along, and multipliers are those
        that balance forces, not moments: each joint carries what hangs from it.
        """
        return self._weighted(self.mass, self.mass * self.length**2)

    def drag(self, acting: np.ndarray) -> sp.csr_matrix:
        """Return D for the size of what acts on each row: forces per length, moments per radian.

        Where tension holds a link, its stiffness is the tension times its length: D is of that
        size link by link, so that all of a long chain turns at once.
        """
        moves, turns = self._parts()
        force = self._most(np.where(moves, acting / np.where(moves, self.move, 1.0), 0.0))
        moment = self._most(np.where(turns, acting / np.where(turns, self.turn, 1.0), 0.0))
        force *= np.where(self._most(turns) > 0.0, REST_LIGHT, 1.0) / self.length
        return self._weighted(force, moment)

    def stiff(self, size: np.ndarray) -> sp.csr_matrix:
        """Return W, of the size of a stiffness body by body; of none it is that of the others.

        In W a soft body is as stiff as it is, however stiff the next one may be. ``size`` (n_v,)
        is that of what is added on the diagonal of K.
        """
        moves, turns = self._parts()
        move = self._most(np.where(moves, size / np.where(moves, self.move, 1.0) ** 2, 0.0))
        turn = self._most(np.where(turns, size / np.where(turns, self.turn, 1.0) ** 2, 0.0))
        common = max(float(move.max()) * self.length**2, float(turn.max())) or 1.0
        least = HELD_BODY * common
        return self._weighted(np.maximum(move, least / self.length**2), np.maximum(turn, least))

    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Tell of each coordinate whether it moves and whether it turns its body."""
        turns = self.turn * self.length > 1e-6 * self.move
        return self.move > 1e-12 * self.turn * self.length, turns

    def _most(self, values: np.ndarray) -> np.ndarray:
        """Return the largest value of each body."""
        return np.maximum.reduceat(values.astype(float), self.first)

    def steps(self, delta: np.ndarray) -> np.ndarray:
        """Return how far each body moves, then turns, as parts of the longest step allowed."""
        largest = float(np.abs(delta).max(initial=0.0)) or 1.0
        x = delta / largest  # whose squares are numbers
        move, turn = (np.add.reduceat(x * (P @ x), self.first) for P in (self.Px, self.Pd))
        far = np.sqrt(np.maximum(move, 0.0)) / (POSE_STEP * self.length)
        return largest * np.concatenate([far, np.sqrt(np.maximum(turn, 0.0)) / REST_TURN])
