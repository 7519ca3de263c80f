"""Published problems over their published time: every formulation, steps from 1e-2 to 1e-4 s."""

import pytest
from models.test_scenes import SCENES, load

from hard.published import STEPS, build, formulations, outcome

# steps of these fail: bodies turn far in them, multipliers oscillate, or a mass is thrown back
FAR = [
    ("andrews", "so3", 3e-3),
    ("andrews", "se3", 1e-2),
    ("andrews", "unified", 3e-3),
    ("andrews", "euler_parameters", 3e-3),
    ("bicycle", "directors", 1e-2),
    ("cart_pole", None, 1e-2),
    ("cart_pole", None, 3e-3),
    ("flexible_rod", "so3", 1e-2),
    ("heavy_top", "euler_parameters", 3e-3),
    ("non_twisting", "directors", 1e-2),
]
# others whose end is plainly wrong
WRONG = [("rotor", "directors", 1e-2), ("rotor", "directors", 1e-3), ("cart_pole", None, 1e-4)]
ALL = [(name, formulation) for name in SCENES for formulation in formulations(name)]


def judged(name, formulation, step):
    """Check that a scene finishes, and says so if its end is wrong; return how it ended."""
    system, run = build(name, formulation), load(name).RUN
    if system is None:  # it refuses this formulation by name
        return None
    how = {key: run[key] for key in ("method", "events") if key in run}
    end = outcome(system, run["t_end"], step, **how)
    assert end.finished, end.message
    wrong = end.departure > 0.1
    assert end.gap < (1e-4 if wrong else 1e-6)
    assert end.warnings or not wrong
    assert not end.warnings or "; warning: " in end.message
    return end


@pytest.mark.parametrize(("name", "formulation", "step"), FAR)
def test_a_scene_whose_steps_are_too_large_finishes(name, formulation, step):
    """Steps fail, and are gone through by smaller ones, or errors are large: the run says so."""
    end = judged(name, formulation, step)
    assert end.warnings


@pytest.mark.parametrize(("name", "formulation", "step"), WRONG)
def test_an_end_that_is_wrong_is_told(name, formulation, step):
    assert judged(name, formulation, step).departure > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("name", "formulation"), ALL)
def test_a_scene_runs_over_its_published_time(name, formulation, step):
    judged(name, formulation, step)
