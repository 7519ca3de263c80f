"""Environments: one, many in rows of an array, and those of gymnasium and dm_env."""

import numpy as np
import pytest
from scenes import chain

import mbd

H = 2e-3
SEEN = ["rail.displacement", "rail.displacement_rate", "hinge.angle", "hinge.angle_rate"]


def cart_pole(angle=0.05):
    system = mbd.System(gravity=(0, 0, -9.81))
    cart = system.add(mbd.RigidBody("cart", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    at = (0.4 * np.sin(angle), 0, 0.4 * np.cos(angle))
    pole = system.add(mbd.RigidBody("pole", mass=0.5, inertia=(0.02, 0.02, 1e-3), position=at))
    rail = system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Motor("motor", rail, 0.0))
    return system


MODEL = cart_pole().build()


def environment(**options):
    return mbd.Environment(
        MODEL, H, ["motor.effort"], SEEN, reward=lambda y, u: 1.0 - y[0] ** 2 - 1e-4 * u[0] ** 2,
        done=lambda y: abs(y[0]) > 0.05, substeps=5, limits=(-20.0, 20.0), **options,
    )  # fmt: skip


def start(rng):
    return mbd.assemble_pose(
        MODEL, targets={"hinge.angle": rng.uniform(-0.1, 0.1), "rail.displacement": 0.0}
    )


def test_an_environment_is_a_stepper():
    """With the bits of its steps; actions are clipped, episodes end and begin anew."""
    one = environment(length=0.3)
    stepper = mbd.Stepper(MODEL, H, inputs=["motor.effort"], observe=SEEN)
    y, info = one.reset(seed=3)
    assert np.array_equal(y, stepper.y)
    assert not info
    for k in range(30):
        action = 30.0 * np.sin(0.9 * k)
        stepper["motor.effort"] = float(np.clip(action, -20, 20))
        stepper.step(5)
        y, reward, terminated, truncated, info = one.step([action])
        assert np.array_equal(y, stepper.y)
        assert reward == 1.0 - y[0] ** 2 - 1e-4 * stepper.u[0] ** 2
        assert terminated == (abs(y[0]) > 0.05)
        assert truncated == (k == 29)
    assert np.array_equal(one.reset()[0], mbd.Stepper(MODEL, H, observe=SEEN).y)


def test_many_are_as_many_alone():
    """The same bits in all rows, ended ones begin anew; a seed gives the same starts again."""
    many, alone = mbd.Environments(environment(), 3), [environment() for _ in range(3)]
    first = many.reset(seed=1)[0]
    for x in alone:
        x.reset()
    ended = 0
    for k in range(60):
        actions = 20.0 * np.sin(0.1 * k + np.arange(3.0))[:, None]
        y, rewards, ends, late, info = many.step(actions)
        for i, x in enumerate(alone):
            now, reward, end, _, _ = x.step(actions[i])
            assert (rewards[i], ends[i]) == (reward, end)
            assert np.array_equal(info["final_obs"][i] if end else y[i], now)
            if end:
                ended += 1
                assert np.array_equal(y[i], x.reset()[0])
        assert not late.any()
    assert ended
    random = mbd.Environments(environment(start=start), 4, starts=3)
    first = random.reset(seed=7)[0]
    assert len(np.unique(first[:, 2])) > 1
    random.step(np.zeros((4, 1)))
    assert np.array_equal(random.reset(seed=7)[0], first)


def test_contacts_are_met_in_all_rows():
    """A ball that is pushed hops and rolls, with dry friction: the bits of one alone."""
    system = mbd.System(gravity=(0, 0, -9.81))
    shape = mbd.Sphere(0.1)
    ball = mbd.RigidBody("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.12))
    ball = system.add(ball)
    system.add(
        mbd.Contact("floor", system.ground, ball, shape=shape, friction=0.5, restitution=0.5)
    )
    system.add(mbd.PointForce("push", ball, (0.0, 0.0, 0.0)))
    see = ["ball.position", "ball.angular_velocity"]
    one, alone = (mbd.Environment(system, H, ["push.force"], see, substeps=20) for _ in range(2))
    many = mbd.Environments(one, 2)
    many.reset()
    alone.reset()
    for k in range(25):
        push = [3.0 * (k > 12), 1.0, 0.0]
        y = many.step([push, [0.0, 0.0, 0.0]])[0]
        assert np.array_equal(y[0], alone.step(push)[0])
    assert y[0, 0] > 0.1
    assert abs(y[0, 2] - 0.1) < 1e-6


def test_a_step_that_fails_ends_an_episode_at_the_last_good_one():
    """In one environment and in a row among others, which go on."""
    options = {"reward": None, "limits": (-1e12, 1e12)}
    one = mbd.Environment(chain_with_moment(), 0.05, ["turn.moment"], ["bar 0.position"], **options)
    one.reset()
    one.stepper.run._may_divide = lambda: False  # that takes a while before it gives up
    calm, wild = [0.0, 0.0, 0.0], [1e11, 1e11, 1e11]
    y, _, terminated, _, info = one.step(wild)
    assert terminated
    assert "failed" in info
    assert np.isfinite(y).all()
    many = mbd.Environments(one, 2)
    y, _, ends, _, info = many.step([wild, calm])
    assert ends.tolist() == [True, False]
    assert list(info["failed"]) == [0]
    assert np.isfinite(y).all()


def chain_with_moment():
    system = chain(2)
    system.add(mbd.Moment("turn", next(iter(system.bodies.values())), (0.0, 0.0, 0.0)))
    return system


def test_what_environments_refuse():
    with pytest.raises(ValueError, match="inputs must name what an action sets"):
        mbd.Environment(MODEL, H, [], SEEN)
    with pytest.raises(ValueError, match="low below high"):
        mbd.Environment(MODEL, H, ["motor.effort"], SEEN, limits=(1.0, -1.0))
    one = environment()
    for action in ([np.nan], [1.0, 2.0], 3.0):
        with pytest.raises(ValueError, match="action must be"):
            one.step(action)
    with pytest.raises(TypeError, match="must be an Environment"):
        mbd.Environments(MODEL, 3)


@pytest.mark.filterwarnings("ignore")  # spaces without bounds are wide
def test_gymnasium_takes_it():
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    one = environment(start=start)
    checker.check_env(one.to_gymnasium(), skip_render_check=True)
    many = mbd.Environments(one, 4).to_gymnasium()
    y, _ = many.reset(seed=1)
    assert many.observation_space.contains(y)
    for _ in range(40):
        y, rewards, _, _, info = many.step(many.action_space.sample())
        assert many.observation_space.contains(y)
        assert rewards.shape == (4,)
    assert "final_obs" in info or y.shape == (4, 4)


def test_dm_env_takes_it():
    utils = pytest.importorskip("dm_env.test_utils")
    assert utils.EnvironmentTestMixin
    one = environment(length=0.05).to_dm_env()
    spec = one.action_spec()
    steps = [one.reset()] + [one.step(spec.generate_value()) for _ in range(6)]
    assert [x.step_type.name for x in steps] == ["FIRST", *["MID"] * 4, "LAST", "FIRST"]
    for x in steps:
        one.observation_spec().validate(x.observation)
