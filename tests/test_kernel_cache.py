"""The kept kernels: what their names depend on, damage, two processes at once."""

import ast
import itertools
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbd.interactions import rows
from mbd.machine import jit, kernel_cache
from mbd.machine.kernel_cache import FingerprintError, Fingerprints
from mbd.machine.private_numba import CFunction, source_of

MODULE = """
from mbd.machine.jit import jit, kernel
SIZE = 3

@jit
def inner(x):
    {comment}
    return {factor} * x + SIZE

@jit
def other(x):
    return x + {offset}

@kernel
def first(I, F, k):
    F[0] = inner(F[0])

@kernel
def second(I, F, k):
    '''{doc}'''
    F[0] = other(F[0])
"""
PLAIN = {"comment": "pass", "factor": "2.0", "offset": "1.0", "doc": "Add."}


def keys(tmp_path, monkeypatch, size=3, **changes):
    """Return the descriptions of the two kernels of a module that is read afresh."""
    path = tmp_path / "own_kernels.py"
    path.write_text(MODULE.format(**{**PLAIN, **changes}).replace("SIZE = 3", f"SIZE = {size}"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("own_kernels", None)
    import own_kernels

    describe = Fingerprints(source_of)
    return describe(own_kernels.first.function), describe(own_kernels.second.function)


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        ({}, True, True),
        ({"comment": "# said\n    # twice\n    pass"}, True, True),
        ({"doc": "Add one and the same."}, True, True),
        ({"factor": "3.0"}, False, True),
        ({"offset": "2.0"}, True, False),
        ({"size": 4}, False, True),
    ],
)
def test_a_kernel_is_named_by_what_it_reaches(tmp_path, monkeypatch, changes, first, second):
    before = keys(tmp_path, monkeypatch)
    after = keys(tmp_path, monkeypatch, **changes)
    assert [a == b for a, b in zip(before, after, strict=True)] == [first, second]


@pytest.mark.parametrize("place", range(len(jit._TABLES)))
def test_a_kernel_is_named_by_how_tables_are_read(monkeypatch, place):
    """A file holds the type of the tables and the code that their reads emit."""
    kernel = jit.kernel(lambda I, F, k: None)
    before = kernel.file

    def another(*args):
        return args

    other = [another if i == place else x for i, x in enumerate(jit._TABLES)]
    monkeypatch.setattr(jit, "_TABLES", other)
    assert jit.kernel(kernel.function).file != before


def test_an_attribute_is_no_global_of_its_name():
    """A field called like something of the module that nobody can describe."""
    scope = {"stiffness": object()}
    exec("def rate(record): return 2.0 * record.stiffness\ndef named(): return stiffness", scope)
    describe = Fingerprints(lambda value: None)
    assert describe(scope["rate"])
    with pytest.raises(FingerprintError):
        describe(scope["named"])


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_function_in_a_module_in_modules_is_reached(depth):
    def law(factor):
        path, module = "own", (scope := ModuleType("own"))
        for name in ("inner", "elsewhere", "deep")[:depth]:
            setattr(module, name, ModuleType(name))
            path, module, before = f"{path}.{name}", getattr(module, name), module
            module.own = before  # modules may import each other
        exec(f"def gain(x): return {factor} * x", vars(module))
        space = {"own": scope}
        exec(f"def global_law(t): return {path}.gain(t)", space)
        exec(f"def made(own):\n def law(t): return {path}.gain(t)\n return law", space)
        return space["global_law"], space["made"](scope)

    one, two, three = ([Fingerprints(lambda value: None)(f) for f in law(x)] for x in (1, 1, 2))
    assert one == two
    assert all(a != b for a, b in zip(one, three, strict=True))


def test_functions_that_reach_each_other_do_not_hide_a_change():
    def cycle(step):
        scope = {}
        text = f"def a(n): return b(n - {step})\ndef b(n): return a(n)\ndef c(n): return b(n)"
        exec(text, scope)
        return scope

    for order in itertools.permutations("abc"):
        describe = [Fingerprints(lambda value: None) for _ in range(2)]
        one, two = (
            {n: d(s[n]) for n in order} for d, s in zip(describe, map(cycle, (1, 2)), strict=True)
        )
        assert all(one[n] != two[n] for n in "abc")


NAMES = """
import importlib, pkgutil, mbd
from mbd.machine.jit import Kernel
names = set()
for info in pkgutil.walk_packages(mbd.__path__, "mbd."):
    if "__main__" in info.name or ".cli" in info.name: continue
    module = importlib.import_module(info.name)
    for value in vars(module).values():
        if isinstance(value, Kernel): names.add(value.file.name)
print(*sorted(names))
"""


def test_the_package_describes_all_its_kernels(capsys):
    """Two processes, of which one has another seed of hashes, give every kernel the same name."""
    exec(NAMES, {})
    here = capsys.readouterr().out.split()
    there = subprocess.run(
        [sys.executable, "-c", NAMES], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "2", "NUMBA_DISABLE_JIT": "0"},
    ).stdout.split()  # fmt: skip
    assert here == there
    assert len(here) > 30


