"""Prescribed motion: six laws of time in every form, and the loads that make a body follow them."""

import numpy as np
import pytest
from moving import moving
from numba import njit
from recipes import STILL, pair, poses
from scenes import with_body
from scipy.spatial.transform import Rotation

import mbd
from mbd.files.code import scene_text
from mbd.formulations import NAMES
from mbd.interactions.driven_rotation import spin

FEW = [("so3", "directors"), ("ground", "euler_parameters"), ("se3", "ground"),
       ("scalable", "unified")]  # fmt: skip


def place(t):
    """Return a path [m] with its first and second derivative, (3, 3)."""
    s, c = np.sin(3 * t), np.cos(3 * t)
    return np.array([(0.3 * s, 0.2 * t**3, 0.7 - t), (0.9 * c, 0.6 * t**2, -1.0),
                     (-2.7 * s, 1.2 * t, 0.0)])  # fmt: skip


def turn(t):
    """Return a rotation vector [rad] with its derivatives, (3, 3): more than one turn in 1 s."""
    s, c = np.sin(2 * t), np.cos(2 * t)
    return np.array([(0.5 * s, 6.0 * t, 0.8 * c), (c, 6.0, -1.6 * s), (-2 * s, 0.0, -3.2 * c)])


def components(f):
    return tuple(lambda t, i=i: tuple(f(t)[:, i]) for i in range(3))


def plain(f):
    return tuple(lambda t, i=i: float(f(t)[0, i]) for i in range(3))


@njit
def compiled_turn(t):
    return 0.5 * np.sin(2 * t), 6.0 * t, 0.8 * np.cos(2 * t)


@njit
def compiled_place(t):
    s, c = np.sin(3 * t), np.cos(3 * t)
    return ((0.3 * s, 0.2 * t**3, 0.7 - t), (0.9 * c, 0.6 * t**2, -1.0), (-2.7 * s, 1.2 * t, 0.0))


#: position, rotation: every form in which the same motion may be said
SAID = {
    "three laws": (components(place), components(turn)),
    "plain laws": (plain(place), plain(turn)),
    "function": (lambda t: place(t)[0], lambda t: turn(t)[0]),
    "function with rates": (place, turn),
    "scipy": (place, lambda t: Rotation.from_rotvec(turn(t)[0])),  # jumps by full turns
    "compiled": (compiled_place, compiled_turn),
}
OTHERS = {
    "position alone": {"position": place},
    "one direction": {"position": (None, mbd.Harmonic(0.3, 2.0), None)},
    "rotation alone": {"rotation": (0.3, mbd.ConstantSpeed(4.0), mbd.SmoothStep(0, 2, 0, 1))},
    "numbers": {"position": (0.1, mbd.ConstantSpeed(-0.4, 2), 0.3), "rotation": (0.4, -0.3, 0.9)},
}
ALL = {**{n: {"position": x, "rotation": r} for n, (x, r) in SAID.items()}, **OTHERS}


def joined(name, first, second):
    system, one, two = pair(first, second)
    part = system.add(mbd.PrescribedMotion("part", *poses(one, two, STILL), **ALL[name]))
    return system, part


@pytest.mark.parametrize(("first", "second"), FEW)
@pytest.mark.parametrize("name", ["function with rates", "three laws", *OTHERS])
def test_it_is_a_sound_part(name, first, second):
    report = mbd.check_part(joined(name, first, second)[1], tolerance=2e-7)  # laws of 6 rad/s
    assert report.tangents.error < 5e-8
    assert {"rate of rows", "second rate of rows", "power"} <= {x.what for x in report.properties}


@pytest.mark.parametrize("name", SAID)
def test_rates_do_not_depend_on_how_the_law_is_said(name):
    """By differences as by formulas, where the rotation vector turns more than once."""

    def rates(which):
        work = moving(joined(which, "so3", "directors")[0], 40763)
        work.evaluate()
        return [x.copy() for x in work.rates()]

    for found, exact in zip(rates(name), rates("function with rates"), strict=True):
        assert np.allclose(found, exact, rtol=0, atol=2e-7 * np.abs(exact).max())


