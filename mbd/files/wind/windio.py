"""Files of windIO 1 and 2: blade, tower, polars and masses of a turbine.

Axes of the blade are those of BeamDyn; twist is towards feather, in radians before version 2 and in
degrees since. Matrices are 21 numbers, the upper triangle by rows, before version 2; since then
there are K11 to K66, and mass, cm_x, cm_y and moments about the reference axis.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbd.beams.curve import Path as Line
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
    symmetric_of,
)
from mbd.files.wind.text import reader
from mbd.files.wind.yaml_place import YamlPlace

_K = tuple(f"K{i}{j}" for i in range(1, 7) for j in range(i, 7))
_NUMBERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (  # "angle": of the version
    ("hub_diameter", "m", ("hub.diameter",)),
    ("cone_angle", "angle", ("hub.cone_angle",)),
    ("uptilt", "angle", ("nacelle.drivetrain.uptilt", "drivetrain.outer_shape.uptilt")),
    ("overhang", "m", ("nacelle.drivetrain.overhang", "drivetrain.outer_shape.overhang")),
    ("distance_tt_hub", "m",
     ("nacelle.drivetrain.distance_tt_hub", "drivetrain.outer_shape.distance_tt_hub")),
    ("gear_ratio", "-", ("nacelle.drivetrain.gear_ratio", "drivetrain.gearbox.gear_ratio")),
    ("hub_mass", "kg",
     ("hub.elastic_properties_mb.system_mass", "hub.elastic_properties.mass")),
    ("nacelle_mass", "kg",
     ("nacelle.elastic_properties_mb.system_mass",
      "nacelle.drivetrain.elastic_properties_mb.system_mass",
      "drivetrain.elastic_properties.mass")),
    ("yaw_mass", "kg",
     ("nacelle.elastic_properties_mb.yaw_mass", "nacelle.drivetrain.elastic_properties_mb.yaw_mass",
      "yaw.elastic_properties.mass")),
)  # fmt: skip
_VECTORS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("hub_inertia", "kg m^2",
     ("hub.elastic_properties_mb.system_inertia", "hub.elastic_properties.inertia")),
    ("nacelle_inertia", "kg m^2",
     ("nacelle.elastic_properties_mb.system_inertia_tt",
      "nacelle.drivetrain.elastic_properties_mb.system_inertia_tt",
      "nacelle.elastic_properties_mb.system_inertia",
      "nacelle.drivetrain.elastic_properties_mb.system_inertia",
      "drivetrain.elastic_properties.inertia")),
    ("nacelle_center", "m",
     ("nacelle.elastic_properties_mb.system_center_mass",
      "nacelle.drivetrain.elastic_properties_mb.system_center_mass",
      "drivetrain.elastic_properties.location")),
)  # fmt: skip


@reader
def read_windio(path: Path) -> WindFile:
    """Read a turbine of windIO 1 or 2 (``.yaml``): blade, tower, polars, masses and lengths.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    WindFile
        Bodies "blade" (where the file has its 6x6 matrices), "tower" and "monopile" (tubes of
        layers); ``aero``; numbers "hub_mass", "cone_angle", "nacelle_inertia.0".

    Examples
    --------
    >>> import mbd
    >>> turbine = mbd.read_windio("IEA-15-240-RWT.yaml")  # doctest: +SKIP
    >>> turbine["blade"].length, turbine.numbers["cone_angle"]  # doctest: +SKIP
    """
    root = YamlPlace.root("read_windio", path)
    parts = root / "components"
    bodies, notes = {}, []
    if "blade" in parts:
        blade = _blade(parts / "blade")
        if blade is None:
            notes.append("components.blade has no elastic properties (6x6 matrices), thus no beam")
        else:
            bodies["blade"] = blade
    for name in ("tower", "monopile"):
        if name in parts:
            bodies[name] = _tube(root, parts / name)
    angle = "deg" if _second(root) else "rad"
    values = {}
    for name, unit, places in _NUMBERS:
        if (place := parts.first(*places)) is not None:
            least = 0.0 if unit in ("kg", "m") and name != "overhang" else None
            values[name] = place.number(angle if unit == "angle" else unit, least)
    for name, unit, places in _VECTORS:
        if (place := parts.first(*places)) is not None:
            values |= {f"{name}.{i}": float(x) for i, x in enumerate(place.numbers(unit))}
    aero = _aero(root, parts / "blade") if "blade" in parts else None
    read = ("blade", "tower", "monopile", "hub", "nacelle", "drivetrain", "yaw")
    notes += [f"components.{x} is not read" for x in parts.keyed() if x not in read]
    return WindFile(bodies, values, aero, notes=tuple(notes))


def _second(root: YamlPlace) -> bool:
    """Return whether a file is of version 2: it says so, or its keys do."""
    version = root.first("windIO_version")
    if version is not None:
        return not version.text().lstrip("v").startswith(("0.", "1."))
    return root.first("components.blade.outer_shape_bem") is None


def _grid(place: YamlPlace, unit: str, key: str = "values") -> Profile:
    """Return a table of grid and values."""
    at, values = (place / "grid").numbers("-"), (place / key).numbers(unit)
    if len(at) != len(values):
        raise (place / key).must(
            f"a list with one number for each of the {len(at)} of grid", f"{len(values)} numbers"
        )
    return Profile(at, values, lambda i: f"{place / 'grid'}[{i}]")


@dataclass(frozen=True, eq=False)
class _Axis:
    """Reference axis: key points (n, 3) [m] by the grid; files share the height, not the length.

    So what belongs to a point, chord and twist, is where the point is, at its share of the length.
    """

    grid: np.ndarray
    points: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, place: YamlPlace) -> "_Axis":
        columns = [_grid(place / x, "m").checked(x) for x in "xyz"]
        p = np.unique(np.concatenate([x.at for x in columns]))
        points = np.column_stack([x.to(p) for x in columns])
        try:
            return cls(p, points, shares(points))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None

    def along(self, profile: Profile) -> Profile:
        return profile._replace(at=np.interp(profile.at, self.grid, self.share))


def _blade(blade: YamlPlace) -> Slender | None:
    """Return what a blade of either version has of its matrices."""
    if (own := blade.first("elastic_properties_mb.six_x_six")) is not None:
        K, M = (_rows(own / x) for x in ("stiff_matrix", "inertia_matrix"))
        axis, twist = own / "reference_axis", _grid(own / "twist", "rad")
        mu = np.zeros(6)
    else:
        own = blade.first("structure.elastic_properties", "elastic_properties")
        if own is None or "stiffness_matrix" not in own:
            return None
        K, M = _entries(own / "stiffness_matrix"), _inertia(own / "inertia_matrix")
        axis, twist = blade / "reference_axis", _grid(blade / "outer_shape" / "twist", "deg")
        place = own.first("structural_damping.mu")
        mu = np.zeros(6) if place is None else place.numbers("s")
        if place is not None and (mu.shape != (6,) or (mu < 0).any()):
            raise place.must("six numbers, not negative [s]", mu.tolist())
    w = mass_rows([symmetric_of(x) for x in M.values], M.where)
    stiffness = np.array([symmetric_of(x) for x in K.values])
    line = _Axis.of(axis)
    return Slender.of(
        line.points, K._replace(values=stiffness), M._replace(values=w),
        line.along(twist.checked("twist"))._replace(values=-twist.values), mu,
    )  # fmt: skip


def _rows(place: YamlPlace) -> Profile:
    """Return the matrices (k, 21) of version 1."""
    at, lists = (place / "grid").numbers("-"), [*(place / "values")]
    rows = [x.numbers("-") for x in lists]
    for x, row in zip(lists, rows, strict=True):
        if len(row) != 21:
            raise x.must("21 numbers, the upper triangle of a 6x6 matrix", f"{len(row)} numbers")
    if len(rows) != len(at):
        raise (place / "values").must(
            f"a list with one matrix for each of the {len(at)} of grid", f"{len(rows)} matrices"
        )
    return Profile(at, np.array(rows), lambda i: str(lists[i]))


def _entries(place: YamlPlace) -> Profile:
    """Return the stiffness (k, 21) of version 2."""
    columns = [_grid(place, "-", key) for key in _K]
    return columns[0]._replace(values=np.column_stack([x.values for x in columns]))


def _inertia(place: YamlPlace) -> Profile:
    """Return the mass matrices (k, 21) of version 2."""
    mass = _grid(place, "kg/m", "mass")
    x, y = (_grid(place, "m", key).values for key in ("cm_x", "cm_y"))
    edge, flap, polar, product = (
        _grid(place, "kg m", key).values for key in ("i_edge", "i_flap", "i_plr", "i_cp")
    )
    m, none = mass.values, np.zeros(len(mass.at))
    rows = (
        m, none, none, none, none, -m * y, m, none, none, none, m * x, m, m * y, -m * x, none,
        edge, -product, none, flap, none, polar,
    )  # fmt: skip
    return mass._replace(values=np.column_stack(rows))


def _tube(root: YamlPlace, part: YamlPlace) -> Slender:
    """Return a tower or monopile: tubes of one layer or several, thin against the radius."""
    shape = part.first("outer_shape_bem", "outer_shape") or part / "outer_shape"
    inside = part.first("internal_structure_2d_fem", "structure") or part / "structure"
    axis = part.first("reference_axis", "outer_shape_bem.reference_axis")
    line = _Axis.of(axis or part / "reference_axis")
    diameter = _grid(shape / "outer_diameter", "m").checked("outer_diameter")
    walls = [
        (_grid(x / "thickness", "m").checked("thickness"), _material(root, x / "material"))
        for x in inside / "layers"
    ]
    factor = _factor(inside)
    p = np.unique(np.concatenate([x.at for x in (diameter, factor, *(t for t, _ in walls))]))
    C, w = np.zeros((len(p), 6, 6)), np.zeros((len(p), 4, 4))
    radii = 0.5 * diameter.to(p)  # of the outside of the next layer
    for thickness, (young, shear, density) in walls:
        layer = zip(p, radii, thickness.to(p), density * factor.to(p), strict=True)
        for k, (x, r, s, rho) in enumerate(layer):
            try:
                tube = Section.tube(r, s, young=young, shear=shear, density=rho)
            except ValueError as error:
                raise ValueError(f"{inside / 'layers'}: station {x:g}: {error}") from None
            stretch, two, three, torsion, bend_x, bend_y = np.diag(tube.stiffness)
            C[k] += np.diag((two, three, stretch, bend_x, bend_y, torsion))
            w[k] += tube.mass_matrix
        radii = radii - thickness.to(p)

    def where(i: int) -> str:
        return f"{shape / 'outer_diameter'}, station {p[i]:g}"

    none = Profile(p, np.zeros(len(p)), where)
    return Slender.of(line.points, Profile(p, C, where), Profile(p, w, where), none)


def _factor(inside: YamlPlace) -> Profile:
    """Return the factor of the mass of a wall, one for all or at stations."""
    place = inside.first("outfitting_factor")
    if place is not None and "values" in place:
        return _grid(place, "-").checked("outfitting_factor")
    one = 1.0 if place is None else place.number("-", 1.0)
    return Profile(np.array((0.0, 1.0)), np.array((one, one)), str)


def _material(root: YamlPlace, name: YamlPlace) -> tuple[float, float, float]:
    """Return E, G [Pa] and density [kg/m^3] of an isotropic material."""
    for x in root / "materials":
        if (x / "name").text() == name.text():
            E, nu = (x / "E").number("Pa", 0.0), (x / "nu").number("-")
            G = (x / "G").number("Pa", 0.0) if "G" in x else E / (2 * (1 + nu))
            return E, G, (x / "rho").number("-", 0.0)
    raise name.must("the name of one of materials")


def _aero(root: YamlPlace, blade: YamlPlace) -> AeroBlade | None:
    """Return chord, twist and polars; lengths are along the reference axis."""
    shape = blade.first("outer_shape_bem", "outer_shape")
    if shape is None or "airfoils" not in root:
        return None
    second = _second(root)
    chord = _grid(shape / "chord", "m").checked("chord")
    twist = _grid(shape / "twist", "deg" if second else "rad").checked("twist")
    if (chord.values <= 0).any():
        i = int(np.argmax(chord.values <= 0))
        raise ValueError(f"{chord.where(i)}: chord must be positive [m], got {chord.values[i]:g}")
    axis = blade.first("reference_axis", "outer_shape_bem.reference_axis")
    line = _Axis.of(axis or blade / "reference_axis")
    length = Line("the reference axis", line.points, True).length
    at, names = _placed(shape)
    polars, centers = zip(*(_polar(root, x, second) for x in names), strict=True)
    p = np.unique(np.concatenate([chord.at, twist.at]))
    c = chord.to(p)
    if (pitch := shape.first("pitch_axis")) is not None:
        lead = _grid(pitch, "-").checked("pitch_axis").to(p) * c
    else:
        lead = _grid(shape / "section_offset_y", "m").checked("section_offset_y").to(p)
    center = np.interp(p, at, centers)
    offset = np.column_stack([0 * p, center * c - lead])
    return read_only_record(
        AeroBlade(
            line.along(Profile(p, p, str)).at * length,
            c,
            twist.to(p),
            offset,
            polars,
            line.along(Profile(at, at, str)).at * length,
            np.arange(len(at)),
        )
    )


def _placed(shape: YamlPlace) -> tuple[np.ndarray, list[YamlPlace]]:
    """Return where aerofoils stand, and their names."""
    if (old := shape.first("airfoil_position")) is not None:
        at, names = (old / "grid").numbers("-"), [*(old / "labels")]
        place = old / "grid"
    else:
        place = shape / "airfoils"
        at = np.array([(x / "spanwise_position").number("-") for x in place])
        names = [x / "name" for x in place]
    if len(at) != len(names) or not len(at) or (np.diff(at) <= 0).any():
        raise place.must("increasing places, one for each aerofoil [-]", at.tolist())
    return at, names


def _polar(root: YamlPlace, name: YamlPlace, second: bool) -> tuple[Polar, float]:
    """Return the first polar of an aerofoil, and its aerodynamic centre in chords."""
    for x in root / "airfoils":
        if (x / "name").text() != name.text():
            continue
        (table, *_) = [*(x / "polars")] or [x / "polars"]
        table = table if "re_sets" not in table else next(iter(table / "re_sets"))
        columns = [
            _of_angle(table, key, second) for key in (("c_l", "cl"), ("c_d", "cd"), ("c_m", "cm"))
        ]
        alpha = np.unique(np.concatenate([c.at for c in columns]))
        values = np.column_stack([np.interp(alpha, c.at, c.values) for c in columns])
        place = x.first("aerodynamic_center")
        return Polar(name.text(), alpha, values), 0.25 if place is None else place.number("-")
    raise name.must("the name of one of airfoils")


def _of_angle(table: YamlPlace, keys: tuple[str, str], second: bool) -> Profile:
    place = table.first(*keys) or table / keys[0]
    x = _grid(place, "-")
    if (np.diff(x.at) <= 0).any() or len(x.at) < 2:
        i = int(np.argmax(np.diff(x.at) <= 0)) + 1
        raise ValueError(f"{x.where(i)}: angles must increase, got {x.at[i]:g}")
    return x._replace(at=x.at * (np.pi / 180 if second else 1.0))
