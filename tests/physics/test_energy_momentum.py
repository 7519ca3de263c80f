"""The energy-momentum scheme: energy and momenta to round-off with joints and springs."""

import numpy as np
import pytest
import scenes
from scenes import with_body

import mbd

KINDS = {
    "directors": ("directors",) * 3,
    "euler_parameters": ("euler_parameters",) * 3,
    "mixed": ("directors", "scalable", "euler_parameters"),
}


def floating(damping: float = 0.0, kinds: tuple[str, ...] = KINDS["directors"]) -> mbd.System:
    """Three eccentric bodies on hinges and a mass point, held together by springs of every kind."""
    system = mbd.System()
    bodies = [
        system.add(
            mbd.RigidBody(
                f"body {i}",
                mass=1.0 + i,
                inertia=(0.1, 0.12, 0.15),
                position=(i, 0, 0),
                center_of_mass=(0.1, 0.05 * i, 0),
                angular_velocity=(0, 0.4 * i, 0),
                formulation=kinds[i],
            )
        )
        for i in range(3)
    ]
    hinges = [
        system.add(
            mbd.Revolute(
                f"hinge {i}", bodies[i], bodies[i + 1], at=(i + 0.5, 0, 0), axis=(0, 1, 0.3)
            )
        )
        for i in range(2)
    ]
    point = system.add(mbd.PointMass("point", mass=0.3, position=(0, 1, 0), velocity=(0.1, 0, 0.3)))
    system.add(
        mbd.Spring(
            "length", bodies[0], bodies[2], at=(0, 0, 0.4), to=(2, 0.3, 0.2),
            stiffness=50.0, length=1.5, damping=damping,
        )
    )  # fmt: skip
    system.add(mbd.RotationalSpring("angle", hinges[0], stiffness=3.0, angle=0.4))
    system.add(
        mbd.Bushing("bushing", bodies[1], bodies[2], at=(1.5, 0, 0), stiffness=(1, 2, 3, 1, 2, 3))
    )
    system.add(mbd.Spring("string", bodies[0], point, stiffness=20.0, length=0.8))
    return system


@pytest.mark.parametrize("step", [2e-2, 5e-3])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_energy_and_momenta_of_a_floating_system_with_joints_and_springs(kinds, step):
    system = floating(kinds=kinds)
    solution = mbd.simulate(system, 20.0, step, method=mbd.EnergyMomentum(), project=True)
    total = solution.energy.total
    exchanged = np.ptp(solution.energy.kinetic)
    assert exchanged > 1.0  # J: the springs do work, energy goes to and fro
    assert np.ptp(total) < 1e-11 * abs(total[0])
    assert np.ptp(solution.momentum.linear, axis=0).max() < 1e-12
    assert np.ptp(solution.momentum.angular, axis=0).max() < 1e-12
    assert solution.gap.max() < 1e-14


@pytest.mark.filterwarnings("ignore:steps of")  # phases drift in 1000 s; energy must not
@pytest.mark.parametrize("formulation", ["directors", "euler_parameters"])
def test_a_hundred_thousand_steps_of_a_pendulum(formulation):
    system = scenes.chain(2, (formulation,), inertia=(1e-3, 0.08, 0.08))
    solution = mbd.simulate(system, 1000.0, 1e-2, method=mbd.EnergyMomentum(), every=50)
    assert solution.stats["steps"] == 100_000
    assert np.ptp(solution.energy.total) < 1e-9  # J, of about 10 exchanged
    assert solution.gap.max() < 1e-14


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_what_a_damper_takes_is_lost_and_no_more(kinds):
    run = {"t_end": 3.0, "step": 5e-3, "method": mbd.EnergyMomentum(), "project": True}
    free, damped = (mbd.simulate(floating(c, kinds), **run) for c in (0.0, 0.5))
    assert np.all(np.diff(damped.energy.total) < 1e-12)
    assert damped.energy.total[-1] < free.energy.total[-1] - 0.1
    assert np.ptp(damped.momentum.angular, axis=0).max() < 1e-12


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_second_order_and_the_same_motion_as_generalized_alpha(kinds):
    def last(step, method):
        run = mbd.simulate(
            floating(0.0, kinds), 1.0, step, method=method, project=True, every=10_000
        )
        return np.concatenate([run[f"body {i}"].y[-1].ravel() for i in range(3)])

    steps = np.array([1e-2, 5e-3, 2.5e-3])
    fine = mbd.GeneralizedAlpha(rho=0.8, tol=1e-11, newton="full")
    a, b = last(1e-3, fine), last(5e-4, fine)
    exact = b + (b - a) / 3
    errors = [np.abs(last(h, mbd.EnergyMomentum()) - exact).max() for h in steps]
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 2.0) < 0.15


