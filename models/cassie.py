"""Legs of the robot Cassie: hung by the pelvis, each closes two loops, by rods on ball joints.

A rod from the hip to the heel and two leaf springs, at the knee and the heel, hold the tarsus; a crank
on the tarsus turns the foot by a second rod. Five motors a leg move as they are told, from rest in the
pose in which the robot stands; the springs give way. The pelvis and eleven bodies a leg, 62 rows each:
two freedoms a leg and the spin of its two rods about themselves, no row is redundant.

Masses, inertias, places of joints, springs and friction are those of Agility Robotics,
``cassie_simple.sdf`` in https://github.com/DAIRLab/cassie-gazebo-sim (ISC licence), the left leg and its
mirror image; rods are on ball joints at both ends. Source of the reference: mass matrix, bias and
Jacobians of pinocchio 4.1.0 from the same numbers, its tree closed by multipliers, integrated by
Runge-Kutta of order four with steps of 1e-4 s.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

PELVIS = (10.33, (0.05066, 0.000346, 0.02841),
          (0.085821, 0.049222, 0.08626, 1.276e-05, -0.00016022, -0.000414))  # fmt: skip
AT = (0.0, 0.0, 1.01)  # m, of the pelvis


class Link(NamedTuple):
    """A body of the left leg, turned about z of its axes on the one before; SI units."""

    before: str
    place: tuple[float, float, float]
    turns: tuple[float, float, float]  # about inertial x, y, z in this order
    mass: float
    center: tuple[float, float, float]  # in axes of the body, as the inertia
    inertia: tuple[
        float, float, float, float, float, float
    ]  # xx, yy, zz, xy, xz, yz about the center
    tip: tuple[float, float, float]  # to where it is drawn, in axes of the body
    damping: float = 1.0  # N m s/rad
    stiffness: float = 0.0  # N m/rad
    ball: bool = False


LEG = {
    "hip roll": Link(
        "pelvis", (0.021, 0.135, 1.01), (0, 1.5708, 0), 1.82, (-0.01793, 0.0001, -0.04428),
        (0.003431, 0.003793, 0.002135, -6.65e-07, -0.00084, 3.99e-06), (0, 0, -0.07)),
    "hip yaw": Link(
        "hip roll", (-0.049, 0.135, 1.01), (0, 0, 0), 1.171, (0, -1e-05, -0.034277),
        (0.002443, 0.002803, 0.000842, -4e-08, 2.462e-07, -2.71e-08), (0, 0, -0.09)),
    "hip pitch": Link(
        "hip yaw", (-0.049, 0.135, 0.92), (0, 1.5708, -1.57), 5.52, (0.05946, 5e-05, -0.03581),
        (0.010898, 0.029714, 0.030257, -0.0002669, -5.721e-05, 9.17e-06), (0.12, 0, 0)),
    "achilles rod": Link(
        "hip pitch", (-0.049, 0.09, 0.92), (-1.7199, 0.91441, 3.0232), 0.1567, (0.24719, 0, 0),
        (3.754e-06, 0.004487, 0.004488, -3.74e-08, -1.61e-08, 0), (0.5012, 0, 0), ball=True),
    "knee": Link(
        "hip pitch", (-0.049, 0.1305, 0.8), (-1.5708, 0.7854, 3.1416), 0.7578,
        (0.023, 0.03207, -0.002181),
        (0.001376, 0.0010335, 0.0021637, -0.00039744, -4.085e-05, -5.374e-05), (0.0607, 0.0474, 0)),
    "shin": Link(
        "knee", (-0.058383, 0.1305, 0.72357), (-1.5708, 0.7854, 3.1416), 0.577,
        (0.18338, 0.001169, 0.0002123),
        (0.00035939, 0.014728, 0.014707, -0.00020981, 2.266e-05, -1.2e-07), (0.4348, 0.02, 0),
        damping=0.1, stiffness=1500.0),
    "tarsus": Link(
        "shin", (-0.35166, 0.1305, 0.402), (1.5708, 1.3439, 0), 0.782, (0.11046, -0.03058, -0.00131),
        (0.00039238, 0.013595, 0.013674, 0.00023651, -4.987e-05, -4.82e-06), (0.408, -0.04, 0),
        damping=0.1),
    "heel spring": Link(
        "tarsus", (-0.38432, 0.12958, 0.40749), (1.6878, -1.3734, -0.18949), 0.126, (0.081, 0.0022, 0),
        (2.959e-05, 0.00022231, 0.0002007, 7.15e-06, -6e-07, 1e-07), (0.11877, 0, 0),
        damping=0.0, stiffness=1250.0),
    "foot crank": Link(
        "tarsus", (-0.37174, 0.10775, 0.33784), (1.5708, 1.3439, 0), 0.1261, (0.00493, 2e-05, -0.00215),
        (2.6941e-05, 4.9621e-05, 6.3362e-05, -2.1e-09, -3.9623e-06, -1.09e-08), (0.055, 0, -0.008)),
    "plantar rod": Link(
        "foot crank", (-0.35937, 0.11566, 0.28425), (1.5708, 1.3639, 0.1), 0.1186, (0.17792, 0, 0),
        (2.779e-06, 0.001774, 0.001775, -2.34e-08, -8.1e-09, 0), (0.35, 0, 0), ball=True),
    "foot": Link(
        "tarsus", (-0.29886, 0.1305, -0.0045361), (1.5708, 1.3439, 0), 0.1498, (0.00474, 0.02748, -0.00014),
        (0.00017388, 0.00016793, 0.00033261, 0.00011814, 1.36e-06, -4e-07), (0.055, 0, 0.008)),
}  # fmt: skip
# the ends of rods that close a loop: body on which the place stands, the place in its axes [m]
CLOSED = {
    "achilles rod": ("heel spring", "achilles rod", (0.501187, 0.00132298, 0.00170128)),
    "plantar rod": ("foot", "foot", (0.055, 0.0, 0.008)),
}
SOLE = ((-0.0478, 0.1141, 0.0), (0.0678, -0.0241, 0.0))  # of the foot, in its axes [m]
MOTORS = {
    "hip roll": 0.05,
    "hip yaw": 0.1,
    "hip pitch": 0.25,
    "knee": -0.5,
    "foot crank": 0.3,
}  # rad
RATES = {"left": 3.0, "right": 4.5}  # rad/s; angles are a (1 - cos(w t))
_SOURCE = "pinocchio 4.1.0"
REFERENCE = (
    ("left foot.position", 0.5, (-0.26117167, 0.15307683, 0.1012578), 3e-5, _SOURCE),
    ("left tarsus.position", 0.5, (-0.40516388, 0.12178419, 0.48381035), 3e-5, _SOURCE),
    ("right foot.position", 0.5, (-0.2245826, -0.16689809, 0.21083611), 3e-5, _SOURCE),
)
LATER = {10.0: (-0.4006299, 0.1233601, 0.4746937)}  # left tarsus [m] at [s], as the reference
RUN = {"t_end": 2.0, "step": 1e-3}


def build() -> mbd.System:
    """Return both legs at rest, z up, x ahead."""
    system = mbd.System(gravity=(0.0, 0.0, -9.81))
    mass, center, inertia = PELVIS
    pelvis = mbd.RigidBody(
        "pelvis",
        mass=mass,
        inertia=tensor(inertia),
        center_of_mass=center,
        position=AT,
        shape=mbd.Box((0.18, 0.26, 0.12), at=(0.03, 0, 0.03)),
    )
    system.add(pelvis)
    system.add(mbd.Fixed("stand", system.ground, pelvis, at=AT))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _leg(system, pelvis, side, sign)
    return system


def tensor(inertia: tuple[float, ...]) -> np.ndarray:
    """Return the matrix of the six moments xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _leg(system: mbd.System, pelvis: mbd.RigidBody, side: str, sign: float) -> None:
    """Add a leg, the right one (sign = -1) as the image in the mirror S = diag(1, -1, 1).

    A mirrored body has the axes S R S, so that S turns all its vectors and tensors too.
    """
    mirror = np.array([1.0, sign, 1.0])
    S = np.diag(mirror)
    bodies = {"pelvis": pelvis}
    for name, link in LEG.items():
        R = S @ Rotation.from_euler("xyz", link.turns).as_matrix() @ S
        tips = [mirror * t for t in (SOLE if name == "foot" else ((0.0, 0.0, 0.0), link.tip))]
        way = tips[1] - tips[0]
        body = bodies[name] = system.add(
            mbd.RigidBody(
                f"{side} {name}",
                mass=link.mass,
                inertia=S @ tensor(link.inertia) @ S,
                center_of_mass=mirror * link.center,
                position=mirror * link.place,
                rotation=R,
                shape=mbd.Capsule(
                    0.008 if link.ball else 0.02,
                    float(np.linalg.norm(way)),
                    at=(tips[0] + tips[1]) / 2,
                    axis=way,
                ),
            )
        )
        before = bodies[link.before]
        if link.ball:
            system.add(mbd.Spherical(f"{side} {name} top", before, body, at=body.position))
            continue
        hinge = {"at": body.position, "axis": sign * R[:, 2]}
        joint = mbd.Revolute(f"{side} {name} hinge", before, body, **hinge)
        system.add(joint)
        if name in MOTORS:
            a = MOTORS[name]
            law = mbd.Harmonic(-a, RATES[side], phase=np.pi / 2, mean=a)
            system.add(mbd.Drive(f"{side} {name} motor", joint, position=law))
        if link.damping or link.stiffness:
            system.add(
                mbd.JointSpring(
                    f"{side} {name} spring", joint, damping=link.damping, stiffness=link.stiffness
                )
            )
    for name, (other, on, place) in CLOSED.items():
        at = bodies[on].position + bodies[on].rotation @ (mirror * place)
        system.add(mbd.Spherical(f"{side} {name} end", bodies[name], bodies[other], at=at))
