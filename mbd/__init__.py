"""mbd: multibody dynamics with bodies of any formulation, every matrix open and labelled.

Names are imported when they are first used, so ``import mbd`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbd.analyses.buckling import buckling
    from mbd.analyses.campbell import campbell
    from mbd.analyses.conformance import check_tangents
    from mbd.analyses.equilibrium import equilibrium
    from mbd.analyses.inverse_dynamics import inverse_dynamics
    from mbd.analyses.linearize import linearize
    from mbd.analyses.modes import modes
    from mbd.comparison.compare import compare
    from mbd.files.expressions import Expression
    from mbd.files.modelfile import ModelFile, read, write
    from mbd.formulations.euler_parameters import EulerParameters
    from mbd.formulations.scalable import Scalable
    from mbd.formulations.unified import Unified
    from mbd.front.load import load
    from mbd.front.simulate import SimulationError, simulate
    from mbd.front.solution import Solution
    from mbd.integration.consistent import assemble_pose, consistent
    from mbd.integration.energy_momentum import EnergyMomentum
    from mbd.integration.generalized_alpha import GeneralizedAlpha
    from mbd.integration.lie_runge_kutta import LieRungeKutta4
    from mbd.model.model import Model, State
    from mbd.model.system import System
    from mbd.parts.actuators import JointSpring, Motor, Stop
    from mbd.parts.bodies import Frame, Ground, PointMass, RigidBody
    from mbd.parts.coordinates import Coordinate
    from mbd.parts.drives import Drive
    from mbd.parts.forces import Bushing, Moment, PointForce, RotationalSpring, Spring
    from mbd.parts.joints import (
        Cylindrical,
        Distance,
        Fixed,
        Planar,
        PointInPlane,
        PointOnLine,
        Prismatic,
        Revolute,
        Spherical,
    )
    from mbd.parts.motions import ConstantSpeed, Harmonic, SmoothStep
    from mbd.parts.nonholonomic import NonTwisting
    from mbd.parts.prescribed import PrescribedMotion
    from mbd.parts.rolling import KnifeEdge, RollingBall, RollingDisc
    from mbd.parts.scaling import ScalingForce
    from mbd.parts.shaft_joints import ConstantVelocity, Screw, Universal
    from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Sphere
    from mbd.parts.transmissions import Coupler, Gear, RackPinion, Rope
    from mbd.runs.events import Event
    from mbd.statics.descent import EquilibriumError
    from mbd.statics.inverse_kinematics import target_errors

__version__ = "0.1.0"
__all__ = [
    "Box",
    "Bushing",
    "Capsule",
    "ConstantSpeed",
    "ConstantVelocity",
    "Coordinate",
    "Coupler",
    "Cylinder",
    "Cylindrical",
    "Distance",
    "Drive",
    "EnergyMomentum",
    "EquilibriumError",
    "EulerParameters",
    "Event",
    "Expression",
    "Fixed",
    "Frame",
    "Gear",
    "GeneralizedAlpha",
    "Ground",
    "Harmonic",
    "JointSpring",
    "KnifeEdge",
    "LieRungeKutta4",
    "Mesh",
    "Model",
    "ModelFile",
    "Moment",
    "Motor",
    "NonTwisting",
    "Planar",
    "PointForce",
    "PointInPlane",
    "PointMass",
    "PointOnLine",
    "PrescribedMotion",
    "Prismatic",
    "RackPinion",
    "Revolute",
    "RigidBody",
    "RollingBall",
    "RollingDisc",
    "Rope",
    "RotationalSpring",
    "Scalable",
    "ScalingForce",
    "Screw",
    "SimulationError",
    "SmoothStep",
    "Solution",
    "Sphere",
    "Spherical",
    "Spring",
    "State",
    "Stop",
    "System",
    "Unified",
    "Universal",
    "assemble_pose",
    "buckling",
    "campbell",
    "check_tangents",
    "compare",
    "consistent",
    "equilibrium",
    "inverse_dynamics",
    "linearize",
    "load",
    "modes",
    "read",
    "simulate",
    "target_errors",
    "write",
]

_WHERE = {
    "files.expressions": ("Expression",),
    "files.modelfile": ("ModelFile", "read", "write"),
    "formulations.euler_parameters": ("EulerParameters",),
    "formulations.scalable": ("Scalable",),
    "formulations.unified": ("Unified",),
    "model.system": ("System",),
    "parts.actuators": (
        "JointSpring",
        "Motor",
        "Stop",
    ),
    "parts.drives": ("Drive",),
    "parts.motions": (
        "ConstantSpeed",
        "Harmonic",
        "SmoothStep",
    ),
    "parts.prescribed": ("PrescribedMotion",),
    "parts.rolling": (
        "KnifeEdge",
        "RollingBall",
        "RollingDisc",
    ),
    "parts.transmissions": (
        "Coupler",
        "Gear",
        "RackPinion",
        "Rope",
    ),
    "parts.coordinates": ("Coordinate",),
    "model.model": ("Model", "State"),
    "parts.bodies": ("Frame", "Ground", "PointMass", "RigidBody"),
    "parts.forces": ("Bushing", "Moment", "PointForce", "RotationalSpring", "Spring"),
    "parts.joints": (
        "Cylindrical",
        "Distance",
        "Fixed",
        "Planar",
        "PointInPlane",
        "PointOnLine",
        "Prismatic",
        "Revolute",
        "Spherical",
    ),
    "parts.shaft_joints": ("ConstantVelocity", "Screw", "Universal"),
    "parts.shapes": ("Box", "Capsule", "Cylinder", "Mesh", "Sphere"),
    "comparison.compare": ("compare",),
    "parts.nonholonomic": ("NonTwisting",),
    "analyses.buckling": ("buckling",),
    "analyses.campbell": ("campbell",),
    "analyses.equilibrium": ("equilibrium",),
    "analyses.linearize": ("linearize",),
    "front.load": ("load",),
    "analyses.modes": ("modes",),
    "parts.scaling": ("ScalingForce",),
    "front.solution": ("Solution",),
    "statics.descent": ("EquilibriumError",),
    "integration.energy_momentum": ("EnergyMomentum",),
    "runs.events": ("Event",),
    "integration.generalized_alpha": ("GeneralizedAlpha",),
    "analyses.inverse_dynamics": ("inverse_dynamics",),
    "statics.inverse_kinematics": ("target_errors",),
    "integration.consistent": ("assemble_pose", "consistent"),
    "integration.lie_runge_kutta": ("LieRungeKutta4",),
    "front.simulate": ("SimulationError", "simulate"),
    "analyses.conformance": ("check_tangents",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mbd' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"mbd.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
