"""What is drawn of a solution: instants, shapes, symbols of joints, arrows, view."""

import math
from dataclasses import replace

import numba
import numpy as np
import pytest
from animation.models import pendulum, run
from scenes import chain, with_body, with_point

import mbd
from mbd.animation.arrows import scales, tips, visible
from mbd.animation.drawing import Arrow, End, Rod, nice
from mbd.animation.glyphs import draw_symbol
from mbd.animation.looks import Sizes, inertia_box, looks
from mbd.animation.painter import settled
from mbd.animation.view import chosen, pace
from mbd.drawing.surfaces import surface
from mbd.parts.joint import Joint


def simulated(system, t_end=0.2, step=1e-2, **options):
    return mbd.simulate(system, t_end=t_end, step=step, progress=False, **options)


def still(system):
    """Return the initial state twice, as a solution: nothing is run, no kernels are compiled."""
    model = system.build()
    x = model.state
    twice = {k: np.stack([getattr(x, k)] * 2) for k in ("q", "v", "a", "lam")}
    return mbd.Solution(
        model, np.array([0.0, 1.0]), **twice, status=0, message="", stats={}, last=x, method=None
    )


# --- time ----------------------------------------------------------------------------------------
def test_sixty_instants_per_second_and_more_for_what_spins():
    t = np.linspace(0, 2, 20001)
    k = chosen(t, 1.0, 0.0)
    assert len(k) == 121
    assert np.abs(t[k] - np.linspace(0, 2, 121)).max() <= 0.5e-4 + 1e-12
    k = chosen(t, 1.0, 300.0)
    assert (300 * np.diff(t[k])).max() < 1.1
    assert np.array_equal(chosen(t[:50], 1.0, 0.0), [0, 49])
    assert len(chosen(t[:50], 0.01, 0.0)) == 50 - 19  # 100 times slower
    assert np.array_equal(chosen(t[:1], 1.0, 5.0), [0])


def test_uneven_steps():
    t = np.concatenate([np.linspace(0, 1, 5), np.linspace(1.0001, 1.1, 1000), [2.0]])
    k = chosen(t, 1.0, 0.0)
    assert k[0] == 0
    assert k[-1] == len(t) - 1
    assert set(range(5)) <= set(k)
    assert len(k) < 20


@pytest.mark.parametrize(
    ("duration", "speed"),
    [(0.03, 0.01), (0.9, 0.2), (1.0, 1.0), (60, 1.0), (300, 5.0), (1e4, 200.0), (0.0, 1.0)],
)
def test_pace(duration, speed):
    assert pace(duration) == pytest.approx(speed)


@pytest.mark.parametrize(
    ("x", "round_one"), [(0.9, 1), (1.6, 2), (3.3, 5), (8, 10), (2.3e-4, 2e-4)]
)
def test_nice(x, round_one):
    assert nice(x) == pytest.approx(round_one)


# --- bodies --------------------------------------------------------------------------------------
def test_box_of_a_body_has_its_inertia():
    rng = np.random.default_rng(73291)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    J = Q @ np.diag([0.3, 0.4, 0.6]) @ Q.T
    body = mbd.RigidBody("b", mass=2.0, inertia=J, center_of_mass=(0.1, 0.2, 0.3))
    edges, axes = inertia_box(body)
    a, b, c = edges**2
    assert np.linalg.det(axes) > 0
    assert np.abs(axes @ np.diag([b + c, a + c, a + b]) @ axes.T * 2 / 12 - J).max() < 1e-12


