r"""Controls: interpolated functions of time in a model, and derivatives by their values.

The residual of a step has :math:`u = \Phi(t_{n+1})\,c` of a load, a motor or a drive at its end.
With the adjoint y of the step

.. math:: \frac{dJ}{dc} = \sum_n \Phi(t_{n+1})^T\, y_n\cdot e, \qquad
          e = \hat r\bigr|_{u=1/2} - \hat r\bigr|_{u=-1/2},

which is exact, for equations are linear in loads. One product a step for each control, whatever the
number of its values. Motions have another one for the rate of u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.tolerances import BEGIN_REACH, START_DIFFERENCE
from mbd.derivatives import variations as at
from mbd.derivatives.restarts import Continuation, Restart
from mbd.formulations.families import family
from mbd.interactions.laws import Law
from mbd.interactions.tables_of_time import Table
from mbd.machine import buffer as m
from mbd.model.description import argument_now, argument_of
from mbd.model.values import declared
from mbd.parts.interpolated import Interpolated


@dataclass(frozen=True, eq=False)
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
    """

    name: str
    function: Interpolated
    part: str
    law: Law
    term: int

    @property
    def table(self) -> Table:
        """The table of the law."""
        assert self.law.table is not None
        return self.law.table

    def set(self, values: np.ndarray) -> None:
        """Let the function have other values, in all models that have this law."""
        self.table.numbers[self.table.places[self.term]] = self.function.coefficients(values)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Its value, of a motion its rate too: what equations of steps are linear in."""
        M = self.table.matrices[self.term]
        return tuple(Input(self, order) for order in (0, 1) if M[:, order].any())


@dataclass(frozen=True, eq=False)
class Input:
    """The value of a control (order 0), or its rate (1), of which equations are linear."""

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

    def program(self, model: Any, appendix: at.Appendix) -> int:
        """Write the tables of its variation, as of a parameter; return where they are."""
        I, part = model.I, self.control.part
        elements = declared(model, part).elements
        number = next(i for i, e in enumerate(elements) if e.law is not None)
        e, record = elements[number], model.records[part][number]
        names = {place: name for name, place in model.node_records.items()}
        bodies: dict[str, None] = {}
        for a in range(len(e.attachments)):
            end = int(I[record + m.E_ENDS + a])
            if I[end + m.ATT_N]:
                bodies[names[int(I[end + m.ATT_NODE])]] = None
        ranges, faces, n = list[int](), list[int](), e.kind.n_rows
        if n:
            ranges += [int(I[record + m.E_ROW]), n, 1]
        for name in bodies:
            node, formulation = model.node_records[name], model.nodes[name].formulation
            ranges += [int(I[node + m.NODE_U]), formulation.n_v, 0]
            faces += [int(I[node + m.NODE_Y]) + 12 * j for j in range(formulation.n_faces)]
            n += formulation.n_v
        points = list[int]()
        for law, weight in zip(self.laws, (1.0, -1.0), strict=True):
            points += self._point(model, appendix, (e, record), list(bodies), law, weight)
        level = appendix.table([2, appendix.table(points)])
        return appendix.table([
            1, level, len(ranges) // 3, appendix.table(ranges), len(faces), appendix.table(faces),
            appendix.put([0.0] * (4 * n)),
        ])  # fmt: skip

    def _point(
        self, model: Any, appendix: at.Appendix, of: tuple[Any, int], bodies: Sequence[str],
        law: Law, weight: float,
    ) -> list[int]:  # fmt: skip
        """Return the record of a point: its element with another law."""
        I, (e, record) = model.I, of
        head = e.kind.head(1, 0, len(e.memory))
        copy = list(I[record : record + head[m.T_SIZE]])
        copy[m.E_NUMBERS] = appendix.put([*e.numbers, *[0.0] * e.kind.room])
        copy[m.E_LAW] = appendix.address(law.address)
        for a in range(len(e.attachments)):
            end = list(I[copy[m.E_ENDS + a] :][: m.ATT_SIZE])
            end[m.ATT_W] = appendix.put(model.F[end[m.ATT_W] :][:4])
            copy[m.E_ENDS + a] = appendix.table(end)
        head[m.T_FIRST] = appendix.table(copy)
        own = appendix.table(head)
        forces, rates = (
            [] if x is None else [appendix.address(x.address), own]
            for x in (e.kind.forces, e.kind.rates)
        )
        nodes = list[int]()
        for name in bodies:
            kernel = family(model.nodes[name].formulation).residual
            node = list(I[model.node_records[name] :][: m.NODE_SIZE])
            one = appendix.table([1, len(appendix.I) + 2, *node])
            nodes += [appendix.address(kernel.address), one]
        return [
            appendix.put((weight, weight, 0.0)), 0,
            len(forces) // 2, appendix.table(forces), len(nodes) // 2, appendix.table(nodes),
            len(rates) // 2, appendix.table(rates),
        ]  # fmt: skip


def control_of(model: Any, name: str) -> Control | None:
    """Return the control that a name stands for; None where it is no interpolated function."""
    part, argument, component = argument_of(model.system, name)
    if not part:
        return None
    value = argument_now(model.system, part, argument)
    if component and isinstance(value, tuple | list) and component[0] in "xyz":
        place = "xyz".index(component[0])
        before = sum(isinstance(x, Interpolated) for x in value[:place])
        value = value[place] if len(component) == 1 and place < len(value) else None
    else:
        before = 0
    if not isinstance(value, Interpolated):
        return None
    law = next(e.law for e in declared(model, part).elements if e.law is not None)
    return Control(name, value, part, law, before)


def argument_with(model: Any, of: Control, values: Any) -> tuple[str, Any]:
    """Return the name of the argument of a control as a whole, and it with other values."""
    part, argument, component = argument_of(model.system, of.name)
    own = of.function.replaced(values)
    if not component:
        return of.name, own
    whole = list(argument_now(model.system, part, argument))
    whole["xyz".index(component[0])] = own
    return f"{part}.{argument}", tuple(whole)


def by_controls(
    controls: Sequence[Control], t: np.ndarray, by_inputs: np.ndarray
) -> list[np.ndarray]:
    """Return derivatives by values, of those by the inputs (N, n_inputs) at times t (N,)."""
    out, j = [], 0
    for x in controls:
        total = np.zeros(len(x.function.times))
        for order, column in zip((y.order for y in x.inputs), by_inputs.T[j:], strict=False):
            total += x.function.rows(t, order).T @ column
        j += len(x.inputs)
        out.append(total)
    return out


def by_controls_of_start(
    begin: Restart | Continuation, controls: Sequence[Control], values: Sequence[np.ndarray],
    w: np.ndarray,
) -> list[np.ndarray]:  # fmt: skip
    """Return derivatives of w.s (8, n_u) by the values, s what a segment begins with.

    That is as good as linear in the value at the start and that a step later.
    """
    out = [np.zeros(len(c)) for c in values]
    if isinstance(begin, Continuation):
        return out
    at = begin.here.first.t
    times = at + begin.h * np.array([0.0, START_DIFFERENCE, 1.0])
    for of, c, slope in zip(controls, values, out, strict=True):
        seen = sum(abs(of.function.rows(times, k)) for k in range(3)).sum(axis=0)
        e = BEGIN_REACH * (float(np.abs(c).max()) or 1.0)
        for i in np.flatnonzero(seen):
            sides = []
            for side in (e, -e):
                there = c.copy()
                there[i] += side
                of.set(there)
                sides.append(begin.again())
            slope[i] = np.vdot(w, begin.difference(*sides)) / (2.0 * e)
        of.set(c)
    return out
