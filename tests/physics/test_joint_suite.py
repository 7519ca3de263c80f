"""One body on every kind of joint, in turned frames: motion and the reactions on the ground (R06).

The suite is that of Project Chrono's unit tests against ADAMS, recomputed to 1e-12.
"""

import numpy as np
import pytest
from families import spread
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, SHARP, converge, published

I = np.eye(3)
P123 = (1.0, 2.0, 3.0)


def about(axis, degrees):
    return Rotation.from_euler(axis, degrees, degrees=True).as_matrix()


FRAMES = {
    "Revolute_Case01": (mbd.Revolute, (0, 0, 0), about("x", -90)),
    "Revolute_Case02": (mbd.Revolute, P123, about("x", -45)),
    "Spherical_Case01": (mbd.Spherical, (0, 0, 0), I),
    "Spherical_Case02": (mbd.Spherical, P123, about("x", -45)),
    "Universal_Case01": (mbd.Universal, (0, 0, 0), about("x", 90)),
    "Universal_Case02": (mbd.Universal, (0, 0, 0), about("y", 90)),
    "Prismatic_Case01": (mbd.Prismatic, (0, 0, 0), I),
    "Prismatic_Case02": (mbd.Prismatic, P123, about("x", -45)),
    "Prismatic_Case03": (mbd.Prismatic, P123, about("x", -90)),
    "Cylindrical_Case01": (mbd.Cylindrical, (0, 0, 0), I),
    "Cylindrical_Case02": (mbd.Cylindrical, (0, 0, 0), about("x", -90)),
    "Cylindrical_Case03": (mbd.Cylindrical, P123, about("x", -45)),
}
# point on ground, point on body, centre of mass, turn of the body
LINKS = {
    "Distance_Case01": ((0, 0, 0), (0, 2, 0), (0, 2, 0), I),
    "Distance_Case02": (P123, (1, 4, 3), (-1, 4, 3), I),
    "Distance_Case03": ((0, 0, 0), (0, 2, 0), (0, 4, 0), about("z", -90)),
    "TranSpringCB_Case02": ((0, 0, 0), (0, 2, 0), (0, 2, 0), I),
    "TranSpringCB_Case03": (P123, (1, 4, 3), (-1, 4, 3), I),
    "RevSpherical_Case01": ((0, 0, 0), (2, 0, 0), (2, 2, 0), I),
    "RevSpherical_Case02": (P123, (3, 2, 3), (3, 4, 3), I),
}


def tension(length, rate, t):
    """Return 50 x + 10 |x| x + 5 dx/dt for the elongation x."""
    x = length - 2.0
    return 50 * x + 10 * abs(x) * x + 5 * rate


def build(case, formulation):
    """Return the system and the names of the joints that act on the ground."""
    system = mbd.System(gravity=(0, 0, -9.80665))
    if case in FRAMES or case.startswith("RotSpring"):
        kind, place, R = FRAMES.get(case, FRAMES["Revolute_Case01"])
        hangs = kind is mbd.Universal
        arm = np.array([0, 0, -2.0] if hangs else [2.0, 0, 0])
        body = mbd.RigidBody(
            "body", mass=1.0, inertia=(0.1, 0.1, 0.04) if hangs else (0.04, 0.1, 0.1),
            position=place + R @ arm, rotation=R, formulation=formulation,
        )  # fmt: skip
        system.add(body)
        joint = kind("joint", system.ground.frame(place, R), body.frame(-arm))
        system.add(joint)
        if case.startswith("RotSpring"):
            system.add(mbd.RotationalSpring("spring", joint, stiffness=200.0, damping=10.0))
        return system, ["joint"]
    P, Q, center, R = LINKS[case]
    body = mbd.RigidBody(
        "body", mass=1.0, inertia=(0.1, 0.04, 0.1) if "Rev" in case else (0.04, 0.1, 0.1),
        position=center, rotation=R, formulation=formulation,
    )  # fmt: skip
    system.add(body)
    ends = {"at": P, "to": Q}
    if case == "TranSpringCB_Case02":
        spring = mbd.Spring("spring", system.ground, body, stiffness=100.0, damping=5.0, **ends)
        system.add(spring)
        return system, []
    if case == "TranSpringCB_Case03":
        system.add(mbd.Spring("spring", system.ground, body, law=tension, **ends))
        return system, []
    system.add(mbd.Distance("joint", system.ground, body, **ends))
    if case.startswith("Distance"):
        return system, ["joint"]
    axis = np.array([0, 0, 1.0] if case.endswith("1") else [0, 1.0, 1.0])
    axis /= np.linalg.norm(axis)
    x = np.array([1.0, 0, 0])
    frame = system.ground.frame(P, np.column_stack([x, np.cross(axis, x), axis]))
    system.add(mbd.PointInPlane("plane", frame, body.frame(R.T @ np.subtract(Q, center))))
    return system, ["joint", "plane"]


