"""Free steps: all scenes within a tolerance, by the usual method and by those that may be it.

    python tests/bench/free_steps.py [RTOL] [SCENE ...]

Prints seconds of the processor, the least of three runs after the first, steps, and the largest
error of coordinates at the end relative to their largest, against collocation at a thousandth of
the tolerance; then the median of the ratios to generalized-alpha.
"""

import signal
import sys
import time
import warnings

import numpy as np

import mbd
from mbd.files import scenes

METHODS = {  # None: the usual one
    "usual": None,
    "alpha": mbd.GeneralizedAlpha(),
    "radau 3": mbd.RadauCollocation(stages=3),
    "radau 5": mbd.RadauCollocation(),
    "explicit": mbd.ExplicitRungeKutta(stiff="radau"),
    "explicit 40": mbd.ExplicitRungeKutta(stiff="radau"),  # steps at least, as the usual one
}
MOST = 30  # seconds of a run


class Late(Exception):
    """Raised in a run that takes too long."""


def late(*_):
    raise Late


def run(model, t_end, method, rtol, **how):
    """Return the run, or None, and its seconds of the processor."""
    signal.alarm(MOST)
    start = time.process_time()
    try:
        done = mbd.simulate(
            model, t_end, rtol=rtol, method=method, project=True, progress=False, **how
        )
    except (Exception, KeyboardInterrupt):
        done = None
    signal.alarm(0)
    return done, time.process_time() - start


def main(rtol, only):
    signal.signal(signal.SIGALRM, late)
    warnings.simplefilter("ignore")
    ratios = {name: [] for name in METHODS}
    print(f"{'scene':22s}" + "".join(f"{name:>28s}" for name in METHODS))
    for name, path in scenes.shipped().items():
        if only and name not in only:
            continue
        scene = scenes.load(path)
        model, t_end = scene.build({}).build(), scene.run.get("t_end", 1.0)
        best, _ = run(model, t_end, mbd.RadauCollocation(), max(1e-3 * rtol, 1e-11))
        line, alpha = f"{name:22s}", None
        for key, method in METHODS.items():
            how = {"max_step": t_end / 40} if key.endswith("40") else {}
            done, _ = run(model, t_end, method, rtol, **how)
            again = (run(model, t_end, method, rtol, **how)[1] for _ in range(3))
            seconds = min(again) if done else MOST
            if done is None:
                line += f"{'failed':>28s}"
                continue
            alpha = seconds if key == "alpha" else alpha
            if alpha:
                ratios[key].append(alpha / seconds)
            error = np.nan
            if best is not None:
                error = np.abs(done.q[-1] - best.q[-1]).max() / np.abs(best.q).max()
            line += f"{1e3 * seconds:12.2f} ms {done.stats['steps']:6d} {error:6.0e}"
        print(line, flush=True)
    for key, some in ratios.items():
        if not some:
            continue
        print(f"{key:10s} {np.median(some):6.2f} times as fast, at least {min(some):.2f}")


if __name__ == "__main__":
    numbers = [x for x in sys.argv[1:] if x[0].isdigit()]
    main(float(numbers[0]) if numbers else 1e-6, [x for x in sys.argv[1:] if x not in numbers])
