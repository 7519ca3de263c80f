"""What collocation and explicit methods with joints meet alike."""

import numpy as np
import pytest
from scenes import hinged

import mbd

from .tools import published, scene

BOTH = [mbd.RadauCollocation(), mbd.ExplicitRungeKutta()]
CHOSEN = [
    mbd.RadauCollocation(3), mbd.RadauCollocation(5), mbd.ExplicitRungeKutta("tsit5"),
    mbd.ExplicitRungeKutta("dop853"),
]  # fmt: skip


@pytest.mark.parametrize("method", CHOSEN, ids=repr)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_the_tolerance_is_met_over_the_whole_run(method, rtol):
    """Heavy top for a second (24 turns) and Andrews' mechanism, against the published ends."""
    exact = published("heavy top")["1.0"]
    run = mbd.simulate(scene("heavy_top").build(), 1.0, rtol=rtol, method=method)
    assert np.abs(run["top"].position[-1] - exact["x"]).max() < rtol
    assert np.abs(run["top"].velocity[-1] - exact["v"]).max() < 5.0 * rtol
    assert run.stats["rejected"] < 0.3 * run.stats["steps"] + 3
    row = published("A03")["0.03"]
    run = mbd.simulate(scene("andrews").build(), 0.03, rtol=rtol, method=method)
    end = 0.007 * np.array([np.cos(row[0]), np.sin(row[0])])
    assert np.abs(run["K1"].at((0.007, 0, 0)).position[-1, :2] - end).max() < 0.1 * rtol


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_contradictory_drives_are_named(method):
    system, _, hinge = hinged("arm", gravity=(0, 0, 0), inertia=(1, 1, 1), position=(0, 0, 0))
    system.add(mbd.Drive("one", hinge.angle, position=mbd.Expression("0.2 * t ** 2")))
    system.add(mbd.Drive("two", hinge.angle, position=mbd.Expression("0.2 * t ** 2 + t ** 4")))
    with pytest.raises(mbd.SimulationError, match="one.*two|two.*one") as error:
        mbd.simulate(system, 1.0, 0.02, method=method)
    assert error.value.solution.t[-1] < 0.1


@pytest.mark.parametrize("method", BOTH, ids=repr)
@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_size_and_place_do_not_matter(size, far, method):
    """A pendulum of a micrometre and of a thousand kilometres, a million sizes from the origin."""

    def end(size, far):
        system = mbd.System(gravity=(0, 0, -9.81 * size))
        place = np.array((far, -far, 2 * far)) * size
        bob = system.add(
            mbd.RigidBody("bob", mass=1.0, inertia=np.array((0.01, 0.1, 0.1)) * size**2,
                          position=np.add(place, (0.5 * size, 0, 0)))
        )  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, bob, at=place, axis=(0, 1, 0)))
        run = mbd.simulate(system, 1.0, rtol=1e-10, method=method)
        return (run["bob"].position[-1] - place) / size

    assert np.abs(end(size, far) - end(1.0, 0.0)).max() < (1e-11 if far == 0.0 else 1e-9)


@pytest.mark.parametrize(
    ("method", "other", "title"),
    [
        (mbd.RadauCollocation(3), "RadauCollocation(stages=3)", "3 points of Radau"),
        (mbd.ExplicitRungeKutta("tsit5"), "ExplicitRungeKutta(tableau='rk4')",
         "explicit Runge-Kutta, rk4"),
    ],
    ids=["collocation", "explicit"],
)  # fmt: skip
def test_it_is_written_in_files_and_named_as_text(method, other, title, tmp_path):
    system = scene("heavy_top").build()
    run = mbd.simulate(system, 0.01, 1e-3, method=method)
    kept = mbd.load(run.save(tmp_path / "run.nc"))
    assert str(kept.method) == repr(run.method)
    table = mbd.compare(
        scene("heavy_top").build, formulations=["so3", "directors"], steps=[2e-3, 1e-3],
        t_end=0.02, method=other,
    )  # fmt: skip
    assert title in str(table)
