"""The files that one Newton iteration runs through are those that CONTRIBUTING.md lists."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRACED = """
import sys
from pathlib import Path
import mbd
from mbd.integration import newton_loop

ROOM = str(Path(mbd.__file__).parents[1]) + "/"
body = mbd.RigidBody("bar", mass=2.0, inertia=(0.01, 0.17, 0.17), position=(0.5, 0, 0))
system = mbd.System(gravity=(0, 0, -9.81))
system.add(body)
system.add(mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis=(0, 1, 0)))
model, files, newton = system.build(), set(), newton_loop.newton


def note(frame, event, argument):
    files.add(frame.f_code.co_filename.removeprefix(ROOM))


def traced(I, F):
    sys.settrace(note)
    try:
        return newton(I, F)
    finally:
        sys.settrace(None)


newton_loop.newton = traced
mbd.simulate(model, 0.003, 1e-3, progress=False)
print(*sorted(x for x in files if x.startswith("mbd/") and not x.startswith("mbd/machine/")))
"""


def test_nine_files_are_read():
    done = subprocess.run(
        [sys.executable, "-c", TRACED], capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, timeout=120,
    )  # fmt: skip
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("One Newton iteration\n---")[1].split("How to add ...")[0]
    named = re.findall(r"^- ``(mbd/\S+)``: ", section, re.M)
    assert sorted(named) == done.stdout.split()
    assert len(named) == 9
