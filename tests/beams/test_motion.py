"""Beams in motion: frequencies, flying spaghetti, conservation, damping.

Frequencies of the Timoshenko beam by transfer matrices (40 digits); flying spaghetti computed
with Legendre polynomials of high order for the same equations (defined by Simo and Vu-Quoc).
"""

import time

import numpy as np
import pytest
from models.test_scenes import load

import mbd

from .test_statics import cantilever

E, NU, RHO, H = 210e9, 0.3, 7850.0, 0.05
STEEL = mbd.Section(
    stiffness=(
        E * H**2, *(5 / 6 * E / 2.6 * H**2,) * 2, E / 2.6 * 0.1406 * H**4, *(E * H**4 / 12,) * 2
    ),
    mass=RHO * H**2, inertia=(RHO * H**4 / 6, RHO * H**4 / 12, RHO * H**4 / 12),
)  # fmt: skip
CLAMPED = (261.9635645130101, 1622.577531532337, 4461.353438875138)
FREE = (1655.242174759962, 4488.591995188552, 8600.309606380784)


@pytest.mark.parametrize(("n", "clamped", "errors"), [
    (8, True, (-1.1e-4, 3.5e-3, 1.8e-2)),
    (8, False, (4.5e-3, 2.1e-2, -2.1e-2)),
    (16, True, (-6.9e-6, -6.8e-5, 2.9e-4)),
    (16, False, (-5.7e-6, 6.1e-4, 2.9e-3)),
])  # fmt: skip
def test_frequencies_have_the_errors_of_fitted_masses(n, clamped, errors):
    system = mbd.System()
    fixed = {"first": system.ground} if clamped else {}
    system.add(mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=STEEL, elements=n, **fixed))
    omega = np.sort(2 * np.pi * mbd.modes(system).frequency)
    exact = CLAMPED if clamped else FREE
    for want, error in zip(exact, errors, strict=True):
        got = omega[np.argsort(np.abs(omega / (want * (1 + error)) - 1))[:2]] / want - 1
        assert np.allclose(got, error, rtol=0.1, atol=2e-7)  # bending in both planes


SPAGHETTI = mbd.Section(stiffness=(1e4, 1e4, 1e4, 500, 500, 500), mass=1.0, inertia=(10, 10, 10))


def spaghetti(n, formulation="so3"):
    system = mbd.System()
    beam = system.add(mbd.Beam("beam", points=[(6, 0, 0), (0, 8, 0)], section=SPAGHETTI,
                               elements=n, formulation=formulation))  # fmt: skip

    def T(t):
        return 80 * t if t < 2.5 else max(400 - 80 * t, 0.0)

    system.add(mbd.PointForce("force", beam.first, lambda t: (T(t) / 10, 0, 0)))
    system.add(mbd.Moment("moment", beam.first, lambda t: (0, -T(t) / 2, -T(t))))
    return system


@pytest.mark.parametrize(
    ("n", "h", "error"),
    [(8, 0.02, (1.44e-2, 1.30e-3, -2.03e-2)), (16, 0.01, (3.99e-3, 4.3e-4, -5.44e-3))],
)
def test_flying_spaghetti(n, h, error):
    """Errors of a prototype of the same element, masses and step: order two."""
    solution = mbd.simulate(spaghetti(n), 3.8, h, method=mbd.GeneralizedAlpha(rho=0.9))
    exact = (13.3123806, 4.478583, 3.407526)
    assert np.allclose(solution[f"beam.{n}"].position[-1] - exact, error, rtol=0.02)


def free_beam(formulation, velocity=(1, -2, 0.5), **options):
    section = mbd.Section(stiffness=(2e3, 800, 800, 20, 20, 60), mass=1.0,
                          inertia=(4e-2, 1e-2, 3e-2))  # fmt: skip
    system = mbd.System()
    system.add(
        mbd.Beam("beam", points=[(0, 0, 0), (1.5, 0.5, 0), (2, 1.5, 0.5)], section=section,
                 elements=6, formulation=formulation, velocity=velocity,
                 angular_velocity=(3, 5, -4), **options)
    )  # fmt: skip
    return system


@pytest.mark.filterwarnings("ignore:steps of")  # coarse ones: what is conserved does not care
@pytest.mark.parametrize(("step", "order"), [(0.05, 2), (0.1, 2), (0.05, 4)])
def test_the_conserving_scheme_conserves(step, order):
    """Of the longer steps most have no solution near, and the iteration ends far away."""
    system = free_beam("directors", order=order)
    solution = mbd.simulate(system, 3.0, step, method=mbd.EnergyMomentum())
    energy = solution.energy.total
    assert np.ptp(solution.energy.potential) > 0.01 * energy[0]  # it is a violent motion
    assert np.ptp(energy) < 1e-11 * energy[0]
    assert np.ptp(solution.momentum.linear, axis=0).max() < 1e-11
    assert np.ptp(solution.momentum.angular, axis=0).max() < 1e-10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:steps of")
def test_the_conserving_scheme_conserves_over_many_steps():
    """Ten thousand steps, of which each adds less than the round-off of the energy."""
    system = free_beam("directors", velocity=(0, 0, 0))
    run = mbd.simulate(system, 100.0, 0.01, method=mbd.EnergyMomentum(), every=10)
    energy = run.energy.total
    assert run.stats["steps"] == 10_000
    assert np.abs(energy - energy[0]).max() < 1e4 * np.finfo(float).eps * energy[0]


@pytest.mark.slow
def test_a_rotor_runs_faster_than_real_time():
    """Three twisted blades and a tower of 20 elements each, 5 ms steps: 1 s in less than 1 s."""
    model = load("three_blade_rotor").build(20).build()
    mbd.simulate(model, 0.05, 5e-3)
    start = time.process_time()
    run = mbd.simulate(model, 1.0, 5e-3)
    assert time.process_time() - start < 1.0
    assert run.stats["steps"] == 200


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_energy_balance_with_damping(formulation):
    system = free_beam(formulation, damping=(0.01, 0.0, 0.02, 0.03, 0.01, 0.02))
    fine = [mbd.simulate(system, 0.5, h).energy for h in (2e-3, 1e-3)]
    drift = [np.abs(e.balance - e.balance[0]).max() for e in fine]
    assert fine[0].total[-1] < 0.998 * fine[0].total[0]
    assert drift[1] < 0.3 * drift[0]  # second order


def test_structural_damping_gives_the_ratio_of_a_mode():
    tau = 2e-4
    system = cantilever(4, STEEL, damping=tau)
    s = np.linalg.eigvals(mbd.linearize(system).A)
    s = s[np.abs(s.imag) > 1]
    first = s[np.argmin(np.abs(s))]
    assert -first.real / abs(first) == pytest.approx(tau * abs(first) / 2, rel=1e-6)
