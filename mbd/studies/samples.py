"""Members of a study: values of its parameters, as a grid, a list, or a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from mbd.base.checked import mapping, one_of, shown, whole


@dataclass(frozen=True)
class Members:
    """Values of parameters, member by member.

    Attributes
    ----------
    names : tuple of str
    rows : list of tuples
        Values of the parameters of each member.
    axes : dict, optional
        Of a grid the values of each parameter; members then are numbered with the last one fastest.
    """

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    axes: dict[str, list[Any]] | None = None

    @property
    def dimensions(self) -> dict[str, int]:
        """Dimensions of results over members, with their sizes."""
        axes = self.axes
        return {"member": len(self.rows)} if axes is None else {k: len(x) for k, x in axes.items()}

    def column(self, name: str) -> np.ndarray:
        """Return the values of one parameter, (n,), objects where they are no numbers."""
        return labels([row[self.names.index(name)] for row in self.rows])


def labels(values: Sequence[Any]) -> np.ndarray:
    """Return values as an array of one axis; what is no number or text stays an object."""
    if all(issubclass(x, int | float | str | np.number) for x in set(map(type, values))):
        return np.array(values)
    array = np.empty(len(values), object)
    array[:] = [x if np.isscalar(x) else str(x) for x in values]
    return array


def sample(
    distributions: Mapping[str, Any],
    n: int,
    *,
    method: Literal["sobol", "latin", "random", "saltelli"] = "sobol",
    seed: int | None = 0,
) -> Members:
    """Return a sample of parameters for ``mbd.study``.

    Parameters
    ----------
    distributions : dict
        By name of the parameter ``(low, high)``, between which all values are equally likely, or a
        distribution of ``scipy.stats``, such as ``scipy.stats.norm(1.0, 0.1)``.
    n : int
        Number of members; of "sobol" and "saltelli" best a power of two.
    method : {"sobol", "latin", "random", "saltelli"}
        A Sobol sequence and a Latin hypercube fill the space evenly (``scipy.stats.qmc``);
        "random" are independent draws (Monte Carlo); "saltelli" n times as many as there are
        parameters, and two: for ``mbd.sobol_indices``.
    seed : int, optional
        The same seed gives the same sample; None gives another one each time.

    Returns
    -------
    Members

    Examples
    --------
    >>> import mbd
    >>> members = mbd.sample({"rod.mass": (0.5, 1.5), "spring.stiffness": (10.0, 40.0)}, 8)
    >>> len(members.rows)
    8
    """
    from scipy.stats import qmc

    who = "sample"
    example = '{"rod.mass": (0.5, 1.5)}'
    ranges = mapping(who, "distributions", distributions, example)
    if not ranges:
        raise ValueError(f"{who}: distributions must have a parameter, such as {example}")
    whole(who, "n", n, 1)
    one_of(who, "method", method, ("sobol", "latin", "random", "saltelli"))
    if seed is not None:
        whole(who, "seed", seed, 0)
    size, rng = len(ranges) * (1 + (method == "saltelli")), np.random.default_rng(seed)
    if method in ("sobol", "saltelli"):
        points = qmc.Sobol(size, rng=rng).random_base2(int(np.ceil(np.log2(n))))[:n]
        points = np.clip(points, 2.0**-40, 1.0 - 2.0**-40)  # where distributions have no end
    else:
        points = (qmc.LatinHypercube(size, rng=rng).random(n) if method == "latin"
                  else rng.random((n, size)))  # fmt: skip
    if method == "saltelli":  # A, B, and A with one column of B
        one, two = np.split(points, 2, axis=1)
        mixed = [np.where(np.arange(len(ranges)) == i, two, one) for i in range(len(ranges))]
        points = np.concatenate([one, two, *mixed])
    columns = [
        _spread(who, str(k), x, u) for (k, x), u in zip(ranges.items(), points.T, strict=True)
    ]
    return Members(tuple(map(str, ranges)), list(zip(*columns, strict=True)))


def _spread(who: str, name: str, distribution: Any, u: np.ndarray) -> list[float]:
    """Return the values of a parameter at levels u of its distribution."""
    if callable(getattr(distribution, "ppf", None)):
        return [float(x) for x in distribution.ppf(u)]
    try:
        low, high = map(float, distribution)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(
            f"{who}: {name!r} must be (low, high) with low < high, or a distribution of "
            f"scipy.stats such as norm(1.0, 0.1), got {shown(distribution)}"
        )
    return [float(x) for x in low + (high - low) * u]


def members_of(who: str, parameters: Any) -> Members:
    """Return the members that an argument ``parameters`` stands for."""
    if isinstance(parameters, Members):
        return parameters
    if isinstance(parameters, Mapping) and parameters:
        axes = {str(k): _values(who, str(k), x) for k, x in parameters.items()}
        return Members(tuple(axes), list(product(*axes.values())), axes)
    if isinstance(parameters, list | tuple) and parameters:
        if all(isinstance(x, Mapping) for x in parameters):
            names = tuple(map(str, parameters[0]))
            for i, x in enumerate(parameters):
                if set(x) != set(names):
                    raise ValueError(
                        f"{who}: all members must have the parameters {', '.join(names)}, got "
                        f"{', '.join(map(str, x)) or 'none'} for member {i}"
                    )
            return Members(names, [tuple(x[k] for k in names) for x in parameters])
    raise TypeError(
        f'{who}: parameters must be a dict of values, {{"rod.mass": [1.0, 2.0]}}, whose grid is '
        "computed, a list of such dicts with one value each, or a mbd.sample(...), got "
        f"{shown(parameters)}"
    )


def _values(who: str, name: str, values: Any) -> list[Any]:
    """Return the values of one parameter of a grid."""
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
        raise ValueError(
            f"{who}: {name!r} must have a list of values, at least one, got {shown(values)}"
        )
    return [x.item() if isinstance(x, np.generic) else x for x in values]
