r"""Small motions with periodic coefficients, :math:`\dot x = S(t)\,x,\; S(t + T) = S(t)`.

S is known at n instants of a period and a trigonometric polynomial between them. The monodromy
matrix :math:`\Xi`, :math:`x(T) = \Xi x(0)`, is a product of Magnus' steps of order 4 [1]_,

.. math:: X \leftarrow \exp\Bigl(\tfrac h2 (S_1 + S_2) - \tfrac{\sqrt3}{12} h^2 [S_1, S_2]\Bigr) X

with S at Gauss' points. Its eigenvalues :math:`\mu` are :math:`e^{sT}`: Im s is known up to
multiples of :math:`2\pi/T`; that of the largest harmonic of :math:`p(t) = e^{-st} x(t)` is taken
[2]_.

References
----------
.. [1] A. Iserles, S. P. Norsett, On the solution of linear differential equations in Lie groups,
   Phil. Trans. R. Soc. A 357, 1999.
.. [2] P. F. Skjoldan, M. H. Hansen, On the similarity of the Coleman and Lyapunov-Floquet
   transformations for modal analysis of bladed rotor structures, J. Sound Vib. 327, 2009.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mbd.base.tolerances import MAGNUS_SAME, ROUND_OFF


@dataclass(frozen=True, eq=False)
class FloquetSolution:
    """Multipliers, one of each complex pair, and their motions.

    Attributes
    ----------
    multipliers, eigenvalues : (n,) complex arrays
        mu, and s [1/s] with Im s >= 0.
    motions : (n, instants, states) complex array
        p at the instants of the description, without its largest harmonic.
    share : (n,) array
        Of the largest harmonic in p.
    steps : int
        Of a period.
    change : float
        By how much multipliers changed when the steps were halved last.
    """

    multipliers: np.ndarray
    eigenvalues: np.ndarray
    motions: np.ndarray
    share: np.ndarray
    steps: int
    change: float


def floquet_solution(S: np.ndarray, period: float) -> FloquetSolution:
    """Return the solution for S (n, k, k) at equal distances over a period.

    Of motions with less than n/2 oscillations in a period, as n instants tell them, and less than
    that decay.
    """
    change, before, last = np.inf, np.inf, np.zeros(0)
    for substeps in (2**k for k in range(10)):
        through = _through(S, period, substeps)
        mu, x = _slow(S, through, period)
        if len(last):
            apart = np.abs(mu[:, None] - last).min(1)
            change = float((apart / np.maximum(np.abs(mu), 1.0)).max(initial=0.0))
        floor = 4.0 * change > before and change < MAGNUS_SAME**0.5  # round-off, not order 4
        if change <= MAGNUS_SAME or floor:
            break
        last, before = mu, change
    return _sorted_out(mu, x, period, int(substeps) * len(S), change)


def _slow(S: np.ndarray, through: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers of motions that n instants tell, and these there (n, k, motions)."""
    mu, V = np.linalg.eig(through[-1])
    n, size = len(S), np.abs(mu)
    keep = np.flatnonzero(size > ROUND_OFF**0.5 * size.max(initial=0.0))
    mu, x = mu[keep], through[:-1] @ V[:, keep]
    even = np.abs(mu)[None] ** (-np.arange(n) / n)[:, None]
    rates, sizes = ((np.linalg.norm(y, axis=1) * even) ** 2 for y in (S @ x, x))
    slow = rates.sum(0) < (np.pi * n / period) ** 2 * sizes.sum(0)
    mu, x = mu[slow], x[:, :, slow]
    mu = np.where(np.abs(mu.imag) <= ROUND_OFF**0.5 * np.abs(mu), mu.real, mu)
    double = np.flatnonzero(np.abs(mu - 1.0) <= MAGNUS_SAME**0.5)  # a turn on, at any speed
    if len(double) > 1:
        mu[double] = 1.0
    return mu, x


def _through(S: np.ndarray, period: float, substeps: int) -> np.ndarray:
    """Return X at the instants of S and at the end of the period, (n + 1, k, k), X = 1 first."""
    n, k = len(S), S.shape[1]
    steps = n * substeps
    h, off = period / steps, np.sqrt(3.0) / 6.0
    harmonics, order = np.fft.fft(S, axis=0).reshape(n, -1) / n, np.fft.fftfreq(n, 1.0 / n)
    X, through = np.eye(k), [np.eye(k)]
    for i in range(steps):
        phases = 2 * np.pi * (i + 0.5 + np.array([-off, off])) / steps
        one, two = (np.exp(1j * np.outer(phases, order)) @ harmonics).real.reshape(2, k, k)
        turn = np.sqrt(3.0) / 12.0 * h * h * (one @ two - two @ one)
        X = scipy.linalg.expm(0.5 * h * (one + two) - turn) @ X
        if (i + 1) % substeps == 0:
            through.append(X)
    return np.array(through)


def _sorted_out(
    mu: np.ndarray, x: np.ndarray, period: float, steps: int, change: float
) -> FloquetSolution:
    """Return one multiplier of each pair, with the largest harmonic of its motion."""
    up = mu.imag >= 0.0
    mu, x = mu[up], x[:, :, up]
    n = len(x)
    s, t = np.log(mu.astype(complex)) / period, period * np.arange(n) / n
    p = (x * np.exp(-t[:, None, None] * s)).transpose(2, 0, 1)
    sizes = (np.abs(np.fft.fft(p, axis=1)) ** 2).sum(2)
    rates = 2 * np.pi / period * np.fft.fftfreq(n, 1.0 / n)
    alike = sizes >= (1.0 - ROUND_OFF**0.5) * sizes.max(1, initial=0.0)[:, None]
    largest = np.where(alike, rates, -np.inf).max(1)  # of a pair alike that of a positive rate
    s = s + 1j * largest
    p = p * np.exp(-1j * largest[:, None] * t)[..., None]
    back = s.imag < 0.0
    s, mu = np.where(back, s.conj(), s), np.where(back, mu.conj(), mu)
    p = np.where(back[:, None, None], p.conj(), p)
    s = np.where(mu == 1.0, 0.0, s)
    sort = np.lexsort((s.imag, np.round(np.abs(s), 9)))
    share = sizes.max(1, initial=0.0) / sizes.sum(1)
    return FloquetSolution(mu[sort], s[sort], p[sort], share[sort], steps, change)
