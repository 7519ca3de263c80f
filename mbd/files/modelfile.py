"""Model files as TOML: a system and how it is run.

The arguments of the parts are the keys of the file (see ``vocabulary.py``); a number may be a
string with a unit. A system that is written and read builds the same model to the last bit.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from mbd.base.atomic import replaced
from mbd.base.checked import absent, file_path, mapping, meant, shown
from mbd.files import contacts
from mbd.files.toml import line_of
from mbd.files.value_types import PlaceError
from mbd.model.description import Description, described_parameters
from mbd.model.system import System

if TYPE_CHECKING:
    from mbd.front.solution import Solution
    from mbd.parts.contact import Contact
    from mbd.parts.part import Frame

_LARGEST = 100_000_000  # bytes of a model file
_OPENFAST = "mbd.read_beamdyn, mbd.read_elastodyn, mbd.read_aerodyn and mbd.read_hawc2"
_WIND = {  # what gives parts of a model
    ".yaml": "mbd.read_windio", ".yml": "mbd.read_windio", ".htc": "mbd.read_hawc2",
    ".st": "mbd.read_hawc2", ".dat": _OPENFAST, ".inp": _OPENFAST,
}  # fmt: skip


@dataclass(frozen=True)
class ModelFile:
    """Content of a model file.

    Attributes
    ----------
    system : System
    run : dict
        Arguments of ``mbd.simulate``: any of ``t_end`` [s], ``step`` [s], ``every``, ``project``,
        ``method``.
    title : str
    notes : tuple of str
        What an imported file says and the model does not use, with lines.
    parameters : dict
        Values of the parameters of the file, by name.
    frames : dict of Frame
        Of a robot: sites, and links that are parts of others, by name; joints take them.
    limits : dict of Limits
        Of a robot, by joint: ``lower``, ``upper`` [rad or m], ``effort`` [N m or N], ``velocity``;
        None where the file says none.
    collisions : dict of tuple of shapes
        Of a robot, by body: shapes that others may touch.
    planes : dict of Frame
        Of MJCF, by name: planes that others may touch, of ground or what is fixed to it; the third
        axis is the normal.
    meetings : tuple of Meeting
        Of MJCF: which shapes the file lets touch which plane, and with which ``friction``.
    """

    system: System
    run: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()
    parameters: dict[str, float] = field(default_factory=dict)
    frames: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    collisions: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    planes: dict[str, Frame] = field(default_factory=dict)
    meetings: tuple[contacts.Meeting, ...] = ()

    def simulate(self, **options: Any) -> Solution:
        """Run it; options of ``mbd.simulate`` take the place of those of the file."""
        from mbd.front.simulate import simulate

        how = self.run | options
        for key in ("t_end", "step"):
            if key not in how:
                raise ValueError(f"ModelFile: {key} is not in the file [s]; give {key}=")
        return simulate(self.system, **how)

    def add_contacts(
        self, bodies: Any = None, *, plane: Any = None, friction: float | None = None,
        restitution: float = 0.0,
    ) -> list[Contact]:  # fmt: skip
        """Let bodies of a robot touch planes with their collision shapes.

        Each body touches the planes that the file lets it touch (MJCF), or the one that is given.
        The contacts are parts of the system, "<body> on <plane>".

        Parameters
        ----------
        bodies : str or several in a list, optional
            Default all with collision shapes that touch, spheres, boxes and capsules. Fewer cost
            less: of a robot on its feet, the feet.
        plane : ground or Frame, optional
            Through the origin of the Frame and normal to its third axis; ``system.ground``: z = 0.
        friction : float [-], optional
            Default what the file says of each pair; of URDF it must be given.
        restitution : float [-]
            From 0 to 1.

        Returns
        -------
        list of Contact
        """
        how = bodies, friction, restitution
        if plane is None and self.planes:
            return contacts.of_file(self.system, self.planes, self.meetings, *how)
        plane = self.system.ground if plane is None else plane
        return contacts.with_plane(self.system, plane, *how)


def read(path: str | Path, **options: Any) -> ModelFile:
    """Read a model file (``.toml``) or a robot (``.urdf``, ``.xml``); errors name file and place.

    Parameters
    ----------
    path : str or Path
    **options
        ``formulation``, a str or Formulation in place of that of all rigid bodies. Of ``.toml``
        ``parameters``, a dict with other values of parameters of the file. Of robots also
        ``positions`` and ``rates`` of joints by name [rad, m; rad/s, m/s], ``gravity`` (3,)
        [m/s^2], and what else :func:`~mbd.files.robots.urdf.read_urdf` (``.urdf``,
        ``.xacro``) and :func:`~mbd.files.robots.mjcf.read_mjcf` (MJCF: ``.xml``, ``.mjcf``)
        take.

    Returns
    -------
    ModelFile
        ``system``, ``run``, ``title`` and ``notes``: what a robot's file says and is not used. Tags
        of URDF that are not known are named in a warning.
    """
    path = file_path("read", path)
    make = reader(path)
    _, *parameters = inspect.signature(make).parameters  # without the path
    for name in options:
        if name not in parameters:
            raise TypeError(
                f"read: there is no option {name!r}{meant(name, parameters)} for {path.name}; a "
                f"{path.suffix} file takes {', '.join(parameters)}"
            )
    model = make(path, **options)
    unknown = [note for note in model.notes if note.startswith("unknown")]
    if unknown:
        warnings.warn(f"{path}: {'; '.join(unknown)}", UserWarning, stacklevel=3)
    return model


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
    from mbd.files import toml, vocabulary, writer

    if not isinstance(system, System):
        raise TypeError(f"to_text: expected an mbd.System, got {shown(system)}")
    run, settings = dict(run or {}), vocabulary.run_settings()
    for key in run:
        if key not in settings:
            raise ValueError(f"to_text: run has no {key!r}; it may have {', '.join(settings)}")
    return toml.text(writer.document(system, run, title, Path(folder)))


def run_text(run: dict[str, Any]) -> str:
    """Return the table of a model file that says how it is run, of what files can hold of it."""
    from mbd.files import toml, vocabulary, writer

    plain, settings = writer.Writer(System(), Path()).plain, vocabulary.run_settings()
    return toml.text({"run": {key: plain(x) for key, x in run.items() if key in settings}})


def from_text(
    text: str, *, folder: str | Path = ".", formulation: Any = None, parameters: Any = None
) -> ModelFile:
    """Return what the text of a model file says; see ``mbd.read``."""
    from mbd.files.reader import Reader, toml_tables

    try:
        reader = Reader(toml_tables(text), Path(folder), formulation, parameters)
        values = {name: x.value for name, x in reader.place.parameters.items()}
        title = reader.data.get("title", "")
        return ModelFile(reader.read(), reader.run(), title, parameters=values)
    except PlaceError as error:
        line = line_of(text, error.keys)
        if line is None:
            raise
        raise PlaceError(f"{error} (line {line})", error.keys) from error
    except RecursionError:
        raise ValueError("is nested too deeply for a model file") from None


_OPTIONS = ("run", "title")  # of `write`
_UNSAID = ("frames", "limits", "collisions", "notes")  # that .toml has no place for


def write(system: Description | ModelFile, path: str | Path, **options: Any) -> Path:
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
    if isinstance(system, ModelFile):
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


def reader(path: Path) -> Callable[..., ModelFile]:
    """Return the function that reads files of this kind."""
    if not path.is_file():
        raise FileNotFoundError(f"{_printable(path)}: no such file")
    if path.suffix not in READERS:
        wind = f"; of wind turbines {_WIND[path.suffix]} read it" if path.suffix in _WIND else ""
        endings = " or ".join(READERS)
        raise ValueError(f"{_printable(path)}: a model file must end in {endings}{wind}")
    read = READERS[path.suffix]
    return resolve_name(read) if isinstance(read, str) else read


def text_of(
    path: Path, errors: Literal["strict", "replace"] = "strict", most: int | None = None
) -> str:
    """Return the text of a file, with or without a byte order mark; other codings by `errors`."""
    size, most = path.stat().st_size, most or _LARGEST
    if size > most:
        raise ValueError(f"must not be larger than {most:.0e} bytes, got {size}")
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"must be text in UTF-8, got the byte {data[error.start]:#04x} (line {line})"
        ) from None


def _toml(path: Path, *, formulation: Any = None, parameters: Any = None) -> ModelFile:
    values = mapping("read", "parameters", parameters, '{"length": 0.4}')
    try:
        text = text_of(path)
        return from_text(text, folder=path.parent, formulation=formulation, parameters=values)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


READERS: dict[str, str | Callable[..., ModelFile]] = {
    ".toml": _toml,
    ".urdf": "mbd.files.robots.urdf:read_urdf",
    ".xacro": "mbd.files.robots.urdf:read_urdf",
    ".xml": "mbd.files.robots.mjcf:read_mjcf",
    ".mjcf": "mbd.files.robots.mjcf:read_mjcf",
}
