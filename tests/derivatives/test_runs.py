"""Derivatives of runs: known ones, starts, loops, beams, what is refused, what it costs."""

import numpy as np
import pytest
from scenes import four_bar, hinged, parallelograms, with_point
from scipy.spatial.transform import Rotation

import mbd
from mbd.derivatives import restarts
from mbd.derivatives.parameters import stencils
from mbd.derivatives.restarts import Restarted

TIGHT = mbd.GeneralizedAlpha(tol=1e-12)
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def differences(system, name, value, e, of, t_end):
    """Return derivatives of results of runs, by differences of order eight."""
    model, total = system.build(), 0.0
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            other = model.with_values({name: value + sign * k * e})
            total += sign * w / e * of(mbd.simulate(other, t_end, 0.01, method=TIGHT))
    return total


def close(x, y, tolerance):
    assert np.abs(x - y).max() <= tolerance * np.abs(y).max()


def oscillator():
    """A mass at a spring, at rest 0.3 m off its length."""
    system, mass = with_point("mass", mass=1.3, position=(1.0, 0, 0))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=20.0, length=0.7))
    return system


@pytest.mark.parametrize("rtol", [1e-4, 1e-5])
def test_a_first_step_that_does_not_divide_the_time_is_no_matter(rtol):
    s = mbd.sensitivities(oscillator(), ["spring.length"], 0.37, rtol=rtol)
    exact = 1 - np.cos(np.sqrt(20 / 1.3) * 0.37)
    assert s["spring.length"]["mass"].position[-1, 0] == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("way", ["forwards", "backwards"])
def test_the_derivative_of_a_vibration_converges_with_order_two(way):
    """x = L + (1 - L) cos(w t), w^2 = k/m, differentiated by hand."""
    k, mass, L, t = 20.0, 1.3, 0.7, 1.0
    w = np.sqrt(k / mass)
    exact = {
        "spring.stiffness": -(1 - L) * np.sin(w * t) * t * w / (2 * k),
        "mass.mass": (1 - L) * np.sin(w * t) * t * w / (2 * mass),
        "spring.length": 1 - np.cos(w * t),
        "mass.position.x": np.cos(w * t),
        "mass.velocity.x": np.sin(w * t) / w,
    }
    errors = []
    for step in (0.02, 0.01):
        if way == "forwards":
            s = mbd.sensitivities(oscillator(), list(exact), t, step)
            mine = np.array([s[name]["mass"].position[-1, 0] for name in exact])
        else:
            objective = mbd.Objective(terminal=lambda last: last["mass"].position[0])
            mine = mbd.gradient(objective, oscillator(), list(exact), t, step).array
        errors.append(np.abs(mine - list(exact.values())))
    assert np.all(errors[1] < 2e-3)
    assert np.allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.06)


def top(formulation="so3"):
    """A fast heavy top on a ball joint."""
    turn = Rotation.from_rotvec((0.5, 0, 0)).as_matrix()
    spin = turn @ (0, 0, 30.0)
    arm = turn @ (0, 0, 1.0)
    system, *_ = hinged(
        "top", "tip", kind="Spherical", mass=5.0, inertia=(0.8, 0.8, 1.1), position=arm,
        rotation=turn, angular_velocity=spin, velocity=np.cross(spin, arm), formulation=formulation,
    )  # fmt: skip
    return system


def test_a_start_that_is_consistent_only_is_not_the_start_of_a_run(monkeypatch):
    """The velocities and the algorithmic acceleration with which steps begin depend on p too."""

    def position(s):
        return s["top"].position

    theirs = differences(top(), "gravity.z", -9.81, 0.05, position, 0.2)
    mine = mbd.sensitivities(top(), ["gravity.z"], 0.2, 0.01, method=TIGHT)
    close(position(mine["gravity.z"]), theirs, 1e-9)
    monkeypatch.setattr(
        restarts, "shifted", lambda method, model, first, *_: Restarted(first, first, first.a)
    )
    wrong = mbd.sensitivities(top(), ["gravity.z"], 0.2, 0.01, method=TIGHT)["gravity.z"]
    error = np.abs(position(wrong) - theirs).max() / np.abs(theirs).max()
    assert error > 1e-6


ALONE = {
    "rod.mass": 1.3, "rod.center_of_mass.x": 0.1, "rod.inertia.zz": 0.2, "hinge.at.x": -0.5,
    "hinge.axis.z": 0.2, "rod.angular_velocity.y": 3.0, "rod.position.z": 0.0,
}  # fmt: skip


