r"""Derivatives of equilibria, and of what small motions about them have: eigenvalues, responses.

.. math:: \begin{bmatrix} K & B^T\\ B & 0\end{bmatrix}
   \begin{bmatrix}\delta q\\ \delta\lambda\end{bmatrix} =
   -\begin{bmatrix} r_p\\ \Phi_p\end{bmatrix}, \qquad
   \delta s = -\frac{w^T(s^2\,\delta E_2 + s\,\delta E_1 + \delta E_0)\,u}{w^T(2sE_2 + E_1)\,u}

with :math:`E_2 = \mathrm{diag}(M, 0)`, :math:`E_1 = \mathrm{diag}(G, 0)`, :math:`E_0` the matrix
on the left, right and left vectors u and w; :math:`\delta E` along the parameter and along
:math:`(\delta q, \delta\lambda)` of the equilibrium. Of a repeated eigenvalue these are the
eigenvalues of the same quotient on all of its vectors: a set that belongs to one direction of
parameters. A critical load factor f is the same with :math:`E_0(f)`: both along the path of
equilibria,

.. math:: \delta f = -\frac{w^T\,\delta E_0\,u}{w^T E_0'\,u} .

One number of an equilibrium by many parameters needs one solution of the transpose,
:math:`dJ = \mu^T r_p + \nu^T\Phi_p + J_p`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.equilibrium import Equilibrium, PartAtPose
from mbd.analyses.linearize import Descriptor, Linearized, linear_about
from mbd.analyses.modes import Modes
from mbd.base.door import array
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives.named import Tangents, derivative_by_name
from mbd.derivatives.objective import Objective, gradients, value_of
from mbd.derivatives.stencil import FRACTIONS, Stencil, stencils
from mbd.linear.null_space import null_space
from mbd.machine import buffer as m
from mbd.model.assembly import assemble
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.eigenvalues import alike
from mbd.small_motions.minimal import minimal
from mbd.small_motions.small_motion import small_motion
from mbd.statics.balance import Statics, least_multipliers


class PoseTangent:
    """The derivative of a pose by a parameter, by name: ``d["hinge"].force``, without time."""

    def __init__(self, named: Any, tangent: Tangents) -> None:
        self._named, self.tangents = named, tangent

    def __getitem__(self, name: str) -> Any:
        return PartAtPose(self._named[name])

    def of(self, function: Callable[[Any], Any]) -> Any:
        """Return the derivative of a function of the pose as a history of one instant."""
        return self._named.of(function)


class ModesTangent:
    """The derivative of modes by a parameter.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
        In the order of the modes; those of a repeated one are a set.
    """

    def __init__(self, modes: Modes, eigenvalues: np.ndarray) -> None:
        self._modes, self.eigenvalues = modes, eigenvalues

    @property
    def frequency(self) -> np.ndarray:
        """Derivative of the frequency of oscillation [Hz]."""
        return self.eigenvalues.imag / (2 * np.pi)


@dataclass(frozen=True, eq=False)
class LinearTangent:
    """The derivative of a linear system by a parameter: of E, A, B and C of its descriptor."""

    descriptor: Descriptor
    change: tuple[np.ndarray, ...]

    def frequency_response(self, frequencies: Any) -> np.ndarray:
        r"""Return the derivative of the response, (n, outputs, inputs), at frequencies [Hz].

        With :math:`S = i\omega E - A` and :math:`X = S^{-1}B`, :math:`Y = CS^{-1}`: it is
        :math:`\delta C\,X + Y(\delta B - (i\omega\,\delta E - \delta A)X)`.
        """
        of = self.descriptor
        E, A, B, C = (x.toarray() for x in (of.E, of.A, of.B, of.C))
        f = np.atleast_1d(array("frequency_response", "frequencies", frequencies, "numbers [Hz]"))
        dE, dA, dB, dC = self.change
        out = []
        for s in 2j * np.pi * f:
            X = np.linalg.lstsq(s * E - A, B, rcond=None)[0]
            Y = np.linalg.lstsq((s * E - A).T, C.T, rcond=None)[0].T
            out.append(dC @ X + Y @ (dB - (s * dE - dA) @ X))
        return np.array(out)


@dataclass(frozen=True, eq=False)
class BucklingTangent:
    """The derivative of critical load factors by a parameter; those of repeated ones are a set.

    Attributes
    ----------
    factors : (k,) array
    """

    factors: np.ndarray


def _matrix(A: Any) -> np.ndarray:
    """Return [[K, B^T], [B, 0]] of matrices at a pose."""
    n_lam = A.B.shape[0]
    full = np.block([[A.K.toarray(), A.Bt.toarray()], [A.B.toarray(), np.zeros((n_lam, n_lam))]])
    return np.asarray(full)


def _residual(state: State) -> Callable[[Any], np.ndarray]:
    """Return (r, Phi) at a state as a function of the model."""

    def of(model: Any) -> np.ndarray:
        work, numbers = Workspace(model, state), model.numbering
        work.evaluate(1.0)
        return np.concatenate([work.vector(m.X)[numbers.v], work.vector(m.X)[numbers.lam]])

    return of


def _met(owner: str, name: str, S: np.ndarray, x: np.ndarray, b: np.ndarray) -> None:
    """Refuse an effect that no change of the pose balances."""
    left = float(np.abs(S @ x - b).max(initial=0.0))
    if left > SENSITIVITY_MET * float(np.abs(b).max(initial=0.0)):
        raise ValueError(
            f"{owner}: no pose nearby is in balance with another value of {name!r}: a part "
            f"{left / np.abs(b).max():.2g} of its effect is on a motion that nothing resists, or "
            "on redundant rows; hold what is free"
        )


def _tangents(owner: str, model: Model, state: State, of: list[Stencil]) -> list[Tangents]:
    """Return the derivatives of a pose at rest by parameters."""
    S, n_v = _matrix(assemble(model, state)), model.n_v
    right = [-stencil.derivative(_residual(state)) for stencil in of]
    X = np.linalg.lstsq(S, np.array(right).T, rcond=None)[0].T
    for stencil, x, b in zip(of, X, right, strict=True):
        _met(owner, stencil.name, S, x, b)
    zero = np.zeros((1, n_v))
    return [Tangents(x[None, :n_v], zero, zero, x[None, n_v:], np.zeros(1)) for x in X]


def gradient_of_pose(
    owner: str, objective: Objective, pose: Equilibrium, parameters: Any
) -> tuple[float, list[str], np.ndarray]:
    """Return a number of an equilibrium, and its gradient by parameters, by name."""
    if objective.terminal is None or objective.running is not None:
        raise ValueError(
            f"{owner}: of an equilibrium give an objective terminal= alone, of the pose"
        )
    _check_rest(owner, pose)
    of, model, solution = stencils(owner, pose.model, parameters), pose.model, pose.solution
    term = objective.terminal
    g = gradients(term, solution, of, True, 1.0)
    S = _matrix(assemble(model, pose.state))
    right = -np.concatenate([g.q[0], g.lam[0]])
    mu = np.linalg.lstsq(S.T, right, rcond=None)[0]
    _met(owner, "the objective", S.T, mu, right)
    array = np.array([mu @ s.derivative(_residual(pose.state)) for s in of]) + g.p[:, 0]
    return value_of(objective, solution), [s.name for s in of], array


def _check_rest(owner: str, pose: Equilibrium) -> None:
    """Refuse an equilibrium that has no derivative here."""
    refused = {
        "in a rotating frame": bool(np.any(pose.rotating)),
        "with a load factor that is not one": pose.load_factor != 1.0,
        f"with free motions ({', '.join(pose.free)})": bool(pose.free),
    }
    for what, is_so in refused.items():
        if is_so:
            raise ValueError(
                f"{owner}: an equilibrium {what} has no derivative here; take one at rest, "
                "under the loads as described, with all motions resisted"
            )


def of_equilibrium(owner: str, pose: Equilibrium, parameters: Any) -> dict[str, PoseTangent]:
    """Return the derivatives of an equilibrium."""
    _check_rest(owner, pose)
    of = stencils(owner, pose.model, parameters)
    return {
        stencil.name: PoseTangent(derivative_by_name(pose.solution, stencil, z, {}), z)
        for stencil, z in zip(of, _tangents(owner, pose.model, pose.state, of), strict=True)
    }


def _beside(
    model: Model, state: State, stencil: Stencil, z: Tangents
) -> tuple[Stencil, list[State]]:
    """Return poses that follow a parameter, and the stencil with its step."""
    size = max(k for k, _ in FRACTIONS) * stencil.step
    far = size * float(np.abs(z.q / model.units).max(initial=0.0))
    near = stencil.nearer(1e-2 / far) if far > 1e-2 else stencil
    poses = []
    for (k, _), other in zip(FRACTIONS, near.models, strict=True):
        e = k * near.step
        there = displaced(other, state, e * z.q[0])
        poses.append(there.replace(lam=state.lam + e * z.lam[0]))
    return near, poses


def of_linear(owner: str, linear: Linearized, parameters: Any) -> dict[str, LinearTangent]:
    """Return the derivatives of a linear system about a pose at rest."""
    model, state, motion = linear.model, linear.state, linear.motion
    _check_still(owner, motion)
    of, out = stencils(owner, model, parameters), {}
    for stencil, z in zip(of, _tangents(owner, model, state, of), strict=True):
        near, poses = _beside(model, state, stencil, z)
        blocks: list[Any] = [0.0] * 4
        for (w, other), there in zip(near.weighted, poses, strict=True):
            moving = small_motion(other, there, motion.omega)
            beside = linear_about(moving, minimal(moving), *linear.ports).descriptor
            for i, x in enumerate((beside.E, beside.A, beside.B, beside.C)):
                blocks[i] = blocks[i] + w * x.toarray()
        out[stencil.name] = LinearTangent(linear.descriptor, tuple(blocks))
    return out


def _check_still(owner: str, motion: Any) -> None:
    if not motion.at_rest or motion.omega.any():
        raise ValueError(
            f"{owner}: small motions about a steady motion have no derivative here; take those "
            "about rest"
        )


def of_modes(owner: str, modes: Modes, parameters: Any) -> dict[str, ModesTangent]:
    """Return the derivatives of the eigenvalues of modes about a pose at rest."""
    model, state = modes.model, modes.state
    _check_still(owner, modes.motion)
    of, out = stencils(owner, model, parameters), {}
    for stencil, z in zip(of, _tangents(owner, model, state, of), strict=True):
        near, poses = _beside(model, state, stencil, z)
        blocks: list[Any] = [0.0] * 5
        for (w, other), there in zip(near.weighted, poses, strict=True):
            A = assemble(other, there)
            for i, x in enumerate((A.M, A.G, A.K, A.B, A.Bt)):
                blocks[i] = blocks[i] + w * x.toarray()
        out[stencil.name] = ModesTangent(modes, _eigenvalues(model, state, modes, blocks))
    return out


def _eigenvalues(model: Model, state: State, modes: Modes, change: list[np.ndarray]) -> np.ndarray:
    """Return the derivatives of eigenvalues, by those of M, G, K, B and of B^T.

    NaN of free motions, s = 0.
    """
    here, scale, values = assemble(model, state), modes.motion.scale, modes.eigenvalues
    M, G, K = (x.toarray() for x in (here.M, here.G, here.K))
    N, L = null_space(here.B, scale), null_space(here.Bt.T, scale)
    out = np.full(len(values), np.nan, complex)
    for group in _groups(values):
        s = complex(np.mean(values[group]))
        if abs(s) <= 1e-6 * np.abs(values).max():
            continue
        Q, slope, U = s * s * M + s * G + K, 2 * s * M + G, modes.shapes[:, group]
        total = s * s * change[0] + s * change[1] + change[2]
        W = _left(Q, L, N, len(group))
        product = _between(W, U, Q, here, (total, change[3], change[4]))
        out[group] = np.linalg.eigvals(np.linalg.solve(W.T @ slope @ U, -product))
    return out


def _groups(values: np.ndarray) -> list[np.ndarray]:
    """Return which values are one, those alone too."""
    groups = alike(values)
    several = {int(i) for group in groups for i in group}
    return groups + [np.array([i]) for i in range(len(values)) if i not in several]


def _left(Q: np.ndarray, L: np.ndarray, N: np.ndarray, n: int) -> np.ndarray:
    """Return n left vectors: of the smallest singular values on the motions of the rows."""
    return np.asarray(L @ np.linalg.svd(L.T @ Q @ N)[0][:, -n:].conj())


def _between(
    W: np.ndarray, U: np.ndarray, Q: np.ndarray, here: Any, change: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Return W^T dE U with the parts of the multipliers, by the changes of Q, B and B^T."""
    product = W.T @ change[0] @ U
    if here.B.shape[0]:
        above = -np.linalg.lstsq(here.Bt.toarray(), Q @ U, rcond=None)[0]
        below = -np.linalg.lstsq(here.B.toarray().T, Q.T @ W, rcond=None)[0]
        product = product + W.T @ change[2] @ above + below.T @ change[1] @ U
    return np.asarray(product)


