r"""Floor 5. Energies and momenta of the faces.

With :math:`W = [[m, m\rho_c^T],[m\rho_c, E]]`,

.. math:: T = \tfrac12\,\dot y^T (W\otimes I_3)\,\dot y, \qquad
          p = \sum_k (W\dot y)_k \text{ at } r, \qquad L = \sum_k y_k \times (W\dot y)_k .

Potential energy is that of gravity and of linear springs; a spring with a law of the user's has
none here, nor have loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m
from mbd.algebra.jit import kernel
from mbd.algebra.vec import cross, dot, load3, plus, store3, times
from mbd.results.histories import Faces, all_columns, per_model

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.model.system import System

_AT_ONCE = 1024  # faces whose numbers stay in the cache of the processor

__all__ = ["Energy", "Momentum", "Springs", "all_springs", "conserves", "sums", "weights"]


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


@kernel
def sums_kernel(I: Any, F: Any, k: int) -> None:
    """Write kinetic and potential energy, linear and angular momentum at n instants.

    I[k:] has n, the number of bodies, the places of the matrices W, of faces and their rates (with
    ground behind the bodies), and of the results, eight for each instant.
    """
    n, bodies, W, y, yd, out = I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4], I[k + 5]
    g, zero = load3(F, m.GX), (0.0, 0.0, 0.0)
    for e in range(n):
        kinetic, potential, linear, angular = 0.0, 0.0, zero, zero
        for b in range(bodies):
            at = 12 * (e * (bodies + 1) + b)
            for i in range(4):
                w, p, yi = W + 16 * b + 4 * i, zero, load3(F, y + at + 3 * i)
                for j in range(4):
                    p = plus(p, times(F[w + j], load3(F, yd + at + 3 * j)))
                kinetic += 0.5 * dot(load3(F, yd + at + 3 * i), p)
                potential -= F[W + 16 * b + i] * dot(g, yi)
                angular = plus(angular, cross(yi, p))
                if i == 0:
                    linear = plus(linear, p)
        F[out + 8 * e] = kinetic
        F[out + 8 * e + 1] = potential
        store3(F, out + 8 * e + 2, linear)
        store3(F, out + 8 * e + 5, angular)


@per_model
def _masses(model: Model) -> np.ndarray:
    """Return the matrices W of all bodies, (bodies, 4, 4)."""
    return np.array([weights(body) for body in model.system.bodies.values()])


def sums(
    model: Model, faces: Faces, measures: Iterable[tuple[Springs, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return kinetic and potential energy (n,), linear and angular momentum (n, 3).

    Of the faces of all bodies, and of springs with their measures.
    """
    W, k, n, n_b = _masses(model), m.I_HEADER, len(faces.y), len(faces.column)
    many = max(1, _AT_ONCE // n_b)
    masses, y, yd, out, end = np.cumsum(
        [m.F_HEADER, W.size, 12 * n_b * many, 12 * n_b * many, 8 * many]
    ).tolist()
    I = np.array([*[0] * k, many, n_b - 1, masses, y, yd, out], np.int64)
    F, found = np.zeros(end), np.empty((n, 8))
    F[m.GX : m.GX + 3], F[masses:y] = model.system.gravity, W.ravel()
    for first in range(0, n, many):
        here = slice(first, min(first + many, n))
        I[k] = here.stop - first
        for place, x in ((y, faces.y[here]), (yd, faces.yd[here])):
            F[place:][: x.size] = x.ravel()
        sums_kernel(I, F, k)
        found[here] = F[out:][: 8 * I[k]].reshape(-1, 8)
    for springs, u in measures:
        found[:, 1] += (0.5 * springs.stiffness * (u - springs.reference) ** 2).sum(1)
    return found[:, 0], found[:, 1], found[:, 2:5], found[:, 5:]


@dataclass(frozen=True)
class Springs:
    """Linear springs on one measure.

    Attributes
    ----------
    names : tuple of str
    bodies : (attachments, k) array
        Columns of the bodies among the faces.
    weights : (attachments, k, 4) array
    stiffness, reference : (k,) arrays
    start : tuple of float
        The angles described, of springs that count turns; else empty.
    """

    names: tuple[str, ...]
    measure: str
    bodies: np.ndarray
    weights: np.ndarray
    stiffness: np.ndarray
    reference: np.ndarray
    start: tuple[float, ...]

    def over_time(self, faces: Faces, before: Mapping[str, Any]) -> np.ndarray:
        """Return the measures (n, k); angles go on from what came before."""
        x = [faces.vectors(b, w) for b, w in zip(self.bodies, self.weights, strict=True)]
        if self.measure == "length":
            return np.asarray(np.linalg.norm(x[1] - x[0], axis=-1))
        if self.measure == "offset":
            return _dot(x[0], x[1] - x[2])
        if self.measure == "twist":
            return 0.5 * (_dot(x[0], x[3]) - _dot(x[1], x[2]))
        angle = np.arctan2(_dot(x[1], x[2]), _dot(x[0], x[2]))
        start = [before.get(*of) for of in zip(self.names, self.start, strict=True)]
        jumps = np.diff(angle, axis=0, prepend=[start])
        return angle + 2 * np.pi * np.round(jumps / (-2 * np.pi)).cumsum(0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a * b).sum(-1))


@per_model
def all_springs(model: Model) -> list[Springs]:
    """Return the linear springs by measure, each under a name of its own."""
    by_measure: dict[str, list[tuple[str, Any]]] = {}
    for part in model.system.forces.values():
        for i, element in enumerate(part.elements()):
            kind, _, measure = element.kind.name.partition("spring on ")
            if measure and not kind and element.law is None:
                by_measure.setdefault(measure, []).append((f"{part.name}.{i}", element))
    column, found = all_columns(model), []
    for measure, springs in by_measure.items():
        names, elements = zip(*springs, strict=True)
        ends = [e.attachments for e in elements]
        found.append(
            Springs(
                names,
                measure,
                np.array([[column[end.body] for end in x] for x in ends]).T,
                np.swapaxes([[end.weights for end in x] for x in ends], 0, 1),
                np.array([e.numbers[0] for e in elements]),
                np.array([e.numbers[2] for e in elements]),
                tuple(e.memory[0] for e in elements if e.memory),
            )
        )
    return found