def test_links_go_from_joint_to_joint():
    system = mbd.System()
    options = {"mass": 1.0, "inertia": (1e-3, 0.1, 0.1)}
    link = system.add(mbd.RigidBody("link", position=(0.5, 0, 0), **options))
    door = system.add(mbd.RigidBody("door", position=(0.5, 0, 0), **options))
    ball = system.add(mbd.PointMass("ball", mass=1.0))
    own = mbd.RigidBody("own", shape=mbd.Sphere(0.3), **options)
    system.add(own)
    for name, body, at in (("a", link, 0), ("b", link, 1), ("c", door, 0)):
        system.add(mbd.Spherical(name, system.ground, body, at=(at, 0, 0)))
    sizes = Sizes(system.build())
    (bar,) = looks(link, sizes)
    assert isinstance(bar, mbd.Capsule)
    assert bar.length == pytest.approx(1.0)
    assert np.abs(bar.at).max() < 1e-15
    assert isinstance(looks(door, sizes)[0], mbd.Box)
    assert isinstance(looks(ball, sizes)[0], mbd.Sphere)
    assert looks(own, sizes) == own.shapes


def test_long_chains_can_be_seen():
    drawing = still(chain(100)).animate().drawing
    size = np.linalg.norm(drawing.high - drawing.low)
    bars = [s.shape for s in drawing.solids if s.layer == "bodies"][:99]  # the last hangs free
    assert all(isinstance(x, mbd.Capsule) and x.radius > 1e-3 * size for x in bars)


@pytest.mark.parametrize(("shape", "volume"), [
    (mbd.Box((1, 2, 3), at=(1, 1, 1)), 6.0),
    (mbd.Sphere(0.5, at=(3, 0, 0)), np.pi / 6),
    (mbd.Cylinder(0.5, 2.0, axis=(1, 1, 0)), np.pi / 2),
    (mbd.Capsule(0.5, 2.0, axis=(0, -1, 0)), np.pi / 2 + np.pi / 6),
])  # fmt: skip
def test_surfaces_are_closed_and_look_outwards(shape, volume):
    vertices, faces = surface(shape)
    a, b, c, d = (vertices[faces[:, i]] for i in range(4))
    inside = sum(np.einsum("nc,nc->", x, np.cross(y, z)) / 6 for x, y, z in ((a, b, c), (a, c, d)))
    assert inside == pytest.approx(volume, rel=0.04)
    normal = sum(np.cross(y - x, z - x).sum(0) for x, y, z in ((a, b, c), (a, c, d)))
    assert np.abs(normal).max() < 1e-12


# --- joints and springs --------------------------------------------------------------------------
def every_joint():
    for name in mbd.__all__:  # each imports its module
        getattr(mbd, name)
    found, more = [], [Joint]
    while more:
        kind = more.pop()
        found += kind.__subclasses__()
        more += kind.__subclasses__()
    ours = [k for k in found if k.__module__.startswith("mbd.") and k.__name__[0] != "_"]
    return sorted(ours, key=lambda k: k.__name__)


