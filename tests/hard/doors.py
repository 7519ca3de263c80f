"""Every kind of file that the package reads: how a whole one is made, and how it is read."""

import io
import json
import re
import zipfile
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.io
import scipy.sparse as sp

import mbd
from mbd.files import scenes
from mbd.fmi import process
from mbd.machine import kernel_cache
from tests.files import wind_writers as w
from tests.flexible import program_writers as fe
from tests.hard.reading import said
from tests.hard.test_inputs import chain, lattice
from tests.results.samples import everything, spinner

URDF = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 0 0.2" rpy="0 0.3 0"/><mass value="2.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0.01" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
<joint name="hip" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<origin xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="3"/></joint></robot>"""
MJCF = """<mujoco model="m"><option timestep="0.002" gravity="0 0 -9.81"/>
<default><geom density="800"/></default>
<worldbody><body name="arm" pos="0 0 1"><joint name="hip" type="hinge" axis="0 1 0" range="-90 90"
damping="0.1"/><geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5"/>
<body name="leg" pos="0 0 -0.5"><joint name="knee" axis="0 1 0" stiffness="3"/>
<geom type="box" size="0.1 0.1 0.2" mass="1.5"/></body></body></worldbody>
<actuator><motor name="push" joint="hip" gear="2"/></actuator></mujoco>"""
SCENE = '''"""A point."""
import mbd
RUN = {"t_end": 0.1, "step": 0.01}
def build(mass=1.0):
    system = mbd.System()
    system.add(mbd.PointMass("p", mass=mass))
    return system
'''
CUBE = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
FACES = [(1, 4, 3), (1, 2, 4), (5, 7, 8), (5, 8, 6), (1, 3, 7), (1, 7, 5)]


@dataclass(frozen=True)
class Door:
    """A kind of file: what makes it, what reads it, and the files of the package that do so."""

    make: object  # (path) -> None
    read: object  # (path) -> anything
    by: tuple[str, ...]
    program: bool = False  # which is not tried with changed words


def _study(folder, **options):
    return mbd.study(
        chain(), {"a.mass": [1.0, 2.0, 3.0]}, t_end=0.01, step=0.01, outputs=["a.position"],
        directory=folder, chunk=2, progress=False, **options,
    )  # fmt: skip


def _studied(path):
    """Run the study of a folder again: what it returns must be right."""
    found = _study(path.parent)
    assert np.array_equal(found["a.position"], _study(None)["a.position"])


@cache
def _swing():
    """Return a small system with curves to fit."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0))
    t = np.linspace(0, 0.2, 5)
    return system, {"ball.position.z": (t, -4.5 * t**2)}


def _fit(path):
    system, data = _swing()
    found = mbd.fit(system, data, ["gravity.z"], step=0.1, file=path, progress=False)
    assert abs(found["gravity.z"] + 9.0) < 1e-6


def _optimum(path):
    system, _ = _swing()
    objective = mbd.Objective(terminal=lambda last: (last["ball"].position[2] + 0.1) ** 2)
    mbd.optimize(
        objective, system, ["gravity.z"], t_end=0.2, step=0.1, file=path, progress=False,
        max_evaluations=4,
    )  # fmt: skip


def _matrices(what, save):
    """Return how a file of a flexible body is made and read."""

    def make(path):
        save(path, lattice()[what])

    def read(path):
        mbd.FlexibleBody("cube", **{**lattice(), what: path})

    return make, read


def _mtx(path, value):
    scipy.io.mmwrite(path, sp.coo_matrix(np.asarray(value)))


def _npy(path, value):
    np.save(path, np.asarray(value))


def _npz(path, value):
    sp.save_npz(path, sp.csc_matrix(np.asarray(value)))


def _text_stl(path):
    lines = ["solid x"]
    for face in FACES:
        corners = [f"vertex {' '.join(map(str, map(float, CUBE[i - 1])))}" for i in face]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid x"]))


