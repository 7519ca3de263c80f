"""Second order of positions, velocities, accelerations and multipliers; drift; mixed systems."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, scene


def last(system, h, rho):
    method = mbd.GeneralizedAlpha(rho=rho, tol=1e-10, newton="full")
    s = mbd.simulate(system, 0.5, h, method=method, every=1_000_000)
    return {"q": s.q[-1], "v": s.v[-1], "a": s.a[-1], "lam": s.lam[-1]}


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("formulation", RIGID)
def test_everything_in_the_solution_is_of_second_order(formulation, rho):
    # ratio of successive differences: 4
    system = scene("chain").build(n=2, kind="zigzag", formulation=formulation)
    runs = [last(system, h, rho) for h in (4e-3, 2e-3, 1e-3)]
    for name in ("q", "v", "a", "lam"):
        x = [r[name] for r in runs]
        order = np.log2(np.abs(x[0] - x[1]).max() / np.abs(x[1] - x[2]).max())
        assert abs(order - 2) < 0.15, (name, order)


@pytest.mark.parametrize("formulation", RIGID)
def test_multipliers_are_of_second_order_over_the_whole_run(formulation):
    system = scene("chain").build(n=2, kind="twisted", formulation=formulation)
    method = mbd.GeneralizedAlpha(rho=0.8, tol=1e-10, newton="full")
    runs = []
    for k in (1, 2, 4):
        solution = mbd.simulate(system, 1.0, 4e-3 / k, method=method, every=k)
        runs.append(solution["joint 1"].force[25:])  # behind the first tenth of a second
    order = np.log2(np.abs(runs[0] - runs[1]).max() / np.abs(runs[1] - runs[2]).max())
    assert abs(order - 2) < 0.15


@pytest.mark.parametrize("formulation", RIGID)
def test_energy_of_a_chain_drifts_with_the_square_of_the_step(formulation):
    system = scene("chain").build(n=3, formulation=formulation)
    drift = []
    for h in (2e-3, 1e-3):
        E = mbd.simulate(system, 2.0, h).energy
        drift.append(np.abs(E.total).max())
    assert drift[1] < 1e-3 * np.abs(E.potential).max()
    assert drift[1] < drift[0] / 3


def floating(formulations):
    """Three bars joined by a hinge and a ball, thrown into space."""
    rng = np.random.default_rng(48271)
    system = mbd.System()
    omega, velocity = np.array([0.5, -0.8, 1.2]), np.array([0.3, 0.1, -0.2])
    bodies = []
    for i, formulation in enumerate(formulations):
        at = np.array([float(i), 0, 0])
        body = mbd.RigidBody(
            f"bar {i}", mass=1.0 + i, inertia=(0.1, 0.2, 0.25), position=at,
            center_of_mass=rng.uniform(-0.1, 0.1, 3),
            rotation=Rotation.from_rotvec(rng.uniform(-1, 1, 3)),
            velocity=velocity + np.cross(omega, at), angular_velocity=omega,
            formulation=formulation,
        )  # fmt: skip
        bodies.append(system.add(body))
    system.add(mbd.Spherical("ball", *bodies[:2], at=(0.5, 0, 0)))
    system.add(mbd.Revolute("hinge", *bodies[1:], at=(1.5, 0, 0), axis=(0, 1, 1)))
    return system


@pytest.mark.parametrize("mix", [(f,) * 3 for f in RIGID] + [("so3", "directors", "so3")])
def test_floating_chain_keeps_its_momenta(mix):
    method = mbd.GeneralizedAlpha(rho=0.8, tol=1e-10, newton="full")
    change = []
    for h in (4e-3, 2e-3):
        p = mbd.simulate(floating(mix), 2.0, h, method=method).momentum
        # linear: exact where the face is linear in the coordinates, eccentric bodies turn elsewhere
        change.append([np.abs(x - x[0]).max() for x in (p.linear, p.angular)])
    for coarse, fine in zip(*change, strict=True):
        assert fine < 1e-4
        assert fine < coarse / 3 or fine < 1e-9
    if set(mix) == {"directors"}:
        assert change[1][0] < 1e-10


def test_bodies_of_mixed_formulations_move_like_bodies_of_one():
    method = mbd.GeneralizedAlpha(rho=0.8, tol=1e-10, newton="full")

    def extrapolated(mix):
        x = []
        for h in (2e-3, 1e-3, 5e-4):
            s = mbd.simulate(floating(mix), 1.0, h, method=method, every=1_000_000)
            bars = [s[f"bar {i}"] for i in range(3)]
            x.append([np.r_[b.position[-1], b.rotation[-1].ravel(), b.velocity[-1]] for b in bars])
        x = np.array(x)
        x = (4 * x[1:] - x[:-1]) / 3
        return (8 * x[1] - x[0]) / 7

    one = extrapolated(("so3",) * 3)
    for mix in (("directors",) * 3, ("so3", "directors", "so3"), ("directors", "so3", "directors")):
        assert np.abs(extrapolated(mix) - one).max() < 1e-9
