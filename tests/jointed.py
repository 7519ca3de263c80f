"""Families of jointed systems: random trees of all joints that have a path, and loops on them."""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd
from mbd.parts.joints import Joint

#: joints of the library that can be part of a tree
PATHS = sorted(
    x.__name__
    for x in vars(mbd.parts.joints).values()
    if isinstance(x, type) and issubclass(x, Joint) and (x.path is not None or x is mbd.Screw)
)


def unit(rng):
    """Return a direction."""
    u = rng.normal(size=3)
    return u / np.linalg.norm(u)


def body(name, rng, formulation, at=(0.0, 0.0, 0.0)):
    """Return a body of its own."""
    A = rng.normal(size=(3, 3))
    E = 0.02 * A @ A.T + 0.05 * np.eye(3)
    return mbd.RigidBody(
        name, mass=rng.uniform(0.5, 2.0), inertia=np.trace(E) * np.eye(3) - E,
        position=at + rng.normal(size=3), center_of_mass=0.1 * rng.normal(size=3),
        rotation=Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), formulation=formulation,
    )  # fmt: skip


def joint(kind, name, one, two, rng, at=(0.0, 0.0, 0.0)):
    """Return a joint of a kind somewhere between two bodies."""
    cls, u = getattr(mbd, kind), unit(rng)
    options = {} if kind in ("Spherical", "Fixed") else {"axis": u}
    if kind == "Universal":
        w = np.cross(u, unit(rng))
        options["second_axis"] = w / np.linalg.norm(w)
    if kind == "Screw":
        options["pitch"] = 0.3
    return cls(name, one, two, at=at + rng.normal(size=3), **options)


def tree(
    seed, n=7, *, floating=True, forces=True, formulations=("so3",), at=(0.0, 0.0, 0.0), kinds=PATHS
):
    """Return n bodies, joined as it comes; of floating ones two are free; either end goes first."""
    rng, at = np.random.default_rng(seed), np.asarray(at)
    system = mbd.System(gravity=(0.3, -0.2, -9.81))
    bodies, joints = [system.ground], []
    for i in range(n):
        new = system.add(body(f"b{i}", rng, formulations[i % len(formulations)], at))
        if not (floating and i in (0, n - 2)):
            pair = [bodies[rng.integers(int(floating), len(bodies))], new]
            rng.shuffle(pair)
            kind = kinds[(n * seed + i) % len(kinds)]
            joints.append(system.add(joint(kind, f"j{i}", *pair, rng, at)))
        bodies.append(new)
    if forces:
        with_forces(system, bodies, joints, rng, at)
    return system


def with_forces(system, bodies, joints, rng, at):
    """Add a spring, a load, and springs with dampers in the angles of joints."""
    system.add(
        mbd.Spring("spring", system.ground, bodies[-1], at=at + np.array((0, 0, 1.0)),
                   to=at + rng.normal(size=3), stiffness=30.0, damping=2.0)
    )  # fmt: skip
    system.add(mbd.PointForce("load", bodies[2], (1.0, 2.0, 3.0)))
    for x in joints:
        for name, free in x.coordinates.items():
            if free.unit == "rad":
                system.add(mbd.JointSpring(f"spring of {x.name} {name}", x, coordinate=name,
                                           stiffness=5.0, damping=0.3))  # fmt: skip
