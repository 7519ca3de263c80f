"""Leg of a running robot with two closed chains, after the plan of Cassie, in dimensions of its own.

Hip and knee are driven, the ankle is not: a rod from the hip to the heel keeps the tarsus nearly
parallel to the thigh. A crank on the tarsus turns the foot by a second rod. Seven bodies; the rods are
on ball joints and may spin about themselves, which is all the freedom that the three motors leave; no
row is redundant. Source of the numbers: circles meeting circles, from the hip to the toe.
"""

import numpy as np

import mbd

THIGH, SHIN, TARSUS, HEEL, ROD = 0.12, 0.44, 0.41, 0.10, 0.45  # m
CRANK, ARM, PLANTAR, TOE = 0.06, 0.05, 0.36, 0.13  # of the second chain [m]
LAWS = {  # mean of the angle [rad], then amplitude [rad] and frequency [rad/s]
    "hip": (0.8, 0.3, 3.0),
    "knee": (-1.5, 0.4, 6.0),
    "crank": (-1.4, 0.35, 6.0),
}
RUN = {"t_end": 2.0, "step": 1e-3}


def arm(length: float, angle: float) -> np.ndarray:
    """Return an arm that hangs down at angle 0 and swings forward, along x."""
    return length * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def meet(P: np.ndarray, p: float, Q: np.ndarray, q: float, side: float) -> np.ndarray:
    """Return the point at p from P and q from Q, ahead (1) or behind (-1) of one who falls to Q."""
    d = Q - P
    r = np.linalg.norm(d)
    x = (p**2 - q**2 + r**2) / (2 * r)
    return P + (x * d + side * np.sqrt(p**2 - x**2) * np.cross(d, (0, 1, 0))) / r


def joints(t: float) -> dict[str, np.ndarray]:
    """Return the joints of the leg at a time, inertial."""
    hip, knee, crank = (a + b * np.sin(w * t) for a, b, w in LAWS.values())
    z = {"hip": np.zeros(3), "knee": arm(THIGH, hip)}
    z["ankle"] = z["knee"] + arm(SHIN, hip + knee)
    z["heel"] = meet(z["hip"], ROD, z["ankle"], HEEL, 1.0)
    down = (z["ankle"] - z["heel"]) / HEEL  # along the tarsus
    lean = np.arctan2(down[0], -down[2])
    z["crank"], z["foot"] = z["ankle"] + 0.05 * down, z["ankle"] + TARSUS * down
    z["pin"] = z["crank"] + arm(CRANK, lean + crank)
    z["spur"] = meet(z["pin"], PLANTAR, z["foot"], ARM, -1.0)
    z["toe"] = z["foot"] - TOE / ARM * (z["spur"] - z["foot"])
    return z


def toe(t: float) -> tuple[float, ...]:
    """Return the place of the toe at a time."""
    return tuple(joints(t)["toe"].tolist())


_SOURCE = "circles meeting circles"
REFERENCE = (
    ("foot.position", 1.3, toe(1.3), 1e-9, _SOURCE),
    ("tarsus.position", 2.0, tuple(joints(2.0)["heel"].tolist()), 1e-9, _SOURCE),
    ("foot.position", 2.0, toe(2.0), 1e-9, _SOURCE),
)


def build() -> mbd.System:
    """Return the leg in motion, hip held, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    now, h = joints(0.0), 1e-3
    far, back, ahead, beyond = (joints(k * h) for k in (-2, -1, 1, 2))
    rate = {x: (far[x] - 8 * back[x] + 8 * ahead[x] - beyond[x]) / (12 * h) for x in now}

    def link(name: str, first: str, second: str, mass: float, radius: float) -> mbd.RigidBody:
        """Return a slender link whose origin is its first joint; inertial axes at the start."""
        d = now[second] - now[first]
        length = float(np.linalg.norm(d))
        n = d / length
        across = np.eye(3) - np.outer(n, n)
        return system.add(
            mbd.RigidBody(
                name,
                mass=mass,
                inertia=mass * (length**2 / 12 * across + radius**2 / 2 * np.eye(3)),
                center_of_mass=d / 2,
                position=now[first],
                velocity=rate[first],
                angular_velocity=np.cross(d, rate[second] - rate[first]) / length**2,
                shape=mbd.Capsule(radius, length, at=d / 2, axis=n),
            )
        )

    ground = system.ground
    thigh = link("thigh", "hip", "knee", 3.0, 0.04)
    shin = link("shin", "knee", "ankle", 1.5, 0.025)
    tarsus = link("tarsus", "heel", "foot", 1.0, 0.02)
    rod = link("rod", "hip", "heel", 0.2, 0.008)
    crank = link("crank", "crank", "pin", 0.1, 0.012)
    plantar = link("plantar rod", "pin", "spur", 0.1, 0.006)
    foot = link("foot", "toe", "spur", 0.3, 0.015)
    turning = {}
    for name, first, second, at in (
        ("hip", ground, thigh, "hip"),
        ("knee", thigh, shin, "knee"),
        ("ankle", shin, tarsus, "ankle"),
        ("crank", tarsus, crank, "crank"),
        ("foot joint", tarsus, foot, "foot"),
    ):
        turning[name] = mbd.Revolute(f"{name} hinge", first, second, at=now[at], axis="-y")
        system.add(turning[name])
    for name, first, second, at in (
        ("rod top", thigh, rod, "hip"),
        ("heel", rod, tarsus, "heel"),
        ("plantar pin", crank, plantar, "pin"),
        ("spur", plantar, foot, "spur"),
    ):
        system.add(mbd.Spherical(name, first, second, at=now[at]))
    for name, (_, amplitude, frequency) in LAWS.items():
        law = mbd.Harmonic(amplitude, frequency)
        system.add(mbd.Drive(f"{name} motor", turning[name], position=law))
    return system
