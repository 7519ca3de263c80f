"""Vocabulary of model files: the type of each argument of each part.

The keys of a table of a file are the arguments of the constructor, read from its signature; this
file says of which type they are, by their name (``ARGUMENTS``) or for one class only (``OF``). A
new part whose arguments are called as those of others needs no line here.
"""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

from mbd.base.public import PLACES, public
from mbd.base.recorded_call import signature
from mbd.beams.section import Section
from mbd.files.references import Along, Chosen, Constructed, PartName, Three, Turn
from mbd.files.value_types import (
    Array,
    AxisValue,
    File,
    Flag,
    FunctionOf,
    LoadValue,
    Mapping,
    Number,
    OfPython,
    OneOf,
    OrLaw,
    Several,
    ValueType,
    Whole,
    Word,
)
from mbd.formulations import NAMES
from mbd.parts.part import Frame, Part

SCHEMA = 1  # of model files
SECTIONS = ("bodies", "structures", "joints", "forces")


def makers(module: str) -> dict[str, Callable[..., Any]]:
    """Return the public classes and functions of ``mbd`` from modules that begin so, by name."""
    named = {n: public(n) for n, place in PLACES.items() if place.startswith(f"mbd.{module}")}
    return {n: x for n, x in named.items() if callable(x)}


@cache
def parts() -> dict[str, type[Part]]:
    """Return the classes of parts of a system, by name; ``drawer`` is their section of a file."""
    members = (makers("parts.") | makers("beams.") | makers("flexible.")).items()
    return {n: x for n, x in members if isinstance(x, type) and issubclass(x, Part)
            and x.drawer}  # fmt: skip


def methods() -> dict[str, Callable[..., Any]]:
    """Return the classes of integrators, by name."""
    members = makers("integration.").items()
    return {n: x for n, x in members if isinstance(x, type) and dataclasses.is_dataclass(x)
            and "prepare" in vars(x)}  # fmt: skip


def constructors(maker: type) -> dict[str, Callable[..., Any]]:
    """Return a class and its class methods that make one, by their full names."""
    own = [n for n, x in vars(maker).items() if isinstance(x, classmethod) and n[0] != "_"]
    methods = (getattr(maker, n) for n in own)
    return {x.__qualname__: x for x in (maker, *methods)}


BODY, JOINT = PartName("bodies"), PartName("joints")
FRAME = Constructed("frame", lambda: {"Frame": Frame}, default="Frame")
END = OneOf(lambda x: isinstance(x, dict), FRAME, BODY)
POINT, DIRECTION = Array("m"), AxisValue()
STRAINS = Array(("-",) * 3 + ("1/m",) * 3, ((6,),))
COORDINATE = Chosen()
MOTION = Constructed("motion", lambda: makers("parts.motions") | makers("parts.interpolated"))
FORMULATION = Constructed("formulation", lambda: makers("formulations."), NAMES)
SHAPE = Constructed("shape", lambda: makers("parts.shapes"))
METHOD = Constructed("method", methods)
SECTION = Constructed("section", lambda: constructors(Section), default="Section")
CONSTRUCTED = (FRAME, MOTION, FORMULATION, SHAPE, METHOD, SECTION)
ROTATIONAL: dict[str, ValueType] = {"stiffness": Number("N m/rad"), "damping": Number("N m s/rad")}
ALONG: dict[str, ValueType] = {"stiffness": Along("F/u"), "damping": Along("F s/u")}

