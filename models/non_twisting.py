"""Body without twist: a nonholonomic row, on any formulation, keeps it from its third director.

With ``formulation="S2"`` the row is built into the coordinates: d3 on the unit sphere, d1 and d2
transported with it.

Examples of C. G. Gebhardt, I. Romero, "The rotating rigid body model based on a non-twisting
frame", J. Nonlinear Sci. 30 (2020): ``case=1`` turns without load, ``case=2`` starts from rest under
a follower moment, a unit triangle over one second. One cannot be run as printed: the amplitude
(2472.5, 1075) N m does not give the printed table, one twentieth of it does, to every digit; the
twentieth is taken here.

Without twist d1 . pi and d2 . pi change by the moments about d1 and d2 only. So case 1 keeps its
rates in body axes, (6, -18, 0), and case 2 keeps those of the impulse of the load, half its peak
times one second. The table of case 2 (-61.749731, -26.845155 N m s) is that of the paper's scheme
at h = 5 ms, ``mbd.EnergyMomentum`` on directors; it tends to -61.8125, -26.875 with the step.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

RUN = {"t_end": 5.0, "step": 1e-3}
INERTIA = np.array([[3, -1 / 7, 0], [-1 / 7, 4, 0], [0, 0, 5]])
RATES = np.array([6.0, -18.0, 0.0])  # case 1 [rad/s]
PEAK = np.array([-2472.5, -1075.0, 0.0]) / 20  # case 2 [N m]


def _reference(case: int) -> tuple:
    """Return what is known of a case, from t = 1 s on."""
    rates = RATES if case == 1 else np.linalg.solve(INERTIA, PEAK / 2)
    momentum = INERTIA @ rates
    twist = float(np.cross(rates, momentum)[2])  # moment about d3 that the row has to give
    tight = 0.1 if case == 1 else 1.0
    source = "closed form"
    found = [
        ("body.angular_velocity_body", 1.0, tuple(rates), 1e-2 * tight, source),
        ("body.angular_velocity_body", 5.0, tuple(rates), 1e-2 * tight, source),
        ("energy.kinetic", 5.0, float(rates @ momentum) / 2, 0.5 * tight, source),
        *(("frame.multipliers", t, (-twist,), 0.1 * tight, source) for t in (1.0, 5.0)),
    ]
    # the axis stays where it is in the body; the triangle of case 2 has its middle at 0.5 s
    turned = Rotation.from_rotvec(rates * (1.0 if case == 1 else 0.5)).as_matrix()
    found.append(("body.rotation", 1.0, turned.tolist(), 2e-3, source))
    return tuple(found)


REFERENCES = {case: _reference(case) for case in (1, 2)}
REFERENCE = REFERENCES[1]


def _load(t: float) -> tuple[float, float, float]:
    x, y, _ = max(0.0, 1 - abs(2 * t - 1)) * PEAK
    return (x, y, 0.0)


def build(formulation: str = "so3", case: int = 1) -> mbd.System:
    """Return the body of case 1, thrown without load, or of case 2, at rest under the moment."""
    if case not in REFERENCES:
        raise ValueError(f"non_twisting: case must be 1 or 2, got {case!r}")
    system = mbd.System()
    body = system.add(
        mbd.RigidBody(
            "body",
            mass=1.0,
            inertia=INERTIA,
            angular_velocity=RATES if case == 1 else np.zeros(3),
            formulation=formulation,
        )
    )
    if body.formulation.holonomic:  # S2 has no row: it is in its velocities
        system.add(mbd.NonTwisting("frame", body))
    if case == 2:
        system.add(mbd.Moment("load", body, _load, follow=True))
    return system
