"""Writers of the formats of wind turbines: what each file must look like to say one blade."""

import json
from dataclasses import dataclass

import numpy as np
from sources import ROOT

from mbd.beams.curve import Path as Line

AIR = {"blade": {  # of a small blade, as models/iea15.json says it
    "polars": {"z": [0.0, 10.0], "alpha_deg": [-180.0, 0.0, 10.0, 180.0],
               "cl": [[0.0, 0.2, 1.2, 0.0]] * 2, "cd": [[0.01, 0.02, 0.03, 0.01]] * 2,
               "cm": [[0.0, -0.1, -0.2, 0.0]] * 2},
    "line": {"rows": [[0.0, 0.0, 12.0, 3.0, 0.1, 0.2, 1.0], [10.0, 0.0, 0.0, 1.0, 0.1, 0.1, 0.2]]},
}}  # fmt: skip
UPPER = np.triu_indices(6)
NAMES = [f"K{i + 1}{j + 1}" for i, j in zip(*UPPER, strict=True)]


@dataclass
class Data:
    """A blade in axes x to the suction side, y to the trailing edge, z to the tip."""

    points: np.ndarray
    feather: np.ndarray  # deg, at the points
    eta: np.ndarray
    K: np.ndarray
    M: np.ndarray
    mu: np.ndarray


def iea15():
    """Return the blade of the IEA 15 MW turbine, of models/iea15.json."""
    told = json.loads((ROOT.parent / "models" / "iea15.json").read_text())["blade"]
    line = dict(zip(told["line"]["columns"], np.array(told["line"]["rows"]).T, strict=True))
    rows = dict(zip(told["sections"]["columns"], np.array(told["sections"]["rows"]).T, strict=True))
    n = len(rows["eta"])
    K, M = np.zeros((2, n, 6, 6))
    for name in (x for x in rows if x.startswith("K")):
        i, j = int(name[1]) - 1, int(name[2]) - 1
        K[:, i, j] = K[:, j, i] = rows[name]
    m, x, y = rows["mass"], rows["x_mass"], rows["y_mass"]
    for i in range(3):
        M[:, i, i] = m
    for i, j, value in (
        (0, 5, -m * y), (1, 5, m * x), (2, 3, m * y), (2, 4, -m * x), (3, 4, rows["Jxy"]),
        (3, 3, rows["Jxx"]), (4, 4, rows["Jyy"]), (5, 5, rows["Jxx"] + rows["Jyy"]),
    ):  # fmt: skip
        M[:, i, j] = M[:, j, i] = value
    points = np.column_stack([line["x"], 0 * line["x"], line["z"]])
    return Data(points, line["twist_deg"], rows["eta"], K, M, np.array(told["damping"]["mu"]))


def twisted():
    """Return the beam of Wang 2017: 10 m, turned by a right angle (right-hand) along z."""
    K = np.diag((8.2604167e9, 8.2604167e9, 2.5e10, 5.20833e8, 1.30208333e8, 1.41872656e8))
    M = np.diag((100.0, 100.0, 100.0, 1.0, 1.0, 2.0))
    z = np.linspace(0.0, 10.0, 21)
    points = np.column_stack([0 * z, 0 * z, z])
    return Data(
        points, -9.0 * z, np.array((0.0, 1.0)), np.array([K, K]), np.array([M, M]), 0 * M[0]
    )


def small():
    """Return a blade of three stations."""
    taper = np.array((1.0, 0.6, 0.2))[:, None, None]
    K = np.diag((4e8, 5e8, 2e9, 3e8, 1e8, 5e7)) * taper
    M = np.diag((40.0, 40.0, 40.0, 6.0, 3.0, 9.0)) * taper
    M[:, 1, 5] = M[:, 5, 1] = 4.0 * taper.ravel()
    M[:, 2, 4] = M[:, 4, 2] = -4.0 * taper.ravel()
    points = np.array([(0, 0, 0), (0.1, 0, 5.0), (0.2, 0.1, 10.0), (0.2, 0.3, 15.0)])
    mu = np.array((0.003, 0.002, 0.001, 0.002, 0.003, 0.001))
    return Data(points, np.array((12.0, 8.0, 3.0, 0.0)), np.array((0.0, 0.4, 1.0)), K, M, mu)


def numbers(row):
    """Return numbers with all their digits."""
    return "  ".join(f"{x:.17g}" for x in np.ravel(row))


