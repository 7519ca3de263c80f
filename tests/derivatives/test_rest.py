"""Derivatives of equilibria and eigenvalues: known ones, and those of found equilibria."""

import numpy as np
import pytest
from families import some, spread
from scenes import hinged, with_body, with_point

import mbd
from tests.flexible.meshes import lattice
from tests.kinds.recipes import FORMS, FORMULATIONS

WEIGHTS = {1: 2 / 3, 2: -1 / 12}
NOW = {"a.mass": 1.2, "k.stiffness": 60.0, "k.length": 0.7, "a.center_of_mass.x": 0.05}


def arms():
    """Two arms on parallel hinges, held by springs, one of them with a damper."""
    system, a = with_body(
        "a", gravity=(0, 0, -9.81), mass=1.2, inertia=(0.02, 0.1, 0.1), position=(0.5, 0, 0),
        center_of_mass=(0.05, 0, 0),
    )  # fmt: skip
    b = system.add(mbd.RigidBody("b", mass=0.8, inertia=(0.03, 0.05, 0.05), position=(1.3, 0, 0)))
    system.add(mbd.Revolute("h", system.ground, a, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("h2", a, b, at=(1.0, 0, 0), axis=(0, 1, 0)))
    for name, body, x, k in (("k", b, 1.3, 60.0), ("k2", a, 0.5, 50.0)):
        system.add(
            mbd.Spring(name, system.ground, body, at=(x, 0, 1.0), to=(x, 0, 0), stiffness=k,
                       damping=0.5, length=0.7)
        )  # fmt: skip
    return system


def test_equilibria_and_eigenvalues_against_those_of_other_values():
    eq = mbd.equilibrium(arms())
    pose, motion = mbd.sensitivities(eq, list(NOW)), mbd.sensitivities(mbd.modes(eq), list(NOW))

    def numbers(x):
        return np.hstack([x["b"].position, x["h"].force, x["h2"].angle])

    for name, value in NOW.items():
        e, held, moved = 1e-3 * value, 0.0, 0.0
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                other = eq.model.with_values({name: value + sign * k * e})
                there = mbd.equilibrium(other, state=eq.state)
                held = held + sign * w / e * numbers(there)
                moved = moved + sign * w / e * mbd.modes(there).eigenvalues
        assert np.abs(numbers(pose[name]) - held).max() <= 1e-9 * np.abs(held).max()
        mine = motion[name].eigenvalues
        assert np.abs(mine - moved).max() <= 1e-9 * np.abs(moved).max()


def test_a_repeated_eigenvalue_has_a_set():
    """A mass between two pairs of springs of one stiffness: one of them changes."""
    k, mass = 40.0, 1.6
    system, point = with_point("m", mass=mass)
    for i, axis in enumerate(np.eye(3)):
        system.add(
            mbd.Spring(f"k{i}", system.ground, point, at=5 * axis, to=(0, 0, 0), stiffness=k,
                       length=5.0)
        )  # fmt: skip
    modes = mbd.modes(system)
    d = mbd.sensitivities(modes, ["k0.stiffness", "m.mass"])
    omega = np.sqrt(k / mass)
    assert np.allclose(np.sort(d["k0.stiffness"].eigenvalues.imag), [0, 0, omega / (2 * k)])
    assert np.allclose(d["m.mass"].frequency, -omega / (2 * mass) / (2 * np.pi))
    with pytest.raises(ValueError, match="a set, which has no gradient"):
        mbd.gradient(mbd.Objective(terminal=lambda m: m.frequency[0]), modes, ["m.mass"])


def test_a_weight_at_a_spring_sinks_by_what_is_known():
    """z = -L - m g/k."""
    system, weight = with_point("m", gravity=(0, 0, -9.81), mass=2.0, position=(0, 0, -1.2))
    system.add(
        mbd.Prismatic(
            "rail",
            system.ground,
            body := system.add(
                mbd.RigidBody("b", mass=0.5, inertia=(1, 1, 1), position=(0, 0, -1.2))
            ),
            at=(0, 0, 0),
            axis=(0, 0, 1),
        )
    )
    system.add(mbd.Spherical("tie", body, weight, at=(0, 0, -1.2)))
    system.add(mbd.Spring("k", system.ground, body, stiffness=300.0, length=1.0))
    d = mbd.sensitivities(mbd.equilibrium(system), ["k.stiffness", "k.length", "m.mass"])
    sinks = {name: d[name]["m"].position[2] for name in d}
    assert sinks["k.stiffness"] == pytest.approx(2.5 * 9.81 / 300.0**2, rel=1e-9)
    assert sinks["k.length"] == pytest.approx(-1.0, rel=1e-9)
    assert sinks["m.mass"] == pytest.approx(-9.81 / 300.0, rel=1e-9)
    assert d["m.mass"]["tie"].force[2] == pytest.approx(9.81, rel=1e-9)


def test_what_is_refused():
    free, _ = with_body("b", inertia=(1, 1, 1))
    with pytest.raises(ValueError, match="free motions"):
        mbd.sensitivities(mbd.equilibrium(free), ["b.mass"])
    eq = mbd.equilibrium(arms())
    with pytest.raises(ValueError, match="step belongs to a run"):
        mbd.sensitivities(eq, ["a.mass"], step=0.1)
    half = mbd.equilibrium(arms(), load_factor=0.5)
    with pytest.raises(ValueError, match="load factor"):
        mbd.sensitivities(half, ["a.mass"])


# --- critical loads, responses, one number of a pose ---------------------------------------------
def test_critical_loads_of_an_upright_link_by_hand():
    """f = k/(P L) of a rigid link on a spring hinge under a load P at its end."""
    k, P, L = 30.0, 4.0, 0.8
    length = mbd.Parameter("L", L)
    system, link, hinge = hinged(
        "link", "hinge", gravity=(0, 0, 0), inertia=(0.1, 0.1, 0.01), position=(0, 0, length / 2)
    )
    system.add(mbd.RotationalSpring("spring", hinge, stiffness=k))
    system.add(mbd.PointForce("push", link, (0, 0, -P), at=(0, 0, length)))
    critical = mbd.buckling(system)
    f = k / (P * L)
    assert critical.factors == pytest.approx([f])
    d = mbd.sensitivities(critical, ["spring.stiffness", "push.force.z", "L", "link.mass"])
    exact = {"spring.stiffness": f / k, "push.force.z": f / P, "L": -f / L, "link.mass": 0.0}
    for name, value in exact.items():
        assert d[name].factors == pytest.approx([value], abs=1e-9)
    with pytest.raises(ValueError, match="as with an imperfection"):
        mbd.sensitivities(critical, ["push.force.x"])


def test_a_column_that_shortens():
    """A beam under an axial load, whose pose it moves; by the bending stiffness and the axial one.

    Both are all that the factor depends on: EI d/dEI f + EA d/dEA f = f by dimension, shear with
    the axial one; against differences of critical loads of other columns.
    """

    def build(EI, EA):
        EI, EA = mbd.Parameter("EI", EI), mbd.Parameter("EA", EA)
        system = mbd.System()
        section = mbd.Section(stiffness=(EA, 0.4 * EA, 0.4 * EA, 1.5 * EI, EI, 2 * EI), mass=1.0)
        beam = system.add(
            mbd.Beam("beam", points=((0, 0, 0), (1, 0, 0)), section=section, elements=2,
                     first=system.ground)
        )  # fmt: skip
        system.add(mbd.PointForce("load", beam.last, (-1.0, 0, 0)))
        return system

    critical = mbd.buckling(build(1.0, 100.0))
    d = mbd.sensitivities(critical)
    total = d["EI"].factors[0] + 100.0 * d["EA"].factors[0]
    assert total == pytest.approx(critical.factors[0], rel=1e-6)
    others = [mbd.buckling(build(1 + e, 100.0)).factors[0] for e in (-1e-3, 1e-3)]
    assert d["EI"].factors[0] == pytest.approx(np.diff(others)[0] / 2e-3, rel=1e-5)


@spread(height=[0.1, 0.3], soft=[100.0, 70.0])
def test_the_limit_load_of_a_truss(soft, height):
    """By one bar of four that is softer, or is not, and by the load; against differences."""

    def build(stiffness):
        system, ball = with_point("ball", position=(0, 0, height))
        for i, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            system.add(
                mbd.Spring(f"bar {i}", system.ground, ball, at=(x, y, 0),
                           stiffness=100.0 if i else stiffness, length=np.hypot(1.0, height))
            )  # fmt: skip
        system.add(mbd.PointForce("load", ball, (0, 0, -1.0)))
        return system

    critical = mbd.buckling(build(soft))
    d = mbd.sensitivities(critical, ["bar 0.stiffness", "load.force.z", "ball.mass"])
    others = [mbd.buckling(build(soft + h)).factors[0] for h in (-1e-2, 1e-2)]
    assert d["bar 0.stiffness"].factors == pytest.approx(np.diff(others) / 2e-2, rel=1e-5)
    assert d["load.force.z"].factors == pytest.approx(critical.factors, rel=1e-9)
    assert d["ball.mass"].factors == pytest.approx([0.0], abs=1e-12)


def test_the_response_of_an_oscillator_by_hand():
    """H = 1/(k - m w^2 + i w c) of the force on a mass."""
    k, c, mass = 40.0, 0.7, 1.6
    system, point = with_point("m", mass=mass)
    for axis, name in zip(np.eye(3), "xyz", strict=True):
        system.add(
            mbd.Spring(f"k{name}", system.ground, point, at=5 * axis, to=(0, 0, 0), stiffness=k,
                       damping=c, length=5.0)
        )  # fmt: skip
    linear = mbd.linearize(system, inputs=[("m", (1, 0, 0))], outputs=["m.position.x"])
    d = mbd.sensitivities(linear, ["kx.stiffness", "kx.damping", "m.mass", "ky.stiffness"])
    f = np.array([0.0, 0.3, 0.8])
    w = 2 * np.pi * f
    H = 1 / (k - mass * w**2 + 1j * w * c)
    for name, slope in (
        ("kx.stiffness", -(H**2)), ("kx.damping", -1j * w * H**2), ("m.mass", w**2 * H**2),
        ("ky.stiffness", 0 * H),
    ):  # fmt: skip
        mine = d[name].frequency_response(f)[:, 0, 0]
        assert np.abs(mine - slope).max() <= 1e-9 * np.abs(H**2).max(), name


def test_responses_and_one_number_of_a_loaded_pose():
    """Of arms whose pose the springs hold: against other values, and forwards against backwards."""
    eq = mbd.equilibrium(arms())

    def response(pose):
        linear = mbd.linearize(pose, inputs=[("a", (0, 0, 1))], outputs=["h2.angle", "h.force.z"])
        return linear.frequency_response([0.2, 1.0]).values

    linear = mbd.linearize(eq, inputs=[("a", (0, 0, 1))], outputs=["h2.angle", "h.force.z"])
    d = mbd.sensitivities(linear, list(NOW))
    number = mbd.Objective(terminal=lambda pose: pose["h2"].angle ** 2 + pose["h"].force[2])
    g, pose = mbd.gradient(number, eq, list(NOW)), mbd.sensitivities(eq, list(NOW))
    assert g.value == pytest.approx(eq["h2"].angle ** 2 + eq["h"].force[2])
    for name in NOW:
        slope = 2 * eq["h2"].angle * pose[name]["h2"].angle + pose[name]["h"].force[2]
        assert g[name] == pytest.approx(slope, rel=1e-10)
    for name in ("k.stiffness", "a.center_of_mass.x"):
        e, moved = 1e-3 * NOW[name], 0.0
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                other = eq.model.with_values({name: NOW[name] + sign * k * e})
                moved = moved + sign * w / e * response(mbd.equilibrium(other, state=eq.state))
        mine = d[name].frequency_response([0.2, 1.0])
        assert np.abs(mine - moved).max() <= 1e-8 * np.abs(moved).max()
    with pytest.raises(ValueError, match="terminal= alone"):
        mbd.gradient(mbd.Objective(running=lambda run: run["h"].angle), eq, list(NOW))


# --- whatever the number of parameters -----------------------------------------------------------
def held(formulation, p):
    """Two bodies on a ball joint, held by springs and a bushing; numbers of all kinds follow p."""
    p = mbd.Parameter("p", p)
    system = mbd.System(gravity=(0.3, -0.2, -9.81 + 0.5 * p))
    common = {"formulation": formulation}
    a = system.add(
        mbd.RigidBody(
            "a", mass=1.2 + 0.2 * p, inertia=(0.2, 0.3 + 0.1 * p, 0.4), position=(0.5, 0, 0),
            center_of_mass=(0.05, 0, 0.02 + 0.1 * p), **common,
        )
    )  # fmt: skip
    b = system.add(
        mbd.RigidBody("b", mass=0.8, inertia=(0.3, 0.2, 0.2), position=(1.3, 0, 0), **common)
    )
    system.add(mbd.Spherical("h", a, b, at=(1.0, 0.02 * p, 0)))
    for i, (body, x) in enumerate(((b, 1.3), (a, 0.5), (a, 0.7), (b, 1.5))):
        system.add(
            mbd.Spring(
                f"k{i}", system.ground, body, at=(x + 0.1 * p, 0.9 * (i - 2), 1.0 + 0.1 * i),
                to=(x, 0.02 * i, 0.1), stiffness=60.0 - 8 * i + 5 * p, damping=0.5 + p, length=0.7,
            )
        )  # fmt: skip
    stiffness = (20.0, 30.0 + 4 * p, 10.0, 9.0, 8.0, 7.0)
    system.add(mbd.Bushing("hold", system.ground, a, at=(0, 0.1, 0), stiffness=stiffness))
    return system


@pytest.mark.parametrize("name", some([x for x, f in FORMULATIONS.items() if f.axes], 3))
def test_eigenvalues_and_responses_in_every_formulation(name):
    """Small motions leave the pose: increments there, and at it, are not the same."""
    follow(held, FORMULATIONS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [x for x, f in FORMS.items() if f.axes and f.rigid])
def test_eigenvalues_and_responses_in_every_form(name):
    follow(held, FORMS[name])


def follow(build, formulation, e=1e-3):
    """Compare derivatives by p with differences of other equilibria."""
    frequencies = [0.0, 0.7]

    def about(pose):
        inputs, outputs = [("a", (0.1, 0.2, 0), (0, 0, 1))], ["b.position.x", "h.force.z"]
        return mbd.linearize(pose, inputs=inputs, outputs=outputs)

    def of(pose):
        return mbd.modes(pose).eigenvalues, about(pose).frequency_response(frequencies).values

    start = mbd.equilibrium(build(formulation, 0.0))
    totals = [0.0, 0.0]
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            there = mbd.equilibrium(start.model.with_values({"p": sign * k * e}), state=start.state)
            totals = [x + sign * w / e * y for x, y in zip(totals, of(there), strict=True)]
    mine = mbd.sensitivities(mbd.modes(start))["p"].eigenvalues
    assert np.abs(mine - totals[0]).max() <= 1e-7 * np.abs(totals[0]).max()
    mine = mbd.sensitivities(about(start))["p"].frequency_response(frequencies)
    assert np.abs(mine - totals[1]).max() <= 1e-7 * np.abs(totals[1]).max()


@pytest.mark.slow
def test_a_gradient_costs_the_same_for_one_parameter_and_for_many():
    """Factorisations and assemblies are counted; gradients are those of the derivatives by name."""
    pose = mbd.equilibrium(arms())
    linear = mbd.linearize(pose, inputs=[("a", (0, 0, 1))], outputs=["h2.angle", "h.force.z"])
    modes, frequencies = mbd.modes(pose), [0.2, 1.0]
    c = np.array([[[0.3], [0.1j]], [[-0.2], [0.05]]])
    terms = {
        (lambda m: m.frequency[0] ** 2 + m.damping[1] + m.eigenvalues[1].real): modes,
        (lambda x: float(np.vdot(c, x.frequency_response(frequencies).values).real)): linear,
    }
    names = [*NOW, "b.mass", "k2.stiffness", "k2.damping", "gravity.z", "h.at.x", "k2.to.z"]
    for term, result in terms.items():
        objective = mbd.Objective(terminal=term)
        one, many = (mbd.gradient(objective, result, some) for some in (names[:1], names))
        assert one.stats == many.stats
        assert 0 < many.stats["factorizations"] < many.stats["assemblies"] < 150
        d = mbd.sensitivities(result, names)
        if result is modes:
            slopes = [
                2 * modes.frequency[0] * d[x].frequency[0] + d[x].damping[1]
                + d[x].eigenvalues[1].real
                for x in names
            ]  # fmt: skip
        else:
            slopes = [np.vdot(c, d[x].frequency_response(frequencies)).real for x in names]
        assert np.abs(many.array - slopes).max() <= 1e-10 * np.abs(slopes).max()


def test_the_damping_ratio_of_an_oscillator_by_hand():
    """zeta = c/(2 sqrt(k m))."""
    k, c, mass = 40.0, 0.7, 1.6
    system = mbd.System()
    body = system.add(mbd.RigidBody("m", mass=mass, inertia=(1, 1, 1)))
    system.add(mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(
        mbd.Spring("k", system.ground, body, at=(0, 0, 2), to=(0, 0, 0), stiffness=k, damping=c,
                   length=2.0)
    )  # fmt: skip
    modes, names = mbd.modes(system), ["k.stiffness", "k.damping", "m.mass"]
    zeta = c / (2 * np.sqrt(k * mass))
    assert modes.damping[0] == pytest.approx(zeta)
    g = mbd.gradient(mbd.Objective(terminal=lambda x: x.damping[0]), modes, names)
    assert np.allclose(g.array, [-zeta / (2 * k), zeta / c, -zeta / (2 * mass)], rtol=1e-10)


def test_springs_far_longer_and_shorter_than_the_model_and_laws_that_are_too_sharp():
    """omega = sqrt(k/m); a law without derivatives that changes within 10 um/s."""

    def modes(length, law=None):
        system, rest = mbd.System(), {"stiffness": 40.0} if law is None else {"law": law}
        body = system.add(mbd.RigidBody("m", mass=1.6, inertia=(1, 1, 1)))
        system.add(mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1)))
        end = {"at": (0, 0, length), "to": (0, 0, 0)}
        if law is None:
            end["length"] = length
        system.add(mbd.Spring("k", system.ground, body, **end, **rest))
        return mbd.modes(system)

    for length in (1e-8, 1.0, 1e8):
        slope = mbd.sensitivities(modes(length), ["m.mass"])["m.mass"].eigenvalues[0].imag
        assert slope == pytest.approx(-np.sqrt(40.0 / 1.6) / 3.2, rel=1e-7)
    c = mbd.Parameter("c", 0.5)
    sharp = modes(2.0, mbd.Expression("40*(u - 2) + c*1e-5*tanh(1e5*rate)", c=c))
    with pytest.raises(ValueError, match="a law changes within too short a way"):
        mbd.sensitivities(sharp)


