"""Geodesic: a point slides over the Earth's ellipsoid without forces.

Lengths in equatorial radii of WGS 84, time in the same at speed one.
Source of the numbers: the first line of the test set for geodesics of C. F. F. Karney, 2010,
https://doi.org/10.5281/zenodo.32156, of J. Geodesy 87, 2013, pages 43-55: both ends and the distance
of 9398502.0434687 m, in high precision; the velocity at the end follows from its azimuth.
"""

import numpy as np

import mbd

RADIUS, FLATTENING = 6378137.0, 1.0 / 298.257223563  # of WGS 84 [m], [-]
TIME = 9398502.0434687 / RADIUS
RUN = {"t_end": TIME, "step": TIME / 50, "method": mbd.RadauCollocation()}
_SOURCE = "Karney's test set"


def _placed(latitude: float, longitude: float) -> np.ndarray:
    """Return the point at a latitude and a longitude [deg]."""
    phi, lam, square = *np.radians((latitude, longitude)), FLATTENING * (2.0 - FLATTENING)
    N = 1.0 / np.sqrt(1.0 - square * np.sin(phi) ** 2)
    level = N * np.cos(phi)
    return np.array((level * np.cos(lam), level * np.sin(lam), (1.0 - square) * N * np.sin(phi)))


def _heading(latitude: float, longitude: float, azimuth: float) -> np.ndarray:
    """Return the direction to an azimuth, from north to east [deg]."""
    phi, lam, alpha = np.radians((latitude, longitude, azimuth))
    north = np.array((-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)))
    return np.cos(alpha) * north + np.sin(alpha) * np.array((-np.sin(lam), np.cos(lam), 0.0))


_START, _AZIMUTH = (36.530042355041, 0.0), 176.125875162171
_END, _AZIMUTH_THERE = (-48.164270779097768864, 5.762344694676510456), 175.334308316285410561
REFERENCE = (
    ("point.position", TIME, tuple(_placed(*_END).tolist()), 2e-13, _SOURCE),
    ("point.velocity", TIME, tuple(_heading(*_END, _AZIMUTH_THERE).tolist()), 2e-13, _SOURCE),
    ("energy.total", TIME, 0.5, 1e-13, "conserved"),
)


def ellipsoid(p: np.ndarray, c: float) -> float:
    """Return what is zero on the ellipsoid of the polar radius c."""
    return (p[0] ** 2 + p[1] ** 2 + (p[2] / c) ** 2 - 1.0) / 2.0


def build() -> mbd.System:
    """Return the point on the ellipsoid."""
    system = mbd.System()
    point = system.add(
        mbd.PointMass(
            "point", mass=1.0, position=_placed(*_START), velocity=_heading(*_START, _AZIMUTH)
        )
    )
    surface = mbd.Function(ellipsoid, c=1.0 - FLATTENING)
    system.add(mbd.Row("earth", surface, on=[point], unit="m^2"))
    return system