@pytest.mark.parametrize("kind", every_joint(), ids=lambda k: k.__name__)
def test_every_joint_has_a_symbol_at_its_place(kind):
    system = mbd.System()
    first, second = (
        system.add(mbd.RigidBody(n, mass=1.0, inertia=(1, 1, 1), position=(i, 0, 0)))
        for i, n in enumerate(("first", "second"))
    )
    if kind is mbd.Distance:
        frames = [first, second]
    else:
        frames = [b.frame(x) for b, x in ((first, (0.5, 0.2, 0)), (second, (-0.5, 0.2, 0)))]
    numbers = {
        "Screw": {"pitch": 0.1},
        "PrescribedMotion": {"position": (0, 0, 0)},
        "RollingDisc": {"radius": 0.1},
        "RollingBall": {"radius": 0.1},
    }
    if "radius" in numbers.get(kind.__name__, ()):  # the plane is below
        frames[0] = first.frame((0.5, 0.2, -0.1))
        frames[1] = second.frame((-0.5, 0.2, 0), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
    joint = system.add(kind("joint", *frames, **numbers.get(kind.__name__, {})))
    drawing = still(system).animate().drawing
    drawn = [s for s in drawing.solids if s.layer == "joints"]
    links = [x for x in drawing.links if x.layer == "joints"]
    assert drawn or links
    assert {x.label for x in (*drawn, *links)} == {f"joint ({kind.__name__})"}
    assert drawn == [] or drawn[0].frame in ("first", "second")
    for s in drawn:
        assert np.linalg.norm(drawing.placed(s.frame, s.shape.at, 0) - (0.5, 0.2, 0)) < 0.2
    assert draw_symbol(joint, 0.1, drawing.tracks)


def test_rail_of_a_slider_is_as_long_as_its_travel():
    system = mbd.System()
    ride = mbd.RigidBody("ride", mass=1.0, inertia=(1, 1, 1), velocity=(3.0, 0, 0))
    system.add(ride)
    system.add(mbd.Prismatic("rail", system.ground, ride, at=(0, 0, 0), axis=(1, 0, 0)))
    drawing = simulated(system, t_end=1.0).animate().drawing
    rail = next(s for s in drawing.solids if s.frame == "ground")
    assert 3.0 < rail.shape.size[2] < 4.5
    assert rail.shape.at[0] == pytest.approx(1.5)


def test_ropes_visit_their_points():
    system = mbd.System()
    masses = [
        system.add(mbd.PointMass(f"mass {i}", mass=1.0, position=(i, 0, -1))) for i in range(2)
    ]
    pulley = system.ground.frame((0.5, 0, 0))
    system.add(mbd.Rope("rope", [masses[0], pulley, masses[1]]))
    drawing = still(system).animate().drawing
    assert [[e.frame for e in x.ends] for x in drawing.links] == [
        ["mass 0", "ground"], ["ground", "mass 1"]
    ]  # fmt: skip


def test_drives_and_motors_are_arrows_at_their_joints():
    system, wheel = with_body("wheel", inertia=(1, 1, 1), position=(1, 0, 0))
    cart = system.add(mbd.RigidBody("cart", mass=1.0, inertia=(1, 1, 1)))
    slide = system.add(mbd.Prismatic("slide", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, wheel, at=(1, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Drive("drive", hinge, position=mbd.ConstantSpeed(2.0)))
    system.add(mbd.Motor("motor", slide, lambda u, rate, t: 1.0))
    around, along = still(system).animate().drawing.wires
    assert (around.label, along.label) == ("drive (Drive)", "motor (Motor)")
    assert np.abs(around.points[:, 1]).max() < 1e-12  # in the plane across the axis
    radius = np.linalg.norm(around.points[:49] - (1, 0, 0), axis=1)
    assert np.ptp(radius) < 1e-12 < radius[0]
    assert np.ptp(along.points[:, 0]) > 3 * np.ptp(along.points[:, 1:], axis=0).max()


def test_springs():
    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spring("coil", system.ground, body, stiffness=10.0, length=0.5))
    system.add(mbd.RotationalSpring("spiral", hinge, stiffness=1.0))
    stiffness = (1.0,) * 6
    system.add(mbd.Bushing("block", system.ground, body, at=(0, 0, 0), stiffness=stiffness))
    drawing = still(system).animate().drawing
    (coil,) = drawing.links
    assert isinstance(coil, Rod)
    assert (coil.form, coil.layer, coil.label) == ("coil", "springs", "coil (Spring)")
    path = drawing.at(coil.ends[1])
    assert np.abs(path - np.array([drawing.tracks["body"].position])).max() < 1e-15
    assert drawing.wires[0].label == "spiral (RotationalSpring)"
    assert any(s.label == "block (Bushing)" for s in drawing.solids)


# --- arrows --------------------------------------------------------------------------------------
def arrow(drawing, layer, unit):
    return next(a for a in drawing.arrows if (a.layer, a.unit) == (layer, unit))


def test_arrows_are_loads_and_reactions():
    solution = pendulum()
    drawing = solution.animate().drawing
    k = np.searchsorted(solution.t, drawing.t - 1e-9)
    push = arrow(drawing, "loads", "N")
    assert np.abs(push.vectors - np.outer(drawing.t, (0, 0, 3.0))).max() < 1e-12
    assert np.abs(push.end.point - (0.5, 0, 0)).max() < 1e-15
    twist = arrow(drawing, "loads", "N m")
    assert np.abs(twist.vectors - (0, 0.5, 0)).max() < 1e-9  # follows, about its own axis
    hinge = arrow(drawing, "reactions", "N")
    assert np.abs(hinge.vectors - solution["hinge"].force[k]).max() == 0
    assert np.abs(drawing.at(hinge.end)).max() < 1e-9
    assert solution.animate(arrows=False).drawing.arrows == ()


@pytest.mark.parametrize("turned", [False, True])
def test_contacts_are_arrows_where_they_push(turned):
    """A weight comes to rest on a stop, which then carries it; in the air it does not push."""
    system = mbd.System(gravity=(0, 0, -10.0))
    box = {"mass": 2.0, "inertia": (1, 1, 1), "position": (0, 0, 0.02)}
    box = system.add(mbd.RigidBody("box", **box))
    ends = (box, system.ground) if turned else (system.ground, box)
    slide = system.add(mbd.Prismatic("slide", *ends, at=(0, 0, 0.02), axis="z"))
    limit = {"upper": 0.01} if turned else {"lower": -0.01}
    system.add(mbd.Stop("floor", slide, stiffness=2e4, dissipation=20.0, **limit))
    arrows = simulated(system, 1.0, 1e-3).animate().drawing.arrows
    (floor,) = [x for x in arrows if x.label.startswith("floor")]
    assert floor.layer == "loads"
    assert floor.unit == "N"
    sign = -1.0 if turned else 1.0  # on the second body
    assert np.allclose(floor.vectors[:2], 0.0)
    assert np.allclose(floor.vectors[-1], (0, 0, sign * 20.0), rtol=1e-2)


@pytest.mark.parametrize("limit", [{"lower": -0.01}, {"upper": 0.01}])
def test_what_a_stop_pushes_with_is_what_moves_its_body(limit):
    """In motion, into the stop and out of it: the arrow and the kernel have one law."""
    system, speed = mbd.System(), -1.0 if "lower" in limit else 1.0
    box = system.add(mbd.RigidBody("box", mass=2.0, inertia=(1, 1, 1), velocity=(0, 0, speed)))
    slide = system.add(mbd.Prismatic("slide", system.ground, box, at=(0, 0, 0), axis="z"))
    floor = system.add(mbd.Stop("floor", slide, stiffness=2e4, dissipation=0.4, **limit))
    solution = simulated(system, 0.06, 1e-4)
    push = floor.push(solution["slide"].displacement, solution["slide"].displacement_rate)
    assert np.abs(push).max() > 100.0
    assert np.allclose(
        push, 2.0 * solution["box"].acceleration[:, 2], atol=1e-6 * np.abs(push).max()
    )


def test_contact_forces_act_where_bodies_touch(tmp_path):
    """A ball that rolls on the floor into another one: arrows at points that move on both."""
    system = mbd.System(gravity=(0, 0, -9.81))
    one, two = (
        system.add(
            mbd.RigidBody(
                name,
                mass=1.0,
                inertia=(4e-3,) * 3,
                shape=mbd.Sphere(0.1),
                position=(x, 0, 0.1),
                velocity=(v, 0, 0),
            )
        )
        for name, x, v in (("one", 0, 1), ("two", 0.25, 0))
    )
    for name, ball in (("floor", one), ("ground", two)):
        system.add(mbd.Contact(f"on {name}", system.ground, ball, friction=0.5))
    system.add(mbd.Contact("hit", one, two, plane=False, friction=0.2))
    solution = simulated(system, 0.2, 1e-2)
    drawing = solution.animate(tmp_path / "balls.html").drawing
    arrows = [a for a in drawing.arrows if a.layer == "loads"]
    assert [a.label for a in arrows] == ["on floor on one", "on ground on two", "hit on two"]
    for arrow, part in zip(arrows, ("on floor", "on ground", "hit"), strict=True):
        history = mbd.contacts(solution, part)
        assert drawing.at(arrow.end) == pytest.approx(history.point[:, 0])
        assert arrow.vectors == pytest.approx(solution[part].force, abs=1e-12)
        assert history.force.sum(axis=1) == pytest.approx(solution[part].force, abs=1e-12)
    assert drawing.at(arrows[0].end)[:, 2] == pytest.approx(0.0, abs=1e-12)
    assert {"on floor.0", "hit.0"} < {*drawing.tracks}
    solution.snapshot(tmp_path / "balls.png")
    bare = solution.animate(arrows=False).drawing
    assert "hit.0" not in bare.tracks


def test_jitted_law_gives_the_same_arrow():
    found = []

    def law(t):
        return (np.sin(t), 0.0, 2.0 * t)

    for function in (law, numba.njit(law)):
        system, mass = with_point("mass")
        system.add(mbd.PointForce("push", mass, function))
        found.append(arrow(simulated(system).animate().drawing, "loads", "N").vectors)
    assert np.array_equal(*found)
    t = np.linspace(0, 0.2, len(found[0]))
    assert np.abs(found[0] - np.column_stack([np.sin(t), 0 * t, 2 * t])).max() < 1e-9


def test_scale_of_arrows_is_round_and_shows_the_largest():
    drawing = pendulum().animate().drawing
    value, length = drawing.scales["N"]
    assert value == nice(value)
    assert length == nice(length)
    largest = max(np.linalg.norm(a.vectors, axis=1).max() for a in drawing.arrows if a.unit == "N")
    size = np.linalg.norm(drawing.high - drawing.low)
    assert 0.05 * size < largest * length / value < 0.5 * size


def test_round_off_is_not_drawn():
    """A ball joint with moments of 1e-9 N m beside forces of 20 N, and the other way round."""
    t = np.linspace(0, 1, 11)[:, None]
    force, moment = t * (20.0, 0, 0), t * (0, 1.0, 0)

    def made(f, m, layer="reactions"):
        end = End("ground", np.zeros(3))
        return [
            Arrow(end, f, "N", layer, "a"),
            Arrow(end, m, "N m", layer, "a"),
        ]

    for f, m, left in (
        (force, 1e-8 * moment, {"N"}),
        (1e-8 * force, moment, {"N m"}),
        (force, 1e-3 * moment, {"N", "N m"}),
    ):
        arrows = visible(made(f, m), 0.5)
        assert {a.unit for a in arrows} == left
        assert set(scales(arrows, 1.0)) == left
    # what the user asks for is drawn, if it is small too
    assert len(visible(made(force, 1e-6 * moment, "loads"), 0.5)) == 2
    # levers of a kilometre: a moment of 1e-4 N m is nothing
    assert {a.unit for a in visible(made(force, 1e-4 * moment), 1e3)} == {"N"}


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, 0, 0)])
@pytest.mark.parametrize("formulation", ["so3", "directors", "euler_parameters"])
def test_arrows_of_round_off_alone_are_not_drawn(gravity, formulation):
    """Two halves of a rod that falls, or is pulled, as one: their weld carries nothing."""
    system = mbd.System(gravity=gravity)
    for name, x in (("left", -0.3), ("right", 0.4)):
        half = mbd.RigidBody(
            name, mass=1.3, inertia=(0.1, 0.2, 0.25), position=(x, 0.1, 0.7),
            formulation=formulation,
        )  # fmt: skip
        system.add(half)
        if gravity[2] == 0:
            system.add(mbd.PointForce(f"pull {name}", half, (3.0, 5.0, 7.0)))
    system.add(mbd.Fixed("weld", system["left"], system["right"], at=(0.1, 0.2, 0.9)))
    nothing = 9.81 * math.cos(math.pi / 2)  # 6e-16 N, which nobody meant
    system.add(mbd.PointForce("none", system["left"], (nothing, 0, 0)))
    run = mbd.simulate(system, 0.1, 1e-2)
    drawn = {arrow.label for arrow in run.animate().drawing.arrows}
    assert drawn == ({"pull left", "pull right"} if gravity[2] == 0 else set())


