"""What a part is, it declares: no file above asks for its class or the name of its kind."""

import ast

import numpy as np
import pytest
from scenes import with_body, with_point
from sources import nodes, within, word
from test_floors import BELOW, NAMES, ORDER, room_of

import mbd
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import LENGTH
from mbd.interactions.springs import spring
from mbd.parts.part import Part, Symbol

ABOVE = [x for x in NAMES if "/" in x and room_of(x) > ORDER.index("parts")
         and not x.startswith("beams/")]  # which are parts  # fmt: skip


def classes(base):
    """Return the names of all classes of the package that derive from a class."""
    return {base.__name__}.union(*(classes(x) for x in base.__subclasses__()))


def part_classes():
    for name in mbd.__all__:
        getattr(mbd, name)
    return classes(Part) - {"Part"}


def classes_asked_for(nodes):
    """Yield the names of classes by which a file decides what to do."""
    for node in nodes:
        if isinstance(node, ast.Call):
            called = word(node.func)
            if called in ("isinstance", "issubclass") and len(node.args) == 2:
                yield from within(node.args[1])
            elif called == "register":
                yield from (x for argument in node.args for x in within(argument))
        elif isinstance(node, ast.FunctionDef):
            if any("register" in within(x) for x in node.decorator_list):
                yield from (y for x in node.args.args if x.annotation for y in within(x.annotation))
        elif isinstance(node, ast.Dict):  # a table by classes
            yield from map(word, node.keys)
        elif isinstance(node, ast.Compare) and within(node.left) & {"type", "__class__"}:
            yield from (y for x in node.comparators for y in within(x))


def test_the_walk_finds_classes():
    assert {"RigidBody", "Revolute", "Motor", "Drive", "PointForce", "Joint"} <= part_classes()
    text = "isinstance(x, int | forces.Moment); f = {Motor: 1}"
    assert {"Moment", "Motor"} <= set(classes_asked_for(ast.walk(ast.parse(text))))


def test_no_file_above_asks_for_the_class_of_a_part():
    parts = part_classes()
    asked = {name: y for name in ABOVE if (y := parts & {*classes_asked_for(nodes(name))})}
    assert not asked, "declare a fact in mbd/parts/part.py instead"


def test_nobody_asks_for_the_class_of_a_method():
    """Names of methods stand outside of their files in defaults and lists only."""
    methods = {
        "GeneralizedAlpha", "EnergyMomentum", "ExplicitRungeKutta", "LieRungeKutta4",
        "NonsmoothAlpha", "RadauCollocation",
    }  # fmt: skip
    asks = {"isinstance", "issubclass", "singledispatch"}
    for name in BELOW:
        calls = (x for x in nodes(name) if isinstance(x, ast.Call) and word(x.func) in asks)
        assert not methods & set().union(*map(within, calls)), name


