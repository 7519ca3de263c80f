"""Results as an xarray data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import extra
from mbd.history.all_parts import in_pieces
from mbd.store.fields import coordinates, fields, happened, sizes, write
from mbd.store.run_record import of_model, of_run

if TYPE_CHECKING:
    import xarray as xr

    from mbd.history.trajectory import Trajectory


def arrays(solution: Trajectory) -> dict[str, np.ndarray]:
    """Return all labelled arrays in memory, filled piece by piece."""
    model, n = solution.model, len(solution.t)
    length = sizes(model) | {"time": n}
    values = {x.name: np.empty([length[d] for d in x.dims]) for x in fields(model)}
    first = 0
    for piece in in_pieces(solution, alike=True):
        write(values, first, piece)
        first += len(piece.trajectory.t)
    return values


def to_xarray(solution: Trajectory, notes: dict[str, Any] | None = None) -> xr.Dataset:
    """Return everything a solution knows by name as one data set."""
    extra("to_xarray", "labelled data need", "xarray", "results")
    import xarray as xr

    model = solution.model
    values = arrays(solution)
    variables = {x.name: (x.dims, values[x.name], x.attributes) for x in fields(model)}
    time = variables.pop("time")
    return xr.Dataset(
        variables,
        coords={"time": time, **coordinates(model), **happened(solution.events)},
        attrs=of_model(model, solution.method, notes or {}, options=solution.options)
        | of_run(solution.status, solution.message, solution.stats, solution.state),
    )
