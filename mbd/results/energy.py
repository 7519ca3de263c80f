r"""Floor 5. Energies and momenta of the faces.

With :math:`W = [[m, m\rho_c^T],[m\rho_c, E]]`,

.. math:: T = \tfrac12\,\dot y^T (W\otimes I_3)\,\dot y, \qquad
          p = \sum_k (W\dot y)_k \text{ at } r, \qquad L = \sum_k y_k \times (W\dot y)_k .

Potential energy is that of gravity and of linear springs; a spring with a law of the user's has
none here, nor have loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mbd.model.system import System
    from mbd.results.solution import Solution

__all__ = ["Energy", "Momentum", "angles", "conserves", "energy", "momentum"]


@dataclass(frozen=True)
class Energy:
    """Energies over time [J]."""

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Kinetic and potential energy."""
        return self.kinetic + self.potential


@dataclass(frozen=True)
class Momentum:
    """Momenta over time, (n, 3): linear [N s], angular about the origin [N m s]."""

    linear: np.ndarray
    angular: np.ndarray


def weights(body: Any) -> np.ndarray:
    """Return the 4x4 matrix W of a body."""
    W = np.empty((4, 4))
    W[0, 0] = body.mass
    W[0, 1:] = W[1:, 0] = body.mass * body.center_of_mass
    W[1:, 1:] = body.second_moments
    return W


def conserves(system: System) -> bool:
    """Tell whether nothing in the system adds or removes energy."""
    return not any(
        not element.kind.name.startswith("spring on ")
        or element.law is not None
        or element.numbers[1]
        for part in system.forces.values()
        for element in part.elements()
        if not element.kind.n_rows
    )


def energy(solution: Solution) -> Energy:
    """Sum the energies of bodies and springs."""
    system = solution.model.system
    kinetic = np.zeros(len(solution.t))
    potential = np.zeros(len(solution.t))
    for name, body in system.bodies.items():
        h = solution.body(name)
        p = np.einsum("kl,nlc->nkc", weights(body), h.yd)
        kinetic += 0.5 * np.einsum("nkc,nkc->n", h.yd, p)
        potential -= body.mass * (h.at(body.center_of_mass).position @ system.gravity)
    for name, element in _springs(system):
        k, _, u0 = element.numbers
        u = _measure(name, element, solution)
        potential += 0.5 * k * (u - u0) ** 2
    return Energy(kinetic, potential)


def _springs(system: System) -> Iterator[tuple[str, Any]]:
    """Yield the linear springs, each under a name of its own."""
    for part in system.forces.values():
        for i, element in enumerate(part.elements()):
            if element.kind.name.startswith("spring on ") and element.law is None:
                yield f"{part.name}.{i}", element


def angles(solution: Solution) -> dict[str, np.ndarray]:
    """Return the measures over time, (n,), of the springs that count turns."""
    springs = _springs(solution.model.system)
    return {name: _measure(name, e, solution) for name, e in springs if e.memory}


def _measure(spring: str, element: Any, solution: Solution) -> np.ndarray:
    """Return the measure of a spring over time."""
    x = [solution.vector_of(a.body, a.weights) for a in element.attachments]

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("nc,nc->n", a, b)

    name = element.kind.name.removeprefix("spring on ")
    if name == "length":
        return np.linalg.norm(x[1] - x[0], axis=1)
    if name == "offset":
        return dot(x[0], x[1] - x[2])
    if name == "twist":
        return 0.5 * (dot(x[0], x[3]) - dot(x[1], x[2]))
    angle = np.arctan2(dot(x[1], x[2]), dot(x[0], x[2]))
    start = solution.before.get(spring, element.memory[0])  # or the angle described
    turns = np.round(np.diff(angle, prepend=start) / (-2 * np.pi)).cumsum()
    return angle + 2 * np.pi * turns


def momentum(solution: Solution) -> Momentum:
    """Sum the momenta of the bodies."""
    linear = np.zeros((len(solution.t), 3))
    angular = np.zeros((len(solution.t), 3))
    for name, body in solution.model.system.bodies.items():
        h = solution.body(name)
        p = np.einsum("kl,nlc->nkc", weights(body), h.yd)
        linear += p[:, 0]
        angular += np.cross(h.y, p).sum(1)
    return Momentum(linear, angular)
