"""Hostile arguments of everything public: refused by name, or taken; never raw, never for ever."""

import functools
import inspect
import math
import pickle
import re
import signal
import types

import numpy as np
import pytest
from scenes import hinged, with_body, with_point

import mbd
from mbd.algebra.local_maps import CAYLEY
from mbd.analyses.checks import CheckError
from mbd.studies.results import StudyTable


class Raising:
    """An object whose every conversion fails."""

    def __array__(self, *args, **options):
        raise RuntimeError("no array")

    def __float__(self):
        raise ZeroDivisionError("no number")

    def __repr__(self):
        raise AttributeError("no text")


class Rotated:
    """An object that looks like a rotation."""

    def as_matrix(self):
        raise IndexError("no matrix")


ROUND = [1.0]
ROUND.append(ROUND)

HOSTILE = {
    "nan": math.nan, "inf": math.inf, "-inf": -math.inf, "huge": 1e308, "-huge": -1e308,
    "large": 1e30, "tiny": 1e-200, "subnormal": 5e-324, "negative": -1.5, "zero": 0, "one": 1,
    "True": True, "text": "1", "word": "no", "empty text": "", "underscore": "1_0", "None": None,
    "complex": 1 + 2j, "bytes": b"1", "10**400": 10**400, "-10**5000": -(10**5000), "[]": [],
    "two": [1.0, 2.0], "three": (1.0, 2.0, 2.0), "ragged": [[1.0], [2.0, 3.0]], "seven": (1.0,) * 7,
    "matrix": np.ones((3, 3)), "cube": np.ones((3, 3, 3)), "nans": [math.nan] * 3,
    "huges": [1e308] * 3, "subnormals": [5e-324] * 3, "integers": [10**400] * 3,
    "texts": ["1", "2", "3"], "complexes": np.array([1j, 1, 1]), "flags": np.array([True] * 3),
    "Nones": [None] * 3, "objects": [Raising()] * 3, "dict": {}, "set": {1.0}, "object": object(),
    "raising": Raising(), "rotated": Rotated(), "float32": np.float32(0.7), "0-d": np.array(0.7),
    "1-d": np.array([0.7]), "integer": np.int8(2), "bool_": np.bool_(True), "longdouble":
    np.longdouble("1e4000"), "masked": np.ma.masked_all(3), "date": np.datetime64("2020-01-01"),
    "class": int, "law": lambda *_: 0.3, "bad law": lambda *_: "x", "failing law": lambda *_: 1 / 0,
    "NUL": "a\0b", "lines": "a\nb", "slash": "a/b", "long": "x" * 100_000, "surrogate": "\ud800",
    "round": ROUND, "module": math, "generator": (x for x in (1, 2, 3)),
    "mapping": {"h.angle": math.nan}, "bad names": ["no such part"],
}  # fmt: skip


def world():
    """Return parts to build others of, in a system of their own."""
    w = types.SimpleNamespace()
    w.system = s = mbd.System(gravity=(0, 0, -9.81))
    w.ground = s.ground
    w.a = s.add(mbd.RigidBody("a", mass=1.0, inertia=(1, 1, 1.2)))
    w.b = s.add(mbd.RigidBody("b", mass=2.0, inertia=(1, 1, 1.2), position=(1, 0, 0)))
    w.p = mbd.PointMass("p", mass=0.5, position=(0, 1, 0))
    w.swelling = mbd.RigidBody("s", mass=1.0, inertia=(1, 1, 1), formulation="scalable")
    w.h = s.add(mbd.Revolute("h", s.ground, w.a, at=(0, 0, 0.5), axis=(0, 1, 0)))
    w.i = s.add(mbd.Revolute("i", w.a, w.b, at=(0.5, 0, 0), axis=(0, 1, 0)))
    w.slide = mbd.Prismatic("slide", s.ground, w.b, at=(0, 0, 0), axis=(1, 0, 0))
    return w


PLACED = {"at": (0.1, 0, 0), "axis": (0, 1, 0)}


def pair(**options):
    return lambda w: {"name": "x", "first": w.a, "second": w.b, **options}


def along(**options):
    return lambda w: {"name": "x", "joint": w.h, "coordinate": None, **options}


