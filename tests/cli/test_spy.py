"""Pictures of matrices: what is drawn, and what is written along the axes."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import mbd
from mbd.files import scenes

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def assembly(name: str, **parameters):
    return scenes.load(scenes.named(name)).build(parameters).build().assemble()


def words(axis, *, minor: bool = False) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels(minor=minor)]


def test_blocks_are_named_along_both_axes():
    A = assembly("fourbar")
    ax = A.spy().axes[0]
    names = ["crank", "coupler", "rocker", "hinge O", "hinge A", "hinge B", "hinge C"]
    assert words(ax.xaxis) == words(ax.yaxis) == names
    unknowns = words(ax.yaxis, minor=True)
    assert unknowns[:6] == ["x", "y", "z", "theta_x", "theta_y", "theta_z"]
    assert unknowns[18:23] == [
        "force x",
        "force y",
        "force z",
        "moment about -a2",
        "moment about a1",
    ]
    assert len(unknowns) == 38
    for which in ("B", "turn"):
        ax = A.spy(which).axes[0]
        assert words(ax.xaxis) == names[:3]
        assert words(ax.yaxis) == names[3:]
    ax = A.spy("Bt").axes[0]
    assert words(ax.xaxis) == names[3:]
    assert words(ax.yaxis) == names[:3]


@pytest.mark.parametrize("which", ["M", "G", "K", "B", "S"])
def test_picture_shows_the_entries(which):
    A = assembly("fourbar", formulation="directors")
    matrix = A.iteration_matrix(2e-3) if which == "S" else getattr(A, which)
    image = A.spy(which, step=2e-3).axes[0].images[0].get_array()
    assert image.shape == matrix.shape
    dense = np.abs(matrix.toarray())
    assert np.array_equal(np.ma.filled(image, 0.0), dense)


def test_own_rows_of_a_body_are_named():
    ax = assembly("fourbar", formulation="directors").spy("B").axes[0]
    assert words(ax.yaxis)[:3] == ["crank", "coupler", "rocker"]


def test_large_models_are_thinned():
    A = assembly("chain", n=200)
    ax = A.spy().axes[0]
    assert len(words(ax.xaxis)) <= 36
    assert words(ax.xaxis, minor=True) == []
    image = ax.images[0].get_array()
    assert max(image.shape) <= 900
    assert np.ma.filled(image, 0.0).max() == np.abs(A.iteration_matrix(1e-3).data).max()


def test_axes_can_be_given():
    figure, axes = plt.subplots(1, 2)
    assert assembly("pendulum").spy("M", ax=axes[1]) is figure
    assert axes[1].images
    assert not axes[0].images


def test_wrong_input_is_named(monkeypatch):
    A = assembly("pendulum")
    with pytest.raises(ValueError, match="which must be one of M, G, K, B, Bt, turn, S, got 'C'"):
        A.spy("C")
    free = mbd.System()
    free.add(mbd.PointMass("mass", mass=1.0))
    with pytest.raises(ValueError, match="B is empty, the model has no rows"):
        free.build().assemble().spy("B")
    free.build().assemble().spy("S")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mbd\[plot\]'"):
        A.spy()
