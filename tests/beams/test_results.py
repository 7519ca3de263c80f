"""Results of beams: the same numbers by name in a run, in every kind of file, and in a stream."""

import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

import mbd
from tests.results.test_paraview import read

mpl.use("Agg")
WORDS = ("force", "moment", "strain", "curvature", "energy")


def two_beams(law=None):
    """Return a beam with a corner that is clamped, and a free one beside it."""
    section = mbd.Section(stiffness=(1e4, 1e4, 1e4, 20, 10, 30), mass=1.0, center=(0.01, -0.02))
    system = mbd.System(gravity=(0, 0, -9.81))
    corner = mbd.Beam("corner", points=[(0, 0, 0), (1, 0, 0), (1, 1, 0)], section=section,
                      elements=4, smooth=False, twist=[0, 0.3], first=system.ground)  # fmt: skip
    free = mbd.Beam("free", points=[(3, 0, 0), (3, 0, 2)], section=section, elements=2,
                    up=(1, 0, 0), angular_velocity=(1, 0, 0),
                    damping=1e-3, formulation="directors")  # fmt: skip
    for part in (corner, free):
        system.add(part)
    system.add(mbd.PointForce("push", corner.last, law or (0, 1, 3)))
    return system


@pytest.fixture(scope="module", params=["model in the file", "law in Python"])
def runs(request, tmp_path_factory):
    """Return a run, and what every kind of file gives back of it."""
    folder = tmp_path_factory.mktemp("runs")
    system = two_beams((lambda t: (0, 1, 3 * t)) if request.param[0] == "l" else None)
    run = mbd.simulate(system, 0.02, 2e-3)
    streamed = mbd.simulate(system, 0.02, 2e-3, stream=folder / "stream.nc")
    files = [run.save(folder / f"run.{x}") for x in ("nc", "npz")]
    loaded = [mbd.load(x) for x in (*files, folder / "stream.nc")]
    assert all(isinstance(x, mbd.Solution) == (request.param[0] == "m") for x in loaded)
    return run, [streamed, *loaded], folder


@pytest.mark.parametrize("beam", ["corner", "free"])
def test_every_file_has_what_the_run_has(runs, beam):
    run, others, _ = runs
    k = 4 if beam == "corner" else 2
    for word in WORDS:
        values = getattr(run[beam], word)
        assert values.shape == ((11, k) if word == "energy" else (11, k, 2, 3))
        assert np.ptp(values) > 0
        for other in others:
            assert np.allclose(getattr(other[beam], word), values, rtol=1e-12, atol=1e-9)
            assert word in other[beam].quantities
    for other in others:
        assert np.allclose(other[beam].curve(3), run[beam].curve(3), atol=1e-12)
        assert np.array_equal(other[beam].position, run[beam].position)
    if beam == "corner":
        assert np.array_equal(others[1][beam].multipliers, run[beam].multipliers)


def test_labels_units_and_axes_are_in_the_data_set(runs):
    run, _, folder = runs
    data = run.to_xarray()
    force = data.section_force
    assert force.dims == ("time", "element", "end", "section_axis")
    meaning = "normal force and two shear forces of a section"
    assert force.attrs == {"units": "N", "frame": "section axes", "long_name": meaning}
    one = force.sel(element="corner.2", end="last", section_axis="1")
    assert np.array_equal(one, run["corner"].force[:, 2, 1, 0])
    mine = data.section_moment[:, (data.beam == "free").values]
    assert np.array_equal(mine, run["free"].moment)
    assert np.allclose(data.station.sel(element="corner.3"), [1.5, 2.0])
    assert data.section_curvature.attrs["units"] == "rad/m"
    with xr.open_dataset(folder / "run.nc") as file:
        xr.testing.assert_identical(file.load(), data)


def test_tables_name_element_end_and_axis(runs):
    run, _, folder = runs
    path = run.save(folder / "run.csv")
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    heads = path.read_text().split("\n", 1)[0].split(",")
    at = heads.index("corner.moment.3.first.2 [N m]")
    assert np.array_equal(rows[:, at], run["corner"].moment[:, 3, 0, 1])
    (axes,) = run.plot("free.force.1.last.1").axes
    assert np.array_equal(axes.lines[0].get_ydata(), run["free"].force[:, 1, 1, 0])
    assert axes.get_ylabel() == "force [N]"


def test_models_without_beams_have_no_sections():
    system = mbd.System()
    system.add(mbd.PointMass("ball", mass=1.0))
    data = mbd.simulate(system, 0.01, 0.01).to_xarray()
    assert not {"element", "end", "section_axis"} & set(data.sizes)


def test_paraview_has_a_line_for_each_beam(runs):
    run, _, folder = runs
    path = run.save(folder / "run.pvd", every=5)
    entries = [x.attrib for x in ET.parse(path).getroot().iter("DataSet")]
    third = [x for x in entries if x["part"] == "2"]
    assert [float(x["timestep"]) for x in third] == run.t[::5].tolist()
    data, piece = read(path.parent / third[1]["file"])
    assert (piece["NumberOfLines"], piece["NumberOfPoints"]) == ("2", "26")
    assert data["Lines", "offsets"].tolist() == [17, 26]
    x = np.concatenate([run[name].curve(4)[5] for name in ("corner", "free")])
    assert np.array_equal(data["Points", "position"], x)
    assert data["FieldData", "names"].tobytes() == b"corner\nfree"
    N, M2, s = (data["PointData", name] for name in ("N", "M2", "station"))
    force, moment = run["corner"].force[5], run["corner"].moment[5]
    assert (N[0], N[16]) == (force[0, 0, 0], force[3, 1, 0])
    assert N[8] == pytest.approx(0.5 * (force[1, 1, 0] + force[2, 0, 0]))  # the corner
    assert M2[5] == pytest.approx(0.75 * moment[1, 0, 1] + 0.25 * moment[1, 1, 1])
    assert np.allclose(s[:17], np.linspace(0, 2, 17))
    assert data["PointData", "number"].tolist() == [0] * 17 + [1] * 9


