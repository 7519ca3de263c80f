"""Whatever a function of a user raises, wherever it is called, says which function it was."""

import numpy as np
import pytest
from scenes import hinged

import mbd

RUN = {"t_end": 0.02, "step": 1e-2}
CURVE = (np.array([0.0, 0.01, 0.02]), np.zeros(3))


def rod(mass=1.2, formulation="so3"):
    system, _, hinge = hinged(
        mass=mass, inertia=(0.1, 0.2, 0.3), position=(0.4, 0, 0), formulation=formulation
    )
    system.add(mbd.JointSpring("spring", hinge, stiffness=40.0, damping=0.3))
    return system


def optimize(what, **more):
    options = {"bounds": {"rod.mass": (0.5, 2.0)}} | more
    return mbd.optimize(what, rod(), ["rod.mass"], **options)


def study(build=rod, outputs=("hinge.angle",)):
    return mbd.study(build, {"mass": [1.0, 2.0]}, outputs=outputs, **RUN)


def told(done):
    """A study goes on, and says of each member why there is none."""
    assert set(done.status.values) == {1}
    raise RuntimeError(str(done.message.values[0]))


PLACES = {
    "optimize: the function of the values": optimize,
    "optimize: the function of the values ": lambda f: optimize(
        lambda p: p["rod.mass"], constraints={"limit": (f, None, 1.0)}
    ),
    "Objective: terminal": lambda f: optimize(mbd.Objective(terminal=f), **RUN),
    "Objective: running": lambda f: mbd.gradient(
        mbd.Objective(running=f), rod(), ["rod.mass"], **RUN
    ),
    "Objective: of": lambda f: mbd.gradient(
        mbd.Objective(terminal=lambda pose: 1.0, of=f), rod(), ["rod.mass"]
    ),
    "fit: the function of reach": lambda f: mbd.fit(
        rod(), {"reach": (f, *CURVE)}, ["rod.mass"], 1e-2
    ),
    "study: build": study,
    "study: the function of 'mine'": lambda f: told(study(outputs={"mine": f})),
    "study: the function of 'mine' ": lambda f: told(study(outputs={"mine": ("hinge.angle", f)})),
    "compare: build": lambda f: mbd.compare(f, steps=[1e-2], t_end=0.02),
    "bell: its function": lambda f: mbd.simulate(rod(), **RUN, events=mbd.Event("bell", f)),
    "bell at t = 0.01 s: its change": lambda f: mbd.simulate(
        rod(), **RUN, events=mbd.Event("bell", lambda s: s.t - 0.01, change=f)
    ),
}


@pytest.mark.parametrize("error", [KeyError, ZeroDivisionError, ValueError, OSError])
@pytest.mark.parametrize("place", PLACES)
def test_what_a_function_raises_has_its_name(place, error):
    def raises(*arguments, **options):
        raise error("no such gauge")

    with pytest.raises((RuntimeError, ValueError)) as caught:
        PLACES[place](raises)
    text = str(caught.value)
    if not (place == "compare: build" and error is ValueError):  # it says what it cannot build
        who, what = place.strip().split(": ")
        assert who in text
        assert f"{what} raised {error.__name__}: " in text
    assert "no such gauge" in text


def after(t_bad, value):
    """A quantity of a run that is no number after an instant."""
    return lambda run: np.where(run.t > t_bad, value, run["hinge"].angle)


NO_NUMBERS = {
    "optimize: .*, rod.mass = 1.2: the objective is {}": lambda x: optimize(lambda p: x),
    "optimize: .*, rod.mass = 1.2: the constraint 'limit' is {}": lambda x: optimize(
        lambda p: p["rod.mass"], constraints={"limit": (lambda p: x, None, 1.0)}
    ),
    "optimize: .*, rod.mass = 1.2: the derivative of the objective by 'rod.mass' is": (
        lambda x: optimize(lambda p: x if p["rod.mass"] > 1.2 else 1.0)
    ),
    "optimize: .*, rod.mass = 1.2: Objective: terminal must be finite, got {} at t = 0.02 s": (
        lambda x: optimize(mbd.Objective(terminal=lambda last: x), **RUN)
    ),
    "optimize: .*, rod.mass = 1.2: Objective: running must be finite, got {} at t = 0.02 s": (
        lambda x: optimize(mbd.Objective(running=after(0.015, x)), **RUN)
    ),
    "Objective: running must be finite, got {} at t = 0.01 s": lambda x: mbd.gradient(
        mbd.Objective(running=after(0.005, x)), rod(), ["rod.mass"], **RUN
    ),
    "fit: .*, rod.mass = 1.2: reach of the run is {} at t = 0.02 s": lambda x: mbd.fit(
        rod(), {"reach": (after(0.015, x), *CURVE)}, ["rod.mass"], 1e-2
    ),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("words", NO_NUMBERS)
def test_what_is_no_number_is_named_with_the_parameters_at_which(words, value):
    """What is computed, where, and with which values of the parameters."""
    with pytest.raises(ValueError, match=f"^{words.format(value)}"):
        NO_NUMBERS[words](value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_search_that_ends_at_what_is_no_number_says_so(value):
    """The least is beyond: it ends beside it, without success, and names what and where."""
    best = optimize(lambda p: -p["rod.mass"] if p["rod.mass"] < 1.5 else value)
    assert not best.success
    assert 1.4 < best["rod.mass"] < 1.5
    assert "the objective" in best.message
    assert "(rod.mass = 1.49" in best.message
    assert all(p["rod.mass"] > 1.49 for p, _ in best.failures)
