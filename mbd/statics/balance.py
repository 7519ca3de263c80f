r"""The balance of forces at a pose, with loads scaled and in a frame that may turn.

.. math:: g(q, \lambda) = r(q, v(q), \dot v(q), \lambda) = 0, \qquad \Phi(q) = 0 .

At rest v and v' are zero. In a frame that turns at the rate :math:`\Omega` the faces move as
:math:`\dot y = \tilde\Omega y + y s` with given own spins s, hence :math:`v(q) = Y^+\dot y`,
:math:`\dot v = C v`, and with A and C of ``small_motion.py``

.. math:: \frac{\partial g}{\partial q} = K - (G + M C)\,A .

Loads are scaled by a factor between two models, one with and one without them: r and K are linear
in the loads.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.algebra.differences import SECOND
from mbd.algebra.rotations import tilde
from mbd.base.checked import names, shown
from mbd.machine import buffer as m
from mbd.model.build import build
from mbd.model.model import Model
from mbd.model.pattern import pattern
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.descriptor import RefinedFactors
from mbd.small_motions.face_maps import FaceMaps, face_maps, inverses
from mbd.small_motions.rotors import Rotor
from mbd.small_motions.small_motion import SmallMotion, scale_by_mass, small_motion
from mbd.statics.imbalance import GRAVITY, Imbalance, generalized_forces, imbalance
from mbd.statics.stresses import give, stresses


@dataclass(frozen=True, eq=False)
class Balance:
    """Forces and tangents at a pose; ``forces`` is g without the part of the rows.

    With ``stress`` given (``stresses.py``), K is that of these, ``carried`` are the forces of them.
    ``added`` (n_v,) is the size of what is added on the diagonal of K.
    """

    state: State
    forces: np.ndarray
    carried: np.ndarray
    gap: np.ndarray
    K: sp.csr_matrix
    added: np.ndarray
    B: sp.csr_matrix
    Bt: sp.csr_matrix
    stress: np.ndarray | None = None

    @property
    def residual(self) -> np.ndarray:
        """Out-of-balance forces g."""
        return self.forces + self.Bt @ self.state.lam


class Statics:
    """The problem: a model, which loads are scaled, the frame.

    Parameters
    ----------
    model : Model
    scaled : tuple of str
        Names of the loads that the load factor scales, "gravity" among them or not.
    omega, about : (3,) arrays
        Rate of the frame [rad/s] and a point of its axis [m].
    spins : dict
        Own spin of bodies in the frame, in body axes [rad/s].
    rotor : Rotor, optional
        What turns on a support at rest, at ``speed`` [rad/s] about its axis, which goes along with
        the pose.
    """

    def __init__(
        self, model: Model, scaled: tuple[str, ...], omega: np.ndarray, about: np.ndarray,
        spins: dict[str, np.ndarray], rotor: Rotor | None = None, speed: float = 0.0,
    ) -> None:  # fmt: skip
        self.model, self.omega, self.about, self.spins = model, omega, about, spins
        self.scaled, self.scale = scaled, scale_by_mass(model)
        self.rotor, self.speed = rotor, speed
        self.turning = bool(omega.any()) or any(s.any() for s in spins.values())
        self.turning |= rotor is not None and speed != 0.0

    @cached_property
    def bare(self) -> Model:
        """The model without the loads that are scaled."""
        if not self.scaled:
            return self.model
        bare = copy(self.model.system)
        bare.forces = {n: p for n, p in bare.forces.items() if n not in self.scaled}
        if GRAVITY in self.scaled:
            bare.gravity = np.zeros(3)
        return build(bare)

    def at_speed(self, speed: float) -> "Statics":
        """Return the same problem of a rotor at another speed [rad/s], not zero."""
        other = copy(self)
        other.speed = speed
        return other

    def moving(self, state: State) -> State:
        """Return the state with the velocities and accelerations that the frame gives the pose."""
        zero = np.zeros(self.model.n_v)
        state = state.replace(v=zero, a=zero, alg=None)
        if not self.turning:
            return state
        maps = face_maps(self.model, state)
        return self._carried(state, maps, inverses(maps), self.frames(state))

    def _carried(
        self, state: State, maps: Sequence[FaceMaps], inverse: Sequence[np.ndarray],
        frames: dict[str, tuple[np.ndarray, np.ndarray]],
    ) -> State:  # fmt: skip
        """Return a pose, given with its maps and their inverses, in motion with frames."""
        v, a = np.empty((2, self.model.n_v))
        wanted = list[np.ndarray]()
        for body, back in zip(maps, inverse, strict=True):
            s, spin = np.zeros((4, 4)), self.spins.get(body.name)
            if spin is not None:
                s[1:, 1:] = tilde(spin)
                s[1:, 0] = -s[1:, 1:] @ self.model.nodes[body.name].center_of_mass
            rates, second = [], []
            omega, about = frames.get(body.name, (self.omega, self.about))
            turn = tilde(omega).T
            for face, own in zip(body.faces, body.spins(s), strict=True):
                rate = face.y @ turn + own.T @ face.y
                rate[0] -= about @ turn
                rates.append(rate)
                second.append(rate @ turn + own.T @ rate)
            v[body.v] = back @ np.ravel(rates)
            wanted.append(np.ravel(second))
        state = state.replace(v=v)
        work = Workspace(self.model, state)
        work.evaluate()
        work.rates()
        by_speed = work.vector(m.YDD, 12 * (self.model.n_faces + 1)).reshape(-1, 12)[1:]  # b(v, v)
        for body, back, ydd in zip(maps, inverse, wanted, strict=True):
            first = self.model.faces[body.name]
            a[body.v] = back @ (ydd - by_speed[first : first + len(body.faces)].ravel())
        return state.replace(a=a)

    def frames(self, state: State) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return rate and a point of the axis of the bodies of the rotor at a pose."""
        if self.rotor is None:
            return {}
        return self.rotor.at(self.model, state).frames(self.speed)

    def _by_axis(self, state: State, motion: SmallMotion) -> sp.csr_matrix:
        """Return what of dg/dq the axis of the rotor adds, which goes with the body that holds it.

        By differences: v and v' of the rotor about the axes of poses with that body moved.
        """
        n, model = self.model.n_v, self.model
        columns = sp.lil_array((n, n))
        frame = None if self.rotor is None else self.rotor.frame
        if frame is None or not frame.body.moves:
            return sp.csr_matrix(columns)
        plain, maps = motion.G - motion.M @ motion.C, motion.maps
        zero, inverse = np.zeros(n), inverses(maps)
        still = state.replace(v=zero, a=zero, alg=None)
        holder = next(x for x in maps if x.name == frame.body.name)
        for j in range(holder.v.start, holder.v.stop):
            step = SECOND * model.units[j] * np.eye(1, n, j)[0]
            frames = (self.frames(displaced(model, still, x)) for x in (step, -step))
            one, two = (self._carried(still, maps, inverse, x) for x in frames)
            size = 2.0 * step[j]
            column = (plain @ (one.v - two.v) + motion.M @ (one.a - two.a)) / size
            columns[:, [j]] = column[:, None]
        return sp.csr_matrix(columns)

    def at(self, state: State, factor: float, stress: np.ndarray | None = None) -> Balance:
        """Return the balance at a pose with its multipliers, and with stresses if given."""
        state = self.moving(state)
        now = self._of(self.model, state, stress)
        if factor == 1.0 or self.bare is self.model:
            return now
        bare = self._of(self.bare, state, stress)
        K = factor * now.K + (1 - factor) * bare.K
        forces = factor * now.forces + (1 - factor) * bare.forces
        carried = factor * now.carried + (1 - factor) * bare.carried
        added = abs(factor) * now.added + abs(1 - factor) * bare.added
        return replace(now, K=K.tocsr(), added=added, forces=forces, carried=carried)

    def imbalance(self, balance: Balance, factor: float) -> Imbalance:
        """Return the forces out of balance, as a share of the loads, at a load factor."""
        factors = dict.fromkeys(self.scaled, factor)
        return imbalance(self.model, balance.state, balance.residual, balance.K, factors=factors)

    def load(self, state: State) -> np.ndarray:
        """Return the derivative of g by the load factor."""
        state = self.moving(state)
        return generalized_forces(self.model, state) - generalized_forces(self.bare, state)

    def stresses(
        self, state: State, delta: np.ndarray, iterate: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the stresses at a pose, and what an increment (n_v,) adds to first order."""
        return stresses(self.model, state, delta, iterate)

    def pulled(self, state: State, stress: np.ndarray) -> np.ndarray:
        """Return the residual at a pose with stresses given."""
        work = Workspace(self.model, state)
        give(work, stress)
        work.evaluate()
        return work.vector(m.X)[self.model.numbering.v].copy()

    def _of(self, model: Model, state: State, stress: np.ndarray | None) -> Balance:
        """Return the balance of one model, with dg/dq for K."""
        work, n = Workspace(model, state), model.n_v
        work.S[m.PHASE] = m.AT_REST
        if stress is not None:
            give(work, stress, m.STRESS_HERE)
        work.evaluate()
        r = work.vector(m.X).copy()
        state = state.replace(lam=work.vector(m.A)[model.numbering.lam])  # compliant rows' own
        carried = r
        if stress is not None:
            give(work, stress)
            work.evaluate()
            carried = work.vector(m.X).copy()
        work.linearise(0.0, 0.0, 1.0)
        S = pattern(model).read(work.F)
        K, B, Bt = S[:n, :n], S[n:, :n], S[:n, n:]
        forces, carried = (x[model.numbering.v] - Bt @ state.lam for x in (r, carried))
        added = np.abs(K.diagonal())
        if self.turning:
            frames = self.frames(state)
            rates = {name: rate for name, (rate, _) in frames.items()}
            motion = small_motion(model, state, self.omega, True, rates)
            products = abs(motion.G).multiply(abs(motion.A).T)
            added = added + np.asarray(products.sum(axis=1)).ravel()
            K = K - motion.G @ motion.A + self._by_axis(state, motion)
        gap = r[model.numbering.lam]
        return Balance(state, forces, carried, gap, sp.csr_matrix(K), added, B, Bt, stress)


class SaddlePoint:
    """The matrix [[K, B^T], [B, -eps]], factored; redundant rows are refined away.

    ``last`` is the last entry of the diagonal, where a load factor is the last multiplier.
    """

    def __init__(
        self, K: sp.csr_matrix, B: sp.csr_matrix, Bt: sp.csr_matrix, last: float = 0.0
    ) -> None:
        n, k = self.n, self.rows = K.shape[0], B.shape[0]
        K = sp.csr_matrix(K)
        full = sp.csc_matrix(sp.block_array([[K, Bt], [B, None]]) if k else K)
        if last:
            full = sp.csc_matrix(full + sp.diags(np.r_[np.zeros(n + k - 1), last]))
        size = float(np.abs(K).max() or 1.0)
        reach = float(np.abs(B).max() or 1.0) if k else 1.0
        corner = np.concatenate([np.zeros(n), np.full(k, -1e-11 * reach**2 / size)])
        try:
            self.factors: RefinedFactors | None = RefinedFactors(full, corner)
        except RuntimeError:  # exactly singular
            self.factors = None

    def solve(self, top: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and multipliers; not finite where the matrix is singular."""
        right = np.concatenate([top, rows])
        y = np.full(len(right), np.nan) if self.factors is None else self.factors(right)
        return y[: self.n], y[self.n :]


def accepted(model: Model, state: State) -> State:
    """Return the state after a step was taken to it: elements with a memory take it in."""
    calls = model.kernels[m.ACCEPT]
    if not calls:
        return state
    work = Workspace(model, state)
    work.evaluate()
    work.S[m.PHASE] = m.AT_REST
    work.run_each(calls)
    work.check_laws()
    return state.replace(memory=work.store().memory)


def scaled_loads(owner: str, model: Model, wanted: Any) -> tuple[str, ...]:
    """Return the names of the loads to scale; default all, gravity among them."""
    loads = [n for n, p in model.system.forces.items() if p.applied is not None]
    scalable = [GRAVITY, *loads]
    if wanted is None:
        return tuple(scalable)
    scaled = names(owner, "scaled", wanted)
    for name in scaled:
        if name not in scalable:
            raise ValueError(
                f"{owner}: scaled must name loads of the system or 'gravity', got {shown(name)}; "
                f"there are {', '.join(scalable)}"
            )
    return scaled


def least_multipliers(balance: Balance, scale: np.ndarray) -> Balance:
    """Return the balance with the multipliers that leave the least out of balance."""
    if not balance.B.shape[0]:
        return balance
    weight = sp.diags(1.0 / scale**2)
    _, lam = SaddlePoint(weight, balance.B, balance.Bt).solve(
        -balance.forces, np.zeros(balance.B.shape[0])
    )
    return replace(balance, state=balance.state.replace(lam=lam))
