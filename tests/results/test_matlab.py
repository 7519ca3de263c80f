"""Results and matrices in files for MATLAB."""

import numpy as np
import pytest

import mbd
from mbd.base.matlab import structures
from mbd.store.archive import quantities

from . import samples

scipy_io = pytest.importorskip("scipy.io")


def read(path):
    return scipy_io.loadmat(path, simplify_cells=True)


def test_every_quantity_is_a_field_of_its_part(tmp_path):
    solution = mbd.simulate(samples.everything(), 0.01, 1e-3)
    data = read(solution.save(tmp_path / "run.mat", every=2))
    old = dict(data["names"])
    series = list(quantities(solution))
    assert len(series) > 100
    for x in series:
        part, _, quantity = x.name.rpartition(".")
        word = next((new for new, name in old.items() if name == part), part)
        values = data[word][quantity] if part else data[quantity]
        assert np.array_equal(values, np.squeeze(x.values[::2])), x.name
    assert data["units"]["joint_0_force"] == "N"


def test_names_that_are_the_same_in_matlab_stay_apart(tmp_path):
    values = {"a b.x": 1.0, "a_b.x": 2.0, "7.x": 3.0, "7.ü": 4.0, "7._": 5.0, "t": 6.0, "t.x": 7.0}
    scipy_io.savemat(tmp_path / "x.mat", structures(values), long_field_names=True)
    data = read(tmp_path / "x.mat")
    new = {old: word for word, old in data["names"]}
    assert data["a_b"]["x"] == 1.0
    assert data[new["a_b"]]["x"] == 2.0
    assert data[new["7"]] == {"x": 3.0, new["7.ü"]: 4.0, new["7._"]: 5.0}
    assert data["t"] == 6.0
    assert data[new["t"]]["x"] == 7.0


def test_matrices_are_sparse_and_labelled(tmp_path):
    A = samples.everything().build().assemble()
    (path,) = A.save(tmp_path / "matrices.mat")
    data = read(path)
    for name in ("M", "G", "K", "B"):
        assert (data[name] != getattr(A, name)).nnz == 0
    assert list(data["rows"]) == list(A.rows)
    assert list(data["constraints"]) == list(A.constraints)
    assert np.array_equal(data["residual"], A.residual)
