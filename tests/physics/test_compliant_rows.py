"""Compliant rows: the springs they stand for, the rigid rows they tend to, loads they share."""

import warnings

import numpy as np
import pytest
from scenes import hinged, with_body

import mbd
from mbd.machine import buffer as m
from mbd.model.pattern import pattern
from mbd.model.workspace import Workspace

GRAVITY = (0, 0, -9.81)
METHODS = {
    "position": mbd.GeneralizedAlpha(constraints="position"),
    "velocity": mbd.GeneralizedAlpha(constraints="velocity"),
    "stabilized": mbd.GeneralizedAlpha(constraints="stabilized"),
    "collocation": mbd.RadauCollocation(stages=3),
    "explicit": mbd.ExplicitRungeKutta(),
    "energy-momentum": mbd.EnergyMomentum(),
}
PLACED = {"at": (0.5, 0.1, 0.1), "compliance": 1e-2}
BOTH = {**PLACED, "angular_compliance": 2e-2}
JOINTS = {
    "rod": lambda a, b: mbd.Distance("j", a, b, at=(0, 0.1, 0.3), to=(0.9, 0, 0), compliance=1e-2),
    "ball": lambda a, b: mbd.Spherical("j", a, b, **PLACED),
    "hinge": lambda a, b: mbd.Revolute("j", a, b, axis=(0, 1, 0.3), **BOTH),
    "slider": lambda a, b: mbd.Prismatic("j", a, b, axis=(0, 1, 0.3), **BOTH),
}
PAIRS = [
    ("rod", "so3", "directors"), ("rod", "se3", "unified"), ("rod", "euler_parameters", "so3"),
    ("ball", "so3", "directors"), ("hinge", "so3", "directors"), ("slider", "directors", "so3"),
    ("hinge", "unified", "euler_parameters"), ("ball", "se3", "scalable"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "first", "second"), PAIRS)
def test_matrix_of_the_time_loop_by_differences(name, first, second):
    system, rng = mbd.System(gravity=GRAVITY), np.random.default_rng(5)
    for body, formulation, x in (("a", first, (0.1, 0, 0.2)), ("b", second, (1, 0.2, 0.1))):
        system.add(mbd.RigidBody(body, mass=1.3, inertia=(0.1, 0.2, 0.15), position=x,
                                 formulation=formulation))  # fmt: skip
    system.add(JOINTS[name](system["a"], system["b"]))
    model = system.build()
    work, n, lam = Workspace(model), model.n_v, model.numbering.lam
    work.S[m.ELASTIC] = 0
    size = n + model.n_lam
    x0 = np.r_[0.02 * rng.normal(size=n), rng.normal(size=model.n_lam)]

    def residual(x):
        work.vector(m.D)[model.numbering.v] = x[:n]
        work.vector(m.A)[lam] = x[n:]
        work.evaluate(1.0)
        return np.r_[work.vector(m.X)[model.numbering.v], work.vector(m.X)[lam]]

    residual(x0)
    work.linearise(0.0, 0.0, 1.0)
    exact, h = pattern(model).read(work.F).toarray(), 1e-5
    steps = h * np.eye(size)
    by_differences = [(residual(x0 + d) - residual(x0 - d)) / (2 * h) for d in steps]
    assert model.compliant[-1]
    assert np.abs(exact - np.transpose(by_differences)).max() < 1e-8


def pendulum(kind, C, formulation="so3", second=False):
    """Return a body that hangs by a rod, or by two of which the second has twice the compliance."""
    system, body = with_body(
        "body", gravity=GRAVITY, mass=2.0, inertia=(0.1, 0.2, 0.15), position=(1.0, 0, 0),
        angular_velocity=(0.3, 0.2, 0.0), formulation=formulation,
    )  # fmt: skip
    ends = {"at": (0, 0, 0), "to": (0.9, 0.1, 0)}
    for name, c in (("one", C), ("two", 2 * C))[: 1 + second]:
        if kind == "row":
            system.add(mbd.Distance(name, system.ground, body, compliance=c, **ends))
        else:
            system.add(mbd.Spring(name, system.ground, body, stiffness=1 / c, **ends))
    return system


