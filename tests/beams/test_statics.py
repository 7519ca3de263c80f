"""Beams in equilibrium: exact solutions, orders of convergence, one load step.

Exact numbers: shooting of the equations of the geometrically exact beam to 1e-12; the elastica by
quadrature to 40 digits (agrees with Mattiasson 1981); the 45-degree bend of Bathe and Bolourchi
with the stiffness named (BeamDyn's regression test has the same within its digits).
"""

import numpy as np
import pytest
from families import some

import mbd

SLENDER = mbd.Section(stiffness=(1e4, 1e4, 1e4, 1, 1, 1), mass=1.0, inertia=(2e-4, 1e-4, 1e-4))


def cantilever(elements, section=SLENDER, points=((0, 0, 0), (1, 0, 0)), force=None, moment=None,
               **options):  # fmt: skip
    system = mbd.System()
    beam = system.add(mbd.Beam("beam", points=points, section=section, elements=elements,
                               first=system.ground, **options))  # fmt: skip
    if force is not None:
        system.add(mbd.PointForce("load", beam.last, force))
    if moment is not None:
        system.add(mbd.Moment("end", beam.last, moment))
    return system


def tip(system, **options):
    pose = mbd.equilibrium(system, **options)
    last = list(system.bodies)[-1]
    return np.asarray(pose[last].position)


def bend(p):
    angle = np.pi / 4 * p
    return (100 * np.sin(angle), 100 - 100 * np.cos(angle), 0.0)


BEND = mbd.Section(stiffness=(1e7, 5e6, 5e6, *(1e7 / 12,) * 3), mass=1.0)
COUPLED = np.zeros((6, 6))
COUPLED[:3, :3] = np.diag((1368.17e3, 88.56e3, 38.78e3))
COUPLED[3:, 3:] = [(16.96e3, 17.61e3, -351), (17.61e3, 59.12e3, -370), (-351, -370, 141.47e3)]
COMPOSITE = mbd.Section(stiffness=COUPLED, mass=1.0)

# exact tip; error by elements, of a prototype (relative to the length where it is 1)
CASES = {
    "elastica, 1": (
        {"force": (0, 1, 0)}, (0.943566763717, 0.301820773800, 0),
        {2: 2.36e-4, 4: 1.44e-5, 8: 8.68e-7, 16: 4.96e-8},
    ),
    "elastica, 10": (
        {"force": (0, 10, 0)}, (0.445004402246, 0.811609024880, 0),
        {2: 7.77e-3, 4: 3.21e-4, 8: 1.77e-5, 32: 4.1e-7},
    ),
    "45-degree bend": (
        {"section": BEND, "points": bend, "force": (0, 0, 600)},
        (47.150438574, 15.684800534, 53.474858792),
        {2: 1.65e-1, 4: 8.47e-3, 8: 5.07e-4, 16: 3.22e-5, 32: 2.3e-6},
    ),
    "coupled section": (
        {"section": COMPOSITE, "points": ((0, 0, 0), (10, 0, 0)), "force": (0, 0, 150)},
        (10 - 0.0902726628, -0.0647488486, 1.2297364829),
        {2: 1.00e-3, 4: 2.59e-4, 8: 6.7e-5, 16: 1.69e-5, 32: 4.2e-6},
    ),
}  # fmt: skip


def tapered(p):
    return mbd.Section(stiffness=COUPLED * (1 - 0.7 * p), mass=1.0)


# the same with order=4, and a tapered beam, by shooting too, of which order two is 7.3e-2 m off
# with 8 elements, 3.1e-3 m with 32
TAPERED = {"section": tapered, "points": ((0, 0, 0), (10, 0, 0)), "force": (5000, 3000, 12000)}
OF_ORDER_FOUR = {
    "tapered": {8: 1.81e-3, 32: 6.80e-6},
    "elastica, 10": {8: 1.81e-5, 32: 6.79e-8},
    "45-degree bend": {4: 9.40e-3, 16: 3.49e-5},
    "coupled section": {2: 4.11e-4, 8: 1.59e-6},
}


@pytest.mark.parametrize("case", CASES)
def test_tip_of_a_cantilever_converges_to_the_exact_one(case):
    options, exact, errors = CASES[case]
    for elements, error in errors.items():
        got = np.linalg.norm(tip(cantilever(elements, **options)) - exact)
        assert got == pytest.approx(error, rel=0.1), elements


