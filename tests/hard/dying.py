"""Runs that are stopped at random instants: ``python dying.py SIGNAL KINDS FOLDER N SEED``.

Of KINDS, with commas between, each has a folder of its name in FOLDER: "stream" (``mbd run -o x.nc
--stream``), an ending such as ".npz" (``mbd run -o x.npz``, where there is a file of that name), or
"call" (``mbd.simulate`` in this process, which goes on).
Prints a line of JSON for each run: what came of it. Children are forks, which need no new start.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import mbd
from mbd.cli import main as command
from mbd.store import stream

SCENE = """
import mbd
from tests.results.samples import spinner
build = spinner
RUN = {"t_end": 0.4, "step": 1e-4}
"""
OLD = {".npz": 0.05, ".nc": 0.05, ".csv": 0.05}


def run_of(folder: Path, name: str, kind: str) -> list[str]:
    """Return the command line of a run."""
    words = ["run", str(folder / "scene.py"), "-q", "-o", str(folder / name)]
    return [*words, "--stream"] if kind == "stream" else words


def child(arguments: list[str]) -> None:
    """Run a command to its end, with what it says in files."""
    told = io.StringIO()
    code = 130  # who interrupts it before it begins ends it
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            code = 99
            code = command(arguments)
    except BaseException as error:
        told.write(f"raised {error!r}")
    with contextlib.suppress(BaseException):
        Path(arguments[4]).with_suffix(".said").write_text(told.getvalue())
    os._exit(code)


def stopped(
    arguments: list[str], number: signal.Signals, after: float, twice: float, there: Path | None
) -> int:
    """Start a run, send a signal, and another one if it is still there; return how it ended.

    The time runs from the start, or from when a file is there.
    """
    pid = os.fork()
    if not pid:
        child(arguments)
    end = time.monotonic() + 60
    while there is not None and not there.exists() and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        if twice:
            time.sleep(twice)
            os.kill(pid, number)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 1000  # it hung


def commands(number: signal.Signals, kind: str, folder: Path, n: int, rng: random.Random) -> None:
    """Stop runs of the command line."""
    (folder / "scene.py").write_text(SCENE)
    ending = ".nc" if kind == "stream" else kind
    command(run_of(folder, f"whole{ending}", kind))
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        child(run_of(folder, f"again{ending}", kind))
    os.waitpid(pid, 0)
    long = time.monotonic() - began
    old = b""
    if kind != "stream":
        command([*run_of(folder, f"old{ending}", kind), "--t-end", str(OLD[kind])])
        old = (folder / f"old{ending}").read_bytes()
    for i in range(n):
        file = folder / f"run{i}{ending}"
        if old:
            file.write_bytes(old)
        after = rng.uniform(0.0, 1.1 * long)
        twice = rng.choice([0.0, rng.uniform(0.0, 0.3 * long)])
        there = file if kind == "stream" and i % 2 else None
        after *= 1.0 if there is None else 0.5
        code = stopped(run_of(folder, file.name, kind), number, after, twice, there)
        said = file.with_suffix(".said")
        print(
            json.dumps(
                {
                    "file": file.name, "after": after, "twice": twice, "code": code,
                    "said": said.read_text() if said.exists() else None,
                    "old": bool(old) and file.exists() and file.read_bytes() == old,
                    "others": sorted(p.name for p in folder.glob(f"*{file.name}*") if p != file),
                }
            ),
            flush=True,
        )  # fmt: skip


def digest(solution: mbd.Solution, n: int | None = None) -> str:
    """Return a digest of the first instants."""
    raw = [np.asarray(getattr(solution, x))[:n].tobytes() for x in ("t", "q", "v", "a", "lam")]
    return hashlib.sha256(b"".join(raw)).hexdigest()


def press(after: float, twice: float) -> None:
    """Send Ctrl-C to this process, perhaps once more."""
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    for wait in (after, twice)[: 2 if twice else 1]:
        time.sleep(wait)
        signal.pthread_kill(main_thread, signal.SIGINT)


def calls(folder: Path, n: int, rng: random.Random) -> None:
    """Interrupt ``mbd.simulate`` in this process, again and again."""
    from tests.results.samples import spinner

    model = spinner().build()
    how = {"t_end": 1.0, "step": 1e-4, "progress": False}
    long = {}
    for where in (None, None, folder / "whole.nc"):  # the first loads what the others find loaded
        began = time.monotonic()
        whole = mbd.simulate(model, stream=where, **how)
        long[where is None] = time.monotonic() - began
    for i in range(n):
        where = folder / f"call{i}.nc" if i % 2 else None
        found: dict[str, object] = {"stream": bool(where), "status": "KeyboardInterrupt"}
        after = rng.uniform(0.0, 1.1 * long[where is None])
        finger = threading.Thread(target=press, args=(after, rng.choice([0.0, 0.1 * after])))
        run = None
        with contextlib.suppress(KeyboardInterrupt):
            finger.start()
            run = mbd.simulate(model, stream=where, **how)
        while finger.is_alive():
            with contextlib.suppress(KeyboardInterrupt):
                finger.join()
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(0.01)
        found["handler"] = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if run is not None:
            found["status"], found["n"] = run.status, len(run.t)
            found["prefix"] = digest(run) == digest(whole, len(run.t))
            found["steps"] = run.stats["steps"] == len(run.t) - 1
        if where is not None and where.exists():
            there = mbd.load(where)
            found["read"] = digest(there) == digest(whole, len(there.t))
        again = mbd.simulate(model, 0.01, 1e-4, progress=False)
        found["again"] = digest(again) == digest(whole, len(again.t))
        print(json.dumps(found), flush=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> None:
    """Stop runs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stream._SECONDS = 0.01  # write often
    word, kinds, above, n, seed = sys.argv[1:]
    for kind in kinds.split(","):
        rng, folder = random.Random(int(seed)), Path(above) / kind
        folder.mkdir()
        if kind == "call":
            calls(folder, int(n), rng)
        else:
            commands(signal.Signals[word], kind, folder, int(n), rng)


if __name__ == "__main__":
    main()
