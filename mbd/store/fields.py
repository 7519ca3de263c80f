"""What results have labels: one table for data sets in memory, in files, and streamed.

Dimensions: ``time``, ``body``, ``joint``, ``freedom`` (of joints), ``reading`` (of motors, drives,
transmissions), ``row`` (of constraints), ``component`` (x, y, z), ``quaternion_component``
(w, x, y, z), ``coordinate`` (stored coordinates q), ``speed`` (velocities v).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.history.all_parts import Everything
from mbd.history.joint_coordinates import freedoms
from mbd.history.loads import all_loads
from mbd.history.units import MIXED, of_gap, of_rows, of_speeds, of_stored
from mbd.model.frozen import per_model
from mbd.model.workspace import Workspace

if TYPE_CHECKING:
    from mbd.model.model import Model

__all__ = ["EVENT_TIME", "SCHEMA", "Field", "coordinates", "fields", "happened", "sizes", "write"]

EVENT_TIME = {"units": "s", "long_name": "times at which events happened"}
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


@dataclass(frozen=True)
class Field:
    """One labelled array.

    Attributes
    ----------
    name : str
    dims : tuple of str
        The first one is time, except for numbers of the last instant.
    unit : str
        SI; "1" for a pure number, "mixed" where it differs from column to column: then there is a
        coordinate with the unit of each, ``speed_unit`` of ``speed``.
    meaning : str
    values : callable
        ``(everything) -> array``.
    frame : str
        Axes of the components, where there are any.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    meaning: str
    values: Callable[[Everything], np.ndarray]
    frame: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """What is stored beside the array."""
        found = {"units": self.unit, "long_name": self.meaning, "frame": self.frame}
        return {key: text for key, text in found.items() if text}


def _memory(x: Everything) -> np.ndarray:
    memory = x.trajectory.state.memory
    return np.zeros(0) if memory is None else memory


def _alg(x: Everything) -> np.ndarray:
    alg = x.trajectory.state.alg
    return np.full(x.model.n_v, np.nan) if alg is None else alg


def _bodies(what: str, unit: str, meaning: str, turning: bool = False) -> Field:
    """Return a vector of every body."""
    take = partial(Everything.of_bodies, what=what, width=(3,), turning=turning)
    return Field(what, ("time", "body", "component"), unit, meaning, take, _INERTIAL)


