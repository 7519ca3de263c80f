"""Files of OpenFAST: BeamDyn, ElastoDyn, AeroDyn.

Axes of a blade: x to the suction side, y to the trailing edge, z to the tip. A twist is positive
towards feather, a right-hand turn by minus the number about z. Towers have x downwind, z up.
"""

from pathlib import Path

import numpy as np

from mbd.beams.section import Section
from mbd.files.wind.records import (
    AeroBlade,
    Polar,
    Profile,
    Slender,
    WindFile,
    mass_rows,
    read_only_record,
    shares,
)
from mbd.files.wind.text import WordFile, reader

_KEY_POINT = {"kp_xr": "m", "kp_yr": "m", "kp_zr": "m", "initial_twist": "deg"}
_BLADE_POINTS = {"BlSpn": "m", "BlCrvAC": "m", "BlSwpAC": "m", "BlTwist": "deg", "BlChord": "m",
                 "BlAFID": "-"}  # fmt: skip
_BLADE = {"BlFract": "-", "StrcTwst": "deg", "BMassDen": "kg/m", "FlpStff": "N m^2",
          "EdgStff": "N m^2"}  # fmt: skip
_TOWER = {"HtFract": "-", "TMassDen": "kg/m", "TwFAStif": "N m^2", "TwSSStif": "N m^2"}
_NUMBERS = {  # of ElastoDyn, those that a model of bodies and beams takes
    "NumBl": "-", "TipRad": "m", "HubRad": "m", "PreCone(1)": "deg", "PreCone(2)": "deg",
    "PreCone(3)": "deg", "HubCM": "m", "OverHang": "m", "ShftTilt": "deg", "NacCMxn": "m",
    "NacCMyn": "m", "NacCMzn": "m", "Twr2Shft": "m", "TowerHt": "m", "TowerBsHt": "m",
    "PtfmCMxt": "m", "PtfmCMyt": "m", "PtfmCMzt": "m", "BlPitch(1)": "deg", "BlPitch(2)": "deg",
    "BlPitch(3)": "deg", "RotSpeed": "rpm", "NacYaw": "deg", "GBoxEff": "%", "GBRatio": "-",
    "DTTorSpr": "N m/rad", "DTTorDmp": "N m s/rad",
}  # fmt: skip
_MASSES = {
    "TipMass(1)": "kg", "TipMass(2)": "kg", "TipMass(3)": "kg", "HubMass": "kg",
    "HubIner": "kg m^2", "GenIner": "kg m^2", "NacMass": "kg", "NacYIner": "kg m^2",
    "YawBrMass": "kg", "PtfmMass": "kg", "PtfmRIner": "kg m^2", "PtfmPIner": "kg m^2",
    "PtfmYIner": "kg m^2",
}  # fmt: skip
_RATIOS = {  # of damping
    "blade": (
        "BldFlDmp1", "BldFlDmp2", "BldEdDmp1", "BldFlDmp(1)", "BldFlDmp(2)", "BldEdDmp(1)",
    ),
    "tower": ("TwrFADmp(1)", "TwrFADmp(2)", "TwrSSDmp(1)", "TwrSSDmp(2)"),
}  # fmt: skip
_FIRST = {  # words of ratio and shape of the first modes, bending about x and about y
    "blade": (("BldEdDmp", "BldEdgSh"), ("BldFlDmp", "BldFl1Sh")),
    "tower": (("TwrSSDmp", "TwSSM1Sh"), ("TwrFADmp", "TwFAM1Sh")),
}
_STRETCH, _TORSION = 1e6, 1e3  # EA L^2 and GJ of what is rigid in ElastoDyn, by EI


