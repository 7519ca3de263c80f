r"""Cross-sections of beams: stiffness and mass per length in section axes.

Axis 1 is along the beam, axes 2 and 3 span the section. With strains (stretch, two shears) and
curvatures (twist, two bendings) about the origin of the section,

.. math:: (N, M) = C\,(\Gamma, \kappa), \qquad
   w = \begin{bmatrix} \mu & \mu\eta^T \\ \mu\eta & E \end{bmatrix}, \quad
   E = \tfrac12\mathrm{tr}(\varrho)\,I - \varrho + \mu\,\eta\eta^T ,

:math:`\mu` the mass per length, :math:`\eta` the centre of mass in the section and
:math:`\varrho` the inertia per length about it.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from mbd.base.door import array, inertia_tensor, number, vector
from mbd.base.read_only import read_only
from mbd.base.recorded_call import Recorded, remembered_method

_BENDING = (0, 4, 5)  # stretch and two bendings


class Section(Recorded):
    """Stiffness and mass per length of a beam, in section axes.

    Parameters
    ----------
    stiffness : (6,) or (6, 6) array [N, N m, N m^2]
        (EA, GA2, GA3, GJ, EI2, EI3), or the full matrix of forces and moments by strains and
        curvatures about the origin of the section: symmetric, positive definite.
    mass : float [kg/m]
    inertia : (3,) or (3, 3) array [kg m]
        Per length, about the centre of mass. Default: of a section whose mass is spread as its
        stiffness, (mass EI2/EA + mass EI3/EA, mass EI2/EA, mass EI3/EA).
    center : (2,) array [m]
        Centre of mass along axes 2 and 3.
    outline : (n, 2) array [m], optional
        Corners of the section, for pictures. Default: the rectangle with the second moments of the
        stiffness, about its tension centre and along its principal axes.
    young : float [Pa], optional
        Of the material, for the stress along the beam in pictures.

    Examples
    --------
    >>> import mbd
    >>> steel = mbd.Section.rectangle(0.05, 0.02, young=210e9, poisson=0.3, density=7850)
    >>> round(steel.mass, 2), round(float(steel.stiffness[4, 4]), 1)
    (7.85, 7000.0)
    """

    __slots__ = ("center", "inertia", "mass", "outline", "stiffness", "young")

    def __init__(
        self, *, stiffness: Any, mass: float, inertia: Any = None, center: Any = (0.0, 0.0),
        outline: Any = None, young: float | None = None,
    ) -> None:  # fmt: skip
        self.stiffness = _stiffness(stiffness)
        self.mass = number("Section", "mass", mass, "kg/m", positive=True)
        self.center = vector("Section", "center", center, "m", 2)
        if inertia is None:
            two, three = (self.mass * self.stiffness[k, k] / self.stiffness[0, 0] for k in (4, 5))
            inertia = (two + three, two, three)
        self.inertia = inertia_tensor(
            "Section", inertia, "kg m", "of a flat section it is (a + b, a, b), per length"
        )
        self.outline = None if outline is None else _outline(outline)
        self.young = None
        if young is not None:
            self.young = number("Section", "young", young, "Pa", positive=True)

    @property
    def mass_matrix(self) -> np.ndarray:
        """The matrix w = [[mu, mu eta^T], [mu eta, E]], (4, 4) [kg/m, kg, kg m]."""
        eta = np.concatenate([[0.0], self.center])
        E = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        w = self.mass * np.outer(np.concatenate([[1.0], eta]), np.concatenate([[1.0], eta]))
        w[1:, 1:] += E
        return read_only(w)

    @property
    def corners(self) -> np.ndarray:
        """The outline (n, 2) [m], or the rectangle with the second moments of the stiffness."""
        if self.outline is not None:
            return self.outline
        (EA, S2, S3), (_, EI2, EI23), (_, _, EI3) = self.stiffness[np.ix_(_BENDING, _BENDING)]
        y, z = -S3 / EA, S2 / EA
        yy, yz, zz = EI3 / EA - y * y, -EI23 / EA - y * z, EI2 / EA - z * z
        turn = 0.5 * np.arctan2(np.copysign(2.0, yy - zz) * yz, abs(yy - zz))
        axes = np.array([(np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))])
        sizes = np.sqrt(12 * np.diag(axes @ [(yy, yz), (yz, zz)] @ axes.T))
        return read_only((y, z) + _rectangle(*sizes) @ axes)

    @classmethod
    @remembered_method
    def rectangle(
        cls, width: float, height: float, *, young: float, poisson: float | None = None,
        shear: float | None = None, density: float,
    ) -> Self:  # fmt: skip
        r"""Return a solid rectangle; width along axis 2, height along axis 3 [m].

        Shear factor 10 (1 + nu) / (12 + 11 nu) (Cowper 1966); torsion by Saint-Venant's series,

        .. math:: J = a b^3\Big(\tfrac13 - \frac{64}{\pi^5}\frac ba
                  \sum_{n\,odd} \frac{\tanh(n\pi a/2b)}{n^5}\Big), \quad a \ge b .

        Parameters
        ----------
        width, height : float [m]
        young : float [Pa]
        poisson : float [-]
            Or ``shear``, the shear modulus [Pa].
        density : float [kg/m^3]
        """
        w, h = _lengths("Section.rectangle", width=width, height=height)
        a, b = max(w, h), min(w, h)
        n = np.arange(1, 60, 2)
        series = (np.tanh(n * np.pi * a / (2 * b)) / n**5).sum()
        J = a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * series)
        shape = _Shape(w * h, w * h**3 / 12, h * w**3 / 12, J, _rectangle(w, h))
        of = _material("Section.rectangle", young, poisson, shear, density)
        return cls._solid(shape, of, 10 * (1 + of.nu) / (12 + 11 * of.nu))

    @classmethod
    @remembered_method
    def circle(
        cls, radius: float, *, young: float, poisson: float | None = None,
        shear: float | None = None, density: float,
    ) -> Self:  # fmt: skip
        """Return a solid circle; shear factor 6 (1 + nu) / (7 + 6 nu) (Cowper 1966).

        Parameters
        ----------
        radius : float [m]
        young : float [Pa]
        poisson : float [-]
            Or ``shear``, the shear modulus [Pa].
        density : float [kg/m^3]
        """
        (r,) = _lengths("Section.circle", radius=radius)
        inertia = np.pi * r**4 / 4
        shape = _Shape(np.pi * r**2, inertia, inertia, 2 * inertia, _ring(r))
        of = _material("Section.circle", young, poisson, shear, density)
        return cls._solid(shape, of, 6 * (1 + of.nu) / (7 + 6 * of.nu))

    @classmethod
    @remembered_method
    def tube(
        cls, radius: float, thickness: float, *, young: float, poisson: float | None = None,
        shear: float | None = None, density: float,
    ) -> Self:  # fmt: skip
        r"""Return a tube of an outer radius and a thickness [m].

        With m the ratio of inner to outer radius, the shear factor is
        6 (1 + nu)(1 + m^2)^2 / ((7 + 6 nu)(1 + m^2)^2 + (20 + 12 nu) m^2) (Cowper 1966).

        Parameters
        ----------
        radius, thickness : float [m]
        young : float [Pa]
        poisson : float [-]
            Or ``shear``, the shear modulus [Pa].
        density : float [kg/m^3]
        """
        r, s = _lengths("Section.tube", radius=radius, thickness=thickness)
        if s > r:
            raise ValueError(
                f"Section.tube: thickness must not exceed the radius {r:g} [m], got {s:g}"
            )
        ratio = (1 - s / r) ** 2  # m^2
        area, inertia = np.pi * r**2 * (1 - ratio), np.pi * r**4 / 4 * (1 - ratio**2)
        shape = _Shape(area, inertia, inertia, 2 * inertia, _ring(r))
        of = _material("Section.tube", young, poisson, shear, density)
        nu, x = of.nu, (1 + ratio) ** 2
        return cls._solid(shape, of, 6 * (1 + nu) * x / ((7 + 6 * nu) * x + (20 + 12 * nu) * ratio))

    @classmethod
    @remembered_method
    def from_plate(
        cls, width: float, thickness: float, *, young: float, poisson: float | None = None,
        shear: float | None = None, density: float,
    ) -> Self:  # fmt: skip
        r"""Return a wide strip of a plate; width along axis 2, thickness along axis 3 [m].

        A strip that is bent to a radius R over its thickness t, much wider than
        :math:`\sqrt{Rt}`, stays flat across and has the stiffness of the plate,

        .. math:: EI_2 = Dw, \quad GJ = 2\,(1 - \nu)\,Dw = \tfrac13 Gwt^3, \quad
                  D = \frac{Et^3}{12\,(1 - \nu^2)}

        (Timoshenko and Woinowsky-Krieger, Theory of Plates and Shells, 1959), with shear factors
        5/6 (Reissner). A narrower one is a ``rectangle``.

        Parameters
        ----------
        width, thickness : float [m]
        young : float [Pa]
        poisson : float [-]
            Or ``shear``, the shear modulus [Pa].
        density : float [kg/m^3]
        """
        w, t = _lengths("Section.from_plate", width=width, thickness=thickness)
        shape = _Shape(w * t, w * t**3 / 12, t * w**3 / 12, w * t**3 / 3, _rectangle(w, t))
        of = _material("Section.from_plate", young, poisson, shear, density)
        return cls._solid(shape, of, 5 / 6, flat=True)

    @classmethod
    def _solid(cls, shape: "_Shape", of: "_Material", factor: float, flat: bool = False) -> Self:
        """Return a section of one material with a shear factor.

        One that stays flat across is stiffer in its first bending.
        """
        E, G, rho = of.E, of.G, of.rho
        area, two, three, J, outline = shape
        EI2 = E * two / (1 - of.nu**2) if flat else E * two
        return cls(
            stiffness=(E * area, factor * G * area, factor * G * area, G * J, EI2, E * three),
            mass=rho * area, inertia=(rho * (two + three), rho * two, rho * three), outline=outline,
            young=E,
        )  # fmt: skip

    def __repr__(self) -> str:
        EA, *_, EI2, EI3 = np.diag(self.stiffness)
        return f"Section(EA={EA:.4g}, EI2={EI2:.4g}, EI3={EI3:.4g}, mass={self.mass:.4g})"


class _Shape(NamedTuple):
    """Area, second moments about axes 2 and 3, torsion constant [m^4], outline."""

    area: float
    two: float
    three: float
    J: float
    outline: np.ndarray


class _Material(NamedTuple):
    """Moduli [Pa], Poisson's ratio of shear factors, density [kg/m^3]."""

    E: float
    G: float
    nu: float
    rho: float


