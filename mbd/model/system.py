"""Floor 3. The description of a system: bodies, joints and forces by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, TypeVar

from mbd.parts.bodies import Body, Ground
from mbd.parts.door import vector
from mbd.parts.joints import Joint

if TYPE_CHECKING:
    from mbd.model.model import Model

__all__ = ["System"]

Part = TypeVar("Part")


class System:
    """Bodies, joints and forces, until ``build()``.

    Parameters
    ----------
    gravity : (3,) array [m/s^2]
        Default none; ``(0, 0, -9.81)`` on Earth with z up.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> bar = mbd.RigidBody("bar", mass=1.0, inertia=(1e-3, 0.1, 0.1), position=(0.5, 0, 0))
    >>> bar = system.add(bar)
    >>> hinge = system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    >>> system.build()
    Model(1 bodies, 1 joints, 6 velocities, 5 rows)
    """

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity = vector("System", "gravity", gravity, "m/s^2")
        self.ground = Ground()
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        self.forces: dict[str, Any] = {}

    def add(self, part: Part) -> Part:
        """Add a body, joint or force and return it."""
        name = getattr(part, "name", None)
        if isinstance(part, type) or not isinstance(name, str):
            raise TypeError(
                f"System.add: expected a body, joint or force, got {part!r}; for example "
                "system.add(mbd.RigidBody(...))"
            )
        if name in self.bodies or name in self.joints or name in self.forces or name == "ground":
            taken = ["ground", *self.bodies, *self.joints, *self.forces]
            raise ValueError(
                f"{name}: names must differ, there is already a part called {name!r}; names in "
                f"use: {', '.join(taken[:12])}"
            )
        if isinstance(part, Body):
            self.bodies[name] = part
            return part
        if not hasattr(part, "elements"):
            raise TypeError(f"System.add: expected a body, joint or force, got {part!r}")
        for body in part.bodies:  # type: ignore[attr-defined]
            if isinstance(body, Ground):
                if body is not self.ground:
                    raise ValueError(
                        f"{name}: is attached to the ground of another system; use system.ground"
                    )
            elif self.bodies.get(body.name) is not body:
                close = difflib.get_close_matches(body.name, self.bodies, 1)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                raise ValueError(
                    f"{name}: is attached to {body.name!r}, which was not added to this system"
                    f"{hint}; call system.add(body) first"
                )
        if isinstance(part, Joint):
            self.joints[name] = part
        else:
            self.forces[name] = part
        return part

    def build(self) -> Model:
        """Return the frozen model."""
        from mbd.model.build import build

        return build(self)

    def __getitem__(self, name: str) -> Any:
        for table in (self.bodies, self.joints, self.forces):
            if name in table:
                return table[name]
        known = [*self.bodies, *self.joints, *self.forces]
        raise KeyError(f"no part named {name!r}; there are {', '.join(known)}")

    def __repr__(self) -> str:
        return (
            f"System({len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.forces)} forces)"
        )
