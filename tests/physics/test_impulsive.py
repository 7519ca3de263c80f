"""Work of changes at events: recorded, and counted by the balance of energies."""

import warnings

import numpy as np
import pytest
from families import spread

import mbd
from physics.test_large_steps import two_links

RADAU = {"method": mbd.RadauCollocation(), "step": None, "rtol": 1e-8}
WAYS = {
    "alpha": lambda end: {},
    "every": lambda end: {"every": 7},
    "adaptive": lambda end: {"step": None, "rtol": 1e-6},
    "radau": lambda end: RADAU,
    "t_eval": lambda end: {"t_eval": np.linspace(0.0, end, 41)},
    "explicit": lambda end: {"method": mbd.ExplicitRungeKutta()},
    "runge-kutta": lambda end: {"method": mbd.LieRungeKutta4()},
}


@pytest.fixture(autouse=True)
def strict():
    """Let warnings be errors: nobody is told of steps too large."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def bounce(e, t_end=0.8, state=None, **options):
    """Return the run of a ball that falls from 1 m and is thrown back."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=2.0, position=(0, 0, 1), velocity=(1, 0, 0)))
    hit = mbd.Event(
        "hit", lambda s: s["ball"].position[:, 2], direction=-1,
        change=lambda model, state: state.replace(v=state.v * (1, 1, -e)),
    )  # fmt: skip
    return mbd.simulate(system, t_end, **({"step": 1e-3} | options), events=hit, state=state)


