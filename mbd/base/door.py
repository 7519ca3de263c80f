"""Checks of arguments: names, numbers, vectors, rotations, mass and inertia.

Every error says who, what must be which [unit], got what, what to do.
"""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mbd.base.checked import floats, numbers, scalar, shown, sized, tell
from mbd.base.dual import norm, one, plain

AXES = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip
_LONGEST = 200  # characters of a name
_POLAR_STEPS = 3  # each squares what is left of an error, at first 1e-6
_UNUSABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, ends of lines


def label(value: Any, what: str) -> str:
    """Return a usable name: text that fits a line of a table, a file and a path in it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what}: name must be a non-empty string, got {shown(value)}; name it")
    if len(value) > _LONGEST:
        raise ValueError(
            f"{what}: name must not be longer than {_LONGEST} characters, got {len(value)}: "
            f"{shown(value[:40])} ..."
        )
    if value.isascii() and value.isprintable() and "/" not in value and "\\" not in value:
        return value
    bad = [x for x in value if x in "/\\" or unicodedata.category(x) in _UNUSABLE]
    if bad:
        raise ValueError(
            f"{what}: name must be without slashes and control characters, which files and tables "
            f"cannot hold, got {shown(bad[0])} in {value!r}; leave it out"
        )
    return value


def number(owner: str, what: str, value: Any, unit: str, *, positive: bool | None = None) -> float:
    """Return a finite float; positive=True asks for > 0, False for >= 0."""
    x = scalar(owner, what, value, unit)
    if positive is True and x <= 0:
        raise ValueError(f"{owner}: {what} must be positive [{unit}], got {x:g}")
    if positive is False and x < 0:
        raise ValueError(f"{owner}: {what} must not be negative [{unit}], got {x:g}")
    return x


def within(owner: str, what: str, value: Any, unit: str, least: float, most: float) -> float:
    """Return a float from least to most."""
    x = scalar(owner, what, value, unit)
    if not least <= x <= most:
        raise ValueError(f"{owner}: {what} must be in [{least:g}, {most:g}] [{unit}], got {x:g}")
    return x


def array(owner: str, what: str, value: Any, expected: str) -> np.ndarray:
    """Return a float array of any shape; what is not made of numbers is a TypeError."""
    try:
        return floats(value)
    except TypeError:
        raise TypeError(f"{owner}: {what} must be {expected}, got {shown(value)}") from None


def vector(owner: str, what: str, value: Any, unit: str, size: int = 3) -> np.ndarray:
    """Return a finite (size,) array."""
    return numbers(owner, what, value, ((size,),), unit)


def symmetric(owner: str, what: str, value: Any, unit: str) -> np.ndarray:
    """Return a finite symmetric (6, 6) array, of 6 numbers the diagonal one."""
    x = numbers(owner, what, value, ((6,), (6, 6)), unit)
    return _symmetric(owner, what, np.diag(x) if x.ndim == 1 else x, unit)


def _symmetric(owner: str, what: str, x: np.ndarray, unit: str) -> np.ndarray:
    """Return the symmetric part of a matrix, which must be all of it but round-off."""
    if np.abs(x - x.T).max() > 1e-9 * np.abs(x).max():
        i, j = np.unravel_index(int(np.argmax(np.abs(x - x.T))), x.shape)
        raise ValueError(
            f"{owner}: {what} must be symmetric [{unit}], got {x[i, j]:g} in row {i + 1}, column "
            f"{j + 1} and {x[j, i]:g} across the diagonal; what is not symmetric has no energy"
        )
    return 0.5 * (x + x.T)


def unit_vector(owner: str, what: str, value: Any) -> np.ndarray:
    """Return a direction at unit length, given at any length or by the name of an axis, "-z"."""
    if isinstance(value, str):
        if value not in AXES:
            raise ValueError(
                f"{owner}: {what} must be 3 numbers [-], or one of {', '.join(AXES)}, got "
                f"{shown(value)}"
            )
        value = AXES[value]
    x = vector(owner, what, value, "-")
    largest = max(map(abs, x.tolist()))
    if largest == 0.0:
        raise ValueError(f"{owner}: {what} must have a direction, got {x.tolist()}")
    length = norm(x)
    if abs(length - 1.0) < 1e-15 and x.dtype == float:
        return x  # what was written to a file and read again stays what it was
    if not 1e-100 < largest:  # squares would vanish
        x = x / largest
        length = norm(x)
    return x / length


def rotation_matrix(owner: str, what: str, value: Any) -> np.ndarray:
    """Return an orthogonal (3, 3) array from a matrix or a scipy Rotation; None is identity."""
    if value is None:
        return np.eye(3)
    expected = "a scipy Rotation or a 3x3 matrix"
    try:
        as_matrix = getattr(type(value), "as_matrix", None)
        R = floats(value if as_matrix is None else as_matrix(value))
    except Exception:  # also what the value's own methods raise
        raise TypeError(f"{owner}: {what} must be {expected}, got {shown(value)}") from None
    if R.shape == (4,):
        raise ValueError(
            f"{owner}: {what} must be a scipy Rotation or a 3x3 matrix, got 4 numbers; the order "
            "of a quaternion is ambiguous, use Rotation.from_quat(q, scalar_first=True)"
        )
    error, det = _deviation(R.tolist()) if R.shape == (3, 3) else (np.nan, np.nan)
    if not (error <= 1e-6 and det > 0):  # of what is not finite det is no number
        if R.shape != (3, 3) or not np.all(np.isfinite(plain(R))):
            got = f"shape {R.shape}" if R.shape != (3, 3) else R.tolist()
            raise ValueError(
                f"{owner}: {what} must be a scipy Rotation or a finite 3x3 matrix, got {got}"
            )
        raise ValueError(
            f"{owner}: {what} must be orthogonal with determinant +1, got max|R'R - I| = "
            f"{error:.2g}, det = {det:.6g}; give a scipy Rotation"
        )
    if R.dtype == object:
        for _ in range(_POLAR_STEPS):
            R = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)
    elif error > 1e-15:
        U, _, Vt = np.linalg.svd(R)
        R = U @ Vt
    return R


def _deviation(rows: list[list[float]]) -> tuple[float, float]:
    """Return max|R'R - I| and det R."""
    (a, b, c), (d, e, f), (g, h, i) = rows
    products = (
        a * a + d * d + g * g - 1, b * b + e * e + h * h - 1, c * c + f * f + i * i - 1,
        a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i,
    )  # fmt: skip
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return max(map(abs, products)), det


