"""Equilibria with stiff and soft directions, tiny and huge sizes; what is out of balance."""

import numpy as np
import pytest
from families import some, spread
from scenes import chain
from scipy.optimize import root

import mbd
from mbd.analyses import stability as in_full
from mbd.machine import buffer as m

from .tools import RIGID


def beam(
    n, formulation="so3", *, axial=2.84e6, bending=36.3, torsion=None, length=0.508, load=4.448,
    along=(0, 0, -1),
):  # fmt: skip
    """Return a cantilever of n rigid bodies, and of n bushings that have the stiffness of elements.

    The bushings are in the middle of the elements but for the first: that at the wall is half one.
    """
    piece = length / n
    system, last = mbd.System(), None
    for i in range(n):
        bar = mbd.RigidBody(
            f"bar {i}", mass=0.3 * piece, formulation=formulation,
            inertia=0.3 * piece**3 * np.array([0.01, 0.09, 0.09]),
            position=((i + 0.5) * piece, 0, 0),
        )  # fmt: skip
        system.add(bar)
        twist = bending if torsion is None else torsion
        stiffness = np.array([axial, axial, axial, twist, bending, bending]) / piece
        system.add(
            mbd.Bushing(
                f"element {i}", last or system.ground, bar, at=(i * piece, 0, 0),
                stiffness=stiffness if i else 2 * stiffness,
            )
        )  # fmt: skip
        last = bar
    system.add(mbd.PointForce("tip", last, load * np.array(along, float), at=(length, 0, 0)))
    return system


def tip(found, n, length=0.508):
    """Return where the end of the beam is."""
    return found[f"bar {n - 1}"].at((length / n / 2, 0, 0)).position


def deflection(n, axial, bending, length, load):
    """Return the deflection under a small load: turns and shear of all bushings add up."""
    at = length / n * np.arange(n)
    long = np.where(np.arange(n), 1.0, 0.5) * length / n
    return -load * float(np.sum((length - at) ** 2 * long / bending + long / axial))


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
@pytest.mark.parametrize("n", [1, 3, 8, 10, 32])
def test_a_cantilever_of_bushings_bends(n, seek):
    found = mbd.equilibrium(beam(n), seek=seek)
    assert tip(found, n)[2] == pytest.approx(deflection(n, 2.84e6, 36.3, 0.508, 4.448), rel=2e-4)
    assert found.iterations <= 10
    assert found.stable
    assert found.free == ()
    assert found.loads.force == pytest.approx(4.448)
    assert found.out_of_balance.force < 1e-6 * 4.448
    assert found.out_of_balance.moment < 1e-6 * 4.448 * 0.508
    if n == 32:
        assert tip(found, n)[2] == pytest.approx(-5.36e-3, abs=5e-6)


@pytest.mark.parametrize("formulation", RIGID)
def test_every_formulation_bends_alike(formulation):
    found = mbd.equilibrium(beam(12, formulation, axial=7.1e8, bending=11.0, load=0.9))
    alike = mbd.equilibrium(beam(12, axial=7.1e8, bending=11.0, load=0.9), seek="nearest")
    assert np.allclose(tip(found, 12), tip(alike, 12), rtol=0, atol=1e-12)
    assert tip(found, 12)[2] == pytest.approx(deflection(12, 7.1e8, 11.0, 0.508, 0.9), rel=1e-3)
    assert found.free == ()


@spread(length=[1e-3, 0.3, 1e3], ratio=[1e2, 1e6, 1e8, 1e10], slope=[1e-9, 1e-4, 1e-6])
def test_ratios_sizes_and_loads(length, ratio, slope):
    """The ratio is EA L^2 / EI: that of a rod as thin as its length over 1e5 at the end."""
    n, bending = 7, 2.0 * length**2
    axial = ratio * bending / length**2
    load = slope * bending / length**2
    for seek in ("minimum", "nearest"):
        found = mbd.equilibrium(
            beam(n, axial=axial, bending=bending, length=length, load=load), seek=seek
        )
        wanted = deflection(n, axial, bending, length, load)
        assert tip(found, n, length)[2] == pytest.approx(wanted, rel=2e-6)
        assert found.stable
        assert found.free == ()


