r"""Operations on states: :math:`q \boxplus d`, its derivative T(d), and the d between two poses.

.. math:: \delta(q \boxplus d) = T(d)\,\delta d, \qquad \dot d = T(d)^{-1} v

with increments and their images in the velocities of the model, body by body.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from mbd.algebra.differences import FOURTH, fourth_order
from mbd.base.door import array
from mbd.base.tolerances import ROWS_MET
from mbd.formulations.families import family
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced


def of_velocities(owner: str, what: str, model: FrozenModel, x: Any) -> np.ndarray:
    """Return (n_v,) finite numbers in the order of the velocities."""
    numbers = array(owner, what, x, f"{model.n_v} numbers")
    if numbers.shape != (model.n_v,):
        raise ValueError(
            f"{owner}: {what} must be {model.n_v} numbers, one for each of the model's velocities, "
            f"got shape {numbers.shape}"
        )
    if not np.isfinite(numbers).all():
        i = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(
            f"{owner}: {what} must be finite, got {numbers[i]} for {model.numbering.v_labels[i]!r}"
        )
    return numbers


def moved(model: FrozenModel, state: State, d: np.ndarray) -> State:
    r"""Return the state at :math:`q \boxplus d`, all else as it is."""
    return displaced(model, state, d).replace(lam=state.lam)


def tangent_operator(model: FrozenModel, state: State, d: np.ndarray) -> sp.csr_array:
    r"""Return T(d), (n_v, n_v): :math:`q \boxplus (d + e) = (q \boxplus d) \boxplus T(d)\,e`.

    To first order in e; block by block the inverse of what the formulations' flows write.
    """
    formulations = dict.fromkeys(x.formulation for x in model.nodes.values())
    flows = [family(x).flow for x in formulations]
    for formulation, flow in zip(formulations, flows, strict=True):
        if flow is None:
            name = next(n for n, x in model.nodes.items() if x.formulation is formulation)
            raise ValueError(
                f"Model.tangent_operator: {name!r} is carried by {formulation.name!r}, which has "
                "no flow, the rates of increments by velocities; give the Formulation one"
            )
    work = Workspace(model, state, own=int(model.I[m.N_U]))
    work.vector(m.D)[model.numbering.v] = d
    calls = [(flow, at) for flow, (_, at) in zip(flows, model.kernels[m.VELOCITIES], strict=True)]

    def rates(unit: np.ndarray) -> np.ndarray:
        work.vector(m.V)[model.numbering.v] = unit
        for flow, at in calls:
            flow(work.I, work.F, at)
        return work.F[int(model.I[m.METHOD]) :][model.numbering.v]

    blocks = [np.linalg.inv(x) for x in _by_node(model, rates)]
    return sp.csr_array(sp.block_diag(blocks) if blocks else (0, model.n_v))


def difference(model: FrozenModel, a: State, b: State) -> np.ndarray:
    r"""Return d, (n_v,), with :math:`q_a \boxplus d = q_b`.

    By Newton's method, :math:`d \mathrel{+}= T(d)^{-1}\,E^+ (q_b - q_a \boxplus d)` with the
    derivative E of stored coordinates, whose pseudo-inverse leaves out what lies across the
    manifold; quaternions of the other sign are the same rotation.
    """
    d, goal = np.zeros(model.n_v), np.array(b.q, float)
    if len(signs := model.quaternions):
        opposite = (a.q[signs] * goal[signs]).sum(axis=1) < 0.0
        goal[signs[opposite]] *= -1.0
    size = np.maximum(1.0, np.abs(goal))
    best, least = d, np.inf
    while True:
        here = displaced(model, a, d)
        left = goal - here.q
        most = float(np.abs(left / size).max(initial=0.0))
        if not most < least:
            break
        best, least = d, most
        rates = _coordinate_rates(model, here)
        step = [
            np.linalg.pinv(E) @ left[at] for E, at in zip(rates, model.numbering.q, strict=True)
        ]
        T = tangent_operator(model, a, d)
        d = d + spsolve(T.tocsc(), np.concatenate(step))
    if least <= ROWS_MET:
        return best
    left = (goal - displaced(model, a, best).q) / size
    worst = int(np.abs(left).argmax())
    body = model.body_of_coordinate(worst)
    raise ValueError(
        f"Model.difference: no increment takes {body!r} from one state to the other: {least:.2g} "
        "of its coordinates is left; the second must be a pose on the same manifold, such as one "
        "that a run has, less than half a turn away"
    )


def _by_node(model: FrozenModel, image: Any, sizes: list[slice] | None = None) -> list[np.ndarray]:
    """Return what a linear map that goes node by node makes of the unit vectors of each node.

    `image` maps (n_v,) to numbers of which those of a node stand at `sizes`, default as there.
    """
    ends = np.cumsum([0, *(x.formulation.n_v for x in model.nodes.values())]).tolist()
    own = [slice(a, b) for a, b in pairwise(ends)]
    sizes = own if sizes is None else sizes
    out = [np.empty((y.stop - y.start, x.stop - x.start)) for x, y in zip(own, sizes, strict=True)]
    for j in range(max((x.stop - x.start for x in own), default=0)):
        some = [i for i, x in enumerate(own) if j < x.stop - x.start]
        unit = np.zeros(model.n_v)
        unit[[own[i].start + j for i in some]] = 1.0
        of_all = image(unit)
        for i in some:
            out[i][:, j] = of_all[sizes[i]]
    return out


def _coordinate_rates(model: FrozenModel, state: State) -> list[np.ndarray]:
    """Return E of each node: rates of stored coordinates, by differences of fourth order."""

    def image(unit: np.ndarray) -> np.ndarray:
        e = FOURTH * model.units * unit
        return np.asarray(fourth_order(lambda k: displaced(model, state, k * e).q))

    scale = FOURTH * model.units
    parts = _by_node(model, image, list(model.numbering.q))
    ends = np.cumsum([0, *(x.shape[1] for x in parts)])
    return [x / scale[a:b] for x, a, b in zip(parts, ends, ends[1:], strict=False)]
