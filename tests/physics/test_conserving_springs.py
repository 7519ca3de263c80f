"""The energy-momentum scheme with nonlinear springs and stops: energy to the solver's tolerance.

Potentials are written out here, from the laws.
"""

import math

import numba
import numpy as np
import pytest

import mbd

# what is conserved is so at any step
pytestmark = pytest.mark.filterwarnings("ignore:steps of .* are too large:RuntimeWarning")


def cubic(u, rate, t):
    return 40 * (u - 1) + 300 * (u - 1) ** 3


def cubic_with_derivatives(u, rate, t):
    return 40 * (u - 1) + 300 * (u - 1) ** 3, 40 + 900 * (u - 1) ** 2, 0.0


def cubic_energy(u):
    return 20 * (u - 1) ** 2 + 75 * (u - 1) ** 4


def exponential(u, rate, t):
    return 12 * math.expm1(3 * (u - 1))


def exponential_energy(u):
    return 4 * np.expm1(3 * (u - 1)) - 12 * (u - 1)


def string(u, rate, t):
    return 80.0 * max(u - 1.05, 0.0)


def string_energy(u):
    return 40.0 * np.maximum(u - 1.05, 0.0) ** 2


def clutch(u, rate, t):
    return 5.0 if u > 1.0 else -5.0


def clutch_energy(u):
    return 5.0 * np.abs(u - 1.0)


def brick(name, x, formulation="directors", **motion):
    return mbd.RigidBody(
        name,
        mass=1.0 + x,
        inertia=(0.1, 0.12, 0.15),
        position=(x, 0, 0),
        formulation=formulation,
        **motion,
    )


def two(law):
    """Return two bodies in free flight, held together by a spring between eccentric points."""
    system = mbd.System()
    a = system.add(brick("a", 0, velocity=(0, 0.3, -0.2), angular_velocity=(0.4, 0, 1.0)))
    b = system.add(brick("b", 1.2, velocity=(0, -0.1, 0.5)))
    system.add(mbd.Spring("law", a, b, at=(0, 0.2, 0.1), to=(1.2, 0, 0.1), law=law))
    return system


def run(system, step, t_end=20.0):
    return mbd.simulate(
        system, t_end, step, method=mbd.EnergyMomentum(), project=True, progress=False
    )


def length(solution, system):
    spring = system.forces["law"]
    ends = [solution[f.body.name].at(f.position).position for f in (spring.A, spring.B)]
    return np.linalg.norm(ends[1] - ends[0], axis=1)


@pytest.mark.parametrize("step", [0.1, 0.02])
@pytest.mark.parametrize(("law", "energy"), [
    (cubic, cubic_energy),
    (numba.njit(cubic_with_derivatives), cubic_energy),
    (exponential, exponential_energy),
    (string, string_energy),
    (clutch, clutch_energy),
], ids=["cubic", "jitted", "exponential", "string", "clutch"])  # fmt: skip
def test_a_law_of_the_length_keeps_energy_and_momenta(law, energy, step):
    system = two(law)
    solution = run(system, step, 20.0 if law is not clutch else 2.0)
    stored, total = energy(length(solution, system)), solution.energy.total
    assert np.ptp(stored) > 0.2  # J: the spring works
    told = solution.energy.potential
    assert np.allclose(told - told[0], stored - stored[0], rtol=0, atol=1e-9 * np.ptp(stored))
    assert np.ptp(total) < (1e-11 if law is not clutch else 1e-8) * total[0]
    assert np.ptp(solution.momentum.linear, axis=0).max() < 1e-12
    assert np.ptp(solution.momentum.angular, axis=0).max() < 1e-12


def hinged(*add, kind="directors"):
    """Return a free body with an arm on a hinge; what acts on the hinge is added."""
    system = mbd.System()
    a = system.add(brick("a", 0, kind, angular_velocity=(0.3, 0, 0)))
    b = system.add(brick("b", 1.0, kind, angular_velocity=(0.3, 8.0, 0), velocity=(0, 0, -4)))
    hinge = system.add(mbd.Revolute("hinge", a, b, at=(0.5, 0, 0), axis=(0, 1, 0)))
    for part in add:
        system.add(part(hinge))
    return system


