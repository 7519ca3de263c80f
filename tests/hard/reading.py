"""Damaged files, read one after the other: ``python reading.py FOLDER N SEED FILE ...``.

Prints a line of JSON for each damaged copy of a FILE: its name, what was done, what a reader saw,
"refused" (an error that names the file), "same" (what the whole file says), "other" (numbers or
words that the whole file does not say), or "raw" (an error that does not name the file).
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mbd
from mbd.history.columns import parts


def damages(data: bytes, n: int, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Yield damaged copies: bits, bytes, blocks of zeros or of noise, cut, grown, pieces lost."""
    size = len(data)
    for i in range(n):
        where = int(rng.integers(size))
        if i % 4 == 0:  # heads and tails of files hold more than numbers
            where = int(rng.integers(min(size, 512))) if i % 8 else size - 1 - where % 512
        copy = bytearray(data)
        kind = ("bit", "byte", "byte", "zeros", "noise", "cut", "lost", "grown")[
            i % 8 if n > 7 else 0
        ]
        length = int(rng.integers(1, 4096))
        if kind == "bit":
            copy[where] ^= 1 << int(rng.integers(8))
        elif kind == "byte":
            copy[where] = (copy[where] + int(rng.integers(1, 256))) % 256
        elif kind == "zeros":
            copy[where : where + length] = bytes(len(copy[where : where + length]))
        elif kind == "noise":
            copy[where : where + length] = rng.bytes(len(copy[where : where + length]))
        elif kind == "cut":
            del copy[where:]
        elif kind == "lost":
            del copy[where : where + length]
        else:
            copy[where:where] = rng.bytes(length)
        yield f"{kind} at {where}", bytes(copy)


def said(path: Path) -> dict[str, str]:
    """Return digests of all that a file of results says."""
    found = mbd.load(path)
    if not isinstance(found, mbd.Solution):
        return {"model": "not there"}
    stored = found.stored
    if stored is None:  # the word that says that quantities are in the file is a word, too
        return {"quantities": "computed"}
    words = {k: found_about(stored.about[k]) for k in sorted(stored.about)}
    words |= {
        "events": str(stored.events),
        "parts": str(parts(stored.columns)),
        "names": str(sorted(stored)),
    }
    words |= {
        f"state {k}": str(getattr(found.state, k)) for k in ("t", "q", "v", "a", "lam", "off")
    }
    for name in stored:
        words[name] = hashlib.sha256(np.asarray(stored[name]).tobytes()).hexdigest()
    return words


def found_about(value: object) -> str:
    """Return a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, default=str)


def seen(path: Path, whole: dict[str, str]) -> tuple[str, str]:
    """Return what a reader of a damaged file sees, and a detail."""
    try:
        now = said(path)
    except (ValueError, OSError, KeyError) as error:
        text = str(error)
        named = path.name in text and not isinstance(error, KeyError)
        return ("refused" if named else "raw"), f"{type(error).__name__}: {text[:300]}"
    except Exception as error:
        return "raw", f"{type(error).__name__}: {str(error)[:300]}"
    if now == whole:
        return "same", ""
    return "other", ", ".join(k for k in {*now, *whole} if now.get(k) != whole.get(k))[:200]


def main() -> None:
    """Damage and read."""
    warnings.simplefilter("ignore")
    folder, n, seed, *files = sys.argv[1:]
    for file in map(Path, files):
        data, whole = file.read_bytes(), said(file)
        path = Path(folder) / f"damaged{file.suffix}"
        for what, copy in damages(data, int(n), np.random.default_rng(int(seed))):
            path.unlink(missing_ok=True)  # a reader may still hold the one before
            path.write_bytes(copy)
            print(json.dumps([file.name, what, *seen(path, whole)]), flush=True)


if __name__ == "__main__":
    main()
