r"""Loss of stability at position level: oscillating multipliers.

At index 3 redundant coordinates, fast spin and a spectral radius near 1 do not go together: the
multipliers of the bodies' own rows oscillate while positions still look right. A smooth multiplier
changes little between neighbouring steps, :math:`|\lambda_{n+1} - 2\lambda_n + \lambda_{n-1}| \sim
h^2`; one that oscillates has second differences as large as itself. Velocities follow later: steps
that throw them off the rows are refused.
"""

from typing import Any

import numpy as np

from mbd.base.tolerances import LOST_NOISE, OSCILLATION_INSTANTS, OSCILLATION_SHARE
from mbd.machine import buffer as m
from mbd.model.model import Model


def largest_alike(lam_kinds: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return what multipliers, the largest ones of each row, (..., n_lam), are compared with.

    The largest of their kind, or what the largest of all would be noise of.
    """
    largest = np.repeat(1e-3 * size.max(axis=-1, keepdims=True), len(lam_kinds), axis=-1)
    for k in np.unique(lam_kinds):
        alike = lam_kinds == k
        most = size[..., alike].max(axis=-1, keepdims=True)
        largest[..., alike] = np.maximum(largest[..., alike], most)
    return largest


def rough(lam_kinds: np.ndarray, second: np.ndarray, size: np.ndarray) -> Any:
    """Tell whether the last multipliers may oscillate: of one run or of many.

    By the largest second difference of each row, and the largest multiplier, (..., n_lam).
    """
    return ~(second <= OSCILLATION_SHARE * largest_alike(lam_kinds, size)).all(axis=-1)


def roughness(lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return second differences and sizes of the last multipliers (..., n, n_lam), their largest.

    Those of rows that do not act are no numbers, and count as zero.
    """
    last = lam[..., -OSCILLATION_INSTANTS:, :]
    last = np.where(np.isfinite(last), last, 0.0)
    return np.abs(np.diff(last, 2, axis=-2)).max(axis=-2), np.abs(last).max(axis=-2)


def oscillation(model: Model, lam: np.ndarray, weight: float) -> str:
    """Return a warning that names the worst multiplier, or an empty string.

    Parameters
    ----------
    lam : (n, n_lam) array
        Multipliers at successive steps; the last ones are looked at.
    weight : float [s^2]
        beta h^2: the round-off of positions divided by it is the round-off of multipliers, which
        alternates by nature and is no alarm where the multipliers themselves are zero.
    """
    last, lam_kinds = lam[-OSCILLATION_INSTANTS:], model.numbering.lam_kinds
    if not len(lam_kinds) or len(last) < OSCILLATION_INSTANTS:
        return ""
    most, size = roughness(last)
    if not rough(lam_kinds, most, size):
        return ""
    second = np.abs(np.diff(last, 2, axis=0))
    largest = largest_alike(lam_kinds, size)
    mass = model.heaviest.mass
    length = float(model.F[m.LENGTH])
    force = LOST_NOISE * np.finfo(float).eps * mass * length / weight
    largest = np.maximum(largest, np.where(lam_kinds == m.FORCE, force, force * length))
    share = np.median(second, axis=0) / largest
    # alternating: the second difference is about twice the first; smooth: much smaller
    first = np.abs(np.diff(last, axis=0))
    alternates = np.median(second, axis=0) > 1.5 * np.median(first, axis=0)
    bad = np.flatnonzero(alternates & (share > OSCILLATION_SHARE))
    if not len(bad):
        return ""
    worst = int(bad[np.argmax(share[bad])])
    return (
        f"the multiplier of {model.numbering.lam_labels[worst]!r} oscillates from step to step (by "
        f"{100 * share[worst]:.0f} % of the largest of its kind), and with it reactions: take "
        "constraints='stabilized', a smaller rho (0.8 or less), a smaller step, or "
        "formulation='so3'"
    )