def _binary_stl(path):
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    data = np.zeros(len(FACES), record)
    data["corners"] = [[CUBE[i - 1] for i in face] for face in FACES]
    path.write_bytes(bytes(80) + len(FACES).to_bytes(4, "little") + data.tobytes())


def _obj(path):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + [f"f {a} {b} {c}" for a, b, c in FACES]
    path.write_text("\n".join(lines))


def _msh(path):
    numbers = np.array([len(CUBE), 0, 0, len(FACES)], "<i4").tobytes()
    faces = (np.array(FACES, "<i4") - 1).tobytes()
    path.write_bytes(numbers + np.array(CUBE, "<f4").tobytes() + faces)


def _mesh(path):
    mbd.Mesh(path)


def _unit(path):
    """Write the unit of an archive, as it lies in the folder of a tool."""
    unit = process.Described(chain(), [], 1e-3, None, None)
    from mbd.fmi.export import carried

    path.write_bytes(carried(unit))
    path.with_suffix(".token").write_text(process.token_of(path.read_bytes()))


def _token(path):
    unit = process.read(path.parent, path.with_suffix(".token").read_text())
    assert unit.step == 1e-3


def _kernel(path):
    kernel_cache.save(path, b"machine code" * 20)


def _kept_kernel(path):
    assert kernel_cache.load(path) in (None, b"machine code" * 20)  # None: it is compiled again


def _written(text):
    return lambda path: path.write_text(text)


def _built(path):
    mbd.read(path).system.build()


def _included(path):
    outer = path.with_name("outer.xml")
    outer.write_text(f'<mujoco><include file="{path.name}"/></mujoco>')
    mbd.read(outer).system.build()


def _result(path):
    mbd.simulate(spinner(), 0.01, 1e-3).save(path)


def _program(write, *names):
    """Return how files of a finite element program are made and read."""

    def read(path):
        files = [path.parent / x for x in names]
        mbd.read_matrix(files[0], "M"), mbd.read_nodes(files[2])
        mbd.FlexibleBody("bar", *files, {"one": [3], "two": [55]}, units="mm t s")

    return lambda path: write(path.parent), read, ("flexible/files.py",)


