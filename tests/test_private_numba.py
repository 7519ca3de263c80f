"""What is private of numba and relied on is there, in the version that is installed."""

import ctypes
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import types

from mbd.files import scenes
from mbd.machine import kernel_cache, private_numba
from mbd.machine.jit import _OPTIONS
from mbd.machine.private_numba import CFunction, Inlined, Kept, lacking, processor, source_of


def test_all_that_is_relied_on_is_there():
    assert not lacking(), "\n".join(lacking())


@pytest.mark.parametrize("name", private_numba.RELIED_ON)
def test_what_is_missing_is_named(monkeypatch, name):
    monkeypatch.setitem(private_numba.RELIED_ON, f"{name}_of_old", "did this once")
    (sentence,) = lacking()
    assert f"numba {numba.__version__} has no numba.core.{name}_of_old, which did this" in sentence


def test_an_attribute_that_is_missing_is_named(monkeypatch):
    make, names = private_numba._OWN["CFunc's result"]
    monkeypatch.setitem(private_numba._OWN, "CFunc's result", (make, (*names, "library.soul")))
    (sentence,) = lacking()
    assert "no library.soul of a CFunc's result; take a version that has it" in sentence


def test_a_function_is_kept_and_loaded(tmp_path):
    """Compiled once, with its own copies of what it calls; what is damaged is told."""
    told, file = [], tmp_path / "one.kernel"

    @numba.njit
    def plain(x):
        return x + 1.0

    inlined = Inlined(plain.py_func, targetoptions={"nopython": True, **_OPTIONS})

    def function(F):
        F[0] = inlined(F[0])

    signature = types.void(types.CPointer(types.float64))
    for damage in (None, None, b"no kernel"):
        if damage is not None:
            file.write_bytes(damage)
        kept = Kept(file, told.append)
        address = CFunction(function, signature, _OPTIONS, kept).compile()
        F = np.zeros(1)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(F.ctypes.data)
        assert F[0] == 1.0
    assert len(told) == 2
    assert told[0] is None
    assert isinstance(told[1], Exception)
    assert kernel_cache.load(file)
    assert not plain.overloads
    assert not inlined.__dict__.get("_from_python")
    assert inlined(2.0) == 3.0


@pytest.mark.parametrize("first", ["kernel", "Python"])
def test_a_function_in_a_kernel_is_no_copy_for_python(first):
    """One that is too long to become part of its callers takes other arguments within a kernel."""
    text = "def long(a, unused, c):\n x = a\n s = 0.0\n"
    line = " s += np.sin(x + {j}.0) * np.cos(a * x) + np.sqrt(x * x + c)\n x += np.exp(-{j} * x)\n"
    text += "".join(line.format(j=j) for j in range(30))
    exec(f"{text} return x, s", scope := {"np": np})
    options = {"nopython": True, **_OPTIONS}
    long = Inlined(scope["long"], targetoptions=options)

    def function(F):
        F[0], F[1] = long(F[0], 2.0, 4.0)
        F[2], F[3] = long(F[2], 3.0, 4.0)

    def twice(x):
        a, b = long(x, 2.0 * x, 7.0)
        c, d = long(x, 3.0 * x, 7.0)
        return a + c, b + d

    F, called = np.full(4, 0.5), Inlined(twice, targetoptions=options)
    compiled = CFunction(function, types.void(types.CPointer(types.float64)), _OPTIONS)
    if first == "Python":
        called(0.5)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(compiled.compile())(F.ctypes.data)
    assert F == pytest.approx(2 * scope["long"](0.5, 2.0, 4.0), rel=1e-14)
    assert called(0.5) == pytest.approx(np.multiply(2, scope["long"](0.5, 1.0, 7.0)), rel=1e-14)
    after = Inlined(lambda x: long(x, x, 7.0), targetoptions=options)
    assert after(0.5) == pytest.approx(scope["long"](0.5, 0.5, 7.0), rel=1e-14)
    within = [x.name for x in compiled.compiled._library._final_module.functions]
    assert "long" not in " ".join(within)


def test_sources_and_processor():
    def double(x):
        return 2 * x

    law, known = numba.njit(double), processor()
    assert source_of(law)[0] is double
    assert source_of(double) is None
    assert known == processor()
    assert known


SCENE = """
from numba import njit

@njit(cache=True)
def law(t):
    return 0.3 * t

def build():
    return law(1.0)
"""


def test_a_scene_whose_functions_numba_keeps_can_be_imported_too(tmp_path):
    """In another process; numba's files say in which module they were."""
    (tmp_path / "with_a_law.py").write_text(SCENE)
    assert scenes.load(tmp_path / "with_a_law.py").make() == 0.3
    command = [sys.executable, "-c", "import with_a_law; print(with_a_law.law(2.0))"]
    other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert other.stdout.strip() == "0.6", other.stderr