def test_every_kind_of_parameter_by_itself():
    """Few points where constants and equations are of low degree, eight where they are not."""
    system, *_ = hinged(
        "rod", "hinge", at=(-0.5, 0, 0), axis=(0.1, 1, 0.2), mass=1.3, inertia=(0.1, 0.2, 0.2),
        center_of_mass=(0.1, 0, 0), angular_velocity=(0, 3.0, 0), position=(0, 0, 0),
    )  # fmt: skip
    model = system.build()
    s = mbd.sensitivities(model, list(ALONE), 0.1, 0.01, method=TIGHT, project=True)

    def of(run):
        return np.hstack([run["rod"].position, run["rod"].angular_velocity])

    for name, value in ALONE.items():
        total = 0.0
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                other = model.with_values({name: value + sign * k * 1e-3})
                run = mbd.simulate(other, 0.1, 0.01, method=TIGHT, project=True)
                total += sign * w / 1e-3 * of(run)
        close(of(s[name]), total, 2e-8)


def test_loops_with_redundant_rows():
    """Motions are differentiated; how rows share a load is not, and contradictions are told."""

    def of(s):
        return np.hstack([s["coupler"].position, s["right"].angular_velocity])

    system = four_bar()
    assert system.build().redundant
    s = mbd.sensitivities(system, ["coupler.mass", "gravity.z"], 0.2, 0.01, method=TIGHT)
    for name, value, e in (("coupler.mass", 1.0, 1e-2), ("gravity.z", -9.81, 0.05)):
        close(of(s[name]), differences(system, name, value, e, of, 0.2), 1e-7)
    assert np.isfinite(s["gravity.z"].energy.kinetic).all()
    with pytest.raises(ValueError, match="forces of 'A' are not unique"):
        s["gravity.z"]["A"].force  # noqa: B018
    with pytest.raises(ValueError, match="not unique"):
        s["gravity.z"].reactions["A"].moment  # noqa: B018
    with pytest.raises(ValueError, match="redundant rows would contradict"):
        mbd.sensitivities(system, ["A.axis.x"], 0.1, 0.01)
    place = mbd.Objective(terminal=lambda last: last["coupler"].position[0])
    for every in (1, 5):
        with pytest.raises(ValueError, match="gradient: redundant rows would contradict"):
            mbd.gradient(place, system, ["A.axis.x"], 0.1, 0.01, every=every)
    for part in ("A", "B", "C", "D"):  # an objective is not told that rows contradict each other
        force = mbd.Objective(terminal=lambda last, part=part: last[part].force @ (1, 2, 3))
        with pytest.raises(
            ValueError, match=f"gradient: .* forces of '{part}', which are not uniq"
        ):
            mbd.gradient(force, system, ["coupler.mass"], 0.1, 0.01)


@pytest.mark.parametrize("formulation", ["so3", "directors"])
@pytest.mark.parametrize("n", [1, 3])
def test_loops_that_pass_poses_in_which_more_rows_depend_on_others(n, formulation):
    """Bars and couplers come into line; rows leave the steps and come back."""
    system = parallelograms(n, mass=1e-3, lean=1.2, speed=2.0, formulation=formulation)

    def of(s):
        return s["coupler 0"].position

    s = mbd.sensitivities(system, ["bar 0.mass", "gravity.x"], 0.5, 0.01, method=TIGHT)
    for name, value, e in (("bar 0.mass", 1.0, 1e-2), ("gravity.x", 0.0, 0.05)):
        close(of(s[name]), differences(system, name, value, e, of, 0.5), 1e-7)
    end = mbd.Objective(terminal=lambda last: last["coupler 0"].position @ (1, 2, 3))
    back = mbd.gradient(end, system, ["bar 0.mass", "gravity.x"], 0.5, 0.01, method=TIGHT)
    forth = [of(s[name])[-1] @ (1, 2, 3) for name in ("bar 0.mass", "gravity.x")]
    close(back.array, np.array(forth), 1e-10)


