"""Bodies that show several faces: a formulation from outside, joints and springs at each face.

``FORK`` is rigid; its second face is turned and lies off the first, so that all that is held there
may as well be held at the first one. ``STRUT`` has one elastic coordinate, the elongation, and
shows both of its ends; half of its mass is at each.
"""

import pickle
from math import sqrt

import numpy as np
import pytest

import mbd
from mbd.formulations.pulled import pulled
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import LENGTH
from mbd.interactions.springs import spring
from mbd.machine.buffer import DIRECTOR, TRANSLATION
from mbd.parts.part import Part

LENGTH_OF_STRUT = 0.8
PLACE = np.array([0.3, -0.2, 0.5])  # of the second face of the fork, in the first
TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])  # columns are its axes
DIRECTORS = {f"y{i}": TRANSLATION if i < 3 else DIRECTOR for i in range(12)}
GRAM = ["11", "12", "13", "22", "23", "33"]


def gram(y):
    d = y[3:12].reshape(3, 3)
    return 0.5 * (d @ d.T - np.eye(3))[np.triu_indices(3)]


def face(x, R):
    return np.concatenate([x, R.T.ravel()])


def two_ends(q):
    y, u = q[:12].reshape(4, 3), q[12]
    return np.array([y, [y[0] + (LENGTH_OF_STRUT + u) * y[1], *y[1:]]])


def halves(mass, center, second):
    W = np.zeros((8, 8))
    whole = np.block([[np.array([[mass]]), mass * center[None]], [mass * center[:, None], second]])
    W[:4, :4] = W[4:, 4:] = 0.5 * whole
    return W


FORK = pulled(
    "fork", DIRECTORS, lambda q: [q, np.concatenate([q[:3] + PLACE @ q[3:].reshape(3, 3),
    (TURN.T @ q[3:].reshape(3, 3)).ravel()])], face, GRAM, gram, n_faces=2,
)  # fmt: skip
STRUT = pulled(
    "strut", DIRECTORS | {"elongation": TRANSLATION}, two_ends,
    lambda x, R: np.append(face(x, R), 0.0), GRAM, gram, n_faces=2, mass_matrix=halves,
)  # fmt: skip


class Stiffness(Part):
    """The elastic law of a strut: a spring between its two faces."""

    def __init__(self, name, strut, k):
        self.name, self.strut, self.k = name, strut, k

    @property
    def bodies(self):
        return (self.strut,)

    def elements(self):
        ends = [self.strut.frame(face=i).end() for i in (0, 1)]
        return [Element(spring(LENGTH), ends, (self.k, 0.0, LENGTH_OF_STRUT))]


R0 = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])


def body(name, formulation, **options):
    options = {"position": (0.2, 0.1, -0.3), "rotation": R0} | options
    return mbd.RigidBody(
        name, mass=2.0, inertia=(0.11, 0.13, 0.17), formulation=formulation, **options
    )


# --- a rigid body with a second face -------------------------------------------------------------
def held(formulation, at_second):
    """A body that hangs on a hinge and is pulled by a spring; both at the second face, or not."""
    system = mbd.System(gravity=(0.4, 0, -9.81))
    fork = system.add(body("fork", formulation))
    other = system.add(body("other", "so3", position=(0.9, 0.4, -0.2)))
    point, axes = np.array([0.1, 0.25, -0.15]), TURN.T
    if at_second:
        frame, tip = fork.frame(point, axes, face=1), fork.frame((0.1, 0.0, 0.2), face=1)
    else:
        frame = fork.frame(PLACE + TURN @ point, TURN @ axes)
        tip = fork.frame(PLACE + TURN @ (0.1, 0.0, 0.2))
    x, R = frame.start
    system.add(mbd.Revolute("hinge", mbd.Frame(system.ground, x, R), frame))
    system.add(mbd.Bushing("bushing", tip, other.frame(
        other.rotation.T @ (tip.start[0] - other.position), other.rotation.T @ tip.start[1]),
        stiffness=[90.0] * 3 + [5.0] * 3, damping=[3.0] * 3 + [0.2] * 3))  # fmt: skip
    return system


@pytest.fixture(scope="module")
def both():
    return [mbd.simulate(held(x, y), 0.2, 1e-3) for x, y in ((FORK, True), ("directors", False))]


