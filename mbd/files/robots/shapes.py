"""Shapes of bodies from those of files; meshes are looked for where the file says."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mbd.files.robots.description import Visual
from mbd.files.robots.xml_tree import Notes
from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

Find = Callable[[str], tuple[Path | None, str]]


_PLAIN: dict[str, Callable[..., Shape]] = {  # of numbers, rotation, and what all take
    "box": lambda x, R, **rest: Box(x, rotation=R, **rest),
    "sphere": lambda x, R, **rest: Sphere(x[0], **rest),
    "cylinder": lambda x, R, **rest: Cylinder(*x, axis=R[:, 2], **rest),
    "capsule": lambda x, R, **rest: Capsule(*x, axis=R[:, 2], **rest),
}


def shapes(visuals: Sequence[Visual], who: str, find: Find, notes: Notes) -> tuple[Shape, ...]:
    """Return the shapes of a link; those that cannot be shown are noted."""
    drawn: list[Shape] = []
    for visual in visuals:
        place, R = visual.origin.position, visual.origin.rotation
        try:
            make = _mesh(visual, find) if visual.type == "mesh" else _PLAIN.get(visual.type)
            if make is None:
                raise ValueError(f"there is no such shape here: {visual.type}")
            drawn.append(make(visual.numbers, R, at=place, color=visual.color))
        except (ValueError, OSError) as error:
            what = f"the mesh {visual.file!r}" if visual.file else f"a shape ({visual.type})"
            notes.add(f"{who}: {what} is not used: {error}")
    return tuple(drawn)


def _mesh(visual: Visual, find: Find) -> Callable[..., Shape]:
    if len(set(visual.numbers)) != 1:
        raise ValueError(f"its scale {visual.numbers} differs from axis to axis")
    if visual.numbers[0] <= 0.0:
        raise ValueError(f"its scale {visual.numbers} is not positive")
    path, why = find(visual.file)
    if path is None:
        raise ValueError(why)
    return lambda x, R, **rest: Mesh(path, scale=x[0], rotation=R, **rest)


def finder(folder: Path, packages: Any) -> Find:
    """Return what finds the file of a name: of a path from the folder, ``file://``, ``package://``.

    It returns the file, or None and why not.
    """

    def find(name: str) -> tuple[Path | None, str]:
        address = urlparse(name)
        if address.scheme == "package":
            package, inside = address.netloc, unquote(address.path).lstrip("/")
            if isinstance(packages, dict):
                places = [Path(packages[package])] if package in packages else []
            elif packages is not None:
                places = [Path(packages) / package]
            else:
                above = folder.resolve()
                places = [p / package for p in (above, *above.parents)]
                places += [p for p in (above, *above.parents) if p.name == package]
            tried = [place / inside for place in places]
        elif address.scheme == "file":
            tried = [Path(unquote(address.path))]
        else:
            tried = [folder / name]
        for path in tried:
            if path.is_file():
                return path, ""
        if address.scheme == "package":
            return None, f"no folder of the package {package!r} has it; give packages="
        return None, "there is no such file"

    return find
