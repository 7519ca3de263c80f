"""Bennett's linkage: four skewed hinges in a loop, one freedom where counting says minus two.

Links of length a, b, a, b and twist alpha, beta, alpha, beta with sin(alpha)/a = sin(beta)/b; the
opposite angles are equal and tan(t1/2) tan(t2/2) = sin((beta+alpha)/2)/sin((beta-alpha)/2).
Source of the numbers: the closed form, integrated in one angle at tolerance 1e-13.
"""

import numpy as np

import mbd

A, B, ALPHA, BETA = 1.0, np.sqrt(3.0), np.deg2rad(30.0), np.deg2rad(60.0)
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "closed form of the linkage"
REFERENCE = (
    ("link 1.position", 0.5, (-0.12010885865, 0.48535951837, 0.0), 1e-5, _SOURCE),
    ("link 2.position", 0.5, (-0.66558182573, 0.29349619767, 0.33231701956), 1e-5, _SOURCE),
    ("link 2.position", 1.0, (-1.7162757872, -0.029435303163, 0.29134770565), 2e-5, _SOURCE),
    ("link 3.position", 1.0, (-2.1019454131, -0.16820967628, 0.29134770565), 2e-5, _SOURCE),
    ("link 1.angular_velocity", 1.0, (0.0, 0.0, 1.97164422362), 5e-5, _SOURCE),
    ("link 2.position", 2.0, (0.13237682668, -0.030634753193, -0.011903919535), 1e-4, _SOURCE),
)


def frame(angle: float, length: float, twist: float) -> np.ndarray:
    """Return the 4x4 matrix Rz(angle) Tx(length) Rx(twist)."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [
            [c, -s * ct, s * st, length * c],
            [s, c * ct, -c * st, length * s],
            [0, st, ct, 0],
            [0, 0, 0, 1],
        ]
    )


def build(formulation: str = "so3", angle: float = 1.0, rate: float = 2.0) -> mbd.System:
    """Return the linkage at the angle [rad] and rate [rad/s] of its first hinge, y up."""
    system = mbd.System(gravity=(0.0, -9.81, 0.0))
    k = np.sin((BETA + ALPHA) / 2) / np.sin((BETA - ALPHA) / 2)
    other = 2 * np.arctan(k / np.tan(angle / 2))
    other_rate = -rate * np.sin(other) / np.sin(angle)
    H = np.eye(4)
    omega, velocity = np.zeros(3), np.zeros(3)  # of the link and of the joint point it starts from
    previous = system.ground
    for i, (t, td, length, twist) in enumerate(
        ((angle, rate, A, ALPHA), (other, other_rate, B, BETA), (-angle, -rate, A, ALPHA))
    ):
        P, axis = H[:3, 3], H[:3, 2]
        H = H @ frame(t, length, twist)
        Q = H[:3, 3]
        omega = omega + td * axis
        across = length * (length**2 + 0.01) / 12
        link = system.add(
            mbd.RigidBody(
                f"link {i + 1}",
                mass=length,
                inertia=(length * 0.02 / 12, across, across),
                position=(P + Q) / 2,
                rotation=H[:3, :3],
                velocity=velocity + np.cross(omega, Q - P) / 2,
                angular_velocity=omega,
                formulation=formulation,
            )
        )
        system.add(mbd.Revolute(f"hinge {i}", previous, link, at=P, axis=axis))
        velocity = velocity + np.cross(omega, Q - P)
        previous = link
    system.add(mbd.Revolute("hinge 3", system.ground, previous, at=H[:3, 3], axis=H[:3, 2]))
    return system
