"""Floor 5. Units where they differ from column to column: coordinates, velocities, rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbd.algebra import memory as m
from mbd.interactions.measures import SQUARE
from mbd.interactions.rows import row

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.bodies import Body

__all__ = ["MIXED", "of_rows", "of_speeds", "of_stored"]

MIXED = "mixed"
_STORED = {m.TRANSLATION: "m", m.ROTATION: "rad", m.DIRECTOR: "1"}
_SPEED = {m.TRANSLATION: "m/s", m.ROTATION: "rad/s", m.DIRECTOR: "1/s"}
# of a multiplier: energy per unit of the row, for rows on velocities power per unit
_ROW = {m.FORCE: "N", m.MOMENT: "N m", m.OWN: "N m", m.VELOCITY_ROW: "N or N m"}


def of_stored(body: Body) -> list[str]:
    """Return the units of the stored coordinates of a body."""
    formulation = body.formulation
    if formulation.n_q == formulation.n_v:  # velocities are their rates
        return [_STORED[k] for k in formulation.velocity_kinds]
    return ["m"] * 3 + ["1"] * (formulation.n_q - 3)  # a place, and numbers of the rotation


def of_speeds(kinds: Iterable[int]) -> list[str]:
    """Return the units of velocities."""
    return [_SPEED[int(k)] for k in kinds]


def of_rows(model: Model) -> list[str]:
    """Return the units of multipliers."""
    found = [_ROW[int(k)] for k in model.numbering.lam_kinds]
    for elements in model.numbering.elements.values():
        for element, at in elements:
            if element.kind is row(SQUARE):  # (|Q - P|^2 - L^2)/2 [m^2]
                found[at] = "N/m"
    return found
