"""Results of contacts: a run goes on from its end, energies, impacts, files; g = 9.81 m/s^2."""

import pickle

import numpy as np
import pytest

import mbd

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
