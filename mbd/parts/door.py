"""Floor 2. Checks at the door.

Every error says who, what must be which [unit], got what, what to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array", "inertia_tensor", "label", "number", "rotation_matrix", "unit_vector", "vector"]


def label(value: Any, what: str) -> str:
    """Return a usable name."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what}: name must be a non-empty string, got {value!r}; name it")
    return value


def number(owner: str, what: str, value: Any, unit: str, *, positive: bool | None = None) -> float:
    """Return a finite float; positive=True asks for > 0, False for >= 0."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}: {what} must be a number [{unit}], got {value!r}") from None
    if not np.isfinite(x):
        raise ValueError(f"{owner}: {what} must be finite [{unit}], got {x}")
    if positive is True and x <= 0:
        raise ValueError(f"{owner}: {what} must be positive [{unit}], got {x:g}")
    if positive is False and x < 0:
        raise ValueError(f"{owner}: {what} must not be negative [{unit}], got {x:g}")
    return x


def array(owner: str, what: str, value: Any, expected: str) -> np.ndarray:
    """Return a float array of any shape; what is not made of numbers is a TypeError."""
    try:
        if value is None:
            raise TypeError
        return np.array(value, float)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}: {what} must be {expected}, got {value!r}") from None


def vector(owner: str, what: str, value: Any, unit: str, size: int = 3) -> np.ndarray:
    """Return a finite (size,) array."""
    x = array(owner, what, value, f"{size} numbers [{unit}]")
    if x.shape != (size,):
        raise ValueError(f"{owner}: {what} must be {size} numbers [{unit}], got shape {x.shape}")
    if not np.all(np.isfinite(x)):
        raise ValueError(f"{owner}: {what} must be finite [{unit}], got {x.tolist()}")
    return x


def unit_vector(owner: str, what: str, value: Any) -> np.ndarray:
    """Return a direction at unit length."""
    x = vector(owner, what, value, "-")
    length = float(np.linalg.norm(x))
    if length < 1e-12:
        raise ValueError(f"{owner}: {what} must have a direction, got {x.tolist()}")
    if abs(length - 1.0) < 1e-15:
        return x  # what was written to a file and read again stays what it was
    return x / length


def rotation_matrix(owner: str, what: str, value: Any) -> np.ndarray:
    """Return an orthogonal (3, 3) array from a matrix or a scipy Rotation; None is identity."""
    if value is None:
        return np.eye(3)
    as_matrix = getattr(value, "as_matrix", None)
    given = as_matrix() if as_matrix is not None else value
    R = array(owner, what, given, "a scipy Rotation or a 3x3 matrix")
    if R.shape == (4,):
        raise ValueError(
            f"{owner}: {what} must be a scipy Rotation or a 3x3 matrix, got 4 numbers; the order "
            "of a quaternion is ambiguous, use Rotation.from_quat(q, scalar_first=True)"
        )
    if R.shape != (3, 3) or not np.all(np.isfinite(R)):
        got = f"shape {R.shape}" if R.shape != (3, 3) else R.tolist()
        raise ValueError(
            f"{owner}: {what} must be a scipy Rotation or a finite 3x3 matrix, got {got}"
        )
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(R) < 0:
        raise ValueError(
            f"{owner}: {what} must be orthogonal with determinant +1, got max|R'R - I| = "
            f"{error:.2g}, det = {np.linalg.det(R):.6g}; give a scipy Rotation"
        )
    if error > 1e-15:
        U, _, Vt = np.linalg.svd(R)
        R = U @ Vt
    return R


def inertia_tensor(owner: str, value: Any) -> np.ndarray:
    """Return the (3, 3) inertia about the centre of mass of a body that can exist [kg m^2]."""
    J = array(owner, "inertia", value, "3 or 3x3 numbers [kg m^2]")
    if J.shape == (3,):
        J = np.diag(J)
    if J.shape != (3, 3) or not np.all(np.isfinite(J)):
        got = f"shape {J.shape}" if J.shape != (3, 3) else np.array(value, float).tolist()
        raise ValueError(f"{owner}: inertia must be 3 or 3x3 finite numbers [kg m^2], got {got}")
    if np.abs(J - J.T).max() > 1e-9 * np.abs(J).max():
        raise ValueError(f"{owner}: inertia must be symmetric [kg m^2], got {J.tolist()}")
    J = 0.5 * (J + J.T)
    a, b, c = np.linalg.eigvalsh(J)
    if a <= 0:
        raise ValueError(
            f"{owner}: principal moments of inertia must be positive [kg m^2], got "
            f"({a:.6g}, {b:.6g}, {c:.6g}); for a mass without extent use PointMass"
        )
    if c > (a + b) * (1 + 1e-6):
        raise ValueError(
            f"{owner}: inertia violates the triangle inequality, the largest principal moment must "
            f"not exceed the sum of the others [kg m^2], got ({a:.6g}, {b:.6g}, {c:.6g}); is it "
            "taken about the centre of mass, in body axes?"
        )
    return J