def clutch(speed, formulation="so3", t_end=0.4, engage=True, **options):
    """Return the run of a bar that turns freely on a rod, until a clutch holds it for a while."""
    system = mbd.System(gravity=(0, 0, -9.81))
    rod = mbd.RigidBody("rod", mass=1.3, inertia=(0.02, 0.1, 0.09), position=(0.7, 0, 0),
                        formulation=formulation)  # fmt: skip
    bar = mbd.RigidBody("bar", mass=0.5, inertia=(0.02, 0.1, 0.09), position=(1.4, 0, 0),
                        angular_velocity=(0, speed, 0), formulation=formulation)  # fmt: skip
    for part in (rod, bar):
        system.add(part)
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Revolute("elbow", rod, bar, at=(1.4, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Fixed("clutch", rod, bar, at=(1.4, 0, 0)))

    def a_turn(s):
        return np.where(s.t < 0.35, abs(s["elbow"].angle) - 2 * np.pi, 1.0)

    events = [
        mbd.Event("engage", a_turn, lock="clutch"),
        mbd.Event("let go", lambda s: s.t - 0.36, release="clutch"),
    ]
    return mbd.simulate(
        system, t_end, **({"step": 1e-3} | options), off="clutch", events=events if engage else ()
    )


def steps_at_events(run):
    """Return how the balance changes from one side of an event to the other [J]."""
    return np.diff(run.energy.balance)[np.diff(run.t) == 0.0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("e", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_a_ball_loses_what_restitution_takes(e, way):
    """The balance closes to round-off, with the sum of 1 - e^2 of m g h over all impacts."""
    t_end = 0.8 if e > 0.3 else 0.5
    run = bounce(e, t_end, **WAYS[way](t_end))
    n, energy = len(run.events), run.energy
    assert n >= 1
    assert energy.impulsive[-1] == pytest.approx(-2 * 9.81 * (1 - e ** (2 * n)), abs=1e-9)
    assert np.ptp(energy.balance) < 1e-12 * energy.kinetic.max()
    assert energy.conservative == (e == 1.0)


@pytest.mark.parametrize("options", [{}, RADAU], ids=["alpha", "radau"])
@spread(
    formulation=["so3", "se3", "unified", "euler_parameters", "directors"],
    speed=[20.0, -40.0, 80.0],
)
def test_a_lock_takes_energy_and_a_release_none(speed, formulation, options):
    """The balance is closed to round-off there, and as good as a run of that method has it."""
    run = clutch(speed, formulation, **options)
    plain = clutch(speed, formulation, engage=False, **options)
    energy, size = run.energy, run.energy.kinetic.max()
    assert [x.name for x in run.events] == ["engage", "let go"]
    assert np.abs(steps_at_events(run)).max() < 1e-12 * size
    assert len(steps_at_events(run)) == 2
    allowed = (1e-8 if options else 1e-4) * size  # of the methods, without events too
    assert max(np.ptp(energy.balance), np.ptp(plain.energy.balance)) < allowed
    before, behind = np.flatnonzero(np.diff(run.t) == 0.0)[0] + np.arange(2)
    lost = energy.kinetic[before] - energy.kinetic[behind]
    assert lost > 0.03 * speed**2 * 0.5  # of the bar beside the rod
    assert energy.impulsive[behind] == pytest.approx(-lost, rel=1e-12)
    assert abs(energy.impulsive[-1] + lost) < 1e-6 * size


def test_changes_of_positions_count_with_their_potential_energy():
    """A ball that is lifted, and one whose spring is stretched at once."""
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=2.0, position=(0, 0, 1)))
    system.add(mbd.Spring("spring", system.ground, ball, stiffness=30.0, length=1.0))
    lift = mbd.Event("lift", lambda s: s.t - 0.1003,
                     change=lambda model, state: state.replace(q=state.q * 1.5))  # fmt: skip
    run = mbd.simulate(system, 0.3, 1e-4, events=lift)
    assert run.energy.impulsive[-1] > 1.0
    assert np.abs(steps_at_events(run)).max() < 1e-13


def test_it_is_kept_in_files_streams_and_pieces(tmp_path):
    run = bounce(0.5, stream=tmp_path / "stream.nc")
    want = bounce(0.5)
    want.save(tmp_path / "run.nc")
    want.save(tmp_path / "run.npz")
    want.save(tmp_path / "raw.nc", quantities=["q", "v", "a"])
    files = ["stream.nc", "run.nc", "run.npz", "raw.nc"]
    for other in (run, *(mbd.load(tmp_path / x) for x in files)):
        assert np.array_equal(other.energy.impulsive, want.energy.impulsive)
        assert np.array_equal(other.energy.balance, want.energy.balance)
    pieces = [x.energy.impulsive for x in want.blocks(100)]
    assert np.array_equal(np.concatenate(pieces), want.energy.impulsive)
    assert np.array_equal(want.part(slice(700, 800)).energy.impulsive, pieces[7])


@pytest.mark.parametrize("stop", [0.3, 0.6])
def test_a_run_that_goes_on_counts_from_its_own_start(stop):
    whole, half = bounce(0.5), bounce(0.5, t_end=stop)
    rest = bounce(0.5, state=half.state)
    total = half.energy.impulsive[-1] + rest.energy.impulsive[-1]
    assert total == pytest.approx(whole.energy.impulsive[-1], abs=1e-10)
    assert rest.energy.impulsive[0] == 0.0


def test_members_of_a_study_have_their_own():
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=2.0, position=(0, 0, 1)))
    hit = mbd.Event("hit", lambda s: s["ball"].position[:, 2], direction=-1,
                    change=lambda model, state: state.replace(v=-0.5 * state.v))  # fmt: skip
    masses = [1.0, 2.0, 5.0]
    done = mbd.study(system, {"ball.mass": masses}, t_end=0.6, step=1e-3, events=[hit],
                     outputs=[("energy.impulsive", "final"), ("energy.balance", "final")],
                     )  # fmt: skip
    lost = np.asarray(done["energy.impulsive final"])
    assert np.allclose(lost, -0.75 * 9.81 * np.array(masses), rtol=1e-9)
    assert np.allclose(done["energy.balance final"], 9.81 * np.array(masses), rtol=1e-12)
    assert "".join(np.asarray(done["message"]).tolist()) == ""


def test_an_event_hides_no_steps_that_are_too_large():
    """The balance is looked at behind changes too."""
    brake = mbd.Event("brake", lambda s: s.t - 3.0,
                      change=lambda model, state: state.replace(v=0.99 * state.v))  # fmt: skip
    with pytest.warns(RuntimeWarning, match=r"steps of 0.3 s .* balance of energies departs by"):
        mbd.simulate(two_links(5.0), 6.0, 0.3, events=brake)
