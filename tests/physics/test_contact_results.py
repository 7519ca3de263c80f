"""Results of contacts: a run goes on from its end, energies, impacts, files; g = 9.81 m/s^2."""

import pickle
import warnings

import numpy as np
import pytest
from scenes import with_body, with_point

import mbd
from mbd.history.joints import OF_CONTACT

G, H = 9.81, 2e-3


def scene(name):
    """Return the model of a scene, and the end of its run [s]."""
    a = np.radians(25 if name == "stick" else 0)
    system = mbd.System(gravity=(-G * np.sin(a), 0, -G * np.cos(a)))
    motion, law = {
        "bounce": ({"position": (0, 0, 1.1), "velocity": (4, 0, 0)}, (0.2, 0.5)),
        "roll": ({"position": (0, 0, 0.1), "velocity": (2, 0, 0)}, (0.2, 0.0)),
        "stick": ({"position": (0, 0, 0.1)}, (0.6, 0.0)),
        "slide": ({"position": (0, 0, 0.1), "velocity": (1, 0, 0)}, (0.4, 0.0)),
        "turn": (
            {"position": (0, 0, 0.1), "velocity": (2, 0.3, 0), "angular_velocity": (0, 0, 3)},
            (0.2, 0.0),
        ),
    }[name]
    feet = [mbd.Sphere(0.02, at=(*x, -0.08)) for x in ((0.1, 0), (-0.06, 0.09), (-0.05, -0.1))]
    shape = {"bounce": mbd.Sphere(0.1), "roll": mbd.Sphere(0.1), "turn": feet}
    body = system.add(
        mbd.RigidBody(
            "body", mass=1.0, inertia=(4e-3,) * 3, shape=shape.get(name, mbd.Box((0.3, 0.3, 0.2))),
            **motion,
        )
    )  # fmt: skip
    system.add(mbd.Contact("floor", system.ground, body, friction=law[0], restitution=law[1]))
    return system.build(), 1.6 if name == "bounce" else 0.4


@pytest.mark.parametrize("name", ["bounce", "roll", "stick", "slide", "turn"])
def test_a_run_goes_on_from_its_end(name, tmp_path):
    """From every kind of file with the same bits; as one run, to what iterations leave of a step.

    That is zero where the matrix is the same at all poses, whenever it was factored.
    """
    model, t_end = scene(name)
    whole = mbd.simulate(model, t_end, H)
    for part in (0.26, 0.7):
        k = round(part * t_end / H)
        half = mbd.simulate(model, k * H, H, stream=tmp_path / "stream.nc")
        rest = mbd.simulate(model, t_end, H, state=half.state)
        for one, other in ((whole.q, rest.q), (whole.v, rest.v), (whole.lam, rest.lam)):
            assert np.abs(one[k:] - other).max() <= (
                {"turn": 1e-4, "slide": 1e-7, "roll": 1e-20}.get(name, 0.0)
            )
        half.save(tmp_path / "run.npz")
        half.save(tmp_path / "run.nc", quantities=["q", "v", "a", "multipliers"])
        states = [mbd.load(tmp_path / x).state for x in ("stream.nc", "run.nc", "run.npz")]
        for state in (*states, pickle.loads(pickle.dumps(half.state))):
            again = mbd.simulate(model, t_end, H, state=state)
            assert (again.q == rest.q).all()
            assert (again.lam == rest.lam).all()


def test_a_state_that_was_changed_begins_anew():
    model, _ = scene("slide")
    state = mbd.simulate(model, 0.1, H).state
    assert len(state.set_valued) == len(model.places_set_valued)
    assert state.replace(step=1e-3).set_valued is state.set_valued
    for change in ({"v": 0.5 * state.v}, {"q": state.q}, {"alg": None}):
        assert state.replace(**change).set_valued is None
    slower = mbd.simulate(model, 0.2, H, state=state.replace(v=0.0 * state.v))
    assert np.abs(slower.v).max() < 1e-12
    with pytest.raises(ValueError, match=r"state.set_valued must be \d+ finite numbers for this"):
        mbd.simulate(model, 0.2, H, state=state.replace(set_valued=np.zeros(3)))


def thrown(height, speed, friction, restitution):
    """Return a ball of 1 kg and 0.1 m, solid, above a floor."""
    system, ball = with_body(
        "ball", gravity=(0, 0, -G), inertia=(4e-3,) * 3, shape=mbd.Sphere(0.1),
        position=(0, 0, 0.1 + height), velocity=(speed, 0, 0),
    )  # fmt: skip
    system.add(
        mbd.Contact("floor", system.ground, ball, friction=friction, restitution=restitution)
    )
    return system


