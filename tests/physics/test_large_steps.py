"""Runs that reach their end by steps too large for their motion say so, and no others."""

import warnings

import numpy as np
import pytest
from hard.linkages import linkage
from hard.published import outcome
from models.test_scenes import load
from scenes import chain, spinning_disc, two_links

import mbd
from mbd.cli import main
from mbd.machine import buffer as m
from mbd.runs.large_steps import energy_departure, paces_of, step_errors


def sum_of_errors(solution, h, in_a_row=True):
    """Return what the errors of all steps of a run add up to."""
    c, order = solution.method.facts.error
    paces = paces_of(solution.v, solution.a, solution.model.units, order)
    return step_errors(paces, np.diff(solution.t), h, c, in_a_row)[0]


@pytest.mark.parametrize(("rate", "step"), [(5.0, 0.3), (11.0, 0.15), (0.3, 0.8)])
def test_links_that_turn_far_within_a_step(rate, step):
    """The energy is off by more than it is."""
    with pytest.warns(RuntimeWarning, match=r"steps of .* too large .* departs by .* such as"):
        run = mbd.simulate(two_links(rate), 20 * step, step)
    assert run.success
    assert "; warning: steps of " in run.message
    advice = float(run.message.split("such as ")[1].split(" s")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = mbd.simulate(two_links(rate), min(20 * step, 2.0), advice)
    assert np.ptp(good.energy.total) < 0.02 * good.energy.kinetic.max()


@pytest.mark.parametrize("every", [1, 50])
def test_energy_tells_where_steps_are_not_all_kept(every):
    """A cart of a millionth is thrown back in 4e-7 s: no step sees it, and the energy is lost."""
    with pytest.warns(RuntimeWarning, match="balance of energies departs by [1-9]"):
        mbd.simulate(load("cart_pole").build(), 1.0, 1e-3, every=every)


@pytest.mark.parametrize(("scene", "step", "t_end", "options"), [
    ("elastic_crank", 1e-2, 0.1, {}),
    ("flexible_rod", 3e-3, 0.1, {}),
    ("planetary_gear", 1e-2, 1.0, {"formulation": "directors"}),
])  # fmt: skip
def test_energy_tells_where_steps_are_coarse_for_drives(scene, step, t_end, options):
    """A rod swings within the steps of its crank: poses are right, and power is not resolved."""
    with pytest.warns(RuntimeWarning, match=r"balance of energies departs by .* such as"):
        mbd.simulate(load(scene).build(**options), t_end, step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbd.simulate(load(scene).build(**options), t_end, step / 5)


@pytest.mark.parametrize(("formulation", "step"), [("directors", 6e-3), ("euler_parameters", 1e-2)])
def test_errors_of_steps_tell_where_energy_stays(formulation, step):
    """A disc at 40 rad/s about a fixed axis: its angle lags by a radian or two in ten seconds."""
    system = spinning_disc(formulation)
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    with pytest.warns(RuntimeWarning, match=r"errors of steps add up .* of 'disc\."):
        run = mbd.simulate(system, 10.0, step, method=method)
    assert np.ptp(run.energy.total) < 0.02 * run.energy.kinetic.max()
    assert abs(run["axle"].angle[-1] - 400.0) > 1.0


@pytest.mark.parametrize(
    "method", [mbd.GeneralizedAlpha(0.8), mbd.EnergyMomentum(), mbd.LieRungeKutta4()]
)
def test_errors_of_steps_are_those_of_the_method(method):
    """A mass on a spring: what is estimated is of the size of the error, and of its order."""

    def run(h):
        system = mbd.System()
        mass = mbd.PointMass("mass", mass=1.0, position=(1.2, 0, 0))
        system.add(mass)
        system.add(mbd.Spring("spring", system.ground, mass, stiffness=25.0, length=1.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            solution = mbd.simulate(system, 3.0, h, method=method)
        error = np.abs(solution["mass"].position[:, 0] - 1 - 0.2 * np.cos(5 * solution.t)).max()
        return error / solution.model.F[m.LENGTH], sum_of_errors(solution, h)

    order = 4 if isinstance(method, mbd.LieRungeKutta4) else 2
    errors, estimates = np.array([run(h) for h in (0.04, 0.02)]).T
    assert np.all((errors / 2 < estimates) & (estimates < 32 * errors))
    assert abs(np.log2(estimates[0] / estimates[1]) - order) < 0.3


def test_what_a_damper_or_a_drive_does_in_one_step_is_no_alarm():
    """Sums over time are wrong there, and the motion is right: as far as sums may be wrong."""
    system = mbd.System()
    mass = mbd.PointMass("mass", mass=1.0, position=(1, 0, 0), velocity=(2, 0, 0))
    system.add(mass)
    system.add(mbd.Spring("damper", system.ground, mass, stiffness=0.0, length=1.0, damping=300.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = mbd.simulate(system, 0.5, 1e-2)
    balance = run.energy.balance
    assert np.ptp(balance) > 0.03 * run.energy.kinetic.max()
    assert energy_departure(run, 1e-2, True) < 0.03


def test_changes_at_events_take_energy():
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, position=(0, 0, 1)))
    bounce = mbd.Event(
        "bounce", lambda s: s["ball"].position[:, 2], direction=-1,
        change=lambda model, state: state.replace(v=-0.5 * state.v),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = mbd.simulate(system, 0.6, 1e-3, events=bounce)
    assert len(run.events) == 1
    assert np.ptp(run.energy.total) > 1.0


def test_the_command_line_says_it_too(tmp_path, capsys):
    file = tmp_path / "links.py"
    file.write_text(
        "from scenes import two_links\n"
        "RUN = {'t_end': 6.0, 'step': 0.3}\n\n\ndef build():\n    return two_links(5.0)\n"
    )
    assert main(["run", str(file), "--quiet"]) == 0
    assert "warning: steps of 0.3 s are too large" in capsys.readouterr().err


def test_published_outcomes_are_judged_by_the_same_energies():
    x = outcome(two_links(5.0), 6.0, 0.3)
    assert x.departure > 0.5
    assert any("too large" in w for w in x.warnings)


def driven_arm(frequency):
    """Two arms, the first one driven to and fro."""
    system = chain(2, joint="Revolute", mass=1.5, inertia=(0.01, 0.1, 0.1))
    turn = mbd.Harmonic(amplitude=0.8, frequency=frequency, phase=np.pi / 2, mean=-0.8)
    system.add(mbd.Drive("motor", system["pin 0"].angle, position=turn))
    return system


@pytest.mark.parametrize("every", [1, 2, 6])
@pytest.mark.parametrize(("frequency", "step"), [(6.0, 0.03), (5.0, 0.04)])
def test_driven_runs_are_judged_whichever_steps_are_kept(every, frequency, step):
    """Their energies tell nothing, since work is not known between instants."""
    system = driven_arm(frequency)
    with pytest.warns(RuntimeWarning, match="errors of steps add up to"):
        mbd.simulate(system, 200 * step, step, every=every)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbd.simulate(system, 20 * step, step / 60, every=every)


@pytest.mark.parametrize("every", [2, 5, 8])
def test_what_some_instants_tell_is_a_bound_of_what_all_do(every):
    system = two_links(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, some = (mbd.simulate(system, 2.0, 0.02, every=n) for n in (1, every))
    total, bound = sum_of_errors(whole, 0.02), sum_of_errors(some, 0.02, in_a_row=False)
    assert 0.2 * total < bound <= total * (1 + 1e-9)


def test_a_stream_has_the_warning_in_its_outcome(tmp_path):
    path = tmp_path / "links.nc"
    with pytest.warns(RuntimeWarning, match="too large"):
        run = mbd.simulate(two_links(5.0), 6.0, 0.3, stream=path)
    assert "; warning: steps of " in run.message
    read = mbd.load(path)
    assert read.message == run.message
    assert read.success
    assert np.array_equal(read.q, run.q)


@pytest.mark.parametrize("level", ["velocity", "stabilized"])
def test_a_step_across_a_singular_pose_that_throws_bodies_is_told(level):
    """Positions hardly feel the impulse, dampers hide the energy from a sample of instants."""
    method = mbd.GeneralizedAlpha(constraints=level)
    with pytest.warns(RuntimeWarning, match="the balance of energies departs by"):
        mbd.simulate(linkage(40456), 0.2, 1e-3, method=method, project=True)


def test_a_step_that_throws_light_bodies_at_the_end_is_told():
    """The last step passes a pose at which 5e7 rad/s^2 act: 2.7 % of the energy, 14 mm are lost.

    Half a step does the same, so no comparison of steps shows it; steps of 1e-5 s, free steps and
    collocation agree on the end.
    """
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    with pytest.warns(RuntimeWarning, match=r"the balance of energies departs by 2\.[5-9] %"):
        mbd.simulate(linkage(48637), 0.2, 1e-3, method=method, project=True)