@pytest.mark.parametrize("load", [1e-9, 1e-40, 3e-170, 2e-305])
def test_loads_below_the_round_off_of_stiff_directions_bend(load):
    """Where positions are near zero, what a load does is a number, however small."""
    n, axial, bending, length = 5, 1e9, 5.0, 1.1
    system = beam(n, axial=axial, bending=bending, length=length, load=load)
    for seek in ("minimum", "nearest"):
        found = mbd.equilibrium(system, seek=seek)
        wanted = deflection(n, axial, bending, length, load)
        assert tip(found, n, length)[2] == pytest.approx(wanted, rel=1e-5, abs=0.0)
        assert found.loads.force == pytest.approx(load, rel=1e-12, abs=0.0)
        assert found.out_of_balance.force <= 1e-6 * load
        assert found.stable


def planar(q, n, length, axial, bending, load):
    """Return the gradient of the potential of the beam in its plane, by steps along i.

    Bushings measure the turn phi and, in axes midway, displacements times (phi/2) / sin(phi/2).
    """

    def potential(q):
        x, z, turn = q.reshape(3, n)
        a = length / n
        total, corner, lean = load * (z[-1] + 0.5 * a * np.sin(turn[-1])), (0.0, 0.0), 0.0
        for i in range(n):
            near = x[i] - 0.5 * a * np.cos(turn[i]), z[i] - 0.5 * a * np.sin(turn[i])
            apart = near[0] - corner[0], near[1] - corner[1]
            phi = turn[i] - lean
            longer = 1 / np.sinc(phi / 2 / np.pi)
            stiff = (1.0 if i else 2.0) / a
            total = total + 0.5 * stiff * axial * longer**2 * (apart[0] ** 2 + apart[1] ** 2)
            total = total + 0.5 * stiff * bending * phi**2
            corner = x[i] + 0.5 * a * np.cos(turn[i]), z[i] + 0.5 * a * np.sin(turn[i])
            lean = turn[i]
        return total

    return np.array([potential(q + 1e-30j * e).imag / 1e-30 for e in np.eye(3 * n)])


def test_a_beam_that_bends_far_is_where_another_program_finds_it():
    n, length, axial, bending, load = 4, 2.0, 3e4, 1.5, 0.9
    q = np.concatenate([(np.arange(n) + 0.5) * length / n, np.zeros(2 * n)])
    for part in np.linspace(0.0, 1.0, 9)[1:]:
        for _ in range(8):
            g = planar(q, n, length, axial, bending, part * load)
            h = 1e-6 * np.eye(3 * n)
            slope = [planar(q + e, n, length, axial, bending, part * load) - g for e in h]
            q = q - np.linalg.solve(np.array(slope) / 1e-6, g)
    assert np.abs(g).max() < 1e-9
    x, z, _ = q.reshape(3, n)
    assert z[-1] < -0.5
    for seek in ("minimum", "nearest"):
        found = mbd.equilibrium(
            beam(n, axial=axial, bending=bending, length=length, load=load), seek=seek
        )
        at = np.array([found[f"bar {i}"].position for i in range(n)])
        assert np.allclose(at, np.column_stack([x, 0 * x, z]), rtol=0, atol=1e-9)


def inextensible(n, length, bending, load):
    """Return where the end of the beam is if its bars keep their lengths, by their angles alone."""
    a = length / n
    stiff = np.where(np.arange(n), 1.0, 2.0) * bending / a

    def slope(part):
        def gradient(turn):
            moment = stiff * np.diff(turn, prepend=0.0)
            return moment - np.append(moment[1:], 0.0) + part * load * a * np.cos(turn)

        return gradient

    turn = np.zeros(n)
    for part in np.linspace(0.0, 1.0, 11)[1:]:
        turn = root(slope(part), turn, tol=1e-13).x
    assert np.abs(slope(1.0)(turn)).max() < 1e-10
    return a * np.array([np.cos(turn).sum(), 0.0, np.sin(turn).sum()])


