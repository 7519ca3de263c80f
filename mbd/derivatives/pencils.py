r"""Derivatives of eigenvalues and frequency responses of small motions about a pose at rest.

.. math:: \delta s = -\frac{l^T\,\delta P(s)\,x}{l^T P'(s)\,x}, \qquad
   \delta H = \delta c^T x + l^T\delta f - l^T\,\delta P(i\omega)\,x

with the pencil :math:`P(s) = s^2\mathrm{diag}(M, 0) + s\,\mathrm{diag}(G, 0) + E_0`,
:math:`E_0 = [[K, B^T], [B, 0]]`, right and left vectors x and l of an eigenvalue; of a response
from a load f to an output c with Px = f and :math:`P^Tl = c`. :math:`\delta P` is that along the
parameter and along :math:`(\delta q, \delta\lambda)` of the equilibrium (``poses.py``): it costs
the same for one parameter and for many. Of a repeated eigenvalue :math:`\delta s` are the
eigenvalues of the same quotient on all of its vectors: a set that belongs to one direction of
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.analyses.linearize import Linearized, ports_about
from mbd.analyses.modes import Modes
from mbd.base.door import array
from mbd.base.sensitivity_tolerances import BEGIN_REACH, SENSITIVITY_MET
from mbd.derivatives.differences import slope
from mbd.derivatives.objective import View
from mbd.derivatives.poses import MotionBeside, Pose
from mbd.machine import buffer as m
from mbd.model.null_space import null_space
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.eigenvalues import alike
from mbd.small_motions.face_maps import face_maps


def _check_still(owner: str, motion: Any) -> None:
    if not motion.at_rest or motion.omega.any():
        raise ValueError(
            f"{owner}: small motions about a steady motion have no derivative here; take those "
            "about rest"
        )


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
        _check_still(owner, modes.motion)
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


# --- frequency responses --------------------------------------------------------------------------
class LinearTangent:
    """The derivative of a linear system by a parameter."""

    def __init__(self, of: LinearTangents, j: int) -> None:
        self._of, self._j = of, j

    def frequency_response(self, frequencies: Any) -> np.ndarray:
        """Return the derivative of the response, (n, outputs, inputs), at frequencies [Hz]."""
        f = np.atleast_1d(array("frequency_response", "frequencies", frequencies, "numbers [Hz]"))
        return self._of.responses(tuple(f.tolist()))[..., self._j]


class LinearTangents:
    """The derivatives of a linear system about a pose at rest."""

    def __init__(self, owner: str, linear: Linearized, parameters: Any) -> None:
        _check_still(owner, linear.motion)
        self.pose = Pose(owner, linear.model, linear.state, parameters)
        self.names, self.linear = self.pose.names, linear
        self.values: dict[Any, np.ndarray] = {}  # responses that an objective read, by frequencies
        self._kept: dict[Any, np.ndarray] = {}

    @property
    def stats(self) -> dict[str, int]:
        """What it cost."""
        return self.pose.stats

    def view(self, values: dict[Any, np.ndarray]) -> View:
        """Return what an objective sees."""

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
                if np.abs(A @ x - b).max() > SENSITIVITY_MET * np.abs(b).max():
                    raise ValueError(
                        f"{pose.owner}: the response at {f:g} Hz of "
                        f"{', '.join(self.linear.outputs)} to {self.linear.inputs[j]} is not "
                        "unique: a motion is free, or a force is that of redundant rows; take "
                        "other outputs, or hold what is free"
                    )
            total -= pose.along(l, MotionBeside.of(u, mu, s), right[:, j])
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

        def beside(z: np.ndarray) -> np.ndarray:
            there = displaced(model, state, z[:n_v])
            return self._ports(model, there.replace(lam=state.lam + z[n_v:]))

        for some in self._together():
            wave = np.zeros(len(sizes))
            wave[some] = BEGIN_REACH * sizes[some] * (1.0 + 0.5 * np.sin(np.arange(len(some))))
            for i in some if not np.array_equal(beside(wave), here) else ():
                step, unit = BEGIN_REACH * sizes[i], np.eye(1, len(sizes), i)[0]
                of = slope(lambda e, unit=unit: beside(e * unit), step)  # type: ignore[misc]
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
