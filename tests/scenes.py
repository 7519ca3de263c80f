"""Small systems that several tests build: chains, trees, ladders, grids, loops; random states."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.model.model import Model

GRAVITY = (0.0, 0.0, -9.81)


def body(name, rng, formulation="so3", position=None, *, moving=True):
    """Return a random eccentric body."""
    a = rng.uniform(0.3, 1.0, 3)
    inertia = np.array([a[1] + a[2], a[0] + a[2], a[0] + a[1]]) * rng.uniform(0.1, 1.0)
    Q = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    speed = 1.0 if moving else 0.0
    return mbd.RigidBody(
        name,
        mass=rng.uniform(0.5, 2.0),
        inertia=Q @ np.diag(inertia) @ Q.T,
        center_of_mass=rng.uniform(-0.3, 0.3, 3),
        position=rng.uniform(-1, 1, 3) if position is None else position,
        rotation=Rotation.random(random_state=int(rng.integers(1 << 30))),
        velocity=speed * rng.normal(size=3),
        angular_velocity=speed * rng.normal(size=3),
        formulation=formulation,
    )


def with_point(name, *, gravity=(0, 0, 0), mass=1.0, **options):
    """Return a system of a point mass, and the point."""
    system = mbd.System(gravity=gravity)
    return system, system.add(mbd.PointMass(name, mass=mass, **options))


def with_body(name, *, gravity=(0, 0, 0), **options):
    """Return a system of a rigid body of 1 kg, and the body."""
    system = mbd.System(gravity=gravity)
    given = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)} | options
    return system, system.add(mbd.RigidBody(name, **given))


def hinged(
    body="rod", joint="hinge", *, kind="Revolute", at=(0, 0, 0), axis=(0, 1, 0), gravity=GRAVITY,
    **options,
):  # fmt: skip
    """Return a system of a body on a joint at the ground, the body, and the joint.

    The body is a rod along x of 1 m and 1 kg, hung at its left end, but for what `options` say.
    """
    rod = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "position": (0.5, 0, 0)}
    system = mbd.System(gravity=gravity)
    held = system.add(mbd.RigidBody(body, **rod | options))
    placed = {"at": at} if kind == "Spherical" else {"at": at, "axis": axis}
    return system, held, system.add(getattr(mbd, kind)(joint, system.ground, held, **placed))


def spinning_disc(formulation):
    """Return a disc that turns about its fixed axis at 40 rad/s."""
    system, *_ = hinged(
        "disc", "axle", axis=(0, 0, 1), gravity=(0, 0, 0), inertia=(0.1, 0.1, 0.2),
        position=(0, 0, 0), angular_velocity=(0, 0, 40), formulation=formulation,
    )  # fmt: skip
    return system


def chain(
    n, formulations=("so3",), *, joint="Spherical", axis=(0, 1, 0), spin=0.0, along=(1, 0, 0),
    gravity=GRAVITY, **options,
):  # fmt: skip
    """Return a chain of n bars of 1 m, held at its first end: from the origin along x, at rest.

    `axis` and the `options` of bodies are values, or functions of the number of a bar.
    """

    def of(value, i):
        return value(i) if callable(value) else value

    system, along = mbd.System(gravity=gravity), np.asarray(along, float)
    bar = {"mass": 1.0, "inertia": (1e-3, 0.02, 0.02), "angular_velocity": (spin, 0, 0)} | options
    last = system.ground
    for i in range(n):
        here = system.add(
            mbd.RigidBody(
                f"bar {i}", position=(i + 0.5) * along,
                formulation=formulations[i % len(formulations)],
                **{name: of(x, i) for name, x in bar.items()},
            )
        )  # fmt: skip
        held = {} if of(joint, i) == "Spherical" else {"axis": of(axis, i)}
        system.add(getattr(mbd, of(joint, i))(f"pin {i}", last, here, at=i * along, **held))
        last = here
    return system


def two_links(rate, mass=1.0, last=None):
    """Return two links of 1 m that turn about a pin, level at first."""
    system, rod, _ = hinged(
        "rod", "pin", kind="Spherical", mass=mass, position=(1, 0, 0),
        angular_velocity=(0, rate, 0), velocity=(0, 0, -rate),
    )  # fmt: skip
    given = {"mass": mass if last is None else last, "velocity": (0, 0, -2 * rate)}
    end = system.add(mbd.PointMass("end", position=(2, 0, 0), **given))
    system.add(mbd.Spherical("tip", rod, end, at=(2, 0, 0)))
    return system


def four_bar(formulations=("so3",)):
    """Return a parallelogram of three bars and four parallel hinges: three redundant rows."""
    system = mbd.System(gravity=GRAVITY)
    names = [formulations[i % len(formulations)] for i in range(3)]
    places = ((0, 0, 0.5), (1, 0, 1), (2, 0, 0.5))
    sizes = ((0.08, 0.08, 0.01), (0.01, 0.3, 0.3), (0.08, 0.08, 0.01))
    bars = [
        system.add(mbd.RigidBody(name, mass=1.0, inertia=J, position=x, formulation=f))
        for name, J, x, f in zip(("left", "coupler", "right"), sizes, places, names, strict=True)
    ]
    y = (0, 1, 0)
    system.add(mbd.Revolute("A", system.ground, bars[0], at=(0, 0, 0), axis=y))
    system.add(mbd.Revolute("B", bars[0], bars[1], at=(0, 0, 1), axis=y))
    system.add(mbd.Revolute("C", bars[1], bars[2], at=(2, 0, 1), axis=y))
    system.add(mbd.Revolute("D", bars[2], system.ground, at=(2, 0, 0), axis=y))
    system.add(mbd.PointForce("push", bars[1], (30.0, 0, 0)))
    return system


def _joint(name, one, two, rng):
    """Return a random joint between two bodies at a random place."""
    at, axis = rng.uniform(-1, 1, 3), rng.normal(size=3)
    kind = rng.choice(["Spherical", "Revolute", "Cylindrical", "Prismatic", "Fixed", "Distance"])
    if kind in ("Spherical", "Fixed"):
        return getattr(mbd, kind)(name, one, two, at=at)
    if kind == "Distance":
        return mbd.Distance(name, one, two, at=at, to=at + rng.uniform(0.2, 1.0, 3))
    return getattr(mbd, kind)(name, one, two, at=at, axis=axis)


def random_system(shape, rng, size=None):
    """Return a system of a topology: chain, tree, star, ladder, grid, ring, floating or web."""
    n = int(rng.integers(3, 9)) if size is None else size
    system = mbd.System(gravity=GRAVITY)
    if shape == "grid":
        side = max(2, round(n**0.5) + 1)
        links = [(i, i + 1) for i in range(side * side) if (i + 1) % side]
        links += [(i, i + side) for i in range(side * (side - 1))] + [(-1, 0)]
        n = side * side
    elif shape == "ladder":
        links = [(2 * i, 2 * i + 1) for i in range(n)]
        links += [(i, i + 2) for i in range(2 * n - 2)] + [(-1, 0), (-1, 1)]
        n *= 2
    elif shape == "ring":
        links = [(i, (i + 1) % n) for i in range(n)] + [(-1, 0), (-1, n // 2)]
    elif shape == "tree":
        links = [(int(rng.integers(-1, i)), i) for i in range(n)]
    elif shape == "star":
        links = [(-1, 0)] + [(0, i) for i in range(1, n)]
    elif shape == "floating":
        links = [(i - 1, i) for i in range(1, n)] + [(0, n - 1)]
    elif shape == "web":
        links = [(i - 1, i) for i in range(n)]
        links += [tuple(rng.choice(n, 2, replace=False)) for _ in range(3)]
    else:
        links = [(i - 1, i) for i in range(n)]
    for i in rng.permutation(n):
        system.add(body(f"b{i}", rng, str(rng.choice(NAMES))))

    def part(i):
        return system.ground if i < 0 else system[f"b{i}"]

    for k in rng.permutation(len(links)):
        system.add(_joint(f"j{k}", *(part(i) for i in links[k]), rng))
    one, two = rng.choice(n, 2, replace=False)
    stiff = rng.uniform(1, 50, 6)
    system.add(mbd.Bushing("bush", part(one), part(two), at=(0, 0, 0), stiffness=stiff))
    return system


def increment(model: Model, rng, size=0.3):
    """Return a random increment of positions, in the order of the model."""
    return size * rng.normal(size=model.n_v)


def by_label(labels, values):
    """Return a dictionary label -> value."""
    return dict(zip(labels, values, strict=True))


def parallelograms(n=1, mass=1.0, lean=0.5, length=1.0, formulation="so3", speed=0.0):
    """Bars side by side on couplers: each hinge about one axis, three rows a loop are redundant."""
    system = mbd.System(gravity=(0, 0, -9.81))
    up = length * np.array([np.sin(lean), 0, np.cos(lean)])
    turn = np.array([0, speed, 0])

    def rod(name, mass, position, velocity, turns=True):
        return system.add(
            mbd.RigidBody(name, mass=mass, inertia=np.full(3, 0.1 * mass), position=position,
                          velocity=velocity, formulation=formulation,
                          angular_velocity=turn if turns else np.zeros(3))
        )  # fmt: skip

    ground, along = system.ground, np.array([1.5, 0, 0])
    bars = [rod(f"bar {i}", 1.0, i * along + up / 2, np.cross(turn, up) / 2) for i in range(n + 1)]
    for i, bar in enumerate(bars):
        system.add(mbd.Revolute(f"foot {i}", ground, bar, at=i * along, axis=(0, 1, 0)))
    for i, (a, b) in enumerate(zip(bars, bars[1:], strict=False)):
        middle = i * along + up + along / 2
        coupler = rod(f"coupler {i}", mass, middle, np.cross(turn, up), turns=False)
        for k, bar in enumerate((a, b)):
            at = (i + k) * along + up
            system.add(mbd.Revolute(f"hinge {i}{k}", bar, coupler, at=at, axis=(0, 1, 0)))
    return system
