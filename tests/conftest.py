"""Shared by all tests: hypothesis is deterministic, helpers in this folder can be imported."""

import signal
import sys

import pytest
from hypothesis import settings

settings.register_profile("mbd", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mbd")

# In the background of a script, under nohup and in many CI runners Ctrl-C is ignored, and children
# inherit that; a handler of this process they do not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _close_figures():
    """Close the figures of a test, so that they do not pile up in the process."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
