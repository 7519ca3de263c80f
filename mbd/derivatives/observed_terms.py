r"""Terms of objectives that are observed by compiled code: numbers by name, and sums of squares.

.. math:: j = \sum_k w_k\,(y_k - y^*_k(t))^2, \qquad
   \delta j = s\cdot\delta y, \quad s_k = 2 w_k\,(y_k - y^*_k)

Their derivatives by the state are those of :math:`s\cdot y` with s held, one product for each
coordinate of the bodies that are observed, at all instants in one call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import called, listed, shown
from mbd.base.door import array
from mbd.base.tolerances import BEGIN_REACH
from mbd.derivatives.step_kernels import DQ, DV, INSTANT_SIZE
from mbd.history.observation import Observation
from mbd.machine import buffer as m
from mbd.model.frozen import some_per_model
from mbd.model.turns_so_far import MEMORY

_WHO = "sum_of_squares"


@dataclass(frozen=True, eq=False)
class SumOfSquares:
    """A term of an objective: see ``mbd.sum_of_squares``.

    Attributes
    ----------
    what : tuple
        As ``model.observe`` takes it.
    target : array, or callable
        Of all numbers that are observed, or as a function of time.
    weight : (m,) array or number
    """

    what: tuple[Any, ...]
    target: np.ndarray | Callable[[float], Any]
    weight: np.ndarray


def sum_of_squares(what: Any, target: Any = 0.0, weight: Any = 1.0) -> SumOfSquares:
    r"""Return a term of an ``mbd.Objective``: :math:`\sum_k w_k (y_k - y^*_k)^2`.

    It is evaluated and differentiated by compiled code.

    Parameters
    ----------
    what : str, or a list as of ``model.observe``
        "hinge.angle", ["tip.position", "tip.velocity"].
    target : number, (m,) array or callable, optional [SI]
        y*, of all numbers in the order of ``model.observe(what).labels``; of one that follows time
        ``f(t)``, such as an ``mbd.Interpolated``.
    weight : number or (m,) array, optional [-]
        w, not below zero.

    Returns
    -------
    SumOfSquares

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> hit = mbd.Objective(terminal=mbd.sum_of_squares("ball.position", (1.0, 0.0, 0.0)))
    >>> names = ["ball.velocity.x", "ball.velocity.z"]
    >>> best = mbd.optimize(hit, system, names, t_end=1.0, step=0.1)
    >>> round(best["ball.velocity.x"], 5), round(best["ball.velocity.z"], 5)
    (1.0, 4.905)
    """
    names = (what,) if isinstance(what, str) else listed(f"{_WHO}: what must be a list", what)
    if not names:
        raise ValueError(f"{_WHO}: what must name a quantity, such as 'hinge.angle', got none")
    own = target if callable(target) else array(_WHO, "target", target, "numbers, or f(t)")
    w = array(_WHO, "weight", weight, "numbers")
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        raise ValueError(f"{_WHO}: weight must be finite numbers, not below zero, got {shown(w)}")
    return SumOfSquares(names, own, w)


@some_per_model
def _observation(model: Any, what: tuple[Any, ...]) -> Observation:
    """Return the observation of a model, made once."""
    return Observation(model, what)


def _target(term: SumOfSquares, t: np.ndarray, size: int) -> np.ndarray:
    """Return the targets at times, (n, size)."""
    if not callable(term.target):
        return np.broadcast_to(term.target, (len(t), size))
    rows = [called(f"{_WHO}: target", term.target, float(x)) for x in t]
    return np.broadcast_to(np.asarray(rows, float).reshape(len(t), -1), (len(t), size))


def observed_term(
    term: SumOfSquares | str, here: Any, word: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a term at the instants of a history (n,), and its derivatives.

    By their unknowns (n, 3, n_u), q, v and (v', lam), and by time (n,).
    """
    model, t = here.model, np.asarray(here.t, float)
    what = (term,) if isinstance(term, str) else term.what
    try:
        y_of = _observation(model, what)
    except (KeyError, TypeError, ValueError) as error:
        reason = str(error.args[0] if error.args else error).removeprefix("observe: ")
        raise type(error)(f"Objective: {word}: {reason}") from None
    program, size = y_of.program, len(y_of)
    if program.second or program.rows:
        raise ValueError(
            f"Objective: {word}: {y_of.labels[0]!r} depends on accelerations or forces; give a "
            "function of the run, lambda run: ..., which has all of its quantities"
        )
    memory = here.before[MEMORY] if MEMORY in here.before else model.F[model.memory]
    program.F[model.memory] = memory
    y = program.over_time(t, here.q, here.v, here.a, here.lam)
    for k in y_of.angles:
        y[:, k] = np.unwrap(y[:, k])
    by_t = np.zeros(len(t))
    if isinstance(term, str):
        if size != 1:
            raise ValueError(
                f"Objective: {word} must be one number, got {', '.join(y_of.labels)}; name a "
                "component, or take mbd.sum_of_squares"
            )
        value, seeds = y[:, 0], np.ones((len(t), 1))
    else:
        try:
            off = y - _target(term, t, size)
            w = np.broadcast_to(term.weight, (size,))
        except ValueError:
            raise ValueError(
                f"Objective: {word}: target and weight must be one number, or {size}, of "
                f"{', '.join(y_of.labels)}"
            ) from None
        value, seeds = off**2 @ w, 2.0 * w * off
        if callable(term.target):
            h = BEGIN_REACH * float(np.diff(t).max(initial=0.0) or 1.0)
            after, before = (_target(term, t + s, size) for s in (h, -h))
            by_t = -np.sum(seeds * (after - before), axis=1) / (2.0 * h)
    if not np.isfinite(value).all():
        bad = int(np.argmin(np.isfinite(value)))
        raise ValueError(
            f"Objective: {word} must be finite, got {value[bad]} at t = {t[bad]:.6g} s"
        )
    n_u, v = int(model.I[m.N_U]), model.numbering.v
    sizes = np.zeros((2, n_u))
    sizes[0, v] = model.units
    sizes[1, v] = np.maximum(float(np.abs(here.v).max(initial=0.0)), model.units)
    program.F[model.memory] = memory
    which, q, velocities = program.slopes_over_time(
        t, here.q, here.v, seeds, BEGIN_REACH * sizes, y_of.turning
    )
    z = np.zeros((len(t), INSTANT_SIZE, n_u))
    z[:, DQ, which], z[:, DV, which] = q, velocities
    return value, z, by_t
