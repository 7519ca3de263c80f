"""Files of results: what is read is what was written, bit by bit."""

import pickle

import h5netcdf.legacyapi
import h5py
import numpy as np
import pytest
import xarray

import mbd
from mbd.history import all_parts
from mbd.store.source import OnDisk
from mbd.store.stored import Stored
from tests.results.samples import everything, spinner


@pytest.fixture(scope="module")
def solution():
    return mbd.simulate(everything(law=True), 0.03, 1e-3)


def same(found, solution):
    """Compare everything that both have by name."""
    for name, body in solution.model.system.bodies.items():
        one, two = found[name], solution[name]
        names = ["position", "velocity", "acceleration"]
        if body.formulation.axes:
            names += ["quaternion", "angular_velocity", "angular_acceleration"]
        if not body.formulation.rigid:
            names += ["scale"]
        for what in names:
            assert np.array_equal(getattr(one, what), getattr(two, what)), (name, what)
        if body.formulation.axes:
            assert np.allclose(one.rotation, two.rotation, rtol=0, atol=1e-12)
            assert np.allclose(one.angular_velocity_body, two.angular_velocity_body, atol=1e-11)
    for name in solution.model.system.joints:
        for what in ("force", "moment", "multipliers"):
            assert np.array_equal(getattr(found[name], what), getattr(solution[name], what))
        for what in solution.model.system.joints[name].coordinates:
            for x in (what, f"{what}_rate"):
                assert np.array_equal(getattr(found[name], x), getattr(solution[name], x))
    assert np.array_equal(found["row"].multipliers, solution["row"].multipliers)
    for what in ("t", "q", "v", "a", "lam", "gap"):
        assert np.array_equal(getattr(found, what), getattr(solution, what)), what
    for what in ("kinetic", "potential", "total"):
        assert np.array_equal(getattr(found.energy, what), getattr(solution.energy, what))
    assert np.array_equal(found.momentum.linear, solution.momentum.linear)
    assert np.array_equal(found.momentum.angular, solution.momentum.angular)
    assert found.stats == solution.stats
    assert (found.status, found.message) == (solution.status, solution.message)
    assert found.success == solution.success


@pytest.mark.parametrize("ending", ["nc", "npz"])
def test_what_is_read_is_what_was_written(solution, tmp_path, ending):
    path = solution.save(tmp_path / "new" / f"run.{ending}", title="a run", numbers=np.arange(3))
    found = mbd.load(path)
    assert isinstance(found, Stored)  # a law in Python is in no model file
    same(found, solution)
    assert found.notes == {"title": "a run", "numbers": [0, 1, 2]}
    assert found.version == mbd.__version__
    assert found.method == repr(solution.method)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["nc", "npz"])
def test_a_model_without_python_comes_back_whole(tmp_path, ending):
    """The loaded solution has its model: all reactions, all points, and the run goes on."""
    model = everything().build()
    run = mbd.simulate(model, 0.03, 1e-3)
    found = mbd.load(run.save(tmp_path / f"run.{ending}"))
    assert isinstance(found, mbd.Solution)
    same(found, run)
    assert found.model.labels == model.labels
    one, two = (s["joint 2"].reaction(on="first", at="first") for s in (found, run))
    assert np.array_equal(one.moment, two.moment)
    for name in ("balloon", "flier"):
        one, two = (s[name].at((0.1, 0.2, 0.3)).acceleration for s in (found, run))
        assert np.array_equal(one, two)
    rest = mbd.simulate(found.model, 0.05, 1e-3, state=found.state)
    expected = mbd.simulate(model, 0.05, 1e-3, state=run.state)
    assert np.array_equal(rest.q, expected.q)


@pytest.mark.parametrize("ending", ["nc", "npz"])
def test_joints_that_are_off_stay_off(tmp_path, ending):
    model = everything().build()
    run = mbd.simulate(model, 0.02, 1e-3, off="pin")
    found = mbd.load(run.save(tmp_path / f"run.{ending}"))
    assert found.state.off == ("pin",)
    rest, expected = (mbd.simulate(model, 0.03, 1e-3, state=s.state) for s in (found, run))
    assert np.array_equal(rest.q, expected.q)


