"""Runs of very many instants: one part costs what is asked of it; the run says what it keeps."""

import tracemalloc

import numpy as np
import pytest
from families import some
from recipes import FORMS

import mbd
from mbd.formulations import NAMES
from mbd.history import program
from mbd.runs import record


def turning(formulation):
    """A body on a hinge that turns many times, with a motor, a spring and a free point."""
    system = mbd.System(gravity=(0, 0, -9.81))
    arm = mbd.RigidBody("arm", mass=1.0, inertia=(0.1, 0.2, 0.25), position=(0.5, 0, 0),
                        angular_velocity=(0, 30.0, 0), velocity=(0, 0, -15.0),
                        formulation=formulation)  # fmt: skip
    hinge = mbd.Revolute("hinge", system.ground, system.add(arm), at=(0, 0, 0), axis="y")
    system.add(hinge)
    system.add(mbd.Motor("motor", hinge, effort=lambda u, rate, t: 0.1 * np.sin(u)))
    system.add(mbd.PointMass("ball", mass=1.0, velocity=(1.0, 0, 0)))
    return system


def everything(solution):
    """Return all quantities of all parts by name."""
    values = {}
    for name in ("arm", "ball", "hinge", "motor"):
        part = solution[name]
        values |= {f"{name}.{x}": np.array(getattr(part, x)) for x in part.quantities}
    point = solution["arm"].at((0.1, 0.2, 0.3))
    return values | {"point": np.hstack([point.position, point.velocity, point.acceleration])}


@pytest.mark.parametrize("formulation", some([*NAMES, FORMS["breathing u"]], 3), ids=str)
def test_pieces_have_the_bits_of_the_whole(monkeypatch, formulation):
    solution = mbd.simulate(turning(formulation), 0.5, 5e-3, project=True)
    whole = everything(solution)
    monkeypatch.setattr(program, "_BLOCK", 256)
    again = everything(solution.part(slice(None)))
    assert whole.keys() == again.keys()
    assert len(whole) > 15
    for name, x in whole.items():
        assert np.array_equal(x, again[name]), name


def test_a_quantity_of_one_body_takes_its_own_memory():
    short = mbd.simulate(turning("so3"), 0.1, 1e-3)
    n = 400_000
    numbers = [np.broadcast_to(x[-1], (n, *x.shape[1:]))
               for x in (short.q, short.v, short.a, short.lam)]  # fmt: skip
    solution = mbd.Solution(short.model, np.arange(n) * 1e-3, *numbers)
    for name, what, width in (("arm", "position", 3), ("hinge", "angle", 3), ("hinge", "force", 6)):
        tracemalloc.start()
        values = getattr(solution[name], what)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(values) == n
        assert most < 8 * n * width * 4 + 1e8, (name, what, most)


def test_a_run_says_what_very_many_instants_cost(monkeypatch):
    system = turning("so3")
    assert "memory" not in mbd.simulate(system, 0.1, 1e-3).message
    monkeypatch.setattr(record, "KEPT_MANY", 100)
    solution = mbd.simulate(system, 0.1, 1e-3)
    size = sum(getattr(solution, x).nbytes for x in ("t", "q", "v", "a", "lam", "impulses"))
    said = f"101 instants take {size / 1e6:.0f} MB of memory; keep every so many steps only, such"
    assert said in solution.message
    assert "every=3, or write them to a file while the run goes on, stream='run.nc'" in (
        solution.message
    )
    assert "memory" not in mbd.simulate(system, 0.1, 1e-3, every=3).message


def test_a_million_instants_are_told_of():
    system = mbd.System()
    system.add(mbd.PointMass("ball", mass=1.0))
    kept = record.ArrayRecord(system.build(), 1_000_000)
    for told in (False, True):
        t = np.zeros(500_000)
        kept.append(t, *(np.broadcast_to(0.0, (len(t), n)) for n in (3, 3, 3, 0)), t[:, None])
        assert ("1e+06 instants take 88 MB of memory" in kept.complete(0, "")[1]) == told
