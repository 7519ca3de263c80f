"""What dask adds to a study of chunks of about a second, and memory of many members.

    python tests/bench/study_on_cluster.py [members]

CPU time of scheduler, client and one worker with one thread, beside that of the same chunks in one
thread here, by turns; before that the peak of memory of streamed reductions, of a tenth of the
members and of all.
"""

import resource
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from study import STEPS, H, links

import mbd


def peak():
    """Return the largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    """Print the ratio of times, and the peak."""
    model = links().build()
    how = {"t_end": STEPS * H, "step": H, "outputs": [("link2.position", "final")]}
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    before = peak()
    many = mbd.sample({"link1.mass": (0.5, 2.0)}, n)
    print(f"{n} members: {peak() - before:.0f} MB for the sample")
    for count in (n // 10, n):
        some, before = replace(many, rows=many.rows[:count]), peak()
        clock = time.process_time()
        done = mbd.study(model, some, summary=(0.05, 0.5, 0.95), progress=False, **how)
        spent = time.process_time() - clock
        assert int(done.members) == count
        assert not int(done.failed)
        print(f"{count} members: {peak() - before:.0f} MB more for the study, "
              f"{count / spent:.0f} a second and core")  # fmt: skip
    try:
        import distributed
    except ImportError:
        print("no dask.distributed here")
        return
    size = 5000
    members = mbd.sample({"link1.mass": (0.5, 2.0)}, 2 * size)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        spent = {"here": [], "dask": []}
        for turn in range(4):
            for name, on in (("here", pool), ("dask", client)):
                clock = time.process_time() + sum(client.run(time.process_time).values())
                mbd.study(model, members, on=on, chunk=size, **how)
                clock -= time.process_time() + sum(client.run(time.process_time).values())
                if turn:  # the first compiles
                    spent[name].append(-clock)
        ratios = [b / a for a, b in zip(spent["here"], spent["dask"], strict=True)]
        print(f"chunks of {statistics.median(spent['here']) / 2:.2f} s: with dask "
              f"{100 * (statistics.median(ratios) - 1):+.0f} %")  # fmt: skip


if __name__ == "__main__":
    main()
