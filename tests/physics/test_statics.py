"""Equilibria: hanging, loaded, snapping through, turning; stability, buckling, refusals."""

from itertools import product

import numpy as np
import pytest
from families import some, spread
from scenes import chain, four_bar, hinged, with_body, with_point
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, scene

PROJECTED = mbd.EulerParameters("projected")


def name_of(formulation):
    return formulation if isinstance(formulation, str) else formulation.name


@pytest.mark.parametrize("formulation", [*RIGID, PROJECTED], ids=name_of)
def test_a_chain_from_the_horizontal_hangs(formulation):
    hung = mbd.equilibrium(chain(6, (formulation,)))
    assert hung.stable
    for i in range(6):
        assert np.allclose(hung[f"bar {i}"].position, (0, 0, -i - 0.5), rtol=0, atol=1e-10)
        assert np.allclose(hung[f"pin {i}"].force, (0, 0, 9.81 * (6 - i)), rtol=0, atol=1e-8)
    assert hung.free == tuple(f"bar {i}" for i in range(6))  # they may spin about themselves
    assert "free motion of 'bar 0'" in hung.message
    # the slowest swing: 1.5 rods of inertia 0.02 instead of 1/12 make no simple number
    assert hung.stiffness == pytest.approx(mbd.modes(hung).eigenvalues.imag[6] ** 2, rel=1e-9)


def test_reactions_and_results_are_read_by_name():
    hung = mbd.equilibrium(chain(2, joint="Revolute"))
    assert hung["pin 0"].force.shape == (3,)
    assert hung["pin 0"].reaction(on="first").force == pytest.approx([0, 0, -2 * 9.81], abs=1e-9)
    assert hung["bar 1"].at((0.5, 0, 0)).position == pytest.approx([0, 0, -2], abs=1e-10)
    assert hung.solution["bar 1"].position.shape == (1, 3)
    assert hung.lam.shape == (10,)
    assert hung.free == ()


