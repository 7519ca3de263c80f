"""Times and numbers of joint coordinates by turns with pinocchio: a humanoid with 35 coordinates.

``python tests/bench/joint_coordinates.py``; pinocchio is the package ``pin``. Each is the least
time of many rounds in which both take their turn.
"""

import time

import numpy as np
import pinocchio as pin

import mbd

BRANCHES = (6, 6, 3, 7, 7)  # legs, waist, arms: 29 hinges on a floating base


def humanoid():
    """Return the tree of a system and the model of pinocchio, from the same numbers."""
    rng = np.random.default_rng(0)
    system, peer = mbd.System(gravity=(0, 0, -9.81)), pin.Model()

    def body(name, at):
        A = rng.normal(size=(3, 3))
        E = 0.01 * A @ A.T + 0.02 * np.eye(3)
        mass, c, J = rng.uniform(0.5, 3), 0.1 * rng.normal(size=3), np.trace(E) * np.eye(3) - E
        made = mbd.RigidBody(name, mass=mass, inertia=J, center_of_mass=c, position=at)
        return system.add(made), pin.Inertia(mass, c, J)

    base, inertia = body("base", np.zeros(3))
    root = peer.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    peer.appendBodyToJoint(root, inertia, pin.SE3.Identity())
    for b, n in enumerate(BRANCHES):
        before, joint, place = base, root, np.zeros(3)
        for i in range(n):
            shift = 0.2 * rng.normal(size=3)
            place = place + shift
            axis = np.eye(3)[rng.integers(3)]
            link, inertia = body(f"b{b}.{i}".replace(".", "_"), place)
            system.add(mbd.Revolute(f"j{b}_{i}", before, link, at=place, axis=axis))
            of_axis = pin.JointModelRevoluteUnaligned(*axis)
            joint = peer.addJoint(joint, of_axis, pin.SE3(np.eye(3), shift), f"j{b}_{i}")
            peer.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
            before = link
    return system.build().joint_coordinates, peer


def least(calls, rounds=300, n=20):
    """Return the least time [us] of each call, by turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(n):
                call()
            best[name] = min(best[name], 1e6 * (time.perf_counter() - start) / n)
    return best


def main():
    """Compare numbers, then times."""
    tree, peer = humanoid()
    data, rng = peer.createData(), np.random.default_rng(1)
    n = len(tree.labels)
    q = tree.add(tree.q(), 0.5 * rng.normal(size=n))
    v, a, tau = rng.normal(size=(3, n))
    names = [x.partition(".")[0] for x in tree.labels[6:]]
    order = [peer.joints[peer.getJointId(x)].idx_v for x in names]
    # pinocchio: quaternion with the scalar last, velocities of the base in its axes
    R = pin.Quaternion(*q[3:7]).matrix()
    T, p = np.zeros((n, n)), np.zeros(peer.nq)
    T[:3, :3] = T[3:6, 3:6] = R.T
    p[:7] = [*q[:3], *q[4:7], q[3]]
    for i, j in enumerate(order):
        T[j, 6 + i], p[j + 1] = 1.0, q[7 + i]
    turned = np.zeros(n)
    u = T @ v
    turned[:3] = -np.cross(u[3:6], u[:3])
    M = T.T @ pin.crba(peer, data, p).copy() @ T
    b = T @ a + turned
    inverse = T.T @ pin.rnea(peer, data, p, u, b)
    forward = T.T @ (pin.aba(peer, data, p, u, np.linalg.solve(T.T, tau)) - turned)
    for name, one, two in (
        ("M", tree.M(q), M), ("inverse", tree.inverse(q, v, a), inverse),
        ("forward", tree.forward(q, v, tau), forward),
    ):  # fmt: skip
        print(f"{name}: {np.abs(one - two).max() / np.abs(two).max():.1e} of the largest apart")
    calls = {
        "M + bias": lambda: tree.M_and_bias(q, v), "its peer":
        lambda: (pin.crba(peer, data, p), pin.nonLinearEffects(peer, data, p, u)),
        "inverse": lambda: tree.inverse(q, v, a), "rnea": lambda: pin.rnea(peer, data, p, u, b),
        "forward": lambda: tree.forward(q, v, tau), "aba": lambda: pin.aba(peer, data, p, u, tau),
        "slopes": lambda: tree.slopes(q, v, a),
        "rnea derivatives": lambda: pin.computeRNEADerivatives(peer, data, p, u, b),
    }  # fmt: skip
    for name, us in least(calls).items():
        print(f"{name:18s} {us:8.2f} us")
    springs = mbd.System(gravity=(0, 0, -9.81))
    for part in tree.model.system.parts.values():
        springs.add(part)
    for name, joint in tree.model.system.joints.items():
        springs.add(mbd.JointSpring(f"spring of {name}", joint, stiffness=3.0, damping=0.3))
    soft, stepper = springs.build().joint_coordinates, mbd.Stepper(tree.model, 1e-3)
    state = tree.state(q, v)
    others = {
        "inverse, springs": lambda: soft.inverse(q, v, a),
        "slopes, springs": lambda: soft.slopes(q, v, a),
        "joint_space": lambda: mbd.joint_space(tree.model, state),
        "stepper.set": lambda: stepper.set(q, v),
    }
    for name, us in least(others, 50).items():
        print(f"{name:18s} {us:8.2f} us")


if __name__ == "__main__":
    main()
