"""Chains of bars and of points; a simple pendulum over many swings; mixed formulations."""

import numpy as np
import pytest
from charts import RODRIGUES, VECTOR, YAW
from families import spread
from scenes import chain

import mbd

from .tools import RIGID, converge, ends, planar, published, scene

CHAINS = {
    "sph_N2": {"n": 2},
    "sph_N10": {"n": 10},
    "revtwist_N2": {"n": 2, "kind": "twisted"},
    "zigzag_N2": {"n": 2, "kind": "zigzag"},
}


TOLERANCE = {"pos": 5e-10, "vel": 5e-9, "rot": 2e-9, "om": 5e-8}


def bars(t_end=1.0, **options):
    """Return what all bars of the scene have at the end, as a function of the step."""
    system = scene("chain").build(**options)
    what = {"pos": "position", "vel": "velocity", "rot": "rotation", "om": "angular_velocity_body"}
    return ends(system, t_end, **{k: [f"{b}.{x}" for b in system.bodies] for k, x in what.items()})


def table(name):
    """Return what is published of a chain, rotations as matrices."""
    exact = {k: np.array(published("chains")[name][k]) for k in ("pos", "vel", "rot", "om")}
    return exact | {"rot": exact["rot"].reshape(-1, 3, 3)}


@spread(formulation=RIGID, name=CHAINS)
def test_hanging_chain(name, formulation):
    run = bars(formulation=formulation, **CHAINS[name])
    converge(run, table(name), step=1e-3, tolerance=TOLERANCE)


@pytest.mark.parametrize("mix", [
    ("so3", "directors"),
    ("directors", "so3", "so3"),
    (RODRIGUES, "so3"),
    (VECTOR, YAW, RODRIGUES),
])  # fmt: skip
def test_chain_of_mixed_formulations_agrees_with_the_table(mix):
    converge(bars(n=10, formulation=mix), table("sph_N10"), step=1e-3, tolerance=TOLERANCE)


LIGHT = {  # bars of 1 kg: x and z of the last centre of mass
    1: (0.5, (-0.0434324433, -0.4981100510)),
    3: (1.0, (-1.3281223576, -1.9920102434)),
    10: (1.0, (7.0276014271, -4.9056320400)),
}


@spread(formulation=RIGID, n=LIGHT)
def test_light_chain(n, formulation):
    t_end, (x, z) = LIGHT[n]
    system = scene("chain").build(n=n, mass=1.0, formulation=formulation)
    run = ends(system, t_end, last=f"bar {n}.position")
    converge(run, {"last": (x, 0.0, z)}, step=1e-3, tolerance=1e-9)


def rods(n, formulation):
    """Uniform thin rods along x between hinges about z, y up."""
    return chain(
        n, (formulation,), joint="Revolute", axis=(0, 0, 1), gravity=(0, -9.81, 0),
        inertia=(1e-3, 1 / 12, 1 / 12),
    )  # fmt: skip


def check_chain(system, tip, base, exact):
    """Compare tip and base reaction of a planar chain with what is published."""
    run = ends(system, 1.0, tip=f"{tip}.position", tip_v=f"{tip}.velocity",
               base_reaction=f"{base}.force")  # fmt: skip
    tolerance = {"tip": 5e-9, "tip_v": 1e-7, "base_reaction": 5e-4}
    converge(
        run, {k: planar(exact[k]) for k in tolerance}, step=4e-3, tolerance=tolerance, levels=4,
        coarse=["base_reaction"],
    )  # fmt: skip


@spread(formulation=RIGID, n=[1, 2, 3, 10])
def test_planar_chain_of_rods_with_its_base_reaction(n, formulation):
    exact = published("P01")[str(n)]["1.0"]
    check_chain(rods(n, formulation), f"bar {n - 1}(0.5, 0, 0)", "pin 0", exact)


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_planar_chain_of_points_with_its_base_reaction(n):
    exact = published("P02")[str(n)]["1.0"]
    check_chain(scene("point_chain").build(n), f"mass {n}", "link 1", exact)


@pytest.mark.parametrize("t_end", [1, 10])
def test_simple_pendulum_keeps_its_phase(t_end):
    x, y, vx, vy, tension = published("A01")[str(t_end)]
    run = ends(scene("simple_pendulum").build(), t_end, x="mass.position", v="mass.velocity",
               force="rod.force", multiplier="rod.multipliers")  # fmt: skip
    r = np.array((x, y, 0.0))
    force = -tension * r / np.linalg.norm(r)
    exact = {"x": r, "v": (vx, vy, 0.0), "force": force, "multiplier": (tension,)}
    tolerance = {"x": 2e-9, "v": 1e-8, "force": 5e-7, "multiplier": 5e-7}
    forces = ["force", "multiplier"]
    converge(run, exact, step=2e-3, tolerance=tolerance, levels=4, coarse=forces)


def test_simple_pendulum_meets_the_low_threshold_of_the_benchmark_over_a_hundred_seconds():
    # 42 swings; error of phase only: largest position error below 1e-3 at h = 1 ms / 4
    x, y, vx, vy, _ = published("A01")["100"]
    solution = mbd.simulate(scene("simple_pendulum").build(), 100.0, 2.5e-4, every=1_000_000)
    assert np.allclose(solution["mass"].position[-1, :2], (x, y), rtol=0, atol=1e-3)
    assert np.allclose(solution["mass"].velocity[-1, :2], (vx, vy), rtol=0, atol=3e-3)
