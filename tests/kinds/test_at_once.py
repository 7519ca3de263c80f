"""All parts at once: by as many kernel calls as there are kinds, piece by piece the same."""

import numpy as np
import pytest

import mbd
from mbd.interactions.kinds import Element
from mbd.interactions.sums import total
from mbd.results import everything
from mbd.results.elements import Table, tables
from mbd.results.everything import in_pieces
from mbd.results.histories import Faces
from tests.results.samples import everything as sample


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


def test_pieces_are_the_whole(monkeypatch):
    """However few bodies and instants there are in one piece."""
    run = mbd.simulate(sample(), 0.02, 1e-3)
    whole = run.to_xarray()
    monkeypatch.setattr(everything, "_FACES", 3 * len(run.model.bodies))
    assert [len(x.solution.t) for x in in_pieces(run)] == [3] * 7
    pieces = mbd.simulate(sample(), 0.02, 1e-3).to_xarray()
    for name in whole.variables:
        if whole[name].dtype.kind == "f":
            assert np.array_equal(whole[name], pieces[name], equal_nan=True), name


@pytest.fixture
def calls(monkeypatch):
    """Count the elements that kernels of rows see, and the faces that are made."""
    found = {"forces": 0, "blocks": 0}
    original = Table._blocks

    def counted(self, faces):
        found["forces"] += 1
        for block in original(self, faces):
            found["blocks"] += 1
            yield block

    monkeypatch.setattr(Table, "_blocks", counted)
    return found


@pytest.mark.parametrize("n", [2, 50])
def test_kernels_are_called_once_for_all_joints(calls, n):
    """Hinges are points and two rows, and an angle each: three kinds, however many hinges."""
    system = mbd.System()
    last = system.ground
    for i in range(n):
        bar = system.add(mbd.RigidBody(f"b{i}", mass=1, inertia=(1, 1, 1), position=(i, 0, 0)))
        system.add(mbd.Revolute(f"j{i}", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
        last = bar
    run = moving(system.build(), n=5)
    run.reactions, run.freedoms  # noqa: B018
    assert calls == {"forces": 3, "blocks": 3}


def test_one_body_of_many_is_evaluated_alone(monkeypatch):
    run = moving(sample().build())
    seen = []
    monkeypatch.setattr(
        "mbd.results.histories.faces",
        lambda law, q, v, a: seen.append(q.shape[1] // law.n_q) or [np.zeros((7, 1, 4, 3))] * 3,
    )
    run["flier"].position  # noqa: B018
    assert seen == [1]


def test_an_element_sees_its_own_numbers():
    """Of two sums with different factors, constants and memories each is what it is alone."""
    rng = np.random.default_rng(2)
    y, yd, ydd = rng.standard_normal((3, 4, 3, 4, 3))
    faces = Faces({"a": 0, "b": 1, "ground": 2}, y, yd, ydd)
    system = sample()
    angle = next(iter(system.joints.values())).angle
    ends = [type(e)("a" if i < 2 else "b", e.weights) for i, e in enumerate(angle.attachments)]
    made = [
        Element(total((angle.measure,)), ends, (c, 0.0, k), (memory,))
        for c, k, memory in ((0.0, 1.0, 0.0), (0.3, -2.0, 9.0))
    ]
    (both,) = tables(made, faces.column)
    for i, element in enumerate(made):
        (alone,) = tables([element], faces.column)
        for x, z in zip(both.motion(faces), alone.motion(faces), strict=True):
            assert np.array_equal(x[:, i], z[:, 0])
