"""What is kept of studies, sweeps, fits and optima goes on with what it was begun with, or not.

Every kind of change of a scene, for every kind of thing that is kept: it is refused by the name of
what differs, or computed again. Where nothing has changed it goes on, also in other processes and
from a file that was moved or has other comments.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mbd
import mbd.base.identity
from mbd.base.identity import Identity, differences
from mbd.cli import main
from mbd.files import scenes
from mbd.fmi import export
from mbd.fmi.process import Described, begun, identity_of

SCENE = '''
import functools
import os
import numpy as np
import mbd

FAR = 0.3
TABLE = {"of": [1.0, np.array([2.0, 3.0])]}
RUN = {"t_end": 0.02, "step": 1e-3}


def inner(t):
    return 7.0 * t + float(os.environ.get("WIND_OF_TODAY", "0"))


def outer(t):
    return (inner(t), 0.0, 0.0)


def along(size):
    def wind(t):
        return (size, 0.0, 0.0)

    return wind


class Push:
    """A law with a state."""

    size = 0.25

    def __init__(self, more):
        self.more = more

    def __call__(self, t):
        return (0.0, self.size + self.more, 0.0)


def hard(u, rate, t):
    return 40.0 * u**3


def drag(t, c=0.125):
    return (0.0, 0.0, c)


def partly(c, t):
    return (0.0, c, 0.0)


def build(mass=1.0, k=20.0):
    p = mbd.Parameter("p", 0.5)
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.RigidBody("ball", mass=mass, inertia=(0.1, 0.1, 0.1), formulation="so3",
                                    position=(FAR, 0, 0), velocity=(0, 2 * p, 0)))
    at = {"at": (0, 0, 0), "to": (FAR, 0, 0)}
    system.add(mbd.Spring("spring", system.ground, ball, stiffness=k, **at))
    system.add(mbd.Spring("hard", system.ground, ball, law=hard, **at))
    system.add(mbd.PointForce("wind", ball, along(0.75)))
    system.add(mbd.PointForce("push", ball, Push(0.0625)))
    system.add(mbd.PointForce("drag", ball, drag))
    system.add(mbd.PointForce("partly", ball, functools.partial(partly, 0.375)))
    system.add(mbd.PointForce("text", ball, mbd.Expression("a*t", 0, 0, a=3.5)))
    system.add(mbd.PointForce("outer", ball, outer))
    system.add(mbd.PointForce("table", ball, (TABLE["of"][1][0], 0, 0)))
    return system


def reach(solution):
    return solution["ball"].position[-1, 0] + 1.5


def speed(run):
    return run["ball"].velocity[:, 0] ** 2 + 0.0


def up(solution):
    return solution["ball"].position[:, 1] - 0.0078125


EVENTS = [mbd.Event("up", up, terminal=True)]
METHOD = mbd.GeneralizedAlpha(rho=0.75)
OUTPUTS = {"last": ("ball.position", "final"), "reach": reach}
'''

PLACES = {  # what is changed in the scene, and the name that is told
    "law": ("40.0 * u**3", "41.0 * u**3", "law of Spring 'hard': the code of 'hard'"),
    "function of a law": ("7.0 * t", "7.5 * t", "force of PointForce 'outer': the code of 'inner'"),
    "closure": ("along(0.75)", "along(0.5)", "'wind': 'size', which 'wind' closes over"),
    "default": ("c=0.125", "c=0.25", "force of PointForce 'drag': 'c', a default of 'drag'"),
    "partial": ("partly, 0.375", "partly, 0.5", "force of PointForce 'partly'"),
    "object": ("Push(0.0625)", "Push(0.5)", "force of PointForce 'push'"),
    "class": ("size = 0.25", "size = 0.5", "'size' of the class 'Push'"),
    "text of an expression": ('"a*t"', '"a*t**2"', "force of PointForce 'text'"),
    "parameter of an expression": ("a=3.5", "a=3.25", "force of PointForce 'text'"),
    "global of the builder": ("FAR = 0.3", "FAR = 0.4", r"position of RigidBody 'ball' \(\(0.3, 0"),
    "array of the builder": ("[2.0, 3.0]", "[2.5, 3.0]", "force of PointForce 'table'"),
    "value of a parameter": ('"p", 0.5', '"p", 0.625', "velocity of RigidBody 'ball'"),
    "formula": ("2 * p", "3 * p", "velocity of RigidBody 'ball'"),
    "value": ("k=20.0", "k=21.0", "stiffness of Spring 'spring'"),
    "gravity": ("-9.81", "-9.5", "gravity"),
    "formulation": ('"so3"', '"se3"', r"formulation of RigidBody 'ball' \('so3' there, 'se3' here"),
    "a part more": ("    return system", '    system.add(mbd.PointMass("new", mass=0.25))\n'
                    "    return system", "PointMass 'new'"),
}  # fmt: skip
OF_STUDIES = {
    "function of the results": ("+ 1.5", "+ 2.5", "output 'reach': the code of 'reach'"),
    "event": ("- 0.0078125", "- 0.015625", "option 'events': the code of 'up'"),
    "direction of an event": ("terminal=True", "terminal=True, direction=-1", "option 'events'"),
    "option of the method": ("rho=0.75", "rho=0.5", "method"),
    "output": ('"ball.position", "final"', '"ball.position", "max"', "output 'last'"),
    "end": ('"t_end": 0.02', '"t_end": 0.03', r"t_end \(0.02 there, 0.03 here"),
    "step": ('"step": 1e-3', '"step": 2e-3', "step"),
}
OF_OPTIMA = {
    "objective": ("** 2 + 0.0", "** 2 + 1.0", "objective: the code of 'speed'"),
    "end": ('"t_end": 0.02', '"t_end": 0.03', "t_end and step"),
    "option of the method": ("rho=0.75", "rho=0.5", "option 'method'"),
}
OF_FITS = {k: OF_OPTIMA[k] for k in ("option of the method",)}


MODEL = """
schema = 1

