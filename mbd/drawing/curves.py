"""Curves by name: a part, one of its quantities, a component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import shown
from mbd.history.bodies import StructureHistory
from mbd.history.columns import Column, Series, divided, parts, unknown
from mbd.history.quantities import PartHistory, table
from mbd.history.quantity import MATRIX, Owner, Quantity

if TYPE_CHECKING:
    from mbd.history.history import History
    from mbd.store.stored import Stored

_TOTALS = ("energy", "momentum")


def curves(solution: History | Stored, name: str, who: str = "plot") -> list[Series]:
    """Return what a name stands for: of a part its main quantities, or one of them.

    "drift" is the change of the total energy and the largest violation of a row.
    """
    if name == "gap":
        return [Series("gap", solution.gap, solution.columns["gap"].unit)]
    if name == "drift":
        total = solution.energy.total
        return [Series("change of energy", total - total[0], "J"), *curves(solution, "gap")]
    owners = [*parts(solution.columns), *_TOTALS]
    part, what = divided(name, owners)
    if part not in owners:
        raise unknown(who, name, part, [*owners, "gap", "drift"])
    of: Any = getattr(solution, part) if part in owners[-2:] else solution[part]
    there = _quantities(solution, part, of)
    quantity, _, component = what.partition(".")
    if quantity and quantity not in there:
        raise unknown(who, name, quantity, there, part)
    series = [
        Series.of(f"{part}.{x}", np.asarray(getattr(of, x)), there[x])
        for x in ([quantity] if quantity else _main(of, list(there)))
    ]
    return [_one(who, series[0], component, name)] if component else series


def panels_of(solution: History | Stored, names: Iterable[str], who: str) -> list[list[Series]]:
    """Return what names stand for, panel by panel: scalars of one name and unit share one."""
    panels = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{who}: names must be text such as 'rod', 'hinge.force' or 'energy', got "
                f"{shown(name)}"
            )
        group = curves(solution, name, who)
        scalars = all(c.values.ndim == 1 for c in group) and len({c.unit for c in group}) == 1
        panels += [group] if scalars else [[curve] for curve in group]
    return panels


def lines(panel: list[Series]) -> list[tuple[str, np.ndarray]]:
    """Return the lines of a panel, each (n,), by what they are called there."""
    named = []
    for curve in panel:
        columns = curve.values if curve.values.ndim > 1 else curve.values[:, None]
        for component, values in zip(curve.components or ("",), columns.T, strict=True):
            alone = len(panel) == 1 and component
            named.append((component if alone else f"{curve.name} {component}".strip(), values))
    return named


def _quantities(solution: History | Stored, part: str, of: Any) -> dict[str, Column]:
    """Return unit and components of everything that a part has."""
    if not isinstance(of, PartHistory):
        return {
            x.name: Column(x.unit, x.axes.components)
            for x in table(type(of))
            if x.of is not Owner.SET_VALUED or x.flat in solution.columns
        }
    columns = {x: solution.columns.get(f"{part}.{x}") for x in of.quantities}
    several = isinstance(of, StructureHistory)  # what nodes have is drawn node by node
    entries = {x.name: x for x in table(PartHistory) if x.axes is not MATRIX and not several}
    return {
        x: column or Column(entries[x].unit, entries[x].axes.components)
        for x, column in columns.items()
        if column or x in entries
    }


def _main(of: Any, names: list[str]) -> list[str]:
    """Return the quantities that are drawn of a part that is named alone."""
    if not isinstance(of, PartHistory):
        return names
    entries = {x: getattr(type(of), x, None) for x in names}
    own = [x for x in names if entries[x] is None and not x.endswith("_rate")]
    main = [x for x, entry in entries.items() if isinstance(entry, Quantity) and entry.main]
    return [*main, *own] or names


def _one(who: str, series: Series, component: str, name: str) -> Series:
    """Return one component of a quantity."""
    if component not in series.components:
        raise unknown(who, name, component, series.components, series.name)
    column = series.values[:, series.components.index(component)]
    return replace(series, values=column[:, None], components=(component,))