@spread(
    case=[(4, 0.3), (16, 0.3), (16, 1.5), (9, 10.0)], seek=["minimum", "nearest"],
    ratio=[1e6, 1e10, 1e12, 1e8, 1e9],
)  # fmt: skip
def test_slender_beams_bend_far_in_few_iterations(case, ratio, seek):
    """What a long step stretches, the next one takes back: the ratio EA L^2 / EI hardly counts."""
    (n, load), bending, length = case, 2.0, 1.7
    found = mbd.equilibrium(
        beam(n, axial=ratio * bending / length**2, bending=bending, length=length,
             load=load * bending / length**2),
        seek=seek,
    )  # fmt: skip
    at = inextensible(n, length, bending, load * bending / length**2)
    assert at[2] < -0.09 * length
    assert found.iterations <= 24
    assert np.allclose(tip(found, n, length), at, rtol=0, atol=10 * length / min(ratio, 1e8))
    assert found.stable
    if ratio * n**2 < 1e14:  # softer ones are round-off of their springs
        assert found.free == ()


def test_of_a_soft_beam_and_a_point_that_nothing_holds_the_point_is_free():
    for n in (5, 160):
        system = beam(n, axial=2e4, bending=2.0, load=1e-3)
        system.add(mbd.PointMass("lonely", mass=0.1, position=(0, 3, 0)))
        assert mbd.equilibrium(system).free == ("lonely",)


@pytest.mark.parametrize(("n", "ratio"), [(4, 1e8), (30, 1e7)])
def test_a_column_of_bushings_loses_its_stability_at_its_exact_load(n, ratio):
    """Hinges of stiffness c_i under a load P: det(c + P g) = 0, with bars that do not shorten."""
    length, bending = 0.8, 3.0
    a = length / n
    turns = np.tril(np.ones((n, n)))  # of the bars, by the turns of the hinges
    stiff = np.diag(np.where(np.arange(n), 1.0, 2.0)) * bending / a
    critical = 1.0 / np.linalg.eigvals(np.linalg.solve(stiff, a * turns.T @ turns)).real.max()
    assert critical == pytest.approx(bending * (np.pi / 2 / length) ** 2, rel=0.03)
    system = beam(
        n, axial=ratio * bending / length**2, bending=bending, length=length, load=critical,
        along=(-1, 0, 0),
    )  # fmt: skip
    for factor, stable in ((0.9999, True), (1.0001, False)):
        found = mbd.equilibrium(system, seek="nearest", load_factor=factor)
        assert found.stable is stable
        assert found.free == ()


def test_soft_and_stiff_columns_side_by_side_buckle_under_their_own_loads():
    """A bar on a hinge with the stiffness c buckles under c over its length."""
    system, stiffness = mbd.System(), (2.0, 5.0, 3e11)
    for i, c in enumerate(stiffness):
        bar = mbd.RigidBody(f"bar {i}", mass=1.0, inertia=(1, 1, 0.1), position=(i, 0, 0.5))
        system.add(bar)
        hinge = system.add(
            mbd.Revolute(f"hinge {i}", system.ground, bar, at=(i, 0, 0), axis=(0, 1, 0))
        )
        system.add(mbd.RotationalSpring(f"spring {i}", hinge, stiffness=c))
        system.add(mbd.PointForce(f"push {i}", bar, (0, 0, -1.0), at=(i, 0, 1.0)))
    factors = mbd.buckling(system).factors
    assert factors[:2] == pytest.approx(stiffness[:2], rel=1e-9)  # what gives way first is exact
    assert factors[2:] == pytest.approx(stiffness[2:], rel=1e-3)


