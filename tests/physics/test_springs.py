"""Springs: an elastic pendulum, a chain of masses in its first mode."""

import numpy as np
import pytest

import mbd

from .tools import RIGID, SHARP, converge, published, scene


@pytest.mark.parametrize("t_end", [1, 5, 10])
def test_elastic_pendulum(t_end):
    exact = np.array(published("P04")[str(t_end)])

    def run(h):
        system = scene("elastic_pendulum").build()
        mass = mbd.simulate(system, t_end, h, method=SHARP, every=1_000_000)["mass"]
        return {"x": mass.position[-1, :2], "v": mass.velocity[-1, :2]}

    tolerance = {"x": 2e-9, "v": 1e-8}
    converge(run, {"x": exact[:2], "v": exact[2:]}, step=1e-3, tolerance=tolerance)


@pytest.mark.parametrize("formulation", [None, *RIGID])
def test_chain_of_masses_swings_in_its_first_mode(formulation):
    s = scene("spring_mass")
    exact = {name: value for name, _, value, _, _ in s.REFERENCE if name.startswith("mass 10")}

    def run(h):
        solution = mbd.simulate(
            s.build(formulation=formulation), 2.0, h, method=SHARP, every=1_000_000
        )
        mass = solution["mass 10"]
        return {"mass 10.position": mass.position[-1], "mass 10.velocity": mass.velocity[-1]}

    converge(run, exact, step=4e-3, tolerance=1e-9)
