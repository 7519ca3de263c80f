"""Kinds of result files: file extension, writer, reader.

A new kind is a file with its functions and an entry of ``FILE_KINDS``. Writers and readers are
imported when they are first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbd.history.history import History
    from mbd.store.source import Source


@dataclass(frozen=True)
class FileKind:
    """Kind of files, by their ending: how they are written and read.

    Attributes
    ----------
    write : str
        ``"module:function"``. Of a kind with all instants ``function(solution, path, **notes)``,
        else ``function(solution, path, every)``; it returns the path.
    read : str
        ``"module:class"`` of a ``Source``, made of the path; empty for what is not read again.
    all_instants : bool
        Whether such a file has all instants and the notes of the user.
    some : bool
        Whether it may have some quantities only, and in single precision: the function has the
        arguments ``quantities`` and ``single``.
    """

    write: str
    read: str = ""
    all_instants: bool = False
    some: bool = False


FILE_KINDS = {
    ".nc": FileKind("mbd.store.netcdf:save_netcdf", "mbd.store.source:FileSource", True, True),
    ".npz": FileKind("mbd.store.archive:save_npz", "mbd.store.source:ArchiveSource", True),
    ".csv": FileKind("mbd.store.archive:save_csv"),
    ".mat": FileKind("mbd.store.archive:save_matlab"),
    ".pvd": FileKind("mbd.store.paraview:save_paraview"),
}


def writable() -> tuple[str, ...]:
    """Return the endings of files that can be written."""
    return tuple(FILE_KINDS)


def readable() -> tuple[str, ...]:
    """Return the endings of files that ``mbd.load`` reads."""
    return tuple(ending for ending, file_kind in FILE_KINDS.items() if file_kind.read)


def _listed(endings: tuple[str, ...]) -> str:
    """Return endings as words of a sentence."""
    return " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))


def save(
    solution: History, path: str | Path, every: int = 1, quantities: Sequence[str] | None = None,
    single: bool = False, **notes: Any,
) -> Path:  # fmt: skip
    """Write results; the ending of the path says how."""
    from mbd.base.checked import file_path, flag, shown, whole
    from mbd.store.run_record import checked_notes

    path = file_path("save", path)
    checked_notes(notes)
    every = whole("save", "every", every, 1)
    file_kind = FILE_KINDS.get(path.suffix)
    if file_kind is None:
        raise ValueError(
            f"save: results are written as {_listed(writable())}, got {shown(str(path))}"
        )
    if file_kind.all_instants and every != 1:
        raise ValueError(
            f"save: a {path.suffix} file has all instants, got every={every}; keep fewer of them "
            "by mbd.simulate(..., every=...)"
        )
    if flag("save", "single", single) or quantities is not None:
        if not file_kind.some:
            able = _listed(tuple(ending for ending, x in FILE_KINDS.items() if x.some))
            raise ValueError(
                f"save: quantities= and single= are for {able}, got {path.name}; a {path.suffix} "
                "file has everything"
            )
        notes |= {"quantities": quantities, "single": single}
    write = resolve_name(file_kind.write)
    result: Path = write(solution, path, **notes) if file_kind.all_instants else write(
        solution, path, every
    )  # fmt: skip
    return result


def read(path: Path) -> Source:
    """Return a reader of a file of results."""
    from mbd.base.checked import shown

    file_kind = FILE_KINDS.get(path.suffix)
    if file_kind is None or not file_kind.read:
        raise ValueError(
            f"load: results are read from {_listed(readable())}, got {shown(str(path))}"
        )
    source: Source = resolve_name(file_kind.read)(path)
    return source
