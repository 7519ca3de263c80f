"""Rotors on supports: multi-blade coordinates and Floquet's theory.

Ground resonance by the equations of Coleman and Feingold (NACA Report 1351) for N blades with lag
hinges, in a_1, b_1 and the displacements x, y of the hub.
"""

import warnings

import numpy as np
import pytest
from families import SLOW, some
from scipy.integrate import solve_ivp

import mbd
from mbd.files import scenes

from .tools import RIGID

BLADE, ARM, INERTIA, OFFSET, HUB, SPRING = 94.9, 3.0, 1084.7, 0.3, 8026.6, 1.24e6
DAMPERS = {"lag": 4067.5, "x": 51079.0, "y": 25539.0}


def helicopter(N=3, lag=0.0, x=0.0, y=0.0, formulation="so3", turned=True, first=None, polar=50.0):
    """Return a hub on springs along x and y, and N blades with lag hinges.

    ``turned``: whether bodies of blades have axes along them. ``first`` is the damper of one blade,
    ``polar`` the inertia of the hub: of a large one the speed is constant.
    """
    system = mbd.System()
    words = {"formulation": formulation}
    fuselage = mbd.RigidBody("fuselage", mass=0.9 * HUB, inertia=(1e3,) * 3, **words)
    hub = mbd.RigidBody("hub", mass=0.1 * HUB, inertia=(polar,) * 3, **words)
    for body in (fuselage, hub):
        system.add(body)
    system.add(mbd.Planar("table", system.ground, fuselage, at=(0, 0, 0), axis=(0, 0, 1)))
    stiffness, damping = (SPRING, SPRING, 0, 0, 0, 1e14), (x, y, 0, 0, 0, 0)
    system.add(mbd.Bushing("gear", system.ground, fuselage, at=(0, 0, 0), stiffness=stiffness,
                           damping=damping))  # fmt: skip
    system.add(mbd.Revolute("shaft", fuselage, hub, at=(0, 0, 0), axis=(0, 0, 1)))
    own = np.diag((10.0, *(INERTIA - BLADE * ARM**2,) * 2))
    for i in range(N):
        R = mbd.rotation((0, 0, 1), 0.2 + 2 * np.pi * i / N)
        axes = {"inertia": own, "rotation": R} if turned else {"inertia": R @ own @ R.T}
        blade = mbd.RigidBody(f"blade {i}", mass=BLADE, position=R @ [OFFSET + ARM, 0, 0], **axes,
                              **words)  # fmt: skip
        system.add(blade)
        place = {"at": R @ [OFFSET, 0, 0], "axis": (0, 0, 1)}
        hinge = system.add(mbd.Revolute(f"hinge {i}", hub, blade, **place))
        damper = lag if i or first is None else first
        system.add(mbd.JointSpring(f"damper {i}", hinge, damping=damper))
    return system.build()


def names(N):
    return [f"blade {i}" for i in range(N)]


def coleman_feingold(N, speed, lag=0.0, x=0.0, y=0.0):
    """Return the eight eigenvalues."""
    S, W = BLADE * ARM, speed
    nu, total = W**2 * OFFSET * S, HUB + N * BLADE
    M = np.array([[INERTIA, 0, 0, S], [0, INERTIA, -S, 0], [0, -S * N / 2, total, 0],
                  [S * N / 2, 0, 0, total]])  # fmt: skip
    G = np.diag([lag, lag, x, y])
    G[0, 1], G[1, 0] = 2 * W * INERTIA, -2 * W * INERTIA
    K = np.diag([nu - W**2 * INERTIA] * 2 + [SPRING] * 2)
    K[0, 1], K[1, 0] = lag * W, -lag * W
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]])
    return np.linalg.eigvals(A)


def farthest(found, exact):
    """Return by how much the worst of exact eigenvalues with Im >= 0 is not among those found."""
    return max(np.abs(found - s).min() / abs(s) for s in exact if s.imag > -1e-9)


