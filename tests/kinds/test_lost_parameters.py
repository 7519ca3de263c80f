"""No parameter is forgotten: every number of a description follows it, or is refused by name."""

import math
import pickle
from functools import partial

import numba
import numpy as np
import pytest
from recipes import BODIES, RECIPES
from scipy.spatial.transform import Rotation
from test_values import described, same

import mbd
from mbd.base.checked import LostParameterError
from mbd.base.recorded_call import Recorded, parameters_in
from mbd.parts.part import Part

STEEL = {"young": 210e9, "poisson": 0.3, "density": 7850.0}
LINE = [(0.0, 0.1, 0.0), (0.5, 0.0, 0.2), (1.0, 0.0, 0.1)]
PLANK = mbd.Section.rectangle(0.02, 0.01, **STEEL)
FULL = mbd.Section(stiffness=np.diag([9.0, 8, 7, 6, 5, 4]), mass=0.3, inertia=(0.02, 0.01, 0.01),
                   center=(0.01, 0.02), outline=[(0, 0), (0.1, 0), (0, 0.1)])  # fmt: skip


def beam(section, **options):
    return lambda a, b, s: mbd.Beam("part", LINE, section=section, elements=2, twist=0.1,
                                    damping=0.01, velocity=(0.0, 1.0, 0.0), **options)  # fmt: skip


def drive(position):
    return lambda a, b, s: mbd.Drive(
        "part", mbd.Revolute("hinge", a, b, at=(0.2, 0.1, 0.0), axis="y"), position=position
    )


#: (name, variant): (one, two, motion) -> part; what has numbers that are not of a part itself
NESTED = {
    ("Beam", "rectangle"): beam(PLANK),
    ("Beam", "tubes"): beam([mbd.Section.tube(0.03, 0.004, **STEEL),
                             mbd.Section.circle(0.02, **STEEL)], stations=[0.0, 1.0]),
    ("Beam", "plate"): beam(mbd.Section.from_plate(0.02, 0.001, **STEEL)),
    ("Beam", "matrix"): beam(FULL, up=(0.0, 0.6, 0.8)),
    ("Cable", "line"): lambda a, b, s: mbd.Cable("part", LINE, stiffness=1e3, mass=0.1,
                                                 elements=2, damping=0.01),
    ("Drive", "harmonic"): drive(mbd.Harmonic(0.3, 2.0, 0.1, 0.2)),
    ("Drive", "step"): drive(mbd.SmoothStep(0.0, 0.5, -0.2, 1.0)),
    ("Drive", "text"): drive(mbd.Expression("a*sin(w*t)", a=0.3, w=2.0)),
    ("Drive", "function"): drive(mbd.Function(lambda t, a, w: a * math.sin(w * t), a=0.3, w=2.0)),
    ("PrescribedMotion", "laws"): lambda a, b, s: mbd.PrescribedMotion(
        "part", a, b, position=(mbd.Harmonic(0.1, 3.0, mean=0.2), 0.4, None),
        rotation=(0.1, mbd.ConstantSpeed(0.3, 0.2), mbd.Expression("k*t", k=0.4)),
    ),
    ("PointForce", "frame"): lambda a, b, s: mbd.PointForce(
        "part", mbd.Frame(a, (0.1, 0.2, 0.3), Rotation.from_rotvec((0.1, 0.2, 0.3)).as_matrix()),
        mbd.Expression(0.0, "f*t", 2.0, f=3.0),
    ),
    ("Spring", "function"): lambda a, b, s: mbd.Spring(
        "part", a, b, law=mbd.Function(lambda u, rate, t, k, c: k * u**3 + c * rate, k=9.0, c=1.0)
    ),
}  # fmt: skip
PARTS = RECIPES | NESTED | {
    (name, "body"): lambda a, b, s, cls=cls, name=name: cls(
        "part", mass=1.3, position=(1.0, 2.0, 3.0), velocity=(0.1, 0.2, 0.3),
        shape=[mbd.Box((1.0, 2.0, 3.0), at=(0.1, 0.2, 0.3)), mbd.Capsule(0.2, 0.4),
               mbd.Sphere(0.3), mbd.Cylinder(0.2, 0.3, axis=(0.0, 0.6, 0.8))],
        **({"inertia": (0.2, 0.3, 0.35), "angular_velocity": (0.3, 0.1, 0.2)}
           if name == "RigidBody" else {}))
    for name, cls in BODIES.items() if name in ("RigidBody", "PointMass")
}  # fmt: skip


