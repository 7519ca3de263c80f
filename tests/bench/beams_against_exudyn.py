"""Flexible beams: time per step of mbd and of Exudyn, by turns, as ratios; errors of the tip.

A cantilever of 2 m falls under its weight from the straight line. Exudyn has a geometrically exact
beam (two nodes with rotation vectors or Euler parameters, its implicit integrator on Lie groups)
and ANCF cables in space and in the plane. Run ``python tests/bench/beams_against_exudyn.py`` (needs
``pip install exudyn``); one process, one thread each, the same step and spectral radius, the better
of its linear solvers and of full and modified Newton, both found by trial. Errors are those of the
tip at the end against 16 times as many steps with 512 elements of ours. "at no larger error" takes
the fewest elements of ours, a multiple of n/8, whose tip errs no more than theirs with n. Times are
those of the processor, which other programs disturb less; ratios are medians of ratios by turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import mbd

STEP, RHO, LENGTH, G = 2e-3, 0.9, 2.0, 9.81
SIDE, YOUNG, NU, DENSITY = 0.02, 2.1e9, 0.3, 7850.0
AREA, INERTIA = SIDE**2, SIDE**4 / 12
MASS, SHEAR = DENSITY * AREA, 5 / 6 * YOUNG / (2 * (1 + NU)) * AREA
TWIST = YOUNG / (2 * (1 + NU)) * 0.1406 * SIDE**4
SECTION = np.diag((YOUNG * AREA, SHEAR, SHEAR, TWIST, YOUNG * INERTIA, YOUNG * INERTIA))
ROTARY = DENSITY * INERTIA
Run = tuple[float, np.ndarray]  # seconds a step, position of the tip


def ours(n: int, formulation: str) -> mbd.Model:
    """Build the cantilever along x, y up."""
    system = mbd.System(gravity=(0, -G, 0))
    section = mbd.Section(stiffness=SECTION, mass=MASS, inertia=(2 * ROTARY, ROTARY, ROTARY))
    system.add(
        mbd.Beam("beam", points=[(0, 0, 0), (LENGTH, 0, 0)], section=section, elements=n,
                 first=system.ground, formulation=formulation)
    )  # fmt: skip
    return system.build()


def run_ours(model: mbd.Model, t_end: float, step: float = STEP) -> Run:
    """Return seconds per step and the tip."""
    start = time.process_time()
    run = mbd.simulate(model, t_end, step, method=mbd.GeneralizedAlpha(rho=RHO), every=10**6)
    spent = time.process_time() - start
    tip = list(model.nodes)[-1]
    return spent / run.stats["steps"], run[tip].position[-1]


def exact_beam(mbs: Any, n: int) -> int:
    """Add Exudyn's geometrically exact beams; return the last node."""
    import exudyn as exu
    from exudyn import itemInterface as item

    data = exu.BeamSection()
    data.stiffnessMatrix, data.massPerLength = SECTION, MASS
    data.inertia = np.diag((2 * ROTARY, ROTARY, ROTARY))
    h = LENGTH / n
    node = item.NodeRigidBodyRotVecLG
    nodes = [mbs.AddNode(node(referenceCoordinates=[h * i, 0, 0, 0, 0, 0])) for i in range(n + 1)]
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        beam = mbs.AddObject(
            item.ObjectBeamGeometricallyExact(nodeNumbers=[a, b], length=h, sectionData=data)
        )
        _weight(mbs, beam)
    _hold(mbs, nodes[0], range(6))
    return int(nodes[-1])


def cable(mbs: Any, n: int) -> int:
    """Add Exudyn's ANCF cables in space; return the last node."""
    from exudyn import itemInterface as item

    return _cables(mbs, n, item.NodePointSlope1, item.ObjectANCFCable, [0, 0], (0, 1, 2, 4, 5))


def plane_cable(mbs: Any, n: int) -> int:
    """Add Exudyn's ANCF cables in the plane; return the last node."""
    from exudyn import itemInterface as item

    return _cables(mbs, n, item.NodePoint2DSlope1, item.ObjectANCFCable2D, [0], (0, 1, 3))


def _cables(mbs: Any, n: int, node: Any, element: Any, zeros: list[float], held: Any) -> int:
    h = LENGTH / n
    nodes = [
        mbs.AddNode(node(referenceCoordinates=[h * i, *zeros, 1, *zeros])) for i in range(n + 1)
    ]
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        beam = mbs.AddObject(
            element(nodeNumbers=[a, b], length=h, massPerLength=MASS,
                    bendingStiffness=YOUNG * INERTIA, axialStiffness=YOUNG * AREA)
        )  # fmt: skip
        _weight(mbs, beam)
    _hold(mbs, nodes[0], held)
    return int(nodes[-1])


def _weight(mbs: Any, beam: Any) -> None:
    from exudyn import itemInterface as item

    marker = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=beam))
    mbs.AddLoad(item.LoadMassProportional(markerNumber=marker, loadVector=[0, -G, 0]))


