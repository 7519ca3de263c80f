"""Andrews' squeezing mechanism: seven bodies, three loops, 1e-3 s and millimetres.

Problem A03 of the multibody benchmark library of the IFToMM Technical Committee and problem
"andrews" of the Test Set for IVP Solvers (Univ. Bari; W. Schiehlen, Multibody Systems Handbook,
1990). Source of the numbers: index-1 formulation by an extrapolation method in extended precision,
equal to a one-freedom formulation to 2e-12. The end values printed with the test set differ from
it by 1e-9 in the angles and 1e-6 in the multipliers.

The joints are spatial hinges; the three at E are between K2 and K3, K4, K6. In the plane their
forces on the second body are the multipliers (1, 2), (3, 4), (5, 6) of the test set.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

RUN = {"t_end": 0.03, "step": 1e-5}
_SOURCE = "index-1 ODE in extended precision"
REFERENCE = (
    ("K1(0.007, 0, 0).position", 0.01, (-0.0038905523886494, 0.005819244118541, 0), 2e-6, _SOURCE),
    ("K1(0.007, 0, 0).position", 0.02, (-0.0022744209241605, 0.0066201970861705, 0), 5e-6, _SOURCE),
    ("K1(0.007, 0, 0).position", 0.03, (-0.0069630394270469, -0.0007183884307191, 0), 1e-5, _SOURCE),
    ("K1.angular_velocity", 0.03, (0, 0, 1139.920302259106), 1.0, _SOURCE),
    ("E3.force", 0.03, (199.1753481045386, -29.75530997497175, 0), 3.0, _SOURCE),
)  # fmt: skip

XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, E, RR, SS, ZT, ZF, U = 0.028, 0.02, 0.007, 0.035, 0.04, 0.02, 0.04
ARM = np.array([0.018, 0.02])  # of the spring on K3
START = (
    -0.061713890014276448, 0.0, 0.45527981916307037, 0.22266839016588588,
    0.48736497954384256, -0.22266839016588588, 1.2305474445498212,
)  # fmt: skip


def angles(q: tuple[float, ...]) -> dict[str, float]:
    """Return the angle of each body from the seven of the test set (beta, Theta, gamma, ...)."""
    beta, Theta, gamma, Phi, delta, Omega, epsilon = q
    return {
        "K1": beta,
        "K2": beta + Theta + np.pi,
        "K3": gamma - np.pi / 2,
        "K4": Phi + delta - np.pi / 2,
        "K5": delta,
        "K6": Omega + epsilon,
        "K7": epsilon - np.pi / 2,
    }


def build(formulation: str = "so3", q: tuple[float, ...] = START) -> mbd.System:
    """Return the mechanism at rest, driven by 0.033 N m on K1."""
    turn = angles(q)
    along = {k: np.array([np.cos(x), np.sin(x), 0.0]) for k, x in turn.items()}
    O, A = np.zeros(3), np.array([XA, YA, 0])
    B, C = np.array([XB, YB, 0]), np.array([XC, YC, 0])
    F = O + RR * along["K1"]
    G, H = A + ZT * along["K5"], A + U * along["K7"]
    e = F + D * along["K2"]
    # frame origin, mass, moment of inertia, centre of mass in the axes of the body
    data = {
        "K1": (O, 0.04325, 2.194e-6, (0.00092, 0.0)),
        "K2": (F, 0.00365, 4.41e-7, (0.0115, 0.0)),
        "K3": (B, 0.02373, 5.255e-6, (0.01874, 0.01043)),
        "K4": (G, 0.00706, 5.667e-7, (E - 0.01421, 0.0)),
        "K5": (A, 0.0705, 1.169e-5, (0.02308, 0.00916)),
        "K6": (H, 0.00706, 5.667e-7, (ZF - 0.01421, 0.0)),
        "K7": (A, 0.05498, 1.912e-5, (0.01228, -0.00449)),
    }
    bars = {  # from joint to joint, along x
        "K1": RR, "K2": D, "K3": SS, "K4": E, "K5": ZT, "K6": ZF, "K7": U,
    }  # fmt: skip
    shapes = {k: [mbd.Capsule(1e-3, x, at=(x / 2, 0, 0), axis=(1, 0, 0))] for k, x in bars.items()}
    shapes["K3"].append(mbd.Capsule(1e-3, np.hypot(*ARM), at=(*ARM / 2, 0), axis=(*ARM, 0)))
    system = mbd.System()
    body = {
        name: system.add(
            mbd.RigidBody(
                name,
                mass=mass,
                inertia=(0.6 * J, 0.6 * J, J),
                center_of_mass=(*center, 0.0),
                position=origin,
                rotation=Rotation.from_rotvec([0, 0, turn[name]]),
                formulation=formulation,
                shape=shapes[name],
            )
        )
        for name, (origin, mass, J, center) in data.items()
    }
    for name, first, second, at in (
        ("O", system.ground, body["K1"], O),
        ("F", body["K1"], body["K2"], F),
        ("E3", body["K2"], body["K3"], e),
        ("B", system.ground, body["K3"], B),
        ("E4", body["K2"], body["K4"], e),
        ("G", body["K5"], body["K4"], G),
        ("A5", system.ground, body["K5"], A),
        ("E6", body["K2"], body["K6"], e),
        ("H", body["K7"], body["K6"], H),
        ("A7", system.ground, body["K7"], A),
    ):
        system.add(mbd.Revolute(name, first, second, at=at, axis=(0, 0, 1)))
    spring: dict[str, Any] = {"stiffness": 4530.0, "length": 0.07785}
    end = body["K3"].frame((*ARM, 0.0))
    system.add(mbd.Spring("spring", system.ground.frame(C), end, **spring))
    system.add(mbd.Moment("motor", body["K1"], (0, 0, 0.033)))
    return system