ABAQUS = _program(fe.abaqus, "M.mtx", "K.mtx", "beam.inp")
CALCULIX = _program(fe.calculix, "beam.mas", "beam.sti", "beam.inp")
NASTRAN = _program(fe.dmig, "beam.pch", "beam.pch", "beam.bdf")
OUTPUT4 = _program(fe.op4, "beam.op4", "beam.op4", "beam.bdf")
ANSYS = _program(fe.harwell_boeing, "M.matrix", "K.matrix", "nodes.txt")
ROBOTS = ("files/robots/urdf.py",)
FLEXIBLE = ("flexible/mesh.py",)
STUDY = ("studies/kept_chunks.py",)
MESH = ("parts/meshes.py",)
DOORS = {
    "run.npz": Door(_result, said, ("store/source.py",)),
    "model.toml": Door(lambda p: mbd.write(everything(), p), _built, ("files/modelfile.py",)),
    "robot.urdf": Door(_written(URDF), _built, ROBOTS),
    "robot.xml": Door(_written(MJCF), _built, ("files/robots/mjcf_source.py",)),
    "part.xml": Door(_written(MJCF), _included, ("files/robots/mjcf_source.py",)),
    "scene.py": Door(_written(SCENE), scenes.load, ("files/scenes.py",), program=True),
    "study.json": Door(lambda p: _study(p.parent), _studied, STUDY),
    "chunk_000000000.npz": Door(lambda p: _study(p.parent), _studied, STUDY),
    "fit.kept": Door(_fit, _fit, ("fitting/evaluations.py",)),
    "optimum.kept": Door(_optimum, _optimum, ("fitting/evaluations.py",)),
    "M.mtx": Door(*_matrices("M", _mtx), FLEXIBLE),
    "K.npy": Door(*_matrices("K", _npy), FLEXIBLE),
    "K.npz": Door(*_matrices("K", _npz), FLEXIBLE),
    "x.npy": Door(*_matrices("coordinates", _npy), FLEXIBLE),
    "K.mtx": Door(*ABAQUS),
    "beam.sti": Door(*CALCULIX),
    "beam.dof": Door(*CALCULIX),
    "beam.inp": Door(*CALCULIX),
    "beam.pch": Door(*NASTRAN),
    "beam.bdf": Door(*NASTRAN),
    "beam.op4": Door(*OUTPUT4),
    "K.matrix": Door(*ANSYS),
    "M.mapping": Door(*ANSYS),
    "nodes.txt": Door(*ANSYS),
    "text.stl": Door(_text_stl, _mesh, MESH),
    "binary.stl": Door(_binary_stl, _mesh, MESH),
    "cube.obj": Door(_obj, _mesh, MESH),
    "cube.msh": Door(_msh, _mesh, MESH),
    "unit.pickle": Door(_unit, _token, ("fmi/process.py",), program=True),
    "beamdyn.dat": Door(lambda p: w.beamdyn(p, w.small()), mbd.read_beamdyn, ()),
    "beamdyn_blade.inp": Door(
        lambda p: w.beamdyn(p.with_name("b.dat"), w.small()),
        lambda p: mbd.read_beamdyn(p.with_name("b.dat")),
        (),
    ),
    "elastodyn.dat": Door(w.elastodyn, mbd.read_elastodyn, ()),
    "aerodyn.dat": Door(lambda p: w.aerodyn(p, w.AIR), mbd.read_aerodyn, ()),
    "polar_0.inp": Door(lambda p: w.aerodyn(p.with_name("a.dat"), w.AIR), mbd.read_aerodyn, ()),
    "windio1.yaml": Door(lambda p: w.windio1(p, w.small()), mbd.read_windio, ()),
    "windio2.yaml": Door(lambda p: w.windio2(p, w.small()), mbd.read_windio, ()),
    "model.htc": Door(lambda p: w.hawc2(p, w.small()), mbd.read_hawc2, ()),
    "sections.st": Door(lambda p: w.hawc2(p.with_suffix(".htc"), w.small()), mbd.read_hawc2, ()),
    "kernel.nbi": Door(_kernel, _kept_kernel, ("machine/kernel_cache.py",)),
}
IN_A_PROCESS = {  # HDF5 may end or hang one: test_damaged.py
    "store/log.py",
    "store/netcdf.py",
    "store/source.py",
}
OURS = {  # files of the package itself, of the system, and those that are written a moment before
    "animation/page.py": "the scripts of the page",
    "base/public.py": "the list of public names",
    "base/identity.py": "bytes of files whose names are met, whatever they are",
    "base/free_bytes.py": "/proc",
    "animation/film.py": "the film that an encoder has written",
    "base/atomic.py": "a file that is replaced, for the names in it",
    "files/robots/xacro.py": "what its own process has written",
}


# --- what may be wrong with a file ----------------------------------------------------------------
WORDS = ("nan", "inf", "-1", "1e308", "1e999", "9" * 400, "x", "0", "null", '"x"', "[]", "{}", "")
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(\.\d*)?([eE][-+]?\d+)?(?![\w.])")
_NAME = re.compile(rb"(?<=[\"'<\s])[A-Za-z_][A-Za-z_ ]*(?=[\"'>\s=:])")
RUBBISH = {
    "empty": b"", "a line": b"\n", "words": b"hello", "zeros": bytes(300), "json": b"{}",
    "list": b"[]", "number": b"3", "null": b"null", "noise": bytes(range(256)) * 3,
    "text of another kind": "\ufeff\u66f2\u67c4 = 1\n".encode(), "halves": b"\xff\xfe\x00\xd8",
    "deep json": b'{"a":' * 100_000, "deep list": b"[" * 100_000, "deep xml": b"<a>" * 3000,
    "deeper xml": b"<a>" * 200_000, "deep closed": b"<a>" * 3000 + b"</a>" * 3000,
    "archive": b"PK\x05\x06" + bytes(18), "pickle": b"\x80\x04K\x01.", "magic": b"\x93NUMPY\x01\0",
    "hdf": b"\x89HDF\r\n\x1a\n" + bytes(60),
}  # fmt: skip


