"""Processes that compile kernels beside the one that wants them."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from mbd.machine import jit
from mbd.machine.jit import PYTHON
from mbd.machine.private_numba import carried_code

pytestmark = pytest.mark.skipif(PYTHON, reason="nothing is compiled")

# read from a pipe: its __main__ cannot be imported; kernels are closures over what is in it
PROGRAM = """
import json, os, sys, time
import numpy as np
from numba.core.ccallback import CFunc
from mbd.machine import jit, shared_work

shared_work._LONG = 0.0
FACTOR = 1.7

@jit.jit
def bent(x):
    return FACTOR * x / (1.0 + x * x)

def made(order):
    def power(I, F, k):
        for _ in range(order):
            F[0] = bent(F[0]) + bent(order * F[0])
    return jit.kernel(power)

kernels = [made(order) for order in (1, 2, 3, 5)]
here = [0]
compile_here = CFunc._compile_uncached
def counted(self):
    here[0] += 1
    return compile_here(self)
CFunc._compile_uncached = counted

shared_work.ahead(kernels)
running = [x.pid for _, some in shared_work._COMPILERS.values() for x in some]
print(json.dumps(running), flush=True)
if "wait" in sys.argv:
    while not all(k.file.exists() for k in kernels):
        time.sleep(0.05)
if "stay" in sys.argv:
    time.sleep(600)
shared_work.compile_all(kernels)
F = np.full(1, 0.3)
for k in kernels:
    k(np.zeros(1, np.int32), F)
print(json.dumps([here[0], F[0]]))
"""


def program(folder, *words, compilers):
    """Start the program with kernels in a folder of its own."""
    env = {
        **os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path),
        "NUMBA_DISABLE_JIT": "0", "MBD_COMPILERS": str(compilers),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-", *words], env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(PROGRAM)
    process.stdin.close()
    process.stdin = None
    return process


def is_alive(pid):
    """Tell whether a process runs, and is no dead one that nobody asked for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_kernels_are_compiled_by_other_processes_alone(tmp_path):
    """Those of a program that nobody can import; the same numbers to the last bit."""
    alone = program(tmp_path / "alone", compilers=0)
    helped = program(tmp_path / "helped", "wait", compilers=2)
    (out, _), (with_help, told) = alone.communicate(timeout=300), helped.communicate(timeout=300)
    nobody, (by_itself, value) = map(json.loads, out.splitlines())
    pids, (here, same) = map(json.loads, with_help.splitlines())
    assert nobody == []
    assert by_itself == 4
    assert len(pids) == 2
    assert here == 0
    assert same == value
    assert "compiling kernels for this machine, once (some " in told
    kept = sorted(x.name for x in (tmp_path / "helped").glob("*.kernel"))
    assert kept == sorted(x.name for x in (tmp_path / "alone").glob("*.kernel"))
    assert len(kept) == 4
    assert helped.returncode == 0
    assert not any(map(is_alive, pids))  # nothing stays after it


def test_no_other_code_is_kept_under_the_name_of_a_kernel(tmp_path, monkeypatch):
    """A module that changed on disk since the program imported it: an update in a long session."""
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "updated_kernels.py"
    module.write_text("FACTOR = 2.0\n")
    import updated_kernels

    def scaled(I, F, k):
        F[0] = updated_kernels.FACTOR * F[0]

    kernel = jit.kernel(scaled)
    kernel.__dict__["file"] = tmp_path / kernel.file.name
    job = (
        kernel.file,
        carried_code(kernel.function, [sys.modules[__name__]]),
        kernel.signature,
    )
    compile_in = [
        sys.executable, "-c", "import pickle, sys; from mbd.machine.shared_work import compile_to; "
        "compile_to(*pickle.loads(sys.stdin.buffer.read()))",
    ]  # fmt: skip
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": path}
    module.write_text("FACTOR = 3.00\n")
    subprocess.run(compile_in, input=pickle.dumps(job), env=env, check=True)
    assert not kernel.file.exists()
    module.write_text("FACTOR = 2.0\n")
    subprocess.run(compile_in, input=pickle.dumps(job), env=env, check=True)
    assert kernel.file.exists()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="asks /proc")
def test_compilers_end_with_a_process_that_is_killed(tmp_path):
    process = program(tmp_path, "stay", compilers=1)
    (pid,) = json.loads(process.stdout.readline())
    assert is_alive(pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for _ in range(600):
        if not is_alive(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the compiler is still there")
