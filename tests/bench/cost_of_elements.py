"""Cost of an element in one linearisation and one evaluation, on 100 bodies in a chain.

Run it with ``python tests/bench/cost_of_elements.py``; ``--tree`` names another checkout that is
measured by turns with this one. Shown are nanoseconds per element of the fastest of all turns: the
maps of its attachments and its part of the matrix (tangent), its forces and rows (forces); of a
body the same for its own part. What else runs on the machine only ever adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mbd
from mbd.interactions.kind import Element
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace
from mbd.parts.part import Part

N = 100


def ball_joint(system: Any, i: int, one: Any, two: Any) -> None:
    """Hold two bodies by a point."""
    system.add(mbd.Spherical(f"joint {i}", one, two, at=(i, 0, 0)))


def hinge(system: Any, i: int, one: Any, two: Any) -> None:
    """Hold two bodies by a hinge."""
    system.add(mbd.Revolute(f"joint {i}", one, two, at=(i, 0, 0), axis=(0, 1, 0)))


def drive(system: Any, i: int, one: Any, two: Any) -> None:
    """Drive a hinge."""
    joint = system.add(mbd.Revolute(f"joint {i}", one, two, at=(i, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Drive(f"drive {i}", joint, position=mbd.ConstantSpeed(0.1)))


def bushing(system: Any, i: int, one: Any, two: Any) -> None:
    """Hold two bodies by a bushing with dampers."""
    system.add(
        mbd.Bushing(f"b {i}", one, two, at=(i, 0, 0), stiffness=(1e5,) * 6, damping=(10.0,) * 6)
    )


def spring(system: Any, i: int, one: Any, two: Any) -> None:
    """Join two bodies by a spring and damper."""
    ends = {"at": (i - 0.5, 0, 0.2), "to": (i + 0.5, 0, 0.1)}
    system.add(mbd.Spring(f"s {i}", one, two, **ends, stiffness=1e3, damping=1.0))


def rotational(system: Any, i: int, one: Any, two: Any) -> None:
    """Hold a hinge by a rotational spring."""
    joint = system.add(mbd.Revolute(f"joint {i}", one, two, at=(i, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.RotationalSpring(f"r {i}", joint, stiffness=10.0, damping=1.0))


def slip(system: Any, i: int, one: Any, two: Any) -> None:
    """Roll a ball on another body: one offset row, two rows of slip on eight attachments."""
    centre = two.position
    system.add(
        mbd.RollingBall(f"roll {i}", one, two, radius=0.3, at=centre, through=centre - (0, 0, 0.3))
    )


def beam(system: Any, i: int, one: Any, two: Any, damping: float = 0.0) -> None:
    """Hold two bodies by the element of a beam that has other nodes too."""
    section = mbd.Section(stiffness=(1e5, 1e5, 1e5, 100, 100, 100), mass=1.0)
    one_element = mbd.Beam(f"b {i}", points=[(i - 0.5, 0, 0), (i + 0.5, 0, 0)], section=section,
                           elements=1, damping=damping)  # fmt: skip
    system.add(_Between(f"between {i}", one, two, one_element.elements()[0]))


class _Between(Part):
    """The element of a beam between two bodies."""

    def __init__(self, name: str, one: Any, two: Any, element: Element) -> None:
        self.name, self.ends, self.element = name, (one.frame(), two.frame()), element

    ends: Any = ()

    def elements(self) -> list[Element]:
        """Return the element with ends on the bodies."""
        ends = [frame.end(axis) for frame in self.ends for axis in (None, 0, 1, 2)]
        return [self.element._replace(attachments=ends)]


def damped_beam(system: Any, i: int, one: Any, two: Any) -> None:
    """Hold two bodies by the element of a beam, with damping."""
    beam(system, i, one, two, 1e-3)


CASES: dict[str, Callable[..., None]] = {
    "ball joint": ball_joint,
    "hinge": hinge,
    "drive": drive,
    "bushing": bushing,
    "spring": spring,
    "rotational spring": rotational,
    "slip": slip,
    "beam": beam,
    "damped beam": damped_beam,
}


def chain(case: Callable[..., None], formulation: str) -> mbd.Model:
    """Return a chain of bars with an element between neighbours."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last: Any = system.ground
    for i in range(N):
        bar = system.add(
            mbd.RigidBody(
                f"bar {i}",
                mass=10.0,
                inertia=(0.02, 0.9, 0.9),
                position=(i + 0.5, 0, 0),
                formulation=formulation,
            )
        )
        if i:
            case(system, i, last, bar)
        last = bar
    return system.build()


