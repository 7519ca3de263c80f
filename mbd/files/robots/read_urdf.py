"""Systems from URDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbd.base.checked import flag, one_of
from mbd.base.door import rotation_matrix, vector
from mbd.files.modelfile import Document
from mbd.files.robots.description import Origin
from mbd.files.robots.lumping import settle_root
from mbd.files.robots.options import RobotOptions, reader
from mbd.files.robots.robot import built
from mbd.files.robots.urdf import parse
from mbd.files.robots.xml_tree import NESTED


@reader("actuators", "loops")
def read_urdf(
    path: Path, *, base: str = "fixed", position: Any = (0.0, 0.0, 0.0), rotation: Any = None,
    xacro: bool = False, **options: Any,
) -> Document:  # fmt: skip
    """Read a URDF file; ``mbd.read`` calls it for ``.urdf`` and ``.xacro``.

    Parameters
    ----------
    path : Path
    base : {"fixed", "floating"}
        Whether the root link is the ground or a free body.
    position, rotation : (3,) array [m], scipy Rotation or (3, 3) array
        Of the root link.
    xacro : bool
        Whether a xacro file is expanded, by the package ``xacro`` with the arguments that the file
        has by default. Such a file is a program: trust it, or do not.
    **options
        Those of :class:`~mbd.files.robots.options.RobotOptions`.
    """
    try:
        how = RobotOptions(**{"gravity": (0.0, 0.0, -9.81), **options})
        floating = one_of("read", "base", base, ("fixed", "floating")) == "floating"
        start = Origin(
            vector("base", "position", position, "m"), rotation_matrix("base", "rotation", rotation)
        )
        robot = parse(path, flag("read", "xacro", xacro))
        if floating:
            start = start @ settle_root(robot)
        return built(robot, path, how, {"t_end": 2.0, "step": 1e-3}, start, floating=floating)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error
    except RecursionError:
        raise ValueError(f"{path}: {NESTED}") from None
