r"""Derivatives of frequency responses of a linear system about a pose at rest.

.. math:: \delta H = \delta c^T x + l^T\delta f - l^T\,\delta P(i\omega)\,x

of a response from a load f to an output c with Px = f and :math:`P^Tl = c`, with the pencil P of
``eigenvalues.py``, along the parameter and along :math:`(\delta q, \delta\lambda)` of the
equilibrium.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.analyses.linearize import Linearized, ports_about
from mbd.base.door import array
from mbd.base.tolerances import BEGIN_REACH, SENSITIVITY_MET
from mbd.derivatives.differences import slope
from mbd.derivatives.objective import View
from mbd.derivatives.poses import MotionBeside, Pose, check_still
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.face_maps import face_maps


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
        check_still(owner, linear.motion)
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
