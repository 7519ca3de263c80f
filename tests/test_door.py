"""Bad input at the door: who, what must be which [unit], got what, what to do."""

import math

import numpy as np
import pytest
from scenes import chain
from scipy.spatial.transform import Rotation

import mbd

NAN = math.nan
J = (0.1, 0.2, 0.25)


def body(name="bar", **options):
    return mbd.RigidBody(name, **{"mass": 1.0, "inertia": J, **options})


def raises(match, kind=ValueError):
    return pytest.raises(kind, match=match)


# --- bodies --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mass": -1}, r"bar: mass must be positive \[kg\], got -1"),
        ({"mass": 0}, r"bar: mass must be positive \[kg\], got 0"),
        ({"inertia": (1, 1, -1)}, r"principal moments of inertia must be positive \[kg m\^2\]"),
        ({"inertia": (1, 1, 0)}, r"moments of inertia must be positive.*use PointMass"),
        ({"inertia": (1, 1, 3)}, r"bar: inertia violates the triangle inequality.*\(1, 1, 3\)"),
        ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, r"bar: inertia must be symmetric"),
        (
            {"angular_velocity": (0, 0, 1), "angular_velocity_body": (0, 0, 1)},
            r"bar: give angular_velocity or angular_velocity_body, not both",
        ),
        ({"rotation": 2 * np.eye(3)}, r"bar: rotation must be orthogonal.*give a scipy Rotation"),
        ({"rotation": np.diag([1, 1, -1])}, r"rotation must be orthogonal with determinant \+1"),
        ({"rotation": np.full((3, 3), NAN)}, r"bar: rotation must be .* finite 3x3 matrix"),
        ({"rotation": (1, 0, 0, 0)}, r"rotation .*got 4 numbers.*Rotation.from_quat"),
        ({"rotation": (0, 0, 1)}, r"rotation must be a scipy Rotation or a finite 3x3.*\(3,\)"),
        ({"rotation": Rotation.random(2, random_state=1)}, r"rotation must be .*\(2, 3, 3\)"),
        ({"formulation": "so4"}, r"bar: formulation must be one of so3, directors.*got 'so4'"),
    ],
)  # fmt: skip
def test_rigid_body(options, match):
    with raises(match):
        body(**options)


@pytest.mark.parametrize(("options", "match"), [
    ({"mass": None}, r"bar: mass must be a number \[kg\], got None"),
    ({"position": None}, r"bar: position must be 3 numbers \[m\], got None"),
    ({"inertia": None}, r"bar: inertia must be 3 or 3x3 .*, got None"),
    ({"rotation": "upright"}, r"bar: rotation must be a scipy Rotation .*, got 'upright'"),
    ({"formulation": 3}, r"bar: formulation must be a name \(so3, directors.*got 3"),
])  # fmt: skip
def test_rigid_body_of_the_wrong_type(options, match):
    with raises(match, TypeError):
        body(**options)


def test_a_body_needs_a_name():
    for name in ("", "  ", None, 3):
        with raises(r"RigidBody: name must be a non-empty string, got"):
            body(name)
    with raises(r"PointMass: name must be"):
        mbd.PointMass("", mass=1.0)
    with raises(r"p: mass must be positive"):
        mbd.PointMass("p", mass=0.0)


def test_a_flat_body_may_be_exactly_flat():
    """The triangle inequality holds with equality for a plate: accepted."""
    assert body(inertia=(1, 1, 2)).mass == 1.0
    assert body(inertia=(0.1, 0.2, 0.3)).mass == 1.0


def mass_matrix(m, c, J):
    """Return the 6x6 matrix about an origin from which the centre of mass is at c."""
    S = m * np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    c = np.array(c, float)
    return np.block(
        [[m * np.eye(3), S.T], [S, np.array(J) + m * (c @ c * np.eye(3) - np.outer(c, c))]]
    )


