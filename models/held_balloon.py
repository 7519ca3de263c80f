"""Held balloon: four springs in a spinning core hold it, on its skin is a tail on a ball joint.

Nothing acts from outside, so that energy and momenta stay those of the start, which follow from
masses and springs by hand: 20 s with ``mbd.EnergyMomentum``, in steps of 10 ms, on three kinds of
coordinates. The balloon may change its size: it swells to more than three times of it, and back.
"""

import numpy as np

import mbd

RUN = {"t_end": 20.0, "step": 1e-2, "method": mbd.EnergyMomentum()}
_SOURCE = "start, conserved"
REFERENCE = (
    ("energy.total", 20.0, 5.953647978710219, 1e-11, _SOURCE),
    ("momentum.linear", 20.0, (0.45, 0.32, -0.7), 1e-11, _SOURCE),
    ("momentum.angular", 20.0, (0.15, 1.165, 0.94), 1e-11, _SOURCE),
)
CORE = {"inertia": (0.3, 0.4, 0.5), "angular_velocity": (0.5, 0.2, 1.0)}
BALLOON = {"inertia": (0.12, 0.15, 0.2), "angular_velocity": (0.0, 1.5, 0.4)}
TAIL = {"inertia": (0.02, 0.03, 0.04), "angular_velocity": (0.0, 2.0, 1.0)}


def build() -> mbd.System:
    """Return core, balloon and tail, in coordinates that the scheme can keep."""
    system = mbd.System()
    shell = mbd.Box((2.0, 2.0, 2.0), color="#9db8d0")
    core = system.add(
        mbd.RigidBody("core", mass=2.0, formulation="euler_parameters", shape=shell, **CORE)
    )
    balloon = system.add(
        mbd.RigidBody(
            "balloon",
            mass=1.0,
            velocity=(0.3, 0.0, 0.1),
            formulation=mbd.Scalable(rigid=False),
            **BALLOON,
        )
    )
    skin, tail_at = np.array([0.6, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    velocity = np.add(balloon.velocity, np.cross(BALLOON["angular_velocity"], skin))
    velocity = velocity + np.cross(TAIL["angular_velocity"], tail_at - skin)
    tail = system.add(
        mbd.RigidBody(
            "tail", mass=0.5, position=tail_at, velocity=velocity, formulation="directors", **TAIL
        )
    )
    system.add(mbd.Spherical("pin", balloon, tail, at=skin))
    for i, x in enumerate(np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])):
        system.add(
            mbd.Spring(f"spring {i}", core, balloon, at=x, to=0.4 * x, stiffness=40.0, length=0.8)
        )
    return system
