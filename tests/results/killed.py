"""A run that writes to a file until it is killed: ``python killed.py FILE``; says when it began."""

import sys

import mbd
from mbd.results import stream
from tests.results.samples import spinner

if __name__ == "__main__":
    stream._SECONDS = 0.01  # write often, so that a kill comes in the midst of it
    model = spinner().build()
    mbd.simulate(model, 0.01, 1e-3)
    print("begin", flush=True)
    mbd.simulate(model, 1e4, 1e-3, stream=sys.argv[1], progress=False)