def test_spin_of_a_rotation_vector():
    """Against differences of the matrices, from tiny to several turns."""
    rng = np.random.default_rng(40801)
    for size in (0.0, 1e-9, 1e-3, 0.0999, 0.1001, 1.0, 3.1, 9.0):
        x, xd, xdd = rng.normal(size=(3, 3))
        x *= size / np.linalg.norm(x)

        def R(t, x=x, xd=xd, xdd=xdd):
            return Rotation.from_rotvec(x + t * xd + t * t / 2 * xdd).as_matrix()

        h = 1e-2
        first = -R(-3 * h) + 9 * R(-2 * h) - 45 * R(-h) + 45 * R(h) - 9 * R(2 * h) + R(3 * h)
        second = (2 * R(-3 * h) - 27 * R(-2 * h) + 270 * R(-h) - 490 * R(0) + 270 * R(h)
                  - 27 * R(2 * h) + 2 * R(3 * h))  # fmt: skip
        W, A = first @ R(0).T / (60 * h), second @ R(0).T / (180 * h * h)
        w, alpha = spin(tuple(x), tuple(xd), tuple(xdd))
        A = A - W @ W
        assert np.allclose(w, (W[2, 1], W[0, 2], W[1, 0]), rtol=0, atol=1e-8)
        assert np.allclose(alpha, (A[2, 1], A[0, 2], A[1, 0]), rtol=0, atol=1e-6)


# --- a body on a known path -----------------------------------------------------------------------
INERTIA = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]])
MASS, CENTER, GRAVITY = 2.0, np.array((0.1, -0.2, 0.3)), np.array((0.4, 0, -9.81))


def carried(formulation, position, rotation, **options):
    system = mbd.System(gravity=GRAVITY)
    R = Rotation.from_rotvec(turn(0.0)[0]).as_matrix()
    omega, _ = spin(*map(tuple, turn(0.0)))
    body = system.add(
        mbd.RigidBody("body", mass=MASS, inertia=INERTIA, center_of_mass=CENTER, rotation=R,
                      position=place(0.0)[0], velocity=place(0.0)[1], angular_velocity=omega,
                      formulation=formulation, **options)
    )  # fmt: skip
    system.add(mbd.PrescribedMotion("path", system.ground, body, position=position,
                                    rotation=rotation))  # fmt: skip
    return system


def loads(t):
    """Return force and moment about the origin: m a - m g, J alpha + omega x J omega."""
    R = Rotation.from_rotvec(turn(t)[0]).as_matrix()
    w, alpha = map(np.array, spin(*map(tuple, turn(t))))
    c, J = R @ CENTER, R @ INERTIA @ R.T
    force = MASS * (place(t)[2] + np.cross(alpha, c) + np.cross(w, np.cross(w, c)) - GRAVITY)
    return force, J @ alpha + np.cross(w, J @ w) + np.cross(c, force)


@pytest.mark.parametrize("formulation", NAMES)
def test_reaction_is_the_rate_of_momenta(formulation):
    times = np.array((0.0, 0.2, 0.4))
    found = mbd.inverse_dynamics(carried(formulation, place, turn), times)
    for i, t in enumerate(times):
        force, moment = loads(t)
        assert np.allclose(found["body"].position[i], place(t)[0], rtol=0, atol=1e-12)
        assert np.allclose(found["path"].force[i], force, rtol=0, atol=1e-10 * 60)
        assert np.allclose(found["path"].moment[i], moment, rtol=0, atol=1e-10 * 60)


@pytest.mark.parametrize("level", ["position", "velocity", "stabilized"])
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_run_follows_the_laws(formulation, level):
    """Reactions of a run too, to second order."""
    errors = []
    for h in (1e-2, 5e-3):
        method = mbd.GeneralizedAlpha(rho=0.7, constraints=level)
        run = mbd.simulate(carried(formulation, place, turn), 0.5, h, method=method)
        where = np.abs(run["body"].position - [place(t)[0] for t in run.t]).max()
        assert where < (1e-3 if level == "velocity" else 1e-11)
        force, moment = loads(0.5)
        errors.append(max(np.abs(run["path"].force[-1] - force).max(),
                          np.abs(run["path"].moment[-1] - moment).max()))  # fmt: skip
        assert np.ptp(run.energy.balance) < 100 * h**2 * np.ptp(run.energy.work)
    assert errors[1] < 0.32 * errors[0]
    assert errors[1] < 0.1


