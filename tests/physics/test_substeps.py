"""Steps that fail are taken in smaller ones; order, grid, records, events and bits stay."""

import warnings

import numpy as np
import pytest
from models.test_scenes import load
from scenes import chain

import mbd
from mbd.integration.substeps import in_substeps
from mbd.runs.stretch import Stretch

pytestmark = pytest.mark.filterwarnings("ignore:steps of .* are too large:RuntimeWarning")


def squeezer(t_end=0.03, **options):
    """Return a run of Andrews' mechanism with steps in which its crank makes most of a turn."""
    return mbd.simulate(load("andrews").build(), t_end, 3e-3, **options)


def test_a_step_that_fails_is_taken_in_smaller_ones_and_the_run_says_so():
    run = squeezer()
    assert run.success
    assert run.stats["divided_steps"] >= 1
    assert run.stats["substeps"] > 10
    assert f"{run.stats['divided_steps']:.0f} of 10 steps failed and w" in run.message
    assert f"in {run.stats['substeps']:.0f} smaller ones, the first to t = 0.0" in run.message
    assert np.allclose(run.t, 3e-3 * np.arange(11), rtol=0, atol=1e-16)
    assert run.gap.max() < 1e-8


def test_a_run_has_so_many_smaller_steps_in_all(monkeypatch):
    """Then it ends, with what it has and why: steps that need thousands each are too large."""
    most = squeezer().stats["substeps"] // 2
    monkeypatch.setattr("mbd.base.tolerances.SUBSTEP_ALL", most)
    run = squeezer(raise_on_failure=False)
    assert not run.success
    assert "try a smaller step" in run.message
    assert run.stats["substeps"] <= 1.01 * most


