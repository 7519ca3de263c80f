"""Springs: an elastic pendulum, frequencies of a chain of masses from the assembled M and K."""

import numpy as np
import pytest
import scipy.linalg

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


def frequencies(system):
    """Circular frequencies of the small motions that the rows allow, zero ones left out."""
    A = system.build().assemble()
    M, K = A.M.toarray(), A.K.toarray()
    N = scipy.linalg.null_space(A.B.toarray()) if A.B.shape[0] else np.eye(len(M))
    squares = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    return np.sqrt(squares[squares > 1e-6])


@pytest.mark.parametrize("formulation", [None, *RIGID])
@pytest.mark.parametrize("ends", ["fixed-free", "fixed-fixed", "free-free"])
def test_frequencies_of_a_chain_of_masses_are_those_of_M_and_K(ends, formulation):
    system = scene("spring_mass").build(ends=ends, amplitude=0.0, formulation=formulation)
    exact = [w for w in published("E01")[ends.replace("-", "_")] if w > 1e-9]
    assert np.allclose(frequencies(system), exact, rtol=1e-10, atol=0)


def test_damping_of_the_springs_is_in_G():
    system = scene("spring_mass").build(amplitude=0.0, damping=0.3)
    A = system.build().assemble()
    assert np.allclose(A.G.toarray(), 1e-3 * A.K.toarray(), rtol=1e-12, atol=1e-12)


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
