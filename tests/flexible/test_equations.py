"""Equations of bodies with modes: sums over mass points, tangents, conserved quantities."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbd
from mbd.analyses.conformance import random_state
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

from .meshes import beam, ends, lattice

# few shapes on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")

ROOT = Path(__file__).parents[2]
M, K, X = lattice(stiffness=2e5)
FORMULATIONS = ("so3", "directors")


def bar(formulation="so3", **options):
    options = {"modes": 3, "damping": 0.02} | options
    return mbd.FlexibleBody("bar", M, K, X, ends(X), formulation=formulation, **options)


def alone(body, gravity=(1.3, -0.7, -9.81)):
    system = mbd.System(gravity=gravity)
    system.add(body)
    return system


def tension():
    """A stiffness across the axis of the lattice, as its tension under a spin has; any will do."""
    across = np.zeros((60, 60))
    for i in range(20):
        for j in range(i):
            if abs(X[i, 0] - X[j, 0]) > 0.1:
                for c in (1, 2):
                    a, b = 3 * i + c, 3 * j + c
                    across[[a, b, a, b], [a, b, b, a]] += np.array([1, 1, -1, -1]) * 1e-3
    return {"zz": across, "yy": 1.1 * across, "xy": 0.3 * across}


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_inertia_forces_are_sums_over_mass_points(formulation):
    body = bar(formulation, damping=0.0)
    model = alone(body).build()
    rng, law = np.random.default_rng(7), body.formulation
    for _ in range(5):
        n_q, n_v = law.n_q - 3, law.n_v - 3
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        q, v = body.q_and_v(rng.normal(size=3), turn, rng.normal(size=3), rng.normal(size=3))
        q[n_q:], v[n_v:] = 0.3 * rng.normal(size=(2, 3))
        state = random_state(model, rng)
        state = state.replace(q=q, v=v)
        work = Workspace(model, state)
        work.evaluate(1.0)
        residual = work.vector(m.X)[model.numbering.v].copy()
        y, yd, _ = (work.vector(x, 84).reshape(7, 4, 3)[1:].copy() for x in (m.Y, m.YD, m.YDD))
        work.rates()
        ydd = work.vector(m.YDD, 84).reshape(7, 4, 3)[1:].copy()

        # points x = (1, X + sum p psi) y, their accelerations, forces m (x'' - g)
        psi, mass = body.nodal.values, M.diagonal()[::3]
        p, pd = q[n_q:], v[n_v:]
        w0 = np.column_stack([np.ones(20), X])
        w = w0 + np.column_stack([np.zeros(20), psi @ p])
        local = [np.column_stack([np.zeros(20), psi @ x]) for x in (pd, state.a[n_v:])]
        acceleration = w @ ydd[0] + 2 * local[0] @ yd[0] + local[1] @ y[0]
        f = mass[:, None] * (acceleration - model.system.gravity)
        on_face = w.T @ f
        on_modes = np.einsum("nc,nkj,kc->j", f, psi, y[0, 1:]) + psi_K(psi) @ p
        a, b, c = y[0, 1:]
        if formulation == "so3":
            moment = sum(np.cross(d, x) for d, x in zip((a, b, c), on_face[1:], strict=True))
            expected = np.concatenate([on_face[0], moment, on_modes])
        else:
            lam = state.lam
            L = np.array(
                [[lam[0], lam[5], lam[4]], [lam[5], lam[1], lam[3]], [*lam[4:2:-1], lam[2]]]
            )
            on_face[1:] += L @ y[0, 1:]
            expected = np.concatenate([on_face.ravel(), on_modes])
        assert np.allclose(residual, expected, rtol=0, atol=3e-14 * np.abs(expected).max())

        # kinetic energy of the points, by the faces that carry mass
        velocity = w @ yd[0] + local[0] @ y[0]
        W = body.mass_matrix
        both = yd.reshape(-1, 3)
        energy = 0.5 * np.einsum("ic,ij,jc->", both, W, both)
        assert energy == pytest.approx(0.5 * (mass * (velocity**2).sum(1)).sum(), rel=6e-14)


def psi_K(psi):
    flat = psi.reshape(-1, 3)
    return flat.T @ K @ flat


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_tangents_are_derivatives_with_everything_that_may_be_attached(formulation):
    body = bar(formulation, geometric_stiffness=tension(), rayleigh=(0.3, 1e-4))
    system = alone(body)
    other = system.add(
        mbd.RigidBody("other", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(1.1, 0.2, 0.1))
    )
    left, right = body.interface("left"), body.interface("right", (0.1, 0.05, 0.02))
    system.add(mbd.Revolute("hinge", system.ground, body, at=body.patches["left"], axis=(0, 1, 0)))
    eye = mbd.Frame(other, (0.1, -0.2, 0.3))
    system.add(mbd.Spring("spring", eye, right, stiffness=30.0, damping=2.0, length=0.2))
    system.add(mbd.PointForce("follower", right, (1.0, -2.0, 0.7), follow=True))
    system.add(mbd.Moment("moment", left, (0.4, 0.1, -0.3), follow=True))
    system.add(mbd.PointForce("on the frame", body, (0.3, 0.2, 0.1)))
    assert mbd.check_tangents(system).ok
    for part in ("hinge", "spring", "follower", "moment"):
        assert mbd.check_part(system[part]).ok


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_elements_with_mass_on_interfaces(formulation):
    body = bar(formulation)
    other = mbd.RigidBody("other", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(1.1, 0.2, 0.1))
    right = body.interface("right", (0.1, 0.05, 0.02))
    matrix = np.random.default_rng(5).normal(size=(6, 6))
    assert mbd.check_part(mbd.BarMass("rod", right, other, mass=0.7)).ok
    assert mbd.check_part(mbd.AddedMass("water", right, matrix @ matrix.T)).ok
    assert mbd.check_part(mbd.AddedMass("mud", body, matrix @ matrix.T)).ok


_EVERY_FRAME = """
import mbd
from mbd.formulations import NAMES, named
from tests.flexible.test_equations import alone, bar
for name in NAMES:
    if named(name).second_maps is None:
        continue
    system = alone(bar(name))
    right = system["bar"].interface("right", (0.1, 0.05, 0.02))
    system.add(mbd.PointForce("follower", right, (1.0, -2.0, 0.7), follow=True))
    system.add(mbd.AddedMass("water", right, (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)))
    assert mbd.check_tangents(system).ok
    print(name)
