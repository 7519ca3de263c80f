"""What can be asked for by name: the quantities of each part, units and components."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import shown
from mbd.history.joint_coordinates import freedoms
from mbd.history.loads import all_loads
from mbd.history.units import of_gap
from mbd.parts.actuators import Motor
from mbd.store.stored import StoredHistory

if TYPE_CHECKING:
    from mbd.history.history import History

__all__ = ["Curve", "curves"]

_XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class Curve:
    """One quantity over time.

    Attributes
    ----------
    name : str
        "rod.position".
    unit : str
    components : tuple of str
        Of the k columns; none for a scalar.
    values : (n,) or (n, k) array
    """

    name: str
    unit: str
    components: tuple[str, ...]
    values: np.ndarray

    @property
    def word(self) -> str:
        """What it is, without the part it belongs to."""
        return self.name.rpartition(".")[2].replace("_", " ")


_POINT = {
    "position": ("m", _XYZ),
    "velocity": ("m/s", _XYZ),
    "acceleration": ("m/s^2", _XYZ),
}
_BODY = _POINT | {
    "quaternion": ("-", ("w", *_XYZ)),
    "angular_velocity": ("rad/s", _XYZ),
    "angular_velocity_body": ("rad/s", _XYZ),
    "angular_acceleration": ("rad/s^2", _XYZ),
    "scale": ("-", ()),
}
_JOINT = {"force": ("N", _XYZ), "moment": ("N m", _XYZ)}
_ENERGIES = ("kinetic", "potential", "total", "dissipated", "work", "balance")
_TOTAL: dict[str, dict[str, tuple[str, Any]]] = {
    "energy": dict.fromkeys(_ENERGIES, ("J", ())),
    "momentum": {"linear": ("N s", _XYZ), "angular": ("N m s", _XYZ)},
}
# what is drawn of a part if it is named alone
_MAIN = {"point": ("position", "velocity"), "body": ("position", "velocity", "angular_velocity")}


def _parts(solution: History | StoredHistory) -> dict[str, str]:
    """Return the kind of every part with results: body, point, joint, rows or motor."""
    if isinstance(solution, StoredHistory):
        return solution.source.owners
    system = solution.model.system
    found = {n: "body" if b.formulation.axes else "point" for n, b in system.bodies.items()}
    found |= dict.fromkeys(system.joints, "joint")
    rows = solution.model.numbering.owners
    found |= {n: "rows" for n, s in rows.items() if n not in found and s.stop > s.start}
    return found | {n: "motor" for n, x in system.forces.items() if isinstance(x, Motor)}


def _known(solution: History | StoredHistory, name: str, kind: str) -> dict[str, tuple[str, Any]]:
    """Return the quantities of a part: unit and components (None: as many as there are)."""
    if kind in ("body", "point"):
        return dict(_BODY if kind == "body" else _POINT)
    found: dict[str, tuple[str, Any]] = dict(_JOINT) if kind == "joint" else {}
    for x, unit in _units(solution, name, "freedoms").items():
        found |= {x: (unit, ()), f"{x}_rate": (f"{unit}/s", ())}
    found |= {x: (unit, ()) for x, unit in _units(solution, name, "loads").items()}
    return found if kind == "motor" else found | {"multipliers": ("as the row", None)}


def _units(solution: History | StoredHistory, part: str, what: str) -> dict[str, str]:
    """Return units of the free coordinates of a joint, or of what a drive or rope reports."""
    if isinstance(solution, StoredHistory):
        units = getattr(solution.source, what)
    elif what == "loads":
        units = all_loads(solution.model).units
    else:
        units = {name: x.unit for name, x in freedoms(solution.model).items()}
    split = ((*name.rpartition("."), unit) for name, unit in units.items())
    return {word: unit for owner, _, word, unit in split if owner == part}


def curves(solution: History | StoredHistory, name: str) -> list[Curve]:
    """Return what a name stands for: of a part its main quantities, or one of them.

    "drift" is the change of the total energy and the largest violation of a row.
    """
    if name == "gap":
        if isinstance(solution, StoredHistory):
            return [Curve("gap", solution.source.gap_unit, (), solution.gap)]
        unit = of_gap(solution.model)
        return [Curve("gap", unit, (), solution.gap)]
    if name == "drift":
        total = solution.energy.total
        change = Curve("change of energy", "J", (), total - total[0])
        return [change, *curves(solution, "gap")]
    parts = _parts(solution)
    part, what = name, ""
    while part not in parts and part not in _TOTAL and "." in part:
        part, _, tail = part.rpartition(".")
        what = f"{tail}.{what}" if what else tail
    if part in parts:
        known = _known(solution, part, parts[part])
        of: Any = solution[part]
        chosen = _MAIN.get(parts[part]) or tuple(x for x in known if not x.endswith("_rate"))
        if len(chosen) > 1:
            chosen = tuple(x for x in chosen if x != "multipliers")
    elif part in _TOTAL:
        known = dict(_TOTAL[part])
        of, chosen = getattr(solution, part), tuple(known)
    else:
        raise _unknown(name, part, [*parts, *_TOTAL, "gap", "drift"])
    quantity, _, component = what.partition(".")
    if quantity and quantity not in known:
        raise _unknown(name, quantity, list(known), part)
    found = []
    for x in (quantity,) if quantity else chosen:
        unit, components = known[x]
        values = np.asarray(getattr(of, x))
        if components is None:
            components = _rows(solution, part, values.shape[1])
        found.append(Curve(f"{part}.{x}", unit, components, values))
    if component:
        return [_one(found[0], component, name)]
    return found


def _rows(solution: History | StoredHistory, part: str, n: int) -> tuple[str, ...]:
    """Return the names of the rows of a part."""
    if isinstance(solution, StoredHistory):
        return tuple(str(i) for i in range(n))
    numbering = solution.model.numbering
    labels = numbering.lam_labels[numbering.owners[part]]
    return tuple(x.removeprefix(f"{part}.") for x in labels)


def _one(curve: Curve, component: str, name: str) -> Curve:
    """Return one component of a curve."""
    if component not in curve.components:
        raise _unknown(name, component, list(curve.components), curve.name)
    column = curve.values[:, curve.components.index(component)]
    return Curve(curve.name, curve.unit, (component,), column[:, None])


def _unknown(name: str, word: str, known: list[str], part: str = "") -> KeyError:
    close = difflib.get_close_matches(word, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    whose = f"{part!r} has" if part else "there are"
    return KeyError(f"plot: nothing is called {shown(name)}{hint} {whose}: {', '.join(known[:30])}")