# what each class takes; what is not listed has its default
PARTS = {
    "AddedMass": lambda w: {"name": "x", "body": w.a, "matrix": np.eye(6)},
    "BarMass": pair(mass=2.0, at=(0, 0, 0), to=(1, 0, 0)),
    "Beam": lambda w: {"name": "x", "points": [(0, 0, 0), (1, 0, 0)], "section": plank(),
                       "elements": 2, "order": 4, "prestrain": (0, 0, 0, 0, 0.1, 0)},
    "Box": lambda w: {"size": (1, 2, 3)},
    "Bushing": pair(at=(0, 0, 0), axes=np.eye(3), stiffness=(1,) * 6, damping=(1,) * 6),
    "Cable": lambda w: {"name": "x", "points": [(0, 0, 0), (1, 0, 0)], "stiffness": 1e3,
                        "mass": 0.1, "elements": 2},
    "Capsule": lambda w: {"radius": 1.0, "length": 2.0},
    "Controller": lambda w: {"name": "x", "inputs": ["h.angle"], "outputs": ["push.force"],
                             "law": lambda t, y: (0.0, 0.0, y[0])},
    "ConstantSpeed": lambda w: {"speed": 1.0},
    "ConstantVelocity": pair(**PLACED),
    "Coupler": lambda w: {"name": "x", "coordinates": [w.h, w.i], "factors": [1, 2]},
    "Cylinder": lambda w: {"radius": 1.0, "length": 2.0},
    "Cylindrical": pair(**PLACED),
    "Distance": pair(at=(0, 0, 0), to=(1, 0, 0)),
    "Drive": along(position=0.2),
    "EnergyMomentum": lambda w: {},
    "EulerParameters": lambda w: {},
    "Event": lambda w: {"name": "x", "function": lambda s: s.t - 1},
    "Experiment": lambda w: {"data": {"a.position.x": ([0.0, 0.1], [0.0, 0.1])}},
    "Fixed": pair(at=(0, 0, 0)),
    "FlexibleBody": lambda w: {"name": "x", **lattice()},
    "Frame": lambda w: {"body": w.a},
    "Gear": lambda w: {"name": "x", "first": w.h, "second": w.i, "ratio": -2.0},
    "GeneralizedAlpha": lambda w: {},
    "Ground": lambda w: {},
    "Harmonic": lambda w: {"amplitude": 1.0, "frequency": 2.0},
    "Interpolated": lambda w: {"times": [0.0, 0.1], "values": [1.0, 2.0]},
    "JointFriction": along(friction=0.2, speed=0.01),
    "DryFriction": along(force=0.2, coefficient=0.1, radius=0.02, static=1.2),
    "Freewheel": along(most=2.0, drag=0.1),
    "JointSpring": along(stiffness=3.0, damping=0.1),
    "KnifeEdge": pair(axis=(1, 0, 0)),
    "Contact": lambda w: {"name": "x", "first": w.ground, "second": w.a.frame()},
    "LieRungeKutta4": lambda w: {},
    "NonsmoothAlpha": lambda w: {},
    "RadauCollocation": lambda w: {},
    "ExplicitRungeKutta": lambda w: {},
    "LocalMap": lambda w: {"name": "x", "quaternion": CAYLEY.quaternion, "tangent": CAYLEY.tangent,
                           "inverse_tangent": CAYLEY.inverse_tangent,
                           "coordinates": CAYLEY.coordinates},
    **{
        x: lambda w: {"name": "x", "function": lambda p: p[0] * p[1] + p[2] + 1.0, "on": [w.a]}
        for x in ("Gauge", "Load", "Row")
    },
    "LineLoad": lambda w: {"name": "x", "beam": mbd.Beam(**PARTS["Beam"](w)), "force": (0, 0, 1)},
    "Moment": lambda w: {"name": "x", "body": w.a, "moment": (1, 0, 0)},
    "Motor": along(effort=2.0),
    "NonTwisting": lambda w: {"name": "x", "body": w.a},
    "Objective": lambda w: {"terminal": lambda last: last["a"].position[2]},
    "Parameter": lambda w: {"name": "x", "value": 1.0},
    "Planar": pair(**PLACED),
    "PointForce": lambda w: {"name": "x", "body": w.a, "force": (1, 0, 0)},
    "PointInPlane": pair(**PLACED),
    "PointMass": lambda w: {"name": "x", "mass": 1.0},
    "PointOnLine": pair(**PLACED),
    "PrescribedMotion": lambda w: {"name": "x", "first": w.ground, "second": w.b,
                                   "position": [0, 0, 0]},
    "Prismatic": pair(**PLACED),
    "RackPinion": lambda w: {"name": "x", "pinion": w.h, "rack": w.slide, "radius": 0.3},
    "Revolute": pair(**PLACED),
    "RigidBody": lambda w: {"name": "x", "mass": 1.0, "inertia": (1, 1, 1)},
    "RollingBall": pair(radius=0.2),
    "RollingDisc": pair(radius=0.2, axis=(1, 0, 0)),
    "Rope": lambda w: {"name": "x", "points": [w.a, w.b]},
    "RotationalSpring": lambda w: {"name": "x", "joint": w.h, "stiffness": 1.0},
    "S2": lambda w: {},
    "InPlane": lambda w: {"normal": "y"},
    "SE3": lambda w: {},
    "SO3": lambda w: {},
    "Scalable": lambda w: {},
    "ScalingForce": lambda w: {"name": "x", "body": w.swelling, "force": 1.0},
    "Screw": pair(pitch=0.1, **PLACED),
    "SectionLoad": lambda w: {"name": "x", "beam": mbd.Beam(**PARTS["Beam"](w)),
                              "force": np.ones((3, 3))},
    "Sensor": lambda w: {"offset": 0.1},
    "SmoothStep": lambda w: {"start": 0.0, "end": 1.0, "t_start": 0.0, "t_end": 2.0},
    "Section": lambda w: {"stiffness": (1e5, 1e4, 1e4, 10.0, 10.0, 10.0), "mass": 1.0},
    "Sphere": lambda w: {"radius": 1.0},
    "Spherical": pair(at=(0, 0, 0)),
    "Spring": pair(stiffness=3.0),
    "Stop": along(lower=-1.0, upper=1.0, stiffness=100.0),
    "System": lambda w: {},
    "Unified": lambda w: {},
    "Universal": pair(at=(0, 0, 0), axis=(0, 1, 0), second_axis=(1, 0, 0)),
}  # fmt: skip
# what functions take; made by these the rest is, not by users
MADE = {
    "Coordinate", "EquilibriumError", "Expression", "Function", "Mesh", "Model", "ModelFile",
    "SimulationError", "Solution", "State",
}  # fmt: skip


