"""``mbd doctor``: checks of packages, a run, a picture, and the time to start."""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mbd.cli.output import DONE, FAILED, print_json

if TYPE_CHECKING:
    import subprocess

_REQUIREMENT = re.compile(
    r"([\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?([<>=!~][^;)]*)?\)?\s*(?:;.*extra\s*==\s*['\"]([\w.-]+)['\"].*)?"
)
_OF_DEVELOPERS = ("test", "docs")
_LONGEST = 600  # seconds for one check; a first run compiles for up to a minute


class Check(NamedTuple):
    """One finding: status is "ok", "missing" (an extra) or "failed" (something needed)."""

    status: str
    name: str
    detail: str
    remedy: str = ""
    numbers: dict[str, Any] = {}  # noqa: RUF012  # never changed


def doctor(options: argparse.Namespace) -> int:
    """Check and report; the exit code is 1 if something that is needed failed."""
    import platform

    from mbd.base.public import VERSION

    about = {
        "mbd": VERSION,
        "folder": str(Path(__file__).parents[1]),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
    checks = [_python()]
    checks += _packages()
    steps = () if options.fast else (_smoke, _render, _start)
    if options.warm:
        steps = (_warm, *steps)
    if not options.json:
        print("mbd {mbd} in {folder}\nPython {python}, {system}, {processors} processors".format(
            **about))  # fmt: skip
        for check in checks:
            _print_check(check)
    for step in steps:
        for check in step():
            checks.append(check)
            if not options.json:
                _print_check(check)
    good = not any(check.status == "failed" for check in checks)
    if options.json:
        print_json({"ok": good, **about, "checks": [c._asdict() for c in checks]})
    else:
        print("all that is needed works" if good else "something that is needed does not work")
    return DONE if good else FAILED


def _print_check(check: Check) -> None:
    print(f"  {check.status:8} {check.name:12} {check.detail}", flush=True)
    if check.remedy:
        print(f"  {'':8} {'':12} -> {check.remedy}")


def _python() -> Check:
    import platform

    good = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} at {sys.executable}"
    return Check("ok" if good else "failed", "python", detail, "" if good else "needs 3.11")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(x) for x in re.findall(r"\d+", version)[:3])


def _packages() -> list[Check]:
    """Return what is needed and what each extra needs, from the metadata of the package."""
    from importlib import metadata

    try:
        requirements = metadata.requires("mbd") or []
    except metadata.PackageNotFoundError:
        remedy = "pip install -e . in the clone"
        return [Check("failed", "packages", "mbd is not installed here", remedy)]
    checks = []
    extras: dict[str, list[str]] = {}
    for line in requirements:
        match = _REQUIREMENT.match(line)
        if match is None or match[3] in _OF_DEVELOPERS:
            continue
        name, least, extra = match[1], (match[2] or "").strip(), match[3]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = ""
        old = least.startswith(">=") and _numbers(version) < _numbers(least)
        good = bool(version) and not old
        if good:
            checks.append(Check("ok", name, f"{version}" + (f", extra {extra!r}" if extra else "")))
        elif extra:
            extras.setdefault(extra, []).append(f"{name}{least}")
        else:
            detail = f"{version or 'is not installed'}, needs {least}"
            checks.append(Check("failed", name, detail, f"pip install '{name}{least}'"))
    for extra, names in extras.items():
        detail = f"extra {extra!r}: {', '.join(names)}"
        checks.append(
            Check("missing", names[0].split(">")[0], detail, f"pip install 'mbd[{extra}]'")
        )
    return checks


def _process(*command: str) -> "tuple[subprocess.CompletedProcess[str] | None, float]":
    """Run Python in a process of its own; None if it took too long.

    It has the package that runs now, whatever the folder holds in which it was called: a clone.
    """
    import subprocess

    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONSAFEPATH": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    clock = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False,
            timeout=_LONGEST, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, _LONGEST
    return done, time.perf_counter() - clock


def _why(done: "subprocess.CompletedProcess[str] | None") -> str:
    """Return the last words of a process that failed."""
    if done is None:
        return f"did not end within {_LONGEST} s"
    if done.returncode < 0:
        return f"died of signal {-done.returncode}"
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"ended with code {done.returncode}"


def _checked(name: str) -> tuple[dict[str, Any], str, str]:
    """Return what a check of ``checks.py`` prints, why it has failed, and its other output."""
    done, _ = _process("-m", "mbd.cli.checks", name)
    if done is None or done.returncode:
        return {}, _why(done), ""
    return json.loads(done.stdout.splitlines()[-1]), "", done.stderr


def _smoke() -> list[Check]:
    """Run a pendulum, whose motion is known."""
    got, why, output = _checked("smoke")
    if why:
        return [Check("failed", "run", why, "python -m mbd.cli.checks smoke shows all of it")]
    good = got["error"] <= got["tolerance"]
    detail = f"a pendulum is {got['error']:.1e} m from the exact one (at most {got['tolerance']:g})"
    detail += f", {got['microseconds_per_step']:.2g} us per step"
    remedy = "" if good else "the installation computes wrong numbers: report it"
    run = Check("ok" if good else "failed", "run", detail, remedy, got)
    return [_cache(output, got["cache"]), run]


def _warm() -> list[Check]:
    """Compile what usual models need, before they need it."""
    got, why, _ = _checked("warm")
    if why:
        return [Check("failed", "warm", why, "python -m mbd.cli.checks warm shows all of it")]
    detail = "kernels of {systems} usual models are compiled, in {seconds:.0f} s".format(**got)
    return [Check("ok", "warm", detail, "", got)]


def _cache(output: str, folder: str | None) -> Check:
    if folder is None:
        return Check("ok", "kernels", "run in Python (NUMBA_DISABLE_JIT is set), slowly")
    if not os.access(folder, os.W_OK):
        remedy = "set NUMBA_CACHE_DIR to a folder that can be written"
        where = f"in {folder}" if folder else "in your cache folder"
        return Check("failed", "kernels", f"cannot be kept {where}", remedy)
    how = "were compiled just now, and are kept" if "compiling" in output else "are compiled"
    return Check("ok", "kernels", f"{how} in {folder}")


def _render() -> list[Check]:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return [Check("missing", "pictures", "need matplotlib", "pip install 'mbd[plot]'")]
    got, why, _ = _checked("render")
    if why:
        remedy = "pip install --force-reinstall 'mbd[plot]'"
        return [Check("missing", "pictures", f"cannot be drawn: {why}", remedy)]
    return [Check("ok", "pictures", f"drawn without a display: a PNG of {got['bytes']} bytes")]


def _start() -> list[Check]:
    """Return how long it takes until something happens, the better of two."""
    numbers, failed = {}, []
    for name, command in (
        ("python", ("-c", "pass")),
        ("import mbd", ("-c", "import mbd")),
        ("mbd --help", ("-m", "mbd", "--help")),
    ):
        runs = [_process(*command) for _ in range(2)]
        numbers[name] = min(seconds for _, seconds in runs)
        failed += [_why(done) for done, _ in runs[:1] if done is None or done.returncode]
    detail = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in numbers.items())
    status = "failed" if failed else "ok"
    return [Check(status, "start", "; ".join(failed) or detail, numbers=numbers)]
