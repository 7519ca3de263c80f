r"""Flexible rod from masses: point masses make two sines and a quadratic in a slider-crank.

The rod is a floating frame with shape functions (Ritz); with s from 0 at the crank pin to 1,

    x(s) = l s + 4 s (1 - s) q3 + (2 s^2 - s) q4 along the chord,
    y(s) = sin(pi s) q1 + sin(2 pi s) q2 across it.

Its kinetic energy is exactly that of three points at Gauss nodes, which integrate products of
quadratics exactly and move across the chord with the quadratic part of the sines (L2 projection), and
of a point each for q1 and q2, about the origin of the ground on axes parallel to the chord, with the
rest of the mass of the sine. The problem takes 15 times the longitudinal mass matrix of the rod: points
of the same kind for the two longitudinal modes have the other 14 parts. Rows tie the points together.

Source: B. Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs,
Math. Modelling of Systems 2 (1996) 1-18; values of "Slider crank" in the Test Set for IVP Solvers
(linear stiffness, no damping, MEBDFI with 1e-14).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import mbd

PI = 3.1415927  # as in the source; the phase of q2 after 0.1 s feels the difference by 1.5e-5 rad
SPEED, CRANK, ROD = 150.0, 0.15, 0.3  # rad/s, m
M1, M2, M3, J1, J2 = 0.36, 0.151104, 0.075552, 0.002727, 0.0045339259  # kg, kg m^2
E, SIDE = 2e11, 0.008  # N/m^2, m
AXIAL_MASS = M2 * np.array([[8.0, 1], [1, 2]])  # of (q3, q4); that of the rod is 1/15 of it
AXIAL_STIFFNESS = E * SIDE**2 / ROD / 3 * np.array([[16.0, -8], [-8, 7]])
BENDING_STIFFNESS = E * SIDE**2 / ROD * (SIDE / ROD) ** 2 * PI**4 * np.array([1 / 24, 2 / 3])
PIN = 0.01  # kg, the part of the crank that is at its pin

NODES = 0.5 + np.sqrt(0.15) * np.array([-1.0, 0, 1])
WEIGHTS = np.array([5.0, 8, 5]) / 18
ALONG = np.column_stack([4 * NODES * (1 - NODES), 2 * NODES**2 - NODES])  # (node, q3 and q4)
# integrals of 1, s, s^2 with both sines, and the quadratics at the nodes that have the same ones
_SINES = np.array([[2 / PI, 0], [1 / PI, -0.5 / PI], [1 / PI - 4 / PI**3, -0.5 / PI]])
ACROSS = np.linalg.solve(np.vander(NODES, increasing=True).T * WEIGHTS, _SINES)  # (node, q1 and q2)
MODES = eigh(AXIAL_STIFFNESS, AXIAL_MASS)[1]  # (q3, q4) = MODES u
MODES = MODES / np.abs(MODES).max(axis=0)

# phi1, phi2, q1, q2, q3, q4; the slider and the second rate follow from the rest
START = np.array([0, 0, 0, 0, 1.03339863e-5, 1.69327969e-5])
RATES = np.array([SPEED, -SPEED * CRANK / (ROD + START[5]),
                  0.444896105, 4.63434311e-3, -1.78591076e-6, -2.68938672e-6])  # fmt: skip
X_AXIS = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # axes whose third one is x, and y
Y_AXIS = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
ORIGIN = np.zeros(3)

RUN = {"t_end": 0.1, "step": 1e-5}
_SOURCE = "Test Set for IVP Solvers, Slider crank"
REFERENCE = (
    ("chord.angle", 0.1, -0.331173498825626, 1e-7, _SOURCE),
    ("chord.angle_rate", 0.1, 60.2534675513837, 1e-3, _SOURCE),
    ("slider.position", 0.1, (0.169737332842786, 0, 0), 1e-7, _SOURCE),
    ("slider.velocity", 0.1, (-8.75311632667053, 0, 0), 1e-3, _SOURCE),
    ("q1.displacement", 0.1, 1.893192899613509e-4, 5e-8, _SOURCE),
    ("q2.displacement", 0.1, 2.375751249879174e-5, 2e-8, _SOURCE),
    ("q1.displacement_rate", 0.1, -0.03005541400289738, 2e-4, _SOURCE),
    ("q2.displacement_rate", 0.1, -0.005500431812571696, 2e-4, _SOURCE),
)


def build(formulation: str = "so3") -> mbd.System:
    """Return the mechanism at its start, stretched out along x."""
    return mechanism(START, RATES, formulation)


def mechanism(p: np.ndarray, v: np.ndarray, formulation: str = "so3") -> mbd.System:
    """Return the mechanism at p = (phi1, phi2, q1, q2, q3, q4) and its rates v."""
    system = mbd.System(gravity=(0, 0, 0))
    pin = _crank(system, p, v, formulation)
    rod = _Rod(system, _compass(system, p, v, formulation), pin, p, v)
    start = system.add(mbd.PointInPlane("pin", rod.compass.frame(), pin.frame()))

    u, du = np.linalg.solve(MODES, np.array([p[4:], v[4:]]).T).T
    coordinates = []
    for j, mode in enumerate(MODES.T):
        m, k = 14 / 15 * mode @ AXIAL_MASS @ mode, mode @ AXIAL_STIFFNESS @ mode
        coordinates.append(rod.coordinate(f"mode {j + 1}", m, k, X_AXIS, u[j], du[j]))
    for j, rest in enumerate(0.5 - WEIGHTS @ ACROSS**2):
        k = BENDING_STIFFNESS[j]
        coordinates.append(rod.coordinate(f"q{j + 1}", M2 * rest, k, Y_AXIS, p[2 + j], v[2 + j]))

    for k in range(3):
        rod.point(
            f"rod {k + 1}", M2 * WEIGHTS[k], NODES[k], ALONG[k], ACROSS[k], start, coordinates
        )
    slider = rod.point("slider", M3, 1.0, np.array([0.0, 1]), np.zeros(2), start, coordinates)
    system.add(mbd.PointInPlane("guide", system.ground.frame(axes=Y_AXIS), slider.frame()))
    return system


def _crank(system: mbd.System, p: Any, v: Any, formulation: str) -> mbd.PointMass:
    """Add the driven crank; return the point at its pin, held along the axis by the rod."""
    arm = CRANK * np.array([np.cos(p[0]), np.sin(p[0]), 0.0])
    velocity = v[0] * np.array([-arm[1], arm[0], 0.0])
    J = J1 - (M1 / 4 + PIN) * CRANK**2
    crank = mbd.RigidBody(
        "crank",
        mass=M1,
        inertia=(0.1 * J, J, J),
        position=arm / 2,
        rotation=Rotation.from_rotvec([0, 0, p[0]]),
        velocity=velocity / 2,
        angular_velocity=(0, 0, v[0]),
        formulation=formulation,
        shape=mbd.Capsule(0.01, CRANK, axis=(1, 0, 0)),
    )
    pin = mbd.PointMass("crank end", mass=PIN, position=arm, velocity=velocity)
    bearing = mbd.Revolute("bearing", system.ground.frame(), crank.frame((-CRANK / 2, 0, 0)))
    system.add(crank)
    system.add(pin)
    system.add(bearing)
    system.add(mbd.PointOnLine("crank pin", crank.frame((CRANK / 2, 0, 0)), pin.frame()))
    system.add(mbd.Drive("motor", bearing, position=mbd.ConstantSpeed(SPEED, start=p[0])))
    return pin


def _compass(system: mbd.System, p: Any, v: Any, formulation: str) -> mbd.RigidBody:
    """Add the body that turns as the chord does, about the origin; its inertia is the section's."""
    J = J2 - M2 * ROD**2 / 3
    compass = mbd.RigidBody(
        "compass",
        mass=1e-3,  # at rest
        inertia=(J, J, J),
        rotation=Rotation.from_rotvec([0, 0, p[1]]),
        angular_velocity=(0, 0, v[1]),
        formulation=formulation,
        shape=mbd.Box((0.03, 0.004, 0.004)),
    )
    system.add(compass)
    system.add(mbd.Revolute("chord", system.ground.frame(), compass.frame()))
    return compass