@per_model
def fields(model: Model) -> list[Field]:
    """Return all labelled arrays of the results of a model, time first of all."""
    system = model.system
    found = [Field("time", ("time",), "s", "time", lambda x: x.trajectory.t)]
    found += [_bodies(*row) for row in _BODY]
    if any(body.formulation.axes for body in system.bodies.values()):
        turn = "rotation from body to inertial axes, scalar first; NaN for a point mass"
        take = partial(Everything.of_bodies, what="quaternion", width=(4,), turning=True)
        found.append(Field("quaternion", ("time", "body", "quaternion_component"), "1", turn, take))
        found += [_bodies(*row, turning=True) for row in _TURN]
    if not all(body.formulation.rigid for body in system.bodies.values()):
        take = partial(Everything.of_bodies, what="scale", width=(), turning=True)
        found.append(Field("scale", ("time", "body"), "1", "length of the directors", take))
    if system.joints:
        at_joint = ("time", "joint", "component")
        found += [
            Field(
                "force", at_joint, "N", "reaction on the second body, at the joint",
                lambda x: x.reactions.force, _INERTIAL,
            ),
            Field(
                "moment", at_joint, "N m", "reaction on the second body, about the joint",
                lambda x: x.reactions.moment, _INERTIAL,
            ),
        ]  # fmt: skip
    if freedoms(model):
        found += [
            Field(
                "joint_coordinate", ("time", "freedom"), MIXED,
                "what a joint leaves free, in its freedom_unit; angles count turns",
                lambda x: x.freedoms[0],
            ),
            Field(
                "joint_rate", ("time", "freedom"), MIXED,
                "rate of a joint coordinate, in its freedom_unit per second",
                lambda x: x.freedoms[1],
            ),
        ]  # fmt: skip
    if all_loads(model).units:
        meaning = "load of a motor, drive, transmission or rope, in its reading_unit"
        found.append(Field("effort", ("time", "reading"), MIXED, meaning, lambda x: x.loads))
    if model.n_lam:
        meaning = "multiplier of each row, in its row_unit"
        found.append(
            Field("multipliers", ("time", "row"), MIXED, meaning, lambda x: x.trajectory.lam)
        )
    found += [
        Field("kinetic_energy", ("time",), "J", "kinetic energy", lambda x: x.energies[0]),
        Field(
            "potential_energy", ("time",), "J", "potential energy of gravity and elements",
            lambda x: x.energies[1],
        ),
        Field(
            "total_energy", ("time",), "J", "kinetic and potential",
            lambda x: x.energies[0] + x.energies[1],
        ),
        Field(
            "dissipated_energy", ("time",), "J", "taken by dampers since the first instant",
            lambda x: x.energies[2],
        ),
        Field(
            "work", ("time",), "J", "put in by loads, motors, drives since the first instant",
            lambda x: x.energies[3],
        ),
        Field(
            "linear_momentum", ("time", "component"), "N s", "linear momentum",
            lambda x: x.momenta[0], _INERTIAL,
        ),
        Field(
            "angular_momentum", ("time", "component"), "N m s", "momentum about the origin",
            lambda x: x.momenta[1], _INERTIAL,
        ),
        Field("gap", ("time",), of_gap(model), "largest violation of a row", lambda x: x.gap),
        Field(
            "q", ("time", "coordinate"), MIXED, "stored coordinates, in their coordinate_unit",
            lambda x: x.trajectory.q,
        ),
        Field(
            "v", ("time", "speed"), MIXED, "velocities of the formulations, in their speed_unit",
            lambda x: x.trajectory.v,
        ),
        Field(
            "a", ("time", "speed"), MIXED, "rates of v, in its speed_unit per second",
            lambda x: x.trajectory.a,
        ),
        Field(
            "last_alg", ("speed",), MIXED, "algorithmic acceleration at the last instant, as a",
            _alg,
        ),
    ]  # fmt: skip
    if _remembered(model):
        meaning = "angles that count turns, at the last instant"
        found.append(Field("last_memory", ("memory",), "rad", meaning, _memory))
    return found


def write(arrays: Any, first: int, x: Everything) -> None:
    """Write everything into arrays by name, in memory or in a file, from an instant on."""
    end = first + len(x.trajectory.t)
    for field in fields(x.model):
        if field.name in arrays:
            at = slice(first, end) if field.dims[0] == "time" else ...
            arrays[field.name][at] = field.values(x)


@per_model
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
        "reading": len(all_loads(model).units),
        "row": model.n_lam,
        "coordinate": model.n_q,
        "speed": model.n_v,
        "memory": _remembered(model),
    }


def happened(events: Sequence[Any]) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
    """Return events as coordinates: name -> (dimensions, values, attributes); empty for none."""
    if not events:
        return {}
    dims = ("event_time",)
    return {
        "event_time": (dims, np.array([x.t for x in events]), EVENT_TIME),
        "event_name": (dims, [x.name for x in events], {}),
    }


def coordinates(model: Model) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
    """Return the labels: name -> (dimensions, values, attributes)."""
    about = {"mass": {"units": "kg", "long_name": "mass"}}
    return {name: (*x, about.get(name, {})) for name, x in _labels(model).items()}


def _labels(model: Model) -> dict[str, tuple[tuple[str, ...], Any]]:
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
        "coordinate_unit": (("coordinate",), [u for body in bodies for u in of_stored(body)]),
        "speed": (("speed",), list(numbering.v_labels)),
        "speed_unit": (("speed",), of_speeds(numbering.v_kinds)),
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
    loads = all_loads(model).units
    if loads:
        found["reading"] = (("reading",), list(loads))
        found["reading_unit"] = (("reading",), list(loads.values()))
    if model.n_lam:
        owner = [""] * model.n_lam
        for name, rows in numbering.owners.items():
            owner[rows] = [name] * (rows.stop - rows.start)
        found["row"] = (("row",), list(numbering.lam_labels))
        found["owner"] = (("row",), owner)
        found["row_unit"] = (("row",), of_rows(model))
    return found