def test_a_model_that_does_not_come_back_is_told(tmp_path):
    run = mbd.simulate(everything(), 0.01, 1e-3)
    path = run.save(tmp_path / "run.nc")
    with h5py.File(path, "r+") as h5:
        h5.attrs["model"] = h5.attrs["model"].replace("Revolute", "NoSuchJoint")
    with pytest.warns(RuntimeWarning, match=r"the model in .* cannot be rebuilt"):
        found = mbd.load(path)
    same(found, run)


def test_points_of_a_stored_body(solution, tmp_path):
    found = mbd.load(solution.save(tmp_path / "run.nc"))
    for what in ("position", "velocity", "acceleration"):
        one = getattr(found["flier"].at((0.1, -0.2, 0.3)), what)
        assert np.allclose(one, getattr(solution["flier"].at((0.1, -0.2, 0.3)), what), atol=1e-10)
    with pytest.raises(AttributeError, match="breathes"):
        found["balloon"].at((1, 0, 0))
    with pytest.raises(AttributeError, match="'bob' has no quaternion"):
        found["bob"].quaternion  # noqa: B018
    with pytest.raises(AttributeError, match="joint 'pin' has no 'angle'; there are force, moment"):
        found["pin"].angle  # noqa: B018
    with pytest.raises(KeyError, match="did you mean 'flier'"):
        found["fleir"]


def test_the_file_is_plain_hdf5(solution, tmp_path):
    path = solution.save(tmp_path / "run.nc")
    with h5py.File(path) as h5:
        bodies = [name.decode() for name in h5["body"]]
        i = bodies.index("flier")
        assert np.array_equal(h5["position"][:, i], solution["flier"].position)
        assert h5["position"].attrs["units"] == "m"
        assert [d.keys()[0] for d in h5["position"].dims] == ["time", "body", "component"]


SOME = ["position", "quaternion", "velocity", "angular_velocity", "force"]


def test_some_quantities_in_single_precision_are_there_by_name(solution, tmp_path):
    """Other programs find them with units and labels, and mbd what they are good for."""
    path = solution.save(tmp_path / "run.nc", quantities=SOME, single=True, title="short")
    wanted = {x: solution.to_xarray()[x] for x in SOME}
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert set(data.data_vars) == {*SOME, "last_alg", "last_memory"}
        assert np.array_equal(data.time, solution.t)
        for name, x in wanted.items():
            assert data[name].dtype == np.float32
            assert data[name].dims == x.dims
            assert data[name].attrs == x.attrs
            assert np.array_equal(data[name], x.astype(np.float32), equal_nan=True)
        assert data.position.sel(body="flier").attrs["units"] == "m"
    with h5netcdf.legacyapi.Dataset(path) as data:
        assert data["force"].units == "N"
        assert data["position"].dimensions == ("time", "body", "component")
    found = mbd.load(path)
    assert isinstance(found, Stored)
    assert found["flier"].position.dtype == np.float64
    assert np.allclose(found["flier"].position, solution["flier"].position, rtol=1e-7)
    assert found.q is None
    assert found.notes == {"title": "short"}
    for ask in (lambda: found.energy.total, lambda: found.gap, lambda: found["flier"].acceleration):
        with pytest.raises(AttributeError, match="there is no|has no acceleration"):
            ask()
    again = mbd.load(found.save(tmp_path / "copy.nc"))
    assert np.array_equal(again["pin"].force, found["pin"].force)


def test_numbers_of_the_model_alone_give_all_others(tmp_path, monkeypatch):
    """Everything is computed again with the same bits, whether asked for at once or in pieces."""
    run = mbd.simulate(everything(), 0.1, 1e-3)
    monkeypatch.setattr(all_parts, "_FACES", 10 * run.model.n_faces)  # ten pieces
    path = run.save(tmp_path / "run.nc", quantities=["q", "v", "a", "multipliers"])
    found = mbd.load(path)
    assert isinstance(found, mbd.Solution)
    same(pickle.loads(pickle.dumps(found)), run)
    pieces = found.to_xarray()
    turns = run.save(tmp_path / "angles.nc", quantities=["joint_coordinate", "work"])
    with xarray.open_dataset(turns) as data:  # pieces know the turns and the work before them
        monkeypatch.undo()
        whole = run.to_xarray()
        assert pieces.identical(whole)
        assert data.joint_coordinate.identical(whole.joint_coordinate)
        assert data.work.identical(whole.work)
    onward = {"t_end": 0.11, "step": 1e-3}
    one, two = (mbd.simulate(x.model, state=x.state, **onward) for x in (run, found))
    assert np.array_equal(one.q, two.q)


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"quantities": ["positon"]}, ValueError, "did you mean 'position'"),
    ({"quantities": [b"q"]}, ValueError, "got b'q'"),
    ({"quantities": ["last_alg"]}, ValueError, "there are position"),
    ({"quantities": "position"}, TypeError, "list of names"),
    ({"quantities": []}, TypeError, "list of names"),
    ({"single": 1}, TypeError, "single"),
])  # fmt: skip
def test_what_cannot_be_chosen_is_named(solution, tmp_path, options, error, text):
    with pytest.raises(error, match=f"save: .*{text}"):
        solution.save(tmp_path / "run.nc", **options)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"for \.nc, got run\.npz"):
        solution.save(tmp_path / "run.npz", single=True)