def beamdyn(path, data):
    """Write a primary file and its blade file."""
    n = len(data.points)
    inner = path.with_name("beamdyn_blade.inp")
    rows = [numbers([*x, t]) for x, t in zip(data.points, data.feather, strict=True)]
    path.write_text("\n".join([
        "--------- BEAMDYN with OpenFAST INPUT FILE ------", "a blade",
        "---------------------- SIMULATION CONTROL -------", "False  Echo - Echo (flag)",
        "---------------------- GEOMETRY PARAMETER -------",
        "1   member_total - Total number of members (-)",
        f"{n}  kp_total - Total number of key points (-)", f"1  {n} - Member; key points",
        " kp_xr kp_yr kp_zr initial_twist", "  (m)   (m)   (m)   (deg)", *rows,
        "---------------------- MESH PARAMETER -----------", "5 order_elem - Order (-)",
        "---------------------- MATERIAL PARAMETER -------",
        f'"{inner.name}" BldFile - Name of file containing properties (quoted string)',
    ]))  # fmt: skip
    stations = []
    for eta, K, M in zip(data.eta, data.K, data.M, strict=True):
        stations += [numbers(eta), *map(numbers, K), "", *map(numbers, M), ""]
    inner.write_text("\n".join([
        "------- BEAMDYN V1.00.* INDIVIDUAL BLADE INPUT FILE ---", "a blade",
        "---------------------- BLADE PARAMETERS ---------", f"{len(data.eta)} station_total - (-)",
        "1 damp_type - Damping type: 0: no damping; 1: damped",
        "---------------------- DAMPING COEFFICIENT ------", "mu1 mu2 mu3 mu4 mu5 mu6",
        "(-) (-) (-) (-) (-) (-)", numbers(data.mu if data.mu.ndim == 1 else np.zeros(6)),
        "---------------------- DISTRIBUTED PROPERTIES ---", *stations,
    ]))  # fmt: skip


def _axis(data):
    chord = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(data.points, axis=0), axis=1))])
    grid = (chord / chord[-1]).tolist()
    columns = zip("xyz", data.points.T, strict=True)
    return grid, {x: {"grid": grid, "values": v.tolist()} for x, v in columns}


def windio1(path, data):
    """Write a turbine of version 1 with a blade."""
    grid, axis = _axis(data)
    upper = {k: [x[UPPER].tolist() for x in getattr(data, k)] for k in "KM"}
    eta = data.eta.tolist()
    told = {"name": "t", "components": {"blade": {"elastic_properties_mb": {"six_x_six": {
        "reference_axis": axis,
        "twist": {"grid": grid, "values": np.radians(data.feather).tolist()},
        "stiff_matrix": {"grid": eta, "values": upper["K"]},
        "inertia_matrix": {"grid": eta, "values": upper["M"]},
    }}}, "hub": {"diameter": 7.9, "cone_angle": 0.07}}}  # fmt: skip
    path.write_text(json.dumps(told, indent=1))


def windio2(path, data):
    """Write a turbine of version 2 with a blade, its shape in the air and a tower."""
    grid, axis = _axis(data)
    eta, M, m = data.eta.tolist(), data.M, data.M[:, 0, 0]
    columns = {
        "mass": m, "cm_x": M[:, 1, 5] / m, "cm_y": -M[:, 0, 5] / m, "i_edge": M[:, 3, 3],
        "i_flap": M[:, 4, 4], "i_plr": M[:, 5, 5], "i_cp": -M[:, 3, 4],
    }  # fmt: skip
    entries = {name: data.K[:, i, j].tolist() for name, i, j in zip(NAMES, *UPPER, strict=True)}
    polar = {key: {"grid": [-180.0, 0.0, 10.0, 180.0], "values": v} for key, v in (
        ("c_l", [0.0, 0.2, 1.2, 0.0]), ("c_d", [0.01, 0.02, 0.03, 0.01]), ("c_m", [0.0] * 4),
    )}  # fmt: skip
    mu = data.mu if data.mu.ndim == 1 else np.zeros(6)
    ends = {"grid": [0.0, 1.0]}
    told = {"windIO_version": "2.0", "components": {
        "blade": {
            "reference_axis": axis,
            "outer_shape": {
                "twist": {"grid": grid, "values": data.feather.tolist()},
                "chord": {**ends, "values": [5.5, 1.0]},
                "section_offset_y": {**ends, "values": [2.5, 0.4]},
                "airfoils": [{"name": "thick", "spanwise_position": 0.0},
                             {"name": "thin", "spanwise_position": 1.0}],
            },
            "structure": {"elastic_properties": {
                "stiffness_matrix": {"grid": eta, **entries},
                "inertia_matrix": {"grid": eta, **{k: x.tolist() for k, x in columns.items()}},
                "structural_damping": {"mu": mu.tolist()},
            }},
        },
        "hub": {"diameter": 7.9, "cone_angle": 4.0, "elastic_properties": {"mass": 69131.0}},
        "drivetrain": {"outer_shape": {"uptilt": 6.0, "overhang": 12.1}},
        "tower": {
            "reference_axis": {x: {**ends, "values": [0.0, 100.0 * (x == "z")]} for x in "xyz"},
            "outer_shape": {"outer_diameter": {**ends, "values": [6.0, 6.0]}},
            "structure": {"outfitting_factor": 1.07, "layers": [
                {"name": "wall", "material": "steel", "thickness": {**ends, "values": [0.03] * 2}},
            ]},
        },
        "mooring": {"nodes": []},
    }, "airfoils": [
        {"name": "thick", "aerodynamic_center": 0.3, "polars": [polar]},
        {"name": "thin", "aerodynamic_center": 0.25, "polars": [{"re_sets": [polar]}]},
    ], "materials": [{"name": "steel", "E": 2e11, "nu": 0.3, "rho": 7850.0}]}  # fmt: skip
    path.write_text(json.dumps(told, indent=1))


