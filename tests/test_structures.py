"""A part from outside that owns nodes and elements: a rope of beads, a chain of bars."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

import mbd
from mbd.base.door import label
from mbd.interactions.gradients import unwrapped_angle
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import ANGLE, LENGTH
from mbd.interactions.rows import COINCIDE
from mbd.interactions.springs import spring
from mbd.machine.buffer import FORCE
from mbd.parts.part import Part

ORIGIN = (1.0, 0.0, 0.0, 0.0)
G = 9.81


class Beads(Part):
    """Mass points on springs, the first one on a body."""

    drawer = "structures"

    def __init__(self, name, first, end, n, *, mass, stiffness):
        self.name = label(name, "Beads")
        self.first, self.stiffness = first, stiffness
        places = np.linspace(first.position, end, n + 1)
        self.length = float(np.linalg.norm(places[1] - places[0]))
        self._nodes = tuple(
            mbd.PointMass(f"{name}.{i}", mass=mass, position=x) for i, x in enumerate(places[1:])
        )

    @property
    def bodies(self):
        return (self.first,)

    @property
    def last(self):
        return self._nodes[-1]

    def nodes(self):
        return self._nodes

    def elements(self):
        ends = [Attachment(x.name, ORIGIN) for x in (self.first, *self._nodes)]
        numbers = (self.stiffness, 0.0, self.length)
        return [
            Element(spring(LENGTH), pair, numbers) for pair in zip(ends, ends[1:], strict=False)
        ]


class Bars(Part):
    """Bars of length 1 along x on ball joints, the first one on ground; a ring if it is closed."""

    drawer = "structures"

    def __init__(self, name, ground, n, *, formulation="so3", closed=False):
        self.name, self.ground, self.closed = label(name, "Bars"), ground, closed
        self._nodes = tuple(
            mbd.RigidBody(
                f"{name}.{i}", mass=1.2, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0),
                formulation=formulation,
            )
            for i in range(n)
        )  # fmt: skip

    @property
    def bodies(self):
        return (self.ground,)

    def nodes(self):
        return self._nodes

    def elements(self):
        n = len(self._nodes)
        pins = [("ground", 0.0, f"{self.name}.0", -0.5)]
        pins += [(f"{self.name}.{i}", 0.5, f"{self.name}.{i + 1}", -0.5) for i in range(n - 1)]
        if self.closed:
            pins.append((f"{self.name}.{n - 1}", 0.5, "ground", float(n)))
        return [
            Element(
                COINCIDE, [Attachment(a, (1.0, x, 0.0, 0.0)), Attachment(b, (1.0, y, 0.0, 0.0))],
                rows=[f"{i} force {c}" for c in "xyz"], row_kinds=(FORCE,) * 3,
            )
            for i, (a, x, b, y) in enumerate(pins)
        ]  # fmt: skip


def hanging(n=3):
    system = mbd.System(gravity=(0, 0, -G))
    rope = system.add(Beads("rope", system.ground, (0, 0, -0.9), n, mass=0.4, stiffness=700.0))
    return system, rope


def loaded():
    """A bar that hangs from beads by a joint at its end."""
    system, rope = hanging()
    bar = mbd.RigidBody("bar", mass=0.8, inertia=(0.02, 0.02, 0.001), position=(0, 0, -1.2))
    system.add(bar)
    system.add(mbd.Spherical("eye", rope.last, bar, at=(0, 0, -0.9)))
    return system, rope, bar


def test_nodes_and_elements_are_those_of_a_system_made_by_hand():
    system, rope = hanging()
    byhand = mbd.System(gravity=(0, 0, -G))
    last = byhand.ground
    for i, node in enumerate(rope.nodes()):
        x = byhand.add(mbd.PointMass(f"rope.{i}", mass=0.4, position=node.position))
        byhand.add(mbd.Spring(f"s{i}", last, x, stiffness=700.0, length=rope.length))
        last = x
    a, b = (mbd.simulate(s, 0.2, 1e-3) for s in (system, byhand))
    assert np.array_equal(a.q, b.q)
    assert np.array_equal(a.energy.total, b.energy.total)
    assert list(system.bodies) == ["rope.0", "rope.1", "rope.2"]
    assert list(system.parts) == list(system.structures) == ["rope"]
    assert system["rope"] is rope
    assert system["rope.1"] is rope.nodes()[1]


def test_a_joint_holds_a_node_and_statics_finds_the_lengths():
    system = loaded()[0]
    pose = mbd.equilibrium(system)
    below = np.array([2.0, 1.6, 1.2]) * G  # what hangs from each spring [N]
    assert np.allclose(pose["rope"].position[:, 2], np.cumsum(-0.3 - below / 700.0), atol=1e-9)
    assert np.allclose(pose["eye"].force, (0, 0, 0.8 * G))
    assert pose["rope"].nodes["rope.1"].position.shape == (3,)
    assert pose.stable
    assert mbd.check_tangents(system).ok


def test_modes_of_a_taut_rope():
    """Three beads along the rope: eigenvalues of the tridiagonal matrix k/m (2, -1; last 1)."""
    system, _ = hanging()
    modes = mbd.modes(mbd.equilibrium(system))
    k = 700.0 * (np.diag([2.0, 2.0, 1.0]) - np.eye(3, k=1) - np.eye(3, k=-1))
    along = np.sqrt(np.linalg.eigvalsh(k / 0.4)) / (2 * np.pi)
    assert all(min(abs(mode.frequency - f) for mode in modes) < 1e-6 * f for f in along)
    assert set(modes[0].kinetic) == {"rope.0", "rope.1", "rope.2"}


def test_results_of_a_part_are_those_of_its_nodes(tmp_path):
    system, _, _ = loaded()
    solution = mbd.simulate(system, 0.05, 1e-3)
    rope = solution["rope"]
    assert list(rope.nodes) == ["rope.0", "rope.1", "rope.2"]
    assert rope.position.shape == (51, 3, 3)
    assert np.array_equal(rope.velocity[:, 1], solution["rope.1"].velocity)
    with pytest.raises(AttributeError, match="'rope' has no 'quaternion'"):
        rope.quaternion  # noqa: B018
    assert "position" in dir(rope)
    for name in ("run.nc", "run.npz"):
        solution.save(tmp_path / name)
        again = mbd.load(tmp_path / name)
        assert np.array_equal(again["rope"].position, rope.position)
    assert solution.to_xarray()["position"].sel(body="rope.2").shape == (51, 3)
    solution.save(tmp_path / "run.pvd")
    drawing = solution.animate().drawing
    assert {"rope.0", "rope.2", "bar"} <= {x.frame for x in drawing.solids}


def test_rows_of_a_part_and_their_reactions():
    system = mbd.System(gravity=(0, 0, -G))
    bars = system.add(Bars("bars", system.ground, 3))
    system.add(mbd.Moment("push", bars.nodes()[2], (0.0, 0.3, 0.0)))
    solution = mbd.simulate(system, 0.1, 1e-3)
    history = solution["bars"]
    assert history.multipliers.shape == (101, 9)
    assert history.angular_velocity.shape == (101, 3, 3)
    total = history.reaction("ground").force
    momentum = np.gradient(solution.momentum.linear, solution.t, axis=0)
    assert np.allclose(-total[5:-5] + (0, 0, -3.6 * G), momentum[5:-5], atol=2e-2)
    report = str(system.build().report())
    assert "part  bars: Bars of 3 bodies" in report
    assert "rows  bars: Bars between ground and bars.0, bars.1, bars.2, 9 rows" in report
    assert mbd.check_part(bars).ok


@pytest.mark.parametrize("closed", [False, True])
def test_loops_inside_a_part_are_seen(closed):
    """A straight closed chain of bars: one of its rows, along x, is redundant."""
    system = mbd.System(gravity=(0, 0, -G))
    system.add(Bars("bars", system.ground, 3, closed=closed))
    model = system.build()
    report = model.report()
    assert len(report.loops) == closed
    assert model.redundant is closed
    assert [x.partition(" ")[2] for x in report.redundant] == ["force x"] * closed


def test_copies_and_pickles_keep_who_owns_a_node():
    system, rope, bar = loaded()
    here = mbd.simulate(system, 0.02, 1e-3)
    for copy in (pickle.loads(pickle.dumps(system)), deepcopy(system)):
        assert copy["rope"].last is copy["rope.2"]
        assert copy["eye"].A.body is copy["rope.2"] is not rope.last
        assert np.array_equal(mbd.simulate(copy, 0.02, 1e-3).q, here.q)
    joint, other = pickle.loads(pickle.dumps((system["eye"], rope)))
    assert joint.A.body is other.last
    assert joint.B.body.name == bar.name
    again = pickle.loads(pickle.dumps(here))
    assert np.array_equal(again["rope"].position, here["rope"].position)


# --- what is refused ------------------------------------------------------------------------------
def test_names_that_clash_are_refused_by_name():
    system, _ = hanging()
    with pytest.raises(ValueError, match="rope.1.*names must differ|rope.1.*quantity of the part"):
        system.add(mbd.PointMass("rope.1", mass=1.0))
    with pytest.raises(ValueError, match="rope.7: .*quantity of the part 'rope'"):
        system.add(mbd.PointMass("rope.7", mass=1.0))
    with pytest.raises(ValueError, match="rope: names must differ"):
        system.add(mbd.PointMass("rope", mass=1.0))
    other = mbd.System()
    other.add(mbd.PointMass("rope.1", mass=1.0))
    with pytest.raises(ValueError, match="rope: 'rope.1' would be read as a quantity"):
        other.add(Beads("rope", other.ground, (1, 0, 0), 3, mass=1.0, stiffness=1.0))
    assert list(other.bodies) == ["rope.1"]


class Wrong(Part):
    drawer = "structures"

    def __init__(self, name, what):
        self.name = name
        called = {"stranger": "other.0", "twice": f"{name}.0"}.get(what, f"{name}.1")
        self._nodes = [mbd.PointMass(f"{name}.0", mass=1.0), mbd.PointMass(called, mass=1.0)]
        self.what = what

    def nodes(self):
        return self._nodes

    def elements(self):
        body = "nobody" if self.what == "loose" else f"{self.name}.0"
        ends = [Attachment(body, ORIGIN), Attachment("ground", ORIGIN)]
        return [Element(spring(LENGTH), ends, (1.0, 0.0, 1.0))]


class InTheWrongDrawer(Wrong):
    drawer = "forces"


def test_nodes_that_a_part_may_not_own_are_refused():
    for what, text in (
        (
            "stranger",
            "its nodes must be made with it and called 'wrong.0' .*, got 'other.0'",
        ),
        ("twice", "wrong: two of its nodes are called 'wrong.0'"),
    ):
        with pytest.raises(ValueError, match=text):
            mbd.System().add(Wrong("wrong", what))
    with pytest.raises(ValueError, match="its drawer must be 'structures', got 'forces'"):
        mbd.System().add(InTheWrongDrawer("wrong", ""))
    system = mbd.System()
    system.add(Wrong("wrong", "loose"))
    with pytest.raises(ValueError, match="wrong: an element is attached to 'nobody'"):
        system.build()


def test_rows_of_the_same_name_are_refused():
    class Same(Bars):
        def elements(self):
            return [
                Element(x.kind, x.attachments, rows=("x", "y", "z"), row_kinds=x.row_kinds)
                for x in super().elements()
            ]

    system = mbd.System()
    system.add(Same("same", system.ground, 2))
    with pytest.raises(ValueError, match="same: two of its rows are called 'same.x'"):
        system.build()


def test_an_element_without_the_memory_of_its_kind_is_refused():
    class Forgetful(Bars):
        def elements(self):
            turn = unwrapped_angle(ANGLE)
            return [*super().elements(), Element(turn, (self.nodes()[0].frame().end(2),) * 3)]

    system = mbd.System()
    system.add(Forgetful("vague", system.ground, 2))
    with pytest.raises(ValueError, match="vague: an element of the kind 'turns of angle' must"):
        system.build()


def test_model_files_say_what_they_cannot_hold(tmp_path):
    system, _, _ = loaded()
    with pytest.raises(ValueError, match="rope: Beads is not a part of mbd, and a file cannot say"):
        mbd.write(system, tmp_path / "model.toml")
