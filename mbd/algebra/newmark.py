r"""Newmark's relations: how velocities and accelerations change with the increment of a step.

Of :math:`h\Delta = h v_n + h^2((\tfrac12-\beta)a_n + \beta a_{n+1})`,
:math:`v_{n+1} = v_n + h((1-\gamma)a_n + \gamma a_{n+1})` and generalized-alpha's
:math:`(1-\alpha_m)a_{n+1} + \alpha_m a_n = (1-\alpha_f)\dot v_{n+1} + \alpha_f\dot v_n`,

.. math:: \gamma' = \frac{\partial v}{\partial(h\Delta)} = \frac{\gamma}{h\beta}, \qquad
          \beta' = \frac{\partial\dot v}{\partial(h\Delta)} =
          \frac{1-\alpha_m}{h^2\beta(1-\alpha_f)} .

Times :math:`\beta h^2` these are the weights of M and G in the iteration matrix, that of K is
:math:`\beta h^2`.
"""

from typing import Any, NamedTuple

from mbd.machine.jit import jit


class Weights(NamedTuple):
    """alpha_m, alpha_f, beta, gamma of a member of the family."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


def largest_damping(gamma: float) -> float:
    """Return the beta of largest damping at high frequency, (gamma + 1/2)^2 / 4."""
    return 0.25 * (gamma + 0.5) ** 2


def damping_weights(rho: float) -> Weights:
    """Return the weights of generalized-alpha with the spectral radius rho."""
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + alpha_f - alpha_m
    return Weights(alpha_m, alpha_f, largest_damping(gamma), gamma)


def matrix_weights(am: float, af: float, beta: float, gamma: float, h: float) -> Any:
    """Return the weights of M, G, K, times beta h^2, and 1/gamma', that of rates of rows."""
    return (1 - am) / (1 - af), h * gamma, h * h * beta, h * beta / gamma


scaled_rates = jit(matrix_weights)


@jit
def change_rates(am: float, af: float, beta: float, gamma: float, h: float) -> Any:
    """Return gamma', beta' and beta h^2."""
    w_m, w_g, w_k, _ = scaled_rates(am, af, beta, gamma, h)
    return w_g / w_k, w_m / w_k, w_k
