"""Benchmark bicycle: four bodies and two rolling wheels, straight on at a steady speed.

Small motions have the eigenvalues of Meijaard, Papadopoulos, Ruina and Schwab, "Linearized dynamics
equations for the balance and steer of a bicycle", Proc. R. Soc. A 463 (2007); between 4.292 and
6.024 m/s the bicycle balances itself. It starts upright with a small rate of roll; the reference is
their linear equation, integrated at 1e-13. x is forward, z up.
"""

import numpy as np

import mbd

BASE, TRAIL, TILT, G = 1.02, 0.08, np.pi / 10, 9.81
REAR, FRONT = 0.3, 0.35
RUN = {"t_end": 2.0, "step": 1e-3}
REFERENCE = (
    ("frame.position", 1.0, (5.3, -1.613074010726e-02, 0.9), 1e-4, "linear equation"),
    ("frame.position", 2.0, (10.3, -3.558741566598e-02, 0.9), 1e-4, "linear equation"),
)


def _tube(center: tuple, first: tuple, last: tuple) -> mbd.Capsule:
    """Return a tube between two points, seen from a centre of mass [m]."""
    P, Q = np.subtract(first, center), np.subtract(last, center)
    return mbd.Capsule(0.02, float(np.linalg.norm(Q - P)), at=(P + Q) / 2, axis=Q - P)


def _wheel(radius: float) -> list:
    bar = mbd.Box((1.6 * radius, 0.04, 0.04), color="#f2f2f2")  # shows that it turns
    return [mbd.Cylinder(radius, 0.03, axis=(0, 1, 0)), bar]


_REAR_HUB, _CRANK, _SEAT, _HEAD = (0, 0, REAR), (0.45, 0, 0.3), (0.25, 0, 0.85), (0.83, 0, 0.82)
_FRAME, _FORK = (0.3, 0, 0.9), (0.9, 0, 0.7)  # centres of mass, that of the frame with its rider
_TUBES = ((_REAR_HUB, _CRANK), (_REAR_HUB, _SEAT), (_CRANK, _SEAT), (_CRANK, _HEAD), (_SEAT, _HEAD))
_RIDER = mbd.Capsule(0.13, 0.45, at=(0.05, 0, 0.3), axis=(0.3, 0, 1), color="#8a6a52")
SHAPES = {
    "rear wheel": _wheel(REAR),
    "frame": [*(_tube(_FRAME, P, Q) for P, Q in _TUBES), _RIDER],
    "fork": [
        _tube(_FORK, (BASE, 0, FRONT), (0.81, 0, 0.95)),
        _tube(_FORK, (0.78, -0.25, 0.98), (0.78, 0.25, 0.98)),
    ],
    "front wheel": _wheel(FRONT),
}


def _inertia(xx: float, xz: float, yy: float, zz: float) -> np.ndarray:
    """Return the inertia with the published xz, whose axes have z down."""
    return np.array([[xx, 0.0, -xz], [0.0, yy, 0.0], [-xz, 0.0, zz]])


def build(formulation: str = "so3", speed: float = 5.0, roll_rate: float = 1e-2) -> mbd.System:
    """Return the bicycle at a speed [m/s], upright, rolling over at a rate [rad/s]."""
    system = mbd.System(gravity=(0, 0, -G))

    def body(name: str, mass: float, inertia: object, at: tuple, spin: float = 0.0) -> object:
        turn = np.array([roll_rate, spin, 0.0])
        velocity = np.array([speed, 0.0, 0.0]) + np.cross((roll_rate, 0.0, 0.0), at)
        return system.add(
            mbd.RigidBody(
                name, mass=mass, inertia=inertia, position=at, velocity=velocity,
                angular_velocity=turn, formulation=formulation, shape=SHAPES[name],
            )
        )  # fmt: skip

    rear = body("rear wheel", 2.0, (0.0603, 0.12, 0.0603), (0, 0, REAR), speed / REAR)
    frame = body("frame", 85.0, _inertia(9.2, 2.4, 11.0, 2.8), (0.3, 0, 0.9))
    fork = body("fork", 4.0, _inertia(0.05892, -0.00756, 0.06, 0.00708), (0.9, 0, 0.7))
    front = body("front wheel", 3.0, (0.1405, 0.28, 0.1405), (BASE, 0, FRONT), speed / FRONT)
    y = (0, 1, 0)
    steer = (-np.sin(TILT), 0, np.cos(TILT))
    system.add(mbd.Revolute("rear hub", frame, rear, at=(0, 0, REAR), axis=y))
    system.add(mbd.Revolute("head", frame, fork, at=(BASE + TRAIL, 0, 0), axis=steer))
    system.add(mbd.Revolute("front hub", fork, front, at=(BASE, 0, FRONT), axis=y))
    system.add(mbd.RollingDisc("rear tyre", system.ground, rear, radius=REAR, axis=y))
    system.add(mbd.RollingDisc("front tyre", system.ground, front, radius=FRONT, axis=y))
    return system
