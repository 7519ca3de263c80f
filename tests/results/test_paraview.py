"""Files for ParaView, read by a reader of our own that follows the description of the format."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import mbd
from tests.results.samples import everything

KINDS = {"Float64": np.float64, "Float32": np.float32, "Int64": np.int64, "Int32": np.int32,
         "UInt8": np.uint8}  # fmt: skip


def read(path):
    """Return the arrays of a .vtp file by place and name, and its piece."""
    head, _, rest = path.read_bytes().partition(b'<AppendedData encoding="raw">\n_')
    assert rest.endswith(b"\n</AppendedData>\n</VTKFile>\n")
    root = ET.fromstring(head + b"<AppendedData/></VTKFile>")
    assert root.attrib["type"] == "PolyData"
    assert root.attrib["header_type"] == "UInt64"
    found = {}
    for place in ("FieldData", "PointData", "Points", "Verts", "Lines", "Polys"):
        for x in root.find(f".//{place}"):
            at = int(x.attrib["offset"])
            size = int(np.frombuffer(rest, np.uint64, 1, at)[0])
            values = np.frombuffer(rest[at + 8 : at + 8 + size], KINDS[x.attrib["type"]])
            width = int(x.attrib.get("NumberOfComponents", 1))
            values = values.reshape(-1, width) if width > 1 else values
            if place == "FieldData":
                assert int(x.attrib["NumberOfTuples"]) == len(values)
            found[place, x.attrib["Name"]] = values
    return found, root.find(".//Piece").attrib


@pytest.fixture(scope="module")
def solution():
    return mbd.simulate(everything(), 0.03, 1e-3)


def test_every_instant_has_its_file(solution, tmp_path):
    path = solution.save(tmp_path / "new" / "a & b.pvd", every=4)
    root = ET.parse(path).getroot()
    entries = [x.attrib for x in root.iter("DataSet")]
    frames = [x for x in entries if x["part"] == "0"]
    assert [float(x["timestep"]) for x in frames] == solution.t[::4].tolist()
    bodies, joints = solution.model.system.bodies, solution.model.system.joints
    n = len(bodies)
    for k, entry in enumerate(frames):
        i = 4 * k
        data, piece = read(path.parent / entry["file"])
        assert int(piece["NumberOfPoints"]) == int(piece["NumberOfVerts"]) == n + len(joints)
        names = data["FieldData", "names"].tobytes().decode().split("\n")
        assert names == [*bodies, *joints]
        assert data["PointData", "kind"].tolist() == [0] * n + [1] * len(joints)
        for b, (name, body) in enumerate(bodies.items()):
            h = solution[name]
            assert np.array_equal(data["Points", "position"][b], h.position[i])
            assert np.array_equal(data["PointData", "velocity"][b], h.velocity[i])
            assert data["PointData", "mass"][b] == body.mass
            axes = [data["PointData", f"axis_{c}"][b] for c in "xyz"]
            turns = body.formulation.axes
            assert np.array_equal(np.transpose(axes), h.rotation[i] if turns else np.zeros((3, 3)))
        for j, (name, joint) in enumerate(joints.items(), n):
            assert np.array_equal(data["PointData", "force"][j], solution[name].force[i])
            assert np.array_equal(data["PointData", "moment"][j], solution[name].moment[i])
            place = solution[joint.B.name].at(joint.B.position).position[i]
            assert np.allclose(data["Points", "position"][j], place, rtol=0, atol=1e-14)
        assert np.array_equal(data["Verts", "connectivity"], np.arange(n + len(joints)))
        assert np.array_equal(data["Verts", "offsets"], 1 + np.arange(n + len(joints)))


def test_paths_belong_to_all_instants(solution, tmp_path):
    path = solution.save(tmp_path / "run.pvd")
    entries = [x.attrib for x in ET.parse(path).getroot().iter("DataSet")]
    paths = [x["file"] for x in entries if x["part"] == "1"]
    assert paths == [paths[0]] * 31
    assert re.fullmatch(r"run/\w+/paths\.vtp", paths[0])
    data, piece = read(tmp_path / paths[0])
    bodies = solution.model.system.bodies
    assert int(piece["NumberOfLines"]) == len(bodies)
    ends = data["Lines", "offsets"]
    for b, name in enumerate(bodies):
        line = data["Lines", "connectivity"][0 if b == 0 else ends[b - 1] : ends[b]]
        assert np.array_equal(data["Points", "position"][line], solution[name].position)
        assert np.array_equal(data["PointData", "time"][line], solution.t)
        assert set(data["PointData", "number"][line]) == {b}


def test_a_model_without_joints(tmp_path):
    system = mbd.System()
    system.add(mbd.PointMass("m", mass=1.0, velocity=(1, 0, 0)))
    path = mbd.simulate(system, 0.01, 1e-3).save(tmp_path / "m.pvd")
    entries = [x.attrib for x in ET.parse(path).getroot().iter("DataSet")]
    *_, last = (x["file"] for x in entries if x["part"] == "0")
    data, _ = read(tmp_path / last)
    assert last.endswith("/000010.vtp")
    assert np.allclose(data["Points", "position"], [[0.01, 0, 0]])