def test_sums_that_redundant_rows_share_have_derivatives():
    """Each foot's force across the plane is not unique; all together they carry the weight."""
    system = parallelograms(2)
    names = [f"foot {i}" for i in range(3)]

    def across(last, some):
        return sum(last[name].force[1] for name in some)

    whole = mbd.Objective(terminal=lambda last: across(last, names))
    slope = mbd.gradient(whole, system, ["gravity.y"], 0.05, 0.01)["gravity.y"]
    assert np.isclose(abs(slope), 3 * 1.0 + 2 * 1.0, rtol=1e-9)
    part = mbd.Objective(terminal=lambda last: across(last, names[1:]))
    with pytest.raises(ValueError, match="forces of 'foot 1', which are not unique"):
        mbd.gradient(part, system, ["gravity.y"], 0.05, 0.01)


def test_a_flexible_rod():
    """A beam that falls, clamped at one end, by what its section is."""
    stiffness = mbd.Parameter("EI", 20.0)
    system = mbd.System(gravity=(0, 0, -9.81))
    section = mbd.Section(
        stiffness=(1e4, 5e3, 5e3, 20.0, stiffness, 20.0), mass=0.5, inertia=(2e-4, 1e-4, 1e-4)
    )
    system.add(
        mbd.Beam(
            "rod", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=2, first=system.ground
        )
    )

    def of(s):
        return s["rod.2"].position

    s = mbd.sensitivities(system, t_end=0.1, step=0.01, method=TIGHT)
    close(of(s["EI"]), differences(system, "EI", 20.0, 0.05, of, 0.1), 1e-7)


def test_a_thin_rod_admits_small_changes_of_its_inertia():
    """Principal moments that obey the triangle inequality by a hair."""
    system, *_ = hinged("rod", "hinge", inertia=(2e-6, 0.1, 0.1))
    s = mbd.sensitivities(system, ["rod.inertia.yy", "rod.mass"], 0.3, 0.01)
    # (J + m/4) alpha = m g/2 cos: by dimension J d/dJ + m d/dm = 0 of the motion
    J, mass = s["rod.inertia.yy"]["hinge"].angle[-1], s["rod.mass"]["hinge"].angle[-1]
    assert 0.1 * J + mass == pytest.approx(0.0, abs=1e-7 * abs(mass))


def test_the_way_back_costs_one_factorisation_a_step():
    """Whatever the number of parameters; the start takes a few more, and two for each velocity."""
    n, step, N = 3, 0.01, 20
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        bar = mbd.RigidBody(
            f"bar {i}", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0)
        )
        system.add(bar)
        system.add(mbd.Spherical(f"pin {i}", last, bar, at=(i, 0, 0)))
        last = bar
    objective = mbd.Objective(terminal=lambda run: run["bar 2"].position[2])
    names = [f"bar {i}.{x}" for i in range(n) for x in ("mass", "inertia.xx", "center_of_mass.x")]
    stats = []
    for some in (names[:1], names):
        g = mbd.gradient(objective, system, some, N * step, step)
        assert g.stats["factorizations"] == N + 3
        assert g.stats["evaluations"] <= N + 12 * n + 20
        assert len(g) == len(some)
        stats.append(g.stats)
    assert stats[0] == stats[1]