PUBLISHED = {10: (0.0, -1.432069), 15: (0.804828, -0.763823), 20: (0.326212, -1.397311),
             25: (0.0, -1.562473)}  # fmt: skip


@pytest.mark.parametrize(("N", "speed", "damped"), [
    (3, 10, 0), (3, 15, 1), (3, 15, 0), (3, 20, 1), (4, 15, 0), (4, 25, 1), (5, 15, 0), (5, 20, 1),
])  # fmt: skip
def test_ground_resonance(N, speed, damped):
    damping = DAMPERS if damped else {}
    found = mbd.coleman(helicopter(N, **damping), rotor="shaft", blades=names(N), speed=speed)
    exact = coleman_feingold(N, speed, **damping)
    if N == 3:
        assert exact.real.max() == pytest.approx(PUBLISHED[speed][damped], abs=1e-6)
    assert farthest(found.eigenvalues, exact) < 1e-12
    assert found.spread < 1e-12
    assert found.stable == (exact.real.max() < 1e-9)
    assert np.allclose(found.parts.sum(1), 1.0)
    whirling = [found.labels[np.argmin(np.abs(found.eigenvalues - s))] for s in exact if s.imag > 0]
    assert sum("forward in plane" in x for x in whirling) >= 1  # f +- speed: both whirl forward
    assert "alternating" in found.groups if N % 2 == 0 else "alternating" not in found.groups


def test_blades_play_in_their_phases():
    """Blades of a forward whirl come a third of a period after each other; a ghost is at rest."""
    found = mbd.coleman(helicopter(polar=1e6), rotor="shaft", blades=names(3), speed=20.0)
    shares = [found.parts[:, found.groups.index(x)] for x in ("collective", "forward")]
    modes = [int(np.argmax(x * (found.frequency > 0.0))) for x in shares]
    drawn = found.animate(which=modes, plots=[f"hinge {i}.angle" for i in range(3)]).drawing
    turn = np.exp(2j * np.pi * np.arange(3) / 3)
    for mode, lag in zip(drawn.modes, (turn**0, turn), strict=True):
        angles = np.array([x.lines[0][1][mode.first : mode.last] for x in drawn.plots])
        waves = angles @ np.exp(-2j * np.pi * np.arange(angles.shape[1]) / angles.shape[1])
        assert abs(lag @ waves) > 0.9 * np.abs(waves).sum() > 1.0
    (rest,) = drawn.ghosts
    at = {name: x.position[rest] for name, x in drawn.tracks.items()}
    assert np.abs(sum(at[x] for x in names(3)) / 3 - at["hub"]).max() < 1e-8
    assert drawn.speed == 0.25  # periods per second


@pytest.mark.parametrize("formulation", some(RIGID, 3))
def test_every_formulation_and_any_order_of_blades(formulation):
    exact = coleman_feingold(3, 15, **DAMPERS)
    for turned in (True, False):
        model = helicopter(3, **DAMPERS, formulation=formulation, turned=turned)
        found = mbd.coleman(
            model, rotor="shaft", blades=["blade 2", "blade 0", "blade 1"], speed=15
        )
        assert farthest(found.eigenvalues, exact) < 1e-8
        assert found.spread < 1e-12


THIN = mbd.Section(stiffness=(1e6, 1e6, 1e6, 1.0, 1.0, 2.0), mass=1.0, inertia=(2e-6, 1e-6, 1e-6))


