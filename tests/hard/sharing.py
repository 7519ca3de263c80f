"""One model in threads, forks and new processes: ``python sharing.py``.

Prints a line of JSON: for each way the digests of all runs, which must be those of a run alone.
"""

import json
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import mbd
from tests.hard.dying import digest
from tests.results.samples import spinner

STEPS = {"t_end": 0.3, "step": 1e-4, "progress": False}


def one(model: mbd.Model | None = None) -> str:
    """Return a digest of a run."""
    return digest(mbd.simulate(spinner().build() if model is None else model, **STEPS))


def built(_: int) -> str:
    """Build the model here."""
    return one()


def forked(model: mbd.Model) -> str:
    """Return what a fork of this process computes."""
    end, begin = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(begin, one(model).encode())
        os._exit(0)
    os.close(begin)
    with os.fdopen(end) as said:
        found = said.read()
    os.waitpid(pid, 0)
    return found


def main() -> None:
    """Run alone, then together."""
    model = spinner().build()
    found = {"alone": [one(model)]}
    with ThreadPoolExecutor(6) as pool:
        found["threads, one model"] = list(pool.map(one, [model] * 12))
    with ThreadPoolExecutor(6) as pool:
        found["threads, a model each"] = list(pool.map(built, range(12)))
    found["fork"] = [forked(model) for _ in range(2)]
    busy, stop = [], threading.Event()

    def work() -> None:
        while not stop.is_set():
            busy.append(one(model))

    thread = threading.Thread(target=work)
    thread.start()
    found["fork beside a thread"] = [forked(model) for _ in range(3)]
    stop.set()
    thread.join()
    found["thread beside forks"] = busy
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found["spawn"] = list(pool.map(built, range(2)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