"""


@pytest.mark.slow
def test_every_frame_that_says_how_it_accelerates_carries_modes():
    """In plain Python: nothing to compile."""
    run = subprocess.run(
        [sys.executable, "-c", _EVERY_FRAME], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.stdout.split() == [
        "so3",
        "directors",
        "euler_parameters",
        "scalable",
        "se3",
        "unified",
    ]


def test_a_free_body_has_the_frequencies_of_its_matrices():
    body = bar(damping=0.0)
    modes = mbd.modes(mbd.equilibrium(alone(body, (0, 0, 0))))
    elastic = sorted(x.frequency for x in modes if x.frequency > 1.0)
    assert elastic == pytest.approx(body.frequencies, rel=1e-9)
    labels = [x.label for x in modes]
    assert labels[-3:] == ["deformation of 'bar'"] * 3
    assert labels[:3] == [f"free translation along {c} of 'bar'" for c in "xyz"]
    damped = mbd.modes(mbd.equilibrium(alone(bar(damping=(0.01, 0.02, 0.03)), (0, 0, 0))))
    ratios = [x.damping for x in damped if x.frequency > 1.0]
    assert ratios == pytest.approx([0.01, 0.02, 0.03], rel=1e-6)


def test_modes_of_a_symmetric_body_come_in_pairs():
    M, K, x = beam(6, 1.0, 1e5, 40.0, 30.0, 30.0, 1.3)
    body = mbd.FlexibleBody("rod", M, K, x, {"left": [0], "right": [6]}, modes=3)
    assert body.frequencies[0] == pytest.approx(body.frequencies[1], rel=1e-9)
    modes = mbd.modes(mbd.equilibrium(alone(body, (0, 0, 0))))
    frequencies = [mode.frequency for mode in modes if mode.frequency > 1.0]
    assert frequencies == pytest.approx(body.frequencies, rel=1e-8)
    assert np.isfinite(modes.shapes).all()
    ends_ = np.abs(modes.shapes[-3:, -3:]).max(axis=0)
    assert ((ends_ > 0.1) & (ends_ < 10)).all()  # of the size of the model


@pytest.mark.parametrize("stiffened", [False, True])
def test_a_free_body_in_violent_motion_keeps_energy_and_momenta(stiffened):
    more = {"geometric_stiffness": tension()} if stiffened else {}
    system = alone(
        bar(damping=0.0, velocity=(0.3, 0.2, -0.1), angular_velocity=(9.0, -20.0, 30.0), **more),
        (0, 0, 0),
    )
    method = mbd.RadauCollocation()
    solution = mbd.simulate(system, 0.05, 5e-4, method=method)
    assert np.abs(solution["bar"].modal).max() > 1e-5
    assert np.ptp(solution.energy.total) < 1e-9 * solution.energy.kinetic[0]
    momentum = solution.momentum
    assert np.allclose(momentum.linear, 1.2 * np.array([0.3, 0.2, -0.1]) + rigid(), atol=1e-9)
    angular = momentum.angular + (geometric_momentum(solution["bar"]) if stiffened else 0.0)
    size = np.abs(angular[0]).max()
    assert np.abs(angular - angular[0]).max() < 1e-9 * size


def geometric_momentum(bar):
    """Angular momentum of geometric stiffness: S = p K p, G = S - tr S / 2."""
    u, S = bar.modal @ bar.body.nodal.values.reshape(60, 3).T, np.zeros((len(bar.modal), 3, 3))
    for (a, b), A in zip(((2, 2), (1, 1), (0, 1)), tension().values(), strict=True):
        half = 0.5 * np.einsum("ti,ij,tj->t", u, A, u)
        S[:, a, b] += half
        S[:, b, a] += half
    G = S - 0.5 * np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    d, rates = bar.y[:, 1:], bar.yd[:, 1:]
    return np.cross(d, G @ rates).sum(axis=1)


def rigid():
    """Momentum of the turn about the origin of the frame, where the velocity is told."""
    mass = M.diagonal()[::3]
    return np.cross((9.0, -20.0, 30.0), mass @ X)


def test_damping_takes_what_energy_loses():
    system = alone(bar(damping=0.05, angular_velocity=(0.0, 0.0, 40.0)), (0, 0, 0))
    solution = mbd.simulate(system, 0.05, 5e-4, method=mbd.RadauCollocation())
    lost = solution.energy.total[0] - solution.energy.total
    assert solution.energy.dissipated[-1] > 0
    assert np.allclose(lost, solution.energy.dissipated, atol=2e-3 * lost[-1])


def test_both_formulations_move_alike():
    runs = []
    for formulation in FORMULATIONS:
        system = alone(bar(formulation, angular_velocity=(3.0, -7.0, 11.0)))
        runs.append(mbd.simulate(system, 0.05, 2.5e-4, order=4))
    one, two = runs
    assert np.allclose(one["bar"].position, two["bar"].position, atol=1e-7)
    assert np.allclose(one["bar"].modal, two["bar"].modal, atol=1e-7)
    assert np.allclose(one["bar/left"].position, two["bar/left"].position, atol=1e-7)
