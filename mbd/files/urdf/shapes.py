"""Shapes of bodies from URDF visuals; meshes are looked for where the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mbd.files.urdf.description import Link, Visual
from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Sphere

__all__ = ["found_file", "shapes"]


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


_PLAIN = {"box": _box, "sphere": _sphere, "cylinder": _cylinder, "capsule": _capsule}


def shapes(link: Link, folder: Path, packages: Any, notes: list[str]) -> list[Any] | None:
    """Return the shapes of a link; those that cannot be shown are noted. None: nothing is said."""
    drawn: list[Any] = []
    for visual in link.visuals:
        if visual.kind in _PLAIN:
            drawn.append(_PLAIN[visual.kind](visual))
        elif visual.kind == "mesh":
            mesh, why = _mesh(visual, folder, packages)
            if mesh is None:
                notes.append(f"link {link.name!r}: the mesh {visual.file!r} is not used: {why}")
            else:
                drawn.append(mesh)
    return drawn or None


def _mesh(visual: Visual, folder: Path, packages: Any) -> tuple[Mesh | None, str]:
    if len(set(visual.numbers)) != 1:
        return None, f"its scale {visual.numbers} differs from axis to axis"
    if visual.numbers[0] <= 0.0:
        return None, f"its scale {visual.numbers} is not positive"
    path, why = found_file(visual.file, folder, packages)
    if path is None:
        return None, why
    if path.suffix.lower() not in (".stl", ".obj"):
        return None, "only .stl and .obj are read; convert it"
    scale, turn = visual.numbers[0], visual.origin.rotation
    return Mesh(path, scale=scale, rotation=turn, **_rest(visual)), ""


def found_file(name: str, folder: Path, packages: Any) -> tuple[Path | None, str]:
    """Return the file of a name: a path from the folder, ``file://`` or ``package://``."""
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
