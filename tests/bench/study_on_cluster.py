"""What dask adds to a study of chunks of about a second, and memory of many members.

    python tests/bench/study_on_cluster.py [members]

Of one chunk: CPU time of the thread that computes it in a worker, beside that of one here, by
turns; of the messages there and back; and of the event loops, which run whether anybody computes or
not. Then whole studies of eight such chunks on one worker and in a thread here, by turns. Before
that the peak of memory of streamed reductions, of a tenth of the members and of all.
"""

import resource
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from study import STEPS, H, links

import mbd
from mbd.studies import chunk

SIZE = 5000


def peak():
    """Return the largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Lent:
    """An executor that works at once, and keeps what it was lent."""

    def submit(self, function, share):
        future = Future()
        self.share, self.done = share, function(share)
        future.set_result(self.done)
        return future


def timed(share):
    """Return the CPU time of the thread that computes a chunk [s]."""
    clock = time.thread_time()
    chunk.run_chunk(share)
    return time.thread_time() - clock


def back(share, done):
    """Return the results of a chunk."""
    return done


def main():
    """Print the ratio of times, and the peak."""
    model = links().build()
    how = {"t_end": STEPS * H, "step": H, "outputs": [("link2.position", "final")]}
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    before = peak()
    many = mbd.sample({"link1.mass": (0.5, 2.0)}, n)
    print(f"{n} members: {peak() - before:.0f} MB for the sample")
    for count in (n // 10, n):
        some, before = mbd.sample({"link1.mass": (0.5, 2.0)}, count), peak()
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
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def spent():
            """Return the CPU time of scheduler, client and worker so far [s]."""
            return time.process_time() + sum(client.run(time.process_time).values())

        lent = Lent()
        mbd.study(model, mbd.sample({"link1.mass": (0.5, 2.0)}, SIZE), on=lent, chunk=SIZE, **how)
        chunk._OVER.clear()  # the study has ended; its chunk is computed again
        both = [(timed(lent.share), client.submit(timed, lent.share, pure=False).result())
                for _ in range(5)]  # fmt: skip
        here, there = np.array(both[1:]).T  # the first compiles
        clock, wall = spent(), time.time()
        time.sleep(3.0)
        loops = (spent() - clock) / (time.time() - wall)
        clock = spent()
        for _ in range(10):
            client.submit(back, lent.share, lent.done, pure=False).result()
        messages = (spent() - clock) / 10
        least = here.min()
        print(f"a chunk of {least:.2f} s: thread {100 * (there.min() / least - 1):+.1f} %, "
              f"messages {100 * messages / least:.1f} %, loops of client, scheduler and "
              f"worker {100 * loops:.1f} % of a core")  # fmt: skip
        many, wall = mbd.sample({"link1.mass": (0.5, 2.0)}, 8 * SIZE), []
        with ThreadPoolExecutor(1) as thread:
            for on in (thread, client) * 5:
                clock = time.perf_counter()
                mbd.study(model, many, on=on, chunk=SIZE, progress=False, **how)
                wall.append(time.perf_counter() - clock)
        ratios = np.array(wall[3::2]) / np.array(wall[2::2])  # the first ones compile
        print("whole studies on the wall:", *(f"{100 * (x - 1):+.1f} %" for x in ratios))


if __name__ == "__main__":
    main()
