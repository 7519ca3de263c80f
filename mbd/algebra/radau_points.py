r"""Collocation at the points of Radau: abscissae, weights, and triangular matrices of sweeps.

The abscissae :math:`c_1 < \dots < c_s = 1` are the zeros of :math:`P_s - P_{s-1}` (Legendre, on
[0, 1]), the weights :math:`a_{ij} = \int_0^{c_i} \ell_j`. On :math:`\dot y = z y` a sweep with the
lower triangular W contracts by :math:`\rho[(I - zW)^{-1} z(A - W)]`; of the matrices here it is at
most 0.24 (s = 3) and 0.37 (s = 5) over the imaginary and the negative real axis.

References
----------
.. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.5.
   Van der Houwen and de Swart, Triangularly implicit iteration methods for ODE-IVP solvers, SIAM J.
   Sci. Comput. 18 (1997).
"""

from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from mbd.machine.jit import jit

STAGES = (3, 5)
_W = {
    3: ([0.261], [0.3636, 0.261], [0.253, 0.3934, 0.261]),
    5: (
        [0.1737],
        [0.1415, 0.1737],
        [0.1532, 0.3425, 0.1737],
        [0.152, 0.3158, 0.3053, 0.1737],
        [0.1377, 0.2786, 0.3159, 0.1022, 0.1737],
    ),
}


@dataclass(frozen=True, eq=False)
class Radau:
    r"""A collocation method of s stages.

    Attributes
    ----------
    c : (s,) array
        Abscissae.
    A, W : (s, s) arrays
        Weights; triangular matrix of the sweeps, with one number on its diagonal.
    back : (s,) array
        Weights of the stages that extrapolate their polynomial to the start of the step.
    error : float
        C of the local error :math:`C h^{2s} y^{(2s)}`, :math:`s!(s-1)!/((2s-1)!\,(2s)!)`.
    """

    c: np.ndarray
    A: np.ndarray
    W: np.ndarray
    back: np.ndarray
    error: float


def cardinals(nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the polynomials that are one at a node and zero at the others, (n_x, n_nodes)."""
    apart = nodes[:, None] - nodes
    np.fill_diagonal(apart, 1.0)
    n = len(nodes)
    others = ~np.eye(n, dtype=bool)
    return np.array(
        [[np.prod((y - nodes[others[j]]) / apart[j, others[j]]) for j in range(n)] for y in x]
    )


@cache
def radau(s: int) -> Radau:
    """Return the method of s stages, of order 2 s - 1."""
    polynomial = np.zeros(s + 1)
    polynomial[s - 1 :] = -1.0, 1.0
    c = np.sort(legendre.legroots(polynomial).real)
    slope = legendre.legder(polynomial)
    for _ in range(3):
        c = c - legendre.legval(c, polynomial) / legendre.legval(c, slope)
    c = 0.5 * (c + 1.0)
    c[-1] = 1.0
    x, w = legendre.leggauss(s)
    A = np.array([ci * 0.5 * w @ cardinals(c, 0.5 * ci * (x + 1.0)) for ci in c])
    W = np.zeros((s, s))
    for i, row in enumerate(_W[s]):
        W[i, : i + 1] = row
    error = factorial(s) * factorial(s - 1) / (factorial(2 * s - 1) * factorial(2 * s))
    return Radau(c, A, W, cardinals(c, np.zeros(1))[0], error)


# --- in compiled loops: polynomials through the start of a step and its stages --------------------
X1, X2, X3, X4 = (0.5 * (float(x) + 1.0) for x in legendre.leggauss(4)[0])
G1, G2, G3, G4 = (0.5 * float(g) for g in legendre.leggauss(4)[1])


@jit
def cardinal(F: Any, c: int, s: int, j: int, x: float) -> float:
    """Return the polynomial of degree s that is one at node j of (0, c_1 ... c_s); c is at F[c]."""
    here = F[c + j - 1] if j > 0 else 0.0
    value = 1.0
    for k in range(s + 1):
        if k != j:
            other = F[c + k - 1] if k > 0 else 0.0
            value *= (x - other) / (here - other)
    return value


@jit
def integral(F: Any, c: int, s: int, j: int, x: float) -> float:
    """Return the integral of `cardinal` from 0 to x, exact to the degree seven."""
    value = G1 * cardinal(F, c, s, j, X1 * x) + G2 * cardinal(F, c, s, j, X2 * x)
    return x * (value + G3 * cardinal(F, c, s, j, X3 * x) + G4 * cardinal(F, c, s, j, X4 * x))