@pytest.mark.parametrize(
    ("formulation", "C"),
    [(x, 1e-4) for x in ("so3", "se3", "unified", "directors", "euler_parameters")]
    + [("so3", 1e-2), ("so3", 1e-8), ("so3", 1e-12)],
)
def test_a_row_moves_and_stores_energy_as_its_spring(formulation, C):
    row, spring = (
        mbd.simulate(pendulum(kind, C, formulation), t_end=0.4, step=1e-3)
        for kind in ("row", "spring")
    )
    assert np.allclose(row["body"].position, spring["body"].position, rtol=0, atol=1e-8)
    # at 1e-12 the spring's energy is that of round-off; that of the row is half of C times lam^2
    drop = np.ptp(row.energy.kinetic)
    assert np.allclose(row.energy.potential, spring.energy.potential, rtol=0, atol=1e-6 * drop)
    assert np.ptp(row.energy.balance) < 2e-4 * drop
    length = np.linalg.norm(row["body"].at((-0.1, 0.1, 0)).position, axis=1)
    tension = row["one"].multipliers[:, 0]
    assert np.allclose(length - length[0], C * tension, rtol=1e-7, atol=2e-13)
    assert np.allclose(np.linalg.norm(row["one"].force, axis=1), np.abs(tension), rtol=1e-12)
    iterations = row.stats["iterations"], spring.stats["iterations"]
    assert iterations[0] < 1.2 * iterations[1]


def test_the_limit_of_a_row_is_rigid():
    rigid = mbd.simulate(pendulum("row", 0.0), t_end=0.4, step=1e-3, project=True)
    L = np.sqrt(0.82)
    for C in (1e-7, 1e-9, 1e-12):
        soft = mbd.simulate(pendulum("row", C), t_end=0.4, step=1e-3)
        apart = np.abs(soft["body"].position - rigid["body"].position).max()
        assert apart < 100 * C + 1e-10  # as many newtons
        assert soft["one"].multipliers[-1, 0] == pytest.approx(
            L * rigid["one"].multipliers[-1, 0], rel=1e-4
        )


@pytest.mark.parametrize("method", METHODS)
def test_methods_and_levels(method):
    formulation = "directors"
    row, spring = (
        mbd.simulate(pendulum(kind, 1e-4, formulation, True), t_end=0.1, step=1e-3,
                     method=METHODS[method])
        for kind in ("row", "spring")
    )  # fmt: skip
    assert np.allclose(row["body"].position, spring["body"].position, rtol=0, atol=1e-11)
    one, two = row["one"].multipliers[1:, 0], row["two"].multipliers[1:, 0]
    assert np.abs(one).max() > 1.0
    assert np.allclose(one, 2 * two, rtol=1e-6, atol=1e-9)
    if method == "energy-momentum":
        assert np.ptp(row.energy.balance) < 1e-11


def test_steps_within_a_tolerance_and_instants_between():
    t = np.linspace(0.02, 0.1, 5)
    row, spring = (
        mbd.simulate(pendulum(kind, 1e-4), t_end=0.1, rtol=1e-7, t_eval=t)
        for kind in ("row", "spring")
    )
    assert np.allclose(row["body"].position, spring["body"].position, rtol=0, atol=1e-6)
    even = mbd.simulate(pendulum("row", 1e-4), t_end=0.1, step=1e-3, t_eval=t)
    fine = mbd.simulate(pendulum("row", 1e-4), t_end=0.1, step=1e-4)
    assert np.allclose(
        even["one"].multipliers[:, 0],
        np.interp(t, fine.t, fine["one"].multipliers[:, 0]),
        rtol=0.02,
    )


