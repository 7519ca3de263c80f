"""Stick and slip: a block on a belt, held by a spring, rides along, slips back, and rides again.

Dry friction holds up to 5 N and rubs with 3 N: it slips for the first time where the spring has
5 N, after 0.25 s, and every 0.6712 s from then on. Source of the numbers: the closed form.
"""

import mbd

BELT, STIFFNESS, MASS = 0.2, 100.0, 1.0  # m/s, N/m, kg
RUN = {"t_end": 2.25, "step": 1e-3}
_SOURCE = "closed form"
REFERENCE = (
    ("block.position", 0.25, (0.05, 0, 0), 1e-9, _SOURCE),  # rides
    ("rub.load", 0.2, (4.0,), 1e-9, _SOURCE),
    ("block.velocity", 2.25, (BELT, 0, 0), 1e-9, _SOURCE),  # rides for the fourth time
)


def build(sliding: float = 3.0, sticking: float = 5.0, formulation: str = "so3") -> mbd.System:
    """Return the block on the belt, which both move along x."""
    system = mbd.System()
    block, belt = (
        system.add(
            mbd.RigidBody(
                name,
                mass=MASS,
                inertia=(0.1, 0.1, 0.1),
                velocity=(BELT, 0, 0),
                formulation=formulation,
            )
        )
        for name in ("block", "belt")
    )
    origin, along = (0, 0, 0), (1, 0, 0)
    rail = system.add(mbd.Prismatic("rail", system.ground, block, at=origin, axis=along))
    rolls = system.add(mbd.Prismatic("rolls", system.ground, belt, at=origin, axis=along))
    between = system.add(mbd.Prismatic("between", belt, block, at=origin, axis=along))
    system.add(mbd.Drive("motor", rolls, velocity=BELT))
    system.add(mbd.JointSpring("spring", rail, stiffness=STIFFNESS))
    system.add(mbd.DryFriction("rub", between, force=sliding, static=sticking / sliding))
    return system
