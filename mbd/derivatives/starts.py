r"""How the state from which steps begin depends on parameters.

A run makes its start consistent and shifts it, :math:`a_0 = \dot v_0 + \Delta_\alpha h \ddot v_0`
and the velocities with which the first step meets :math:`\Phi = 0`. All of that depends on p: it is
differentiated as one function, by the stencil. Tangents of positions follow from those of the
faces, :math:`Y\,\delta q = \delta y`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.derivatives.stencil import Stencil
from mbd.integration.consistent import consistent
from mbd.integration.method import Method
from mbd.integration.starting_values import started
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["Start", "Tangent", "start_of", "tangent_of_states"]


@dataclass(frozen=True, eq=False)
class Tangent:
    """The derivative of a state by a parameter; q in the increments at the state."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    alg: np.ndarray


@dataclass(frozen=True)
class Start:
    """How a run starts: from the described or another pose, and with which step."""

    method: Method
    h: float
    state: State | None = None
    project: bool = False

    def first(self, model: FrozenModel) -> State:
        """Return the first instant of a run: a consistent state."""
        return consistent(model, self.state, project=self.project)

    def begun(self, model: FrozenModel, first: State) -> State:
        """Return the state with which the steps begin."""
        facts = self.method.facts
        assert facts.weights is not None
        by_position = facts.level == "position"
        return started(Workspace(model), first, self.h, facts.weights, by_position)[0]


def faces_of(model: FrozenModel, state: State) -> np.ndarray:
    """Return the numbers of all faces at a state, (12 n_faces,)."""
    work = Workspace(model, state)
    work.evaluate()
    return work.vector(m.Y, 12 * (model.n_faces + 1))[12:].copy()


def _rates_of_faces(model: FrozenModel, state: State) -> dict[str, np.ndarray]:
    """Return Y of each node, (12 n_faces, n_v): the rates of its faces by its velocities."""
    work = Workspace(model, state.replace(v=np.zeros(model.n_v)))
    V, rates = work.vector(m.V), work.vector(m.YD, 12 * (model.n_faces + 1))
    first = {name: int(model.I[at + m.NODE_U]) for name, at in model.node_records.items()}
    sizes = {name: x.formulation.n_v for name, x in model.nodes.items()}
    columns = []
    for j in range(max(sizes.values())):
        V[:] = 0.0
        for name, u in first.items():
            if j < sizes[name]:
                V[u + j] = 1.0
        work.evaluate()
        columns.append(rates[12:].copy())
    Y = np.array(columns).T
    return {
        name: Y[12 * at : 12 * (at + model.nodes[name].formulation.n_faces), : sizes[name]]
        for name, at in model.faces.items()
    }


def tangent_of_states(
    model: FrozenModel, stencil: Stencil, at: State, state: Callable[[Any], State]
) -> Tangent:
    """Return the derivative of a state that depends on the model."""
    states = [state(x) for x in stencil.models]
    weights = np.array([w for w, _ in stencil.weighted])

    def of(values: list[Any]) -> np.ndarray:
        return np.asarray(weights @ np.array(values))

    models = stencil.models
    faces = of([faces_of(x, s) for x, s in zip(models, states, strict=True)])
    q = []
    for name, Y in _rates_of_faces(model, at).items():
        first = 12 * model.faces[name]
        q.append(np.linalg.lstsq(Y, faces[first : first + len(Y)], rcond=None)[0])
    alg = [s.a if s.alg is None else s.alg for s in states]
    return Tangent(
        np.concatenate(q), of([s.v for s in states]), of([s.a for s in states]),
        of([s.lam for s in states]), of(alg),
    )  # fmt: skip


def start_of(
    model: FrozenModel, stencil: Stencil, start: Start, first: State, begun: State
) -> tuple[Tangent, Tangent]:
    """Return the derivatives of the first instant, and of the state with which steps begin."""
    try:
        firsts = {id(x): start.first(x) for x in stencil.models}
    except ValueError as error:
        raise ValueError(
            f"sensitivities: the start does not follow another value of {stencil.name!r}, "
            f"{4 * stencil.step:.3g} from its own; give project=True, and the move to the nearest "
            f"consistent start is differentiated too: {error}"
        ) from None
    one = tangent_of_states(model, stencil, first, lambda x: firsts[id(x)])
    two = tangent_of_states(model, stencil, begun, lambda x: start.begun(x, firsts[id(x)]))
    return one, two
