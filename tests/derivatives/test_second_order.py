"""Products of the second derivative of an objective: by hand, symmetric, what is refused."""

import numpy as np
import pytest

import mbd

NAMES = ["spring.stiffness", "mass.mass"]
SIZES = np.array([20.0, 1.3])
TIGHT = mbd.GeneralizedAlpha(tol=1e-13)
OBJECTIVE = mbd.Objective(
    terminal=lambda last: last["mass"].position[0],
    running=lambda run: run["mass"].velocity[:, 0] ** 2,
)


def oscillator():
    """A mass at a spring."""
    system = mbd.System()
    mass = system.add(mbd.PointMass("mass", mass=1.3, position=(1.0, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=20.0, length=0.7))
    return system


def test_columns_are_symmetric_and_those_of_differences():
    """Two columns; one of them by differences of order eight of the exact gradient."""
    columns = [
        list(mbd.hvp(OBJECTIVE, oscillator(), NAMES, unit, 0.5, 0.01, method=TIGHT).values())
        for unit in np.eye(2)
    ]
    pieces = mbd.hvp(
        OBJECTIVE, oscillator(), NAMES, [1, 0], 0.5, 0.01, method=TIGHT, every=20
    )  # fmt: skip
    assert list(pieces.values()) == pytest.approx(columns[0], rel=1e-8)
    H = np.array(columns) * np.outer(SIZES, SIZES)
    assert np.abs(H - H.T).max() < 1e-9 * np.abs(H).max()
    model, column = oscillator().build(), 0.0
    for k, w in {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}.items():
        for sign in (1, -1):
            other = model.with_values({"mass.mass": 1.3 * (1 + sign * k * 1e-2)})
            g = mbd.gradient(OBJECTIVE, other, NAMES, 0.5, 0.01, method=TIGHT)
            column = column + sign * w / 1e-2 * g.array
    assert np.abs(H[1] - column * SIZES).max() < 1e-9 * np.abs(H).max()


def test_the_frequency_of_an_oscillator_by_hand():
    """omega = sqrt(k/m): d2/dk2 = -omega/(4 k^2), d2/dk dm = -omega/(4 k m)."""
    k, mass = 20.0, 1.3
    system = mbd.System()
    body = system.add(mbd.RigidBody("mass", mass=mass, inertia=(1, 1, 1)))
    system.add(mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(
        mbd.Spring("spring", system.ground, body, at=(2, 0, 0), to=(0, 0, 0), stiffness=k, length=2)
    )
    omega = mbd.Objective(of=mbd.modes, terminal=lambda modes: modes.eigenvalues[0].imag)
    h = mbd.hvp(omega, system, NAMES, {"spring.stiffness": 1.0})
    w = np.sqrt(k / mass)
    exact = [-w / (4 * k**2), -w / (4 * k * mass)]
    assert list(h.values()) == pytest.approx(exact, rel=1e-7)


def test_a_thrown_ball_by_hand():
    """z = z_0 + v t + g t^2/2: J = z^2 has H = 2 dz dz^T; steps are exact."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, velocity=(0, 0, 3.0)))
    squared = mbd.Objective(terminal=lambda last: last["ball"].position[2] ** 2)
    names = ["gravity.z", "ball.velocity.z", "ball.mass"]
    h = mbd.hvp(squared, system, names, {"ball.velocity.z": 2.0}, 2.0, 0.1)
    assert list(h) == names
    assert np.allclose(list(h.values()), [2 * 2 * 2.0 * 2.0, 2 * 2 * 2.0 * 2.0, 0.0], atol=1e-7)
    assert not any(mbd.hvp(squared, system, names, [0, 0, 0], 2.0, 0.1).values())


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        ([1.0], "must be 2 numbers"), (3, "must be 2 numbers"), ("ab", "must be 2 numbers"),
        ({"mass": 1.0}, "none of the parameters"), ([1, np.nan], "direction of 'mass.mass'"),
        (["x", 1], "direction of 'spring.stiffness'"),
    ],
)  # fmt: skip
def test_what_is_no_direction(direction, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mbd.hvp(OBJECTIVE, oscillator(), NAMES, direction, 0.5, 0.01)
