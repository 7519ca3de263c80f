"""Equations of motion in joint coordinates: an arm by pinocchio, loops, points, what is refused."""

import numpy as np
import pytest
from scenes import four_bar
from scipy.spatial.transform import Rotation

import mbd
from mbd.front.solution import solution_of

# kind, place in the axes of the one before [m], mass [kg], centre of mass [m], inertia [kg m^2]
ARM = [
    ("z", (0.0, 0.0, 0.3), 3.0, (0.02, 0.01, 0.15), (0.05, 0.06, 0.03)),
    ("y", (0.1, 0.0, 0.4), 2.0, (0.25, 0.03, 0.0), (0.02, 0.09, 0.08)),
    ("y", (0.5, 0.05, 0.0), 1.4, (0.2, 0.0, 0.01), (0.01, 0.05, 0.045)),
    ("slide", (0.45, 0.0, 0.02), 0.6, (0.1, 0.02, 0.0), (0.003, 0.006, 0.005)),
]
Q, QD, TAU = (0.4, -0.7, 1.1, 0.12), (0.9, -0.5, 1.3, -0.35), (1.0, -2.0, 0.5, 3.0)
# pinocchio 4.1.0: crba, nonLinearEffects, computeGeneralizedGravity, aba, getFrameJacobian
# (LOCAL_WORLD_ALIGNED) of a point (0.3, 0.1, -0.05) of the last body
MASS = [
    [1.673980171065833, -0.030747800779754, 0.014991655014122, -0.038684561748121],
    [-0.030747800779754, 1.429243946173841, 0.54798197308692, 0.279362208018431],
    [0.014991655014122, 0.54798197308692, 0.38172, 0.012],
    [-0.038684561748121, 0.279362208018431, 0.012, 0.6],
]
BIAS = [-1.275594083988416, -18.258539891169768, -6.218764268369856, -3.079092118376729]
GRAVITY = [0.0, -17.51626272377728, -6.261609937886027, -2.292116362828718]
SECOND = [1.596893958355931, 7.773389612356612, 6.17532056252262, 6.49195354778034]
JACOBIAN = [
    [-0.633523271862822, -0.040818608500806, -0.3375005001815, 0.848353354673583],
    [1.113233577894311, -0.017257830872469, -0.142692922797476, 0.358678045449761],
    [0.0, -1.172061608155495, -0.789640514513251, -0.389418342308651],
]
TURNING = [
    [0.0, -0.389418342308651, -0.389418342308651, 0.0],
    [0.0, 0.921060994002885, 0.921060994002885, 0.0],
    [1.0, 0.0, 0.0, 0.0],
]
NAMES = ("h0.angle", "h1.angle", "h2.angle", "h3.displacement")


def arm(formulation="so3", loads=False):
    """The arm at the pose Q with the rates QD: places by hand, joint by joint."""
    system = mbd.System(gravity=(0, 0, -9.81))
    R, x, v, w, before = Rotation.identity(), np.zeros(3), np.zeros(3), np.zeros(3), system.ground
    for k, (kind, at, mass, center, inertia) in enumerate(ARM):
        arm_of = R.apply(at)
        v, x = v + np.cross(w, arm_of), x + arm_of
        if kind == "slide":
            axis, place = R.apply((1, 0, 0)), x
            way = axis * Q[k]
            x, v = x + way, v + np.cross(w, way) + axis * QD[k]
        else:
            axis, place = R.apply({"z": (0, 0, 1), "y": (0, 1, 0)}[kind]), x
            w, R = w + axis * QD[k], Rotation.from_rotvec(axis * Q[k]) * R
        body = system.add(
            mbd.RigidBody(
                f"b{k}", mass=mass, center_of_mass=center, inertia=inertia, position=x,
                rotation=R, velocity=v, angular_velocity=w, formulation=formulation,
            )
        )  # fmt: skip
        joint = mbd.Prismatic if kind == "slide" else mbd.Revolute
        joint = system.add(joint(f"h{k}", before, body, at=place, axis=axis))
        if loads:
            system.add(mbd.Motor(f"m{k}", joint, TAU[k]))
        before = body
    return system


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_an_arm_has_the_numbers_of_pinocchio(formulation):
    here = mbd.joint_space(arm(formulation))
    assert here.coordinates == NAMES
    assert here.rates == pytest.approx(QD, abs=1e-14)
    assert here.M == pytest.approx(np.array(MASS), abs=1e-13)
    assert here.bias == pytest.approx(BIAS, abs=1e-12)
    assert here.gravity == pytest.approx(GRAVITY, abs=1e-12)
    assert here.accelerations(TAU) == pytest.approx(SECOND, abs=1e-11)
    assert here.efforts(SECOND) == pytest.approx(TAU, abs=1e-11)
    assert here.jacobian("b3", (0.3, 0.1, -0.05)) == pytest.approx(np.array(JACOBIAN), abs=1e-13)
    assert here.angular_jacobian("b3") == pytest.approx(np.array(TURNING), abs=1e-13)