def of_buckling(owner: str, critical: Buckling, parameters: Any) -> dict[str, BucklingTangent]:
    """Return the derivatives of critical load factors."""
    of = stencils(owner, critical.model, parameters)
    out = {stencil.name: np.full(len(critical.factors), np.nan) for stencil in of}
    for group in _groups(critical.factors):
        point = _CriticalPoint(owner, critical, group)
        for stencil in of:
            out[stencil.name][group] = point.derivative(stencil)
    return {name: BucklingTangent(x) for name, x in out.items()}


class _CriticalPoint:
    """A pose at a critical load factor, and how its matrix changes along the path."""

    def __init__(self, owner: str, critical: Buckling, group: np.ndarray) -> None:
        problem, self.owner = critical.problem, owner
        self.problem, self.model, self.U = problem, critical.model, critical.shapes[:, group]
        self.factor = f = float(np.mean(critical.factors[group]))
        here = problem.at(critical.base, f)
        if not problem.imbalance(here, f).balanced:  # multipliers are linear in the factor
            here = problem.at(least_multipliers(here, problem.scale).state, f)
        self.here, self.state = here, here.state
        n_lam = here.B.shape[0]
        across = np.hstack([self.U.T / self.model.units**2, np.zeros((len(group), n_lam))])
        self.S = np.vstack([_matrix(here), across])  # what the pose does along the shape is open
        N, L = (null_space(x, problem.scale) for x in (here.B, here.Bt.T))
        self.K = here.K.toarray()
        self.W = _left(self.K, L, N, len(group))
        load = np.concatenate([problem.load(self.state), np.zeros(n_lam)])
        z = self._pose("the load factor", load)
        step = 1e-2 / max(1.0 / max(1.0, abs(f)), 4.0 * self._far(z))
        self.slope = self._along(
            z, [(w / step, k * step, problem, f + k * step) for k, w in FRACTIONS]
        )

    def _pose(self, name: str, change: np.ndarray) -> np.ndarray:
        """Return the change of pose and multipliers by a change of forces and rows."""
        n_v, n = self.model.n_v, len(change)
        z = np.zeros(n)
        if n > n_v and not change[n_v:].any():  # the pose stays, where multipliers balance all
            z[n_v:] = np.linalg.lstsq(self.S[:n_v, n_v:], -change[:n_v], rcond=None)[0]
            if np.abs(self.S[:n] @ z + change).max() <= SENSITIVITY_MET * np.abs(change).max():
                return z
        b = np.concatenate([-change, np.zeros(len(self.S) - n)])
        z = np.linalg.lstsq(self.S, b, rcond=None)[0]
        left = float(np.abs(self.S[:n] @ z - b[:n]).max(initial=0.0))
        if left > SENSITIVITY_MET * float(np.abs(change).max(initial=0.0)):
            raise ValueError(
                f"{self.owner}: with another value of {name!r} the pose gives way before it "
                "buckles, as with an imperfection: the critical load factor has no derivative; "
                "take a parameter that leaves the loads straight"
            )
        return z

    def _along(self, z: np.ndarray, near: list[tuple[float, float, Statics, float]]) -> np.ndarray:
        """Return W^T dE U along a change of the pose, (k, k).

        `near` are weights, how far along the change, the problem and load factor there.
        """
        n_v, blocks = self.model.n_v, list[Any]([0.0] * 3)
        for w, e, problem, factor in near:
            pose = displaced(problem.model, self.state, e * z[:n_v])
            A = problem.at(pose.replace(lam=self.state.lam + e * z[n_v:]), factor)
            for i, x in enumerate((A.K, A.B, A.Bt)):
                blocks[i] = blocks[i] + w * x.toarray()
        return _between(self.W, self.U, self.K, self.here, tuple(blocks))

    def _far(self, z: np.ndarray) -> float:
        """Return how far a change goes, beside the size of the model."""
        return float(np.abs(z[: self.model.n_v] / self.model.units).max(initial=0.0))

    def derivative(self, stencil: Stencil) -> np.ndarray:
        """Return the derivatives of the factors by a parameter."""
        scaled, zero, f = self.problem.scaled, np.zeros(3), self.factor
        problems = [Statics(x, scaled, zero, zero, {}) for x in stencil.models]

        def residual(problem: Statics) -> np.ndarray:
            balance = problem.at(self.state, f)
            return np.concatenate([balance.residual, balance.gap])

        weights = [w for w, _ in stencil.weighted]
        change = sum(w * residual(x) for w, x in zip(weights, problems, strict=True))
        z = self._pose(stencil.name, np.asarray(change))
        far = 4.0 * stencil.step * self._far(z)
        near = stencil.nearer(1e-2 / far) if far > 1e-2 else stencil
        places = []
        for (k, _), (w, other) in zip(FRACTIONS, near.weighted, strict=True):
            places.append((w, k * near.step, Statics(other, scaled, zero, zero, {}), f))
        total = self._along(z, places)
        return np.asarray(np.linalg.eigvals(np.linalg.solve(self.slope, -total)).real)