def quintic(u, rate, t):
    return 3 * u + 2 * u**5, 3 + 10 * u**4, 0.0


def quintic_energy(u):
    return 1.5 * u**2 + u**6 / 3


def depths(u):
    return 200.0 * (np.maximum(u - 0.4, 0.0) ** 2 + np.maximum(-0.3 - u, 0.0) ** 2)


ACTING = {
    "JointSpring": (lambda hinge: mbd.JointSpring("js", hinge.angle, law=quintic), quintic_energy),
    "RotationalSpring": (
        lambda hinge: mbd.RotationalSpring("rs", hinge, law=quintic),
        quintic_energy,
    ),
    "Motor": (lambda hinge: mbd.Motor("motor", hinge.angle, 0.7), lambda u: -0.7 * u),
    "Stop": (
        lambda hinge: mbd.Stop("stop", hinge.angle, lower=-0.3, upper=0.4, stiffness=400.0),
        depths,
    ),
    "Stop of a power": (
        lambda hinge: mbd.Stop(
            "soft", hinge.angle, lower=-0.3, upper=0.4, stiffness=400.0, exponent=1.5
        ),
        lambda u: 160.0 * (np.maximum(u - 0.4, 0.0) ** 2.5 + np.maximum(-0.3 - u, 0.0) ** 2.5),
    ),
}


@pytest.mark.parametrize(
    ("step", "kind"), [(0.05, "directors"), (0.01, "directors"), (0.05, "euler_parameters")]
)
@pytest.mark.parametrize("name", ACTING)
def test_what_acts_on_an_angle_keeps_energy_through_contact_too(name, step, kind):
    part, energy = ACTING[name]
    solution = run(hinged(part, kind=kind), step, 10.0)
    u = solution["hinge"].angle
    total = solution.energy.total
    if name == "Motor":  # its work is no potential energy
        total = total + energy(u)
    else:
        assert np.ptp(solution.energy.potential - energy(u)) < 1e-10 * np.ptp(energy(u))
        assert solution.energy.conservative
    assert np.ptp(energy(u)) > 1.0
    if name.startswith("Stop"):  # both stops are hit, again and again
        assert u.min() < -0.3
        assert u.max() > 0.4
        assert np.sum(np.diff(np.sign(np.diff(u))) != 0) > 10
    assert np.ptp(total) < 1e-11 * np.ptp(energy(u))
    assert np.ptp(solution.momentum.angular, axis=0).max() < 1e-12


def test_a_stop_with_dissipation_takes_energy_and_never_gives():
    def part(hinge):
        return mbd.Stop(
            "stop", hinge.angle, lower=-0.3, upper=0.4, stiffness=400.0, dissipation=0.3
        )

    solution = run(hinged(part), 0.01, 10.0)
    total = solution.energy.total
    assert np.ptp(solution.energy.potential - depths(solution["hinge"].angle)) < 1e-10
    assert np.diff(total).max() < 1e-12 * total[0]
    assert total[-1] < total[0] - 1.0  # J
    assert np.ptp(solution.momentum.angular, axis=0).max() < 1e-12


def test_the_step_is_of_second_order_with_a_law():
    def last(step, method):
        made = mbd.simulate(two(cubic_with_derivatives), 1.0, step, method=method, project=True)
        return np.concatenate([made[name].y[-1].ravel() for name in ("a", "b")])

    fine = mbd.GeneralizedAlpha(rho=0.8, tol=1e-11, newton="full")
    a, b = last(2e-3, fine), last(1e-3, fine)
    exact, steps = b + (b - a) / 3, np.array([2e-2, 1e-2, 5e-3])
    errors = [np.abs(last(h, mbd.EnergyMomentum()) - exact).max() for h in steps]
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 2.0) < 0.15


@pytest.mark.parametrize("kind", ["directors", "scalable"])
def test_newton_converges_quadratically_with_springs_and_rows(kind):
    """Few iterations at a coarse step: what the exact matrix is for."""
    solution = run(hinged(*(part for part, _ in ACTING.values() if part), kind=kind), 0.02, 4.0)
    assert solution.stats["iterations"] < 6.5 * solution.stats["steps"]
    assert solution.stats["rejected"] == 0