@functools.cache
def plank():
    return mbd.Section.rectangle(0.02, 0.01, young=2e9, poisson=0.3, density=1e3)


@functools.cache
def lattice():
    """Return a cube of eight masses on springs along its edges and diagonals."""
    x = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    K = np.zeros((24, 24))
    for a in range(8):
        for b in range(a):
            d = (x[a] - x[b]) / np.linalg.norm(x[a] - x[b])
            spring = 1e3 * np.kron([[1, -1], [-1, 1]], np.outer(d, d))
            places = np.r_[3 * a : 3 * a + 3, 3 * b : 3 * b + 3]
            K[np.ix_(places, places)] += spring
    faces = {"left": [0, 1, 2, 3], "right": [4, 5, 6, 7]}
    return {"M": np.eye(24), "K": K, "coordinates": x, "interfaces": faces}


@functools.cache
def driven():
    """Return a small model with laws and a drive, and its consistent state."""
    w = world()
    w.system.add(mbd.PointForce("push", w.b, (0, 0, 1.0)))
    w.system.add(mbd.JointSpring("soft", w.i, stiffness=30.0, damping=1.0))
    return w.system.build()


@functools.cache
def actuated():
    w = world()
    w.system.add(mbd.Drive("one", w.h, position=mbd.Harmonic(0.1, 2.0)))
    w.system.add(mbd.Drive("two", w.i, position=mbd.Harmonic(0.1, 3.0)))
    return w.system.build()


@functools.cache
def pressed():
    """Return a bar on a hinge that is held upright by a spring, with a load along it."""
    system, bar, hinge = hinged(
        "a", "h", gravity=(0, 0, 0), inertia=(1, 1, 1.2), position=(0, 0, 1)
    )
    system.add(mbd.JointSpring("soft", hinge, stiffness=30.0))
    system.add(mbd.PointForce("push", bar, (0, 0, -1.0)))
    return system.build()


@functools.cache
def rotor():
    system, body = with_body("a", inertia=(1, 1, 1.2))
    system.add(mbd.Bushing("k", system.ground, body, at=(0, 0, 0), stiffness=(9, 9, 9, 8, 8, 0)))
    return system.build()


def bladed():
    system, hub = with_body("a", inertia=(1, 1, 1.2))
    system.add(mbd.Revolute("shaft", system.ground, hub, at=(0, 0, 0), axis=(0, 0, 1)))
    for name, x, y in (("b", 1, 0), ("c", -0.5, 0.75**0.5), ("d", -0.5, -(0.75**0.5))):
        blade = system.add(mbd.PointMass(name, mass=1.0, position=(x, y, 0)))
        system.add(mbd.Spring(f"{name} root", hub, blade, at=(0, 0, 0), stiffness=9.0))
        system.add(mbd.PointInPlane(f"{name} plane", hub, blade, at=(x, y, 0), axis=(-y, x, 0)))
        system.add(mbd.PointInPlane(f"{name} flat", hub, blade, at=(x, y, 0), axis=(0, 0, 1)))
    return system.build()


@functools.cache
def fitted():
    return mbd.fit(**FUNCTIONS["fit"]())


@functools.cache
def ran():
    return mbd.simulate(driven(), 0.02, 1e-2, progress=False)


@functools.cache
def dropped():
    system, ball = with_point("a", gravity=(0, 0, -9.81), position=(0, 0, 1))
    system.add(mbd.Contact("floor", system.ground, ball))
    return mbd.simulate(system, 0.02, 1e-2, progress=False)


def chain(formulation="so3"):
    system = mbd.System(gravity=(0, 0, -9.81))
    body = mbd.RigidBody("a", mass=1.0, inertia=(1, 1, 1), formulation=formulation)
    system.add(body)
    return system


def by_mass():
    return {"system": pressed(), "parameters": ["a.mass"], "t_end": 0.002, "step": 1e-3}


