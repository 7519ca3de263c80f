"""Shapes of bodies: how they look, and with what they touch others (``mbd.Contact``).

All are placed by ``at`` (their centre, in body axes [m]); several of them may be one body.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import number, rotation_matrix, unit_vector, vector
from mbd.base.recorded_call import Recorded
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


def smallest_turn(axis: np.ndarray) -> np.ndarray:
    """Return the smallest rotation that turns z to `axis`, as columns."""
    x, y, z = axis.tolist()
    across = x * x + y * y
    if across == 0.0:
        return np.diag([1.0, np.sign(z), np.sign(z)])
    k = (1 - z) / across  # 1 / (1 + z), without cancellation near -z
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])


def _bar(
    owner: str, radius: Any, length: Any, at: Any, axis: Any
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray]:
    """Return radius, length, centre, axis and rotation of a round bar."""
    radius = number(owner, "radius", radius, "m", positive=True)
    length = number(owner, "length", length, "m", positive=True)
    at, axis = vector(owner, "at", at, "m"), unit_vector(owner, "axis", axis)
    return radius, length, at, axis, smallest_turn(axis)


class Box(Recorded):
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

    def __init__(
        self, size: Any, at: Any = _ORIGIN, rotation: Any = None, color: Any = None
    ) -> None:
        self.size = vector("Box", "size", size, "m")
        if self.size.min() <= 0:
            raise ValueError(f"Box: size must be positive [m], got {self.size.tolist()}")
        self.at = vector("Box", "at", at, "m")
        self.rotation = rotation_matrix("Box", "rotation", rotation)
        self.color = _color("Box", color)


class Sphere(Recorded):
    """A ball.

    Parameters
    ----------
    radius : float [m]
    at : (3,) array [m]
        Centre, in body axes.
    color : str or (3,) array, optional
    """

    def __init__(self, radius: float, at: Any = _ORIGIN, color: Any = None) -> None:
        self.radius = number("Sphere", "radius", radius, "m", positive=True)
        self.at = vector("Sphere", "at", at, "m")
        self.rotation = np.eye(3)
        self.color = _color("Sphere", color)


class Cylinder(Recorded):
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

    def __init__(
        self, radius: float, length: float, at: Any = _ORIGIN, axis: Any = (0.0, 0.0, 1.0),
        color: Any = None,
    ) -> None:  # fmt: skip
        bar = _bar("Cylinder", radius, length, at, axis)
        self.radius, self.length, self.at, self.axis, self.rotation = bar
        self.color = _color("Cylinder", color)


class Capsule(Recorded):
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

    def __init__(
        self, radius: float, length: float, at: Any = _ORIGIN, axis: Any = (0.0, 0.0, 1.0),
        color: Any = None,
    ) -> None:  # fmt: skip
        bar = _bar("Capsule", radius, length, at, axis)
        self.radius, self.length, self.at, self.axis, self.rotation = bar
        self.color = _color("Capsule", color)


class Mesh(Recorded):
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

    def __init__(
        self, file: str | Path, scale: float = 1.0, at: Any = _ORIGIN, rotation: Any = None,
        color: Any = None,
    ) -> None:  # fmt: skip
        vertices, self.triangles = read_mesh(file)
        self.file = Path(file)
        self.scale = number("Mesh", "scale", scale, "m per unit of the file", positive=True)
        self.vertices = self.scale * vertices
        self.at = vector("Mesh", "at", at, "m")
        self.rotation = rotation_matrix("Mesh", "rotation", rotation)
        self.color = _color("Mesh", color)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return its triangles: the file may not be where it is unpickled."""
        return object.__reduce_ex__(self, protocol)


Shape = Box | Sphere | Cylinder | Capsule | Mesh
Touching = Box | Sphere | Capsule  # what contacts take


def checked_shapes(owner: str, value: Any, argument: str = "shape") -> tuple[Shape, ...]:
    """Return the shapes of a body: none, one or several."""
    if value is None:
        return ()
    if isinstance(value, Shape):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(x, Shape) for x in value):
        raise TypeError(
            f"{owner}: {argument} must be an mbd.Box, Cylinder, Capsule, Sphere or Mesh, or "
            f"several in a list, got {shown(value)}"
        )
    return tuple(value)


def touching(owner: str, what: str, shapes: Sequence[Shape]) -> tuple[Touching, ...]:
    """Return shapes that all can touch others; refuse those that cannot by name."""
    for shape in shapes:
        if not isinstance(shape, Touching):
            raise TypeError(
                f"{owner}: {what} must be spheres, boxes or capsules, got "
                f"a {type(shape).__name__}; take Frames of the body, which touch as points"
            )
    return tuple(x for x in shapes if isinstance(x, Touching))
