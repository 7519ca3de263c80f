r"""Scaling force: the force on the scale of a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbd.base.checked import shown
from mbd.base.door import label, number
from mbd.base.recorded_call import Part
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.laws import number_law
from mbd.interactions.loads import SCALING
from mbd.parts.bodies import Body, Ground

__all__ = ["ScalingForce"]

_DIRECTORS = ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


class ScalingForce(Part):
    r"""A force on the scale s of a body, :math:`c_S = \int\varrho\cdot R^TdF` of what swells it.

    It has no resultant force or moment. About the centre of mass

    .. math:: \tfrac12 tr\Theta\,\ddot s - \omega^T\Theta\omega/s = c_S + \lambda .

    A free body breathes under it; of a rigid one it changes the reaction of the row
    :math:`|A|^2 = 1` only, :math:`\lambda = -\omega^T\Theta\omega - c_S`.

    Parameters
    ----------
    name : str
    body : RigidBody
        With the formulation ``scalable``, rigid or free.
    force : float [N m] or callable
        Constant, or a law of time ``f(t) -> number``, Python or numba-jitted; positive swells.
    """

    def __init__(self, name: str, body: Any, force: float | Callable[[float], float]) -> None:
        self.name = label(name, "ScalingForce")
        if not isinstance(body, Body) or isinstance(body, Ground):
            raise TypeError(f"{self.name}: must act on a body of the system, got {shown(body)}")
        if not body.formulation.scales:
            raise ValueError(
                f"{self.name}: ScalingForce needs a body with a scale, but {body.name!r} is "
                f"carried by {body.formulation.name!r}, which has none: the force would do no work "
                "and load no row; use formulation='scalable' or mbd.Scalable(...)"
            )
        self.body = body
        self.law = number_law(self.name, force) if callable(force) else None
        constant = 0.0 if callable(force) else force
        self.value = number(self.name, "force", constant, "N m")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body acted upon."""
        return (self.body,)

    def elements(self) -> list[Element]:
        """Return the force along the three directors."""
        ends = [Attachment(self.body.name, w) for w in _DIRECTORS]
        return [Element(SCALING, ends, (self.value,), law=self.law)]

    def __repr__(self) -> str:
        return f"ScalingForce({self.name!r}, {self.body.name!r})"
