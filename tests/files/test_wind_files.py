"""Files of wind turbines: each format says the same blade; published numbers; what is refused."""

import json
import pickle
import re

import numpy as np
import pytest
from sources import ROOT

import mbd
from tests.files import wind_writers as w

FORMATS = {
    "beamdyn": (w.beamdyn, mbd.read_beamdyn, "blade"),
    "windio1": (w.windio1, mbd.read_windio, "blade"),
    "windio2": (w.windio2, mbd.read_windio, "blade"),
    "hawc2": (w.hawc2, mbd.read_hawc2, "blade1"),
}
# axes of HAWC2: x towards the nose, y downwind
NOSE = np.array([(0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])


def read(name, data, folder):
    """Return the blade of a format, and how its axes stand in those of BeamDyn."""
    write, reader, body = FORMATS[name]
    path = folder / ("blade.yaml" if "windio" in name else "blade.htc")
    write(path, data)
    return reader(path)[body], NOSE if name == "hawc2" else None


def about(section):
    """Return all that a section says."""
    return np.concatenate([section.stiffness.ravel(), section.mass_matrix.ravel()])


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_says_the_same_blade(name, tmp_path):
    data = w.iea15()
    (tmp_path / "one").mkdir()
    one, _ = read("beamdyn", data, tmp_path / "one")
    found, R = read(name, data, tmp_path)
    told = found.arguments(position=(1, 2, 3), rotation=R)
    assert np.allclose(told["points"], data.points + np.array((1, 2, 3)), atol=1e-12)
    p = np.linspace(0, 1, 301)
    twists = [np.interp(p, x.stations, x.twist) for x in (one, found)]
    assert np.allclose(*twists, atol=1e-6 if "windio" in name else 1e-12)
    assert found.mass == pytest.approx(one.mass, rel=1e-9)
    of_file = [found.sections[int(np.argmin(abs(found.stations - x)))] for x in data.eta]
    expected = [one.sections[int(np.argmin(abs(one.stations - x)))] for x in data.eta]
    for a, b in zip(of_file, expected, strict=True):
        turned = about(a) if R is None else _in_axes(a)
        assert np.allclose(turned, about(b), rtol=1e-9, atol=1e-9 * abs(about(b)).max())
    if name in ("beamdyn", "windio2"):
        assert np.array_equal(found.damping, data.mu[[2, 0, 1, 5, 3, 4]])


def _in_axes(section):
    """Return a section with x towards the nose as one with x to the suction side."""
    Q = np.eye(3)
    Q[1:, 1:] = NOSE[:2, :2]
    both = np.kron(np.eye(2), Q)
    four = np.eye(4)
    four[1:, 1:] = Q
    C, m = both @ section.stiffness @ both.T, four @ section.mass_matrix @ four.T
    return np.concatenate([C.ravel(), m.ravel()])


@pytest.mark.parametrize("name", FORMATS)
def test_a_twisted_beam_has_the_sign_of_its_format(name, tmp_path):
    """Wang et al., Wind Energy 20 (2017): force of 4e6 N at the tip, displacement of the tip."""
    found, R = read(name, w.twisted(), tmp_path)
    system = mbd.System()
    beam = system.add(found.beam("b", rotation=R, first=system.ground, elements=16))
    system.add(mbd.PointForce("f", beam.last, (0, -4e6, 0)))
    u = mbd.equilibrium(system)["b.16"].position - beam.last.position
    assert u == pytest.approx((-1.71805334646, -3.59321324027, -1.14152599954), rel=2e-3)


@pytest.mark.filterwarnings("ignore:element 19 of 'b' is pulled")  # its end is soft as a rope
def test_a_blade_has_its_published_frequencies_and_motion(tmp_path):
    """IEA 15 MW, version 1.1.6; tip under 200 kN by BeamDyn (kynema-fmb, MIT), of version 1.0."""
    found, _ = read("beamdyn", w.iea15(), tmp_path)
    system = mbd.System()
    system.add(found.beam("b", first=system.ground, elements=20, damping=0.0))
    f = mbd.modes(system, n=8).frequency
    assert f[[0, 1, 2, 3, 4, 6, 7]] == pytest.approx(
        (0.5065, 0.6929, 1.480, 2.139, 2.931, 4.374, 4.838), rel=2e-3
    )
    assert f[5] == pytest.approx(4.084, rel=8e-3)  # a quarter of that with 40 elements
    system.add(mbd.PointForce("f", system["b"].last, (2e5, 0, 0)))
    run = mbd.simulate(system, 1.0, 5e-3, method=mbd.GeneralizedAlpha(rho=0.4))
    u = run["b.20"].position[[50, 100, 200], 0] - run["b.20"].position[0, 0]
    assert np.sqrt(np.mean((u - (11.5465, 17.6682, 25.1901)) ** 2)) < 0.02 * 25


def test_newer_and_older_blade_files(tmp_path):
    """Headings of OpenFAST 4, two kinds of damping; comments in another coding."""
    w.beamdyn(tmp_path / "b.dat", w.small())
    inner = tmp_path / "beamdyn_blade.inp"
    old = inner.read_text()
    new = re.sub("-+ DAMPING COEFFICIENT -+", "--- Stiffness-Proportional Damping \u00e9 ---", old)
    modal = "--- Modal Damping ---\n4 n_modes - number\n0.01 0.02 0.03 0.04 zeta - ratios\n"
    new = new.replace("------- DISTR", f"{modal}------- Distr")
    assert "Modal" in new
    one = mbd.read_beamdyn(tmp_path / "b.dat")
    inner.write_text(new, encoding="latin-1")
    two = mbd.read_beamdyn(tmp_path / "b.dat")
    assert np.array_equal(one["blade"].damping, two["blade"].damping)
    assert np.array_equal(about(one["blade"].sections[1]), about(two["blade"].sections[1]))
    inner.write_text(new.replace("1 damp_type", "2 damp_type"), encoding="latin-1")
    three = mbd.read_beamdyn(tmp_path / "b.dat")
    assert not three["blade"].damping.any()
    assert "damping of modes" in three.notes[0]


def test_numbers_of_elastodyn_and_bending_of_its_beams(tmp_path):
    """Of an even cantilever w = 1.8751^2 sqrt(EI/m)/L^2; numbers are in SI, with their signs."""
    w.elastodyn(tmp_path / "ed.dat", length=100.0, flap=4e9, edge=9e9, mass=300.0)
    file = mbd.read_elastodyn(tmp_path / "ed.dat")
    assert file.numbers["ShftTilt"] == pytest.approx(-np.pi / 30)
    assert (file.numbers["GenIner"], file.numbers["blade.BldFlDmp1"]) == (1836784.0, 0.0048)
    assert file.numbers["RotSpeed"] == pytest.approx(7.5 * np.pi / 30)
    assert file["tower"].points.tolist() == [[0, 0, 20], [0, 0, 120]]
    assert (file["blade"].mass, file["tower"].mass) == pytest.approx((3e4, 8e5))
    system = mbd.System()
    system.add(file["blade"].beam("b", first=system.ground, elements=12))
    modes = mbd.modes(system, n=2)
    even = 1.87510407**2 * np.sqrt(np.array((4e9, 9e9)) / 300.0) / 100.0**2 / (2 * np.pi)
    assert modes.frequency == pytest.approx(even, rel=1e-4)
    # 0.48 % in flap, by a shape of a constant load: w^2 = 162/13 EI/m/L^4; nothing else is damped
    ratio = 0.0048 * 1.87510407**2 / np.sqrt(162 / 13)
    assert modes.damping == pytest.approx((ratio, 0.0), rel=4e-3, abs=2e-6)


def test_polars_and_chord_of_aerodyn(tmp_path):
    told = json.loads((ROOT.parent / "models" / "iea15.json").read_text())
    w.aerodyn(tmp_path / "ad.dat", told)
    aero = mbd.read_aerodyn(tmp_path / "ad.dat").aero
    line, polars = np.array(told["blade"]["line"]["rows"]), told["blade"]["polars"]
    at = aero.parameters(line[:, 0])
    assert np.allclose(at["chord"], line[:, 3])
    assert np.allclose(at["twist"], np.radians(line[:, 2]))
    assert np.allclose(np.column_stack([at["ac_x"], at["ac_y"]]), line[:, 4:6])
    table = aero.table(polars["z"], np.radians(polars["alpha_deg"]))
    for k, key in enumerate(("cl", "cd", "cm")):
        assert np.allclose(table[..., k], polars[key], atol=1e-12)
    alone = mbd.read_aerodyn(tmp_path / "polar_3.inp").aero
    assert np.allclose(
        alone.table([0.0], np.radians(polars["alpha_deg"]))[0, :, 0], polars["cl"][3]
    )


def test_tower_and_air_of_windio(tmp_path):
    """A tube has pi D t of steel; the aerodynamic centre lies in the chord as the file says."""
    w.windio2(tmp_path / "t.yaml", w.small())
    file = mbd.read_windio(tmp_path / "t.yaml")
    assert file["tower"].mass == pytest.approx(np.pi * 5.97 * 0.03 * 7850 * 1.07 * 100, rel=1e-9)
    assert file.numbers["cone_angle"] == pytest.approx(np.radians(4.0))
    assert file.numbers["hub_mass"] == 69131.0
    assert file.notes == ("components.mooring is not read",)
    root = file.aero.parameters([0.0])
    assert root["ac_y"] == pytest.approx(0.3 * 5.5 - 2.5)
    middle = file.aero.table([file["blade"].length / 2], np.radians([10.0]))
    assert middle[0, 0] == pytest.approx((1.2, 0.03, 0.0))


def test_masses_copies_and_notes_of_hawc2(tmp_path):
    w.hawc2(tmp_path / "t.htc", w.small())
    file = mbd.read_hawc2(tmp_path / "t.htc")
    assert list(file.bodies) == ["blade1", "blade2"]
    assert [x.mass for x in file.masses] == [12.5, 12.5]
    assert file["blade1"].damping.tolist() == [0, 0, 0, 3e-3, 1e-3, 2e-3]
    assert {re.search(r": (\w+): is not read", x)[1] for x in file.notes} == {
        "simulation", "orientation",
    }  # fmt: skip
    alone = mbd.read_hawc2(tmp_path / "t.st")["1.1"]
    assert alone.mass == pytest.approx(file["blade1"].mass)
    assert alone.points[-1, 2] == pytest.approx(file["blade1"].length)
    with pytest.raises(KeyError, match="there are 1.1"):
        mbd.read_hawc2(tmp_path / "t.st")["blade"]


def test_a_row_of_19_columns_has_its_three_centres(tmp_path):
    """A force at the shear centre does not twist, one at the elastic centre does not bend."""
    x = {"r": 0, "m": 10, "xcg": 0.3, "ycg": 0.1, "rix": 0.2, "riy": 0.4, "xsh": 0.5, "ysh": -0.2,
         "E": 7e10, "G": 2.7e10, "Ix": 2e-4, "Iy": 8e-4, "Ip": 5e-4, "kx": 0.5, "ky": 0.6,
         "A": 0.02, "pitch": 20.0, "xe": 0.2, "ye": 0.1}  # fmt: skip
    rows = [w.numbers([*x.values()]), w.numbers([10.0, *[*x.values()][1:]])]
    (tmp_path / "s.st").write_text("\n".join(["#1 one", "r m", "$1 2 rows", *rows, "$2 2", *rows]))
    file = mbd.read_hawc2(tmp_path / "s.st")
    assert list(file.bodies) == ["1.1", "1.2"]
    section = file["1.1"].sections[0]
    S = np.linalg.inv(section.stiffness)  # forces along z, x, y; moments about z, x, y
    c, s = np.cos(np.radians(20)), np.sin(np.radians(20))
    for shear, k in (((c, s), 0.5), ((-s, c), 0.6)):
        strain = S @ (0, *shear, x["xsh"] * shear[1] - x["ysh"] * shear[0], 0, 0)
        assert abs(strain[3]) < 1e-12 * abs(strain[1:3]).max()
        assert shear @ strain[1:3] == pytest.approx(1 / (k * 2.7e10 * 0.02))
    pull = S @ (1, 0, 0, 0, x["ye"], -x["xe"])
    assert pull[0] == pytest.approx(1 / (7e10 * 0.02))
    assert abs(pull[3:]).max() < 1e-12 * pull[0]
    bent = S @ (0, 0, 0, 0, c, s)
    assert bent[4:] == pytest.approx(np.array((c, s)) / (7e10 * 2e-4))
    assert S[3, 3] == pytest.approx(1 / (2.7e10 * 5e-4))
    assert section.center == pytest.approx((0.3, 0.1))
    assert section.inertia[0, 0] == pytest.approx(10 * (0.2**2 + 0.4**2))


@pytest.mark.parametrize("end", [15.0075, 30.0, 7.5])
def test_sections_of_hawc2_end_with_the_line(end, tmp_path):
    """A table that is longer is cut, the last row of a shorter one holds."""
    w.hawc2(tmp_path / "t.htc", w.small())
    lines = (tmp_path / "t.st").read_text().splitlines()
    rows = [x.split("  ") for x in lines[-3:]]
    for row in rows:
        row[0] = str(float(row[0]) * end / 15.0075)
    (tmp_path / "t.st").write_text("\n".join([*lines[:-3], *map("  ".join, rows)]))
    r, m = np.array([row[:2] for row in rows], float).T
    s = np.linspace(0, 15.0075, 20001)
    mean = np.interp(s, r, m).mean()
    found = mbd.read_hawc2(tmp_path / "t.htc")["blade1"]
    assert found.mass == pytest.approx(mean * found.length, rel=1e-3)


def test_records_are_immutable_and_beams_are_written_to_model_files(tmp_path):
    found, _ = read("beamdyn", w.small(), tmp_path)
    with pytest.raises(ValueError, match="read-only"):
        found.points[0, 0] = 1.0
    with pytest.raises(AttributeError):
        found.points = 0
    w.windio2(tmp_path / "t.yaml", w.small())
    file = mbd.read_windio(tmp_path / "t.yaml")
    with pytest.raises(TypeError):
        file.numbers["hub_mass"] = 1.0
    copy = pickle.loads(pickle.dumps(file))
    assert copy.numbers == file.numbers
    assert copy["tower"].mass == file["tower"].mass
    w.hawc2(tmp_path / "t.htc", w.small())
    with pytest.raises(ValueError, match="read-only"):
        mbd.read_hawc2(tmp_path / "t.htc").masses[0].place[0] = 1.0
    system = mbd.System()
    system.add(found.beam("b", first=system.ground, elements=3))
    again = mbd.read(mbd.write(system, tmp_path / "m.toml")).system
    a, b = (x.build().assemble() for x in (system, again))
    assert abs(a.K - b.K).max() == 0


# what is changed in a file, and what the error says: file, line, key, unit, got
WRONG = {
    "a word": ("beamdyn", "4  kp_total", "x  kp_total", "kp_total must be a whole"),
    "too few": (
        "beamdyn",
        "4  kp_total",
        "5  kp_total",
        "line 15: kp_xr must be a number",
    ),
    "too many": ("beamdyn", "4  kp_total", "3  kp_total", "must be of kp_total = 3 key points"),
    "nan": ("beamdyn", "10  3", "nan  3", r"line 13: kp_zr must be a number \[m\], got 'nan'"),
    "no file": ("beamdyn", "beamdyn_blade.inp", "none.inp", "BldFile must be the name of a file"),
    "no key": ("beamdyn", "BldFile", "BladeFile", "BldFile is missing"),
    "unsorted": ("blade", "0.4", "1.4", "stations of mass must|stations of stiffness must"),
    "negative": ("blade", "40  0  0  0  0", "-40  0  0  0  0", "line 11: mass: the mass"),
    "indefinite": ("blade", "400000000  0", "-4e8  0", "line 11: .*positive diagonal"),
    "damping": ("blade", "0.0030000000000000001  0.002", "-0.003  0.002", "mu1 to mu6 must be not"),
    "stations": ("blade", "3 station_total", "4 station_total", "must be of station_total = 4"),
    "less": ("blade", "3 station_total", "2 station_total", "must be of station_total = 2"),
    "yaml": ("windio2", '"windIO_version"', '{"windIO_version"', "is no YAML"),
    "missing": ("windio2", '"cm_x"', '"cm_z"', "inertia_matrix.* there is no 'cm_x'.*did you mean"),
    "length": ("windio2", '"mu": [', '"mu": [1, ', "mu .*must be six numbers"),
    "number": ("windio2", '"rho": 7850.0', '"rho": "?"', r"rho \(line \d+\) must be a number"),
    "material": ("windio2", '"material": "steel"', '"material": "wood"', "one of materials"),
    "chord": ("windio2", "5.5,", "-5.5,", r"chord must be positive \[m\], got -5"),
    "no end": ("hawc2", "end c2_def;", "", "ends what did not begin; open is 'c2_def'"),
    "set": ("hawc2", "set 1 1", "set 1 2", "has no set .1, 2.; there are 1 1"),
    "sections": ("hawc2", "nsec 4", "nsec 5", "must be nsec = 5 lines 'sec'"),
    "copies": ("hawc2", "copy_main_body blade1", "copy_main_body blade2", "copies itself"),
    "tip": ("elastodyn", "103.0   TipRad", "2.0   TipRad", r"TipRad must be above HubRad = 3"),
    "shape": ("elastodyn_blade", "2 BldFl1Sh(2)", "x BldFl1Sh(2)", r"BldFl1Sh.2. must be a number"),
    "mass": ("elastodyn", "69131   HubMass", "-1   HubMass", r"HubMass must be at least 0 \[kg\]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_place(what, tmp_path):
    name, old, new, said = WRONG[what]
    path = tmp_path / ("t.yaml" if "windio" in name else "t.dat")
    if name.startswith("elastodyn"):
        w.elastodyn(path)
        changed = tmp_path / "ed_blade.inp" if name.endswith("blade") else path
        reader = mbd.read_elastodyn
    else:
        write, reader, _ = FORMATS["beamdyn" if name == "blade" else name]
        write(path, w.small())
        changed = tmp_path / "beamdyn_blade.inp" if name == "blade" else path
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=said) as error:
        reader(path)
    assert str(error.value).startswith(str(tmp_path))
    assert str(error.value).isprintable()


def test_tags_and_names_in_files_run_nothing(tmp_path):
    path = tmp_path / "t.yaml"
    w.windio2(path, w.small())
    text = path.read_text()
    mark = tmp_path / "mark"
    tag = f'!!python/object/apply:os.system ["touch {mark}"]'
    path.write_text(text.replace('"windIO_version": "2.0"', f'"x": {tag}, "windIO_version": "2.0"'))
    assert mbd.read_windio(path)["tower"].length == 100.0
    path.write_text(text.replace("7.9,", f"{tag},"))
    with pytest.raises(ValueError, match=r"hub.diameter \(line \d+\) must be a number"):
        mbd.read_windio(path)
    w.beamdyn(path, w.small())
    path.write_text(path.read_text().replace("beamdyn_blade.inp", str(path)))
    with pytest.raises(ValueError, match="station_total is missing"):
        mbd.read_beamdyn(path)
    w.hawc2(path, w.small())
    path.write_text(path.read_text().replace("exit;", f"continue_in_file {path.name};"))
    with pytest.raises(ValueError, match="files continue in each other"):
        mbd.read_hawc2(path)
    assert not mark.exists()


def test_what_is_no_whole_model_is_said_by_read(tmp_path):
    for name, reader in (
        ("t.yaml", "windio"),
        ("t.htc", "hawc2"),
        ("t.dat", "beamdyn"),
        ("K.op4", "matrix"),
        ("a.bdf", "nodes"),
    ):
        (tmp_path / name).write_text("x")
        with pytest.raises(ValueError, match=f"must end in .*mbd.read_{reader}"):
            mbd.read(tmp_path / name)
    w.beamdyn(tmp_path / "b.dat", w.small())
    with pytest.raises(ValueError, match="without a line; read the file that names it"):
        mbd.read_beamdyn(tmp_path / "beamdyn_blade.inp")
