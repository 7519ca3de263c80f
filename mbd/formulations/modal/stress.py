r"""Stiffness of a body with modes from its stress, that of reference loads.

A reference load, on the modes :math:`Q_r`, causes :math:`p_r = K^{-1}Q_r` and a stress whose
geometric stiffness is :math:`G_r`. Of any deformation the part along :math:`p_r`, orthogonal by K,
is :math:`\lambda = k^{-1}Q^Tp, \; k_{rs} = Q_r^TK^{-1}Q_s`; strains of second order add
:math:`g_r = \tfrac12 p^TG_rp` to it, so that the loads in the body are

.. math:: \tau = \lambda + k^{-1}g, \qquad V = \tfrac12 p^TKp + g^T\lambda + \tfrac12 g^Tk^{-1}g
          = \tfrac12\tau^Tk\,\tau + \dots,

and :math:`f_p = Kp + \sum_r(\tau_rG_rp + c_rg_r), \; c = k^{-1}Q^T`: a compressed column softens, a
string that is held at both ends stiffens as it swings, and a bent one shortens.

References
----------
Wallrapp, Schwertassek, Representation of geometric stiffening in multibody system simulation, Int.
J. Numer. Methods Eng. 32 (1991). Woinowsky-Krieger, J. Appl. Mech. 17 (1950): one held bar.
"""

from typing import Any

from mbd.formulations.modal.constants import LOADED, REFERENCES, table
from mbd.machine.jit import jit


@jit
def places(F: Any, par: int) -> tuple[int, int, int, int, int, int]:
    """Return where k^-1, c, G, g, tau and the products G p stand."""
    n, r, at = int(F[par]), int(F[par + REFERENCES]), table(F, par, LOADED)
    c = at + r * r
    G = c + r * n
    g = G + r * n * n
    return at, c, G, g, g + r, g + 2 * r


@jit
def prepare_stress(F: Any, par: int, p: int) -> float:
    """Write g, tau and G p; return the energy beyond that of K."""
    n, r = int(F[par]), int(F[par + REFERENCES])
    inverse, c, G, g, tau, Gp = places(F, par)
    energy = 0.0
    for s in range(r):
        F[g + s] = F[tau + s] = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += F[G + n * (n * s + i) + j] * F[p + j]
            F[Gp + n * s + i] = total
            F[g + s] += 0.5 * total * F[p + i]
            F[tau + s] += F[c + n * s + i] * F[p + i]
        energy += 0.5 * F[g + s] * F[tau + s]
    for s in range(r):
        for t in range(r):
            F[tau + s] += F[inverse + r * s + t] * F[g + t]
        energy += 0.5 * F[g + s] * F[tau + s]
    return energy


@jit
def add_stress_force(F: Any, par: int, to: int, weight: float) -> None:
    """Add what stress adds to K p, times a weight."""
    n, r = int(F[par]), int(F[par + REFERENCES])
    _, c, _, g, tau, Gp = places(F, par)
    for s in range(r):
        for j in range(n):
            force = F[tau + s] * F[Gp + n * s + j] + F[c + n * s + j] * F[g + s]
            F[to + j] += weight * force


@jit
def add_stress_stiffness(F: Any, par: int, to: int, ld: int, weight: float) -> None:
    """Add what stress adds to K, times a weight, to a block of rows of length ld."""
    n, r = int(F[par]), int(F[par + REFERENCES])
    inverse, c, G, _, tau, Gp = places(F, par)
    for s in range(r):
        for j in range(n):
            second = F[c + n * s + j]
            for t in range(r):
                second += F[inverse + r * s + t] * F[Gp + n * t + j]
            for i in range(n):
                F[to + ld * j + i] += weight * (
                    F[tau + s] * F[G + n * (n * s + j) + i]
                    + second * F[Gp + n * s + i]
                    + F[Gp + n * s + j] * F[c + n * s + i]
                )
