"""The public names of the package, each imported when it is first used; the version."""

import importlib
import re
from pathlib import Path
from typing import Any

VERSION = "0.1.0"
_LIST = Path(__file__).parents[1] / "__init__.pyi"
_LINE = re.compile(r"^from (mbd\.\S+) import (\w+) as", re.MULTILINE)

#: name -> module
PLACES = dict(sorted((name, module) for module, name in _LINE.findall(_LIST.read_text())))


def public(name: str) -> Any:
    """Return a public class or function."""
    return getattr(importlib.import_module(PLACES[name]), name)
