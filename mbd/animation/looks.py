"""Default shapes of bodies: from the mass and from where joints hold them.

A body held at points around its centre of mass is bars between them. Any other rigid body is the
box that has its mass and inertia, with bars to the points that hold it. A point is a ball.
"""

import numpy as np

from mbd.model.model import Model
from mbd.parts.part import Body
from mbd.parts.shapes import Box, Capsule, Shape, Sphere

_THIN = 0.03  # least edge of a box, of its largest


def held_points(model: Model) -> dict[str, np.ndarray]:
    """Return the points of each body where joints and forces hold it, in its axes, each once."""
    by_body: dict[str, list[np.ndarray]] = {name: [] for name in model.nodes}
    for part in model.system.parts.values():
        for frame in part.ends if len(part.ends) == 2 else ():
            if frame.place in by_body:
                points = by_body[frame.name]
                near = 1e-6 * max([np.abs(frame.position).max(), *map(np.max, map(np.abs, points))])
                if not any(np.abs(p - frame.position).max() <= near for p in points):
                    points.append(frame.position)
    return {name: np.array(points).reshape(-1, 3) for name, points in by_body.items()}


def inertia_box(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Return edges and axes (columns) of the uniform box of the mass and the inertia of a body."""
    c = body.center_of_mass
    moments, axes = np.linalg.eigh(body.second_moments - body.mass * np.outer(c, c))
    edges = np.sqrt(12 * np.clip(moments, 0, None) / body.mass)
    turned = np.argsort(np.argmax(np.abs(axes), axis=0))  # nearest to the axes of the body
    edges, axes = edges[turned], axes[:, turned]
    axes = axes * np.where(np.diag(axes) < 0, -1.0, 1.0)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return np.maximum(edges, _THIN * edges.max()), axes


class Sizes:
    """Sizes of bodies [m]: of each one, and of a typical one.

    Attributes
    ----------
    points : dict of (k, 3) arrays
        Where each body is held, in its axes.
    typical : float [m]
    visible : float [m]
        Radius below which a bar would hardly be seen in the whole system.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.points = held_points(model)
        self._of: dict[str, float] = {}
        for name, body in model.nodes.items():
            corners = np.vstack([self.points[name], body.center_of_mass])
            extents = [float(np.linalg.norm(np.ptp(corners, axis=0)))]
            if body.formulation.axes:
                extents.append(float(np.linalg.norm(inertia_box(body)[0])))
            self._of[name] = max(extents)
        positive = [x for x in self._of.values() if x > 0] or self._between()
        self.typical = float(np.median(positive)) if positive else 1.0
        places = np.array([b.position for b in model.nodes.values()])
        self.visible = 1.5e-3 * float(np.linalg.norm(np.ptp(places, axis=0)))

    def _between(self) -> list[float]:
        """Return the lengths of what holds points together, or else their extent."""
        distances = []
        for part in self.model.system.parts.values():
            if len(part.ends) == 2:
                p, q = (f.start[0] for f in part.ends)
                distances.append(float(np.linalg.norm(q - p)))
        if not any(distances):
            places = np.array([b.position for b in self.model.nodes.values()])
            distances = [float(np.linalg.norm(np.ptp(places, axis=0))) / 5]
        return [x for x in distances if x > 0]

    def of(self, *names: str) -> float:
        """Return the size of the smallest of some bodies, within reason of the typical one."""
        sizes = [self._of[n] for n in names if self._of.get(n, 0.0) > 0] or [self.typical]
        return float(np.clip(min(sizes), 0.5 * self.typical, 2 * self.typical))


def looks(body: Body, sizes: Sizes) -> tuple[Shape, ...]:
    """Return the shapes of a body: its own, or else derived ones."""
    if body.shapes:
        return body.shapes
    if not body.formulation.axes:
        share = (body.mass / sizes.model.heaviest.mass) ** (1 / 3)
        return (Sphere(max(0.08 * sizes.typical * max(share, 0.4), 2 * sizes.visible)),)
    points, c = sizes.points[body.name], body.center_of_mass
    # neighbours differ a little: equal surfaces in one place would flicker
    thick = 1 - 0.06 * (sizes.model.bodies[body.name] % 4)
    slim = min(0.045 * sizes.of(body.name), 0.03 * sizes.typical)
    radius = thick * max(slim, sizes.visible)
    edges, axes = inertia_box(body)
    if len(points) >= 2:
        middle, extent = points.mean(0), float(np.linalg.norm(np.ptp(points, axis=0)))
        # an inertia that is only a number makes a box out of all proportion
        if np.linalg.norm(c - middle) <= 0.1 * extent or np.linalg.norm(edges) > 3 * extent:
            ends = [(points[0], points[1])] if len(points) == 2 else [(middle, p) for p in points]
            return tuple(_bar(a, b, radius) for a, b in ends)
    outside = (np.abs((points - c) @ axes) > 0.51 * edges).any(1)
    box = Box(edges, at=c, rotation=axes)
    return (box, *(_bar(p, c, 0.6 * radius) for p in points[outside]))


def _bar(a: np.ndarray, b: np.ndarray, radius: float) -> Shape:
    length = float(np.linalg.norm(b - a))
    if length <= 1e-9 * radius:
        return Sphere(radius, at=a)
    return Capsule(radius, length, at=(a + b) / 2, axis=b - a)
