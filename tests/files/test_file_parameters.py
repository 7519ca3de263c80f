"""Parameters of model files: read, written, in Python scenes, on the command line, errors."""

import json

import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files import code, modelfile, scenes
from mbd.files.schema import json_schema

FILE = """schema = 1
[parameters]
l = "400 mm"
m = 2
tilt = "20 deg"
k = 30.0
[system]
gravity = [0, 0, "-9.81*1"]
[bodies.rod]
mass = "m"
inertia = ["0.01", "m*l**2/12", "m*(l/2)**2/3"]
position = ["l/2", 0, "-min(l, 1, m)/100"]
rotation = {axis = [0, 2, 0], angle = "tilt/2"}
[bodies.tip]
type = "PointMass"
mass = "sqrt(m) - -0.5"
position = ["cos(tilt)*l", 0, "2 cm"]
[joints.hinge]
type = "Revolute"
first = "ground"
second = "rod"
at = [0, 0, 0]
axis = "y"
[forces.spring]
type = "Spring"
first = "rod"
second = "tip"
law = "k*(u - l/4) + 0.1*rate"
[forces.push]
type = "PointForce"
body = "tip"
force = ["m*k/10", 0, "k*sin(3*t)"]
[forces.motor]
type = "Motor"
joint = "hinge"
effort = "-k*l*u"
[run]
t_end = 0.02
step = 1e-3
"""
CHANGED = {"l": 0.5, "k": 20.0}


def ends(system, **values):
    model = system.build().with_values(values)
    run = mbd.simulate(model, 0.02, 1e-3, progress=False)
    return run.q[-1], run.v[-1], run.lam[-1]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("parameters") / "a.toml"
    path.write_text(FILE)
    return path


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_parameters_are_used_by_name_and_come_back_bit_by_bit(file, tmp_path):
    """Through the file, a scene in Python, and with other values of all three."""
    read = mbd.read(file)
    assert read.parameters == {"l": 0.4, "m": 2.0, "tilt": np.pi / 9, "k": 30.0}
    R = read.system["rod"].rotation
    assert np.allclose(R, [[np.cos(np.pi / 18), 0, np.sin(np.pi / 18)], [0, 1, 0],
                           [-np.sin(np.pi / 18), 0, np.cos(np.pi / 18)]], atol=1e-15)  # fmt: skip
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert read.system["rod"].position == pytest.approx([0.2, 0, -0.004])
    text = modelfile.to_text(read.system)
    assert "\n[parameters]\nm = 2.0\nl = 0.4\n" in text
    assert 'law = "k*(u - l/4) + 0.1*rate"' in text
    (tmp_path / "b.toml").write_text(text)
    (tmp_path / "c.py").write_text(
        code.scene_text(read.system, run={}, title="A model.", folder=tmp_path)
    )
    again, scene = mbd.read(tmp_path / "b.toml").system, scenes.load(tmp_path / "c.py")
    assert modelfile.to_text(again) == text
    first, other = ends(read.system), ends(read.system, **CHANGED)
    assert not same(first, other)
    for system in (again, scene.build({})):
        assert same(ends(system), first)
        assert same(ends(system, **CHANGED), other)
    assert same(ends(mbd.read(file, parameters=CHANGED).system), other)
    assert same(ends(scene.build(CHANGED)), other)


def test_results_keep_the_parameters_of_their_model(file, tmp_path):
    run = mbd.simulate(mbd.read(file).system, 0.02, 1e-3)
    loaded = mbd.load(run.save(tmp_path / "a.npz"))
    assert same(ends(loaded.model.system, **CHANGED), ends(mbd.read(file).system, **CHANGED))


