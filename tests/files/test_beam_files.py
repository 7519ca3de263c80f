"""Beams, sections, line loads and cables in model files: all constructors, both ways."""

import json
import pickle

import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files import modelfile, scenes
from mbd.files import vocabulary as words
from tests.files.test_modelfile import validator  # noqa: F401

SOLID = {"young": 210e9, "density": 7850}
SECTIONS = {
    "six": mbd.Section(stiffness=(1e7, 2e6, 3e6, 10, 20, 30), mass=2.0),
    "full": mbd.Section(stiffness=np.diag([1e7, 2e6, 3e6, 10, 20, 30]) + 0.5 * np.eye(6)[::-1],
                        mass=2.0, inertia=(0.03, 0.01, 0.02), center=(0.01, -0.02),
                        outline=[(0, 0), (0.1, 0), (0, 0.2)]),
    "inertia": mbd.Section(stiffness=(1, 1, 1, 1, 1, 1), mass=1.0,
                           inertia=[[3, 0.1, 0], [0.1, 2, 0], [0, 0, 2]]),
    "Section.rectangle": mbd.Section.rectangle(0.02, 0.005, poisson=0.3, **SOLID),
    "Section.circle": mbd.Section.circle(radius=0.01, shear=8e10, **SOLID),
    "Section.tube": mbd.Section.tube(0.03, 0.002, poisson=0.25, **SOLID),
    "Section.from_plate": mbd.Section.from_plate(0.2, 0.001, poisson=0.3, **SOLID),
}  # fmt: skip


def with_sections(section, **options):
    system = mbd.System(gravity=(0, 0, -9.81))
    options = {"points": [(0, 0, 0), (1, 0, 0.2), (2, 0, 0)], "elements": 3} | options
    system.add(mbd.Beam("beam", section=section, first=system.ground, **options))
    return system


def everything():
    """Return beams with every option, loads on them, and cables."""
    two = [SECTIONS["Section.circle"], SECTIONS["Section.tube"], SECTIONS["Section.circle"]]
    system = with_sections(two, stations=[0, 0.3, 1], twist=[0, 0.1, 0.2], damping=1e-4,
                           up=(0, 1, 0.1))  # fmt: skip
    beam = system["beam"]
    system.add(mbd.LineLoad("wind", beam, (0, 1, 0), law=mbd.Expression("sin(t)"), follow=True))
    system.add(mbd.LineLoad("snow", beam, (0, 0, -5)))
    end = system.add(mbd.RigidBody("end", mass=1, inertia=(1, 1, 1), position=(2, 0, 1)))
    system.add(
        mbd.Beam("corner", points=[(2, 0, 0), (2, 0, 0.5), (2, 0, 1)], section=SECTIONS["full"],
                 up=(1, 0, 0), twist=0.3, elements=2, damping=(1e-4,) * 6, smooth=False,
                 formulation=("so3", "directors", mbd.EulerParameters()),
                 first=beam.last.frame(), last=end)
    )  # fmt: skip
    system.add(
        mbd.Cable("rope", points=[(0, 0, 1), (1, 0, 0.5), (2, 0, 1)], stiffness=1e5, mass=0.1,
                  elements=4, length=2.4, slack=False, damping=1e-3, first=system.ground, last=end)
    )  # fmt: skip
    system.add(mbd.PointForce("force", system["rope"].nodes()[2], (0, 0, 1)))
    system.add(mbd.Spherical("pin", beam.node(1), end, at=(1, 0, 0.2)))
    return system


def same(one, two):
    a, b = one.build(), two.build()
    assert list(one.bodies) == list(two.bodies)
    assert list(one.parts) == list(two.parts)
    assert np.array_equal(a.F, b.F, equal_nan=True)


def test_no_constructor_of_a_section_is_forgotten():
    """Each class method that makes a section is in the vocabulary, and in these tests."""
    public = {n for n, x in vars(mbd.Section).items()
              if isinstance(x, classmethod) and n[0] != "_"}  # fmt: skip
    there = set(words.SECTION.among()) - {"Section"}
    assert there == {f"Section.{n}" for n in public} == {n for n in SECTIONS if "." in n}
    for maker in words.SECTION.among().values():
        words.arguments(maker)