def test_springs_side_by_side_with_any_stiffness():
    system = mbd.System(gravity=(0, 0, -9.81))
    stiffness = 10.0 ** np.arange(-3, 10)
    for i, k in enumerate(stiffness):
        mass = system.add(mbd.PointMass(f"m{i}", mass=1e-3, position=(i, 0, -1.0)))
        system.add(mbd.Spring(f"s{i}", system.ground, mass, at=(i, 0, 0), stiffness=k))
    for seek in ("minimum", "nearest"):
        found = mbd.equilibrium(system, seek=seek)
        down = np.array([-1.0 - found[f"m{i}"].position[2] for i in range(len(stiffness))])
        assert np.allclose(down, 9.81e-3 / stiffness, rtol=1e-9, atol=2e-16)
        assert found.stable


def bars(n, points, EA=1e3, length=None, weight=24.0):
    """Return mass points on springs that stand for the n bars of a cable; free lengths as drawn."""
    system, last = mbd.System(gravity=(0, 0, -10.0)), None
    points = np.array([points(u) for u in np.linspace(0, 1, n + 1)])
    for i in range(n):
        free = np.linalg.norm(points[i + 1] - points[i]) if length is None else length / n
        end = system.ground
        if i < n - 1:
            end = system.add(
                mbd.PointMass(f"m{i + 1}", mass=weight / 10 / n, position=points[i + 1])
            )
        system.add(
            mbd.Spring(f"bar {i}", last or system.ground, end, stiffness=EA / free, length=free,
                       at=points[0] if i == 0 else None, to=points[n] if i == n - 1 else None)
        )  # fmt: skip
        last = end
    return system


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
@pytest.mark.parametrize(("n", "error"), [(8, 8.0e-3), (32, 5.0e-4)])
def test_bars_of_a_cable_hang_in_few_iterations(n, error, seek):
    """An elastic catenary; sag = qL^2/8EA + (|(H, qL/2)| - H)/q, with H = 9.014472554 N."""
    start = bars(n, lambda u: (10 * u, 0, -12 * u * (1 - u)), length=12.0)
    pose = mbd.equilibrium(start, seek=seek)
    assert pose.stable
    assert pose.iterations <= (6 if seek == "minimum" else 10)
    sag = -pose[f"m{n // 2}"].position[2] / 3.033107722
    assert sag - 1 == pytest.approx(error, rel=0.1)


@spread(n=[5, 40], EA=[1e3, 1e9], sag=[0.7, 2.5])
def test_bars_without_tension_are_no_obstacle(n, sag, EA):
    """The matrix of the start is singular: nothing but tension holds bars across."""
    start = bars(n, lambda u: (10 * u, 0, -4 * sag * u * (1 - u)), EA)
    for seek in ("minimum", "nearest"):
        pose = mbd.equilibrium(start, seek=seek)
        assert pose.stable
        assert pose.iterations <= 10
        assert pose.free == ()


def net(seed):
    """Return bodies on springs between each other and the ground, of any stiffness, far off."""
    rng = np.random.default_rng(seed)
    system, bodies = mbd.System(gravity=(0, 0, -9.81)), []
    for i in range(3):
        bodies.append(system.add(mbd.RigidBody(f"body {i}", mass=1.0, inertia=(0.1, 0.2, 0.15),
                                               position=rng.normal(size=3))))  # fmt: skip
        for k, other in enumerate((*bodies[:-1], system.ground, system.ground)):
            near = bodies[i].position + 0.2 * rng.normal(size=3)
            far = other.position + 0.2 * rng.normal(size=3) if k < i else 2 * rng.normal(size=3)
            system.add(mbd.Spring(f"spring {i}.{k}", other, bodies[i], at=far, to=near,
                                  stiffness=10 ** rng.uniform(1, 4),
                                  length=rng.uniform(0.3, 1.5)))  # fmt: skip
    return system


