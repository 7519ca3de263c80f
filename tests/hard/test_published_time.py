"""Every scene over its published time with steps much larger than those it was published with."""

import warnings

import pytest
from models.test_scenes import SCENES, load, refused

import mbd

# spin of directors between steps makes their own rows oscillate at position level: refused, and
# done by what the message says
STABILIZED = {("bicycle", "directors", 1e-2), ("non_twisting", "directors", 1e-2)}


def scenes():
    """Return names of scenes that are published with steps of one size, and formulations."""
    for name in SCENES:
        if "rtol" not in load(name).RUN:
            for formulation in ("so3", "directors"):
                yield name, formulation


@pytest.mark.slow
@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize(("name", "formulation"), list(scenes()))
def test_a_scene_runs_over_its_published_time(name, formulation, step):
    module = load(name)
    try:
        system = module.build(formulation=formulation)
    except TypeError:  # its parts are points
        system = module.build()
    except ValueError:
        assert refused(module, {"formulation": formulation})
        return
    how = {key: module.RUN[key] for key in ("method", "events") if key in module.RUN}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of what such steps cannot resolve
        run = mbd.simulate(system, module.RUN["t_end"], step, raise_on_failure=False, **how)
        assert run.success == ((name, formulation, step) not in STABILIZED), run.message
        if not run.success:
            assert "constraints='stabilized'" in run.message
            how["method"] = mbd.GeneralizedAlpha(constraints="stabilized")
            run = mbd.simulate(system, module.RUN["t_end"], step, **how)
    assert run.gap.max() < 1e-6
