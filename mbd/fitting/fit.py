r"""``mbd.fit``: parameters from measured curves, by least squares with the exact Jacobian.

.. math:: \min_x \sum_i \Big(\frac{y_i(x) - \hat y_i}{\sigma_i}\Big)^2

The trust region of ``scipy.optimize.least_squares`` shrinks where there is no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from mbd.base.checked import check_options, flag, mapping, whole
from mbd.base.fit_tolerances import FIT_ARRIVED, FIT_PERFECT, FIT_RANK, FIT_TOL
from mbd.derivatives.sensitivities import sensitivities
from mbd.fitting.evaluations import Evaluation, Evaluations
from mbd.fitting.experiments import Experiments
from mbd.fitting.fit_result import Fit
from mbd.fitting.variables import Variables, variables_of
from mbd.runs.interrupts import listening

_WHO = "fit"
_ROUNDS = 8  # estimates of the noise of several curves


def fit(
    system: Any,
    data: Any,
    parameters: Any = None,
    step: float | None = None,
    *,
    bounds: Mapping[Any, tuple[float | None, float | None]] | None = None,
    fixed: Mapping[str, Any] | None = None,
    absolute_sigma: bool = True,
    max_evaluations: int = 100,
    file: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> Fit:
    """Fit parameters of a system to measured curves.

    Where a run fails with the values of a trial, smaller changes are tried. Ctrl-C ends the fit
    with the best values so far.

    Parameters
    ----------
    system : System or Model
    data : dict, Experiment, or list of these
        ``{"hinge.angle": (t, values, sigma)}``, see ``mbd.Experiment``: instants [s], values, and
        their standard deviation. Without sigma of any curve all values of a curve are of one
        standard deviation, which is estimated of each curve.
    parameters : list of str and Parameter, or dict, optional
        Names as of ``mbd.sensitivities``; in a dict with the values to start from. Default all
        ``Parameter`` of the systems, from their own values.
    step : float [s]
    bounds : dict, optional
        ``{"rod.mass": (0.1, None)}``.
    fixed : dict, optional
        Other values of arguments that are not fitted.
    absolute_sigma : bool
        Whether sigma is known, or its ratios only, and its size is seen in the residuals.
    max_evaluations : int
    file : path, optional
        Each evaluation is kept there; a fit that was killed goes on where it was when the same call
        is made again.
    progress : bool, optional
    **options
        Of ``mbd.sensitivities``, such as ``method``, ``project``.

    Returns
    -------
    Fit

    Examples
    --------
    >>> import mbd, numpy as np
    >>> system = mbd.System(gravity=(0, 0, -9.0))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> t = np.linspace(0, 1, 11)
    >>> fit = mbd.fit(system, {"ball.position.z": (t, -4.905 * t**2)}, ["gravity.z"], step=0.1)
    >>> round(fit["gravity.z"], 6)
    -9.81
    """
    check_options(fit, options, sensitivities, ("progress", "state"))
    flag(_WHO, "absolute_sigma", absolute_sigma)
    most = whole(_WHO, "max_evaluations", max_evaluations, 1)
    all_of = Experiments(_WHO, system, data, step, options)
    all_of.fix(mapping(_WHO, "fixed", fixed, '{"rod.mass": 2.0}'))
    variables = variables_of(_WHO, all_of.models, parameters, bounds)
    curves = all_of.all_curves
    unsure = [curve.label for curve in curves if curve.sigma is None]
    if unsure and len(unsure) < len(curves):
        raise ValueError(
            f"{_WHO}: sigma must be of all curves or of none, got none of {unsure[0]!r}"
        )
    names = variables.names
    if all_of.count < len(names):
        raise ValueError(
            f"{_WHO}: there must be as many measured values as parameters, {len(names)}, got "
            f"{all_of.count}"
        )

    def evaluated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return all_of.residuals(all_of.at(variables.by_name(x)), names)

    with listening(), Evaluations(_WHO, names, evaluated, all_of.carry, file, progress) as runs:
        best = runs.first(variables.start)
        weights = _weights(all_of, best.values)
        try:
            for _ in range(_ROUNDS):
                best, status, message = _minimum(runs, variables, best.x, weights, most)
                if not unsure or len(curves) == 1 or status:
                    break
                before, weights = weights, _weights(all_of, best.values, len(names))
                if np.all(np.abs(weights - before) <= FIT_ARRIVED * before):
                    break
        except KeyboardInterrupt:
            good = [x for x in runs.kept.values() if not x.failure and _inside(variables, x.x)]
            best = min(good, key=lambda x: np.linalg.norm(weights * x.values))
            status, message = -1, "interrupted by the user"
    if unsure:
        weights = _weights(all_of, best.values, len(names))
    held = _held(variables, best, weights)
    if status == 0 and not _arrived(all_of, best, weights, held, names):
        why = f"there is no run: {runs.last_failure()}" if runs.failures else message
        status, message = 1, f"another step would lead farther, but {why}"
    absolute = absolute_sigma and not unsure
    return Fit(all_of, variables, best, weights, held, absolute, (status, message), runs)


def _inside(variables: Variables, x: np.ndarray) -> bool:
    return bool(np.all((variables.low <= x) & (x <= variables.high)))


def _weights(all_of: Experiments, residuals: np.ndarray, p: int = 0) -> np.ndarray:
    """Return 1/sigma of all values: as handed in, or by the residuals of p fitted parameters.

    Before anything is fitted by the spread of curves.
    """
    weights, n = [], len(residuals)
    for curve, r in all_of.split(residuals):
        sigma: Any = curve.spread
        if curve.sigma is not None:
            sigma = curve.sigma[curve.there]
        elif p:
            size = np.sqrt(np.mean(r**2)) * np.sqrt(n / max(1, n - p))
            sigma = max(size, FIT_PERFECT * curve.spread)
        weights.append(np.ones(len(r)) / sigma)
    return np.concatenate(weights)


def _minimum(
    runs: Evaluations, variables: Variables, x: np.ndarray, weights: np.ndarray, most: int
) -> tuple[Evaluation, int, str]:
    """Return the evaluation at a minimum from x on, 0 or 1, and why it ended."""
    size = variables.size
    unit = float(np.linalg.norm(weights * runs.at(x).values)) or 1.0

    def at(z: np.ndarray) -> Evaluation:
        return runs.at(variables.values(z))

    def residual(z: np.ndarray) -> np.ndarray:
        one = at(z)
        return np.full(len(weights), np.nan) if one.failure else weights * one.values / unit

    def jacobian(z: np.ndarray) -> np.ndarray:
        return weights[:, None] * at(z).jacobian * size / unit

    end = least_squares(
        residual, x / size, jacobian, (variables.low / size, variables.high / size),
        xtol=np.sqrt(FIT_TOL), ftol=FIT_TOL, gtol=FIT_TOL, max_nfev=most,
    )  # fmt: skip
    message = end.message.rstrip(".").replace("`", "")
    if end.status == 0:
        message = f"{most} evaluations were not enough; give max_evaluations="
    return at(end.x), int(end.status == 0), message


def _held(variables: Variables, best: Evaluation, weights: np.ndarray) -> dict[str, str]:
    """Return the parameters that would move on if no bound held them."""
    J = weights[:, None] * best.jacobian
    slope = J.T @ (weights * best.values)
    norms = np.linalg.norm(J, axis=0)
    held = {}
    for i, name in enumerate(variables.names):
        near = FIT_ARRIVED * min(1.0 / norms[i] if norms[i] else 0.0, variables.size[i])
        if best.x[i] - variables.low[i] <= near and slope[i] > 0.0:
            held[name] = "low"
        elif variables.high[i] - best.x[i] <= near and slope[i] < 0.0:
            held[name] = "high"
    return held


def _arrived(
    all_of: Experiments, best: Evaluation, weights: np.ndarray, held: Mapping[str, str],
    names: list[str],
) -> bool:  # fmt: skip
    """Tell whether another step of Gauss and Newton would change little."""
    free = [name not in held for name in names]
    J, r = weights[:, None] * best.jacobian[:, free], weights * best.values
    measured = np.concatenate([x.values[x.there] for x in all_of.all_curves]) * weights
    if not any(free) or np.linalg.norm(r) <= FIT_PERFECT * np.linalg.norm(measured):
        return True
    J = J / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    move = np.linalg.norm(J @ np.linalg.lstsq(J, r, rcond=FIT_RANK)[0])
    s = np.linalg.norm(r) / np.sqrt(max(1, len(r) - sum(free)))
    return bool(move <= FIT_ARRIVED * s)