def windmill(N=3, *, flexible=False, support=False):
    """Return beams of 1 m, or flexible bodies of them, clamped to a hub on a shaft along z."""
    system = mbd.System()
    held = system.ground
    if support:
        held = system.add(mbd.RigidBody("nacelle", mass=5.0, inertia=(1, 1, 1)))
        system.add(mbd.Bushing("tower", system.ground, held, at=(0, 0, -1),
                               stiffness=(100, 150, 300, 400, 600, 50)))  # fmt: skip
    hub = system.add(mbd.RigidBody("hub", mass=1.0, inertia=(1, 1, 1) if support else (1e7,) * 3))
    system.add(mbd.Revolute("shaft", held, hub, at=(0, 0, 0), axis=(0, 0, 1)))
    for i in range(N):
        R = mbd.rotation((0, 0, 1), 2 * np.pi * i / N)
        if flexible:
            body = mbd.FlexibleBody(f"b{i}", *matrices(), {"root": [0], "tip": [4]}, fixed_modes=2,
                                    rotation=R)  # fmt: skip
            system.add(body)
            system.add(
                mbd.Fixed(f"root {i}", hub.frame(R @ [0.1, 0, 0], R), body.interface("root"))
            )
        else:
            system.add(mbd.Beam(f"b{i}", points=[R @ [0.1, 0, 0], R @ [1.1, 0, 0]], section=THIN,
                                elements=3, up=(0, 0, 1), first=hub))  # fmt: skip
    return system.build()


def matrices():
    mesh = mbd.System()
    beam = mesh.add(mbd.Beam("b", points=[(0.1, 0, 0), (1.1, 0, 0)], section=THIN, elements=4))
    S = mesh.build().assemble()
    return S.M, S.K, [x.position for x in beam.nodes()]


@pytest.mark.parametrize(
    ("N", "flexible"), [(3, False), (4, False), pytest.param(3, True, marks=SLOW)]
)
def test_a_rotor_alone_has_the_frequencies_of_a_turning_frame(N, flexible):
    """f of collective, f +- Omega of whirling motions; on a shaft that cannot give way."""
    model, speed = windmill(N, flexible=flexible), 4.0
    found = mbd.coleman(model, rotor="shaft", blades=[f"b{i}" for i in range(N)], speed=speed)
    f = mbd.modes(mbd.equilibrium(model, rotating=(0, 0, speed))).eigenvalues.imag
    f = f[f > 0.5]
    exact = np.concatenate([f, f + speed, np.abs(f - speed)])
    for omega in found.eigenvalues.imag[found.eigenvalues != 0.0]:
        assert np.abs(exact - omega).min() < 1e-8 * omega


def test_at_rest_they_are_the_modes_at_rest():
    for flexible in (False, True):
        model = windmill(support=True, flexible=flexible)
        found = mbd.coleman(model, rotor="shaft", blades=["b0", "b1", "b2"], speed=0.0)
        modes = mbd.modes(mbd.equilibrium(model))
        assert len(found) == len(modes)
        assert np.allclose(found.eigenvalues, modes.eigenvalues, rtol=1e-8, atol=1e-7)


def test_unequal_blades_are_told():
    model = helicopter(3, **DAMPERS, first=0.0)
    with pytest.warns(RuntimeWarning, match=r"not isotropic.*mbd\.floquet"):
        found = mbd.coleman(model, rotor="shaft", blades=names(3), speed=15.0)
    assert found.spread > 1e-3


def hammond(dampers, speed, x=0.0, y=0.0):
    """Return the multipliers of a turn for any dampers of equal blades, lag angles in the blades.

    C. E. Hammond, An application of Floquet theory to prediction of mechanical instability,
    J. Am. Helicopter Soc. 19 (1974), integrated by an explicit method of order 8.
    """
    N, S = len(dampers), BLADE * ARM
    n = N + 2

    def rate(t, state):
        psi = speed * t + 2 * np.pi * np.arange(N) / N
        sin, cos = np.sin(psi), np.cos(psi)
        M, G, K = np.zeros((n, n)), np.diag([*dampers, x, y]), np.zeros((n, n))
        M[:N, :N], M[N:, N:] = INERTIA * np.eye(N), (HUB + N * BLADE) * np.eye(2)
        M[:N, N], M[:N, N + 1] = -S * sin, S * cos
        M[N:, :N] = M[:N, N:].T
        G[N, :N], G[N + 1, :N] = -2 * speed * S * cos, -2 * speed * S * sin
        K[:N, :N], K[N:, N:] = speed**2 * OFFSET * S * np.eye(N), SPRING * np.eye(2)
        K[N, :N], K[N + 1, :N] = speed**2 * S * sin, -(speed**2) * S * cos
        q, v = state.reshape(2, n, 2 * n)
        return np.vstack([v, -np.linalg.solve(M, G @ v + K @ q)]).ravel()

    T = 2 * np.pi / speed
    run = solve_ivp(rate, (0, T), np.eye(2 * n).ravel(), method="DOP853", rtol=1e-11, atol=1e-12)
    return np.linalg.eigvals(run.y[:, -1].reshape(2 * n, 2 * n))