def inside(value):
    """Return what a value consists of, by place; of things that are made their arguments."""
    if isinstance(value, Recorded) and not isinstance(value, Part):
        return {("args", i): x for i, x in enumerate(value.call.args)} | value.call.options
    if isinstance(value, dict):
        return value
    if isinstance(value, tuple | list | np.ndarray) and np.ndim(value):
        return dict(enumerate(value))
    return {}


def leaves(value, place=()):
    """Yield the places of all numbers."""
    if isinstance(value, float | np.floating):
        yield place
    for key, x in inside(value).items():
        yield from leaves(x, (*place, key))


def put(value, place, new):
    """Return a value with another number at a place."""
    if not place:
        return new(value)
    key, *rest = place
    items = inside(value)
    items = items | {key: put(items[key], rest, new)}
    if isinstance(value, Recorded):
        args = [x for k, x in items.items() if isinstance(k, tuple)]
        options = {k: x for k, x in items.items() if not isinstance(k, tuple)}
        return value.call.maker(*args, **options)
    return items if isinstance(value, dict) else tuple(items.values())


def with_number(key, place, new):
    """Return a system in which one number of a part is another one, or a parameter."""
    argument, *rest = place

    def recipe(one, two, motion):
        part = PARTS[key](one, two, motion)
        arguments = part.call.arguments()
        several = arguments.pop("parameters", {})  # of **options
        args = {argument: put(arguments[argument], rest, new)}
        return part.call.maker(**(arguments | several | args))

    return described(recipe)[0]


