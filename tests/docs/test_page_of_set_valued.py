"""The page on set-valued laws, followed to the letter in a package outside the library."""

import importlib
import sys
import warnings

import numpy as np
import pytest
from test_examples import ROOT, blocks, file_of, write

import mbd

PAGE = ROOT / "docs" / "contributing" / "set_valued.rst"
FAMILY = [0.0, 0.25, 0.5, 0.75, 1.0]
END = {"t_end": 1.5, "step": 2e-3}


def name_of(folder, file, code):
    """Write a module of the page; return its name."""
    write(folder / file, code)
    return file[:-3].replace("/", ".")


@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    """Return the module of the page, from files outside the library."""
    folder = tmp_path_factory.mktemp("outside")
    sys.path.insert(0, str(folder))
    (module,) = (
        importlib.import_module(name_of(folder, file, code))
        for language, code in blocks(PAGE)
        if language == "python" and (file := file_of(code))
    )
    yield module
    sys.path.remove(str(folder))
    for name in [x for x in sys.modules if x.startswith("my_machine")]:
        del sys.modules[name]


def balls(floor, *restitutions):
    """Return balls at several heights above one floor."""
    system = mbd.System(gravity=(0, 0, -9.81))
    for i, e in enumerate(restitutions):
        ball = mbd.PointMass(f"ball {i}", mass=0.3 + i, position=(i, 0, 1 - 0.1 * i))
        system.add(floor.Floor(f"floor {i}", system.add(ball), e))
    return system


@pytest.fixture
def strict():
    """Let warnings be errors: there are no steps too large."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("e", FAMILY)
def test_the_balance_closes_to_round_off_for_any_restitution(floor, e):
    run = mbd.simulate(balls(floor, e), **END, method=floor.Impacts())
    energy = run.energy
    assert np.ptp(energy.balance) < 1e-13
    lost = (1 - e**2) * 0.3 * 9.81
    first = int(np.argmax(run.t > 0.6))  # behind the first impact
    assert energy.impulsive[first] == pytest.approx(-lost, abs=0.02)
    assert run["ball 0"].position[:, 2].min() > -0.01
    assert energy.conservative == (e == 1.0)


@pytest.mark.usefixtures("strict")
def test_it_is_the_same_however_a_run_is_kept(floor, tmp_path):
    model, method = balls(floor, 0.4, 0.9).build(), floor.Impacts()
    whole = mbd.simulate(model, **END, method=method)
    some = mbd.simulate(model, **END, method=method, every=10)
    assert np.array_equal(some.energy.impulsive, whole.energy.impulsive[::10])
    streamed = mbd.simulate(model, **END, method=method, stream=tmp_path / "stream.nc")
    for file in ("run.nc", "run.npz"):
        whole.save(tmp_path / file)
    loaded = [mbd.load(tmp_path / x) for x in ("stream.nc", "run.nc", "run.npz")]
    for other in (streamed, *loaded):
        assert np.array_equal(other.energy.impulsive, whole.energy.impulsive)
        assert np.array_equal(other.energy.balance, whole.energy.balance)
    half = mbd.simulate(model, 0.75, 2e-3, method=method)
    rest = mbd.simulate(model, **END, method=method, state=half.state)
    total = half.energy.impulsive[-1] + rest.energy.impulsive[-1]
    assert total == pytest.approx(whole.energy.impulsive[-1], abs=1e-12)
    study = mbd.study(model, {"ball 1.mass": [1.3, 2.6]}, **END, method=method,
                      outputs=["energy.impulsive", ("energy.balance", "final")])  # fmt: skip
    assert np.array_equal(np.asarray(study["energy.impulsive"])[0], whole.energy.impulsive)
    assert not np.asarray(study["status"]).any()
    assert "" == "".join(np.asarray(study["message"]).tolist())


def test_an_event_goes_back_within_an_impact(floor):
    """Steps that are taken again to find an event count once."""
    system, method = balls(floor, 0.5), floor.Impacts()
    seen = mbd.Event("below", lambda s: s["ball 0"].position[:, 2] - 0.003)
    plain = mbd.simulate(system, **END, method=method)
    watched = mbd.simulate(system, **END, method=method, events=seen)
    assert len(watched.events) > 3
    assert np.array_equal(watched.energy.impulsive, plain.energy.impulsive)


def test_a_stepper_and_a_restart_move_it_too(floor):
    system = balls(floor, 0.5)
    run = mbd.simulate(system, **END, method=floor.Impacts())
    stepper = mbd.Stepper(system, END["step"], method=floor.Impacts())
    stepper.step(len(run.t) - 1)
    assert np.array_equal(stepper["ball 0.position"], run["ball 0"].position[-1])
    with pytest.raises(ValueError, match=r"'energy\.impulsive' adds up since the start"):
        stepper["energy.impulsive"]
