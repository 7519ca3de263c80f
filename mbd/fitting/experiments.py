"""Experiments: measured curves, and runs of a system that should show them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mbd.base.checked import floats, mapping, shown
from mbd.base.door import number, speaking_as
from mbd.base.identity import Identity
from mbd.derivatives.runs import KeptRuns
from mbd.derivatives.sensitivities import Sensitivities, sensitivities_over
from mbd.derivatives.variables import knows, variables_of
from mbd.drawing.curves import curves
from mbd.fitting.sensors import Curve, shown_by
from mbd.model.description import WHO, put_system
from mbd.model.model import Model
from mbd.model.system import model_of

_TUPLES = "(t, values) or (t, values, sigma)"
_FORM = '{"hinge.angle": (t, values, sigma)}'


@dataclass(frozen=True, eq=False)
class Experiment:
    """Measured curves of one run.

    Parameters
    ----------
    data : dict
        By name of the quantity, "rod.position" or "rod.position.z", ``(t, values)`` or ``(t,
        values, sigma)``: instants (n,) [s], values (n,) or (n, k) in the unit of the quantity, NaN
        where there is none, and their standard deviation, one or as many. Of a quantity of your
        own, ``{"reach": (function, t, values)}``, where ``function(run)`` returns one value or one
        row for each instant, ``run["rod"].position[:, 0]``.
    values : dict, optional
        Other arguments than those of the system, ``{"rod.velocity.x": 2.0}``; a ``Parameter``
        among them may be fitted too, to this experiment alone.
    system : System or Model, optional
        Another one than that of the fit.
    step : float, optional [s]
        Another one than that of the fit.
    state : State, optional
        Pose and velocities to start from; default those described.
    """

    data: Mapping[str, Any]
    values: Mapping[str, Any] | None = None
    system: Any = None
    step: float | None = None
    state: Any = None

    def __post_init__(self) -> None:
        who = type(self).__name__
        if not mapping(who, "data", self.data, _FORM):
            raise ValueError(f"{who}: data must have a quantity, such as {_FORM}, got none")
        mapping(who, "values", self.values, '{"rod.velocity.x": 2.0}')
        if self.step is not None:
            number(who, "step", self.step, "s", positive=True)


class Experiments:
    """All curves of a fit, and the model of each experiment.

    Parameters
    ----------
    who : str
    system, data, step : as those of ``mbd.fit``
    options : dict
        Of ``mbd.sensitivities``.
    """

    def __init__(
        self, who: str, system: Any, data: Any, step: Any, options: Mapping[str, Any]
    ) -> None:
        several = [data] if isinstance(data, Mapping | Experiment) else data
        if not isinstance(several, list | tuple) or not several:
            raise TypeError(
                f"{who}: data must be a dict such as {_FORM}, or a list of mbd.Experiment, got "
                f"{shown(data)}"
            )
        self.who, self.options = who, dict(options)
        self.of_sensors: list[str] = []  # names that are no arguments of parts
        self.absolute_sigma = True  # whether standard deviations are known, not their ratios
        if step is not None:
            step = number(who, "step", step, "s", positive=True)
        base = None if all(isinstance(x, Experiment) and x.system is not None for x in several) \
            else model_of(who, system)  # fmt: skip
        self.models: list[Model] = []
        self.starts: list[tuple[float | None, Any]] = []  # steps and states
        self.curves: list[list[Curve]] = []
        for i, item in enumerate(several):
            one = Experiment(item) if isinstance(item, Mapping) else item
            if not isinstance(one, Experiment):
                raise TypeError(f"{who}: data must be a list of mbd.Experiment, got {shown(one)}")
            model: Any = base if one.system is None else model_of(who, one.system)
            with speaking_as(who, WHO):
                self.models.append(model.with_values(one.values) if one.values else model)
            h = step if one.step is None else float(one.step)
            if h is None and "rtol" not in options:
                raise ValueError(f"{who}: step must be a number [s], got None")
            self.starts.append((h, one.state))
            label = f"{i}: " if len(several) > 1 else ""
            self.curves.append([_curve(who, label, k, x) for k, x in one.data.items()])

    def carry(self, into: Identity) -> None:
        """Add what residuals follow from, by name."""
        for i, (model, start, some) in enumerate(
            zip(self.models, self.starts, self.curves, strict=True)
        ):
            where = f" of experiment {i}" if len(self.models) > 1 else ""
            put_system(into, model.system, where)
            into.put(f"step and state{where}", start)
            for curve in some:
                into.put(f"data of {curve.label!r}", (curve.of, curve.t, curve.values))
        for name, option in self.options.items():
            into.put(f"option {name!r}", option)

    def fix(self, values: Mapping[Any, Any]) -> None:
        """Give arguments other values for good."""
        for name in values:
            if not any(knows(model, name) for model in self.models):
                with speaking_as(self.who, WHO):
                    self.models[0].with_values({name: values[name]})  # says what there is
        self.models = self.with_values(values)

    def with_values(self, values: Mapping[str, Any]) -> list[Model]:
        """Return the models with other values of those arguments that they have."""
        with speaking_as(self.who, WHO):
            return [x.with_values({k: values[k] for k in self._own(x, values)})
                    for x in self.models]  # fmt: skip

    def _own(self, model: Model, values: Iterable[str]) -> list[str]:
        """Return the names that are arguments of a model."""
        return [k for k in values if k not in self.of_sensors and knows(model, k)]

    def vary(self, names: Sequence[str]) -> None:
        """Let parameters be varied, each in the models that know it."""
        self.runs = list[KeptRuns]()
        for model, (step, state), some in zip(self.models, self.starts, self.curves, strict=True):
            t_end = max(float(curve.t.max()) for curve in some)
            if step is not None and "rtol" not in self.options:
                begin = model.state.t if state is None else state.t
                t_end = begin + step * max(1.0, np.ceil((t_end - begin) / step - 1e-6))
            options = self.options | ({} if state is None else {"state": state})
            variables = variables_of(self.who, [model], self._own(model, names))
            self.runs.append(KeptRuns(self.who, model, variables, t_end, step, options))

    def at(self, values: Mapping[str, float], held: bool = True) -> list[Sensitivities]:
        """Run all experiments with other values of parameters, and differentiate them by these."""
        own = ((x, np.array([values[k] for k in x.variables.names])) for x in self.runs)
        return [sensitivities_over(*x.at(at, held)) for x, at in own]

    def residuals(
        self, runs: list[Sensitivities], values_of: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what runs differ from what was measured (N,), and its derivatives (N, p).

        ``values_of`` are those of parameters and sensors.
        """
        values, jacobian = [], []
        for run, curve in ((x, c) for x, some in zip(runs, self.curves, strict=True) for c in some):
            there = curve.there
            slopes = partial(_slopes, run, curve)
            y, by = shown_by(self.who, run.solution, curve, values_of, slopes)
            values.append((y - curve.values)[there])
            zero = np.zeros_like(y)
            jacobian.append(np.column_stack([by.get(name, zero)[there] for name in values_of]))
        return np.concatenate(values), np.concatenate(jacobian)

    @property
    def all_curves(self) -> list[Curve]:
        """The curves of all experiments, in the order of residuals."""
        return [curve for some in self.curves for curve in some]

    @property
    def count(self) -> int:
        """Number of measured values, N."""
        return sum(int(curve.there.sum()) for curve in self.all_curves)

    def split(self, flat: np.ndarray) -> list[tuple[Curve, np.ndarray]]:
        """Return the curves, with the part that each has in the measured values (N,)."""
        ends = np.cumsum([curve.there.sum() for curve in self.all_curves])
        return list(zip(self.all_curves, np.split(flat, ends[:-1]), strict=True))

    def by_label(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Return what is of each measured value (N,) by curves, (n,) or (n, k)."""
        arrays = {}
        for curve, part in self.split(flat):
            array = np.full(curve.values.shape, np.nan)
            array[curve.there] = part
            arrays[curve.label] = array[:, 0] if array.shape[1] == 1 else array
        return arrays


def _slopes(run: Sensitivities, curve: Curve) -> dict[str, tuple[Any, np.ndarray]]:
    """Return the derivatives of the quantity of a curve and their instants, by parameters."""
    return {name: (run[name].of(curve.of, curve.name), run[name].t) for name in run}


def quantity(who: str, name: str) -> Callable[[Any], np.ndarray]:
    """Return the function of a run that gives a quantity by name."""

    def of(run: Any) -> np.ndarray:
        several = curves(run, name, who)
        if len(several) > 1:
            names = ", ".join(x.name for x in several)
            raise KeyError(f"{who}: {name!r} stands for several quantities; name one of {names}")
        return np.asarray(several[0].values, float)

    return of


def _curve(who: str, label: str, name: Any, data: Any) -> Curve:
    """Return a measured curve, checked."""
    what = f"data of {shown(name)}"
    if not isinstance(name, str) or not isinstance(data, tuple | list):
        raise TypeError(f"{who}: {what} must be {_TUPLES}, got {shown(data)}")
    own = callable(data[0]) if len(data) else False
    function, rest = (data[0], data[1:]) if own else (quantity(who, name), data)
    if len(rest) not in (2, 3):
        raise TypeError(f"{who}: {what} must be {_TUPLES}, got {shown(data)}")
    try:
        t, values, *more = (floats(x) for x in rest)
    except TypeError:
        raise TypeError(f"{who}: {what} must be numbers, got {shown(data)}") from None
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all():
        raise ValueError(f"{who}: {what} must have instants (n,), finite [s], got {shown(rest[0])}")
    if values.ndim not in (1, 2) or len(values) != len(t):
        raise ValueError(
            f"{who}: {what} must have one value or one row for each of {len(t)} instants, got "
            f"shape {values.shape}"
        )
    values = values.reshape(len(t), -1)
    there = np.isfinite(values)
    if np.isinf(values).any() or not there.any() or np.abs(values[there]).max() > 1e100:
        raise ValueError(
            f"{who}: {what} must be finite, below 1e100, or NaN where nothing was measured, got "
            f"{shown(rest[1])}"
        )
    sigma = None
    if more:
        sigma = more[0][:, None] if more[0].ndim == 1 else more[0]
        if np.broadcast_shapes(sigma.shape[-1:], values.shape[-1:]) != values.shape[-1:] or (
            sigma.ndim == 2 and len(sigma) not in (1, len(t))
        ):  # fmt: skip
            raise ValueError(
                f"{who}: sigma of {shown(name)} must be one number, or one for each value, got "
                f"shape {more[0].shape}"
            )
        sigma = np.broadcast_to(sigma, values.shape).copy()
        if not np.all((sigma[there] > 1e-100) & (sigma[there] < 1e100)):
            got = shown(rest[2])
            raise ValueError(f"{who}: sigma of {shown(name)} must be positive, got {got}")
    return Curve(label + name, name, "" if own else name, function, t, values, sigma)
