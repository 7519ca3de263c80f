r"""Derivatives of eigenvalues and responses of small motions about rest, and of critical loads.

.. math:: \delta s = -\frac{l^T\,\delta P(s)\,x}{l^T P'(s)\,x}, \qquad
   \delta f = -\frac{l^T\,\delta E_0\,x}{l^T E_0'\,x}, \qquad
   \delta H = \delta c^T x + l^T\delta f - l^T\,\delta P(i\omega)\,x

with the pencil :math:`P(s) = s^2\mathrm{diag}(M, 0) + s\,\mathrm{diag}(G, 0) + E_0`,
:math:`E_0 = [[K, B^T], [B, 0]]`, right and left vectors x and l of an eigenvalue; of a response
from a load f to an output c with Px = f and :math:`P^Tl = c`; a load factor f is an eigenvalue of
:math:`E_0(f)`. :math:`\delta P` is that along the parameter and along
:math:`(\delta q, \delta\lambda)` of the equilibrium (``poses.py``), of a factor along the path of
equilibria: it costs the same for one parameter and for many. Of a repeated eigenvalue
:math:`\delta s` are the eigenvalues of the same quotient on all of its vectors: a set that belongs
to one direction of parameters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.linearize import Linearized, ports_about
from mbd.analyses.modes import Modes
from mbd.base.door import array
from mbd.base.tolerances import BEGIN_REACH, DERIVATIVE_EXACT
from mbd.derivatives.differences import slope
from mbd.derivatives.objective import View
from mbd.derivatives.parameters import Stencil, stencils
from mbd.derivatives.poses import AtRest, Pose, SmallChange, Solver, check_still, contracted, matrix
from mbd.machine import buffer as m
from mbd.model.null_space import null_space
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.eigenvalues import Exponents, alike
from mbd.small_motions.face_maps import face_maps
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
        """Cost of the derivatives."""
        return self.pose.stats

    def view(self, s: np.ndarray) -> View:
        """Return the numbers that an objective may read."""
        of = Exponents(s)
        return View("Modes", eigenvalues=s, frequency=of.frequency, damping=of.damping)

    def tangent(self, slopes: np.ndarray) -> ModesTangent:
        """Return the derivative by one parameter."""
        return ModesTangent(self.modes, slopes)

    def at(self, group: np.ndarray) -> np.ndarray:
        """Return the derivatives of one value, of as many as it counts for, (k, n_p)."""
        pose, values = self.pose, self.modes.eigenvalues
        s = complex(np.mean(values[group]))
        if abs(s) <= 1e-6 * np.abs(values).max():
            return np.full((len(group), len(pose.of)), np.nan)
        (M, G, K), (N, L) = self._matrices, self._null_spaces
        Q, Q_s, U = s * s * M + s * G + K, 2 * s * M + G, self.modes.shapes[:, group]
        W, mu, nu = _vectors(Q, U, N, L, pose.here, pose.solved)
        nu[pose.model.numbering.lam_kinds == m.VELOCITY_ROW] /= s  # s times rows on positions
        k, none = len(group), np.zeros(len(pose.E))
        change = np.zeros((len(pose.of), k, k), complex)
        for i, j in np.ndindex(k, k):
            left, x = np.concatenate([W[:, i], nu[:, i]]), SmallChange.of(U[:, j], mu[:, j], s)
            change[:, i, j] = pose.along(left, x, none)
        return _quotients(W.T @ Q_s @ U, change)

    @cached_property
    def _matrices(self) -> list[np.ndarray]:
        """M, G and K."""
        here = self.pose.here
        return [x.toarray() for x in (here.M, here.G, here.K)]

    @cached_property
    def _null_spaces(self) -> list[np.ndarray]:
        """Motions that the rows leave, and forces of test functions that they leave."""
        here, scale = self.pose.here, self.modes.motion.scale
        return [null_space(here.B, scale), null_space(here.Bt.T, scale)]


def _vectors(
    Q: np.ndarray, U: np.ndarray, N: np.ndarray, L: np.ndarray, here: Any,
    solved: Callable[..., np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return left vectors that go with right ones U, and the multipliers of right and left ones.

    Those of the smallest singular values of Q on the motions that rows leave.
    """
    W = np.asarray(L @ np.linalg.svd(L.T @ Q @ N)[0][:, -U.shape[1] :].conj())
    mu, nu = -solved(here.Bt.toarray(), Q @ U), -solved(here.B.toarray().T, Q.T @ W)
    return W, np.asarray(mu, complex), np.asarray(nu, complex)


