"""Scenes of publications beyond their default: every form of the multiplier, every case."""

import numpy as np
import pytest

import mbd

from .tools import RIGID, scene

MULTIPLIERS, NON_TWISTING = scene("multipliers"), scene("non_twisting")


@pytest.mark.parametrize(("form", "force_map"), MULTIPLIERS.FORMS)
def test_multiplier_of_the_norm_row_of_every_form(form, force_map):
    solution = mbd.simulate(MULTIPLIERS.build(form, force_map), 1.0, MULTIPLIERS.RUN["step"])
    # what the first steps ring with is of second order and dies out as rho^n
    own = solution.lam[40:, solution.model.numbering.owners["rocket"]]
    assert own.shape[1] == 1
    upright = solution["rocket"].rotation[40:, 2:, 2]
    assert np.ptp(upright) > 0.1  # Q_p2 depends on the pose
    assert np.abs(own - MULTIPLIERS.multiplier(form, force_map, upright)).max() < 1e-4
    rates = solution["rocket"].angular_velocity_body[-1]
    assert np.allclose(rates, MULTIPLIERS.rates(1.0), rtol=0, atol=2e-4)


def test_forms_differ_in_their_multipliers():
    found = {MULTIPLIERS.multiplier(*words, upright=0.5) for words in MULTIPLIERS.FORMS}
    assert found == {0.0, 8.0, 12.0, 40.0, 48.0, 52.0}


@pytest.mark.parametrize("formulation", RIGID)
def test_non_twisting_body_under_its_load(formulation):
    references = {x: (t, *rest) for x, t, *rest in NON_TWISTING.REFERENCES[2] if t == 5.0}
    h = 2 * NON_TWISTING.RUN["step"]
    solution = mbd.simulate(NON_TWISTING.build(formulation, case=2), 5.0, h)
    found = {
        "body.angular_velocity_body": solution["body"].angular_velocity_body[-1],
        "energy.kinetic": solution.energy.kinetic[-1],
        "frame.multipliers": solution["frame"].multipliers[-1],
    }
    assert set(found) == set(references)
    for words, (_, value, tolerance, _) in references.items():
        # twice the step of the scene: four times its tolerance
        assert np.abs(found[words] - np.asarray(value)).max() < 4 * tolerance, words


def test_table_of_the_paper_is_that_of_its_scheme_at_its_step():
    J = NON_TWISTING.INERTIA
    impulse = NON_TWISTING.PEAK[:2] / 2
    errors = []
    for h in (5e-3, 2.5e-3):
        system = NON_TWISTING.build("directors", case=2)
        solution = mbd.simulate(system, 2.0, h, method=mbd.EnergyMomentum())
        momentum = solution["body"].angular_velocity_body[-1] @ J
        if h == 5e-3:
            assert np.allclose(momentum[:2], (-61.749731, -26.845155), rtol=0, atol=1e-6)
            assert abs(solution.energy.kinetic[-1] - 746.591699) < 1e-6
        errors.append(np.abs(momentum[:2] - impulse).max())
    assert np.isclose(errors[0] / errors[1], 4, rtol=0, atol=0.1)


def test_breathing_body_refuses_other_coordinates():
    with pytest.raises(ValueError, match="breathing_body: formulation must be 'scalable'"):
        scene("breathing_body").build("so3")


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_breathing_body_follows_the_virial_theorem_in_both_velocities(velocities):
    module = scene("breathing_body")
    solution = mbd.simulate(module.build(velocities=velocities), 2.0, 2e-3)
    J, w = np.array(module.INERTIA), np.array(module.RATES)
    scale = np.sqrt(1 + 2 * (w @ J @ w) * solution.t**2 / np.trace(J))
    assert np.abs(solution["body"].scale - scale).max() < 2e-5
    assert scale[-1] > 3.9