def fastest(calls: list[tuple[Any, int]], work: Any, turns: int) -> float:
    """Return the nanoseconds that some kernels take together, less those for empty tables."""
    empty = np.append(work.I, (0, 0))
    for _, k in calls:
        empty[k] = empty[k + 2] = 0
    best = [np.inf, np.inf]
    for _ in range(turns):
        for which, I in enumerate((work.I, empty)):
            start = time.perf_counter_ns()
            for kernel, k in calls:
                kernel(I, work.F, k)
            best[which] = min(best[which], time.perf_counter_ns() - start)
    return float(best[0] - best[1])


def measure(cases: list[str], formulations: list[str], turns: int) -> dict[str, float]:
    """Return nanoseconds per element, by case, formulation and stage."""
    costs: dict[str, float] = {}
    for formulation in formulations:
        for name in cases:
            model = chain(CASES[name], formulation)
            work = Workspace(model)
            work.vector(m.A)[:] = np.linspace(-1.0, 1.0, work.I[m.N_U])
            work.evaluate()
            work.linearise(1.0, 1e-3, 1e-6, 1.0)
            families = {k for _, k in model.kernels[m.PLACE]}
            stored = hasattr(m, "ATT_P")  # an older tree, which forms maps beforehand
            maps = model.kernels[m.MAPS] if stored else []
            for stage, which in (("tangent", m.TANGENT), ("forces", m.FORCES)):
                calls = [c for c in model.kernels[which] if c[1] not in families]
                calls += maps if stage == "tangent" else []
                costs[f"{name}, {formulation}, {stage}"] = fastest(calls, work, turns) / (N - 1)
            own = [c for c in model.kernels[m.TANGENT] if c[1] in families]
            costs[f"body, {formulation}, tangent"] = fastest(own, work, turns) / N
            for stage, which in (("place", m.PLACE), ("residual", m.RESIDUAL)):
                calls = model.kernels[which]
                costs[f"body, {formulation}, {stage}"] = fastest(calls, work, turns) / N
    return costs


def in_tree(tree: str, options: Any) -> dict[str, float]:
    """Return what a checkout measures in a process of its own."""
    command = [sys.executable, __file__, "--json", "--turns", str(options.turns)]
    command += ["--formulations", options.formulations, "--cases", options.cases]
    environment = os.environ | {"PYTHONPATH": tree}
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(out.stdout))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3, help="of both trees, by turns")
    parser.add_argument("--cases", default=",".join(CASES), help="names, with commas")
    parser.add_argument("--formulations", default="so3,directors", help="names, with commas")
    parser.add_argument("--tree", help="another checkout, measured by turns with this one")
    parser.add_argument("--json", action="store_true", help="numbers only")
    options = parser.parse_args()
    if options.json:
        print(
            json.dumps(
                measure(options.cases.split(","), options.formulations.split(","), options.turns)
            )
        )
        sys.exit()
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    trees = [here] if options.tree is None else [options.tree, here]
    best: list[dict[str, float]] = [{} for _ in trees]
    for _ in range(options.rounds):
        for tree, costs in zip(trees, best, strict=True):
            for name, cost in in_tree(tree, options).items():
                costs[name] = min(cost, costs.get(name, np.inf))
    for name in best[0]:
        columns = "".join(f"{costs[name]:>9.0f}" for costs in best)
        ratio = f"{best[0][name] / best[-1][name]:>8.2f}" if len(best) == 2 else ""
        print(f"{name:40}{columns}{ratio}")
