"""The pattern of a matrix as a picture, bodies and joints along both axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.drawing.figure import checked_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.model.assembly import Assembly
    from mbd.model.frozen import FrozenModel

_PIXELS = 900  # larger matrices are drawn with several entries per pixel
_NAMES = 36  # at most so many block labels along an axis
_UNKNOWNS = 40  # up to so many unknowns each one is labelled

# (first unknown, length, block label, label of each unknown)
Group = tuple[int, int, str, tuple[str, ...]]


def spy(assembly: Assembly, which: str, step: float, ax: Any) -> Figure:
    """Draw a matrix, coloured by the magnitude of its entries; see ``Assembly.spy``.

    "B" and "turn" have velocities to the right and rows down, "Bt" the other way round; "S" has the
    rows after the velocities, both ways. Block separators are thin, the border between velocities
    and rows is thick.
    """
    ax = checked_axes(ax, "spy")
    matrix = assembly.iteration_matrix(step) if which == "S" else getattr(assembly, which)
    coo = matrix.tocoo()
    n_rows, n_columns = coo.shape
    if 0 in coo.shape:
        raise ValueError(f"spy: {which} is empty, the model has no rows")
    velocities, rows = _groups(assembly.model)
    if which == "S":
        n_v = assembly.model.n_v
        velocities += [(at + n_v, n, name, labels) for at, n, name, labels in rows]
    down = rows if which in ("B", "turn") else velocities
    right = rows if which == "Bt" else velocities
    if ax is None:
        size = float(np.clip(3.2 + 0.17 * max(coo.shape), 5.0, 10.0))
        flat = which in ("B", "turn")
        height = float(np.clip(size * n_rows / n_columns, 3.0, 10.0)) if flat else size
        ax = new_figure("spy", figsize=(size + 1.0, height)).subplots()
    _draw(ax, coo, down, right)
    label = f"{which}, {n_rows} x {n_columns}, {np.count_nonzero(coo.data)} entries"
    if which == "S":
        label += f", h = {step:g} s"
        if rows:
            ax.axhline(n_v - 0.5, color="black", linewidth=1.2)
            ax.axvline(n_v - 0.5, color="black", linewidth=1.2)
    ax.set_xlabel(label)
    return ax.figure  # type: ignore[no-any-return]


def _groups(model: FrozenModel) -> tuple[list[Group], list[Group]]:
    """Return the blocks of velocities by body, and of rows by joint, with their labels."""
    velocities: list[Group] = []
    at = 0
    for name, body in model.nodes.items():
        labels = tuple(body.formulation.velocities)
        velocities.append((at, len(labels), name, labels))
        at += len(labels)
    rows = [
        (s.start, s.stop - s.start, name,
         tuple(x.removeprefix(f"{name}.") for x in model.numbering.lam_labels[s]))
        for name, s in model.numbering.owners.items()
        if s.stop > s.start
    ]  # fmt: skip
    return velocities, rows


def _draw(ax: Any, coo: Any, down: list[Group], right: list[Group]) -> None:
    """Draw the entries of a matrix, a bar of their colours, and names along both axes."""
    from matplotlib.colors import LogNorm

    n_rows, n_columns = coo.shape
    values = np.abs(coo.data)
    shown = values > 0
    n, m = (min(s, _PIXELS) for s in coo.shape)
    picture = np.zeros((n, m))  # a pixel has the largest of its entries
    places = coo.row[shown] * n // n_rows, coo.col[shown] * m // n_columns
    np.maximum.at(picture, places, values[shown])
    low, high = (values[shown].min(), values[shown].max()) if shown.any() else (1.0, 1.0)
    image = ax.imshow(
        np.ma.masked_less_equal(picture, 0.0),
        norm=LogNorm(max(low, 1e-8 * high), max(high, low * 10), clip=True),
        cmap="viridis_r",
        interpolation="nearest",
        aspect="equal",
        extent=(-0.5, n_columns - 0.5, n_rows - 0.5, -0.5),
    )
    _axis(ax.yaxis, down, ax.axhline)
    _axis(ax.xaxis, right, ax.axvline)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", which="both", rotation=90)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, label="magnitude of the entry")


def _axis(axis: Any, groups: list[Group], line: Any) -> None:
    """Label one axis: blocks, and for small matrices each unknown; draw separators."""
    total = sum(n for _, n, _, _ in groups)
    each = total <= _UNKNOWNS
    stride = -(-len(groups) // _NAMES)
    named = groups[::stride]
    size = float(np.clip(200 / max(len(named), 1), 6.0, 9.0))
    axis.set_ticks([at + 0.5 * (n - 1) for at, n, _, _ in named], [g[2] for g in named])
    axis.set_tick_params(which="major", labelsize=size, length=0, pad=30 if each else 3)
    if each:
        axis.remove_overlapping_locs = False
        labels = [label for g in groups for label in g[3]]
        axis.set_ticks(range(total), labels, minor=True)
        axis.set_tick_params(which="minor", labelsize=6, length=2, pad=1)
    if len(groups) <= 2 * _NAMES:
        for at, _, _, _ in groups[1:]:
            line(at - 0.5, color="0.75", linewidth=0.6)
