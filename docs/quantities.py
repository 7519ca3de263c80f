"""The table of quantities of the package as tables of the documentation."""

from mbd.history.quantities import table
from mbd.history.quantity import Owner, Quantity


def _name(x: Quantity) -> str:
    """Return how a quantity is asked for in Python."""
    if x.of is Owner.COORDINATE:
        return f"``.angle{x.flat}``, ``.displacement{x.flat}``, ..."
    if x.of is Owner.LOAD:
        return "``.load``, ``.tension``"
    if x.of in (Owner.SECTION, Owner.ELEMENT, Owner.BAR, Owner.MODE):
        return f"``{x.flat}``"
    if x.of in (Owner.TIME, Owner.TOTAL, Owner.POSITIONS, Owner.SPEEDS):
        flat = x.array if x.of in (Owner.POSITIONS, Owner.SPEEDS) else x.flat
        return f"``solution.{flat}``"
    return f"``.{x.name}``"


def _dimensions(x: Quantity) -> str:
    """Return the dimensions of the array in data sets."""
    dims = [d for d in ("time", x.of.dimension, *x.axes.dimensions) if d]
    return f"``{x.array}`` ({', '.join(dims)})" if x.array else ""


def page() -> str:
    """Return one table as reStructuredText, owner by owner."""
    lines = [".. list-table::", "    :header-rows: 1", "    :widths: 24 34 8 34", ""]
    rows = [("Attribute", "Variable of data sets and ``.nc``", "Unit", "What it is")]
    owner = None
    for x in table():
        if x.of not in (owner, Owner.TIME):
            rows.append((f"*of {x.of.value[2]}*", "", "", ""))
        owner = x.of
        unit = {"{}": "its own", "{}/s": "its own / s", "-": "1"}.get(x.unit, x.unit)
        frame = f"; {x.axes.frame}" if x.axes.frame else ""
        rows.append((_name(x), _dimensions(x), unit, f"{x.meaning}{frame}"))
    for row in rows:
        lines += [f"    {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"
