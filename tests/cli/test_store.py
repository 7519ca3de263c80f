"""Results in files: every quantity by name, with its unit, read back as it was."""

import json

import numpy as np
import pytest

import mbd
from mbd.store.archive import quantities


@pytest.fixture(scope="module")
def solution():
    system = mbd.System(gravity=(0, 0, -9.81))
    rod = mbd.RigidBody(
        "rod, left",
        mass=1.0,
        inertia=(1e-3, 0.1, 0.1),
        position=(0.5, 0, 0),
        formulation="directors",
    )
    bob = mbd.PointMass("bob", mass=0.1, position=(1, 0, 0))
    for part in (rod, bob):
        system.add(part)
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spherical("pin", rod, bob, at=(1, 0, 0)))
    return mbd.simulate(system, t_end=0.02, step=1e-3)


def test_quantities_are_named_and_sized(solution):
    found = {x.name: x for x in quantities(solution)}
    assert "bob.quaternion" not in found  # a point has no axes
    assert found["rod, left.quaternion"].components == ("w", "x", "y", "z")
    assert found["hinge.multipliers"].components == (
        "force x",
        "force y",
        "force z",
        "moment about -a2",
        "moment about a1",
    )
    for x in found.values():
        assert x.unit
        assert x.values.shape == (21, *([len(x.components)] if x.components else []))
        assert np.all(np.isfinite(x.values))


def test_archive_reads_back(solution, tmp_path):
    path = solution.save(tmp_path / "new" / "run.npz", title="a rod")
    with np.load(path, allow_pickle=False) as data:
        about = json.loads(str(data["about"]))
        for x in quantities(solution):
            assert np.array_equal(data[x.name], x.values)
            assert about["units"][x.name] == x.unit
        assert np.array_equal(data["lam"], solution.lam)
        assert tuple(data["lam.labels"]) == solution.model.numbering.lam_labels
    assert about["title"] == "a rod"
    assert about["version"] == mbd.__version__


def test_table_reads_back(solution, tmp_path):
    path = solution.save(tmp_path / "run.csv")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    heads = path.read_text().split("\n", 1)[0].split(",")
    assert table.shape == (21, len(heads))
    assert len(set(heads)) == len(heads)
    columns = np.hstack([x.values.reshape(21, -1) for x in quantities(solution)])
    assert np.array_equal(table, columns)


def test_other_endings_are_refused(solution, tmp_path):
    with pytest.raises(ValueError, match=r"as \.nc, \.npz, \.csv, \.mat or \.pvd, got"):
        solution.save(tmp_path / "run.xlsx")
