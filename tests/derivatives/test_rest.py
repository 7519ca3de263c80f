"""Derivatives of equilibria and eigenvalues: known ones, and those of found equilibria."""

import numpy as np
import pytest

import mbd

WEIGHTS = {1: 2 / 3, 2: -1 / 12}
NOW = {"a.mass": 1.2, "k.stiffness": 60.0, "k.length": 0.7, "a.center_of_mass.x": 0.05}


def arms():
    """Two arms on parallel hinges, held by springs, one of them with a damper."""
    system = mbd.System(gravity=(0, 0, -9.81))
    a = system.add(
        mbd.RigidBody(
            "a", mass=1.2, inertia=(0.02, 0.1, 0.1), position=(0.5, 0, 0),
            center_of_mass=(0.05, 0, 0),
        )
    )  # fmt: skip
    b = system.add(mbd.RigidBody("b", mass=0.8, inertia=(0.03, 0.05, 0.05), position=(1.3, 0, 0)))
    system.add(mbd.Revolute("h", system.ground, a, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("h2", a, b, at=(1.0, 0, 0), axis=(0, 1, 0)))
    for name, body, x, k in (("k", b, 1.3, 60.0), ("k2", a, 0.5, 50.0)):
        system.add(
            mbd.Spring(name, system.ground, body, at=(x, 0, 1.0), to=(x, 0, 0), stiffness=k,
                       damping=0.5, length=0.7)
        )  # fmt: skip
    return system


def test_equilibria_and_eigenvalues_against_those_of_other_values():
    eq = mbd.equilibrium(arms())
    pose, motion = mbd.sensitivities(eq, list(NOW)), mbd.sensitivities(mbd.modes(eq), list(NOW))

    def numbers(x):
        return np.hstack([x["b"].position, x["h"].force, x["h2"].angle])

    for name, value in NOW.items():
        e, held, moved = 1e-3 * value, 0.0, 0.0
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                other = eq.model.with_values({name: value + sign * k * e})
                there = mbd.equilibrium(other, state=eq.state)
                held = held + sign * w / e * numbers(there)
                moved = moved + sign * w / e * mbd.modes(there).eigenvalues
        assert np.abs(numbers(pose[name]) - held).max() <= 1e-9 * np.abs(held).max()
        mine = motion[name].eigenvalues
        assert np.abs(mine - moved).max() <= 1e-9 * np.abs(moved).max()


def test_a_repeated_eigenvalue_has_a_set():
    """A mass between two pairs of springs of one stiffness: one of them changes."""
    k, mass = 40.0, 1.6
    system = mbd.System()
    point = system.add(mbd.PointMass("m", mass=mass))
    for i, axis in enumerate(np.eye(3)):
        system.add(
            mbd.Spring(f"k{i}", system.ground, point, at=5 * axis, to=(0, 0, 0), stiffness=k,
                       length=5.0)
        )  # fmt: skip
    modes = mbd.modes(system)
    d = mbd.sensitivities(modes, ["k0.stiffness", "m.mass"])
    omega = np.sqrt(k / mass)
    assert np.allclose(np.sort(d["k0.stiffness"].eigenvalues.imag), [0, 0, omega / (2 * k)])
    assert np.allclose(d["m.mass"].frequency, -omega / (2 * mass) / (2 * np.pi))


def test_a_weight_at_a_spring_sinks_by_what_is_known():
    """z = -L - m g/k."""
    system = mbd.System(gravity=(0, 0, -9.81))
    weight = system.add(mbd.PointMass("m", mass=2.0, position=(0, 0, -1.2)))
    system.add(
        mbd.Prismatic(
            "rail",
            system.ground,
            body := system.add(
                mbd.RigidBody("b", mass=0.5, inertia=(1, 1, 1), position=(0, 0, -1.2))
            ),
            at=(0, 0, 0),
            axis=(0, 0, 1),
        )
    )
    system.add(mbd.Spherical("tie", body, weight, at=(0, 0, -1.2)))
    system.add(mbd.Spring("k", system.ground, body, stiffness=300.0, length=1.0))
    d = mbd.sensitivities(mbd.equilibrium(system), ["k.stiffness", "k.length", "m.mass"])
    sinks = {name: d[name]["m"].position[2] for name in d}
    assert sinks["k.stiffness"] == pytest.approx(2.5 * 9.81 / 300.0**2, rel=1e-9)
    assert sinks["k.length"] == pytest.approx(-1.0, rel=1e-9)
    assert sinks["m.mass"] == pytest.approx(-9.81 / 300.0, rel=1e-9)
    assert d["m.mass"]["tie"].force[2] == pytest.approx(9.81, rel=1e-9)


def test_what_is_refused():
    free = mbd.System()
    free.add(mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(ValueError, match="free motions"):
        mbd.sensitivities(mbd.equilibrium(free), ["b.mass"])
    eq = mbd.equilibrium(arms())
    with pytest.raises(ValueError, match="step belongs to a run"):
        mbd.sensitivities(eq, ["a.mass"], step=0.1)
    half = mbd.equilibrium(arms(), load_factor=0.5)
    with pytest.raises(ValueError, match="load factor"):
        mbd.sensitivities(half, ["a.mass"])
