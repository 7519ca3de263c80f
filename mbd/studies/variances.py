r"""``mbd.sobol_indices``: which parameters the variance of an output comes from.

Of a sample by Saltelli's scheme, two independent samples A and B, and of each parameter i the
members of A with its values in B, with outputs :math:`f_A, f_B, f_{AB_i}`:

.. math:: S_i V = \overline{f_B\,(f_{AB_i} - f_A)}, \qquad
          T_i V = \tfrac12\,\overline{(f_A - f_{AB_i})^2}

with the variance V of the output: the part of i alone, and that of i with all others (Saltelli et
al., Comput. Phys. Commun. 181, 2010, table 2; Jansen 1999). Intervals are those between quantiles
of indices of members that are drawn again (bootstrap).
"""

from typing import Any

import numpy as np

from mbd.base.checked import one_of, whole
from mbd.base.door import number
from mbd.studies.results import StudyTable, table_of_study

_WHO = "sobol_indices"


def sobol_indices(
    done: Any, output: str, *, confidence: float = 0.95, draws: int = 200, seed: int = 0
) -> Any:
    """Return the Sobol indices of an output of a study.

    Parameters
    ----------
    done : xarray.Dataset or StudyTable
        Of a study of ``mbd.sample(..., method="saltelli")``. Where a member failed, those of all
        parameters that go with it are left out.
    output : str
        Also one over time: indices are then those at each instant.
    confidence : float [-]
        Of the intervals.
    draws : int
        Of the bootstrap.
    seed : int

    Returns
    -------
    xarray.Dataset
        ``first`` (parameter, ...), the part of the variance that a parameter brings alone, and
        ``total``, with all that it does together with others; ``first interval`` and
        ``total interval`` (bound, parameter, ...); ``used``, how many of the n draws were good. NaN
        where the output does not vary. Without xarray a ``StudyTable``.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> push = system.add(mbd.PointForce("push", ball, (1.0, 0, 0)))
    >>> members = mbd.sample({"ball.mass": (1.0, 2.0)}, 64, method="saltelli")
    >>> done = mbd.study(system, members, t_end=0.1, step=0.01,
    ...                  outputs=[("ball.position.x", "final")])
    >>> bool(mbd.sobol_indices(done, "ball.position.x final")["first"][0] > 0.9)
    True
    """
    table = table_of_study(_WHO, done)
    one_of(_WHO, "output", output, table.outputs)
    confidence = number(_WHO, "confidence", confidence, "-", positive=True)
    if confidence >= 1.0:
        raise ValueError(f"{_WHO}: confidence must be below 1 [-], got {confidence:g}")
    whole(_WHO, "draws", draws, 1)
    columns = table.parameters
    k = len(columns)
    f = np.asarray(table.values[output], float)
    if table.dimensions["status"] != ("member",) or len(f) % (k + 2) or not _saltelli(columns):
        raise ValueError(
            f"{_WHO}: members must be those of mbd.sample(..., method='saltelli'), all of them in "
            "their order"
        )
    f = f.reshape(k + 2, -1, *f.shape[1:])
    good = np.isfinite(f).reshape(k + 2, f.shape[1], -1).all(axis=(0, 2))
    if good.sum() < 2:
        raise ValueError(f"{_WHO}: {output!r} has no two draws of which all members are good")
    f = f[:, good]
    rng = np.random.default_rng(whole(_WHO, "seed", seed, 0))
    n = f.shape[1]
    drawn = np.array([_indices(f[:, rng.integers(n, size=n)]) for _ in range(draws)])
    ends = (0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence)
    with np.errstate(invalid="ignore"):
        bounds = np.quantile(drawn, ends, axis=0)
    inner = table.dimensions[output][1:]
    values: dict[str, Any] = {"used": np.array(n)}
    dimensions: dict[str, tuple[str, ...]] = {"used": ()}
    for i, name in enumerate(("first", "total")):
        values[name], dimensions[name] = _indices(f)[i], ("parameter", *inner)
        values[f"{name} interval"] = bounds[:, i]
        dimensions[f"{name} interval"] = ("bound", "parameter", *inner)
    labels: dict[str, Any] = {x: table.coordinates[x] for x in inner if x in table.coordinates}
    labels |= {"parameter": np.array(list(columns)), "bound": np.array(["low", "high"])}
    return StudyTable(values, dimensions, labels, {}).labelled()


def _saltelli(columns: dict[str, np.ndarray]) -> bool:
    """Tell whether values of parameters are those of A, B, and A with one column of B."""
    blocks = [np.array_split(x, len(columns) + 2) for x in columns.values()]
    return all(
        np.array_equal(block[2 + j], block[int(i == j)])
        for i, block in enumerate(blocks)
        for j in range(len(blocks))
    )


def _indices(f: np.ndarray) -> np.ndarray:
    """Return first and total indices, (2, k, ...), of outputs (k + 2, n, ...)."""
    f = f - f[:2].mean(axis=(0, 1))
    one, two, mixed = f[0], f[1], f[2:]
    variance = f[:2].var(axis=(0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        first = (two * (mixed - one)).mean(axis=1) / variance
        total = 0.5 * ((one - mixed) ** 2).mean(axis=1) / variance
    return np.where(variance > 0.0, np.array([first, total]), np.nan)
