"""``mbd.read``: a model file, and the run that it describes."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbd.base.checked import file_path, meant
from mbd.files.modelfile import Document, reader
from mbd.front.simulate import simulate
from mbd.front.solution import Solution


@dataclass(frozen=True)
class ModelFile(Document):
    """What a model file says.

    Attributes
    ----------
    system : System
    run : dict
        Arguments of ``mbd.simulate``: any of ``t_end`` [s], ``step`` [s], ``every``, ``project``,
        ``method``.
    title : str
    notes : tuple of str
        What an imported file says and the model does not use, with lines.
    frames : dict of Frame
        Of a robot: sites, and links that are parts of others, by name; joints take them.
    limits : dict of Limits
        Of a robot, by joint: ``lower``, ``upper`` [rad or m], ``effort`` [N m or N], ``velocity``;
        None where the file says none.
    collisions : dict of tuple of shapes
        Of a robot, by body: shapes that others may touch.
    parameters : dict
        Values of the parameters of the file, by name.
    """

    def simulate(self, **options: Any) -> Solution:
        """Run it; options of ``mbd.simulate`` take the place of those of the file."""
        how = self.run | options
        for key in ("t_end", "step"):
            if key not in how:
                raise ValueError(f"ModelFile: {key} is not in the file [s]; give {key}=")
        return simulate(self.system, **how)


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
    document = make(path, **options)
    unknown = [note for note in document.notes if note.startswith("unknown")]
    if unknown:
        warnings.warn(f"{path}: {'; '.join(unknown)}", UserWarning, stacklevel=3)
    return ModelFile(**vars(document))