def final(case, formulation, t_end, h):
    system, joints = build(case, formulation)
    solution = mbd.simulate(system, t_end, h, method=SHARP, every=1_000_000)
    body = solution["body"]
    on_ground = [solution[j].reaction(on="first", at="first") for j in joints]
    return {
        "pos": body.position[-1],
        "vel": body.velocity[-1],
        "omega_world": body.angular_velocity[-1],
        "Rforce": sum((r.force[-1] for r in on_ground), np.zeros(3)),
        "Rtorque": sum((r.moment[-1] for r in on_ground), np.zeros(3)),
        "rot": body.rotation[-1],
    }


FORCES = ("Rforce", "Rtorque")
TOLERANCE = {
    "pos": 1e-7,
    "vel": 5e-7,
    "omega_world": 5e-7,
    "Rforce": 5e-5,
    "Rtorque": 1e-4,
    "rot": 1e-7,
}


CASES = [(x, f) for x in (*FRAMES, *LINKS, "RotSpring_Case01") for f in RIGID]


@pytest.mark.parametrize("formulation", RIGID)
def test_a_body_that_is_held_divides_no_step(formulation):
    """Velocities of a body at rest are round-off, on the rows or off them."""
    system, _ = build("Prismatic_Case03", formulation)
    assert mbd.simulate(system, 0.1, 2e-3, method=SHARP).stats["rejected"] == 0


@pytest.mark.parametrize(("case", "formulation"), CASES)
def test_body_on_a_joint_and_its_reactions(case, formulation):
    exact = dict(published("R06")[case]["1.0"])
    exact["rot"] = Rotation.from_quat(exact.pop("quat"), scalar_first=True).as_matrix()
    assert np.allclose(exact.pop("ADAMS_Pos"), exact["pos"], rtol=0, atol=5e-3)
    exact.pop("ADAMS_Rforce", None)
    noise = dict.fromkeys(exact, 1e-9) | dict.fromkeys(FORCES, 5e-5)
    converge(
        lambda h: final(case, formulation, 1.0, h), exact, tolerance=TOLERANCE,
        step=1e-3 if case.startswith("RevSpherical") else 2e-3,
        noise=noise, levels=4, coarse=FORCES,
    )  # fmt: skip


@spread(formulation=RIGID, case=[*FRAMES, "Distance_Case02", "RevSpherical_Case02"])
def test_reactions_on_both_bodies_balance_about_any_point(case, formulation):
    system, joints = build(case, formulation)
    solution = mbd.simulate(system, 0.5, 2e-3, every=50)
    for name in joints:
        joint = solution[name]
        A, B = system.joints[name].A, system.joints[name].B
        a, b = (solution.vector_of(f.name, f.point()) for f in (A, B))
        r = {
            (on, at): joint.reaction(on, at)
            for on in ("first", "second")
            for at in ("first", "second")
        }
        scale = np.abs(r["first", "first"].force).max() + 1e-3
        for at in ("first", "second"):
            one, two = r["first", at], r["second", at]
            assert np.abs(one.force + two.force).max() < 1e-12 * scale
            assert np.abs(one.moment + two.moment).max() < 1e-8 * scale
        for on in ("first", "second"):
            here, there = r[on, "first"], r[on, "second"]
            carried = here.moment + np.cross(a - b, here.force)
            assert np.abs(carried - there.moment).max() < 1e-12 * scale
