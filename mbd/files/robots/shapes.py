"""Shapes of bodies from those of files; meshes are looked for where the file says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mbd.files.robots.description import Visual
from mbd.files.robots.xml_tree import Notes
from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

__all__ = ["finder", "shapes"]

Find = Callable[[str], tuple[Path | None, str]]


def _rest(visual: Visual) -> dict[str, Any]:
    return {"at": visual.origin.position, "color": visual.color}


def _box(visual: Visual) -> Box:
    return Box(visual.numbers, rotation=visual.origin.rotation, **_rest(visual))


def _sphere(visual: Visual) -> Sphere:
    return Sphere(visual.numbers[0], **_rest(visual))


def _cylinder(visual: Visual) -> Cylinder:
    return Cylinder(*visual.numbers, axis=visual.origin.rotation[:, 2], **_rest(visual))


def _capsule(visual: Visual) -> Capsule:
    return Capsule(*visual.numbers, axis=visual.origin.rotation[:, 2], **_rest(visual))


_PLAIN: dict[str, Callable[[Visual], Shape]] = {
    "box": _box, "sphere": _sphere, "cylinder": _cylinder, "capsule": _capsule,
}  # fmt: skip


def shapes(visuals: Sequence[Visual], who: str, find: Find, notes: Notes) -> tuple[Shape, ...]:
    """Return the shapes of a link; those that cannot be shown are noted."""
    drawn: list[Shape] = []
    for visual in visuals:
        try:
            if visual.kind in _PLAIN:
                drawn.append(_PLAIN[visual.kind](visual))
            elif visual.kind == "mesh":
                drawn.append(_mesh(visual, find))
            else:
                raise ValueError(f"there is no such shape here: {visual.kind}")
        except (ValueError, OSError) as error:
            what = f"the mesh {visual.file!r}" if visual.file else f"a shape ({visual.kind})"
            notes.add(f"{who}: {what} is not used: {error}")
    return tuple(drawn)


def _mesh(visual: Visual, find: Find) -> Mesh:
    if len(set(visual.numbers)) != 1:
        raise ValueError(f"its scale {visual.numbers} differs from axis to axis")
    if visual.numbers[0] <= 0.0:
        raise ValueError(f"its scale {visual.numbers} is not positive")
    path, why = find(visual.file)
    if path is None:
        raise ValueError(why)
    return Mesh(path, scale=visual.numbers[0], rotation=visual.origin.rotation, **_rest(visual))


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
