"""A matrix that is kept for speed is in no equation: results do not know when it was made."""

import numpy as np
from families import spread
from scenes import GRAVITY, chain
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID

# of the largest reaction: multipliers of positions carry round-off of these over the step squared
WITHIN = {"position": 1e-8, "velocity": 1e-10, "stabilized": 1e-10}


def arm(formulation, turn):
    """Three links that fall, with all of the scene turned."""
    return chain(
        3, (formulation,), joint="Revolute", gravity=turn.apply(GRAVITY),
        axis=lambda i: turn.apply([(0, 1, 0), (0, 0.6, 0.8), (0, 1, 0)][i]),
        along=turn.apply((1, 0, 0)), mass=lambda i: 1.0 + i, inertia=(0.02, 0.1, 0.12),
        rotation=turn,
    )  # fmt: skip


@spread(level=WITHIN, formulation=RIGID)
def test_modified_and_full_newton_and_a_turned_scene_agree(formulation, level):
    turn = Rotation.from_euler("xyz", (0.3, 0.7, -0.4))

    def run(turn, newton):
        method = mbd.GeneralizedAlpha(tol=1e-12, constraints=level, newton=newton)
        return mbd.simulate(arm(formulation, turn), 0.6, 2e-3, method=method)

    one = run(Rotation.identity(), "modified")
    full, turned = run(Rotation.identity(), "full"), run(turn, "modified")
    for i in range(3):
        for quantity in ("force", "moment"):
            mine = getattr(one[f"pin {i}"], quantity)
            size = WITHIN[level] * np.abs(mine).max()
            assert np.abs(getattr(full[f"pin {i}"], quantity) - mine).max() < size
            back = getattr(turned[f"pin {i}"], quantity) @ turn.as_matrix()
            assert np.abs(back - mine).max() < size
        mine = one[f"bar {i}"].velocity
        assert np.abs(full[f"bar {i}"].velocity - mine).max() < 1e-9 * np.abs(mine).max()