def test_names_that_are_near_stand_in_different_corners():
    points = np.array([(100.0, 100.0)] * 5 + [(400.0, 100.0)])
    depth, sizes = np.array([3.0, 1, 2, 4, 5, 9]), np.tile((40.0, 12.0), (6, 1))
    found = settled(points, depth, sizes)
    assert found[1] == (106, 106)  # the nearest one has the choice
    assert found[4] is None
    assert found[5] == (406, 106)
    assert len({x for x in found if x}) == 5


def test_pictures_have_the_title_that_was_given():
    assert pendulum().animate().drawing.title == ""
    assert pendulum().animate(title="A rod").drawing.title == "A rod"


def test_joints_have_names_too():
    names = pendulum().animate().drawing.labels
    assert [(x.text, x.layer) for x in names] == [("rod", "bodies"), ("hinge", "joints")]
    assert [x.frame for x in names[0].ends] == ["rod"]


# --- view ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gravity", "up"),
    [((0, 0, -9.81), (0, 0, 1)), ((0, -9.81, 0), (0, 1, 0)), ((0, 0, 0), (0, 0, 1)),
     ((9.81, 0, 0.1), (-1, 0, 0))],
)  # fmt: skip
def test_up_is_against_gravity(gravity, up):
    system, _ = with_point("mass", gravity=gravity, velocity=(1, 1, 1))
    assert np.array_equal(simulated(system).animate().drawing.up, up)


