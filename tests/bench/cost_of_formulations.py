"""Cost of a step in every formulation relative to so3, on chains with ball joints and with hinges.

Run it with ``python tests/bench/cost_of_formulations.py``; ``--forms`` adds the forms that are no
default. The formulations run by turns in one process, so that they share the noise of the machine.
What else runs there only ever adds time: shown are microseconds per step of the fastest run of all
turns, their ratio to so3, and Newton iterations and factorisations per step. On a busy machine take
more ``--turns``.
"""

from __future__ import annotations

import argparse

import mbd
from mbd.formulations import NAMES
from mbd.formulations.formulation import Formulation

STEP, METHOD = 1e-3, mbd.GeneralizedAlpha(rho=0.8)
INERTIA = (1 / 60, 1 / 60 + 10 / 12, 1 / 60 + 10 / 12)
FORMS: dict[str, str | Formulation] = {
    "euler full B1": mbd.EulerParameters("full", "B1"),
    "euler reduced B1": mbd.EulerParameters("reduced", "B1"),
    "euler projected": mbd.EulerParameters("projected"),
    "scalable u": mbd.Scalable(velocities="u"),
    "so3 cayley": mbd.SO3("cayley"),
    "se3 cayley": mbd.SE3("cayley"),
    "tetrahedral": mbd.Unified("tetrahedral"),
}


def chain(n: int, joint: str, formulation: str | Formulation) -> mbd.Model:
    """Return a chain of bars that hangs from its left end, horizontal at first."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        bar = mbd.RigidBody(
            f"bar {i}", mass=10.0, inertia=INERTIA, position=(i + 0.5, 0, 0),
            formulation=formulation,
        )  # fmt: skip
        system.add(bar)
        if joint == "spherical":
            system.add(mbd.Spherical(f"joint {i}", last, bar, at=(i, 0, 0)))
        else:
            system.add(mbd.Revolute(f"joint {i}", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
        last = bar
    return system.build()


def compare(
    n: int, joint: str, t_end: float, turns: int, chosen: dict[str, str | Formulation]
) -> None:
    """Print the table of one chain."""
    models = {name: chain(n, joint, formulation) for name, formulation in chosen.items()}
    spent = dict.fromkeys(models, float("inf"))
    cost = {}
    for turn in range(turns + 1):
        for name, model in models.items():
            run = mbd.simulate(model, t_end, STEP, method=METHOD, every=1_000_000, progress=False)
            cost[name] = [
                run.stats[k] / run.stats["steps"] for k in ("iterations", "factorizations")
            ]
            if turn:  # the first one may compile
                spent[name] = min(spent[name], 1e6 * run.stats["seconds"] / run.stats["steps"])
    print(f"{joint} chain of {n}, {t_end:g} s at {STEP:g} s, {turns} turns")
    print(f"  {'formulation':18} {'us/step':>9} {'ratio':>6} {'Newton':>7} {'factor.':>8}")
    for name, best in spent.items():
        iterations, factorizations = cost[name]
        print(
            f"  {name:18} {best:>9.2f} {best / spent['so3']:>6.2f} {iterations:>7.2f} "
            f"{factorizations:>8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--sizes", default="1,10,100", help="numbers of bars, with commas")
    parser.add_argument("--forms", action="store_true", help="also the forms that are no default")
    options = parser.parse_args()
    chosen: dict[str, str | Formulation] = {name: name for name in NAMES}
    if options.forms:
        chosen |= FORMS
    for joint in ("spherical", "hinged"):
        for n in map(int, options.sizes.split(",")):
            compare(n, joint, max(0.02, 1.0 / n), options.turns, chosen)