def names_of_kinds(nodes):
    """Yield where a file reads the name of a kind or of a measure."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == "name":
            yield from {word(node.value)} & {"kind", "measure"}


def test_names_of_kinds_are_for_messages_of_interactions():
    """All others compare kinds by `is`."""
    text = "x.kind.name == 'y'; y in (e.measure.name, 1); kind.name.split(); a.name == 'y'"
    assert len([*names_of_kinds(ast.walk(ast.parse(text)))]) == 3
    others = [x for x in BELOW if not x.startswith("interactions/")]
    assert not [x for x in others if [*names_of_kinds(nodes(x))]]


def test_nodes_are_asked_from_the_model():
    """Only what describes a system or writes its description knows the table of its bodies."""
    wrong = []
    for name in ABOVE:
        tables = [x for x in nodes(name) if isinstance(x, ast.Attribute) and x.attr == "bodies"]
        own = name.startswith(("model/", "files/"))
        if not own and any(word(x.value).endswith("system") for x in tables):
            wrong.append(f"{name}: take model.nodes")
    assert not wrong


# --- a part from outside --------------------------------------------------------------------------
class Tendon(Part):
    """A pull between the origins of two bodies; declares nothing that it need not."""

    def __init__(self, name, one, two, stiffness):
        self.name, self.one, self.two, self.stiffness = name, one, two, stiffness

    @property
    def bodies(self):
        return self.one, self.two

    def elements(self):
        ends = [Attachment(x.name, (1.0, 0.0, 0.0, 0.0)) for x in self.bodies]
        return [Element(spring(LENGTH), ends, (self.stiffness, 0.0, 0.7))]


def tendon():
    system, a = with_point("a", mass=1.3, position=(0.9, 0.2, 0.0))
    system.add(Tendon("tendon", system.ground, a, 11.0))
    return system


def test_what_a_part_does_not_declare_it_does_not_have():
    part = tendon()["tendon"]
    assert (part.symbol, part.drives, part.applied, part.ends) == (None, None, None, ())
    assert [len(x) for x in (part.reads, part.coordinates, part.nodes())] == [0, 0, 0]
    assert part.agrees_with(Tendon("other", *part.bodies, 11.0))
    assert not part.agrees_with(Tendon("other", *part.bodies, 12.0))


def test_a_part_that_declares_nothing_else_runs_and_is_drawn(tmp_path):
    system = tendon()
    solution = mbd.simulate(system, 0.1, 1e-3)
    assert np.ptp(solution.energy.total) < 1e-5
    with pytest.raises(KeyError, match="no body or joint named 'tendon'"):
        solution["tendon"]
    assert solution.animate(tmp_path / "tendon.html")
    assert mbd.equilibrium(system).state is not None


def test_what_does_not_derive_from_part_is_told_to():
    class Loose:
        name, bodies = "loose", ()

        def elements(self):
            return []

    with pytest.raises(TypeError, match=r"got .*Loose.*derive its class from mbd.parts.part.Part"):
        mbd.System().add(Loose())
    with pytest.raises(TypeError, match=r"derive its class|mbd.RigidBody"):
        mbd.System().add(mbd.RigidBody)


def test_a_joint_of_one_coordinate_is_an_input_and_every_coordinate_an_output():
    """A screw's own class is nowhere named; a motor along it turns and pushes at once."""
    system, table = with_body("table", mass=2.0, inertia=(0.4, 0.5, 0.3))
    slider = system.add(mbd.RigidBody("slider", mass=0.7, inertia=(0.1, 0.2, 0.15)))
    on = {"at": (0.2, 0.1, 0.4), "axis": (0.0, 0.6, 0.8)}
    system.add(mbd.Cylindrical("sleeve", system.ground, table, **on))
    system.add(mbd.Prismatic("rail", table, slider, at=(0.3, 0.0, 0.0), axis=(1.0, 0.0, 0.0)))
    outputs = ["sleeve.angle", "sleeve.angle_rate", "sleeve.displacement", "rail.displacement_rate"]
    small = mbd.linearize(system, inputs=["rail"], outputs=outputs)
    with pytest.raises(ValueError, match="'sleeve' .Cylindrical. cannot be an input"):
        mbd.linearize(system, inputs=["sleeve"], outputs=outputs)
    # a force between table and slider moves the sleeve along its axis by their masses: it is free
    G = small.D - small.C @ np.linalg.pinv(small.A - 1j * 3.0 * np.eye(len(small.A))) @ small.B
    assert np.all(np.isfinite(G))
    assert abs(G[1, 0] - 3j * G[0, 0]) < 1e-9 * abs(G[1, 0])


class Reading(Tendon):
    """Says that it reads something, and not of what."""

    reads = {"tension": 2.0}  # noqa: RUF012
    units = {"tension": "N"}  # noqa: RUF012
    symbol = Symbol.COIL

    @property
    def ends(self):
        return self.one.frame((0.1, 0.2, 0.0)), self.two.frame()


class WithoutUnits(Reading):
    units = {"force": "N"}  # noqa: RUF012


def test_readings_of_nothing_are_refused_where_the_part_is_added():
    system, a = with_point("a", mass=1.3, position=(0.9, 0.2, 0.0))
    for kind, text in (
        (Reading, "it must have a row, or drive a coordinate by a law"),
        (WithoutUnits, "its units must name each of them, got .'force'"),
    ):
        with pytest.raises(ValueError, match=f"pull: it reads tension, .*{text}"):
            system.add(kind("pull", system.ground, a, 3.0))
    assert list(system.parts) == ["a"]


class Coil(Reading):
    reads = {}  # noqa: RUF012


def test_a_symbol_needs_no_more_than_the_ends():
    system, a = with_point("a", mass=1.3, position=(0.9, 0.2, 0.0))
    system.add(Coil("coil", system.ground, a, 3.0))
    drawing = mbd.simulate(system, 0.01, 1e-3).animate().drawing
    assert [(x.form, x.label) for x in drawing.links] == [("coil", "coil (Coil)")]
