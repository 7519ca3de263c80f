"""Files of finite element programs: matrices with the labels of their rows; nodes, node sets.

Read are, as these programs write them: Matrix Market and scipy's files, Abaqus ``*MATRIX OUTPUT``
(``MATRIX INPUT`` and ``COORDINATE``) and ``*NODE``, ``*NSET``; CalculiX ``SOLVER=MATRIXSTORAGE``;
Nastran OUTPUT4, ``DMIG`` and ``GRID``; Ansys ``HBMAT`` (Harwell-Boeing) with its mapping.

References
----------
Duff, Grimes, Lewis, Users' guide for the Harwell-Boeing sparse matrix collection (1992).
MSC Nastran, DMAP Programmer's Guide (OUTPUT4). Abaqus, Generating Matrices. CalculiX CrunchiX,
User's Manual (*FREQUENCY). Ansys, Command Reference (HBMAT).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

_AXES = {"UX": 1, "UY": 2, "UZ": 3, "ROTX": 4, "ROTY": 5, "ROTZ": 6}
_STRING = 65536  # of the header of a short string of OUTPUT4: its length times this, and its row
_REAL = re.compile(r"([0-9.])([+-]\d+)$")  # Nastran leaves out the letter of an exponent: 1.5-3


class Matrix(NamedTuple):
    """A square matrix; of each row node and degree of freedom from 1 to 6, (n, 2), if it says."""

    A: Any
    labels: np.ndarray | None = None


class Nodes(NamedTuple):
    """Nodes (n, 3); their labels (n,), rising, if they have any; sets of labels by name; cells.

    Cells are pairs of the name that meshio has for them and of nodes, by their place.
    """

    x: Any
    labels: np.ndarray | None = None
    sets: Mapping[str, np.ndarray] = MappingProxyType({})
    cells: Sequence[tuple[str, np.ndarray]] = ()


def labelled(labels: Any, x: Any, sets: dict[str, np.ndarray] | None = None) -> Nodes:
    """Return nodes with labels in rising order; no label may stand twice."""
    labels, x = np.asarray(labels).astype(int), np.asarray(x, float).reshape(-1, 3)
    order = np.argsort(labels, kind="stable")
    twice = labels[order][1:][np.diff(labels[order]) == 0]
    if twice.size:
        raise ValueError(f"node {twice[0]} stands twice; write one flat list of nodes")
    return Nodes(x[order], labels[order], sets or {})


def _text(path: Path) -> list[str]:
    return path.read_text(encoding="latin-1").splitlines()


def _reals(words: Sequence[str], number: int, line: str = "") -> np.ndarray:
    """Return the numbers of a line, with exponents of Fortran, or of Nastran without a letter."""
    for form in (r"\1\2", r"\1E\2"):
        with suppress(ValueError):
            return np.array([_REAL.sub(form, x.upper().replace("D", "E")) for x in words], float)
    raise ValueError(f"line {number} must have numbers, got {line or ' '.join(words).strip()!r}")


def _table(lines: list[tuple[int, str]], *sizes: int) -> np.ndarray:
    """Return the numbers of lines (number, text) of so many columns each; name a line that errs."""
    if not lines:
        raise ValueError("it has no numbers")
    rows = [text.replace(",", " ").replace("D", "E") for _, text in lines]
    with suppress(ValueError):
        table = np.loadtxt(rows, comments=None, ndmin=2)
        if table.shape[1] in sizes:
            return table
    size = len(rows[0].split())
    for (number, text), row in zip(lines, rows, strict=True):
        if len(row.split()) != size or size not in sizes:
            wanted = " or ".join(map(str, sizes if size not in sizes else (size,)))
            raise ValueError(f"line {number} must have {wanted} numbers, got {text.strip()!r}")
        _reals(row.split(), number, text.strip())
    raise ValueError(f"line {lines[0][0]} and those after it must have numbers")


def _fixed(line: str, width: int, number: int) -> np.ndarray:
    """Return the numbers of a line in columns of a width."""
    return _reals([line[k : k + width] for k in range(0, len(line), width)], number, line)


def _assembled(i: np.ndarray, j: np.ndarray, values: np.ndarray, n: int) -> sp.csc_array:
    """Return the matrix of entries of one triangle or of both."""
    key = i * n + j
    if len(np.unique(key)) < len(key):
        raise ValueError("an entry stands twice; write the assembled matrix, not that of elements")
    off = i != j
    if not np.isin(j[off] * n + i[off], key).any():
        i, j, values = (np.concatenate([a, b[off]]) for a, b in ((i, j), (j, i), (values, values)))
    return sp.csc_array(sp.coo_array((values, (i, j)), shape=(n, n)))


def _by_labels(entries: np.ndarray) -> Matrix:
    """Return the matrix of rows (node, degree of freedom, node, degree of freedom, entry)."""
    labels = entries[:, :4].reshape(-1, 2)
    wrong = (labels < 1).any(axis=1) | (labels != np.rint(labels)).any(axis=1) | (labels[:, 1] > 6)
    if wrong.any():
        node, dof = labels[int(wrong.argmax())]
        raise ValueError(
            f"rows must be of nodes from 1 and degrees of freedom 1 to 6, got {node:g}.{dof:g}; "
            "leave out temperatures, multipliers and internal nodes"
        )
    rows, place = np.unique(labels.astype(int), axis=0, return_inverse=True)
    i, j = place.reshape(-1, 2).T
    return Matrix(_assembled(i, j, entries[:, 4], len(rows)), rows)


def _by_places(entries: np.ndarray) -> sp.csc_array:
    """Return the matrix of rows (row, column, entry), from 1."""
    places = entries[:, :2]
    if (places < 1).any() or (places != np.rint(places)).any():
        raise ValueError("rows and columns must be whole numbers from 1")
    i, j = places.astype(int).T - 1
    return _assembled(i, j, entries[:, 2], int(places.max(initial=0)))


def _mtx(path: Path, _: str) -> Matrix:
    """Return a matrix of Matrix Market, or of Abaqus."""
    with path.open("rb") as file:
        if file.read(2) == b"%%":
            from scipy.io import mmread

            return Matrix(mmread(path))
    lines = [(k, x) for k, x in enumerate(_text(path), 1) if x.strip() and x.strip()[0] != "*"]
    entries = _table(lines, 3, 5)
    return _by_labels(entries) if entries.shape[1] == 5 else Matrix(_by_places(entries))


def _calculix(path: Path, _: str) -> Matrix:
    """Return a matrix that CalculiX stored, with its degrees of freedom, node.direction."""
    A = _by_places(_table(list(enumerate(_text(path), 1)), 3))
    dofs = path.with_suffix(".dof")
    if not dofs.is_file():
        raise ValueError(f"its degrees of freedom must stand in {str(dofs)!r}; copy it there")
    rows = [(k, line.replace(".", " ")) for k, line in enumerate(_text(dofs), 1)]
    return _mapped(A, _table(rows, 2).astype(int), dofs)


def _mapped(A: sp.csc_array, labels: np.ndarray, path: Path) -> Matrix:
    if len(labels) != A.shape[0]:
        raise ValueError(f"it has {A.shape[0]} rows, and {str(path)!r} has {len(labels)}")
    return Matrix(A, labels)


def _harwell_boeing(path: Path, _: str) -> Matrix:
    """Return a matrix of Harwell-Boeing, with the mapping of its rows that Ansys writes."""
    lines = _text(path)
    if len(lines) < 4 or not re.match("[A-Za-z]{3}", lines[2]):
        raise ValueError("it must begin with the four lines of Harwell-Boeing; write it as ASCII")
    code = lines[2][:3].upper()
    if code[0] != "R" or code[1] not in "SU" or code[2] != "A":
        raise ValueError(
            f"line 3: it must be real, symmetric and assembled, RSA or RUA, got {code}"
        )
    counts = _fixed(lines[1][14:56], 14, 2).astype(int).tolist()
    n, columns, entries = _fixed(lines[2][14:56], 14, 3).astype(int).tolist()
    if n != columns:
        raise ValueError(f"line 3: it must be square, got {n} rows and {columns} columns")
    widths = [int(x) for x in re.findall(r"\d*[IEDFG](\d+)", lines[3].upper())][:3]
    parts, at = [], 4 + (lines[1][56:70].strip() not in ("", "0"))  # a line more of a right side
    for count, width, size in zip(counts, widths, (n + 1, entries, entries), strict=True):
        text = enumerate((x.rstrip() for x in lines[at : at + count]), at + 1)
        numbers = np.concatenate([np.zeros(0), *(_fixed(x, width, k) for k, x in text)])
        if len(numbers) != size:
            raise ValueError(
                f"lines {at + 1} to {at + count} must have {size} numbers, got {len(numbers)}"
            )
        parts.append(numbers)
        at += count
    starts, rows = (x.astype(int) - 1 for x in parts[:2])
    if starts[0] or starts[-1] != entries or (np.diff(starts) < 0).any():
        raise ValueError(f"line 5: starts of columns must rise from 1 to {entries + 1}")
    if rows.size and not 0 <= rows.min() <= rows.max() < n:
        raise ValueError(f"rows must be from 1 to {n}, got {rows.min() + 1} to {rows.max() + 1}")
    A = _assembled(rows, np.repeat(np.arange(n), np.diff(starts)), parts[2], n)
    mapping = path.with_suffix(".mapping")
    if not mapping.is_file():
        return Matrix(A)
    named = [x.split() for x in _text(mapping)]
    labels = [(int(x[0]), int(x[1]), _AXES.get(x[2].upper(), 0)) for x in named
              if len(x) == 3 and x[0].isdigit()]  # fmt: skip
    table = np.array(sorted(labels)).reshape(-1, 3)
    if (table[:, 0] != np.arange(1, n + 1)[: len(table)]).any() or (table[:, 2] == 0).any():
        raise ValueError(f"{str(mapping)!r} must say node and {', '.join(_AXES)} of each row, once")
    return _mapped(A, table[:, 1:], mapping)


# --- Nastran --------------------------------------------------------------------------------------
def _chosen(matrices: dict[str, Any], letter: str) -> Any:
    """Return the only matrix, or the only one whose name begins with a letter."""
    names = [x for x in matrices if len(matrices) == 1 or x.upper().startswith(letter)]
    if len(names) != 1:
        raise ValueError(
            f"it must have one matrix whose name begins with {letter}, it has "
            f"{', '.join(matrices) or 'none'}; write the others to files of their own"
        )
    return matrices[names[0]]


def _output4(path: Path, letter: str) -> Matrix:
    """Return a matrix of OUTPUT4, text or binary: its columns, dense or in strings."""
    data = path.read_bytes()
    text = not data[:4].strip(b" 0123456789-")
    matrices: dict[str, Any] = {}
    records = _text_records(data.decode("latin-1")) if text else _binary_records(data)
    for name, rows, precision, columns in records:
        if precision not in (1, 2):
            raise ValueError(f"matrix {name} must be real, type 1 or 2, got type {precision}")
        n, empty = abs(rows), np.zeros(0)
        for column, first, values in columns:
            if not 0 <= first <= first + len(values) <= n or not 0 <= column < n:
                raise ValueError(f"matrix {name}: column {column + 1} has rows beyond {n}")
        i = np.concatenate([empty, *(first + np.arange(len(x)) for _, first, x in columns)])
        j = np.concatenate([empty, *(np.full(len(x), column) for column, _, x in columns)])
        entries = np.concatenate([empty, *(x for _, _, x in columns)])
        some = entries != 0
        matrices[name] = _assembled(i[some].astype(int), j[some].astype(int), entries[some], n)
    return Matrix(_chosen(matrices, letter))


_Records = Iterator[tuple[str, int, int, list[tuple[int, int, Any]]]]


def _strings(words: Callable[[int], list[int]], nw: int, big: bool) -> Iterator[tuple[int, int]]:
    """Return first row and words of the strings of a column of nw words."""
    while nw > 0:
        if big:
            length, row = words(2)
            size, head = length - 1, 2
        else:
            size, row = divmod(words(1)[0], _STRING)
            size, head = size - 1, 1
        nw -= size + head
        yield row - 1, size


def _text_records(text: str) -> _Records:
    lines, at = text.splitlines(), 0

    def words(size: int) -> list[int]:
        nonlocal at
        at += 1
        line = lines[at - 1]
        try:
            return (
                [int(line[k : k + 8]) for k in range(0, 8 * size, 8)] if size > 1 else [int(line)]
            )
        except ValueError:
            raise ValueError(f"line {at} must have {size} whole numbers, got {line!r}") from None

    def reals(size: int) -> list[float]:
        nonlocal at
        got: list[float] = []
        while len(got) < size:
            at += 1
            line = lines[at - 1].rstrip()
            got += _fixed(line, width, at).tolist()
        if len(got) > size:
            raise ValueError(f"line {at} has {len(got) - size} numbers too many")
        return got

    try:
        while at < len(lines) and lines[at].strip():
            columns, rows, _, precision = words(4)
            head = lines[at - 1]
            match = re.search(r"\d*[EDFG](\d+)", head[40:].upper())
            width = int(match[1]) if match else 16
            name, per, parts = head[32:40].strip(), precision, []
            while (column := words(3))[0] <= columns:
                if column[1] > 0:
                    parts.append((column[0] - 1, column[1] - 1, reals(column[2])))
                    continue
                for row, size in _strings(words, column[2], rows < 0):
                    parts.append((column[0] - 1, row, reals(size // per)))
            reals(1)
            yield name, rows, precision, parts
    except IndexError:
        raise ValueError(f"it is cut off after line {len(lines)}") from None


def _binary_records(data: bytes) -> _Records:
    order = "<" if int.from_bytes(data[:4], "little") in (24, 48) else ">"
    at = 0

    def record() -> bytes:
        nonlocal at
        size = int(np.frombuffer(data, order + "i4", 1, at)[0]) if at + 4 <= len(data) else -1
        if size < 0 or at + 8 + size > len(data) or data[at : at + 4] != data[at + 4 + size :][:4]:
            raise ValueError(f"it is no OUTPUT4, of 4-byte words, or cut off at byte {at}")
        at += 8 + size
        return data[at - 4 - size : at - 4]

    while at < len(data):
        head = record()
        columns, rows, _, precision = np.frombuffer(head, order + "i4", 4).tolist()
        name, parts = head[16:24].decode("latin-1").strip(), []
        real = order + ("f4" if precision == 1 else "f8")
        while True:
            body = record()
            column, first, nw = np.frombuffer(body, order + "i4", 3).tolist()
            if column > columns:
                break
            if first > 0:
                parts.append((column - 1, first - 1, np.frombuffer(body[12 : 12 + 4 * nw], real)))
                continue
            place = 12

            def words(size: int, body: bytes = body) -> list[int]:
                nonlocal place
                place += 4 * size
                got: list[int] = np.frombuffer(
                    body[place - 4 * size : place], order + "i4"
                ).tolist()
                return got

            for row, size in _strings(words, nw, rows < 0):
                parts.append((column - 1, row, np.frombuffer(body[place : place + 4 * size], real)))
                place += 4 * size
        yield name, rows, precision, parts


def _cards(path: Path, *names: str) -> Iterator[tuple[int, list[str]]]:
    """Return line number and fields of bulk data cards of some names: short, long or free."""
    card: list[str] = []
    at, wanted = 0, False
    for number, line in enumerate(_text(path), 1):
        text = line.split("$")[0].expandtabs().rstrip()
        if not text:
            continue
        free, long = "," in text, "*" in text[:8]
        width = 16 if long else 8
        if free:
            fields = [x.strip() for x in text.split(",")]
            head, rest = fields[0], (fields[1:9] + [""] * 8)[:8]
        else:
            head = text[:8].strip()
            body = text[8:72].ljust(64)
            rest = [body[k : k + width].strip() for k in range(0, 64, width)]
        name = head.rstrip("*").strip()
        if name and name[0] not in "+*":
            if wanted:
                yield at, card
            card, at, wanted = [name.upper(), *rest], number, name.upper() in names
        else:
            card += rest
    if wanted:
        yield at, card


def _dmig(path: Path, letter: str) -> Matrix:
    """Return a matrix of DMIG cards, with nodes and components."""
    matrices: dict[str, list[list[float]]] = {}
    for number, card in _cards(path, "DMIG"):
        name = card[1]
        if card[2] == "0" and name not in matrices:
            matrices[name] = []
            if card[4] not in ("1", "2"):
                raise ValueError(f"line {number}: {name} must be real, TIN 1 or 2, got {card[4]}")
            continue
        if name not in matrices:
            raise ValueError(f"line {number}: the first card of {name} must be its header")
        column = _reals(card[2:4], number)
        for k in range(5, len(card), 4):
            if card[k] and len(card) > k + 2:
                matrices[name].append([*column, *_reals(card[k : k + 3], number)])
    return _by_labels(np.array(_chosen(matrices, letter)).reshape(-1, 5))


def _grids(path: Path) -> Nodes:
    """Return the GRID points of a deck, and its SETs."""
    labels, x = [], []
    for number, card in _cards(path, "GRID"):
        if card[2] not in ("", "0") or card[6] not in ("", "0"):
            raise ValueError(
                f"line {number}: GRID {card[1]} must be in the basic coordinate system"
            )
        label, *place = _reals([card[1], *(a or "0." for a in card[3:6])], number)
        labels.append(int(label))
        x.append(place)
    sets: dict[str, np.ndarray] = {}
    text = "\n".join(_text(path))
    for name, members in re.findall(r"(?mi)^\s*SET\s+(\d+)\s*=([^=]*?[^,\s])\s*$", text):
        whole = re.sub(r"(\d+)\s+THRU\s+(\d+)", lambda m: ",".join(
            map(str, range(int(m[1]), int(m[2]) + 1))), members, flags=re.I)  # fmt: skip
        if not re.search(r"[^\d,\s]", whole):
            sets[name] = np.array([int(a) for a in re.split(r"[,\s]+", whole.strip())])
    return labelled(labels, x, sets)


# --- Abaqus and CalculiX --------------------------------------------------------------------------
def _input_deck(path: Path) -> Nodes:
    """Return nodes and node sets of an input file of Abaqus or CalculiX."""
    rows: list[tuple[int, str]] = []
    sets: dict[str, list[Any]] = {}
    key, options, gathered = "", {}, ""
    for number, line in enumerate(_text(path), 1):
        text = gathered + line.strip()
        gathered = ""
        if not text or text.startswith("**"):
            continue
        if text[0] == "*":
            if text[-1] == ",":
                gathered = text
                continue
            words = [x.strip() for x in text[1:].split(",")]
            key = words[0].upper()
            pairs = (x.partition("=") for x in words[1:])
            options = {a.strip().upper(): b.strip().strip('"').upper() for a, _, b in pairs}
            if key in ("INCLUDE", "SYSTEM") or (
                key == "NODE" and {"SYSTEM", "INPUT"} & set(options)
            ):
                raise ValueError(
                    f"line {number}: *{key} {line.strip()!r} is not read; write one flat deck"
                )
        elif key == "NODE":
            values = (text + ",0,0,0").split(",")[:4]
            rows.append((number, " ".join(x.strip() or "0" for x in values)))
            if "NSET" in options:
                sets.setdefault(options["NSET"], []).append(int(float(values[0])))
        elif key == "NSET":
            some = [x.strip().upper() for x in text.split(",") if x.strip()]
            try:
                if "GENERATE" in options:
                    first, last, *by = (int(x) for x in some)
                    some = list(range(first, last + 1, *by))  # type: ignore[arg-type]
                members = [y for x in some for y in (sets[x] if x in sets else [int(x)])]
            except ValueError:
                raise ValueError(
                    f"line {number} must have nodes or sets before it, got {text!r}"
                ) from None
            sets.setdefault(options.get("NSET", ""), []).extend(members)
    table = _table(rows, 4)
    return labelled(table[:, 0], table[:, 1:], {k: np.unique(v) for k, v in sets.items()})


def _columns(path: Path) -> Nodes:
    """Return nodes of a table of label, x, y, z, or of x, y, z."""
    table = _table(
        [(k, x) for k, x in enumerate(_text(path), 1) if x.strip() and x[0] != "#"], 3, 4
    )
    return Nodes(table) if table.shape[1] == 3 else labelled(table[:, 0], table[:, 1:])


_DECKS = (".bdf", ".dat", ".nas", ".pch", ".dmig")
MATRICES: dict[str, Callable[[Path, str], Matrix]] = {
    ".mtx": _mtx, ".op4": _output4, ".sti": _calculix, ".mas": _calculix,
    **dict.fromkeys(_DECKS, _dmig),
    **dict.fromkeys((".hb", ".rsa", ".rua", ".matrix", ".hbmat"), _harwell_boeing),
}  # fmt: skip
NODES: dict[str, Callable[[Path], Nodes]] = {
    ".inp": _input_deck, ".txt": _columns, ".csv": _columns, **dict.fromkeys(_DECKS, _grids),
}  # fmt: skip