def inertia_tensor(
    owner: str, value: Any, unit: str = "kg m^2",
    remedy: str = "it is about the centre of mass, in body axes; of a point use PointMass",
) -> np.ndarray:  # fmt: skip
    """Return the (3, 3) inertia about the centre of mass of what can exist."""
    J = array(owner, "inertia", value, f"3 or 3x3 numbers [{unit}]")
    if J.shape == (3,):
        moments = J.tolist()
        J = np.diag(J)
        total = sum(moments)
        if 0.0 < min(moments) and max(moments) <= 0.5 * total < 1e99:
            tell(J, unit)
            return J
    if J.shape != (3, 3) or not np.all(np.isfinite(plain(J))):
        got = f"shape {J.shape}" if J.shape != (3, 3) else shown(value)
        raise ValueError(f"{owner}: inertia must be 3 or 3x3 finite numbers [{unit}], got {got}")
    sized(owner, "inertia", J, unit)
    J = _symmetric(owner, "inertia", J, unit)
    _check_moments(
        owner, "principal moments of inertia", np.linalg.eigvalsh(plain(J)), unit, remedy
    )
    return J


def _check_moments(owner: str, what: str, moments: np.ndarray, unit: str, remedy: str) -> None:
    """Refuse principal moments, the smallest first, that no body has."""
    low, middle, high = moments
    got = f"[{unit}], got ({low:.6g}, {middle:.6g}, {high:.6g}); {remedy}"
    if low <= 0:
        raise ValueError(f"{owner}: {what} must be positive {got}")
    if high > (low + middle) * (1 + 1e-6):
        raise ValueError(
            f"{owner}: inertia violates the triangle inequality: {what} must be positive and none "
            f"above the sum of the others {got}"
        )