def studied():
    """Return the results of a study of three draws by Saltelli's scheme."""
    members = mbd.sample({"a.mass": (1.0, 2.0)}, 3, method="saltelli")
    values = {"x": members.column("a.mass") ** 2, "status": np.zeros(9)}
    over = dict.fromkeys(values, ("member",))
    return StudyTable(values, over, {"a.mass": members.column("a.mass")}, {})


READERS = ("read_aerodyn", "read_beamdyn", "read_elastodyn", "read_hawc2", "read_windio",
           "read_matrix", "read_nodes")  # fmt: skip
FUNCTIONS = {
    "assemble_pose": lambda: {"system": driven(), "targets": {"h.angle": 0.1}},
    "bench": lambda: {"problem": chain, "steps": [1e-2], "t_end": 0.01, "turns": 0,
                      "formulations": "so3", "methods": "GeneralizedAlpha"},
    "buckling": lambda: {"system": pressed()},
    "campbell": lambda: {"system": rotor(), "speeds": [0.0], "bodies": "a"},
    "check_formulation": lambda: {"formulation": "point"},
    "check_part": lambda: {"part": mbd.Spring(**PARTS["Spring"](world()))},
    "check_tangents": lambda: {"item": pressed()},
    "closed_loop": lambda: {"system": driven(), "t_end": 0.02, "step": 1e-2,
                            "controllers": mbd.Controller(**PARTS["Controller"](None))},
    "coleman": lambda: {"system": bladed(), "rotor": "shaft", "blades": list("bcd"), "speed": 0.5},
    "compare": lambda: {"build": chain, "steps": [1e-2], "t_end": 0.01, "turns": 0,
                        "formulations": "so3"},
    "consistent": lambda: {"model": driven()},
    "equilibrium": lambda: {"system": pressed(), "max_iterations": 20},
    "export_fmu": lambda: {"system": driven(), "path": "x.fmu", "step": 1e-3, "inputs": [],
                           "outputs": ["a.position"]},
    "fit": lambda: {"system": pressed(), "data": {"a.position.x": ([0.0, 0.002], [0.0, 0.1])},
                    "parameters": ["a.mass"], "step": 1e-3},
    "floquet": lambda: {"system": bladed(), "rotor": "shaft", "speed": 0.5, "azimuths": 4},
    "gradient": lambda: {"objective": mbd.Objective(**PARTS["Objective"](None)), **by_mass()},
    "hvp": lambda: {"objective": mbd.Objective(**PARTS["Objective"](None)), **by_mass(),
                    "direction": [1.0]},
    "inverse_dynamics": lambda: {"system": actuated(), "times": [0.0, 0.01]},
    "joint_space": lambda: {"system": pressed()},
    "linearize": lambda: {"system": pressed()},
    "load": lambda: {"path": "no such.npz"},
    "modes": lambda: {"system": pressed()},
    "parallel_coordinates": lambda: {"done": studied()},
    "optimize": lambda: {"objective": lambda p: (p["a.mass"] - 1.01) ** 2, **by_mass(),
                         "max_evaluations": 3},
    "periodic": lambda: {"system": pressed(), "period": 0.01, "steps": 4, "max_iterations": 1},
    "read": lambda: {"path": "no such.toml"},
    **{name: lambda: {"path": "no such.dat"} for name in READERS},
    "rotation": lambda: {"axis": "y", "angle": 0.3},
    "sample": lambda: {"distributions": {"a.mass": (1.0, 2.0)}, "n": 4},
    "sensitivities": by_mass,
    "contacts": lambda: {"solution": dropped(), "name": "floor"},
    "share_reactions": lambda: {"solution": ran(), "stiffness": {"h": (1.0,) * 6}},
    "sobol_indices": lambda: {"done": studied(), "output": "x", "draws": 2},
    "simulate": lambda: {"system": driven(), "t_end": 0.002, "step": 1e-3, "progress": False},
    "Stepper": lambda: {"system": driven(), "step": 1e-3},
    "Environment": lambda: {"system": driven(), "step": 1e-3, "inputs": ["push.force"],
                            "observe": ["a.position"]},
    "Environments": lambda: {"environment": mbd.Environment(**FUNCTIONS["Environment"]()),
                             "n": 2},
    "JointCoordinates": lambda: {"system": actuated()},
    "Problem": lambda: {"objective": mbd.Objective(**PARTS["Objective"](None)), **by_mass()},
    "sum_of_squares": lambda: {"what": "a.position"},
    "steady_rotation": lambda: {"system": bladed(), "rotor": "shaft", "speed": 0.5},
    "study": lambda: {"build": driven(), "parameters": {"a.mass": [1.0, 2.0]}, "t_end": 0.002,
                      "step": 1e-3, "outputs": ["a.position"]},
    "target_errors": lambda: {"system": driven(), "state": driven().state,
                              "targets": {"h.angle": 0.1}},
    "unique_reactions": lambda: {"solution": ran()},
    "write": lambda: {"system": driven().system, "path": "no such folder/x.txt"},
}  # fmt: skip
# the methods that users call, and what they take; nothing is drawn or written in vain
METHODS = {
    "Body.frame": lambda: (world().a.frame, {}),
    "BodyHistory.at": lambda: (ran()["a"].at, {"point": (0, 0, 0)}),
    "Buckling.state": lambda: (mbd.buckling(pressed()).state, {}),
    "Equilibrium": lambda: (mbd.equilibrium(pressed()).__getitem__, {"name": "a"}),
    "Campbell.critical_speeds": lambda: (whirling().critical_speeds, {}),
    "Fit.confidence": lambda: (fitted().confidence, {}),
    "Fit.prediction": lambda: (fitted().prediction, {"name": "a.position"}),
    "Mode.history": lambda: (mbd.modes(pressed())[0].history, {"instants": 3}),
    "Mode.state": lambda: (mbd.modes(pressed())[0].state, {}),
    "Model.assemble": lambda: (driven().assemble, {}),
    "Model.report": lambda: (driven().report, {}),
    "Modes": lambda: (mbd.modes(pressed()).__getitem__, {"i": 0}),
    "RigidBody.bar": lambda: (mbd.RigidBody.bar, {"name": "x", "start": (0, 0, 0),
                                                  "end": (1, 0, 0), "mass": 1.0}),
    "RigidBody.from_mass_matrix": lambda: (mbd.RigidBody.from_mass_matrix,
                                           {"name": "x", "matrix": np.eye(6)}),
    "Solution": lambda: (ran().__getitem__, {"name": "a"}),
    "Solution.animate": lambda: (ran().animate, {"path": "x.txt"}),
    "Solution.blocks": lambda: (lambda instants=2: list(ran().blocks(instants)), {}),
    "Solution.plot": lambda: (lambda name: ran().plot(name), {"name": "no such part"}),
    "Solution.save": lambda: (ran().save, {"path": "x.txt"}),
    "Solution.snapshot": lambda: (ran().snapshot, {"path": "x.txt"}),
    "System": lambda: (driven().system.__getitem__, {"name": "a"}),
    "System.add": lambda: (mbd.System().add, {"part": world().a}),
    "frequency_response": lambda: (excited().frequency_response, {"frequencies": [0.0]}),
    "iteration_matrix": lambda: (driven().assemble().iteration_matrix, {"step": 0.1}),
    "Assembly.save": lambda: (driven().assemble().save, {"path": "x.txt"}),
}  # fmt: skip


