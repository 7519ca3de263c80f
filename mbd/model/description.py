"""The description of a system: bodies, joints and forces by name."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from mbd.base.checked import meant, shown
from mbd.base.door import vector
from mbd.base.tolerances import MODEL_FAR
from mbd.parts.bodies import Ground
from mbd.parts.joint import Joint
from mbd.parts.part import Body, Part

__all__ = ["Description", "lengths", "origin"]

SomePart = TypeVar("SomePart", bound=Part)


class Description:
    """Bodies, joints and forces by name, and gravity; see ``System``."""

    __slots__ = ("__weakref__", "_dotted", "_gravity", "bodies", "forces", "ground", "joints")

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity = gravity
        self.ground: Body = Ground()
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        self.forces: dict[str, Any] = {}
        self._dotted: dict[str, str] = {}  # what stands before a dot of a name, and the name

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall [m/s^2]."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = vector("System", "gravity", value, "m/s^2")

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            names = ("gravity", *(x for x in Description.__slots__ if x[0] != "_"))
            raise AttributeError(
                f"System: there is no {name!r}{meant(name, names)}; there are {', '.join(names)}"
            ) from None

    @property
    def parts(self) -> dict[str, Part]:
        """All parts by name: bodies, then joints, then forces, each as they were added."""
        return {**self.bodies, **self.joints, **self.forces}

    def add(self, part: SomePart) -> SomePart:
        """Add a body, joint or force and return it."""
        if not isinstance(part, Part):
            a_part = not isinstance(part, type) and callable(getattr(part, "elements", None))
            raise TypeError(
                f"System.add: expected a body, joint or force, got {shown(part)}; "
                + (
                    "derive its class from mbd.parts.part.Part, which declares what parts have"
                    if a_part
                    else "for example system.add(mbd.RigidBody(...))"
                )
            )
        name = part.name
        if self._named(name):
            taken = ["ground", *self.parts]
            raise ValueError(
                f"{name}: names must differ, there is already a part called {name!r}; names in "
                f"use: {', '.join(taken[:12])}"
            )
        dots = [i for i, x in enumerate(name) if x == "."]
        above = next((name[:i] for i in dots if self._named(name[:i])), None)
        below = self._dotted.get(name)
        if above is not None or below is not None:
            raise ValueError(
                f"{name}: {below or name!r} would be read as a quantity of the part "
                f"{above or name!r}; take a name that does not begin with that of another part "
                "and a dot"
            )
        for body in part.bodies:
            self._check_added(name, body)
        self._dotted |= {name[:i]: name for i in dots}
        table: dict[str, Part] = getattr(self, part.drawer)
        table[name] = part
        return part

    def _check_added(self, name: str, body: Body) -> None:
        """Refuse a body, of a part of some name, that is not of this system."""
        if body.moves and self.bodies.get(body.name) is not body:
            raise ValueError(
                f"{name}: is attached to {body.name!r}, which was not added to this system"
                f"{meant(body.name, self.bodies)}; call system.add(body) first"
            )
        if not body.moves and body is not self.ground:
            raise ValueError(
                f"{name}: is attached to the ground of another system; use system.ground"
            )

    def _named(self, name: str) -> bool:
        """Tell whether a part has this name."""
        return name in self.bodies or name in self.joints or name in self.forces or name == "ground"

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"System: a part is asked for by its name, got {shown(name)}")
        parts = self.parts
        if name not in parts:
            raise KeyError(f"no part named {shown(name)}; there are {', '.join(parts)}")
        return parts[name]

    def __repr__(self) -> str:
        return (
            f"System({len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.forces)} forces)"
        )


def lengths(system: Description) -> tuple[float, float]:
    """Return the extent of a system at the initial pose and the size of its bodies [m]."""
    places = np.array([b.position for b in system.bodies.values()])
    extent = float(np.ptp(places, axis=0).max())
    arms = sorted(
        arm
        for j in system.joints.values()
        for f in (j.A, j.B)
        if f.body is not system.ground and (arm := max(map(abs, f.position.tolist()))) > 0.0
    )
    length = max([extent, *arms[-1:]]) or 1.0
    return length, arms[len(arms) // 2] if arms else length


def origin(system: Description) -> np.ndarray:
    r"""Return the point near the system from which its model stores positions, (3,) [m].

    Round-off of a position is that of its distance from there; on rows met by positions it is a
    force of its size times :math:`m/h^2`. The point is zero unless the system is far from the
    inertial origin; coordinates are multiples of a power of two, differences to them exact.
    """
    length, _ = lengths(system)
    places = np.array([b.position for b in system.bodies.values()])
    middle = 0.5 * (places.min(0) + places.max(0))
    if np.abs(middle).max() < MODEL_FAR * length:
        return np.zeros(3)
    grid = 2.0 ** np.ceil(np.log2(length))
    return np.asarray(grid * np.round(middle / grid) + 0.0)
