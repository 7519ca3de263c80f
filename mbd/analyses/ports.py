r"""Inputs and outputs of small motions: columns and rows in the coordinates of the model.

An input is a load f on the rows of the residual, the test map of the face times a force or moment
of one newton or newton metre. An output is

.. math:: y = C_\delta\,\delta + C_w\,w + C_\mu\,\mu ,

in inertial axes, or in those of the frame where the base motion turns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH
from mbd.algebra.norms import norms
from mbd.base.checked import absent, meant, shown
from mbd.base.door import unit_vector, vector
from mbd.history.joints import JointHistory
from mbd.history.observed import gradient_of
from mbd.history.program import ProgramTables
from mbd.history.trajectory import Trajectory
from mbd.machine import buffer as m
from mbd.model.assembly import compliance
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.parts.joint import Joint
from mbd.parts.part import Applied, Coordinate, Part
from mbd.small_motions.face_maps import FaceMaps
from mbd.small_motions.small_motion import SmallMotion

_AXES = {"x": 0, "y": 1, "z": 2}
_SET = ("effort", "force", "moment")  # arguments of loads and motors
_COORDINATES = ("angle", "displacement")  # a joint without them says so


@dataclass(frozen=True)
class OutputRows:
    """Rows of outputs: labels, units and the three matrices."""

    labels: tuple[str, ...]
    unit: str
    position: np.ndarray
    velocity: np.ndarray
    multiplier: np.ndarray

    def component(self, i: int) -> "OutputRows":
        """Return one row."""
        pick = slice(i, i + 1)
        rows = self.position[pick], self.velocity[pick], self.multiplier[pick]
        return OutputRows(self.labels[pick], self.unit, *rows)


Output = str | tuple[Any, ...]


def _body(motion: SmallMotion, place: str) -> FaceMaps:
    """Return the maps of a face by name."""
    name, _, face = place.partition("/")
    return motion.maps[motion.model.bodies[name]].faces[int(face or 0)]


def face_at(model: Model, state: State, place: str) -> np.ndarray:
    """Return the face (4, 3) of a name."""
    name, _, face = place.partition("/")
    work = Workspace(model, state)
    work.evaluate()
    return work.faces(m.Y)[model.faces[name] + int(face or 0) + 1]


# --- inputs ---------------------------------------------------------------------------------------
Load = tuple[str, str, dict[str, np.ndarray]]  # label, unit, what it does to faces (4, 3) by name


def input_column(motion: SmallMotion, what: Any) -> tuple[str, str, np.ndarray]:
    """Return label, unit and load (n_v,) of one input, as a user names it."""
    label, unit, on_faces = input_on_faces(motion.model, motion.state, what)
    return label, unit, _through(motion, "Z", on_faces)


def _through(motion: SmallMotion, which: str, on_faces: dict[str, np.ndarray]) -> np.ndarray:
    """Return what forces on faces, or gradients, are along the velocities, (n_v,), by a map."""
    along = np.zeros(motion.model.n_v)
    for place, f in on_faces.items():
        body = _body(motion, place)
        along[body.v] += f.ravel() @ getattr(body, which)
    return along


def input_on_faces(model: Model, state: State, what: Any) -> Load:
    """Return label, unit and the forces on faces of one input, as a user names it."""
    system = model.system
    if isinstance(what, Coordinate):
        return _along(model, state, f"{what.joint}.{what.name}", what)
    if isinstance(what, tuple):
        return _at_point(model, what)
    part = system.parts.get(what) if isinstance(what, str) else what
    if isinstance(part, Part):
        return _of_part(model, state, part, part.name)
    if not isinstance(what, str):
        raise TypeError(
            "linearize: an input must be a load, motor or joint (object or name), or (body, point, "
            f"direction), got {shown(what)}"
        )
    name, axis = what, ""
    if what.rpartition(".")[2] in _AXES:
        name, _, axis = what.rpartition(".")
    stem, _, argument = name.rpartition(".")
    if argument in _SET and stem in system.forces:  # as it is set while a run goes on
        name = stem
    load = system.forces.get(name)
    if load is not None and load.applied is not None:
        label = what.removesuffix(f".{axis}")
        return _of_load(model, state, label, load.applied, _AXES.get(axis))
    if load is not None and not axis:
        return _of_part(model, state, load, what)
    names = [n for n, x in system.forces.items() if x.applied is not None or _motor(model, x)]
    names += [n for n, x in system.joints.items() if len(x.coordinates) == 1]
    raise ValueError(
        f"linearize: there is no input {shown(what)}; loads, motors and joints with one coordinate "
        f"are {', '.join(names) or 'none'}; or give (body, point, direction)"
    )


def _motor(model: Model, part: Part) -> bool:
    """Tell whether a part drives a coordinate by a load."""
    return part.drives is not None and part.name not in model.numbering.owners


def _of_part(model: Model, state: State, part: Part, label: str) -> Load:
    """Return a load of one unit, or that of a motor along the one coordinate of a joint."""
    if part.applied is not None:
        return _of_load(model, state, part.name, part.applied, None)
    if part.drives is not None and _motor(model, part):
        return _along(model, state, label, part.drives)
    if part.drives is not None:
        of = part.drives.joint
        raise ValueError(
            f"linearize: the {type(part).__name__} {part.name!r} is no input: it prescribes "
            f"{of!r}, which then has no motion of its own; leave it out and take {of!r} as the "
            "input, a motor in the joint whose load is given"
        )
    if len(part.coordinates) != 1:
        raise ValueError(
            f"linearize: {part.name!r} ({type(part).__name__}) cannot be an input; a load can, a "
            "motor, and a joint that leaves one coordinate free, along which a motor could drive"
        )
    (free,) = part.coordinates.values()
    return _along(model, state, part.name, free)


def _along(model: Model, state: State, label: str, free: Coordinate) -> Load:
    """Return the load of one unit along a coordinate of a joint: its derivatives by faces."""
    tables, n = ProgramTables(model), free.measure.n
    places = gradient_of(tables, free.measure, free.attachments, free.numbers)
    by_ends = tables.program(places).of_state(state).reshape(n, 3)
    by_faces = {x.place: np.zeros((4, 3)) for x in free.attachments if x.body != "ground"}
    for end, g in zip(free.attachments, by_ends, strict=True):
        if end.place in by_faces:
            by_faces[end.place] += np.outer(end.weights, g)
    return label, free.load_unit, by_faces


def _of_load(model: Model, state: State, name: str, load: Applied, axis: int | None) -> Load:
    """Return a load of one unit along its direction, or along one of its axes."""
    if axis is None:
        if not load.value.any():
            raise ValueError(
                f"linearize: the load {name!r} has no direction of its own (it is zero, or a "
                f"law of time); say which, {name + '.x'!r}"
            )
        u, label = load.value / norms(load.value), name
    else:
        u, label = np.eye(3)[axis], f"{name}.{'xyz'[axis]}"
    if load.body == "ground":
        return label, load.unit, {}
    y = face_at(model, state, load.body)
    if load.follow:
        u = u @ y[1:]
        u /= np.linalg.norm(u)  # of the size given, also in the axes of a body with a scale
    if not load.moment:
        return label, load.unit, {load.body: np.outer((1.0, *load.at), u)}
    scale = np.einsum("kc,kc->", y[1:], y[1:]) / 3  # what it does by small rotations
    on_axes = 0.5 * np.cross(u, y[1:]) / (scale or 1.0)
    return label, load.unit, {load.body: np.vstack([np.zeros(3), on_axes])}


def _at_point(model: Model, what: tuple[Any, ...]) -> Load:
    """Return a force of one newton on a point of a body along a direction."""
    if len(what) not in (2, 3):
        raise ValueError(
            "linearize: an input must be (body, direction) or (body, point, direction), got "
            f"{shown(what)}"
        )
    name = name_of_body(model, what[0])
    point = vector("linearize", "the point of an input", what[1], "m") if len(what) == 3 else None
    u = unit_vector("linearize", "the direction of an input", what[-1])
    where = (1.0, *(np.zeros(3) if point is None else point))
    return f"force on {name}", "N", {name: np.outer(where, u)}


def name_of_body(model: Model, body: Any) -> str:
    """Return the name of a body given as object or name."""
    name = body if isinstance(body, str) else getattr(body, "name", None)
    if not isinstance(name, str) or name not in model.bodies:
        raise ValueError(f"linearize: {absent('body ', name, model.bodies)}")
    return str(name)


def refuse_other_coordinates(model: Model, wanted: Iterable[str]) -> None:
    """Refuse names of coordinates that no joint leaves free."""
    joints = model.system.joints
    there = [f"{joint}.{x}" for joint in joints for x in joints[joint].coordinates]
    for name in wanted:
        if name not in there:
            raise ValueError(
                f"linearize: there is no coordinate {shown(name)}{meant(name, there)}; joints "
                f"leave free {', '.join(there) or 'none'}"
            )


# --- outputs --------------------------------------------------------------------------------------
_UNITS = {"position": "m", "velocity": "m/s", "rotation": "rad", "angular_velocity": "rad/s"}
_REACTIONS = {"force": "N", "moment": "N m"}


def output_rows(motion: SmallMotion, what: Output) -> OutputRows:
    """Return the rows of one output, as a user names it."""
    model = motion.model
    if isinstance(what, tuple):
        if len(what) not in (2, 3):
            raise ValueError(
                "linearize: an output must be (body, point) or (body, point, 'velocity'), got "
                f"{shown(what)}"
            )
        point = vector("linearize", "the point of an output", what[1], "m")
        quantity = what[2] if len(what) == 3 else "position"
        return _of_body(motion, name_of_body(model, what[0]), quantity, point)
    if not isinstance(what, str):
        raise TypeError(f"linearize: an output must be a name or (body, point), got {shown(what)}")
    if what in model.numbering.lam_labels:
        return _of_row(motion, what)
    stem, _, axis = what.rpartition(".")
    if axis in _AXES and stem.rpartition(".")[2] in (*_UNITS, *_REACTIONS):
        return output_rows(motion, stem).component(_AXES[axis])
    owner, _, quantity = what.rpartition(".")
    if owner in model.bodies and quantity in _UNITS:
        return _of_body(motion, owner, quantity, np.zeros(3))
    joint = model.system.joints.get(owner)
    if joint is not None and quantity in _REACTIONS:
        return _of_reaction(motion, joint, quantity)
    if joint is not None and quantity.removesuffix("_rate") in (*joint.coordinates, *_COORDINATES):
        return _of_coordinate(motion, joint, quantity)
    if what in model.numbering.v_labels:
        i = model.numbering.v_labels.index(what)
        return _rows(motion, (what,), "-", np.eye(model.n_v)[i : i + 1])
    raise ValueError(
        f"linearize: there is no output {shown(what)}; a body has {', '.join(_UNITS)}, a joint "
        "force, moment, and angle or displacement, each with '.x', '.y', '.z' for one component "
        "(as 'cart.position.x'); coordinates and rows have the labels of the model"
    )


def _rows(
    motion: SmallMotion, labels: tuple[str, ...], unit: str, position: Any = None,
    velocity: Any = None, multiplier: Any = None,
) -> OutputRows:  # fmt: skip
    """Return rows; what is not given is zero."""
    n, k = motion.model.n_v, len(labels)

    def full(x: Any, width: int) -> np.ndarray:
        return np.zeros((k, width)) if x is None else x

    return OutputRows(
        labels, unit, full(position, n), full(velocity, n), full(multiplier, motion.model.n_lam)
    )


def _of_body(motion: SmallMotion, name: str, quantity: Any, point: np.ndarray) -> OutputRows:
    """Return position, velocity, small rotation or angular velocity of a body."""
    if not isinstance(quantity, str) or quantity not in _UNITS:
        raise ValueError(
            f"linearize: a body has the outputs {', '.join(_UNITS)}, got {shown(quantity)} "
            f"of {name!r}"
        )
    body = motion.maps[motion.model.bodies[name]]
    if not body.axes and (quantity in ("rotation", "angular_velocity") or point.any()):
        raise ValueError(f"linearize: {name!r} is a point, it has a position and velocity only")
    n = motion.model.n_v
    P, V = np.zeros((3, n)), np.zeros((3, n))
    w = np.array([1.0, *point])
    if quantity == "position":
        P[:, body.v] = body.at(w, body.Y)
    elif quantity == "velocity":
        P[:, body.v], V[:, body.v] = body.at(w, body.D), body.at(w, body.Y)
    elif quantity == "rotation":
        P[:, body.v] = body.turn()
    else:
        # omega = sum d x d' / 2: the directors turn with the body, their rates with omega
        V[:, body.v] = body.turn()
        moved = np.cross(body.Y.reshape(4, 3, -1)[1:], body.yd[1:, :, None], axis=1).sum(0)
        scale = np.einsum("kc,kc->", body.y[1:], body.y[1:]) / 3
        P[:, body.v] = body.turn_of(body.D) + 0.5 * moved / scale
    labels = tuple(f"{name}.{quantity}.{c}" for c in "xyz")
    return _rows(motion, labels, _UNITS[quantity], P, V)


def _of_coordinate(motion: SmallMotion, joint: Part, quantity: str) -> OutputRows:
    """Return what a joint leaves free, or its rate."""
    what = quantity.removesuffix("_rate")
    if what not in joint.coordinates:
        raise ValueError(f"linearize: the joint {joint.name!r} has no {what}")
    free = joint.coordinates[what]
    row = _through(motion, "Y", _along(motion.model, motion.state, what, free)[2])
    labels = (f"{joint.name}.{quantity}",)
    if quantity != what:
        by_position = motion.A.T @ row
        if not motion.carried:  # the gradient changes with the pose
            near = _Near(motion, joint)
            by_position = near.slope(near.values(quantity)[0])[0]
        return _rows(motion, labels, f"{free.unit}/s", by_position[None], row[None])
    return _rows(motion, labels, free.unit, row[None])


def _of_row(motion: SmallMotion, label: str) -> OutputRows:
    """Return the multiplier of a row; that of a compliant one follows from positions."""
    i = motion.model.numbering.lam_labels.index(label)
    if motion.model.compliant[i]:
        B, C = compliance(motion.model, motion.state)
        return _rows(motion, (label,), "-", B[[i]].toarray() / C[i])
    return _rows(motion, (label,), "-", multiplier=np.eye(motion.model.n_lam)[i : i + 1])


class _Near:
    """Quantities of a joint at poses near a state: differences of order four along its bodies."""

    def __init__(self, motion: SmallMotion, joint: Any) -> None:
        model = self.model = motion.model
        self.state, self.joint = motion.state, joint
        joined = {body.name for body in joint.bodies}
        of = [np.arange(b.v.start, b.v.stop) for b in motion.maps if b.name in joined]
        self.columns = np.concatenate(of)
        self.steps = FOURTH * model.units[self.columns]
        self.poses = [
            displaced(model, self.state, at * h * np.eye(1, model.n_v, i)[0])
            for i, h in zip(self.columns, self.steps, strict=True)
            for at in (-2, -1, 1, 2)
        ]

    def values(self, what: str, lam: Any = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity at these poses, and at the state with each of some multipliers."""
        q = np.array([*(x.q for x in self.poses), *(self.state.q for _ in lam)])
        every = np.array([*(x.lam for x in self.poses), *lam])
        n, v = len(q), self.state.v
        poses = Trajectory(
            self.model, np.full(n, self.state.t), q, np.tile(v, (n, 1)), np.zeros((n, len(v))),
            every, last=self.state,
        )  # fmt: skip
        values = getattr(JointHistory(self.joint, poses), what).reshape(n, -1)
        return values[: len(self.poses)], values[len(self.poses) :]

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Return the derivative of what is at these poses, (k, n_v)."""
        moved = values.reshape(len(self.columns), 4, -1)
        slope = np.zeros((moved.shape[2], self.model.n_v))
        slope[:, self.columns] = np.einsum("i,nic->cn", [1.0, -8.0, 8.0, -1.0], moved)
        slope[:, self.columns] /= 12 * self.steps
        return slope


def _of_reaction(motion: SmallMotion, joint: Joint, quantity: str) -> OutputRows:
    """Return force [N] or moment [N m] of a joint on its second body.

    Linear in the multipliers; the attachments turn with the bodies, which enters by differences.
    """
    model, near = motion.model, _Near(motion, joint)
    owned = model.numbering.owners[joint.name]
    units = np.zeros((owned.stop - owned.start, model.n_lam))
    units[:, owned] = np.diag(np.where(model.compliant[owned], 0.0, 1.0))
    moved, by_multiplier = near.values(quantity, units)
    P = near.slope(moved)
    mu = np.zeros((3, model.n_lam))
    mu[:, owned] = by_multiplier.T
    labels = tuple(f"{joint.name}.{quantity}.{c}" for c in "xyz")
    return OutputRows(labels, _REACTIONS[quantity], P, np.zeros_like(P), mu)