def test_wheels_that_roll_are_held_by_rows_on_velocities():
    """omega^2 = k/(m + J/r^2) of a wheel at a spring."""
    k, mass, J, r = 90.0, 2.0, 0.05, 0.3
    system = mbd.System(gravity=(0, 0, -9.81))
    wheel = system.add(mbd.RigidBody("wheel", mass=mass, inertia=(J, J, J), position=(0, 0, r)))
    system.add(mbd.RollingDisc("road", system.ground, wheel, radius=r, axis=(0, 1, 0)))
    system.add(
        mbd.Spring("k", system.ground, wheel, at=(2.0, 0, r), to=(0, 0, r), stiffness=k, length=2.0)
    )
    modes = mbd.modes(system)
    d = mbd.sensitivities(modes, ["k.stiffness", "wheel.mass", "wheel.inertia.yy", "road.radius"])
    w, heavy = np.sqrt(k / (mass + J / r**2)), mass + J / r**2
    i = int(np.argmin(np.abs(modes.eigenvalues - 1j * w)))
    exact = [w / (2 * k), -w / (2 * heavy), -w / (2 * heavy) / r**2, w * J / (heavy * r**3)]
    assert [x.eigenvalues[i].imag for x in d.values()] == pytest.approx(exact, rel=1e-8)


