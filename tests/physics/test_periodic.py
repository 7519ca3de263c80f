"""Periodic motions: against exact ones, Mathieu's and Hill's equations, harmonic balance."""

import numpy as np
import pytest
from families import SLOW, some
from numba import njit
from scipy.integrate import solve_ivp

import mbd

from .test_rotors import DAMPERS, helicopter
from .tools import RIGID

RADAU = mbd.RadauCollocation()
W, GRAVITY, ARM, OFFSET, MASS, INERTIA, LAG = 10.0, 9.81, 1.0, 0.2, 2.0, 0.5, 20.0


def all_of(multipliers):
    """Return the others of complex pairs too, sorted."""
    return np.sort_complex([*multipliers, *multipliers[multipliers.imag > 0.0].conj()])


def oscillator(force, stiffness=16.0, damping=0.8, cubic=0.0, mass=2.0):
    """Return a body on a spring with a force over time."""
    system = mbd.System()
    body = system.add(mbd.RigidBody("body", mass=mass, inertia=(1, 1, 1)))
    rail = system.add(mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(1, 0, 0)))
    linear = {"stiffness": stiffness, "damping": damping}

    def law(u, rate, t):
        return stiffness * u + cubic * u**3 + damping * rate

    system.add(mbd.JointSpring("spring", rail, **({"law": law} if cubic else linear)))
    system.add(mbd.PointForce("push", body, lambda t: (force(t), 0.0, 0.0)))
    return system


def test_a_linear_oscillator_has_its_amplitude_phase_and_multipliers():
    w = 3.0
    system, X = oscillator(lambda t: 5.0 * np.cos(w * t)), 5.0 / (16.0 - 2 * w**2 + 0.8j * w)
    T = 2 * np.pi / w
    found = mbd.periodic(system, period=T, steps=20, method=RADAU)
    assert found.solution["body"].position[0, 0] == pytest.approx(X.real, rel=1e-7)
    assert found.solution["body"].velocity[0, 0] == pytest.approx((1j * w * X).real, rel=1e-7)
    exact = np.exp(T * np.roots([2.0, 0.8, 16.0]))
    assert all_of(found.multipliers) == pytest.approx(np.sort_complex(exact), rel=1e-7)
    errors = []
    for steps in (40, 80):
        alpha = mbd.periodic(system, period=T, steps=steps)
        errors.append(abs(alpha.solution["body"].position[0, 0] - X.real))
        run = mbd.simulate(system, 20 * T, T / steps, state=alpha.state,
                           method=mbd.GeneralizedAlpha(tol=1e-11))  # fmt: skip
        again = run["body"].position[::steps, 0]
        assert np.ptp(again) < 2.0 * errors[-1]
    assert errors[1] < 0.3 * errors[0]


