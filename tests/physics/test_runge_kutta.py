"""The explicit Lie-group Runge-Kutta method: order four on every group, rotations kept."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd

from .tools import published, scene

METHOD = mbd.LieRungeKutta4()
GROUPS = ["so3", "se3", "unified"]
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)


def middle_axis(formulation):
    system = mbd.System()
    system.add(
        mbd.RigidBody("body", mass=1.0, inertia=(5.2988, 1.1775, 4.3568),
                      angular_velocity_body=(0.01, 0, 100), formulation=formulation)
    )  # fmt: skip
    return system


@pytest.mark.parametrize("formulation", ["se3", "unified"])
def test_rates_of_the_example_of_the_paper(formulation):
    # body-fixed rates do not see the group: the errors are those of any method of the family
    exact = published("R03")["0.1"]
    rates, turns = [], []
    for h in STEPS:
        solution = mbd.simulate(middle_axis(formulation), 0.1, h, method=METHOD)
        body = solution["body"]
        rates.append(np.linalg.norm(body.angular_velocity_body[-1] - exact["Omega"]))
        turns.append(np.abs(body.rotation[-1] - exact["R"]).max())
        assert np.abs(np.linalg.det(body.rotation) - 1).max() < 2e-14
    assert np.allclose(rates, (1.47e-4, 9.76e-6, 6.28e-7, 3.98e-8), rtol=5e-3)
    for errors in (rates, turns):
        slope = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
        assert abs(slope - 4) < 0.1, errors
    assert turns[-1] < 1e-9


def test_rotations_stay_rotations_while_the_body_flips():
    solution = mbd.simulate(middle_axis("se3"), 1.0, 2.5e-4, method=METHOD)
    R = solution["body"].rotation
    assert np.abs(np.linalg.det(R) - 1).max() < 2e-14
    assert np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max() < 2e-14
    along = solution["body"].angular_velocity_body[:, 2] / 100
    assert along.max() > 0.99
    assert along.min() < -0.99


def coupled(formulations):
    """Eccentric bodies on springs, a follower force that depends on time, a mass point."""
    system = mbd.System(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(90017)
    last = system.ground
    for i, f in enumerate(formulations):
        body = mbd.RigidBody(
            f"body {i}", mass=1.0 + i, inertia=(0.3, 0.4, 0.5),
            center_of_mass=rng.normal(size=3) / 9, position=(i + 1.0, 0, 0),
            rotation=Rotation.from_rotvec(rng.normal(size=3)),
            velocity=rng.normal(size=3), angular_velocity=3 * rng.normal(size=3), formulation=f,
        )  # fmt: skip
        system.add(body)
        system.add(
            mbd.Bushing(f"bush {i}", last, body, at=(i + 0.5, 0, 0), stiffness=(90.0,) * 6,
                        damping=(0.5,) * 6)
        )  # fmt: skip
        last = body
    point = system.add(mbd.PointMass("point", mass=0.5, position=(0, 2, 0)))
    system.add(mbd.Spring("cord", point, last, stiffness=40.0, damping=0.3))
    system.add(
        mbd.PointForce(
            "jet", last, lambda t: (5 * np.sin(6 * t), 2.0, t), at=(2, 1, 0), follow=True
        )
    )
    return system


def end(system, h, method, t_end=0.4):
    solution = mbd.simulate(system, t_end, h, method=method, every=1_000_000)
    bodies = [solution[b] for b in system.bodies if b != "point"]
    return np.concatenate([np.concatenate([b.y[-1].ravel(), b.yd[-1].ravel()]) for b in bodies])


@pytest.mark.parametrize("formulations", [(f, f) for f in GROUPS] + [("so3", "unified")])
def test_order_four_with_springs_and_laws_of_time(formulations):
    system = coupled(formulations)
    exact = end(system, 1e-3 / 4, METHOD)
    errors = [np.abs(end(system, h, METHOD) - exact).max() for h in (8e-3, 4e-3, 2e-3)]
    slope = np.polyfit(np.log([8e-3, 4e-3, 2e-3]), np.log(errors), 1)[0]
    assert abs(slope - 4) < 0.2, errors
    # the limit is that of the implicit method
    sharp = mbd.GeneralizedAlpha(tol=1e-11, newton="full")
    a, b = (end(system, h, sharp) for h in (4e-4, 2e-4))
    assert np.allclose((4 * b - a) / 3, exact, rtol=0, atol=2e-6)
    assert np.abs(exact).max() > 1


def test_all_groups_tend_to_the_same_motion():
    ends = [end(coupled((f, f)), 5e-4, METHOD) for f in GROUPS]
    for other in ends[1:]:
        assert np.allclose(other, ends[0], rtol=0, atol=1e-8)


def test_mass_point_falls_exactly():
    system = mbd.System(gravity=(0, 0, -10.0))
    system.add(mbd.PointMass("m", mass=2.0, velocity=(1, 0, 3)))
    solution = mbd.simulate(system, 1.05, 0.1, method=METHOD)
    t = solution.t
    assert np.isclose(t[-1], 1.05, rtol=1e-15)
    exact = np.stack([t, 0 * t, 3 * t - 5 * t**2], 1)
    assert np.allclose(solution["m"].position, exact, rtol=0, atol=1e-14)
    assert np.allclose(solution.a, (0, 0, -10), rtol=0, atol=1e-13)


def test_a_run_goes_on_where_another_ended_and_keeps_every_few_steps():
    system = coupled(("se3", "so3"))
    whole = mbd.simulate(system, 0.2, 1e-3, method=METHOD)
    assert whole.stats["steps"] == 200
    assert 4 * 200 <= whole.stats["evaluations"] < 4 * 200 + 20
    some = mbd.simulate(system, 0.2, 1e-3, method=METHOD, every=7)
    assert np.array_equal(some.q[:-1], whole.q[:-1:7])
    assert np.array_equal(some.q[-1], whole.q[-1])
    first = mbd.simulate(system, 0.1, 1e-3, method=METHOD)
    second = mbd.simulate(system, 0.2, 1e-3, method=METHOD, state=first.state)
    assert np.allclose(second.q[-1], whole.q[-1], rtol=0, atol=1e-13)
    other = mbd.simulate(system, 0.2, 1e-3, state=first.state)
    assert np.allclose(other.q[-1], whole.q[-1], rtol=0, atol=1e-3)


def test_accelerations_are_those_of_the_recorded_instants():
    solution = mbd.simulate(coupled(("se3", "unified")), 0.05, 1e-3, method=METHOD)
    for i in (0, 20, 50):
        state = mbd.State(solution.t[i], solution.q[i], solution.v[i], solution.a[i],
                          solution.lam[i])  # fmt: skip
        again = mbd.consistent(solution.model, state)
        assert np.allclose(again.a, solution.a[i], rtol=0, atol=1e-10 * np.abs(again.a).max())


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match=r"cannot keep 3 constraint rows, the first is 'pin"):
        mbd.simulate(scene("heavy_top").build("se3"), 0.1, 1e-3, method=METHOD)
    with pytest.raises(ValueError, match="'body' is carried by 'directors'; .* so3, se3, unified"):
        mbd.simulate(middle_axis("directors"), 0.1, 1e-3, method=METHOD)


def test_a_step_that_is_too_large_ends_in_an_error_that_says_so():
    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1), formulation="se3"))
    system.add(mbd.Spring("s", system.ground, body, at=(0, 0, 1), stiffness=1e8, length=0.9))
    with pytest.raises(mbd.SimulationError, match=r"step failed at .*not a number at 'body\."):
        mbd.simulate(system, 10.0, 1e-2, method=METHOD)
