r"""``mbd.fit``: parameters from measured curves, by least squares with the exact Jacobian.

.. math:: \min_x \sum_i \Big(\frac{y_i(x) - \hat y_i}{\sigma_i}\Big)^2

The trust region of ``scipy.optimize.least_squares`` shrinks where there is no run. With residuals r
in standard deviations and their derivatives J, near the minimum

.. math:: C = s^2 (J^T J)^{-1}, \qquad s^2 = \frac{r^T r}{N - p}\ \text{or}\ 1,

the latter where the standard deviations of the measurements are those that were handed in. The
singular vectors of :math:`J\,\mathrm{diag}(|x|)/s` are combinations of relative changes of
parameters, the singular values the number of standard errors that such a change is worth.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import chdtrc, stdtrit

from mbd.base.checked import check_options, flag, floats, mapping, meant, shown, whole
from mbd.base.html_tables import facts, page, table
from mbd.base.identity import Identity
from mbd.base.tolerances import DERIVATIVE_EXACT, FIT_ARRIVED, FIT_PERFECT, FIT_SEEN, FIT_TOL
from mbd.derivatives.sensitivities import sensitivities
from mbd.derivatives.variables import Variables, variables_of
from mbd.fitting.evaluations import Evaluation, Evaluations
from mbd.fitting.experiments import Experiments, quantity
from mbd.fitting.sensors import Curve, Sensor
from mbd.runs.interrupts import listening

_WHO = "fit"
_ROUNDS = 8  # estimates of the noise of several curves


@dataclass(frozen=True)
class Direction:
    """A combination of relative changes of parameters.

    Attributes
    ----------
    shares : dict
        Of each parameter, by name; their squares have the sum one.
    error : float
        Relative standard error along it; infinite if nothing measured depends on it.
    """

    shares: dict[str, float]
    error: float

    def __str__(self) -> str:
        large = {k: x for k, x in self.shares.items() if abs(x) > 0.1}
        names = " and ".join([", ".join(list(large)[:-1]), list(large)[-1]]).removeprefix(" and ")
        along = " ".join(f"{x:+.2f} {k}" for k, x in large.items())
        if np.isinf(self.error):
            if len(large) == 1:
                return f"{names}: nothing that was measured depends on it"
            return f"{names} act only together: nothing measured changes along {along} (relative)"
        text = f"{names}: a standard error of {self.error:.2g} times the size"
        return text + (f" along {along} (relative)" if len(large) > 1 else "")


@dataclass(frozen=True, eq=False)
class Prediction:
    """A quantity of the fitted run, with a band in which its true curve is.

    Attributes
    ----------
    t : (n,) array [s]
    values, low, high : (n,) or (n, k) arrays
        The curve, and the ends of the interval of confidence at each instant.
    """

    t: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Fit:
    """Fitted parameters, ``fit["rod.mass"]``.

    Attributes
    ----------
    values : dict
        By name of the parameter, in its unit.
    success : bool
        Whether a minimum was reached; `message` says why it ended.
    status : int
        0 a minimum, 1 none, -1 interrupted.
    standard_errors : dict
        Of a parameter that is held by a bound NaN; infinite if nothing measured depends on it.
    covariance, correlation : (p, p) arrays
    residuals : dict
        By label of the curve, what was measured less the fitted curve, in the unit of the quantity.
    sigma : dict
        By label, standard deviations of the measurements, (n, k): as handed in, or estimated.
    chi2 : float [-]
        Sum of squares of the residuals in these standard deviations.
    degrees : int
        Measured values less free parameters.
    probability : float [-]
        That chi2 is so large by chance, if the model and the standard deviations are right; NaN
        where these were estimated.
    held : dict
        "low" or "high" by name of each parameter that a bound holds.
    failures : list of (dict, str)
        Values at which there was no run, and why; the fit went around them.
    evaluations : int
        Runs, with derivatives, that the fit took.
    """

    def __init__(
        self, experiments: Experiments, variables: Variables, best: Evaluation,
        weights: np.ndarray, held: dict[str, str], ended: tuple[int, str], runs: Evaluations,
    ) -> None:  # fmt: skip
        x, r, J = best.x, best.values, best.jacobian
        self._experiments = experiments
        self.values = variables.by_name(x)
        self.status, self.message = ended
        self.success = self.status == 0
        self.held, self.failures, self.evaluations = held, runs.failures, len(runs.used)
        absolute = self.absolute_sigma = experiments.absolute_sigma
        names = variables.names
        free = np.array([name not in held for name in names])
        self.chi2 = float(np.sum((weights * r) ** 2))
        self.degrees = len(r) - int(free.sum())
        s2 = 1.0 if absolute else self.chi2 / self.degrees if self.degrees > 0 else np.nan
        self._s = float(np.sqrt(s2))
        self._size = size = np.maximum(np.abs(x), variables.size)
        _, values, V = np.linalg.svd(weights[:, None] * J[:, free] * size[free], full_matrices=True)
        values = np.pad(values, (0, len(V) - len(values)))
        blind = values <= DERIVATIVE_EXACT * values.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(blind, np.inf, self._s / values)
        own = [name for name in names if name not in held]
        self.identifiability = [
            Direction(dict(zip(own, (v * np.sign(v[np.abs(v).argmax()])).tolist(), strict=True)),
                      float(e))
            for v, e in zip(V[::-1], errors[::-1], strict=True)
        ]  # fmt: skip
        C = np.full((len(x), len(x)), np.nan)
        self._spread, self._blind = np.zeros((2, len(V), len(x)))
        self._spread[:, free] = np.where(blind, 0.0, errors)[:, None] * V * size[free]
        self._blind[:, free] = np.where(blind[:, None], V, 0.0) * size[free]
        C[np.ix_(free, free)] = (self._spread.T @ self._spread)[np.ix_(free, free)]
        lost = np.zeros(len(x), bool)
        lost[free] = (np.abs(V[blind]) > np.sqrt(DERIVATIVE_EXACT)).any(axis=0)
        C[lost, lost] = np.inf
        self.covariance = C
        deviation = np.sqrt(np.diag(C))
        self.standard_errors = dict(zip(names, deviation.tolist(), strict=True))
        with np.errstate(invalid="ignore"):
            self.correlation = C / np.outer(deviation, deviation)
        self.probability = float("nan")
        if absolute and self.degrees > 0:
            self.probability = float(chdtrc(self.degrees, self.chi2))
        self.residuals = experiments.by_label(-r)
        self.sigma = experiments.by_label(1.0 / weights)

    def __getitem__(self, name: Any) -> float:
        return self.values[getattr(name, "name", name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def confidence(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return the interval of confidence of each parameter by itself.

        By Student's distribution; by the normal one where sigma is known.

        Parameters
        ----------
        level : float [-]
            Share of such intervals that have the true value in them.

        Returns
        -------
        dict of (low, high)
        """
        k = self._quantile("confidence", level)
        return {
            name: (x - k * e, x + k * e)
            for (name, x), e in zip(self.values.items(), self.standard_errors.values(), strict=True)
        }

    def prediction(self, name: str, *, experiment: int = 0, level: float = 0.95) -> Prediction:
        """Return a quantity of the fitted run, measured or not, with its band of confidence.

        Parameters
        ----------
        name : str
            "rod.position", "hinge.angle", ...
        experiment : int
        level : float [-]
        """
        k = self._quantile("prediction", level)
        if not isinstance(name, str):
            raise TypeError(f"prediction: name must be a quantity, got {shown(name)}")
        if not (isinstance(experiment, int) and 0 <= experiment < len(self.runs)):
            raise ValueError(
                f"prediction: experiment must be one of 0 to {len(self.runs) - 1}, got "
                f"{shown(experiment)}"
            )
        run, of = self.runs[experiment], quantity("prediction", name)
        y = of(run.solution)
        zero = np.zeros_like(y)
        J = np.array([run[p].of(of, name) if p in run else zero for p in self.values])
        half = k * np.linalg.norm(np.tensordot(self._spread, J, 1), axis=0)
        open_to = np.abs(np.tensordot(self._blind, J, 1)).max(axis=0)
        whole = np.tensordot(self._size, np.abs(J), 1).max(initial=0.0)
        half[open_to > np.sqrt(DERIVATIVE_EXACT) * whole] = np.inf
        if y.ndim > 1 and y.shape[1] == 1:
            y, half = y[:, 0], half[:, 0]
        return Prediction(run.solution.t, y, y - half, y + half)

    @cached_property
    def runs(self) -> list[Any]:
        """The fitted run of each experiment with its derivatives, as of ``mbd.sensitivities``."""
        return self._experiments.at(self.values, held=False)

    @property
    def solution(self) -> Any:
        """The fitted run of the first experiment."""
        return self.runs[0].solution

    @cached_property
    def models(self) -> list[Any]:
        """The model of each experiment with the fitted values."""
        return self._experiments.with_values(self.values)

    @property
    def model(self) -> Any:
        """The model of the first experiment with the fitted values."""
        return self.models[0]

    @property
    def curves(self) -> list[Curve]:
        """The measured curves, in the order of the residuals."""
        return self._experiments.all_curves

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader of the values should know."""
        lines = [] if self.success else [self.message]
        lines += [f"{k} is held by its {side} bound" for k, side in self.held.items()]
        lines += [str(x) for x in self.identifiability if not x.error <= FIT_SEEN]
        if self.probability < 1e-4:
            ratio = np.sqrt(self.chi2 / self.degrees)
            lines.append(
                f"residuals are {ratio:.3g} times sigma: the model does not show these curves, "
                "this is another minimum, or sigma is too small"
            )
        if self.failures:
            lines.append(f"at {len(self.failures)} values there was no run: {self.failures[0][1]}")
        return lines

    def _quantile(self, who: str, level: Any) -> float:
        """Return the half width of an interval in standard errors."""
        try:
            p = float(floats(level))
        except TypeError:
            p = np.nan
        if not 0.0 < p < 1.0:
            raise ValueError(f"{who}: level must be between 0 and 1, got {shown(level)}")
        degrees = np.inf if self.absolute_sigma else max(self.degrees, 0)
        return float(stdtrit(degrees, 0.5 + 0.5 * p))

    def _rows(self) -> list[tuple[str, float, float, float, float]]:
        intervals = self.confidence()
        return [(k, x, self.standard_errors[k], *intervals[k]) for k, x in self.values.items()]

    def __repr__(self) -> str:
        ended = "arrived" if self.success else "not arrived"
        lines = [
            f"Fit of {len(self)} parameters to {self._experiments.count} values, {ended} after "
            f"{self.evaluations} runs"
        ]
        wide = max(len(k) for k in self)
        lines += [
            f"  {k:<{wide}}  {x:.6g} +- {e:.2g}  ({low:.6g} to {high:.6g})"
            for k, x, e, low, high in self._rows()
        ]
        return "\n".join([*lines, *(f"  {x}" for x in self.remarks)])

    def _repr_html_(self) -> str:
        heads = ("parameter", "value", "standard error", "95 % from", "to")
        return page(
            repr(self).partition("\n")[0],
            table("parameters", heads, self._rows()),
            table("remarks", ("remark",), [(x,) for x in self.remarks]),
            facts(chi2=self.chi2, degrees_of_freedom=self.degrees, message=self.message),
        )


def fit(
    system: Any, data: Any, parameters: Any = None, step: float | None = None, *,
    bounds: Mapping[Any, tuple[float | None, float | None]] | None = None,
    fixed: Mapping[str, Any] | None = None, sensors: Mapping[str, Sensor] | None = None,
    absolute_sigma: bool = True, max_evaluations: int = 100, file: Any = None,
    progress: bool | None = None, **options: Any,
) -> Fit:  # fmt: skip
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
    sensors : dict, optional
        By measured quantity an ``mbd.Sensor``, whose offset, gain or lag are fitted too:
        ``{"hinge.angle": mbd.Sensor(offset=0.0)}`` has the parameter "hinge.angle.offset".
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
    curves = all_of.all_curves
    variables = variables_of(_WHO, all_of.models, parameters, _sensors(all_of, sensors))
    if variables.controls:
        raise ValueError(
            f"{_WHO}: {variables.controls[0].name!r} is a control, with many values; take "
            "mbd.optimize, with mbd.sum_of_squares as the objective"
        )
    variables = variables.bounded(_WHO, bounds)
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

    all_of.vary(variables.names)

    def evaluated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = variables.by_name(x)
        return all_of.residuals(all_of.at(values), values)

    def carry(into: Identity) -> None:
        all_of.carry(into)
        if all_of.of_sensors:
            into.put("sensors", list(all_of.of_sensors))

    with listening(), Evaluations(_WHO, names, evaluated, carry, file, progress) as runs:
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
            low, high = variables.low, variables.high
            good = [
                one for one in runs.kept.values()
                if not one.failure and ((low <= one.x) & (one.x <= high)).all()
            ]  # fmt: skip
            best = min(good, key=lambda x: np.linalg.norm(weights * x.values))
            status, message = -1, "interrupted by the user"
    if unsure:
        weights = _weights(all_of, best.values, len(names))
    held = _held(variables, best, weights)
    if status == 0 and not _arrived(all_of, best, weights, held, names):
        why = f"there is no run: {runs.last_failure()}" if runs.failures else message
        status, message = 1, f"another step would lead farther, but {why}"
    all_of.absolute_sigma = absolute_sigma and not unsure
    return Fit(all_of, variables, best, weights, held, (status, message), runs)


def _sensors(all_of: Experiments, sensors: Any) -> dict[str, tuple[float, float]]:
    """Return where the numbers of sensors start, and their sizes."""
    numbers = dict[str, tuple[float, float]]()
    curves = {curve.key: curve for curve in all_of.all_curves}
    example = '{"hinge.angle": mbd.Sensor(offset=0.0)}'
    for name, sensor in mapping(_WHO, "sensors", sensors, example).items():
        if not isinstance(sensor, Sensor):
            raise TypeError(f"{_WHO}: sensors must be {example}, got {shown(sensor)}")
        if name not in curves:
            raise ValueError(
                f"{_WHO}: sensors have {shown(name)}, which is not measured{meant(name, curves)}; "
                f"there are {', '.join(curves)}"
            )
        span = float(np.ptp(curves[name].t)) or 1.0
        sizes = {"offset": curves[name].spread, "gain": 1.0, "lag": 1e-2 * span}
        for word, start in sensor.starts.items():
            numbers[f"{name}.{word}"] = start, sizes[word]
    all_of.of_sensors = list(numbers)
    return numbers


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
    move = np.linalg.norm(J @ np.linalg.lstsq(J, r, rcond=DERIVATIVE_EXACT)[0])
    s = np.linalg.norm(r) / np.sqrt(max(1, len(r) - sum(free)))
    return bool(move <= FIT_ARRIVED * s)
