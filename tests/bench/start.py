"""How long the command line takes to say something: ``python tests/bench/start.py``.

Whole processes by turns, medians of ten, beside a Python that does nothing.
"""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "mbd --help": ["-m", "mbd", "--help"],
    "import mbd": ["-c", "import mbd"],
    "mbd demo pendulum": ["-m", "mbd", "demo", "pendulum", "-q"],
}


def main() -> None:
    """Print seconds."""
    spent: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(10):
        for name, arguments in COMMANDS.items():
            clock = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            spent[name].append(time.perf_counter() - clock)
    for name, seconds in spent.items():
        print(f"{name:18s} {statistics.median(seconds):6.3f} s")


if __name__ == "__main__":
    main()