def hawc2(path, data):
    """Write a model with one blade and its st file with whole matrices; x is towards the nose."""
    Q = np.kron(np.eye(2), np.array([(0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)]))
    inner = path.with_suffix(".st")
    rows = [
        f"sec {i + 1} {numbers((-y, x, z, -t))} ;"
        for i, ((x, y, z), t) in enumerate(zip(data.points, data.feather, strict=True))
    ]
    path.write_text("\n".join([
        "begin simulation;", "time_stop 10 ;", "end simulation;", "begin new_htc_structure;",
        "begin main_body;", "name blade1 ;", "type timoschenko ;",
        "damping_posdef 0 0 0 1e-3 2e-3 3e-3 ; K_x, K_y, K_z",
        "concentrated_mass 2 0.0 0.1 0.0 12.5 1 2 3 ;",
        "begin timoschenko_input;", f"filename ./{inner.name} ;", "FPM 1 ;", "set 1 1 ;",
        "end timoschenko_input;", "begin c2_def;", f"nsec {len(rows)} ;", *rows, "end c2_def;",
        "end main_body;", "begin main_body;", "name blade2 ;", "copy_main_body blade1 ;",
        "end main_body;", "begin orientation;", "end orientation;", "end new_htc_structure;",
        "exit;",
    ]))  # fmt: skip
    length = Line("x", data.points, True).length
    lines = []
    for eta, K, M in zip(data.eta, data.K, data.M, strict=True):
        K, M = Q @ K @ Q.T, Q @ M @ Q.T
        m = M[0, 0]
        x, y = M[1, 5] / m, -M[0, 5] / m
        J = np.array(
            [(M[3, 3] - m * y * y, M[3, 4] + m * x * y), (M[3, 4] + m * x * y, M[4, 4] - m * x * x)]
        )
        turn = 0.5 * np.arctan2(2 * J[0, 1], J[0, 0] - J[1, 1])
        c, s = np.cos(turn), np.sin(turn)
        R = np.array([(c, s), (-s, c)])
        ri = np.sqrt(np.diag(R @ J @ R.T) / m)
        xe, ye = 0.1 * length / 15, -0.02  # any point does: whole matrices say all about it
        T = np.eye(6)
        T[0, 5], T[1, 5], T[2, 3], T[2, 4] = ye, -xe, -ye, xe  # from there to the origin
        there = T.T @ K @ T
        R = np.kron(np.eye(2), np.array([(c, s, 0), (-s, c, 0), (0, 0, 1)]))
        there = R @ there @ R.T
        row = [eta * length, m, x, y, *ri, np.degrees(turn), xe, ye, *there[UPPER]]
        lines.append(numbers(row))
    inner.write_text("\n".join([
        "1 ; number of sets", "#1 first", "r m x_cg y_cg ri_x ri_y pitch x_e y_e K11 ...",
        f"$1 {len(lines)}", *lines,
    ]))  # fmt: skip


