"""Rows, potentials and gauges from functions, against numbers that are known from elsewhere."""

import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numba
import numpy as np
import pytest
from scenes import with_body, with_point

import mbd

g = 9.81


def hung(make, method=None):
    """Return the run of a spherical pendulum."""
    system = mbd.System(gravity=(0, 0, -g))
    ball = system.add(mbd.PointMass("ball", mass=0.7, position=(0.6, 0, -0.8), velocity=(0, 2, 0)))
    system.add(make(system, ball))
    return mbd.simulate(system, t_end=1.0, step=5e-3, method=method)


@pytest.mark.parametrize(
    "method",
    [
        *(mbd.GeneralizedAlpha(constraints=x) for x in ("position", "velocity", "stabilized")),
        mbd.RadauCollocation(), mbd.EnergyMomentum(),
    ],
    ids=str,
)  # fmt: skip
def test_a_row_of_the_distance_is_the_joint(method):
    one = hung(lambda s, b: mbd.Distance("rod", s.ground, b), method)
    two = hung(lambda s, b: mbd.Row("rod", lambda p: (p @ p - 1) / 2, on=[b], unit="m^2"), method)
    np.testing.assert_allclose(two["ball"].position, one["ball"].position, atol=1e-12)
    np.testing.assert_allclose(two["rod"].load, -one["rod"].multipliers[:, 0], atol=1e-8)
    assert np.ptp(two.energy.balance) < (1e-11 if type(method) is mbd.EnergyMomentum else 1e-2)


@pytest.mark.parametrize("theta", [0.1, 2.9])
def test_huygens_pendulum_takes_the_same_time_for_all_swings(theta):
    """On a cycloid of a circle of radius R the period is 4 pi sqrt(R/g); the angle is a body."""
    R = 0.2
    system = mbd.System(gravity=(0, 0, -g))
    at = (R * (theta + math.sin(theta)), 0, R * (1 - math.cos(theta)))
    bead = system.add(mbd.PointMass("bead", mass=1.0, position=at))
    angle = system.add(mbd.PointMass("angle", mass=1e-10, position=(theta, 0, 0)))
    system.add(mbd.PointOnLine("dial", system.ground, angle, at=(theta, 0, 0), axis="x"))
    system.add(mbd.PointInPlane("wall", system.ground, bead, at=at, axis="y"))
    system.add(mbd.Row("x", lambda p, q: p[0] - R * (q[0] + np.sin(q[0])), on=[bead, angle]))
    system.add(mbd.Row("z", lambda p, q: p[2] - R * (1 - np.cos(q[0])), on=[bead, angle]))
    T = 4 * math.pi * math.sqrt(R / g)
    solution = mbd.simulate(system, T, T / 200, method=mbd.RadauCollocation())
    np.testing.assert_allclose(solution["bead"].position[-1], at, atol=1e-8)
    np.testing.assert_allclose(solution["bead"].position[100], (-at[0], 0, at[2]), atol=1e-8)


@pytest.mark.parametrize("e", [0.0, 0.6, 0.9])
def test_a_planet_is_back_after_a_year(e):
    """V = -mu/r: period 2 pi sqrt(a^3/mu), speed at the perihelion sqrt(mu (1 + e)/(a (1 - e)))."""
    a, mu = 2.0, 3.0
    system = mbd.System()
    at, speed = (a * (1 - e), 0, 0), math.sqrt(mu / a * (1 + e) / (1 - e))
    planet = system.add(mbd.PointMass("planet", mass=1.0, position=at, velocity=(0, speed, 0)))
    attraction = mbd.Function(lambda p, mu: -mu / np.linalg.norm(p), mu=mu)
    system.add(mbd.Load("sun", attraction, on=[planet]))
    year = 2 * math.pi * math.sqrt(a**3 / mu)
    solution = mbd.simulate(system, year, rtol=1e-12, method=mbd.RadauCollocation())
    np.testing.assert_allclose(solution["planet"].position[-1], at, atol=1e-8)
    assert solution.energy.total == pytest.approx(-mu / (2 * a), rel=1e-10)
    far = mbd.simulate(system, year / 2, rtol=1e-12, method=mbd.RadauCollocation())
    np.testing.assert_allclose(far["planet"].position[-1], (-a * (1 + e), 0, 0), atol=1e-8)


