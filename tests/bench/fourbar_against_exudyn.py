"""A four-bar of four parallel hinges in space, as it is: three redundant rows, mbd and Exudyn.

Run it with ``python tests/bench/fourbar_against_exudyn.py`` (needs ``pip install exudyn``). The
model is the scene ``fourbar``, t = 1 s with 1 ms. Exudyn is tried with three linear solvers, each
with and without ``ignoreSingularJacobian``. Printed are whether the run reached its end, how far
the pin between coupler and rocker is open, and the error of the crank against the reference of the
scene.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

import mbd
from mbd.files import scenes

T_END, STEP, RHO = 1.0, 1e-3, 0.8
CRANK = np.array((0.3329953250745, 0, 0.2216170423919))  # its end at t = 1 s: ODE in one angle


def ours(system: mbd.System) -> str:
    """Run the model with the defaults."""
    solution = mbd.simulate(system, T_END, STEP)
    end = solution["crank"].at((0.2, 0, 0)).position[-1]
    return f"gap {solution.gap.max():.0e} m, error {np.abs(end - CRANK).max():.0e} m"


def theirs(system: mbd.System, solver: str, ignore: bool) -> str:
    """Run the model with a linear solver."""
    import exudyn as exu
    from exudyn.utilities import RigidBodyInertia

    mbs = exu.SystemContainer().AddSystem()
    numbers: dict[str, Any] = {"ground": mbs.CreateGround()}
    for name, body in system.bodies.items():
        J = np.trace(body.second_moments) * np.eye(3) - body.second_moments
        numbers[name] = mbs.CreateRigidBody(
            inertia=RigidBodyInertia(body.mass, J),
            referencePosition=body.position,
            referenceRotationMatrix=body.rotation,
            initialVelocity=body.velocity,
            initialAngularVelocity=body.angular_velocity,
            gravity=system.gravity,
        )
    for joint in system.joints.values():
        second = joint.bodies[1]
        where = second.position + second.rotation @ joint.B.position
        mbs.CreateRevoluteJoint(
            itemNumbers=[numbers[body.name] for body in joint.bodies],
            position=where,
            axis=[0, 1, 0],
            show=False,
        )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(T_END / STEP)
    settings.timeIntegration.endTime = T_END
    settings.timeIntegration.generalizedAlpha.spectralRadius = RHO
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.linearSolver.solverType = getattr(exu.LinearSolverType, solver)
    settings.linearSolver.ignoreSingularJacobian = ignore
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            mbs.SolveDynamic(settings)
    except Exception as error:
        return f"failed: {str(error).strip().splitlines()[0][:60]}"

    def point(name: str, at: tuple) -> np.ndarray:
        kind = exu.OutputVariableType.Position
        return np.array(mbs.GetObjectOutputBody(numbers[name], kind, at))

    open_by = np.linalg.norm(point("coupler", (0.5, 0, 0)) - point("rocker", (0.4, 0, 0)))
    return f"gap {open_by:.0e} m, error {np.abs(point('crank', (0.2, 0, 0)) - CRANK).max():.0e} m"


if __name__ == "__main__":
    model = scenes.load(scenes.named("fourbar")).build({})
    print(f"mbd {mbd.__version__}: {ours(model)}")
    for solver in ("EXUdense", "EigenDense", "EigenSparse"):
        for ignore in (False, True):
            said = f"Exudyn, {solver}, ignoreSingularJacobian={ignore}"
            print(f"{said}: {theirs(model, solver, ignore)}")