@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_friction_and_impacts_take_what_they_must(h):
    """Sliding to rolling: m v^2/7. A fall: m g z (1 - e^2). Both: sliding through the impact.

    That takes P_T (v - 7/4 P_T/m), P_T = mu (1 + e) m u: after it the slip is v - 7/2 P_T/m.
    """
    slides = mbd.simulate(thrown(0.0, 2.0, 0.2, 0.0), 0.6, h).energy
    assert slides.friction[-1] == pytest.approx(4 / 7, abs=1e-13)
    assert not slides.impacts.any()
    assert np.ptp(slides.balance) < 1e-13
    falls = mbd.simulate(thrown(1.0, 0.0, 0.2, 0.5), 0.6, h)
    assert falls.energy.impacts[-1] == pytest.approx(0.75 * G, abs=60 * h)
    assert np.abs(falls.energy.friction).max() < 1e-15
    both = mbd.simulate(thrown(1.0, 9.0, 0.2, 0.5), 0.6, h)
    P = 0.3 * np.sqrt(2 * G)
    lost = 0.75 * G + P * (9.0 - 1.75 * P)
    assert both.energy.impacts[-1] == pytest.approx(lost, abs=60 * h)
    (P, *_), u, after = (
        x[0] for x in (both.impacts.impulse, both.impacts.before, both.impacts.after)
    )
    assert both.impacts.impulse[0, 1:] == pytest.approx([-0.2 * P, 0], abs=1e-12)
    in_it = 0.5 * (u[0] ** 2 - after[0] ** 2) + 0.2 * P * (9.0 - 0.35 * P)
    assert both.impacts.lost[0] == pytest.approx(in_it, abs=1e-12)
    for run in (falls, both):
        assert len(run.impacts) == 1
        assert run.impacts.lost[0] == pytest.approx(run.energy.impacts[-1], abs=1e-13)
        sums = run.energy.friction + run.energy.impacts + run.energy.impulsive
        assert np.abs(sums).max() < 1e-13
    for name in OF_CONTACT:
        assert np.array_equal(
            getattr(both["floor"], name), getattr(mbd.contacts(both, "floor"), name)
        )
    with pytest.raises(AttributeError, match="did you mean 'gap'"):
        both["floor"].gaps  # noqa: B018
    none, _ = with_point("p", velocity=(1, 0, 0))
    free = mbd.simulate(none, 0.1, 1e-2)
    assert not np.stack([free.energy.friction, free.energy.impacts]).any()
    assert len(free.impacts) == 0
    assert not {"friction_loss", "impact_loss", "impacts", "set_valued"} & {
        *free.to_xarray().variables
    }


