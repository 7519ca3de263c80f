r"""Derivatives of eigenvalues of small motions about a pose at rest, and of critical load factors.

.. math:: \delta s = -\frac{l^T\,\delta P(s)\,x}{l^T P'(s)\,x}, \qquad
   \delta f = -\frac{l^T\,\delta E_0\,x}{l^T E_0'\,x}

with the pencil :math:`P(s) = s^2\mathrm{diag}(M, 0) + s\,\mathrm{diag}(G, 0) + E_0`,
:math:`E_0 = [[K, B^T], [B, 0]]`, right and left vectors x and l of an eigenvalue; a factor f is an
eigenvalue of :math:`E_0(f)`. :math:`\delta P` is that along the parameter and along
:math:`(\delta q, \delta\lambda)` of the equilibrium (``poses.py``), of a factor along the path of
equilibria: it costs the same for one parameter and for many. Of a repeated eigenvalue
:math:`\delta s` are the eigenvalues of the same quotient on all of its vectors: a set that belongs
to one direction of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.linearize import Linearized
from mbd.analyses.modes import Modes
from mbd.base.tolerances import SENSITIVITY_MET
from mbd.derivatives.objective import View
from mbd.derivatives.poses import (
    AtRest,
    MotionBeside,
    Pose,
    Solver,
    check_still,
    contracted,
    matrix,
)
from mbd.derivatives.responses import LinearTangents
from mbd.derivatives.stencil import Stencil, stencils
from mbd.machine import buffer as m
from mbd.model.null_space import null_space
from mbd.small_motions.eigenvalues import alike
from mbd.statics.balance import least_multipliers


# --- eigenvalues ----------------------------------------------------------------------------------
class ModesTangent:
    """The derivative of modes by a parameter.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
        In the order of the modes; those of a repeated one are a set, NaN of free motions.
    """

    def __init__(self, modes: Modes, eigenvalues: np.ndarray) -> None:
        self._modes, self.eigenvalues = modes, eigenvalues

    @property
    def frequency(self) -> np.ndarray:
        """Derivative of the frequency of oscillation [Hz]."""
        return self.eigenvalues.imag / (2 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """Derivative of the damping ratio [-]."""
        s, ds = self._modes.eigenvalues, self.eigenvalues
        size = np.where(s == 0.0, 1.0, np.abs(s))
        return np.asarray(s.imag * (s.real * ds.imag - s.imag * ds.real) / size**3)


class EigenvalueSlopes:
    """The derivatives of the eigenvalues of modes about a pose at rest."""

    def __init__(self, owner: str, modes: Modes, parameters: Any) -> None:
        check_still(owner, modes.motion)
        self.pose = Pose(owner, modes.model, modes.state, parameters)
        self.names, self.roots, self.modes = self.pose.names, modes.eigenvalues, modes

    @property
    def stats(self) -> dict[str, int]:
        """What it cost."""
        return self.pose.stats

    def view(self, s: np.ndarray) -> View:
        """Return what an objective sees."""
        damping = -s.real / np.where(s == 0.0, 1.0, np.abs(s))
        return View("Modes", eigenvalues=s, frequency=s.imag / (2 * np.pi), damping=damping)

    def tangent(self, slopes: np.ndarray) -> ModesTangent:
        """Return the derivative by one parameter."""
        return ModesTangent(self.modes, slopes)

    def slopes(self, which: np.ndarray) -> np.ndarray:
        """Return the derivatives of some eigenvalues, (n, n_p)."""
        pose, values = self.pose, self.modes.eigenvalues
        model, here, scale = pose.model, pose.here, self.modes.motion.scale
        M, G, K = (x.toarray() for x in (here.M, here.G, here.K))
        N, L = null_space(here.B, scale), null_space(here.Bt.T, scale)
        rates = model.numbering.lam_kinds == m.VELOCITY_ROW
        out = np.full((len(values), len(pose.of)), np.nan, complex)
        for group in groups(values):
            s = complex(np.mean(values[group]))
            if not np.isin(group, which).any() or abs(s) <= 1e-6 * np.abs(values).max():
                continue
            Q, slope, U = s * s * M + s * G + K, 2 * s * M + G, self.modes.shapes[:, group]
            W = left_vectors(Q, L, N, len(group))
            mu, nu = multipliers_of(W, U, Q, here, pose.solved)
            nu[rates] /= s  # rows on velocities are s times those on positions

            def change(
                w: np.ndarray, u: np.ndarray, mu: np.ndarray, nu: np.ndarray, s: complex = s
            ) -> np.ndarray:
                x, load = MotionBeside.of(u, mu, s), np.zeros(len(pose.E))
                return pose.along(np.concatenate([w, nu]), x, load)

            out[group] = quotients(W.T @ slope @ U, W, U, mu, nu, change)
        return out


def groups(values: np.ndarray) -> list[np.ndarray]:
    """Return which values are one, those alone too."""
    groups = alike(values)
    several = {int(i) for group in groups for i in group}
    return groups + [np.array([i]) for i in range(len(values)) if i not in several]


def left_vectors(Q: np.ndarray, L: np.ndarray, N: np.ndarray, n: int) -> np.ndarray:
    """Return n left vectors: of the smallest singular values on the motions of the rows."""
    return np.asarray(L @ np.linalg.svd(L.T @ Q @ N)[0][:, -n:].conj())


def multipliers_of(
    W: np.ndarray, U: np.ndarray, Q: np.ndarray, here: Any, solved: Callable[..., np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers that go with right vectors, and with left ones."""
    above, below = -solved(here.Bt.toarray(), Q @ U), -solved(here.B.toarray().T, Q.T @ W)
    return np.asarray(above, complex), np.asarray(below, complex)