def bench(C, kind="row", x=(-1.0, 0.0, 1.0), load=0.3):
    """Return a bar on rods, at x, all of the compliance C, that carries one newton at `load`."""
    system, bar = with_body("bar", inertia=(0.1, 0.2, 0.2))
    system.add(mbd.Planar("plane", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    for i, at in enumerate(x):
        ends = {"at": (at, 0, 5.0), "to": (at, 0, 0)}
        system.add(mbd.Distance(f"rod {i}", system.ground, bar, compliance=C, **ends))
    system.add(mbd.PointForce("load", bar, (0, 0, -1.0), at=(load, 0, 0)))
    return system


@pytest.mark.parametrize("C", [1e-3, 1e-6, 1e-9])
def test_a_statically_indeterminate_bar(C):
    """A rigid bar on equal springs: F_i = P/n + P e x_i / sum x^2 (a group of bolts)."""
    x = np.array([-1.0, 0.0, 1.0, 0.5])
    system, e = bench(C, x=x), 0.3 - x.mean()
    report = system.build().report()
    assert (report.n_redundant, report.n_compliant, report.freedoms) == (0, 4, 3)
    assert "7 rows of rank 3, 4 of them compliant" in str(report)
    expected = 1 / 4 + e * (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    # the rods turn with the bar by C, which the formula does not
    found = mbd.equilibrium(system)
    tension = [float(found[f"rod {i}"].multipliers[0]) for i in range(4)]
    assert tension == pytest.approx(expected, abs=max(2 * C, 1e-5))
    assert bench(0.0, x=x).build().report().n_redundant == 2


def test_redundant_rows_beside_compliant_ones():
    """Multipliers of redundant rows are made smallest; those of compliant rows are theirs."""

    def beam(twice):
        system = mbd.System(gravity=GRAVITY)
        arm = system.add(mbd.RigidBody("arm", mass=2, inertia=(0.1, 0.2, 0.2), position=(1, 0, 0)))
        hinge = {"at": (0, 0, 0), "axis": (0, 1, 0)}
        system.add(mbd.Revolute("hinge", system.ground, arm, **hinge))
        if twice:
            system.add(mbd.Revolute("again", system.ground, arm, **hinge))
        rod = {"at": (1, 0, 2), "to": (1, 0, 0)}
        system.add(mbd.Distance("rod", system.ground, arm, compliance=1e-5, **rod))
        return mbd.simulate(system, t_end=0.2, step=1e-3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice, once = beam(True), beam(False)
    assert twice.model.redundant
    assert not once.model.redundant
    assert np.allclose(twice["rod"].multipliers, once["rod"].multipliers, rtol=1e-6, atol=1e-5)
    both = twice["hinge"].force, twice["again"].force
    assert np.allclose(*both, rtol=1e-6, atol=1e-6)
    assert np.allclose(sum(both), once["hinge"].force, rtol=1e-6, atol=1e-5)


def column(C, formulation="so3"):
    """Return a column of one metre that is clamped with an angular compliance."""
    system, bar = with_body(
        "bar", inertia=(0.1, 0.11, 0.02), position=(0, 0, 0.5), formulation=formulation
    )
    system.add(mbd.Fixed("clamp", system.ground, bar, at=(0, 0, 0), angular_compliance=C))
    system.add(mbd.PointForce("load", bar, (0, 0, -1.0), at=(0, 0, 1.0)))
    return system


@pytest.mark.parametrize("formulation", ["so3", "directors", "euler_parameters"])
def test_buckling_modes_and_small_motions(formulation):
    C = 1e-3
    system = column(C, formulation)
    assert mbd.buckling(system).factors == pytest.approx([1 / C, 1 / C], rel=1e-6)  # P L = 1/C
    found = mbd.equilibrium(system)
    expected = np.sqrt([(1 / C - 1.0) / 0.36, (1 / C - 1.0) / 0.35, 1 / C / 0.02])
    for modes in (mbd.modes(found), mbd.modes(found, n=3, solver="sparse")):
        values = sorted(np.abs(modes.eigenvalues.imag))
        assert np.allclose(values[-3:], expected, rtol=1e-8)
    small = mbd.linearize(
        found, inputs=["load.x"], outputs=["clamp.moment about a2", "clamp.moment.y"]
    )
    response = small.C @ np.linalg.solve(-small.A, small.B) + small.D
    bent = 1.0 / (1.0 - C)  # one newton at one metre, and what the load adds
    assert np.abs(response[:, 0]) == pytest.approx([bent, bent], rel=1e-9)
    d, s = small.descriptor, 10.0j
    whole = d.C @ np.linalg.solve((s * d.E - d.A).toarray(), d.B.toarray()) + d.D
    reduced = small.C @ np.linalg.solve(s * np.eye(len(small.A)) - small.A, small.B) + small.D
    assert np.allclose(whole, reduced, rtol=1e-10)


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_an_elastic_shaft(formulation):
    r"""With :math:`p^2 = 1/JC` a wheel starts as :math:`\omega t - (\omega/p)\sin pt`."""
    J, C, speed = 0.5, 2e-2, 3.0
    system, _wheel, axle = hinged(
        "wheel", "axle", axis=(0, 0, 1), gravity=(0, 0, 0), inertia=(0.3, 0.3, J),
        formulation=formulation, position=(0, 0, 0),
    )  # fmt: skip
    motion = mbd.ConstantSpeed(speed)
    system.add(mbd.Drive("motor", axle.angle, position=motion, compliance=C))
    solution = mbd.simulate(system, t_end=3.0, step=1e-3)
    p, t = 1 / np.sqrt(J * C), solution.t
    assert np.allclose(solution["axle"].angle, speed * (t - np.sin(p * t) / p), rtol=0, atol=2e-4)
    load = speed * np.sin(p * t) / p / C
    assert np.allclose(solution["motor"].load, load, rtol=0, atol=1e-2)
    assert np.ptp(solution.energy.balance) < 1e-4 * np.ptp(solution.energy.kinetic)


def linkage(formulation="so3"):
    """Return two arms with compliant joints, rods and a drive."""
    system, arm = mbd.System(gravity=GRAVITY), {"mass": 2.0, "inertia": (0.1, 0.2, 0.15)}
    a, b = (
        system.add(mbd.RigidBody(name, position=(x, 0, 0), formulation=formulation, **arm))
        for name, x in (("a", 0.5), ("b", 1.5))
    )
    hinge = system.add(mbd.Revolute("hinge", system.ground, a, at=(0, 0, 0), axis=(0, 1, 0)))
    soft = {"compliance": 1e-4, "angular_compliance": 2e-4}
    system.add(mbd.Revolute("soft", a, b, at=(1, 0, 0), axis=(0, 1, 0), **soft))
    ends = {"at": (0, 0.3, 1.0), "to": (1.8, 0.1, 0)}
    system.add(mbd.Distance("one", system.ground, b, compliance=1e-3, **ends))
    system.add(mbd.Distance("two", system.ground, b, compliance=3e-3, **ends))
    motion = mbd.Harmonic(0.3, 3.0)
    system.add(mbd.Drive("motor", hinge.angle, position=motion, compliance=1e-2))
    return system


SOFT = ["one.compliance", "motor.compliance", "soft.compliance", "soft.angular_compliance"]


def test_derivatives_by_compliances():
    model, run = linkage().build(), {"t_end": 0.1, "step": 2e-3}
    sharp = mbd.GeneralizedAlpha(newton="full", tol=1e-12)
    of = mbd.sensitivities(model, SOFT, **run, method=sharp)
    row = model.numbering.lam_labels.index("one.distance")
    for name in SOFT:
        owner, _, argument = name.partition(".")
        value = getattr(model.system[owner], argument)
        h = 1e-3 * value
        runs = [
            mbd.simulate(model.with_values({name: value + k * h}), method=sharp, **run)
            for k in (2, 1, -1, -2)
        ]

        def slope(read, runs=runs, h=h):
            return np.tensordot([-1.0, 8.0, -8.0, 1.0], [read(r) for r in runs], 1) / (12 * h)

        expected = slope(lambda r: r["b"].position)
        size = np.abs(expected).max()
        assert size > 0.1
        assert np.allclose(of[name]["b"].position, expected, rtol=0, atol=1e-6 * size)
        expected = slope(lambda r: r.lam)
        size = np.abs(expected).max()
        assert np.allclose(of.tangents(name).lam, expected, rtol=0, atol=1e-4 * size)
    force = mbd.Objective(
        terminal=lambda last: last["b"].position[2] + 1e-3 * last["one"].multipliers[0]
    )
    g = mbd.gradient(force, model, SOFT, **run, method=sharp)
    for name in SOFT:
        forward = of[name]["b"].position[-1, 2] + 1e-3 * of.tangents(name).lam[-1, row]
        assert g[name] == pytest.approx(forward, rel=1e-8)


def test_derivatives_of_equilibria_and_modes():
    system = column(1e-3)
    system.add(mbd.PointForce("wind", system["bar"], (0.3, 0, 0)))
    model, name, h = system.build(), "clamp.angular_compliance", 1e-6
    found = mbd.equilibrium(model)
    beside = [mbd.equilibrium(model.with_values({name: 1e-3 + k * h})) for k in (1, -1)]
    tangent = mbd.sensitivities(found, [name])[name].tangents
    slope = (beside[0].state.lam - beside[1].state.lam) / (2 * h)
    assert np.abs(slope).max() > 0.1
    assert np.allclose(tangent.lam[0], slope, rtol=1e-5, atol=1e-8)
    read = mbd.Objective(terminal=lambda last: last["clamp"].moment[1] + last["bar"].position[0])
    values = [x["clamp"].moment[1] + x["bar"].position[0] for x in beside]
    g = mbd.gradient(read, found, [name])[name]
    assert g == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6)
    modes = mbd.sensitivities(mbd.modes(found), [name])[name].eigenvalues
    values = [mbd.modes(x).eigenvalues for x in beside]
    assert np.allclose(modes, (values[0] - values[1]) / (2 * h), rtol=1e-5)


def test_compliances_are_parameters_and_stand_in_files(tmp_path):
    model = linkage().build()
    changed = model.with_values({"one.compliance": 5e-3, "motor.compliance": 2e-2})
    system = linkage()
    mbd.write(changed.system, tmp_path / "linkage.toml")
    again = mbd.read(tmp_path / "linkage.toml").system.build()
    assert np.array_equal(again.F, changed.F)
    assert not np.array_equal(again.F, system.build().F)
    with pytest.raises(ValueError, match="would change the structure"):
        model.with_values({"one.compliance": 0.0})


def test_what_cannot_give_way_is_named():
    system, body = with_body("body", inertia=(1, 1, 1))
    at, C = {"at": (0, 0, 0)}, {"angular_compliance": 1e-3}
    with pytest.raises(ValueError, match="moments of a Spherical give way, but it has none"):
        mbd.Spherical("ball", system.ground, body, **at, **C)
    with pytest.raises(ValueError, match="ConstantVelocity give way, but its row 'twist' cannot"):
        mbd.ConstantVelocity("shaft", system.ground, body, **at, **C, axis=(1, 0, 0))
    for make in (mbd.Distance, mbd.Spherical):
        with pytest.raises(ValueError, match=r"compliance must be zero or at least 1e-15 \[m/N\]"):
            make("tight", system.ground, body, at=(0, 0, 1), compliance=1e-17)
    hinge = system.add(mbd.Revolute("hinge", system.ground, body, **at, axis=(0, 0, 1)))
    with pytest.raises(ValueError, match="compliance needs a position to fall behind"):
        mbd.Drive("motor", hinge, velocity=1.0, compliance=1e-3)
    model = linkage().build()
    with pytest.raises(ValueError, match="'one' has compliant rows, which cannot be switched off"):
        mbd.simulate(model, t_end=0.1, step=1e-3, state=model.state.replace(off=("one",)))
    velocity = mbd.GeneralizedAlpha(constraints="velocity")
    with pytest.raises(ValueError, match=r"compliant row 'soft.force x' acts as a spring"):
        mbd.sensitivities(model, SOFT, t_end=0.1, step=1e-3, method=velocity)
