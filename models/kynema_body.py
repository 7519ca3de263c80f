"""Body of a mass matrix: thrown with a spin, given by 6x6 about an eccentric reference point.

The way Kynema states a rigid body: mass, offset and inertia about the reference point in one
material matrix. The centre of mass flies along a parabola. Source of the other numbers: Euler's
equations and quaternion ODE about the centre of mass at tolerance 1e-13.
"""

import numpy as np

import mbd

RUN = {"t_end": 1.0, "step": 5e-4}
MASS, OFFSET = 2.0, (0.1, 0.2, 0.3)
MATRIX = np.array(
    [
        [2.0, 0.0, 0.0, 0.0, 0.6, -0.4],
        [0.0, 2.0, 0.0, -0.6, 0.0, 0.2],
        [0.0, 0.0, 2.0, 0.4, -0.2, 0.0],
        [0.0, -0.6, 0.4, 0.56, -0.02, -0.07],
        [0.6, 0.0, -0.2, -0.02, 0.45, -0.09],
        [-0.4, 0.2, 0.0, -0.07, -0.09, 0.30],
    ]
)  # kg, kg m, kg m^2
_SOURCE = "Euler's equations, 1e-13"
_TURNED = (
    (0.5310720776029073, 0.0848500399359072, 0.8430675649753148),
    (-0.3283738604520876, 0.9378284930451116, 0.1124647740607174),
    (-0.7811101434255765, -0.3365682521504521, 0.5259170614099388),
)
REFERENCE = (
    ("body(0.1, 0.2, 0.3).position", 1.0, (-0.6, 0.5, -0.905), 2e-5, "parabola"),
    ("body.position", 1.0, (-0.9229974852400666, 0.311532255217971, -0.9173504536503339), 2e-5, _SOURCE),
    ("body.rotation", 1.0, _TURNED, 1e-5, _SOURCE),
    ("body.angular_velocity_body", 1.0, (0.10324272037958687, -3.4747655972518943, 4.116688666430216), 1e-5, _SOURCE),
    ("energy.total", 1.0, 22.921, 1e-4, "conserved"),
)  # fmt: skip


def build(formulation: str = "so3") -> mbd.System:
    """Return the body in free flight, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    system.add(
        mbd.RigidBody.from_mass_matrix(
            "body",
            MATRIX,
            velocity=(1.0, 0.5, 3.0),
            angular_velocity=(2.0, -3.0, 4.0),
            formulation=formulation,
        )
    )
    return system
