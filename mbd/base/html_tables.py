"""Tables as text, and of HTML, which notebooks show where text would stand."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_MOST = 20  # rows


class TextColumn(NamedTuple):
    """A column: head, unit, format of a cell as text (">11.6g", or "" of words), and its cells."""

    head: str
    unit: str
    form: str
    cells: Iterable[Any]


def text(columns: Iterable[TextColumn]) -> str:
    """Return a table as text: heads, units, rows; words stand one space more apart."""
    lines = []
    for head, unit, form, cells in columns:
        width, gap = form.partition(".")[0], "" if form else " "
        some = [f"{head:{width}}", f"{unit:{width}}", *(f"{x:{form}}" for x in cells)]
        lines.append([gap + x for x in some])
    return "\n".join(" ".join(row).rstrip() for row in zip(*lines, strict=True))


def html(caption: str, columns: Sequence[TextColumn]) -> str:
    """Return the same table for notebooks, with a caption."""
    heads = [f"{x.head} [{x.unit}]" if x.unit else x.head for x in columns]
    return table(caption, heads, zip(*(x.cells for x in columns), strict=True))


def _cell(x: Any) -> str:
    from html import escape  # half a megabyte of names, for notebooks only

    return escape(f"{x:.6g}" if isinstance(x, float) else str(x))


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with a caption; long ones are cut. Without rows there is none."""
    rows = list(rows)
    if not rows:
        return ""
    head = "".join(f'<th scope="col" style="text-align:left">{_cell(x)}</th>' for x in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_cell(x)}</td>' for x in row) + "</tr>"
        for row in rows[:_MOST]
    )
    more = f" (the first {_MOST} of {len(rows)})" if len(rows) > _MOST else ""
    title = f'<caption style="text-align:left">{_cell(caption)}{more}</caption>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(**values: Any) -> str:
    """Return names and values side by side; those that are empty are left out."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{_cell(name.replace("_", " "))}</th>'
        f'<td style="text-align:left">{_cell(value)}</td></tr>'
        for name, value in values.items()
        if value is not None and value != ""
    )
    return f"<table><tbody>{rows}</tbody></table>"


def page(title: str, *pieces: str) -> str:
    """Return a heading with tables below."""
    return f"<div><strong>{_cell(title)}</strong>{''.join(pieces)}</div>"
