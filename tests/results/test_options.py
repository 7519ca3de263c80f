"""What a run was asked for is in its files, however they are written, and can be asked again."""

import json

import h5py
import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files.modelfile import from_text
from tests.results.samples import spinner

FREE = {
    "t_end": 0.05, "step": 1e-3, "rtol": 1e-6, "atol": {"translation": 1e-9}, "max_step": 2e-3,
    "every": 2, "project": True,
}  # fmt: skip
FIXED = {"t_end": 0.02, "step": np.float64(1e-3), "off": "hinge"}
METHOD = mbd.GeneralizedAlpha(rho=0.7, constraints="stabilized")


def written(way, options, path):
    """Return the path of a file of a run."""
    stream = {"stream": path.with_suffix(".nc")} if way == "stream" else {}
    run = mbd.simulate(spinner(), **options, method=METHOD, **stream)
    return stream.get("stream") or run.save(path.with_suffix(f".{way}"))


@pytest.mark.parametrize("way", ["nc", "npz", "stream"])
@pytest.mark.parametrize("asked", [FREE, FIXED])
def test_options_are_in_every_file_and_come_back(tmp_path, way, asked):
    found = mbd.load(written(way, asked, tmp_path / "run"))
    expected = dict(asked) | ({"off": ["hinge"]} if "off" in asked else {})
    expected = {"every": 1} | expected
    assert found.options == expected
    again = mbd.simulate(found.model, **found.options, method=METHOD)
    assert np.array_equal(again.t, found.t)
    assert np.array_equal(again.q, found.q)
    second = mbd.load(found.save(tmp_path / "second.npz"))  # of a loaded run: its text of a method
    assert second.options == expected
    assert second.stored.about["model"] == found.stored.about["model"]


@pytest.mark.parametrize("way", ["nc", "npz", "stream"])
def test_the_model_in_a_file_says_how_it_was_run(tmp_path, way):
    path = written(way, FREE, tmp_path / "run")
    found = from_text(mbd.load(path).stored.about["model"])
    assert found.run == FREE | {"method": METHOD}
    assert main(["convert", str(path), str(tmp_path / "model.toml")]) == 0
    assert mbd.read(tmp_path / "model.toml").run == FREE | {"method": METHOD}


def test_names_of_events_are_options_and_the_file_is_read_without_mbd(tmp_path):
    event = mbd.Event("late", lambda now: now.t - 0.01)
    run = mbd.simulate(spinner(), 0.02, 1e-3, events=[event], stream=tmp_path / "run.nc")
    assert run.options["events"] == ["late"]
    assert mbd.load(tmp_path / "run.nc").options == run.options
    with h5py.File(tmp_path / "run.nc") as h5:
        assert json.loads(h5.attrs["run"]) == run.options
    assert json.loads(run.to_xarray().attrs["run"]) == run.options


def test_a_model_with_a_law_in_python_keeps_its_options_too(tmp_path):
    system = spinner()
    system.add(mbd.Motor("motor", system.joints["hinge"].angle, lambda u, rate, t: 0.1))
    for ending in ("nc", "npz"):
        found = mbd.load(mbd.simulate(system, 0.01, 1e-3).save(tmp_path / f"run.{ending}"))
        assert found.options == {"t_end": 0.01, "step": 1e-3, "every": 1}