@pytest.mark.parametrize(
    ("N", "speed", "first"),
    [
        pytest.param(4, 18.0, 0.0, marks=SLOW),
        (3, 22.0, 0.0),
        pytest.param(2, 15.0, None, marks=SLOW),
    ],
)
def test_one_damper_out(N, speed, first):
    """Hammond's problem, and two blades."""
    model = helicopter(N, **DAMPERS, first=first, polar=1e12)
    blades = names(N) if N > 2 else ()
    found = mbd.floquet(model, rotor="shaft", speed=speed, blades=blades)
    dampers = [DAMPERS["lag"] if first is None or i else first for i in range(N)]
    exact = hammond(dampers, speed, DAMPERS["x"], DAMPERS["y"])
    for mu in found.multipliers[found.multipliers != 1.0]:
        assert np.abs(exact - mu).min() < 1e-7 * max(1.0, abs(mu))
    both = np.concatenate([found.multipliers, found.multipliers.conj()])
    for mu in exact[np.abs(exact) > 1e-4]:
        assert np.abs(both - mu).min() < 1e-7 * max(1.0, abs(mu))
    assert found.stable == (np.abs(exact).max() < 1.0)


def test_campbell_in_multi_blade_coordinates():
    speeds = np.array([10.0, 15.0])
    model = helicopter(3, **DAMPERS)
    found = mbd.campbell(model, speeds, multiblade=("shaft", names(3)), n=5)
    for row, speed in zip(found.eigenvalues, speeds, strict=True):
        assert farthest(row[~np.isnan(row)], coleman_feingold(3, speed, **DAMPERS)) < 1e-12
    with pytest.raises(ValueError, match=r"multiblade must be \(rotor, blades\)"):
        mbd.campbell(model, speeds, multiblade="shaft")


def test_a_bent_start_finds_its_steady_rotation():
    """The axis goes with the hub, past speeds at which one that stays would throw it out."""
    model = helicopter(3)
    delta = np.zeros(model.n_v)
    delta[[i for i, x in enumerate(model.numbering.v_labels) if x.endswith(".x")]] = 1e-3
    start = model.moved(model.state, delta)
    found = mbd.coleman(model, start, rotor="shaft", blades=names(3), speed=40.0)
    assert farthest(found.eigenvalues, coleman_feingold(3, 40.0)) < 1e-8
    assert np.abs(found.rotation.state.q - model.state.q).max() < 1e-6


WRONG = {
    "rotor must name bodies": {"rotor": "shaf"},
    "say where the axis is|says where the axis is": {"axis": (0, 0, 1)},
    "three blades or more": {"blades": ["blade 0", "blade 1"]},
    "must be in one blade": {"blades": ["blade 0", "blade 0", "blade 1"]},
    "does not turn": {"blades": ["blade 0", "blade 1", "fuselage"]},
    "120 degrees apart": {"blades": ["blade 0", "blade 1", "hub"]},
}


@pytest.mark.parametrize("says", WRONG)
def test_what_cannot_be_is_named(says):
    words = {"rotor": "shaft", "blades": names(3), "speed": 1.0} | WRONG[says]
    model = helicopter(3)
    with pytest.raises(ValueError, match=says):
        mbd.coleman(model, **words)


@pytest.mark.slow
def test_weight_across_the_axis_is_told():
    model = windmill(support=True)
    model.system.gravity = (9.81, 0, 0)
    one, two = (pytest.warns(RuntimeWarning, match=x) for x in ("not steady", "not isotropic"))
    with one, two:
        mbd.coleman(model.system.build(), rotor="shaft", blades=["b0", "b1", "b2"], speed=2.0)