ARGUMENTS: dict[str, ValueType] = {
    **dict.fromkeys(("position", "center_of_mass", "at", "to", "size", "through"), POINT),
    **dict.fromkeys(("axis", "second_axis", "normal"), DIRECTION),
    **dict.fromkeys(("first", "second"), END),
    **dict.fromkeys(("angular_velocity", "angular_velocity_body"), Array("rad/s")),
    **dict.fromkeys(("rotation", "axes"), Turn()),
    **dict.fromkeys(("length", "radius", "pitch", "inside"), Number("m")),
    **dict.fromkeys(("a", "rho", "tol", "rtol", "scale", "alpha", "ratio"), Number("-")),
    **dict.fromkeys(("exponent", "friction", "friction_static", "restitution"), Number("-")),
    **dict.fromkeys(("t_end", "step", "max_step"), Number("s")),
    **dict.fromkeys(("every", "order", "face", "fewest", "max_iterations", "stages"), Whole),
    **dict.fromkeys(("follow", "plane", "project", "rigid"), Flag),
    **dict.fromkeys(("form", "force_map", "kind", "velocities", "newton", "scheme"), Word),
    **dict.fromkeys(("unit", "tableau", "stiff", "local_map"), Word),
    **dict.fromkeys(("linear_solver", "constraints", "contacts"), Word),
    "weights": Array("-", ((4,),)),
    "angle": Number("rad"),
    "atol": OneOf(lambda x: isinstance(x, dict), Mapping(Number("-")), Number("-")),
    "body": BODY,
    "compliance": Number("m/N"),
    "angular_compliance": Number("rad/(N m)"),
    "color": OneOf(lambda x: isinstance(x, str), Word, Array("-")),
    "damping": Number("N s/m"),
    "file": File(),
    "force": LoadValue("N", MOTION),
    "formulation": FORMULATION,
    "gravity": Array("m/s^2"),
    "inertia": Array("kg m^2", ((3,), (3, 3))),
    "joint": COORDINATE,
    "coordinate": Word,
    "coordinates": Several(COORDINATE),
    "factors": Several(Number("-")),
    "points": Several(END),
    **dict.fromkeys(("pinion", "rack"), COORDINATE),
    **dict.fromkeys(("lower", "upper", "reference"), Along("u")),
    **dict.fromkeys(("speed",), Along("u/s")),
    **dict.fromkeys(("start", "end", "amplitude", "mean"), Along("u")),
    "dissipation": Along("s/u"),
    "effort": OrLaw(Along("F"), ("u", "rate", "t")),
    "value": OrLaw(Along("u"), laws=MOTION),
    "law": FunctionOf(),
    "function": OfPython(),
    "on": Several(END),
    "mass": Number("kg"),
    "method": METHOD,
    "moment": LoadValue("N m", MOTION),
    "off": Several(Word, single=True),
    **dict.fromkeys(("shape", "collision"), Several(SHAPE, single=True)),
    "stiffness": Number("N/m"),
    "t_eval": Several(Number("s")),
    "velocity": Array("m/s"),
}

