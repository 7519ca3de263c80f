"""Floor 5. Results as an xarray data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbd.results.about import of_model, of_run
from mbd.results.fields import coordinates, fields

if TYPE_CHECKING:
    import xarray as xr

    from mbd.results.solution import Solution

__all__ = ["to_xarray"]


def to_xarray(solution: Solution, notes: dict[str, Any] | None = None) -> xr.Dataset:
    """Return everything a solution knows by name as one data set."""
    try:
        import xarray as xr
    except ImportError:
        raise ImportError(
            "to_xarray: labelled data need xarray, which is an extra; pip install 'mbd[results]'"
        ) from None
    model = solution.model
    arrays = {x.name: (x.dims, x.values(solution), x.attributes) for x in fields(model)}
    time = arrays.pop("time")
    return xr.Dataset(
        arrays,
        coords={"time": time, **coordinates(model)},
        attrs=of_model(model, solution.method, notes or {})
        | of_run(solution.status, solution.message, solution.stats, solution.state),
    )
