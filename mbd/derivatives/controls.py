r"""Controls: interpolated functions of time in a model, and derivatives by their values.

The residual of a step has :math:`u = \Phi(t_{n+1})\,c` of a load, a motor or a drive at its end.
With the adjoint y of the step

.. math:: \frac{dJ}{dc} = \sum_n \Phi(t_{n+1})^T\, y_n\cdot e, \qquad
          e = \hat r\bigr|_{u=1/2} - \hat r\bigr|_{u=-1/2},

which is exact, for equations are linear in loads. One product a step for each control, whatever the
number of its values. Motions have two more, for the rates of u.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.door import speaking_as
from mbd.base.tolerances import BEGIN_REACH
from mbd.derivatives.restarts import Restart
from mbd.derivatives.variations import LinePoint, Touched, Variation
from mbd.interactions.laws import Law
from mbd.interactions.tables_of_time import TimeTable
from mbd.model.description import WHO, argument_now, argument_of
from mbd.model.values import changed, declared
from mbd.parts.interpolated import Interpolated


@dataclass(eq=False)
class Control:
    """An interpolated function of time in a model.

    Attributes
    ----------
    name : str
        "push.force.x", "motor.effort", "drive.velocity".
    function : Interpolated
        As it was described.
    part : str
    law : Law
        Of its element, with the table in which its coefficients stand.
    term : int
        Which term of the table it is.
    values : (n,) array
        Those that it has by now.
    """

    name: str
    function: Interpolated
    part: str
    law: Law
    term: int
    values: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.values = self.function.values

    @cached_property
    def labels(self) -> list[str]:
        """Names of its values, "motor.effort[0]"."""
        return [f"{self.name}[{i}]" for i in range(len(self.function.times))]

    @property
    def table(self) -> TimeTable:
        """The table of the law."""
        assert self.law.table is not None
        return self.law.table

    def set(self, values: np.ndarray) -> None:
        """Let the function have other values, in all models that have this law."""
        self.values = values
        self.table.numbers[self.table.places[self.term]] = self.function.coefficients(values)

    @cached_property
    def inputs(self) -> "tuple[Input, ...]":
        """Its value, of a motion its rates too: what equations are linear in."""
        M = self.table.matrices[self.term]
        return tuple(Input(self, order) for order in range(3) if M[:, order].any())

    @cached_property
    def moves(self) -> bool:
        """Whether it is one of a motion, that velocities follow at the start."""
        return len(self.inputs) > 1


@dataclass(frozen=True, eq=False)
class Input:
    """The value of a control (order 0), or a rate of it (1, 2), of which equations are linear."""

    control: Control
    order: int

    @cached_property
    def laws(self) -> tuple[Law, Law]:
        """Laws with which it is one half and minus one half."""
        of = self.control
        column = 0.5 * of.table.matrices[of.term][:, self.order]
        some = (of.table.constant(w * column) for w in (1.0, -1.0))
        one, other = (Law(of.name, of.law.function, of.law.arguments, of.law.write, x)
                      for x in some)  # fmt: skip
        return one, other

    def variation(self, model: Any) -> Variation:
        """Return the variation of the equations by it: weights one and minus one, of two laws."""
        part = self.control.part
        elements = declared(model, part).elements
        number = next(i for i, e in enumerate(elements) if e.law is not None)
        one = Touched(elements[number], part, number, model.records[part][number])
        points = [
            LinePoint(w, model.F.__getitem__, lambda _, at=law.address: at)  # type: ignore[misc]
            for law, w in zip(self.laws, (1.0, -1.0), strict=True)
        ]
        return Variation([one], points)


def control_of(model: Any, name: str) -> Control | None:
    """Return the control that a name stands for; None where it is no interpolated function."""
    part, argument, component = argument_of(model.system, name)
    if not part or len(component) > 1:
        return None
    whole = argument_now(model.system, part, argument)
    several = whole if component and isinstance(whole, tuple | list) else (whole,)
    place = "xyz".find(component[0]) if component else 0
    if not 0 <= place < len(several) or not isinstance(several[place], Interpolated):
        return None
    law = next(e.law for e in declared(model, part).elements if e.law is not None)
    before = sum(isinstance(x, Interpolated) for x in several[:place])
    return Control(name, several[place], part, law, before)


def sorted_out(owner: str, model: Any, parameters: Any) -> tuple[Any, list[Control]]:
    """Return the parameters that are no controls, and the controls."""
    if isinstance(parameters, str):
        parameters = [parameters]
    if not isinstance(parameters, list | tuple):
        return parameters, []
    controls, others = dict[str, Control](), list[Any]()
    for x in parameters:
        with speaking_as(owner, WHO):
            control = control_of(model, x) if isinstance(x, str) else None
        if control is None:
            others.append(x)
        else:
            controls[x] = control
    return others, list(controls.values())


def with_values(model: Any, values: Mapping[str, Any]) -> Any:
    """Return a model with other values of parameters, and of controls, (n,) each."""
    changes = dict[str, Any]()
    for name, x in values.items():
        of = control_of(model, name) if np.ndim(x) else None
        if of is None:
            changes[name] = x
            continue
        part, argument, component = argument_of(model.system, name)
        whole: Any = of.function.replaced(x)
        if component:
            several = list(argument_now(model.system, part, argument))
            several["xyz".index(component[0])] = whole
            whole = tuple(several)
        model = changed(model, {f"{part}.{argument}": whole})
    return model.with_values(changes) if changes else model


def by_controls(
    controls: Sequence[Control], t: np.ndarray, by_inputs: np.ndarray
) -> list[np.ndarray]:
    """Return derivatives by values, of those by the inputs (N, n_inputs) at times t (N,)."""
    out, j = [], 0
    for x in controls:
        total = np.zeros(len(x.function.times))
        for y in x.inputs:
            total += x.function.gathered(t, by_inputs[:, j], y.order)
            j += 1
        out.append(total)
    return out


def by_control_of_start(begin: Restart, of: Control, w: np.ndarray) -> np.ndarray:
    """Return derivatives of w.s (8, n_u) by the values, s what a segment begins with.

    That is as good as linear in the value at the start and that a step later.
    """
    c = of.values
    out, e = np.zeros(len(c)), BEGIN_REACH * (float(np.abs(c).max()) or 1.0)
    for i in np.unique(of.function.rows(begin.times)[0]):
        sides = []
        for side in (e, -e):
            of.set(c + side * np.eye(1, len(c), i)[0])
            sides.append(begin.again())
        out[i] = np.vdot(w, begin.difference(*sides)) / (2.0 * e)
    of.set(c)
    return out
