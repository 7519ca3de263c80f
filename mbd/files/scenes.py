"""Scenes: Python files with ``build(**parameters) -> mbd.System``, and model files.

Besides ``build`` a scene may have ``RUN``, a dictionary with arguments of ``mbd.simulate``: those
of the table ``run`` of model files, and ``rho`` and ``events``. So it is run when the command line
says nothing else. ``REFERENCE`` is what is known of it with the parameters that it has by itself,
(name, t, value, how near a run comes, source), which `mbd.bench` measures against. A model file
(``modelfile.py``) is a scene, whose parameters are the options of its reader.
"""

import ast
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from mbd.base.checked import absent, meant, shown
from mbd.model.system import System


@dataclass(frozen=True)
class Scene:
    """A scene that was read.

    Attributes
    ----------
    path : Path
    make : callable
        The scene's ``build``.
    run : dict
        The scene's ``RUN``.
    notes : tuple of str
        What an imported file says and the model does not use.
    module : module, optional
        The Python file that was run.
    """

    path: Path
    make: Callable[..., System]
    run: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    module: ModuleType | None = None

    def build(self, parameters: dict[str, Any]) -> System:
        """Return the system for the given parameters; unknown ones list those that exist."""
        takes = inspect.signature(self.make).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            for name in parameters:
                if name not in takes:
                    raise ValueError(
                        f"{self.path.name}: build has no parameter {name!r}"
                        f"{meant(name, takes)}; it has "
                        f"{', '.join(takes) or 'none'}"
                    )
        system = self.make(**parameters)
        if not isinstance(system, System):
            raise TypeError(
                f"{self.path.name}: build must return an mbd.System, got {shown(system)}"
            )
        return system


def folder() -> Path:
    """Return the folder of the scenes that come with the package: installed, or in a clone."""
    package = Path(__file__).parents[1]
    for place in (package / "models", package.parent / "models"):
        if (place / "fourbar.py").is_file():
            return place
    raise FileNotFoundError(
        f"the scenes of mbd are neither in {package / 'models'} nor next to the package; "
        "install it from a wheel or a clone"
    )


def shipped() -> dict[str, Path]:
    """Return the scenes that come with the package, by name."""
    return {p.stem: p for p in sorted(folder().glob("*.py")) if not p.stem.startswith("_")}


def named(name: str) -> Path:
    """Return the file of a shipped scene."""
    paths = shipped()
    if name not in paths:
        raise ValueError(absent("scene ", name, paths))
    return paths[name]


def summary(path: Path) -> str:
    """Return the first line of a scene's docstring, without running the file."""
    if path.suffix != ".py":
        from mbd.files import modelfile

        return modelfile.reader(path)(path).title
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0]


def load(path: str | Path) -> Scene:
    """Read the scene of a path, or of the name of a shipped one."""
    path = Path(path)
    if not path.suffix and not path.exists():
        path = named(str(path))
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; `mbd demo` lists the scenes that come with mbd"
        )
    if path.suffix == ".py":
        return _python(path)
    from mbd.files import modelfile

    if path.suffix not in modelfile.READERS:
        raise ValueError(
            f"{path}: a model must be a Python file (.py) with build(**parameters) or a model file "
            f"({', '.join(modelfile.READERS)})"
        )
    read = modelfile.reader(path)

    model = read(path)
    own = model.parameters  # of the file, which are options too

    def make(**options: Any) -> System:
        values = {name: options.pop(name) for name in own if name in options}
        return read(path, **options, **({"parameters": values} if values else {})).system

    _, *takes = inspect.signature(read).parameters.values()  # without the path
    takes = [x for x in takes if x.name != "parameters"]
    takes += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in own
              if name not in [x.name for x in takes]]  # fmt: skip
    make.__signature__ = inspect.Signature(takes)  # type: ignore[attr-defined]
    return Scene(path, make, model.run, model.notes)


def _python(path: Path) -> Scene:
    from mbd.machine.private_numba import uncached

    name = f"mbd_scene_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: cannot be read as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        # from its text: bytecode that is kept may be of an edit within the same second
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        with uncached(name):
            exec(code, module.__dict__)
    except Exception as error:  # a scene is a program
        lines = [x.lineno for x in traceback.extract_tb(error.__traceback__)
                 if x.filename == str(path)]  # fmt: skip
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
        where = f" (line {line})" if line else ""
        what = " ".join(str(error).split())
        raise ValueError(f"{path}: {type(error).__name__}: {what}{where}") from error
    finally:
        sys.path.pop(0)
    make = getattr(module, "build", None)
    if not callable(make):
        raise ValueError(
            f"{path}: a scene must have a function build(**parameters) that returns an mbd.System"
        )
    run = dict(getattr(module, "RUN", {}))
    from mbd.files.vocabulary import run_settings

    takes = (*run_settings(), "rho", "events")  # events are functions, which model files lack
    for key in run:
        if key not in takes:
            raise ValueError(f"{path}: RUN has no entry {key!r}; it may have {', '.join(takes)}")
    if "method" in run:
        from mbd.runs.methods import method

        try:
            run["method"] = method(run["method"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: RUN: {error}") from None
    return Scene(path, make, run, module=module)


def parameter(text: str) -> tuple[str, Any]:
    """Return name and value of ``name=value``: a Python literal, or else a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        raise ValueError(f"a parameter must be written name=value, got {shown(text)}")
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name, value.strip()
