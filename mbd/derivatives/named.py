r"""Derivatives of results by name.

No formula of a result is repeated: the result itself is evaluated on histories displaced along the
tangent, :math:`q \boxplus \epsilon\,\delta q,\; v + \epsilon\,\delta v, \dots`, with the model at
:math:`p + \epsilon`, and differenced by the stencil. It is exact to about 1e-12, of quantities of
parts outside the library too. Far away, by :math:`10^n` times the length of the model, round-off of
positions leaves about :math:`10^{-12 + 8n/9}` of it, and ``tangents`` stay exact to 1e-12.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from mbd.algebra.vec import clear, copy
from mbd.derivatives.parameters import Stencil
from mbd.history.history import History
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import stage
from mbd.model.frozen import FrozenModel
from mbd.model.model import Model
from mbd.model.workspace import Workspace

_FORCES = ("force", "moment", "multipliers", "load")


@dataclass(frozen=True, eq=False)
class Tangents:
    """Derivatives of all instants by a parameter, (n, n_v) and (n, n_lam); q in increments.

    ``t`` (n,) says how the instants move; ``events``, by name, those at which events happened.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    t: np.ndarray
    events: Mapping[str, np.ndarray] = field(default_factory=dict)


@kernel
def move_kernel(I: Any, F: Any, k: int) -> None:
    """Write q [+] d of I[k] poses to the places of q; I[k + 1] is the first, increments follow."""
    size = I[m.N_Q] + I[m.N_U]
    for e in range(I[k]):
        q = I[k + 1] + e * size
        copy(F, I[m.QN], q, I[m.N_Q])
        copy(F, I[m.D], q + I[m.N_Q], I[m.N_U])
        clear(F, I[m.V], I[m.N_U])
        stage(I, F, m.PLACE)
        copy(F, q, I[m.Q], I[m.N_Q])


def moved(model: FrozenModel, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return q [+] d of n poses, (n, n_q), by increments (n, n_v)."""
    increments = np.zeros((len(d), int(model.I[m.N_U])))
    increments[:, model.numbering.v] = d
    numbers = np.hstack([q, increments])
    work = Workspace(model, None, extra=numbers.size)
    work.F[model.size :] = numbers.ravel()
    move_kernel(m.entries(model.I, [len(q), model.size]), work.F, len(model.I))
    return np.array(work.F[model.size :].reshape(numbers.shape)[:, : model.n_q])


Values = Callable[[float], list[Any]]


class Named:
    """Things by name, at the values of a stencil: their numbers are differenced.

    What a ``Solution`` has by name its derivative has too: ``named["rod"].position``, ``.energy``.
    """

    __slots__ = ("_difference", "_refused", "_things", "events")

    def __init__(
        self, things: Values, difference: Callable[[Any], Any], refused: Mapping[str, str],
        events: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self._things, self._difference, self._refused = things, difference, dict(refused)
        self.events = events  # of a run: how the instants of each event move

    def _derived(self, values: Values) -> Any:
        first = values(1.0)[0]
        if isinstance(first, np.ndarray | float | int):
            return self._difference(lambda share: [np.array(values(share))])[0]
        if isinstance(first, Mapping):
            return {k: self._of(k, _each(values, lambda x, k=k: x[k])) for k in first}  # type: ignore[misc]
        if isinstance(first, tuple):
            return tuple(
                self._derived(_each(values, lambda x, i=i: x[i]))  # type: ignore[misc]
                for i in range(len(first))
            )
        if callable(first):
            return lambda *args, **options: self._derived(
                _each(values, lambda x: x(*args, **options))
            )
        return Named(values, self._difference, self._refused)

    def _of(self, name: str, values: Values) -> Any:
        """Return the derivatives of a part, with a reason where its forces are not unique."""
        if name not in self._refused:
            return self._derived(values)
        return Named(values, self._difference, {"": self._refused[name]})

    def __getitem__(self, name: str) -> Any:
        return self._of(name, _each(self._things, lambda x: x[name]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if "" in self._refused and name in _FORCES:
            raise ValueError(self._refused[""])
        return self._derived(_each(self._things, lambda x: getattr(x, name)))

    def __dir__(self) -> list[str]:
        return dir(self._things(1.0)[0])

    def of(self, function: Callable[[Any], Any], name: str = "") -> Any:
        """Return the derivative of a function of the run, which is called so, "hinge.force.x"."""
        for part, reason in self._refused.items():
            if name.startswith(tuple(f"{part}.{word}" for word in _FORCES)):
                raise ValueError(reason)
        return self._derived(_each(self._things, function))


def _each(values: Values, of: Callable[[Any], Any]) -> Values:
    """Return what a function makes of each of some things, once for each share of a step."""
    return cache(lambda share: [of(x) for x in values(share)])


def derivative_by_name(
    solution: Any, stencil: Stencil, tangent: Tangents, refused: Mapping[str, str]
) -> Named:
    """Return the derivative by name of a solution whose instants have a tangent."""
    model, z = solution.model, tangent
    speed = float(np.abs(np.asarray(solution.v)).max(initial=0.0)) or 1.0
    size = max(
        float(np.abs(z.q / model.units).max(initial=0.0)),
        float(np.abs(z.v).max(initial=0.0)) / speed,
    )
    # round-off of positions over the reach, and its eighth power, which the stencil leaves out
    far = max(1.0, float(np.abs(solution.q).max(initial=0.0)) / float(model.F[m.LENGTH]))
    reach = 0.5 * (np.finfo(float).eps * far) ** (1 / 9)
    farthest = max(map(abs, stencil.fractions.k)) * stencil.step * size
    near = stencil.nearer(reach / farthest) if farthest > reach else stencil

    def displaced(other: Any, e: float) -> History:
        return History(
            other, solution.t + e * z.t, moved(model, solution.q, e * z.q), solution.v + e * z.v,
            solution.a + e * z.a, solution.lam + e * z.lam, before=solution.before,
        )  # fmt: skip

    @cache
    def things(share: float) -> list[History]:
        of = near.nearer(share)
        return [displaced(x, k * of.step) for k, x in zip(of.fractions.k, of.models, strict=True)]

    return Named(
        things, lambda values: near.differentiated(values, near.fractions), refused, z.events
    )


def not_unique(model: Model) -> dict[str, str]:
    """Return the parts of which the equations leave multipliers open, with the reason."""
    if not model.redundant:
        return {}
    labels = set(model.report().not_unique)
    return {
        name: f"sensitivities: forces of {name!r} are not unique: rows of loops depend on "
        "others: how they share the load has no exact derivative; leave out redundant rows, "
        "such as by a Spherical in the place of a Revolute, or ask for motions"
        for name, rows in model.numbering.owners.items()
        if labels.intersection(model.numbering.lam_labels[rows])
    }
