"""One body of a formulation in buffers of its own: each function of the formulation by itself."""

from typing import Any

import numpy as np

from mbd.formulations.families import conserving_family, family
from mbd.formulations.formulation import Formulation
from mbd.machine import buffer as m

_GAP = 16  # floats after every vector, which nobody may write to


class OneBody:
    """The functions of a formulation, on arrays.

    What they must write is NaN before; after every vector are numbers that must stay NaN.

    Parameters
    ----------
    formulation : Formulation
    constants : (n_par,) array
        Its constants of the body.
    conserving : bool
        Whether functions in the middle of a `step` are those of ``Formulation.conserving``.
    """

    def __init__(
        self, formulation: Formulation, constants: np.ndarray, conserving: bool = False
    ) -> None:
        f = self.formulation = formulation
        self.kernels: Any = conserving_family(f) if conserving else family(f)
        n_u = f.n_v + f.n_own
        rooms = {
            **dict.fromkeys((m.Q, m.QN), f.n_q),
            **dict.fromkeys((m.D, m.V, m.VN, m.A, m.X, m.PHID, m.PHIDD), n_u),
            m.MATRIX: n_u * n_u,
            **dict.fromkeys((m.Y, m.YD, m.YDD, m.FY), 12 * f.n_faces),
        }
        self.record, node = m.I_HEADER, m.I_HEADER + 2
        self.attachment = node + m.NODE_SIZE
        self.I = np.zeros(self.attachment + m.ATT_SIZE, m.ENTRY)
        at = m.F_HEADER
        for name, size in rooms.items():
            self.I[name] = at
            at += size + _GAP
        # vectors 0 and 1 of a method, what it integrates with
        room = max(n_u, 6)
        self.I[m.N_U], self.I[m.METHOD] = room + _GAP, at
        self.par = at + 2 * (room + _GAP)
        self.weights = self.par + len(constants) + _GAP
        self.maps_at = self.weights + 4 * f.n_faces + _GAP
        self.F = np.full(self.maps_at + m.MAPS_SIZE + _GAP, np.nan)
        self.F[: m.F_HEADER] = 0.0
        self.F[self.par : self.par + len(constants)] = constants
        self.I[self.record], self.I[self.record + 1] = 1, node
        self.I[node + m.NODE_PAR] = self.par
        self.I[node + m.NODE_S], self.I[node + m.NODE_LD] = self.I[m.MATRIX], n_u
        self.I[self.attachment + m.ATT_NODE] = node
        self.I[self.attachment + m.ATT_W] = self.weights
        self.vectors = {x: self.F[self.I[x] :][:size] for x, size in rooms.items()}
        self.first, self.second = (self.F[at + i * (room + _GAP) :][:room] for i in (0, 1))
        self.ends = [self.I[x] + size for x, size in rooms.items()]
        self.F[m.SCALE_R] = 1.0

    def hold(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        """Take coordinates, velocities and accelerations, and an increment of zero."""
        n_v = self.formulation.n_v
        self.vectors[m.QN][:] = q
        self.vectors[m.Q][:] = q
        m.integers(self.F)[m.PHASE] = m.ORDINARY
        for name, x in ((m.D, 0.0), (m.V, v), (m.A, a)):
            self.vectors[name][:] = 0.0
            self.vectors[name][:n_v] = x

    def move(self, d: Any = None, v: Any = None, a: Any = None) -> np.ndarray:
        """Return faces, velocities and accelerations (3, 4 k, 3); what is not given stays."""
        n_v = self.formulation.n_v
        for name, x in ((m.D, d), (m.V, v), (m.A, a)):
            if x is not None:
                self.vectors[name][:n_v] = x
        self.vectors[m.Y][:] = self.vectors[m.YDD][:] = 0.0  # a point leaves its directors so
        for name in (m.YD, m.PHID, m.PHIDD):
            self.vectors[name][:] = np.nan
        self._run(self.kernels.place)
        self._run(self.kernels.velocities)
        self._run(self.kernels.rates)  # accelerations of faces, and rates of own rows
        return np.array([self.vectors[x].reshape(-1, 3) for x in (m.Y, m.YD, m.YDD)])

    @property
    def coordinates(self) -> np.ndarray:
        """The coordinates (n_q,) at the end of the increment."""
        return self.vectors[m.Q].copy()

    def residual(
        self, force: Any = 0.0, multipliers: Any = 0.0, gravity: Any = (0.0, 0.0, 0.0)
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual (n_v,) and the own rows, where the body was moved to."""
        n_v = self.formulation.n_v
        self.F[m.GX : m.GX + 3] = gravity
        self.vectors[m.FY][:] = force
        self.vectors[m.A][n_v:] = multipliers
        self.vectors[m.X][:] = np.nan
        self._run(self.kernels.residual)
        x = self.vectors[m.X].copy()
        return x[:n_v], x[n_v:]

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both rates of the own rows, where the body was moved to."""
        n_v = self.formulation.n_v
        return self.vectors[m.PHID][n_v:].copy(), self.vectors[m.PHIDD][n_v:].copy()

    def step(self, d: np.ndarray, h: float) -> np.ndarray:
        """Go to the middle of the step of an increment in h; return the faces there and at its end.

        It begins where the body was held, (2, 4 k, 3).
        """
        n_v, faces = self.formulation.n_v, list[np.ndarray]()
        self.vectors[m.VN][:n_v] = self.vectors[m.V][:n_v]
        self.F[m.ROW_RATE] = h
        for phase, part in ((m.END, 1.0), (m.MIDDLE, 0.5)):
            m.integers(self.F)[m.PHASE] = phase
            self.vectors[m.D][:n_v] = part * d
            self._run(self.kernels.place)
            faces.insert(0, self.vectors[m.Y].reshape(-1, 3).copy())
        return np.array(faces)

    def tangent(self) -> np.ndarray:
        """Return the derivative (n_v + n_own, n_v) of the residual by the increment of a step."""
        self.vectors[m.MATRIX][:] = 0.0
        self._run(self.kernels.tangent)
        n_u = self.formulation.n_v + self.formulation.n_own
        return self.vectors[m.MATRIX].reshape(n_u, n_u)[:, : self.formulation.n_v].copy()

    def ending(self) -> np.ndarray:
        """Return the velocities at the end of a step."""
        v = self.vectors[m.V][: self.formulation.n_v]
        before = v.copy()
        v[:] = np.nan
        self._run(self.kernels.ending)
        after = v.copy()
        v[:] = before
        return after

    def maps(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the maps P, PT, DP and PV of a weighted point, (3, n_v) each."""
        places = {"P": m.P, "PT": m.PT, "DP": m.DP, "PV": m.PV}
        written = self._maps(self.kernels.maps, weights, places, 1)
        return written | ({"PV": written["P"]} if self.formulation.galerkin else {})

    def second_maps(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the maps AV and AQ of its acceleration, (3, n_v) each."""
        return self._maps(self.kernels.second_maps, weights, {"AV": m.AV, "AQ": m.AQ}, 0)

    def flow(self) -> np.ndarray:
        """Return the rate of the increment."""
        self.first[:] = np.nan
        self._run(self.kernels.flow)
        return self.first[: self.formulation.n_v].copy()

    def convect(self, way: float, velocity: np.ndarray) -> np.ndarray:
        """Return a velocity that was turned with the increment, or back."""
        n_v, F = self.formulation.n_v, self.F
        F[m.WAY] = way
        x = self.vectors[m.V if way > 0.0 else m.A]
        x[:n_v] = velocity
        self._run(self.kernels.convect)
        return x[:n_v].copy()

    def carry(self, motion: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return increment and velocities of a motion of the body."""
        n_v = self.formulation.n_v
        self.vectors[m.D][:n_v] = self.vectors[m.V][:n_v] = np.nan
        self.first[:6], self.second[:6] = motion, velocity
        self._run(self.kernels.carry)
        return self.vectors[m.D][:n_v].copy(), self.vectors[m.V][:n_v].copy()

    def energies(self) -> np.ndarray:
        """Return what the body stores and what it dissipates."""
        self.F[[m.POTENTIAL, m.DISSIPATED]] = 0.0
        self._run(self.kernels.energy)
        return self.F[[m.POTENTIAL, m.DISSIPATED]]

    @property
    def stays_inside(self) -> bool:
        """Whether nothing was written after the vectors."""
        return all(np.isnan(self.F[end : end + _GAP]).all() for end in self.ends)

    def _run(self, kernel: Any) -> None:
        kernel(self.I, self.F, self.record)

    def _maps(
        self, kernel: Any, weights: np.ndarray, places: dict[str, int], rate: int
    ) -> dict[str, np.ndarray]:
        F, at, n_v = self.F, self.maps_at, self.formulation.n_v
        F[at : at + m.MAPS_SIZE] = np.nan
        F[self.weights : self.weights + len(weights)] = weights
        kernel(self.I, F, self.attachment, at, rate)
        rows = F[at : at + m.MAPS_SIZE].reshape(-1, m.MAP_ROW)
        return {x: rows[i // m.MAP_ROW :][:3, :n_v].copy() for x, i in places.items()}
