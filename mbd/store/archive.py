"""Results in files: a numpy archive, a table of text, a file for MATLAB (``netcdf.py``: netCDF).

The archive (``.npz``, read by ``numpy.load``, nothing pickled) has one array per quantity, time
first: ``t``, ``<body>.position``, ``<joint>.force``, ``energy.kinetic``, ... and

``about``
    a string of JSON: ``units`` and ``components`` by name of the array, ``version``, ``method``,
    ``run`` (the options of ``mbd.simulate``), ``status``, ``message``, ``stats``, ``events``
    (names, times), ``ends`` (of elements of beams: bodies, points, axes, stations), ``loads``
    (units by name of the array), ``model`` (the model file, if it can be one) and what the caller
    adds as notes;
``q``, ``v``, ``a``, ``lam``, ``v.labels``, ``lam.labels``, ``last_alg``, ``last_memory``, ...
    the numbers of the model in its own order, for going on from the last state.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.atomic import replaced
from mbd.base.matlab import structures
from mbd.history.columns import Series, labels, model_items
from mbd.history.history import History
from mbd.history.loads import units_of_loads
from mbd.model.model import Model
from mbd.runs.plan import plain
from mbd.store.contents import OfSolution, as_arrays
from mbd.store.fields import fields
from mbd.store.run_record import file_text, method_text


def quantities(solution: History) -> Iterator[Series]:
    """Yield everything a solution has by name, in inertial axes."""
    values = as_arrays(OfSolution(solution, fields(solution.model), {}))
    for name, x in solution.columns.items():
        yield Series.of(name, values[x.array][(slice(None), *x.place)], x)


def save_npz(solution: History, path: str | Path, **notes: Any) -> Path:
    """Write the archive described at the top of this file; notes go to ``about``."""
    from mbd.base.public import VERSION

    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    units, components = {}, {}
    for x in quantities(solution):
        arrays[x.name], units[x.name], components[x.name] = x.values, x.unit, x.components
    numbering = solution.model.numbering
    arrays |= {k: getattr(solution, k) for k in ("q", "v", "a", "lam")}
    arrays["v.labels"] = np.array(numbering.v_labels, str)
    arrays["lam.labels"] = np.array(numbering.lam_labels, str)
    for name in ("alg", "memory", "set_valued"):
        if (values := getattr(solution.state, name)) is not None:
            arrays[f"last_{name}"] = values
    if elements := solution.model.elements_set_valued:
        arrays["impacts"], notes["set_valued"] = solution.impacts.numbers, elements
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
        "threads": solution.model.threads,
        "events": [[x.name, x.t] for x in solution.events],
        "ends": _ends(solution.model),
        "loads": units_of_loads(solution.model),
        "units": units,
        "components": components,
        **notes,
    }
    arrays["about"] = np.array(json.dumps(plain(about)))
    with replaced(path, "save") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return path


def _ends(model: Model) -> dict[str, list[Any]]:
    """Return body, point, axes and station of both ends of the elements of each beam."""
    texts, items = labels(model), model_items(model)["element"]
    words = ("end_body", "end_point", "end_axes", "station")
    return {x.name: [np.asarray(texts[word][1])[x.place].tolist() for word in words] for x in items}


def save_matlab(solution: History, path: str | Path, every: int = 1) -> Path:
    """Write every so many instants for MATLAB: ``rod.position`` (n, 3), ``units.rod_position``."""
    from scipy.io import savemat

    series = {x.name: x for x in quantities(solution)}
    units = {f"units.{name.replace('.', '_')}": x.unit for name, x in series.items()}
    values = {name: x.values[::every] for name, x in series.items()} | units
    if solution.model.set_valued:
        values |= {f"impacts.{x}": getattr(solution.impacts, x) for x in _OF_IMPACTS}
    with replaced(Path(path), "save") as file:
        savemat(file, structures(values), do_compression=True, long_field_names=True)
    return Path(path)


_OF_IMPACTS = ("t", "part", "ball", "impulse", "before", "after", "lost", "restitution")


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
