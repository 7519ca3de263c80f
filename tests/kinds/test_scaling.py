"""Forces on the scale of a body: tangents, resultant, power, on everything that has a scale."""

import numpy as np
import pytest
from recipes import SCALING, SCALINGS, STILL, pair
from test_balance import derivative, faces, moving
from test_invariance import check_moved

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer as m

pytestmark = [
    pytest.mark.parametrize("formulation", SCALING, ids=lambda f: f.name),
    pytest.mark.parametrize("name", SCALINGS, ids="-".join),
]


def test_tangents(name, formulation):
    _, one, _ = pair(formulation, "ground")
    assert mbd.check_tangents(SCALINGS[name](one, STILL), tolerance=1e-8).ok


def test_has_no_resultant_and_the_power_of_the_scale(name, formulation):
    system, one, _ = pair(formulation, "ground")
    part = system.add(SCALINGS[name](one, STILL))
    work = moving(system, 40213)
    n = work.model.numbering
    work.vector(m.Q, 7)[3:7] *= 1.1  # another scale
    work.vector(m.QN, 7)[3:7] *= 1.1
    work.vector(m.V)[n.v] += np.random.default_rng(40231).normal(size=len(n.v))
    y, yd, f = faces(work)
    assert np.abs(f[1, 1:]).max() > 0.1
    assert np.allclose(f[1, 0], 0)
    assert np.allclose(np.cross(y[1], f[1]).sum(0), 0, atol=1e-14)
    size = part.value if part.law is None else 2.0 - 9 * work.F[m.T]
    v = work.vector(m.V)[n.v].copy()

    def scale(t):
        work.vector(m.D)[n.v] = t * v
        work.evaluate()
        return np.linalg.norm(work.vector(m.Y, 24)[15:18])

    rate = derivative(scale)
    assert np.isclose(-np.sum(f * yd), size * rate, rtol=1e-9)
    assert abs(rate) > 1e-2


def test_turns_with_the_scene(name, formulation):
    def make(motion):
        system, one, _ = pair(formulation, "ground", motion)
        system.add(SCALINGS[name](one, motion))
        return system

    check_moved(make)


def test_bodies_without_a_scale_refuse_it(name, formulation):
    for other in (*NAMES, mbd.EulerParameters("reduced")):
        _, one, _ = pair(other, "ground")
        if one.formulation.scales:
            assert other == "scalable"
            continue
        with pytest.raises(ValueError, match="'one' is carried by .*, which has none"):
            SCALINGS[name](one, STILL)
