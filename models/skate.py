"""Skate on a slope: set spinning at rest, it does not slide down, it drifts across in cycloids.

The blade lets the skate move along only. Source of the numbers: the closed form of Neimark and
Fufaev; the slope is level here and gravity leans, x downhill.
"""

import numpy as np

import mbd

SLOPE, SPIN = 0.4, 2.0
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "closed form, Neimark and Fufaev"
REFERENCE = (
    ("skate.position", 1.0, (0.39482745850717, 1.1357442535666, 0), 1e-5, _SOURCE),
    ("skate.position", 2.0, (0.27350201782433, 1.6738756955047, 0), 1e-5, _SOURCE),
    ("plane.angle", 2.0, SPIN * 2.0, 1e-5, "given"),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the skate."""
    system = mbd.System(gravity=9.81 * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)]))
    skate = system.add(
        mbd.RigidBody(
            "skate",
            mass=2.0,
            inertia=(0.01, 0.02, 0.03),
            angular_velocity=(0, 0, SPIN),
            formulation=formulation,
            shape=mbd.Box(size=(0.4, 0.02, 0.05), at=(0, 0, 0.025)),
        )
    )
    system.add(mbd.Planar("plane", system.ground, skate, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.KnifeEdge("blade", system.ground, skate, axis=(1, 0, 0)))
    return system