def lagging(formulation):
    """Return a blade with a lag hinge on a driven hub, its weight across the axis."""
    system, words = mbd.System(gravity=(0, 0, -GRAVITY)), {"formulation": formulation}
    hub = system.add(mbd.RigidBody("hub", mass=5.0, inertia=(1, 1, 1), **words))
    shaft = system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Drive("motor", shaft, position=mbd.ConstantSpeed(W)))
    blade = system.add(mbd.RigidBody("blade", mass=MASS, inertia=(0.01, INERTIA, INERTIA),
                                     position=(OFFSET + ARM, 0, 0), **words))  # fmt: skip
    hinge = system.add(mbd.Revolute("hinge", hub, blade, at=(OFFSET, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.JointSpring("damper", hinge, damping=LAG))
    return system


@pytest.mark.parametrize("formulation", some(RIGID, 6))
def test_a_blade_under_its_weight_repeats_in_every_formulation(formulation):
    r"""I x'' + c x' + m e L W^2 sin x = m g L cos(W t + x); its multipliers: det = exp(-c T/I)."""
    found = mbd.periodic(lagging(formulation), rotor="shaft", speed=W, steps=30, method=RADAU)
    I, T = INERTIA + MASS * ARM**2, found.period

    def rate(t, z):
        moment = MASS * ARM * (GRAVITY * np.cos(W * t + z[0]) - OFFSET * W**2 * np.sin(z[0]))
        return [z[1], (moment - LAG * z[1]) / I]

    hinge = found.solution["hinge"]
    start = [hinge.angle[0], hinge.angle_rate[0]]
    exact = solve_ivp(rate, (0, T), start, method="DOP853", rtol=1e-11, atol=1e-12)
    assert np.ptp(hinge.angle) > 0.1
    assert exact.y[:, -1] == pytest.approx(start, abs=1e-7)
    assert np.prod(all_of(found.multipliers)).real == pytest.approx(np.exp(-LAG * T / I), rel=1e-6)
    assert found.stable
    assert found.residual < 1e-9
    turned = found.solution["shaft"].angle[-1] - found.solution["shaft"].angle[0]
    assert turned == pytest.approx(2 * np.pi, abs=1e-9)


@pytest.mark.parametrize("share", [0.9, 1.2])
def test_a_pendulum_stands_on_a_shaken_support(share):
    """Mathieu's equation; Kapitza's bound, a W > sqrt(2 g l)."""
    length, speed = 0.5, 60.0
    size = share * np.sqrt(2 * GRAVITY * length) / speed
    system = mbd.System(gravity=(0, 0, -GRAVITY))
    support = system.add(mbd.RigidBody("support", mass=1.0, inertia=(1, 1, 1)))
    rail = system.add(mbd.Prismatic("rail", system.ground, support, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("shaker", rail, position=mbd.Harmonic(size, speed)))
    bob = system.add(mbd.RigidBody("bob", mass=1.0, inertia=(1e-9,) * 3, position=(0, 0, length)))
    system.add(mbd.Revolute("pivot", support, bob, at=(0, 0, 0), axis=(0, 1, 0)))
    T = 2 * np.pi / speed
    found = mbd.periodic(system, period=T, steps=40, method=RADAU)

    def rate(t, z):
        x, v = z.reshape(2, 2)
        return np.concatenate([v, (GRAVITY - size * speed**2 * np.sin(speed * t)) / length * x])

    run = solve_ivp(rate, (0, T), np.eye(2).ravel(), method="DOP853", rtol=1e-11, atol=1e-13)
    exact = np.linalg.eigvals(run.y[:, -1].reshape(2, 2)).astype(complex)
    assert all_of(found.multipliers) == pytest.approx(np.sort_complex(exact), abs=1e-6)
    assert found.stable == (share > 1.0)


def test_three_motions_of_duffing_of_which_the_middle_one_is_unstable():
    """Harmonic balance: F^2 = ((k - m w^2 + 3/4 b A^2)^2 + (c w)^2) A^2."""
    k, c, b, F, w = 1.0, 0.1, 0.05, 0.5, 1.2
    a = k - w**2
    squares = np.sort(np.roots([(0.75 * b) ** 2, 1.5 * b * a, a**2 + (c * w) ** 2, -(F**2)]).real)
    model = oscillator(lambda t: F * np.cos(w * t), k, c, b, mass=1.0).build()
    for square, stable in zip(squares, (True, False, True), strict=True):
        x = F / (a + 0.75 * b * square + 1j * c * w)
        v = np.zeros(model.n_v)
        along = model.numbering.v_labels.index("body.x")
        v[along] = -w * x.imag
        d = np.zeros(model.n_v)
        d[along] = x.real
        start = model.moved(model.state, d).replace(v=v)
        found = mbd.periodic(model, start, period=2 * np.pi / w, steps=20, method=RADAU)
        motion = found.solution["body"]
        amplitude = 0.5 * np.ptp(motion.position[:, 0])
        assert amplitude == pytest.approx(abs(x), rel=0.02)
        assert found.stable == stable
        assert np.prod(all_of(found.multipliers)).real == pytest.approx(
            np.exp(-c * found.period), rel=1e-5
        )


@njit
def follows(t, memory):
    return 5.0 * np.cos(3.0 * t) - 2.0 * memory[0], 0.0, 0.0


@njit
def lag_of(v, memory, dt):
    return (v[0] + (memory[0] - v[0]) * np.exp(-dt / 0.3),)


def test_what_loads_remember_repeats():
    """A force that follows velocities by tau: its state is one more, of three."""
    tau, w = 0.3, 3.0
    system = oscillator(lambda t: 0.0)
    system.add(mbd.PointForce("wake", system.parts["body"], follows, memory=1, accept=lag_of))
    T = 2 * np.pi / w
    found = mbd.periodic(system, period=T, steps=200)
    X = 5.0 / (16.0 - 2 * w**2 + 0.8j * w + 2j * w / (1 + 1j * w * tau))
    assert found.solution["body"].position[0, 0] == pytest.approx(X.real, abs=0.02 * abs(X))
    A = np.array([[0, 1, 0], [-8.0, -0.4, -1.0], [0, 1 / tau, -1 / tau]])
    exact = np.exp(T * np.linalg.eigvals(A))
    apart = np.abs(np.sort(np.abs(all_of(found.multipliers))) - np.sort(np.abs(exact)))
    assert apart.max() < 0.02
    assert found.converged


@SLOW
@pytest.mark.filterwarnings("ignore:periodic. no motion")  # steps change the speed by 1e-6
def test_a_free_rotor_has_the_multipliers_of_floquet():
    """Nothing holds the speed: those of angle and speed are one, twice."""
    model = helicopter(3, **DAMPERS, first=0.0)
    found = mbd.periodic(model, rotor="shaft", speed=18.0, steps=400)
    exact = all_of(mbd.floquet(model, rotor="shaft", speed=18.0).multipliers)
    both = all_of(found.multipliers)
    for mu in exact[(np.abs(exact) > 0.1) & (exact != 1.0)]:
        assert np.abs(both - mu).min() < 1e-3
    assert (np.abs(both - 1.0) < 1e-2).sum() == 2
    assert found.residual < 1e-5


WRONG = {
    r"the load on 'body' \(laws of 'push'\) is not the same after 2 s": {"period": 2.0},
    "give period=": {},
    "period must be positive": {"period": -1.0},
    "rotor must": {"rotor": "nobody", "speed": 1.0},
    "speed must be a rate": {"system": lagging("so3"), "rotor": "hinge", "speed": 0.0},
    "the row 'motor.position' is not the same": {"system": lagging("so3"), "period": np.pi / W},
}


@pytest.mark.parametrize("says", WRONG)
def test_what_cannot_be_is_named(says):
    words = {"system": oscillator(lambda t: np.cos(3.0 * t))} | WRONG[says]
    with pytest.raises(ValueError, match=says):
        mbd.periodic(**words)


def test_what_does_not_repeat_is_told():
    resonant = oscillator(lambda t: np.cos(3.0 * t), stiffness=18.0, damping=0.0)
    with pytest.warns(RuntimeWarning, match=r"no motion of period .* changes 'body.x' by .* m"):
        found = mbd.periodic(resonant, period=2 * np.pi / 3.0, steps=10, method=RADAU)
    assert not found.converged
