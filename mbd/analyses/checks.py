"""Reports of checks of tangents, parts and formulations: what is measured, how they fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH, fourth_order


@dataclass(frozen=True)
class PropertyError:
    """Distance of a property from what it must be, relative to the largest number in it."""

    what: str
    error: float

    def __str__(self) -> str:
        return f"{self.what}: {self.error:.1e}"


@dataclass(frozen=True)
class BlockError:
    """Largest error in one block, relative to the smaller of its row's and column's maximum."""

    block: str
    error: float
    row: str
    column: str
    matrix: float
    differences: float

    @property
    def what(self) -> str:
        """The block."""
        return self.block

    def __str__(self) -> str:
        return (
            f"{self.block:4s} {self.error:.1e} at ({self.row!r}, {self.column!r}): matrix "
            f"{self.matrix:.9g}, differences {self.differences:.9g}"
        )


@dataclass(frozen=True)
class CheckReport:
    """Errors that a check measured; prints as text, property by property.

    Attributes
    ----------
    who : str
        What was checked.
    properties : tuple of PropertyError or BlockError
        In the order in which they were measured; of a formulation none after those that failed.
    tolerance : float
    tangents : CheckReport, optional
        Of a part, those of its tangents.
    to_blame : str
        Functions or facts of a formulation that the first failure comes from, most likely first.
    kind : str
        Of the properties: "tangents" or "properties".
    """

    who: str
    properties: tuple[Any, ...]
    tolerance: float
    tangents: "CheckReport | None" = None
    to_blame: str = ""
    kind: str = "properties"

    @property
    def error(self) -> float:
        """The largest of all errors."""
        return max((x.error for x in self.properties), default=0.0)

    @property
    def failed(self) -> tuple[Any, ...]:
        """The properties that are beyond the tolerance."""
        return tuple(x for x in self.properties if not x.error <= self.tolerance)

    @property
    def ok(self) -> bool:
        """Whether all errors are within the tolerance."""
        return not self.failed and (self.tangents is None or self.tangents.ok)

    @property
    def blocks(self) -> tuple[Any, ...]:
        """The properties of tangents: blocks of the matrix."""
        return self.properties

    def __getitem__(self, what: str) -> Any:
        for x in self.properties:
            if x.what == what:
                return x
        there = ", ".join(x.what for x in self.properties)
        raise KeyError(f"no property {what!r}; there are {there}")

    def __str__(self) -> str:
        before = [] if self.tangents is None else [str(self.tangents)]
        verdict = "agree with" if not self.failed else "differ from"
        head = f"{self.kind} of {self.who} {verdict} what they must be"
        lines = [f"{head} (tolerance {self.tolerance:g})", *map(str, self.properties)]
        return "\n  ".join([*before, *lines])


class CheckError(ValueError):
    """A part or formulation without a property that each must have; ``.report`` holds all of them.

    Parameters
    ----------
    report : CheckReport
    fails : str
        What it fails, without the properties.
    advice : str
        What to do.
    meaning : mapping of str to str
        Of a property that failed, what is wrong then.
    """

    def __init__(
        self, report: CheckReport, fails: str, advice: str, meaning: Mapping[str, str] | None = None
    ) -> None:
        wrong = meaning or {}
        lines = [str(x) + (f", {wrong[x.what]}" if x.what in wrong else "") for x in report.failed]
        super().__init__("\n  ".join([f"{fails}:", *lines]) + f"\n{advice}")
        self.report = report


def relative(error: Any, size: Any) -> float:
    """Return the largest error over the largest number; infinite where one is NaN."""
    largest = max((float(np.abs(x).max()) for x in size if np.size(x)), default=0.0)
    worst = float(np.abs(error).max()) if np.size(error) else 0.0
    if not np.isfinite(worst):
        return np.inf
    return worst / largest if worst else 0.0


def rate_of(value: Callable[[float], Any]) -> Any:
    """Return the derivative of a value at zero by central differences of fourth order."""
    return fourth_order(lambda k: value(k * FOURTH)) / FOURTH
