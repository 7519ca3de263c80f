"""Results in files: netCDF (``netcdf.py``), a numpy archive, or a table of text.

The archive (``.npz``, read by ``numpy.load``, nothing pickled) has one array per quantity, time
first: ``t``, ``<body>.position``, ``<joint>.force``, ``energy.kinetic``, ... and

``about``
    a string of JSON: ``units`` and ``components`` by name of the array, ``version``, ``method``,
    ``run`` (the options of ``mbd.simulate``), ``status``, ``message``, ``stats``, ``events``
    (names, times), ``loads`` (units by name of the array), ``model`` (the model file, if it can be
    one) and what the caller adds as notes;
``q``, ``v``, ``a``, ``lam``, ``v.labels``, ``lam.labels``, ``last_alg``, ``last_memory``
    the numbers of the model in its own order, for going on from the last state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.atomic import replaced
from mbd.base.checked import file_path, shown, whole
from mbd.history.joint_coordinates import freedoms
from mbd.history.loads import all_loads
from mbd.history.units import of_gap
from mbd.runs.options import plain
from mbd.store.data_set import arrays
from mbd.store.netcdf import save_netcdf
from mbd.store.paraview import save_paraview
from mbd.store.run_record import checked_notes, file_text, method_text

if TYPE_CHECKING:
    from mbd.history.history import History

__all__ = ["Quantity", "quantities", "save", "save_csv", "save_npz"]

_XYZ = ("x", "y", "z")
_POINT = (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2"))
_TURN = (("angular_velocity", "rad/s"), ("angular_acceleration", "rad/s^2"))


@dataclass(frozen=True)
class Quantity:
    """One array over time.

    Attributes
    ----------
    name : str
    values : (n,) or (n, k) array
    unit : str
        SI, as in the docstrings; "-" for a pure number.
    components : tuple of str
        Names of the k columns; none for a scalar.
    """

    name: str
    values: np.ndarray
    unit: str
    components: tuple[str, ...] = ()


def quantities(solution: History) -> Iterator[Quantity]:
    """Yield everything a solution knows by name, in inertial axes."""
    model, a = solution.model, arrays(solution)
    system, numbering = model.system, model.numbering
    yield Quantity("t", a["time"], "s")
    for i, (name, body) in enumerate(system.bodies.items()):
        for what, unit in _POINT:
            yield Quantity(f"{name}.{what}", a[what][:, i], unit, _XYZ)
        if body.formulation.axes:
            yield Quantity(f"{name}.quaternion", a["quaternion"][:, i], "-", ("w", *_XYZ))
            for what, unit in _TURN:
                yield Quantity(f"{name}.{what}", a[what][:, i], unit, _XYZ)
        if not body.formulation.rigid:
            yield Quantity(f"{name}.scale", a["scale"][:, i], "-")
    for i, name in enumerate(system.joints):
        yield Quantity(f"{name}.force", a["force"][:, i], "N", _XYZ)
        yield Quantity(f"{name}.moment", a["moment"][:, i], "N m", _XYZ)
    for i, (name, free) in enumerate(freedoms(model).items()):
        yield Quantity(name, a["joint_coordinate"][:, i], free.unit)
        yield Quantity(f"{name}_rate", a["joint_rate"][:, i], f"{free.unit}/s")
    for i, (name, unit) in enumerate(all_loads(model).units.items()):
        yield Quantity(name, a["effort"][:, i], unit)
    for name, mine in numbering.owners.items():
        if mine.stop > mine.start:
            rows = tuple(x.removeprefix(f"{name}.") for x in numbering.lam_labels[mine])
            yield Quantity(f"{name}.multipliers", a["multipliers"][:, mine], "as the rows", rows)
    yield Quantity("energy.kinetic", a["kinetic_energy"], "J")
    yield Quantity("energy.potential", a["potential_energy"], "J")
    yield Quantity("energy.dissipated", a["dissipated_energy"], "J")
    yield Quantity("energy.work", a["work"], "J")
    yield Quantity("momentum.linear", a["linear_momentum"], "N s", _XYZ)
    yield Quantity("momentum.angular", a["angular_momentum"], "N m s", _XYZ)
    yield Quantity("gap", a["gap"], of_gap(model))


def save_npz(solution: History, path: str | Path, **notes: Any) -> Path:
    """Write the archive described at the top of this file; notes go to ``about``."""
    from mbd.base.public import VERSION

    path = Path(path)
    found: dict[str, np.ndarray] = {}
    units, components = {}, {}
    for x in quantities(solution):
        found[x.name], units[x.name], components[x.name] = x.values, x.unit, x.components
    numbering = solution.model.numbering
    found |= {k: getattr(solution, k) for k in ("q", "v", "a", "lam")}
    found["v.labels"] = np.array(numbering.v_labels, str)
    found["lam.labels"] = np.array(numbering.lam_labels, str)
    for name, values in (("last_alg", solution.state.alg), ("last_memory", solution.state.memory)):
        if values is not None:
            found[name] = values
    about = {
        "version": VERSION,
        "method": method_text(solution.method),
        "run": solution.options,
        "model": file_text(solution.model, path.parent, solution.method, solution.options),
        "status": solution.status,
        "message": solution.message,
        "stats": solution.stats,
        "off": list(solution.state.off),
        "last_step": solution.state.step,
        "events": [[x.name, x.t] for x in solution.events],
        "loads": all_loads(solution.model).units,
        "units": units,
        "components": components,
        **notes,
    }
    found["about"] = np.array(json.dumps(plain(about)))
    with replaced(path, "save") as file:
        np.savez(file, **found)  # type: ignore[arg-type]
    return path


def save_csv(solution: History, path: str | Path, every: int = 1) -> Path:
    """Write one row for every so many instants, columns ``name.component [unit]``, all digits."""
    path = Path(path)
    heads, columns = [], []
    for x in quantities(solution):
        names = [f"{x.name}.{c}" for c in x.components] or [x.name]
        heads += [f"{n} [{x.unit}]".replace(",", ";") for n in names]
        columns.append(x.values.reshape(len(solution.t), -1))
    table = np.hstack(columns)[::every]
    with replaced(path, "save") as file:
        np.savetxt(
            file, table, "%.17g", delimiter=",", header=",".join(heads), comments="",
            encoding="utf-8",
        )  # fmt: skip
    return path


def save(solution: History, path: str | Path, every: int = 1, **notes: Any) -> Path:
    """Write ``.nc``, ``.npz``, ``.csv`` or ``.pvd``, by the ending of the path."""
    ending = file_path("save", path).suffix
    checked_notes(notes)
    every = whole("save", "every", every, 1)
    if ending in (".csv", ".pvd"):
        return (save_csv if ending == ".csv" else save_paraview)(solution, path, every)
    if ending not in (".nc", ".npz"):
        raise ValueError(
            f"save: results are written as .nc, .npz, .csv or .pvd, got {shown(str(path))}"
        )
    if every != 1:
        raise ValueError(
            f"save: a {ending} file has all instants, got every={every}; keep fewer of them by "
            "mbd.simulate(..., every=...)"
        )
    return (save_netcdf if ending == ".nc" else save_npz)(solution, path, **notes)