@dataclass
class _Rod:
    """What the points of the rod need to know: compass, crank pin, p and v."""

    system: mbd.System
    compass: mbd.RigidBody
    pin: mbd.PointMass
    p: np.ndarray
    v: np.ndarray

    def _add(
        self, name: str, mass: float, x: Any, dx: Any, origin: Any, drift: Any
    ) -> mbd.PointMass:
        """Add a point at x in the axes of the compass, from an origin that drifts."""
        R, spin = self.compass.rotation, np.array([0, 0, self.v[1]])
        point = mbd.PointMass(
            name,
            mass=mass,
            position=origin + R @ x,
            velocity=drift + R @ (dx + np.cross(spin, x)),
            shape=mbd.Sphere(0.008),
        )
        return self.system.add(point)

    def coordinate(self, name: str, m: float, k: float, axes: Any, u: float, du: float) -> Any:
        """Add a point on an axis through the origin, held by a spring; return its displacement."""
        axis = axes[:, 2]
        point = self._add(f"{name} mass", m, u * axis, du * axis, ORIGIN, ORIGIN)
        line = mbd.PointOnLine(name, self.compass.frame(axes=axes), point.frame())
        self.system.add(line)
        self.system.add(mbd.JointSpring(f"{name} spring", line, stiffness=k))
        return line.displacement

    def point(
        self, name: str, m: float, s: float, along: Any, across: Any, start: Any, coordinates: Any
    ) -> mbd.PointMass:
        """Add the point of the rod at s, where its shape functions are `along` and `across`."""
        x, dx = np.zeros(3), np.zeros(3)
        x[:2] = ROD * s + along @ self.p[4:], across @ self.p[2:4]
        dx[:2] = along @ self.v[4:], across @ self.v[2:4]
        point = self._add(name, m, x, dx, self.pin.position, self.pin.velocity)
        place = mbd.PointInPlane(f"{name} in plane", self.compass.frame(), point.frame())
        self.system.add(place)
        for direction, terms, factors, value in (
            ("along", (place.x, start.x, *coordinates[:2]), (1, -1, *(-along @ MODES)), ROD * s),
            ("across", (place.y, start.y, *coordinates[2:]), (1, -1, *-across), 0.0),
        ):
            self.system.add(mbd.Coupler(f"{name} {direction}", terms, factors, value))
        return point
