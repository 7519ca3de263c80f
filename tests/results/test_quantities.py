"""One table of quantities: what an entry reaches, and that editors and type checkers know it."""

import re
import textwrap
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

import mbd
from mbd.history.columns import parts
from mbd.history.quantities import Energy, PartHistory, table
from mbd.history.quantity import INERTIAL, SCALAR, Owner, Quantity
from mbd.store.archive import quantities
from tests.results.samples import everything
from tests.results.test_paraview import read

mpl.use("Agg")
ROOT = Path(mbd.__file__).parents[1]


def run(**options):
    """Return a run with a body, a point, a joint and a law in Python, which no file can say."""
    system = mbd.System(gravity=(0, 0, -9.81))
    rod = system.add(
        mbd.RigidBody("rod", mass=1.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0, 0),
                      formulation="directors")
    )  # fmt: skip
    bob = system.add(mbd.PointMass("bob", mass=0.2, position=(2, 0, 0), velocity=(0, 1, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.PointForce("wind", bob, lambda t: (0, 0, np.sin(9 * t))))
    return mbd.simulate(system, 0.01, 1e-3, **options)


def size(x):
    return np.linalg.norm(x, axis=-1)


def documented():
    """Return the entry that the page for contributors shows, and its name."""
    text = (ROOT / "docs" / "contributing" / "quantity.rst").read_text(encoding="utf-8")
    block = text.split(".. code-block:: python\n")[1]
    names = {}
    exec(textwrap.dedent(block[: re.search(r"\n(?=\S)", block).start()]), names)
    return next((name, x) for name, x in names.items() if isinstance(x, Quantity))


# class, name, entry; of a run its values for the owners that have it, by their names
NEW = {
    "body": (
        PartHistory, *documented(),
        lambda s: {x: size(s[x].velocity) for x in s.model.system.bodies},
    ),
    "turning body": (
        PartHistory, "spin",
        Quantity(Owner.TURNING, "rad/s", INERTIAL, "twice the turning",
                 lambda h: 2 * h.angular_velocity),
        lambda s: {n: 2 * s[n].angular_velocity for n, b in s.model.system.bodies.items()
                   if b.formulation.axes},
    ),
    "joint": (
        PartHistory, "burden",
        Quantity(Owner.JOINT, "N", SCALAR, "size of the force", lambda h: size(h.reactions.force)),
        lambda s: {x: size(s[x].force) for x in s.model.system.joints},
    ),
    "model": (
        Energy, "double",
        Quantity(Owner.TOTAL, "J", SCALAR, "twice the kinetic energy", array="double_energy",
                 take=lambda x: 2 * x.energies[0]),
        lambda s: {"energy": 2 * s.energy.kinetic},
    ),
}  # fmt: skip


@pytest.fixture
def longer(monkeypatch):
    """Put more entries into the table; return a run."""
    for owner, name, entry, _ in NEW.values():
        entry.__set_name__(owner, name)
        monkeypatch.setattr(owner, name, entry, raising=False)
    return run()


def held(solution, part, word):
    return getattr(solution.energy if part == "energy" else solution[part], word)


def test_a_new_quantity_is_one_entry(longer, tmp_path):
    """It is an attribute, in every kind of file, in data sets and in pictures."""
    data = longer.to_xarray()
    run(stream=tmp_path / "stream.nc")
    paths = [longer.save(tmp_path / f"run.{x}") for x in ("nc", "npz", "csv")]
    loaded = [mbd.load(x) for x in (*paths[:2], tmp_path / "stream.nc")]
    archive, rows = np.load(paths[1]), np.loadtxt(paths[2], delimiter=",", skiprows=1)
    heads = paths[2].read_text().split("\n", 1)[0].split(",")
    with xr.open_dataset(paths[0]) as file:
        xr.testing.assert_identical(file.load(), data)
    for _, word, entry, expected in NEW.values():
        there, unit = data[entry.array], entry.unit
        assert (there.attrs["units"], there.attrs["long_name"]) == (unit, entry.meaning)
        values = expected(longer)
        assert len(values) > 0
        for part, x in values.items():
            assert np.array_equal(held(longer, part, word), x)
            assert np.array_equal(there.sel({there.dims[1]: part}) if there.ndim > 1 else there, x)
            assert np.array_equal(archive[f"{part}.{word}"], x)
            ends = [f".{c}" for c in entry.axes.components] or [""]
            columns = [heads.index(f"{part}.{word}{end} [{unit}]") for end in ends]
            assert np.array_equal(rows[:, columns].reshape(x.shape), x)
            for found in loaded:
                assert not isinstance(found, mbd.Solution)
                assert np.array_equal(held(found, part, word), x)
            for drawn in (longer, loaded[0]):
                (axes,) = drawn.plot(f"{part}.{word}").axes
                assert axes.get_ylabel() == f"{word} [{unit}]"
                assert np.array_equal(axes.lines[-1].get_ydata(), x.reshape(len(x), -1)[:, -1])
            if part != "energy":
                assert word in repr(longer[part])
                with pytest.raises(AttributeError, match=f"did you mean '{word}'"):
                    getattr(longer[part], f"{word}e")


def test_new_quantities_of_parts_are_in_paraview(longer, tmp_path):
    longer.save(tmp_path / "run.pvd")
    (last,) = (tmp_path / "run").rglob("000010.vtp")
    data, _ = read(last)
    names = data["FieldData", "names"].tobytes().decode().split("\n")
    for _, word, entry, expected in NEW.values():
        if entry.of is Owner.TOTAL:
            assert ("PointData", word) not in data
            continue
        for part, x in expected(longer).items():
            assert np.array_equal(data["PointData", word][names.index(part)], x[-1])


def test_a_name_that_data_sets_have_already_is_refused(monkeypatch):
    """``speed`` counts the velocities of the model there, ``work`` is that of the whole model."""
    for word in ("speed", "work"):
        new = Quantity(Owner.BODY, "m/s", SCALAR, "another one", lambda h: size(h.velocity))
        new.__set_name__(PartHistory, word)
        with monkeypatch.context() as patch:
            patch.setattr(PartHistory, word, new, raising=False)
            with pytest.raises(ValueError, match=f"quantities: {word}: labelled data have that"):
                run().to_xarray()


def test_files_that_lack_an_entry_are_read(tmp_path, monkeypatch):
    """A file that was written before the entry: what follows from others is there, else not."""
    solution = run()
    paths = [solution.save(tmp_path / name) for name in ("old.nc", "old.npz")]
    for word, derive in (("known", lambda part: 3 * part.velocity), ("lost", None)):
        new = Quantity(Owner.BODY, "m", INERTIAL, "later", lambda h: 3 * h.velocity, derive=derive)
        new.__set_name__(PartHistory, word)
        monkeypatch.setattr(PartHistory, word, new, raising=False)
    for path in paths:
        found = mbd.load(path)["rod"]
        assert np.array_equal(found.known, 3 * solution["rod"].velocity)
        with pytest.raises(AttributeError, match=f"'rod' has no lost in {path.name}"):
            found.lost  # noqa: B018


@pytest.fixture(scope="module")
def solution():
    return mbd.simulate(everything(), 0.01, 1e-3)


@pytest.mark.parametrize("how", ["run", "nc", "npz"])
def test_what_files_have_is_what_parts_have(solution, how, tmp_path):
    """Every column is an attribute; of attributes only matrices and body axes are in no file."""
    found = solution if how == "run" else mbd.load(solution.save(tmp_path / f"run.{how}"))
    columns = {x.name: x for x in quantities(solution)}
    words = parts(columns)
    assert {"flier", "bob", "balloon", "joint 0", "row"} <= set(words)
    assert set(words) == set(parts(found.columns))
    for part, some in words.items():
        history = found[part]
        for word in some:
            x, column = columns[f"{part}.{word}"], found.columns[f"{part}.{word}"]
            assert np.array_equal(getattr(history, word), x.values), (part, word)
            assert (column.unit, column.components) == (x.unit, x.components)
        assert set(history.quantities) <= set(dir(history))
        assert ("force" in dir(history)) == (part in solution.model.system.joints)
        derived = set(history.quantities) - set(some)
        assert derived <= {"rotation", "angular_velocity_body", "scale"}, part


def test_every_entry_says_what_it_is():
    entries = table()
    assert len(entries) > 25
    for x in entries:
        assert x.meaning
        assert x.unit
        assert x.take or x.derive or x.see
    named = [x.array for x in entries if x.array]
    assert len(set(named)) == len(named)


def test_a_mistake_in_an_entry_names_itself(monkeypatch):
    """Python asks once more where an attribute lacks something: the reason is not lost."""
    wrong = Quantity(Owner.BODY, "m/s", SCALAR, "a mistake", lambda h: h.velocty, array="")
    wrong.__set_name__(PartHistory, "wrong")
    monkeypatch.setattr(PartHistory, "wrong", wrong, raising=False)
    with pytest.raises(AttributeError, match="has no 'velocty' .did you mean 'velocity'"):
        run()["rod"].wrong  # noqa: B018


# --- types ----------------------------------------------------------------------------------------
def test_what_parts_of_the_library_leave_free_and_report_is_declared():
    """So that type checkers know ``solution["hinge"].angle``."""
    classes = [getattr(mbd, name) for name in mbd.__all__]
    names = {x for c in classes for x in (*getattr(c, "free", ()), *getattr(c, "reads", ()))}
    assert {"angle", "angle_1", "x", "load", "tension"} <= names
    rates = {f"{x}{end}" for c in classes for x in getattr(c, "free", ())
             for end in ("_rate", "_second_rate")}  # fmt: skip
    assert names | rates <= set(PartHistory.__annotations__)
