"""What bends: surfaces of beams and meshes, their strain and stress, as numbers and in a page."""

import json
import sys
from functools import cache

import numpy as np
import pytest
from animation.browser import Browser, needs_chromium
from animation.test_drawing import still
from flexible.meshes import ends, lattice

import mbd
from mbd.animation.beams import surface_of
from mbd.flexible.skin import boundary, carried
from mbd.flexible.skin import strain as strain_of
from mbd.parts.skin import Skin, principal, von_mises
from tests.results.test_paraview import read

STEEL = {"young": 200e9, "poisson": 0.3, "density": 7850}
# corners of cells as the manual of VTK draws them (its wedge from below), and their volumes
CELLS = {
    "tetra": ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], 1 / 6),
    "pyramid": ([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)], 1 / 3),
    "wedge": ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)], 1 / 2),
    "hexahedron": ([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1),
                    (0, 1, 1)], 1.0),
}  # fmt: skip


def triangles(faces):
    return np.array([(f[0], *f[i : i + 2]) for f in map(list, faces) for i in range(1, len(f) - 1)])


def area_and_volume(x, faces):
    a, b, c = np.moveaxis(x[triangles(faces)], 1, 0)
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    return area, np.einsum("ni,ni->", a, np.cross(b, c)) / 6


@cache
def rolled():
    """Return a tube of 2 m, bent by a moment at its end to a third of a circle."""
    tube = mbd.Section.tube(0.05, 0.01, **STEEL)
    system = mbd.System()
    arm = system.add(mbd.Beam("arm", points=[(0, 0, 0), (2, 0, 0)], section=tube, elements=12,
                              first=system.ground))  # fmt: skip
    system.add(mbd.Moment("load", arm.last, (0, tube.stiffness[4, 4] * np.pi / 3, 0)))
    return tube, mbd.equilibrium(system).solution


def test_a_bent_tube_has_its_area_its_volume_and_its_strain(tmp_path):
    """Pappus: area and volume are those of the section times the length of the axis."""
    _, solution = rolled()
    n, r, length = 24, 0.05, 2.0
    side, face = 2 * n * r * np.sin(np.pi / n), 0.5 * n * r**2 * np.sin(2 * np.pi / n)
    exact = side * length + 2 * face, face * length
    drawing = solution.animate(color_by="strain").drawing
    x, faces, strain = surface_of(drawing, drawing.sweeps[0], 0)
    assert area_and_volume(x, faces) == pytest.approx(exact, rel=4e-4)
    assert np.abs(strain).max() == pytest.approx(r * np.pi / 3, rel=1e-6)  # r / R
    assert drawing.largest["stress"] == pytest.approx(200e9 * r * np.pi / 3, rel=1e-6)
    inside = np.linalg.norm(x[:-2] - (0, 0, -3 / np.pi), axis=1) < 3 / np.pi - 0.04
    assert (strain[:-2][inside] < 0).all()
    path = solution.save(tmp_path / "a.pvd")
    data, _ = read(next(path.with_suffix("").glob("*/*_surfaces.vtp")))
    faces = np.split(data["Polys", "connectivity"], data["Polys", "offsets"])[:-1]
    assert area_and_volume(data["Points", "position"], faces) == pytest.approx(exact, rel=2e-3)
    for name in ("strain", "stress"):
        values = data["PointData", name]
        assert values.max() == pytest.approx(drawing.largest[name], rel=1e-6)


def test_colours_of_a_cantilever_are_those_of_its_moment():
    """sigma = M c / I, of a rectangle about axis 2."""
    system = mbd.System()
    flat = mbd.Section.rectangle(0.04, 0.02, **STEEL)
    arm = system.add(mbd.Beam("arm", points=[(0, 0, 0), (1, 0, 0)], section=flat, elements=4,
                              first=system.ground))  # fmt: skip
    generic = mbd.Section(stiffness=flat.stiffness, mass=1.0)
    system.add(mbd.Beam("plain", points=[(0, 1, 0), (1, 1, 0)], section=generic, elements=1,
                        first=system.ground))  # fmt: skip
    system.add(mbd.PointForce("load", arm.last, (0, 0, -1.0)))
    d = mbd.equilibrium(system).solution.animate(color_by="stress").drawing
    assert d.largest["stress"] == pytest.approx(0.01 / (0.04 * 0.02**3 / 12), rel=1e-6)
    assert [x.measures[-1] for x in d.sweeps] == ["stress", "strain"]  # no modulus, no stress
    assert surface_of(d, d.sweeps[1], 0)[2] is None


