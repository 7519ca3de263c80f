"""The bar that shows how far a run is."""

import sys
import time
import warnings
from typing import Any, Self

_NOTEBOOK = "ipykernel"
_DELAY = 1.0  # s, before which nobody asks how far a run is


def _bar() -> Any:
    """Return the bar of a notebook if this is one, else that of a terminal."""
    if _NOTEBOOK not in sys.modules:
        from tqdm import tqdm

        return tqdm
    with warnings.catch_warnings():  # of widgets that are not installed: then it is a line of text
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as widget
    return widget


class Progress:
    """A bar that appears when the run takes long, and leaves nothing behind.

    Parameters
    ----------
    total : float, optional
        None where nobody knows it: then it counts.
    unit : str
    wanted : bool, optional
        Whether it appears, and then at once; default on a terminal and in notebooks, if the run is
        long.
    """

    def __init__(self, total: float | None, unit: str, wanted: bool | None) -> None:
        self.total, self.unit = total, unit
        self.shown = sys.stderr.isatty() or _NOTEBOOK in sys.modules if wanted is None else wanted
        self.due = time.perf_counter() + (0.0 if wanted else _DELAY)
        self.done: float = 0
        self.bar: Any = None

    def update(self, more: float) -> None:
        """Go on by so much."""
        self.done += more
        if self.bar is not None:
            self.bar.update(more)
        elif self.shown and time.perf_counter() >= self.due:
            self.bar = _bar()(total=self.total, unit=self.unit, initial=self.done, leave=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()