@pytest.mark.parametrize("ratio", [1.0, 1e4, 1e8])
def test_heavy_hubs_turn_steadily(ratio):
    """Rotors alone with hubs of 1 to 1e8 times the blades: f and f +- Omega, nothing refused."""
    system = mbd.System()
    hub = system.add(mbd.RigidBody("hub", mass=ratio, inertia=(ratio,) * 3))
    system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1)))
    for i in range(3):
        R = mbd.rotation((0, 0, 1), 2 * np.pi * i / 3)
        blade = system.add(mbd.RigidBody(f"b{i}", mass=1.0, inertia=(0.01, 0.1, 0.1),
                                         position=R @ [1, 0, 0], rotation=R))  # fmt: skip
        hinge = system.add(mbd.Revolute(f"h{i}", hub, blade, at=R @ [0.3, 0, 0], axis=(0, 0, 1)))
        system.add(mbd.JointSpring(f"s{i}", hinge, stiffness=10.0))
    found = mbd.coleman(system, rotor="shaft", blades=["b0", "b1", "b2"], speed=3.0)
    f = mbd.modes(mbd.equilibrium(system, rotating=(0, 0, 3.0))).eigenvalues.imag
    f = f[f > 0.0]
    exact = np.concatenate([f, f + 3.0, np.abs(f - 3.0)])
    for omega in found.eigenvalues.imag[found.eigenvalues != 0.0]:
        assert np.abs(exact - omega).min() < 1e-8 * omega


def loaded(formulation="so3", moment=0.0, friction=0.0, radius=1.0, spring=500.0):
    """Return a hub of inertia 2 on a nacelle on springs, and three balls on sliding springs."""
    system = mbd.System(gravity=(-9.81, 0, 0))
    words = {"formulation": formulation}
    nacelle = system.add(mbd.RigidBody("nacelle", mass=5.0, inertia=(1, 1, 1), **words))
    system.add(mbd.Bushing("tower", system.ground, nacelle, at=(0, 0, 0), stiffness=(900.0,) * 6))
    hub = system.add(mbd.RigidBody("hub", mass=2.0, inertia=(2, 1, 1), **words))
    shaft = system.add(mbd.Revolute("shaft", nacelle, hub, at=(0, 0, 0), axis=(1, 0, 0)))
    for i in range(3):
        R = mbd.rotation((1, 0, 0), 0.3 + 2 * np.pi * i / 3)
        ball = system.add(mbd.RigidBody(f"b{i}", mass=1.0, inertia=(0.1,) * 3, rotation=R,
                                        position=R @ [0, 0, radius], **words))  # fmt: skip
        slide = system.add(mbd.Prismatic(f"slide {i}", hub, ball, at=R @ [0, 0, radius],
                                         axis=R @ [0, 0, 1.0]))  # fmt: skip
        system.add(mbd.JointSpring(f"spring {i}", slide, stiffness=spring))
    if moment:
        system.add(mbd.Moment("wind", hub, (moment, 0, 0)))
    if friction:
        system.add(mbd.JointSpring("generator", shaft, damping=friction))
    return system


@pytest.mark.parametrize("formulation", some(RIGID, 2))
def test_a_loaded_start_stays_steady(formulation):
    """r = k r0/(k - m W^2), the nacelle moves by weight over stiffness; nothing moves in a run."""
    W, system = 8.0, loaded(formulation)
    found = mbd.steady_rotation(system, rotor="shaft", speed=W)
    radius, down = 500.0 / (500.0 - W**2), -9.81 * 10.0 / 900.0
    assert found["slide 0"].displacement == pytest.approx(radius - 1.0, rel=1e-9)
    assert found["nacelle"].position == pytest.approx([down, 0, 0], abs=1e-9)
    assert found["slide 1"].displacement == pytest.approx(radius - 1.0, rel=1e-9)
    assert abs(found.moment) < 1e-6
    model = system.build()
    assert np.abs(mbd.consistent(model, found.state).a - found.state.a).max() < 1e-6
    for method in (mbd.GeneralizedAlpha(), mbd.RadauCollocation()):
        run = mbd.simulate(model, 0.2, 2e-3, state=found.state, method=method)
        assert np.ptp(run["slide 0"].displacement) < 1e-5
        assert np.ptp(run["nacelle"].position, axis=0).max() < 1e-7
        assert np.ptp(run["shaft"].angle_rate) < W * (2e-3 * W) ** 2


