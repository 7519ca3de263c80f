"""Floor 1. One file per choice of coordinates; looked up here by name, imported when needed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbd.formulations.formulation import Formulation

__all__ = ["NAMES", "named"]

_WHERE = {
    "so3": ("so3", "SO3"),
    "directors": ("directors", "DIRECTORS"),
    "euler_parameters": ("euler_parameters", "EULER_PARAMETERS"),
    "scalable": ("scalable", "SCALABLE"),
    "se3": ("se3", "SE3"),
    "unified": ("unified", "UNIFIED"),
    "point": ("point", "POINT"),
}
NAMES = tuple(n for n in _WHERE if n != "point")  # what a rigid body may have


def named(name: str) -> Formulation:
    """Return the formulation called ``name``."""
    module, attribute = _WHERE[name]
    found: Formulation = getattr(importlib.import_module(f"mbd.formulations.{module}"), attribute)
    return found
