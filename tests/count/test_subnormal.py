"""Numbers below 2.2e-308, which cost a processor a hundredfold, end as zeros."""

import ctypes

import numpy as np
import pytest

import mbd
from mbd.machine import buffer as m
from mbd.machine import jit, subnormal
from mbd.runs import stretch as module

TINY = np.finfo(float).tiny
compiled = pytest.mark.skipif(
    jit.PYTHON or not subnormal._MACHINE, reason="plain Python, or a machine without the bit"
)


def subnormals(x):
    """Count the numbers that are neither zero nor normal."""
    x = np.abs(np.asarray(x, float))
    return int(np.count_nonzero((x > 0) & (x < TINY)))


def planar(formulation):
    """A four-bar linkage in a plane, turned by a motor: nothing happens out of the plane."""
    system = mbd.System(gravity=(0, 0, -9.81))
    places = {"crank": (0.0, 0.0), "coupler": (1.0, 0.0)}
    for name, (x, z) in places.items():
        system.add(
            mbd.RigidBody(
                name, mass=1.1, inertia=(0.01, 0.1, 0.1), position=(x + 0.5, 0, z),
                formulation=formulation,
            )
        )  # fmt: skip
    crank, coupler = system["crank"], system["coupler"]
    system.add(mbd.Revolute("hinge", system.ground, crank, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("knee", crank, coupler, at=(1, 0, 0), axis=(0, 1, 0)))
    return system


@compiled
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_what_damping_shrinks_ends_as_zero(formulation, monkeypatch):
    """From a pose that was searched for: 1e-31 m/s out of the plane, thousands of steps long."""
    model = planar(formulation).build()
    state = mbd.assemble_pose(model, targets={"hinge.angle": 0.4, "knee.angle": -0.9})
    rng = np.random.default_rng(3)
    out = np.array([name.endswith((".y", ".x rotation")) for name in model.numbering.v_labels])
    assert out.any()
    v = state.v + np.where(out, 1e-300 * rng.standard_normal(model.n_v), 0.0)
    runs, finish = [], module.Stretch.state

    def watched(run):
        runs.append(run)
        return finish(run)

    monkeypatch.setattr(module.Stretch, "state", watched)
    method = mbd.GeneralizedAlpha(rho=0.5, constraints="stabilized")
    solution = mbd.simulate(model, 4.0, 1e-3, state=state.replace(v=v), method=method)
    for x in (solution.q, solution.v, solution.a, solution.lam):
        assert subnormals(x[5:]) == 0
    assert subnormals(runs[-1].work.F[model.I[m.DIAG] : model.size]) == 0


DECAY = {
    "alpha": mbd.GeneralizedAlpha(),
    "motion vector": mbd.LieRungeKutta4(),
    "explicit": mbd.ExplicitRungeKutta("rk4"),
    "quaternion": mbd.LieRungeKutta4(scheme="quaternion"),
}


@compiled
@pytest.mark.parametrize("name", [*DECAY, "tolerance", "conserving"])
def test_motion_that_a_damper_ends_is_zero_at_last(name):
    """Its size falls by e a tenth of a second, from 1e-290, and would be subnormal at last."""
    system = mbd.System()
    formulation = "directors" if name == "conserving" else "so3"
    body = mbd.RigidBody(
        "body", mass=1.0, inertia=(1, 1, 1), velocity=(1e-290, 0, 0), position=(1, 0, 0),
        formulation=formulation,
    )  # fmt: skip
    system.add(body)
    system.add(mbd.Spring("damper", system.ground, body, stiffness=0.0, damping=10.0))
    options = {"step": 1e-3, "method": DECAY.get(name)}
    if name == "tolerance":
        options = {"rtol": 1e-5, "max_step": 1e-3}
    if name == "conserving":
        options["method"] = mbd.EnergyMomentum()
    solution = mbd.simulate(system, 8.0, **options)
    assert subnormals(solution.v) == subnormals(solution.q) == subnormals(solution.a) == 0
    assert solution.v[0].any()


@compiled
@pytest.mark.parametrize("fails", [False, True])
def test_the_mode_of_the_caller_comes_back(fails):
    """A product that is subnormal, computed by the processor before and after a run, and within."""
    small = np.array([1e-200])
    assert subnormals(small * 1e-110) == 1

    def law(t):
        if fails and t > 0.02:
            raise ValueError("no more")
        return 0.0, 0.0, 1.0

    system = planar("so3")
    system.add(mbd.PointForce("push", system["crank"], law))
    mbd.simulate(system, 0.05, 1e-3, raise_on_failure=False)
    assert subnormals(small * 1e-110) == 1
    assert ctypes.c_double(float(small[0]) * 1e-110).value > 0.0


@pytest.mark.parametrize("formulation", ["so3", "euler_parameters", "directors"])
def test_a_search_for_a_pose_leaves_no_dust(formulation):
    """Velocities out of the plane were 1e-27 m/s beside 2 m/s."""
    targets = {"hinge.angle": 0.4, "knee.angle": -0.9}
    targets |= {"hinge.angle_rate": 2.0, "knee.angle_rate": -1.0}
    v = np.abs(mbd.assemble_pose(planar(formulation).build(), targets=targets).v)
    assert v.max() > 2.0
    assert not np.any((v > 0.0) & (v < 1e-16))
