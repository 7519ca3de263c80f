"""Python scenes from systems: readable, one call per part."""

import keyword
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.parameter import Formula
from mbd.base.recorded_call import signature
from mbd.files.expressions import Expression
from mbd.files.formulas import code_of, law_names, law_texts
from mbd.files.writer import Writer, minimal_call
from mbd.formulations.formulation import Formulation
from mbd.model.description import Description, described_parameters
from mbd.parts.part import Coordinate, Frame, Part

_WIDTH = 98


def scene_text(system: Description, *, run: dict[str, Any], title: str, folder: Path) -> str:
    """Return the text of a scene with ``RUN`` and ``build``."""
    return _Coder(system, folder).scene(run, title or "A model.")


class _Coder:
    """Python expressions for the parts of a system."""

    def __init__(self, system: Description, folder: Path) -> None:
        self.system, self.writer = system, Writer(system, folder)
        parts = list(system.parts.values())
        self.parts = parts
        self.owners: dict[int, int] = {}  # of nodes
        self.names = {id(system.ground): "system.ground"}
        taken = {"system", "mbd", "build", "RUN", "HERE", "formulation", "Rotation", "Path"}
        self.parameters = {}  # names of variables
        self.values = described_parameters(system)
        for name in self.values:
            self.parameters[name] = f"{name}_" if name in taken | {"np"} else name
            taken.add(self.parameters[name])
        for part in parts:
            self.names[id(part)] = name = _identifier(part.name, taken)
            nodes = [x for x in part.nodes() if x is not part]
            self.names |= {id(x): f"{name}.nodes()[{i}]" for i, x in enumerate(nodes)}
            self.owners |= {id(x): id(part) for x in nodes}
            taken.add(name)
        free = [b for b in parts if "formulation" in _takes(b)]
        choices = {minimal_call(b)[1].get("formulation", "so3") for b in free}
        common = choices.pop() if len(choices) == 1 else None
        self.formulation = common if isinstance(common, str) else None
        used = {id(x) for p in parts for x in self._named(tuple(minimal_call(p)[1].values()))}
        self.used = {self.owners.get(x, x) for x in used}

    def _named(self, value: Any) -> list[Any]:
        """Return the parts that a value names; only they need a variable."""
        if isinstance(value, tuple | list):
            return [x for inside in value for x in self._named(inside)]
        if isinstance(value, Coordinate):
            return [self.system.joints.get(value.joint)]
        if isinstance(value, Frame):
            return [value.body]
        return [value] if isinstance(value, Part) else []

    def scene(self, run: dict[str, Any], title: str) -> str:
        """Return the whole text."""
        lines = [f"    {self._added(part)}" for part in self.parts]
        arguments = [f"{self.parameters[k]}: float = {x.value!r}" for k, x in self.values.items()]
        if self.formulation is not None:
            arguments.insert(0, f'formulation: str = "{self.formulation}"')
        bound = [f'    {x} = mbd.Parameter("{k}", {x})' for k, x in self.parameters.items()]
        settings = ", ".join(f'"{k}": {self.code(x)}' for k, x in run.items())
        gravity = self.code(self.system.gravity_as_written) if self.system.gravity.any() else ""
        body = "\n".join(lines)
        text = (
            (f"RUN = {{{settings}}}\n" if run else "")
            + f"\n\ndef build({', '.join(arguments)}) -> mbd.System:\n"
            + '    """Return the system."""\n'
            + "".join(f"{line}\n" for line in bound)
            + f"    system = mbd.System({'gravity=' * bool(gravity)}{gravity})\n"
            + f"{body}\n    return system\n"
        )
        numpy = ["import numpy as np\n"] * ("np." in text)
        heads = ["from pathlib import Path\n"] * ("HERE /" in text)
        rotation = "from scipy.spatial.transform import Rotation\n" * ("Rotation." in text)
        here = "HERE = Path(__file__).parent\n" * ("HERE /" in text)
        title = title.replace("\\", "\\\\").replace('"""', "'''").rstrip(".") + "."
        imports = "\n".join(x for x in (*heads, *numpy, rotation, "import mbd\n") if x)
        return f'"""{title}"""\n\n{imports}\n{here}{text}'

    def _added(self, part: Any) -> str:
        maker, _ = minimal_call(part)
        self.writer.part(part)  # refuses what a file cannot hold
        got = minimal_call(part)[1]
        if self.formulation is not None and "formulation" in _takes(part):
            got["formulation"] = None  # the argument of build
        takes = signature(maker).parameters.items()
        plain = {k for k, x in takes if x.default is x.empty and x.kind is not x.KEYWORD_ONLY}
        calls = [x if k in plain else f"{k}={x}" for k, x in self._codes(maker, got)]
        target = f"{self.names[id(part)]} = " if id(part) in self.used else ""
        return _call(f"{target}system.add(", f"mbd.{maker.__name__}", calls)

    def _codes(self, maker: Any, got: dict[str, Any]) -> list[tuple[str, str]]:
        keys = [k for k in signature(maker).parameters if k in got]
        return [(k, "formulation" if got[k] is None else self.code(got[k])) for k in keys]

    def _call_code(self, value: Any) -> str:
        maker, got = minimal_call(value)
        arguments = ", ".join(f"{k}={x}" for k, x in self._codes(maker, got))
        return f"mbd.{maker.__qualname__}({arguments})"

    def code(self, value: Any) -> str:
        """Return a value as an expression of Python."""
        match value:
            case np.generic() | np.ndarray():
                return self.code(value.tolist())
            case str():
                text = repr(value)
                single = text[0] == "'" and "\\'" not in text and '"' not in text
                return f'"{text[1:-1]}"' if single else text
            case int() | float() | None:
                return repr(value)
            case tuple() | list():
                inside = ", ".join(self.code(x) for x in value)
                return f"({inside},)" if len(value) == 1 else f"({inside})"
            case Expression():
                own = [f"{name}={self.parameters[name]}" for name in law_names(value)]
                arguments = ", ".join([*map(repr, law_texts(value)), *own])
                return f"mbd.Expression({arguments})".replace("'", '"')
            case Formula():
                return code_of(value, self.parameters)
            case Frame():
                _, got = minimal_call(value)
                arguments = ", ".join(f"{k}={self.code(x)}" for k, x in got.items() if k != "body")
                return f"{self.names[id(value.body)]}.frame({arguments})"
            case Path() | Rotation() | Formulation() | Coordinate() | Part():
                return self._of_plain(value, self.writer.plain(value))
        return self._call_code(value)

    def _of_plain(self, value: Any, plain: Any) -> str:
        """Return the expression of what a file has by a form of its own."""
        match value:
            case Path():
                return f"HERE / {self.code(plain)}"
            case Formulation():
                return f'"{plain}"' if isinstance(plain, str) else self._call_code(value)
            case Coordinate():
                return f"{self.names[id(self.system.joints[plain['joint']])]}.{value.name}"
            case Part():
                return self.names[id(value)]
        if isinstance(plain, list):
            return self.code(plain)
        if "rotvec" in plain:
            return f"Rotation.from_rotvec({plain['rotvec']})"
        w, x, y, z = plain["quaternion"]
        return f"Rotation.from_quat([{x}, {y}, {z}, {w}])"


def _takes(part: Any) -> Any:
    return signature(part.call.maker).parameters


def _identifier(name: str, taken: set[str]) -> str:
    word = re.sub(r"\W+", "_", name).strip("_").lower() or "part"
    word = f"part_{word}" if word[0].isdigit() else word
    word += "_" * keyword.iskeyword(word)
    number = 2
    while word in taken:
        word, number = f"{word.removesuffix(f'_{number - 1}')}_{number}", number + 1
    return word


def _call(before: str, function: str, arguments: list[str]) -> str:
    """Return a call inside ``before(...)``, one argument a line if it does not fit in one line."""
    line = f"{before}{function}({', '.join(arguments)}))"
    if len(line) + 4 <= _WIDTH:
        return line
    inside = "".join(f"            {_rows(x)},\n" for x in arguments)
    return f"{before}\n        {function}(\n{inside}        )\n    )"


def _rows(argument: str) -> str:
    """Return a matrix that does not fit in a line with one row a line."""
    key, _, value = argument.partition("=")
    if len(argument) + 14 <= _WIDTH or not value.startswith("(("):
        return argument
    indent = " " * 16
    rows = value[1:-1].replace("), (", f"),\n{indent}(")
    return f"{key}=(\n{indent}{rows},\n            )"
