r"""``mbd.hvp``: the product of the second derivative of an objective with one direction.

.. math:: H d = \frac{d}{ds}\,\nabla J(p + s\,d) \approx
   \sum_{k=1}^2 w_k\,\frac{\nabla J(p + ksd) - \nabla J(p - ksd)}{s}, \qquad
   w = (\tfrac23, -\tfrac1{12})

Gradients are exact, so that one difference is left, along the direction, of order four: second
derivatives of blocks by coordinates, which a tangent of the adjoint would need, no element has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import number
from mbd.base.sensitivity_tolerances import SECOND_ORDER_STEP
from mbd.derivatives.gradient import gradient
from mbd.derivatives.objective import Objective
from mbd.derivatives.stencil import named, value_and_scale
from mbd.integration.method import Method
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.values import changed

_WEIGHTS = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))


def hvp(
    objective: Objective,
    system: System | Model,
    parameters: Any,
    direction: Mapping[Any, float] | Sequence[float],
    t_end: float | None = None,
    step: float | None = None,
    *,
    method: Method | None = None,
    state: State | None = None,
    project: bool | None = None,
    progress: bool | None = None,
    events: Any = (),
    every: int = 1,
) -> dict[str, float]:
    """Return the product of the second derivative of an objective with a direction.

    It costs four gradients, whatever the number of parameters. What a direction of one, and zeros,
    gives is a column of the second derivative. It is right to about 1e-8 of its largest entry in
    the parameters' own sizes.

    Parameters
    ----------
    objective, system, parameters, t_end, step, method, state, project, progress : optional
    events, every : optional
        As those of ``mbd.gradient`` [s], and of results without time where the objective has
        ``of=``. Not ``rtol``: other values of the parameters would take other steps.
    direction : dict, or numbers in the order of the parameters
        In the units of the parameters; what a dict leaves out is zero.

    Returns
    -------
    dict
        By the names of the parameters, in their order.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> reach = mbd.Objective(terminal=lambda last: last["ball"].position[2] ** 2)
    >>> h = mbd.hvp(reach, system, ["gravity.z"], [1.0], t_end=2.0, step=0.1)
    >>> round(h["gravity.z"], 6)  # 2 (t^2/2)^2
    8.0
    """
    model = model_of("hvp", system)
    if state is not None:
        state = state_of("hvp", model, state)
    names = named("hvp", model, parameters)
    along = _direction(names, direction)
    sizes = [value_and_scale("hvp", model, name) for name in names]
    far = max(abs(d) / scale for d, (_, scale) in zip(along, sizes, strict=True))
    if far == 0.0:
        return dict.fromkeys(names, 0.0)
    s, total = SECOND_ORDER_STEP / far, np.zeros(len(names))
    for k, w in _WEIGHTS:
        pairs = zip(names, sizes, along, strict=True)
        values = {name: value + k * s * d for name, (value, _), d in pairs if d}
        try:
            other = changed(model, values, measured=False)
        except ValueError as error:
            raise ValueError(
                f"hvp: the direction cannot be followed by {k * s:.3g} of itself: {error}"
            ) from None
        g = gradient(
            objective, other, names, t_end, step, method=method, state=state, project=project,
            progress=progress, events=events, every=every,
        )  # fmt: skip
        total += w / s * g.array
    return dict(zip(names, total.tolist(), strict=True))


def _direction(names: list[str], direction: Any) -> list[float]:
    """Return the direction in the order of the parameters."""
    if isinstance(direction, Mapping):
        by_name = {getattr(key, "name", key): x for key, x in direction.items()}
        strange = [x for x in by_name if x not in names]
        if strange:
            raise ValueError(
                f"hvp: direction has {shown(strange[0])}, which is none of the parameters "
                f"{', '.join(names)}"
            )
        values = [by_name.get(name, 0.0) for name in names]
    else:
        try:
            values = list(direction)
        except TypeError:
            values = []
        if len(values) != len(names) or isinstance(direction, str):
            raise ValueError(
                f"hvp: direction must be {len(names)} numbers, one for each parameter, or a dict "
                f"by their names, got {shown(direction)}"
            )
    pairs = zip(names, values, strict=True)
    return [number("hvp", f"direction of {name!r}", x, "-") for name, x in pairs]