@pytest.mark.parametrize("key", PARTS, ids=str)
def test_every_number_follows_its_parameter(key):
    part = described(PARTS[key])[0]["part"]
    arguments = part.call.arguments()
    places = [(name, *place) for name, x in arguments.items() for place in leaves(x)]
    places = places[:: len(places) // 24 + 1]
    for place in places:
        value = 0.0

        def number(x):
            nonlocal value
            value = 1.01 * float(x) + 0.003
            return value

        try:
            fresh = with_number(key, place, number)
        except ValueError:  # an inertia, an axis
            continue
        system = with_number(key, place, lambda x: 2 * mbd.Parameter("p", 0.5 * float(x)))
        assert set(parameters_in(list(system.parts.values()))) == {"p"}, place
        try:
            other = system.build().with_values({"p": 0.5 * value})
        except ValueError as error:
            assert "structure" in str(error), place  # noqa: PT017
        else:
            same(other, fresh.build())


P = mbd.Parameter("tilt", 0.3)
ESCAPES = {
    "math.sin": lambda: math.sin(P),
    "math.sqrt": lambda: math.sqrt(2 * P),
    "math.floor": lambda: math.floor(P),
    "float": lambda: float(P),
    "int": lambda: int(P),
    "round": lambda: round(P, 2),
    "complex": lambda: complex(P),
    "range": lambda: range(P),
    "np.array(dtype=float)": lambda: np.array([P, 0.0], dtype=float),
    "np.asarray(float)": lambda: np.asarray([[P, 0.0]], float),
    "astype": lambda: np.array([P, 0.0]).astype(float),
    "item": lambda: np.zeros(3).__setitem__(0, P),
    "slice": lambda: np.zeros(3).__setitem__(slice(0, 2), [P, P]),
    "np.interp": lambda: np.interp(P, [0, 1], [0, 1]),
    "np.polyval": lambda: np.zeros(2) + np.asarray(np.polyval([1.0, 2.0], P), float),
    "np.full": lambda: np.full(2, P, float),
    "np.arange": lambda: np.arange(P),
    "np.random": lambda: np.random.default_rng(0).normal(P),
    "from_euler": lambda: Rotation.from_euler("y", P),
    "from_rotvec": lambda: Rotation.from_rotvec([P, 0, 0]),
    "apply": lambda: Rotation.identity().apply([P, 0, 0]),
    "t_end": lambda: mbd.simulate(described(PARTS["BarMass", "thin"])[0], P, 0.01),
    "struct": lambda: np.float64(P),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_what_would_forget_a_parameter_is_refused_with_its_line(name):
    with pytest.raises(LostParameterError, match=r"tilt .*at test_lost_parameters.py:\d+; take"):
        ESCAPES[name]()


KEEPS = {
    "norm": (lambda p: np.linalg.norm([p, 1.0]), 0.3),
    "arithmetic": (lambda p: 2 * p**2 - 1 / p + p // 1 + p % 1, 0.3),
    "functions": (lambda p: np.sin(p) * np.exp(-p) + np.hypot(p, 1) + np.deg2rad(p), 0.3),
    "vector": (lambda p: np.array([p, 1.0]) @ np.array([2.0, p]), 0.3),
    "sum": (lambda p: sum([p, p]) + np.sum([p, 1.0]), 0.3),
    "matrix": (lambda p: np.trace(np.outer([p, 1], [1, p]) + np.eye(2)), 0.3),
    "cross": (lambda p: np.cross([p, 0, 0], [0, p, 0])[2], 0.3),
    "abs": (lambda p: abs(-p), 0.3),
    "linspace": (lambda p: np.linspace(0, p, 3)[1], 0.3),
    "value": (lambda p: mbd.Parameter("q", 1.0) * p, 0.3),
}


@pytest.mark.parametrize("name", KEEPS)
def test_arithmetic_keeps_it(name):
    function, x = KEEPS[name]
    formula = function(mbd.Parameter("p", x))
    assert set(formula.parameters) >= {"p"}
    assert formula.value == pytest.approx(getattr(function(x), "value", function(x)), rel=1e-15)
    other = pickle.loads(pickle.dumps(formula)).with_values({"p": 1.7})
    assert other.value == pytest.approx(getattr(function(1.7), "value", function(1.7)), rel=1e-15)


class Law:
    def __init__(self, k):
        self.k = k

    def __call__(self, u, rate, t):
        return self.k * u

    def other(self, u, rate, t):
        return self.k * u


def with_default(u, rate, t, k=P):
    return k * u


def global_one(u, rate, t):
    return P * u


def calls_it(u, rate, t):
    return global_one(u, rate, t)


def mass_of(ball):
    return lambda u, rate, t: ball.mass * u


HELD = {
    "closure": lambda k: lambda u, rate, t: k * u,
    "list": lambda k, *ks: lambda u, rate, t: ([k], *ks)[0][0] * u,
    "default": lambda k: with_default,
    "global": lambda k: global_one,
    "called": lambda k: calls_it,
    "object": Law,
    "method": lambda k: Law(k).other,
    "partial": lambda k: partial(lambda k, u, rate, t: k * u, k),
    "part": lambda k: mass_of(mbd.PointMass("x", mass=k)),
}


@pytest.mark.parametrize("name", HELD)
def test_laws_that_hold_a_parameter_are_refused(name):
    system = described(PARTS["BarMass", "thin"])[0]
    one, two = system["one"], system["two"]
    with pytest.raises(ValueError, match=r"spring: a function .* tilt of its own.*mbd.Function"):
        mbd.Spring("spring", one, two, law=HELD[name](P))


def test_functions_of_beams_that_hold_a_parameter_are_refused():
    for function in (
        lambda s: mbd.Section.rectangle(0.02 * (1 - P * s), 0.01, **STEEL),
        lambda s: mbd.Section.rectangle(0.02, 0.01 + s * P.value, **STEEL),
    ):
        with pytest.raises(ValueError, match="ruler: a function .* tilt of its own"):
            mbd.Beam("ruler", LINE, section=function)

    class Width:  # nothing sees that it holds one, until a section is made of it
        __slots__ = ("w",)

    width = Width()
    width.w = P
    with pytest.raises(ValueError, match="ruler: a function .* a parameter of its own"):
        mbd.Beam("ruler", LINE, section=lambda s: mbd.Section.rectangle(width.w, 0.01, **STEEL))


def tapered(w):
    section = mbd.Function(lambda s, w: mbd.Section.rectangle(w * (2 - s), 0.01, **STEEL), w=w)
    system = mbd.System()
    system.add(mbd.Beam("ruler", LINE, section=section, elements=2))
    return system


def test_functions_take_parameters_that_are_handed_in():
    same(tapered(mbd.Parameter("w", 0.02)).build().with_values({"w": 0.03}), tapered(0.03).build())
    compiled = mbd.Function(numba.njit(lambda u, rate, t, k, c: k * u + c * rate), c=0.5, k=7.0)
    plain = mbd.Function(lambda u, rate, t, k, c: k * u + c * rate, c=0.5, k=7.0)
    texts = mbd.Expression("k*u + c*rate", c=0.5, k=7.0)
    ends = []
    for law in (compiled, plain, texts):
        system, name = described(
            lambda a, b, s, law=law: mbd.Spring("part", a, b, at=(0, 0, 0), to=(1, 0, 0), law=law)
        )
        ends.append(mbd.simulate(system, 0.1, 0.01)["one"].position[-1])
        again = pickle.loads(pickle.dumps(system[name]))
        assert again.law.function(0.2, 0.1, 0.0) == law(0.2, 0.1, 0.0)
    assert np.array_equal(ends[1], ends[2])
    assert np.abs(ends[0] - ends[1]).max() < 1e-14


def test_a_compiled_law_reads_its_parameters_among_the_constants(monkeypatch):
    """Other values are other constants, with exact slopes; nothing is compiled for them."""

    @numba.njit
    def law(u, rate, t, k, stretch=0.5, table=(1.0, 1.0)):
        if k > 4.0 and t > 0.05:
            raise ValueError("too stiff")
        return k * (u - stretch) + table[1, 0] * rate

    def described(k):
        system = mbd.System()
        ball = system.add(mbd.PointMass("ball", mass=1.0, position=(1.0, 0.0, 0.0)))
        function = mbd.Function(law, table=np.array([[0.0, 1.0], [1.0, 0.0]]) * k, k=k)
        system.add(mbd.Spring("part", system.ground, ball, law=function))
        return system

    model = described(mbd.Parameter("k", 3.0)).build()
    name = model.names["k"]
    assert (name.slopes.tolist(), name.by_law, name.second) == ([1.0] * 3, False, False)
    slope = mbd.sensitivities(model, ["k"], 0.1, 0.01)["k"]["ball"].position[-1, 0]
    with monkeypatch.context() as patched:
        patched.setattr("mbd.interactions.laws.external", None)
        other, sides = model.with_values({"k": 2.0}), []
        for k in (3.0 - 1e-4, 3.0 + 1e-4):
            run = mbd.simulate(model.with_values({"k": k}), 0.1, 0.01)
            sides.append(run["ball"].position[-1, 0])
        same(other, described(2.0).build())
    assert slope == pytest.approx((sides[1] - sides[0]) / 2e-4, rel=1e-7)
    with pytest.raises(mbd.SimulationError, match="part: its law raised ValueError: too stiff"):
        mbd.simulate(model.with_values({"k": 5.0}), 0.1, 0.01)


def test_turns_keep_parameters():
    def tilted(tilt, yaw):
        system = mbd.System()
        rotation = mbd.rotation("z", yaw) @ mbd.rotation((1.0, 0.0, 2.0), 2 * tilt)
        system.add(mbd.RigidBody("a", mass=1.0, inertia=(1, 2, 2.5), rotation=rotation))
        return system

    written = tilted(P, mbd.Parameter("yaw", 1.0))
    expected = Rotation.from_euler("z", 1.0) * Rotation.from_rotvec(
        0.6 * np.array([1.0, 0.0, 2.0]) / np.sqrt(5.0)
    )
    assert np.abs(written["a"].rotation - expected.as_matrix()).max() < 1e-15
    q = written.build().with_values({"tilt": -0.7, "yaw": 2.0}).state.q
    assert np.abs(q - tilted(-0.7, 2.0).build().state.q).max() < 1e-15  # numpy's products differ


def by_decisions(p, q=1.0):
    """Return a system whose description compares a parameter."""
    system = mbd.System()
    ball = system.add(mbd.PointMass("ball", mass=max(p, 0.5), position=(min(q, 3 * p), q, 0)))
    if p > 2:
        system.add(mbd.Spring("spring", system.ground, ball, stiffness=p))
    for i in range(3):
        if i < q:
            system.add(mbd.PointForce(f"force {i}", ball, (p, 0, 0)))
    return system


def test_what_a_description_decided_is_described_again():
    """Another value gives what is described with it, or the line that decides otherwise."""
    rng = np.random.default_rng(44133)
    refused = 0
    for _ in range(60):
        p, q, p2, q2 = rng.uniform(0.0, 3.0, 4)
        model = by_decisions(mbd.Parameter("p", p), mbd.Parameter("q", q)).build()
        carried = pickle.loads(pickle.dumps(model.system)).build()
        for one in (model, carried):
            try:
                other = one.with_values({"p": p2}).with_values({"q": q2})
            except ValueError as error:
                assert "compares it in test_lost_parameters.py" in str(error)  # noqa: PT017
                refused += 1
            else:
                same(other, by_decisions(p2, q2).build())
    assert 20 < refused < 110
    decided = mbd.Parameter("p", 0.3)
    for t in np.linspace(0, 1, 1000):  # a law that nobody can see into
        bool(decided > t)
    assert sum(map(len, decided.decisions.values())) < 100
    system = mbd.System()
    system.add(mbd.PointMass("ball", mass=decided))
    with pytest.raises(ValueError, match="compares it in"):
        system.build().with_values({"p": 0.31})
