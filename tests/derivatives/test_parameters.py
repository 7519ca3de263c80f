"""Parameters are numbers: in arithmetic, in arguments, in laws, in files."""

import pickle

import numpy as np
import pytest

import mbd
from mbd.base.parameter import evaluated


def test_formulas_compute_and_are_made_again_with_other_values():
    a, b = mbd.Parameter("a", 3.0), mbd.Parameter("b", 0.5)
    x = np.sqrt(a) * (1 - b) ** 2 / -a + 2**b
    assert x.value == pytest.approx(np.sqrt(3.0) * 0.25 / -3.0 + np.sqrt(2.0), rel=1e-15)
    other = x.with_values({"a": 4.0})
    assert other.value == pytest.approx(2.0 * 0.25 / -4.0 + np.sqrt(2.0), rel=1e-15)
    assert set(other.parameters) == {"a", "b"}
    assert x.with_values({"c": 1.0}) is x
    assert a > b
    assert a != b
    row = np.array([1.0, 0.0, 2.0]) * a
    assert evaluated(row).tolist() == [3.0, 0.0, 6.0]
    assert pickle.loads(pickle.dumps(x)).value == x.value


def tied(stiffness, mass):
    """Return a mass at two springs, one of them a law, and what they share as parameters."""
    k, m = mbd.Parameter("k", stiffness), mbd.Parameter("m", mass)
    system = mbd.System(gravity=(0, 0, -9.81 * m / m))
    ball = system.add(mbd.PointMass("ball", mass=m, position=(0, 0, -m / 2)))
    law = mbd.Expression("k*(u - 0.5) + c*rate", k=k, c=0.3)
    system.add(mbd.Spring("law", system.ground, ball, law=law))
    system.add(mbd.Spring("spring", system.ground, ball, at=(1, 0, 0), stiffness=k / m, length=1.0))
    return system


def test_arguments_and_laws_share_them():
    """Another value is another description, and derivatives see all places at once."""
    model = tied(30.0, 2.0).build().with_values({"k": 40.0, "m": 3.0})
    fresh = tied(40.0, 3.0).build()
    assert np.array_equal(model.state.q, fresh.state.q)
    assert np.array_equal(model.assemble().residual, fresh.assemble().residual)
    s = mbd.sensitivities(tied(30.0, 2.0), t_end=0.1, step=0.01)
    for name, e in (("k", (1e-2, 0.0)), ("m", (0.0, 1e-3))):
        runs = [
            mbd.simulate(tied(30.0 + sign * e[0], 2.0 + sign * e[1]), 0.1, 0.01)["ball"].position
            for sign in (1, -1)
        ]
        quotient = (runs[0] - runs[1]) / (2 * max(e))
        assert np.abs(s[name]["ball"].position - quotient).max() < 1e-6 * np.abs(quotient).max()


def test_files_hold_them(tmp_path):
    system = tied(30.0, 2.0)
    text = mbd.write(system, tmp_path / "tied.toml").read_text()
    assert "k * (u - 0.5) + 0.3 * rate" in text
    again = mbd.read(tmp_path / "tied.toml").system.build()
    for values in ({}, {"k": 20.0, "m": 1.0}):
        one, two = (x.with_values(values).assemble() for x in (again, system.build()))
        assert np.array_equal(one.residual, two.residual)


def test_names_of_components():
    """Of vectors, of tensors; the others stay, also those that are formulas."""
    m = mbd.Parameter("m", 2.0)
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.RigidBody("rod", mass=m, inertia=((m, 0.1, 0), (0.1, m, 0), (0, 0, m))))
    model = system.build()
    other = model.with_values({"rod.inertia.xy": 0.2, "rod.velocity.z": 1.5, "m": 3.0})
    assert np.array_equal(other.nodes["rod"].inertia, [[3, 0.2, 0], [0.2, 3, 0], [0, 0, 3]])
    assert np.array_equal(other.state.v[:3], [0, 0, 1.5])
    for name, message in (
        ("rod.inertia.xw", "no component"), ("rod.velocity.3", "no component"),
        ("rod.mass.x", "as a whole"), ("rod.velocity.x.y", "as a whole"), ("n", "no argument"),
        ("rdo.mass", "did you mean 'rod'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.with_values({name: 1.0})


@pytest.mark.parametrize("tiny", [3e-18, -6e-17])
def test_a_value_that_is_round_off_of_zero_is_zero(tiny):
    """A step of a share of it would drown: derivatives are those at zero."""
    names = ["arm.position.y", "spring.stiffness", "arm.velocity.y", "tilt"]

    def rows(x):
        system = mbd.System(gravity=(0, 0, -9.81))
        tilt = mbd.Parameter("tilt", x)
        arm = system.add(mbd.PointMass("arm", mass=2.0, position=(x, x, x), velocity=(x, x, x)))
        other = system.add(
            mbd.PointMass("other", mass=3.0, position=(1, 0, -1), velocity=(0, 3, 0))
        )
        system.add(mbd.PointForce("pull", arm, (1.0 + tilt, tilt, 0.3)))
        system.add(mbd.Spring("spring", arm, other, stiffness=x, length=0.9))
        system.add(mbd.Spring("stiff", arm, other, stiffness=70.0, length=1.1))
        s = mbd.sensitivities(system, names, 0.2, 0.01)
        return np.array([s[name]["arm"].position[-1] for name in names])

    assert np.abs(rows(tiny) - rows(0.0)).max() < 1e-9
    assert rows(0.0)[2][1] == pytest.approx(0.2, rel=0.5)


def test_small_values_of_small_models_are_what_they_are():
    """A mass of 1e-27 kg is no round-off: that of another sign is refused."""
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=1e-27, position=(1e-9, 0, 0)))
    system.add(mbd.PointForce("pull", ball, (1e-27, 0, 0)))
    s = mbd.sensitivities(system, ["ball.mass"], 0.2, 0.01)
    assert s["ball.mass"]["ball"].position[-1, 0] == pytest.approx(-0.02 * 1e27, rel=1e-6)
