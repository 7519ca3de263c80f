"""Options of readers of robots: one table for URDF and MJCF."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from mbd.base.checked import one_of
from mbd.files.modelfile import ModelFile


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """Options of ``mbd.read`` for every robot, in addition to those of its kind of file.

    Parameters
    ----------
    positions, rates : dict
        Initial coordinates of joints with one [rad or m], and their rates. Others are zero, or as
        the file says.
    gravity : (3,) array [m/s^2], optional
        Default that of the file; (0, 0, -9.81) where it has none.
    formulation : str or Formulation
        Of all bodies.
    packages : path or dict
        Of URDF: where ``package://name/...`` is, the folder of the packages, or one folder for each
        name. Default: the folders above the file.
    fixed : {"joint", "lumped"}
        Whether fixed joints between links that can be bodies stay joints, with reactions, or all
        such links are one body.
    inertia : {"exact", "repair"}
        Whether inertia that no body can have (negative moments, one above the sum of the others) is
        refused or changed to the nearest that one can have, with a note.
    massless : {"refuse", "repair"}
        Of URDF: whether links without mass that move are refused, or lumped into their parents if
        they carry no mass, and given a millionth of the mass that they carry else, with a note.
    limits : {"stops", "none"}
        Whether ranges of joints are ``Stop`` parts.
    friction : {"smoothed", "none"}
        Whether dry friction of joints is a ``JointFriction``.
    actuators : {"act", "none"}
        Of MJCF: whether actuators are parts, with commands of zero, or those of the key.
    loops : {"closed", "open"}
        Of MJCF: whether equalities hold.
    shapes : {"visual", "collision"}
        Which shapes are drawn.
    """

    positions: Any = None
    rates: Any = None
    gravity: Any = None
    formulation: Any = None
    packages: Any = None
    fixed: Literal["joint", "lumped"] = "joint"
    inertia: Literal["exact", "repair"] = "exact"
    massless: Literal["refuse", "repair"] = "refuse"
    limits: Literal["stops", "none"] = "stops"
    friction: Literal["smoothed", "none"] = "smoothed"
    actuators: Literal["act", "none"] = "act"
    loops: Literal["closed", "open"] = "closed"
    shapes: Literal["visual", "collision"] = "visual"

    def __post_init__(self) -> None:
        for what, hint in get_type_hints(RobotOptions).items():
            if words := get_args(hint):
                one_of("read", what, getattr(self, what), words)


def reader(*without: str) -> Callable[[Callable[..., ModelFile]], Callable[..., ModelFile]]:
    """Let a function that reads robots show these options, but for some, as its own arguments.

    Its errors name the file.
    """

    def showing(read: Callable[..., ModelFile]) -> Callable[..., ModelFile]:
        @wraps(read)
        def named(path: Path, **options: Any) -> ModelFile:
            try:
                return read(path, **options)
            except (ValueError, TypeError, OSError) as error:
                raise ValueError(f"{path}: {error}") from error
            except RecursionError:
                raise ValueError(f"{path}: is nested too deeply; are elements closed?") from None

        own = [*signature(read).parameters.values()][:-1]
        takes = [*own, *signature(RobotOptions).parameters.values()]
        takes = [x for x in takes if x.name not in without]
        named.__signature__ = Signature(takes)  # type: ignore[attr-defined]
        return named

    return showing
