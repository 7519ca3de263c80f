"""One session in surroundings that others made: ``python surroundings.py FOLDER [WHAT ...]``.

WHAT are names of `CHANGES`, made in this process after the import of the package. The session
reads, runs, writes and reads again, in FOLDER; a line of JSON says what came of it, by name: the
same in all surroundings. Then it says which state of the process the package left changed.
"""

import contextlib
import ctypes
import decimal
import hashlib
import io
import json
import locale
import math
import os
import resource
import signal
import sys
import threading
import warnings
from pathlib import Path

import h5py  # with what it imports it sets filters of warnings, as others below do
import numpy as np
import scipy.interpolate
import scipy.sparse.linalg
import scipy.special

import mbd
from mbd.cli import main as command

FILTERS = h5py, scipy.interpolate, scipy.sparse.linalg, scipy.special
MODELS = Path(__file__).parents[2] / "models"
RUN = {"t_end": 0.2, "step": 1e-2, "progress": False}


def low_recursion() -> None:
    """Leave a hundred frames above this one."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 150)


CHANGES = {
    "locale": lambda: locale.setlocale(locale.LC_ALL, ""),
    "errors of numpy raise": lambda: np.seterr(all="raise"),
    "numpy prints little": lambda: np.set_printoptions(precision=2, threshold=3, suppress=True),
    "decimals of two digits": lambda: setattr(decimal.getcontext(), "prec", 2),
    "warnings are errors": lambda: warnings.simplefilter("error"),
    "few frames": low_recursion,
    "umask": lambda: os.umask(0o077),
    "the folder is gone": lambda: (os.mkdir("gone"), os.chdir("gone"), os.rmdir("../gone")),
    "traced": lambda: sys.settrace(lambda *_: None),
    "profiled": lambda: sys.setprofile(lambda *_: None),
    "no output": lambda: [setattr(sys, name, None) for name in ("stdout", "stderr", "stdin")],
    "SIGINT ignored": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "few files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)),
}


def digest(*parts: object) -> str:
    """Return a digest of arrays, bytes and texts."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode() if isinstance(part, str) else np.asarray(part).tobytes())
    return sha.hexdigest()[:12]


def of_run(run: mbd.Solution) -> str:
    """Return a digest of the numbers of a run."""
    arrays = [np.asarray(x) for x in (run.t, run.q, run.v, run.a, run.lam)]
    return digest(*arrays, run.energy.total)


def pendulum(law: object = None) -> mbd.System:
    """Return a double pendulum, driven or not, with umlauts in its names."""
    system = mbd.System(gravity=(0, 0, -9.81))
    ground, bars = system.ground, []
    for i, name in enumerate(("Stab", "Türgriff")):
        bars.append(
            mbd.RigidBody(name, mass=1.25, inertia=(0.01, 0.1, 0.1), position=(0.5 + i, 0, 0))
        )
        system.add(bars[-1])
    first = system.add(mbd.Revolute("Gelenk", ground, bars[0], at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("knee", *bars, at=(1, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spring("spring", ground, bars[1], at=(0, 0, 1), to=(2, 0, 0), stiffness=12.5))
    if law is not None:
        system.add(mbd.Drive("motor", first.angle, position=law))
    return system


def session(folder: Path) -> dict[str, str]:
    """Return digests by what was done."""
    done = {}
    system = pendulum()
    run = mbd.simulate(system, **RUN)
    done["run"] = of_run(run)
    other = "runs" if sys.getfilesystemencoding() == "ascii" else "Läufe"
    for ending in (".npz", ".nc"):
        run.save(folder / f"{other}{ending}")
        done[ending] = of_run(mbd.load(folder / f"{other}{ending}"))
    run.save(folder / "table.csv")
    done[".csv"] = digest((folder / "table.csv").read_bytes())
    mbd.write(system, folder / "Modell.toml")
    done[".toml"] = digest((folder / "Modell.toml").read_bytes())
    done["read"] = of_run(mbd.simulate(mbd.read(folder / "Modell.toml").system, **RUN))
    done["crank"] = of_run(mbd.simulate(mbd.read(MODELS / "crank_drive.toml").system, **RUN))
    arm = mbd.read(MODELS / "arm.urdf").system
    done[".urdf"] = of_run(mbd.simulate(arm, **RUN))
    done["law"] = of_run(mbd.simulate(pendulum(lambda t: 0.3 * t**3), **RUN))
    mbd.simulate(system, **RUN, stream=folder / "stream.nc")
    done["stream"] = of_run(mbd.load(folder / "stream.nc"))
    pose = mbd.equilibrium(system)
    done["equilibrium"] = digest(pose.state.q, repr(pose))
    done["modes"] = digest(mbd.modes(pose).frequency, repr(mbd.modes(pose)))
    done["free steps"] = of_run(mbd.simulate(system, 0.2, rtol=1e-5, progress=False))
    slope = mbd.gradient(
        mbd.Objective(terminal=lambda last: last["Stab"].position[2]), system, ["Stab.mass"], **RUN
    )
    done["gradient"] = digest(slope.array, repr(slope))
    done["report"] = digest(repr(system.build().report()))
    for words in (["info", str(folder / "Modell.toml")],
                  ["run", str(folder / "Modell.toml"), "--t-end", "0.05", "--step", "0.01", "-o",
                   str(folder / "out.csv"), "-q"]):  # fmt: skip
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = command(words)
        done[f"mbd {words[0]}"] = f"{code} {told.getvalue().replace(str(folder), '')[:200]}"
    done["out.csv"] = digest((folder / "out.csv").read_bytes())
    try:
        mbd.RigidBody("a", mass=-1.5, inertia=(1, 1, 1))
    except ValueError as error:
        done["error"] = str(error)
    return done


def state() -> dict[str, object]:
    """Return the state of the process that a library must leave as it was."""
    return {
        "locale": locale.setlocale(locale.LC_ALL),
        "errors of numpy": np.geterr(),
        "print options": str(np.get_printoptions()),
        "random numbers": digest(np.random.get_state()[1]),  # noqa: NPY002
        "decimals": decimal.getcontext().prec,
        "warnings": len(warnings.filters),
        "recursion": sys.getrecursionlimit(),
        "signal": str(signal.getsignal(signal.SIGINT)),
        "environment": dict(os.environ),
        "trace": str(sys.gettrace()),
        "threads": threading.active_count(),
        "subnormal": 5e-324 * np.float64(1.0) > 0.0 and math.ldexp(1.0, -1074) > 0,
        "rounding": ctypes.CDLL(None).fegetround(),
        "path": list(sys.path),
    }


def main() -> None:
    """Change the surroundings, and hold a session in them."""
    folder, *names = sys.argv[1:]
    output = os.dup(1)
    for name in names:
        CHANGES[name]()
    before = state()
    done = session(Path(folder))
    after = state()
    sys.settrace(None)
    sys.setprofile(None)
    left = sorted(name for name in before if before[name] != after[name])
    os.write(output, (json.dumps({"done": done, "left": left}) + "\n").encode())


if __name__ == "__main__":
    main()
