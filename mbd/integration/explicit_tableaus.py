r"""Explicit Runge-Kutta methods: abscissae, weights, estimates of errors, states within a step.

Of :math:`\dot y = f(t, y)` the stages of a step are

.. math:: k_i = f\Bigl(t_n + c_i h,\; y_n + h\sum_{j<i} a_{ij} k_j\Bigr),

numbered so that stage s is the end of the step and the first of the next one: its row of weights is
b. Stages after it are needed within a step alone,
:math:`y(t_n + xh) = y_n + h\sum_i k_i \sum_{l \ge 1} P_{il}\,x^l`.

References
----------
.. [1] Hairer, Noersett and Wanner, Solving Ordinary Differential Equations I, sections II.1, II.5,
   II.10 (DOP853: the method of order 8 by Dormand and Prince, its estimates of order 5 and 3).
   Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying
   assumption, Comput. Math. Appl. 62 (2011).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True, eq=False)
class Tableau:
    r"""An explicit Runge-Kutta method.

    Attributes
    ----------
    order : int
    stages : int
        s: evaluations of a step.
    A : (n, n) array
        Weights, strictly lower triangular; row s is b.
    c : (n,) array
        Abscissae.
    P : (n, degree) array
        Weights of the powers :math:`x, x^2, \dots` within a step.
    errors : (2, n) array
        Weights of the estimate that counts, and of one of lower order that scales it:
        :math:`e^2/\sqrt{e^2 + 0.01\,e_{low}^2}`; zeros where a method has none.
    estimate : int
        Power of h of the estimate that comes of it; 0: the method has none.
    """

    order: int
    stages: int
    A: np.ndarray
    c: np.ndarray
    P: np.ndarray
    errors: np.ndarray
    estimate: int


def _rows(n: int, rows: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """Return rows of numbers, filled up with zeros: (m, n)."""
    return np.array([[*row, *(0.0,) * (n - len(row))] for row in rows])


def _rk4() -> Tableau:
    """Return the classical method; within a step its continuation of order 3."""
    A = _rows(5, ((), (0.5,), (0, 0.5), (0, 0, 1), (1 / 6, 1 / 3, 1 / 3, 1 / 6)))
    P = _rows(3, ((1, -3 / 2, 2 / 3), (0, 1, -2 / 3), (0, 1, -2 / 3), (0, -1 / 2, 2 / 3), ()))
    return Tableau(4, 4, A, A.sum(1), P, np.zeros((2, 5)), 0)


def _tsit5() -> Tableau:
    """Return the pair of order 5(4) of Tsitouras; within a step its continuation of order 4."""
    A = _rows(7, (
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
         -0.028269050394068383),
        (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
         2.324710524099774),
    ))  # fmt: skip
    P = _rows(4, (
        (1.0, -2.763706197274826, 2.9132554618219126, -1.0530884977290216),
        (0.0, 0.13169999999999998, -0.2234, 0.1017),
        (0.0, 3.9302962368947516, -5.941033872131505, 2.490627285651253),
        (0.0, -12.411077166933676, 30.33818863028232, -16.548102889244902),
        (0.0, 37.50931341651104, -88.1789048947664, 47.37952196281928),
        (0.0, -27.896526289197286, 65.09189467479366, -34.87065786149661),
        (0.0, 1.5, -4.0, 2.5),
    ))  # fmt: skip
    errors = _rows(7, (
        (-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995,
         -0.1447110071732629, 0.5823571654525552, -0.45808210592918697, 1 / 66),
        (),
    ))  # fmt: skip
    return Tableau(5, 6, A, A.sum(1), P, errors, 5)


def _dop853() -> Tableau:
    """Return the method of order 8 by Dormand and Prince; within a step that of order 7."""
    from scipy.integrate import DOP853

    s, n = 12, 16
    A = np.zeros((n, n))
    A[:s, :s], A[s, :s], A[s + 1 :] = DOP853.A, DOP853.B, DOP853.A_EXTRA
    errors = np.zeros((2, n))
    errors[:, : s + 1] = DOP853.E5, DOP853.E3
    # y - y_n = x (F_0 + (1 - x)(F_1 + x (F_2 + ...))), F linear in y_(n+1) - y_n, k_0 and k_s
    F = np.zeros((7, n))
    F[0] = A[s]
    F[1, 0], F[2, 0], F[2, s] = 1.0, -1.0, -1.0
    F[1] -= A[s]
    F[2] += 2.0 * A[s]
    F[3:] = DOP853.D
    P, power = np.zeros((n, 7)), np.ones(1)
    for k, row in enumerate(F):
        power = np.convolve(power, (0.0, 1.0) if k % 2 == 0 else (1.0, -1.0))
        P[:, : k + 1] += np.outer(row, power[1:])
    return Tableau(8, s, A, np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA]), P, errors, 8)


TABLEAUS = {"dop853": _dop853, "tsit5": _tsit5, "rk4": _rk4}


@cache
def tableau(name: str) -> Tableau:
    """Return the method of a name in TABLEAUS."""
    return TABLEAUS[name]()
