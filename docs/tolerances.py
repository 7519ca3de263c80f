"""The tolerances of the package as a table: name, value, what it is relative to, reason, guard."""

import ast
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from mbd.base import tolerances

GUARDS = Path(__file__).parents[1] / "tests" / "guards.toml"


class Entry(NamedTuple):
    """One number of the table; `without` is a value with which the test `guard` fails."""

    section: str
    name: str
    value: str
    unit: str
    reason: str
    without: str
    guard: str


def entries() -> list[Entry]:
    """Return the entries in their order; without and guard are empty where none is named."""
    guards = tomllib.loads(GUARDS.read_text(encoding="utf-8"))
    source = Path(str(tolerances.__file__)).read_text(encoding="utf-8")
    headings = {
        i: x[6:].rstrip("- ") for i, x in enumerate(source.splitlines()) if x[:6] == "# --- "
    }
    body = ast.parse(source).body
    rows = []
    for number, text in zip(body, [*body[1:], None], strict=True):
        if not isinstance(number, ast.Assign):
            continue
        assert isinstance(number.targets[0], ast.Name)
        name = number.targets[0].id
        assert isinstance(text, ast.Expr), f"{name} has no reason"
        assert isinstance(text.value, ast.Constant), name
        unit = re.match(r"\[(.*?)\] (.*)", " ".join(str(text.value.value).split()))
        assert unit, f"{name}: [unit, or relative to what] reason"
        without, test = guards.pop(name, ("", ""))
        section = headings[max(i for i in headings if i < number.lineno)]
        value = ast.unparse(number.value)
        rows.append(Entry(section, name, value, unit[1], unit[2], without, test))
    assert not guards, f"{GUARDS}: there are no tolerances {sorted(guards)}"
    return rows


def page() -> str:
    """Return the tables as reStructuredText."""
    lines, section = [], ""
    for x in entries():
        if x.section != section:
            section = x.section
            title = section[0].upper() + section[1:]
            lines += ["", title, "-" * len(title), "", ".. list-table::", "    :header-rows: 1"]
            lines += ["    :widths: 20 10 20 50", "", "    * - Name", "      - Value"]
            lines += ["      - of", "      - Reason; the test that fails without it"]
        reason = re.sub(r"`(\w+(?:\.\w+)*)`", r"``\1``", x.reason)
        for word in ("\\", "*", "|"):
            reason = reason.replace(word, "\\" + word)
        guard = f" ``{x.guard}`` fails with {x.without}." if x.guard else ""
        lines += [f"    * - ``{x.name}``", f"      - {x.value}", f"      - {x.unit}"]
        lines += [f"      - {reason}{guard}"]
    return "\n".join(lines) + "\n"
