r"""Results of a fit: values, how sure they are, what was not seen, curves with bands.

With residuals r in standard deviations and their derivatives J, near the minimum

.. math:: C = s^2 (J^T J)^{-1}, \qquad s^2 = \frac{r^T r}{N - p}\ \text{or}\ 1,

the latter where the standard deviations of the measurements are those that were handed in. The
singular vectors of :math:`J\,\mathrm{diag}(|x|)/s` are combinations of relative changes of
parameters, the singular values the number of standard errors that such a change is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtrc, stdtrit

from mbd.base.checked import floats, shown
from mbd.base.fit_tolerances import FIT_RANK, FIT_SEEN
from mbd.base.html_tables import facts, page, table
from mbd.fitting.evaluations import Evaluation, Evaluations
from mbd.fitting.experiments import Curve, Experiments, quantity
from mbd.fitting.variables import Variables


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
        weights: np.ndarray, held: dict[str, str], absolute: bool, ended: tuple[int, str],
        runs: Evaluations,
    ) -> None:  # fmt: skip
        x, r, J = best.x, best.values, best.jacobian
        self._experiments = experiments
        self.values = variables.by_name(x)
        self.status, self.message = ended
        self.success = self.status == 0
        self.held, self.failures, self.evaluations = held, runs.failures, len(runs.used)
        self.absolute_sigma = absolute
        names = variables.names
        free = np.array([name not in held for name in names])
        self.chi2 = float(np.sum((weights * r) ** 2))
        self.degrees = len(r) - int(free.sum())
        s2 = 1.0 if absolute else self.chi2 / self.degrees if self.degrees > 0 else np.nan
        self._s = float(np.sqrt(s2))
        self._size = size = np.maximum(np.abs(x), variables.size)
        _, values, V = np.linalg.svd(weights[:, None] * J[:, free] * size[free], full_matrices=True)
        values = np.pad(values, (0, len(V) - len(values)))
        blind = values <= FIT_RANK * values.max(initial=0.0)
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
        lost[free] = (np.abs(V[blind]) > np.sqrt(FIT_RANK)).any(axis=0)
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
        half[open_to > np.sqrt(FIT_RANK) * whole] = np.inf
        if y.ndim > 1 and y.shape[1] == 1:
            y, half = y[:, 0], half[:, 0]
        return Prediction(run.solution.t, y, y - half, y + half)

    @cached_property
    def runs(self) -> list[Any]:
        """The fitted run of each experiment with its derivatives, as of ``mbd.sensitivities``."""
        return self._experiments.at(self.values)

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
        """What a reader of the values should know."""
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
