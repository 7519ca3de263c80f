r"""Derivatives of critical load factors.

A factor f is an eigenvalue of :math:`E_0(f)`, both along the path of equilibria,

.. math:: \delta f = -\frac{l^T\,\delta E_0\,x}{l^T E_0'\,x} .
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives.objective import View
from mbd.derivatives.pencils import groups, left_vectors, multipliers_of
from mbd.derivatives.poses import AtRest, MotionBeside, Solver, contracted, matrix
from mbd.derivatives.stencil import Stencil, stencils
from mbd.machine import buffer as m
from mbd.model.null_space import null_space
from mbd.statics.balance import least_multipliers


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
