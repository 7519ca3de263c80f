"""Modes as a table, of text and of HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mbd.base.html_tables import table

# unit and format of each column
_COLUMNS = {
    "frequency": ("Hz", ">11.6g"),
    "damping": ("-", ">9.4f"),
    "eigenvalue": ("1/s", ">24"),
    "growth": ("1/s", ">12.5g"),
    "whirl": ("-", ">7.3f"),
}


@dataclass(frozen=True)
class ModeTable:
    """Rows of modes: numbers under the names of columns, then what each one is, under ``head``."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    head: str = "mode"

    @classmethod
    def of(cls, head: str, words: Iterable[str], **columns: Iterable[Any]) -> "ModeTable":
        """Return the table of columns by name, and words."""
        return cls(tuple(columns), list(zip(*columns.values(), words, strict=True)), head)

    def __str__(self) -> str:
        """Return lines of text, numbered."""
        units, forms = zip(*(_COLUMNS[x] for x in self.columns), strict=True)
        widths = [int(form[1:].partition(".")[0]) for form in forms]
        heads = [
            " ".join([f"{'':>3}", *(f"{x:>{w}}" for x, w in zip(some, widths, strict=True))])
            for some in (self.columns, units)
        ]
        lines = [
            " ".join([f"{i:>3}", *(f"{x:{form}}" for x, form in zip(row, forms, strict=False))])
            for i, row in enumerate(self.rows)
        ]
        words = [f"  {self.head}", "", *(f"  {row[-1]}" for row in self.rows)]
        return "\n".join(line + word for line, word in zip([*heads, *lines], words, strict=True))

    def html(self, caption: str) -> str:
        """Return a table of HTML."""
        heads = ["", *(f"{x} [{_COLUMNS[x][0]}]" for x in self.columns), self.head]
        return table(caption, heads, ((i, *row) for i, row in enumerate(self.rows)))