def test_motors_are_efforts():
    """What the arm does with motors in its joints, without pinocchio."""
    model = arm(loads=True).build()
    start = mbd.consistent(model)
    here = mbd.joint_space(model)
    assert here.accelerations(np.zeros(4)) == pytest.approx(SECOND, abs=1e-11)
    assert here.bias == pytest.approx(np.array(BIAS) - TAU, abs=1e-12)
    run = mbd.simulate(model, 1e-6, 1e-6, state=start)
    seen = [run[x.split(".")[0]] for x in NAMES]
    second = [
        getattr(x, f"{n.split('.')[1]}_second_rate")[0] for x, n in zip(seen, NAMES, strict=True)
    ]
    assert second == pytest.approx(SECOND, abs=1e-9)


def test_a_loop_in_each_of_its_coordinates():
    """Energy, accelerations and power of a load agree with the model, whatever coordinate."""
    model, body = four_bar().build(), "coupler"
    state = mbd.simulate(model, 0.2, 1e-3).state
    assert mbd.joint_space(model, state).coordinates[0] in {f"{x}.angle" for x in "ABCD"}
    state = mbd.consistent(model, state, project="velocities")
    seen = solution_of(model, [state])
    kinetic = seen.energy.kinetic[0]
    for name in "ABCD":
        here = mbd.joint_space(model, state, coordinates=f"{name}.angle")
        assert 0.5 * here.rates @ here.M @ here.rates == pytest.approx(kinetic, rel=1e-10)
        second = here.accelerations([0.0])
        assert second == pytest.approx(seen[name].angle_second_rate, rel=1e-8)
        speed = seen[body].velocity[0]
        assert here.jacobian(body) @ here.rates == pytest.approx(speed, abs=1e-10)
        assert here.effort((body, (1, 0, 0))) @ here.rates == pytest.approx(speed[0], abs=1e-10)


