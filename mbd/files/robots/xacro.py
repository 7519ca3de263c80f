"""Expansion of xacro files, in a process with limits: they are programs."""

import subprocess
import sys
from pathlib import Path

from mbd.base.atomic import scratch

_SECONDS, _BYTES, _OUTPUT = 20, 1 << 30, 1 << 26  # what an expansion may take
_PROGRAM = """
import sys
path, output, seconds, memory, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
try:
    import resource
except ImportError:
    pass
else:
    for what, most in (("CPU", seconds), ("AS", memory), ("FSIZE", size), ("CORE", 0)):
        limit = getattr(resource, f"RLIMIT_{what}")
        resource.setrlimit(limit, (most, most))
try:
    import xacro
except ImportError:
    sys.exit(3)
with open(output, "wb") as file:
    file.write(xacro.process_file(path).toxml("utf-8"))
"""


def expanded(path: Path) -> bytes:
    """Return the URDF of a xacro file, with the arguments that it has by default."""
    with scratch("mbd-xacro", "read") as folder:
        output = folder / "robot.urdf"
        limits = map(str, (_SECONDS, _BYTES, _OUTPUT))
        try:
            done = subprocess.run(
                [sys.executable, "-c", _PROGRAM, str(path), str(output), *limits],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                timeout=2 * _SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ValueError(_beyond("time")) from None
        if done.returncode == 3:
            raise ValueError(
                "is a xacro file, and the package that expands it is not installed: "
                "pip install 'mbd[robots]', or expand it elsewhere (xacro FILE > robot.urdf)"
            )
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1] if lines else ""
            if done.returncode < 0 or "MemoryError" in reason or "File too large" in reason:
                raise ValueError(_beyond("time or memory"))
            raise ValueError(f"xacro cannot expand it: {reason[:400]}")
        return output.read_bytes()


def _beyond(what: str) -> str:
    return (
        f"xacro takes more {what} than is allowed for it ({_SECONDS} s, {_BYTES >> 30} GiB, "
        f"{_OUTPUT >> 20} MiB of output); expand it by hand, if you trust it"
    )