def test_the_moment_that_is_left_and_the_speed_at_which_none_is():
    """Inertia 2 + 3 (0.1 + r^2), r = k r0/(k - m W^2); W = moment / friction."""
    found = mbd.steady_rotation(loaded(moment=6.0), rotor="shaft", speed=4.0)
    radius = 500.0 / (500.0 - 16.0)
    assert found.moment == pytest.approx(6.0, rel=1e-6)
    assert found.acceleration == pytest.approx(6.0 / (2.3 + 3 * radius**2), rel=1e-6)
    system = loaded(moment=6.0, friction=1.2)
    start = mbd.steady_rotation(system, rotor="shaft", speed=4.0).state
    free = mbd.steady_rotation(system, start, rotor="shaft")
    assert free.speed == pytest.approx(5.0, rel=1e-7)
    assert abs(free.moment) < 1e-5
    with pytest.raises(ValueError, match=r"that of the state, which is 0 rad/s"):
        mbd.steady_rotation(system, rotor="shaft")
    system.add(mbd.Drive("drive", system["shaft"], velocity=4.0))
    driven = mbd.steady_rotation(system, rotor="shaft", speed=4.0)
    assert driven.moment == 0.0
    assert driven["drive"].load == pytest.approx(1.2 * 4.0 - 6.0, rel=1e-6)
    for speed, says in ((3.0, "cannot turn at 3 rad/s.*'drive"), (0.0, "mbd.equilibrium")):
        with pytest.raises(ValueError, match=says):
            mbd.steady_rotation(system, rotor="shaft", speed=speed)
    system.gravity = (0, 0, -9.81)
    with pytest.raises(ValueError, match="the rotation is not steady"):
        mbd.steady_rotation(system, rotor="shaft", speed=4.0)


def test_a_little_weight_across_the_axis_is_told_and_the_mean_is_taken():
    found = []
    for gravity in ((0, 0, 0), (0, 0, -1e-3)):
        system = loaded()
        system.gravity = gravity
        system.add(mbd.Drive("drive", system["shaft"], velocity=8.0))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found.append(mbd.coleman(system, rotor="shaft", blades=["b0", "b1", "b2"], speed=8.0))
        said = [str(x.message) for x in told]
        assert any("not steady" in x for x in said) == any(gravity)
        assert all(x.filename == __file__ for x in told)
    exact, mean = found
    assert np.allclose(mean.eigenvalues, exact.eigenvalues, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("wake", ["frozen", "equilibrium"])
def test_wakes_of_a_turbine_are_those_of_a_turning_frame(wake):
    """f of collective, f +- Omega of whirling motions, of blades in air."""
    turbine = scenes.load("iea15").module
    pitch, rpm, *_ = turbine.STEADY[13.0]
    system, speed = turbine.rotor(13.0, rpm, pitch), rpm * np.pi / 30
    blades = [f"blade {k}" for k in (1, 2, 3)]
    found = mbd.coleman(system, rotor="shaft", blades=blades, speed=speed, wake=wake)
    s = mbd.modes(mbd.equilibrium(system, rotating=(speed, 0, 0)), wake=wake).eigenvalues
    exact = np.concatenate([s + k * speed * 1j for k in (0, 1, -1)])
    exact = np.concatenate([exact, exact.conj()])
    for value in found.eigenvalues[:12]:
        assert np.abs(exact - value).min() < 1e-6 * abs(value)
