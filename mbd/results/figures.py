"""Floor 5. New figures of matplotlib.

Where figures are shown in windows, ``plt.show()`` shows them, so pyplot knows them. Everywhere else
(scripts that write files, servers, notebooks, which show what a cell returns) it does not: it would
keep each one in memory until ``plt.close``, and a notebook would show it twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure"]

# backends without windows; all others, of whatever package, have some
_WITHOUT_WINDOWS = {
    "agg", "cairo", "pdf", "pgf", "ps", "svg", "template", "inline",
    "module://matplotlib_inline.backend_inline",
}  # fmt: skip


def new_figure(who: str, **options: Any) -> Figure:
    """Return an empty figure; `options` are those of ``matplotlib.figure.Figure``."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            f"{who}: drawing needs matplotlib, which is an extra; pip install 'mbd[plot]'"
        ) from None
    options = {"layout": "constrained"} | options
    # pyplot is there in either case: importing it is how notebooks learn to show figures
    if plt.get_backend().lower() in _WITHOUT_WINDOWS:
        return Figure(**options)
    return plt.figure(**options)
