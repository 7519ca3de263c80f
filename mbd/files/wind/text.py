"""Text of words and numbers by lines, as Fortran reads it; errors name file, line and key."""

import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import file_path, shown
from mbd.base.tolerances import LARGEST
from mbd.files.modelfile import text_of
from mbd.files.wind.records import WindFile

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?\Z")
_WORD = re.compile(r'"[^"]*"|\'[^\']*\'|[^\s,]+')
_KEY = re.compile(r"\s*(?:\"[^\"]*\"|'[^']*'|[^\s,]+)[\s,]+([A-Za-z]\w*(?:\(\d\))?)(?=[\s,]|\Z)")
LARGEST_FILE = 20_000_000  # bytes
UNITS = {  # of a file, in SI
    "m": 1.0, "kg": 1.0, "kg m^2": 1.0, "kg/m": 1.0, "N m^2": 1.0, "N m/rad": 1.0, "N": 1.0,
    "N m s/rad": 1.0, "s": 1.0, "-": 1.0, "rad": 1.0, "Pa": 1.0, "m^2": 1.0, "m^4": 1.0,
    "kg m": 1.0, "N m": 1.0, "deg": np.pi / 180, "rpm": np.pi / 30, "%": 0.01,
}  # fmt: skip


def in_si(word: Any, unit: str, least: float | None, must: Callable[[str], ValueError]) -> float:
    """Return a word of a file as a finite number in SI, or refuse it by what it must be."""
    if not isinstance(word, str) or not NUMBER.match(word):
        raise must(f"a number [{unit}]")
    x = float(word.replace("d", "e").replace("D", "e")) * UNITS[unit]
    if not abs(x) < LARGEST:
        raise must(f"below {LARGEST:g} in size [{unit}]")
    if least is not None and x < least:
        raise must(f"at least {least:g} [{unit}]")
    return x


def reader(read: Callable[[Path], WindFile]) -> Callable[[str | Path], WindFile]:
    """Let a reader take a path of a user; its errors name the file."""

    @wraps(read)
    def of_path(path: str | Path) -> WindFile:
        path = file_path(read.__name__, path)
        if not path.is_file():
            raise FileNotFoundError(f"{read.__name__}: {shown(str(path))}: no such file")
        return read(path)

    return of_path


class WordFile:
    """Words of a file by lines.

    Parameters
    ----------
    path : Path
    comment : str
        Character after which the rest of a line says nothing.
    """

    def __init__(self, path: Path, comment: str = "!") -> None:
        self.path = path
        try:
            text = text_of(path, "replace", LARGEST_FILE)  # comments are in any coding
        except (ValueError, OSError) as error:
            raise ValueError(f"{path}: {error}") from None
        self.lines = text.split("\n")
        self.comment = comment
        self._keys: dict[str, int] = {}
        for i, line in enumerate(self.lines):  # value KEY - what it is
            if key := _KEY.match(line):
                self._keys.setdefault(key[1].lower(), i)

    def words(self, i: int) -> list[str]:
        """Return the words of line i, none after the last line."""
        line = self.lines[i] if i < len(self.lines) else ""
        return _WORD.findall(line.partition(self.comment)[0])

    def filled(self, start: int) -> Iterator[int]:
        """Yield the lines with words, from a line on."""
        return (i for i in range(start, len(self.lines)) if self.words(i))

    def place(self, i: int) -> str:
        """Return file and line, for errors."""
        return f"{self.path}: line {i + 1}"

    def must(self, i: int, what: str, expected: str, got: Any) -> ValueError:
        """Return the error of what stands in a line."""
        return ValueError(f"{self.place(i)}: {what} must be {expected}, got {shown(got)}")

    def has(self, key: str) -> bool:
        """Return whether a line has this key."""
        return key.lower() in self._keys

    def line(self, key: str) -> int:
        """Return the line of a key."""
        if not self.has(key):
            raise ValueError(f"{self.path}: {key} is missing: a line 'value  {key}  - what it is'")
        return self._keys[key.lower()]

    def value(self, key: str) -> str:
        """Return the word of a key, without quotes."""
        return self.words(self.line(key))[0].strip("\"'")

    def number(self, key: str, unit: str, least: float | None = None) -> float:
        """Return the number of a key in SI."""
        i = self.line(key)
        return self.read(i, key, self.words(i)[0], unit, least)

    def count(self, key: str, least: int = 1) -> int:
        """Return the whole number of a key, of lines of the file or fewer."""
        i, word = self.line(key), self.value(key)
        if not re.fullmatch(r"\+?\d{1,9}", word) or int(word) < least:
            raise self.must(i, key, f"a whole number, at least {least}", word)
        if int(word) > len(self.lines):
            raise self.must(i, key, f"at most {len(self.lines)}, the lines of the file", word)
        return int(word)

    def file(self, key: str) -> Path:
        """Return the file that a key names, from the folder of this one."""
        return self.beside(self.line(key), key, self.value(key))

    def beside(self, i: int, key: str, word: str) -> Path:
        """Return a file that a line names."""
        try:
            path = self.path.parent / file_path(key, word.replace("\\", "/"))
        except ValueError as error:
            raise ValueError(f"{self.place(i)}: {error}") from None
        if not path.is_file():
            raise self.must(i, key, "the name of a file", word)
        return path

    def read(self, i: int, what: str, word: str, unit: str, least: float | None = None) -> float:
        """Return a word of line i as a number in SI."""
        return in_si(word, unit, least, lambda expected: self.must(i, what, expected, word))

    def is_row(self, i: int, n: int) -> bool:
        """Return whether line i has n numbers or more, and nothing else."""
        words = self.words(i)
        return len(words) >= n and all(NUMBER.match(x) for x in words)

    def row(self, i: int, units: dict[str, str]) -> list[float]:
        """Return the first numbers of line i, by name and unit, in SI."""
        words = self.words(i)
        if len(words) < len(units):
            columns = ", ".join(f"{name} [{unit}]" for name, unit in units.items())
            raise self.must(i, "the line", f"{len(units)} numbers, {columns}", " ".join(words))
        return [self.read(i, *x) for x in zip(units, words, units.values(), strict=False)]

    def find(self, word: str, start: int = 0) -> int:
        """Return the first line with a word, from a line on."""
        for i in range(start, len(self.lines)):
            if word.lower() in self.lines[i].lower():
                return i
        raise ValueError(f"{self.path}: there is no line with {word!r}")

    def columns(
        self, start: int, n: int, units: dict[str, str]
    ) -> tuple[int, dict[str, np.ndarray]]:
        """Return the first line and the columns of a table of n rows, under names and units."""
        header = next(self.filled(start), start)
        names = [re.sub(r"\W.*", "", x).lower() for x in self.words(header)]
        for name in units:
            if name.lower() not in names:
                raise self.must(header, "the line", f"names of columns, with {name}", names)
        first = header + 2
        places = {name: names.index(name.lower()) for name in units}
        table = {name: np.empty(n) for name in places}
        for k in range(n):
            i = first + k
            words = self.words(i)
            for name, j in places.items():
                if j >= len(words):
                    raise self.must(
                        i, f"row {k + 1} of {n}", f"numbers, with {name} as the {j + 1}th",
                        " ".join(words),
                    )  # fmt: skip
                table[name][k] = self.read(i, name, words[j], units[name])
        return first, table
