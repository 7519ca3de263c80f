"""The pages on adding a part, followed to the letter in a package outside the library."""

import importlib
import inspect
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from test_examples import ROOT, blocks, file_of, write

import mbd
from mbd.parts.joint import Joint
from mbd.parts.part import Part

sys.path += [str(ROOT / "tests" / "kinds")]
from recipes import STILL, of_example, pair, placed

PAGES = ROOT / "docs" / "contributing"
PARTS = {"joint.rst": "Parallel", "force.rst": "Drag"}
BETWEEN = [("so3", "so3"), ("so3", "directors"), ("euler_parameters", "ground")]


@pytest.fixture
def part_of(tmp_path, monkeypatch):
    """Return a function that writes the files of a page and returns the class of its part."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in [x for x in sys.modules if x.startswith("my_machine")]:
        monkeypatch.delitem(sys.modules, name)

    def make(page):
        modules = []
        for language, code in blocks(PAGES / page):
            if language == "python" and (file := file_of(code)):
                write(tmp_path / file, code)
                modules.append(importlib.import_module(file[:-3].replace("/", ".")))
        assert len(modules) == 1, "one part is one file"
        assert Path(modules[0].__file__).is_relative_to(tmp_path)
        return getattr(modules[0], PARTS[page])

    yield make
    for name in [x for x in sys.modules if x.startswith("my_machine")]:
        del sys.modules[name]


def example(part):
    """Return the recipe of a class: its example, or for a joint its arguments."""
    return of_example(part) if "example" in vars(part) else placed(part)


@pytest.mark.parametrize("page", PARTS)
def test_the_library_does_not_know_the_part(page, part_of):
    part = part_of(page)
    assert issubclass(part, Part)
    assert not hasattr(mbd, part.__name__)
    assert part.__name__ not in "".join(p.read_text() for p in (ROOT / "mbd").rglob("*.py"))
    assert inspect.getdoc(part)


@pytest.mark.parametrize(("first", "second"), BETWEEN)
@pytest.mark.parametrize("page", PARTS)
def test_the_part_has_the_properties_of_every_part(page, first, second, part_of):
    _, one, two = pair(first, second)
    part = example(part_of(page))(one, two, STILL)
    report = mbd.check_part(part, tolerance=5e-8)
    assert all(x.error < 1e-9 for x in report.properties), str(report)
    expected = {"made again", "power"}
    if isinstance(part, Joint):
        expected |= {"force", "moment", "rate of rows", "second rate of rows"}
    assert {x.what for x in report.properties} == expected


@pytest.mark.parametrize("page", PARTS)
def test_energy_balance_closes(page, part_of):
    """T + V + D - W is constant to the second order of the method."""
    system, one, two = pair("so3", "so3")
    system.add(example(part_of(page))(one, two, STILL))
    state = mbd.assemble_pose(system)
    method = mbd.GeneralizedAlpha(1.0, constraints="stabilized")
    drift = []
    for h in (4e-3, 2e-3):
        energy = mbd.simulate(system, 0.4, h, state=state, method=method).energy
        drift.append(np.ptp(energy.balance))
    size = np.ptp(energy.kinetic) + np.ptp(energy.potential)
    assert drift[1] < 1e-3 * size
    assert drift[1] < 0.3 * drift[0] + 1e-11 * size
    assert (np.ptp(energy.dissipated) > 1e-3 * size) == (page == "force.rst")


@pytest.mark.parametrize("page", PARTS)
def test_systems_and_solutions_are_pickled(page, part_of):
    system, one, two = pair("so3", "so3")
    system.add(example(part_of(page))(one, two, STILL))
    system = pickle.loads(pickle.dumps(system))
    first, second = (x.build() for x in (system, pickle.loads(pickle.dumps(system))))
    tables = first.I.copy(), second.I.copy()
    assert np.array_equal(*tables)
    assert np.array_equal(first.F, second.F)


@pytest.mark.parametrize("page", PARTS)
def test_model_files_refuse_the_part_by_name(page, part_of, tmp_path):
    system, one, two = pair("so3", "so3")
    system.add(example(part_of(page))(one, two, STILL))
    with pytest.raises(ValueError, match=rf"part: {PARTS[page]} is not a part of mbd.*scene"):
        mbd.write(system, tmp_path / "model.toml")
    assert not (tmp_path / "model.toml").exists()


@pytest.mark.parametrize("page", PARTS)
def test_results_are_read_without_the_model(page, part_of, tmp_path):
    system, one, two = pair("so3", "so3")
    system.add(example(part_of(page))(one, two, STILL))
    run = mbd.simulate(system, 0.02, 1e-3, state=mbd.assemble_pose(system))
    for ending in (".nc", ".npz"):
        kept = mbd.load(run.save(tmp_path / f"run{ending}"))
        assert not isinstance(kept, mbd.Solution)
        assert np.array_equal(kept["one"].position, run["one"].position)
