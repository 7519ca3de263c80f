"""Shared by all tests: hypothesis is deterministic, helpers in this folder can be imported."""

import gc
import os
import signal
import sys

import pytest
from hypothesis import settings

settings.register_profile("mbd", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("mbd")

# Workers of xdist are as many as there are processors: compilers beside them would be in the way,
# and each would begin with the laws that its worker has compiled already; threads of BLAS wait for
# each other there and double the work of matrices of some hundred rows.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("MBD_COMPILERS", "0")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    gc.set_threshold(10_000, *gc.get_threshold()[1:])  # nearly all that lives there are modules

# In the background of a script, under nohup and in many CI runners Ctrl-C is ignored, and children
# inherit that; a handler of this process they do not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_pycollect_makeitem(collector, name, obj):
    """Make no tests of functions that are slow as a whole, where none of them is to run."""
    if collector.config.option.markexpr == "not slow":
        marks = getattr(obj, "pytestmark", ())
        if isinstance(marks, list) and any(x.name == "slow" for x in marks):
            return []
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Leave modules and tests, which stay, out of the search for garbage: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _close_figures():
    """Close the figures of a test, so that they do not pile up in the process."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
