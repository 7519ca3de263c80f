r"""Derivatives of equilibria and of the eigenvalues of small motions about them.

.. math:: \begin{bmatrix} K & B^T\\ B & 0\end{bmatrix}
   \begin{bmatrix}\delta q\\ \delta\lambda\end{bmatrix} =
   -\begin{bmatrix} r_p\\ \Phi_p\end{bmatrix}, \qquad
   \delta s = -\frac{w^T(s^2\,\delta E_2 + s\,\delta E_1 + \delta E_0)\,u}{w^T(2sE_2 + E_1)\,u}

with :math:`E_2 = \mathrm{diag}(M, 0)`, :math:`E_1 = \mathrm{diag}(G, 0)`, :math:`E_0` the matrix
on the left, right and left vectors u and w; :math:`\delta E` along the parameter and along
:math:`(\delta q, \delta\lambda)` of the equilibrium. Of a repeated eigenvalue these are the
eigenvalues of the same quotient on all of its vectors: a set that belongs to one direction of
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.analyses.equilibrium import Equilibrium, PartAtPose
from mbd.analyses.modes import Modes
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives.named import Tangents, derivative_by_name
from mbd.derivatives.stencil import FRACTIONS, Stencil, stencils
from mbd.linear.null_space import null_space
from mbd.machine import buffer as m
from mbd.model.assembly import assemble
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.eigenvalues import alike

__all__ = ["ModesTangent", "PoseTangent", "of_equilibrium", "of_modes"]


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


def _tangent(owner: str, model: Model, state: State, stencil: Stencil) -> Tangents:
    """Return the derivative of a pose at rest by a parameter."""
    here = assemble(model, state)
    n_v, n_lam = model.n_v, model.n_lam
    S = np.zeros((n_v + n_lam, n_v + n_lam))
    S[:n_v, :n_v], S[:n_v, n_v:], S[n_v:, :n_v] = (x.toarray() for x in (here.K, here.Bt, here.B))

    def residual(other: Any) -> np.ndarray:
        work = Workspace(other, state)
        work.evaluate(1.0)
        numbers = model.numbering
        return np.concatenate([work.vector(m.X)[numbers.v], work.vector(m.X)[numbers.lam]])

    b = -stencil.derivative(residual)
    x = np.linalg.lstsq(S, b, rcond=None)[0]
    left = float(np.abs(S @ x - b).max(initial=0.0))
    if left > SENSITIVITY_MET * float(np.abs(b).max(initial=0.0)):
        raise ValueError(
            f"{owner}: no pose nearby is in balance with another value of {stencil.name!r}: a "
            f"part {left / np.abs(b).max():.2g} of its effect is on a motion that nothing "
            "resists, or on redundant rows; hold what is free"
        )
    zero = np.zeros((1, n_v))
    return Tangents(x[None, :n_v], zero, zero, x[None, n_v:])


def of_equilibrium(owner: str, pose: Equilibrium, parameters: Any) -> dict[str, PoseTangent]:
    """Return the derivatives of an equilibrium."""
    model = pose.model
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
    out = {}
    for stencil in stencils(owner, model, parameters):
        z = _tangent(owner, model, pose.state, stencil)
        out[stencil.name] = PoseTangent(derivative_by_name(pose.solution, stencil, z, {}), z)
    return out


def of_modes(owner: str, modes: Modes, parameters: Any) -> dict[str, ModesTangent]:
    """Return the derivatives of the eigenvalues of modes about a pose at rest."""
    model, state = modes.model, modes.state
    if not modes.motion.at_rest:
        raise ValueError(
            f"{owner}: modes about a steady motion have no derivative here; take those about rest"
        )
    out = {}
    for stencil in stencils(owner, model, parameters):
        z = _tangent(owner, model, state, stencil)
        size = max(k for k, _ in FRACTIONS) * stencil.step
        far = size * float(np.abs(z.q / model.units).max(initial=0.0))
        near = stencil.nearer(1e-2 / far) if far > 1e-2 else stencil
        blocks: list[Any] = [0.0] * 5
        for (k, w), other in zip(FRACTIONS, near.models, strict=True):
            e = k * near.step
            there = displaced(other, state, e * z.q[0]).replace(lam=state.lam + e * z.lam[0])
            A = assemble(other, there)
            for i, x in enumerate((A.M, A.G, A.K, A.B, A.Bt)):
                blocks[i] = blocks[i] + w / near.step * x.toarray()
        out[stencil.name] = ModesTangent(modes, _eigenvalues(model, state, modes, blocks))
    return out


def _eigenvalues(model: Model, state: State, modes: Modes, change: list[np.ndarray]) -> np.ndarray:
    """Return the derivatives of eigenvalues, by those of M, G, K, B and of B^T.

    NaN of free motions, s = 0.
    """
    here, scale, values = assemble(model, state), modes.motion.scale, modes.eigenvalues
    M, G, K = (x.toarray() for x in (here.M, here.G, here.K))
    N, L = null_space(here.B, scale), null_space(here.Bt.T, scale)
    groups = alike(values)
    several = {int(i) for group in groups for i in group}
    groups += [np.array([i]) for i in range(len(values)) if i not in several]
    out = np.full(len(values), np.nan, complex)
    for group in groups:
        s = complex(np.mean(values[group]))
        if abs(s) <= 1e-6 * np.abs(values).max():
            continue
        Q, slope, U = s * s * M + s * G + K, 2 * s * M + G, modes.shapes[:, group]
        total = s * s * change[0] + s * change[1] + change[2]
        # left vectors belong to the smallest singular values on the motions of the rows
        W = L @ np.linalg.svd(L.T @ Q @ N)[0][:, -len(group) :].conj()
        product = W.T @ total @ U
        if model.n_lam:
            above = -np.linalg.lstsq(here.Bt.toarray(), Q @ U, rcond=None)[0]
            below = -np.linalg.lstsq(here.B.toarray().T, Q.T @ W, rcond=None)[0]
            product = product + W.T @ change[4] @ above + below.T @ change[3] @ U
        out[group] = np.linalg.eigvals(np.linalg.solve(W.T @ slope @ U, -product))
    return out
