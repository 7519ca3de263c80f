"""All parts at once: the same as one by one, by as many kernel calls as there are kinds."""

import numpy as np
import pytest
import xarray as xr
from recipes import JOINT_RECIPES, STILL
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.history import all_parts as everything
from mbd.history import program
from mbd.history.all_parts import AllParts, in_pieces
from mbd.history.quantities import PartHistory
from tests.results.samples import everything as sample


def mixed():
    """Return a system with a joint of every type between bodies of every formulation."""
    system = mbd.System(gravity=(0.3, 0, -9.81))
    rng = np.random.default_rng(4)
    for i, (name, make) in enumerate(JOINT_RECIPES.items()):
        one, two = (
            system.add(
                mbd.RigidBody(
                    f"{which} of {name}", mass=1.5, inertia=(0.3, 0.45, 0.6),
                    center_of_mass=rng.uniform(-0.3, 0.3, 3), position=rng.uniform(-1, 1, 3),
                    rotation=Rotation.from_rotvec(rng.uniform(-1, 1, 3)),
                    formulation=NAMES[(i + k) % len(NAMES)],
                )
            )
            for k, which in enumerate(("one", "two"))
        )  # fmt: skip
        joint = make(one, two, STILL)
        object.__setattr__(joint, "name", f"{name} {i}")  # parts are frozen
        system.add(joint)
    system.add(mbd.PointMass("point", mass=1.0))
    return system


