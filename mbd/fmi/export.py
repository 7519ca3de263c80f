"""``mbd.export_fmu``: a model as a unit of co-simulation, FMI 3.0.

The unit is an archive: its description, the model, and a library of a few functions (``shim.c``)
which the compiler of this machine makes. The library starts a Python process with a ``Stepper`` and
passes calls to it, so that the tool and the model share no memory and no packages.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mbd.base.atomic import replaced, scratch
from mbd.base.checked import file_path, names, shown
from mbd.base.door import number
from mbd.control.stepper import Stepper
from mbd.fmi.description import described
from mbd.fmi.process import Described, identity_of, token_of
from mbd.fmi.variables import inputs_of, outputs_of, parameters_of, settable
from mbd.machine.private_numba import carried_code
from mbd.model.model import Model
from mbd.model.system import System

_WHO = "export_fmu"
_SHIM = Path(__file__).with_name("shim.c")
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}
_LIBRARIES = {"linux": ".so", "darwin": ".dylib"}


def export_fmu(
    system: System | Model, path: str | Path, *, step: float, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None, parameters: Sequence[str] | None = None,
    method: Any = None, project: bool | None = None,
) -> Path:  # fmt: skip
    """Write a model as a co-simulation unit of FMI 3.0, which other tools import and run.

    Parameters
    ----------
    system : System or Model
    path : str or Path
        Ends in ``.fmu``.
    step : float [s]
        Largest step of the unit itself; a longer step of the tool is divided into equal ones.
    inputs : sequence of str, optional
        What the tool sets while it runs, by the names that a ``Stepper`` has: ``"motor.effort"``,
        ``"push.force"`` (three variables). Default: everything that can be set.
    outputs : sequence of str, optional
        Parts, quantities or components by the names of results: ``"rod"``, ``"hinge.angle"``.
        Default: of every part what ``Solution.plot`` draws.
    parameters : sequence of str, optional
        Numbers that the tool sets before the run, ``"rod.mass"``. Default: each ``mbd.Parameter``.
    method : integrator, optional
    project : bool, optional
        As in ``mbd.simulate``.

    Returns
    -------
    Path

    Notes
    -----
    The unit runs where it is made: it holds a library for this kind of machine and starts this
    Python interpreter, or the one that the environment variable ``MBD_PYTHON`` names. Whoever opens
    it runs its code.
    """
    path = file_path(_WHO, path)
    if path.suffix != ".fmu":
        raise ValueError(f"{_WHO}: the name of a unit must end in .fmu, got {shown(str(path))}")
    step = number(_WHO, "step", step, "s", positive=True)
    place = _platform()
    stepper = Stepper(system, step, method=method, project=project)
    model = stepper.model
    sources = settable(model) if inputs is None else names(_WHO, "inputs", inputs)
    variables = [
        *inputs_of(model, list(dict.fromkeys(sources))),
        *outputs_of(stepper, outputs),
        *parameters_of(model.system, parameters),
    ]
    twice = [x.name for x in variables if [y.name for y in variables].count(x.name) > 1]
    if twice:
        raise ValueError(f"{_WHO}: {twice[0]!r} is more than one of input, output and parameter")
    identity = identity_of(model.system, method)
    unit = Described(model.system, variables, step, method, project, identity)
    data = carried(unit)
    identifier = re.sub(r"\W", "_", f"_{path.stem}" if path.stem[0].isdigit() else path.stem)
    about = described(variables, path.stem, identifier, token_of(data), step)
    with scratch("mbd-fmu", f"{_WHO}: {path}") as folder:
        resources = folder / "resources"
        resources.mkdir()
        (resources / "unit.pickle").write_bytes(data)
        (resources / "python.txt").write_text(sys.executable, encoding="utf-8")
        _check(resources)
        library = folder / f"{identifier}{_LIBRARIES[place.partition('-')[2]]}"
        _compile(library)
        with replaced(path, _WHO) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("modelDescription.xml", about)
            out.write(library, f"binaries/{place}/{library.name}")
            for kept in sorted(resources.iterdir()):
                out.write(kept, f"resources/{kept.name}")
    return path


def carried(unit: Described) -> bytes:
    """Return a unit as bytes, with the code of scenes, which no other process can import."""
    own = [x for name, x in sys.modules.items() if name.startswith("mbd_scene_")]
    return carried_code(unit, own)


def _platform() -> str:
    """Return what the standard calls this kind of machine, x86_64-linux."""
    system, machine = platform.system().lower(), platform.machine()
    if system not in _LIBRARIES:
        raise RuntimeError(
            f"{_WHO}: units can be made on Linux and macOS, this is {platform.system()}"
        )
    return f"{_MACHINES.get(machine, machine)}-{system}"


def _compile(library: Path) -> None:
    """Compile the library of a unit."""
    words = shlex.split(os.environ.get("CC", ""))
    if not words:
        words = [x for name in ("cc", "gcc", "clang") if (x := shutil.which(name))][:1]
    if not words:
        raise RuntimeError(
            f"{_WHO}: there is no C compiler, which makes the library of a unit; install gcc or "
            "clang, or name one in the environment variable CC"
        )
    options = ["-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-o", str(library), str(_SHIM)]
    try:
        done = subprocess.run([*words, *options], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{_WHO}: the C compiler {words[0]!r} cannot be run: {error}") from None
    if done.returncode:
        raise RuntimeError(f"{_WHO}: the C compiler {words[0]!r} failed: {done.stderr.strip()}")


def _check(resources: Path) -> None:
    """Refuse a model that another process cannot make of what is in the unit."""
    code = "import sys, mbd.fmi.process as p; p.begun(sys.argv[1])"
    words = [sys.executable, "-P", "-c", code, str(resources)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it ended"])[-1]
        raise ValueError(
            f"{_WHO}: another process cannot make this model: {why}; let functions and classes of "
            "your own stand in the script itself, or in a package that is installed"
        )