@pytest.mark.parametrize("formulation", some(RIGID, 2))
def test_upside_down_is_an_equilibrium_too(formulation):
    system = mbd.System(gravity=(0, 0, -9.81))
    R = Rotation.from_rotvec([0, -np.pi / 2 + 0.02, 0])
    rod = system.add(
        mbd.RigidBody(
            "rod", mass=1.0, inertia=(0.01, 1 / 12, 1 / 12), rotation=R,
            position=R.apply((0.5, 0, 0)), formulation=formulation,
        )
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    up = mbd.equilibrium(system, seek="nearest")
    assert not up.stable
    assert up["rod"].position == pytest.approx([0, 0, 0.5], abs=1e-10)
    assert up.stiffness == pytest.approx(-1.5 * 9.81, rel=1e-9)
    down = mbd.equilibrium(system, state=up.state)  # leaves the saddle it starts on
    assert down.stable
    assert down["rod"].position == pytest.approx([0, 0, -0.5], abs=1e-9)


def test_masses_on_springs_without_joints():
    """Elongations add up: k (z_i - z_(i-1)) carries all the weight below."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(5):
        mass = system.add(mbd.PointMass(f"m{i}", mass=1.0, position=(0, 0, -i - 1.0)))
        system.add(mbd.Spring(f"s{i}", last, mass, stiffness=50.0))
        last = mass
    found = mbd.equilibrium(system)
    z = -5.0 - 9.81 / 50 * (5 + 4 + 3 + 2 + 1)
    assert found["m4"].position == pytest.approx([0, 0, z], abs=1e-11)


def test_redundant_rows_and_a_dead_load():
    pushed = mbd.equilibrium(four_bar(("directors",)))
    # cranks lean by a, coupler moves on a circle: F = (m_c + m_cranks / 2 sum) g tan, hanging down
    weight = 9.81 * (1 + 0.5 + 0.5)
    x, z = pushed["coupler"].position[0] - 1.0, pushed["coupler"].position[2]
    assert x / -z == pytest.approx(30.0 / weight, rel=1e-10)
    assert np.hypot(x, z) == pytest.approx(1.0, rel=1e-12)
    assert pushed.model.redundant


def test_load_steps_laws_of_time_and_scaled_loads():
    system, mass = with_point("m", gravity=(0, 0, -9.81), mass=2.0, position=(0, 0, -1))
    system.add(mbd.Spring("s", system.ground, mass, stiffness=100.0))
    system.add(mbd.PointForce("push", mass, lambda t: (0.0, 0.0, -10.0 * t)))

    def depth(**options):
        return -1.0 - mbd.equilibrium(system, **options)["m"].position[2]

    assert depth(t=3.0) == pytest.approx((2 * 9.81 + 30) / 100, rel=1e-11)
    assert depth(t=3.0, load_factor=0.5) == pytest.approx((9.81 + 15) / 100, rel=1e-11)
    assert depth(t=3.0, scaled=["push"], load_factor=2) == pytest.approx(
        (2 * 9.81 + 60) / 100, rel=1e-11
    )
    assert depth(scaled=["gravity"], load_factor=0.0) == pytest.approx(0.0, abs=1e-11)
    path = mbd.equilibrium(system, load_steps=4).path
    assert [p.load_factor for p in path] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.slow
def test_a_shallow_arch_snaps_through():
    truss = scene("truss")
    found = mbd.equilibrium(truss.build(10.0), arc_length=0.06)
    factors = np.array([p.load_factor for p in found.path])
    heights = np.array([p["top"].position[2] for p in found.path])
    assert np.allclose(10 * factors, truss.load_at(heights), rtol=0, atol=1e-8)
    assert factors[-1] == 1.0
    assert np.diff(factors).min() < 0 < np.diff(factors).max()  # forward, back, forward
    assert 0.29 < factors[heights > 0].max() < 0.3020
    stable = np.array([p.stable for p in found.path])
    falling = np.abs(heights) < 0.1  # between the limit points at +- 0.115
    assert not stable[falling].any()
    assert stable[np.abs(heights) > 0.13].all()
    # without arc length the load that is too large for the arch finds the inverted one
    below = mbd.equilibrium(truss.build(10.0))
    assert below["top"].position[2] == pytest.approx(heights[-1], abs=1e-9)


# --- steady rotation ------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", some(RIGID, 3))
def test_governor_swings_out(formulation):
    governor = scene("governor")
    for speed in (7.0, 12.0):
        found = mbd.equilibrium(
            governor.build(formulation, speed=speed, theta=0.6), rotating=(0, 0, speed)
        )
        angle = np.arccos(-found["right"].rotation[:, 2] @ (0, 0, -1))
        assert angle == pytest.approx(governor.lean(speed), abs=1e-9)
        assert found.stable
        assert found["right"].angular_velocity == pytest.approx([0, 0, speed], abs=1e-10)
        # seen from the shaft the rods swing: w^2 = W^2 sin^2(lean), as long as the speed is held
        assert found.stiffness == pytest.approx(
            (speed * np.sin(governor.lean(speed))) ** 2, rel=1e-3
        )
    slow = mbd.equilibrium(governor.build(formulation, speed=3.0, theta=0.3), rotating=(0, 0, 3.0))
    assert abs(slow["right"].position[0]) < 1e-8  # too slow: the rods hang


@pytest.mark.parametrize("formulation", some(RIGID, 3))
def test_steady_precession_of_a_top(formulation):
    """A cos(th) P^2 - C n P + m g l = 0, both rates."""
    top = scene("steady_top")
    for fast, lean in product((False, True), (3e-3, 3.3e-3, 3.6e-3, 3.9e-3)):
        P = top.rate(fast=fast)
        system = mbd.System()
        R = Rotation.from_rotvec([top.THETA + lean, 0, 0]).as_matrix()
        body = mbd.RigidBody(
            "top", mass=1.0, inertia=(top.A, top.A, top.C), rotation=R, formulation=formulation
        )
        system.add(body)
        system.add(mbd.Spherical("pin", system.ground, body, at=(0, 0, 0)))
        system.add(mbd.PointForce("load", body, (0, 0, -top.LOAD), at=R[:, 2]))
        own = top.SPIN - P * np.cos(top.THETA)
        found = mbd.equilibrium(
            system, seek="nearest", rotating=(0, 0, P), spins={"top": (0, 0, own)}
        )
        c = found["top"].rotation[2, 2]
        n = found["top"].angular_velocity_body[2]
        assert top.A * c * P**2 - top.C * n * P + top.LOAD == pytest.approx(
            0.0, abs=1e-9 + 1e-12 * top.C * n * P
        )
        # slowly the lean hardly matters, dg/dtheta = (C - A) P^2 sin(theta) is 1.5e-3
        assert np.arccos(c) == pytest.approx(top.THETA, abs=1e-10 if fast else 1e-6)
        assert found.stable


# --- buckling -------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", RIGID)
def test_column_of_links_buckles_under_its_exact_load(formulation):
    column = scene("column")
    for n in (1, 2, 5):
        found = mbd.buckling(column.build(formulation, n=n, load=1.0, straight=True))
        assert found.factors[0] == pytest.approx(column.critical(n), rel=1e-11)


def test_column_of_links_tends_to_euler():
    """B05: EI (pi / 2L)^2 = 2.467401100272339, with an error that falls as 1 / n^2."""
    column = scene("column")
    euler = 2.467401100272339
    errors = [
        1 - mbd.buckling(column.build(n=n, load=1.0, straight=True)).factors[0] / euler
        for n in (4, 8, 16)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.01)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.01)
    assert abs(errors[2] * 4 - errors[1]) / 3 < 2e-6


def test_buckling_agrees_with_stability_along_the_path():
    column = scene("column")
    system = column.build(n=4, load=1.0, straight=True)
    critical = column.critical(4)
    for factor, stable in ((0.99, True), (1.01, False)):
        found = mbd.equilibrium(system, seek="nearest", load_factor=factor * critical)
        assert found.stable is stable
    bent = mbd.equilibrium(system, load_factor=1.1 * critical)  # leaves the straight pose
    angles = column.bent(4, 1.1 * critical)
    tip = bent["link 4"].at((0, 0, 0.125)).position
    assert abs(tip[0]) == pytest.approx(np.sin(angles).mean(), abs=1e-9)
    assert tip[2] == pytest.approx(np.cos(angles).mean(), abs=1e-9)
    assert mbd.buckling(system).state(0, 0.1).q.shape == bent.state.q.shape
    with pytest.raises(ValueError, match="the loads move the pose"):
        mbd.buckling(column.build(n=4), load_factor=1.0)


# --- refusals -------------------------------------------------------------------------------------
def test_what_nothing_holds_is_named():
    system, _ = with_body("stone", gravity=(0, 0, -9.81), inertia=(1, 1, 1))
    with pytest.raises(mbd.EquilibriumError, match=r"'stone\.z' \(9\.81 N\)") as caught:
        mbd.equilibrium(system, max_iterations=20)
    assert caught.value.state.q.shape == (7,)


def test_a_follower_load_that_turns_for_ever_has_no_equilibrium():
    system = chain(1, joint="Revolute")
    system.gravity = np.zeros(3)
    system.add(mbd.Moment("drive", system["bar 0"], (0, 2.0, 0)))
    with pytest.raises(mbd.EquilibriumError, match="no equilibrium found"):
        mbd.equilibrium(system, max_iterations=30)


def test_arguments_are_checked():
    system = chain(1)
    for bad, match in (
        ({"seek": "best"}, "seek must be one of minimum, nearest"),
        ({"load_steps": 0}, "load_steps must be a whole number"),
        ({"scaled": ["wind"]}, "got 'wind'; there are gravity"),
        ({"spins": {"bar": (0, 0, 1)}}, "spins must name rigid bodies, got 'bar'"),
        ({"arc_length": -1.0}, "arc_length must be positive"),
    ):
        with pytest.raises(ValueError, match=match):
            mbd.equilibrium(system, **bad)
    with pytest.raises(TypeError, match="state must be a State"):
        mbd.equilibrium(system, state=3)


@spread(
    rare=["unified", "scalable", "se3"],
    formulation=RIGID,
    off=[1e-4, 1e-2, 1.0],
    how=["tilted", "offset"],
)
def test_a_frame_turns_about_the_axis_of_a_joint_or_is_refused(how, off, formulation):
    """A bar on a shaft, held by a spring: it turns with a frame about the shaft, and no other."""
    system, *_ = hinged(
        "bar", "shaft", axis="z", gravity=(0, 0, 0), inertia=(1e-3, 0.1, 0.1),
        position=(0.5, 0, 0.2), formulation=formulation,
    )  # fmt: skip
    pose = mbd.equilibrium(system, rotating=(0, 0, 5.0))
    assert np.allclose(pose["bar"].velocity, np.cross((0, 0, 5.0), pose["bar"].position))
    other = {"tilted": {"rotating": (5.0 * off, 0, 5.0)},
             "offset": {"rotating": (0, 0, 5.0), "about": (off, 0, 0)}}[how]  # fmt: skip
    with pytest.raises(ValueError, match="cannot turn with the frame.*'shaft.*about= .m. along"):
        mbd.equilibrium(system, **other)


def in_bearings(stiffness=(1e4, 1e4), load=(0.0, 0.0, 0.0), offset=0.0):
    """Return a rotor in two bearings of these stiffnesses along x and y, out of balance."""
    system, rotor = with_body(
        "rotor", gravity=(0, 0, -9.81), inertia=(0.1, 0.1, 0.05), position=(offset, 0, 0)
    )
    for i, z in enumerate((-0.5, 0.5)):
        system.add(mbd.Bushing(f"bearing {i}", system.ground, rotor, at=(0, 0, z),
                               stiffness=(*stiffness, 1e5, 0, 0, 0)))  # fmt: skip
    system.add(mbd.PointForce("load", rotor, load))
    return system


@pytest.mark.parametrize("speed", [5.0, 60.0])
@pytest.mark.parametrize("offset", [0.0, 1e-6, 1e-2])
def test_a_rotor_in_round_bearings_turns_with_a_frame(offset, speed):
    """It leaves the axis by e / (1 - (w/w_0)^2) with w_0^2 = 2k/m."""
    pose = mbd.equilibrium(in_bearings(offset=offset), rotating=(0, 0, speed))
    out = offset / (1 - speed**2 / 2e4)
    assert pose["rotor"].position[0] == pytest.approx(out, rel=1e-9, abs=1e-14)


@spread(off=[1e-2, 1.0], how=["tilted", "offset", "bearings", "load"])
def test_a_frame_with_which_forces_do_not_turn_is_refused(how, off):
    """However small the difference is around the axis: the balance is none a moment later."""
    frame = {"rotating": (0, 0, 5.0)}
    system = in_bearings(offset=1e-2)
    if how == "tilted":
        frame = {"rotating": (5.0 * off, 0, 5.0)}
    elif how == "offset":
        frame |= {"about": (off, 0, 0)}
    elif how == "bearings":
        system = in_bearings((1e4, 1e4 * (1 + off)), offset=1e-2)
    else:
        system = in_bearings(load=(off, 0, 0))
    with pytest.raises(ValueError, match="forces do not turn with it: turned on it is out of bal"):
        mbd.equilibrium(system, **frame)


def test_a_load_that_turns_by_a_law_of_time_turns_with_the_frame():
    system = in_bearings(load=lambda t: (3.0 * np.cos(5 * t), 3.0 * np.sin(5 * t), 0.0))
    pose = mbd.equilibrium(system, rotating=(0, 0, 5.0))
    assert pose["rotor"].position[0] == pytest.approx(3.0 / (2e4 - 25.0), rel=1e-9)


def rotor(n, EA, elements):
    """Return a shaft under gravity with blades alike, which may turn."""
    s, hub, _ = hinged("hub", "shaft", mass=10.0, inertia=(1, 1, 1), position=(0, 0, 0))
    section = mbd.Section(stiffness=(EA, EA, EA, 200, 200, 400), mass=1.0)
    for i, angle in enumerate(2 * np.pi * np.arange(n) / n + 0.3):
        out = np.array([np.cos(angle), 0, np.sin(angle)])
        blade = mbd.Beam(f"blade {i}", points=(0.2 * out, 3 * out), section=section,
                         elements=elements, up=(0, 1, 0))  # fmt: skip
        s.add(blade)
        s.add(mbd.Fixed(f"root {i}", hub, blade.first, at=0.2 * out))
    return s


@pytest.mark.parametrize("blades", [4, 5, pytest.param(7, marks=pytest.mark.slow)])
def test_a_wheel_of_blades_comes_to_rest_with_one_of_them_upright(blades):
    """By symmetry; what turns it there are bends of higher order, 1e-8 of the weight for seven."""
    pose = mbd.equilibrium(rotor(blades, 1e6, 3))
    assert pose.stable
    assert not pose.free
    x, _, z = pose["hub"].rotation[:, 0]
    turned = 0.3 + np.arctan2(z, x)
    assert abs(np.cos(blades * (turned - np.pi / 2))) == pytest.approx(1.0, abs=1e-4)
