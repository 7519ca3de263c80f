"""Gradients of long runs of which few states are kept."""

import numpy as np
import pytest

import mbd

NAMES = ["b0.mass", "b1.inertia.yy", "h0.at.z", "gravity.z", "k.stiffness"]
OBJECTIVE = mbd.Objective(
    terminal=lambda last: last["b1"].position[2] + last["h1"].angle,
    running=lambda run: run["b1"].velocity[:, 0] ** 2 + 1e-3 * run["h0"].force[:, 2],
)


def chain():
    """Two arms, with a spring that counts the turns of a hinge."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(2):
        body = system.add(
            mbd.RigidBody(f"b{i}", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0))
        )
        system.add(mbd.Revolute(f"h{i}", last, body, at=(i, 0, 0), axis=(0, 1, 0)))
        last = body
    system.add(mbd.JointSpring("k", system["h1"], stiffness=0.3))
    return system


@pytest.mark.parametrize(("t_end", "every"), [(0.3, 7), (0.305, 16)])
def test_pieces_give_the_gradient_of_the_whole(t_end, every):
    whole = mbd.gradient(OBJECTIVE, chain(), NAMES, t_end, 0.01)
    g = mbd.gradient(OBJECTIVE, chain(), NAMES, t_end, 0.01, every=every)
    assert g.value == pytest.approx(whole.value, rel=1e-9)
    assert np.abs(g.array - whole.array).max() <= 1e-8 * np.abs(whole.array).max()
    assert len(g.solution.t) <= 3 + 31 // every
    assert g.solution.t[-1] == pytest.approx(t_end)
    assert np.allclose(g.solution["b1"].position[-1], whole.solution["b1"].position[-1], atol=1e-9)


def test_what_does_not_go_in_pieces():
    stop = mbd.Event("stop", lambda s: s["b1"].position[:, 2] + 1, terminal=True)
    for options in ({"events": stop}, {"rtol": 1e-4}):
        with pytest.raises(ValueError, match="every= belongs to steps of one size"):
            mbd.gradient(OBJECTIVE, chain(), NAMES, 0.1, 0.01, every=3, **options)
    for every in (0, 1.5, "x"):
        with pytest.raises((ValueError, TypeError), match="every"):
            mbd.gradient(OBJECTIVE, chain(), NAMES, 0.1, 0.01, every=every)