def test_a_kernel_calls_its_own_copies_only():
    """Else its last bits depend on the kernels that were compiled or loaded before it."""

    def exported(apart):
        c_function = CFunction(rows.dot_tangent.function, jit._SIGNATURE, jit._OPTIONS)
        compiled = c_function.compiled
        if not apart:
            compiled._compile_uncached = c_function._compile_shared
        compiled.compile()
        functions = compiled._library.get_defined_functions()
        return {f.name for f in functions if f.linkage.name != "internal"} - {compiled.native_name}

    assert exported(False)  # functions that LLVM leaves outside
    assert not exported(True)


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(1, 255))
def test_a_file_is_what_was_saved_or_damaged(tmp_path_factory, payload, at, change):
    file = tmp_path_factory.mktemp("kept") / "k.kernel"
    assert kernel_cache.load(file) is None
    kernel_cache.save(file, payload)
    assert kernel_cache.load(file) == payload
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= change
    for damaged in (content, file.read_bytes()[: at % len(content)], file.read_bytes() + b"x"):
        file.write_bytes(damaged)
        with pytest.raises(kernel_cache.DamagedError):
            kernel_cache.load(file)


PROGRAM = """
import io, sys
from contextlib import redirect_stderr
from pathlib import Path
import numpy as np
from mbd.machine.jit import _COMPILED, Kernel
from mbd.machine.shared_work import compile_all
import own_kernels

def answer():
    told = io.StringIO()
    _COMPILED.clear()  # as in another process
    first, second = (Kernel(k.function) for k in (own_kernels.first, own_kernels.second))
    with redirect_stderr(told):
        compile_all([first, second])
        F = np.ones(2)
        first(np.zeros(2, np.int32), F)
        second(np.zeros(2, np.int32), F)
    compiler = {"numba.np.arraymath", "numba.typed.dictimpl"} & {*sys.modules}
    return float(F[0]), told.getvalue() or " ".join(compiler)

print([answer()])
for damaged in map(Path, sys.argv[2:]):
    file = Path(sys.argv[1])
    file.write_bytes(damaged.read_bytes())
    print([answer(), file.read_bytes() == damaged.read_bytes()])
"""


@pytest.fixture
def program(tmp_path):
    """Return a start of a process that compiles and runs two kernels."""
    (tmp_path / "own_kernels.py").write_text(MODULE.format(**PLAIN))
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": path}
    env["NUMBA_DISABLE_JIT"] = "0"

    def start(*files):
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, files)], env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start


def answers(process):
    """Return what a process printed: [(result, told), ...] of each run of its kernels."""
    out, told = process.communicate()
    assert told == ""
    return [ast.literal_eval(line) for line in out.splitlines()]


def test_two_processes_share_the_work_and_damage_is_told_and_mended(program, tmp_path):
    both = [answers(p) for p in [program() for _ in range(2)]]
    assert [x[0][0] for (x,) in both] == [6.0, 6.0]
    kept = tmp_path / "kept"
    assert [f.suffix for f in kept.iterdir()] == [".kernel"] * 2
    files = sorted(kept.glob("*.kernel"))
    content, sealed = [f.read_bytes() for f in files], kernel_cache._sealed(files[0], b"no pickle")
    damages = (b"", content[0][:1000], np.random.default_rng(3).bytes(5000), content[1], sealed)
    for i, damaged in enumerate(damages):
        (tmp_path / f"damaged {i}").write_bytes(damaged)
    (first,), *mended = answers(program(files[0], *sorted(tmp_path.glob("damaged *"))))
    assert first == (6.0, "")  # loaded, without what compiles, and nothing is said
    assert len(mended) == len(damages)
    for (answer, told), is_left in mended:
        assert (answer, is_left) == (6.0, False)
        assert "is damaged and is compiled again" in told


def test_a_folder_that_cannot_be_written_is_no_failure(program, tmp_path):
    (tmp_path / "kept").write_text("a file, not a folder")
    (((out, told),),) = answers(program())
    assert out == 6.0
    assert "compiling kernels" in told


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize(
    ("of", "mode", "good"),
    [
        ("kernels", 0o700, True), ("kernels", 0o755, True), ("kernels", 0o777, False),
        ("kernels", 0o1777, False), (".", 0o777, False), (".", 0o1777, True), (".", 0o755, True),
    ],
)  # fmt: skip
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, capsys, of, mode, good):
    """Nor one that others can replace: kernels are programs."""
    where = tmp_path / "a" / "kernels"
    where.mkdir(parents=True)
    changed = where.parent / of
    changed.chmod(mode)
    try:
        assert (kernel_cache.folder(str(where)) == where) is good
    finally:
        changed.chmod(0o700)
    told = capsys.readouterr().err
    assert (told == "") is good
    if not good:
        assert f"everybody may write to {changed.resolve()}" in told
        assert "chmod go-w" in told


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_folder_of_another_user_or_group(tmp_path, monkeypatch):
    where = tmp_path / "kernels"
    where.mkdir(mode=0o700)
    assert kernel_cache._written_by_others(where) == ""
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 12345)
    assert me == 0 or "belongs to another user" in kernel_cache._written_by_others(where)
    monkeypatch.undo()
    if me != 0:
        return
    os.chown(where, 12345, -1)
    assert "belongs to another user" in kernel_cache._written_by_others(where)
    os.chown(where, 0, 12345)
    where.chmod(0o770)
    assert "a group may write to" in kernel_cache._written_by_others(where)
    os.chown(where, 0, 0)
    assert kernel_cache._written_by_others(where) == ""
