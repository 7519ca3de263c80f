"""Systems from URDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbd.base.checked import one_of
from mbd.base.door import rotation_matrix, vector
from mbd.files.modelfile import Document
from mbd.files.robots.description import Origin
from mbd.files.robots.lumping import settle_root
from mbd.files.robots.robot import Options, built
from mbd.files.robots.urdf import parse

__all__ = ["read_urdf"]


def read_urdf(
    path: Path,
    *,
    base: str = "fixed",
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = None,
    positions: dict[str, float] | None = None,
    rates: dict[str, float] | None = None,
    gravity: Any = (0.0, 0.0, -9.81),
    formulation: Any = None,
    packages: Any = None,
    fixed: str = "joint",
    inertia: str = "exact",
    massless: str = "refuse",
    limits: str = "stops",
    friction: str = "smoothed",
    shapes: str = "visual",
) -> Document:
    """Read a URDF file; ``mbd.read`` calls it for ``.urdf`` and ``.xacro``.

    Parameters
    ----------
    path : Path
    base : {"fixed", "floating"}
        Whether the root link is the ground or a free body.
    position, rotation : (3,) array [m], scipy Rotation or (3, 3) array
        Of the root link.
    positions, rates : dict
        Initial coordinates of joints [rad or m] and their rates; others are zero.
    gravity : (3,) array [m/s^2]
    formulation : str or Formulation
        Of all bodies.
    packages : path or dict
        Where ``package://name/...`` is: the folder of the packages, or one folder for each name.
        Default: the folders above the file.
    fixed : {"joint", "lumped"}
        Whether fixed joints between links that can be bodies stay joints, with reactions, or all
        such links are one body.
    inertia : {"exact", "repair"}
        Whether inertia that no body can have (negative moments, one above the sum of the others) is
        refused or changed to the nearest that one can have, with a note.
    massless : {"refuse", "repair"}
        Whether links without mass that move are refused, or lumped into their parents if they carry
        no mass, and given a millionth of the mass that they carry else, with a note.
    limits : {"stops", "none"}
        Whether ranges of joints are ``Stop`` parts.
    friction : {"smoothed", "none"}
        Whether dry friction of joints is a ``JointFriction``.
    shapes : {"visual", "collision"}
        Which shapes are drawn.
    """
    try:
        options = Options(
            gravity=gravity, formulation=formulation, packages=packages, fixed=fixed,
            inertia=inertia, massless=massless, limits=limits, friction=friction, shapes=shapes,
        )  # fmt: skip
        floating = one_of("read", "base", base, ("fixed", "floating")) == "floating"
        start = Origin(
            vector("base", "position", position, "m"), rotation_matrix("base", "rotation", rotation)
        )
        robot = parse(path)
        if floating:
            start = start @ settle_root(robot)
        return built(
            robot, path, options, {"t_end": 2.0, "step": 1e-3}, start=start, floating=floating,
            positions=positions, rates=rates,
        )  # fmt: skip
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error
