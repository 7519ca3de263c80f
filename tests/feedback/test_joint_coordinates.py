"""Recursions over the tree of a model, loops, forces: against its own matrices, by pinocchio."""

import numpy as np
import pytest
from jointed import PATHS, tree
from scenes import four_bar, parallelograms, with_body, with_point
from test_joint_space import (
    BIAS,
    GRAVITY,
    JACOBIAN,
    MASS,
    QD,
    SECOND,
    TAU,
    TURNING,
    arm,
)

import mbd
from mbd.algebra.differences import fourth_order
from mbd.front.solution import solution_of

FORMULATIONS = ("so3", "se3", "directors", "euler_parameters")


def turned(system, seed, *, by=0.6):
    """Return the tree of a system with q somewhere else, v, a."""
    rng = np.random.default_rng(seed)
    there = mbd.JointCoordinates(system)
    n = len(there.labels)
    return there, there.add(there.q(), by * rng.normal(size=n)), *rng.normal(size=(2, n))


def agrees_with_the_model(there, q, v, *, driven=False):
    """State and coordinates, masses, energy and accelerations are those of the model.

    Its velocities are N v, so that M is N^T M N of its own matrix.
    """
    n, model = len(there.labels), there.model
    state = there.state(q, v)
    assert there.difference(q, there.q(state)) == pytest.approx(np.zeros(n), abs=1e-13)
    assert there.v(state) == pytest.approx(v, abs=1e-13)
    M, h = there.M_and_bias(q, v)
    seen = solution_of(model, [state])
    N = np.array([there.motion(q, x)[1] - there.motion(q, 0 * v)[1] for x in np.eye(n)]).T
    own = N.T @ model.assemble(state).M @ N
    assert own == pytest.approx(M, abs=1e-12 * np.abs(M).max())
    assert driven or 0.5 * v @ M @ v == pytest.approx(seen.energy.kinetic[0], rel=1e-13)
    a = there.forward(q, v, np.zeros(n))
    assert there.inverse(q, v, a) == pytest.approx(np.zeros(n), abs=1e-12 * np.abs(h).max())
    for name, node in model.nodes.items():
        motion = seen[name].acceleration[0]
        if node.formulation.axes:
            motion = np.hstack([motion, seen[name].angular_acceleration[0]])
        size = max(1.0, np.abs(motion).max())
        at_origin = there.point_acceleration(name, (0, 0, 0), q, v, a)[: len(motion)]
        assert at_origin == pytest.approx(motion, abs=1e-12 * size)
    return M, h


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_all_joints_move_as_the_model(seed):
    """What the rows, springs, loads and weights of a model do, in four formulations."""
    system = tree(seed, floating=seed % 2 == 0, formulations=(*FORMULATIONS[seed:], "so3"))
    agrees_with_the_model(*turned(system, seed)[:3])


def test_every_joint_with_a_path_is_in_the_family():
    used = {type(x).__name__ for seed in range(4) for x in tree(seed).joints.values()}
    assert used == set(PATHS)
    assert len(PATHS) == 10


@pytest.mark.parametrize("cells", [1, 3])
def test_loops_with_redundant_rows(cells):
    """Parallelograms in a row, five rows for each of which three are redundant."""
    there, q, v, _ = turned(parallelograms(cells), cells, by=0.2)
    assert len(there.labels) == 1
    agrees_with_the_model(there, q, v)


def looped(what):
    """A tree with all that closes it: one joint, rod, drive, gear or rolling disc more."""
    system = tree(3, 5, floating=False, forces=True)
    bodies, rng = [*system.bodies.values()], np.random.default_rng(what)
    last = bodies[-1]
    match what:
        case 0:
            system.add(mbd.Distance("rod", system.ground, last, at=(3, 0, 0)))
        case 1:
            system.add(mbd.ConstantVelocity("homokinetic", bodies[0], last, at=last.position,
                                            axis=(0, 0, 1)))  # fmt: skip
        case 2:
            hinge = next(x for x in system.joints.values() if "angle" in x.coordinates)
            system.add(mbd.Drive("drive", hinge.angle, velocity=0.7))
        case 3:
            system.add(mbd.Spherical("ball", bodies[0], last, at=rng.normal(size=3)))
        case 5:
            system.add(mbd.NonTwisting("twist", last))
        case 6:
            system.add(mbd.BarMass("bar", bodies[0], last, mass=3.0, at=(0.1, 0.2, 0.3)))
            system.add(mbd.AddedMass("water", bodies[1], (10.0, 11.0, 12.0, 0.3, 0.4, 0.5)))
        case 4:
            system.add(mbd.PointInPlane("plane", system.ground, last, at=last.position,
                                        axis=(0.6, 0.0, 0.8)))  # fmt: skip
    return system