def _quotients(by_root: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return the eigenvalues (k, n_p) of -by_root^-1 times each change (n_p, k, k)."""
    return np.array([np.linalg.eigvals(np.linalg.solve(by_root, -x)) for x in change]).T


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
            is_gravity = name.partition(".")[0] == "gravity"
            self.bare += [None] if is_gravity and "gravity" in critical.problem.scaled else some

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the derivatives."""
        return {"factorizations": self.solved.n, "assemblies": self.assembled}

    def view(self, factors: np.ndarray) -> View:
        """Return the numbers that an objective may read."""
        return View("Buckling", factors=factors)

    def tangent(self, slopes: np.ndarray) -> BucklingTangent:
        """Return the derivative by one parameter."""
        return BucklingTangent(slopes)

    def at(self, group: np.ndarray) -> np.ndarray:
        """Return the derivatives of one factor, of as many as it counts for, (k, n_p)."""
        critical, U = self.critical, self.critical.shapes[:, group]
        problem, model, f = critical.problem, critical.model, float(critical.factors[group].mean())
        here = problem.at(critical.base, f)
        if not problem.imbalance(here, f).balanced:  # multipliers are linear in the factor
            here = problem.at(least_multipliers(here, problem.scale).state, f)
        N, L = (null_space(x, problem.scale) for x in (here.B, here.Bt.T))
        K, n_v = here.K.toarray(), model.n_v
        W, mu, nu = (x.real for x in _vectors(K, U, N, L, here, self.solved))
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
        if len(group) == 1 and abs(work) > DERIVATIVE_EXACT * (np.abs(left) @ np.abs(load)):
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
            x = SmallChange.of(U[:, j], mu[:, j], 0.0)
            by_pose, by_parameters = contracted(terms, left, x, np.zeros(len(E)))
            by_factor[i, j] = (by_pose @ z_f + left @ (E_f @ right)).real
            change[:, i, j] = (by_pose @ z + by_parameters).real
        self.assembled += full.assembled + bare.assembled
        return _quotients(by_factor, change).real

    def _followed(
        self, S: np.ndarray, names: Sequence[str], changes: np.ndarray, n_v: int
    ) -> np.ndarray:
        """Return how pose and multipliers follow changes of forces and rows (n_p, n), (n, n_p)."""
        n = changes.shape[1]
        Z = np.zeros((n, len(changes)))
        b = np.vstack([-changes.T, np.zeros((len(S) - n, len(changes)))])
        # the pose stays, where multipliers balance all
        Z[n_v:] = self.solved(S[:n_v, n_v:], b[:n_v])
        size = DERIVATIVE_EXACT * np.abs(changes).max(axis=1, initial=0.0)
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


# --- frequency responses --------------------------------------------------------------------------
class LinearTangent:
    """The derivative of a linear system by a parameter."""

    def __init__(self, of: "LinearTangents", j: int) -> None:
        self._of, self._j = of, j

    def frequency_response(self, frequencies: Any) -> np.ndarray:
        """Return the derivative of the response, (n, outputs, inputs), at frequencies [Hz]."""
        f = np.atleast_1d(array("frequency_response", "frequencies", frequencies, "numbers [Hz]"))
        return self._of.responses(tuple(f.tolist()))[..., self._j]


class LinearTangents:
    """The derivatives of a linear system about a pose at rest."""

    def __init__(self, owner: str, linear: Linearized, parameters: Any) -> None:
        check_still(owner, linear.motion)
        self.pose = Pose(owner, linear.model, linear.state, parameters)
        self.names, self.linear = self.pose.names, linear
        self.values: dict[Any, np.ndarray] = {}  # responses that an objective read, by frequencies
        self._kept: dict[Any, np.ndarray] = {}

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the derivatives."""
        return self.pose.stats

    def view(self, values: dict[Any, np.ndarray]) -> View:
        """Return the numbers that an objective may read."""

        def response(frequencies: Any) -> Any:
            here = self.linear.frequency_response(frequencies)
            key = tuple(here.frequencies.tolist())
            return replace(here, values=values.setdefault(key, here.values))

        return View("Linearized", frequency_response=response)

    def gradient(self, weights: Mapping[Any, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of the derivatives of all numbers, (n_p,)."""
        total = np.zeros(len(self.names))
        for frequencies, of in weights.items():
            for f, c in zip(frequencies, of, strict=True):
                total += self.response(f, c).real if c.any() else 0.0
        return total

    def tangents(self) -> dict[str, LinearTangent]:
        """Return the derivatives by the parameters."""
        return {name: LinearTangent(self, j) for j, name in enumerate(self.names)}

    def responses(self, frequencies: tuple[float, ...]) -> np.ndarray:
        """Return the derivatives of responses, (n, outputs, inputs, n_p)."""
        if frequencies not in self._kept:
            shape = len(self.linear.outputs), len(self.linear.inputs)
            units = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
            all_of = [[self.response(f, c) for c in units] for f in frequencies]
            self._kept = {
                frequencies: np.array(all_of).reshape(len(frequencies), *shape, len(self.names))
            }
        return self._kept[frequencies]

    def response(self, f: float, c: np.ndarray) -> np.ndarray:
        """Return the derivatives of sum_ij c_ij H_ij at a frequency, (n_p,)."""
        pose, s = self.pose, 2j * np.pi * f
        here, n_v, rates = pose.here, pose.model.n_v, pose.model.numbering.lam_kinds
        P = np.array(pose.E, complex)
        P[:n_v, :n_v] += (s * s * here.M + s * here.G).toarray()
        P[n_v:][rates == m.VELOCITY_ROW] *= s
        loads, position, velocity, multiplier = self._apart(self._ports(pose.model, pose.state))
        right = np.concatenate([loads.T, np.zeros((pose.model.n_lam, len(loads)))])
        rows = c.T @ np.hstack([position + s * velocity, multiplier])
        X, left = pose.solved(P, right), pose.solved(P.T, rows.T)
        total = np.zeros(len(pose.of), complex)
        for j in np.flatnonzero(c.any(axis=0)):
            u, mu, l = X[:n_v, j], X[n_v:, j], left[:, j]
            for A, x, b in ((P, X[:, j], right[:, j]), (P.T, l, rows[j])):
                if np.abs(A @ x - b).max() > DERIVATIVE_EXACT * np.abs(b).max():
                    raise ValueError(
                        f"{pose.owner}: the response at {f:g} Hz of "
                        f"{', '.join(self.linear.outputs)} to {self.linear.inputs[j]} is not "
                        "unique: a motion is free, or a force is that of redundant rows; take "
                        "other outputs, or hold what is free"
                    )
            total -= pose.along(l, SmallChange.of(u, mu, s), right[:, j])
            weights = self._apart(np.zeros(len(self._slopes), complex))
            weights[0][j] = l[:n_v]
            for w, x in zip(weights[1:], (u, s * u, mu), strict=True):
                w[:] = np.outer(c[:, j], x)
            total += np.concatenate([w.ravel() for w in weights]) @ self._slopes
        return total

    def _ports(self, model: Any, state: State) -> np.ndarray:
        """Return loads of the inputs and rows of the outputs at a pose, one after the other."""
        motion = replace(self.linear.motion, model=model, state=state, maps=face_maps(model, state))
        columns, rows = ports_about(motion, *self.linear.ports)
        all_of = [load for _, _, load in columns]
        all_of += [getattr(x, w) for w in ("position", "velocity", "multiplier") for x in rows]
        return np.concatenate([np.zeros(0), *(x.ravel() for x in all_of)])

    def _apart(self, ports: np.ndarray) -> list[np.ndarray]:
        """Return loads (inputs, n_v), rows by positions, by velocities, by multipliers."""
        k, n, n_v = len(self.linear.inputs), len(self.linear.outputs), self.pose.model.n_v
        sizes = [(k, n_v), (n, n_v), (n, n_v), (n, self.pose.model.n_lam)]
        ends = np.cumsum([a * b for a, b in sizes])[:-1]
        return [x.reshape(y) for x, y in zip(np.split(ports, ends), sizes, strict=True)]

    @cached_property
    def _slopes(self) -> np.ndarray:
        """Derivatives of loads and rows by the parameters, (., n_p), along with the pose."""
        model, state, n_v = self.pose.model, self.pose.state, self.pose.model.n_v
        here = self._ports(model, state)
        slopes = np.zeros((len(here), len(self.pose.of)))
        sizes = np.concatenate(
            [model.units, np.full(model.n_lam, np.abs(state.lam).max(initial=1))]
        )

        def near(z: np.ndarray) -> np.ndarray:
            there = displaced(model, state, z[:n_v])
            return self._ports(model, there.replace(lam=state.lam + z[n_v:]))

        for some in self._together():
            wave = np.zeros(len(sizes))
            wave[some] = BEGIN_REACH * sizes[some] * (1.0 + 0.5 * np.sin(np.arange(len(some))))
            for i in some if not np.array_equal(near(wave), here) else ():
                step, unit = BEGIN_REACH * sizes[i], np.eye(1, len(sizes), i)[0]
                of = slope(lambda e, unit=unit: near(e * unit), step)  # type: ignore[misc]
                slopes += np.outer(of, self.pose.tangents[i])
        for j, s in enumerate(self.pose.of):
            if any(not np.array_equal(self._ports(x, state), here) for x in s.described):
                slopes[:, j] += s.derivative(lambda x: self._ports(x, state))
        return slopes

    def _together(self) -> Iterable[np.ndarray]:
        """Yield the unknowns of each node, and of the rows of each part."""
        model, first = self.pose.model, 0
        for node in model.nodes.values():
            yield np.arange(first, first + node.formulation.n_v)
            first += node.formulation.n_v
        for rows in model.numbering.owners.values():
            yield first + np.arange(rows.start, rows.stop)


# --- all of them ----------------------------------------------------------------------------------
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
        """Cost of the derivatives."""
        return self.of.stats

    def view(self, values: Mapping[Any, np.ndarray]) -> View:
        """Return the numbers that an objective may read."""
        return self.of.view(values[""])

    def slopes(self, which: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """Return the derivatives of some roots, (n, n_p), and which roots are repeated."""
        roots = self.of.roots
        repeated = alike(roots)
        several = [int(i) for group in repeated for i in group]
        out = np.full((len(roots), len(self.names)), np.nan, roots.dtype)
        for group in (*repeated, *(np.array([i]) for i in range(len(roots)) if i not in several)):
            if np.isin(group, which).any():
                out[group] = self.of.at(group)
        return out, several

    def tangents(self) -> dict[str, Any]:
        """Return the derivatives by the parameters."""
        slopes, _ = self.slopes(np.arange(len(self.of.roots)))
        return {name: self.of.tangent(x) for name, x in zip(self.names, slopes.T, strict=True)}

    def gradient(self, weights: Mapping[Any, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of the derivatives of single ones, (n_p,)."""
        which = np.flatnonzero(weights[""])
        slopes, repeated = self.slopes(which)
        if np.isin(which, repeated).any() or not np.isfinite(slopes[which]).all():
            raise ValueError(
                "Objective: a term of modes or critical loads must be of single ones, of motions "
                "that are resisted; those of a repeated eigenvalue are a set, which has no gradient"
            )
        return np.asarray(np.real(weights[""][which] @ slopes[which]))


def tangents_of(
    owner: str, result: Modes | Linearized | Buckling, parameters: Any
) -> Roots | LinearTangents:
    """Return the derivatives of what small motions, or loads, have."""
    if isinstance(result, Linearized):
        return LinearTangents(owner, result, parameters)
    if isinstance(result, Modes):
        return Roots(EigenvalueSlopes(owner, result, parameters))
    return Roots(FactorSlopes(owner, result, parameters))