def hanging():
    """Two links that hang, a spring between ground and the second one."""
    system = mbd.System(gravity=(0, 0, -9.81))
    one = system.add(
        mbd.RigidBody("one", mass=1.2, inertia=(0.1, 0.1, 0.02), position=(0, 0, -0.3))
    )
    two = system.add(
        mbd.RigidBody("two", mass=0.7, inertia=(0.1, 0.12, 0.03), position=(0, 0, -0.9))
    )
    system.add(mbd.Revolute("a", system.ground, one, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("b", one, two, at=(0, 0, -0.6), axis=(0, 1, 0)))
    system.add(mbd.Spring("spring", system.ground, two, at=(0, 0, -2), to=(0, 0, -1.2),
                          stiffness=3.0, damping=0.4, length=0.8))  # fmt: skip
    return system


def test_linear_systems_in_joint_coordinates():
    """Rates of coordinates are states, M is that of the joint space, poles are the same."""
    inputs, outputs = ["a", "b"], ["two.position.x", "b.angle_rate"]
    linear = mbd.linearize(hanging(), inputs=inputs, outputs=outputs,
                           coordinates=["b.angle", "a.angle"])  # fmt: skip
    plain = mbd.linearize(hanging(), inputs=inputs, outputs=outputs)
    assert linear.states == ("b.angle", "a.angle", "b.angle_rate", "a.angle_rate")
    assert linear.A[:2] == pytest.approx(np.eye(4)[2:], abs=1e-12)
    here = mbd.joint_space(hanging(), coordinates=["b.angle", "a.angle"])
    assert linear.B[2:] == pytest.approx(np.linalg.inv(here.M)[:, ::-1], rel=1e-10)
    of_states = np.sort(np.linalg.eigvals(linear.A).imag)
    assert of_states == pytest.approx(np.sort(plain.poles.imag), rel=1e-9)
    for w in (0.3, 2.0):
        both = [x.C @ np.linalg.solve(1j * w * np.eye(4) - x.A, x.B) for x in (linear, plain)]
        assert both[0] == pytest.approx(both[1], rel=1e-9)
    for names, text in (
        (["a.angle"], r"4 states \(.*\) need 2 independent coordinates of joints, got a.angle"),
        (["a.angle", "a.angle"], "need 2 independent"),
        (["a.angle", "b.agle"], r"no coordinate 'b.agle' \(did you mean 'b.angle'"),
    ):
        with pytest.raises(ValueError, match=text):
            mbd.linearize(hanging(), coordinates=names)


def test_what_floats_has_a_rotation_vector():
    """Of a body by itself M is that of its mass, rates are what the description says."""
    system, turn = mbd.System(gravity=(0, 0, -9.81)), np.array((0.3, -0.2, 0.5))
    system.add(
        mbd.RigidBody("free", mass=2.0, inertia=(1, 1, 1), position=(1, 2, 3),
                      rotation=Rotation.from_rotvec(turn).as_matrix(), angular_velocity=(4, 5, 6))
    )  # fmt: skip
    wanted = [f"free.{x}.{y}" for x in ("angular_velocity", "velocity") for y in "xyz"]
    here = mbd.joint_space(system, coordinates=wanted)
    assert here.coordinates == tuple(wanted)
    assert here.positions == pytest.approx([*turn, 1, 2, 3], abs=1e-14)
    assert here.rates == pytest.approx([4, 5, 6, 0, 0, 0], abs=1e-14)
    assert np.diag([1.0] * 3 + [2.0] * 3) == pytest.approx(here.M, abs=1e-14)
    assert here.gravity == pytest.approx([0] * 5 + [2 * 9.81], abs=1e-13)


def test_what_is_refused():
    model = arm().build()
    with pytest.raises(ValueError, match=r"the system has 4 freedoms.*got h0.angle"):
        mbd.joint_space(model, coordinates=["h0.angle"])
    with pytest.raises(ValueError, match=r"^joint_space: .*'h0.anlge' .*; the tree has h0.angle"):
        mbd.joint_space(model, coordinates=["h0.anlge"])
    with pytest.raises(ValueError, match="the system has 4 freedoms.*h2.angle, h2.angle"):
        mbd.joint_space(model, coordinates=["h0.angle", "h1.angle", "h2.angle", "h2.angle"])
    state, system = mbd.consistent(model), arm()
    with pytest.raises(ValueError, match=r"^joint_space: the state must meet .*'h\d.* by"):
        mbd.joint_space(model, state.replace(q=state.q + 0.1 * (np.arange(len(state.q)) < 3)))
    for joint, name in zip(system.joints.values(), NAMES, strict=True):
        system.add(mbd.Drive(f"drive of {name}", joint, velocity=0.0))
    with pytest.raises(ValueError, match="joint_space: the joints and drives leave no freedom"):
        mbd.joint_space(system, state=None)
    here = mbd.joint_space(model)
    with pytest.raises(ValueError, match=r"efforts must be 4 numbers, one for each of h0.angle"):
        here.accelerations([1.0])
