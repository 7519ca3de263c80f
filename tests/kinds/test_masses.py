"""Elements with mass: the consistent mass of bars, the added mass of fluids."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from families import some
from recipes import FORMS, FORMULATIONS, MASSES, STILL, Raw, on_pairs, pair
from scenes import with_body, with_point
from scipy.integrate import quad, solve_ivp
from scipy.special import elliprd

import mbd
from mbd.formulations import NAMES
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.parts.masses import AddedMass

FULL = np.random.default_rng(3).normal(size=(6, 6))
FULL = 0.3 * FULL @ FULL.T
MASS, INERTIA = 2.0, np.diag([0.3, 0.4, 0.5])
SPEED, SPIN = np.array([0.3, -0.2, 0.5]), np.array([0.7, 0.4, -0.6])

# H. Lamb, Hydrodynamics, 6th ed., 1932, page 155: a/b, masses along and across the axis over the
# displaced one, inertia about a short axis over that of the displaced fluid
LAMB = (
    (1.0, 0.5, 0.5, 0.0), (1.50, 0.305, 0.621, 0.094), (2.00, 0.209, 0.702, 0.240),
    (2.51, 0.156, 0.763, 0.367), (2.99, 0.122, 0.803, 0.465), (3.99, 0.082, 0.860, 0.608),
    (4.99, 0.059, 0.895, 0.701), (6.01, 0.045, 0.918, 0.764), (6.97, 0.036, 0.933, 0.805),
    (8.01, 0.029, 0.945, 0.840), (9.02, 0.024, 0.954, 0.865), (9.97, 0.021, 0.960, 0.883),
)  # fmt: skip


def ellipsoid(*semi_axes):
    """Return the matrix over that of the displaced fluid's mass."""
    body = mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1))
    matrix = AddedMass.ellipsoid("water", body, semi_axes, density=1.0).matrix
    return matrix.diagonal() / (4 / 3 * np.pi * np.prod(semi_axes))


@pytest.mark.parametrize(("ratio", "along", "across", "about"), LAMB)
def test_spheroids_are_those_of_lamb_s_table(ratio, along, across, about):
    k = ellipsoid(ratio, 1.0, 1.0)
    assert np.allclose(k, [along, across, across, 0.0, *[about * (ratio**2 + 1) / 5] * 2],
                       atol=[2.5e-3] * 3 + [1e-15] + [5e-3 * (ratio**2 + 1) / 5] * 2)  # fmt: skip


def test_ellipsoids_of_three_axes():
    """Integrals by scipy; the published limit of a disc, articles 102 and 108."""
    a, b, c = 0.7, 0.4, 0.9
    sizes = np.array([[b, c, a], [c, a, b], [a, b, c]])
    alpha = 2 / 3 * a * b * c * elliprd(*(sizes**2).T)
    assert abs(alpha.sum() - 2) < 1e-13
    k = ellipsoid(a, b, c)
    assert np.allclose(k[:3], alpha / (2 - alpha), rtol=1e-13)
    for i, (x, y) in enumerate(((b, c), (c, a), (a, b))):
        less, both, change = x * x - y * y, x * x + y * y, alpha[i - 1] - alpha[i - 2]
        expected = less**2 * change / (2 * less - both * change) / 5
        assert abs(k[3 + i] - expected) < 1e-13 * expected
    thin = 1e-5
    disc = ellipsoid(1.0, 1.0, thin) * 4 / 3 * np.pi * thin
    assert np.allclose(disc[2:5], [8 / 3, 16 / 45, 16 / 45], rtol=1e-4)


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("axes", [(1.0, 1.0, 0.5), (1.0, 1.0, 2.0), (0.1, 0.1, 0.1)])
def test_axes_that_are_nearly_equal(axes, shift):
    """By more than their round-off: the integral has no differences of nearly equal ones.

    With less = b^2 - c^2 the inertia is less^2 J/(2 - (b^2 + c^2) J)/5, where J is the integral
    of abc/((b^2 + x) (c^2 + x)) over the root of (a^2 + x)(b^2 + x)(c^2 + x).
    """
    b, _, a = axes
    for delta in (1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 2e-8, 1e-7, 1e-5, 1e-3):
        c = b * (1 + delta)
        k = ellipsoid(*np.roll([b, c, a], shift))
        equal = ellipsoid(*np.roll([b, b, a], shift))
        assert np.allclose(k, equal, rtol=5 * abs(delta) + 1e-12, atol=5 * abs(delta) * b * b)
        less, both = b * b - c * c, b * b + c * c
        J, _ = quad(
            lambda x, c=c: b * c * a * (a * a + x) ** -0.5 * ((b * b + x) * (c * c + x)) ** -1.5,
            0.0, np.inf,
        )  # fmt: skip
        about = less**2 * J / (2 - both * J) / 5
        assert abs(np.roll(k[3:], -shift)[2] - about) < 1e-6 * about + 1e-15 * b * b