[parameters]
c = 0.5

[bodies.ball]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
position = ["0.5 + c", 0, 0]

[forces.spring]
type = "Spring"
first = "ground"
second = "ball"
law = "30*u + 1.5*rate"

[forces.push]
type = "PointForce"
body = "ball"
force = ["3*t", 0, 0]
"""
OF_MODELS = {
    "law": ("30*u", "31*u", "law of Spring 'spring'"),
    "force": ("3*t", "3*t**2", "force of PointForce 'push'"),
    "parameter": ("c = 0.5", "c = 0.25", "position of RigidBody 'ball'"),
    "formula": ("0.5 + c", "0.5 * c", "position of RigidBody 'ball'"),
    "value": ("mass = 1.0", "mass = 1.0\nvelocity = [0, 1, 0]", "velocity of RigidBody 'ball'"),
}


def scene(text):
    """Return the names of a scene."""
    names = {"__name__": "a_scene"}
    exec(compile(text, "<scene>", "exec"), names)
    return SimpleNamespace(**names)


def built(s, place):
    how = {"outputs": s.OUTPUTS, "method": s.METHOD, "events": s.EVENTS, "directory": place / "k"}
    return mbd.study(s.build, {"mass": [1.0, 2.0, 3.0]}, **s.RUN, **how)


def described(s, place):
    how = {"outputs": s.OUTPUTS, "method": s.METHOD, "events": s.EVENTS, "directory": place / "k"}
    return mbd.study(s.build(), {"ball.mass": [1.0, 2.0, 3.0]}, **s.RUN, **how)


def fitted(s, place):
    data = {"ball.position.x": (np.linspace(0, 0.02, 5), np.full(5, 0.3))}
    how = {"step": 1e-3, "file": place / "k", "max_evaluations": 3, "method": s.METHOD}
    return mbd.fit(s.build(), data, ["ball.mass"], **how).values["ball.mass"]


def optimal(s, place):
    of = mbd.Objective(running=s.speed)
    how = {"file": place / "k", "max_evaluations": 2, "method": s.METHOD}
    best = mbd.optimize(
        of, s.build(), ["ball.mass"], bounds={"ball.mass": (0.5, 2.0)}, **s.RUN, **how
    )
    return best.value


KEPT = {
    built: PLACES | OF_STUDIES, described: PLACES | OF_STUDIES, fitted: PLACES | OF_FITS,
    optimal: PLACES | OF_OPTIMA,
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the folders in which each kind of thing was kept."""
    places = {}
    for keep in KEPT:
        places[keep] = tmp_path_factory.mktemp(keep.__name__)
        keep(scene(SCENE), places[keep])
    return places


