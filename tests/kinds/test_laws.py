"""Laws from a user: Python and numba give the same numbers; what they raise reaches the user."""

import math

import numba
import numpy as np
import pytest
from recipes import Raw
from scenes import hinged, with_point

import mbd
from mbd.model.workspace import Workspace


def tension(u, rate, t):
    return 30 * (u - 0.4) + 2 * rate + math.sin(5 * t)


def tension_with_derivatives(u, rate, t):
    return 30 * (u - 0.4) + 2 * rate + math.sin(5 * t), 30.0, 2.0


def push(t):
    return math.sin(3 * t), 0.2, 1.0 - t


def swing(law, load=push):
    """Return a bar on a ball joint with a spring to ground, driven by a load."""
    system, bar, _ = hinged("bar", "pin", kind="Spherical", inertia=(0.01, 0.1, 0.1))
    system.add(mbd.Spring("cord", system.ground, bar, at=(0, 0.1, 0.7), to=(0.8, 0, 0), law=law))
    system.add(mbd.PointForce("push", bar, load, at=(0.9, 0, 0)))
    return system


METHOD = mbd.GeneralizedAlpha(tol=1e-10)


def run(*laws, t_end=0.1):
    return mbd.simulate(swing(*laws), t_end, 1e-3, method=METHOD)


@pytest.fixture(scope="module")
def python_run():
    return run(tension_with_derivatives)


def test_python_and_numba_laws_agree(python_run):
    compiled = run(numba.njit(tension_with_derivatives), numba.njit(push))
    assert np.array_equal(compiled.q, python_run.q)
    assert np.array_equal(compiled.lam, python_run.lam)
    assert compiled.stats["iterations"] == python_run.stats["iterations"]


def test_derivatives_are_found_when_not_given(python_run):
    found = run(tension)
    assert np.allclose(found.q, python_run.q, rtol=0, atol=1e-9)
    assert found.stats["iterations"] <= python_run.stats["iterations"] + 5
    compiled = run(numba.njit(tension))
    assert np.allclose(compiled.q, found.q, rtol=0, atol=1e-12)


def test_a_linear_law_is_the_linear_spring():
    def build(**options):
        system, _ = with_point("m", position=(1, 0, 0))
        system.add(mbd.Spring("s", system.ground, system["m"], **options))
        return mbd.simulate(system, 0.5, 1e-3)

    one = build(stiffness=20.0, damping=0.3, length=0.7)
    two = build(law=lambda u, rate, t: (20.0 * (u - 0.7) + 0.3 * rate, 20.0, 0.3))
    assert np.allclose(one.q, two.q, rtol=0, atol=1e-13)
    assert np.ptp(one.q[:, 0]) > 0.1


def test_a_law_of_time_is_evaluated_at_the_end_of_the_step():
    system, _ = with_point("m", mass=2.0)
    system.add(mbd.PointForce("f", system["m"], lambda t: (4 * t, 0, 0)))
    solution = mbd.simulate(system, 0.3, 1e-2)
    assert np.allclose(solution["m"].acceleration[:, 0], 2 * solution.t, rtol=0, atol=1e-12)


def test_an_exception_at_the_start_is_raised_at_once():
    def law(u, rate, t):
        raise KeyError("no such table")

    with pytest.raises(ValueError, match="cord: its law .* raised KeyError: 'no such table'"):
        swing(law)


def test_an_exception_in_assemble_is_raised():
    calls = []

    def law(u, rate, t):
        calls.append(t)
        if len(calls) > 1:
            raise ValueError("second call")
        return tension_with_derivatives(u, rate, t)

    system = swing(law)
    with pytest.raises(RuntimeError, match="cord: its law raised ValueError: second call"):
        system.build()


def test_a_jitted_law_may_divide_by_zero():
    """As in numpy: the quotient is infinite, the step fails by name; nothing is raised below."""

    @numba.njit(error_model="numpy")
    def law(u, rate, t):
        return 1.0 / (u - u), 0.0, 0.0

    with pytest.raises(ValueError, match="singular|not finite"):
        mbd.consistent(swing(law).build())


def test_wrong_number_of_values():
    with pytest.raises(ValueError, match=r"cord: the law must return a tension, or"):
        swing(lambda u, rate, t: (1.0, 2.0))
    with pytest.raises(ValueError, match=r"push: the law of time must return 3 components"):
        swing(tension, lambda t: (1.0, 2.0))


def test_a_part_from_outside_runs_beside_the_others():
    """A user's part made of elements of the library needs no registration."""
    system = swing(tension)
    extra = mbd.Spring("inner", system["bar"], system.ground, to=(0, 0, 1), stiffness=10.0)
    raw = Raw("outside", extra.bodies, extra.elements())
    system.add(raw)
    work = Workspace(system.build())
    work.evaluate()
    assert mbd.simulate(system, 0.01, 1e-3).success