def quotients(
    slope: np.ndarray, W: np.ndarray, U: np.ndarray, mu: np.ndarray, nu: np.ndarray,
    change: Callable[..., np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Return the eigenvalues of the quotient on all vectors of a value, (k, n_p)."""
    k = U.shape[1]
    of = [[change(W[:, i], U[:, j], mu[:, j], nu[:, i]) for j in range(k)] for i in range(k)]
    by_parameter = np.moveaxis(np.array(of), 2, 0)
    return np.array([np.linalg.eigvals(np.linalg.solve(slope, -x)) for x in by_parameter]).T


# --- critical loads -------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class BucklingTangent:
    """The derivative of critical load factors by a parameter; those of repeated ones are a set.

    Attributes
    ----------
    factors : (k,) array
    """

    factors: np.ndarray


class FactorSlopes:
    """The derivatives of critical load factors."""

    def __init__(self, owner: str, critical: Buckling, parameters: Any) -> None:
        rows = critical.model.numbering.lam_kinds == m.VELOCITY_ROW
        if rows.any():
            names = ", ".join(np.array(critical.model.numbering.lam_labels)[rows])
            raise ValueError(
                f"{owner}: critical loads of a model with rows on velocities ({names}) have no "
                "derivative here; leave out what rolls, or hold it"
            )
        self.owner, self.critical = owner, critical
        self.of = stencils(owner, critical.model, parameters)
        self.names, self.roots = [s.name for s in self.of], critical.factors
        self.solved, self.assembled = Solver(), 0
        bare = critical.problem.bare
        self.bare: list[Stencil | None] = []
        for name in self.names:  # a load that is scaled, and what only it has, is not there
            some: list[Stencil | None] = [None]
            with suppress(ValueError):
                some = list(stencils(owner, bare, [name]))
            self.bare += [None] if self._is_scaled(name) else some

    def _is_scaled(self, name: str) -> bool:
        return name.partition(".")[0] == "gravity" and "gravity" in self.critical.problem.scaled

    @property
    def stats(self) -> dict[str, int]:
        """What it cost."""
        return {"factorizations": self.solved.n, "assemblies": self.assembled}

    def view(self, factors: np.ndarray) -> View:
        """Return what an objective sees."""
        return View("Buckling", factors=factors)

    def tangent(self, slopes: np.ndarray) -> BucklingTangent:
        """Return the derivative by one parameter."""
        return BucklingTangent(slopes)

    def slopes(self, which: np.ndarray) -> np.ndarray:
        """Return the derivatives of some factors, (n, n_p)."""
        out = np.full((len(self.critical.factors), len(self.of)), np.nan)
        for group in groups(self.critical.factors):
            if np.isin(group, which).any():
                out[group] = self._at(group)
        return out

    def _at(self, group: np.ndarray) -> np.ndarray:
        """Return the derivatives of one factor, of as many as it counts for, (k, n_p)."""
        critical, U = self.critical, self.critical.shapes[:, group]
        problem, model, f = critical.problem, critical.model, float(critical.factors[group].mean())
        here = problem.at(critical.base, f)
        if not problem.imbalance(here, f).balanced:  # multipliers are linear in the factor
            here = problem.at(least_multipliers(here, problem.scale).state, f)
        N, L = (null_space(x, problem.scale) for x in (here.B, here.Bt.T))
        K, n_v = here.K.toarray(), model.n_v
        W = left_vectors(K, L, N, len(group))
        mu, nu = (x.real for x in multipliers_of(W, U, K, here, self.solved))
        full, bare = AtRest(model, here.state, self.of), AtRest(problem.bare, here.state, self.bare)
        terms = [(f, full), (1.0 - f, bare)]
        E, loads = matrix(here), []
        E_f = full.at_pose - bare.at_pose
        for _, at in terms:
            at.put(at.here)
            loads.append(at.residual())
        slopes = sum(w * at.by_parameters() for w, at in terms)
        load, left = loads[0] - loads[1], np.concatenate([W[:, 0], nu[:, 0]])
        work = float(left @ load)
        if len(group) == 1 and abs(work) > SENSITIVITY_MET * (np.abs(left) @ np.abs(load)):
            self.assembled += full.assembled + bare.assembled
            return -(np.asarray(slopes) @ left / work)[None]
        across = np.hstack([U.T / model.units**2, np.zeros((len(group), len(E) - n_v))])
        bordered = np.vstack([E, across])  # what the pose does along the shape is open
        z_f = self._followed(bordered, ["the load factor"], load[None], n_v)[:, 0]
        z = self._followed(bordered, self.names, np.asarray(slopes), n_v)
        k = len(group)
        by_factor, change = np.zeros((k, k)), np.zeros((len(self.of), k, k))
        for i, j in np.ndindex(k, k):
            left, right = (np.concatenate(x) for x in ((W[:, i], nu[:, i]), (U[:, j], mu[:, j])))
            x = MotionBeside.of(U[:, j], mu[:, j], 0.0)
            by_pose, by_parameters = contracted(terms, left, x, np.zeros(len(E)))
            by_factor[i, j] = (by_pose @ z_f + left @ (E_f @ right)).real
            change[:, i, j] = (by_pose @ z + by_parameters).real
        self.assembled += full.assembled + bare.assembled
        return np.array([np.linalg.eigvals(np.linalg.solve(by_factor, -x)).real for x in change]).T

    def _followed(
        self, S: np.ndarray, names: Sequence[str], changes: np.ndarray, n_v: int
    ) -> np.ndarray:
        """Return how pose and multipliers follow changes of forces and rows (n_p, n), (n, n_p)."""
        n = changes.shape[1]
        Z = np.zeros((n, len(changes)))
        b = np.vstack([-changes.T, np.zeros((len(S) - n, len(changes)))])
        # the pose stays, where multipliers balance all
        Z[n_v:] = self.solved(S[:n_v, n_v:], b[:n_v])
        size = SENSITIVITY_MET * np.abs(changes).max(axis=1, initial=0.0)
        moves = changes[:, n_v:].any(axis=1) | (np.abs(S[:n] @ Z - b[:n]).max(axis=0) > size)
        Z[:, moves] = self.solved(S, b[:, moves])
        gone = np.flatnonzero(np.abs(S[:n] @ Z - b[:n]).max(axis=0) > size)
        if len(gone):
            raise ValueError(
                f"{self.owner}: with another value of {names[gone[0]]!r} the pose gives way before "
                "it buckles, as with an imperfection: the critical load factor has no derivative; "
                "take a parameter that leaves the loads straight"
            )
        return Z


# --- both ----------------------------------------------------------------------------------------
class Roots:
    """Eigenvalues or critical loads, of which an objective may read.

    Attributes
    ----------
    names : list of str
        Of the parameters.
    values : dict
        What may be read: the eigenvalues or factors.
    """

    def __init__(self, of: EigenvalueSlopes | FactorSlopes) -> None:
        self.of, self.names, self.values = of, of.names, {"": of.roots}

    @property
    def stats(self) -> dict[str, int]:
        """What it cost."""
        return self.of.stats

    def view(self, values: Mapping[Any, np.ndarray]) -> View:
        """Return what an objective sees."""
        return self.of.view(values[""])

    def tangents(self) -> dict[str, Any]:
        """Return the derivatives by the parameters."""
        slopes = self.of.slopes(np.arange(len(self.of.roots)))
        return {name: self.of.tangent(x) for name, x in zip(self.names, slopes.T, strict=True)}

    def gradient(self, weights: Mapping[Any, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of the derivatives of single ones, (n_p,)."""
        which = np.flatnonzero(weights[""])
        slopes = self.of.slopes(which)[which]
        several = [int(i) for group in alike(self.of.roots) for i in group]
        if np.isin(which, several).any() or not np.isfinite(slopes).all():
            raise ValueError(
                "Objective: a term of modes or critical loads must be of single ones, of motions "
                "that are resisted; those of a repeated eigenvalue are a set, which has no gradient"
            )
        return np.asarray(np.real(weights[""][which] @ slopes))


def tangents_of(
    owner: str, result: Modes | Linearized | Buckling, parameters: Any
) -> Roots | LinearTangents:
    """Return the derivatives of what small motions, or loads, have."""
    if isinstance(result, Linearized):
        return LinearTangents(owner, result, parameters)
    if isinstance(result, Modes):
        return Roots(EigenvalueSlopes(owner, result, parameters))
    return Roots(FactorSlopes(owner, result, parameters))
