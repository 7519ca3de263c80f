"""``mbd.parallel_coordinates``: a study as lines across its parameters and outputs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import names, one_of
from mbd.drawing.parallel_axes import parallel_axes
from mbd.studies.results import table_of_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHO = "parallel_coordinates"


def parallel_coordinates(
    done: Any, outputs: Any = None, *, color: str | None = None, ax: Any = None
) -> "Figure":
    """Draw each member as a line across axes of its parameters and outputs.

    Parameters
    ----------
    done : xarray.Dataset or StudyTable
        Of a study; members that failed are gray and end at the last parameter. Of more than 5000
        members every so many are drawn.
    outputs : list of str, optional
        One number of a member each; default all that are.
    color : str, optional
        The parameter or output that colours lines; default the last output.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = table_of_study(_WHO, done)
    rank = len(table.dimensions["status"])
    single = [x for x in table.outputs if len(table.dimensions[x]) == rank]
    wanted = single if outputs is None else list(names(_WHO, "outputs", outputs))
    for name in wanted:
        one_of(_WHO, "outputs", name, single)
    columns = {k: np.asarray(x) for k, x in table.parameters.items()}
    columns |= {x: np.asarray(table.values[x], float).reshape(-1) for x in wanted}
    if len(columns) < 2:
        raise ValueError(
            f"{_WHO}: there must be two axes at least, of parameters and of outputs of one number, "
            "such as ('hinge.force.x', 'max')"
        )
    shade = one_of(_WHO, "color", [*columns][-1] if color is None else color, columns)
    return parallel_axes(_WHO, columns, shade, ax)
