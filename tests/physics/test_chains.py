"""Chains of bars and of points; a simple pendulum over many swings; mixed formulations."""

import numpy as np
import pytest
from charts import RODRIGUES, VECTOR, YAW
from families import spread

import mbd

from .tools import RIGID, SHARP, converge, published, scene

CHAINS = {
    "sph_N2": {"n": 2},
    "sph_N10": {"n": 10},
    "revtwist_N2": {"n": 2, "kind": "twisted"},
    "zigzag_N2": {"n": 2, "kind": "zigzag"},
}


TOLERANCE = {"pos": 5e-10, "vel": 5e-9, "rot": 2e-9, "om": 5e-8}


def bars(h, t_end=1.0, **options):
    system = scene("chain").build(**options)
    solution = mbd.simulate(system, t_end, h, method=SHARP, every=1_000_000)
    all_bars = [solution[name] for name in system.bodies]
    return {
        "pos": np.array([b.position[-1] for b in all_bars]),
        "vel": np.array([b.velocity[-1] for b in all_bars]),
        "rot": np.array([b.rotation[-1].ravel() for b in all_bars]),
        "om": np.array([b.angular_velocity_body[-1] for b in all_bars]),
    }


@spread(formulation=RIGID, name=CHAINS)
def test_hanging_chain(name, formulation):
    exact = {k: published("chains")[name][k] for k in ("pos", "vel", "rot", "om")}
    converge(
        lambda h: bars(h, formulation=formulation, **CHAINS[name]),
        exact,
        step=1e-3,
        tolerance=TOLERANCE,
    )


@pytest.mark.parametrize(
    "mix",
    [
        ("so3", "directors"),
        ("directors", "so3", "so3"),
        (RODRIGUES, "so3"),
        (VECTOR, YAW, RODRIGUES),
    ],
)
def test_chain_of_mixed_formulations_agrees_with_the_table(mix):
    exact = {k: published("chains")["sph_N10"][k] for k in ("pos", "vel", "rot", "om")}
    converge(lambda h: bars(h, n=10, formulation=mix), exact, step=1e-3, tolerance=TOLERANCE)


LIGHT = {  # bars of 1 kg: x and z of the last centre of mass
    1: (0.5, (-0.0434324433, -0.4981100510)),
    3: (1.0, (-1.3281223576, -1.9920102434)),
    10: (1.0, (7.0276014271, -4.9056320400)),
}


@spread(formulation=RIGID, n=LIGHT)
def test_light_chain(n, formulation):
    t_end, place = LIGHT[n]

    def run(h):
        x = bars(h, t_end, n=n, mass=1.0, formulation=formulation)["pos"][-1]
        return {"x, z of the last bar": x[[0, 2]]}

    converge(run, {"x, z of the last bar": place}, step=1e-3, tolerance=1e-9)


def rods(n, formulation):
    """Uniform thin rods along x between hinges about z, y up."""
    system = mbd.System(gravity=(0, -9.81, 0))
    last = system.ground
    for i in range(n):
        rod = mbd.RigidBody(
            f"rod {i + 1}", mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), position=(i + 0.5, 0, 0),
            formulation=formulation,
        )  # fmt: skip
        system.add(rod)
        system.add(mbd.Revolute(f"hinge {i + 1}", last, rod, at=(i, 0, 0), axis=(0, 0, 1)))
        last = rod
    return system


@spread(formulation=RIGID, n=[1, 2, 3, 10])
def test_planar_chain_of_rods_with_its_base_reaction(n, formulation):
    exact = published("P01")[str(n)]["1.0"]

    def run(h):
        solution = mbd.simulate(rods(n, formulation), 1.0, h, method=SHARP, every=1_000_000)
        tip = solution[f"rod {n}"].at((0.5, 0, 0))
        return {
            "tip": tip.position[-1, :2],
            "tip_v": tip.velocity[-1, :2],
            "base_reaction": solution["hinge 1"].force[-1, :2],
        }

    tolerance = {"tip": 5e-9, "tip_v": 1e-7, "base_reaction": 5e-4}
    converge(
        run, {k: exact[k] for k in tolerance}, step=4e-3, tolerance=tolerance, levels=4,
        coarse=["base_reaction"],
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_planar_chain_of_points_with_its_base_reaction(n):
    exact = published("P02")[str(n)]["1.0"]

    def run(h):
        system = scene("point_chain").build(n)
        solution = mbd.simulate(system, 1.0, h, method=SHARP, every=1_000_000)
        tip = solution[f"mass {n}"]
        return {
            "tip": tip.position[-1, :2],
            "tip_v": tip.velocity[-1, :2],
            "base_reaction": solution["link 1"].force[-1, :2],
        }

    tolerance = {"tip": 5e-9, "tip_v": 1e-7, "base_reaction": 5e-4}
    converge(
        run, {k: exact[k] for k in tolerance}, step=4e-3, tolerance=tolerance, levels=4,
        coarse=["base_reaction"],
    )  # fmt: skip


@pytest.mark.parametrize("t_end", [1, 10])
def test_simple_pendulum_keeps_its_phase(t_end):
    x, y, vx, vy, tension = published("A01")[str(t_end)]

    def run(h):
        system = scene("simple_pendulum").build()
        solution = mbd.simulate(system, t_end, h, method=SHARP, every=1_000_000)
        mass = solution["mass"]
        return {
            "x": mass.position[-1, :2],
            "v": mass.velocity[-1, :2],
            "tension": np.linalg.norm(solution["rod"].force[-1:]),
            "multiplier": solution["rod"].multipliers[-1],
        }

    exact = {"x": (x, y), "v": (vx, vy), "tension": tension, "multiplier": (tension,)}
    tolerance = {"x": 2e-9, "v": 1e-8, "tension": 5e-7, "multiplier": 5e-7}
    forces = ["tension", "multiplier"]
    converge(run, exact, step=2e-3, tolerance=tolerance, levels=4, coarse=forces)


def test_simple_pendulum_meets_the_low_threshold_of_the_benchmark_over_a_hundred_seconds():
    # 42 swings; error of phase only: largest position error below 1e-3 at h = 1 ms / 4
    x, y, vx, vy, _ = published("A01")["100"]
    solution = mbd.simulate(scene("simple_pendulum").build(), 100.0, 2.5e-4, every=1_000_000)
    assert np.allclose(solution["mass"].position[-1, :2], (x, y), rtol=0, atol=1e-3)
    assert np.allclose(solution["mass"].velocity[-1, :2], (vx, vy), rtol=0, atol=3e-3)
