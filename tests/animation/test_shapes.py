"""Shapes at the door, and meshes from files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: mbd.Box((1, 2, 0)), ValueError, r"Box: size must be positive \[m\], got"),
        (lambda: mbd.Box((1, 1, 1), rotation=2 * np.eye(3)), ValueError, "Box: rotation must be"),
        (lambda: mbd.Sphere(-1), ValueError, r"Sphere: radius must be positive \[m\], got -1"),
        (lambda: mbd.Cylinder(1, 0), ValueError, r"Cylinder: length must be positive \[m\]"),
        (lambda: mbd.Capsule(1, 1, axis=(0, 0, 0)), ValueError, "axis must have a direction"),
        (lambda: mbd.Sphere(1, color="red"), ValueError, r'Sphere: color must be "#rrggbb" or'),
        (lambda: mbd.Sphere(1, color=(2, 0, 0)), ValueError, r"Sphere: color must be three .*got"),
        (lambda: mbd.Mesh(3), TypeError, "Mesh: file must be a path"),
        (
            lambda: mbd.Mesh("a.step"),
            ValueError,
            r"Mesh: file must end in .stl, .obj, .msh, .*got 'a",
        ),
        (lambda: mbd.Mesh("nowhere.stl"), FileNotFoundError, r"nowhere.stl: no such file"),
    ],
)
def test_shapes_are_checked(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_body_takes_none_one_or_several():
    options = {"mass": 1.0, "inertia": (1, 1, 1)}
    ball, box = mbd.Sphere(1.0), mbd.Box((1, 1, 1), at=(0, 0, 1), color=(1, 0, 0.5))
    assert mbd.RigidBody("a", **options).shapes == ()
    assert mbd.RigidBody("a", **options, shape=ball).shapes == (ball,)
    assert mbd.PointMass("a", mass=1.0, shape=[ball, box]).shapes == (ball, box)
    assert box.color == "#ff0080"
    for wrong in ("box", [ball, 3], {"radius": 1}):
        with pytest.raises(TypeError, match=r"a: shape must be an mbd.Box, Cylinder.*got"):
            mbd.RigidBody("a", **options, shape=wrong)


def test_shapes_are_frozen():
    with pytest.raises(AttributeError):
        mbd.Sphere(1.0).radius = 2.0


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), (0.3, -2.0, 0.5), (1e-9, 0, -1)])
def test_axis_of_a_bar_is_the_third_axis_of_its_rotation(axis):
    R = mbd.Cylinder(1.0, 2.0, axis=axis).rotation
    assert np.abs(R[:, 2] - axis / np.linalg.norm(axis)).max() < 1e-9
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-9
    assert np.linalg.det(R) > 0


def write_binary(path, corners):
    data = bytearray(b"solid is a trap".ljust(80)) + len(corners).to_bytes(4, "little")
    for triangle in corners:
        data += np.zeros(3, "<f4").tobytes() + triangle.astype("<f4").tobytes() + b"\0\0"
    path.write_bytes(data)


def write_text(path, corners):
    lines = ["solid tetrahedron"]
    for triangle in corners:
        lines += ["facet normal 0 0 0", " outer loop"]
        lines += [f"  vertex {x:.9e} {y:.9e} {z:.9e}" for x, y, z in triangle]
        lines += [" endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid tetrahedron"]))


def volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return np.einsum("nc,nc->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize("write", [write_binary, write_text])
def test_stl(tmp_path, write):
    path = tmp_path / "part.STL"
    write(path, CORNERS[FACES])
    mesh = mbd.Mesh(path, scale=1e-3, at=(1, 0, 0), rotation=Rotation.from_rotvec([0, 0, 1]))
    assert mesh.vertices.shape == (4, 3)
    assert mesh.triangles.shape == (4, 3)
    assert volume(mesh.vertices, mesh.triangles) == pytest.approx(1e-9)


def test_obj(tmp_path):
    path = tmp_path / "part.obj"
    lines = ["# a pyramid over a square", "v 0 0 0", "v 1 0 0", "v 1 1 0 1.0", "v 0 1 0"]
    lines += ["v 0.5 0.5 3", "vn 0 0 1", "f 4 3 2 1", "f 1/1 2/2 5/3", "f 2//1 3//1 -1"]
    lines += ["f 3/1/1 4/1/1 5/1/1", "f -2 -5 -1"]
    path.write_text("\n".join(lines))
    mesh = mbd.Mesh(str(path))
    assert mesh.triangles.shape == (6, 3)
    assert volume(mesh.vertices, mesh.triangles) == pytest.approx(1.0)


def test_broken_files_are_named(tmp_path):
    cut = tmp_path / "cut.stl"
    write_binary(cut, CORNERS[FACES])
    cut.write_bytes(cut.read_bytes()[:-7])
    text = tmp_path / "text.stl"
    text.write_text("solid a\n vertex 0 0 0\n vertex 1 0 x\n")
    other = tmp_path / "other.obj"
    other.write_text("v 0 0 0\nv 1 0 0\nf 1 2 3\n")
    empty = tmp_path / "empty.obj"
    empty.write_text("")
    rest = tmp_path / "rest.stl"
    rest.write_bytes(b"\1" * 100)
    for path, match in (
        (cut, r"cut\.stl .*"),
        (text, r"text\.stl cannot be read"),
        (other, r"other\.obj has faces of vertices that do not exist"),
        (empty, r"empty\.obj has no triangles"),
        (rest, r"rest\.stl cannot be read: is no STL, or cut off: 100 bytes"),
    ):
        with pytest.raises(ValueError, match=match):
            mbd.Mesh(path)