@numba.njit
def height(x, y):
    return x * x + 2.0 * y * y


def test_a_small_bowl_swings_with_its_curvatures():
    """Of z = x^2 + 2 y^2 the bottom has the frequencies sqrt(2 g) and sqrt(4 g); g compiled."""
    system, bead = with_point("bead", gravity=(0, 0, -g), mass=0.3, position=(0, 0, 0))
    system.add(mbd.Row("bowl", lambda p: p[2] - height(p[0], p[1]), on=[bead]))
    omega = np.sort(mbd.modes(system).frequency) * 2 * math.pi
    np.testing.assert_allclose(omega, [math.sqrt(2 * g), math.sqrt(4 * g)], rtol=1e-9)


def test_quadratic_functions_are_conserved_and_others_refused():
    """The gradient in the middle of a step is the secant of quadratic functions alone."""
    system = mbd.System(gravity=(0, 0, -g))
    bead = system.add(mbd.PointMass("bead", mass=0.3, position=(1, 0, 1), velocity=(0, 2, 0)))
    system.add(mbd.Row("bowl", lambda p: p[2] - p[0] ** 2 - 2 * p[1] ** 2, on=[bead]))
    system.add(mbd.Load("well", lambda p: 3 * p[0] ** 2 + p[0] * p[1], on=[bead]))
    reach = system.add(mbd.Gauge("reach", lambda p: p[0] * p[2], on=[bead], unit="m^2"))
    system.add(mbd.JointSpring("spring", reach, stiffness=2.0))
    solution = mbd.simulate(system, 2.0, 1e-2, method=mbd.EnergyMomentum())
    assert np.ptp(solution.energy.total) < 1e-11
    for part in (
        mbd.Row("cubic", lambda p: p[2] - p[0] ** 3, on=[bead]),
        mbd.Load("quartic", lambda p: p[0] ** 4, on=[bead]),
    ):
        other = mbd.System()
        other.add(bead)
        other.add(part)
        with pytest.raises(ValueError, match=f"EnergyMomentum: '{part.name}' has a "):
            mbd.simulate(other, 0.1, 1e-2, method=mbd.EnergyMomentum())


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_a_surface_moves_with_its_body(formulation):
    """Two rows in the axes of a body are the joint of a point on a line of it."""

    def run(rows):
        system, disc = with_body(
            "disc", gravity=(0, 0, -g), mass=2.0, inertia=(0.2, 0.2, 0.4), velocity=(1, 0, 0),
            angular_velocity=(1, 2, 3), formulation=formulation,
        )  # fmt: skip
        bead = system.add(mbd.PointMass("bead", mass=0.3, position=(0.3, 0.2, 0.4),
                                        velocity=(1.2, 0.5, -0.5)))  # fmt: skip
        rod = disc.frame((0.3, 0.2, 0.0))
        if rows:
            for i, name in enumerate("xy"):
                system.add(mbd.Row(name, lambda p, q, i=i: q.local(p)[i], on=[bead, rod]))
        else:
            system.add(mbd.PointOnLine("rod", rod, bead.frame()))
        return mbd.simulate(system, 1.0, 1e-2)

    one, two = run(False), run(True)
    for name in ("bead", "disc"):
        np.testing.assert_allclose(two[name].position, one[name].position, atol=1e-9)