def test_planar_motion_is_seen_in_its_plane():
    view = pendulum().animate().drawing.view
    assert view @ (0, -1, 0) > 0.9  # x to the right, z up
    assert np.linalg.norm(view) == pytest.approx(1)


def test_everything_is_in_the_box():
    solution = run()
    drawing = solution.animate().drawing
    path = solution["marked"].position
    assert (path >= drawing.low).all()
    assert (path <= drawing.high).all()
    assert drawing.follow == ""


def test_arrows_end_in_the_box():
    """Of the layers that are shown, all but rare peaks."""
    shown = pendulum().animate(show=("bodies", "reactions", "loads")).drawing
    for layer in ("reactions", "loads"):
        ends = tips([x for x in shown.arrows if x.layer == layer], shown.scales, shown.tracks)
        assert len(ends) > 0.9 * len(shown.t)
        assert (ends >= shown.low).all()
        assert (ends <= shown.high).all()
    bare = pendulum().animate(show=("bodies",)).drawing
    assert (bare.high - bare.low <= shown.high - shown.low).all()
    assert (bare.high - bare.low < shown.high - shown.low).any()


def test_where_springs_and_rods_are_held_is_in_the_box():
    system, bob = with_point("bob", position=(0, 0, -1))
    system.add(mbd.Spring("spring", system.ground, bob, at=(0.5, 0, 3.0), stiffness=10.0))
    system.add(mbd.Distance("rod", system.ground, bob, at=(-2.0, 0, 0)))
    drawing = still(system).animate().drawing
    assert drawing.high[2] >= 3.0
    assert drawing.low[0] <= -2.0
    assert not drawing.follow


