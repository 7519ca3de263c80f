"""Labels of modes, from what bodies move how."""

from dataclasses import dataclass

import numpy as np

from mbd.small_motions.eigenvalues import grows

_SHARE = 0.15  # of the kinetic energy, from which on a body is named
_BODIES = 2
_BENT = 0.2  # of the energy of a body, from which on it is called deformation


@dataclass(frozen=True)
class LabelledMotion:
    """Motion of a body in a mode, complex, inertial axes.

    ``share`` of the kinetic energy; ``move`` [m] of the centre of mass, ``turn`` [rad], the part
    ``rotation`` of the body's energy that is rotation, where the centre of mass is, and the part of
    the energy that is deformation.
    """

    name: str
    share: float
    move: np.ndarray
    turn: np.ndarray
    rotation: float
    center: np.ndarray
    axes: bool = True
    deformation: float = 0.0


def label(s: complex, bodies: list[LabelledMotion]) -> str:
    """Return a name such as "rotation of 'upper' about y"."""
    ranked = sorted(bodies, key=lambda b: -b.share)
    lead = ranked[0]
    free = s == 0.0
    whole = _as_one(bodies)
    if whole and (free or len(bodies) > 1):
        text = f"rigid {whole} of all bodies" if len(bodies) > 1 else f"{whole} of {lead.name!r}"
    else:
        shown = [b for b in ranked[:_BODIES] if b.share >= _SHARE] or [lead]
        text = " and ".join(_motion(b) for b in shown)
        if len(shown) == _BODIES:
            text += _phase(*shown)
    growth = ""
    if free:
        growth = "free "
    elif s.imag == 0.0:
        growth = "growing " if s.real > 0.0 else "decaying "
    elif grows(np.array(s)):
        growth = "unstable "
    return growth + text


def direction(u: np.ndarray) -> tuple[str, bool]:
    """Return the axis of a complex vector as text, and whether it goes round instead.

    For a vector that goes round (an orbit) the axis is the normal of the orbit.
    """
    size = float(np.vdot(u, u).real)
    if size == 0.0:
        return "", False
    values, vectors = np.linalg.eigh(np.outer(u, u.conj()).real)
    if values[1] > 0.1 * values[2]:
        normal = np.cross(u.real, u.imag)
        return _axis(normal), True
    return _axis(vectors[:, 2]), False


def _axis(x: np.ndarray) -> str:
    x = x / np.linalg.norm(x)
    best = int(np.argmax(np.abs(x)))
    if abs(x[best]) > 0.95:
        return "xyz"[best]
    x = x * np.sign(x[best])
    return "(" + ", ".join(f"{c:.2g}" for c in np.round(x, 2) + 0.0) + ")"


def _motion(b: LabelledMotion) -> str:
    """Return what a body does: translation, rotation, or a swing that is both."""
    if b.deformation > _BENT:
        return f"deformation of {b.name!r}"
    if b.rotation > 0.8:
        axis, orbit = direction(b.turn)
        return f"{'conical whirl' if orbit else 'rotation'} of {b.name!r} about {axis}"
    if b.rotation < 0.2:
        axis, orbit = direction(b.move)
        how = "whirl" if orbit else "translation"
        return f"{how} of {b.name!r} {'about' if orbit else 'along'} {axis}"
    axis, orbit = direction(b.turn)
    return f"{'conical whirl' if orbit else 'swing'} of {b.name!r} about {axis}"


def _phase(a: LabelledMotion, b: LabelledMotion) -> str:
    """Return how two bodies move against each other, if that is clear."""
    turning = min(a.rotation, b.rotation) >= 0.2
    u, w = (a.turn, b.turn) if turning else (a.move, b.move)
    size = float(np.linalg.norm(u) * np.linalg.norm(w))
    together = float(np.vdot(u, w).real) / size if size > 0.0 else 0.0
    if together > 0.7:
        return ", together"
    return ", against each other" if together < -0.7 else ""


def _as_one(bodies: list[LabelledMotion]) -> str:
    """Return "translation along x" or "rotation about y" if all bodies move as one, or ""."""
    n = len(bodies)
    if any(b.deformation > _BENT for b in bodies):
        return ""
    centers = np.array([b.center for b in bodies])
    about = centers.mean(0)
    rows, right = [], []
    for b in bodies:
        arm = b.center - about
        cross = np.array([[0, arm[2], -arm[1]], [-arm[2], 0, arm[0]], [arm[1], -arm[0], 0]])
        rows.append(np.hstack([np.eye(3), cross]))
        right.append(b.move)
        if b.axes:
            rows.append(np.hstack([np.zeros((3, 3)), np.eye(3)]))
            right.append(b.turn)
    A, y = np.concatenate(rows), np.concatenate(right)
    x = np.linalg.lstsq(A, y, rcond=1e-9)[0]
    if np.linalg.norm(A @ x - y) > 1e-3 * np.linalg.norm(y):
        return ""
    move, turn = x[:3], x[3:]
    extent = max(float(np.ptp(centers, axis=0).max()), 1e-12) if n > 1 else 0.0
    if np.linalg.norm(turn) * (extent or 1.0) < 1e-3 * np.linalg.norm(move):
        axis, orbit = direction(move)
        return f"{'whirl about' if orbit else 'translation along'} {axis}"
    if n == 1:
        b = bodies[0]
        return "" if 0.2 <= b.rotation <= 0.8 else _motion(b).replace(f" of {b.name!r}", "")
    axis, orbit = direction(turn)
    return f"{'conical whirl' if orbit else 'rotation'} about {axis}"