def test_how_redundant_rows_share_a_load_is_refused():
    """Of a door on two hinges, whose spring holds it."""
    system = mbd.System(gravity=(0, 0, -9.81))
    door = system.add(mbd.RigidBody("door", mass=20.0, inertia=(3, 5, 2), position=(0.4, 0, 0)))
    low = system.add(mbd.Revolute("low", system.ground, door, at=(0, 0, -0.8), axis=(0, 0, 1)))
    system.add(mbd.Revolute("high", system.ground, door, at=(0, 0, 0.8), axis=(0, 0, 1)))
    system.add(mbd.RotationalSpring("close", low, stiffness=30.0, angle=0.2))
    pose = mbd.equilibrium(system)
    d = mbd.sensitivities(pose, ["close.stiffness", "door.mass"])
    assert d["door.mass"]["low"].angle == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="forces of 'low' are not unique"):
        d["door.mass"]["low"].force  # noqa: B018
    linear = mbd.linearize(pose, inputs=["low"], outputs=["low.angle", "high.force.z"])
    with pytest.raises(ValueError, match=r"response at 0.3 Hz of low.angle, high.force.z to low"):
        mbd.sensitivities(linear, ["close.stiffness"])["close.stiffness"].frequency_response(0.3)


def test_a_flexible_body_by_its_density_its_stiffness_and_its_damping():
    """s^2 m + s (alpha m + beta k) + k = 0 of each mode of a free bar."""
    M, K, X = lattice(stiffness=2e5)
    system = mbd.System()
    system.add(mbd.FlexibleBody("bar", M, K, X, {}, modes=3, rayleigh=(0.3, 1e-4), mass_factor=1.3))
    modes, names = mbd.modes(system), ["bar.mass_factor", "bar.stiffness_factor", "bar.rayleigh.0",
                                       "bar.rayleigh.1"]  # fmt: skip
    d, bends = mbd.sensitivities(modes, names), modes.frequency > 0.1
    s = modes.eigenvalues[bends]
    assert len(s) == 3
    alpha, beta = 0.3, 1e-4
    ratio = -(s * s + alpha * s) / (beta * s + 1)  # k/m
    slope = 2 * s + alpha + beta * ratio
    exact = [-(s * s + alpha * s) / 1.3, -(beta * s + 1) * ratio, -s, -s * ratio]
    for name, x in zip(names, exact, strict=True):
        assert (
            np.abs(d[name].eigenvalues[bends] - x / slope).max() <= 1e-8 * np.abs(x / slope).max()
        ), name
    for name in ("bar.M", "bar.coordinates", "bar.modes"):
        with pytest.raises(ValueError, match="numbers of 'bar' are|cannot be varied"):
            mbd.sensitivities(modes, [name])