TURNED = np.array([[0.30, 0.05, -0.02], [0.05, 0.40, 0.01], [-0.02, 0.01, 0.35]])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("c", [(0, 0, 0), (0.1, -0.4, 2.0), (30.0, 10.0, -20.0)])
def test_mass_matrix_about_any_origin(c, size):
    m, c, J = 3.0 * size, size * np.array(c), size**3 * TURNED
    made = mbd.RigidBody.from_mass_matrix("b", mass_matrix(m, c, J), position=(1, 2, 3))
    assert np.isclose(made.mass, m, rtol=1e-14)
    assert np.allclose(made.center_of_mass, c, rtol=1e-14, atol=0)
    E = 0.5 * np.trace(J) * np.eye(3) - J + m * np.outer(c, c)
    assert np.allclose(made.second_moments, E, rtol=0, atol=1e-12 * np.abs(E).max())
    assert made.position.tolist() == [1, 2, 3]


def test_mass_matrix():
    good = np.diag([2.0, 2, 2, *J])
    make = mbd.RigidBody.from_mass_matrix
    assert make("b", good).mass == 2.0
    with raises(r"b: mass matrix must be 6x6 .*got shape \(5, 6\)"):
        make("b", good[:5])
    with raises(r"b: mass matrix must be 6x6 .*not finite"):
        make("b", good * np.nan)
    with raises(r"b: mass must be positive \[kg\], got 0"):
        make("b", np.diag([0.0, 0, 0, *J]))
    with raises(r"b: mass matrix must be 6x6 .*got 'x'", TypeError):
        make("b", "x")


CHANGES = (
    # entries that are changed, by how much, what is said
    (((0, 4), (4, 0)), (1e-3, 2e-3), "must be symmetric, got .* in row 1, column 5"),
    (((3, 5),), (1e-4,), "must be symmetric, got .* in row 4, column 6"),
    (((1, 1),), (1e-3,), r"same in all directions: .* must be m I \[kg\]"),
    (((0, 2), (2, 0)), (1e-3, 1e-3), "same in all directions"),
    (((0, 3), (3, 0)), (1e-3, 1e-3), "must be m tilde.c., which is skew .* symmetric part"),
    (((0, 4), (4, 0)), (1e-3, 1e-3), "must be m tilde.c., which is skew"),
    (((4, 4),), (-0.6,), r"principal moments about the centre of mass \(0.1, -0.2, 0.3\) \[m\]"),
    (((4, 4),), (0.4,), "violates the triangle inequality: .* about the centre of mass"),
)


@pytest.mark.parametrize(("places", "changes", "words"), CHANGES)
def test_mass_matrix_of_no_body(places, changes, words):
    M = mass_matrix(2.0, (0.1, -0.2, 0.3), TURNED)
    for place, change in zip(places, changes, strict=True):
        M[place] += change
    with raises(f"b: .*{words}"):
        mbd.RigidBody.from_mass_matrix("b", M)


def test_mass_matrix_whose_origin_is_too_far():
    with raises("b: the moments about the centre of mass .* are lost in the round-off"):
        mbd.RigidBody.from_mass_matrix("b", mass_matrix(2.0, (2e5, 0, 0), TURNED))


def test_mass_matrix_in_a_file(tmp_path):
    system = mbd.System()
    system.add(mbd.RigidBody.from_mass_matrix("b", mass_matrix(2.0, (0.1, -0.2, 0.3), TURNED)))
    again = mbd.read(mbd.write(system, tmp_path / "m.toml")).system.bodies["b"]
    for key in ("mass", "center_of_mass", "second_moments"):
        assert np.array_equal(getattr(again, key), getattr(system.bodies["b"], key))


def test_frames():
    with raises(r"frame of 'bar': position must be 3 numbers \[m\]"):
        body().frame((1, 2))
    with raises(r"frame of 'bar': axes must be orthogonal"):
        body().frame(axes=np.ones((3, 3)))
    with raises(r"Frame: body must be a body .*got 'bar'", TypeError):
        mbd.Frame("bar")


