"""Damaged files: what is read is right, or refused by name; never a crash, never a hang."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mbd
from tests.hard.reading import damages
from tests.results.samples import everything, spinner

ROOT = Path(__file__).parents[2]
KILLED = """
import os, mbd
from mbd.store import stream
from tests.results.samples import spinner
stream.FileRecord.close = lambda *_: os._exit(9)
mbd.simulate(spinner(), 0.05, 1e-3, stream={path!r}, progress=False)
"""
KINDS = ["saved.npz", "saved.nc", "streamed.nc", "killed.nc"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a whole file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    solution = mbd.simulate(spinner(), 0.05, 1e-3)
    for name in KINDS[:2]:
        solution.save(folder / name)
    mbd.simulate(spinner(), 0.05, 1e-3, stream=folder / KINDS[2])
    code = KILLED.format(path=str(folder / KINDS[3]))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 9
    return folder


def read(files, folder, n, seed, limit):
    """Return what a process of its own saw in n damaged copies of each file, by kind."""
    program = [sys.executable, "-X", "faulthandler", str(Path(__file__).with_name("reading.py"))]
    done = subprocess.run(
        [*program, folder, str(n), str(seed), *(files / kind for kind in KINDS)], cwd=ROOT,
        timeout=limit, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after {len(found)} files: {done.stderr[-3000:]}"
    by_kind = {kind: [x for name, *x in found if name == kind] for kind in KINDS}
    assert all(len(x) == n for x in by_kind.values())
    return by_kind


def check(found, kind):
    """Every copy was read as what the whole file says, or refused by name.

    In .nc files words have no checksum, and that of a block of zeros is zero; streams have none.
    """
    counts = Counter(result for _, result, _ in found)
    few = {"saved.npz": 0, "saved.nc": len(found) // 32}.get(kind, len(found) // 4)
    unseen = ("other",) if counts["other"] <= few else ()
    wrong = [x for x in found if x[1] not in ("same", "refused", *unseen)]
    assert not wrong, f"{len(wrong)} of {len(found)}: {wrong[:5]}"
    assert counts["refused"] > len(found) // 8  # the damage was seen


@pytest.mark.parametrize(
    ("n", "seed"), [(64, 7101), *(pytest.param(600, x, marks=pytest.mark.slow) for x in range(10))]
)
def test_damaged_results_are_right_or_refused_by_name(files, tmp_path, n, seed):
    for kind, found in read(files, tmp_path, n, seed, 6 * n).items():
        check(found, kind)


def test_a_damaged_model_file_is_read_or_refused_by_name(tmp_path):
    """It has no checksum, people write it: what can be read is read, all else has its name."""
    path = tmp_path / "model.toml"
    mbd.write(everything(), path)
    data, refused = path.read_bytes(), []
    for what, copy in damages(data, 120, np.random.default_rng(5)):
        path.write_bytes(copy)
        try:
            mbd.read(path).system.build()
        except (ValueError, OSError) as error:
            refused.append((what, str(error)))
    assert [x for x in refused if path.name not in x[1]] == []
    assert len(refused) > 60


@pytest.mark.parametrize("content", [b"hello", b"\x89HDF\r\n\x1a\n", b"\x80\x04K\x01.", b"{}"])
def test_what_is_no_archive_is_not_called_a_pickle(content, tmp_path):
    """NumPy takes anything else for one, and says to load it if one trusts it."""
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"load: .*x.npz is not .*no archive of numpy, by its first bytes"
    ) as error:
        mbd.load(path)
    assert "trust" not in str(error.value)
