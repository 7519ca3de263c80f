"""Places of a YAML file, with keys and lines; values are read when they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.checked import absent, extra, shown
from mbd.files.modelfile import text_of
from mbd.files.wind.text import LARGEST_FILE, in_si


@dataclass(frozen=True, eq=False)
class YamlPlace:
    """A value of a YAML file: a scalar, a list or a table, at a place.

    Attributes
    ----------
    path : Path
    keys : tuple of str
    node : a node of pyyaml
    """

    path: Path
    keys: tuple[str, ...]
    node: Any

    @classmethod
    def root(cls, who: str, path: Path) -> "YamlPlace":
        """Return the whole of a file."""
        extra(who, "YAML files need", "yaml", "wind")
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster
        try:
            node = yaml.compose(text_of(path, most=LARGEST_FILE), Loader=loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f" (line {mark.line + 1})" if mark else ""
            what = getattr(error, "problem", None) or str(error).split("\n", maxsplit=1)[0]
            raise ValueError(f"{path}: is no YAML: {what}{line}") from None
        except RecursionError:
            raise ValueError(f"{path}: is nested too deeply for a turbine") from None
        except (ValueError, OSError) as error:
            raise ValueError(f"{path}: {error}") from None
        place = cls(path, (), node)
        place.keyed()
        return place

    def __str__(self) -> str:
        line = f" (line {self.node.start_mark.line + 1})" if self.node is not None else ""
        return f"{self.path}: {'.'.join(self.keys) or 'the file'}{line}"

    def must(self, expected: str, got: Any = None) -> ValueError:
        """Return the error of what stands here."""
        if got is None:
            got = getattr(self.node, "value", None)
            got = got if isinstance(got, str) else f"a {getattr(self.node, 'id', 'nothing')}"
        return ValueError(f"{self} must be {expected}, got {shown(got)}")

    def keyed(self) -> dict[str, Any]:
        """Return the nodes of a table by key."""
        if getattr(self.node, "id", None) != "mapping":
            raise self.must("a table with keys")
        pairs = {key.value: value for key, value in self.node.value if isinstance(key.value, str)}
        if len(pairs) < len(self.node.value):
            raise self.must(
                "a table with words as keys, each once", [k.value for k, _ in self.node.value]
            )
        return pairs

    def __contains__(self, key: str) -> bool:
        return getattr(self.node, "id", None) == "mapping" and key in self.keyed()

    def __truediv__(self, key: str) -> "YamlPlace":
        pairs = self.keyed()
        if key not in pairs:
            raise ValueError(f"{self}: {absent('', key, pairs)}")
        return YamlPlace(self.path, (*self.keys, key), pairs[key])

    def first(self, *paths: str) -> "YamlPlace | None":
        """Return the place of the first dotted path that there is."""
        for dotted in paths:
            place: YamlPlace = self
            for key in dotted.split("."):
                if key not in place:
                    break
                place /= key
            else:
                return place
        return None

    def __iter__(self) -> Iterator["YamlPlace"]:
        if getattr(self.node, "id", None) != "sequence":
            raise self.must("a list")
        for i, node in enumerate(self.node.value):
            yield YamlPlace(self.path, (*self.keys[:-1], f"{self.keys[-1]}[{i}]"), node)

    def text(self) -> str:
        """Return a word."""
        if getattr(self.node, "id", None) != "scalar":
            raise self.must("a word")
        return str(self.node.value)

    def number(self, unit: str, least: float | None = None) -> float:
        """Return a finite number in SI."""
        return in_si(getattr(self.node, "value", None), unit, least, self.must)

    def numbers(self, unit: str) -> np.ndarray:
        """Return a list of numbers in SI."""
        if getattr(self.node, "id", None) != "sequence":
            raise self.must("a list of numbers")
        return np.array([x.number(unit) for x in self])