@pytest.mark.parametrize("name", SECTIONS)
def test_sections_come_back_by_the_constructor_that_made_them(name, tmp_path):
    system = with_sections(SECTIONS[name])
    text = modelfile.to_text(system)
    assert (f'type = "{name}"' in text) == ("." in name)
    assert ("stiffness" in text) == ("." not in name)
    same(system, modelfile.from_text(text).system)
    section = pickle.loads(pickle.dumps(SECTIONS[name]))
    assert np.array_equal(section.stiffness, SECTIONS[name].stiffness)
    assert repr(section.call.maker) == repr(SECTIONS[name].call.maker)


def test_everything_comes_back_from_toml_and_python(tmp_path, monkeypatch):
    """TOML to Python to TOML by the command line: the same text, the same model."""
    monkeypatch.chdir(tmp_path)
    system = everything()
    mbd.write(system, "one.toml")
    assert main(["convert", "one.toml", "two.py"]) == 0
    assert main(["convert", "two.py", "three.toml"]) == 0
    same(system, scenes.load(tmp_path / "two.py").build({}))
    same(system, mbd.read("three.toml").system)
    one, three = ((tmp_path / x).read_text().split("[", 1)[1] for x in ("one.toml", "three.toml"))
    assert one == three
    code = (tmp_path / "two.py").read_text()
    assert "section=(mbd.Section.circle(radius=0.01," in code.replace("\n", "")


def test_files_of_beams_meet_the_schema(validator):  # noqa: F811
    import tomllib

    for section in SECTIONS.values():
        validator.validate(tomllib.loads(modelfile.to_text(with_sections(section))))
    validator.validate(tomllib.loads(modelfile.to_text(everything())))


FILE = """
schema = 1
[structures.beam]
type = "Beam"
points = [[0, 0, 0], ["500 mm", 0, 0]]
section = {type = "Section.rectangle", width = "20 mm", height = 0.005, young = "210 GPa",
    poisson = 0.3, density = "7.85 g/cm^3"}
elements = 4
first = "ground"
[forces.load]
type = "PointForce"
body = "beam.4"
force = [0, 0, "-5 N"]
[forces.snow]
type = "LineLoad"
beam = "beam"
force = [0, 0, -2]
[run]
t_end = 0.02
step = "5 ms"
""".replace("\n    poisson", " poisson")