def test_an_event_that_gives_energy_is_no_error_of_steps():
    """A kick between two bounces: the balance knows it, nobody is told of steps too large."""
    kick = mbd.Event(
        "kick", lambda s: s.t - 0.6, change=lambda model, state: state.replace(v=1.5 * state.v)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = mbd.simulate(thrown(1.0, 4.0, 0.2, 0.5), 2.0, H, events=kick)
    energy = run.energy
    given = energy.impulsive[-1] + energy.friction[-1] + energy.impacts[-1]
    assert given == pytest.approx(np.diff(energy.total)[np.diff(run.t) == 0.0].sum(), abs=1e-12)
    assert given > 5.0
    assert len(run.impacts) == 1 + len(run.impacts["floor"].t[run.impacts.t > 0.6])


def check_lines(impacts):
    """Each line obeys the laws by itself: Newton's, Coulomb's, the work of its impulse."""
    P, u, after = impacts.impulse, impacts.before, impacts.after
    assert (P[:, 0] > 0).all()
    assert (u[:, 0] < 0).all()
    assert (after[:, 0] > -1e-12).all()
    assert (np.linalg.norm(P[:, 1:], axis=1) <= 0.4 * P[:, 0] * (1 + 1e-9)).all()
    assert impacts.lost == pytest.approx(-0.5 * ((u + after) * P).sum(1), abs=1e-12)
    assert (np.diff(impacts.t) >= 0).all()


@pytest.mark.parametrize("options", [{"every": 50}, {"stream": "run.nc"}, {"events": True}])
def test_no_impact_is_lost(options, tmp_path):
    """Thinned, streamed, with events between: the lines of the run that keeps all steps."""
    system, box = with_body(
        "box", gravity=(0, 0, -G), mass=3.0, inertia=(0.0125, 0.025, 0.0325),
        shape=mbd.Box((0.3, 0.2, 0.1)), position=(0, 0, 0.35), velocity=(1, 0, 0),
        angular_velocity=(4, 5, 6),
    )  # fmt: skip
    system.add(mbd.Contact("floor", system.ground, box, friction=0.4, restitution=0.3))
    plain = mbd.simulate(system, 1.0, H)
    lines = plain.impacts.numbers
    assert len(lines) > 20
    check_lines(plain.impacts)
    if "events" in options:
        low = mbd.Event("low", lambda s: s["box"].position[:, 2] - 0.2)
        stop = mbd.Event("stop", lambda s: s.t - 0.6003, terminal=True)
        run = mbd.simulate(system, 1.0, H, events=[low, stop])
        lines = lines[plain.impacts.t < 0.6003]
        assert len(run.events) > 1
    else:
        options = {k: tmp_path / x if k == "stream" else x for k, x in options.items()}
        run = mbd.simulate(system, 1.0, H, **options)
    assert (run.impacts.numbers == lines).all()
    balls = mbd.contacts(run, "floor")
    assert balls.impulse[-1] == pytest.approx(
        [lines[lines[:, 1] == k, 2].sum() for k in range(8)], abs=1e-12
    )
    rubbed = balls.dissipated[-1].sum() - lines[:, -2].sum()
    assert rubbed == pytest.approx(run.energy.friction[-1], abs=0.1 if "every" in options else 0.02)
    assert sum(len(x.impacts) for x in run.blocks(40)) == len(lines)
    assert run.energy.impacts[-1] == pytest.approx(lines[:, -2].sum(), abs=0.02)


def test_a_log_that_is_full_is_emptied(monkeypatch):
    """However few lines there is room for, all are kept, and steps are the same bits."""
    model, t_end = scene("bounce")
    plain = mbd.simulate(model, t_end, H)
    monkeypatch.setattr("mbd.runs.stretch._CHUNK_IMPACTS", 1)
    small = mbd.simulate(model, t_end, H)
    assert (small.impacts.numbers == plain.impacts.numbers).all()
    assert (small.q == plain.q).all()


def test_impacts_and_losses_in_files(tmp_path):
    model, t_end = scene("bounce")
    run = mbd.simulate(model, t_end, H)
    run.save(tmp_path / "run.nc")
    run.save(tmp_path / "run.npz")
    run.save(tmp_path / "few.nc", quantities=["q", "v", "a", "multipliers"])
    for name in ("run.nc", "run.npz", "few.nc"):
        again = mbd.load(tmp_path / name)
        assert (again.impacts.numbers == run.impacts.numbers).all()
        assert (again.energy.impacts == run.energy.impacts).all()
        assert (again.energy.friction == run.energy.friction).all()
        assert again.impacts["floor"].part.tolist() == ["floor"] * len(run.impacts)
    table = run.impacts.to_csv(tmp_path / "impacts.csv").read_text().splitlines()
    assert table[0].startswith("t [s],element,impulse.normal [N s],impulse.slip 1 [N s]")
    assert len(table) == 1 + len(run.impacts)
    assert table[1].split(",")[1] == "floor.0"
    assert float(table[1].split(",")[2]) == run.impacts.impulse[0, 0]
    assert run.to_xarray()["impacts"].shape == (len(run.impacts), 13)
    assert "floor.0" in str(run.impacts)
    assert len(str(run.impacts).splitlines()) == 2 + len(run.impacts)
    with pytest.raises(KeyError, match="'body' is no part with impacts; there are: floor"):
        run.impacts["body"]


def test_impacts_of_a_closed_loop():
    system = thrown(1.0, 0.0, 0.2, 0.5)
    push = system.add(mbd.PointForce("push", system["ball"], (0.0, 0.0, 0.0)))
    hold = mbd.Controller("hold", ["ball.position"], ["push.force"], law=lambda t, x: (0, 0, 0),
                          every=0.01)  # fmt: skip
    assert push.name == "push"
    loop = mbd.closed_loop(system, hold, 1.0, H, method=mbd.NonsmoothAlpha())
    plain = mbd.simulate(system, 1.0, H)
    assert len(plain.impacts) == 2
    assert loop.solution.impacts.numbers == pytest.approx(plain.impacts.numbers, abs=1e-9)


def on_rail(name):
    """Return a mass of 1 kg on a rail, or in a bearing, with what is set-valued on it."""
    if name == "swings":
        system = mbd.System(gravity=(0, 0, -G))
        x = (0.6 * np.sin(1.2), 0, -0.6 * np.cos(1.2))
        rod = system.add(mbd.RigidBody("rod", mass=1.0, inertia=(0.12,) * 3, position=x))
        hinge = system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
        system.add(mbd.DryFriction("bearing", hinge, coefficient=0.4, radius=0.1))
        return system.build()
    system = mbd.System()
    start = {"rubs": {"position": (0.35, 0, 0)}, "stops": {"velocity": (1.3, 0, 0)}}[name]
    mass = system.add(mbd.RigidBody("mass", mass=1.0, inertia=(1, 1, 1), **start))
    rail = system.add(mbd.Prismatic("rail", system.ground, mass, at=(0, 0, 0), axis=(1, 0, 0)))
    if name == "rubs":
        system.add(mbd.JointSpring("spring", rail, stiffness=100.0, reference=-0.35))
        system.add(mbd.DryFriction("rub", rail, force=2.0))
    else:
        system.add(mbd.Stop("stop", rail, lower=-0.1, upper=0.25, restitution=0.8))
    return system.build()


def test_losses_on_joint_coordinates():
    """2 N over nine half cycles, of 0.66 m and 0.08 m less each; stops take 1 - e^2 each time."""
    rubs = mbd.simulate(on_rail("rubs"), 3.5, 1e-3)
    way = sum(0.66 - 0.08 * k for k in range(9))
    assert rubs.energy.friction[-1] == pytest.approx(2 * way, abs=1e-4)
    assert len(rubs.impacts) == 0
    stops = mbd.simulate(on_rail("stops"), 2.0, 1e-3)
    impacts = stops.impacts["stop"]
    speeds = 1.3 * 0.8 ** np.arange(1 + len(impacts))
    assert len(impacts) == 4
    assert impacts.before[:, 0] == pytest.approx(-speeds[:-1], abs=1e-12)
    assert impacts.after[:, 0] == pytest.approx(speeds[1:], abs=1e-12)
    assert impacts.lost == pytest.approx(0.5 * (speeds[:-1] ** 2 - speeds[1:] ** 2), abs=1e-12)
    assert impacts.ball.tolist() == [(1 + k) % 2 for k in range(len(impacts))]
    assert not impacts.impulse[:, 1:].any()
    assert impacts.restitution.tolist() == [0.8] * len(impacts)
    assert stops.energy.impacts[-1] == pytest.approx(0.5 * (1.3**2 - speeds[-1] ** 2), abs=1e-12)


@pytest.mark.parametrize("name", ["rubs", "stops", "swings"])
def test_runs_of_joint_coordinates_go_on(name):
    """With the history of the reaction in a bearing, which its friction follows."""
    model, h = on_rail(name), 2 * H
    whole = mbd.simulate(model, 6.0, h)
    for k in (120, 240, 708, 1164):
        rest = mbd.simulate(model, 6.0, h, state=mbd.simulate(model, k * h, h).state)
        assert np.abs(whole.q[k:] - rest.q).max() < 1e-15
        assert np.abs(whole.lam[k:] - rest.lam).max() < 1e-12


def test_islands_have_losses_of_their_own():
    """A ball that slides takes no part in the impact of another one: what both take is the sum."""
    balls = [("slides", 0.0, 2.0, 0.0), ("falls", 1.0, 4.0, 0.7)]

    def run(some):
        system = mbd.System(gravity=(0, 0, -G))
        for y, (name, height, speed, e) in enumerate(some):
            body = mbd.RigidBody(
                name, mass=1.0, inertia=(4e-3,) * 3, shape=mbd.Sphere(0.1),
                position=(0, y, 0.1 + height), velocity=(speed, 0, 0),
            )  # fmt: skip
            system.add(body)
            floor = mbd.Contact(f"under {name}", system.ground, body, friction=0.2, restitution=e)
            system.add(floor)
        return mbd.simulate(system, 0.6, H)

    one, other, both = run(balls[:1]).energy, run(balls[1:]).energy, run(balls).energy
    assert one.friction[-1] == pytest.approx(4 / 7, abs=1e-13)
    assert both.friction == pytest.approx(one.friction + other.friction, abs=1e-13)
    assert both.impacts == pytest.approx(other.impacts, abs=1e-12)
