"""Formulations: one file per choice of coordinates, imported by name when needed."""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbd.formulations.formulation import Formulation

_WHERE = {
    "so3": ("so3", "CANONICAL"),
    "directors": ("directors", "DIRECTORS"),
    "euler_parameters": ("euler_parameters", "EULER_PARAMETERS"),
    "scalable": ("scalable", "SCALABLE"),
    "se3": ("se3", "CANONICAL"),
    "unified": ("unified", "UNIFIED"),
    "point": ("point", "POINT"),
}
_WITH_OPTIONS = {
    "SO3": "so3",
    "SE3": "se3",
    "S2": "s2",
    "InPlane": "in_plane",
    "EulerParameters": "euler_parameters",
    "Unified": "unified",
    "Scalable": "scalable",
}
NAMES = tuple(n for n in _WHERE if n != "point")  # what a rigid body may have


def named(name: str) -> "Formulation":
    """Return the formulation of a name, or of words with options, "Unified('tetrahedral')"."""
    if name not in _WHERE:
        return _with_options(name)
    formulation: Formulation = _attribute(*_WHERE[name])
    return formulation


@cache
def _attribute(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"mbd.formulations.{module}"), name)


def _with_options(words: str) -> "Formulation":
    """Return the formulation that the words of a call make."""
    from mbd.base.checked import shown
    from mbd.base.spoken_options import call_of_literals

    classes = {
        name: _attribute(module, name)
        for name, module in _WITH_OPTIONS.items()
        if words.partition("(")[0].strip() == name
    }
    if not classes:
        raise ValueError(
            f"formulation must be one of {', '.join(NAMES)}, or one of {', '.join(_WITH_OPTIONS)} "
            f"with options, such as EulerParameters('reduced'), got {shown(words)}"
        )
    example = "EulerParameters('reduced')"
    formulation: Formulation = call_of_literals(words, classes, "formulation", example)
    return formulation