@pytest.mark.parametrize("seed", some([4, 0, 1, 2, 3, 5], 3))
def test_nets_of_springs_come_to_a_balance_from_far_off(seed):
    system = net(seed)
    low, near = (mbd.equilibrium(system, seek=seek) for seek in ("minimum", "nearest"))
    assert low.stable
    assert low.iterations <= 60
    for pose in (low, near):
        assert pose.out_of_balance.force <= 1e-6 * pose.loads.force


@pytest.mark.parametrize("weight", [1e-9, 9.81, 1e9])
def test_a_chain_hangs_under_any_weight(weight):
    system = chain(5, joint="Revolute", gravity=(0, 0, -weight), mass=0.7, inertia=(0.1, 0.2, 0.2))
    found = mbd.equilibrium(system)
    assert np.allclose(found["bar 4"].position, (0, 0, -4.5), rtol=0, atol=1e-9)
    assert found.loads.force == pytest.approx(0.7 * weight)
    assert found.out_of_balance.force <= 1e-6 * 0.7 * weight
    assert found.iterations <= 12


# --- free or soft ---------------------------------------------------------------------------------
@pytest.mark.parametrize("few", [0, 10**6])
@pytest.mark.parametrize(("n", "ratio"), [(3, 1e10), (12, 1e9)])
def test_what_is_soft_is_not_free(n, ratio, few, monkeypatch):
    monkeypatch.setattr(in_full, "_FEW", few)  # counted, or all motions looked at
    soft = mbd.equilibrium(beam(n, axial=ratio, bending=1.0, length=1.0, load=1e-4))
    assert soft.free == ()
    assert soft.stable
    free = mbd.equilibrium(beam(n, axial=ratio, bending=1.0, length=1.0, load=0.0, torsion=0.0))
    assert free.free == tuple(f"bar {i}" for i in range(n))
    assert free.stiffness == pytest.approx(soft.stiffness, rel=1e-3)


# --- what is told, what is refused ----------------------------------------------------------------
def test_the_loads_are_those_that_act():
    system = mbd.System(gravity=(0, 0, -10.0))
    bar = system.add(mbd.RigidBody("bar", mass=2.0, inertia=(1, 1, 1), position=(1, 0, 0)))
    for i, x in enumerate((0.0, 2.0)):
        system.add(
            mbd.Spring(f"s{i}", system.ground, bar, at=(x, 0, 1), to=(x, 0, 0), stiffness=500.0)
        )
    system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Moment("push", bar, (0, -3.0, 0)))
    found = mbd.equilibrium(system)
    assert found.loads.force == pytest.approx(20.0)
    assert found.loads.moment == pytest.approx(20.0 * found.model.F[m.LENGTH])  # over the length
    half = mbd.equilibrium(system, load_factor=0.5, scaled=["gravity"])
    assert half.loads.force == pytest.approx(10.0)
    assert f"with loads of {half.loads}" in half.message
    unloaded = mbd.equilibrium(system, load_factor=0.0)
    assert unloaded.loads.force == pytest.approx(0.0, abs=1e-9)  # springs without tension


def test_without_loads_what_acts_are_the_springs():
    system = mbd.System(gravity=(0, 0, 0))
    ball = system.add(mbd.PointMass("ball", mass=1.0, position=(0.3, 0, 0)))
    for i, x in enumerate((-1.0, 1.0)):
        system.add(
            mbd.Spring(f"s{i}", system.ground, ball, at=(x, 0, 0), stiffness=40.0, length=0.25)
        )
    found = mbd.equilibrium(system)
    assert found["ball"].position == pytest.approx([0, 0, 0], abs=1e-13)
    assert found.loads.force == pytest.approx(2 * 40.0 * 0.75)
    assert found.out_of_balance.force <= 1e-12


