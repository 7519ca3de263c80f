"""Runs that write to streams which may not grow: ``python filling.py FOLDER OFTEN SIZE ...``.

Each run is a child that ends as programs do, with another stream at its end, after the limit.
Prints for each size how the child ended (the status of ``waitpid``) and what it saw.
"""

import json
import os
import resource
import sys
from pathlib import Path

import mbd
from mbd.store import stream
from tests.results.samples import spinner

FREE = resource.RLIM_INFINITY


def one(path: Path, size: int, answer: Path) -> None:
    """Run until the file is full; then to another file, which is not."""
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
    folder, often, *sizes = sys.argv[1:]
    if int(often):  # many pieces and writings in a short file
        stream._PIECE, stream._SECONDS = 32, 0.0
        stream._BYTES, stream._INSTANTS = 1 << 14, 1
    mbd.simulate(spinner(), 0.01, 1e-3)
    for size in map(int, sizes):
        answer = Path(folder) / f"{size}.json"
        child = os.fork()
        if not child:
            one(Path(folder) / f"{size}.nc", size, answer)
            return
        _, status = os.waitpid(child, 0)
        seen = json.loads(answer.read_text()) if answer.exists() else {}
        print(json.dumps({"size": size, "status": status} | seen), flush=True)


if __name__ == "__main__":
    main()
