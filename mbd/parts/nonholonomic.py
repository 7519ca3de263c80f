r"""Nonholonomic constraints on one body."""

from __future__ import annotations

from typing import Any

from mbd.base.door import label, number
from mbd.interactions.kind import Element
from mbd.interactions.velocity_rows import NON_TWISTING
from mbd.machine.buffer import VELOCITY_ROW
from mbd.parts.joint import acted_upon
from mbd.parts.part import Part


class NonTwisting(Part):
    r"""The body does not turn about its third director: :math:`\omega\cdot d_3 = 0`.

    As a row on velocities, :math:`(1-a)\,\dot d_1\cdot d_2 - a\,\dot d_2\cdot d_1 = 0`, for a body
    of any formulation. No position row says the same: the constraint is nonholonomic. Without load
    the kinetic energy and the momenta about d1 and d2 are conserved, the spatial angular momentum
    is not.

    Equation :eq:`nontwisting` of the theory page.

    Parameters
    ----------
    name : str
    body : RigidBody
    a : float
        In [0, 1]; on orthonormal directors it changes nothing.

    References
    ----------
    [Gebhardt 2020, (72), (80)]: see the page *From paper to code* of the documentation.
    """

    def __init__(self, name: str, body: Any, a: float = 0.5) -> None:
        self.name = label(name, "NonTwisting")
        self.body = acted_upon(self.name, body)
        if not body.formulation.axes:
            raise ValueError(f"{self.name}: NonTwisting needs axes, but {body.name!r} is a point")
        self.a = number(self.name, "a", a, "-", positive=False)
        if self.a > 1:
            raise ValueError(f"{self.name}: a must be in [0, 1] [-], got {self.a:g}")

    def elements(self) -> list[Element]:
        """Return the row on the rates of d1 and d2."""
        ends = [x.frame().end(i) for x in self.bodies for i in (0, 1)]
        return [
            Element(NON_TWISTING, ends, (self.a,), rows=("twist rate",), row_kinds=(VELOCITY_ROW,))
        ]
