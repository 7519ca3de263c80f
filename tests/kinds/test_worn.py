"""Rows on velocities, worn by a body of every formulation."""

import numpy as np
import pytest
from recipes import STILL, WORN, pair
from test_balance import check_rates, faces, moving

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer as m

pytestmark = [
    pytest.mark.parametrize("formulation", NAMES),
    pytest.mark.parametrize("name", WORN, ids="-".join),
]


def worn(name, formulation):
    system, one, _ = pair(formulation, "ground")
    part = system.add(WORN[name](one, STILL))
    work = moving(system, 40213)
    return work, work.model.numbering.owners[part.name]


def test_tangents(name, formulation):
    _, one, _ = pair(formulation, "ground")
    assert mbd.check_tangents(WORN[name](one, STILL), tolerance=1e-8).ok


def test_power_is_the_multiplier_times_the_rate(name, formulation):
    """Hence a satisfied row does no work."""
    work, mine = worn(name, formulation)
    _, yd, f = faces(work)
    lam = work.vector(m.A)[work.model.numbering.lam][mine]
    rate = work.rates()[0][mine]
    assert np.isclose(np.sum(f * yd), lam @ rate, rtol=1e-12, atol=1e-13)
    assert abs(lam @ rate) > 1e-3


def test_second_rate_is_the_derivative_of_the_row(name, formulation):
    check_rates(worn(name, formulation)[0])


def test_matrix_shown_holds_the_derivative_by_positions(name, formulation):
    """The row of the iteration matrix is A + (h beta / gamma) dg/dq."""
    work, mine = worn(name, formulation)
    model = work.model
    A = model.assemble(work.store())
    h, method = 1e-2, mbd.GeneralizedAlpha(rho=0.6)
    S = A.iteration_matrix(h, 0.6).toarray()[model.n_v :, : model.n_v][mine]
    expected = (A.B + h * method.beta / method.gamma * A.turn).toarray()[mine]
    np.testing.assert_allclose(S, expected, rtol=1e-14)
    if formulation == "so3":  # in body-fixed velocities the row does not depend on the pose
        assert np.abs(A.turn.toarray()[mine]).max() > 1e-2