def test_what_flies_away_is_followed():
    system = mbd.System()
    options = {"mass": 1.0, "inertia": (1, 1, 1), "velocity": (1000.0, 0, 0)}
    system.add(mbd.RigidBody("rocket", **options))
    solution = simulated(system, t_end=1.0)
    drawing = solution.animate().drawing
    assert drawing.follow == "rocket"
    assert np.linalg.norm(drawing.high - drawing.low) < 10
    assert solution.animate(follow="").drawing.high[0] > 999


def test_breathing_bodies_have_a_scale():
    free = mbd.Scalable(rigid=False)
    body = mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), formulation=free)
    system = mbd.System()
    system.add(body)
    model = system.build()
    growing = np.where(np.array(model.labels) == "b.p0", 0.5, 0.0)
    state = replace(model.state, v=growing)
    solution = mbd.simulate(model, 0.2, 1e-2, progress=False, state=state)
    track = solution.animate().drawing.tracks["b"]
    assert track.scale[-1] > 1.05
    assert np.abs(track.matrix - track.scale[:, None, None] * np.eye(3)).max() < 1e-9


# --- what is asked for ---------------------------------------------------------------------------
def test_trails():
    solution = pendulum()
    rod = solution.model.system["rod"]
    given = [("rod", (0.5, 0, 0)), "rod", rod, rod.frame((0.5, 0, 0))]
    drawing = solution.animate(trails=given).drawing
    ends = [drawing.at(trail.end) for trail in drawing.trails]
    assert np.abs(ends[0] - 2 * ends[1]).max() < 1e-9
    assert np.array_equal(ends[1], ends[2])
    assert np.array_equal(ends[0], ends[3])
    assert len(solution.animate(trails="rod").drawing.trails) == 1
    assert np.array_equal(drawing.at(End("ground", np.ones(3)))[-1], np.ones(3))