def test_every_way_of_saying_it_runs_alike():
    ends = []
    for position, rotation in SAID.values():
        run = mbd.simulate(carried("so3", position, rotation), 0.1, 1e-3, every=100)
        ends.append(np.r_[run["path"].force[-1], run["path"].moment[-1]])
    for x in ends:
        assert np.allclose(x, ends[0], rtol=0, atol=1e-5 * np.abs(ends[0]).max())


@pytest.mark.parametrize("formulation", ["so3", "directors"])
@pytest.mark.parametrize("theta", [(0, 0, 2.0), (0.1, 2.9, -0.2), (np.pi, 0, 0), (0, -np.pi, 1e-9),
                                   (1.2, 1.2, 1.2), (-2, 1, 2)], ids=str)  # fmt: skip
def test_a_pose_that_is_turned_over_is_refused(formulation, theta):
    """By half a turn, or a third about a diagonal, all products of axes vanish as well."""
    system, body = with_body("body", mass=1, inertia=(0.3, 0.4, 0.5), formulation=formulation)
    system.add(mbd.PrescribedMotion("turn", system.ground, body, rotation=theta))
    model = system.build()
    for find in (mbd.consistent, mbd.assemble_pose):
        with pytest.raises(ValueError, match="'turn.turn [xyz]' by"):
            find(model)


def test_a_law_that_jumps_by_half_a_turn_is_followed_or_stopped():
    def law(t):
        return (0.0, 0.0, np.pi if t > 0.0052 else 0.0)

    system, body = with_body("body", mass=1, inertia=(0.3, 0.4, 0.5))
    system.add(mbd.PrescribedMotion("turn", system.ground, body, rotation=law))
    run = mbd.simulate(system, 0.01, 1e-3, raise_on_failure=False)
    if run.success:
        assert np.allclose(run["body"].rotation[-1], np.diag((-1, -1, 1)), rtol=0, atol=1e-9)


def test_redundant_and_contradicting_rows_are_named():
    system = carried("so3", place, turn)
    hinge = mbd.Spherical("ball", system.ground, system.bodies["body"], at=(0.1, 0.2, 0.3))
    system.add(hinge)
    report = str(system.build().report())
    assert "ball" in report
    assert "path" in report
    with pytest.raises(ValueError, match=r"path\.(x|y|z)|ball"):
        mbd.inverse_dynamics(system, [0.0, 1.0])


def test_a_point_follows_a_path_against_a_moving_body():
    system, base = with_body("base", mass=1e3, inertia=(1e3, 1e3, 1e3))
    point = system.add(mbd.PointMass("point", mass=1.0, position=(1, 0, 0), velocity=(0, 0, 1)))
    path = (1.0, None, mbd.ConstantSpeed(1.0))
    system.add(mbd.PrescribedMotion("lift", base, point, position=path))
    run = mbd.simulate(system, 0.5, 1e-2, project=True)
    local = np.einsum("nji,nj->ni", run["base"].rotation,
                      run["point"].position - run["base"].position)  # fmt: skip
    assert np.allclose(local[:, 0], 1.0, rtol=0, atol=1e-10)
    assert np.allclose(local[:, 2], run.t, rtol=0, atol=1e-10)


# --- files and the door ---------------------------------------------------------------------------
def test_files_say_it(tmp_path):
    system, body = with_body("body", mass=1, inertia=(1, 1, 1), position=(0, 0, 0.3))
    frame = body.frame((0.1, 0, 0))
    system.add(
        mbd.PrescribedMotion(
            "path", system.ground, frame,
            position=(mbd.Expression("0.1*sin(3*t)"), mbd.SmoothStep(0, 0.2, 0, 1), None),
            rotation=mbd.Expression(0, 0, "2*t"),
        )
    )  # fmt: skip
    mbd.write(system, tmp_path / "model.toml")
    scene = {}
    exec(scene_text(system, run={}, title="", folder=tmp_path), scene)
    for again in (mbd.read(tmp_path / "model.toml").system, scene["build"]()):
        one, two = (s.joints["path"].elements() for s in (system, again))
        assert one == two
        a, b = (mbd.simulate(s, 0.1, 1e-2, project=True) for s in (system, again))
        assert np.array_equal(a.q, b.q)