def _hold(mbs: Any, node: Any, coordinates: Any) -> None:
    from exudyn import itemInterface as item

    ground = mbs.AddNode(item.NodePointGround())
    fixed = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    for i in coordinates:
        free = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=i))
        mbs.AddObject(item.CoordinateConstraint(markerNumbers=[fixed, free]))


def run_theirs(
    make: Callable[[Any, int], int], n: int, t_end: float, sparse: bool, modified: bool
) -> Run:
    """Return seconds per step and the tip."""
    import exudyn as exu

    mbs = exu.SystemContainer().AddSystem()
    tip = make(mbs, n)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.numberOfSteps, integration.endTime = round(t_end / STEP), t_end
    integration.generalizedAlpha.spectralRadius = RHO
    integration.newton.useModifiedNewton = modified
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = t_end
    solver = exu.LinearSolverType.EigenSparse if sparse else exu.LinearSolverType.EXUdense
    settings.linearSolver.solverType = solver
    start = time.process_time()
    mbs.SolveDynamic(settings)
    spent = time.process_time() - start
    where = mbs.GetNodeOutput(tip, exu.OutputVariableType.Position)
    return spent / integration.numberOfSteps, np.array(where)


def best(make: Callable[[Any, int], int], n: int, t_end: float) -> tuple[bool, bool]:
    """Return which linear solver and which Newton's method are fastest and arrive."""
    timed = {}
    if n > 64:  # one step of the exact beam takes seconds
        return True, True
    for sparse, modified in product((False, True), (False, True)):
        if not sparse and n > 8:
            continue
        try:
            timed[sparse, modified] = run_theirs(make, n, 5 * STEP, sparse, modified)[0]
        except Exception as error:  # its solver gives up
            print(f"   Exudyn, sparse={sparse}, modified={modified}: {type(error).__name__}")
    return min(timed, key=timed.__getitem__)


def as_exact(n: int, error: float, t_end: float, exact: np.ndarray, formulation: str) -> int:
    """Return the fewest elements of ours that err no more, in eighths of theirs; 0 for none."""
    for eighths in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32):
        tip = run_ours(ours(n * eighths // 8, formulation), t_end)[1]
        if np.linalg.norm(tip - exact) <= error:
            return n * eighths // 8
    return 0


_PEERS = (("exact", exact_beam), ("ANCF", cable), ("ANCF 2D", plane_cable))


def compare(sizes: dict[int, float], formulation: str, turns: int) -> None:
    """Print the table."""
    print(f"falling cantilever, h = {STEP:g} s, rho = {RHO:g}, {formulation}")
    print(
        f"{'element':>8} {'n':>4} {'mbd us/step':>12} {'Exudyn':>9} {'ratio':>7}  errors of the tip"
    )
    exact = {t: run_ours(ours(512, formulation), t, STEP / 16)[1] for t in {*sizes.values()}}
    for n, t_end in sizes.items():
        model = ours(n, formulation)
        run_ours(model, 5 * STEP)
        for name, make in _PEERS:
            how = best(make, n, t_end)
            mine, his = [], []
            try:
                for _ in range(turns):
                    mine.append(run_ours(model, t_end))
                    his.append(run_theirs(make, n, t_end, *how))
            except Exception as error:
                print(f"{name:>8} {n:>4}  Exudyn gives up: {error}")
                continue
            ratio = statistics.median(b[0] / a[0] for a, b in zip(mine, his, strict=True))
            us = [1e6 * statistics.median(x[0] for x in runs) for runs in (mine, his)]
            errors = [float(np.linalg.norm(x[0][1] - exact[t_end])) for x in (mine, his)]
            print(
                f"{name:>8} {n:>4} {us[0]:>12.1f} {us[1]:>9.1f} {ratio:>7.1f}  "
                f"{errors[0]:.1e} {errors[1]:.1e} m (sparse={how[0]}, modified Newton={how[1]})",
                flush=True,
            )
            few = as_exact(n, errors[1], t_end, exact[t_end], formulation) if n <= 64 else 0
            if few:
                smaller = ours(few, formulation)
                run_ours(smaller, 5 * STEP)
                ratios = [
                    run_theirs(make, n, t_end, *how)[0] / run_ours(smaller, t_end)[0]
                    for _ in range(turns)
                ]
                ratio = statistics.median(ratios)
                print(
                    f"{'':>8} {few:>4} of ours, at no larger error: ratio {ratio:.1f}", flush=True
                )
            elif n <= 64:
                print(f"{'':>8}      of ours, none: what is left is the error of the step")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formulation", default="so3")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--sizes", default="8,64,512", help="numbers of elements, with commas")
    options = parser.parse_args()
    ends = {8: 0.5, 64: 0.1}  # s; few steps of many elements, two beyond
    chosen = {int(n): ends.get(int(n), 2 * STEP) for n in options.sizes.split(",")}
    compare(chosen, options.formulation, options.turns)
