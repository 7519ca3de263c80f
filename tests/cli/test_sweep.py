"""``mbd sweep``."""

import json

import numpy as np
import pytest

import mbd
from mbd.cli import main

SCENE = """
import mbd

RUN = {"t_end": 0.02, "step": 1e-3}


def build(length=0.5, mass=1.0):
    system = mbd.System(gravity=(0, 0, -9.81))
    rod = system.add(mbd.RigidBody("rod", mass=mass, inertia=(0.01, 0.02, 0.02),
                                   position=(length, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    return system
"""


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "rod.py").write_text(SCENE)
    return str(tmp_path / "rod.py")


def test_a_grid_of_parameters_of_build(scene, tmp_path, capsys):
    out, table = tmp_path / "out.nc", tmp_path / "out.csv"
    words = ["sweep", scene, "--vary", "length=0.5:1.0:3", "--vary", "mass=1,2", "-o", str(out),
             "--keep", "rod.position:final", "--keep", "hinge.angle",
             "--csv", str(table)]  # fmt: skip
    assert main(words) == 0
    assert "length" in capsys.readouterr().out
    import xarray as xr

    with xr.open_dataset(out) as done:
        assert done["hinge.angle"].shape == (3, 2, 21)
        system = mbd.System(gravity=(0, 0, -9.81))
        rod = system.add(mbd.RigidBody("rod", mass=2.0, inertia=(0.01, 0.02, 0.02),
                                       position=(0.75, 0, 0)))  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
        alone = mbd.simulate(system, 0.02, 1e-3)["rod"].position[-1]
        assert np.array_equal(done["rod.position final"].values[1, 1], alone)
    assert len(table.read_text().splitlines()) == 1 + 3 * 2 * 21 * 3


def test_a_sample_of_paths_and_failures(scene, capsys):
    words = ["sweep", scene, "--vary", "rod.mass=0.5:1.0", "--sample", "latin", "8", "--json",
             "--keep", "hinge.force.z:max"]  # fmt: skip
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"members": 8, "failed": 0, "messages": []}
    assert main(["sweep", scene, "--vary", "mass=1,-1", "--keep", "rod.position"]) == 1
    assert "1 of 2 members failed" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "text"), [
    (["--vary", "mass=a", "--keep", "rod.position"], "NAME=1,2,3 or low:high:n"),
    (["--vary", "mass=1,2", "--keep", "rod.positoin"], "nothing is called"),
    (["--vary", "mass=1", "--vary", "rod.mass=1", "--keep", "gap"], "not both"),
    (["--vary", "mass=1", "--keep", "gap", "-o", "x.txt"], "must end in .nc"),
])  # fmt: skip
def test_what_is_refused(scene, capsys, words, text):
    assert main(["sweep", scene, *words]) == 2
    assert text in capsys.readouterr().err