def _spread(items, n):
    """Return at most n of them, spread over all."""
    items = list(items)
    return items[:: max(1, len(items) // n)][:n]


def damaged(data, *, words=True):
    """Yield what was done to the bytes of a file, and what is left."""
    yield from RUBBISH.items()
    size = len(data)
    for at in sorted({1, 3, size // 7, size // 3, size // 2, size - size // 5, size - 1}):
        yield f"cut at {at}", data[:at]
    for at in _spread(range(size), 24):
        copy = bytearray(data)
        copy[at] ^= 1 << at % 8
        yield f"a bit at {at}", bytes(copy)
        copy[at] = (data[at] + 129) % 256
        yield f"a byte at {at}", bytes(copy)
    yield "twice", data * 2
    yield "grown", data + b"\x00more"
    if data[:2] == b"PK":
        yield from _archives(data)
    elif words and b"\0" not in data:
        for pattern in (_NUMBER, _NAME):
            for i, found in enumerate(_spread(pattern.finditer(data), 16)):
                for word in WORDS if pattern is _NUMBER else ("other", "name", "\u66f2"):
                    copy = data[: found.start()] + word.encode() + data[found.end() :]
                    yield f"{word} for {found[0].decode()} ({i})", copy
    if data[:1] == b"{":
        yield from _documents(json.loads(data))


def _documents(told):
    """Yield documents of JSON that are not what was written."""
    deep = []
    for _ in range(900):
        deep = [deep]
    for key in told:
        yield f"without {key}", json.dumps({k: x for k, x in told.items() if k != key}).encode()
        for value in (None, True, -1, 0, 1.5, np.nan, np.inf, 10**60, "x", [], {}, deep):
            yield f"{key}: {str(value)[:9]}", json.dumps({**told, key: value}).encode()
    yield "one more", json.dumps({**told, "strange": [1]}).encode()
    for other in ([told], list(told), str(told), 1.0):
        yield f"a {type(other).__name__}", json.dumps(other).encode()


def _archives(data):
    """Yield archives of arrays in which one is missing, called otherwise, or another one."""
    with np.load(io.BytesIO(data), allow_pickle=True) as file:
        arrays = {name: file[name] for name in file.files}
    for name in _spread(arrays, 12):
        there = arrays[name]
        rest = {k: x for k, x in arrays.items() if k != name}
        changed = {"missing": rest, "other name": {**rest, f"{name}s": there}}
        for word, other in {
            "text": np.array("x"), "object": np.array([{}], object), "nothing": np.zeros(0),
            "number": np.array(3.0), "nan": np.full(there.shape, np.nan), "flags": there == there,
            "more": np.ones((*there.shape, 2)), "huge": np.full(there.shape, 1e308),
            "negative": np.full(there.shape, -1), "document": np.array("{}"),
        }.items():  # fmt: skip
            changed[word] = {**rest, name: other}
        for word, told in changed.items():
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                for k, x in told.items():
                    with archive.open(f"{k}.npy", "w") as member:
                        np.lib.format.write_array(member, x)
            yield f"{name}: {word}", out.getvalue()


def answer(door, path):
    """Return "read", "refused" by a name and in words, or what is wrong with the refusal."""
    try:
        door.read(path)
    except (ValueError, OSError) as error:
        text = str(error)
        if str(path.parent) not in text or len(text) > 2000 or "\n" in text:
            return f"{type(error).__name__}: {text[:200]}"
        return "refused"
    except Exception as error:
        return f"raw {type(error).__name__}: {str(error)[:200]}"
    return "read"