def test_colours_of_a_mode_are_linear_in_it():
    """Root strain of the first mode of a clamped bar: c 3.516 w / L^2 (Euler, Bernoulli)."""
    system = mbd.System(gravity=(0, 0, -9.81))
    flat = mbd.Section.rectangle(0.02, 0.01, **STEEL)
    system.add(mbd.Beam("arm", points=[(0, 0, 0), (0, 0, 1)], section=flat, elements=12,
                        up=(1, 0, 0), first=system.ground))  # fmt: skip
    mode = mbd.modes(mbd.equilibrium(system), n=1)[0]
    large, small = (mode.animate(amplitude=a).drawing.largest for a in (0.3, 0.003))
    tip = np.abs(mode.history(0.003)["arm.12"].position[:, 0]).max()
    assert small["strain"] == pytest.approx(0.005 * 3.516 * tip, rel=5e-3)
    for name in ("strain", "M2"):
        assert large[name] == pytest.approx(100 * small[name], rel=1e-3)
    assert (
        large["N"] < 1e-3 * large["V3"]
    )  # none of its weight, nor of the stretch of straight ways
    both = mode.modes.animate(which=[0, 0], amplitude=0.3).drawing
    for one in both.modes:
        assert both.largest_between(one.first, one.last + 1) == pytest.approx(large, rel=1e-3)


@pytest.mark.parametrize("name", CELLS)
def test_sides_of_cells_close_them(name):
    corners, volume = CELLS[name]
    x = np.array(corners, float)
    one = np.arange(len(x))
    sides = boundary([(name, one[None]), ("line", one[None, :2]), ("triangle", one[None, :3])])
    assert area_and_volume(x, sides)[1] == pytest.approx(volume)
    if name == "hexahedron":  # two in a row, of order two
        double = np.vstack([x, x + np.array((1, 0, 0)), np.zeros((24, 3))])
        nodes = np.array([[*range(8), *range(16, 28)], [1, 8 + 1, 8 + 2, 2, 5, 8 + 5, 8 + 6, 6,
                                                        *range(28, 40)]])  # fmt: skip
        sides = boundary([("hexahedron20", nodes)])
        assert len(sides) == 10
        assert area_and_volume(double, sides) == (pytest.approx(10.0), pytest.approx(2.0))
    assert boundary([("quad9", np.arange(9)[None])]) == [[0, 1, 2, 3]]