@functools.cache
def whirling():
    return mbd.campbell(rotor(), [0.0], bodies="a")


@functools.cache
def excited():
    return mbd.linearize(pressed(), inputs=["push.x"], outputs=["a.position"])


@pytest.fixture(autouse=True)
def _never_for_ever():
    """Stop a test that hangs."""

    def late(*_):
        raise TimeoutError("does not come back")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 240)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def answer(call, owners):
    """Return what is wrong with the answer to a call, or nothing."""
    try:
        call()
    except (mbd.SimulationError, mbd.EquilibriumError, CheckError):
        return ""
    except (ValueError, TypeError) as error:
        text = str(error)
        if not text.startswith(owners) or "\n" in text or len(text) > 1200:
            return f"{type(error).__name__}: {text[:200]}"
    except (KeyError, IndexError) as error:  # of what is asked for by name or number
        text = str(error.args[0])
        if not text.startswith(("no ", "there ", *owners)) or "\n" in text or len(text) > 1200:
            return f"raw {type(error).__name__}: {text[:200]}"
    except FileNotFoundError as error:
        if error.errno is not None or "\n" in str(error) or "no such file" not in str(error):
            return f"raw {error}"
    except BaseException as error:
        return f"raw {type(error).__name__}: {str(error)[:200]}"
    return ""


def wrong(make, arguments, owners, values=HOSTILE):
    """Return what is wrong with the answers when each argument is hostile in its turn."""
    found = []
    taken = [
        name
        for name, x in inspect.signature(make).parameters.items()
        if x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)
    ]
    for argument in taken:
        others = arguments()  # which no call changes
        for word, value in values.items():
            options = {**others, argument: value}
            if word == "generator":
                options[argument] = (x for x in (1, 2, 3))
            text = answer(functools.partial(make, **options), owners)
            if text and not (word == "failing law" and "ZeroDivisionError: division" in text):
                found.append(f"{argument} = {word}: {text}")
    return found


