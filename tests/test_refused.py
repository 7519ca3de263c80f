"""What functions and methods below the door of the parts refuse, and with which words."""

import re

import numpy as np
import pytest

import mbd
from mbd.algebra import s2
from mbd.formulations import velocity_sets
from mbd.formulations.euler_parameters import augmented_inverse, augmented_matrix

p, J = np.array([1.0, 0, 0, 0]), np.diag([1.0, 2.0, 3.0])
SINGULAR = np.zeros((6, 6))
M = np.eye(6)
opposite = np.array([0.6, 0, 0.8])

REFUSED = {
    "mass_matrix": (lambda: velocity_sets.mass_matrix(M, SINGULAR), "condition number"),
    "mass_matrix M": (lambda: velocity_sets.mass_matrix(np.eye(5), M), "M must be 6x6 numbers"),
    "interpolation": (
        lambda: velocity_sets.velocity_interpolation((0, 0, 0), np.ones((6, 6))),
        "condition number",
    ),
    "interpolation y": (lambda: velocity_sets.velocity_interpolation((0, 0), M), "y must be 3"),
    "quadratic": (
        lambda: velocity_sets.quadratic_velocity_matrix(np.ones(6), M, SINGULAR),
        "condition number",
    ),
    "projection": (
        lambda: velocity_sets.projection(np.ones((5, 3)), np.ones((6, 3))),
        "points must be 6x3 numbers [m], got shape (5, 3)",
    ),
    "hexahedral": (
        lambda: velocity_sets.hexahedral(0.7, (1, 2)),
        "length must be a number or 3 numbers [m], got shape (2,)",
    ),
    "hexahedral flat": (lambda: velocity_sets.hexahedral(0.7, (1, 2, 0)), "must be positive"),
    "tetrahedral": (
        lambda: velocity_sets.tetrahedral(0.7, (1, 2, 3)),
        "length must be a number [m], got shape (3,)",
    ),
    "augmented_matrix": (lambda: augmented_matrix([1, 0, 0], J), "p must be 4 numbers"),
    "augmented_inverse": (lambda: augmented_inverse([2, 0, 0, 0], J), "got |p| = 2; use p / |p|"),
    "Scalable": (lambda: mbd.Scalable(velocities=[1]), "must be one of rates, u, got [1]"),
    "Scalable rigid": (lambda: mbd.Scalable(rigid="yes"), "rigid must be True or False"),
    "EM words": (lambda: mbd.EnergyMomentum(max_iterations="a"), "must be a whole number"),
    "EM half": (lambda: mbd.EnergyMomentum(max_iterations=2.5), "at least 2, got 2.5"),
    "EM solver": (lambda: mbd.EnergyMomentum(linear_solver=[]), "linear_solver must be"),
    "GA bool": (lambda: mbd.GeneralizedAlpha(max_iterations=True), "must be a whole number"),
    "GA list": (lambda: mbd.GeneralizedAlpha(newton=["full"]), "newton must be one of"),
    "LRK4": (lambda: mbd.LieRungeKutta4(["quaternion"]), "scheme must be one of"),
    "transport": (
        lambda: s2.parallel_transport(opposite, -opposite, np.array([0, 1.0, 0])),
        "d must not be opposite to d0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_by_name(name):
    call, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        call()


def test_lists_and_sets_of_any_size_are_taken():
    p_ = [0.6, 0.0, 0.8, 0.0]
    product = augmented_matrix(p_, J.tolist()) @ augmented_inverse(p_, J.tolist())
    np.testing.assert_allclose(product, np.eye(5), atol=1e-14)
    for length in (1e-9, 1.0, 1e9):  # well conditioned, whatever the units
        D = velocity_sets.projection(*velocity_sets.hexahedral(0.7, length))
        size = np.array([1.0] * 3 + [length] * 3)
        back = D.T @ velocity_sets.mass_matrix(np.diag(size**2), D) @ D
        np.testing.assert_allclose(back / np.outer(size, size), M, atol=1e-12)


def test_a_formulation_of_ones_own_is_not_said_by_a_file(tmp_path):
    from dataclasses import replace

    mine = replace(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1)).formulation, name="mine")
    system = mbd.System()
    system.add(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), formulation=mine))
    with pytest.raises(ValueError, match=r"'mine' is a formulation of your own.*scene in Python"):
        mbd.write(system, tmp_path / "model.toml")


def test_the_refusal_of_lie_runge_kutta_names_what_runs():
    system = mbd.System()
    system.add(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), formulation="scalable"))
    with pytest.raises(ValueError, match=r"Scalable\(rigid=False\)"):
        mbd.simulate(system, 0.1, 0.1, method=mbd.LieRungeKutta4())
