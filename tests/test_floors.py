"""Imports only go down; every import of the package is walked."""

import ast
import functools
import importlib
import os
import subprocess
import sys

import networkx
import pytest
import sources
from sources import nodes, tree, within, word

import mbd
from mbd.base.above import ABOVE

# from below to above; formulations and interactions do not know each other
ORDER = (
    "machine", "base", "algebra", "formulations", "interactions", "parts", "model", "beams",
    "flexible", "linear", "integration", "joint_tree", "small_motions", "statics", "history",
    "runs", "front", "files", "store", "drawing", "animation", "analyses", "derivatives", "fitting",
    "control", "fmi", "studies", "cli", "__main__",
)  # fmt: skip
APART = {"formulations", "interactions"}
DRAW = ("drawing", "animation", "studies", "cli")
LAZY = {"matplotlib", "xarray", "h5py", "h5netcdf", "tqdm"}  # inside functions only
KNOW_NUMBA = (
    "machine/jit.py", "machine/private_numba.py", "machine/straight_line.py",
    "machine/subnormal.py", "machine/tables.py", "machine/two_threads.py",
    "machine/vector_code.py",
)  # fmt: skip
HEAVY = ("numba", "scipy", "matplotlib", "networkx", "xarray", "h5py", "h5netcdf")
NAMES = [x for x in sources.FILES if "models/" not in x]
MODULES = {f"mbd.{x[:-3].replace('/', '.')}" for x in NAMES}
BELOW = [x for x in NAMES if x != "__init__.py"]


def room_of(module):
    """Return the place of a module's room in the order."""
    parts = module.removeprefix("mbd.").removesuffix(".py").replace("/", ".").split(".")
    return ORDER.index(parts[0])


@functools.cache
def imports(name):
    """Return (module, lazy) of every import of a file, also of those for type checkers."""
    return tuple(_imports(name, tree(name), False))


def _imports(file, node, lazy):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((name.name, lazy) for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{file}: relative import; write it out"
            for name in child.names:  # from mbd.front import simulate
                full = f"{child.module}.{name.name}"
                yield full if full in MODULES else child.module, lazy
        elif isinstance(child, ast.stmt | ast.excepthandler):
            later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            typing = isinstance(child, ast.If) and "TYPE_CHECKING" in within(child.test)
            yield from _imports(file, child, lazy or later or typing)


def test_the_walk_finds_something():
    modules = {module for x in NAMES for module, _ in imports(x)}
    assert {"numba", "numpy", "mbd.machine.jit", "mbd.front.solution"} <= modules
    assert len(NAMES) > 25


def test_imports_go_down():
    ups = []
    for name in BELOW:
        for module, _ in imports(name):
            if module.startswith("mbd."):
                apart = {name.split("/")[0], module.split(".")[1]} == APART
                if apart or room_of(module) > room_of(name):
                    ups.append(f"{name} imports {module}")
    assert not ups


def test_no_circles():
    """Lazy imports and those for type checkers count."""
    graph = networkx.DiGraph()
    for name in NAMES:
        graph.add_edges_from((f"mbd.{name[:-3].replace('/', '.')}", x) for x, _ in imports(name))
    assert not [c for c in networkx.strongly_connected_components(graph) if len(c) > 1]


def test_what_is_called_from_above_is_above_and_in_the_table():
    """Each entry has one caller; what is not above it, a caller imports as everything else."""
    callers = {
        node.args[0].value: name
        for name in BELOW
        for node in nodes(name)
        if isinstance(node, ast.Call) and word(node.func) == "from_above"
    }
    assert set(callers) == set(ABOVE)
    for who, place in ABOVE.items():
        module, _, attribute = place.partition(":")
        assert callable(getattr(importlib.import_module(module), attribute)), place
        assert room_of(module) > room_of(callers[who]), who


def test_what_begins_with_an_underscore_is_a_file_s_own():
    taken = [
        f"{name} takes {x.name} of {node.module}"
        for name in NAMES
        for node in nodes(name)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mbd")
        for x in node.names
        if x.name.startswith("_")
    ]
    assert not taken


def test_who_knows_numba_scipy_and_matplotlib():
    wrong = [x for name in BELOW for x in heavy_imports(name, imports(name))]
    assert not wrong


def heavy_imports(name, modules):
    """Yield what a file must not import, or not at its top."""
    for module, lazy in modules:
        top = module.split(".")[0]
        if top in ("numba", "llvmlite") and name not in KNOW_NUMBA:
            yield f"{name} imports {module}: only {KNOW_NUMBA} may"
        if top == "scipy" and room_of(name) < ORDER.index("model"):
            yield f"{name} imports {module} below model/"
        drawn = top == "matplotlib" and module != "matplotlib.figure"  # the type of a product
        if drawn and name.split("/")[0] not in DRAW:
            yield f"{name} imports matplotlib: only {DRAW} may"
        if top in LAZY and not lazy:
            yield f"{name} imports {module} when it is imported; do it inside the function"


def test_the_walk_finds_heavy_imports():
    modules = [("numba", True), ("scipy.linalg", True), ("matplotlib.pyplot", False), ("numpy", 0)]
    assert len(list(heavy_imports("algebra/vec.py", modules))) == 4
    assert list(heavy_imports("cli/run.py", [("scipy.linalg", False), ("h5py", True)])) == []


def test_nothing_below_the_solvers_knows_a_time_step():
    """The weights of the iteration matrix arrive as numbers; only solvers read H, BETA, GAMMA."""
    words = {"H", "BETA", "GAMMA", "ALPHA_M", "ALPHA_F"}
    for name in NAMES:
        if name == "__init__.py" or room_of(name) >= ORDER.index("linear") or "buffer" in name:
            continue
        for node in nodes(name):
            if isinstance(node, ast.Attribute) and word(node.value) == "m":
                assert node.attr not in words, f"{name} reads {node.attr}"
            if isinstance(node, ast.ImportFrom) and node.module == "mbd.machine.buffer":
                assert not words & {n.name for n in node.names}, f"{name} imports a time step"


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
    text = (sources.ROOT.parent / "README.md").read_text()
    block = text.split("```sh\n")[1].split("```")[0]
    lines = block.strip().splitlines()
    assert len(lines) == 2
    assert "mbd run models/" in lines[0]
    assert lines[1].endswith("pytest")
    scene = next(word for word in lines[0].split() if word.startswith("models/"))
    assert (sources.ROOT.parent / scene).exists()