def along(f, h=3e-4):
    """Return the derivative of a function of how far one goes."""
    return fourth_order(lambda k: f(k * h)) / h


@pytest.mark.parametrize("what", range(7))
def test_loops_of_all_kinds_of_rows(what):
    """With the slopes of all that is asked, and how Jacobians change along the motion."""
    there, q, v, a = turned(looped(what), what, by=0.05)
    agrees_with_the_model(there, q, v, driven=what == 2)
    of_q, of_v, M = there.slopes(q, v, a)
    for j, d in enumerate(np.eye(len(v))[:2]):
        by_q = along(lambda s, d=d: there.inverse(there.add(q, s * d), v, a))
        assert of_q[:, j] == pytest.approx(by_q, abs=1e-10 * np.abs(of_q).max())
        by_v = along(lambda s, d=d: there.inverse(q, v + s * d, a))
        assert of_v[:, j] == pytest.approx(by_v, abs=1e-10 * max(1, np.abs(of_v).max()))
    assert pytest.approx(there.M(q), abs=1e-12 * np.abs(M).max()) == M
    asked = M @ a + there.bias(q, v)
    assert there.inverse(q, v, a) == pytest.approx(asked, abs=1e-12 * np.abs(asked).max())
    at, rates = ("b4", (0.1, -0.2, 0.3)), there.rates(q, v, a)[0]

    def moved(t):
        return there.close(there.add_all(q, t * rates), t=t)

    by_t = along(lambda t: there.jacobian(*at, moved(t), t=t))
    rate = there.jacobian_rate(*at, q, v)
    assert rate == pytest.approx(by_t, abs=1e-10 * max(1.0, np.abs(by_t).max()))


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_an_arm_has_the_numbers_of_pinocchio(formulation):
    there = mbd.JointCoordinates(arm(formulation))
    q, v = there.q(), there.v()
    assert v == pytest.approx(QD, abs=1e-14)
    assert there.M(q) == pytest.approx(np.array(MASS), abs=1e-13)
    assert there.bias(q, v) == pytest.approx(BIAS, abs=1e-12)
    assert there.gravity(q) == pytest.approx(GRAVITY, abs=1e-12)
    assert there.forward(q, v, TAU) == pytest.approx(SECOND, abs=1e-11)
    J = there.jacobian("b3", (0.3, 0.1, -0.05), q)
    assert pytest.approx(np.vstack([JACOBIAN, TURNING]), abs=1e-13) == J


@pytest.mark.parametrize("seed", [0, 3])
def test_slopes_and_the_regressor(seed):
    """By q and v against differences, floating and with all joints; Y pi is what inverse asks."""
    there, q, v, a = turned(tree(seed, floating=seed == 0, forces=seed == 3), seed)
    n = len(v)
    of_q, of_v, M = there.slopes(q, v, a)
    assert pytest.approx(there.M(q), abs=1e-13) == M
    scale = np.abs(of_q).max()
    for j, d in enumerate(np.eye(n)):
        by_q = along(lambda s, d=d: there.inverse(there.add(q, s * d), v, a))
        by_v = along(lambda s, d=d: there.inverse(q, v + s * d, a))
        assert of_q[:, j] == pytest.approx(by_q, abs=1e-10 * scale)
        assert of_v[:, j] == pytest.approx(by_v, abs=1e-10 * scale)
    still = there.inverse(q, np.zeros(n), np.zeros(n)) - there.gravity(q)
    forces = there.bias(q, v) - there.gravity(q) - there.coriolis(q, v)
    asked = there.regressor(q, v, a) @ there.inertial_parameters
    assert there.inverse(q, v, a) == pytest.approx(asked + forces, abs=1e-11)
    assert seed == 3 or still == pytest.approx(np.zeros(n), abs=1e-12)
    assert len(there.regressor_labels) == there.regressor(q, v, a).shape[1]


def test_points_and_momenta():
    """Jacobians with their rates, centre of mass and momenta, against differences."""
    there, q, v, a = turned(tree(2, formulations=("se3",)), 2)
    name, point = "b6", (0.1, -0.2, 0.3)

    def moving(f):
        return along(lambda s: f(there.add(q, s * v)))

    J, rate = there.jacobian(name, point, q), there.jacobian_rate(name, point, q, v)
    assert moving(lambda q: there.jacobian(name, point, q)) == pytest.approx(rate, abs=1e-10)
    both = there.point_acceleration(name, point, q, v, a)
    assert J @ a + rate @ v == pytest.approx(both, abs=1e-12)
    A = there.momentum_matrix(q)
    total = there.inertial_parameters[::10].sum()
    assert moving(there.center_of_mass) == pytest.approx(A[:3] @ v / total, abs=1e-10)
    seen = solution_of(there.model, [there.state(q, v)])
    assert A[:3] @ v == pytest.approx(seen.momentum.linear[0], abs=1e-12)