MEMORY_OF_A_LAW: dict[str, ValueType] = {
    "reference": END, "memory": Whole, "accept": OfPython(), "settles": Flag,
}  # fmt: skip
OF: dict[str, dict[str, ValueType]] = {
    **dict.fromkeys(("PointForce", "Moment"), {"body": END} | MEMORY_OF_A_LAW),
    "RotationalSpring": {**ROTATIONAL, "joint": JOINT},
    **dict.fromkeys(("JointSpring", "Stop"), ALONG),
    "JointFriction": {"friction": Along("F")},
    "DryFriction": {"force": Along("F"), "coefficient": Number("-"), "static": Number("-")},
    "Freewheel": {"most": Along("F"), "drag": Along("F")},
    "Drive": {
        "position": OrLaw(Along("u"), laws=MOTION),
        "velocity": OrLaw(Along("u/s"), laws=MOTION),
        "compliance": Along("u/F"),
    },
    "PrescribedMotion": {
        "position": Three("m", OrLaw(Along("u"), laws=MOTION)),
        "rotation": Three("rad", OrLaw(Along("u"), laws=MOTION)),
    },
    "Harmonic": {"frequency": Number("rad/s"), "phase": Number("rad")},
    "SmoothStep": {"t_start": Number("s")},
    "Interpolated": {
        "times": Several(Number("s")),
        "values": Several(Number("-"), single=True),
        "between": Word,
    },
    "Gear": {"first": COORDINATE, "second": COORDINATE},
    "ScalingForce": {"force": OrLaw(Number("N m"))},
    "Bushing": {
        "stiffness": Array(("N/m",) * 3 + ("N m/rad",) * 3, ((6,), (6, 6))),
        "damping": Array(("N s/m",) * 3 + ("N m s/rad",) * 3, ((6,), (6, 6))),
    },
    "AddedMass": {"body": END, "matrix": Array(("kg",) * 3 + ("kg m^2",) * 3, ((6,), (6, 6)))},
    "Beam": {
        "points": Several(POINT),
        "section": Several(SECTION, single=True),
        "elements": Whole,
        "up": DIRECTION,
        "twist": Several(Number("rad"), single=True),
        "stations": Several(Number("-")),
        "formulation": Several(FORMULATION, single=True),
        "damping": Several(Number("s"), single=True),
        "order": Whole,
        "prestrain": OneOf(
            lambda x: isinstance(x, list) and bool(x) and isinstance(x[0], list),
            Several(STRAINS),
            STRAINS,
        ),
        "smooth": Flag,
        "last": END,
    },
    "Cable": {
        "points": Several(POINT),
        "stiffness": Number("N"),
        "mass": Number("kg/m"),
        "elements": Whole,
        "slack": Flag,
        "damping": Number("s"),
        "smooth": Flag,
        "last": END,
    },
    "FlexibleBody": {
        **dict.fromkeys(("M", "K", "coordinates", "faces", "nodal_stress"), File()),
        **dict.fromkeys(
            ("interfaces", "loads"),
            Mapping(OneOf(lambda x: isinstance(x, str), Word, Several(Whole))),
        ),
        "units": Word,
        **dict.fromkeys(("modes", "fixed_modes"), Whole),
        "cutoff": Number("Hz"),
        "damping": Several(Number("-"), single=True),
        "rayleigh": Array(("1/s", "s"), ((2,),)),
        "geometric_stiffness": Mapping(File()),
        "load_stiffness": Mapping(Several(File())),
        **dict.fromkeys(("mass_factor", "stiffness_factor"), Number("-")),
    },
    "LineLoad": {"beam": PartName("structures"), "force": Array("N/m"), "law": FunctionOf(("t",))},
    "SectionLoad": {
        "beam": PartName("structures"),
        **dict.fromkeys(("load", "derivative"), OfPython()),
        "stations": OneOf(lambda x: isinstance(x, str), Word, Several(Number("m"))),
        "lengths": Several(Number("m"), single=True),
        "parameters": Mapping(Several(Number("-"), single=True)),
        "tables": Mapping(Several(Number("-"))),
        **MEMORY_OF_A_LAW,
        "force": Several(Array("N/m")),
        "moment": Several(Array("N")),
    },
    "Section": {
        "stiffness": Array(("N",) * 3 + ("N m^2",) * 3, ((6,), (6, 6))),
        "mass": Number("kg/m"),
        "inertia": Array("kg m", ((3,), (3, 3))),
        "center": Array("m", ((2,),)),
        "outline": Several(Array("m", ((2,),))),
        "young": Number("Pa"),
    },
    **{
        f"Section.{n}": {
            "young": Number("Pa"),
            "poisson": Number("-"),
            "shear": Number("Pa"),
            "density": Number("kg/m^3"),
            **dict.fromkeys(sizes, Number("m")),
        }
        for n, sizes in {
            "rectangle": ("width", "height"),
            "circle": ("radius",),
            "tube": ("radius", "thickness"),
            "from_plate": ("width", "thickness"),
        }.items()
    },
    "Unified": {
        "points": Array("m", ((6, 3),)),
        "directions": Array("-", ((6, 3),)),
        "length": Array("m", ((), (3,))),
    },
}
OWN_NAME = {"name"}  # the name of a part is its key
# arguments of a call of mbd.simulate, not of a model; events are functions of Python
OF_A_CALL = {"system", "state", "progress", "raise_on_failure", "events", "stream"}


@cache
def run_settings() -> dict[str, ValueType]:
    """Return the types of the arguments of ``mbd.simulate`` that a file may have."""
    names = signature(public("simulate")).parameters
    return {n: ARGUMENTS[n] for n in names if n in ARGUMENTS and n not in OF_A_CALL}


@cache
def arguments(maker: Callable[..., Any]) -> dict[str, ValueType]:
    """Return the type of every argument of a class or function."""
    own = OF.get(maker.__qualname__, {})
    names = [n for n in signature(maker).parameters if n not in OWN_NAME]
    unknown = [n for n in names if n not in own and n not in ARGUMENTS]
    if unknown:
        raise LookupError(
            f"{maker.__name__}: no value type for {', '.join(unknown)}; add it to ARGUMENTS or OF "
            "in mbd/files/vocabulary.py"
        )
    return {n: own.get(n) or ARGUMENTS[n] for n in names}
