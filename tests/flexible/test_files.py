"""Flexible bodies in model files and result files, and carried to other processes."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import mbd

from .meshes import ends, lattice

# few shapes on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")

M, K, X = lattice(stiffness=2e5)


@pytest.fixture
def system(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    sp.save_npz(folder / "M.npz", M)
    sp.save_npz(folder / "K.npz", K)
    np.save(folder / "nodes.npy", X)
    patches = {name: nodes.tolist() for name, nodes in ends(X).items()}
    system = mbd.System(gravity=(0, 0, -9.81))
    files = (str(folder / "M.npz"), folder / "K.npz", str(folder / "nodes.npy"))
    body = mbd.FlexibleBody("bar", *files, patches, modes=3, damping=(0.01, 0.02, 0.03),
                            rayleigh=(0.1, 1e-5), position=(0.1, 0, 0))  # fmt: skip
    system.add(body)
    at = body.position + body.patches["left"]
    system.add(mbd.Revolute("pin", system.ground, body, at=at, axis=(0, 1, 0)))
    return system


def test_model_files_name_the_files_of_matrices(system, tmp_path):
    path = tmp_path / "model.toml"
    mbd.write(system, path)
    text = path.read_text()
    assert 'M = "data/M.npz"' in text
    assert 'coordinates = "data/nodes.npy"' in text
    again = mbd.read(path).system
    assert np.array_equal(again.build().F, system.build().F)
    mbd.write(again, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == text


def test_matrices_in_memory_are_not_written(tmp_path):
    system = mbd.System()
    system.add(mbd.FlexibleBody("bar", M, K, X, ends(X), modes=3))
    with pytest.raises(ValueError, match="bar: its matrices are in memory, .* save them with"):
        mbd.write(system, tmp_path / "model.toml")


def test_a_body_is_carried_with_its_matrices(system):
    there = pickle.loads(pickle.dumps(system))
    assert np.array_equal(there.build().F, system.build().F)
    model = pickle.loads(pickle.dumps(system.build()))
    assert np.array_equal(model.F, system.build().F)


def test_results(system, tmp_path):
    solution = mbd.simulate(system, 0.02, 1e-3)
    with pytest.raises(ValueError, match="'bar' has modes, whose mass depends on its pose"):
        mbd.simulate(system, 0.02, 1e-3, method=mbd.EnergyMomentum())
    bar = solution["bar"]
    assert bar.modal.shape == bar.modal_rate.shape == (21, 3)
    assert np.allclose(np.gradient(bar.modal, 1e-3, axis=0)[5:-5], bar.modal_rate[5:-5], atol=1e-3)
    assert bar.points().shape == (21, 20, 3)
    left = ends(X)["left"]
    middle = bar.points(left).mean(axis=1)
    assert np.allclose(middle, solution["bar/left"].position, atol=1e-12)
    assert np.allclose(bar.points(7)[0, 0], X[7] + [0.1, 0, 0], atol=1e-9)
    assert np.allclose(bar.deformation([7])[:, 0], bar.modal @ bar.body.nodal.values[7].T)
    forces = bar.recovered(K)  # nodal forces of the deformation
    assert np.allclose(forces.reshape(21, 20, 3).sum(axis=1), 0.0, atol=1e-7)
    with pytest.raises(
        ValueError, match=r"recovered: matrix must be \(k, 60\), .* got shape \(3, 4"
    ):
        bar.recovered(np.zeros((3, 4)))
    with pytest.raises(KeyError, match="bar/middle"):
        solution["bar/middle"]
    streamed = mbd.simulate(system, 0.02, 1e-3, stream=tmp_path / "stream.nc")
    files = (mbd.load(solution.save(tmp_path / f"run.{x}")) for x in ("nc", "npz"))
    for other in (streamed, *files):
        assert np.allclose(other["bar"].position, bar.position)
        assert np.allclose(other["bar"].modal, bar.modal, atol=1e-15)
        assert np.allclose(other["bar"].modal_rate, bar.modal_rate, atol=1e-13)
    assert np.array_equal(solution.to_xarray().modal.sel(mode="bar.2"), bar.modal[:, 2])
    head = solution.save(tmp_path / "run.csv").read_text().split("\n", 1)[0]
    assert "bar.modal_rate.2 [m/s]" in head.split(",")
    drawing = solution.animate().drawing
    assert set(drawing.tracks) == {"bar", "bar/1", "bar/2"}


def test_what_a_body_refuses():
    def body(**options):
        return mbd.FlexibleBody("bar", M, K, X, ends(X), **({"modes": 3} | options))

    for options, text in (
        ({"cutoff": 100.0}, "bar: give one of modes, cutoff and fixed_modes"),
        ({"damping": (0.1, 0.2)}, "bar: damping must be a ratio, or 3 of them"),
        ({"damping": -0.1}, "bar: damping must be a ratio"),
        ({"rayleigh": (-1.0, 0.0)}, "bar: rayleigh must not be negative"),
        ({"geometric_stiffness": {"zz": np.eye(5)}}, r"\['zz'\] must be \(60, 60\), 3 trans"),
        (
            {"formulation": mbd.EulerParameters("reduced")},
            r"bar: the frame of modes cannot be carried by 'euler_parameters \(red.*'; take",
        ),
        ({"modes": 31}, "bar: .* at most 30 modes, got 31; take fewer, or a lower cutoff"),
        ({"modes": 0}, "bar: modes must be"),
    ):
        with pytest.raises(ValueError, match=text):
            body(**options)
    with pytest.raises(TypeError, match="geometric_stiffness must be a dict of xx, yy"):
        body(geometric_stiffness={"up": K})
    with pytest.raises(KeyError, match="bar: there is no interface 'top'; there are left, right"):
        body().interface("top")
    system = mbd.System()
    with pytest.raises(
        ValueError, match=r"bar: there is no interface at .*'(left|right)'.* m away"
    ):
        mbd.Spherical("eye", system.ground, body(), at=(0.5, 0, 0))
    loose = mbd.FlexibleBody("bar", M, K, X, {}, modes=3)
    with pytest.raises(ValueError, match="bar: there is no interface to attach to; name its nodes"):
        mbd.Spherical("eye", system.ground, loose, at=(0.5, 0, 0))


def test_the_size_of_a_model_is_that_of_its_meshes():
    """Frames of joints at a body's origin, but for round-off, have no say."""
    for at in (0.1, 0.3, 7.7):
        system = mbd.System()
        bar = system.add(mbd.FlexibleBody("bar", M, K, X, ends(X), modes=3, position=(at, 0, 0)))
        system.add(mbd.Spherical("eye", system.ground, bar, at=bar.position + bar.patches["left"]))
        assert system.build().units[0] == np.abs(X).max()
        system = mbd.System()
        box = mbd.RigidBody("box", mass=1.0, inertia=(1, 1, 1), position=(at, 0, 0))
        system.add(box)
        system.add(mbd.Spherical("eye", system.ground, box, at=(at * (1 + 2e-16), 0, 0)))
        assert system.build().units[0] == 1.0


