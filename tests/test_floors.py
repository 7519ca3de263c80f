"""Imports only go down; every import of the package is walked."""

import ast
import functools
import os
import statistics
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

import mbd

ROOT = Path(mbd.__file__).parent
# from below to above; formulations and interactions do not know each other
ORDER = (
    "machine", "base", "algebra", "figures", "formulations", "interactions", "parts", "model",
    "beams", "flexible", "linear", "integration", "small_motions", "statics", "history", "runs",
    "files", "store", "pictures", "surfaces", "animation", "front", "analyses",
    "derivatives", "fitting", "control", "fmi", "studies", "comparison", "cli", "__main__",
)  # fmt: skip
APART = {"formulations", "interactions"}
DRAW = ("figures", "pictures", "surfaces", "animation", "comparison", "cli")
LAZY = {"matplotlib", "xarray", "h5py", "h5netcdf", "tqdm"}  # inside functions only
KNOW_NUMBA = (
    "machine/jit.py", "machine/laws.py", "machine/subnormal.py", "machine/tables.py",
    "machine/vector_code.py",
)  # fmt: skip
HEAVY = ("numba", "scipy", "matplotlib", "networkx", "xarray", "h5py", "h5netcdf")
FILES = sorted(p for p in ROOT.rglob("*.py") if "models" not in p.relative_to(ROOT).parts)
NAMES = [str(p.relative_to(ROOT)) for p in FILES]


def room_of(module):
    """Return the place of a module's room in the order."""
    parts = module.removeprefix("mbd.").removesuffix(".py").replace("/", ".").split(".")
    return ORDER.index(parts[0])


@functools.cache
def imports(path):
    """Return (module, lazy) of every import of a file, also of those for type checkers."""
    return tuple(_imports(path))


def _imports(path):
    tree = ast.parse(path.read_text())
    inside = {
        id(n)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for n in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it out"
            for name in node.names:  # from mbd.front import simulate
                full = f"{node.module}.{name.name}"
                yield full if _is_module(full) else node.module, id(node) in inside


def _is_module(name):
    base = ROOT.parent / Path(*name.split("."))
    return name.startswith("mbd.") and base.with_suffix(".py").exists()


def test_the_walk_finds_something():
    modules = {module for p in FILES for module, _ in imports(p)}
    assert {"numba", "numpy", "mbd.machine.jit", "mbd.front.solution"} <= modules
    assert len(FILES) > 25


@pytest.mark.parametrize("name", [n for n in NAMES if n != "__init__.py"])
def test_imports_go_down(name):
    mine, folder = room_of(name), name.split("/")[0]
    for module, _ in imports(ROOT / name):
        if not module.startswith("mbd."):
            continue
        assert room_of(module) <= mine, f"{name} imports {module}, which is above"
        others = {folder, module.split(".")[1]}
        assert others != APART, f"{name} must not know {module}"


def test_no_circles():
    """Lazy imports and those for type checkers count."""
    graph = networkx.DiGraph()
    for name in NAMES:
        graph.add_edges_from(
            (f"mbd.{name[:-3].replace('/', '.')}", x) for x, _ in imports(ROOT / name)
        )
    assert not [c for c in networkx.strongly_connected_components(graph) if len(c) > 1]


def test_rooms_are_small():
    for room in (p for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"):
        files = [p.name for p in room.glob("*.py") if p.name != "__init__.py"]
        assert len(files) <= 16, f"{room.name} has {len(files)} files"


@pytest.mark.parametrize("name", NAMES)
def test_who_knows_numba_scipy_and_matplotlib(name):
    for module, lazy in imports(ROOT / name):
        top = module.split(".")[0]
        if top in ("numba", "llvmlite"):
            assert name in KNOW_NUMBA, f"{name} imports {module}: only {KNOW_NUMBA} may"
        if module.startswith("scipy") and name != "__init__.py":
            assert room_of(name) >= ORDER.index("model"), f"{name} imports {module} below model/"
        if top == "matplotlib" and module != "matplotlib.figure":  # the type of what is returned
            assert name.split("/")[0] in DRAW, f"{name} imports matplotlib: only {DRAW} may"
        if top in LAZY:
            assert lazy, f"{name} imports {module} when it is imported; do it inside the function"


def test_nothing_below_the_solvers_knows_a_time_step():
    """The weights of the iteration matrix arrive as numbers; only solvers read H, BETA, GAMMA."""
    words = {"H", "BETA", "GAMMA", "ALPHA_M", "ALPHA_F"}
    for name in NAMES:
        if name == "__init__.py" or room_of(name) >= ORDER.index("linear") or "buffer" in name:
            continue
        tree = ast.parse((ROOT / name).read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "m":
                assert node.attr not in words, f"{name} reads {node.attr}"
            if isinstance(node, ast.ImportFrom) and node.module == "mbd.machine.buffer":
                assert not words & {n.name for n in node.names}, f"{name} imports a time step"


def code_lines(path):
    """Return the number of lines without docstrings, comments and blanks."""
    text = path.read_text()
    lines = {i for i, x in enumerate(text.splitlines(), 1) if x.strip() and x.strip()[0] != "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_files_are_short():
    sizes = {name: len((ROOT / name).read_text().splitlines()) for name in NAMES}
    long = {name: n for name, n in sizes.items() if n > 400}
    assert not long, f"no file over 400 lines: {long}"
    assert statistics.median(code_lines(p) for p in FILES) <= 120


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, **environment}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    loaded = run(f"import sys, mbd; print(*[x for x in {HEAVY} if x in sys.modules])")
    assert loaded == []
    loaded = run(f"import sys, mbd; mbd.System; print(*[x for x in {HEAVY} if x in sys.modules])")
    assert "matplotlib" not in loaded


def test_a_run_does_not_load_pictures():
    code = """
import sys, mbd
system = mbd.System()
system.add(mbd.PointMass("m", mass=1.0, velocity=(1, 0, 0)))
mbd.simulate(system, 0.01, 1e-3)["m"].position
heavy = "matplotlib", "pandas", "xarray", "networkx", "IPython", "scipy.sparse"
print(*[x for x in heavy if x in sys.modules])
"""
    assert run(code) == []


def test_every_public_name_can_be_had():
    for name in mbd.__all__:
        assert getattr(mbd, name) is not None
    assert set(mbd.__all__) <= set(dir(mbd))
    with pytest.raises(AttributeError, match=r"no attribute 'RigidBdy'.*RigidBody"):
        mbd.RigidBdy  # noqa: B018


def test_the_start_of_the_readme_is_two_lines():
    """From a clone to a result, and from a clone to the tests."""
    text = (ROOT.parent / "README.md").read_text()
    block = text.split("```sh\n")[1].split("```")[0]
    lines = block.strip().splitlines()
    assert len(lines) == 2
    assert "mbd run models/" in lines[0]
    assert lines[1].endswith("pytest")
    scene = next(word for word in lines[0].split() if word.startswith("models/"))
    assert (ROOT.parent / scene).exists()
