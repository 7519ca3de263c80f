"""Impacts of a run: a table with one line for each closing of a set-valued law with a jump."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.atomic import replaced
from mbd.base.checked import meant, shown
from mbd.base.html_tables import table
from mbd.base.read_only import read_only
from mbd.machine import buffer as m

_ROWS = ("normal", "slip 1", "slip 2")
#: head of each number of a line, and its unit
COLUMNS = (
    ("t", "s"), ("element", ""),
    *((f"{word}.{row}", unit)
      for word, unit in (("impulse", "N s"), ("before", "m/s"), ("after", "m/s")) for row in _ROWS),
    ("lost", "J"), ("restitution", "-"),
)  # fmt: skip
NO_IMPACTS = read_only(np.empty((0, m.IMPACT_SIZE)))
_SHOWN = 30  # lines of the text


class Impacts:
    r"""Impacts of a run, in the order of time: contacts and rigid stops that close with a jump.

    Whatever instants are kept, all impacts are here. Numbers of the normal and of two directions of
    the tangent plane are those of the multipliers; a stop has the first one only, of an angle in
    N m s and rad/s.

    Parameters
    ----------
    elements : sequence of str
        Names of the elements with set-valued laws: "floor.0" is the first ball of "floor".
    numbers : (n, 13) array, optional
        One line for each impact, as ``COLUMNS`` says; default none.

    Attributes
    ----------
    t : (n,) array [s]
        End of the step in which it happens.
    part : (n,) array of str
    ball : (n,) array of int
        Which ball, pair of balls, or limit of the part, from 0.
    impulse : (n, 3) array [N s]
        :math:`P_N, P_{T1}, P_{T2}` on the second body.
    before, after : (n, 3) arrays [m/s]
        :math:`u^-, u^+`, of the gap and along the plane: at the end of the step without the jump,
        and with it.
    lost : (n,) array [J]
        :math:`-P\cdot(u^- + u^+)/2`, what the impulse took. Of several impacts at one instant
        their sum counts: one may give what another takes.
    restitution : (n,) array [-]
        e of Newton's law that was used, smaller than that of the part where an impact with friction
        would have gained energy; of the velocity at the start of the step.
    """

    def __init__(self, elements: Any, numbers: np.ndarray | None = None) -> None:
        x = NO_IMPACTS if numbers is None else np.asarray(numbers, float)
        self.elements, self.numbers = tuple(elements), read_only(x.view())
        which = x[:, m.IMPACT_ELEMENT].astype(int)
        both = [self.elements[k].rpartition(".") for k in which]
        self.t = self.numbers[:, m.IMPACT_T]
        self.part = read_only(np.array([a for a, _, _ in both], str))
        self.ball = read_only(np.array([int(b) for _, _, b in both], int))
        self.impulse, self.before, self.after = (
            self.numbers[:, at : at + 3] for at in (m.IMPACT_P, m.IMPACT_BEFORE, m.IMPACT_AFTER)
        )
        self.lost, self.restitution = self.numbers[:, m.IMPACT_LOSS], self.numbers[:, m.IMPACT_E]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the same table in another process."""
        return Impacts, (self.elements, self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: str) -> "Impacts":
        """Return the impacts of a part."""
        there = dict.fromkeys(x.rpartition(".")[0] for x in self.elements)
        if part not in there:
            raise KeyError(
                f"impacts: {shown(part)} is no part with impacts{meant(str(part), there)}; there "
                f"are: {', '.join(there) or 'none'}"
            )
        return Impacts(self.elements, self.numbers[self.part == part])

    def _lines(self) -> list[tuple[Any, ...]]:
        """Return what text and page show of each."""
        sliding = np.linalg.norm(self.impulse[:, 1:], axis=1)
        names = [f"{a}.{b}" for a, b in zip(self.part, self.ball, strict=True)]
        speeds = self.before[:, 0], self.after[:, 0]
        numbers = np.column_stack(
            [self.impulse[:, 0], sliding, *speeds, self.lost, self.restitution]
        )
        return [(t, x, *y) for t, x, y in zip(self.t, names, numbers.tolist(), strict=True)]

    def lowered(self, system: Any) -> str:
        """Say of which parts e was smaller than theirs, once of each; "" if of none."""
        told = []
        for part in dict.fromkeys(self.part.tolist()):
            e, own = self.restitution[self.part == part], system.parts[part].restitution
            if n := int((e < own).sum()):
                told.append(f"{part!r} in {n} of {len(e)} impacts, down to {e.min():.3g}")
        if not told:
            return ""
        return (
            f"restitution was smaller than given for {', '.join(told)}: with friction these "
            "impacts would have gained energy"
        )

    def __repr__(self) -> str:
        return f"Impacts({len(self)}, {self.lost.sum():.6g} J lost)"

    def __str__(self) -> str:
        """Return the table as text; of long ones the first lines."""
        width = max([len(x) for x in self.elements], default=0)
        lines = [f"{self!r}"]
        if len(self):
            heads = " ".join(f"{x:>11}" for x in _HEADS[2:])
            lines.append(f"{_HEADS[0]:>12} {_HEADS[1]:<{width}} {heads}")
        lines += [
            f"{t:12.6f} {name:<{width}} " + " ".join(f"{x:11.4g}" for x in numbers)
            for t, name, *numbers in self._lines()[:_SHOWN]
        ]
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"... and {more} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        return table(repr(self), _HEADS, self._lines())

    def to_csv(self, path: str | Path) -> Path:
        """Write one line for each impact; heads are ``name [unit]``, all digits."""
        path, text = Path(path), io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([f"{name} [{unit}]" if unit else name for name, unit in COLUMNS])
        for line in self.numbers.tolist():
            name = self.elements[int(line[m.IMPACT_ELEMENT])]
            writer.writerow([name if k == m.IMPACT_ELEMENT else x for k, x in enumerate(line)])
        with replaced(path, "to_csv") as file:
            file.write(text.getvalue().encode())
        return path


_HEADS = (
    "t [s]", "part", "P_N [N s]", "P_T [N s]", "u_N- [m/s]", "u_N+ [m/s]", "lost [J]", "e [-]",
)  # fmt: skip