def test_what_is_held_at_the_second_face_moves_as_if_held_at_the_first(both):
    second, first = both
    for name in ("fork", "other"):
        assert np.allclose(second[name].position, first[name].position, rtol=0, atol=1e-9)
        assert np.allclose(second[name].quaternion, first[name].quaternion, rtol=0, atol=1e-9)
    assert np.allclose(second["hinge"].force, first["hinge"].force, rtol=0, atol=1e-5)
    assert np.allclose(second["hinge"].moment, first["hinge"].moment, rtol=0, atol=1e-5)
    assert np.allclose(second["hinge"].angle, first["hinge"].angle, rtol=0, atol=1e-9)
    for of in ("kinetic", "potential", "dissipated"):
        a, b = (getattr(x.energy, of) for x in both)
        assert np.allclose(a, b, rtol=0, atol=1e-8)
    assert np.allclose(second.momentum.angular, first.momentum.angular, rtol=0, atol=1e-8)


def test_the_second_face_is_seen_by_its_name(both, tmp_path):
    solution = both[0]
    there = solution["fork/1"]
    assert np.allclose(there.position, solution["fork"].at(PLACE).position, atol=1e-12)
    assert np.allclose(there.rotation, solution["fork"].rotation @ TURN, atol=1e-12)
    with pytest.raises(KeyError, match="fork/2"):
        solution["fork/2"]
    solution.save(tmp_path / "run.nc")
    again = mbd.load(tmp_path / "run.nc")
    assert np.allclose(again["fork"].position, solution["fork"].position)
    drawing = solution.animate(trails=[solution.model.nodes["fork"].frame(face=1)]).drawing
    assert {"fork", "fork/1", "other"} == set(drawing.tracks)
    (trail,) = drawing.trails
    assert trail.end.frame == "fork/1"


def test_statics_modes_and_linear_motions_are_those_of_the_first_face():
    poses = [mbd.equilibrium(held(x, y)) for x, y in ((FORK, True), ("directors", False))]
    assert np.allclose(poses[0]["other"].position, poses[1]["other"].position, atol=1e-9)
    assert poses[0].stable == poses[1].stable
    a, b = (mbd.modes(x).eigenvalues for x in poses)
    assert np.allclose(a, b, rtol=1e-7, atol=1e-7)
    one, two = (
        mbd.linearize(x, inputs=["hinge"], outputs=["hinge.angle", "hinge.angle_rate"])
        for x in poses
    )
    for s in (0.7j, 1.0 + 5.0j):
        a, b = (x.C @ np.linalg.solve(s * np.eye(len(x.A)) - x.A, x.B) + x.D for x in (one, two))
        assert np.allclose(a, b, rtol=1e-7)


# --- a strut that stretches -----------------------------------------------------------------------
K = 900.0


def strut(**options):
    system = mbd.System()
    bar = system.add(body("strut", STRUT, **options))
    system.add(Stiffness("elastic", bar, K))
    return system, bar


def test_a_free_strut_vibrates_as_two_masses_on_a_spring():
    system, _ = strut()
    modes = mbd.modes(mbd.equilibrium(system))
    stretching = [m.frequency for m in modes if m.frequency > 1e-3]
    assert np.allclose(stretching, sqrt(K / 0.5) / (2 * np.pi), rtol=1e-8)


def test_a_strut_held_at_either_face_vibrates_as_one_mass():
    for held_face in (0, 1):
        system, bar = strut()
        system.gravity = (0, 0, -9.81)  # across
        frame = bar.frame(face=held_face)
        x, R = frame.start
        system.add(mbd.Fixed("wall", mbd.Frame(system.ground, x, R), frame))
        modes = mbd.modes(mbd.equilibrium(system))
        assert [m.frequency for m in modes] == pytest.approx([sqrt(K / 1.0) / (2 * np.pi)])


def test_a_spinning_strut_is_longer_and_keeps_energy_and_momenta():
    """In steady spin about its middle k u = (m/2) w^2 (L + u)/2."""
    omega = 7.0
    u = LENGTH_OF_STRUT / (2 * K / (1.0 * omega**2) - 1.0)
    middle = 0.5 * (LENGTH_OF_STRUT + u) * R0[:, 0]
    system, _ = strut(velocity=np.cross((0, 0, -omega), middle), angular_velocity=(0, 0, omega))
    model = system.build()
    state = model.state
    q, v = state.q.copy(), state.v.copy()
    q[12] = u
    v[:3] = np.cross((0, 0, omega), -middle)
    start = state.replace(q=q, v=v)
    solution = mbd.simulate(model, 0.5, 5e-4, state=start, method=mbd.GeneralizedAlpha(rho=1.0))
    ends = solution["strut/1"].position - solution["strut"].position
    assert np.allclose(np.linalg.norm(ends, axis=1), LENGTH_OF_STRUT + u, rtol=1e-6)
    assert np.ptp(solution.energy.total) < 1e-6 * solution.energy.total[0]
    assert np.allclose(solution.momentum.linear, 0.0, atol=1e-5)
    assert np.allclose(np.ptp(solution.momentum.angular, axis=0), 0.0, atol=1e-5)
    inertia = 0.17 + 2.0 * (0.5 * (LENGTH_OF_STRUT + u)) ** 2
    assert solution.momentum.angular[0, 2] == pytest.approx(inertia * omega, rel=1e-9)