def elastodyn(path, length=100.0, flap=4e9, edge=9e9, mass=300.0):
    """Write a main file with an even blade and an even tower."""
    blade, tower = path.with_name("ed_blade.inp"), path.with_name("ed_tower.inp")
    keys = {
        "NumBl": 3, "TipRad": 3.0 + length, "HubRad": 3.0, "PreCone(1)": -4.0, "PreCone(2)": -4.0,
        "PreCone(3)": -4.0, "OverHang": -12.1, "ShftTilt": -6.0, "NacCMxn": -5.1, "NacCMzn": 4.3,
        "Twr2Shft": 4.35, "TowerHt": 120.0, "TowerBsHt": 20.0, "HubMass": 69131, "HubIner": 969952,
        "GenIner": "1.836784D+06", "NacMass": 644857, "NacYIner": 32929058, "YawBrMass": 28249,
        "BldFile1": f'"{blade.name}"', "GBRatio": 1.0, "DTTorSpr": 6.97e10, "RotSpeed": 7.5,
        "TwrFile": f'"{tower.name}"',
    }  # fmt: skip
    path.write_text("\n".join(["ELASTODYN INPUT FILE", "a turbine", *(
        f"{x}   {key}  - what it is" for key, x in keys.items()
    )]))  # fmt: skip
    rows = [numbers((p, 0.25, 0.0, mass, flap, edge)) for p in (0.0, 0.5, 1.0)]
    blade.write_text("\n".join([
        "ELASTODYN BLADE INPUT FILE", "a blade", "3 NBlInpSt - stations (-)",
        "0.48 BldFlDmp1 - damping (%)", "1.0 AdjBlMs - (-)", "1.0 AdjFlSt - (-)",
        "1.0 AdjEdSt - (-)", "------ DISTRIBUTED BLADE PROPERTIES ------",
        "BlFract PitchAxis StrcTwst BMassDen FlpStff EdgStff", "(-) (-) (deg) (kg/m) (Nm^2) (Nm^2)",
        *rows, "------ BLADE MODE SHAPES ------", *(
            f"{c} BldFl1Sh({k}) - w = x^2 (6 - 4 x + x^2)/3"
            for k, c in zip(range(2, 7), (2, -4 / 3, 1 / 3, 0, 0), strict=True)
        ),
    ]))  # fmt: skip
    rows = [numbers((p, 8e3, 3e12, 3e12)) for p in (0.0, 1.0)]
    tower.write_text("\n".join([
        "ELASTODYN TOWER INPUT FILE", "a tower", "2 NTwInpSt - stations (-)", "1.0 AdjTwMa - (-)",
        "1.0 AdjFASt - (-)", "1.0 AdjSSSt - (-)", "------ DISTRIBUTED TOWER PROPERTIES ------",
        "HtFract TMassDen TwFAStif TwSSStif", "(-) (kg/m) (Nm^2) (Nm^2)", *rows,
    ]))  # fmt: skip


def aerodyn(path, told):
    """Write a main file, a blade and polars of models/iea15.json."""
    polars, line = told["blade"]["polars"], np.array(told["blade"]["line"]["rows"])
    names = []
    for i, table in enumerate(zip(polars["cl"], polars["cd"], polars["cm"], strict=True)):
        names.append(f"polar_{i}.inp")
        rows = np.column_stack([polars["alpha_deg"], *table])
        path.with_name(names[-1]).write_text("\n".join([
            "! AirfoilInfo", "1 NumTabs ! tables", "3.0 Re ! Reynolds number",
            f"{len(rows)} NumAlf ! lines", "! Alpha Cl Cd Cm", "! (deg) (-) (-) (-)",
            *map(numbers, rows),
        ]))  # fmt: skip
    at = [int(np.argmin(abs(np.array(polars["z"]) - z))) + 1 for z in line[:, 0]]
    rows = [
        numbers((z, x, y, 0, twist, chord)) + f"  {k}"
        for (z, _, twist, chord, x, y, _), k in zip(line, at, strict=True)
    ]
    path.with_name("ad_blade.inp").write_text("\n".join([
        "AERODYN BLADE INPUT FILE", "a blade", "====== Blade Properties ======",
        f"{len(rows)} NumBlNds - nodes (-)",
        "BlSpn BlCrvAC BlSwpAC BlCrvAng BlTwist BlChord BlAFID", "(m) (m) (m) (deg) (deg) (m) (-)",
        *rows,
    ]))  # fmt: skip
    path.write_text("\n".join([
        "AERODYN INPUT FILE", "a rotor", "1 InCol_Alfa - (-)", "2 InCol_Cl - (-)",
        "3 InCol_Cd - (-)", "4 InCol_Cm - (-)", f"{len(names)} NumAFfiles - files (-)",
        f'"{names[0]}" AFNames - files', *(f'"{x}"' for x in names[1:]),
        '"ad_blade.inp" ADBlFile(1) - Name of file',
    ]))  # fmt: skip