WALL = mbd.Event("wall", lambda run: run["top"].position[:, 0] - 1.0, terminal=True)
REFUSED = [
    ({"method": mbd.GeneralizedAlpha(constraints="stabilized")}, "take GeneralizedAlpha"),
    ({"method": mbd.EnergyMomentum()}, "must be GeneralizedAlpha"),
    ({"rtol": 1e-6, "events": [WALL]}, "give step= alone"),
    ({"events": [lambda: 0]}, "must be mbd.Event objects"),
    ({"parameters": ["top.mas"]}, "did you mean 'mass'"),
    ({"parameters": ["top.position"]}, "must be one number"),
    ({"parameters": ["top.mass.x"]}, "give the argument as a whole"),
    ({"parameters": None}, "has no Parameter"),
    ({"parameters": []}, "must be names in a list"),
    ({"parameters": 3}, "must be names in a list"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=lambda x: str(x)[:20])
def test_what_is_refused(options, message):
    call = {"parameters": ["top.mass"], "t_end": 0.1, "step": 0.01} | options
    for run in (mbd.sensitivities, lambda *a, **o: mbd.gradient(HEIGHT, *a, **o)):
        with pytest.raises((ValueError, TypeError), match=message):
            run(top(), **call)


HEIGHT = mbd.Objective(terminal=lambda last: last["top"].position[2])


@pytest.mark.parametrize(("terms", "message"), [
    ({"terminal": lambda last: last["top"].position}, "must return one number"),
    ({"running": lambda run: 1.0}, "one for each instant"),
    ({"terminal": lambda last: np.nan}, "must be finite"),
])  # fmt: skip
def test_terms_that_are_no_numbers(terms, message):
    with pytest.raises(ValueError, match=message):
        mbd.gradient(mbd.Objective(**terms), top(), ["top.mass"], 0.05, 0.01)


def test_a_start_that_does_not_follow_is_told_and_projected():
    """A rod that gets longer: the point at its end must move."""
    system, point = with_point("m", position=(1.0, 0, 0), velocity=(0, 2.0, 0))
    system.add(mbd.Distance("rod", system.ground, point, at=(0, 0, 0), length=1.0))
    with pytest.raises(ValueError, match=r"another value of 'rod.length'.*project=True"):
        mbd.sensitivities(system, ["rod.length"], 0.1, 0.01, project=False)
    s = mbd.sensitivities(system, ["rod.length"], 0.5, 0.005)["rod.length"]
    # x = l cos(v t/l), y = l sin(v t/l)
    t, v = np.linspace(0, 0.5, 101), 2.0
    exact = np.cos(v * t) + v * t * np.sin(v * t), np.sin(v * t) - v * t * np.cos(v * t)
    assert np.allclose(s["m"].position[:, :2].T, exact, atol=2e-5)


def test_an_unknown_parameter_is_named():
    s = mbd.sensitivities(top(), ["top.mass"], 0.05, 0.01)
    with pytest.raises(KeyError, match=r"did you mean 'top.mass'"):
        s["top.mas"]


@pytest.mark.parametrize("name", ["a.b", "gravity", "", 3])
def test_names_of_parameters(name):
    with pytest.raises(ValueError, match="name must be"):
        mbd.Parameter(name, 1.0)


def test_two_parameters_of_one_name_must_agree():
    system = mbd.System(gravity=(0, 0, mbd.Parameter("p", 1.0)))
    system.add(mbd.PointMass("a", mass=mbd.Parameter("p", 2.0)))
    with pytest.raises(ValueError, match="one value in a system"):
        mbd.sensitivities(system, t_end=0.1, step=0.01)


def test_a_start_that_is_moved_is_differentiated_in_large_models():
    """A violation that may stay, 1e-7 of the model, is no small one for its smallest parts."""
    system, ball = with_point("ball", position=(1, 0, 0))
    system.add(mbd.PointMass("far", mass=1.0, position=(1e6, 0, 0)))
    system.add(mbd.Distance("bar", system.ground, ball, length=1.0))
    s = mbd.sensitivities(system, ["bar.length", "far.mass"], 0.02, 0.01, project=True)
    assert np.abs(s["bar.length"]["ball"].position - [1, 0, 0]).max() < 1e-7


def test_constants_along_a_parameter_are_those_of_other_models_to_first_order():
    """Where the slopes are constant they are the same; no other model is described for them."""
    system = mbd.System()
    bar = system.add(mbd.RigidBody("bar", mass=2.0, inertia=(0.1, 0.2, 0.25), position=(1, 0, 0)))
    system.add(mbd.Revolute("pin", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0.3)))
    model, bent = system.build(), {}
    names = ["bar.mass", "bar.center_of_mass.x", "pin.at.x", "pin.axis.z"]
    for s in stencils("test", model, names):
        assert all(x.system is model.system for x in s.others)
        bent[s.name] = s.of.second
        for e in (1e-3, 1e-4):
            off = np.nanmax(np.abs(s.constants(e) - s.described_at(e).F))
            assert off < (3 * e * e if s.of.second else 1e-15), s.name
    assert bent == {
        "bar.mass": False, "bar.center_of_mass.x": True, "pin.at.x": False, "pin.axis.z": True
    }  # fmt: skip


def test_a_ball_that_falls_far_beyond_its_own_size():
    """Round-off of results is that of positions, 4500 km away; that of tangents is not."""
    system, _ = with_point("ball", gravity=(0, 0, -9.81))
    s = mbd.sensitivities(system, ["gravity.z"], t_end=958.0, step=9.58)
    exact = 0.5 * 958.0**2
    assert s.tangents("gravity.z").q[-1, 2] == pytest.approx(exact, rel=1e-13)
    assert s["gravity.z"]["ball"].position[-1, 2] == pytest.approx(exact, rel=1e-7)
