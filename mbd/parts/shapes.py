"""Shapes of bodies: how they look. Nothing is computed from them.

All are placed by ``at`` (their centre, in body axes [m]); several of them may be one body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import number, rotation_matrix, unit_vector, vector
from mbd.parts.meshes import read_mesh

_ORIGIN = (0.0, 0.0, 0.0)


def _color(owner: str, value: Any) -> str | None:
    """Return "#rrggbb" of such a string or of three numbers in [0, 1]."""
    if value is None:
        return None
    if isinstance(value, str):
        digits = value.removeprefix("#").lower()
        if value[:1] != "#" or len(digits) != 6 or set(digits) - set("0123456789abcdef"):
            raise ValueError(
                f'{owner}: color must be "#rrggbb" or three numbers in [0, 1], got {shown(value)}'
            )
        return value.lower()
    rgb = vector(owner, "color", value, "in [0, 1]")
    if rgb.min() < 0 or rgb.max() > 1:
        raise ValueError(f"{owner}: color must be three numbers in [0, 1], got {rgb.tolist()}")
    return "#" + "".join(f"{round(255 * x):02x}" for x in rgb.tolist())


def _along(axis: np.ndarray) -> np.ndarray:
    """Return the smallest rotation that turns z to `axis`, as columns."""
    x, y, z = axis.tolist()
    across = x * x + y * y
    if across == 0.0:
        return np.diag([1.0, np.sign(z), np.sign(z)])
    k = (1 - z) / across  # 1 / (1 + z), without cancellation near -z
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])


def _set(shape: Any, **values: Any) -> None:
    for key, value in values.items():
        object.__setattr__(shape, key, value)


@dataclass(frozen=True, eq=False)
class Box:
    """A rectangular box.

    Parameters
    ----------
    size : (3,) array [m]
        Lengths of the edges along its axes.
    at : (3,) array [m]
        Centre, in body axes.
    rotation : scipy Rotation or (3, 3) array, optional
        Axes of the box in body axes.
    color : str or (3,) array, optional
        "#rrggbb" or three numbers in [0, 1]; default one of a palette.
    """

    size: Any
    at: Any = _ORIGIN
    rotation: Any = None
    color: Any = None

    def __post_init__(self) -> None:
        size = vector("Box", "size", self.size, "m")
        if size.min() <= 0:
            raise ValueError(f"Box: size must be positive [m], got {size.tolist()}")
        at = vector("Box", "at", self.at, "m")
        rotation = rotation_matrix("Box", "rotation", self.rotation)
        _set(self, size=size, at=at, rotation=rotation, color=_color("Box", self.color))


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball.

    Parameters
    ----------
    radius : float [m]
    at : (3,) array [m]
        Centre, in body axes.
    color : str or (3,) array, optional
    """

    radius: Any
    at: Any = _ORIGIN
    color: Any = None
    rotation: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        radius = number("Sphere", "radius", self.radius, "m", positive=True)
        at = vector("Sphere", "at", self.at, "m")
        _set(self, radius=radius, at=at, color=_color("Sphere", self.color))


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A round bar or a disc with flat ends.

    Parameters
    ----------
    radius, length : float [m]
    at : (3,) array [m]
        Centre, in body axes.
    axis : (3,) array [-]
        In body axes.
    color : str or (3,) array, optional
    """

    radius: Any
    length: Any
    at: Any = _ORIGIN
    axis: Any = (0.0, 0.0, 1.0)
    color: Any = None
    rotation: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        _round_bar(self, "Cylinder")


@dataclass(frozen=True, eq=False)
class Capsule:
    """A round bar with half balls at its ends.

    Parameters
    ----------
    radius, length : float [m]
        Length between the centres of the half balls: from joint to joint, for a link.
    at : (3,) array [m]
        Centre, in body axes.
    axis : (3,) array [-]
        In body axes.
    color : str or (3,) array, optional
    """

    radius: Any
    length: Any
    at: Any = _ORIGIN
    axis: Any = (0.0, 0.0, 1.0)
    color: Any = None
    rotation: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        _round_bar(self, "Capsule")


def _round_bar(bar: Cylinder | Capsule, owner: str) -> None:
    axis = unit_vector(owner, "axis", bar.axis)
    _set(
        bar,
        radius=number(owner, "radius", bar.radius, "m", positive=True),
        length=number(owner, "length", bar.length, "m", positive=True),
        at=vector(owner, "at", bar.at, "m"),
        axis=axis,
        rotation=_along(axis),
        color=_color(owner, bar.color),
    )


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles of a file.

    Parameters
    ----------
    file : str or Path
        ``.stl`` (text or binary) or ``.obj``.
    scale : float [m]
        Metres per unit of the file; 1e-3 for a file in millimetres.
    at : (3,) array [m]
        Origin of the file, in body axes.
    rotation : scipy Rotation or (3, 3) array, optional
        Axes of the file in body axes.
    color : str or (3,) array, optional

    Attributes
    ----------
    vertices : (n, 3) array [m]
        In the axes of the file.
    triangles : (m, 3) array of int
    """

    file: Any
    scale: Any = 1.0
    at: Any = _ORIGIN
    rotation: Any = None
    color: Any = None
    vertices: np.ndarray = field(init=False, repr=False)
    triangles: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vertices, triangles = read_mesh(self.file)
        scale = number("Mesh", "scale", self.scale, "m per unit of the file", positive=True)
        _set(
            self,
            file=Path(self.file),
            scale=scale,
            at=vector("Mesh", "at", self.at, "m"),
            rotation=rotation_matrix("Mesh", "rotation", self.rotation),
            color=_color("Mesh", self.color),
            vertices=scale * vertices,
            triangles=triangles,
        )


Shape = Box | Sphere | Cylinder | Capsule | Mesh


def checked_shapes(owner: str, value: Any) -> tuple[Shape, ...]:
    """Return the shapes of a body: none, one or several."""
    if value is None:
        return ()
    if isinstance(value, Shape):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(x, Shape) for x in value):
        raise TypeError(
            f"{owner}: shape must be an mbd.Box, Cylinder, Capsule, Sphere or Mesh, or several in "
            f"a list, got {shown(value)}"
        )
    return tuple(value)