@pytest.mark.parametrize("stored", [False, True])
def test_diagrams_are_the_section_forces_along_the_beam(runs, stored):
    run, others, _ = runs
    source = others[1] if stored else run
    axes = source.diagram("corner", t=0.0091).axes
    assert [x.get_ylabel() for x in axes] == [
        "N, normal force [N]", "shear force [N]", "T, torsion [N m]", "bending moment [N m]"
    ]  # fmt: skip
    forces, moments = run["corner"].force[5], run["corner"].moment[5]  # of 0.01 s
    s = np.repeat([0, 0.5, 1, 1.5, 2], 2)[1:-1]
    for ax, both in zip(axes, (forces[..., :1], forces[..., 1:], moments[..., :1],
                               moments[..., 1:]), strict=True):  # fmt: skip
        for line, values in zip(ax.lines, np.moveaxis(both, -1, 0), strict=False):
            assert np.allclose(line.get_xdata(), s)
            assert np.allclose(line.get_ydata(), values.ravel(), rtol=1e-9, atol=1e-9)
    (ax,) = source.diagram("free", "M3").axes
    top, bottom = (line.get_ydata() for line in ax.lines[:2])
    assert np.allclose(top, run["free"].moment[..., 2].max(0).ravel(), atol=1e-9)
    assert np.allclose(bottom, run["free"].moment[..., 2].min(0).ravel(), atol=1e-9)
    assert "envelope" in ax.get_title()
    assert len(source.diagram("free", "V2", "N", t=[0, 0.01]).axes) == 2


@pytest.mark.parametrize(("names", "options", "message"), [
    (("corner.0",), {}, "'corner.0' is no beam"),
    (("corner", "M"), {}, "there is no 'M' .did you mean 'M3'.*there are N, V2, V3, T"),
    (("corner",), {"t": range(6)}, "1 to 5 instants"),
    (("corner",), {"t": float("nan")}, "1 to 5 instants"),
    (("corner",), {"ax": True}, "must be axes of matplotlib"),
])  # fmt: skip
def test_wrong_diagrams_are_refused(names, options, message, runs):
    with pytest.raises((ValueError, TypeError), match=message):
        runs[0].diagram(*names, **options)


def test_with_axes_units_are_one(runs):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    runs[0].diagram("corner", "M2", "M3", t=0.01, ax=ax)
    assert len(ax.lines) == 3  # and zero
    with pytest.raises(ValueError, match="must have one unit, got N, M2"):
        runs[0].diagram("corner", "N", "M2", ax=ax)
    plt.close(figure)


def test_tensions_of_cables_are_in_every_file(tmp_path):
    system = mbd.System(gravity=(0, 0, -9.81))
    for name, slack in (("loose", True), ("stiff", False)):
        system.add(mbd.Cable(name, points=[(0, 0, 0), (3, 0, 0)], stiffness=1e4, mass=2.0,
                             elements=3, slack=slack, length=3.001, damping=1e-3,
                             first=system.ground))  # fmt: skip
    run = mbd.simulate(system, 0.05, 5e-3)
    streamed = mbd.simulate(system, 0.05, 5e-3, stream=tmp_path / "stream.nc")
    others = [streamed, *(mbd.load(run.save(tmp_path / f"run.{x}")) for x in ("nc", "npz"))]
    data = run.to_xarray()
    for name in ("loose", "stiff"):
        N, W = run[name].tension, run[name].energy
        x = np.linalg.norm(np.diff(run[name].position, axis=1), axis=-1) / (3.001 / 3) - 1
        assert N.shape == W.shape == (11, 3)
        assert (N < 0).any() == (name == "stiff")
        taut = x.clip(0) if name == "loose" else x
        assert np.allclose(W, 0.5 * 1e4 * 3.001 / 3 * taut**2, atol=1e-12)
        for other in others:
            assert np.allclose(other[name].tension, N, atol=1e-9)
            assert np.allclose(other[name].energy, W, atol=1e-12)
            assert np.allclose(other[name].curve(2), run[name].curve(2), atol=1e-9)
        mine = (data.cable == name).values
        assert np.array_equal(data.bar_tension[:, mine], N)
    assert np.array_equal(data.bar_energy.sel(bar="stiff.2"), run["stiff"].energy[:, 2])
    total = run["loose"].energy.sum(1) + run["stiff"].energy.sum(1)
    height = sum(x.mass * 9.81 * run[n].position[:, 2] for n, x in system.bodies.items())
    assert np.allclose(total + height, run.energy.potential)
    heads = run.save(tmp_path / "run.csv").read_text().split("\n", 1)[0].split(",")
    assert "loose.tension.2 [N]" in heads
