"""Quadruped: servos in twelve joints; it stands on its feet, on a floor or a slope, or trots.

Feet are balls that touch the floor with dry friction; they stay where they stand for ever, and roll
as the servos give way. ``models/quadruped.xml`` has the figures, round numbers of the size of the
robots that are sold. Source of the reference: mujoco 4.0.0 on the same file, in steps of 1e-4 s, as
its contacts become stiff (solref 0.4 ms, solimp 0.9999, elliptic cones, impratio 1000); as the file
says them the trunk is 1.3 mm lower.
"""

import math
from pathlib import Path

import numpy as np

import mbd

FILE = Path(__file__).with_suffix(".xml")
LEGS = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}  # phase of the trot
LENGTH, HIP = 0.2, 0.4 * math.cos(0.8)  # of thigh and shank; height of the hips above the feet [m]
STIFFNESS, DAMPING = 150.0, 3.1  # of a servo and its joint, as in the file [N m/rad], [N m s/rad]
PERIOD, STRIDE, LIFT = 0.4, 0.08, 0.05  # of the trot [s], [m]
RUN = {"t_end": 2.0, "step": 1e-3}
_SOURCE = "mujoco 4.0.0"
REFERENCE = (
    ("trunk.position", 2.0, (-0.00765, 0, 0.294231), 2e-5, _SOURCE),
    ("trunk.velocity", 2.0, (0, 0, 0), 1e-3, "at rest"),
)


def build(slope: float = 0.0, height: float = 0.0, trot: float = 0.0) -> mbd.System:
    """Return the robot on a slope [rad] that rises ahead, from a height [m] above it.

    It stands, or trots for a time [s], at about 0.3 m/s.
    """
    gravity = -9.81 * np.array([math.sin(slope), 0.0, math.cos(slope)])
    robot = mbd.read(FILE, keyframe="stand", gravity=gravity)
    feet = [f"{leg} shank" for leg in LEGS]
    if height:
        floor = robot.system.ground.frame((0.0, 0.0, -height))
        robot.add_contacts(feet, plane=floor, friction=0.8)
    else:
        robot.add_contacts(feet)
    if trot:
        for leg, phase in LEGS.items():
            _move(robot.system, leg, phase, trot)
    return robot.system


def _move(system: mbd.System, leg: str, phase: float, t_end: float) -> None:
    """Let the servos of a leg follow the curves of a trot: motors add what their springs lack."""
    t = np.linspace(0.0, t_end, round(t_end / PERIOD * 80) + 1)
    curves = np.array([angles(*foot(x / PERIOD + phase, x / PERIOD)) for x in t])
    efforts = STIFFNESS * (curves - angles(0.0, -HIP)) + DAMPING * np.gradient(curves, t, axis=0)
    for name, values in zip(("pitch", "knee"), efforts.T, strict=True):
        effort = mbd.Interpolated(t, values, "line")
        system.add(mbd.Motor(f"{leg} {name} command", system[f"{leg} {name}"], effort))


def foot(cycle: float, started: float) -> tuple[float, float]:
    """Return the place of a foot under its hip [m]: in the first half of a cycle it stands."""
    part, grown = cycle % 1.0, min(started, 1.0)
    if part < 0.5:
        return grown * STRIDE * (0.5 - 2.0 * part), -HIP
    turn = math.pi * (2.0 * part - 1.0)
    return -0.5 * grown * STRIDE * math.cos(turn), -HIP + grown * LIFT * math.sin(turn)


def angles(x: float, z: float) -> tuple[float, float]:
    """Return pitch and knee [rad] with which a foot is at x, z under its hip [m]."""
    knee = -2.0 * math.acos(math.hypot(x, z) / (2.0 * LENGTH))
    return math.atan2(-x, -z) - 0.5 * knee, knee
