"""Beams wound to helices by dead end moments; poses that do not depend on the way there.

Exact numbers: constant end moment and force, by quadrature of the geometrically exact beam (the
ten turns are those of A. Ibrahimbegovic, Comput. Methods Appl. Mech. Engrg. 149 (1997)).
"""

import numpy as np
import pytest

import mbd

from .test_statics import SLENDER, cantilever

SECTION = mbd.Section(stiffness=(1e4, 1e4, 1e4, 100, 100, 100), mass=1.0)


def wound(n, turns, pull, steps=1):
    """Return the end of a beam of 10 m wound up by a moment, and the iterations it took."""
    system = cantilever(n, section=SECTION, points=((0, 0, 0), (10, 0, 0)), force=(0, 0, pull),
                        moment=(0, 0, 20 * np.pi * turns))  # fmt: skip
    pose = mbd.equilibrium(system, seek="nearest", load_steps=steps, max_iterations=400)
    return np.asarray(pose[f"beam.{n}"].position), sum(x.iterations for x in pose.path)


@pytest.mark.parametrize(("n", "error"), [(8, 8.7e-4), (16, 5.8e-5), (32, 4.9e-6), (64, 6.8e-7)])
def test_a_helix_of_one_turn(n, error):
    tip, iterations = wound(n, 1, 5.0)
    exact = 0.41020335, 0.0537709, -1.09172902
    assert np.linalg.norm(tip - exact) == pytest.approx(error, rel=0.1)
    assert iterations <= 30


@pytest.mark.slow
@pytest.mark.parametrize(("n", "z"), [(40, -0.0775928), (100, -0.0764711), (200, -0.0764439)])
def test_a_helix_of_ten_turns(n, z):
    tip, _ = wound(n, 10, 50.0, 25)
    exact = 0.00480325, 0.0000725, -0.07644174
    assert tip[2] - exact[2] == pytest.approx(z - exact[2], rel=0.1)
    assert np.linalg.norm(tip - exact) < 2.0 / n**2  # order two: bending and torsion mix


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_the_unloaded_pose_does_not_remember_the_way(formulation):
    """Random loads while the clamp makes two turns; then no load is left, and no energy."""
    steps = 24
    loads = np.random.default_rng(7).uniform(-3, 3, (steps + 1, 3))
    loads[-1] = 0.0
    system = mbd.System()
    beam = system.add(mbd.Beam("beam", points=((0, 0, 0), (1, 0, 0)), section=SLENDER, elements=3,
                               formulation=formulation))  # fmt: skip
    hinge = system.add(mbd.Revolute("hinge", system.ground, beam.first, at=(0, 0, 0),
                                    axis=(0, 0.6, 0.8)))  # fmt: skip
    system.add(mbd.Drive("turn", hinge.angle, position=lambda t: 4 * np.pi * t / steps))
    system.add(mbd.PointForce("load", beam.last, lambda t: tuple(loads[round(t)])))
    model, state = system.build(), None
    for t in range(steps + 1):
        pose = mbd.equilibrium(model, state, t=float(t))
        state = pose.state
    assert pose["hinge"].angle == pytest.approx(4 * np.pi, abs=1e-12)
    assert float(pose.solution.energy.potential[0]) < 1e-24
    assert np.allclose(pose["beam.3"].position, (1, 0, 0), rtol=0, atol=1e-13)
