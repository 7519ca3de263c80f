"""What is private of numba and relied on is there, in the version that is installed."""

import ctypes

import numba
import numpy as np
import pytest
from numba import types

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


def test_sources_and_processor():
    def double(x):
        return 2 * x

    law, known = numba.njit(double), processor()
    assert source_of(law)[0] is double
    assert source_of(double) is None
    assert known == processor()
    assert known
