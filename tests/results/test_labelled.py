"""Results as labelled data: what the data set says is what the solution says."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import mbd
from mbd.store.contents import OfSolution, data_set
from mbd.store.fields import fields
from tests.results.samples import everything, spinner

UNITS = {
    "position": "m", "velocity": "m/s", "acceleration": "m/s^2", "quaternion": "1",
    "angular_velocity": "rad/s", "angular_acceleration": "rad/s^2", "force": "N", "moment": "N m",
    "kinetic_energy": "J", "potential_energy": "J", "total_energy": "J", "linear_momentum": "N s",
    "angular_momentum": "N m s", "time": "s",
}  # fmt: skip


@pytest.fixture(scope="module")
def solution():
    return mbd.simulate(everything(), 0.03, 1e-3)


def test_bodies_of_every_formulation(solution):
    data = solution.to_xarray()
    assert list(data.body.values) == list(solution.model.system.bodies)
    for name, body in solution.model.system.bodies.items():
        h = solution[name]
        mine = data.sel(body=name)
        for what in ("position", "velocity", "acceleration"):
            assert np.array_equal(mine[what], getattr(h, what))
        turning = ("quaternion", "angular_velocity", "angular_acceleration")
        for what in turning:
            if body.formulation.axes:
                assert np.array_equal(mine[what], getattr(h, what))
            else:
                assert np.all(np.isnan(mine[what]))
        assert mine.formulation == body.formulation.name
        assert mine.mass == body.mass
    assert list(data.quaternion_component.values) == ["w", "x", "y", "z"]
    assert np.array_equal(data.scale.sel(body="balloon"), solution["balloon"].scale)
    assert np.ptp(data.scale.sel(body="balloon").values) > 1e-4


def test_joints_rows_energies(solution):
    data = solution.to_xarray()
    for name, joint in solution.model.system.joints.items():
        mine = data.sel(joint=name)
        assert np.array_equal(mine.force, solution[name].force)
        assert np.array_equal(mine.moment, solution[name].moment)
        rows = data.multipliers[:, (data.owner == name).values]
        assert np.array_equal(rows, solution[name].multipliers)
        assert (mine["first"], mine["second"]) == (joint.A.name, joint.B.name)
    assert np.array_equal(
        data.multipliers.sel(row="row.twist rate"), solution["row"].multipliers[:, 0]
    )
    assert tuple(data.row.values) == solution.model.numbering.lam_labels
    assert np.array_equal(data.total_energy, solution.energy.total)
    assert np.array_equal(data.angular_momentum, solution.momentum.angular)
    assert np.array_equal(data.gap, solution.gap)
    assert np.array_equal(data.v.sel(speed="bob.x"), solution["bob"].velocity[:, 0])


def test_units_frames_and_the_run_are_attributes(solution):
    data = solution.to_xarray()
    for name, unit in UNITS.items():
        assert data[name].attrs["units"] == unit
    for x in fields(solution.model):
        assert data[x.name].attrs["long_name"]
        if "component" in x.dims:
            assert data[x.name].attrs["frame"] == "inertial axes"
    assert data.attrs["mbd_version"] == mbd.__version__
    assert data.attrs["schema"] == "mbd results 1"
    assert "GeneralizedAlpha(rho=0.8" in data.attrs["method"]
    assert data.attrs["statistics_steps"] == 30
    assert data.attrs["status"] == 0


def test_every_array_has_a_unit_or_one_for_each_column(solution, tmp_path):
    """In memory and in a file; mixed arrays have a coordinate with the unit of each column."""
    model = solution.model
    with xr.open_dataset(solution.save(tmp_path / "run.nc")) as file:
        for data in (solution.to_xarray(), file):
            for x in fields(model):
                unit = data[x.name].attrs.get("units")
                if unit == "mixed" and len(x.dims) > 1:
                    assert f"{x.dims[-1]}_unit" in data[x.name].coords, x.name
                else:
                    assert unit or x.name in ("time", "last_alg"), x.name
            assert data.mass.attrs["units"] == "kg"
            speeds = dict(zip(data.speed.values, data.speed_unit.values, strict=True))
            assert speeds["bob.x"] == "m/s"
            assert speeds["body, so3.theta_x"] == "rad/s"
            assert speeds["body, directors.d1_x"] == "1/s"
            stored = data.coordinate_unit.sel(coordinate=["body, so3.0", "body, so3.6"])
            assert stored.values.tolist() == ["m", "1"]
            rows = dict(zip(data.row.values, data.row_unit.values, strict=True))
            assert rows["joint 0.force x"] == "N"
            assert rows["joint 0.moment about -a2"] == "N m"


def test_the_multiplier_of_a_distance_is_a_force_per_length():
    system = mbd.System(gravity=(0, 0, -9.81))
    bob = system.add(mbd.PointMass("bob", mass=3.0, position=(0, 0, -2.0)))
    system.add(mbd.Distance("string", system.ground, bob, at=(0, 0, 0)))
    data = mbd.simulate(system, 0.01, 1e-3).to_xarray()
    assert data.row_unit.values.tolist() == ["N/m"]
    assert np.allclose(np.abs(data.multipliers), 3.0 * 9.81 / 2.0)  # times L it is the weight


def test_a_point_alone_and_no_joints():
    system = mbd.System()
    system.add(mbd.PointMass("m", mass=1.0, velocity=(1, 0, 0)))
    data = mbd.simulate(system, 0.01, 1e-3).to_xarray()
    assert not {"quaternion", "force", "multipliers", "scale", "joint", "row"} & set(data.variables)
    assert np.allclose(data.position.sel(body="m", component="x"), data.time)


def test_pieces_go_on_where_the_last_one_ended():
    """Turns of an angle and signs of quaternions are kept from piece to piece."""
    solution = mbd.simulate(spinner(), 1.0, 2e-3)
    turns = 40 / (2 * np.pi)
    assert solution.energy.potential.max() > 0.5 * 2.0 * (0.5 * 2 * np.pi * turns) ** 2
    pieces = list(solution.blocks(7))
    assert len(pieces) == 72
    for get in (
        lambda s: s["wheel"].quaternion,
        lambda s: s.energy.potential,
        lambda s: s["hinge"].moment,
        lambda s: s["wheel"].position,
        lambda s: s.gap,
    ):
        assert np.array_equal(np.concatenate([get(s) for s in pieces]), get(solution))
    data = solution.to_xarray()
    angle = np.concatenate([s.to_xarray().joint_coordinate[:, 0] for s in pieces])
    assert np.allclose(angle, solution["hinge"].angle, rtol=0, atol=1e-12)
    assert np.array_equal(data.joint_coordinate.sel(freedom="hinge.angle"), solution["hinge"].angle)
    assert np.array_equal(data.joint_rate[:, 0], solution["hinge"].angle_rate)
    assert data.freedom_unit.values.tolist() == ["rad"]
    assert np.ptp(angle) > 4 * np.pi
    jumps = np.abs(np.diff(solution["wheel"].quaternion, axis=0)).max()
    assert jumps < 0.1


def test_gap_is_that_of_the_rows(solution):
    """A pose moved by hand violates the rows of its joints by as much."""
    pin = solution.model.numbering.owners["pin"]
    bob = solution.model.numbering.q[solution.model.bodies["bob"]]
    assert solution.gap.max() < 1e-8
    q = solution.q.copy()
    q[5, bob.start] += 0.25
    moved = mbd.Solution(
        solution.model, solution.t, q, solution.v, solution.a, solution.lam, status=0, message="",
        stats={}, last=solution.state, method=None,
    )  # fmt: skip
    assert moved.gap[5] == pytest.approx(0.25)
    assert moved.gap[4] < 1e-8
    assert pin.stop - pin.start == 3


def test_missing_libraries_are_named():
    code = """
import sys, mbd
for name in ("xarray", "h5py", "h5netcdf"):
    sys.modules[name] = None
system = mbd.System()
system.add(mbd.PointMass("m", mass=1.0))
s = mbd.simulate(system, 0.01, 1e-3)
for act in (s.to_xarray, lambda: s.save("x.nc"), lambda: mbd.load("x.nc"),
            lambda: mbd.simulate(system, 0.01, 1e-3, stream="x.nc")):
    try:
        act()
    except ImportError as error:
        assert "pip install 'mbd[results]'" in str(error), error
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_nothing_is_opened_by_xarray_that_differs(solution, tmp_path):
    path = solution.save(tmp_path / "run.nc", title="all of it", tries=[1, 2])
    with xr.open_dataset(path) as found:
        notes = {"title": "all of it", "tries": [1, 2]}
        expected = data_set(OfSolution(solution, fields(solution.model), notes))
        xr.testing.assert_identical(found.load(), expected)
