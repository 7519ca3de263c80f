r"""``Stepper.linear``: a run as a linear system near its present state, in coordinates of joints.

With x = (increments of positions, of rates) along ``model.joint_coordinates``, u of the inputs,

.. math:: \dot x &= f + A x + B u, & A &= \begin{bmatrix} W & 1 \\
          -M^{-1}\partial\tau/\partial q & -M^{-1}\partial\tau/\partial v \end{bmatrix}, \\
          y &= g + C x + D u, & B &= \begin{bmatrix} 0 \\
          -M^{-1}\partial h/\partial u \end{bmatrix},

:math:`\tau(q, v, \dot v)` the efforts of inverse dynamics, h those at rest of accelerations, W the
turn of an increment of a rotation, :math:`\dot\delta = \omega \times \delta + \delta\omega`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH, fourth_order
from mbd.base.door import number

_WHO = "Stepper.linear"


@dataclass(frozen=True, eq=False)
class LinearModel:
    r"""A run near a state: :math:`\dot x = f + A x + B u`, :math:`y = g + C x + D u`.

    x and u are increments, from the state and the inputs that are set there.

    Attributes
    ----------
    A, B, C, D : (n, n), (n, n_u), (n_y, n), (n_y, n_u) arrays [SI]
    f, g : (n,), (n_y,) arrays [SI]
        Rates and observations at the state itself.
    states, inputs, outputs : tuple of str
        Labels; a state is a coordinate of a joint, "hinge.angle", or "hinge.angle_rate".
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    f: np.ndarray
    g: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def held(self, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Return :math:`A_h, B_h, f_h` of :math:`x(t + h) = f_h + A_h x + B_h u`, u held [s]."""
        from scipy.linalg import expm  # which most runs do not need

        h = number("LinearModel.held", "h", h, "s", positive=True)
        n, rates = len(self.A), np.hstack([self.A, self.B, self.f[:, None]])
        grown = expm(h * np.pad(rates, [(0, rates.shape[1] - n), (0, 0)]))
        a, b, c = np.split(grown[:n], [n, rates.shape[1] - 1], axis=1)
        return a, b, c[:, 0]


def linear_model(stepper: Any) -> LinearModel:
    """Return the linear model of a stepper at its present state; the run stays as it is."""
    for name, x in stepper.settable.items():
        if x.drives:
            raise ValueError(
                f"{_WHO}: {name!r} drives a motion, which then is no state; make the input the "
                "effort of a Motor in that joint"
            )
    tree, t, state, u = stepper.model.joint_coordinates, stepper.t, stepper.state, stepper.u.copy()
    q, v, before = tree.q(state), tree.v(state), stepper.snapshot()
    n, places, of_u = len(v), stepper.inputs.places[:, 0].tolist(), stepper.inputs.places[:, 1]
    numbers = {p: before.numbers[p] for x in stepper.settable.values() for p in x.places}
    steps = np.concatenate([tree.steps, np.full(n, FOURTH), FOURTH * np.fmax(1, abs(u))])

    def efforts(du: np.ndarray) -> np.ndarray:
        values = (stepper.inputs.slopes * (u + du)[of_u]).tolist()
        with tree.with_numbers(numbers | dict(zip(places, values, strict=True))):
            return -tree.bias(q, v, t=t)

    def observed(d: np.ndarray) -> np.ndarray:
        stepper.u[:] = u + d[2 * n :]
        stepper.set(tree.add(q, d[:n], t=t), v + d[n : 2 * n])
        return stepper.y.copy()

    with tree.with_numbers(numbers):
        M, h = tree.M_and_bias(q, v, t=t)
        a = np.linalg.solve(M, -h)
        dq, dv, _ = tree.slopes(q, v, a, t=t)
        W = tree.turning(q, v, t=t)
    by_u = _slopes(efforts, steps[2 * n :], n)
    try:
        g = observed(0.0 * steps)
        CD = _slopes(observed, steps, len(g)) if len(g) else np.zeros((0, len(steps)))
    finally:
        stepper.restore(before)
    inverse = np.linalg.inv(M)
    A = np.block([[W, np.eye(n)], [-inverse @ dq, -inverse @ dv]])
    B = np.vstack([np.zeros((n, len(u))), inverse @ by_u])
    states = (*tree.labels, *(f"{x}_rate" for x in tree.labels))
    labels = stepper.inputs.labels, stepper.observation.labels
    return LinearModel(
        A, B, CD[:, : 2 * n], CD[:, 2 * n :], np.concatenate([v, a]), g, states, *labels
    )


def _slopes(function: Callable[[np.ndarray], Any], steps: np.ndarray, rows: int) -> np.ndarray:
    """Return the derivative (rows, n) of a function of an increment (n,)."""
    each = [fourth_order(lambda k, d=d: function(k * d)) for d in np.diag(steps)]  # type: ignore[misc]
    return np.array(each).reshape(len(steps), rows).T / steps
