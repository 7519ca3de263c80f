"""A body on R^3 x S^2: the motion of one that wears the non-twisting row, in five velocities."""

import numpy as np
import pytest
from scenes import with_body

import mbd
from mbd.algebra import s2
from tests.kinds.recipes import JOINT_RECIPES, LOADS, PAIR_FORCES, STILL

from .tools import scene as model_scene

NON_TWISTING = model_scene("non_twisting")
J = NON_TWISTING.INERTIA
TURNED = ((1, 0, 0), (0, 0, -1), (0, 1, 0))


def scene(row, joint=None, *, spring=True):
    """Return an eccentric body that does not twist, on a spring; by a joint it bears a bar."""
    system, body = with_body(
        "body", gravity=(0, 1, -9.81), mass=1.3, inertia=J, center_of_mass=(0.1, 0.2, -0.3),
        angular_velocity_body=(1.0, -2.0, 0.0), rotation=TURNED, formulation="so3" if row else "S2",
    )  # fmt: skip
    if row:
        system.add(mbd.NonTwisting("frame", body))
    if spring:
        end = body.frame((0.4, 0.2, 0.3))
        system.add(mbd.Spring("spring", system.ground, end, stiffness=60.0, length=0.3))
    if joint is not None:
        bar = system.add(mbd.RigidBody("bar", mass=1, inertia=(0.1, 0.2, 0.2), position=(1, 0, 0)))
        system.add(joint(body, bar))
    return system


def end(system, h, method=None, **options):
    options = {"project": True, **({"method": method} if method else {}), **options}
    run = mbd.simulate(system, 0.5, h, **options)
    return np.vstack([run["body"].position[-1], run["body"].rotation[-1]])


@pytest.mark.parametrize("case", [1, 2])
def test_published_cases(case):
    """Tables 2 and 4 of the paper in their limit of small steps, see models/non_twisting.py."""
    system = NON_TWISTING.build("S2", case)
    run = mbd.simulate(system, **NON_TWISTING.RUN)
    for name, t, value, tolerance, _ in NON_TWISTING.REFERENCES[case]:
        part, quantity = name.rsplit(".", 1)
        if part != "frame":  # the row that is not there
            found = np.asarray(getattr(run.energy if part == "energy" else run[part], quantity))
            found = found[np.searchsorted(run.t, t - 1e-9)]
            np.testing.assert_allclose(found, value, rtol=0, atol=tolerance)
    assert system.build().n_v == 5
    assert np.abs(s2.twist_angle(run["body"].rotation)).max() < 1e-9


@pytest.mark.parametrize(
    "joint",
    [None,
     lambda a, b: mbd.Spherical("ball", a, b, at=(0.5, 0, 0)),
     lambda a, b: mbd.Revolute("hinge", a, b, at=(0.5, 0, 0), axis=(0.3, 0.2, 1))],
    ids=["spring", "ball", "hinge"],
)  # fmt: skip
def test_it_moves_as_one_that_wears_the_row(joint):
    row = [end(scene(True, joint), h) for h in (4e-3, 2e-3)]
    limit = (4 * row[1] - row[0]) / 3
    mine = [np.abs(end(scene(False, joint), h) - limit).max() for h in (4e-3, 2e-3)]
    assert mine[1] < 1.5 * np.abs(row[1] - limit).max()
    assert mine[0] / mine[1] > 3.5


def test_products_of_exponentials_have_order_four():
    method = mbd.LieRungeKutta4("commutator_free")
    ends = [end(scene(False), h, method) for h in (0.02, 0.01, 0.005)]
    assert np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max() > 0.8 * 2**4
    row = [end(scene(True), h) for h in (2e-3, 1e-3)]
    assert np.abs(ends[-1] - (4 * row[1] - row[0]) / 3).max() < 1e-8


def two(motion=STILL):
    """Return two bodies somewhere, the first one on S2."""
    system = mbd.System(gravity=(0.3, -0.2, -9.81))
    rng = np.random.default_rng(8)
    options = {"inertia": (0.3, 0.45, 0.6), "center_of_mass": (0.1, -0.2, 0.1), "mass": 1.7}
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    first = mbd.RigidBody("one", angular_velocity_body=(0.4, -0.7, 0), position=rng.normal(size=3),
                          rotation=turn, formulation="S2", **options)  # fmt: skip
    second = mbd.RigidBody("two", angular_velocity=(1, 2, 3), position=(1, 0.3, 0), **options)
    return system, system.add(first), system.add(second)


PARTS = {**JOINT_RECIPES, **PAIR_FORCES}
SOME = ("Revolute", "ConstantVelocity", "RollingDisc")


