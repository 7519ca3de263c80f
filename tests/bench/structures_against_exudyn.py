"""Chains, trees, ladders and nets: time per step of mbd, in its formulations, and of Exudyn.

Run it with ``python tests/bench/structures_against_exudyn.py`` (needs ``pip install exudyn``); by
turns in one process, one thread each, the same bodies, joints, springs and bushings, the same step
and spectral radius. Exudyn runs generalized-alpha with the better of its linear solvers. Reported
are medians of microseconds per step, of each formulation the ratio of Exudyn's to it, and by how
much the last body is elsewhere at the end [m] (so3). What Exudyn does not finish has the ratio inf.
Read the ratios: a shared machine is noisy.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import time
from dataclasses import dataclass, field

import numpy as np

import mbd

STEP, STEPS, RHO = 1e-3, 100, 0.8
MASS, INERTIA = 10.0, (1 / 60, 1 / 60 + 10 / 12, 1 / 60 + 10 / 12)
STIFFNESS, DAMPING = np.array([1e5] * 3 + [1e3] * 3), np.array([1e2] * 3 + [1.0] * 3)
FORMULATIONS = ("so3", "unified", "directors", "euler_parameters", "se3")
AXIS = (0.0, 1.0, 0.0)  # of hinges
GROUND = -1


@dataclass
class Structure:
    """Bodies at their places, and links (kind, body, body, where)."""

    places: list[tuple[float, float, float]] = field(default_factory=list)
    links: list[tuple[str, int, int, tuple[float, float, float]]] = field(default_factory=list)

    def add(self, x: float, y: float) -> int:
        """Add a body; return its number."""
        self.places.append((x, y, 0.0))
        return len(self.places) - 1


def chain(n: int, kind: str) -> Structure:
    """Return bars one behind the other; springs join their centres, all else their ends."""
    s, last = Structure(), GROUND
    for i in range(n):
        here = s.add(i + 0.5, 0.0)
        s.links.append((kind, last, here, (float(i), 0.0, 0.0)))
        last = here
    return s


def tree(n: int, kind: str) -> Structure:
    """Return bars of which each carries two others."""
    s = Structure()
    for k in range(n):
        above = (k - 1) // 2 if k else GROUND
        x, y, _ = s.places[above] if k else (-0.5, 0.0, 0.0)
        s.links.append((kind, above, s.add(x + 1.0, y), (x + 0.5, y, 0.0)))
    return s


def ladder(n: int, kind: str) -> Structure:
    """Return two chains with a rung between each pair of bars."""
    s, ends = Structure(), [GROUND, GROUND]
    for i in range(n):
        for side in (0, 1):
            here = s.add(i + 0.5, float(side))
            s.links.append((kind, ends[side], here, (float(i), float(side), 0.0)))
            ends[side] = here
        rung = s.add(i + 0.5, 0.5)
        s.links += [(kind, ends[y], rung, (i + 0.5, float(y), 0.0)) for y in (0, 1)]
    return s


def net(n: int, kind: str) -> Structure:
    """Return n x n bodies, each joined to its neighbours, the first row to ground."""
    s = Structure()
    for i in range(n):
        for j in range(n):
            here = s.add(float(i), float(j))
            s.links.append((kind, here - n if i else GROUND, here, (i - 0.5, float(j), 0.0)))
            if j:
                s.links.append((kind, here - 1, here, (float(i), j - 0.5, 0.0)))
    return s


STRUCTURES = {
    "hinged chain": chain(100, "hinge"),
    "chain of springs": chain(100, "spring"),
    "chain of bushings": chain(100, "bushing"),
    "tree of balls": tree(127, "ball"),
    "tree of hinges": tree(127, "hinge"),
    "ladder of balls": ladder(20, "ball"),
    "redundant ladder": ladder(20, "hinge"),
    "net of bushings": net(10, "bushing"),
}


def ours(s: Structure, formulation: str) -> mbd.Model:
    """Build a structure."""
    system = mbd.System(gravity=(0, 0, -9.81))
    bodies = [
        system.add(mbd.RigidBody(f"body {i}", mass=MASS, inertia=INERTIA, position=x,
                                 formulation=formulation))
        for i, x in enumerate(s.places)
    ] + [system.ground]  # fmt: skip
    for i, (kind, a, b, at) in enumerate(s.links):
        name, one, two = f"link {i}", bodies[a], bodies[b]
        if kind == "ball":
            system.add(mbd.Spherical(name, one, two, at=at))
        elif kind == "hinge":
            system.add(mbd.Revolute(name, one, two, at=at, axis=AXIS))
        elif kind == "bushing":
            system.add(mbd.Bushing(name, one, two, at=at, stiffness=STIFFNESS, damping=DAMPING))
        else:
            ends = {"at": (0, 0, 0) if a == GROUND else s.places[a], "to": s.places[b]}
            system.add(mbd.Spring(name, one, two, **ends, stiffness=1e5, damping=1e2))
    return system.build()


def time_ours(model: mbd.Model) -> tuple[float, np.ndarray]:
    """Return microseconds per step and the last position."""
    method = mbd.GeneralizedAlpha(rho=RHO)
    run = mbd.simulate(model, STEPS * STEP, STEP, method=method, every=STEPS, progress=False)
    last = next(reversed(model.bodies))
    return 1e6 * run.stats["seconds"] / run.stats["steps"], run[last].position[-1]


def time_theirs(s: Structure, sparse: bool) -> tuple[float, np.ndarray]:
    """Return microseconds per step and the last position; infinite if it does not get there."""
    import exudyn as exu
    from exudyn.utilities import RigidBodyInertia

    mbs = exu.SystemContainer().AddSystem()
    inertia = RigidBodyInertia(MASS, np.diag(INERTIA))
    bodies = [
        mbs.CreateRigidBody(inertia=inertia, referencePosition=list(x), gravity=[0, 0, -9.81])
        for x in s.places
    ] + [mbs.CreateGround()]
    for kind, a, b, at in s.links:
        pair, here, origin = [bodies[a], bodies[b]], np.array(at), np.zeros(3)
        local = [list(here - (origin if k == GROUND else s.places[k])) for k in (a, b)]
        if kind == "ball":
            mbs.CreateSphericalJoint(itemNumbers=pair, position=here, show=False)
        elif kind == "hinge":
            mbs.CreateRevoluteJoint(itemNumbers=pair, position=here, axis=list(AXIS), show=False)
        elif kind == "bushing":
            mbs.CreateRigidBodySpringDamper(
                itemNumbers=pair, localPosition0=local[0], localPosition1=local[1],
                stiffness=np.diag(STIFFNESS), damping=np.diag(DAMPING), useGlobalFrame=False,
                show=False,
            )  # fmt: skip
        else:
            mbs.CreateSpringDamper(itemNumbers=pair, stiffness=1e5, damping=1e2, show=False)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.numberOfSteps, integration.endTime = STEPS, STEPS * STEP
    integration.generalizedAlpha.spectralRadius = RHO
    integration.verboseMode = 0
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = STEPS * STEP
    solvers = exu.LinearSolverType
    settings.linearSolver.solverType = solvers.EigenSparse if sparse else solvers.EXUdense
    settings.linearSolver.ignoreSingularJacobian = not sparse
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            mbs.SolveDynamic(settings, showHints=False)
    except Exception:  # of its own kinds: a matrix that is not factorised, steps that fail
        return np.inf, np.full(3, np.nan)
    spent = time.perf_counter() - start
    where = mbs.GetObjectOutputBody(bodies[-2], exu.OutputVariableType.Position, [0, 0, 0])
    return 1e6 * spent / STEPS, np.array(where)


def main(turns: int, names: list[str], formulations: list[str]) -> None:
    """Print the table."""
    print(f"h = {STEP:g} s, {STEPS} steps, rho = {RHO:g}: us a step (ratio of Exudyn's to it)")
    columns = "".join(f"{x:>22}" for x in formulations)
    print(f"{'':18} {'bodies':>6} {'Exudyn':>9}{columns}  apart [m]")
    for name in names:
        s = STRUCTURES[name]
        models = {x: ours(s, x) for x in formulations}
        for model in models.values():
            time_ours(model)
        sparse = time_theirs(s, True)[0] < time_theirs(s, False)[0]
        spent: dict[str, list[float]] = {x: [] for x in ("", *formulations)}
        ends = {}
        for _ in range(turns):
            for x, own in spent.items():
                us, ends[x] = time_ours(models[x]) if x else time_theirs(s, sparse)
                own.append(us)
        medians = {x: statistics.median(own) for x, own in spent.items()}
        theirs = medians.pop("")
        line = f"{name:18} {len(s.places):>6} {theirs:>9.0f}"
        line += "".join(f"{us:>13.1f} ({theirs / us:>6.1f})" for us in medians.values())
        print(line, f"{np.abs(ends[formulations[0]] - ends['']).max():10.1e}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(STRUCTURES), default=list(STRUCTURES))
    parser.add_argument("--formulations", nargs="*", default=list(FORMULATIONS))
    options = parser.parse_args()
    main(options.turns, options.only, options.formulations)