@pytest.mark.parametrize("axes", [(1.0, 1.0, 0.5), (1.0, 1.0, 2.0), (1e-3, 1.0, 1.0), (0.1,) * 3])
def test_axes_that_are_equal_but_for_round_off(axes):
    equal = ellipsoid(*axes)
    for units in product(range(-3, 4), repeat=3):
        k = ellipsoid(*(x + n * np.spacing(x) for x, n in zip(axes, units, strict=True)))
        assert np.allclose(k[:3], equal[:3], rtol=1e-12)
        assert np.allclose(k[3:], equal[3:], rtol=1e-12, atol=1e-14 * max(axes) ** 2)


def kirchhoff(t_end):
    """Return rotation and position of a body with FULL added mass, by Kirchhoff's equations."""
    M = FULL.copy()
    M[:3, :3] += MASS * np.eye(3)
    M[3:, 3:] += INERTIA

    def rate(_t, s):
        U, Omega, R = s[:3], s[3:6], s[6:15].reshape(3, 3)
        p = M @ s[:6]
        moment = np.cross(p[3:], Omega) + np.cross(p[:3], U)
        turn = np.cross(Omega, R)  # rows of R R~ are Omega x rows, with the other sign
        force = np.concatenate([np.cross(p[:3], Omega), moment])
        return np.concatenate([np.linalg.solve(M, force), -turn.ravel(), R @ U])

    start = np.concatenate([SPEED, SPIN, np.eye(3).ravel(), np.zeros(3)])
    end = solve_ivp(rate, (0, t_end), start, rtol=1e-12, atol=1e-13).y[:, -1]
    return end[6:15].reshape(3, 3), end[15:]


def free(formulation):
    """Return a free body with FULL added mass."""
    system, body = with_body(
        "body", mass=MASS, inertia=INERTIA, velocity=SPEED, angular_velocity=SPIN,
        formulation=formulation,
    )  # fmt: skip
    system.add(mbd.AddedMass("water", body, FULL))
    return system


def off(solution, reference):
    """Return by how much the last pose differs."""
    rotation, position = reference
    body = solution["body"]
    return max(np.abs(body.rotation[-1] - rotation).max(),
               np.abs(body.position[-1] - position).max())  # fmt: skip


OTHERS = {n: f for n, f in FORMS.items() if f.rigid}


@pytest.mark.parametrize("formulation", [*NAMES, *some(OTHERS.values(), 4)], ids=[*NAMES, *OTHERS])
def test_kirchhoff_s_equations(formulation):
    reference = kirchhoff(1.0)
    errors = [off(mbd.simulate(free(formulation), 1.0, h), reference) for h in (0.02, 0.01)]
    assert 3.6 < errors[0] / errors[1] < 4.4
    assert errors[1] < 2e-4


