r"""Members of a study: values of its parameters, as a grid, a list, or a sample.

A grid and a sample are recipes: what member i is follows from them and i alone, so that workers
make their own, of 10 members or of :math:`10^7`. Of independent draws the generator is advanced to
the number that is asked for; a point of Sobol's sequence is the exclusive or of direction numbers
by the bits of the Gray code of i (Antonov and Saleev, USSR Comput. Maths. Math. Phys. 19, 1979);
strata of a Latin hypercube are permuted by Feistel networks (Luby and Rackoff, SIAM J. Comput. 17,
1988) over as many numbers or up to four times more, gone through until one of them is a stratum
(Black and Rogaway, CT-RSA 2002).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, Literal

import numpy as np

from mbd.base.checked import mapping, one_of, shown, whole

Row = tuple[Any, ...]
_PIECE = 1024  # rows that are drawn together: numbers of a distribution may depend on how many are
_BITS = 30  # of a point of Sobol's sequence
_ROUNDS = 4  # of a Feistel network
_HALF = np.uint64(32)


@dataclass(frozen=True)
class Listed:
    """Members one by one, the first of which has a number.

    Attributes
    ----------
    values : list of tuples
    start : int
    """

    values: list[Row]
    start: int = 0

    @property
    def number(self) -> int:
        """Number of members."""
        return len(self.values)

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the values of some members."""
        return self.values[first - self.start : first - self.start + count]

    def told(self, i: int) -> Any:
        """Return the values of parameter i."""
        return [row[i] for row in self.values]


@dataclass(frozen=True)
class Grid:
    """All combinations of values, the last parameter fastest.

    Attributes
    ----------
    axes : dict
        By parameter its values.
    """

    axes: dict[str, list[Any]]

    @property
    def number(self) -> int:
        """Number of members."""
        return prod(map(len, self.axes.values()))

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the values of some members."""
        axes = list(self.axes.values())
        at = np.unravel_index(np.arange(first, first + count), list(map(len, axes)))
        columns = [[x[j] for j in i.tolist()] for x, i in zip(axes, at, strict=True)]
        return list(zip(*columns, strict=True))

    def told(self, i: int) -> Any:
        """Return the values of parameter i."""
        return list(self.axes.values())[i]


@dataclass(frozen=True)
class Drawn:
    """Members of a sample.

    Attributes
    ----------
    distributions : tuple
        Of each parameter.
    n : int
        Draws: members, or of Saltelli's scheme of one of its k + 2 blocks.
    method : str
    seed : int
    """

    distributions: tuple[Any, ...]
    n: int
    method: str
    seed: int

    @property
    def number(self) -> int:
        """Number of members."""
        return self.n * (len(self.distributions) + 2 if self.method == "saltelli" else 1)

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the values of some members."""
        done: list[Row] = []
        while len(done) < count:
            block, i = divmod(first + len(done), self.n)
            some = min(count - len(done), self.n - i)
            done += self._of_block(block, i, some)
        return done

    def _of_block(self, block: int, first: int, count: int) -> list[Row]:
        """Return some members of a block of Saltelli's: A, B, A with one column of B; or of all."""
        k, done, begin = len(self.distributions), list[Row](), first // _PIECE * _PIECE
        second = np.ones(k, bool) if block == 1 else np.arange(k) == block - 2
        for start in range(begin, first + count, _PIECE):
            u = self._points(start, min(_PIECE, self.n - start))
            u = np.where(second, u[:, -k:], u[:, :k]).T.copy()
            columns = [_spread(x, levels) for x, levels in zip(self.distributions, u, strict=True)]
            done += zip(*columns, strict=True)
        return done[first - begin : first - begin + count]

    def _points(self, first: int, count: int) -> np.ndarray:
        """Return points (count, .) of the unit cube, a piece."""
        size = len(self.distributions) * (1 + (self.method == "saltelli"))
        if self.method in ("sobol", "saltelli"):
            points = self._sobol(size, first)[:count]
            return np.clip(points, 2.0**-40, 1.0 - 2.0**-40)  # where distributions have no end
        bits = np.random.PCG64(self.seed)
        bits.advance(first * size)
        points = np.random.Generator(bits).random((count, size))
        if self.method == "latin":
            points = (_strata(size, self.seed, self.n, first + np.arange(count)) + points) / self.n
        return points

    def _sobol(self, size: int, first: int) -> np.ndarray:
        """Return a piece of a scrambled Sobol sequence, that of ``scipy.stats.qmc.Sobol``.

        It is the first piece but for the bits of the Gray code of its number.
        """
        points, numbers = _directions(size, self.seed, max(self.n, _PIECE).bit_length())
        gray, change = first ^ (first >> 1), np.zeros(size, np.int64)
        for bit, direction in enumerate(numbers):
            if gray >> bit & 1:
                change = change ^ direction
        return np.asarray((points ^ change) * 2.0**-_BITS)

    def told(self, i: int) -> Any:
        """Return the distribution of parameter i, and how it is drawn."""
        return self.distributions[i], self.method, self.seed


Recipe = Listed | Grid | Drawn  # what the members follow from; it goes to all workers