def test_fast_spins_and_large_turns_are_told():
    lowest = 2 * np.pi * 54.0
    with pytest.warns(UserWarning, match="'bar' spins at 90 rad/s, .* without geometric stiffness"):
        fast = mbd.FlexibleBody("bar", M, K, X, ends(X), modes=3, angular_velocity=(0, 0, 90.0))
    assert 90 > lowest / 4
    system = mbd.System()
    system.add(fast)
    with pytest.warns(RuntimeWarning, match="spins at .* without geometric stiffness"):
        mbd.simulate(system, 0.01, 1e-3)
    system = mbd.System()
    bar = system.add(mbd.FlexibleBody("bar", M, K, X, ends(X), modes=3))
    system.add(mbd.Fixed("wall", system.ground, bar, at=bar.patches["left"]))
    system.add(mbd.PointForce("pull", bar.interface("right"), (0, 0, 3e4)))
    far = "interface 'right' of 'bar' turns by .* rad"
    with pytest.warns(RuntimeWarning, match=far):
        mbd.simulate(system, 0.004, 1e-4)
    with pytest.warns(RuntimeWarning, match=f"equilibrium: {far}"):
        mbd.equilibrium(system)
    system.add(mbd.PointForce("no number", bar, lambda t: (0, 0, 0 if t < 4e-3 else np.nan)))
    with pytest.raises(mbd.SimulationError, match=far):
        mbd.simulate(system, 0.005, 1e-4)
