r"""Files of HAWC2: main bodies of ``.htc`` files, sections of ``st`` files.

A body has its own axes, with z along it as a rule, and twist is a right-hand turn about z. A row of
an st file says a section in these axes, turned by the twist, about the line of ``c2_def``:

- 30 columns (FPM): K about the elastic centre, in axes turned by ``pitch``;
- 19 columns: E A, E I_x, E I_y about the elastic centre, k_x G A, k_y G A and G I_p about the shear
  centre, in axes turned by ``pitch``.

Radii of gyration are taken about the centre of mass, in axes turned by ``pitch``: those of the IEA
15 MW are so. Damping ``damping_posdef`` is a time for bending about x and y and for torsion.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbd.beams.curve import Path as Line
from mbd.files.wind.records import (
    PointInertia,
    Profile,
    Slender,
    WindFile,
    mass_rows,
    moved,
    planar_mass,
    shares,
    symmetric_of,
)
from mbd.files.wind.text import WordFile, reader

_COMMON = {"r": "m", "m": "kg/m", "x_cg": "m", "y_cg": "m", "ri_x": "m", "ri_y": "m"}
_FULL = _COMMON | {"pitch": "deg", "x_e": "m", "y_e": "m"} | {
    f"K{i}{j}": "N" for i in range(1, 7) for j in range(i, 7)
}  # fmt: skip
_PLAIN = _COMMON | {
    "x_sh": "m", "y_sh": "m", "E": "Pa", "G": "Pa", "I_x": "m^4", "I_y": "m^4", "I_p": "m^4",
    "k_x": "-", "k_y": "-", "A": "m^2", "pitch": "deg", "x_e": "m", "y_e": "m",
}  # fmt: skip
_POINT = {"x": "m", "y": "m", "z": "m", "twist": "deg"}
_SPELT = {"timoshenko_input": "timoschenko_input"}
_DEEPEST = 20  # files that continue in files
_LENGTHS = 1e-2  # of the length of a line; sections that end nearer end with it
_READ = ("name", "type", "nbodies", "node_distribution", "copy_main_body", "concentrated_mass",
         "damping_posdef", "damping_aniso", "timoschenko_input", "c2_def")  # fmt: skip


@reader
def read_hawc2(path: Path) -> WindFile:
    """Read the main bodies of a HAWC2 model (``.htc``), or the sections of an st file.

    Parameters
    ----------
    path : str or Path
        Files that it names are sought from its folder and those above, as HAWC2 starts in one of
        them.

    Returns
    -------
    WindFile
        Of a model its bodies by name, in their own axes, and ``masses`` on them; ``notes`` name the
        rest: orientations, constraints, wind, controllers. Of an st file one straight body without
        twist for each set and subset, "1.1".
    """
    file = WordFile(path, ";")
    if any(file.words(i)[0].lower() in ("begin", "continue_in_file") for i in file.filled(0)):
        return _model(path)
    table = _subsets(path)
    bodies = {}
    for (n, k), rows in table.items():
        length = rows.values[-1][0]
        points = np.array([(0.0, 0.0, 0.0), (0.0, 0.0, length)])
        straight = Profile(np.array((0.0, 1.0)), np.zeros(2), rows.where)
        bodies[f"{n}.{k}"] = _slender(rows, points, straight, np.zeros(6))
    return WindFile(bodies)


@dataclass(frozen=True)
class _Statement:
    """A line of an htc file, or a block with others inside."""

    words: tuple[str, ...]
    file: WordFile
    line: int
    inside: tuple["_Statement", ...] = ()

    @property
    def place(self) -> str:
        return f"{self.file.place(self.line)}: {' '.join(self.words[:2])}"

    def number(self, i: int, what: str, unit: str) -> float:
        word = self.words[i] if i < len(self.words) else ""
        return self.file.read(self.line, f"{self.words[0]}, {what},", word, unit)

    def all(self, name: str) -> list["_Statement"]:
        return [x for x in self.inside if x.words[0] == name]

    def one(self, name: str) -> "_Statement":
        if not (several := self.all(name)):
            raise ValueError(f"{self.place}: {name} is missing")
        return several[0]


def _commands(path: Path, folders: tuple[Path, ...], depth: int = 0) -> Iterator[_Statement]:
    """Yield lines of a file and of those in which it continues, all blocks open."""
    file = WordFile(path, ";")
    for i in file.filled(0):
        words = file.words(i)
        lower = words[0].lower()
        command = _Statement((lower, *words[1:]), file, i)
        if lower == "exit":
            return
        if lower == "continue_in_file":
            if depth == _DEEPEST:
                raise ValueError(f"{command.place}: files continue in each other")
            try:
                inner = _sought(command, 1, folders)
            except ValueError:  # wind and controllers are not read anyway
                yield command
                continue
            yield from _commands(inner, folders, depth + 1)
        else:
            yield command


def _tree(lines: Iterator[_Statement], opened: _Statement | None = None) -> tuple[_Statement, ...]:
    """Return commands with blocks closed, up to the end of the block that is open."""
    closed = []
    for x in lines:
        if x.words[0] == "begin":
            name = x.words[1].lower() if len(x.words) > 1 else ""
            name = _SPELT.get(name, name)
            block = _Statement((name,), x.file, x.line)
            closed.append(_Statement(block.words, x.file, x.line, _tree(lines, block)))
        elif x.words[0] == "end":
            if (
                opened is None
                or len(x.words) < 2
                or _SPELT.get(x.words[1].lower(), x.words[1].lower()) != opened.words[0]
            ):
                waits = "no block is open" if opened is None else f"open is {opened.words[0]!r}"
                raise ValueError(f"{x.place}: ends what did not begin; {waits}")
            return tuple(closed)
        else:
            closed.append(x)
    if opened is not None:
        raise ValueError(f"{opened.place}: begins and does not end")
    return tuple(closed)


def _sought(command: _Statement, i: int, folders: tuple[Path, ...]) -> Path:
    """Return the file that a command names."""
    word = command.words[i].strip("\"'").replace("\\", "/") if i < len(command.words) else ""
    for folder in folders:
        if word and "\0" not in word and (folder / word).is_file():
            return folder / word
    raise command.file.must(command.line, command.words[0], "the name of a file", word)


def _model(path: Path) -> WindFile:
    folders = (path.parent, *path.resolve().parents[1:4])
    try:
        whole = _tree(_commands(path, folders))
    except RecursionError:
        raise ValueError(f"{path}: blocks are nested too deeply") from None
    blocks: dict[str, _Statement] = {}
    notes: list[str] = []
    structure: list[_Statement] = []
    for x in whole:
        if x.words[0] == "new_htc_structure":
            structure += x.inside
        else:
            notes.append(f"{x.place}: is not read")
    for x in structure:
        if x.words[0] == "continue_in_file":
            _sought(x, 1, folders)
        if x.words[0] != "main_body":
            notes.append(f"{x.place}: is not read")
            continue
        words = x.one("name").words[1:2]
        if not words or words[0] in blocks:
            raise ValueError(f"{x.place}: needs a name that no other body has, got {words}")
        blocks[words[0]] = x
    bodies, masses = {}, []
    for name, block in blocks.items():
        own = block
        for _ in blocks:
            if not (copied := own.all("copy_main_body")):
                break
            of = copied[0].words[1:2]
            if not of or of[0] not in blocks:
                raise ValueError(f"{copied[0].place}: must name a body, one of {', '.join(blocks)}")
            own = blocks[of[0]]
        else:
            raise ValueError(f"{block.place}: copies itself")
        notes += [
            f"{x.place}: is not read"
            for x in own.inside
            if x.words[0] not in _READ and own is block
        ]
        bodies[name] = _body(own, folders)
        masses += [_mass(name, x) for x in own.all("concentrated_mass")]
    return WindFile(bodies, masses=tuple(masses), notes=tuple(notes))


def _mass(body: str, x: _Statement) -> PointInertia:
    """Return the mass of: node, x, y, z, mass, I_xx, I_yy, I_zz."""
    place = np.array([x.number(i + 2, "xyz"[i], "m") for i in range(3)])
    moments = np.array([x.number(i + 6, f"I_{'xyz'[i] * 2}", "kg m^2") for i in range(3)])
    mass = x.number(5, "mass", "kg")
    if mass < 0 or (moments < 0).any():
        raise x.file.must(x.line, "concentrated_mass", "not negative", [mass, *moments.tolist()])
    return PointInertia(body, x.words[1], place, mass, moments)


def _body(block: _Statement, folders: tuple[Path, ...]) -> Slender:
    """Return a main body: the line of c2_def with the sections of its st file."""
    line = block.one("c2_def")
    rows = line.all("sec")
    n = int(line.one("nsec").number(1, "number", "-"))
    if n != len(rows) or n < 2:
        raise line.file.must(line.line, "c2_def", f"nsec = {n} lines 'sec', two or more", len(rows))
    values = np.array(
        [[x.number(i + 2, key, u) for i, (key, u) in enumerate(_POINT.items())] for x in rows]
    )
    points, twist = values[:, :3], values[:, 3]
    length = Line(block.place, points, True).length
    beam = block.one("timoschenko_input")
    wanted = tuple(int(beam.one("set").number(i, "number", "-")) for i in (1, 2))
    path = _sought(beam.one("filename"), 1, folders)
    subsets = _subsets(path)
    if wanted not in subsets:
        there = ", ".join(f"{a} {b}" for a, b in subsets)
        raise ValueError(f"{beam.place}: {path} has no set {wanted}; there are {there}")
    table = subsets[wanted]
    if abs(table.values[-1, 0] - length) > _LENGTHS * length:
        table = _up_to(table, length)
    return _slender(
        table, points, Profile(shares(points), twist, lambda i: rows[i].place), _times(block)
    )


def _times(block: _Statement) -> np.ndarray:
    """Return damping (6,) [s] for forces along and moments about x, y and z."""
    tau = np.zeros(6)
    for name in ("damping_posdef", "damping_aniso"):
        for x in block.all(name):
            tau[3:] = [x.number(i + 4, f"K_{'xyz'[i]}", "s") for i in range(3)]
            if (tau < 0).any():
                raise x.file.must(x.line, name, "not negative", tau[3:].tolist())
    return tau


def _subsets(path: Path) -> dict[tuple[int, int], Profile]:
    """Return the tables of an st file by set and subset; stations are lengths over the last."""
    file = WordFile(path, ";")
    subsets: dict[tuple[int, int], Profile] = {}
    now = 0
    for i, text in enumerate(file.lines):
        if mark := re.match(r"\s*#\s*(\d{1,6})", text):
            now = int(mark[1])
        elif mark := re.match(r"\s*\$\s*(\d{1,6})\s+(\d{1,6})", text):
            if not now:
                raise file.must(i, "a subset", "in a set, after a line '#1'", text.strip())
            subsets[now, int(mark[1])] = _rows(file, i + 1, int(mark[2]))
    if not subsets:
        raise ValueError(f"{path}: has no sets: lines '#1' and '$1 26', rows of 19 or 30 numbers")
    return subsets


def _rows(file: WordFile, first: int, n: int) -> Profile:
    """Return the rows of a subset."""
    units = _FULL if len(file.words(first)) >= len(_FULL) else _PLAIN
    table = np.array([file.row(first + k, units) for k in range(n)]).reshape(n, len(units))
    if n < 2 or file.is_row(first + n, len(_PLAIN)):
        raise file.must(first - 1, "a subset", "of as many rows as it says, two or more", n)
    length = table[-1, 0] if table[-1, 0] > 0 else 1.0
    return Profile(table[:, 0] / length, table, lambda i: file.place(first + i))


def _up_to(table: Profile, length: float) -> Profile:
    """Return a table cut at a length, or with its last row held up to there."""
    r = table.values[:, 0]
    last = np.array([np.interp(length, r, column) for column in table.values.T])
    last[0] = length
    rows = np.vstack([table.values[r < length], last])
    return Profile(rows[:, 0] / length, rows, lambda i: table.where(min(i, len(r) - 1)))


def _slender(table: Profile, points: np.ndarray, twist: Profile, tau: np.ndarray) -> Slender:
    """Return the body with the sections of a table along a line."""
    units = _FULL if table.values.shape[1] == len(_FULL) else _PLAIN
    K, M = [], []
    for row in table.values:
        x = dict(zip(units, row, strict=True))
        turn, center = x["pitch"], (x["x_e"], x["y_e"])
        if units is _FULL:
            K.append(moved(symmetric_of(row[9:]), center, turn))
        else:
            EA, GA = x["E"] * x["A"], x["G"] * x["A"]
            bending = np.diag((0, 0, EA, x["E"] * x["I_x"], x["E"] * x["I_y"], 0))
            shear = np.diag((x["k_x"] * GA, x["k_y"] * GA, 0, 0, 0, x["G"] * x["I_p"]))
            K.append(moved(bending, center, turn) + moved(shear, (x["x_sh"], x["y_sh"]), turn))
        c, s = np.cos(turn), np.sin(turn)
        two = np.diag((x["ri_x"] ** 2, x["ri_y"] ** 2)) * x["m"]
        J = np.array([(c, -s), (s, c)]) @ two @ np.array([(c, s), (-s, c)])
        M.append(planar_mass(x["m"], (x["x_cg"], x["y_cg"]), (J[0, 0], J[1, 1], -J[0, 1])))
    mass = mass_rows(M, table.where)
    return Slender.of(
        points, table._replace(values=np.array(K)), table._replace(values=mass), twist, tau
    )
