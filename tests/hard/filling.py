"""Runs that write to streams which may not grow: ``python filling.py FOLDER ROOM SIZE CHUNK ...``.

Each run is a child that ends as programs do, with another stream at its end, after the limit.
Prints for each size how the child ended (the status of ``waitpid``) and what it saw.
"""

import json
import os
import resource
import sys
from pathlib import Path

import mbd
from mbd.store import netcdf, stream
from tests.results.samples import spinner

FREE = resource.RLIM_INFINITY


def one(path: Path, size: int, chunk: int, answer: Path) -> None:
    """Run until the file is full; then to another file, which is not."""
    if chunk:  # many chunks, pieces and writings in a short file
        netcdf._CHUNK, stream._PIECE, stream._SECONDS = chunk, 32, 0.0
        stream._BYTES, stream._INSTANTS = 1 << 14, 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, FREE))
    seen = {}
    try:
        mbd.simulate(spinner(), 1e3, 1e-3, stream=path, progress=False)
    except mbd.SimulationError as error:
        seen = {"n": len(error.solution.t), "t": float(error.solution.t[-1])}
        seen |= {"q": error.solution.q[-1].tolist(), "text": str(error)}
    except OSError as error:
        seen = {"n": 0, "text": str(error)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (FREE, FREE))
    second = mbd.simulate(spinner(), 0.02, 1e-3, stream=path.with_suffix(".2.nc"), progress=False)
    answer.write_text(json.dumps(seen | {"second": len(mbd.load(second.stored.path).t)}))


def main() -> None:
    """Fork for each size."""
    folder, asks, *sizes = sys.argv[1:]
    if asks == "no room":  # no posix_fallocate: HDF5 meets the end in the midst of its work
        stream.room = netcdf.room = lambda *_: False
    mbd.simulate(spinner(), 0.01, 1e-3)
    for size, chunk in zip(map(int, sizes[::2]), map(int, sizes[1::2]), strict=True):
        answer = Path(folder) / f"{size}.json"
        child = os.fork()
        if not child:
            one(Path(folder) / f"{size}.nc", size, chunk, answer)
            return
        _, status = os.waitpid(child, 0)
        seen = json.loads(answer.read_text()) if answer.exists() else {}
        print(json.dumps({"size": size, "status": status} | seen), flush=True)


if __name__ == "__main__":
    main()