def test_faces_are_strained_as_their_plane():
    """A homogeneous field on a turned plate of quads and triangles, and a bent strip."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(2611)
    u, v = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    flat = np.column_stack([u.ravel(), v.ravel(), np.zeros(20)])
    flat[:, :2] += 0.2 * rng.normal(size=(20, 2))
    R = Rotation.random(random_state=5).as_matrix()
    i = (4 * np.arange(4)[:, None] + np.arange(3)).ravel()
    four = np.column_stack([i, i + 4, i + 5, i + 1])
    halves = np.vstack([four[6:, [0, 1, 2, 2]], four[6:, [0, 2, 3, 3]]])
    x, faces = flat @ R.T, np.vstack([four[:6], halves])
    fields = rng.normal(size=(3, 3, 3))
    shapes = np.einsum("mij,nj->nim", fields, x)
    six = strain_of(x, faces, shapes)
    P = R[:, :2] @ R[:, :2].T
    for m, A in enumerate(fields):
        own = P @ (0.5 * (A + A.T)) @ P
        assert np.allclose(six[..., m], own[(0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)], atol=1e-12)
        assert np.allclose(principal(six[..., m]), np.abs(np.linalg.eigvalsh(own)).max())
    turn = np.cross(np.array([0.3, -1, 0.5]), x)[..., None]
    assert np.abs(strain_of(x, faces, turn)).max() < 1e-12
    bent = np.column_stack([-0.1 * 0.2 * u.ravel(), np.zeros(20), 0.1 * u.ravel() ** 2 / 2])
    x = np.column_stack([u.ravel(), v.ravel(), np.full(20, 0.2)])
    strip = strain_of(x, four, bent[..., None])[:, 0, 0]  # at the height 0.2 of curvature -0.1
    assert np.allclose(strip, -0.1 * 0.2)


def test_equivalents_of_tensors():
    assert von_mises(np.array([-7.0, 0, 0, 0, 0, 0])) == pytest.approx(7)
    assert von_mises(np.array([0, 0, 0, 0, 2.0, 0])) == pytest.approx(2 * np.sqrt(3))
    assert von_mises(np.array([3.0, 3, 3, 0, 0, 0])) == 0
    six = np.random.default_rng(3).normal(size=(50, 6)) * np.geomspace(1e-12, 1e6, 50)[:, None]
    xx, yy, zz, xy, yz, zx = six.T
    full = np.moveaxis(np.array([(xx, xy, zx), (xy, yy, yz), (zx, yz, zz)]), 2, 0)
    assert np.allclose(principal(six), np.abs(np.linalg.eigvalsh(full)).max(1), rtol=1e-9, atol=0)
    assert principal(np.array([-2.0, -2, -2, 0, 0, 0])) == 2
    assert principal(np.zeros(6)) == 0


SHAPE = (7, 3, 3)


def hexahedra():
    i = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    c = [i[a : a + 6, b : b + 2, c : c + 2] for a, b, c in np.ndindex(2, 2, 2)]
    return np.stack([c[k].ravel() for k in (0, 4, 6, 2, 1, 5, 7, 3)], axis=1)


@cache
def block(**options):
    """Return a run of a block that is clamped at its left end and loaded at the other."""
    M, K, x = lattice(SHAPE, (0.6, 0.1, 0.1), stiffness=3e6)
    stress = np.zeros((6 * len(x), 3 * len(x)))
    stress[0::6, -3] = 1e9  # of all nodes by the last one's displacement along x
    system = mbd.System()
    body = system.add(mbd.FlexibleBody("block", M, K, x, ends(x), nodal_stress=stress,
                                       faces=boundary([("hexahedron", hexahedra())])))  # fmt: skip
    system.add(mbd.Fixed("clamp", system.ground, body.interface("left")))
    system.add(mbd.PointForce("load", body.interface("right"), (0, 0, 8e3)))
    return mbd.equilibrium(system).solution


def test_a_mesh_is_where_its_nodes_are(tmp_path):
    run = block()
    d = run.animate(color_by="mises", arrows=False).drawing
    (skin,) = d.skins
    assert not [x for x in d.solids if x.layer == "bodies"]  # no box in its place
    vertices, faces, mises = surface_of(d, skin, 0)
    nodes = skin.skin.nodes
    assert len(np.unique(nodes)) == np.prod(SHAPE) - 5  # five are inside
    assert len(nodes) == 2 * (7 * 3 + 7 * 3 + 3 * 3)  # each side by itself
    assert np.allclose(vertices, run["block"].points(nodes)[0], atol=1e-12)
    assert np.allclose(mises, np.abs(1e9 * run["block"].deformation([-1])[0, 0, 0]))
    assert d.largest["mises"] == pytest.approx(mises.max())
    data, piece = read(next(run.save(tmp_path / "a.pvd").with_suffix("").glob("*/*_surfaces.vtp")))
    assert int(piece["NumberOfPolys"]) == len(faces) == 2 * (6 * 2 * 2 + 4)
    assert np.allclose(data["Points", "position"], vertices, atol=1e-7)
    assert np.allclose(data["PointData", "mises"], mises, rtol=1e-6)
    assert data["PointData", "strain"].max() == pytest.approx(d.largest["strain"], rel=1e-6)


def test_a_shape_is_carried_by_nodes_with_rotations():
    """A clamped shaft with a cylinder as shape: strain F L r / EI at its root."""
    steel = mbd.Section.circle(0.02, **STEEL)
    mesh = mbd.System()
    line = mesh.add(mbd.Beam("mesh", points=[(0, 0, 0), (1, 0, 0)], section=steel, elements=16))
    matrices = mesh.build().assemble()
    x = np.array([node.position for node in line.nodes()])
    system = mbd.System()
    shaft = system.add(mbd.FlexibleBody(
        "shaft", matrices.M, matrices.K, x, {"left": [0], "right": [16]},
        shape=[mbd.Cylinder(0.02, 1.0, at=(0.5, 0, 0), axis=(1, 0, 0)),
               mbd.Sphere(0.05, at=(1, 0, 0))],
    ))  # fmt: skip
    system.add(mbd.Fixed("clamp", system.ground, shaft.interface("left")))
    system.add(mbd.PointForce("load", shaft.interface("right"), (0, 0, -100)))
    run = mbd.equilibrium(system).solution
    d = run.animate(color_by="strain", arrows=False).drawing
    assert d.largest["strain"] == pytest.approx(100 * 0.02 / steel.stiffness[4, 4], rel=0.06)
    assert not [s for s in d.solids if s.frame == "shaft"]
    assert [label.text for label in d.labels].count("shaft") == 1
    ball = surface_of(d, d.skins[1], 0)[0]
    assert np.allclose(ball.mean(0), run["shaft"].points([16])[0, 0], atol=1e-6)
    turn = np.zeros((len(x), 6, 1))
    axis = np.array([0.2, -0.5, 0.3])
    turn[:, :3, 0], turn[:, 3:, 0] = np.cross(axis, x), axis
    points = d.skins[0].skin.x
    skin = carried(points, d.skins[0].skin.faces, x, turn)
    assert np.allclose(skin.shapes[..., 0], np.cross(axis, skin.x))
    assert np.abs(skin.strain).max() < 1e-12


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"faces": [(0, 1)]}, ValueError, r"b: a face must have 3 or 4 nodes, got \[0, 1\]"),
    ({"faces": [(0, 1, 99)]}, ValueError, r"b: faces must have nodes from 0 to 19, .*99"),
    ({"faces": [(0, 1, 2.5)]}, ValueError, "b: faces must have nodes from 0 to 19"),
    ({"faces": [(0, 1, 1)]}, ValueError, "b: a face must not have a node twice"),
    ({"faces": []}, ValueError, "b: faces must be triangles"),
    ({"faces": 3}, ValueError, "b: faces must be triangles"),
    ({"faces": "gone.vtk"}, FileNotFoundError, "b: faces must be a file or numbers"),
    ({"nodal_stress": np.zeros((120, 60))}, ValueError, "b: nodal_stress is for faces"),
    ({"faces": [(0, 1, 2)], "nodal_stress": np.zeros((60, 60))}, ValueError,
     r"b: nodal_stress must be \(120, 60\), .*got \(60, 60\)"),
    ({"faces": [(0, 1, 2)], "nodal_stress": np.full((120, 60), np.nan)}, ValueError,
     "b: nodal_stress must be finite"),
])  # fmt: skip
def test_wrong_faces(options, error, message):
    M, K, x = lattice()
    with pytest.raises(error, match=message):
        mbd.FlexibleBody("b", M, K, x, ends(x), modes=6, **options)


def test_a_mesh_that_is_read_has_its_faces(tmp_path):
    meshio = pytest.importorskip("meshio")
    M, K, x = lattice(SHAPE, (0.6, 0.1, 0.1))
    meshio.Mesh(x, [("hexahedron", hexahedra())]).write(tmp_path / "block.vtk")
    body = mbd.FlexibleBody("b", M, K, tmp_path / "block.vtk", ends(x))
    assert isinstance(body.skin, Skin)
    same = mbd.FlexibleBody("b", M, K, x, ends(x), faces=tmp_path / "block.vtk")
    assert np.array_equal(same.skin.faces, body.skin.faces)


@needs_chromium
def test_the_page_shows_the_mesh_and_its_colours(tmp_path):
    run = block()
    look = {"arrows": False, "show": "bodies", "view": (0, -1, 0)}
    browser = Browser(tmp_path)
    try:
        page = browser.open(run.animate(**look).html, "t=0")
        picture = page.picture()
        tip = run["block"].points()[0].reshape(*SHAPE, 3)[-1].mean((0, 1))
        assert run["block"].deformation()[0, -1, 2] > 0.004
        for p, seen in (
            (tip - np.array((0.02, 0, 0)), True),
            (tip + np.array((0.05, 0, 0)), False),
        ):
            x, y = np.round(page.project(p)).astype(int)
            assert (picture[y - 2 : y + 3, x - 2 : x + 3].min() < 230) == seen, p
        place = page.project((0.15, 0, 0.06))
        page.point_at(place)
        page.wait("!document.getElementById('tip').hidden")
        assert page.text("tip") == "block"
        page.evaluate("location.hash = '#t=0&show=bodies&color=strain'")
        page.wait("document.getElementById('legend').textContent.startsWith('strain, of the sur')")
        six = np.random.default_rng(1).normal(size=(20, 6))
        for name, of in (("principal", principal), ("vonMises", von_mises)):
            there = page.evaluate(f"{json.dumps(six.tolist())}.map((x) => {name}(...x))")
            assert np.allclose(there, of(six))
    finally:
        browser.close()


def test_films(tmp_path, monkeypatch):
    """Encoders get every frame, whole; what they say is told, and what to do without one."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\nfor last; do :; done\ncat > "$last"\n')
    program.chmod(0o755)
    film = still(rolled()[1].model.system).animate(arrows=False)
    path = film.save(tmp_path / "a.mp4", fps=10, size=(64, 48))
    assert path.stat().st_size % (64 * 48 * 3) == 0
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    with pytest.raises(RuntimeError, match="could not make the film: no such codec"):
        film.save(tmp_path / "b.mp4", size=(64, 48))
    assert not (tmp_path / "b.mp4").exists()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=r"needs the program ffmpeg.*pip install 'mbd\[film\]'"):
        film.save(tmp_path / "c.mp4")