@pytest.mark.parametrize("case", some(OF_ORDER_FOUR, 2))
def test_errors_of_order_four(case):
    """Also of what bends and twists: order two has 40 times the error with 8 elements."""
    tapered = TAPERED, (5.51688865, 1.50936402, 8.21359826), None
    options, exact, _ = {**CASES, "tapered": tapered}[case]
    (n, error), (more, less) = OF_ORDER_FOUR[case].items()
    for elements in (n, more):
        pose = mbd.equilibrium(cantilever(elements, order=4, **options))
        got = np.linalg.norm(pose[f"beam.{elements}"].position - exact)
        assert got == pytest.approx(error if elements == n else less, rel=0.1), elements
        assert pose.iterations <= 13
    assert more == 4 * n
    assert less < error / 4**3.7


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
@pytest.mark.parametrize(
    ("case", "n", "most"),
    [("45-degree bend", 8, 10), ("45-degree bend", 64, 12), ("elastica, 10", 8, 10),
     ("elastica, 10", 64, 12), ("elastica, 1", 16, 8), ("coupled section", 64, 8)],
)  # fmt: skip
def test_large_loads_in_one_step_take_few_iterations(case, n, most, seek):
    """Stresses are iterates of their own: without, up to 105 iterations in these cases."""
    options, exact, _ = CASES[case]
    pose = mbd.equilibrium(cantilever(n, **options), seek=seek)
    assert pose.iterations <= most
    assert pose.stable
    assert np.allclose(pose[f"beam.{n}"].position, exact, rtol=0, atol=1e-3)


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
@pytest.mark.parametrize(("slenderness", "angle"), [(40, 45), (160, 30), (4000, 75)])
def test_strips_that_bend_and_twist_take_few_iterations(slenderness, angle, seek):
    """In the manner of the Princeton beam: stiff one way, soft the other and in torsion."""
    h, side = 1 / slenderness, np.radians(angle)
    EI = h**4 / 12
    section = mbd.Section(stiffness=(h**2, h**2 / 3, h**2 / 3, EI / 3, 4 * EI, EI / 4), mass=1.0)
    load = -1.2 * EI * np.array((0, np.sin(side), 3 * np.cos(side)))
    assert mbd.equilibrium(cantilever(12, section=section, force=load), seek=seek).iterations <= 13


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_thousand_elements_take_few_iterations(case):
    options, exact, _ = CASES[case]
    pose = mbd.equilibrium(cantilever(1000, **options))
    assert pose.iterations <= 20
    assert np.allclose(pose["beam.1000"].position, exact, rtol=0, atol=2e-6)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("slenderness", [10, 1e3, 1e5])
def test_small_loads_are_exact_at_any_slenderness(n, slenderness):
    """P L^3/(3 EI) + P L/GA, whatever the number of elements: nothing locks."""
    h = 1 / slenderness
    EI, GA = h**2 / 12, 5 / 6 * 0.4
    section = mbd.Section(stiffness=(1.0, GA, GA, EI, EI, EI), mass=1.0, inertia=(2, 1, 1))
    P = 1e-4 * EI
    got = tip(cantilever(n, section=section, force=(0, 0, P)))[2]
    assert got == pytest.approx(P / (3 * EI) + P / GA, rel=1e-8)


@pytest.mark.parametrize("n", [2, 5])
def test_linear_loads_are_exact_for_taper_twist_and_sweep(n):
    """The linear tip deflection is the same for one element and for many."""

    def section(p):
        C = COUPLED * (1 - 0.6 * p)
        return mbd.Section(stiffness=C, mass=1.0)

    points = [(0, 0, 0), (2, 0.1, 0), (4, 0.5, 0.3), (6, 1.2, 0.4)]
    load = {"section": section, "points": points, "twist": 0.4, "force": (0.01, -0.02, 0.03),
            "moment": (0.01, 0.02, -0.02)}  # fmt: skip
    one, many = (tip(cantilever(k, **load)) - points[-1] for k in (1, n))
    assert np.linalg.norm(one - many) < 1e-5 * np.linalg.norm(one)


FORMULATIONS = ("so3", "se3", "unified", "euler_parameters", "directors", "scalable")


@pytest.mark.parametrize("formulation", [*FORMULATIONS[1:], list(FORMULATIONS[:5])])
def test_every_formulation_finds_the_same_pose(formulation):
    options = {"force": (0.3, 2, 1), "moment": (0.5, 0.1, 0)}
    want = tip(cantilever(4, **options))
    got = tip(cantilever(4, **options, formulation=formulation))
    assert np.allclose(got, want, atol=1e-9)


