"""Coordinates of which three say the rotation, pulled from their faces: no own rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.algebra.expressions import stumpff
from mbd.algebra.rotations import quaternion_from_matrix, tilde
from mbd.formulations.formulation import Formulation
from mbd.formulations.pulled import pulled
from mbd.machine.buffer import ROTATION, TRANSLATION


def chart(name, rotation, coordinates) -> Formulation:
    """Return the formulation of three numbers a of which ``rotation`` makes a matrix."""
    return pulled(
        name,
        dict.fromkeys("xyz", TRANSLATION) | dict.fromkeys("abc", ROTATION),
        lambda q: [q[:3], *rotation(q[3:]).T],
        lambda x, R: [*x, *coordinates(R)],
        (),
        lambda y: [],
    )


def of_rodrigues(s):
    """Return the rotation of s = tan(theta/2) n."""
    S = tilde(s)
    return np.eye(3) + 2 / (1 + s @ s) * (S + S @ S)


def rodrigues_of(R):
    p = quaternion_from_matrix(R)
    return p[1:] / p[0]


def exponential(theta):
    """Return the rotation of a rotation vector."""
    x, S = theta @ theta, tilde(theta)
    return np.eye(3) + stumpff(1, x) * S + stumpff(2, x) * S @ S


def about(axis, angle):
    """Return the rotation about a unit axis of the frame."""
    S = tilde(np.eye(3)["xyz".index(axis)])
    return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S


def euler(order):
    """Return the formulation of three turns about axes of the body, such as "zyx"."""
    return chart(
        order,
        lambda a: about(order[0], a[0]) @ about(order[1], a[1]) @ about(order[2], a[2]),
        lambda R: Rotation.from_matrix(R).as_euler(order.upper()),
    )


RODRIGUES = chart("rodrigues", of_rodrigues, rodrigues_of)
VECTOR = chart("vector", exponential, lambda R: Rotation.from_matrix(R).as_rotvec())
YAW, TOP = euler("zyx"), euler("xzy")  # TOP: the spin of a top about y comes last
CHARTS = {f.name: f for f in (RODRIGUES, VECTOR, YAW)}