@pytest.mark.parametrize(
    "key", [x if x in SOME else pytest.param(x, marks=pytest.mark.slow) for x in PARTS], ids=str
)
def test_parts(key):
    _, one, other = two()
    assert mbd.check_part(PARTS[key](one, other, STILL), tolerance=5e-8).ok


@pytest.mark.slow
@pytest.mark.parametrize("key", LOADS, ids=str)
def test_loads(key):
    _, one, _ = two()
    assert mbd.check_tangents(LOADS[key](one, STILL), tolerance=5e-8).ok


def test_modes_are_those_of_the_row():
    found = []
    for row in (True, False):
        system = mbd.System()
        body = mbd.RigidBody("body", mass=1.0, inertia=J, formulation="so3" if row else "S2")
        system.add(body)
        held = system.ground.frame((0, 0, 0)), body.frame((0, 0, 0))
        system.add(mbd.Bushing("bush", *held, stiffness=(100, 120, 140, 30, 20, 10)))
        if row:
            system.add(mbd.NonTwisting("frame", body))
        found.append([x.frequency for x in mbd.modes(system) if x.frequency > 1e-9])
    assert len(found[1]) == 5
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize(("method", "said"), [
    (mbd.RadauCollocation(), "does not say how increments go along with velocities"),
    (mbd.LieRungeKutta4(), "'commutator_free'"),
    (mbd.LieRungeKutta4("quaternion"), "does not say how a unit quaternion moves it"),
    (mbd.EnergyMomentum(), "whose face is not linear"),
])  # fmt: skip
def test_methods_that_cannot_move_it_say_so(method, said):
    with pytest.raises(ValueError, match=f"'body' is carried by 's2'.*{said}"):
        end(scene(False), 1e-2, method, project=False)


def test_spin_is_refused_by_name():
    body = {"mass": 1.0, "inertia": (1, 1, 1), "formulation": "S2"}
    with pytest.raises(ValueError, match=r"top: angular_velocity .*third director .*got 2 along"):
        mbd.RigidBody("top", angular_velocity=(0, 1, 2), **body)
    mbd.RigidBody("top", angular_velocity=(0, 1, 1e-9), **body)


def test_what_must_twist_refuses_it():
    section = mbd.Section.circle(0.01, young=2e9, poisson=0.3, density=1e3)
    line = {"points": [(0, 0, 0), (1, 0, 0)], "section": section, "elements": 2}
    with pytest.raises(ValueError, match="rod: formulation must let nodes turn .*got 's2'"):
        mbd.Beam("rod", formulation="S2", **line)
    with pytest.raises(ValueError, match="frame: 'body' must be able to twist, got one on 's2'"):
        mbd.NonTwisting("frame", scene(False)["body"])


# --- twist, holonomy, scalar curvature ------------------------------------------------------------
def test_twist_angle_is_the_integral_of_the_spin():
    system, _ = with_body("top", mass=1, inertia=(2, 2, 3), angular_velocity=(0.5, 0, 4))
    errors = []
    for h in (2e-2, 1e-2):
        top = mbd.simulate(system, 4.0, h)["top"]
        errors.append(abs(s2.twist_angle(top.rotation)[-1] - 4.0 * 4.0))  # d3 . omega is constant
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] > 3.5


@pytest.mark.parametrize("height", [0.8, -0.3])
def test_holonomy_of_a_circle_is_the_area_inside(height):
    """Carried once around a circle of latitude, d1 comes back turned by 2 pi (1 - cos)."""
    phi = np.linspace(0, 2 * np.pi, 2001)
    r = np.sqrt(1 - height**2)
    d3 = np.column_stack([r * np.cos(phi), r * np.sin(phi), np.full_like(phi, height)])
    d1 = [np.array([0.0, 1.0, 0.0])]
    for a, b in zip(d3[:-1], d3[1:], strict=True):
        d1.append(s2.parallel_transport(a, b, d1[-1]))
    d1 = np.array(d1)
    frame = np.stack([d1, np.cross(d3, d1), d3], -1)
    assert np.abs(s2.twist_angle(frame)).max() < 1e-12
    area = 2 * np.pi * (1 - height)
    left = s2.holonomy(frame)[-1] - area
    assert abs(left - 2 * np.pi * round(left / (2 * np.pi))) < 1e-5


def test_scalar_curvature_is_the_product_of_the_rates():
    run = mbd.simulate(scene(False), 0.2, 1e-3)["body"]
    w = run.angular_velocity_body
    found = s2.scalar_curvature(run.rotation, run.angular_velocity)
    np.testing.assert_allclose(found, -w[:, 0] * w[:, 1], atol=1e-12)
    d1, d2 = (np.gradient(run.rotation[:, :, k], 1e-3, axis=0, edge_order=2) for k in (0, 1))
    np.testing.assert_allclose(found, np.sum(d1 * d2, 1), atol=1e-3)