@cache
def _directions(size: int, seed: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first piece of a Sobol sequence, and its direction numbers (levels, size)."""
    from scipy.stats import qmc

    engine = qmc.Sobol(size, bits=_BITS, rng=np.random.default_rng(seed))
    points = np.asarray(engine.random(_PIECE) * 2.0**_BITS).astype(np.int64)
    numbers = np.zeros((levels, size), np.int64)
    for level in range(levels):  # the Gray code of 2^(k + 1) - 1 is the bit k
        i = 2 ** (level + 1) - 1
        if i >= _PIECE:
            engine.fast_forward(i - engine.num_generated)
        there = points[i] if i < _PIECE else engine.random(1)[0] * 2.0**_BITS
        numbers[level] = np.asarray(there).astype(np.int64) ^ points[0]
    return points, numbers


def _strata(size: int, seed: int, n: int, i: np.ndarray) -> np.ndarray:
    """Return where (len(i), size) permutations of n numbers, one for each column, carry some."""
    half = np.uint64(max(1, -(-(n - 1).bit_length() // 2)))
    mask = np.uint64((1 << int(half)) - 1)
    keys = np.random.SeedSequence([seed, n]).generate_state(_ROUNDS * size, np.uint64)
    x = np.tile(i.astype(np.uint64)[:, None], (1, size))
    out = np.ones(x.shape, bool)
    while out.any():
        left, right = x >> half, x & mask
        for key in keys.reshape(_ROUNDS, size):
            mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> _HALF)) * np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((mixed >> _HALF) & mask)
        x = np.where(out, left << half | right, x)
        out = x >= n
    return x.astype(float)


@dataclass(frozen=True)
class Members:
    """Values of parameters, member by member: ``members[i]``, ``len(members)``.

    Attributes
    ----------
    names : tuple of str
    recipe : Recipe
    """

    names: tuple[str, ...]
    recipe: Recipe

    def __len__(self) -> int:
        return self.recipe.number

    def __getitem__(self, i: int) -> Row:
        """Return the values of a member, in the order of the names."""
        at = i + len(self) if i < 0 else i
        if not 0 <= at < len(self):
            raise IndexError(f"members: there are {len(self)}, got number {i}")
        return self.recipe.rows(at, 1)[0]

    @cached_property
    def rows(self) -> list[Row]:
        """Values of the parameters of all members."""
        return self.recipe.rows(0, len(self))

    def lent(self, first: int, count: int) -> Recipe:
        """Return what a worker needs for some members, which have the same numbers there."""
        some = self.recipe
        return Listed(some.rows(first, count), first) if isinstance(some, Listed) else some

    def pieces(self) -> Iterator[list[Row]]:
        """Yield the values of some members after the other: all may be more than memory has."""
        for first in range(0, len(self), _PIECE):
            yield self.recipe.rows(first, min(_PIECE, len(self) - first))

    @property
    def axes(self) -> dict[str, list[Any]] | None:
        """Of a grid the values of each parameter."""
        return self.recipe.axes if isinstance(self.recipe, Grid) else None

    @property
    def dimensions(self) -> dict[str, int]:
        """Dimensions of results over members, with their sizes."""
        axes = self.axes
        return {"member": len(self)} if axes is None else {k: len(x) for k, x in axes.items()}

    def column(self, name: str) -> np.ndarray:
        """Return the values of one parameter, (n,), objects where they are no numbers."""
        i = self.names.index(name)
        return labels([row[i] for some in self.pieces() for row in some])


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
        The same seed gives the same sample, and each member by itself, whoever draws it; None gives
        another one each time.

    Returns
    -------
    Members

    Examples
    --------
    >>> import mbd
    >>> members = mbd.sample({"rod.mass": (0.5, 1.5), "spring.stiffness": (10.0, 40.0)}, 8)
    >>> len(members)
    8
    """
    who = "sample"
    example = '{"rod.mass": (0.5, 1.5)}'
    ranges = mapping(who, "distributions", distributions, example)
    if not ranges:
        raise ValueError(f"{who}: distributions must have a parameter, such as {example}")
    whole(who, "n", n, 1)
    one_of(who, "method", method, ("sobol", "latin", "random", "saltelli"))
    if seed is not None:
        whole(who, "seed", seed, 0)
    own_seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
    for name, x in ranges.items():
        _checked(who, str(name), x)
    return Members(
        tuple(map(str, ranges)), Drawn(tuple(ranges.values()), int(n), method, own_seed)
    )  # fmt: skip


def _checked(who: str, name: str, distribution: Any) -> None:
    """Refuse what is no distribution."""
    if callable(getattr(distribution, "ppf", None)):
        return
    try:
        low, high = map(float, distribution)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(
            f"{who}: {name!r} must be (low, high) with low < high, or a distribution of "
            f"scipy.stats such as norm(1.0, 0.1), got {shown(distribution)}"
        )


def _spread(distribution: Any, u: np.ndarray) -> list[float]:
    """Return the values of a parameter at levels u of its distribution."""
    if callable(getattr(distribution, "ppf", None)):
        values = np.asarray(distribution.ppf(u), float)
    else:
        low, high = map(float, distribution)
        values = low + (high - low) * u
    return values.tolist()  # type: ignore[no-any-return]


def members_of(who: str, parameters: Any) -> Members:
    """Return the members that an argument ``parameters`` stands for."""
    if isinstance(parameters, Members):
        return parameters
    if isinstance(parameters, Mapping) and parameters:
        axes = {str(k): _values(who, str(k), x) for k, x in parameters.items()}
        return Members(tuple(axes), Grid(axes))
    if isinstance(parameters, list | tuple) and parameters:
        if all(isinstance(x, Mapping) for x in parameters):
            names = tuple(map(str, parameters[0]))
            for i, x in enumerate(parameters):
                if set(x) != set(names):
                    raise ValueError(
                        f"{who}: all members must have the parameters {', '.join(names)}, got "
                        f"{', '.join(map(str, x)) or 'none'} for member {i}"
                    )
            return Members(names, Listed([tuple(x[k] for k in names) for x in parameters]))
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
