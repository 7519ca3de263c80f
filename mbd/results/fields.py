"""Floor 5. What results have labels: one table for data sets in memory, in files, and streamed.

Dimensions: ``time``, ``body``, ``joint``, ``freedom`` (of joints), ``row`` (of constraints),
``component`` (x, y, z), ``quaternion_component`` (w, x, y, z), ``coordinate`` (stored coordinates
q), ``speed`` (velocities v).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.model.model import Workspace
from mbd.results.freedoms import freedoms

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.results.solution import Solution

__all__ = ["SCHEMA", "Field", "coordinates", "fields", "sizes"]

SCHEMA = "mbd results 1"  # of names, dimensions and meanings; a new number where they change

_INERTIAL = "inertial axes"
_BODY = (
    # name, unit, meaning
    ("position", "m", "origin of the body frame"),
    ("velocity", "m/s", "velocity of the origin"),
    ("acceleration", "m/s^2", "acceleration of the origin"),
)
_TURN = (
    ("angular_velocity", "rad/s", "angular velocity; NaN for a point mass"),
    ("angular_acceleration", "rad/s^2", "angular acceleration; NaN for a point mass"),
)
_FREEDOM = (
    ("joint_coordinate", "what a joint leaves free, in its freedom_unit; angles count turns"),
    ("joint_rate", "rate of a joint coordinate, in its freedom_unit per second"),
)
_JOINT = (
    ("force", "N", "reaction on the second body, at the joint"),
    ("moment", "N m", "reaction on the second body, about the joint"),
)


@dataclass(frozen=True)
class Field:
    """One labelled array.

    Attributes
    ----------
    name : str
    dims : tuple of str
        The first one is time, except for numbers of the last instant.
    unit : str
        SI; "1" for a pure number, empty where it differs from row to row.
    meaning : str
    values : callable
        ``(solution) -> array``.
    frame : str
        Axes of the components, where there are any.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    meaning: str
    values: Callable[[Solution], np.ndarray]
    frame: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """What is stored beside the array."""
        found = {"units": self.unit, "long_name": self.meaning, "frame": self.frame}
        return {key: text for key, text in found.items() if text}


def _of_bodies(what: str, width: tuple[int, ...], turning: bool, s: Solution) -> np.ndarray:
    """Return one property of all bodies, (n, bodies, ...)."""
    bodies = s.model.system.bodies
    found = np.full((len(s.t), len(bodies), *width), np.nan)
    for i, (name, body) in enumerate(bodies.items()):
        if body.formulation.axes or not turning:
            found[:, i] = getattr(s.body(name), what)
    return found


def _of_joints(what: str, s: Solution) -> np.ndarray:
    """Return force or moment of all joints, (n, joints, 3)."""
    joints = s.model.system.joints
    found = np.empty((len(s.t), len(joints), 3))
    for i, name in enumerate(joints):
        found[:, i] = getattr(s.reactions[name], what)
    return found


def _of_freedoms(order: int, s: Solution) -> np.ndarray:
    """Return the free coordinates of joints, or their rates, (n, freedoms)."""
    return np.stack([pair[order] for pair in s.freedoms.values()], axis=1)


def _memory(s: Solution) -> np.ndarray:
    return np.zeros(0) if s.state.memory is None else s.state.memory


def _alg(s: Solution) -> np.ndarray:
    return np.full(s.model.n_v, np.nan) if s.state.alg is None else s.state.alg