def moving(model, n=7, seed=3):
    """Return a solution with any numbers: nothing here needs a motion that obeys its equations."""
    rng = np.random.default_rng(seed)
    q = model.state.q + 1e-2 * rng.standard_normal((n, model.n_q))
    v, a = rng.standard_normal((2, n, model.n_v))
    lam = rng.standard_normal((n, model.n_lam))
    return mbd.Solution(
        model, np.linspace(0, 0.01, n), q, v, a, lam, status=0, message="", stats={},
        last=model.state, method=None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def solution():
    return moving(mixed().build())


def test_every_joint_and_formulation_at_once_is_what_it_is_alone(solution):
    system = solution.model.system
    kinds = {type(joint).__name__ for joint in system.joints.values()}
    assert kinds == set(JOINT_RECIPES)
    assert {b.formulation.name for b in system.bodies.values()} == {*NAMES, "point"}
    at_once = AllParts(solution)
    for what in ("position", "acceleration", "quaternion", "angular_velocity",
                 "angular_acceleration"):  # fmt: skip
        turning = what not in ("position", "acceleration")
        found = at_once.of_bodies(getattr(PartHistory, what))
        for i, (name, body) in enumerate(system.bodies.items()):
            if body.formulation.axes or not turning:
                assert np.array_equal(found[:, i], getattr(solution[name], what)), (name, what)
            else:
                assert np.all(np.isnan(found[:, i]))
    for i, name in enumerate(system.joints):
        assert np.array_equal(at_once.reactions.force[:, i], solution[name].force), name
        assert np.array_equal(at_once.reactions.moment[:, i], solution[name].moment), name
    u, rate = at_once.freedoms
    for i, (name, both) in enumerate(solution.freedoms.items()):
        joint, _, what = name.rpartition(".")
        assert np.array_equal(u[:, i], getattr(solution[joint], what))
        assert np.array_equal(rate[:, i], getattr(solution[joint], f"{what}_rate"))
        assert np.array_equal(both[0], u[:, i])


def test_reactions_are_those_of_the_residual(solution):
    """On both bodies together: force for force and, about one point, moment for moment."""
    for name in solution.model.system.joints:
        one = solution[name].reaction(on="first", at="second")
        two = solution[name].reaction(on="second", at="second")
        assert np.allclose(one.force, -two.force, rtol=0, atol=1e-12), name


def test_sums_are_those_of_the_bodies(solution):
    """Against the formulas, body by body."""
    g, system = solution.model.system.gravity, solution.model.system
    kinetic, potential, linear, angular = 0.0, 0.0, 0.0, 0.0
    for name, body in system.bodies.items():
        h = solution[name]
        p = np.einsum("kl,nlc->nkc", body.mass_matrix, h.yd)
        kinetic = kinetic + 0.5 * np.einsum("nkc,nkc->n", h.yd, p)
        potential = potential - body.mass * (h.at(body.center_of_mass).position @ g)
        linear, angular = linear + p[:, 0], angular + np.cross(h.y, p).sum(1)
    assert np.allclose(solution.energy.kinetic, kinetic, rtol=1e-13)
    assert np.allclose(solution.energy.potential, potential, rtol=1e-12, atol=1e-12)
    assert np.allclose(solution.momentum.linear, linear, rtol=1e-12, atol=1e-12)
    assert np.allclose(solution.momentum.angular, angular, rtol=1e-12, atol=1e-12)


def test_pieces_are_the_whole(monkeypatch):
    """However few bodies and instants there are in one piece."""
    run = mbd.simulate(sample(), 0.02, 1e-3)
    whole = run.to_xarray()
    monkeypatch.setattr(everything, "_FACES", 3 * len(run.model.bodies))
    assert [len(x.trajectory.t) for x in in_pieces(run)] == [3] * 7
    pieces = mbd.simulate(sample(), 0.02, 1e-3).to_xarray()
    for name in whole.variables:
        if whole[name].dtype.kind == "f":
            assert np.array_equal(whole[name], pieces[name], equal_nan=True), name


@pytest.fixture
def programs(monkeypatch):
    """Note the bodies and the number of kernels of every program that is made."""
    made, original = [], program.Program.__init__

    def noted(self, tables, places):
        original(self, tables, places)
        made.append((self.bodies, int(self.I[self.k + program.N_CALLS])))

    monkeypatch.setattr(program.Program, "__init__", noted)
    return made


@pytest.mark.parametrize("n", [2, 50])
def test_kernels_are_called_once_for_all_joints(programs, n):
    """Faces take two calls, three with accelerations; then reactions one and angles one."""
    system = mbd.System()
    last = system.ground
    for i in range(n):
        bar = system.add(mbd.RigidBody(f"b{i}", mass=1, inertia=(1, 1, 1), position=(i, 0, 0)))
        system.add(mbd.Revolute(f"j{i}", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
        last = bar
    run = moving(system.build(), n=5)
    run.reactions, run.freedoms  # noqa: B018
    assert [calls for _, calls in programs] == [3, 4]


def test_one_body_of_many_is_evaluated_alone(programs):
    run = moving(sample().build())
    run["flier"].position  # noqa: B018
    assert [bodies for bodies, _ in programs] == [["flier"]]


def driven():
    system = mbd.System(gravity=(0, 0, -9.81))
    for i, name in enumerate(("rod", "wheel")):
        body = system.add(
            mbd.RigidBody(name, mass=1, inertia=(0.1, 0.1, 0.1), position=(0.5, 2 * i, 0))
        )
        system.add(mbd.Revolute(f"{name} hinge", system.ground, body, at=(0, 2 * i, 0),
                                axis=(0, 1, 0)))  # fmt: skip
    return system


def law(u, rate, t):
    return 0.3 * u - 0.1 * rate + t


@pytest.fixture(scope="module")
def loaded():
    """Return a run with a motor that follows a law, a drive, and events."""
    system = driven()
    system.add(mbd.Motor("motor", system["rod hinge"], law))
    speed = mbd.ConstantSpeed(5.0)
    system.add(mbd.Drive("drive", system["wheel hinge"], position=speed))
    events = [
        mbd.Event("through the middle, quer", lambda s: s["rod"].velocity[:, 0]),
        mbd.Event("mitte ä", lambda s: s["rod"].position[:, 0]),
    ]

    def run(**options):
        return mbd.simulate(system, 2.0, 1e-2, events=events, project=True, **options)

    return run


def test_loads_of_motors_and_drives(loaded, tmp_path):
    run = loaded()
    hinge = run["rod hinge"]
    assert np.allclose(run["motor"].load, law(hinge.angle, hinge.angle_rate, run.t), atol=1e-13)
    assert np.array_equal(run.loads["motor.load"], run["motor"].load)
    data = run.to_xarray()
    assert data.reading_unit.values.tolist() == ["N m", "N m"]
    for name in ("motor", "drive"):
        mine = run[name].load
        assert np.ptp(mine) > 1e-2
        assert np.array_equal(data.effort.sel(reading=f"{name}.load"), mine)
        for ending in ("nc", "npz"):
            found = mbd.load(run.save(tmp_path / f"run.{ending}"))
            assert np.array_equal(found[name].load, mine)
            (axes,) = found.plot(f"{name}.load").axes
            assert "N m" in axes.get_ylabel()
    head = run.save(tmp_path / "run.csv").read_text().splitlines()[0]
    assert "motor.load [N m]" in head
    with pytest.raises(AttributeError, match="'motor' has no 'speed'; there are load"):
        found["motor"].speed  # noqa: B018


def test_events_are_in_files(loaded, tmp_path):
    run = loaded()
    happened = [(x.name, x.t) for x in run.events]
    assert len(happened) > 3
    for ending in ("nc", "npz"):
        found = mbd.load(run.save(tmp_path / f"run.{ending}"))
        assert [(x.name, x.t) for x in found.events] == happened
    with xr.open_dataset(tmp_path / "run.nc") as data:
        xr.testing.assert_identical(data.load(), run.to_xarray())
    loaded(stream=tmp_path / "stream.nc")
    found = mbd.load(tmp_path / "stream.nc")
    assert [x.name for x in found.events] == [name for name, _ in happened]
    assert np.allclose([x.t for x in found.events], [t for _, t in happened], rtol=0, atol=1e-9)
    with xr.open_dataset(tmp_path / "stream.nc") as data:
        assert data.event_name.values.tolist() == [name for name, _ in happened]


def test_a_run_without_its_model_is_copied(loaded, tmp_path):
    """Its laws are in Python, so that no file has the model."""
    loaded(stream=tmp_path / "a.nc")
    found = mbd.load(tmp_path / "a.nc")
    expected = found.to_xarray()
    with xr.open_dataset(found.save(tmp_path / "new" / "b.nc")) as data:
        for name in expected.variables:
            one, two = data[name].values, expected[name].values
            assert data[name].dims == expected[name].dims
            assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f"), name
        assert "outcome" not in data
        assert data.attrs["status"] == 0
    again = mbd.load(tmp_path / "new" / "b.nc")
    assert np.array_equal(again["rod"].position, found["rod"].position)
    assert again.events == found.events
    with pytest.raises(ValueError, match=r"is copied to \.nc only"):
        found.save(tmp_path / "c.npz")
    archive = mbd.load(loaded().save(tmp_path / "d.npz"))
    for act in (archive.to_xarray, lambda: archive.save(tmp_path / "e.nc")):
        with pytest.raises(TypeError, match=r"d\.npz has arrays without labels and no model"):
            act()
