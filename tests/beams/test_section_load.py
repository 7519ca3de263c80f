"""Loads by laws of motion along beams and cables: virtual power, derivatives, memory, known cases.

Numbers from elsewhere: H. Leipholz, Ing.-Arch. 32 (1963), follower load along a cantilever, flutter
at q L^3/EI = 40.05; M. Hetenyi, Beams on elastic foundation (1946); flutter of Goland's wing by the
linear equations of bending and torsion in polynomials, here; circles of spinning balls.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest
from families import SLOW, spread
from numba import njit
from scenes import with_body, with_point
from scipy.linalg import expm

import mbd
from mbd.formulations import NAMES
from mbd.machine import buffer
from mbd.model.workspace import Workspace

MODELS = Path(__file__).parents[2] / "models"
SECTION = mbd.Section.tube(0.02, 0.002, young=2e8, poisson=0.3, density=2700)
POINTS = [(0, 0, 0), (1, 0.2, 0), (1.6, 0.9, 0.4)]
STATIONS = {"nodes": "nodes", "between": [0.1, 0.77, 1.5]}


@njit
def everything(t, s, x, R, v, omega, reference, memory, k, table):
    """Return a load that depends on all that there is."""
    X, RR, V, W = reference
    u = v - V
    along = R[0, 0] * (s + t) * table[0, 1] * memory[0]
    spin = k * (omega - W)
    f = (
        -2.0 * abs(u[0]) * u[0] + spin[1] * (x[2] - X[2]) + along,
        -3.0 * u[1] * (x[0] - X[0]) + R[1, 1] * RR[2, 0],
        spin[0] * R[2, 2] - u[2] * memory[1] + RR[1, 1] * x[1],
    )
    return f, (0.1 * omega[0] * v[1], R[1, 0] * RR[2, 1] - k * omega[1], memory[1] * x[2])


@njit
def on_a_line(t, s, x, R, v, reference, memory, k, table):
    """Return the same of a cable."""
    X, RR, V, W = reference
    u = v - V
    along = R[0, 0] * (s + t) * table[0, 1] * memory[0]
    return (
        -2.0 * abs(u[0]) * u[0] + k * W[1] * (x[2] - X[2]) + along,
        -3.0 * u[1] * (x[0] - X[0]) + R[1, 0] * RR[2, 0],
        R[2, 0] - u[2] * memory[1] + RR[1, 1] * x[1],
    )


@njit
def drifting(memory, dt, v):
    return memory[0] + 0.1 * dt, memory[1] + v[0] * dt


TABLE = np.arange(6.0).reshape(2, 3)


def carrier(formulation, reference="so3"):
    """Return a system of a beam, or a cable, that nothing holds, and a hub."""
    system, hub = with_body(
        "hub", inertia=(1, 2, 2.5), position=(0.3, 0.2, 0.1), velocity=(1, 0.3, 0),
        angular_velocity=(0.1, 0.2, 0.4), formulation=reference,
    )  # fmt: skip
    if formulation == "cable":
        rope = mbd.Cable("beam", points=POINTS, stiffness=1e3, mass=0.1, elements=4)
        return system, system.add(rope), hub
    beam = mbd.Beam("beam", POINTS, section=SECTION, up=(0, 0, 1), elements=4,
                    formulation=formulation)  # fmt: skip
    return system, system.add(beam), hub


def loaded(formulation, stations="nodes", reference="so3", **options):
    """Return the system with the load that sees everything, and the load."""
    system, beam, hub = carrier(formulation, "so3" if reference == "ground" else reference)
    hub = system.ground if reference == "ground" else hub
    n = 5 if stations == "nodes" else len(STATIONS[stations])
    part = mbd.SectionLoad(
        "load", beam, on_a_line if formulation == "cable" else everything,
        stations=STATIONS[stations], reference=hub, parameters={"k": 0.7}, tables={"table": TABLE},
        memory=np.full((n, 2), 0.4), accept=drifting, **options,
    )  # fmt: skip
    return system, part


@spread(formulation=[*NAMES, "cable"], stations=STATIONS, reference=[*NAMES, "ground"])
def test_tangents_and_power(formulation, stations, reference):
    assert mbd.check_part(loaded(formulation, stations, reference)[1]).ok


@spread(formulation=[*NAMES, "cable"], stations=STATIONS)
def test_forces_and_power_are_those_of_the_sections(formulation, stations):
    """Sums of W f, W (x x f + m) and W (f.v + m.omega), of sections as numpy finds them."""
    system, part = loaded(formulation, stations)
    system.add(part)
    model = system.build()
    run = mbd.simulate(system, 0.2, 2e-3)
    state = run.state
    hub = [f"hub.{word}" for word in ("position", "rotation", "velocity", "angular_velocity")]
    *section, h = *part.motion(model.observe(part.observed)(state)), model.observe(hub)(state)
    for one, over_time in zip(section, part.motion(run), strict=True):
        assert np.allclose(over_time[-1], one, rtol=0, atol=1e-12)
    seen = h[:3], h[3:12].reshape(3, 3), h[12:15], h[15:]
    force, moment, power = np.zeros(3), np.zeros(3), 0.0
    memory = state.memory.reshape(-1, 2)
    rows = zip(part.stations, part.lengths, memory, *section, strict=True)
    for s, W, kept, x, R, v, omega in rows:
        more = (*(np.ascontiguousarray(y) for y in (x, R, v)),)
        if formulation == "cable":
            f, m = on_a_line(state.t, s, *more, seen, kept, 0.7, TABLE), np.zeros(3)
        else:
            f, m = everything(state.t, s, *more, omega, seen, kept, 0.7, TABLE)
        force, moment = force + W * np.array(f), moment + W * (np.cross(x, f) + m)
        power += W * (np.dot(f, v) + np.dot(m, omega))
    work = Workspace(model, state)
    work.evaluate()
    y, yd, on = (work.vector(x, 12 * (model.n_faces + 1)) for x in (buffer.Y, buffer.YD, buffer.FY))
    on[:] = 0.0
    for kernel, record in model.kernels[buffer.LOADS]:
        kernel(work.I, work.F, record)
    on = -on.reshape(-1, 4, 3)
    near = 1e-12 if not model.n_lam else 1e-6  # directors stay orthonormal up to what steps leave
    assert np.vdot(on, yd) == pytest.approx(power, rel=near)
    assert np.allclose(on[:, 0].sum(0), force, rtol=0, atol=near * np.abs(force).max())
    turned = np.cross(y.reshape(-1, 4, 3), on).sum((0, 1))
    assert np.allclose(turned, moment, rtol=0, atol=near * np.abs(moment).max())


ROD = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1e3, 1e3, 1.0), mass=1.0, inertia=(2e-6, 1e-6, 1e-6))


@njit
def tangential(R, q):
    return (-q * R[0, 0], -q * R[1, 0], -q * R[2, 0]), (0.0, 0.0, 0.0)


@njit
def slope(R, q):
    """Return the derivatives of that: f turns with the section."""
    J = np.zeros((6, 12))
    J[0, 4], J[0, 5] = -q * R[2, 0], q * R[1, 0]
    J[1, 3], J[1, 5] = q * R[2, 0], -q * R[0, 0]
    J[2, 3], J[2, 4] = -q * R[1, 0], q * R[0, 0]
    return J


def rod(load, n, length=1.0, **options):
    """Return a rod of EI = 1 along x, clamped at the origin, under a load."""
    system = mbd.System()
    beam = system.add(mbd.Beam("rod", [(0, 0, 0), (length, 0, 0)], section=ROD, elements=n,
                               up=(0, 0, 1), first=system.ground))  # fmt: skip
    system.add(mbd.SectionLoad("load", beam, load, **options))
    return system


@pytest.mark.parametrize("derivative", [pytest.param(None, marks=SLOW), slope])
def test_a_rod_under_a_tangential_load_flutters_where_leipholz_says(derivative):
    for q, limit in ((39.9, "below"), (40.2, "above")):
        system = rod(tangential, 16, parameters={"q": q}, derivative=derivative)
        growth = mbd.modes(system, n=2, state=mbd.equilibrium(system).state).eigenvalues.real.max()
        assert growth < 1e-4 if limit == "below" else growth > 0.1


@njit
def ground_spring(x, k):
    return (0.0, -k * x[1], 0.0), (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_a_long_pile_in_springs_bends_as_hetenyi_says():
    """Of a force P at its head y = 2 P b/k exp(-b x) cos(b x), with b^4 = k/(4 EI)."""
    errors = []
    for n in (8, 16):
        system = mbd.System()
        pile = system.add(mbd.Beam("pile", [(0, 0, 0), (10.0, 0, 0)], section=ROD, elements=n))
        system.add(mbd.SectionLoad("soil", pile, ground_spring, parameters={"k": 4.0},
                                   stations="gauss"))  # fmt: skip
        system.add(mbd.PointForce("push", pile.first, (0, 1e-5, 0)))
        system.add(mbd.Planar("plane", system.ground, pile.first, at=(0, 0, 0), axis=(0, 0, 1)))
        system.add(mbd.Spring("x", system.ground, pile.first, at=(-1, 0, 0), stiffness=1.0))
        pose = mbd.equilibrium(system)
        x = np.linspace(0, 10.0, n + 1)
        y = np.array([pose[node.name].position[1] for node in pile.nodes()])
        errors.append(np.abs(y / 5e-6 - np.exp(-x) * np.cos(x)).max())
    assert errors[1] < 1e-3
    assert errors[0] > 8 * errors[1]


def goland(wind, order=9):
    """Return eigenvalues of w = sum a_i s^2 P_i and theta = sum b_i s P_i, linear, of slow ones."""
    span, chord, mass, off, about = 6.096, 1.8288, 35.72, -0.18288, 8.643
    s, weight = np.polynomial.legendre.leggauss(24)
    s, weight = 0.5 * span * (s + 1), 0.5 * span * weight
    x = np.polynomial.Polynomial([0, 1])
    legendre = np.polynomial.Legendre.basis
    p = [legendre(i, [0, span]).convert(kind=np.polynomial.Polynomial) for i in range(order)]
    (w, w2), (th, th1) = (
        [np.array([(f.deriv(k) if k else f)(s) for f in fs]) for k in ks]
        for fs, ks in (([x**2 * f for f in p], (0, 2)), ([x * f for f in p], (0, 1)))
    )

    def block(*factors):
        pairs = (w, w), (w, th), (th, w), (th, th)
        ww, wt, tw, tt = (k * (a * weight) @ b.T for k, (a, b) in zip(factors, pairs, strict=True))
        return np.block([[ww, wt], [tw, tt]])

    q, aft, ahead = np.pi * 1.225 * chord * wind, 0.42 * chord, 0.08 * chord
    quarter = 0.25 * chord
    M = block(mass, mass * off, mass * off, about)
    C = q * block(1, -aft - quarter, ahead, aft * (quarter - ahead))
    K = -q * wind * block(0, 1, 0, ahead)
    K[:order, :order] += 9.77e6 * (w2 * weight) @ w2.T
    K[order:, order:] += 0.987e6 * (th1 * weight) @ th1.T
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    values = np.linalg.eigvals(A)
    values = values[values.imag > 0]
    return values[np.argsort(np.abs(values))][:2]


@pytest.mark.parametrize("wind", [pytest.param(20.0, marks=SLOW), 68.0, 69.0])
def test_golands_wing_flutters_where_the_linear_wing_does(wind):
    build = runpy.run_path(MODELS / "goland_wing.py")["build"]
    values, told = (mbd.modes(build(wind, 0.0, 12), n=2).eigenvalues, goland(wind))
    assert np.all(np.sign(values.real) == np.sign(told.real))
    assert np.allclose(values, told, rtol=1e-3)
    assert (told.real.max() > 0) == (wind > 68.5)


@pytest.mark.slow
def test_water_around_a_rod_makes_it_slow():
    """Of an added mass equal to its own across it, frequencies fall by the root of two."""
    dry, wet = (mbd.System() for _ in range(2))
    for system in (dry, wet):
        beam = system.add(mbd.Beam("rod", [(0, 0, 0), (1, 0, 0)], section=ROD, elements=8,
                                   first=system.ground))  # fmt: skip
    for node, length in zip(beam.nodes(), beam.loads(np.ones_like), strict=True):
        water = np.diag((0.0, length, length, 0.0, 0.0, 0.0))
        wet.add(mbd.AddedMass(f"water of {node.name}", node, water))
    ratio = mbd.modes(dry, n=2).frequency / mbd.modes(wet, n=2).frequency
    assert np.allclose(ratio, np.sqrt(2), rtol=1e-3)


@njit
def induced(v, memory, wind, c):
    u = wind - v[1] - memory[0]
    return (0.0, c * u, 0.0), (0.0, 0.0, 0.0)


@njit
def wake(v, memory, dt, wind, c):
    """Return the induced velocity, which goes to half of what blows in tau = 0.1 s."""
    aim = 0.5 * (wind - v[1])
    return (memory[0] + (aim - memory[0]) * (1.0 - np.exp(-dt / 0.1)),)


def test_memory_follows_steps_and_settles_at_rest():
    options = {"parameters": {"wind": 3.0, "c": 0.1}, "memory": 1, "accept": wake}
    fresh, frozen = (rod(induced, 4, settles=x, **options) for x in (True, False))
    at_rest = [mbd.equilibrium(x) for x in (fresh, frozen)]
    assert np.allclose(at_rest[0].state.memory, 1.5, rtol=0, atol=1e-9)
    assert np.array_equal(at_rest[1].state.memory, np.zeros(5))
    bent = [x["rod.4"].position[1] for x in at_rest]  # of q = c (wind - w): q L^4/(8 EI)
    assert bent[0] == pytest.approx(0.1 * 1.5 / 8, rel=1e-3)
    assert bent[1] == pytest.approx(0.1 * 3.0 / 8, rel=2e-3)
    run = mbd.simulate(fresh, 0.2, 1e-3)
    clamped = 1.5 * (1 - np.exp(-2.0))  # its node does not move
    assert run.state.memory[0] == pytest.approx(clamped, rel=1e-9)


@njit
def induced_and_mixed(v, x, memory, wind, c):
    u = wind - v[1] - memory[0]
    return (0.0, c * u - memory[1] * x[1], 0.1 * v[0] * v[0]), (0.0, 0.0, 0.0)


@njit
def coupled(v, x, memory, dt, wind, c):
    """Return two that depend on each other, to ten digits: taking turns they would run away."""
    k = 1.0 - np.exp(-dt / 0.1)
    aim = 0.5 * (wind - v[1]) - 2.5 * memory[0] + 0.3 * memory[1]
    mixed = x[1] * memory[0] + 0.5
    return (np.round(memory[0] + (aim - memory[0]) * k, 13), memory[1] + (mixed - memory[1]) * k)


@njit
def at_rest_at_once(v, x, wind, c):
    w = (0.5 * (wind - v[1]) + 0.15) / (3.5 - 0.3 * x[1])
    m = x[1] * w + 0.5
    return (0.0, c * (wind - v[1] - w) - m * x[1], 0.1 * v[0] * v[0]), (0.0, 0.0, 0.0)


def two_rods(stations, accept=coupled, memory=2, **numbers):
    """Return a rod whose load remembers, and one whose load is what that one is at rest."""
    options = {"parameters": {"wind": 3.0, "c": 0.1} | numbers, "stations": stations}
    one = rod(induced_and_mixed, 3, **options, memory=memory, accept=accept, settles=True)
    return one, rod(at_rest_at_once, 3, **options)


@pytest.mark.parametrize("stations", ["nodes", pytest.param("gauss", marks=SLOW)])
def test_an_equilibrium_wake_is_that_of_a_law_without_memory(stations):
    """Poses, stability, modes, linear models, derivatives; with a frozen one modes are others."""
    wind, c = mbd.Parameter("wind", 3.0), mbd.Parameter("c", 0.1)
    two = two_rods(stations, wind=wind, c=c)
    one, other = (mbd.equilibrium(x) for x in two)
    assert np.allclose(one["rod.3"].position, other["rod.3"].position, rtol=0, atol=1e-12)
    assert one.stiffness == pytest.approx(other.stiffness, rel=1e-9)
    fresh, told = mbd.modes(one, n=2, wake="equilibrium"), mbd.modes(other, n=2)
    assert np.allclose(fresh.eigenvalues, told.eigenvalues, rtol=1e-9)
    assert np.abs(mbd.modes(one, n=2).eigenvalues / told.eigenvalues - 1).max() > 1e-3
    A, B = mbd.linearize(one, wake="equilibrium").A, mbd.linearize(other).A
    assert np.allclose(A, B, rtol=0, atol=1e-9 * np.abs(B).max())
    for x, y, read in (
        (one, other, lambda d: d["rod.3"].position), (fresh, told, lambda d: d.eigenvalues),
    ):  # fmt: skip
        slopes, known = mbd.sensitivities(x), mbd.sensitivities(y)
        for name in ("wind", "c"):
            a, b = read(slopes[name]), read(known[name])
            assert np.allclose(a, b, rtol=1e-5, atol=1e-6 * np.abs(b).max())
    with pytest.raises(ValueError, match="a frozen wake that settles .* have no derivative here"):
        mbd.sensitivities(mbd.modes(one, n=1))
    run = mbd.simulate(two[0], 0.1, 1e-3, state=one.state)
    assert np.allclose(run["rod.3"].position, one["rod.3"].position, rtol=0, atol=1e-10)
    assert np.allclose(run.state.memory, one.state.memory, rtol=1e-9)


@njit
def lifting(v, memory):
    return (0.0, 0.0, 2.0 * (np.hypot(v[0], v[1]) - memory[0])), (0.0, 0.0, 0.0)


@njit
def downwash(v, memory, dt):
    aim = 0.3 * np.hypot(v[0], v[1]) + 0.4 * v[2]
    return (aim + (memory[0] - aim) * np.exp(-dt / 0.1),)


@njit
def lifting_at_once(v):
    return (0.0, 0.0, 1.4 * np.hypot(v[0], v[1]) - 0.8 * v[2]), (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_an_equilibrium_wake_turns_with_a_rotor():
    """Of a blade that turns: the pose in its frame, its modes, those over speed."""

    def turning(speed, load=lifting, **options):
        system = mbd.System()
        hub = system.add(mbd.RigidBody("hub", mass=1, inertia=(1, 1, 1)))
        system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1)))
        blade = mbd.Beam("blade", [(0.1, 0, 0), (1, 0, 0)], section=ROD, elements=2, first=hub,
                         up=(0, 0, 1))  # fmt: skip
        system.add(mbd.SectionLoad("air", system.add(blade), load, **options))
        return mbd.equilibrium(system, rotating=(0, 0, speed))

    memory = {"memory": 1, "accept": downwash, "settles": True}
    one, other = turning(4.0, **memory), turning(4.0, lifting_at_once)
    assert np.allclose(one["blade.2"].position, other["blade.2"].position, rtol=0, atol=1e-10)
    assert one.stiffness == pytest.approx(other.stiffness, rel=1e-7)
    fresh, told = mbd.modes(one, n=3, wake="equilibrium"), mbd.modes(other, n=3)
    assert np.allclose(fresh.eigenvalues, told.eigenvalues, rtol=1e-7)
    frozen, fresh = (
        mbd.campbell(lambda x: turning(x, **memory), [3.0, 4.0], n=4, wake=wake)
        for wake in ("frozen", "equilibrium")
    )
    told = mbd.campbell(lambda x: turning(x, lifting_at_once), [3.0, 4.0], n=4).eigenvalues
    assert np.allclose(fresh.eigenvalues, told, rtol=1e-7)
    assert np.abs(frozen.eigenvalues - told).max() > 0.3  # without the damping of the wake


@njit
def keeping(v, x, memory, dt, wind, c):
    return max((1 - 1e-9) * memory[0], abs(x[1])), 0.5


@njit
def running_away(v, x, memory, dt, wind, c):
    return memory[0] + dt * wind if dt < 1.0 else memory[0] + wind, 0.5


@pytest.mark.parametrize("stations", ["nodes", "gauss"])
def test_arrows_are_the_loads_of_the_sections(stations):
    """Of an animation, where the sections are, with what they remember, away from the origin."""
    system = mbd.System()
    points = np.add(POINTS, (0, 0, 40))
    beam = system.add(mbd.Beam("beam", points, section=SECTION, elements=2, up=(0, 0, 1)))
    inputs = {"parameters": {"k": 0.7}, "tables": {"table": TABLE}, "reference": system.ground}
    load = mbd.SectionLoad("load", beam, everything, stations=stations, **inputs, memory=2,
                           accept=drifting)  # fmt: skip
    system.add(load)
    run = mbd.simulate(system, 2e-3, 1e-4)
    drawing, still = run.animate(speed=1e-3).drawing, (np.zeros(3), np.eye(3), *np.zeros((2, 3)))
    memories, motion = run.state.memory.reshape(-1, 2), [x[-1] for x in load.motion(run)]
    for unit in ("N", "N m"):
        some = [x for x in drawing.arrows if x.label == "load" and x.unit == unit]
        rows = zip(some, load.stations, load.lengths, memories, *motion, strict=True)
        for arrow, s, W, memory, x, *others in rows:
            both = everything(run.t[-1], s, x, *others, still, memory, 0.7, TABLE)
            told = W * np.array(both[unit == "N m"])
            assert np.allclose(arrow.vectors[-1], told, rtol=1e-9, atol=1e-11)
            assert np.allclose(drawing.tracks[arrow.end.frame].position[-1], x, rtol=0, atol=1e-12)


@njit
def lagged(v, x, memory, wind, c, tau):
    u = wind - v[1] - memory[0]
    return (0.0, c * u * abs(u) - memory[1] * x[1], 0.0), (0.0, 0.0, 0.1 * memory[1])


@njit
def lag(v, x, omega, memory, dt, wind, c, tau):
    k = 1.0 - np.exp(-dt / tau)
    aim = 0.5 * (wind - v[1]) - 0.5 * memory[0] + 0.3 * memory[1]
    mixed = x[1] * memory[0] + 0.5 + omega[2]
    return memory[0] + (aim - memory[0]) * k, memory[1] + (mixed - memory[1]) * k


REMEMBERED = {"wind": 3.0, "c": 0.1, "tau": 0.03, "mass": 0.3, "coarse": 4.0}


def tipped(formulation="so3", **values):
    """Return a rod with a body at its tip, under a wake, and a lagging force on the body."""
    values = REMEMBERED | values
    system = mbd.System()
    beam = system.add(mbd.Beam("rod", [(0, 0, 0), (1, 0, 0)], section=ROD, elements=2, up=(0, 0, 1),
                               first=system.ground, formulation=formulation))  # fmt: skip
    inputs = {x: values[x] for x in ("wind", "c", "tau")}
    system.add(mbd.SectionLoad("load", beam, lagged, parameters=inputs, memory=2, accept=lag,
                               stations=[0.2, 1.0]))  # fmt: skip
    tip = system.add(mbd.RigidBody("tip", mass=values["mass"], inertia=(0.1, 0.1, 0.1),
                                   position=(1, 0, 0), formulation=formulation))  # fmt: skip
    system.add(mbd.Fixed("bolts", beam.last, tip, at=(1, 0, 0)))
    film = mbd.Function(dragged, c=values["coarse"])
    system.add(mbd.PointForce("film", tip, film, memory=[0.2], accept=lagging))
    return system


@pytest.mark.parametrize("formulation", ["so3", *(pytest.param(x, marks=SLOW) for x in NAMES[1:])])
def test_derivatives_of_runs_carry_what_is_remembered(formulation):
    """By what acts in the load, in its memory alone, by a mass; forwards, and of a number."""
    run = {"t_end": 0.1, "step": 2e-3, "method": mbd.GeneralizedAlpha(0.6, tol=1e-11)}
    system = tipped(formulation, **{k: mbd.Parameter(k, x) for k, x in REMEMBERED.items()})
    slopes = mbd.sensitivities(system, **run)
    number = mbd.Objective(running=lambda run: run["tip"].position[:, 1] ** 2,
                           terminal=lambda last: last["tip"].velocity[1])  # fmt: skip
    g = mbd.gradient(number, system, **run)
    for name, value in REMEMBERED.items():
        h = 2e-3 * value
        ends = [mbd.simulate(tipped(formulation, **{name: value + k * h}), **run)
                for k in (-2, -1, 1, 2)]  # fmt: skip
        y = np.array([[x["tip"].position[:, 1], x["tip"].velocity[:, 1]] for x in ends])
        told = (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * h)
        found = slopes[name]["tip"].position[:, 1], slopes[name]["tip"].velocity[:, 1]
        assert np.allclose(found, told, rtol=1e-6, atol=1e-6 * np.abs(told).max())
        J = [np.trapezoid(a**2, slopes.solution.t) + b[-1] for a, b in y]
        assert g[name] == pytest.approx((8 * (J[2] - J[1]) - (J[3] - J[0])) / (12 * h), rel=1e-5)


@pytest.mark.slow
def test_parameters_of_a_wake_are_found_from_its_motion():
    t = np.linspace(0.0, 0.1, 21)
    seen = mbd.simulate(tipped(wind=3.3, tau=0.04), 0.1, 2e-3, t_eval=t)["tip"].position[1:, 1]
    start = {"load.parameters.wind": 3.0, "load.parameters.tau": 0.03}
    found = mbd.fit(tipped(), {"tip.position.y": (t[1:], seen, 1e-6)}, start, step=2e-3)
    assert found["load.parameters.wind"] == pytest.approx(3.3, rel=1e-5)
    assert found["load.parameters.tau"] == pytest.approx(0.04, rel=1e-4)


def test_runs_with_a_memory_that_have_no_derivative_are_refused():
    names, event = ["load.parameters.wind"], mbd.Event("late", lambda run: run.t - 0.004)
    for options, words in (
        ({"step": 1e-3, "events": event}, "without events"),
        ({"step": 3e-3}, "whole steps: t_end must be a multiple of step"),
    ):
        with pytest.raises(ValueError, match=words):
            mbd.sensitivities(tipped(), names, t_end=0.01, **options)
    J = mbd.Objective(terminal=lambda last: last["tip"].velocity[1])
    driven = tipped()
    table = mbd.Interpolated([0.0, 0.01], [0.0, 1.0])
    driven.add(mbd.PointForce("push", driven["tip"], (0.0, table, 0.0)))
    with pytest.raises(ValueError, match="without controls"):
        mbd.Problem(driven, ["push.force.y"], J, t_end=0.01, step=1e-3)([0.0, 1.0])
    with pytest.raises(ValueError, match="without every="):
        mbd.gradient(J, tipped(), names, t_end=0.01, step=1e-3, every=5)


def test_a_memory_without_rest_is_named():
    for accept in (keeping, running_away):
        with pytest.raises(RuntimeError, match="load: its memory does not come to rest, or keeps"):
            mbd.equilibrium(two_rods("nodes", accept, np.ones((4, 2)))[0])
    bare = rod(tangential, 2, parameters={"q": 0.1})
    for analysis in (mbd.modes, mbd.linearize):
        with pytest.raises(ValueError, match="wake='equilibrium' is of loads with a memory that"):
            analysis(bare, wake="equilibrium")
        with pytest.raises(ValueError, match="wake must be one of frozen, equilibrium"):
            analysis(bare, wake="free")


def test_derivatives_by_numbers_of_a_load():
    """By the wind, of runs and poses; one parameter differs from section to section."""

    def bent(wind, width):
        return rod(
            induced_at_once, 4, parameters={"wind": wind, "c": [width * k for k in range(1, 6)]}
        )

    wind, width = mbd.Parameter("wind", 3.0), mbd.Parameter("width", 0.1)
    system = bent(wind, width)
    run = mbd.sensitivities(system, t_end=0.02, step=1e-3)
    pose = mbd.sensitivities(mbd.equilibrium(system))
    for i, name in enumerate(("wind", "width")):
        h = np.array([1e-4, 1e-4])[i]
        ends = [bent(*(np.array([3.0, 0.1]) + h * np.eye(2)[i] * k)) for k in (-1, 1)]
        one, two = (mbd.simulate(x, 0.02, 1e-3, method=TIGHT)["rod.4"].position[-1] for x in ends)
        assert np.allclose(
            run[name]["rod.4"].position[-1], (two - one) / (2 * h), rtol=1e-5, atol=1e-9
        )
        one, two = (mbd.equilibrium(x)["rod.4"].position for x in ends)
        assert np.allclose(
            pose[name]["rod.4"].position, (two - one) / (2 * h), rtol=1e-5, atol=1e-8
        )


def test_numbers_of_a_load_have_names():
    """One is set in a run; the derivative by it is that by a Parameter in its place."""
    system = rod(induced_at_once, 4, parameters={"wind": 3.0, "c": [0.1, 0.2, 0.3, 0.4, 0.5]})
    model = system.build()
    assert "load.parameters.wind" in list(model.names)
    assert model.names["load.parameters.c.2"].value == 0.3
    stepper = mbd.Stepper(model, 1e-3, inputs=["load.parameters.wind"])
    stepper.u[0] = 5.0
    stepper.step(20)
    told = mbd.simulate(model.with_values({"load.parameters.wind": 5.0}), 0.02, 1e-3)
    tip = told["rod.4"].position[-1]
    assert np.allclose(stepper["rod.4.position"], tip, rtol=0, atol=1e-3 * tip[1])
    for wrong in ("x", "c", "wind.0"):
        with pytest.raises(ValueError, match="a component must be one number of"):
            model.names[f"load.parameters.{wrong}"]


TIGHT = mbd.GeneralizedAlpha(tol=1e-11)


@njit
def induced_at_once(v, wind, c):
    u = wind - v[1]
    return (0.0, c * u * abs(u), 0.0), (0.0, 0.0, 0.0)


def test_arrays_go_in_and_out_of_a_stepper():
    """The same load from outside, by motion at the last step: differs by what a step changes."""
    system = mbd.System()
    options = {"elements": 4, "up": (0, 0, 1), "first": system.ground}
    beam = system.add(mbd.Beam("rod", [(0, 0, 0), (1, 0, 0)], section=ROD, **options))
    flow = system.add(mbd.SectionLoad("flow", beam, stations="gauss", force=np.zeros((8, 3))))
    stepper = mbd.Stepper(system, 1e-4, inputs=["flow.force"], observe=flow.observed)
    for _ in range(500):
        x, _, v, _ = flow.motion(stepper.y)
        stepper.u[:] = 0.0
        stepper.u[1::3] = 0.3 * (3.0 - v[:, 1]) * np.abs(3.0 - v[:, 1])
        stepper.step()
    inside = rod(induced_at_once, 4, stations="gauss", parameters={"wind": 3.0, "c": 0.3})
    told = mbd.simulate(inside, 0.05, 1e-4)["rod.4"].position[-1]
    assert told[1] > 2e-3
    assert np.allclose(x[-1], flow.motion(stepper.y)[0][-1], atol=1e-4)
    y = stepper.model.observe(["rod.4.position"])(stepper)
    assert np.allclose(y, told, rtol=0, atol=1e-3 * told[1])


@pytest.mark.parametrize("steps", [1, 5])
def test_extrapolated_loads_of_another_program_are_of_second_order(steps):
    """A spring and damper outside, asked every so many steps: x'' = -40 x - x', x = 1 at first."""
    rate, frequency = 0.5, np.sqrt(40 - 0.25)
    x = np.exp(-rate) * (np.cos(frequency) + rate / frequency * np.sin(frequency))
    errors = {}
    for extrapolate in (False, True):
        for n in (200, 400):
            system, ball = with_point("ball", position=(1, 0, 0))
            system.add(mbd.PointForce("push", ball, np.zeros(3)))
            stepper = mbd.Stepper(system, 1 / (n * steps), inputs=["push.force"],
                                  observe=["ball.position.x", "ball.velocity.x"])  # fmt: skip
            for k in range(n):
                stepper.u[0] = -40.0 * stepper.y[0] - stepper.y[1]
                if k == n // 2:
                    kept = stepper.snapshot()
                stepper.step(steps, extrapolate=extrapolate)
            errors[extrapolate, n] = abs(stepper.y[0] - x)
            end = stepper.y.copy()
            stepper.restore(kept)
            for _ in range(n - n // 2):
                stepper.u[0] = -40.0 * stepper.y[0] - stepper.y[1]
                stepper.step(steps, extrapolate=extrapolate)
            assert np.array_equal(stepper.y, end)
    assert 1.8 < errors[False, 200] / errors[False, 400] < 2.2
    assert 3.5 < errors[True, 200] / errors[True, 400] < 4.5
    assert errors[True, 200] < 0.02 * errors[False, 200]


@njit
def lift_of_spin(v, omega, s):
    """Return Magnus' force S omega x v."""
    return (
        s * (omega[1] * v[2] - omega[2] * v[1]),
        s * (omega[2] * v[0] - omega[0] * v[2]),
        s * (omega[0] * v[1] - omega[1] * v[0]),
    )


@spread(formulation=NAMES)
def test_a_spinning_ball_flies_in_circles(formulation):
    """Radius m v/(S omega), by a law that turns velocities: the speed stays."""
    system, ball = with_body(
        "ball", mass=0.5, velocity=(2, 0, 0), angular_velocity=(0, 0, 10.0), formulation=formulation
    )
    system.add(mbd.PointForce("lift", ball, mbd.Function(lift_of_spin, s=0.2)))
    run = mbd.simulate(system, 1.0, 1e-3)
    angle = 4.0 * run.t
    circle = 0.5 * np.column_stack([np.sin(angle), 1 - np.cos(angle), 0 * angle])
    assert np.allclose(run["ball"].position, circle, rtol=0, atol=3e-5)


@njit
def in_a_gap(x, gap):
    return -gap * np.sin(x[0] / gap), -x[1], -x[2]


@pytest.mark.parametrize("gap", [1e-5, 1.0])
def test_a_law_may_change_within_a_gap(gap):
    system, point = with_point("point")
    system.add(mbd.PointForce("film", point, mbd.Function(in_a_gap, gap=gap)))
    assert np.allclose(mbd.modes(system).eigenvalues.imag, 1.0, rtol=0, atol=1e-4)


@njit
def drag_of_air(reference, v, c):
    """Return the resistance of air that moves with another body."""
    V = reference[2]
    return c * (V[0] - v[0]), c * (V[1] - v[1]), c * (V[2] - v[2])


@pytest.mark.slow
def test_a_point_feels_the_air_that_another_body_carries():
    """v' = (V - v) c/m; the body that carries it feels nothing."""
    system, train = with_body("train", inertia=(1, 1, 1), velocity=(3, 0, 0))
    point = system.add(mbd.PointMass("fly", mass=0.5))
    air = mbd.Function(drag_of_air, c=2.0)
    system.add(mbd.PointForce("air", point, air, reference=train))
    run = mbd.simulate(system, 1.0, 1e-3)
    assert np.allclose(run["fly"].velocity[:, 0], 3 * (1 - np.exp(-4 * run.t)), rtol=0, atol=1e-5)
    assert np.allclose(run["train"].velocity, (3, 0, 0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [mbd.PointForce, mbd.Moment])
def test_flexible_bodies_take_laws_of_motion(kind):
    mesh = mbd.System()
    beam = mesh.add(mbd.Beam("mesh", [(0, 0, 0), (1, 0, 0)], section=ROD, elements=3))
    matrices = mesh.build().assemble()
    nodes = [node.position for node in beam.nodes()]
    rod = mbd.FlexibleBody("rod", matrices.M, matrices.K, nodes, {"left": [0], "right": [3]})
    law = mbd.Function(between_ends, k=0.3)
    part = kind("load", rod.interface("right"), law, reference=rod.interface("left"),
                memory=[0.3, 0.5], accept=drifting)  # fmt: skip
    assert mbd.check_part(part).ok


@njit
def between_ends(R, v, omega, reference, memory, k):
    X, RR, V, W = reference
    u = np.cross(omega - W, R[:, 0]) - (v - V) * np.sqrt(v @ v) + R[:, 1] * RR[0, 2] + X
    return k * memory[1] * u + memory[0] * v


@njit
def dragged(memory, c):
    return -c * memory[0], 0.0, 0.0


@njit
def lagging(v, memory, dt, c):
    return (v[0] + (memory[0] - v[0]) * np.exp(-c * dt),)


def test_a_point_load_remembers():
    """Of a lag: the linear equations v' = -c z/m, z' = c (v - z), to first order in the step."""
    errors, c = [], 3.0
    told = expm(np.array([[0, -c / 2], [c, -c]]) * 0.5)[:, 0]
    for step in (2e-3, 1e-3):
        system, ball = with_point("ball", mass=2.0, velocity=(1, 0, 0))
        law = mbd.Function(dragged, c=c)
        system.add(mbd.PointForce("film", ball, law, memory=1, accept=lagging, settles=True))
        run = mbd.simulate(system, 0.5, step)
        errors.append(run["ball"].velocity[-1, 0] - told[0])
        assert run.state.memory[0] == pytest.approx(told[1], abs=step)
    assert 1.9 < errors[0] / errors[1] < 2.1
    assert abs(errors[1]) < 1e-3
    system.add(mbd.Spring("spring", system.ground, ball, at=(-1, 0, 0), stiffness=1.0))
    pose = mbd.equilibrium(system, run.state)
    assert np.allclose(pose.state.memory, 0.0, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="push: memory= and accept= must be given together"):
        mbd.PointForce("push", ball, law, memory=1)
    with pytest.raises(ValueError, match="push: settles= is of a law of motion only"):
        mbd.PointForce("push", ball, (1, 0, 0), settles=True)


@njit
def no_number(v):
    return (np.nan, 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def late(t, v):
    return (np.nan if t > 0.05 else 1.0, 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def two_numbers(v):
    return (1.0, 0.0), (0.0, 0.0, 0.0)


@njit
def force_alone(v):
    return v[0], v[1], v[2]


@njit
def raising(v):
    if v[0] < 1.0:
        raise ValueError("too slow")
    return (v[0], 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def writing(v):
    v[0] -= 1.0
    return (v[0], 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def writing_to_a_table(polar):
    polar[1] = 7.0
    return (polar[0], 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def forgetting(t):
    return (1.0 if t < 0.005 else np.nan,)


@njit
def dividing(v):
    return (1.0 / (0.0 * v[0]), 0.0, 0.0), (0.0, 0.0, 0.0)


@njit
def wrong_slope(R, q):
    return slope(R, q) * 1.1


@njit
def small(R, q):
    return np.zeros((3, 3))


def in_python(v):
    return (v[0], 0.0, 0.0), (0.0, 0.0, 0.0)


Q = {"parameters": {"q": 1.0}}
BAD = [
    (in_python, {}, "load= must be jitted.*write @numba.njit"),
    (3.0, {}, "load= must be a function, got 3.0"),
    (tangential, {}, "load= has an argument 'q'; arguments are told by their names"),
    (no_number, {}, "load= must return finite numbers, got .nan"),
    (dividing, {}, "load= must return finite numbers, got (.inf|an error, as of a division by)"),
    (two_numbers, {}, "load= .*three numbers"),
    (force_alone, {}, "load= .*a force and a moment, .f, m."),
    (raising, {}, "load= raised ValueError: too slow at the described pose .s = 0 m"),
    (writing, {}, "load= must not write to what it is handed.*v.copy"),
    (writing_to_a_table, {"tables": {"polar": [1.0, 2.0]}}, "load= must not write to what"),
    (tangential, Q | {"derivative": wrong_slope}, "derivative= is not that of load="),
    (tangential, Q | {"derivative": small}, "derivative= .*6, 12"),
    (tangential, {"parameters": {"q": [1.0, 2.0]}}, "parameters.'q'. must be a number, or .5,."),
    (tangential, {"parameters": {"q": np.nan}}, "parameters.'q'. must be"),
    (tangential, {"parameters": {"x": 1.0}}, "'x' must name one thing that the law takes"),
    (tangential, {"parameters": 1.0}, "parameters must be a dictionary"),
    (tangential, Q | {"tables": {"q": [1.0]}}, "'q' must name one thing"),
    (tangential, Q | {"tables": {"polar": [np.nan]}}, "tables.'polar'. must be an array of finite"),
    (tangential, Q | {"stations": [0.1, 2.0]}, "stations must increase from 0 to 1, the length of"),
    (tangential, Q | {"stations": [0.5, 0.1]}, "stations must increase"),
    (tangential, Q | {"stations": "middle"}, "stations must be 'nodes', 'gauss' or lengths"),
    (tangential, Q | {"stations": []}, "stations must be"),
    (tangential, Q | {"lengths": [1.0]}, "lengths must be one or 5 numbers"),
    (tangential, Q | {"memory": 1}, "memory= and accept= must be given together"),
    (tangential, Q | {"settles": True}, "settles=True is of a memory"),
    (tangential, Q | {"memory": 1, "accept": slope}, "accept= .*"),
    (tangential, Q | {"force": np.zeros((5, 3))}, "force= and moment= are inputs of load=None"),
    (tangential, Q | {"reference": 7}, "expected a body, system.ground or a Frame"),
    (None, {}, "give load=, a function, or force="),
    (None, {"force": np.zeros((4, 3))}, "force must be 5x3 numbers .N/m., got shape .4, 3."),
    (None, {"force": np.zeros((5, 3)), "memory": 1}, "memory= goes with a function"),
]


@pytest.mark.parametrize(("load", "options", "message"), BAD)
def test_bad_input_is_named(load, options, message):
    with pytest.raises((TypeError, ValueError), match="^load: .*" + message):
        rod(load, 4, **options)


def test_a_load_needs_a_beam():
    point = mbd.PointMass("p", mass=1.0)
    with pytest.raises(TypeError, match="load: beam must be a Beam or a Cable, got"):
        mbd.SectionLoad("load", point, tangential)


def test_a_law_that_fails_in_a_run_is_named():
    with pytest.raises(
        mbd.SimulationError, match="load: its law returned .*not finite at t = 0.051"
    ):
        mbd.simulate(rod(late, 4), 0.1, 1e-3)
    with pytest.raises(mbd.SimulationError, match="load: .*a memory that is not finite.*t = 0.005"):
        mbd.simulate(rod(tangential, 4, **Q, memory=1, accept=forgetting), 0.1, 1e-3)


@pytest.mark.parametrize("law", [tangential, in_python, no_number])
def test_bad_laws_of_points_are_named(law):
    ball = mbd.PointMass("ball", mass=1.0)
    with pytest.raises((TypeError, ValueError), match="^push: "):
        mbd.PointForce("push", ball, law)


def test_a_law_that_has_the_axes_does_not_follow():
    ball = mbd.PointMass("ball", mass=1.0)
    with pytest.raises(ValueError, match="push: a law of motion has the axes, so that follow=True"):
        mbd.PointForce("push", ball, force_alone, follow=True)
    with pytest.raises(ValueError, match="push: reference= is of a law of motion only"):
        mbd.PointForce("push", ball, (1, 0, 0), reference=ball)
