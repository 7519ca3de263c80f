"""Bushings with full matrices and large turns: energy, moments, exchanged bodies, bearings."""

import numpy as np
import pytest
from scenes import with_body
from scipy.linalg import logm
from scipy.spatial.transform import Rotation

import mbd

K = np.array(
    [
        [900, 40, -30, 20, 5, -8], [40, 700, 25, -6, 12, 9], [-30, 25, 800, 4, -7, 15],
        [20, -6, 4, 30, 3, -2], [5, 12, -7, 3, 25, 4], [-8, 9, 15, -2, 4, 40],
    ], float,
)  # fmt: skip
AT, AXES = np.array([0.2, -0.1, 0.3]), Rotation.from_rotvec((0.3, -0.5, 0.2)).as_matrix()


def strains(first, second):
    """Return the logarithm on SE(3) of the pose (x, R) of the second in the first."""
    H = [np.block([[R, x[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]) for x, R in
         (first, second)]  # fmt: skip
    log = logm(np.linalg.solve(*H)).real
    return np.concatenate([log[:3, 3], (log[2, 1], log[0, 2], log[1, 0])])


def two(swap=False, formulations=("so3", "directors"), **matrices):
    """Return a system of two bodies in motion with a bushing between them."""
    system = mbd.System()
    turn = Rotation.from_rotvec((0.4, 0.1, -0.2))
    one = mbd.RigidBody("one", mass=2.0, inertia=(0.3, 0.2, 0.25), formulation=formulations[0],
                        velocity=(0.3, -0.2, 0.1), angular_velocity=(2.0, 1.0, -3.0))  # fmt: skip
    other = mbd.RigidBody("two", mass=1.0, inertia=(0.1, 0.2, 0.15), position=(0.5, 0.2, 0.1),
                          rotation=turn, formulation=formulations[1])  # fmt: skip
    one, other = system.add(one), system.add(other)
    ends = (other, one) if swap else (one, other)
    system.add(mbd.Bushing("bushing", *ends, at=AT, axes=AXES, **matrices))
    return system


def test_energy_and_moment_at_a_large_turn():
    """The energy is that of the logarithm; what holds the second body balances a given load."""
    pose = (np.array([0.05, -0.1, 0.2]), Rotation.from_rotvec((0.9, -1.4, 1.6)).as_matrix())
    H = (np.zeros(3), np.eye(3)), pose
    e = strains(*H)
    assert np.linalg.norm(e[3:]) > 2.2

    system, body = with_body("body", inertia=(1, 1, 1), position=pose[0], rotation=pose[1])
    system.add(mbd.Bushing("bushing", system.ground.frame(), body.frame(), stiffness=K))
    solution = mbd.simulate(system, 1e-3, 1e-3)
    assert solution.energy.potential[0] == pytest.approx(0.5 * e @ K @ e, rel=1e-12)
    # minus the gradient by moves and turns of the body
    h, load = 1e-5, np.zeros(6)
    for i in range(6):
        ends = []
        for s in (h, -h):
            step = s * np.eye(6)[i]
            R = Rotation.from_rotvec(step[3:]).as_matrix() @ pose[1]
            x = strains(H[0], (pose[0] + step[:3], R))
            ends.append(0.5 * x @ K @ x)
        load[i] = (ends[0] - ends[1]) / (2 * h)
    system.add(mbd.PointForce("force", body, load[:3]))
    system.add(mbd.Moment("moment", body, load[3:]))
    run = mbd.simulate(system, 1e-3, 1e-3)
    assert np.abs(run["body"].acceleration[0]).max() < 1e-6
    assert np.abs(run["body"].angular_acceleration[0]).max() < 1e-6


@pytest.mark.parametrize("matrices", [{"stiffness": K}, {"stiffness": K, "damping": K / 90}])
def test_exchanged_bodies_move_alike(matrices):
    runs = [mbd.simulate(two(swap=swap, **matrices), 1.5, 2e-3) for swap in (False, True)]
    turned = runs[0]["two"].rotation[-1].T @ runs[0]["one"].rotation[-1]
    assert np.linalg.norm(Rotation.from_matrix(turned).as_rotvec()) > 0.3
    for name in ("one", "two"):
        first, second = (run[name] for run in runs)
        assert np.allclose(first.position, second.position, rtol=0, atol=1e-9)
        assert np.allclose(first.rotation, second.rotation, rtol=0, atol=1e-9)
    for of in ("potential", "dissipated"):
        first, second = (getattr(run.energy, of) for run in runs)
        assert np.allclose(first, second, rtol=1e-8, atol=1e-9)


def test_energy_goes_where_damping_takes_it():
    run = mbd.simulate(two(stiffness=K, damping=K / 90), 1.0, 1e-3)
    assert run.energy.dissipated[-1] > 0.1
    assert np.ptp(run.energy.balance) < 5e-4 * run.energy.total[0]


def test_a_full_matrix_turned_with_its_axes_is_the_same():
    """Six springs in other axes: their matrix is congruent."""
    Q = np.kron(np.eye(2), Rotation.from_rotvec((0.2, 0.7, -0.4)).as_matrix())
    ends = []
    for matrix, axes in ((K, AXES), (Q.T @ K @ Q, AXES @ Q[:3, :3])):
        system, body = with_body("body", inertia=(1, 1, 1))
        system.add(mbd.Bushing("b", system.ground, body, at=AT, axes=axes, stiffness=matrix))
        system.add(mbd.PointForce("push", body, (40.0, -30, 50), at=(0.3, 0.4, 0)))
        ends.append(mbd.equilibrium(system)["body"])
    assert np.allclose(ends[0].position, ends[1].position, rtol=0, atol=1e-10)
    assert np.allclose(ends[0].rotation, ends[1].rotation, rtol=0, atol=1e-10)
    assert np.linalg.norm(Rotation.from_matrix(ends[0].rotation).as_rotvec()) > 0.3


def test_a_moment_turns_by_moment_over_stiffness_up_to_half_a_turn():
    """The angle itself is measured, not its sine."""
    for angle in (0.5, 1.5, 3.0):
        system, body = with_body("body", inertia=(1, 1, 1))
        system.add(mbd.Bushing("b", system.ground, body, at=(0, 0, 0), stiffness=[9.0] * 6))
        system.add(mbd.Moment("turn", body, (0, 0, 9.0 * angle)))
        pose = mbd.equilibrium(system)
        turn = Rotation.from_matrix(pose["body"].rotation).as_rotvec()
        assert turn == pytest.approx([0, 0, angle], abs=1e-9)


def test_a_bearing_with_coupled_directions_lets_its_shaft_spin():
    """Only translations: displacements along the axes of the first frame, in any matrix."""
    matrix = np.zeros((6, 6))
    matrix[:2, :2] = [(3000, 900), (900, 2000)]
    matrix[2, 2] = 5000
    system = mbd.System(gravity=(0, 0, -9.81))
    shaft = system.add(mbd.RigidBody("shaft", mass=2.0, inertia=(0.1, 0.1, 0.2), rotation=AXES,
                                     angular_velocity=AXES @ (0, 0, 30)))  # fmt: skip
    system.add(mbd.Bushing("bearing", system.ground, shaft, at=(0, 0, 0), stiffness=matrix,
                           damping=matrix / 50))  # fmt: skip
    run = mbd.simulate(system, 2.0, 2e-3)
    assert run["shaft"].position[-1] == pytest.approx([0, 0, -2 * 9.81 / 5000], abs=1e-6)
    assert run["shaft"].angular_velocity[-1] == pytest.approx(AXES @ (0, 0, 30), abs=1e-6)
    system.add(mbd.PointForce("pull", shaft, (30.0, -20.0, 0)))
    moved = mbd.equilibrium(system)["shaft"].position[:2]
    assert moved == pytest.approx(np.linalg.solve(matrix[:2, :2], (30, -20)), abs=1e-9)


def held(formulation, turn=0.0, stiffness=(50.0, 50.0, 50.0, 9.0, 9.0, 9.0)):
    """Return a body on a bushing at its centre, turned about y."""
    system, body = with_body(
        "body", mass=2.0, inertia=(0.5, 0.5, 0.5), formulation=formulation,
        rotation=Rotation.from_rotvec((0, turn, 0)).as_matrix(),
    )  # fmt: skip
    system.add(mbd.Bushing("bushing", system.ground.frame(), body.frame(), stiffness=stiffness))
    return system, body


NO_NUMBERS = "forces on 'body' are no numbers at this pose; a Bushing.* less than pi"


@pytest.mark.parametrize("formulation", ["so3", "se3", "directors", "euler_parameters", "unified"])
def test_a_pose_turned_by_pi_is_refused_by_name(formulation):
    system, _ = held(formulation, np.pi)
    for call in (system.build, lambda: mbd.equilibrium(system), lambda: mbd.modes(system)):
        with pytest.raises(ValueError, match=NO_NUMBERS):
            call()
    there, _ = held(formulation, np.pi, (50.0,) * 3 + (0.0,) * 3)
    state = mbd.simulate(there, 1e-3, 1e-3).state  # of the same coordinates
    system, _ = held(formulation)
    with pytest.raises(ValueError, match=NO_NUMBERS):
        mbd.simulate(system, 1.0, 1e-2, state=state)
    with pytest.raises(mbd.EquilibriumError, match=NO_NUMBERS):
        mbd.equilibrium(system, state)


def test_a_bushing_that_turns_by_nearly_pi_is_named():
    """What two turns of no stiffness let a load do, and a body that spins against a third."""
    message = "'bushing' turns by .* rad at t = .* the rotation vector of a Bushing jumps at pi"
    system, body = held("so3", stiffness=(50.0, 50.0, 50.0, 9.0, 0.0, 0.0))
    system.add(mbd.PointForce("load", body, force=(0, 0, 10.0), at=(0, 0, -0.3)))  # upright, pushed
    with pytest.warns(RuntimeWarning, match=message):
        pose = mbd.equilibrium(system)
    assert "; warning: 'bushing' turns by" in pose.message
    assert pose["body"].rotation[2, 2] < -0.98  # it hangs from its load

    spun, wheel = with_body("wheel", inertia=(1, 1, 1), angular_velocity=(0, 0, 12))
    spun.add(mbd.Bushing("bushing", spun.ground, wheel, at=(0, 0, 0), stiffness=(9.0,) * 6))
    with pytest.warns(RuntimeWarning, match=message):
        run = mbd.simulate(spun, 1.0, 1e-2)
    assert "'bushing' turns by" in run.message