def test_a_gauge_is_a_coordinate():
    """Its history is the function over time; a drive, a stop and friction act along it."""
    system, ball = with_point("ball", mass=2.0, position=(3, 4, 0), velocity=(-1, 0, 0))
    reach = system.add(mbd.Gauge("reach", lambda p: (p @ p) ** 0.5, on=[ball]))
    system.add(mbd.Drive("winch", reach, position=lambda t: 5 - 0.6 * t + t**2))
    solution = mbd.simulate(system, 1.0, 1e-3)
    x, v = solution["ball"].position, solution["ball"].velocity
    r = np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(solution["reach"].value, r, atol=1e-13)
    np.testing.assert_allclose(solution["reach"].value_rate, (x * v).sum(1) / r, atol=1e-12)
    np.testing.assert_allclose(
        solution["reach"].value, 5 - 0.6 * solution.t + solution.t**2, atol=1e-9
    )
    force = np.sum(solution["winch"].reaction("ball").force * x, axis=1) / r
    np.testing.assert_allclose(force, solution["winch"].load, rtol=1e-9)
    spun = np.cross(x, v)[:, 2]  # the winch pulls to the origin
    np.testing.assert_allclose(spun, spun[0], rtol=1e-5)


def test_compliance_is_a_spring():
    """A point on a plane that gives way by C sinks by C m g."""
    system, ball = with_point("ball", gravity=(0, 0, -g), mass=2.0)
    system.add(mbd.Row("floor", lambda p: p[2], on=[ball], compliance=1e-4))
    for i, name in enumerate("xy"):
        system.add(mbd.Row(name, lambda p, i=i: p[i], on=[ball]))
    found = mbd.equilibrium(system)
    np.testing.assert_allclose(found["ball"].position, (0, 0, -2e-4 * g), atol=1e-12)


def test_where_the_row_is_not_met_the_run_begins_on_it():
    system, ball = with_point("ball", gravity=(0, 0, -g), mass=2.0, position=(1, 0, 0.3))
    system.add(mbd.Row("bowl", lambda p: p[2] - p[0] ** 2, on=[ball]))
    with pytest.raises(ValueError, match=r"'bowl.function' by -0.7 m; correct them"):
        mbd.simulate(system, 0.1, 1e-3)
    solution = mbd.simulate(system, 0.1, 1e-3, project=True)
    x = solution["ball"].position
    np.testing.assert_allclose(x[:, 2], x[:, 0] ** 2, atol=1e-9)


RIM, ABOVE = np.array([1, 0, 0.25]), np.array([0, 0, 2.0])


def rolled(place):
    """Return a ball in a bowl at a place, tied to another one that falls, from that place."""
    c = np.array(place)

    def bowl(p, c):
        x, y, z = p - c
        return z - 0.25 * (x * x + y * y)

    system, ball = with_point("ball", mass=2, position=c + RIM, velocity=(0, 1, 0))
    other = system.add(mbd.PointMass("other", mass=1.0, position=c + ABOVE))
    system.add(mbd.Row("bowl", mbd.Function(bowl, c=c), on=[ball]))
    system.add(mbd.Load("pull", lambda p, q: 2 * (p - q)[2] + (p - q) @ (p - q), on=[ball, other]))
    height = system.add(mbd.Gauge("height", mbd.Function(lambda p, h: p[2] - h, h=c[2]), on=[ball]))
    system.add(mbd.JointSpring("spring", height, stiffness=3.0))
    solution = mbd.simulate(system, 1.0, 1e-2)
    x, y, z = (solution["ball"].position - c).T
    np.testing.assert_allclose(z, 0.25 * (x * x + y * y), atol=1e-8)
    np.testing.assert_allclose(solution["height"].value, z, atol=1e-8)
    return np.array((x, y, z))


@pytest.mark.parametrize("place", [(2048.0, 0.0, -3072.0), (-7.0e5, 2.0**20, 4096.0)])
def test_far_from_the_origin_functions_are_those_of_inertial_positions(place):
    """But for the round-off of positions there, which a row makes a force of its size over h^2."""
    tolerance = 1e-9 + np.spacing(np.abs(place).max()) / 1e-2**2
    np.testing.assert_allclose(rolled(place), rolled((0.0, 0.0, 0.0)), atol=tolerance)