@reader
def read_beamdyn(path: Path) -> WindFile:
    """Read a blade of BeamDyn: the primary file, and the blade file that it names.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    WindFile
        With the body "blade".

    Examples
    --------
    >>> import mbd
    >>> blade = mbd.read_beamdyn("IEA-15-240-RWT_BeamDyn.dat")["blade"]  # doctest: +SKIP
    >>> beam = blade.beam("b1", rotation=R, first=hub, elements=20)  # doctest: +SKIP
    """
    file = WordFile(path)
    if not file.has("kp_total"):
        if file.has("station_total"):
            raise ValueError(
                f"{path}: is a blade file, without a line; read the file that names it"
            )
        file.line("kp_total")
    n, members = file.count("kp_total", 3), file.count("member_total")
    first = file.line("kp_total") + 1 + members + 2  # names and units
    rows = np.array([file.row(first + i, _KEY_POINT) for i in range(n)])
    if file.is_row(first + n, len(_KEY_POINT)):
        raise file.must(first + n, "the table", f"of kp_total = {n} key points", "one more")
    blade = WordFile(file.file("BldFile"))
    p = _arc(file, first, rows[:, :3])
    at, K, M, lines = _six_by_six(blade)

    def where(i: int) -> str:
        return blade.place(lines[i])

    mu = np.zeros(6)
    damping = blade.count("damp_type", 0)
    notes = () if damping < 2 else (f"{blade.path}: damping of modes (damp_type) is not read",)
    if damping == 1:
        i = blade.find("mu1") + 2
        mu = np.array(blade.row(i, {f"mu{k + 1}": "s" for k in range(6)}))
        if (mu < 0).any():
            raise blade.must(i, "mu1 to mu6", "not negative [s]", mu.tolist())
    twist = Profile(p, -rows[:, 3], lambda i: file.place(first + i))
    mass = Profile(at, mass_rows(M, where), where)
    body = Slender.of(rows[:, :3], Profile(at, K, where), mass, twist, mu)
    return WindFile({"blade": body}, notes=notes)


def _arc(file: WordFile, first: int, points: np.ndarray) -> np.ndarray:
    """Return the shares of the length (n,) of key points in lines of a file."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not (steps > 0).all():
        i = int(np.argmin(steps > 0)) + 1
        raise file.must(
            first + i, "a key point", "another one than that before", points[i].tolist()
        )
    try:
        return shares(points)
    except ValueError as error:
        raise ValueError(f"{file.place(first)}: {error}") from None


def _six_by_six(file: WordFile) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Return stations (k,), stiffness and mass (k, 6, 6), and lines of a blade of BeamDyn."""
    n = file.count("station_total", 2)
    start = file.find("DISTRIBUTED PROPERTIES") + 1
    filled = [*file.filled(start)]
    if len(filled) < 13 * n:
        raise file.must(
            len(file.lines) - 1, "the table", f"of station_total = {n} stations with 12 rows each",
            f"{len(filled)} lines",
        )  # fmt: skip
    if len(filled) > 13 * n and file.is_row(filled[13 * n], 1):
        raise file.must(filled[13 * n], "the table", f"of station_total = {n} stations", "more")
    at, tables, lines = np.empty(n), np.empty((n, 2, 6, 6)), []
    force = {f"K_{k}": "N" for k in range(6)}
    weight = {f"M_{k}": "kg" for k in range(6)}
    for k in range(n):
        station, *rows = filled[13 * k : 13 * k + 13]
        (at[k],) = file.row(station, {"eta": "-"})
        if len(file.words(station)) != 1:
            raise file.must(station, f"station {k + 1}", "one number [-]", file.lines[station])
        units = (force, weight)
        tables[k] = [[file.row(i, units[j]) for i in rows[6 * j : 6 * j + 6]] for j in (0, 1)]
        lines.append(station)
    return at, tables[:, 0], tables[:, 1], lines


@reader
def read_elastodyn(path: Path) -> WindFile:
    """Read masses, lengths and angles of ElastoDyn, and the blade and tower files that it names.

    ElastoDyn bends blades and towers, and does nothing else to them: their bodies have stiffnesses
    against stretch, shear and torsion that are large. Bending each way is damped as the first mode
    there, by its ratio and shape; the others have the ratio f / f_1 times that, and what the file
    says of them is among the numbers, "blade.BldFlDmp2" [-].

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    WindFile
        Bodies "blade", from the root along z, and "tower", from ``TowerBsHt`` upwards; numbers by
        the words of the file, "HubMass", "ShftTilt".
    """
    file = WordFile(path)
    if not file.has("HubMass") and (file.has("NBlInpSt") or file.has("NTwInpSt")):
        raise ValueError(f"{path}: has no lengths; read the main file of ElastoDyn, which names it")
    values = {k: file.number(k, unit) for k, unit in _NUMBERS.items() if file.has(k)}
    values |= {k: file.number(k, unit, 0.0) for k, unit in _MASSES.items() if file.has(k)}
    for key in ("TipRad", "HubRad", "TowerHt", "TowerBsHt", "HubMass", "NacMass"):
        file.line(key)
    bodies, notes = {}, []
    for name, keys, ends, read in (
        ("blade", ("BldFile1", "BldFile(1)"), ("HubRad", "TipRad"), _bending_blade),
        ("tower", ("TwrFile",), ("TowerBsHt", "TowerHt"), _bending_tower),
    ):
        key = next((k for k in keys if file.has(k)), keys[0])
        low, high = (values[x] for x in ends)
        if not high > low:
            raise file.must(file.line(ends[1]), ends[1], f"above {ends[0]} = {low:g} [m]", high)
        z = np.array((0.0, high - low) if name == "blade" else (low, high))
        try:
            inner = WordFile(file.file(key))
        except ValueError as error:
            if "the name of a file" not in str(error):
                raise
            notes.append(f"no {name}: {error}")
            continue
        bodies[name] = read(inner, z)
        ratios = {k: inner.number(k, "%", 0.0) for k in _RATIOS[name] if inner.has(k)}
        values |= {f"{name}.{k}": x for k, x in ratios.items()}
    return WindFile(bodies, values, notes=tuple(notes))