def _material(
    who: str, young: float, poisson: float | None, shear: float | None, density: float
) -> _Material:
    """Return the material that the arguments of a section say."""
    E = number(who, "young", young, "Pa", positive=True)
    rho = number(who, "density", density, "kg/m^3", positive=True)
    if (poisson is None) == (shear is None):
        raise ValueError(f"{who}: give poisson [-] or shear [Pa], one of the two")
    if shear is None:
        nu = number(who, "poisson", poisson, "-")
        if not -1.0 < nu <= 0.5:
            raise ValueError(f"{who}: poisson must be in (-1, 0.5] [-], got {nu:g}")
        return _Material(E, E / (2 * (1 + nu)), nu, rho)
    G = number(who, "shear", shear, "Pa", positive=True)
    return _Material(E, G, min(max(E / (2 * G) - 1, 0.0), 0.5), rho)


def _lengths(who: str, **lengths: Any) -> list[float]:
    return [number(who, name, x, "m", positive=True) for name, x in lengths.items()]


def _rectangle(width: float, height: float) -> np.ndarray:
    return np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * (width / 2, height / 2)


def _ring(radius: float) -> np.ndarray:
    angle = np.arange(24) * (2 * np.pi / 24)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _stiffness(value: Any) -> np.ndarray:
    C = array("Section", "stiffness", value, "6 or 6x6 numbers [N, N m^2]")
    if C.shape == (6,):
        C = np.diag(C)
    if C.shape != (6, 6) or not np.isfinite(C).all():
        got = f"shape {C.shape}" if C.shape != (6, 6) else "entries that are not finite"
        raise ValueError(
            f"Section: stiffness must be 6 or 6x6 finite numbers [N, N m^2], got {got}"
        )
    d = np.sqrt(np.abs(np.diag(C)))
    scaled = C / np.outer(d, d).clip(1e-300)
    if not (np.diag(C) > 0).all() or np.abs(scaled - scaled.T).max() > 1e-9:
        raise ValueError(
            "Section: stiffness must be symmetric with a positive diagonal (EA, GA2, GA3, GJ, EI2, "
            f"EI3) [N, N m^2], got the diagonal {np.diag(C).tolist()}; of what is rigid take a "
            "large number"
        )
    least = np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0]
    if least < 1e-12:
        raise ValueError(
            "Section: stiffness must be positive definite, its matrix with unit diagonal has the "
            f"eigenvalue {least:.3g}; check the couplings"
        )
    return 0.5 * (C + C.T)


def _outline(value: Any) -> np.ndarray:
    corners = array("Section", "outline", value, "(n, 2) numbers [m]")
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise ValueError(
            f"Section: outline must have the shape (n, 2) [m], n >= 3, got {corners.shape}"
        )
    if not np.isfinite(corners).all():
        raise ValueError(f"Section: outline must be finite [m], got {corners.tolist()}")
    return corners
