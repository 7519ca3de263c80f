"""Units where they differ from column to column: coordinates, velocities, rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbd.machine import buffer as m

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.part import Body

MIXED = "mixed"
_STORED = {m.TRANSLATION: "m", m.ROTATION: "rad", m.DIRECTOR: "1"}
_SPEED = {m.TRANSLATION: "m/s", m.ROTATION: "rad/s", m.DIRECTOR: "1/s"}
# of a multiplier: energy per unit of the row, for rows on velocities power per unit
_MULTIPLIER = {"m": "N", "m/s": "N", "m^2": "N/m", "m^2/s": "N/m"}
_ORDER = ("m", "m^2", "rad", "-", "m/s", "m^2/s", "rad/s", "-/s")


def of_stored(body: Body) -> list[str]:
    """Return the units of the stored coordinates of a body."""
    formulation = body.formulation
    if formulation.n_q == formulation.n_v:  # velocities are their rates
        return [_STORED[k] for k in formulation.velocity_kinds]
    return ["m"] * 3 + ["1"] * (formulation.n_q - 3)  # a place, and numbers of the rotation


def of_speeds(v_kinds: Iterable[int]) -> list[str]:
    """Return the units of velocities."""
    return [_SPEED[int(k)] for k in v_kinds]


def of_rows(model: Model) -> list[str]:
    """Return the units of multipliers."""
    return [_MULTIPLIER.get(unit, "N m") for unit in model.numbering.lam_units]


def of_gap(model: Model) -> str:
    """Return the units that the largest violation of a row may have: "m or -"."""
    return " or ".join(sorted(set(model.numbering.lam_units), key=_ORDER.index)) or "-"
