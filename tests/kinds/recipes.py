"""How to make one of every part, and everything the package defines, found by import."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from charts import CHARTS
from numba import njit
from scenes import GRAVITY
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES
from mbd.formulations.formulation import Formulation
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.measures import Measure
from mbd.interactions.rows import row
from mbd.interactions.springs import spring
from mbd.parts.joints import Joint
from mbd.parts.part import Body, Part


class Motion:
    """A rigid motion of a whole scene."""

    def __init__(self, turn=None, shift=(0.0, 0.0, 0.0)):
        self.Q = np.eye(3) if turn is None else turn
        self.c = np.asarray(shift, float)

    def point(self, x):
        return self.Q @ np.asarray(x, float) + self.c

    def vector(self, x):
        return self.Q @ np.asarray(x, float)


STILL = Motion()


def modules(*folders):
    """Import and return all modules of some packages of mbd (all of mbd by default)."""
    found = []
    for info in pkgutil.walk_packages(mbd.__path__, "mbd."):
        if info.name.endswith("__main__") or info.name.startswith("mbd.models"):
            continue
        if not folders or info.name.split(".")[1] in folders:
            found.append(importlib.import_module(info.name))
    return found


def instances(kind, *folders):
    """Return {name: value} of all module-level values of a class."""
    return {
        f"{module.__name__}.{name}": value
        for module in modules(*folders)
        for name, value in vars(module).items()
        if isinstance(value, kind)
    }


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def _ours(classes):
    """Keep classes of the package that a user can write (no leading underscore)."""
    kept = {c.__name__: c for c in classes if c.__module__.startswith("mbd.")}
    return {name: c for name, c in sorted(kept.items()) if not name.startswith("_")}


modules("parts", "interactions", "formulations")
#: what is asked of kinds here refuses set-valued laws by name (test_set_valued.py)
SET_VALUED = {"Contact", "DryFriction", "Freewheel"}
JOINTS = {k: v for k, v in _ours(_subclasses(Joint)).items() if k not in SET_VALUED}
FORCES = _ours(
    c
    for module in modules("parts")
    for c in vars(module).values()
    if inspect.isclass(c) and issubclass(c, Part) and c.drawer == "forces"
    if c.elements is not Part.elements and c.__name__ not in SET_VALUED  # no base of others
)
BODIES = _ours(_subclasses(Body))
BODIES.pop("FlexibleBody", None)  # of matrices: tests/flexible
FORMULATIONS = {f.name: f for f in instances(Formulation, "formulations").values()}
MEASURES = {x.name: x for x in instances(Measure, "interactions").values()}
KINDS = {x.name: x for x in instances(Kind, "interactions", "parts").values() if not x.set_valued}

# forms of the formulations other than the default: every property that is not of the default alone
OWN_POINTS = {
    "points": [(0, -0.4, 0), (0, 0.4, 0.1), (0, 0, -0.4), (0.1, 0, 0.4), (-0.4, 0, 0), (0.4, 0, 0)],
    "directions": np.repeat(np.eye(3), 2, 0) * [[1], [-1], [1], [-1], [1], [-2]],
}  # fmt: skip
FORMS = {
    **{
        f"euler {form} {force_map}": mbd.EulerParameters(form, force_map)
        for form, force_map in (("full", "B1"), ("full", "H"), ("reduced", "B2"),
                                ("reduced", "B1"), ("reduced", "H"), ("projected", None),
                                ("full", "Q_p2"), ("reduced", "Q_p2"))
    },
    "scalable u": mbd.Scalable(velocities="u"),
    "breathing rates": mbd.Scalable(rigid=False),
    "breathing u": mbd.Scalable(rigid=False, velocities="u"),
    "unified tetrahedral": mbd.Unified("tetrahedral"),
    "unified own points": mbd.Unified(**OWN_POINTS),
    **CHARTS,
    "so3 cayley": mbd.SO3("cayley"),
    "se3 cayley": mbd.SE3("cayley"),
}  # fmt: skip
#: what may be scaled
SCALING = [mbd.Scalable(), FORMS["scalable u"], FORMS["breathing rates"], FORMS["breathing u"]]

AT, TO, AXIS, SECOND = (0.2, -0.4, 0.3), (0.9, 0.5, -0.6), (0.48, 0.6, 0.64), (0.78, -0.624, 0.0)
_AXES = Rotation.from_rotvec((0.3, -0.5, 0.7)).as_matrix()
_SIX = (31.0, 23.0, 17.0, 11.0, 7.0, 13.0)


def placed(cls):
    """Recipe of a joint that is placed by at=, axis=, second_axis= and to=, where it has them."""
    words = inspect.signature(cls).parameters

    def make(one, two, motion):
        options = {"at": motion.point(AT)}
        if "axis" in words:
            options["axis"] = motion.vector(AXIS)
        if "second_axis" in words:
            options["second_axis"] = motion.vector(SECOND)
        if "to" in words:
            options["to"] = motion.point(TO)
        return cls("part", one, two, **options)

    return make


def of_example(cls):
    """Recipe of a part that says in its class method ``example`` how it is made on two bodies."""
    return lambda one, two, motion=STILL: cls.example(one, two)


def examples(classes):
    """Return recipes of the parts that have an example: (class, variant) -> recipe."""
    return {(c.__name__, "example"): of_example(c) for c in classes if "example" in vars(c)}


NORMAL, BELOW = (0.64, -0.48, 0.6), (0.1, -0.3, 0.2)


def _rolling(cls, **options):
    """Recipe of a joint that touches a plane."""

    def make(one, two, motion):
        placed = dict(options)
        if cls != "RollingBall":
            placed["axis"] = motion.vector(AXIS if cls == "RollingDisc" else (0.6, 0.8, 0.0))
        if cls != "KnifeEdge":
            placed["through"] = motion.point(BELOW)
        return getattr(mbd, cls)(
            "part", one, two, at=motion.point(AT), normal=motion.vector(NORMAL), **placed
        )

    return make


def _screw(one, two, motion):
    return mbd.Screw("part", one, two, at=motion.point(AT), axis=motion.vector(AXIS), pitch=0.7)


def poses(one, two, motion, x=(0.3, -0.2, 0.4), theta=(0.5, -0.8, 0.6)):
    """Return frames of two bodies, the second at x and turned by theta from the first."""
    axes = motion.Q @ _AXES
    first = one.placed_frame(motion.point(AT), axes)
    turned = axes @ Rotation.from_rotvec(theta).as_matrix()
    return first, two.placed_frame(motion.point(AT) + axes @ x, turned)


def _held(one, two, motion):
    """Return a prescribed pose that stays: with laws of time see test_prescribed.py."""
    frames = poses(one, two, motion)
    return mbd.PrescribedMotion(
        "part", *frames, position=(0.3, -0.2, 0.4), rotation=(0.5, -0.8, 0.6)
    )


# name of the class: (one, two, motion) -> joint
JOINT_RECIPES = {
    **{name: of_example(c) if "example" in vars(c) else placed(c) for name, c in JOINTS.items()},
    "PrescribedMotion": _held,
    "Screw": _screw,
    "RollingDisc": _rolling("RollingDisc", radius=0.4),
    "RollingBall": _rolling("RollingBall", radius=0.4),
    "KnifeEdge": _rolling("KnifeEdge"),
}


def hardening(u, rate, t):
    """Tension of a nonlinear spring with its derivatives."""
    return (3 * u + 2 * u**3 + rate * u + t, 3 + 6 * u * u + rate, u)


def _angle(one, two, motion, **options):
    hinge = mbd.Cylindrical("hinge", one, two, at=motion.point(AT), axis=motion.vector(AXIS))
    return mbd.RotationalSpring("part", hinge, **options)


def _bushing(one, two, motion, damping=(0.0,) * 6):
    return mbd.Bushing("part", one, two, at=motion.point(AT), axes=motion.Q @ _AXES,
                       stiffness=_SIX, damping=damping)  # fmt: skip


def _spring(one, two, motion, **options):
    return mbd.Spring("part", one, two, at=motion.point(AT), to=motion.point(TO), **options)


def _coordinate(one, two, motion, name):
    frames = (x.placed_frame(motion.point(AT), motion.Q @ _AXES) for x in (one, two))
    return getattr(mbd.Cylindrical("joint", *frames), name)


def _along(cls, name, *arguments, **options):
    """Recipe of a part that acts on a coordinate of a joint."""

    def make(one, two, motion):
        return getattr(mbd, cls)("part", _coordinate(one, two, motion, name), *arguments, **options)

    return make


def _swing(t):
    return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)


def _rope(one, two, motion):
    frames = [
        one.placed_frame(motion.point(AT), np.eye(3)),
        two.placed_frame(motion.point(TO), np.eye(3)),
        one.placed_frame(motion.point((0.7, 0.8, -0.3)), np.eye(3)),
    ]
    return mbd.Rope("part", frames)


def _coupler(one, two, motion):
    x, y = (_coordinate(one, two, motion, n) for n in ("angle", "displacement"))
    return mbd.Coupler("part", (x, y, x), (0.4, -1.1, 0.2), _swing)


def _gear(one, two, motion):
    x = _coordinate(one, two, motion, "angle")
    cross = mbd.Universal("cross", one, two, at=motion.point(TO), axis=motion.vector(AXIS),
                          second_axis=motion.vector(SECOND))  # fmt: skip
    return mbd.Gear("part", x, cross.angle_2, ratio=-0.6)


def _rack(one, two, motion):
    x, y = (_coordinate(one, two, motion, n) for n in ("angle", "displacement"))
    return mbd.RackPinion("part", x, y, radius=0.4)


def dish(p, q, a):
    """Return a function of a point and an axis in the axes of another frame."""
    x, y, z = q.local(p)
    return z - a * x**2 * y + np.sin(x) * (q.axes[:, 0] @ p.axes[:, 1])


def _of_function(cls, a=0.3, **options):
    """Recipe of a part that is a function of two frames."""

    def make(one, two, motion):
        function, frames = mbd.Function(dish, a=a), poses(one, two, motion)
        return getattr(mbd, cls)("part", function, on=frames, **options)

    return make


def _spring_on_function(one, two, motion):
    value = mbd.Gauge("reach", mbd.Function(dish, a=0.3), on=poses(one, two, motion))
    return mbd.JointSpring("part", value, stiffness=9.0, damping=2.0, reference=0.1)


# (class, variant): (one, two, motion) -> part with rows between two bodies that is no joint
ROW_PARTS = {
    ("Drive", "locked"): _along("Drive", "angle", position=0.3),
    ("Drive", "speed"): _along("Drive", "displacement", position=mbd.ConstantSpeed(0.7, 0.1)),
    ("Drive", "law"): _along("Drive", "angle", position=_swing),
    ("Drive", "plain law"): _along("Drive", "displacement", position=lambda t: _swing(t)[0]),
    ("Drive", "velocity"): _along("Drive", "angle", velocity=0.8),
    ("Drive", "law of velocity"): _along("Drive", "displacement", velocity=_swing),
    ("Coupler", "law"): _coupler,
    ("Gear", "unlike angles"): _gear,
    ("RackPinion", "plain"): _rack,
    ("Rope", "two segments"): _rope,
    ("Row", "function"): _of_function("Row"),
}

# (class, variant): (one, two, motion) -> force between two bodies
PAIR_FORCES = {
    ("JointSpring", "elastic"): _along("JointSpring", "angle", stiffness=9.0, reference=0.4),
    ("JointSpring", "damped"): _along("JointSpring", "displacement", stiffness=9.0, damping=4.0),
    ("JointFriction", "sliding"): _along("JointFriction", "displacement", friction=7.0, speed=0.4),
    ("JointSpring", "function"): _spring_on_function,
    ("Load", "function"): _of_function("Load"),
    ("Motor", "constant"): _along("Motor", "angle", 3.0),
    ("Motor", "law"): _along("Motor", "displacement", lambda u, rate, t: 3 * u - rate * u + t),
    ("Stop", "touching"): _along(
        "Stop", "angle", lower=-9.0, upper=-6.0, stiffness=30.0, dissipation=0.1
    ),
    ("Stop", "of a power"): _along(
        "Stop",
        "displacement",
        lower=-9.0,
        upper=-6.0,
        stiffness=3.0,
        exponent=1.5,
        restitution=0.8,
        speed=4.0,
    ),
    ("Spring", "elastic"): lambda a, b, s: _spring(a, b, s, stiffness=40.0, length=0.7),
    ("Spring", "damped"): lambda a, b, s: _spring(a, b, s, stiffness=40.0, damping=6.0),
    ("Spring", "law"): lambda a, b, s: _spring(a, b, s, law=hardening),
    ("RotationalSpring", "elastic"): lambda a, b, s: _angle(a, b, s, stiffness=9.0, angle=0.4),
    ("RotationalSpring", "damped"): lambda a, b, s: _angle(a, b, s, stiffness=9.0, damping=4.0),
    ("Bushing", "elastic"): _bushing,
    ("Bushing", "damped"): lambda a, b, s: _bushing(a, b, s, _SIX[::-1]),
}


def _turning(motion):
    return lambda t: tuple(motion.vector((np.cos(t), np.sin(t), 1 + t)))


# (class, variant): (body, motion) -> load on one body
LOADS = {
    ("PointForce", "dead"): lambda b, s: mbd.PointForce(
        "part", b, s.vector((3.0, -2.0, 5.0)), at=s.point(AT)
    ),
    ("PointForce", "follower"): lambda b, s: mbd.PointForce(
        "part", b, (3.0, -2.0, 5.0), at=s.point(AT), follow=True
    ),
    ("PointForce", "law"): lambda b, s: mbd.PointForce("part", b, _turning(s), at=s.point(AT)),
    ("PointForce", "following law"): lambda b, s: mbd.PointForce(
        "part", b, _turning(STILL), at=s.point(AT), follow=True
    ),
    ("Moment", "dead"): lambda b, s: mbd.Moment("part", b, s.vector((3.0, -2.0, 5.0))),
    ("Moment", "follower"): lambda b, s: mbd.Moment("part", b, (3.0, -2.0, 5.0), follow=True),
    ("Moment", "law"): lambda b, s: mbd.Moment("part", b, _turning(s)),
}


@njit
def by_motion(t, R, v, omega, k):
    """Return a load that turns with all that it is seen with."""
    size, along = (v @ v) ** 0.5, R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2]
    u = -2.0 * size * v + 3.0 * along * np.cross(omega, R[:, 0]) + t * k * R[:, 1]
    return u[0], u[1], u[2]


LOADS |= {
    ("PointForce", "motion"): lambda b, s: mbd.PointForce(
        "part", b, mbd.Function(by_motion, k=0.3), at=s.point(AT)
    ),
    ("Moment", "motion"): lambda b, s: mbd.Moment("part", b, mbd.Function(by_motion, k=0.3)),
}

# (class, variant): (body, motion) -> loads on the scale of a body that has one
SCALINGS = {
    ("ScalingForce", "constant"): lambda b, s: mbd.ScalingForce("part", b, 3.0),
    ("ScalingForce", "law"): lambda b, s: mbd.ScalingForce("part", b, lambda t: 2.0 - 9 * t),
}

# (class, variant): (body, motion) -> rows on velocities that a body wears
WORN = {
    ("NonTwisting", "even"): lambda b, s: mbd.NonTwisting("part", b),
    ("NonTwisting", "uneven"): lambda b, s: mbd.NonTwisting("part", b, a=0.2),
}

_FULL = np.random.default_rng(71413).normal(size=(6, 6))


def _bar_mass(one, two, motion=STILL):
    return mbd.BarMass("part", one, two, mass=1.3, at=motion.point(AT), to=motion.point(TO))


def _added_mass(one, two, motion=STILL):
    axes = motion.Q @ _AXES
    return mbd.AddedMass("part", one, _FULL @ _FULL.T, at=motion.point(AT), axes=axes)


# (class, variant): (one, two, motion) -> part with mass, on both bodies or on the first
MASSES = {
    ("BarMass", "thin"): _bar_mass,
    ("AddedMass", "full"): _added_mass,
    ("AddedMass", "ellipsoid"): lambda a, b, s=STILL: mbd.AddedMass.ellipsoid(
        "part", a, (0.4, 0.3, 0.2), 7.0, axes=s.Q @ _AXES
    ),
}

# (class, variant): (one, two, motion) -> part of a class that says how it is made, or with mass
EXAMPLES = {**examples(FORCES.values()), **MASSES}

#: (class or "joint", variant): (one, two, motion) -> part that joins two bodies, without mass
JOINING = {**{("joint", k): v for k, v in JOINT_RECIPES.items()}, **PAIR_FORCES, **ROW_PARTS}
#: the same with all parts: who acts on one body acts on the first
RECIPES = {
    **{("joint", k): v for k, v in JOINT_RECIPES.items()}, **ROW_PARTS, **PAIR_FORCES, **EXAMPLES,
    **{k: (lambda a, b, s, make=v: make(a, s)) for k, v in {**LOADS, **WORN}.items()},
}  # fmt: skip

# parts that a mass point can take, (one, two, motion) with the point as first or second
POINT_PARTS = {
    "Spherical": lambda p, b, s: mbd.Spherical("part", p, b, at=p.position),
    "Distance": lambda p, b, s: mbd.Distance("part", p, b, to=s.point(TO)),
    "PointOnLine": lambda p, b, s: mbd.PointOnLine(
        "part", b, p, at=p.position, axis=s.vector(AXIS)
    ),
    "PointInPlane": lambda p, b, s: mbd.PointInPlane(
        "part", b, p, at=p.position, axis=s.vector(AXIS)
    ),
    "Spring": lambda p, b, s: mbd.Spring("part", p, b, to=s.point(TO), stiffness=9.0, damping=2.0),
    "PointForce": lambda p, b, s: mbd.PointForce("part", p, s.vector((1.0, 2.0, 3.0))),
    "BarMass": lambda p, b, s: mbd.BarMass("part", p, b, to=s.point(TO), mass=1.3),
}


class Raw(Part):
    """A part made of bare elements, to try kinds that no part uses."""

    def __init__(self, name, bodies, elements):
        self.name, self._bodies, self._elements = name, bodies, elements

    @property
    def bodies(self):
        return self._bodies

    def elements(self):
        return self._elements


def raw_part(measure, one, two, *, constraint):
    """Return a row or a damped spring on a measure between random vectors of two bodies."""
    rng = np.random.default_rng(31907)
    firsts = {
        "dot": 1,
        "offset": 2,
        "slide": 2,
        "square": 1,
        "length": 1,
        "angle": 2,
        "twist": 2,
        "sine": 1,
    }
    split = firsts.get(measure.name, measure.n // 2 or 1)
    ends = [
        Attachment((one if i < split else two).name, (float(i % 2), *rng.normal(size=3)))
        for i in range(measure.n)
    ]
    if measure.name == "sine":  # of unit vectors
        ends = [Attachment(e.body, (0.0, *np.array(e.weights[1:]) / np.linalg.norm(e.weights[1:])))
                for e in ends]  # fmt: skip
    memory = (0.2,) if measure.periodic else ()
    if constraint:
        element = Element(row(measure), ends, (0.3,), memory, rows=("row",), row_kinds=(3,))
    else:
        element = Element(spring(measure), ends, (5.0, 2.0, 0.4), memory)
    return Raw("part", (one, two), [element])


def pair(first, second, motion=STILL, *, gravity=GRAVITY):
    """Return a system with one or two moving bodies of some formulations, and the two bodies.

    "ground" stands for the ground.
    """
    rng = np.random.default_rng(52361)
    system = mbd.System(gravity=motion.vector(gravity))
    made = []
    for name, formulation in (("one", first), ("two", second)):
        x, v, w, c = (rng.uniform(-1, 1, 3) for _ in range(4))
        R = Rotation.from_rotvec(rng.uniform(-1, 1, 3)).as_matrix()
        if formulation == "ground":
            made.append(system.ground)
            continue
        options = {"mass": 1.7 if name == "one" else 0.9, "position": motion.point(x),
                   "velocity": motion.vector(v)}  # fmt: skip
        if formulation == "point":
            made.append(system.add(mbd.PointMass(name, **options)))
            continue
        made.append(
            system.add(
                mbd.RigidBody(
                    name, inertia=(0.3, 0.45, 0.6), rotation=motion.Q @ R, center_of_mass=0.3 * c,
                    angular_velocity=motion.vector(w), formulation=formulation, **options,
                )
            )
        )  # fmt: skip
    return system, *made


def _some(table, i, n):
    """Return n keys of a table, other ones for each i."""
    keys = list(table)
    return [keys[(i * n + k) % len(keys)] for k in range(n)]


# every form meets some joints and some forces, all of them meet all: a covering set, no product
FORM_JOINTS = [
    (f, j)
    for i, f in enumerate(FORMS)
    for j in _some(JOINT_RECIPES, i, 3)
    if FORMS[f].rigid or not j.startswith("Rolling")  # who rolls must keep its size
]
FORM_FORCES = [(f, p) for i, f in enumerate(FORMS) for p in _some(PAIR_FORCES, i, 2)]
FORM_LOADS = [(f, p) for i, f in enumerate(FORMS) for p in _some(LOADS, i, 2)]


def elsewhere(model, rng):
    """Return q and v of a model with all its bodies at random places, moving at random."""
    q, v = [], []
    for b in model.system.bodies.values():
        x, w, theta, xd = (rng.uniform(-1, 1, 3) for _ in range(4))
        R = Rotation.from_rotvec(1.5 * theta).as_matrix()
        for to, value in zip((q, v), b.formulation.initial(x, R, xd, w), strict=True):
            to.append(value)
    return np.concatenate(q), np.concatenate(v)


def _covering():
    """Yield pairs of formulations: so3 with all, all with themselves and with the next."""
    for a, following in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True):
        yield from (("so3", a), (a, "so3"), (a, a), (a, following))


# a kind sees faces only, so that all pairs of formulations would say the same many times
MOVING_PAIRS = list(dict.fromkeys(_covering()))
GROUND_PAIRS = [*((a, "ground") for a in NAMES), *(("ground", a) for a in NAMES)]


def on_pairs(names, *, ground=False):
    """Return cases (name, first, second): a covering selection, and the whole product as slow.

    Selected for each name are pairs with every formulation on either side, other ones for the next
    name, so that all pairs are met; of those with the ground, one on either side.
    """
    n, cases = len(NAMES), []
    for i, name in enumerate(names):
        chosen = [(a, NAMES[(k + i) % n]) for k, a in enumerate(NAMES)]
        if ground:
            chosen += [(NAMES[i % n], "ground"), ("ground", NAMES[(i + 4) % n])]
        whole = [*chosen, *MOVING_PAIRS, *(GROUND_PAIRS if ground else ())]
        words = [name] if isinstance(name, str) else name
        cases += [
            pytest.param(name, *x, id="-".join((*words, *x)),
                         marks=() if x in chosen else pytest.mark.slow)
            for x in dict.fromkeys(whole)
        ]  # fmt: skip
    return cases