_SAME = 1e-9  # relative to the largest entry of a block


def mass_properties(owner: str, matrix: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass [kg], centre of mass [m] and inertia about it [kg m^2] of a 6x6 mass matrix."""
    entries = array(owner, "mass matrix", matrix, "6x6 numbers [kg, kg m, kg m^2]")
    M = plain(entries)
    if M.shape != (6, 6) or not np.all(np.isfinite(M)):
        got = f"shape {M.shape}" if M.shape != (6, 6) else "entries that are not finite"
        raise ValueError(f"{owner}: mass matrix must be 6x6 finite numbers, got {got}")
    m = float(np.trace(M[:3, :3]) / 3)
    if not m > 0:
        raise ValueError(f"{owner}: mass must be positive [kg], got {m:g} in the mass matrix")
    sizes = np.sqrt(np.repeat([m, np.abs(M[3:, 3:]).max()], 3))
    i, j = np.unravel_index(
        np.argmax(np.abs(M - M.T) / np.outer(sizes, sizes).clip(1e-300)), M.shape
    )
    coupling = max(np.abs(M[3:, :3]).max(), np.abs(M[:3, 3:]).max())
    block = m if max(i, j) < 3 else coupling if min(i, j) < 3 else sizes[5] ** 2
    if abs(M[i, j] - M[j, i]) > _SAME * block:
        raise ValueError(
            f"{owner}: mass matrix must be symmetric, got {M[i, j]:.9g} in row {i + 1}, column "
            f"{j + 1} and {M[j, i]:.9g} in row {j + 1}, column {i + 1}"
        )
    M = 0.5 * (M + M.T)
    if np.abs(M[:3, :3] - m * np.eye(3)).max() > _SAME * m:
        raise ValueError(
            f"{owner}: the mass of a rigid body is the same in all directions: the upper left "
            f"block of the mass matrix must be m I [kg], got {M[:3, :3].tolist()}"
        )
    S = M[3:, :3]
    if np.abs(S + S.T).max() > _SAME * coupling:
        raise ValueError(
            f"{owner}: the lower left block of the mass matrix must be m tilde(c), which is skew "
            f"[kg m], got one with the symmetric part {(0.5 * (S + S.T)).tolist()}"
        )
    of_value = _about_center(M)
    m, c, J = of_value
    moments = np.linalg.eigvalsh(J)
    where = "moments about the centre of mass ({:.6g}, {:.6g}, {:.6g}) [m]".format(*c)
    if abs(moments[0]) < 1e6 * np.finfo(float).eps * m * (c @ c):
        raise ValueError(
            f"{owner}: the {where} are lost in the round-off of the mass matrix, "
            f"{moments.tolist()} [kg m^2] of {m * (c @ c):.3g}; give mass, inertia and "
            "center_of_mass, or the matrix about a nearer origin"
        )
    remedy = (
        "the lower right block of the mass matrix is the inertia about the origin, which is larger "
        "than that by m (c.c I - c c^T)"
    )
    _check_moments(owner, f"principal {where}", moments, "kg m^2", remedy)
    return of_value if entries.dtype == float else _about_center(0.5 * (entries + entries.T))


def _about_center(M: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre of mass and inertia about it of a 6x6 mass matrix."""
    m = one(np.trace(M[:3, :3]) / 3)
    c = np.array([M[5, 1], M[3, 2], M[4, 0]]) / m
    return m, c, M[3:, 3:] - m * (np.dot(c, c) * np.eye(3) - np.outer(c, c))


@contextmanager
def speaking_as(who: str, *instead_of: str) -> Iterator[None]:
    """Let errors of a function that another one calls begin with the name that the user wrote."""
    try:
        yield
    except (TypeError, ValueError) as error:
        owner, colon, rest = str(error).partition(":")
        if owner not in instead_of or type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{who}{colon}{rest}") from error.__cause__