@pytest.mark.parametrize("formulation", NAMES)
def test_impulse_and_energy(formulation):
    reference = kirchhoff(1.0)
    exact = mbd.simulate(free(formulation), 1.0, 0.02, method=mbd.RadauCollocation())
    assert off(exact, reference) < 1e-10
    energy = 0.5 * np.concatenate([SPEED, SPIN]) @ FULL @ np.concatenate([SPEED, SPIN])
    energy += 0.5 * MASS * SPEED @ SPEED + 0.5 * SPIN @ INERTIA @ SPIN
    assert np.allclose(exact.energy.total, energy, rtol=1e-11)
    p = FULL[:3] @ [*SPEED, *SPIN] + MASS * SPEED
    L = FULL[3:] @ [*SPEED, *SPIN] + INERTIA @ SPIN
    assert np.allclose(exact.momentum.linear, p, atol=1e-11)
    assert np.allclose(exact.momentum.angular, L, atol=1e-11)


@pytest.mark.parametrize("scheme", ["motion_vector", "commutator_free", "quaternion"])
def test_explicit_methods_have_their_order(scheme):
    reference, method = kirchhoff(1.0), mbd.LieRungeKutta4(scheme)
    for name in NAMES if scheme == "quaternion" else ("so3", "se3", "unified"):
        runs = [mbd.simulate(free(name), 1.0, h, method=method) for h in (0.1, 0.05)]
        errors = [off(x, reference) for x in runs]
        assert errors[1] < 1e-5
        assert 11 < errors[0] / errors[1] < 30


def test_a_tolerance_is_met():
    solution = mbd.simulate(free("so3"), 1.0, rtol=1e-6)
    assert off(solution, kirchhoff(1.0)) < 1e-5


def test_added_mass_where_it_is_and_as_it_is_turned():
    """About another point, in other axes, the same fluid: the matrix transformed by hand."""
    r, axes = np.array([0.3, -0.2, 0.4]), np.linalg.qr(FULL[:3, :3])[0]
    axes *= np.linalg.det(axes)
    S = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    V = np.block([[axes.T, -axes.T @ S], [np.zeros((3, 3)), axes.T]])  # of the point, in axes
    system = free("so3")
    other = mbd.System()
    body = other.add(mbd.RigidBody("body", mass=MASS, inertia=INERTIA, velocity=SPEED,
                                   angular_velocity=SPIN))  # fmt: skip
    back = np.linalg.inv(V)
    other.add(mbd.AddedMass("water", body, back.T @ FULL @ back, at=r, axes=axes))
    M, N = (x.build().assemble(x.build().state).M.toarray() for x in (system, other))
    assert np.allclose(M, N, atol=1e-12)
    assert off(mbd.simulate(other, 1.0, 1e-3), kirchhoff(1.0)) < 3e-6
    frame = mbd.Frame(body, r, axes)
    again = mbd.AddedMass("again", frame, back.T @ FULL @ back)
    assert again.elements()[0].attachments == other["water"].elements()[0].attachments


# --- bars -----------------------------------------------------------------------------------------
LENGTH, BAR = 0.8, 1.5