def test_compiled_functions_have_the_same_bits():
    there, q, v, a = turned(tree(1, floating=False), 1)
    n = len(v)
    for name, arguments, shape in (
        ("M", (q,), (n, n)), ("bias", (q, v), (n,)), ("forward", (q, v, a), (n,)),
    ):  # fmt: skip
        out = np.empty(shape)
        assert there.compiled(name)(*arguments, out) == 0
        assert np.array_equal(out, getattr(there, name)(*arguments))


def test_far_from_the_origin():
    """A thousand kilometres away nothing changes but the round-off of described places."""
    near, q, v, a = turned(tree(1, floating=False, forces=False), 1)
    far = mbd.JointCoordinates(tree(1, floating=False, forces=False, at=(1e6, -2e6, 1e6)))
    assert far.labels == near.labels
    there = near.inverse(q, v, a)
    assert far.inverse(q, v, a) == pytest.approx(there, abs=1e-7 * np.abs(there).max())


def test_angles_have_their_full_turns():
    """A spring about a hinge knows how often it was wound, and so does the state."""
    system, wheel = with_body("wheel", inertia=(0.1, 0.1, 0.2))
    hinge = mbd.Revolute("hinge", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1))
    system.add(mbd.JointSpring("spring", system.add(hinge), stiffness=2.0))
    there = system.build().joint_coordinates
    for angle in (7.0, -20.0, 0.5):
        assert there.bias([angle], [0.0]) == pytest.approx([2.0 * angle], rel=1e-13)
        state = there.state([angle], [0.3])
        assert there.q(state) == pytest.approx([angle], rel=1e-14)
        seen = solution_of(there.model, [state])
        assert seen["hinge"].angle == pytest.approx([angle], rel=1e-14)


def test_points_of_mass_and_chosen_coordinates():
    """A mass on a rod; of a four-bar each joint can be the one that describes it."""
    system, mass = with_point("mass", gravity=(0, 0, -9.81), mass=2.0, position=(0.3, 0.0, -0.4))
    system.add(mbd.Distance("rod", system.ground, mass, at=(0, 0, 0)))
    there, q, v, _ = turned(system, 0, by=0.1)
    assert len(there.labels) == 2
    agrees_with_the_model(there, q, v)
    for name in "ABCD":
        there = mbd.JointCoordinates(four_bar(), [f"{name}.angle"])
        assert there.labels == (f"{name}.angle",)
        agrees_with_the_model(there, there.q(), np.array([0.4]))


def test_what_is_refused_is_named():
    model = four_bar().build()
    there = model.joint_coordinates
    q = there.q()
    wrong = q.copy()
    wrong[0] += 0.1
    with pytest.raises(ValueError, match=r"q must close the loops.*tree.close"):
        there.M(wrong)
    with pytest.raises(ValueError, match=r"v must be 1 numbers, one for each of B.angle"):
        there.bias(q, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"q must be finite"):
        there.M(np.full(len(q), np.nan))
    with pytest.raises(ValueError, match=r"no coordinate 'A.angel' \(did you mean 'A.angle'"):
        mbd.JointCoordinates(model, ["A.angel"])
    with pytest.raises(ValueError, match=r"the system has 1 freedoms; .*A.angle"):
        mbd.JointCoordinates(model, ["A.angle", "B.angle"])
    free, _ = with_body("free", inertia=(1, 1, 1))
    with pytest.raises(ValueError, match=r"quaternion of 'free.*' in q must not be zero"):
        mbd.JointCoordinates(free).M(np.zeros(7))
    for formulation, what in (
        (mbd.Scalable(rigid=False), "'b' breathes"), (mbd.S2(), "'b' does not spin"),
    ):  # fmt: skip
        system, _ = with_body("b", inertia=(1, 1, 1), formulation=formulation)
        with pytest.raises(ValueError, match=what):
            mbd.JointCoordinates(system)


@pytest.mark.parametrize("make", [lambda: tree(2), lambda: tree(1, floating=False), four_bar])
def test_a_stepper_goes_on_from_coordinates(make):
    """Set after some steps it takes those of a run that begins there; a snapshot goes back."""
    there, q, v, _ = turned(make(), 5, by=0.05)
    stepper, fresh = (mbd.Stepper(there.model, 1e-3, state=there.state(q, v)) for _ in range(2))
    stepper.step(3)
    before = stepper.snapshot()
    stepper.set(q, v)
    assert stepper.state.a == pytest.approx(fresh.state.a, abs=1e-9)
    for x in (stepper, fresh):
        x.step(5)
    assert there.v(stepper.state) == pytest.approx(there.v(fresh.state), abs=1e-8)
    stepper.restore(before)
    assert stepper.t == pytest.approx(3e-3)