# who else speaks for a function or method: what it hands its argument to
SPEAKERS = {
    "Environment": ("Stepper: ",),
    "Body.frame": ("frame of 'a': ", "Frame: "),
    "BodyHistory.at": ("solution['a'].at: ",),
    "Equilibrium": ("Solution: ",),
    "Mode.history": ("Mode.state: ", "initial positions violate constraints: "),
    "Mode.state": ("initial positions violate constraints: ",),
    "RigidBody.bar": ("RigidBody: ", "x: "),
    "RigidBody.from_mass_matrix": ("RigidBody: ", "x: "),
    "closed_loop": ("simulate: ",),
    "compare": ("GeneralizedAlpha: ",),
    "export_fmu": ("Stepper: ",),
    "fit": ("simulate: ", "Experiment: "),
    "gradient": ("simulate: ", "sensitivities: "),
    "hvp": ("simulate: ", "gradient: ", "sensitivities: "),
    "optimize": (
        "simulate: ",
        "gradient: ",
        "equilibrium: ",
        "sensitivities: ",
    ),
    "sensitivities": ("simulate: "),
    "study": ("simulate: "),
}


def _speakers(name):
    return (f"{name}: ", f"{name.rpartition('.')[2]}: ", *SPEAKERS.get(name, ()))


@pytest.fixture
def _elsewhere(tmp_path, monkeypatch):
    """Let a path that is taken lead to a folder of its own; what is taken is not compiled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mbd.fmi.export._compile", lambda library: library.touch())
    monkeypatch.setattr("mbd.fmi.export._check", lambda resources: None)


# those that run or seek before they answer: a third of all values, from another one for each
LONG = ("buckling", "coleman", "equilibrium", "fit", "floquet", "gradient", "hvp", "linearize",
        "optimize", "sensitivities", "steady_rotation", "study")  # fmt: skip


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "every"),
    [*((x, 3 if x in LONG else 1) for x in FUNCTIONS),
     *(pytest.param(x, 1, marks=pytest.mark.slow) for x in LONG)],
)  # fmt: skip
def test_a_hostile_argument_of_a_function_is_refused_by_name(name, every):
    first = LONG.index(name) % every if name in LONG else 0
    values = dict(list(HOSTILE.items())[first::every])
    assert not wrong(getattr(mbd, name), FUNCTIONS[name], _speakers(name), values)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_a_hostile_argument_of_a_method_is_refused_by_name(name):
    method, arguments = METHODS[name]()
    assert not wrong(method, lambda: dict(arguments), _speakers(name))


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_other_arguments_of_a_function_are_good(name):
    """But for paths, of which there is no file: so an argument is what a refusal is about."""
    call = functools.partial(getattr(mbd, name), **FUNCTIONS[name]())
    if name in ("load", "read", "write", *READERS):
        with pytest.raises((FileNotFoundError, ValueError), match=r"no such|end in \.toml"):
            call()
    else:
        assert call() is not None


def test_a_state_of_another_model_is_refused():
    taken = [n for n in FUNCTIONS if "state" in inspect.signature(getattr(mbd, n)).parameters]
    assert len(taken) >= 10
    for name in taken:
        options = {**FUNCTIONS[name](), "state": rotor().state}
        with pytest.raises(ValueError, match=f"^{name}: (q|lam) of the state must be .* another"):
            getattr(mbd, name)(**options)


def test_everything_public_is_tried():
    assert {*PARTS, *FUNCTIONS, *MADE} == set(mbd.__all__)


@pytest.mark.filterwarnings("ignore:.*leave out:UserWarning")  # one mode of a cube
@pytest.mark.parametrize("name", PARTS)
def test_a_hostile_argument_of_a_part_is_refused_by_name(name):
    owners = ("x: ", "x.0: ", f"{name}: ", f"{name}.", f"{name} 'x': ", "frame of 'a': ")
    assert not wrong(getattr(mbd, name), lambda: PARTS[name](world()), owners)


# --- numbers that are none, by the declared type --------------------------------------------------
NO_NUMBERS = {"nan": math.nan, "inf": math.inf, "a word": "heavy", "a shape": np.ones((7, 2)),
              "an entry": [1.0, math.nan, 1.0]}  # fmt: skip
COMPANIONS = {  # without which an argument is refused for another reason
    "Drive.velocity": {"position": None}, "Stop.speed": {"restitution": 0.5},
    "Unified.points": {"directions": np.eye(6, 3)}, "Unified.directions": {"points": np.eye(6, 3)},
    "modes.near": {"n": 2, "solver": "sparse"},
    "simulate.atol": {"rtol": 1e-6}, "simulate.max_step": {"rtol": 1e-6},
}  # fmt: skip
UNIT = re.compile(r"-|(?:(?:kg|m|s|rad|N|Hz|W)(?:\^\d)?|[/() ])+")


def units_in(text):
    """Return the units that stand in brackets of a text."""
    pieces = (re.split(r" or |, |\^n", x) for x in re.findall(r"\[([^\]]+)\]", text))
    return {x for several in pieces for x in several if UNIT.fullmatch(x)}


def declared_numbers(make):
    """Yield arguments, their types and units, that the docstring declares as numbers."""
    types_of, names = {}, []
    for line in inspect.getdoc(make).splitlines():
        if found := re.match(r"(\w+(?:, \w+)*) : (.*)", line):
            names = found[1].split(", ")
            types_of |= dict.fromkeys(names, found[2])
        elif line[:1].strip():
            names = []
        else:
            types_of |= {x: f"{types_of[x]} {line.strip()}" for x in names}
    for name in inspect.signature(make).parameters:
        declared = types_of.get(name, "")
        # rotations, files and sequences have sentences of their own
        if re.match(r"(float|int)\b|\((?!3, 3)[\w, ]+\)", declared) and "file" not in declared:
            yield name, declared, units_in(declared)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*PARTS, *FUNCTIONS])
def test_what_is_no_number_is_refused_by_name_and_unit(name):
    """Which argument must be what in which unit, and what it got: as the documentation has it."""
    found = []
    for argument, declared, units in declared_numbers(make := getattr(mbd, name)):
        for word, value in NO_NUMBERS.items():
            options = FUNCTIONS[name]() if name in FUNCTIONS else PARTS[name](world())
            options |= {**COMPANIONS.get(f"{name}.{argument}", {}), argument: value}
            try:
                make(**options)
            except (TypeError, ValueError) as error:
                said = re.search(rf"\b{argument.removesuffix('s')}.* must (.*), got ", str(error))
                if not said or (units and not units & (units_in(said[1]) | {"-"})):
                    found.append(f"{argument} {units} = {word}: {error}")
                if word == "a word" and declared.startswith("float") and type(error) is ValueError:
                    found.append(f"{argument} = {word}: {error!r}")
            else:
                if "(" not in declared or word in ("nan", "a word"):
                    found.append(f"{argument} = {word}: taken")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PARTS)
def test_an_argument_that_is_misspelt_is_named(name):
    make = getattr(mbd, name)
    known = inspect.signature(make).parameters
    arguments = PARTS[name](world())
    for right in known:
        options = {k: x for k, x in arguments.items() if k != right}
        with pytest.raises(TypeError, match=name):
            make(**options, **{f"{right}er": 1})
    with pytest.raises(TypeError, match="must be|there is no argument"):
        make(**arguments, strange=1)


def test_an_argument_that_may_be_meant_is_said():
    b = world().b
    with pytest.raises(TypeError, match=r"PointForce: .* 'follower' \(did you mean 'follow'\?\)"):
        mbd.PointForce("f", b, (1, 0, 0), follower=True)
    with pytest.raises(TypeError, match=r"'inertias' \(did you mean 'inertia'\?\); there are name"):
        mbd.RigidBody("b", mass=1, inertias=(1, 1, 1))


@pytest.mark.parametrize("name", mbd.__all__)
def test_an_argument_that_there_is_not_is_named_with_the_one_that_may_be_meant(name, tmp_path):
    """Of every public function and class, by its own name, whatever else it is given."""
    make, arguments = getattr(mbd, name), {}
    if name in ("read", "write"):  # which look at their options first of all
        arguments = {"path": tmp_path / "x.toml"}
        mbd.write(driven().system, **arguments)
    if name == "write":
        arguments["system"] = driven().system
    if name in ("Problem", "bench", "closed_loop", "compare", "fit", "optimize", "study"):
        arguments = FUNCTIONS[name]()
    taken = [k for k, x in inspect.signature(make).parameters.items()
             if x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)]  # fmt: skip
    taken = {"read": ["formulation"], "write": ["title"], "Function": []}.get(name, taken)
    for right in taken:
        with pytest.raises((TypeError, ValueError), match=rf"^{name}: .*did you mean '") as error:
            make(**arguments, **{f"{right}e": 1})
        assert f"'{right}e'" in str(error.value)
    if "step" in taken:
        with pytest.raises(TypeError, match=f"^{name}: .*'dt' .did you mean 'step'"):
            make(**arguments, dt=1e-3)


def test_public_functions_are_found_by_pickle_and_have_their_documentation():
    for name in FUNCTIONS:
        thing = getattr(mbd, name)
        assert pickle.loads(pickle.dumps(thing)) is thing
        assert thing.__doc__


def test_a_warning_of_a_public_function_is_about_the_line_that_called_it(tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text('<robot name="r"><strange/><link name="a"/></robot>')
    with pytest.warns(UserWarning, match="unknown") as seen:
        mbd.read(path)
    document = mbd.ModelFile(driven().system, {}, "", (), {"unused": 1.0})
    with pytest.warns(UserWarning, match="no place in it") as told:
        mbd.write(document, tmp_path / "x.toml")
    body, *_ = hinged("a", "h", inertia=(1, 1, 1), position=(1, 0, 0))
    with pytest.warns(RuntimeWarning, match="step") as moved:
        mbd.simulate(body, 8.0, 0.4)
    assert {x.filename for x in (*seen, *told, *moved)} == {__file__}


@pytest.mark.parametrize("name", PARTS)
def test_what_was_made_does_not_change_in_silence(name):
    """Neither an attribute that it has, nor one that it has not."""
    thing = getattr(mbd, name)(**PARTS[name](world()))
    if isinstance(thing, mbd.System):
        pytest.skip("a System is what grows")
    for attribute in ("stiffness", "name", "value", "massiv"):
        with pytest.raises(AttributeError, match=r"make a new one with|cannot assign to field"):
            setattr(thing, attribute, 3)
    assert not hasattr(thing, "massiv")


def test_gravity_that_is_set_later_is_that_of_models_built_later():
    w = world()
    before = w.system.build()
    w.system.gravity = [0, 1, -2]
    after = w.system.build()
    for model, g in ((before, (0, 0, -9.81)), (after, (0, 1, -2))):
        v = mbd.consistent(model).a
        assert np.array_equal(model.system.gravity, g)
        assert np.all(np.isfinite(v))
    free, _ = with_point("p", mass=2.0)
    free.gravity = (0, 0, -1)
    assert np.array_equal(mbd.consistent(free.build()).a, (0, 0, -1))
    assert not wrong(lambda gravity: setattr(free, "gravity", gravity), dict, ("System: gravity",))
    with pytest.raises(AttributeError, match=r"System: there is no 'gravty' \(did you mean 'grav"):
        free.gravty = (0, 0, -1)


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", ["a\0b", "a\nb", "\ta", "a/b", "a\\b", "a\x7f", "\u2028", "\ud800",
                                 "x" * 201, "", "   "])  # fmt: skip
def test_names_that_files_and_tables_cannot_hold(bad):
    w = world()
    for name, arguments in PARTS.items():
        make = getattr(mbd, name)
        if "name" in inspect.signature(make).parameters:
            with pytest.raises(ValueError, match=f"^{name}: name must ") as error:
                make(**{**arguments(w), "name": bad})
            assert "\n" not in str(error.value)
            assert "\0" not in str(error.value)


@pytest.mark.parametrize("good", ["Rad 3", "Kurbel·ä", "b.x", "曲柄", "a,b (left)", "'", "x" * 200])
def test_names_that_may_be(good):
    assert mbd.PointMass(good, mass=1).name == good


@pytest.mark.parametrize(
    ("first", "second"), [("h", "h.angle"), ("h.angle", "h"), ("a.b", "a.b.c"), ("a.b.c", "a")]
)
def test_a_name_is_not_read_as_a_quantity_of_another_part(first, second):
    for one, other in ((first, second), (f"{first} 1", f"{first} 1.x")):
        system, _ = with_point(one, mass=1)
        with pytest.raises(ValueError, match=f"{other}: '.*' would be read as a quantity of the"):
            system.add(mbd.PointMass(other, mass=1))
        assert list(system.bodies) == [one]
    system = mbd.System()
    for name in ("a.b", "a.c", "ab", "a.b c"):  # no part is called a
        system.add(mbd.PointMass(name, mass=1))


# --- parts that make no sense ---------------------------------------------------------------------
def test_what_joins_a_body_to_itself():
    w = world()
    for name, arguments in PARTS.items():
        taken = inspect.signature(getattr(mbd, name)).parameters
        if {"first", "second"} <= set(taken) and name != "Gear":
            for one, other in ((w.a, w.a), (w.a.frame(), w.a.frame((1, 0, 0)))):
                options = {**arguments(w), "first": one, "second": other}
                if one is not w.a:
                    options = {k: x for k, x in options.items() if k not in PLACED}
                    options = {k: x for k, x in options.items() if k not in ("to", "axes")}
                with pytest.raises(ValueError, match="^x: must join two bodies, got 'a' twice"):
                    getattr(mbd, name)(**options)


def test_factors_that_cancel():
    w = world()
    for terms, factors in (([w.h, w.h], [2, -2]), ([w.h, w.i, w.h.angle], [1, 0, -1])):
        with pytest.raises(ValueError, match="^x: not all factors may be zero, or add up"):
            mbd.Coupler("x", terms, factors)
    assert mbd.Coupler("x", [w.h, w.i, w.h], [2, 1, -2]).factors == (2, 1, -2)


def test_a_direction_has_any_length():
    w = world()
    for size in (1e-300, 1e-20, 1.0, 1e99):
        joint = mbd.Revolute("x", w.a, w.b, at=(0, 0, 0), axis=(0.6 * size, 0, -0.8 * size))
        np.testing.assert_allclose(joint.A.axes[:, 2], (0.6, 0, -0.8), rtol=0, atol=1e-15)


def test_a_part_on_a_body_of_another_system_that_has_the_same_name():
    one, other = world(), world()
    with pytest.raises(ValueError, match="^k: is attached to 'b', .* whose 'b' is another body"):
        one.system.add(mbd.Spring("k", one.a, other.b, stiffness=1.0))


def test_a_state_has_no_other_numbers():
    with pytest.raises(
        TypeError, match=r"^State.replace: there is no 'vv' .did you mean 'v'..; th"
    ):
        driven().state.replace(vv=3)