def test_the_command_line_takes_them(file, tmp_path, capsys):
    out = tmp_path / "x.npz"
    assert main(["run", str(file), "-p", "l=500 mm", "-p", "k=20", "-q", "-o", str(out)]) == 0
    assert same([mbd.load(out).q[-1]], ends(mbd.read(file).system, **CHANGED)[:1])
    assert main(["run", str(file), "-p", "lenght=1"]) == 2
    assert "has no parameter 'lenght'; it has formulation, l, m, tilt, k" in capsys.readouterr().err
    pytest.importorskip("xarray")
    words = ["sweep", str(file), "--vary", "l=0.4,0.5", "--keep", "rod.position.z:final", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"members": 2, "failed": 0, "messages": []}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('mass = "m"', 'mass = "mm"', r"bodies.rod.mass: must be a number \[kg\], got 'mm': there "
         r"is no name 'mm' .*; parameters are l, m, tilt, k \(line 10\)"),
        ('mass = "m"', 'mass = "m - 2"', "bodies.rod.mass: must be positive"),
        ('mass = "m"', 'mass = "1/(m - 2)"', r"bodies.rod.mass: must be finite \[kg\], got inf"),
        ('mass = "m"', 'mass = "m if m > 1 else 2"', r"bodies.rod.mass: a number with parameters "
         r"may have \+ - .* got 'm if m"),
        ('mass = "m"', 'mass = "m*t"', r"bodies.rod.mass: must be a number \[kg\], got 'm\*t'"),
        ("m = 2", "t = 2", r"parameters.t: has a meaning in expressions; .* \(line 4\)"),
        ("m = 2", "'two words' = 2", "parameters.two words: name must be a word of letters"),
        ("m = 2", "lambda = 2", "parameters.lambda: name must be a word"),
        ("m = 2", 'm = "2*l"', "parameters.m: must be a number .*no name 'l'"),
        ("m = 2", "m = [2]", "parameters.m: must be a number"),
        ("m = 2", "m = nan", "parameters.m: value must be finite"),
        ("axis = [0, 2, 0]", 'axis = ["l", 2, 0]', "bodies.rod.rotation: has parameters, which"),
        ('"k*(u - l/4)', '"k*(u - q/4)', r"forces.spring.law: there is no name 'q' in .*para"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(old, new, what, tmp_path):
    path = tmp_path / "bad.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=rf"bad.toml: {what}"):
        mbd.read(path)


def test_what_a_file_cannot_say_of_a_formula_is_named(file):
    with pytest.raises(ValueError, match="parameters: there is no key 'x'; there are l, m"):
        mbd.read(file, parameters={"x": 1.0})
    for value, what in (
        (np.hypot(mbd.Parameter("a", 1.0), 2.0), "'hypot', which files do not have; they have sin"),
        (mbd.Parameter("u", 1.0) * 2, "parameter 'u' has a name that means something else"),
    ):
        system = mbd.System()
        system.add(mbd.PointMass("p", mass=value))
        with pytest.raises(ValueError, match=f"^p: .*{what}"):
            modelfile.to_text(system)


def test_operators_and_functions_come_back():
    """Each with the numbers that it must keep: signs, powers of negative ones, order."""
    a, b = mbd.Parameter("a", 0.3), mbd.Parameter("b", 1.7)
    values = [
        a - (b - a), a / (b / a), (a - b) ** 2, 2 ** (-a), (-2.5 * a) % b, -(a**b), (-a) ** 2,
        np.arctan2(a, -b), np.maximum(a, b) - np.minimum(a, 0.1), np.abs(a - b), np.square(a + b),
        np.sign(a - b) * np.floor(b), np.exp(np.log(b)), np.arcsin(a) + np.tanh(b), -3.0 - a, +a,
        np.power(-2.0, np.floor(b) * 2) * a,
    ]  # fmt: skip
    system = mbd.System(gravity=(a, b, -b * 9.81))
    for i, x in enumerate(values):
        system.add(mbd.PointMass(f"p{i}", mass=1.0, position=(x, 0, 0)))
    again = modelfile.from_text(modelfile.to_text(system)).system
    for values_now in ({}, {"a": 0.7, "b": 2.9}):
        one, two = (x.build().with_values(values_now).system for x in (system, again))
        assert np.array_equal(one.gravity, two.gravity)
        for i in range(len(values)):
            assert np.array_equal(one[f"p{i}"].position, two[f"p{i}"].position), i


def test_the_schema_has_them():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate({"schema": 1, "parameters": {"l": "3 mm", "k": 2.0}}, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": 1, "parameters": {"l": [1]}}, json_schema())