@pytest.mark.parametrize("keep", KEPT)
def test_every_change_is_told_by_its_name(keep, kept, tmp_path):
    for change, (old, new, name) in KEPT[keep].items():
        text = SCENE.replace(old, new)
        assert text != SCENE, change
        place = tmp_path / change
        shutil.copytree(kept[keep], place)
        with pytest.raises(ValueError, match=name):
            keep(scene(text), place)


@pytest.mark.parametrize("keep", KEPT)
def test_what_did_not_change_goes_on(keep, kept, monkeypatch):
    """Also where lines have moved, with other comments and docstrings."""
    before = {x: x.read_bytes() for x in kept[keep].rglob("*") if x.is_file()}
    other = "# moved\n\n" + SCENE.replace('"""A law with a state."""', "# none")
    again = keep(scene(other), kept[keep])
    whole = keep(scene(SCENE), kept[keep])
    assert again.equals(whole) if hasattr(whole, "equals") else again == whole
    assert {x: x.read_bytes() for x in before} == before
    monkeypatch.setattr(mbd.base.identity, "VERSION", "0.0.1")
    with pytest.raises(ValueError, match=r"the version of mbd \(.* there, 0.0.1 here\)"):
        keep(scene(SCENE), kept[keep])


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"[]", b"null", b'"chunk"', b"{}", b'{"chunk": 0}', b'{"chunk": true}', b"\xff\x00",
     b"[" * 100_000, b'{"chunk": 1}', b'{"chunk": 1, "identity": []}',
     b'{"chunk": 1, "identity": {"t_end": [0.02]}}'],
)  # fmt: skip
def test_a_record_that_is_damaged_is_refused_by_name(damaged, kept, tmp_path):
    shutil.copytree(kept[built], tmp_path / "copy")
    (tmp_path / "copy" / "k" / "study.json").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"study: .* (is damaged|differs in) .* remove"):
        built(scene(SCENE), tmp_path / "copy")


@pytest.mark.parametrize("other", [{}, {"=more": 0}, {"=reach": 0}, {"status": 0}, {"message": 0}])
def test_a_chunk_of_other_arrays_is_computed_again(other, kept, tmp_path):
    shutil.copytree(kept[built], tmp_path / "copy")
    file = tmp_path / "copy" / "k" / "chunk_000000000.npz"
    with np.load(file) as old:
        arrays = {k: old[k] for k in old.files}
    np.savez(file, **{k: x for k, x in arrays.items() if k not in other or other[k]},
             **{k: np.zeros(3) for k in other if k not in arrays})  # fmt: skip
    again, whole = (built(scene(SCENE), x) for x in (tmp_path / "copy", kept[built]))
    assert again.equals(whole)


@pytest.mark.parametrize("keep", KEPT)
def test_one_that_is_kept_is_computed_again(keep, kept, tmp_path, monkeypatch):
    """As a check of what no description shows: here a law that asks its environment."""
    shutil.copytree(kept[keep], tmp_path / "copy")
    monkeypatch.setenv("WIND_OF_TODAY", "3.0")
    with pytest.raises(ValueError, match=r"another (study: member 0, computed again|model, other)"):
        keep(scene(SCENE), tmp_path / "copy")