# --- system --------------------------------------------------------------------------------------
def test_system():
    with raises(r"System: gravity must be 3 numbers \[m/s\^2\], got shape \(\)"):
        mbd.System(gravity=-9.81)
    with raises(r"System.build: there is no body; call system.add"):
        mbd.System().build()
    for thing in ("bar", 3, mbd.RigidBody, None, body().frame()):
        with raises(r"System.add: expected a body, joint or force, got", TypeError):
            mbd.System().add(thing)
    with raises(r"no part named 'x'; there are bar", KeyError):
        system = mbd.System()
        system.add(body())
        system["x"]


def test_names_differ():
    system = mbd.System()
    bar = system.add(body())
    with raises(r"bar: names must differ.*names in use: .*bar"):
        system.add(body())
    with raises(r"bar: names must differ"):
        system.add(mbd.Spherical("bar", system.ground, bar, at=(0, 0, 0)))
    with raises(r"ground: names must differ"):
        system.add(body("ground"))


def test_a_body_that_was_not_added():
    system = mbd.System()
    one = system.add(body("one"))
    onne = body("onne")
    with raises(r"pin: is attached to 'onne', which was not added.*mean 'one'.*call system.add"):
        system.add(mbd.Spherical("pin", one, onne, at=(0, 0, 0)))
    with raises(r"push: is attached to 'onne', which was not added"):
        system.add(mbd.PointForce("push", onne, (1, 0, 0)))
    with raises(r"pin: is attached to 'one', which was not added"):
        system.add(mbd.Spherical("pin", system.ground, body("one"), at=(0, 0, 0)))
    with raises(r"pin: is attached to the ground of another system; use system.ground"):
        system.add(mbd.Spherical("pin", mbd.System().ground, one, at=(0, 0, 0)))
    assert not system.joints
    assert not system.forces


# --- method and run ------------------------------------------------------------------------------
@pytest.mark.parametrize(("options", "match"), [
    ({"rho": 1.2}, r"GeneralizedAlpha: rho must be in \[0, 1\] \[-\], got 1.2"),
    ({"tol": 0.0}, r"tol must be in \(0, 1\)"),
    ({"max_iterations": 0}, r"max_iterations must be a whole number, at least 1, got 0"),
    ({"newton": "quasi"}, r"newton must be one of modified, full, got 'quasi'"),
    ({"linear_solver": "lu"}, r"linear_solver must be one of fronts, splu, got 'lu'"),
])  # fmt: skip
def test_method(options, match):
    with raises(match):
        mbd.GeneralizedAlpha(**options)


def test_method_of_the_wrong_type():
    with raises(r"GeneralizedAlpha: there is no argument 'rh' .did you mean 'rho'", TypeError):
        mbd.GeneralizedAlpha(rh=0.5)


@pytest.mark.parametrize(("t_end", "step", "options", "match"), [
    (1.0, 0.0, {}, r"simulate: step must be positive \[s\], got 0"),
    (1.0, -1e-3, {}, r"simulate: step must be positive \[s\], got -0.001"),
    (0.0, 1e-3, {}, r"simulate: t_end must be positive \[s\], got 0"),
    (1.0, 1e-3, {"every": 0}, r"simulate: every must be a whole number from 1, got 0"),
    (1.0, 1e-3, {"every": 1.5}, r"simulate: every must be a whole number from 1, got 1.5"),
])  # fmt: skip
def test_run(t_end, step, options, match):
    with raises(match):
        mbd.simulate(chain(1), t_end, step, **options)