def fields(model: Model) -> list[Field]:
    """Return all labelled arrays of the results of a model, time first of all."""
    system = model.system
    found = [Field("time", ("time",), "s", "time", lambda s: s.t)]
    for name, unit, meaning in _BODY:
        take = partial(_of_bodies, name, (3,), False)
        found.append(Field(name, ("time", "body", "component"), unit, meaning, take, _INERTIAL))
    if any(body.formulation.axes for body in system.bodies.values()):
        turn = "rotation from body to inertial axes, scalar first; NaN for a point mass"
        take = partial(_of_bodies, "quaternion", (4,), True)
        found.append(Field("quaternion", ("time", "body", "quaternion_component"), "1", turn, take))
        for name, unit, meaning in _TURN:
            take = partial(_of_bodies, name, (3,), True)
            found.append(Field(name, ("time", "body", "component"), unit, meaning, take, _INERTIAL))
    if not all(body.formulation.rigid for body in system.bodies.values()):
        take = partial(_of_bodies, "scale", (), True)
        found.append(Field("scale", ("time", "body"), "1", "length of the directors", take))
    if system.joints:
        for name, unit, meaning in _JOINT:
            take = partial(_of_joints, name)
            found.append(
                Field(name, ("time", "joint", "component"), unit, meaning, take, _INERTIAL)
            )
    if freedoms(model):
        for i, (name, meaning) in enumerate(_FREEDOM):
            take = partial(_of_freedoms, i)
            found.append(Field(name, ("time", "freedom"), "", meaning, take))
    if model.n_lam:
        meaning = "multiplier of each row; its unit is that of its force per unit of the row"
        found.append(Field("multipliers", ("time", "row"), "", meaning, lambda s: s.lam[:]))
    found += [
        Field("kinetic_energy", ("time",), "J", "kinetic energy", lambda s: s.energy.kinetic),
        Field(
            "potential_energy", ("time",), "J", "potential energy of gravity and linear springs",
            lambda s: s.energy.potential,
        ),
        Field("total_energy", ("time",), "J", "kinetic and potential", lambda s: s.energy.total),
        Field(
            "linear_momentum", ("time", "component"), "N s", "linear momentum",
            lambda s: s.momentum.linear, _INERTIAL,
        ),
        Field(
            "angular_momentum", ("time", "component"), "N m s", "momentum about the origin",
            lambda s: s.momentum.angular, _INERTIAL,
        ),
        Field("gap", ("time",), "", "largest violation of a row, m or 1", lambda s: s.gap),
        Field("q", ("time", "coordinate"), "", "stored coordinates", lambda s: s.q[:]),
        Field("v", ("time", "speed"), "", "velocities of the formulations", lambda s: s.v[:]),
        Field("a", ("time", "speed"), "", "their rates", lambda s: s.a[:]),
        Field("last_alg", ("speed",), "", "algorithmic acceleration at the last instant", _alg),
    ]  # fmt: skip
    if _remembered(model):
        meaning = "angles that count turns, at the last instant"
        found.append(Field("last_memory", ("memory",), "rad", meaning, _memory))
    return found


def _remembered(model: Model) -> int:
    """Return how many numbers the elements of a model remember."""
    memory = Workspace(model).store().memory
    return 0 if memory is None else len(memory)


def sizes(model: Model) -> dict[str, int]:
    """Return the length of all dimensions but time."""
    system = model.system
    return {
        "component": 3,
        "quaternion_component": 4,
        "body": len(system.bodies),
        "joint": len(system.joints),
        "freedom": len(freedoms(model)),
        "row": model.n_lam,
        "coordinate": model.n_q,
        "speed": model.n_v,
        "memory": _remembered(model),
    }


def coordinates(model: Model) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return the labels: name -> (dimensions, values)."""
    system, numbering = model.system, model.numbering
    bodies, joints = system.bodies.values(), system.joints.values()
    found: dict[str, tuple[tuple[str, ...], Any]] = {
        "component": (("component",), ["x", "y", "z"]),
        "quaternion_component": (("quaternion_component",), ["w", "x", "y", "z"]),
        "body": (("body",), list(system.bodies)),
        "mass": (("body",), np.array([body.mass for body in bodies])),
        "formulation": (("body",), [body.formulation.name for body in bodies]),
        "coordinate": (
            ("coordinate",),
            [f"{body.name}.{i}" for body in bodies for i in range(body.formulation.n_q)],
        ),
        "speed": (("speed",), list(numbering.v_labels)),
    }
    if joints:
        found["joint"] = (("joint",), list(system.joints))
        found["first"] = (("joint",), [joint.A.name for joint in joints])
        found["second"] = (("joint",), [joint.B.name for joint in joints])
        found["kind"] = (("joint",), [type(joint).__name__ for joint in joints])
    free = freedoms(model)
    if free:
        found["freedom"] = (("freedom",), list(free))
        found["freedom_unit"] = (("freedom",), [x.unit for x in free.values()])
    if model.n_lam:
        owner = [""] * model.n_lam
        for name, rows in numbering.owners.items():
            owner[rows] = [name] * (rows.stop - rows.start)
        found["row"] = (("row",), list(numbering.lam_labels))
        found["owner"] = (("row",), owner)
    return found
