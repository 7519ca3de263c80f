"""Rolling without slip and the skate: published and closed-form motions, contact forces."""

import numpy as np
import pytest

import mbd

from .tools import RIGID, SHARP, converge, ends, scene

G, R, M = 9.81, 0.05, 0.3


def steady(alpha, rho, formulation):
    """Return a disc on its steady circle, and the rate of precession (N01 of the reference set)."""
    A, C = M * R**2 / 4, M * R**2 / 2
    s, c = np.sin(alpha), np.cos(alpha)
    square = (
        G
        * M
        * R**2
        * np.tan(alpha)
        / (A * R * s - C * R * s + C * rho - M * R**3 * s + M * R**2 * rho)
    )
    rate = np.sqrt(square)
    # at the lowest point of the circle's tangent plane: contact at (rho, 0, 0), centre leans in
    axle = np.array([c, 0, s])
    up = np.array([-s, 0, c])
    contact = np.array([rho, 0, 0])
    omega = np.array([0, 0, rate]) - rate * rho / R * axle
    J = A * np.eye(3) + (C - A) * np.outer(axle, axle)
    system = mbd.System(gravity=(0, 0, -G))
    centre = contact + R * up
    disc = system.add(
        mbd.RigidBody("disc", mass=M, inertia=J, position=centre,
                      velocity=np.cross(omega, R * up), angular_velocity=omega,
                      formulation=formulation)
    )  # fmt: skip
    system.add(mbd.RollingDisc("roll", system.ground, disc, radius=R, axis=axle))
    return system, rate, centre, omega


@pytest.mark.parametrize("formulation", RIGID)
@pytest.mark.parametrize(
    ("alpha", "rho", "published"),
    [(10, 0.5, 1.52977825441429), (20, 0.25, 3.17758173627699), (45, 0.1, 9.62896731109544)],
)
def test_disc_on_a_steady_circle(alpha, rho, published, formulation):
    """Centre and angular velocity turn about the vertical at the rate of precession."""
    system, rate, centre, omega = steady(np.radians(alpha), rho, formulation)
    assert np.isclose(rate, published, rtol=1e-13)
    solution = mbd.simulate(system, 1e-5, 1e-5)
    turn = np.array([0, 0, rate])
    inward = np.cross(turn, np.cross(turn, centre))
    size = np.abs(inward).max()
    assert np.allclose(solution["disc"].acceleration[0], inward, rtol=0, atol=1e-10 * size)
    change = np.cross(turn, omega)
    found = solution["disc"].angular_acceleration[0]
    assert np.allclose(found, change, rtol=0, atol=1e-10 * np.abs(change).max())
    force = M * (inward + np.array([0, 0, G]))
    assert np.allclose(solution["roll"].force[0], force, rtol=0, atol=1e-10 * np.abs(force).max())


def test_disc_general_motion_to_the_limit():
    module = scene("rolling_disc")
    at = {words: value for words, t, value, *_ in module.REFERENCE if t == 0.5}
    exact = {
        "position": at["disc.position"], "omega": at["disc.angular_velocity"],
        "force": at["roll.force"],
    }  # fmt: skip
    run = ends(module.build(), 0.5, position="disc.position", omega="disc.angular_velocity",
               force="roll.force")  # fmt: skip
    converge(run, exact, step=2e-3, tolerance={"position": 1e-8, "omega": 2e-7, "force": 1e-6},
             noise=1e-9, coarse=("force",))  # fmt: skip