def test_run_of_the_wrong_type():
    with raises(r"simulate: method must be .*GeneralizedAlpha.*got 'rk4'", TypeError):
        mbd.simulate(chain(1), 1.0, 1e-3, method="rk4")
    with raises(r"simulate: method must be .*GeneralizedAlpha", TypeError):
        mbd.simulate(chain(1), 1.0, 1e-3, method=mbd.GeneralizedAlpha)
    with raises(r"simulate: expected a System or a Model, got 3", TypeError):
        mbd.simulate(3, 1.0, 1e-3)
    with raises(r"simulate: state must be a State .*got", TypeError):
        mbd.simulate(chain(1), 1.0, 1e-3, state=np.zeros(7))
    with raises(r"simulate: there is no argument 'stepsize' .did you mean 'step'", TypeError):
        mbd.simulate(chain(1), 1.0, stepsize=1e-3)


def test_state_of_another_model():
    one, two = chain(1).build(), chain(2).build()
    with raises(r"q of the state must be 14 numbers, got shape \(7,\).*another model"):
        mbd.simulate(two, 1.0, 1e-3, state=one.state)
    with raises(r"Model.assemble: q of the state must be"):
        two.assemble(one.state)
    with raises(r"v of the state must be finite"):
        mbd.simulate(one, 1.0, 1e-3, state=one.state.replace(v=np.full(6, NAN)))
    late = one.state.replace(t=2.0)
    with raises(r"simulate: t_end must lie after the start 2 s, got 1"):
        mbd.simulate(one, 1.0, 1e-3, state=late)


def test_results_by_name():
    solution = mbd.simulate(chain(2), 0.01, 1e-3)
    with raises(r"no body or joint named 'bar 2'.*did you mean 'bar \d'.*pin 1", KeyError):
        solution["bar 2"]
    with raises(r"no body or joint named 'x'.*there are: bar 0, bar 1, pin 0, pin 1", KeyError):
        solution["x"]
    with raises(r"reaction: on must be 'first' or 'second', got 'third'"):
        solution["pin 0"].reaction(on="third")
    point = mbd.System()
    point.add(mbd.PointMass("p", mass=1.0))
    with raises(r"'p' is a point, it has no rotation", AttributeError):
        mbd.simulate(point, 0.01, 1e-3)["p"].rotation  # noqa: B018
    with raises(r"'p' is a point, it has no angular velocity", AttributeError):
        mbd.simulate(point, 0.01, 1e-3)["p"].angular_velocity  # noqa: B018


@pytest.mark.parametrize(
    ("name", "numbers"), [("x", (1, 0, 0)), ("-y", (0, -1, 0)), ("z", (0, 0, 1))]
)
def test_axes_have_names(name, numbers):
    def directions(axis):
        system = mbd.System()
        hinge = mbd.Revolute("hinge", system.ground, system.add(body()), at=(0, 0, 0), axis=axis)
        return np.hstack([hinge.A.axes[:, 2], mbd.Cylinder(1.0, 1.0, axis=axis).axis])

    assert np.array_equal(directions(name), directions(numbers))
    with raises(r"hinge: axis must be 3 numbers \[-\], or one of x, y, z, -x, -y, -z, got 'w'"):
        directions("w")


# --- initial state -------------------------------------------------------------------------------
def apart(**options):
    """Return a pin whose two ends are 0.2 m apart or move apart."""
    system = mbd.System()
    bar = system.add(body(**options))
    system.add(mbd.Spherical("pin", system.ground.frame((0.2, 0, 0)), bar.frame((0, 0, 0))))
    return system


def test_inconsistent_positions_are_named():
    with raises(r"initial positions violate constraints: 'pin.force x' by 0.2 m;.*project=True"):
        mbd.simulate(apart(), 0.1, 1e-3)
    assert mbd.simulate(apart(), 0.1, 1e-3, project=True).success
    state = mbd.assemble_pose(apart())
    assert np.allclose(state.q[:3], (0.2, 0, 0), rtol=0, atol=1e-12)


