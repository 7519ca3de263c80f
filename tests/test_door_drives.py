"""Errors at the door of drives, transmissions, rolling: who, what must be which, got what."""

import math

import pytest

import mbd


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


CASES = (
    # make, error, words
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h), ValueError, "d: give position= or"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h, position=1, velocity=1), ValueError, "both"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h, position="x"), TypeError, "must be a number"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", a, position=1), TypeError, "act on a joint"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", c, position=1), ValueError,
     "has the coordinates angle, displacement; say which one"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", c, coordinate="x", position=1), ValueError,
     "no coordinate 'x'; it has angle, displacement"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", o, position=1), TypeError,
     "has no coordinate of its own"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h.angle, coordinate="x", position=1), ValueError,
     "leave out coordinate='x'"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h, position=lambda t: (1, 2)), ValueError,
     "must return a number or .value, rate, second rate."),
    (lambda s, a, b, p, h, l, c, o: mbd.Gear("g", h, l, ratio=1), TypeError, "joins two angles"),
    (lambda s, a, b, p, h, l, c, o: mbd.Gear("g", h, c.angle, ratio=0), ValueError, "not be zero"),
    (lambda s, a, b, p, h, l, c, o: mbd.RackPinion("r", l, h, radius=1), TypeError,
     "an angle .pinion. and a displacement .rack."),
    (lambda s, a, b, p, h, l, c, o: mbd.Coupler("c", h, [1]), TypeError, "must be a list"),
    (lambda s, a, b, p, h, l, c, o: mbd.Coupler("c", [h], [1, 2]), ValueError, "1 coordinates"),
    (lambda s, a, b, p, h, l, c, o: mbd.Coupler("c", [h], [0]), ValueError, "not all factors"),
    (lambda s, a, b, p, h, l, c, o: mbd.Rope("r", [a]), TypeError, "two bodies or Frames or more"),
    (lambda s, a, b, p, h, l, c, o: mbd.Rope("r", [a, a.frame((1, 0, 0))]), ValueError, "two"),
    (lambda s, a, b, p, h, l, c, o: mbd.Rope("r", [a, a, b]), ValueError, "must not coincide"),
    (lambda s, a, b, p, h, l, c, o: mbd.Rope("r", [a, p.frame((1, 0, 0))]), ValueError, "a point"),
    (lambda s, a, b, p, h, l, c, o: mbd.Stop("s", h, stiffness=1), ValueError, "lower= or upper="),
    (lambda s, a, b, p, h, l, c, o: mbd.Stop("s", h, lower=1, upper=0, stiffness=1), ValueError,
     "lower must be below upper"),
    (lambda s, a, b, p, h, l, c, o: mbd.Motor("m", h, "x"), TypeError, "effort must be a number"),
    (lambda s, a, b, p, h, l, c, o: mbd.JointSpring("k", h, law=3), TypeError, "a function"),
    (lambda s, a, b, p, h, l, c, o: mbd.JointSpring("k", h, reference=1), ValueError,
     r"give stiffness= .N m/rad., damping= .N m s/rad. or law="),
    (lambda s, a, b, p, h, l, c, o: mbd.Gear("g", h, h.angle, ratio=2), ValueError, "two angles"),
    (lambda s, a, b, p, h, l, c, o: mbd.Motor("m", h, lambda u: 1.0), TypeError,
     r"m: its law must be a function f\(u, rate, t\)"),
    (lambda s, a, b, p, h, l, c, o: mbd.Motor("m", h, lambda u, v, t: None), ValueError,
     "must return a number"),
    (lambda s, a, b, p, h, l, c, o: mbd.JointSpring("k", h, law=lambda u, v: 1.0), TypeError,
     r"k: its law must be a function f\(u, rate, t\)"),
    (lambda s, a, b, p, h, l, c, o: mbd.Drive("d", h, position=lambda: 1.0), TypeError,
     r"d: its law must be a function f\(t\)"),
    (lambda s, a, b, p, h, l, c, o: mbd.PointForce("f", a, lambda: (0, 0, 1)), TypeError,
     r"f: its law must be a function f\(t\)"),
    (lambda s, a, b, p, h, l, c, o: mbd.PointForce("f", a, lambda t: 1.0), ValueError,
     "must return 3 components"),
    (lambda s, a, b, p, h, l, c, o: mbd.assemble_pose(s, targets="sh.angle"), TypeError,
     "targets must be a dict"),
    (lambda s, a, b, p, h, l, c, o: mbd.assemble_pose(s, weights=3), TypeError, "weights must be"),
    (lambda s, a, b, p, h, l, c, o: mbd.inverse_dynamics(s, "abc"), TypeError,
     r"times must be increasing numbers .s., got 'abc'"),
    (lambda s, a, b, p, h, l, c, o: mbd.equilibrium(s, arc_length=0.1, load_steps=2), ValueError,
     "give load_steps or arc_length, got both"),
    (lambda s, a, b, p, h, l, c, o: mbd.RollingDisc("r", s.ground, a, radius=1), ValueError,
     "axis must be given: the axle"),
    (lambda s, a, b, p, h, l, c, o: mbd.RollingDisc("r", s.ground, a, radius=1, axis=(0, 0, 1)),
     ValueError, "lies flat"),
    (lambda s, a, b, p, h, l, c, o: mbd.RollingDisc("r", s.ground, p, radius=1, axis=(0, 1, 0)),
     ValueError, "is a point"),
    (lambda s, a, b, p, h, l, c, o: mbd.RollingBall("r", s.ground, 3.0, radius=1), TypeError,
     "second must be a body"),
    (lambda s, a, b, p, h, l, c, o: mbd.RollingBall("r", s.ground, a, radius=-1), ValueError,
     "radius must be positive"),
    (lambda s, a, b, p, h, l, c, o: mbd.KnifeEdge("k", s.ground, a, axis=(0, 0, 1)), ValueError,
     "blade must lie in the plane"),
    (lambda s, a, b, p, h, l, c, o: mbd.Screw("s", a, b, at=(0, 0, 0), axis=(0, 0, 1), pitch="x"),
     TypeError, "pitch must be a number"),
    (lambda s, a, b, p, h, l, c, o: mbd.SmoothStep(0, 1, 2, 2), ValueError, "1e-100 s after"),
)  # fmt: skip


@pytest.mark.parametrize(("make", "error", "words"), CASES)
def test_refused(parts, make, error, words):
    with pytest.raises(error, match=words):
        make(*parts)


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
