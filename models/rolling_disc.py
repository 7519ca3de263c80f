"""Rolling disc: thin, on a plane without slip, in general motion, with its contact force.

Three freedoms, two rows on velocities. Source of the numbers: vector equations of motion at
tolerance 1e-14, checked against Lagrange and d'Alembert.
"""

import numpy as np

import mbd

RADIUS, MASS, LEAN = 0.05, 0.3, 0.3
RUN = {"t_end": 1.0, "step": 5e-4}
_SOURCE = "vector form of the equations, quadruple checked"
_AT_START = np.array([-RADIUS * np.sin(LEAN), 0, 0])  # the contact, where the numbers have (0, 0)
REFERENCE = (
    ("disc.position", 0.5, np.array((-0.23915451982404, 0.40222349962947, 0.047506479634124)) + _AT_START, 2e-4, _SOURCE),
    ("disc.angular_velocity", 0.5, (-8.760627948618, -17.16159959702, -4.592929361204), 2e-3, _SOURCE),
    ("roll.force", 0.5, (-0.31546073985, -0.56692661295, 2.8843842096), 2e-4, _SOURCE),
    ("disc.position", 1.0, np.array((-0.70545591103925, 0.35957383077235, 0.046745431733511)) + _AT_START, 5e-4, _SOURCE),
    ("disc.angular_velocity", 1.0, (12.01737059569, -15.66731681409, -3.769028581857), 5e-3, _SOURCE),
    ("roll.force", 1.0, (0.4321412645, -0.56842393874, 3.0915385796), 5e-4, _SOURCE),
)  # fmt: skip


def build(formulation: str = "so3") -> mbd.System:
    """Return the disc; it leans, spins at -20 rad/s about its axle and turns."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    axle = np.array([np.cos(LEAN), 0.0, np.sin(LEAN)])
    centre = RADIUS * np.array([-np.sin(LEAN), 0.0, np.cos(LEAN)])
    omega = np.array([0.0, 0.5, 1.0]) - 20.0 * axle
    J = MASS * RADIUS**2 / 4 * (np.eye(3) + np.outer(axle, axle))
    disc = system.add(
        mbd.RigidBody(
            "disc",
            mass=MASS,
            inertia=J,
            position=centre,
            velocity=np.cross(omega, centre),
            angular_velocity=omega,
            formulation=formulation,
            shape=mbd.Cylinder(radius=RADIUS, length=0.004, axis=axle),
        )
    )
    system.add(mbd.RollingDisc("roll", system.ground, disc, radius=RADIUS, axis=axle))
    return system