def _bending_blade(file: WordFile, z: np.ndarray) -> Slender:
    first, table = file.columns(
        file.find("DISTRIBUTED BLADE") + 1, file.count("NBlInpSt", 2), _BLADE
    )
    flap = table["FlpStff"] * file.number("AdjFlSt", "-", 0.0)
    edge = table["EdgStff"] * file.number("AdjEdSt", "-", 0.0)
    mass = table["BMassDen"] * file.number("AdjBlMs", "-", 0.0)
    at, twist = table["BlFract"], -table["StrcTwst"]
    return _bending(file, first, z, at, mass, (edge, flap), twist, "blade")


def _bending_tower(file: WordFile, z: np.ndarray) -> Slender:
    first, table = file.columns(
        file.find("DISTRIBUTED TOWER") + 1, file.count("NTwInpSt", 2), _TOWER
    )
    fore = table["TwFAStif"] * file.number("AdjFASt", "-", 0.0)
    side = table["TwSSStif"] * file.number("AdjSSSt", "-", 0.0)
    mass = table["TMassDen"] * file.number("AdjTwMa", "-", 0.0)
    at = table["HtFract"]
    return _bending(file, first, z, at, mass, (side, fore), np.zeros(len(at)), "tower")


def _bending(
    file: WordFile, first: int, z: np.ndarray, at: np.ndarray, mass: np.ndarray,
    EI: tuple[np.ndarray, np.ndarray], twist: np.ndarray, name: str,
) -> Slender:  # fmt: skip
    """Return a straight body along z with bending about x and y that nothing else can deform."""

    def where(i: int) -> str:
        return file.place(first + i)

    stiff = max(float(x.max()) for x in EI)
    EA = _STRETCH * stiff / float(np.ptp(z)) ** 2
    C, w = np.empty((len(at), 6, 6)), np.empty((len(at), 4, 4))
    for k, (mu, about_x, about_y) in enumerate(zip(mass, *EI, strict=True)):
        values = (EA, EA, EA, about_x, about_y, _TORSION * stiff)
        C[k] = np.diag(values)
        try:
            own = Section(stiffness=(EA, EA, EA, values[5], about_x, about_y), mass=mu)
        except ValueError as error:
            raise ValueError(f"{where(k)}: {error}") from None
        w[k] = own.mass_matrix
    points = np.column_stack([0 * z, 0 * z, z])
    body = Profile(at, C, where), Profile(at, w, where), Profile(at, twist, where)
    tau = np.zeros(6)
    for i, words in enumerate(_FIRST[name]):
        along = (Profile(at, x, where).checked("bending") for x in (mass, EI[i]))
        tau[3 + i] = _time(file, words, *along) * float(np.ptp(z)) ** 2
    return Slender.of(points, *body, tau)


def _time(file: WordFile, words: tuple[str, str], mass: Profile, EI: Profile) -> float:
    r"""Return the damping time of a first mode, of the length one, 2 zeta / omega [s / m^2].

    As ElastoDyn has it, :math:`\omega^2 = \int EI\phi''^2 / \int\mu\phi^2` of the shape
    :math:`\phi = \sum_{k=2}^6 c_k x^k` of the file. Zero where the file has no ratio or no shape.
    """
    ratio = next((x for x in (f"{words[0]}1", f"{words[0]}(1)") if file.has(x)), "")
    keys = [f"{words[1]}({k})" for k in range(2, 7)]
    if not ratio or not any(map(file.has, keys)):
        return 0.0
    c, k = np.array([file.number(x, "-") for x in keys]), np.arange(2, 7)
    x, w = np.polynomial.legendre.leggauss(200)
    x = 0.5 + 0.5 * x[:, None]
    phi, bent = x**k @ c, x ** (k - 2) @ (k * (k - 1) * c)
    energy = float(w @ (EI.to(x[:, 0]) * bent**2))
    if not energy > 0.0:
        raise file.must(
            file.line(keys[0]), f"{words[1]}(2) to (6)", "a shape that bends", c.tolist()
        )
    return (
        2.0
        * file.number(ratio, "%", 0.0)
        * float(np.sqrt(w @ (mass.to(x[:, 0]) * phi**2) / energy))
    )


