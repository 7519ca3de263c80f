"""Springs: an elastic pendulum, a chain of masses in its first mode."""

import numpy as np
import pytest

from .tools import RIGID, converge, ends, planar, published, scene


@pytest.mark.parametrize("t_end", [1, 5, 10])
def test_elastic_pendulum(t_end):
    exact = np.array(published("P04")[str(t_end)])
    run = ends(scene("elastic_pendulum").build(), t_end, x="mass.position", v="mass.velocity")
    exact = {"x": planar(exact[:2]), "v": planar(exact[2:])}
    converge(run, exact, step=1e-3, tolerance={"x": 2e-9, "v": 1e-8})


@pytest.mark.parametrize("formulation", [None, *RIGID])
def test_chain_of_masses_swings_in_its_first_mode(formulation):
    s = scene("spring_mass")
    exact = {name: value for name, _, value, _, _ in s.REFERENCE if name.startswith("mass 10")}
    run = ends(s.build(formulation=formulation), 2.0, **{name: name for name in exact})
    converge(run, exact, step=4e-3, tolerance=1e-9)
