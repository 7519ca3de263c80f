"""Seven-axis arm: it falls from a wall; axes along it and across it by turns, dampers in all.

Source of the numbers: pinocchio 4.1.0, ``aba`` integrated by DOP853 at tolerance 1e-12.
"""

import mbd

MASSES = (4.0, 4.0, 3.0, 2.7, 1.7, 1.8, 0.5)  # kg
LENGTH, DAMPING = 0.2, 0.5  # m, N m s
RUN = {"t_end": 1.0, "step": 5e-4}
_SOURCE = "pinocchio, DOP853"
REFERENCE = (
    ("joint1.angle", 0.5, 1.58481945505971, 1e-5, _SOURCE),
    ("joint3.angle", 0.5, 0.09640925779984, 1e-5, _SOURCE),
    ("link6.position", 0.5, (1.09472047, -0.05748181, 0.17840054), 1e-5, _SOURCE),
    ("joint0.angle", 1.0, -0.07945053644662, 1e-5, _SOURCE),
    ("joint1.angle_rate", 1.0, -1.67662263298604, 1e-4, _SOURCE),
    ("joint5.angle", 1.0, 0.31733020304021, 2e-5, _SOURCE),
    ("link6.position", 1.0, (-0.03183484, 0.03968218, -0.81407793), 1e-5, _SOURCE),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the arm, straight along z, gravity along x."""
    system = mbd.System(gravity=(9.81, 0.0, 0.0))
    before = system.ground
    for i, mass in enumerate(MASSES):
        link = system.add(
            mbd.RigidBody(
                f"link{i}",
                mass=mass,
                position=(0, 0, LENGTH * (i + 0.5)),
                center_of_mass=(0.01 * (i % 2), 0.01, 0.02),
                inertia=(0.02, 0.02, 0.01),
                formulation=formulation,
                shape=mbd.Capsule(0.04, LENGTH, axis=(0, 0, 1)),
            )
        )
        axis = ((0, 0, 1), (0, 1, 0))[i % 2]
        joint = mbd.Revolute(f"joint{i}", before, link, at=(0, 0, LENGTH * i), axis=axis)
        system.add(joint)
        system.add(mbd.JointSpring(f"damper{i}", joint, stiffness=0.0, damping=DAMPING))
        before = link
    return system