@pytest.mark.parametrize("formulation", ["directors", "euler_parameters"])
def test_published_standard_rotation_is_conserved(formulation):
    # a rigid body with J = [[3, -1/7, 0], [-1/7, 4, 0], [0, 0, 5]], omega = (6, -18, 0): its energy
    # is 717.428571... J and its spatial momentum J omega (Gebhardt and Romero 2020, initial values)
    J = np.array([[3, -1 / 7, 0], [-1 / 7, 4, 0], [0, 0, 5]])
    system, _ = with_body("body", inertia=J, angular_velocity=(6, -18, 0), formulation=formulation)
    solution = mbd.simulate(system, 5.0, 5e-3, method=mbd.EnergyMomentum())
    np.testing.assert_allclose(solution.energy.kinetic, 717.428571428571, rtol=1e-12)
    np.testing.assert_allclose(
        solution.momentum.angular, np.tile(J @ (6, -18, 0), (len(solution.t), 1)), atol=1e-10
    )


def test_other_coordinates_are_refused_with_a_reason():
    system, _ = with_body("spinner", inertia=(1, 1, 1))
    with pytest.raises(ValueError, match=r"'spinner' is carried by 'so3'.*formulation='directors'"):
        mbd.simulate(system, 1.0, 1e-2, method=mbd.EnergyMomentum())


def chain(formulation: str = "directors") -> mbd.System:
    """Three flat bars: their third directors have no inertia, nothing limits their rates."""
    system = scenes.chain(
        3, (formulation,), joint=lambda i: "Spherical" if i == 1 else "Revolute",
        axis=lambda i: (0.3 * i, 1, 0), inertia=(0.01, 0.08, 0.09),
    )  # fmt: skip
    end = system["bar 2"]
    system.add(mbd.Spring("sp", system.ground, end, at=(1, 1, 0), stiffness=20.0, length=1.0))
    return system


@pytest.mark.filterwarnings("ignore:steps of .* are too large:RuntimeWarning")
@pytest.mark.parametrize("formulation", ["directors", "euler_parameters"])
@pytest.mark.parametrize(("step", "iterations"), [(2e-2, 8), (6e-2, 25)])
def test_steps_that_turn_bodies_far_are_found(step, iterations, formulation):
    # up to 90 degrees in a step and more; many of those of 60 ms are taken in parts
    solution = mbd.simulate(chain(formulation), 20.0, step, method=mbd.EnergyMomentum())
    assert solution.stats["rejected"] > 0
    assert np.ptp(solution.energy.total) < 1e-10 * np.ptp(solution.energy.kinetic)
    assert solution.stats["iterations"] < iterations * solution.stats["steps"]
    assert solution.gap.max() < 1e-13


def test_a_failure_gives_advice_that_the_scheme_can_take():
    method = mbd.EnergyMomentum(max_iterations=2)
    with pytest.raises(mbd.SimulationError, match="Newton did not converge") as error:
        mbd.simulate(chain(), 1.0, 2e-2, method=method)
    assert "smaller step" in str(error.value)
    assert "rho" not in str(error.value)
