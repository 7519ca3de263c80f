"""Model files as TOML: a system and how it is run.

The arguments of the parts are the keys of the file (see ``vocabulary.py``); a number may be a
string with a unit. A system that is written and read builds the same model to the last bit.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mbd.base.atomic import replaced
from mbd.base.checked import absent, file_path, mapping, shown
from mbd.files.toml import line_of
from mbd.files.value_types import PlaceError
from mbd.model.description import Description, described_parameters
from mbd.model.system import System

_LARGEST = 100_000_000  # bytes of a model file


@dataclass(frozen=True)
class Document:
    """What a model file says; see ``ModelFile``."""

    system: System
    run: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()
    parameters: dict[str, float] = field(default_factory=dict)
    frames: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    collisions: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


def to_text(
    system: Description,
    *,
    run: dict[str, Any] | None = None,
    title: str = "",
    folder: str | Path = ".",
) -> str:
    """Return the model file of a system.

    Parameters
    ----------
    system : System
    run : dict, optional
        Arguments of ``mbd.simulate``.
    title : str
    folder : path
        Where the file will be; meshes are named from there.
    """
    from mbd.base.public import VERSION
    from mbd.files import reader, toml, vocabulary, writer

    if not isinstance(system, System):
        raise TypeError(f"to_text: expected an mbd.System, got {shown(system)}")
    run = dict(run or {})
    for key in run:
        settings = vocabulary.run_settings()
        if key not in settings:
            raise ValueError(f"to_text: run has no {key!r}; it may have {', '.join(settings)}")
    tables = writer.document(system, run, title, Path(folder), VERSION, reader.SCHEMA)
    return toml.text(tables)


def run_text(run: dict[str, Any]) -> str:
    """Return the table of a model file that says how it is run, of what files can hold of it."""
    from mbd.files import toml, vocabulary, writer

    plain, settings = writer.Writer(System(), Path()).plain, vocabulary.run_settings()
    return toml.text({"run": {key: plain(x) for key, x in run.items() if key in settings}})


def from_text(
    text: str, *, folder: str | Path = ".", formulation: Any = None, parameters: Any = None
) -> Document:
    """Return what the text of a model file says; see ``mbd.read``."""
    from mbd.files.reader import Reader, toml_tables

    try:
        reader = Reader(toml_tables(text), Path(folder), formulation, parameters)
        values = {name: x.value for name, x in reader.place.parameters.items()}
        title = reader.data.get("title", "")
        return Document(reader.read(), reader.run(), title, parameters=values)
    except PlaceError as error:
        line = line_of(text, error.keys)
        if line is None:
            raise
        raise PlaceError(f"{error} (line {line})", error.keys) from error
    except RecursionError:
        raise ValueError("is nested too deeply for a model file") from None


_OPTIONS = ("run", "title")  # of `write`
_UNSAID = ("frames", "limits", "collisions", "notes")  # that .toml has no place for


def write(system: Description | Document, path: str | Path, **options: Any) -> Path:
    """Write a model file, in SI units; ``mbd.read`` makes the same model of it to the last bit.

    Parameters
    ----------
    system : System or ModelFile
        Of what ``mbd.read`` returns system, run and title; a warning names what else it has.
    path : str or Path
        Ends in ``.toml``. Meshes are named from its folder.
    **options
        ``run``, a dict with arguments of ``mbd.simulate`` (``t_end`` [s], ``step`` [s], ...), and
        ``title``, a str.

    Raises
    ------
    ValueError
        If a part cannot be said in a file, such as a law in Python; it is named.
    """
    path = file_path("write", path)
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"write: {absent('option ', name, _OPTIONS)}")
    unsaid: list[str] = []
    if isinstance(system, Document):
        unsaid = [x for x in _UNSAID if getattr(system, x)]
        used = described_parameters(system.system)
        unsaid += [f"the parameter {x!r}" for x in system.parameters if x not in used]
        options = {"run": system.run, "title": system.title} | options
        system = system.system
    if not isinstance(system, System):
        raise TypeError(
            f"write: expected an mbd.System or what mbd.read gives, got {shown(system)}"
        )
    if path.suffix != ".toml":
        raise ValueError(f"write: a model file must end in .toml, got {shown(str(path))}")
    text = to_text(system, folder=path.parent, **options)
    if unsaid:
        warnings.warn(
            f"write: {path.name} holds system, run and title; {', '.join(unsaid)} of what was read "
            "have no place in it",
            UserWarning,
            stacklevel=3,
        )
    with replaced(path, "write") as file:
        file.write(text.encode())
    return path


def _printable(path: Path) -> str:
    """Return a path for an error, on one line."""
    return str(path) if str(path).isprintable() else shown(str(path))


def reader(path: Path) -> Callable[..., Document]:
    """Return the function that reads files of this kind."""
    if not path.is_file():
        raise FileNotFoundError(f"{_printable(path)}: no such file")
    if path.suffix not in READERS:
        raise ValueError(f"{_printable(path)}: a model file must end in {' or '.join(READERS)}")
    read = READERS[path.suffix]
    if isinstance(read, str):
        module, _, name = read.partition(":")
        return cast("Callable[..., Document]", getattr(importlib.import_module(module), name))
    return read


def _text(path: Path) -> str:
    """Return the text of a file, with or without a byte order mark."""
    size = path.stat().st_size
    if size > _LARGEST:
        raise ValueError(f"must not be larger than {_LARGEST:.0e} bytes, got {size}")
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"must be text in UTF-8, got the byte {data[error.start]:#04x} (line {line})"
        ) from None


def _toml(path: Path, *, formulation: Any = None, parameters: Any = None) -> Document:
    values = mapping("read", "parameters", parameters, '{"length": 0.4}')
    try:
        text = _text(path)
        return from_text(text, folder=path.parent, formulation=formulation, parameters=values)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


READERS: dict[str, str | Callable[..., Document]] = {
    ".toml": _toml,
    ".urdf": "mbd.files.robots.urdf:read_urdf",
    ".xacro": "mbd.files.robots.urdf:read_urdf",
    ".xml": "mbd.files.robots.mjcf:read_mjcf",
    ".mjcf": "mbd.files.robots.mjcf:read_mjcf",
}
