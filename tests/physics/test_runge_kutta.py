"""The explicit Lie-group Runge-Kutta methods: order four on every group, rotations kept."""

import numpy as np
import pytest
from charts import YAW
from scenes import with_body, with_point
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES

from .tools import published, scene

METHOD = mbd.LieRungeKutta4()
QUATERNION = mbd.LieRungeKutta4("quaternion")
COMPOSED = mbd.LieRungeKutta4("commutator_free")
GROUPS = ["so3", "se3", "unified"]
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)
FORMS = [
    mbd.EulerParameters("reduced", "B1"),
    mbd.EulerParameters("projected"),
    mbd.Scalable(velocities="u"),
]


def name(x):
    """Return the name of a formulation or method, for the titles of tests."""
    return x if isinstance(x, str) else getattr(x, "scheme", None) or x.name


def middle_axis(formulation):
    system, _ = with_body(
        "body", inertia=(5.2988, 1.1775, 4.3568), angular_velocity_body=(0.01, 0, 100),
        formulation=formulation,
    )  # fmt: skip
    return system


def errors_of_the_example(formulation, method):
    """Return the errors of the rates and of the rotation at 0.1 s; rotations stay rotations."""
    exact = published("R03")["0.1"]
    rates, turns = [], []
    for h in STEPS:
        solution = mbd.simulate(middle_axis(formulation), 0.1, h, method=method)
        body = solution["body"]
        rates.append(np.linalg.norm(body.angular_velocity_body[-1] - exact["Omega"]))
        turns.append(np.linalg.norm(body.rotation[-1] - exact["R"]))
        assert np.abs(np.linalg.det(body.rotation) - 1).max() < 2e-14
        if solution.model.n_lam:  # own rows hold by construction
            assert solution.gap.max() < 1e-15
    for errors in (rates, turns):
        slope = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
        assert abs(slope - 4) < 0.1, errors
    return rates, turns


@pytest.mark.parametrize(
    ("formulation", "method"),
    [*((f, METHOD) for f in GROUPS), *((f, QUATERNION) for f in (*NAMES, *FORMS))],
    ids=name,
)
def test_example_of_the_paper(formulation, method):
    """Errors of an independent program with the scheme of the paper, to the digits it printed."""
    rates, turns = errors_of_the_example(formulation, method)
    assert np.allclose(rates, (1.474e-4, 9.757e-6, 6.276e-7, 3.980e-8), rtol=2e-3)
    assert np.allclose(turns, (1.80e-6, 1.19e-7, 7.65e-9, 4.85e-10), rtol=5e-3)


def test_order_four_in_three_angles():
    """Of other constants: steps of angles depend on the axes that they are about."""
    errors_of_the_example(YAW, METHOD)


@pytest.mark.parametrize("formulation", GROUPS)
def test_example_of_the_paper_without_tangent_operators(formulation):
    """Another method of order four: of the same size, not the same numbers."""
    rates, turns = errors_of_the_example(formulation, COMPOSED)
    assert rates[-1] < 1e-6
    assert turns[-1] < 1e-8


@pytest.mark.parametrize(
    ("formulation", "method"),
    [("se3", METHOD), ("so3", METHOD), ("unified", QUATERNION), ("euler_parameters", QUATERNION),
     ("directors", QUATERNION)], ids=name,
)  # fmt: skip
def test_rotations_stay_rotations_while_the_body_flips(formulation, method):
    solution = mbd.simulate(middle_axis(formulation), 1.0, 2.5e-4, method=method)
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


COUPLED = [
    *((METHOD, (f, f)) for f in GROUPS), (METHOD, ("so3", "unified")), (COMPOSED, ("so3", "se3")),
    (QUATERNION, ("so3", "euler_parameters")), (QUATERNION, ("directors", "se3")),
    (QUATERNION, ("scalable", "unified")), (QUATERNION, tuple(FORMS[:2])),
]  # fmt: skip


@pytest.fixture(scope="module")
def limit():
    """What the implicit method tends to, up to 2e-6."""
    sharp = mbd.GeneralizedAlpha(tol=1e-11, newton="full")
    a, b = (end(coupled(("so3", "so3")), h, sharp) for h in (4e-4, 2e-4))
    return (4 * b - a) / 3


@pytest.mark.parametrize(("method", "formulations"), COUPLED)
def test_order_four_with_springs_and_laws_of_time(method, formulations, limit):
    system = coupled(formulations)
    exact = end(system, 1e-3 / 4, method)
    errors = [np.abs(end(system, h, method) - exact).max() for h in (8e-3, 4e-3, 2e-3)]
    slope = np.polyfit(np.log([8e-3, 4e-3, 2e-3]), np.log(errors), 1)[0]
    assert abs(slope - 4) < 0.2, errors
    assert np.allclose(exact, limit, rtol=0, atol=2e-6)
    assert np.abs(exact).max() > 1


def test_all_tend_to_the_same_motion():
    ends = [end(coupled(f), 5e-4, method) for method, f in COUPLED]
    for other in ends[1:]:
        assert np.allclose(other, ends[0], rtol=0, atol=1e-8)


def test_quaternions_move_every_formulation_alike():
    """The formulation gives the accelerations only: what differs is round-off, at any step."""
    ends = [end(coupled((f, f)), 8e-3, QUATERNION) for f in (*NAMES, *FORMS)]
    for other in ends[1:]:
        assert np.allclose(other, ends[0], rtol=0, atol=1e-11)


