"""Drives, transmissions, ropes: rows on sums of measures that follow laws of time."""

import numpy as np
import pytest
from recipes import ROW_PARTS, STILL, pair
from test_balance import check_rates, curve, faces, moving
from test_invariance import check_moved

import mbd
from mbd.machine import buffer as m

FEW = [("so3", "directors"), ("se3", "ground"), ("ground", "euler_parameters"),
       ("scalable", "unified")]  # fmt: skip
MOVING = [x for x in FEW if "ground" not in x]
RATES = [n for n in ROW_PARTS if "velocity" in n[1]]
PLACES = [n for n in ROW_PARTS if n not in RATES]


@pytest.mark.parametrize(("first", "second"), FEW)
@pytest.mark.parametrize("name", ROW_PARTS, ids="-".join)
def test_tangents(name, first, second):
    _, one, two = pair(first, second)
    assert mbd.check_tangents(ROW_PARTS[name](one, two, STILL), tolerance=5e-8).ok


def work_with(name, first, second):
    system, one, two = pair(first, second)
    part = system.add(ROW_PARTS[name](one, two, STILL))
    work = moving(system, 40151)
    return work, work.model.numbering.owners[part.name]


@pytest.mark.parametrize(("first", "second"), FEW)
@pytest.mark.parametrize("name", PLACES, ids="-".join)
def test_rates_of_rows_on_positions(name, first, second):
    check_rates(work_with(name, first, second)[0])


@pytest.mark.parametrize(("first", "second"), FEW)
@pytest.mark.parametrize("name", RATES, ids="-".join)
def test_rates_of_rows_on_velocities(name, first, second):
    work, mine = work_with(name, first, second)
    move = curve(work)
    check_rates(work)
    move(0.0)
    work.evaluate()
    value = work.rates()[0][mine].copy()
    work.evaluate(row_rate=0.5)
    lam = work.model.numbering.lam[mine]
    assert np.allclose(work.vector(m.X)[lam], 0.5 * value, rtol=1e-14)


@pytest.mark.parametrize(("first", "second"), FEW)
@pytest.mark.parametrize("name", ROW_PARTS, ids="-".join)
def test_power_is_the_multiplier_times_the_rate(name, first, second):
    """What a law of time adds to the rate is the power of the motor."""
    work, mine = work_with(name, first, second)
    y, yd, f = faces(work)
    lam = work.vector(m.A)[work.model.numbering.lam][mine]
    rate = work.rates()[0][mine].copy()
    work.vector(m.V)[:] = 0.0
    work.evaluate()
    of_the_law = work.rates()[0][mine]
    assert np.isclose(np.sum(f * yd), lam @ (rate - of_the_law), rtol=1e-12, atol=1e-12)
    size = np.abs(f).max()
    assert np.allclose(f[:, 0].sum(0), 0, atol=1e-13 * size)
    assert np.allclose(np.cross(y, f).sum((0, 1)), 0, atol=1e-12 * size)


@pytest.mark.parametrize(("first", "second"), MOVING)
@pytest.mark.parametrize("name", ROW_PARTS, ids="-".join)
def test_part_does_not_know_where_it_is(name, first, second):
    def make(motion):
        system, one, two = pair(first, second, motion)
        system.add(ROW_PARTS[name](one, two, motion))
        return system

    check_moved(make)
