"""Bytes of memory that this process may still take, as far as the system tells."""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def free_bytes() -> float:
    """Return the least of what the machine, the container and the process have left [byte]."""
    return min(_limits(), default=math.inf)


def _limits() -> Iterator[float]:
    """Return what is left, by each that limits it and tells."""
    if (machine := _word("/proc/meminfo", "MemAvailable:")) is not None:
        yield 1024.0 * machine
    elif "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", ()):
        yield float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    most, now = (_word(f"/sys/fs/cgroup/memory.{x}") for x in ("max", "current"))
    if most is not None and now is not None:
        yield most - now
    size = _word("/proc/self/status", "VmSize:")
    if size is not None:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield limit - 1024.0 * size


def _word(file: str, key: str = "") -> float | None:
    """Return the number after a key of a file of the system, if there is one."""
    try:
        words = Path(file).read_text().split()
        return float(words[words.index(key) + 1 if key else 0])
    except (OSError, ValueError, IndexError):
        return None
