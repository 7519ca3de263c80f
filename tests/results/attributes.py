"""A user's file for type checkers: they know the attributes of results, and what is wrong.

``.ci/run`` checks it: each line that is ignored must be an error, and no other one.
"""

import numpy as np

import mbd

solution = mbd.simulate(mbd.System(), t_end=1.0, step=1e-3)
loaded = mbd.load("run.nc")
for results in (solution, loaded):
    position: np.ndarray = results["rod"].position
    force: np.ndarray = results["hinge"].force
    angle: np.ndarray = results["hinge"].angle + results["hinge"].angle_rate
    load: np.ndarray = results["motor"].load
    tip: np.ndarray = results["rod"].at((0, 0, 1)).velocity
    moment: np.ndarray = results["hinge"].reaction().moment
    energy: np.ndarray = results.energy.kinetic + results.energy.balance
    momentum: np.ndarray = results.momentum.angular
    results["hinge"].foce  # type: ignore[attr-defined]  # noqa: B018
    results["rod"].positon  # type: ignore[attr-defined]  # noqa: B018
    results.energy.kinetik  # type: ignore[attr-defined]  # noqa: B018
face: np.ndarray = solution.body("rod").y
first: np.ndarray = solution.joint("hinge").reaction(on="first").force
solution.body("rod").reaktion()  # type: ignore[attr-defined]