@reader
def read_aerodyn(path: Path) -> WindFile:
    """Read a blade of AeroDyn and its polars: the main file, and the files that it names.

    Parameters
    ----------
    path : str or Path
        The main file, or that of one polar.

    Returns
    -------
    WindFile
        ``aero``: an ``AeroBlade``, whose ``parameters`` and ``table`` a ``SectionLoad`` takes; of a
        polar alone one that has it everywhere.
    """
    file = WordFile(path)
    if file.has("NumAlf"):
        polar, notes = _polar(file, (0, 1, 2, 3))
        none = np.zeros(1)
        every = AeroBlade(none, none + 1, none, np.zeros((1, 2)), (polar,), none, np.zeros(1, int))
        return WindFile(aero=read_only_record(every), notes=notes)
    if not file.has("NumAFfiles"):
        if file.has("NumBlNds"):
            raise ValueError(
                f"{path}: is a blade file, without polars; read the file that names it"
            )
        file.line("NumAFfiles")
    n, start = file.count("NumAFfiles"), file.line("AFNames")
    columns = [file.count(f"InCol_{x}", 0) - 1 for x in ("Alfa", "Cl", "Cd", "Cm")]
    polars: list[Polar] = []
    remarks: list[str] = []
    for i in range(start, start + n):
        words = file.words(i)
        if not words or not words[0].startswith(("'", '"')):
            raise file.must(i, f"AFNames {i - start + 1} of {n}", "a name in quotes", words[:1])
        inner = WordFile(file.beside(i, "AFNames", words[0].strip("\"'")))
        polar, more = _polar(inner, tuple(columns))
        polars.append(polar)
        remarks += more
    blade = WordFile(file.file("ADBlFile(1)"))
    first, t = blade.columns(
        blade.find("Blade Properties") + 2, blade.count("NumBlNds", 2), _BLADE_POINTS
    )
    which = t["BlAFID"].astype(int) - 1
    for name, bad, expected in (
        ("BlChord", t["BlChord"] <= 0, "positive [m]"),
        ("BlSpn", np.diff(t["BlSpn"], prepend=-np.inf) <= 0, "above that before [m]"),
        ("BlAFID", ~np.isin(t["BlAFID"], 1 + np.arange(n)), f"from 1 to {n}, one of AFNames"),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            raise blade.must(first + i, name, expected, float(t[name][i]))
    offset = np.column_stack([t["BlCrvAC"], t["BlSwpAC"]])
    aero = AeroBlade(
        t["BlSpn"], t["BlChord"], t["BlTwist"], offset, tuple(polars), t["BlSpn"].copy(), which
    )
    return WindFile(aero=read_only_record(aero), notes=tuple(remarks))


def _polar(file: WordFile, columns: tuple[int, ...]) -> tuple[Polar, tuple[str, ...]]:
    """Return the first table of a file of an aerofoil; c_m is zero where there is no column."""
    n, start = file.count("NumAlf", 2), file.line("NumAlf") + 1
    first = next(file.filled(start), start)
    names = ("Alpha", "Cl", "Cd", "Cm")
    table = np.zeros((n, 4))
    for k in range(n):
        i = first + k
        words = file.words(i)
        for j, (name, c) in enumerate(zip(names, columns, strict=True)):
            if c >= len(words):
                raise file.must(i, f"row {k + 1} of NumAlf = {n}", "Alpha, Cl, Cd, Cm", words)
            if c >= 0:
                table[k, j] = file.read(i, name, words[c], "-" if j else "deg")
        if k and table[k, 0] <= table[k - 1, 0]:
            raise file.must(i, "Alpha", "above that before [deg]", words[columns[0]])
    tables = file.count("NumTabs") if file.has("NumTabs") else 1
    notes = (f"{file.path}: the first of {tables} tables is read",) if tables > 1 else ()
    name = file.path.stem
    return Polar(name, table[:, 0], table[:, 1:]), notes