def test_quaternions_give_the_multipliers_of_each_form():
    """Zero in the projected form, four times the rotational energy in the reduced one."""
    for formulation in (mbd.EulerParameters("projected"), mbd.EulerParameters("reduced", "B1")):
        solution = mbd.simulate(middle_axis(formulation), 0.1, 1e-3, method=QUATERNION)
        w = solution["body"].angular_velocity_body
        four = 2 * np.einsum("ni,i,ni->n", w, np.array((5.2988, 1.1775, 4.3568)), w)
        wanted = four if "reduced" in formulation.name else 0 * four
        assert np.allclose(solution.lam[:, 0], wanted, rtol=0, atol=1e-12 * four.max())


@pytest.mark.parametrize("velocities", ["rates", "u"])
def test_a_body_that_breathes_is_free(velocities):
    """The virial theorem: the moment of inertia about the centre is a parabola of time."""
    system = mbd.System()
    inertia, w = np.array((0.7, 0.9, 1.1)), np.array((1.0, -2.0, 1.5))
    system.add(mbd.RigidBody("b", mass=1.0, inertia=inertia, angular_velocity_body=w,
                             formulation=mbd.Scalable(rigid=False, velocities=velocities))
               )  # fmt: skip
    exact = np.sqrt(1 + 4 * (0.5 * w @ (inertia * w)) * 2.0**2 / inertia.sum())
    for method in (METHOD, COMPOSED):
        errors = [
            abs(mbd.simulate(system, 2.0, h, method=method)["b"].scale[-1] - exact)
            for h in (0.04, 0.02, 0.01)
        ]
        slope = np.polyfit(np.log((4, 2, 1)), np.log(errors), 1)[0]
        assert abs(slope - 4) < 0.2, errors


@pytest.mark.parametrize("method", [METHOD, COMPOSED, QUATERNION], ids=name)
def test_mass_point_falls_exactly(method):
    system, _ = with_point("m", gravity=(0, 0, -10.0), mass=2.0, velocity=(1, 0, 3))
    solution = mbd.simulate(system, 1.05, 0.1, method=method)
    t = solution.t
    assert np.isclose(t[-1], 1.05, rtol=1e-15)
    exact = np.stack([t, 0 * t, 3 * t - 5 * t**2], 1)
    assert np.allclose(solution["m"].position, exact, rtol=0, atol=1e-14)
    assert np.allclose(solution.a, (0, 0, -10), rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("method", "formulations"),
    [(METHOD, ("se3", "so3")), (COMPOSED, ("se3", "so3")), (QUATERNION, ("so3", "directors"))],
)
def test_a_run_goes_on_where_another_ended_and_keeps_every_few_steps(method, formulations):
    system = coupled(formulations)
    whole = mbd.simulate(system, 0.2, 1e-3, method=method)
    assert whole.stats["steps"] == 200
    assert 4 * 200 <= whole.stats["evaluations"] < 4 * 200 + 20
    some = mbd.simulate(system, 0.2, 1e-3, method=method, every=7)
    assert np.array_equal(some.q[:-1], whole.q[:-1:7])
    assert np.array_equal(some.q[-1], whole.q[-1])
    first = mbd.simulate(system, 0.1, 1e-3, method=method)
    second = mbd.simulate(system, 0.2, 1e-3, method=method, state=first.state)
    assert np.allclose(second.q[-1], whole.q[-1], rtol=0, atol=1e-13)
    other = mbd.simulate(system, 0.2, 1e-3, state=first.state)
    assert np.allclose(other.q[-1], whole.q[-1], rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("method", "formulations"),
    [(METHOD, ("se3", "unified")), (METHOD, ("so3", "so3")), (QUATERNION, ("so3", "scalable"))],
)
def test_accelerations_are_those_of_the_recorded_instants(method, formulations):
    solution = mbd.simulate(coupled(formulations), 0.05, 1e-3, method=method)
    for i in (0, 20, 50):
        state = mbd.State(solution.t[i], solution.q[i], solution.v[i], solution.a[i],
                          solution.lam[i])  # fmt: skip
        again = mbd.consistent(solution.model, state)
        assert np.allclose(again.a, solution.a[i], rtol=0, atol=1e-10 * np.abs(again.a).max())
        assert np.allclose(again.lam, solution.lam[i], rtol=0, atol=1e-10 * np.abs(again.a).max())


def test_what_it_cannot_do_is_refused():
    for method in (METHOD, QUATERNION):
        with pytest.raises(ValueError, match=r"cannot keep 3 constraint rows, the first is 'pin"):
            mbd.simulate(scene("heavy_top").build("se3"), 0.1, 1e-3, method=method)
    with pytest.raises(ValueError, match=r"3 constraint rows, the first is 'pin"):
        mbd.simulate(scene("heavy_top").build("euler_parameters"), 0.1, 1e-3, method=QUATERNION)
    with pytest.raises(ValueError, match="'directors', .* so3, se3, unified.* scheme='quaternion'"):
        mbd.simulate(middle_axis("directors"), 0.1, 1e-3, method=METHOD)
    breathing = mbd.Scalable(rigid=False, velocities="u")
    with pytest.raises(ValueError, match=r"'body' is carried by 'scalable \(u, free\)'"):
        mbd.simulate(middle_axis(breathing), 0.1, 1e-3, method=QUATERNION)
    with pytest.raises(ValueError, match="scheme must be one of motion_vector, .*got 'rk4'"):
        mbd.LieRungeKutta4("rk4")


@pytest.mark.parametrize("method", [METHOD, COMPOSED, QUATERNION], ids=name)
def test_a_step_that_is_too_large_ends_in_an_error_that_says_so(method):
    system, body = with_body("body", inertia=(1, 1, 1), formulation="se3")
    system.add(mbd.Spring("s", system.ground, body, at=(0, 0, 1), stiffness=1e8, length=0.9))
    with pytest.raises(mbd.SimulationError, match=r"step failed at .*(not a number at )?'body\."):
        mbd.simulate(system, 10.0, 1e-2, method=method)