def test_a_builder_that_counts_its_calls_goes_on(tmp_path):
    calls = []

    def counted(mass):
        calls.append(mass)
        return scene(SCENE).build(mass)

    for n in (1, 2):
        how = {"outputs": ["ball.position"], "directory": tmp_path, "t_end": 0.02, "step": 1e-3}
        assert not mbd.study(counted, {"mass": [1.0, 2.0]}, **how).status.any()
        assert len(calls) > n


def test_what_differs_between_members_alone(tmp_path):
    """A file that a builder reads, and which counts for some members only."""
    file = tmp_path / "numbers.txt"

    def build(mass):
        return scene(SCENE).build(mass, k=float(np.interp(mass, [1, 2], np.loadtxt(file))))

    how = {"outputs": ["ball.position"], "directory": tmp_path / "k", "t_end": 0.02, "step": 1e-3}
    file.write_text("20 30")
    mbd.study(build, {"mass": [1.0, 2.0]}, **how)
    file.write_text("20 31")
    with pytest.raises(ValueError, match=r"the file 'numbers.txt', stiffness of .*, of member 1"):
        mbd.study(build, {"mass": [1.0, 2.0]}, **how)


@pytest.mark.parametrize("of", ["system", "function", "parameter of build"])
def test_sweeps(of, tmp_path, capsys):
    """Of scenes in Python and in model files, by paths and by parameters of ``build``."""

    def swept(file, place):
        what = "k=20,21" if of == "parameter of build" else "ball.mass=1,2"
        words = ["sweep", str(file), "--vary", what, "--keep", "ball.position:final", "--t-end",
                 "0.02", "--step", "0.001", "--directory", str(place), "--json"]  # fmt: skip
        return main(words), json.loads(capsys.readouterr().out)

    ending = ".py" if of != "system" else ".toml"
    text, changes = (MODEL, OF_MODELS) if ending == ".toml" else (SCENE, PLACES)
    file = tmp_path / f"scene{ending}"
    file.write_text(text)
    assert swept(file, tmp_path / "kept")[0] == 0
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / file.name).write_text("# a comment\n" + text)
    assert swept(moved / file.name, tmp_path / "kept")[0] == 0
    for old, new, name in changes.values():
        if of == "parameter of build" and "k=" in old:
            continue
        file.write_text(text.replace(old, new))
        code, said = swept(file, tmp_path / "kept")
        assert code == 2
        assert re.search(name, said["error"])


TABLES = """
import json, sys
from mbd.base.identity import Identity
from mbd.model.description import put_system
sys.path.insert(0, sys.argv[1])
import a_scene as s
into = Identity()
put_system(into, s.build())
into.put("build", s.build)
into.put("outputs", s.OUTPUTS)
into.put("events", s.EVENTS)
into.put("words", {"b", "a", "c"})
print(json.dumps(into.table))
"""


