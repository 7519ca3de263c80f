"""Strandbeest: a pair of Jansen's legs, closed loops that stay closed.

A leg is two triangles and four rods on a crank and a fixed bearing, with the lengths of T. Jansen.
Thirteen bodies on nineteen hinges in space, the crank driven at constant speed: 96 rows for 78
velocities, 18 of them redundant. Source of the numbers: circles meeting circles, crank to toe.
"""

import numpy as np

import mbd

# lengths of T. Jansen under his letters [m]
A, B, C, D, E, F, G = 0.38, 0.415, 0.393, 0.401, 0.558, 0.394, 0.367
H, I, J, K, L, M = 0.657, 0.49, 0.50, 0.619, 0.078, 0.15
SPEED, START = -4.0, 0.7  # rad/s, rad
RUN = {"t_end": 2.0, "step": 1e-3}


def meet(P: np.ndarray, p: float, Q: np.ndarray, q: float, side: float) -> np.ndarray:
    """Return the point at p from P and q from Q, left of the way from P to Q if side = 1."""
    d = Q - P
    r = np.hypot(*d)
    x = (p**2 - q**2 + r**2) / (2 * r)
    return P + (x * d + side * np.sqrt(p**2 - x**2) * np.array([-d[1], d[0]])) / r


def leg(angle: float, side: float) -> dict[str, np.ndarray]:
    """Return the joints of the left leg (side = 1) or the right one, inertial, by crank angle."""
    crank = M * np.array([side * np.cos(angle), np.sin(angle)])  # as the leg sees it
    bearing = np.array([-A, -L])
    knee, ankle = meet(bearing, B, crank, J, 1.0), meet(bearing, C, crank, K, -1.0)
    back = meet(bearing, D, knee, E, 1.0)
    heel = meet(back, F, ankle, G, -1.0)
    places = {"crank": crank, "bearing": bearing, "knee": knee, "ankle": ankle, "back": back,
              "heel": heel, "toe": meet(heel, H, ankle, I, -1.0)}  # fmt: skip
    return {name: np.array([side * x, 0.0, z]) for name, (x, z) in places.items()}


def toe(t: float, side: float) -> tuple[float, ...]:
    """Return the place of a toe at a time."""
    return tuple(leg(START + SPEED * t, side)["toe"].tolist())


_SOURCE = "circles meeting circles"
REFERENCE = (
    ("left foot.position", 1.0, toe(1.0, 1.0), 1e-9, _SOURCE),
    ("right foot.position", 1.0, toe(1.0, -1.0), 1e-9, _SOURCE),
    ("left foot.position", 2.0, toe(2.0, 1.0), 1e-9, _SOURCE),
    ("right foot.position", 2.0, toe(2.0, -1.0), 1e-9, _SOURCE),
)


def build() -> mbd.System:
    """Return the legs in motion, 1 kg per metre of their sides, z up."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))

    def link(name: str, side: float, *corners: str, y: float = 0.0) -> mbd.RigidBody:
        """Return a rod or triangle whose origin is its first corner; inertial axes at the start."""
        now = leg(START, side)
        h = 1e-3  # velocities to round-off, from differences of fourth order
        ahead = [leg(START + k * h, side) for k in (-2, -1, 1, 2)]
        rate = {
            x: SPEED * (ahead[0][x] - 8 * ahead[1][x] + 8 * ahead[2][x] - ahead[3][x]) / (12 * h)
            for x in corners[:2]
        }
        d = now[corners[1]] - now[corners[0]]
        omega = np.cross(d, rate[corners[1]] - rate[corners[0]]) / (d @ d)
        sides = [*zip(corners, corners[1:] + corners[:1], strict=True)][: 3 if corners[2:] else 1]
        ends = [(now[a] - now[corners[0]], now[b] - now[corners[0]]) for a, b in sides]
        mass = np.array([np.linalg.norm(q - p) for p, q in ends])
        center = sum(m * (p + q) / 2 for m, (p, q) in zip(mass, ends, strict=True)) / mass.sum()
        inertia = np.zeros((3, 3))
        for m, (p, q) in zip(mass, ends, strict=True):  # of a slender rod, and of a bar 1 cm thick
            s, r = q - p, (p + q) / 2 - center
            inertia += m / 12 * (s @ s * np.eye(3) - np.outer(s, s)) + m * 1e-4 * np.eye(3)
            inertia += m * (r @ r * np.eye(3) - np.outer(r, r))
        shapes = [
            mbd.Capsule(0.008, float(m), at=(p + q) / 2 + (0, y, 0), axis=(q - p) / m)
            for m, (p, q) in zip(mass, ends, strict=True)
        ]
        return system.add(
            mbd.RigidBody(
                name,
                mass=float(mass.sum()),
                inertia=inertia,
                center_of_mass=center,
                position=now[corners[0]],
                velocity=rate[corners[0]],
                angular_velocity=omega,
                shape=shapes,
            )
        )

    def hinge(name: str, first: object, second: object, at: np.ndarray) -> mbd.Revolute:
        """Return a hinge across the plane."""
        return system.add(mbd.Revolute(name, first, second, at=at, axis="y"))

    ground, zero = system.ground, np.zeros(3)
    pin = leg(START, 1.0)["crank"]
    crank = system.add(
        mbd.RigidBody(
            "crank",
            mass=1.0,
            inertia=(0.01, 0.02, 0.01),
            position=zero,
            angular_velocity=(0, -SPEED, 0),  # angles count from x to z
            shape=mbd.Capsule(0.012, M, at=pin / 2, axis=pin / M),
        )
    )
    bearing = hinge("crank bearing", ground, crank, zero)
    for name, side in (("left", 1.0), ("right", -1.0)):
        now = leg(START, side)
        upper = link(f"{name} upper rod", side, "knee", "crank", y=0.02 * side)
        lower = link(f"{name} lower rod", side, "ankle", "crank", y=0.04 * side)
        hip = link(f"{name} hip", side, "bearing", "knee", "back")
        shin = link(f"{name} shin", side, "bearing", "ankle", y=0.02 * side)
        calf = link(f"{name} calf", side, "back", "heel", y=-0.02 * side)
        foot = link(f"{name} foot", side, "toe", "heel", "ankle")
        for joint, first, second, at in (
            ("upper pin", crank, upper, "crank"),
            ("lower pin", crank, lower, "crank"),
            ("hip bearing", ground, hip, "bearing"),
            ("shin bearing", ground, shin, "bearing"),
            ("knee", upper, hip, "knee"),
            ("ankle", shin, foot, "ankle"),
            ("lower ankle", lower, foot, "ankle"),
            ("back", hip, calf, "back"),
            ("heel", calf, foot, "heel"),
        ):
            hinge(f"{name} {joint}", first, second, now[at])
    system.add(mbd.Drive("wind", bearing, position=mbd.ConstantSpeed(-SPEED)))
    return system