def test_what_is_out_of_balance_is_refused_and_named():
    for n in (3, 32):
        with pytest.raises(mbd.EquilibriumError, match=r"'bar \d+\.\w+' \(.* N\)") as caught:
            mbd.equilibrium(beam(n, load=40.0), max_iterations=1)
        assert caught.value.state.q.shape == (7 * n,)


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_small_motions_where_round_off_is_more_than_the_loads(formulation):
    """They are those of the straight beam."""
    straight = mbd.modes(beam(7, axial=2e10, bending=2.0, load=0.0), n=2).frequency
    for load in (2e-6, 4e-7):
        found = mbd.equilibrium(beam(7, formulation, axial=2e10, bending=2.0, load=load))
        assert mbd.modes(found, n=2).frequency == pytest.approx(straight, rel=1e-5)


@spread(rare=[16, 5e9], axial=[5e9, 2.84e6], n=[4, 16])
def test_small_motions_about_a_pose_out_of_balance_are_refused(n, axial):
    system = beam(n, axial=axial)
    refused = pytest.raises(ValueError, match="neither an equilibrium nor a steady motion")
    for begin in (mbd.modes, mbd.linearize, lambda s: mbd.modes(s, n=3, solver="sparse")):
        with refused:
            begin(system)
    with pytest.raises(ValueError, match="neither an equilibrium"):
        mbd.campbell(lambda speed: system, [0.0])
    with pytest.raises(ValueError, match="the loads move the pose"):
        mbd.buckling(system)
    found = mbd.equilibrium(system)
    assert mbd.modes(found).frequency[0] == pytest.approx(
        np.sqrt(found.stiffness) / (2 * np.pi), rel=1e-5
    )


def steel_with_a_disc(direction, disc):
    """A steel beam of 1 m along a direction, with a disc at its end; nothing loads it."""
    system = mbd.System()
    steel = mbd.Section.rectangle(0.02, 0.005, young=210e9, poisson=0.3, density=7850)
    end = np.array(direction) / np.linalg.norm(direction)
    beam = system.add(
        mbd.Beam("beam", points=[(0, 0, 0), end], section=steel, elements=4, first=system.ground)
    )
    body = system.add(mbd.RigidBody("disc", mass=disc, inertia=(0.02, 0.02, 0.04), position=end))
    system.add(mbd.Fixed("hub", beam.nodes()[-1], body, at=end))
    return system


@spread(disc=[1e-3, 1.0, 1e3], direction=[(1, 2, 3), (0.3, -0.5, 0.2), (0.1, 0.9, -0.7)])
def test_forces_that_are_round_off_of_a_stiffness_are_none(direction, disc):
    """Rows carry them to the disc, which has no stiffness; the unloaded pose is balanced."""
    system = steel_with_a_disc(direction, disc)
    pose = mbd.equilibrium(system)
    assert pose.stable
    found, along = mbd.modes(system), mbd.modes(steel_with_a_disc((1, 0, 0), disc))
    assert found.frequency[0] == pytest.approx(along.frequency[0], rel=1e-3)


@spread(stiffness=[1e-6, 1e-3, 1.0], stretch=[1e-7, 1e-5, 1e-3])
def test_a_soft_spring_elsewhere_is_no_round_off_of_a_stiff_beam(stretch, stiffness):
    """However small its force: what no row ties to the beam is moved to where it is none."""
    system = steel_with_a_disc((1, 2, 3), 1.0)
    point = system.add(mbd.PointMass("point", mass=1.0, position=(5 + stretch, 0, 0)))
    system.add(mbd.PointOnLine("line", system.ground, point, at=(5 + stretch, 0, 0), axis="x"))
    system.add(
        mbd.Spring("spring", system.ground, point, at=(4, 0, 0), to=(5 + stretch, 0, 0),
                   stiffness=stiffness, length=1.0)
    )  # fmt: skip
    pose = mbd.equilibrium(system)
    assert pose["point"].position[0] - 5.0 == pytest.approx(0.0, abs=1e-3 * stretch + 1e-14)