@pytest.mark.parametrize("formulation", RIGID)
def test_contact_does_no_work(formulation):
    solution = mbd.simulate(scene("rolling_disc").build(formulation), 0.1, 2e-4)
    total = solution.energy.total
    assert np.ptp(total) < 1e-4 * np.ptp(solution.energy.kinetic)
    assert np.ptp(solution.energy.kinetic) > 1e-3
    disc = solution["disc"]
    contact = disc.position.copy()
    axle = disc.rotation @ (disc.rotation[0].T @ (np.cos(0.3), 0, np.sin(0.3)))
    up = np.array([0, 0, 1]) - axle[:, 2:] * axle
    contact -= R * up / np.linalg.norm(up, axis=1)[:, None]
    assert np.abs(contact[:, 2]).max() < 1e-9
    slip = disc.velocity + np.cross(disc.angular_velocity, contact - disc.position)
    assert np.abs(slip).max() < 2e-4  # along the normal: of position rows, second order
    assert np.abs(slip[:, :2]).max() < 1e-6


def test_ball_on_a_turntable_to_the_limit():
    exact = {
        "position": (-0.084581437862469, 0.47975277606631, 0.1),
        "velocity": (-0.31121666519969, 0.056073053260741, 0.0),
    }
    run = ends(scene("ball_on_turntable").build(), 2.0, position="ball.position",
               velocity="ball.velocity")  # fmt: skip
    converge(run, exact, step=2e-2, tolerance=1e-9)


def test_ball_pushes_the_table_as_the_table_pushes_it():
    solution = mbd.simulate(scene("ball_on_turntable").build(), 0.5, 5e-3, method=SHARP)
    roll, ball = solution["roll"], solution["ball"]
    weight = np.array([0, 0, 9.81])
    assert np.allclose(roll.force, ball.acceleration + weight, rtol=0, atol=1e-8)
    assert np.allclose(roll.reaction("first").force, -roll.force, rtol=0, atol=1e-12)
    # the motor holds the speed against the moment of the force on the table
    arm = np.cross(ball.position - (0, 0, 0.1), -roll.force)[:, 2]
    assert np.allclose(solution["motor"].load, -arm, rtol=0, atol=1e-8)
    assert np.abs(arm).max() > 1e-2


def test_skate_to_the_limit():
    def run(h):
        skate = mbd.simulate(scene("skate").build(), 1.0, h, method=SHARP)["skate"]
        return {"position": skate.position[-1], "speed": np.linalg.norm(skate.velocity[-1])}

    exact = {"position": (0.39482745850717, 1.1357442535666, 0), "speed": 1.736846258921}
    converge(run, exact, step=1e-2, tolerance=1e-9)


@pytest.mark.parametrize("formulation", RIGID)
def test_wheel_rolls_down_a_slope_of_a_moving_wedge(formulation):
    """A disc on a wedge that slides: both accelerations in closed form."""
    slope, M_w = 0.4, 2.0
    system = mbd.System(gravity=(0, 0, -G))
    wedge = system.add(mbd.RigidBody("wedge", mass=M_w, inertia=(1, 1, 1), formulation="so3"))
    rail = mbd.Prismatic("rail", system.ground, wedge, at=(0, 0, 0), axis=(1, 0, 0))
    system.add(rail)
    n = np.array([np.sin(slope), 0, np.cos(slope)])
    wheel = system.add(
        mbd.RigidBody("wheel", mass=M, inertia=M * R**2 * np.array([0.25, 0.5, 0.25]),
                      position=R * n, formulation=formulation)
    )  # fmt: skip
    system.add(mbd.RollingDisc("roll", wedge, wheel, radius=R, axis=(0, 1, 0), normal=n))
    solution = mbd.simulate(system, 1e-5, 1e-5)
    # unknowns X'' of the wedge and s'' down the slope: Lagrange
    c, s = np.cos(slope), np.sin(slope)
    a = np.linalg.solve([[M_w + M, M * c], [M * c, 1.5 * M]], [0, M * G * s])
    assert np.isclose(solution["rail"].displacement_second_rate[0], a[0], rtol=1e-11)
    expected = np.array([a[0], 0, 0]) + a[1] * np.array([c, 0, -s])
    assert np.allclose(solution["wheel"].acceleration[0], expected, rtol=0, atol=1e-10)