UNITS = """schema = 1
[bodies.body]
type = "RigidBody"
mass = 1
inertia = [1, 1, 1]
[joints.path]
type = "PrescribedMotion"
first = "ground"
second = "body"
position = ["250 mm", {type = "Harmonic", amplitude = "20 mm", frequency = 3}, "free"]
rotation = [0, "90 deg", "0.5*t"]
"""


def test_units_of_a_file(tmp_path):
    (tmp_path / "m.toml").write_text(UNITS)
    part = mbd.read(tmp_path / "m.toml").system.joints["path"]
    (_, x, _, _), (_, _, _, law) = part.position
    assert x == 0.25
    assert law is not None
    options = part.call.options
    assert options["position"][1].amplitude == 0.02
    assert options["position"][2] is None
    assert options["rotation"][1] == np.pi / 2
    for wrong, words in (("[1, 2]", "a list of three"), ('["2 s", 0, 0]', r"position\[0\]")):
        bad = UNITS.replace('["250 mm", {type = "Harmonic", amplitude = "20 mm", frequency = 3}, '
                            '"free"]', wrong)  # fmt: skip
        (tmp_path / "m.toml").write_text(bad)
        with pytest.raises(ValueError, match=words):
            mbd.read(tmp_path / "m.toml")


CASES = (
    ({}, "give position= or rotation="),
    ({"position": 3.0}, "position must be three numbers or laws of time"),
    ({"position": "abc"}, "position must be three numbers or laws of time"),
    ({"position": (1, 2)}, "position must be three numbers or laws of time"),
    ({"position": (None, None, None)}, "got three times None"),
    ({"position": (1, 2, "x")}, r"p: position z must be a number \[m\]"),
    ({"position": lambda t: (1, 2)}, r"got shape \(2,\) at t = 0"),
    ({"position": lambda: 1}, "p: position must be .*or a function of t"),
    ({"position": (0, 0, lambda t: (t * t, t, 2.0))}, r"p\.z: the derivatives"),
    ({"rotation": (0, 0, None)}, r"p: rotation z must be a number \[rad\]"),
    ({"rotation": (0, 0, lambda t: (t, 1.0))}, "rotation z must be a number .*got .0.0, 1.0."),
    ({"rotation": (0, 0, lambda t: (t * t, t, 2.0))}, r"p\.rotation\.z: the derivatives"),
    ({"rotation": lambda t: (turn(t)[0], turn(t)[1], turn(t)[1])}, r"p\.rotation\..: the deriv"),
)  # fmt: skip


@pytest.mark.parametrize(("options", "words"), CASES)
def test_refused(options, words):
    system, body = with_body("body", mass=1, inertia=(1, 1, 1))
    with pytest.raises((ValueError, TypeError), match=words):
        mbd.PrescribedMotion("p", system.ground, body, **options)


def test_bodies_that_cannot_be_prescribed():
    system, body = with_body("body", mass=1, inertia=(1, 1, 1))
    point = system.add(mbd.PointMass("point", mass=1))
    with pytest.raises(ValueError, match="'point' is a point, it has no rotation"):
        mbd.PrescribedMotion("p", body, point, rotation=(0, 0, 0))
    with pytest.raises(ValueError, match="'point' is a point, it has no axes"):
        mbd.PrescribedMotion("p", point, body, position=(0, 0, 0))
    with pytest.raises(ValueError, match="must join two bodies"):
        mbd.PrescribedMotion("p", body, body, position=(0, 0, 0))
    with pytest.raises(TypeError, match="second must be a body"):
        mbd.PrescribedMotion("p", body, "body", position=(0, 0, 0))