def test_processes_agree(tmp_path):
    """Whatever the seed of hashes, the folder, and the lines."""
    tables = []
    for seed in ("1", "2"):
        place = tmp_path / seed
        place.mkdir()
        (place / "a_scene.py").write_text("\n" * int(seed) + SCENE)
        env = os.environ | {"PYTHONHASHSEED": seed}
        words = [sys.executable, "-c", TABLES, str(place)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
        tables.append(json.loads(done.stdout))
    assert tables[0] == tables[1]
    assert len(tables[0]) > 60


def unit(s):
    """Return what a unit of a scene carries."""
    system = s.build()
    return Described(system, [], 1e-3, s.METHOD, None, identity_of(system, s.METHOD))


def test_a_unit_is_what_was_exported(tmp_path, monkeypatch):
    """With what it names and finds where it runs."""
    for old, new, name in (PLACES | {"method": OF_STUDIES["option of the method"]}).values():
        here = unit(scene(SCENE.replace(old, new)))
        data = export.carried(here._replace(identity=unit(scene(SCENE)).identity))
        (tmp_path / "unit.pickle").write_bytes(data)
        with pytest.raises(ValueError, match=f"this unit was made with another .*{name}"):
            begun(tmp_path)
    (tmp_path / "unit.pickle").write_bytes(export.carried(unit(scene(SCENE))))
    begun(tmp_path)
    monkeypatch.setattr(mbd.base.identity, "VERSION", "0.0.1")
    with pytest.raises(ValueError, match=r"the version of mbd \(.* there, 0.0.1 here\)"):
        begun(tmp_path)


def of_a_scene(path):
    """Return the module of a scene, which no other process can import."""
    scenes.load(path)
    return sys.modules[f"mbd_scene_{path.stem}"]


UNITS = """
import sys
from mbd.fmi.process import begun
for place in sys.argv[2:]:
    try:
        begun(place)
        print("good")
    except ValueError as error:
        print(error)
"""


def test_a_unit_in_another_process(tmp_path, monkeypatch):
    """One that carries its functions, and one that names a module, which is another one there."""
    module, places = tmp_path / "laws_of_a_unit.py", [tmp_path / x for x in ("carried", "named")]
    for place in places:
        place.mkdir()
    module.write_text(SCENE)
    (places[0] / "unit.pickle").write_bytes(export.carried(unit(of_a_scene(module))))
    monkeypatch.syspath_prepend(tmp_path)
    (places[1] / "unit.pickle").write_bytes(
        export.carried(unit(importlib.import_module(module.stem)))
    )
    words = [sys.executable, "-c", UNITS, *map(str, (tmp_path, *places))]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    told = []
    for text in ("\n\n" + SCENE, SCENE.replace("7.0 * t", "7.5 * t")):
        module.write_text(text)
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
        told += done.stdout.splitlines()
    assert told[:3] == ["good"] * 3
    assert "force of PointForce 'outer': the code of 'inner'; export it again" in told[3]


THINGS = {  # what a scene may have in it, with a 1 that may be another number
    "number": "thing = 1",
    "text": "thing = 'one 1'",
    "array": "thing = np.arange(12.0).reshape(3, 4) * 1",
    "large array": "thing = np.zeros(5000); thing[2500] = 1",
    "objects": "thing = np.array([{'a': 1}, None], object)",
    "nested": "thing = {'b': [(1, {2.0}), np.float64(3)], 'a': {'x', 'y', 'z'}}",
    "itself": "thing = [1]; thing.append(thing)",
    "deep": "thing = 1\nfor _ in range(40): thing = [thing]",
    "long formula": "p = mbd.Parameter('p', 1.0); thing = sum([p] * 500, 0.0)",
    "set in code": "def thing(x): return x in {'a', 'b', 'c', '1'}",
    "function in a function": "def thing(x):\n    def g(): return 1\n    return g()",
    "recursion": "def thing(x): return 1 if x < 0 else other(x)\ndef other(x): return thing(x - 2)",
    "chain": "def f0(): return 1\n" + "\n".join(f"def f{i + 1}(): return f{i}()" for i in range(90))
             + "\nthing = f90",
    "keyword default": "def thing(x, *, k=1): return k",
    "comprehension": "K = [1]\ndef thing(x): return [K[0] for _ in range(3)]",
    "class in a function": "K = 1\ndef thing(x):\n    class C:\n        k = K\n    return C.k",
    "jitted": "from numba import njit\n@njit\ndef thing(u, rate, t): return 1 * u",
    "jitted within": "from numba import njit\n@njit\ndef f(u): return 1 * u\n"
                     "def thing(u): return f(u)",
    "cached": "@functools.lru_cache\ndef thing(x): return 1",
    "wrapped": "def twice(f):\n    @functools.wraps(f)\n    def g(x): return 2 * f(x)\n"
               "    return g\n@twice\ndef thing(x): return 1",
    "method": "class C:\n    def f(self, t): return 1\nthing = C().f",
    "state of an object": "class C:\n    def __init__(self): self.k = 1\n"
                          "    def f(self, t): return 2\nthing = C().f",
    "slots": "class C:\n    __slots__ = ('k',)\nthing = C(); thing.k = 1",
    "base class": "class B:\n    def f(self): return 1\nclass C(B): pass\nthing = C()",
    "property": "class C:\n    @property\n    def f(self): return 1\nthing = C()",
    "cached property": "class C:\n    @functools.cached_property\n    def f(self): return 1\n"
                       "thing = C()",
    "static method": "class C:\n    @staticmethod\n    def f(): return 1\nthing = C()",
    "class method": "class C:\n    @classmethod\n    def f(cls): return 1\nthing = C.f",
    "data class": "@dataclasses.dataclass\nclass C:\n    k: float = 1\nthing = C()",
    "field": "@dataclasses.dataclass\nclass C:\n"
             "    k: list = dataclasses.field(default_factory=list)\nthing = C([1])",
    "named tuple": "class C(typing.NamedTuple):\n    k: float\nthing = C(1)",
    "kind": "class C(enum.Enum):\n    A = 1\nthing = C.A",
    "spline": "thing = scipy.interpolate.CubicSpline([0, 2, 7], [0, 1, 0])",
    "distribution": "thing = scipy.stats.norm(0.0, 1)",
    "random numbers": "thing = np.random.default_rng(1)",
    "rotation": "thing = scipy.spatial.transform.Rotation.from_euler('x', 0.1 * 1)",
    "fraction": "thing = fractions.Fraction(3, 17 + 1)",
    "lock within": "class C:\n    def __init__(self):\n"
                   "        self.k, self.lock = 1, threading.Lock()\nthing = C()",
    "import within": "def thing(x):\n    import scipy.special as s\n    return s.gamma(x) + 1",
    "module": "import things_of_1\ndef thing(x): return things_of_1.k(x)",
    "imported within": "def thing(x):\n    from things_of_1 import k\n    return k(x)",
    "mbd.Function": "thing = mbd.Function(lambda t, k: k * t, k=1)",
    "shape": "thing = mbd.Box((0.1, 0.2, 0.1 + 1))",
    "method of integration": "thing = mbd.GeneralizedAlpha(rho=1 / 7)",
    "user's part": "class P(mbd.Spring):\n    def more(self): return 1\nthing = P",
    "model": "thing = mbd.System(gravity=(0, 0, 1)); thing.add(mbd.PointMass('a', mass=2.0))\n"
             "thing = thing.build()",
}  # fmt: skip
HEAD = """
import dataclasses, enum, fractions, functools, threading, typing
import numpy as np, scipy.interpolate, scipy.spatial, scipy.stats
import mbd
"""


def tables_of(n):
    """Return the identity of each thing, of the number n."""
    tables = {}
    for kind, text in THINGS.items():
        names = {"__name__": "of_things"}
        exec(HEAD + re.sub(r"\b1\b|(?<=_of_)1", str(n), text), names)
        into = Identity()
        into.put("thing", names["thing"])
        tables[kind] = into.table
    return tables


def test_what_any_thing_is_told_by(tmp_path, monkeypatch):
    """Each is another one with another number, and the same one otherwise, in each process."""
    for n in (1, 5):
        (tmp_path / f"things_of_{n}.py").write_text(f"def k(x): return {n} * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    one, same, other = tables_of(1), tables_of(1), tables_of(5)
    for kind in THINGS:
        assert one[kind] == same[kind], kind
        assert differences(one[kind], other[kind]), kind
        assert not differences(one[kind], same[kind])
    code = "import json, studies.test_kept as x; print(json.dumps(x.tables_of(1)))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=env | {"PYTHONHASHSEED": "7"}
    )
    assert json.loads(done.stdout) == one