def test_inconsistent_velocities_are_named():
    system = apart(position=(0.2, 0, 0), velocity=(0, 0.3, 0))
    with raises(r"initial velocities violate constraints: 'pin.force y' by -0.3 m/s;.*project"):
        mbd.simulate(system, 0.1, 1e-3)
    assert np.abs(mbd.assemble_pose(system).v[:3]).max() < 1e-12


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_rounded_numbers_are_mended_and_named(formulation):
    """A rod at 60 degrees, described with four digits; what is far off is refused as before."""
    system = mbd.System(gravity=(0, 0, -9.81))
    angle = np.deg2rad(60.0)
    rod = body(
        "rod", position=(0.25, 0, 0.433), rotation=Rotation.from_rotvec((0, -angle, 0)),
        velocity=(-0.866, 0, 0.5), angular_velocity=(0, -2.0, 0), formulation=formulation,
    )  # fmt: skip
    system.add(rod)
    system.add(mbd.Spherical("pin", system.ground.frame(), rod.frame((-0.5, 0, 0))))
    with pytest.warns(
        RuntimeWarning, match=r"positions violate constraints a little: 'pin\.force z'"
    ):
        mended = mbd.simulate(system, 0.1, 1e-3)
    assert np.abs(mended.gap).max() < 1e-12
    assert abs(mended["rod"].position[0] - (0.25, 0, 0.433)).max() < 1e-4
    meant = mbd.simulate(system, 0.1, 1e-3, project=True)
    assert np.array_equal(meant.q, mended.q)
    with raises(r"initial positions violate constraints: 'pin.force z'"):
        mbd.simulate(system, 0.1, 1e-3, project=False)


def test_an_impossible_mechanism_is_named():
    """A rod of two metres cannot reach across three."""
    system = mbd.System()
    rod = system.add(body("rod", position=(1, 0, 0)))
    system.add(mbd.Spherical("A", system.ground.frame(), rod.frame((-1, 0, 0))))
    system.add(mbd.Spherical("B", system.ground.frame((3, 0, 0)), rod.frame((1, 0, 0))))
    with raises(r"initial positions violate constraints: '[AB].force x' by -?0\.\d+ m"):
        mbd.assemble_pose(system)


# --- nothing is lost -----------------------------------------------------------------------------
def test_a_system_survives_errors():
    system = mbd.System(gravity=(0, 0, -9.81))
    with raises("there is no body"):
        system.build()
    bar = system.add(body(position=(0.5, 0, 0)))
    stranger = body("stranger")
    for part in (mbd.Spherical("pin", bar, stranger, at=(0, 0, 0)), body(), "pin"):
        with pytest.raises((ValueError, TypeError)):
            system.add(part)
    assert list(system.bodies) == ["bar"]
    system.add(mbd.Spherical("pin", system.ground, bar, at=(0, 0, 0)))
    with raises("step must be positive"):
        mbd.simulate(system, 0.1, 0)
    with raises("pin: names must differ"):
        system.add(mbd.Fixed("pin", system.ground, bar, at=(0, 0, 0)))
    assert mbd.simulate(system, 0.05, 1e-3).success
    # a built model is not touched by what is added later
    model = system.build()
    system.add(body("late", position=(2, 0, 0)))
    solution = mbd.simulate(model, 0.05, 1e-3)
    assert solution["bar"].position.shape == (51, 3)
    assert np.isfinite(solution.energy.total).all()
    with raises("no body or joint named 'late'", KeyError):
        solution["late"]


def test_descriptions_do_not_share_arrays_with_the_user():
    position, inertia = np.array([0.5, 0, 0]), np.diag(J)
    bar = body(position=position, inertia=inertia)
    gravity = np.array([0, 0, -9.81])
    system = mbd.System(gravity=gravity)
    system.add(bar)
    model = system.build()
    before = model.state.q.copy()
    position[:] = 7
    inertia[:] = 0
    gravity[:] = 0
    assert np.array_equal(bar.position, (0.5, 0, 0))
    assert system.gravity[2] == -9.81
    with pytest.raises(ValueError, match="read-only"):
        model.state.q[:] = 0
    assert np.array_equal(model.state.q, before)


def test_a_body_cannot_be_changed_behind_the_model():
    with pytest.raises(AttributeError):
        body().mass = 3.0