def pendulum(formulation, *, bar):
    """Return a bar hung from ground, released level: a body, or two ends with a mass between."""
    system, tip = with_body(
        "tip", gravity=(0, 0, -9.81), mass=0.5, inertia=(0.01, 0.02, 0.02), position=(LENGTH, 0, 0),
        formulation=formulation,
    )  # fmt: skip
    if bar:
        system.add(mbd.Revolute("hinge", system.ground, tip, at=(0, 0, 0), axis=(0, 1, 0)))
        system.add(mbd.BarMass("bar", system.ground, tip, mass=BAR))
        return system
    J = BAR * LENGTH**2 / 12
    rod = system.add(mbd.RigidBody("rod", mass=BAR, inertia=(1e-9, J, J),
                                   position=(LENGTH / 2, 0, 0)))  # fmt: skip
    system.add(mbd.Fixed("weld", rod, tip, at=(LENGTH, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    return system


@pytest.mark.parametrize("formulation", NAMES)
def test_a_bar_between_two_points_moves_as_a_rigid_one(formulation):
    expected = mbd.simulate(pendulum("so3", bar=False), 1.0, 1e-2, method=mbd.RadauCollocation())
    solution = mbd.simulate(
        pendulum(formulation, bar=True), 1.0, 1e-2, method=mbd.RadauCollocation()
    )
    for what in ("position", "velocity", "acceleration"):
        one, two = (getattr(x["tip"], what) for x in (solution, expected))
        assert np.allclose(one, two, rtol=0, atol=1e-8)
    for what in ("kinetic", "potential"):
        one, two = (getattr(x.energy, what) for x in (solution, expected))
        assert np.allclose(one, two, rtol=0, atol=1e-8)
    for what in ("linear", "angular"):
        one, two = (getattr(x.momentum, what) for x in (solution, expected))
        assert np.allclose(one, two, rtol=0, atol=1e-8)
    # the bearing carries the part of the bar that ground accelerates not, and its weight
    plain = mbd.simulate(pendulum(formulation, bar=True), 1.0, 1e-3)
    assert np.abs(plain["tip"].position[-1] - expected["tip"].position[-1]).max() < 2e-5


def test_the_conserving_scheme_conserves_bars_and_refuses_added_mass():
    system = mbd.System(gravity=(0, 0, -9.81))
    options = {"mass": 1.0, "inertia": (0.1, 0.2, 0.3), "formulation": "directors"}
    one = system.add(mbd.RigidBody("one", angular_velocity=(1, 2, 3), **options))
    two = system.add(mbd.RigidBody("two", position=(1, 0, 0), velocity=(0, 1, 2), **options))
    system.add(mbd.BarMass("bar", one, two, mass=1.3, at=(0.2, 0.1, 0), to=(0.7, 0.1, 0.3)))
    system.add(mbd.Spring("spring", one, two, at=(0.2, 0.1, 0), to=(0.7, 0.1, 0.3), stiffness=90.0))
    solution = mbd.simulate(system, 2.0, 0.02, method=mbd.EnergyMomentum())
    total = solution.energy.total
    assert np.ptp(total) < 1e-10 * solution.energy.kinetic.max()
    falling = 3.3 * -9.81 * solution.t
    assert np.ptp(solution.momentum.linear[:, 2] - falling) < 1e-9
    assert np.ptp(solution.momentum.linear[:, :2], axis=0).max() < 1e-10
    with pytest.raises(ValueError, match="EnergyMomentum: 'water' has a force whose work"):
        mbd.simulate(free("directors"), 0.1, 0.01, method=mbd.EnergyMomentum())


def test_frequencies_of_a_divided_bar():
    """Bars in a line, held at one end: Archer, J. Struct. Div. ASCE 89 (1963); textbooks since.

    omega = n sqrt(6 (1 - c)/(2 + c)) of n elements, c = cos((2 k - 1) pi/(2 n)), c_0 = l = 1.
    """
    n = 4
    system = mbd.System()
    last = system.ground
    for i in range(n):
        point = system.add(mbd.PointMass(f"{i}", mass=1e-9, position=((i + 1) / n, 0, 0)))
        system.add(mbd.Spring(f"spring {i}", last, point, stiffness=n))
        system.add(mbd.BarMass(f"bar {i}", last, point, mass=1 / n))
        system.add(mbd.PointOnLine(f"line {i}", system.ground, point, at=point.position,
                                   axis=(1, 0, 0)))  # fmt: skip
        last = point
    modes = mbd.modes(mbd.equilibrium(system))
    c = np.cos((2 * np.arange(1, n + 1) - 1) * np.pi / (2 * n))
    expected = n * np.sqrt(6 * (1 - c) / (2 + c))
    assert np.allclose(2 * np.pi * modes.frequency, expected, rtol=1e-7)
    # parts of the nodes in the energy: x_i (M x)_i, x_i = sin((2 k - 1) pi i/(2 n))
    M = (4 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)) / 6
    M[-1, -1] /= 2
    x = np.sin(np.outer(np.arange(1, n + 1), 2 * np.arange(1, n + 1) - 1) * np.pi / (2 * n))
    shares = x * (M @ x)
    assert np.allclose(modes.kinetic.T, shares / shares.sum(0), atol=1e-7)


def test_statics_know_weight_alone():
    system, body = with_body("body", gravity=(0, 0, -9.81))
    for angle in (0.0, 2 * np.pi / 3, -2 * np.pi / 3):
        x, y = np.cos(angle), np.sin(angle)
        system.add(mbd.Spring(f"{angle}", system.ground, body, at=(x, y, 1), to=(x, y, 0),
                              stiffness=100.0))  # fmt: skip
    alone = mbd.equilibrium(system)
    system.add(mbd.AddedMass("water", body, FULL))
    light = mbd.equilibrium(system)
    system.add(mbd.BarMass("bar", system.ground, body, mass=2.0, at=(0, 0, 5)))
    heavy = mbd.equilibrium(system)
    sunk = [x.state.q[2] for x in (alone, light, heavy)]
    assert np.allclose(sunk, -9.81 / 300 * np.array([1, 1, 2]), rtol=1e-9)


def test_a_conical_pendulum_of_a_bar():
    """cos = (m + b/2) g / ((m + b/3) w^2 l): moments about the eye in the turning frame."""
    system, tip = with_point("tip", gravity=(0, 0, -9.81), position=(0.5, 0, -0.8))
    system.add(mbd.Distance("rod", system.ground, tip))
    system.add(mbd.BarMass("bar", system.ground, tip, mass=1.5))
    length, w = np.hypot(0.5, 0.8), 4.5
    height = -mbd.equilibrium(system, rotating=(0, 0, w))["tip"].position[2]
    assert abs(height - 1.75 * 9.81 / (1.5 * w**2)) < 1e-9 * length


def test_bars_alone_are_a_chain_of_rods():
    """Points of a billionth of a kilogram, rods without mass: all of it is in the bars."""
    n, gravity = 4, (0, 0, -9.81)
    bars, rods = mbd.System(gravity=gravity), mbd.System(gravity=gravity)
    last, before = bars.ground, rods.ground
    for i in range(n):
        point = bars.add(mbd.PointMass(f"{i}", mass=1e-9, position=(i + 1, 0, 0)))
        bars.add(mbd.Distance(f"rod {i}", last, point))
        bars.add(mbd.BarMass(f"bar {i}", last, point, mass=1.0))
        rod = rods.add(mbd.RigidBody(f"{i}", mass=1.0, inertia=(1e-9, 1 / 12, 1 / 12),
                                     position=(i + 0.5, 0, 0)))  # fmt: skip
        rods.add(mbd.Spherical(f"eye {i}", before, rod, at=(i, 0, 0)))
        last, before = point, rod
    runs = [mbd.simulate(x, 1.0, 1e-2, method=mbd.RadauCollocation()) for x in (bars, rods)]
    end = runs[1][f"{n - 1}"].at((0.5, 0, 0)).position
    assert np.allclose(runs[0][f"{n - 1}"].position, end, rtol=0, atol=1e-6)
    assert np.allclose(runs[0].energy.total, runs[1].energy.total, rtol=0, atol=1e-5)


@pytest.mark.parametrize("mass", [1e-3, 1e-9])
def test_a_light_body_in_a_heavy_fluid(mass):
    """What is added may be all there is: spin about the axes of an ellipsoid's fluid is Euler's."""
    system, body = with_body("body", mass=mass, inertia=(mass, mass, mass), angular_velocity=SPIN)
    J = np.array([0.3, 0.4, 0.5])
    system.add(mbd.AddedMass("water", body, (10.0, 11.0, 12.0, *J)))
    other, _ = with_body("body", inertia=J + mass, angular_velocity=SPIN)
    one, two = (mbd.simulate(x, 2.0, 0.02, method=mbd.RadauCollocation()) for x in (system, other))
    assert np.allclose(one["body"].rotation, two["body"].rotation, rtol=0, atol=1e-11)
    assert np.abs(one["body"].position).max() < 1e-11


def test_loads_of_a_motor_that_swings_a_bar():
    def swing(t):
        return 0.3 * np.sin(3 * t) ** 2

    system = pendulum("so3", bar=True)
    system.add(mbd.Drive("motor", system["hinge"].angle, position=swing))
    load = mbd.inverse_dynamics(system, np.linspace(0, 1, 21))["motor"].load
    t = np.linspace(0, 1, 21)
    angle, second = swing(t), 0.3 * 9 * 2 * np.cos(6 * t)
    inertia = 0.5 * LENGTH**2 + 0.02 + BAR * LENGTH**2 / 3
    weight = (0.5 + BAR / 2) * LENGTH * 9.81 * np.cos(angle)
    assert np.allclose(load, inertia * second - weight, rtol=0, atol=1e-6)
    bias = mbd.joint_space(pendulum("so3", bar=True))
    assert abs(bias.M[0, 0] - inertia) < 1e-12
    assert abs(abs(bias.gravity[0]) - (0.5 + BAR / 2) * LENGTH * 9.81) < 1e-11


# --- everywhere else ------------------------------------------------------------------------------
@pytest.mark.parametrize("form", some(FORMS, 4))
def test_tangents_of_other_forms(form):
    for make in MASSES.values():
        _, one, two = pair(FORMS[form], "so3")
        if not FORMS[form].rigid and make is not MASSES["BarMass", "thin"]:
            with pytest.raises(ValueError, match="part: bodies that move a fluid must keep"):
                make(one, two, STILL)
            continue
        assert mbd.check_part(make(one, two, STILL), tolerance=5e-8).ok


@pytest.mark.parametrize(("name", "first", "second"), on_pairs([("BarMass", "thin")], ground=True))
def test_bars_between_all_formulations(name, first, second):
    _, one, two = pair(first, second)
    assert mbd.check_part(MASSES[name](one, two, STILL), tolerance=5e-8).ok


def test_the_mass_matrix_has_labels_and_couples():
    system, one = with_point("one")
    two = system.add(mbd.PointMass("two", mass=2.0, position=(1, 0, 0)))
    system.add(mbd.BarMass("bar", one, two, mass=6.0))
    matrices = system.build().assemble()
    assert matrices.rows[0], matrices.rows[3] == ("one.x", "two.x")
    expected = np.kron([[3.0, 1.0], [1.0, 4.0]], np.eye(3))
    assert np.allclose(matrices.M.toarray(), expected)


def test_nothing_else_pays():
    """Kernels of accelerations run where an element has mass, and nowhere else."""

    def calls(system):
        model = system.build()
        return {stage: len(model.kernels[stage]) for stage in (m.PLACE, m.POSE, m.SECOND_MAPS)}

    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    system.add(mbd.Spherical("eye", system.ground, body, at=(0, 0, 0)))
    assert calls(system) == {m.PLACE: 2, m.POSE: 1, m.SECOND_MAPS: 0}
    system.add(mbd.AddedMass("water", body, FULL))
    assert calls(system) == {m.PLACE: 3, m.POSE: 3, m.SECOND_MAPS: 1}


@each
def of_acceleration(I, F, e):
    """Act by the acceleration of a point."""
    push(I, F, m.FY, I[e.ends], 1.0, at(I, F, m.YDD, I[e.ends]))


def test_accelerations_that_are_not_declared_are_named():
    system, one, _ = pair("so3", "ground")
    kind = Kind("heavy", 1, 0, ((0, 0),), of_acceleration, of_acceleration)
    ends = [Attachment("one", (1.0, 0.0, 0.0, 0.0))]
    system.add(Raw("part", (one,), [Element(kind, ends)]))
    with pytest.raises(ValueError, match=r"part: .* 'heavy' depend on accelerations; declare it"):
        system.build()


def test_a_formulation_must_say_how_its_faces_accelerate():
    mute = replace(FORMULATIONS["so3"], name="mute", second_maps=None)
    _, one, two = pair(mute, "so3")
    with pytest.raises(ValueError, match="part: it has mass and is attached to 'one', .* 'mute'"):
        mbd.check_tangents(MASSES["BarMass", "thin"](one, two))


def test_what_is_refused():
    body = mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1))
    point = mbd.PointMass("point", mass=1.0)
    wrong = np.diag([1.0, 1, 1, 1, 1, 1])
    wrong[0, 4] = wrong[4, 0] = 2.0
    for text, make in (
        (
            "water: matrix must be symmetric",
            lambda: AddedMass("water", body, np.triu(np.ones((6, 6)))),
        ),
        ("water: matrix must be positive semidefinite", lambda: AddedMass("water", body, wrong)),
        (
            "water: matrix must be positive semidefinite",
            lambda: AddedMass("water", body, (1, -1, 1, 0, 0, 0)),
        ),
        ("water: added mass needs axes", lambda: AddedMass("water", point, np.eye(6))),
        (
            "water: semi_axes must be positive",
            lambda: AddedMass.ellipsoid("water", body, (1, 0, 1), 1.0),
        ),
        ("water: density must be", lambda: AddedMass.ellipsoid("water", body, (1, 1, 1), -1.0)),
        ("bar: mass must be", lambda: mbd.BarMass("bar", body, point, mass=-1.0)),
        ("bar: must join two bodies", lambda: mbd.BarMass("bar", body, body, mass=1.0)),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(TypeError, match="water: must act on a body"):
        AddedMass("water", mbd.System().ground, np.eye(6))
    frame = mbd.Frame(body)
    with pytest.raises(ValueError, match="a Frame says its axes"):
        AddedMass("water", frame, np.eye(6), axes=np.eye(3))


def test_on_the_nodes_of_beams():
    section = mbd.Section.circle(radius=0.05, young=2e9, poisson=0.3, density=1e3)
    for formulation in ("so3", "directors"):
        points = [(0, 0, 0), (1, 0, 0)]
        beam = mbd.Beam("beam", points, section=section, elements=2, formulation=formulation)
        system = mbd.System(gravity=(0, 0, -9.81))
        system.add(beam)
        first, last = beam.nodes()[0], beam.nodes()[-1]
        system.add(mbd.BarMass("bar", first, last, mass=1.3))
        system.add(mbd.AddedMass("water", last, FULL))
        assert mbd.check_tangents(system).ok


@pytest.mark.parametrize("constraints", ["position", "velocity"])
def test_derivatives_by_gravity_and_mass(constraints):
    """Elements with mass have weight: forwards and backwards, against differences."""
    system = pendulum("directors", bar=True)
    system.add(mbd.AddedMass("water", system["tip"], FULL))
    names, method = (
        ["gravity.z", "bar.mass", "tip.mass"],
        mbd.GeneralizedAlpha(constraints=constraints),
    )
    run = {"t_end": 0.3, "step": 1e-2, "method": method}
    forward = mbd.sensitivities(system, names, **run)
    objective = mbd.Objective(terminal=lambda last: last["tip"].position[2])
    back = mbd.gradient(objective, system, names, **run)
    model = system.build()
    values = {"gravity.z": -9.81, "bar.mass": BAR, "tip.mass": 0.5}
    for name in names:
        s = 1e-4 * abs(values[name])
        ends = [
            mbd.simulate(model.with_values({name: values[name] + k * s}), **run)["tip"].position[
                -1, 2
            ]
            for k in (-2, -1, 1, 2)
        ]
        expected = (8 * (ends[2] - ends[1]) - ends[3] + ends[0]) / (12 * s)
        assert abs(expected) > 1e-4
        assert abs(forward[name]["tip"].position[-1, 2] - expected) < 1e-7 * abs(expected)
        assert abs(back[name] - expected) < 1e-7 * abs(expected)