def test_weight_acts_on_both_faces():
    system, bar = strut(rotation=np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))  # d1 = -z
    system.gravity = (0, 0, -9.81)
    system.add(mbd.Spherical("eye", system.ground, bar, at=bar.position))
    pose = mbd.equilibrium(system)
    down = pose["strut/1"].position - pose["strut"].position
    assert np.allclose(down, (0, 0, -LENGTH_OF_STRUT - 9.81 * 1.0 / K), atol=1e-9)
    assert np.allclose(pose["eye"].force, (0, 0, 2.0 * 9.81))


def test_loads_act_on_the_face_that_a_frame_is_on():
    system, bar = strut()
    frame = bar.frame()
    system.add(mbd.Fixed("wall", mbd.Frame(system.ground, *frame.start), frame))
    tip = bar.frame((0.0, 0.1, 0.0), face=1)
    system.add(mbd.PointForce("pull", tip, (5.0, 0.0, 0.0), follow=True))  # along d1
    system.add(mbd.Moment("twist", tip, (0.0, 0.0, 0.7)))
    pose = mbd.equilibrium(system)
    at_tip, at_wall = pose["strut/1"].position, pose["strut"].position
    assert np.linalg.norm(at_tip - at_wall) == pytest.approx(LENGTH_OF_STRUT + 5.0 / K, rel=1e-10)
    lever = tip.start[0] - frame.start[0]
    assert np.allclose(pose["wall"].force, -5.0 * R0[:, 0], atol=1e-8)
    moment = np.cross(lever, 5.0 * R0[:, 0]) + np.array([0.0, 0.0, 0.7])
    assert np.allclose(pose["wall"].moment, -moment, atol=2e-2)  # the lever grows by 5 N / K
    arrows = {x.label: x.end.frame for x in pose.solution.animate().drawing.arrows}
    assert arrows["pull"] == arrows["twist"] == "strut/1"
    one = mbd.linearize(pose, inputs=["pull"], outputs=["strut.position.x"])
    assert np.isfinite(one.A).all()
    for part in (system["pull"], system["twist"]):
        assert mbd.check_part(part).ok
    with pytest.raises(ValueError, match="a Frame says where it is; leave out at="):
        mbd.PointForce("both", tip, (1.0, 0, 0), at=(0, 0, 0))


def test_tangents_of_joints_and_springs_at_the_second_face():
    for formulation in (FORK, STRUT):
        one, two = body("one", formulation), body("two", "so3", position=(0.7, 0.2, 0.1))
        frame = one.frame((0.1, 0.2, -0.1), TURN, face=1)
        frames = frame, two.placed_frame(*frame.start)
        for part in (
            mbd.Revolute("hinge", *frames),
            mbd.Bushing("bushing", *frames, stiffness=[3.0, 2, 4, 1, 5, 2], damping=[1.0] * 6),
        ):
            assert mbd.check_part(part).ok


# --- what is refused ------------------------------------------------------------------------------
def test_faces_that_do_not_exist_are_refused():
    bar = body("bar", "so3")
    with pytest.raises(ValueError, match="face must be below 1, the number of faces .*, got 1"):
        bar.frame(face=1)

    class Loose(Stiffness):
        def elements(self):
            ends = [Attachment("strut", (1.0, 0, 0, 0), face=x) for x in (0, 2)]
            return [Element(spring(LENGTH), ends, (1.0, 0.0, 1.0))]

    system = mbd.System()
    system.add(Loose("loose", system.add(body("strut", STRUT)), 1.0))
    with pytest.raises(ValueError, match="strut: an element is attached to face 2, but .* shows 2"):
        system.build()
    bad = pulled(
        "bad", DIRECTORS, lambda q: [q, q], face, GRAM, gram, n_faces=2,
        mass_matrix=lambda *_: np.eye(4),
    )  # fmt: skip
    with pytest.raises(ValueError, match="the mass matrix of bad must be symmetric, .8, 8., got"):
        mbd.System().add(body("bad", bad)).mass_matrix  # noqa: B018


def test_formulations_of_a_module_are_carried_and_others_say_why_not():
    system, _ = strut()
    copy = pickle.loads(pickle.dumps(system))
    assert copy["strut"].formulation is STRUT
    assert copy["elastic"].strut is copy["strut"]
    here = pulled("here", DIRECTORS, lambda q: q, face, GRAM, gram)
    with pytest.raises(TypeError, match="Formulation.'here'. cannot be carried .* top of a module"):
        pickle.dumps(body("lost", here))
