r"""Ground resonance: three lagging blades and a hub on springs feed each other.

A helicopter at 15 rad/s whose landing gear and hinges have no dampers.
R. P. Coleman, A. M. Feingold, NACA Report 1351 (1958): with lag angles
:math:`a \cos\psi_k + b \sin\psi_k` and the hub at (x, y)

    I (a'' + 2 W b' - W^2 a) + W^2 e S a + S y'' = 0, M x'' + k x - 3/2 S b'' = 0,
    I (b'' - 2 W a' - W^2 b) + W^2 e S b - S x'' = 0, M y'' + k y + 3/2 S a'' = 0.

The run begins in the motion that grows, by exp(0.8048 t), small enough for these linear equations
(tolerances: what is of second order in angles, and the error of steps).
"""

import numpy as np

import mbd

BLADE, ARM, INERTIA, OFFSET, HUB, SPRING = 94.9, 3.0, 1084.7, 0.3, 8026.6, 1.24e6
SPEED, SWAY = 15.0, 1e-4  # rad/s, m: of the hub at the start
RUN = {"t_end": 3.0, "step": 2e-3}


def growing(speed: float) -> tuple[complex, np.ndarray]:
    """Return the eigenvalue [1/s] that grows most and (a, b, x, y) of its motion, x real, SWAY."""
    S, W, total = BLADE * ARM, speed, HUB + 3 * BLADE
    M = np.array([[INERTIA, 0, 0, S], [0, INERTIA, -S, 0], [0, -1.5 * S, total, 0],
                  [1.5 * S, 0, 0, total]])  # fmt: skip
    G, K = np.zeros((4, 4)), np.diag([W**2 * (OFFSET * S - INERTIA)] * 2 + [SPRING] * 2)
    G[0, 1], G[1, 0] = 2 * W * INERTIA, -2 * W * INERTIA
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]])
    s, X = np.linalg.eig(A)
    most = np.argmax(np.real(s) + 1e-3 * (np.imag(s) > 0))
    return s[most], SWAY * X[:4, most] / X[2, most]


RATE, SHAPE = growing(SPEED)


def _hub(t: float) -> tuple[float, float, float]:
    x, y = (SHAPE[2:] * np.exp(RATE * t)).real
    return float(x), float(y), 0.0


REFERENCE = tuple(
    ("fuselage.position", t, _hub(t), 2e-3 * SWAY * np.exp(RATE.real * t), "Coleman, Feingold 1958")
    for t in (1.0, 2.0, 3.0)
)


def build(amplitude: float = 1.0) -> mbd.System:
    """Return the helicopter in the motion that grows, times an amplitude."""
    a, b, x, y = (amplitude * SHAPE).real
    da, db, dx, dy = (amplitude * RATE * SHAPE).real
    at, go, turn = np.array([x, y, 0]), np.array([dx, dy, 0]), np.array([0, 0, SPEED])
    system = mbd.System()
    fuselage = system.add(
        mbd.RigidBody("fuselage", mass=0.9 * HUB, inertia=(3e3, 9e3, 9e3), position=at, velocity=go,
                      shape=mbd.Box((4.0, 1.5, 0.8), at=(0, 0, -0.8)))
    )  # fmt: skip
    system.add(mbd.Planar("deck", system.ground, fuselage, at=at, axis=(0, 0, 1)))
    system.add(mbd.Bushing("gear", system.ground.frame((0, 0, 0)), fuselage.frame((0, 0, 0)),
                           stiffness=(SPRING, SPRING, 0, 0, 0, 0)))  # fmt: skip
    hub = system.add(  # so heavy to turn that the speed stays
        mbd.RigidBody("hub", mass=0.1 * HUB, inertia=(1e8,) * 3, position=at, velocity=go,
                      angular_velocity=turn, shape=mbd.Cylinder(OFFSET, 0.2))
    )  # fmt: skip
    system.add(mbd.Revolute("shaft", fuselage, hub, at=at, axis=(0, 0, 1)))
    across = INERTIA - BLADE * ARM**2
    for i in range(3):
        psi = 2 * np.pi / 3 * i
        c, s = np.cos(psi), np.sin(psi)
        lag = a * c + b * s
        rate = (da + SPEED * b) * c + (db - SPEED * a) * s
        hinge = at + OFFSET * np.array([c, s, 0])
        R = mbd.rotation((0, 0, 1), psi + lag)
        spin = np.array([0, 0, SPEED + rate])
        blade = system.add(
            mbd.RigidBody(f"blade {i}", mass=BLADE, inertia=(10.0, across, across),
                          position=hinge + R @ [ARM, 0, 0], rotation=R,
                          velocity=go + np.cross(turn, hinge - at) + np.cross(spin, R @ [ARM, 0, 0]),
                          angular_velocity=spin, shape=mbd.Box((2 * ARM, 0.3, 0.05)))
        )  # fmt: skip
        system.add(mbd.Revolute(f"hinge {i}", hub, blade, at=hinge, axis=(0, 0, 1)))
    return system
