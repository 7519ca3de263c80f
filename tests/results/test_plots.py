"""Pictures of results: what is drawn, in which unit, and that lines differ in print."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from scenes import with_body, with_point

import mbd
from mbd.drawing.topology import _crossings, _places
from mbd.files import scenes
from tests.results.samples import everything

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def solution():
    return mbd.simulate(everything(law=True), 0.03, 1e-3)


def drawn(ax):
    """Return the lines of some axes by label."""
    return {line.get_label(): line for line in ax.lines}


def looks(ax):
    return [
        (str(line.get_linestyle()), tuple(np.ravel(line._dash_pattern[1] or ())))
        for line in ax.lines
    ]


NAMES = [
    "flier", "bob", "joint 0", "row", "energy", "momentum", "gap", "drift", "flier.position",
    "body, so3.angular_velocity_body", "joint 1.multipliers", "energy.total", "bob.velocity.z",
    "balloon.scale", "joint 0.angle", "momentum.linear",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_axis_has_a_unit_and_lines_differ_without_colour(solution, name):
    figure = solution.plot(name)
    for ax in figure.axes:
        label = ax.get_ylabel()
        assert label.endswith("]")
        assert " [" in label
        assert len(label.split(" [")[0]) > 2
        assert len(set(looks(ax))) == len(ax.lines) >= 1
        if len(ax.lines) > 1:
            assert len(ax.get_legend().get_texts()) == len(ax.lines)
    assert figure.axes[-1].get_xlabel() == "time [s]"


def test_what_is_drawn_is_what_was_named(solution):
    figure = solution.plot("flier.position", "joint 0.force", "energy", "bob.velocity.z")
    position, force, energy, single = figure.axes
    h = solution["flier"]
    for i, c in enumerate("xyz"):
        assert np.array_equal(drawn(position)[c].get_ydata(), h.position[:, i])
        assert np.array_equal(drawn(force)[c].get_ydata(), solution["joint 0"].force[:, i])
    assert np.array_equal(position.lines[0].get_xdata(), solution.t)
    assert (position.get_ylabel(), force.get_ylabel()) == ("position [m]", "force [N]")
    assert position.get_title() == "flier.position"
    assert np.array_equal(drawn(energy)["energy.total"].get_ydata(), solution.energy.total)
    assert energy.get_ylabel() == "energy [J]"
    assert np.array_equal(single.lines[0].get_ydata(), solution["bob"].velocity[:, 2])
    assert single.get_title() == "bob.velocity.z"  # no legend says which one it is


def test_drift_starts_at_zero_and_is_the_default(solution):
    figure = solution.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "energy [J]",
        "change of energy [J]",
        "gap [m or - or rad/s]",
    ]
    assert figure.axes[1].lines[0].get_ydata()[0] == 0.0
    assert figure.axes[2].get_yscale() == "log"


def test_axes_of_the_caller(solution):
    _, (left, right) = plt.subplots(1, 2)
    assert solution.plot("flier.position", "bob.position", ax=left) is left.figure
    assert len(left.lines) == 6
    assert len(set(looks(left))) == 6
    assert "bob.position z" in drawn(left)
    assert not right.lines
    with pytest.raises(ValueError, match=r"must have one unit, got m, m/s"):
        solution.plot("flier.position", "flier.velocity", ax=right)


@pytest.mark.parametrize(("name", "told"), [
    ("fleir", r"did you mean 'flier'\?\); there are: body, so3"),
    ("flier.positon", r"did you mean 'position'\?\); 'flier' has: position, velocity"),
    ("bob.quaternion", r"'bob' has: position, velocity, acceleration"),
    ("flier.position.w", r"'flier.position' has: x, y, z"),
    ("energy.potental", r"did you mean 'potential'\?\); 'energy' has: kinetic, potential, total"),
    ("joint 0.angel", r"did you mean 'angle'"),
])  # fmt: skip
def test_wrong_names_list_the_right_ones(solution, name, told):
    with pytest.raises(KeyError, match=told):
        solution.plot(name)


def test_what_was_loaded_is_drawn_too(solution, tmp_path):
    found = mbd.load(solution.save(tmp_path / "run.nc"))
    for name in ("flier", "joint 0", "row", "drift"):
        for one, two in zip(found.plot(name).axes, solution.plot(name).axes, strict=True):
            assert one.get_ylabel() == two.get_ylabel()
            for x, y in zip(one.lines, two.lines, strict=True):
                assert np.array_equal(x.get_ydata(), y.get_ydata())


def test_topology_marks_redundant_joints():
    model = scenes.load(scenes.named("fourbar")).build({}).build()
    ax = model.plot_topology().axes[0]
    texts = [t.get_text() for t in ax.texts]
    assert {"ground", "crank", "coupler", "rocker"} <= set(texts)
    marked = [t for t in texts if "redundant" in t]
    report = model.report()
    owners = {label.split(".")[0] for label in report.redundant}
    assert {t.split("\n")[0] for t in marked} == owners
    assert sum(int(t.split(", ")[1].split()[0]) for t in marked) == report.n_redundant == 3
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names == ["joint", "joint with redundant rows"]
    assert len(set(looks(ax))) == 2


def test_topology_of_other_shapes():
    one, _ = with_point("m")
    assert [t.get_text() for t in one.build().plot_topology().axes[0].texts] == ["m"]
    two, bar = with_body("bar", mass=1, inertia=(1, 1, 1))
    for i in range(3):
        two.add(mbd.Spherical(f"pin {i}", two.ground, bar, at=(i, 0, 0)))
    two.add(mbd.Spring("rope", two.ground, bar, at=(0, 0, 1), stiffness=1))
    _, ax = plt.subplots()
    two.build().plot_topology(ax=ax)
    places = [t.get_position() for t in ax.texts if "pin" in t.get_text() or "rope" in t.get_text()]
    assert len(places) == 4
    gaps = [np.hypot(*np.subtract(a, b)) for i, a in enumerate(places) for b in places[:i]]
    assert min(gaps) > 0.05  # parallel edges do not lie on each other
    assert "force between bodies" in [t.get_text() for t in ax.get_legend().get_texts()]


HERE = ("slider_crank", "andrews", "flexible_rod")  # one with a long legend, two with many names


@pytest.mark.parametrize(
    "name",
    [*HERE, *(pytest.param(x, marks=pytest.mark.slow) for x in scenes.shipped()
              if x not in HERE)],
)  # fmt: skip
def test_every_name_of_the_topology_can_be_read(name):
    """No text covers another one; texts and legend are in the picture, when it is drawn twice."""
    figure = scenes.load(name).build({}).build().plot_topology()
    for _ in range(2):
        figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts]
    covered = [
        (i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)
    ]
    assert covered == []
    legend = figure.axes[0].get_legend()
    for box in [*boxes, *([legend.get_window_extent()] if legend else [])]:
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


def test_drives_are_drawn_as_drives():
    for name, style in (
        ("driven_slider_crank", "drive or motor"),
        ("scott_russell", "transmission"),
    ):
        legend = scenes.load(name).build({}).build().plot_topology().axes[0].get_legend()
        assert style in [t.get_text() for t in legend.get_texts()]


def test_few_edges_cross():
    """A net of three by five meshes is drawn as one: the usual start would leave crossings."""
    net = nx.relabel_nodes(nx.grid_2d_graph(3, 5), str)
    edges = [(a, b, "", "joint") for a, b in net.edges]
    assert _crossings(nx.kamada_kawai_layout(net), net) > 0
    assert _crossings(_places(list(net), edges), net) == 0
    cross = {"a": (0, 0), "b": (1, 1), "c": (0, 1), "d": (1, 0)}
    assert _crossings(cross, nx.Graph([("a", "b"), ("c", "d")])) == 1
    assert _crossings(cross, nx.Graph([("a", "b"), ("b", "c"), ("c", "a")])) == 0


def test_figures_do_not_pile_up():
    """pyplot knows those that it shows in windows only, so that it does not warn of many."""
    plt.close("all")
    model, _ = with_point("m")
    for _ in range(3):
        model.build().plot_topology()
    assert plt.get_fignums() == []


def test_windows_are_shown_by_pyplot(monkeypatch):
    from mbd.drawing.figure import new_figure

    monkeypatch.setattr(plt, "get_backend", lambda: "QtAgg")
    figure = new_figure("plot", figsize=(3, 2))
    assert plt.figure(plt.get_fignums()[0]) is figure
    plt.close("all")


def test_loads_of_drives_and_tensions_have_units():
    system = mbd.System()
    bar = system.add(mbd.RigidBody("bar", mass=1.0, inertia=(1, 1, 1)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Drive("motor", hinge.angle, position=mbd.Harmonic(0.5, 1.0)))
    solution = mbd.simulate(system, 0.1, 1e-2, project=True)
    (axes,) = solution.plot("motor.load").axes
    assert "N m" in axes.get_ylabel()
    assert np.array_equal(axes.lines[0].get_ydata(), solution["motor"].load)