def test_a_full_circle_needs_three_elements():
    """Roll-up under an end moment: constant curvature is in the element exactly."""
    section = mbd.Section(stiffness=(1e4, 1e4, 1e4, 100, 100, 100), mass=1.0)
    system = cantilever(3, section=section, points=((0, 0, 0), (10, 0, 0)))
    path = [mbd.equilibrium(system)]
    beam = system["beam"]
    state = path[0].state
    for part in np.linspace(0.1, 1, 10):
        loaded = cantilever(3, section=section, points=((0, 0, 0), (10, 0, 0)),
                            moment=(0, 0, 20 * np.pi * part))  # fmt: skip
        pose = mbd.equilibrium(loaded, state=state)
        state = pose.state
    assert beam.length == 10
    assert np.allclose(pose["beam.3"].position, 0, atol=1e-9)


def test_a_reversed_beam_is_the_same():
    points = np.array([(0, 0, 0), (2, 0.1, 0), (4, 0.5, 0.3), (6, 1.2, 0.4)])
    section = mbd.Section(stiffness=(1e5, 3e4, 4e4, 500, 800, 300), mass=1.0)
    one = cantilever(5, section=section, points=points, force=(50, -20, 30))
    system = mbd.System()
    beam = system.add(mbd.Beam("beam", points=points[::-1], section=section, elements=5,
                               last=system.ground))  # fmt: skip
    system.add(mbd.PointForce("load", beam.first, (50, -20, 30)))
    other = mbd.equilibrium(system)["beam.0"].position
    assert np.allclose(tip(one), other, atol=1e-9)


@pytest.mark.parametrize(("L", "n", "error"), [(4, 4, None)])
def test_own_weight_of_a_cantilever(L, n, error):
    """q L^4/(8 EI) of small deflections: distributed loads are shared by fitted polynomials."""
    section = mbd.Section(stiffness=(1e9, 1e9, 1e9, 1e3, 1e3, 1e3), mass=2.0)
    system = cantilever(n, section=section, points=((0, 0, 0), (L, 0, 0)))
    system.add(mbd.LineLoad("load", system["beam"], (0, 0, -1e-3)))
    assert tip(system)[2] == pytest.approx(-1e-3 * L**4 / 8 / 1e3, rel=2e-3)
    assert system["load"].forces.sum(axis=0) == pytest.approx((0, 0, -1e-3 * L))


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_a_beam_with_a_corner_is_two_beams_that_are_welded(formulation):
    section = mbd.Section(stiffness=(1e5, 3e4, 4e4, 500, 800, 300), mass=1.0)
    points = np.array([(0, 0, 0), (4, 0, 0), (4, 3, 0)])
    one = cantilever(6, section=section, points=points, force=(20, -10, 30), smooth=False,
                     formulation=formulation)  # fmt: skip
    two = mbd.System()
    first, last = (
        two.add(mbd.Beam(name, points=points[i : i + 2], section=section, elements=3,
                         formulation=formulation))
        for i, name in enumerate(("first", "last"))
    )  # fmt: skip
    two.add(mbd.Fixed("clamp", two.ground, first.first, at=(0, 0, 0)))
    two.add(mbd.Fixed("weld", first.last, last.first, at=points[1]))
    two.add(mbd.PointForce("load", last.last, (20, -10, 30)))
    want = tip(two)
    assert np.linalg.norm(want - points[2]) > 0.5
    assert np.allclose(tip(one), want, atol=1e-8)
    run = mbd.simulate(one, 1e-3, 1e-3, state=mbd.equilibrium(one).state)["beam"]
    assert np.allclose(run.force[0, 0, 0], (20, -10, 30), atol=1e-4)  # axes 2, 3 are y, z here
    assert np.allclose(run.curve(2)[0, ::2], run.position[0], atol=1e-12)


@pytest.mark.parametrize("formulation", some(["so3", "directors", "se3"], 3))
def test_beams_of_any_size_come_to_the_same_balance(formulation):
    """Stiffnesses of turns are length^2 of those of moves: beside rows they once were round-off."""

    def end(L):
        section = mbd.Section.rectangle(0.04 * L, 0.02 * L, young=7e9, poisson=0.31, density=1900)
        line = [(0, 0, 0), (0.7 * L, 0, 0.2 * L)]
        force = np.array([0.0, 3e2, 6e2]) * L * L
        system = cantilever(3, section, line, force, formulation=formulation)
        return mbd.equilibrium(system)["beam.3"].position / L

    alone = end(1.0)
    assert np.linalg.norm(alone - [0.7, 0, 0.2]) > 0.1
    for length in (1e-9, 1e-6, 1e-3, 1e9):
        assert np.allclose(end(length), alone, rtol=0, atol=1e-11)