def test_numbers_too_large_for_single_precision_are_refused(tmp_path):
    system = mbd.System()
    system.add(mbd.PointMass("star", mass=1.0, position=(1e39, 0, 0)))
    run = mbd.simulate(system, 1e-3, 1e-3)
    with pytest.raises(ValueError, match="position is larger than"):
        run.save(tmp_path / "run.nc", single=True)
    assert not list(tmp_path.iterdir())


def test_files_of_others_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"from \.nc or \.npz, got 'run\.csv'"):
        mbd.load("run.csv")
    with pytest.raises(FileNotFoundError):
        mbd.load(tmp_path / "none.nc")
    with h5py.File(tmp_path / "other.nc", "w") as h5:
        h5["x"] = 1.0
    with pytest.raises(ValueError, match="was not written by mbd"):
        mbd.load(tmp_path / "other.nc")
    np.savez(tmp_path / "other.npz", x=1.0)
    with pytest.raises(ValueError, match="was not written by mbd"):
        mbd.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ValueError, match="not a whole file of results"):
        mbd.load(tmp_path / "text.npz")
    (tmp_path / "text.nc").write_text("no file of HDF5")
    with pytest.raises(ValueError, match="not a file of HDF5"):
        mbd.load(tmp_path / "text.nc")


def test_a_failed_run_is_kept_too(tmp_path):
    system = everything()
    run = mbd.simulate(
        system, 1.0, 0.5, method=mbd.GeneralizedAlpha(max_iterations=1), raise_on_failure=False
    )
    assert not run.success
    for ending in ("nc", "npz"):
        found = mbd.load(run.save(tmp_path / f"run.{ending}"))
        assert (found.status, found.message) == (run.status, run.message)


@pytest.mark.parametrize(
    "key",
    [
        -1, 0, 7, slice(None), slice(3, 9), slice(None, None, 4), slice(None, None, -3),
        slice(9, 2),
        slice(9, 2, -2), (slice(2, 5), slice(1, 3)), (slice(None), 2), (-3, slice(1, None)),
        (slice(1, 8), [0, 2]), ([1, 5, 2],), np.arange(11) % 3 == 0, (slice(None, None, -1), 1),
        (4, 1), (4, [2, 0]),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_on_disk_are_sliced_as_in_memory(tmp_path, key):
    values = np.random.default_rng(1).random((13, 4))
    with h5py.File(tmp_path / "x.h5", "w") as h5:
        h5["x"] = values
        disk = OnDisk(lambda rows, *columns: h5["x"][(rows, *columns)], 11)
        assert np.array_equal(disk[key], values[:11][key])
        assert disk.shape == (11, 4)
        assert len(disk) == 11
        assert np.array_equal(np.asarray(disk) * 2, 2 * values[:11])
        for i in (11, -12):
            with pytest.raises(IndexError):
                disk[i]


def test_only_tables_are_thinned(tmp_path):
    solution = mbd.simulate(spinner(), 0.01, 1e-3)
    table = np.loadtxt(solution.save(tmp_path / "x.csv", every=4), delimiter=",", skiprows=1)
    assert np.array_equal(table[:, 0], solution.t[::4])
    with pytest.raises(ValueError, match=r"a \.nc file has all instants, got every=2"):
        solution.save(tmp_path / "x.nc", every=2)
    with pytest.raises(ValueError, match="every must be a whole number, at least 1, got 0"):
        solution.save(tmp_path / "x.csv", every=0)