def test_lines_go_through_points():
    solution = run()
    given = [("marked", ("bar", (0, 0, 0.3)), solution.model.system["marked"].frame((1, 0, 0)))]
    drawing = solution.animate(lines=given).drawing
    first, second = drawing.links
    assert (first.layer, first.label) == ("bodies", "marked to marked")
    assert np.array_equal(drawing.at(first.ends[1]), drawing.at(second.ends[0]))
    assert np.array_equal(second.ends[1].point, (1, 0, 0))


def test_hidden_plates_are_not_fitted_into_the_picture():
    """A ball on a plane that it crosses: the plate is larger than all else."""
    system, ball = with_point("ball", velocity=(3.0, 0, 0), shape=mbd.Sphere(0.01))
    system.add(mbd.Spring("spring", system.ground, ball, at=(0, 0, 0.5), stiffness=1.0))
    system.add(mbd.PointInPlane("plane", system.ground, ball, at=(0, 0, 0), axis=(0, 0, 1)))
    solution = simulated(system)
    with_plate, without = (
        solution.animate(show=x, follow="").drawing for x in (("bodies", "joints"), "bodies")
    )
    assert without.high[1] < 0.5 * with_plate.high[1]


@pytest.mark.parametrize(("options", "error", "match"), [
    ({"lines": ["rod"]}, TypeError, "a line must be two or more points, each of them the name"),
    ({"lines": [("rod", "r")]}, ValueError, "lines must be of bodies, got 'r'; there are rod"),
    ({"trails": ["rodd"]}, ValueError,
     r"trails must be of bodies, got 'rodd' \(did you mean 'rod'\?\); there are rod"),
    ({"trails": [3]}, TypeError, r"a trail must be the name of a body, or \(name, point"),
    ({"trails": [("rod", (1, 2))]}, ValueError, r"trail of 'rod' must be 3 numbers \[m\]"),
    ({"show": ["everything"]}, ValueError, "show must be one of bodies, joints.*'everything'"),
    ({"speed": 0}, ValueError, "animate: speed must be positive"),
    ({"follow": "x"}, ValueError, "follow must name a body, got 'x'; there are rod"),
    ({"up": (0, 1, 1)}, ValueError, "up must be along x, y or z, got"),
    ({"view": (0, 0)}, ValueError, "animate: view must be 3 numbers"),
    ({"color": 1}, TypeError, "color"),
])  # fmt: skip
def test_wrong_options(options, error, match):
    with pytest.raises(error, match=match):
        pendulum().animate(**options)


def test_streamed_runs_look_the_same(tmp_path):
    pytest.importorskip("h5py")
    pytest.importorskip("h5netcdf")
    solution = run()
    again = mbd.load(solution.save(tmp_path / "run.nc"))
    assert not isinstance(again.q, np.ndarray)
    one, two = (x.animate().drawing for x in (solution, again))
    for name, track in one.tracks.items():
        assert np.array_equal(track.position, two.tracks[name].position)
        assert np.array_equal(track.quaternion, two.tracks[name].quaternion)
    assert [type(s.shape) for s in two.solids] == [type(s.shape) for s in one.solids]
