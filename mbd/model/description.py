"""The description of a system: its parts by name, their arguments by name, "rod.inertia.xx"."""

from collections.abc import Mapping
from operator import sub
from typing import Any, Self, TypeVar

import numpy as np

from mbd.base import html_tables as tables
from mbd.base.checked import absent, floats, meant, shown
from mbd.base.door import vector
from mbd.base.dual import plain
from mbd.base.identity import Identity
from mbd.base.parameter import Parameter, evaluated
from mbd.base.read_only import read_only
from mbd.base.recorded_call import parameters_in, signature
from mbd.base.tolerances import MODEL_FAR
from mbd.parts.bodies import Ground
from mbd.parts.joint import Joint
from mbd.parts.part import Body, Part

WHO = "Model.with_values"  # who speaks of arguments

SomePart = TypeVar("SomePart", bound=Part)


class Description:
    """Bodies, joints and forces by name, and gravity; see ``System``."""

    __slots__ = (
        "__weakref__", "_dotted", "_gravity", "_gravity_formulas", "bodies", "forces", "ground",
        "joints", "structures",
    )  # fmt: skip

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity = gravity
        self.ground: Body = Ground()
        self.bodies: dict[str, Body] = {}
        self.structures: dict[str, Part] = {}
        self.joints: dict[str, Joint] = {}
        self.forces: dict[str, Part] = {}
        self._dotted: dict[str, str] = {}  # what stands before a dot of a name, and the name

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall [m/s^2]."""
        return read_only(self._gravity)

    @gravity.setter
    def gravity(self, value: Any) -> None:
        plain = evaluated(value)
        self._gravity = vector("System", "gravity", plain, "m/s^2")
        self._gravity_formulas = None if plain is value else tuple(value)

    @property
    def gravity_as_written(self) -> Any:
        """Return gravity with the formulas of parameters that are in it."""
        return self._gravity if self._gravity_formulas is None else self._gravity_formulas

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            names = ("gravity", *(x for x in Description.__slots__ if x[0] != "_"))
            raise AttributeError(f"System: {absent('', name, names)}") from None

    def frozen(self) -> Self:
        """Return a copy that parts added to this one later, or another gravity, do not reach."""
        mine = object.__new__(type(self))
        for name in Description.__slots__[1:]:
            value = getattr(self, name)
            own = value.copy() if isinstance(value, dict) else value
            object.__setattr__(mine, name, own)
        return mine

    @property
    def parts(self) -> dict[str, Part]:
        """All parts by name: bodies, structures, joints, forces, each as they were added."""
        own = {name: x for name, x in self.bodies.items() if x.owner is None}
        return {**own, **self.structures, **self.joints, **self.forces}

    @property
    def _tables(self) -> tuple[Mapping[str, Part], ...]:
        return self.bodies, self.structures, self.joints, self.forces

    def add(self, part: SomePart) -> SomePart:
        """Add a body, joint or force and return it."""
        if not isinstance(part, Part):
            a_part = not isinstance(part, type) and callable(getattr(part, "elements", None))
            raise TypeError(
                f"System.add: expected a body, joint or force, got {shown(part)}; "
                + (
                    "derive its class from mbd.parts.part.Part, which declares what parts have"
                    if a_part
                    else "for example system.add(mbd.RigidBody(...))"
                )
            )
        self._check_name(part.name)
        nodes = [x for x in part.nodes() if x is not part]
        for node in nodes:
            self._check_node(part, node)
        for body in part.bodies:
            if body not in nodes:
                self._check_added(part.name, body)
        if part.reads:
            _check_reads(part)
        self._dotted |= dict.fromkeys(_stems(part.name), part.name)
        self.bodies |= {node.name: node for node in nodes}
        table: dict[str, Part] = getattr(self, part.drawer)
        table[part.name] = part
        if table is self.bodies:  # before nodes: a file has a table of each kind of part
            for structure in self.structures.values():
                for node in (x for x in structure.nodes() if x is not structure):
                    self.bodies[node.name] = self.bodies.pop(node.name)
        return part

    def _check_name(self, name: str) -> None:
        """Refuse a name that another part has, or that would be read as a quantity of one."""
        if name in self or name == "ground":
            taken = ["ground", *self.parts]
            raise ValueError(
                f"{name}: names must differ, there is already a part called {name!r}; names in "
                f"use: {', '.join(taken[:12])}"
            )
        above = next((x for x in _stems(name) if x in self), None)
        below = self._dotted.get(name)
        if above is not None or below is not None:
            raise ValueError(
                f"{name}: {below or name!r} would be read as a quantity of the part "
                f"{above or name!r}; take a name that does not begin with that of another part "
                "and a dot"
            )

    def _check_node(self, part: Part, node: Body) -> None:
        """Refuse a node that a part may not own."""
        if part.drawer != "structures":
            raise ValueError(
                f"{part.name}: {type(part).__name__} owns nodes, its drawer must be 'structures', "
                f"got {part.drawer!r}"
            )
        stem, dot, word = node.name.rpartition(".")
        if node.owner is not part or stem != part.name or not (dot and word):
            raise ValueError(
                f"{part.name}: its nodes must be made with it and called '{part.name}.0' and so "
                f"on, got {node.name!r}"
            )
        if [x.name for x in part.nodes()].count(node.name) > 1:
            raise ValueError(f"{part.name}: two of its nodes are called {node.name!r}")

    def _check_added(self, name: str, body: Body) -> None:
        """Refuse a body, of a part of some name, that is not of this system."""
        if body.moves and self.bodies.get(body.name) is not body:
            other = f", whose {body.name!r} is another body" if body.name in self.bodies else ""
            raise ValueError(
                f"{name}: is attached to {body.name!r}, which was not added to this system"
                f"{other or meant(body.name, self.bodies)}; call system.add(body) first"
            )
        if not body.moves and body is not self.ground:
            raise ValueError(
                f"{name}: is attached to the ground of another system; use system.ground"
            )

    def __contains__(self, name: object) -> bool:
        return any(name in table for table in self._tables)

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"System: a part is asked for by its name, got {shown(name)}")
        for table in self._tables:
            if name in table:
                return table[name]
        raise KeyError(f"no part named {shown(name)}; there are {', '.join(self.parts)}")

    def _repr_html_(self) -> str:
        own = [x for x in self.bodies.values() if x.owner is None]
        return tables.page(
            repr(self),
            tables.facts(gravity=f"{self.gravity.tolist()} m/s^2"),
            tables.table("bodies", ("name", "mass [kg]", "formulation"),
                  ((x.name, float(x.mass), x.formulation.name) for x in own)),
            *(
                tables.table(word, ("name", "kind", "attached to"),
                      ((x.name, type(x).__name__, ", ".join(b.name for b in x.bodies[:4]))
                       for x in some.values()))
                for word, some in (("structures", self.structures), ("joints", self.joints),
                                   ("forces", self.forces))
            ),
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"System({len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.forces)} forces)"
        )


def _check_reads(part: Part) -> None:
    """Refuse readings of which nobody can tell what they are."""
    if part.reads.keys() - part.units.keys():
        raise ValueError(
            f"{part.name}: it reads {', '.join(part.reads)}, its units must name each of them, got "
            f"{dict(part.units)}"
        )
    told = part.law is not None or part.tension is not None
    by_law = part.drives is not None and told
    if not by_law and not any(x.kind.n_rows for x in part.elements()):
        raise ValueError(
            f"{part.name}: it reads {', '.join(part.reads)}, so it must have a row, or drive a "
            "coordinate by a law; got neither"
        )


def _stems(name: str) -> list[str]:
    """Return what stands before each dot of a name."""
    return [name[:i] for i, x in enumerate(name) if x == "."] if "." in name else []


def lengths(system: Description) -> tuple[float, float]:
    """Return the extent of a system at the initial pose and the size of its bodies [m]."""
    bodies = system.bodies.values()
    low, high = _corners(system)
    extent = max(map(sub, high, low))
    least = 1e-12 * max(map(abs, low + high))  # below it is round-off of differences
    frames = [f for j in system.joints.values() for f in j.ends]
    offsets = [f.position for f in frames if f.face == 0 and f.body is not system.ground]
    arms = [float(np.abs(b.nodal.x).max()) for b in bodies if b.nodal is not None]
    if offsets:
        arms += np.abs(plain(offsets)).max(1).tolist()
    arms = sorted(x for x in arms if x > least)
    length = max([extent, *arms[-1:]]) or 1.0
    return length, arms[len(arms) // 2] if arms else length


def _corners(system: Description) -> tuple[list[float], list[float]]:
    """Return two corners of the box that the origins of all bodies fill, x, y, z each [m]."""
    places = plain([b.position for b in system.bodies.values()])
    return places.min(0).tolist(), places.max(0).tolist()


def origin(system: Description) -> np.ndarray:
    r"""Return the point near the system from which its model stores positions, (3,) [m].

    Round-off of a position is that of its distance from there; on rows met by positions it is a
    force of its size times :math:`m/h^2`. The point is zero unless the system is far from the
    inertial origin; coordinates are multiples of a power of two, differences to them exact.
    """
    low, high = _corners(system)
    extent = max(map(sub, high, low))
    middle = [0.5 * (a + b) for a, b in zip(low, high, strict=True)]
    far = max(map(abs, middle))
    if far < MODEL_FAR * extent or far < MODEL_FAR * (length := lengths(system)[0]):
        return np.zeros(3)
    grid = 2.0 ** np.ceil(np.log2(length))
    return np.asarray(grid * np.round(np.array(middle) / grid) + 0.0)


def described_parameters(system: Description) -> dict[str, Parameter]:
    """Return the parameters among the arguments of a system, by name."""
    return parameters_in([system.gravity_as_written, *system.parts.values()])


def argument_of(system: Description, key: str) -> tuple[str, str, list[str]]:
    """Return part, argument and component of a name such as "rod.inertia.xx"; part "" is none."""
    words, parts = key.split("."), system.parts
    name, rest = "", words
    for n in range(len(words) - 1, 0, -1):
        if ".".join(words[:n]) in parts:
            name, rest = ".".join(words[:n]), words[n:]
            break
    if name:
        arguments = list(signature(parts[name].call.maker).parameters)
    else:
        arguments = ["gravity", *described_parameters(system)]
        if rest[0] not in arguments and len(words) > 1:
            raise ValueError(f"{WHO}: {absent('part ', key.rpartition('.')[0], parts)}")
    if rest[0] not in arguments:
        raise ValueError(
            f"{WHO}: {name or 'the system'} has no argument {shown(rest[0])}"
            f"{meant(rest[0], arguments)}; there are {', '.join(arguments)}"
        )
    return name, rest[0], rest[1:]


def argument_now(system: Description, name: str, argument: str) -> Any:
    """Return what an argument was when its part was made, or its default."""
    if not name:
        if argument == "gravity":
            return system.gravity
        return described_parameters(system)[argument].value
    call = system.parts[name].call
    bound = signature(call.maker).bind(*call.args, **call.options)
    bound.apply_defaults()
    return bound.arguments[argument]


def component_now(key: str, value: Any, places: list[str]) -> float:
    """Return a component of an argument."""
    if isinstance(value, Mapping):
        inner, rest = _entry(key, value, places)
        return component_now(key, inner, rest) if rest else float(evaluated(inner))
    x, where = _component(key, value, places)
    return float(x[where[0]])


def _entry(key: str, value: Mapping[str, Any], places: list[str]) -> tuple[Any, list[str]]:
    """Return what an argument has by a name, a number or numbers, and the place in these."""
    word, *rest = places
    if word not in value or bool(rest) != bool(np.ndim(value[word])):
        raise ValueError(
            f"{WHO}: {key!r}: a component must be one number of {shown(value)}: give its name, "
            "and of several numbers which one, 0, 1, ..."
        )
    return value[word], rest


def _component(key: str, value: Any, places: list[str]) -> tuple[np.ndarray, list[Any]]:
    """Return an argument as numbers, and where the component is among them."""
    try:
        x = floats(evaluated(value))
        if x.ndim == 0 or len(places) != 1:
            raise TypeError
    except TypeError:
        raise ValueError(
            f"{WHO}: {key!r}: a component must be one of some numbers, but the argument is "
            f"{shown(value)}; give the argument as a whole"
        ) from None
    word, axes = places[0], "xyz"
    where: list[Any] = []
    if word.isdecimal() and x.ndim == 1:
        where = [int(word)] if int(word) < len(x) else []
    elif word in axes and x.shape == (3,):
        where = [axes.index(word)]
    elif len(word) == 2 and set(word) <= set(axes):
        i, j = sorted(axes.index(c) for c in word)
        if x.shape == (3, 3):
            where = [(i, j), (j, i)]
        elif x.shape == (3,) and i == j:
            where = [i]
    if not where:
        raise ValueError(
            f"{WHO}: {key!r}: {word!r} is no component of {x.tolist()}; they are x, y, z of "
            "vectors, xx, yy, zz, xy, xz, yz of tensors, 0, 1, ... of others"
        )
    return x, where


def with_component(key: str, now: Any, places: list[str], value: Any) -> Any:
    """Return an argument of which a component has another value; the others stay formulas."""
    if isinstance(now, Mapping):
        inner, rest = _entry(key, now, places)
        return {**now, places[0]: with_component(key, inner, rest, value) if rest else value}
    _, where = _component(key, now, places)
    x = np.array(now, object)
    for w in where:
        x[w] = value
    return tuple(map(tuple, x)) if x.ndim == 2 else tuple(x)


def put_system(into: Identity, system: Description, where: str = "") -> None:
    """Add the parts of a system to an identity, argument by argument, and its gravity.

    Parameters
    ----------
    into : Identity
    system : System
    where : str
        What is said after each name, of one of several systems: " of experiment 1".

    What a model follows from is told by names such as "stiffness of Spring 'spring'".
    """
    parts = {f"{type(x).__name__} {name!r}": x for name, x in system.parts.items()}
    into.name(system.ground, "the ground")
    for name, part in parts.items():
        into.name(part, name)
    into.put(f"gravity{where}", system.gravity_as_written)
    into.put(f"the order of parts{where}", list(parts))
    for name, part in parts.items():
        call = part.call
        into.put(f"the class of {name}{where}", call.maker)
        bound = signature(call.maker).bind(*call.args, **call.options).arguments
        for argument, value in bound.items():
            into.put(f"{argument} of {name}{where}", value)