# --- joints, forces, drives, transmissions, rolling -----------------------------------------------
@pytest.fixture
def parts():
    system = mbd.System()
    one, two = (
        system.add(mbd.RigidBody(n, mass=1, inertia=(1, 1, 1), position=(i, 0, 1)))
        for i, n in enumerate(("one", "two"))
    )
    point = system.add(mbd.PointMass("point", mass=1, position=(3, 0, 0)))
    hinge = mbd.Revolute("hinge", system.ground, one, at=(0, 0, 1), axis=(0, 0, 1))
    slide = mbd.Prismatic("slide", system.ground, two, at=(1, 0, 1), axis=(0, 0, 1))
    both = mbd.Cylindrical("both", one, two, at=(1, 0, 1), axis=(0, 0, 1))
    ball = mbd.Spherical("ball", one, two, at=(1, 0, 1))
    return system, one, two, point, hinge, slide, both, ball


X, S = np.array([1.0, 0, 0]), np.eye(6) + 2 * np.eye(6, k=3)
CASES = (  # what is written, what is said, what is raised if not a ValueError
    ("Spherical('j', a, b)", r"j: at must be a point \[m\].*give at=\(x, y, z\)"),
    ("Revolute('j', a, b, at=X)", r"j: axis must be given for a Revolute; axis=\(x, y, z\)"),
    ("Revolute('j', a, b, at=X, axis=0 * X)", r"axis must have a direction, got \[0.0, 0.0, 0.0"),
    ("Spherical('j', a, a, at=X)", "j: must join two bodies, got 'one' twice"),
    ("Spherical('j', 'a', b, at=X)",
     "j: first must be a body, system.ground or a Frame, got 'a'", TypeError),
    ("Spherical('j', a, None, at=X)",
     "j: second must be a body, system.ground or a Frame, got None", TypeError),
    ("Spherical('j', s, b, at=X)", "j: first must be .*got System", TypeError),
    ("Spherical('j', a.frame(), b, at=X)",
     "j: a Frame says where it is, that of 'one' does; leave out at= and axes"),
    ("Spherical('j', a.frame(), b.frame(), at=X)",
     "j: a Frame says where it is, that of 'one' does; leave out at= and axes"),
    ("Revolute('j', a, p, at=X, axis=X)", "Revolute needs axes, but 'point' is a.*use Spherical"),
    ("Fixed('j', a, p, at=X)", "j: Fixed needs axes, but 'point' is a point"),
    ("PointInPlane('j', p, a, at=X, axis=X)", "PointInPlane needs axes, but 'point' is a point"),
    ("Spherical('j', a, p, at=4 * X)",
     r"j: 'point' is a point and can be held at its position only.*offset of \[1.0"),
    ("Universal('j', a, b, at=X, axis=X)", "j: a Universal needs axis= .*and second_axis="),
    ("Universal('j', a, b, at=X, axis=X, second_axis=(1, 1, 0))",
     "j: axis and second_axis must be normal to each other, got a cosine of 0.7"),
    ("Distance('j', a, b, to=(0, 0, 1))", r"j: length must be positive \[m\], got 0"),
    ("Distance('j', a, b, to=X, length=-2)", r"j: length must be positive \[m\], got -2"),
    ("Spherical('', a, b, at=X)", "Spherical: name must be"),
    ("PointForce('f', s.ground, X)", "f: must act on a body of the system, got", TypeError),
    ("PointForce('f', 'a', X)", "f: must act on a body of the system, got 'a'", TypeError),
    ("PointForce('f', p, X, at=X)", "'point' is a point; a force acts at its position, leave out"),
    ("PointForce('f', p, X, follow=True)", "f: a load that follows 'point' needs its axes"),
    ("Moment('m', p, X)", "m: a moment needs axes, but 'point' is a point"),
    ("Spring('s', a, b, length=-1)", r"s: length must not be negative \[m\], got -1"),
    ("Spring('s', a, p, to=X)", "s: 'point' is a point; hold it at its position"),
    ("Spring('s', 'a', b)", "s: expected a body, system.ground or a Frame, got 'a'", TypeError),
    ("Spring('s', a.frame(), b, at=X)", "s: a Frame says where it is; leave out at="),
    ("Spring('s', a, b, law=3)", "s: law must be a function .*got 3", TypeError),
    *((f"RotationalSpring('r', {x})", "r: joint must be one with an axis.*Revolute.*got", TypeError)
      for x in ("o", "l", "PointOnLine('j', a, b, at=X, axis=X)")),  # not Planar, which turns
    ("Bushing('b', a, b, at=X, stiffness=S)", "must be symmetric .*got 2 in row 1, column 4 and 0"),
    ("Bushing('b', a, b, stiffness=(1,) * 6)", "b: at must be a point"),
    ("Bushing('b', a, b, at=X, axes=S[:3, :3] + 1)", "b: axes must be orthogonal"),
    ("Bushing('b', a, p, at=X)", "b: Bushing needs axes, but 'point' is a point"),
    ("Drive('d', h)", "d: give position= or"),
    ("Drive('d', h, position=1, velocity=1)", "both"),
    ("Drive('d', a, position=1)", "act on a joint", TypeError),
    ("Drive('d', c, position=1)", "has the coordinates angle, displacement; say which one"),
    ("Drive('d', c, coordinate='x', position=1)", "no coordinate 'x'; it has angle, displacement"),
    ("Drive('d', o, position=1)", "has no coordinate of its own", TypeError),
    ("Drive('d', h.angle, coordinate='x', position=1)", "leave out coordinate='x'"),
    ("Drive('d', h, position=lambda t: (1, 2))",
     "must return a number or .value, rate, second rate."),
    ("Gear('g', h, l, ratio=1)", "joins two angles", TypeError),
    ("Gear('g', h, c.angle, ratio=0)", "not be zero"),
    ("RackPinion('r', l, h, radius=1)", "an angle .pinion. and a displacement .rack.", TypeError),
    ("Coupler('c', h, [1])", "must be a list", TypeError),
    ("Coupler('c', [h], [1, 2])", "1 coordinates"),
    ("Coupler('c', [h], [0])", "not all factors"),
    ("Rope('r', [a])", "two bodies or Frames or more", TypeError),
    ("Rope('r', [a, a.frame((1, 0, 0))])", "two"),
    ("Rope('r', [a, a, b])", "must not coincide"),
    ("Rope('r', [a, p.frame((1, 0, 0))])", "a point"),
    ("Stop('s', h, stiffness=1)", "lower= or upper="),
    ("Stop('s', h, lower=1, upper=0, stiffness=1)", "lower must be below upper"),
    ("Stop('s', h, lower=0)", "give restitution="),
    ("Stop('s', h, lower=0, stiffness=1, restitution=1)", "and speed= .rad/s. of an impact"),
    ("Stop('s', h, lower=0, restitution=2)", "0, 1"),
    ("Stop('s', h, lower=0, restitution=1, dissipation=1)", "dissipation .s/rad. is of a spring"),
    ("DryFriction('d', h)", "give force= .N m."),
    ("DryFriction('d', h, force=-1)", "be negative"),
    ("DryFriction('d', h, force=1, static=0.9)", "static must not be below 1"),
    ("DryFriction('d', h, coefficient=1)", "both or"),
    ("DryFriction('d', l, coefficient=1, radius=1)", "the bearing of a Revolute", TypeError),
    ("Freewheel('f', h, most=0)", "must be positive"),
    ("JointSpring('k', h, law=3)", "a function", TypeError),
    ("JointSpring('k', h, reference=1)", "give stiffness= .N m/rad., damping= .N m s/rad. or law="),
    ("Gear('g', h, h.angle, ratio=2)", "two angles"),
    ("Motor('m', h, lambda u: 1.0)", r"m: its law must be a function f\(u, rate, t\)", TypeError),
    ("Motor('m', h, lambda u, v, t: None)", "must return a number"),
    ("JointSpring('k', h, law=lambda u, v: 1.0)",
     r"k: its law must be a function f\(u, rate, t\)", TypeError),
    ("Drive('d', h, position=lambda: 1.0)", r"d: its law must be a function f\(t\)", TypeError),
    ("PointForce('f', a, lambda: (0, 0, 1))", r"f: its law must be a function f\(t\)", TypeError),
    ("PointForce('f', a, lambda t: 1.0)", "must return 3 components"),
    ("assemble_pose(s, targets='sh.angle')", "targets must be a dict", TypeError),
    ("assemble_pose(s, weights=3)", "weights must be", TypeError),
    ("inverse_dynamics(s, 'abc')", "times must be increasing numbers .s., got 'abc'", TypeError),
    ("equilibrium(s, arc_length=0.1, load_steps=2)", "give load_steps or arc_length, got both"),
    ("RollingDisc('r', s.ground, a, radius=1)", "axis must be given: the axle"),
    ("RollingDisc('r', s.ground, a, radius=1, axis=(0, 0, 1))", "lies flat"),
    ("RollingDisc('r', s.ground, p, radius=1, axis=(0, 1, 0))", "is a point"),
    ("RollingBall('r', s.ground, 3.0, radius=1)", "second must be a body", TypeError),
    ("RollingBall('r', s.ground, a, radius=-1)", "radius must be positive"),
    ("KnifeEdge('k', s.ground, a, axis=(0, 0, 1))", "blade must lie in the plane"),
    ("SmoothStep(0, 1, 2, 2)", "1e-100 s after"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refused(parts, case):
    text, words, error = (*case, ValueError)[:3]
    names = {x: getattr(mbd, x) for x in mbd.__all__} | {"X": X, "S": S}
    names |= dict(zip("sabphlco", parts, strict=True))
    with pytest.raises(error, match=words):
        eval(text, names)


def test_violations_at_the_start_are_named(parts):
    system, one, *_ = parts
    system.add(mbd.RollingBall("roll", system.ground, one, radius=0.7))
    with pytest.raises(ValueError, match=r"'roll.normal' by 0\.3 m"):
        mbd.simulate(system, 1e-3, 1e-3)


def test_units_of_rows_on_angles_and_advice_that_can_be_followed(parts):
    system, _, _, _, hinge, *_ = parts
    system.add(hinge)
    system.add(mbd.Drive("first", hinge, position=0.5))
    with pytest.raises(ValueError, match=r"'first.position' by -0\.5 rad; correct them"):
        mbd.simulate(system, 1e-3, 1e-3)
    system.add(mbd.Drive("other", hinge, position=mbd.ConstantSpeed(2.0, 0.5)))
    with pytest.raises(ValueError, match=r"by .*rad/s") as caught:
        mbd.inverse_dynamics(system, [0.0, 0.1])
    assert "project=True" not in str(caught.value)


def test_a_law_that_raises_is_named(parts):
    system, _, _, _, hinge, *_ = parts
    system.add(hinge)

    def law(t):
        if t > 0.1:
            raise RuntimeError("no cam there")
        return 0.0

    system.add(mbd.Drive("cam", hinge, position=law))
    with pytest.raises(RuntimeError, match="cam: its law raised RuntimeError: no cam there"):
        mbd.simulate(system, 1.0, 1e-2)


def test_coordinates_have_names_and_units(parts):
    *_, hinge, slide, both, ball = parts
    assert list(both.coordinates) == ["angle", "displacement"]
    assert [x.unit for x in both.coordinates.values()] == ["rad", "m"]
    assert ball.coordinates == {}
    assert repr(hinge.angle) == "Coordinate(hinge.angle [rad])"
    assert slide.displacement.load_unit == "N"
    assert math.isclose(slide.displacement.start, 0.0)