# --- numbers that vary, other processes -----------------------------------------------------------
def sloping(a):
    """Return a ball on a slope, z = a x."""
    system, ball = with_point("ball", gravity=(0, 0, -g), mass=2.0)
    plane = mbd.Function(lambda p, a: p[2] - a * p[0], a=a)
    system.add(mbd.Row("plane", plane, on=[ball]))
    system.add(mbd.Row("wall", lambda p: p[1], on=[ball]))
    return system


def test_parameters_vary_in_studies_and_derivatives():
    """It slides by x = -g t^2/2 a/(1 + a^2)."""

    def x(a):
        return -g / 2 * a / (1 + a * a)

    system = sloping(mbd.Parameter("a", 0.5))
    table = mbd.study(system, {"a": [0.3, 0.5, 0.8]}, t_end=1.0, step=1e-2,
                      outputs=[("ball.position", "final")])  # fmt: skip
    final = np.asarray(table["ball.position final"])[:, 0]
    np.testing.assert_allclose(final, [x(0.3), x(0.5), x(0.8)], rtol=1e-9)
    run = mbd.sensitivities(system, ["a"], t_end=1.0, step=1e-2)
    dx = (x(0.5 + 1e-6) - x(0.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(run["a"]["ball"].position[-1, 0], dx, rtol=1e-7)


@pytest.mark.slow
def test_other_processes_make_the_functions_again():
    system, options = sloping(mbd.Parameter("a", 0.5)), {"outputs": ["ball.position"]}
    one = mbd.study(system, {"a": [0.3, 0.8]}, t_end=0.1, step=1e-2, **options)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        two = mbd.study(system, {"a": [0.3, 0.8]}, t_end=0.1, step=1e-2, on=pool, **options)
    np.testing.assert_array_equal(one["ball.position"], two["ball.position"])


def test_equal_functions_are_one_measure():
    """In one process, after pickling, and whatever the numbers: nothing is compiled anew."""
    one, two = (sloping(a).forces["plane"].recording.measure for a in (0.5, 0.7))
    assert one is two
    ball = mbd.PointMass("ball", mass=1.0, position=(3, 4, 0))
    value = mbd.Gauge("reach", lambda p: (p @ p) ** 0.5, on=[ball]).value
    assert pickle.loads(pickle.dumps(value)).measure is value.measure


BALL = mbd.PointMass("ball", mass=1.0, position=(3, 4, 0))
GROUND = mbd.System().ground


@pytest.mark.parametrize(
    ("function", "on", "message"),
    [
        (lambda p: p, [BALL], "must return one number, .*, got 3 values"),
        (lambda p: None, [BALL], "must return one number, .*, got None"),
        (lambda p: 3.0, [BALL], "must return one number, .*, got 3.0"),
        (lambda p: p[0], [GROUND], "does not depend on any body of on="),
        (lambda p, q: p[0], [BALL], r"must take 1 argument, one for each of on=, got \(p, q\)"),
        (mbd.Function(lambda p: p[0], a=1.0), [BALL], "and the parameters a, got"),
        (lambda p: abs(p[0]), [BALL], "recorded once and must be smooth: it branches"),
        (lambda p: p[7], [BALL], "its function raised IndexError: index 7"),
        (lambda p: p.axes[0, 0], [BALL], "axes are those of .* no PointMass"),
        (lambda p: p[2] ** 2, [BALL], "gradient of its function must not be zero at the initial"),
        (lambda p: np.log(p[2] - 1), [BALL], r"must be finite .* not where .* are \[\[3.0"),
        (lambda p: p[2] ** 0.5, [BALL], r"must be finite at the initial pose"),
        (lambda p: p[2], ["ball"], "expected a body, system.ground or a Frame, got 'ball'"),
        (lambda p: p[2], [], "on must be bodies or Frames, got none"),
        (lambda p: p[2], [BALL.frame((0, 0, 1))], "ball' is a point"),
        (3.0, [BALL], "must be a function"),
    ],
)  # fmt: skip
def test_what_is_no_row_is_refused_by_name(function, on, message):
    with pytest.raises((TypeError, ValueError), match=f"bowl: .*{message}"):
        mbd.Row("bowl", function, on=on)