@pytest.mark.parametrize("speed", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_a_step_that_is_hopeless_ends_at_once_and_says_why(formulation, speed):
    """A top that turns by 5e4 rad in a step and more: 40 000 evaluations were spent on it."""
    system, omega = mbd.System(), np.array([0.3, 0.4, 1.0]) * speed
    top = mbd.RigidBody(
        "top", mass=1.0, inertia=(1e-2, 1.5e-2, 2e-2), position=(0.5, 0, 0),
        angular_velocity=omega, velocity=np.cross(omega, (0.5, 0, 0)), formulation=formulation,
    )  # fmt: skip
    system.add(top)
    system.add(mbd.Spherical("pin", system.ground, top, at=(0, 0, 0)))
    run = mbd.simulate(system, 0.1, 0.05, raise_on_failure=False)
    assert not run.success
    assert "'top.x' moves by" in run.message
    assert run.stats["evaluations"] < 3_000


def test_records_events_and_bits_do_not_feel_smaller_steps():
    """Events go back to the start of a piece of the run and take its steps anew."""
    plain = squeezer()
    late = mbd.Event("late", lambda state: state.t - 0.0291)
    watched, every = squeezer(events=late, progress=False), squeezer(every=3)
    assert len(watched.events) == 1
    assert np.array_equal(plain.q, watched.q)
    assert np.array_equal(plain.lam, watched.lam)
    assert plain.message == watched.message
    assert np.array_equal(every.q, plain.q[[0, 3, 6, 9, 10]])


def test_an_iteration_that_went_astray_is_no_contradiction_of_rows(monkeypatch):
    """Where no smaller steps are left the message is that of the step, not of its last iterate."""
    monkeypatch.setattr("mbd.integration.substeps.in_substeps", lambda *_: (0, 0))
    system = load("flexible_rod").build(formulation="euler_parameters")
    run = mbd.simulate(system, 0.1, 1e-2, raise_on_failure=False)
    assert not run.success
    assert "Newton did not converge" in run.message
    assert "contradict" not in run.message


@pytest.mark.parametrize("level", ["position", "velocity", "stabilized"])
def test_order_two_of_all_unknowns_stays(monkeypatch, level):
    """Every eighth step of a swinging rod with a turning disc is taken in smaller ones."""

    def rod():
        system = mbd.System(gravity=(0, 0, -9.81))
        spin = np.array([0.5, 3.0, 4.0])
        body = mbd.RigidBody(
            "rod", mass=2.0, inertia=(0.02, 0.3, 0.31), position=(0.7, 0, 0),
            angular_velocity=spin, velocity=np.cross(spin, (0.7, 0, 0)),
        )  # fmt: skip
        system.add(body)
        system.add(mbd.Spherical("pin", system.ground, body, at=(0, 0, 0)))
        return system

    method = mbd.GeneralizedAlpha(constraints=level)
    exact = mbd.simulate(rod(), 0.8, 1e-4)
    steps = Stretch.steps

    def every_eighth(self, n, kernel=None):
        if self.done % 8 == 7:
            assert in_substeps(self.work, self.method, 1000)[0] >= 2
            self.done += 1
            return 1, 0
        return steps(self, min(n, 7 - self.done % 8), kernel)

    monkeypatch.setattr(Stretch, "steps", every_eighth)
    for what in ("q", "v", "lam"):
        errors = [
            np.abs(
                getattr(mbd.simulate(rod(), 0.8, h, method=method), what)[-1]
                - getattr(exact, what)[-1]
            ).max()
            for h in (1e-2, 5e-3)
        ]
        assert 3.2 < errors[0] / errors[1] < 5.2, (what, errors)


def test_a_step_with_a_singular_matrix_is_passed():
    """A spring so negative that the matrix of the first step vanishes: u'' = 128^2 u + f."""
    system, step = mbd.System(), 2.0**-6  # weights are powers of two at rho = 1
    one = system.add(mbd.PointMass("one", mass=1.0, position=(1, 0, 0)))
    system.add(mbd.Spring("s", system.ground, one, stiffness=-(2.0**14), length=1.0))
    system.add(mbd.PointForce("f", one, (1.0, 0, 0)))
    run = mbd.simulate(system, step, step, method=mbd.GeneralizedAlpha(rho=1.0))
    assert run.stats["divided_steps"] == 1
    exact = (np.cosh(2.0) - 1) / 2**14
    assert abs(run["one"].position[-1, 0] - 1.0 - exact) < 0.1 * exact


def chain_with(fast, where, formulation):
    """Return five links that swing, and a small body on one of them that is much faster."""
    system = chain(5, (formulation,), joint="Revolute", inertia=(0.01,) * 3)
    options = {"formulation": formulation}
    at, carrier = (where + 0.5, 0, 0), system[f"bar {where}"]
    if fast == "spin":
        body = mbd.RigidBody(
            "fast", mass=0.1, inertia=(1e-3, 1.5e-3, 2e-3), position=at,
            angular_velocity=(180, 200, 220), **options,
        )  # fmt: skip
        system.add(body)
        system.add(mbd.Spherical("axle", carrier, body, at=at))
        return system
    small = mbd.RigidBody(
        "fast", mass=0.01, inertia=(1e-5,) * 3, position=at - np.array([0, 0, 0.1]), **options
    )
    system.add(small)
    axle = system.add(mbd.Revolute("axle", carrier, small, at=at, axis=(0, 1, 0)))
    system.add(mbd.JointSpring("spring", axle, law=lambda u, rate, t: 1e4 * (u - 0.3) ** 3))
    return system


@pytest.mark.parametrize("fast", ["spin", pytest.param("spring", marks=pytest.mark.slow)])
def test_smaller_steps_name_the_body_that_they_are_for(fast):
    """The fast one, wherever it is, and steps of which none fails."""
    divided = set()
    some = ("so3", 0), ("so3", 2), ("so3", 4), ("directors", 0), ("euler_parameters", 2)
    for formulation, where in some:
        for step in (0.05, 0.02):
            system = chain_with(fast, where, formulation)
            run = mbd.simulate(system, 2 * step, step, raise_on_failure=False)
            if not run.stats["divided_steps"]:
                continue
            divided.add(where)
            words = run.message.split("most of them for ")[1]
            assert words.startswith("'fast."), words
            advised = float(words.split("steps of ")[1].split(" s")[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # multipliers may oscillate
                finer = mbd.simulate(system, 50 * advised, advised)
            assert finer.stats["divided_steps"] == 0
    assert divided == {0, 2, 4}
