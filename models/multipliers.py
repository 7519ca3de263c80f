"""Spinning rocket: the multiplier of its Euler parameters tells which form is solved.

The forms of K. Sherif, K. Nachbagauer, W. Steiner, "On the rotational equations of motion in rigid
body dynamics when using Euler parameters", Nonlinear Dyn. 81 (2015), move alike; each has its own
multiplier of the norm row. The thrust F acts at a distance l along the axis of a symmetric body and
turns with it: no moment, so that the kinetic energy T of the rotation is constant, and with it
every multiplier but one,

- 4 T of the inertia: ``form="reduced"``, and ``form="full"`` with ``force_map="B2"``;
- 2 l F of the force: ``force_map`` "B2", "H" and "Q_p2";
- 2 l F R_33 of the force, R_33 the cosine between axis and vertical: ``force_map="Q_p2"``;
- nothing of the inertia: ``form="full"`` with "B1" and "H"; nothing at all: ``form="projected"``.

Source of the numbers: closed form.
"""

from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

RUN = {"t_end": 1.0, "step": 1e-3}
INERTIA = (0.3, 0.3, 0.5)
RATES = (3.0, -4.0, 5.0)
THRUST, ARM = 8.0, 0.5
FORMS = (
    *((form, f) for form in ("full", "reduced") for f in ("B2", "B1", "H", "Q_p2")),
    ("projected", None),
)


def multiplier(form: str = "full", force_map: str | None = None, upright: float = 1.0) -> float:
    """Return the multiplier of the norm row [J]; ``upright`` is R_33 [-]."""
    if form == "projected":
        return 0.0
    force_map = force_map or ("B2" if form == "full" else "B1")
    inertia = 2.0 * float(np.dot(INERTIA, np.square(RATES)))  # 4 T
    of_inertia = form == "reduced" or force_map == "B2"
    of_force = (force_map != "B1") + (force_map == "Q_p2") * upright
    return of_inertia * inertia + of_force * 2 * ARM * THRUST


def rates(t: float) -> tuple[float, float, float]:
    """Return the rates in body axes [rad/s]: the free motion of a symmetric body."""
    angle = (INERTIA[2] / INERTIA[0] - 1) * RATES[2] * t
    c, s = np.cos(angle), np.sin(angle)
    return (c * RATES[0] - s * RATES[1], s * RATES[0] + c * RATES[1], RATES[2])


def turned(t: float) -> list[list[float]]:
    """Return the rotation: about the momentum in space, and about the axis of the body."""
    momentum = np.multiply(INERTIA, RATES)
    about_axis = (1 - INERTIA[2] / INERTIA[0]) * RATES[2] * t
    return (
        Rotation.from_rotvec(momentum / INERTIA[0] * t)
        * Rotation.from_rotvec((0, 0, about_axis))
    ).as_matrix().tolist()  # fmt: skip


REFERENCE = (
    ("rocket.multipliers", 0.5, (multiplier(),), 1e-4, "4 T + 2 l F"),
    ("rocket.multipliers", 1.0, (multiplier(),), 1e-4, "4 T + 2 l F"),
    ("rocket.angular_velocity_body", 1.0, rates(1.0), 1e-3, "closed form"),
    ("rocket.rotation", 1.0, turned(1.0), 1e-3, "closed form"),
)


def build(
    form: Literal["full", "reduced", "projected"] = "full",
    force_map: Literal["B2", "B1", "H", "Q_p2"] | None = None,
    formulation: str | None = None,
) -> mbd.System:
    """Return the rocket for a form and a force map of ``mbd.EulerParameters``, or for the object."""
    system = mbd.System()
    rocket = system.add(
        mbd.RigidBody(
            "rocket",
            mass=2.0,
            inertia=INERTIA,
            angular_velocity_body=RATES,
            formulation=mbd.EulerParameters(form, force_map)
            if formulation is None
            else formulation,
            shape=[
                mbd.Capsule(0.15, 2 * ARM),
                mbd.Box((0.7, 0.03, 0.25), at=(0, 0, -0.45), color="#b5524e"),
                mbd.Box((0.03, 0.7, 0.25), at=(0, 0, -0.45), color="#b5524e"),
            ],
        )
    )
    if not rocket.formulation.name.startswith("euler_parameters"):
        raise ValueError(
            "multipliers: formulation must be Euler parameters, such as EulerParameters('reduced'), "
            f"whose multiplier this is about, got {formulation!r}"
        )
    system.add(mbd.PointForce("thrust", rocket, (0, 0, THRUST), at=(0, 0, ARM), follow=True))
    return system
