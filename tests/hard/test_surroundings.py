"""What others change in a process, or where it runs, changes nothing that is computed or written.

Locales with a decimal comma, numpy that raises or prints little, few frames, files or folders, no
output, another encoding: one session (``surroundings.py``) in all of them, against one at home.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from families import some

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LOCALES = (("de_DE", "UTF-8"), ("de_DE", "ISO-8859-1"), ("tr_TR", "UTF-8"))
ASCII = {"PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}

# name: changes within the process, options of Python, environment
SURROUNDINGS = {
    "German, numpy raises, few frames": (
        ("locale", "errors of numpy raise", "numpy prints little", "decimals of two digits",
         "warnings are errors", "umask", "few frames"),
        (), {"LC_ALL": "de_DE.UTF-8"},
    ),
    "German in Latin 1, no output, few files": (
        ("locale", "the folder is gone", "SIGINT ignored", "few files", "no output"),
        ("-X", "utf8=0"), {"LC_ALL": "de_DE.ISO-8859-1", "TMPDIR": "/nowhere"},
    ),
    "ASCII, traced": (("locale", "traced"), ("-X", "utf8=0"), ASCII),
}  # fmt: skip
NAMED = {"German, numpy raises, few frames": "Größe ü 中 %s {x} 'a\"b\\c"}  # folders
ALONE = {
    **{
        name: ((name,), (), {})
        for name in (
            "errors of numpy raise", "numpy prints little", "decimals of two digits",
            "warnings are errors", "few frames", "umask", "the folder is gone", "traced",
            "profiled", "no output", "SIGINT ignored", "few files",
        )
    },
    **{f"{x}.{y}": (("locale",), ("-X", "utf8=0"), {"LC_ALL": f"{x}.{y}"}) for x, y in LOCALES},
    "no documentation": ((), ("-OO",), {}),
    "bytes are no text": ((), ("-bb", "-X", "dev"), {}),
    "other hashes": ((), (), {"PYTHONHASHSEED": "77"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """Return a folder of locales made here, for machines have few."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None:
        pytest.skip("there is no localedef")
    for name, code in LOCALES:
        made = ["localedef", "-i", name, "-f", code, str(folder / f"{name}.{code}")]
        subprocess.run(made, capture_output=True, check=False)
        if not (folder / f"{name}.{code}").exists():
            pytest.skip(f"localedef makes no {name}.{code}")
    return folder


def held(folder, locales, names=(), options=(), environment=None):
    """Return what a session in a folder says."""
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "LOCPATH": str(locales), **(environment or {}),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *options, str(HERE / "surroundings.py"), str(folder), *names],
        cwd=folder, timeout=600, capture_output=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return json.loads(done.stdout.decode().splitlines()[-1])


@pytest.fixture(scope="module")
def at_home(tmp_path_factory, locales):
    """Return what a session says in surroundings that nobody changed."""
    return held(tmp_path_factory.mktemp("home"), locales)


def test_the_process_is_left_as_it_was(at_home):
    """Locale, errors and print options of numpy, random numbers, signals, threads, rounding ..."""
    assert at_home["left"] == []
    assert len(at_home["done"]) > 15


@pytest.mark.parametrize(
    "which", [*some(SURROUNDINGS, 3), *(pytest.param(x, marks=pytest.mark.slow) for x in ALONE)]
)
def test_a_session_is_the_same_in_all_surroundings(tmp_path, locales, at_home, which):
    """The bits of runs, of tables and model files, and the words of messages; in any folder."""
    folder = tmp_path / NAMED.get(which, "plain")
    folder.mkdir()
    there = held(folder, locales, *{**SURROUNDINGS, **ALONE}[which])
    assert there["done"] == at_home["done"]
    assert there["left"] == []