WRONG = [
    ("Section.rectangle", "Section.square",
     "beam.section.type: must be Section or Section.rectangle or.*got 'Section.square'"),
    ("width = \"20 mm\", ", "", "beam.section: width is missing; a rectangle needs it"),
    ("width = \"20 mm\"", "width = \"20 kg\"", "section.width: .*kg"),
    ("width = \"20 mm\"", "widht = \"20 mm\"", "there is no key 'widht' .did you mean 'width'"),
    ("poisson = 0.3, ", "", "beam.section: give poisson .* or shear"),
    ("poisson = 0.3, ", "poisson = 0.7, ", "beam.section.poisson: must be in .-1, 0.5."),
    ("elements = 4", "elements = 4.5", "beam.elements: must be a whole number, got 4.5"),
    ("elements = 4", "elements = 0", "beam.elements: must be"),
    ("[\"500 mm\", 0, 0]", "[0, 0, 0]", "beam.points: 0 and 1 must differ"),
    ("[\"500 mm\", 0, 0]", "[1, 0]", r"beam.points\[1\]: must be 3 numbers"),
    ("first = \"ground\"", "first = \"grund\"", "no 'grund' among the bodies .did you mean 'gr"),
    ("body = \"beam.4\"", "body = \"beam.5\"", "forces.load.body: there is no 'beam.5'"),
    ("beam = \"beam\"", "beam = \"bean\"", "no 'bean' among the structures"),
    ("first = \"ground\"", "up = [1, 0, 0]", "structures.beam.up: must not be along the beam"),
    ("[structures.beam]", "[bodies.beam]", "a Beam belongs to .structures., not to .bodies."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[x[1][:24] or x[0] for x in WRONG])
def test_wrong_input_is_named_with_its_place(old, new, said):
    assert old in FILE
    with pytest.raises(ValueError, match=said):
        modelfile.from_text(FILE.replace(old, new, 1))


def test_functions_of_python_are_refused_by_name():
    bar = SECTIONS["Section.circle"]
    cases = {
        "points": {"points": lambda p: (p, 0, 0)}, "section": {}, "twist": {"twist": lambda p: p},
    }  # fmt: skip
    for name, options in cases.items():
        section = (lambda p: bar) if name == "section" else bar
        with pytest.raises(ValueError, match=f"beam: {name} is a Python function.*several"):
            modelfile.to_text(with_sections(section, **options))
    system = with_sections(bar)
    system.add(mbd.LineLoad("wind", system["beam"], lambda p: (0, p, 0)))
    with pytest.raises(ValueError, match="wind: force is a Python function"):
        modelfile.to_text(system)


def test_a_file_is_run_and_viewed(tmp_path, monkeypatch, capsys):
    (tmp_path / "ruler.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "ruler.toml", "-o", "ruler.nc"]) == 0
    run = mbd.load("ruler.nc")
    assert run["beam"].force.shape == (5, 4, 2, 3)
    assert main(["view", "ruler.nc", "-o", "ruler.html", "--no-open"]) == 0
    assert main(["view", "ruler.toml", "-o", "two.html", "--no-open"]) == 0
    for page in ("ruler.html", "two.html"):
        text = (tmp_path / page).read_text()
        data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
        assert [x["label"] for x in data["sweeps"]] == ["beam"]


@pytest.mark.parametrize("ending", ["toml", "py", "nc", "npz"])
def test_the_order_in_which_parts_are_added_does_not_count(ending, tmp_path, monkeypatch):
    """A body that follows a beam keeps its own numbers in every kind of file."""
    monkeypatch.chdir(tmp_path)
    system = with_sections(SECTIONS["six"])
    system.add(mbd.RigidBody("late", mass=1, inertia=(1, 1, 1), position=(5, 0, 0)))
    system.add(mbd.Cable("rope", points=[(0, 0, 0), (0, 0, 3)], stiffness=1e5, mass=1, elements=1))
    system.add(mbd.PointMass("last", mass=1, position=(7, 0, 0)))
    if ending in ("nc", "npz"):
        run = mbd.simulate(system, 0.01, 5e-3)
        again = mbd.load(run.save(f"run.{ending}"))
        assert isinstance(again, mbd.Solution)
        for name in (*system.bodies, "beam", "rope"):
            assert np.array_equal(again[name].position, run[name].position), name
        system, other = run.model.system, again.model.system
    else:
        mbd.write(system, "one.toml")
        assert ending == "toml" or main(["convert", "one.toml", "two.py"]) == 0
        other = scenes.load("two.py").build({}) if ending == "py" else mbd.read("one.toml").system
    same(system, other)
    assert list(other.bodies) == [
        "late",
        "last",
        *(f"beam.{i}" for i in range(4)),
        "rope.0",
        "rope.1",
    ]


def test_results_of_bodies_in_another_order_are_refused(tmp_path):
    system = mbd.System()
    for name, x in (("a", 0.0), ("b", 3.0)):
        system.add(mbd.PointMass(name, mass=1.0, position=(x, 0, 0)))
    path = mbd.simulate(system, 0.01, 5e-3).save(tmp_path / "run.npz")
    with np.load(path) as data:
        arrays = dict(data)
    about = json.loads(str(arrays["about"]))
    parts = about["model"].split("[bodies.")
    assert len(parts) == 3
    about["model"] = "[bodies.".join([parts[0], parts[2].rstrip() + "\n\n", parts[1]])
    np.savez(path, **arrays | {"about": np.array(json.dumps(about))})
    with pytest.raises(
        ValueError, match="the model in the file has b.x where its results have a.x"
    ):
        mbd.load(path)
