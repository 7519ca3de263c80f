r"""Rows, potentials and gauges from a function of points and axes of bodies.

.. math:: u(x_1, \dots, x_n) = 0, \qquad F_a = -\frac{\partial V}{\partial x_a} .

The function is called once, with variables for what is attached to bodies: it may use arithmetic,
arrays and functions of numpy and math, other functions, plain or compiled by numba, and must be
smooth. Its derivatives are exact. Numbers that are to be varied are parameters of an
``mbd.Function``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from mbd.algebra import expressions as ex
from mbd.base.checked import function as callable_of
from mbd.base.checked import one_of, shown
from mbd.base.door import label
from mbd.base.dual import chained, one, plain
from mbd.base.function import Function
from mbd.base.read_only import read_only
from mbd.interactions.compliant_rows import compliant
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import Measure
from mbd.interactions.recorded import measure_of
from mbd.interactions.rows import row
from mbd.interactions.springs import potential
from mbd.parts.joint import at_its_position, compliance_of, frame_at
from mbd.parts.part import LOAD_UNITS, Coordinate, Frame, Part, listed

_TURN = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0
_SHIFT = np.array([0.7, -0.4, 0.9])


class Placed(np.ndarray):
    """A body or Frame as a function receives it: its position (3,) [m], an array.

    Components are inertial. Entries are variables until derivatives are taken.

    Attributes
    ----------
    axes : (3, 3) array [-]
        Its columns are the axes; a PointMass has none.
    """

    _axes: np.ndarray | None = None

    @classmethod
    def of(cls, values: Any, axes: bool) -> "Placed":
        """Return the place of a point that has axes or none: its position and three axes, (12,)."""
        place: Placed = ex.array(values[:3]).view(cls)
        if axes:
            place._axes = ex.array(values[3:]).reshape(3, 3).T
        return place

    @property
    def axes(self) -> np.ndarray:
        """The axes, as columns."""
        if self._axes is None:
            raise TypeError("axes are those of an argument of the function that is no PointMass")
        return self._axes

    def local(self, point: Any) -> np.ndarray:
        """Return the components (3,) of a point [m] in this place: from it, along its axes."""
        return self.axes.T @ (np.asarray(point) - np.asarray(self))


@dataclass(frozen=True)
class Recording:
    """A function of places, recorded for the attachments that it depends on.

    Attributes
    ----------
    measure : Measure
    ends : tuple of Frame
        Those that occur in it.
    attachments : tuple of Attachment
        The points and axes that occur in it.
    numbers : tuple of float
        Its parameters.
    expression, variables
        What it returns, and of what: components of attachments, then numbers.
    """

    measure: Measure
    ends: tuple[Frame, ...]
    attachments: tuple[Attachment, ...]
    numbers: tuple[float, ...]
    expression: ex.Operation
    variables: tuple[ex.Operation, ...]

    def at_start(self) -> np.ndarray:
        """Return what the attachments are at the initial pose, (n, 3)."""
        body = {x.name: x.body for x in self.ends}
        still = np.zeros(3), np.eye(3)
        poses = [body[a.body].face_pose(a.face) if a.body in body else still
                 for a in self.attachments]  # fmt: skip
        faces = [(x, *R.T) for x, R in poses]
        return np.einsum("nk,nki->ni", [a.weights for a in self.attachments], faces)

    def at(self, vectors: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient (n, 3) where the attachments are these (n, 3)."""
        at = plain(np.array([*vectors.flat, *self.numbers]))
        value, *g = self._at(at, self.variables[: vectors.size])
        return float(value), np.reshape(g, vectors.shape)

    def _at(self, at: np.ndarray, by: Sequence[Any]) -> np.ndarray:
        """Return the value and its derivatives by some variables, where all of them are at."""
        outputs = [self.expression, *ex.gradient(self.expression, by)]
        return ex.substituted(outputs, self.variables, at.tolist()).astype(float)

    @property
    def start(self) -> float:
        """Value at the initial pose."""
        at = np.array([*self.at_start().flat, *self.numbers])
        value, *g = self._at(plain(at), self.variables)
        return one(chained(value, g, at))

    @property
    def gradient(self) -> np.ndarray:
        """Gradient at the initial pose by the attachments of bodies that move, (n, 3)."""
        moving = {x.name for x in self.ends if x.body.moves}
        g = self.at(self.at_start())[1]
        return read_only(g[[a.body in moving for a in self.attachments]])

    @property
    def relative(self) -> bool:
        """Whether the function is the same after a rigid motion of all that it depends on.

        That is asked near the inertial origin, where no distance hides a change; the round-off of a
        function is far below the part of its terms that is told from none.
        """
        points = np.array([a.weights[:1] for a in self.attachments])
        pose = self.at_start()
        pose -= points * (points * pose).sum(0) / max(points.sum(), 1.0)
        moved = pose @ _TURN.T + points * _SHIFT
        (u, _), (v, g) = self.at(pose), self.at(moved)
        return bool(abs(u - v) <= 1e-9 * (abs(u) + np.abs(g * moved).sum()))


def recorded(owner: str, word: str, function: Any, on: Any, unit: str) -> Recording:
    """Return a function of places that `on` has, recorded; refuse what is none.

    `word` is the name of its measure, where it has no name of its own.
    """
    function = callable_of(owner, "function", function, "f(p, ...) -> number")
    frames = _frames(owner, on)
    parameters: Mapping[str, Any] = {}
    if isinstance(function, Function):
        function, parameters = function.function, function.parameters
    _check_arguments(owner, function, len(frames), parameters)
    places = [
        [ex.variable(f"argument {i + 1}[{j}]") for j in range(12)] for i in range(len(frames))
    ]
    numbers, handed = _as_variables(parameters)
    arguments = [
        Placed.of(x, frame.body.formulation.axes) for frame, x in zip(frames, places, strict=True)
    ]
    u = _returned(owner, function, arguments, handed)
    occur = ex.occurring([u])
    used = [
        (frame, axis, x[k : k + 3])
        for frame, x in zip(frames, places, strict=True)
        for axis, k in ((None, 0), (0, 3), (1, 6), (2, 9))
        if not occur.isdisjoint(x[k : k + 3])
    ]
    if not any(frame.body.moves for frame, *_ in used):
        raise ValueError(
            f"{owner}: its function does not depend on any body of on= that moves; let it return a "
            "number computed from one"
        )
    vectors = tuple(x for *_, three in used for x in three)
    own = getattr(function, "__name__", "<lambda>")
    recording = Recording(
        measure_of(word if own == "<lambda>" else own, u, vectors, tuple(numbers), unit),
        tuple(dict.fromkeys(frame for frame, *_ in used)),
        tuple(frame.end(axis) for frame, axis, _ in used),
        tuple(one(x) for v in parameters.values() for x in np.ravel(v)),
        u, (*vectors, *numbers),
    )  # fmt: skip
    if not recording.relative:
        recording = _from_ground(recording)
    if not np.isfinite(plain([recording.start, *recording.gradient.flat])).all():
        raise ValueError(
            f"{owner}: its function and its gradient must be finite at the initial pose, and are "
            f"not where its points and axes are {recording.at_start().tolist()}; describe the "
            "bodies elsewhere"
        )
    return recording


def _from_ground(recording: Recording) -> Recording:
    """Return a recording of the places as seen from the inertial origin, one more attachment.

    A model far from there stores all positions from a point near itself.
    """
    n = 3 * len(recording.attachments)
    vectors, numbers = recording.variables[:n], recording.variables[n:]
    origin = tuple(ex.variable(f"origin[{i}]") for i in range(3))
    points = [i for i in range(n) if recording.attachments[i // 3].weights[0]]
    from_there = [vectors[i] - origin[i % 3] for i in points]
    (u,) = ex.substituted([recording.expression], [vectors[i] for i in points], from_there)
    own = recording.measure
    return replace(
        recording, measure=measure_of(own.name, u, (*vectors, *origin), numbers, own.unit),
        attachments=(*recording.attachments, Attachment("ground", (1.0, 0.0, 0.0, 0.0))),
        expression=u, variables=(*vectors, *origin, *numbers),
    )  # fmt: skip


def _returned(owner: str, function: Any, arguments: Sequence[Any], handed: Any) -> ex.Operation:
    """Return the expression that a function returns."""
    try:
        result = ex.record(owner, function, *arguments, **handed)
    except TypeError:
        raise
    except Exception as error:
        raise ValueError(
            f"{owner}: its function raised {type(error).__name__}: {error}; it is called with "
            "variables, and must return a number computed from them"
        ) from error
    if len(result) != 1 or not isinstance(result[0], ex.Operation):
        what = f"{len(result)} values" if len(result) != 1 else shown(result[0])
        raise ValueError(
            f"{owner}: its function must return one number, computed from its arguments, got {what}"
        )
    return result[0]


def _frames(owner: str, on: Any) -> list[Frame]:
    """Return the frames that a function takes."""
    items = list(on) if isinstance(on, Sequence) and not isinstance(on, str) else [on]
    if not items:
        raise ValueError(f"{owner}: on must be bodies or Frames, got none")
    frames = [frame_at(owner, x, None) for x in items]
    at_its_position(owner, *frames)
    return frames


def _check_arguments(owner: str, function: Any, n: int, parameters: Mapping[str, Any]) -> None:
    """Refuse a function that does not take n places and the parameters by name."""
    try:
        signature = inspect.signature(getattr(function, "py_func", function))
    except ValueError:  # built-in functions do not tell
        return
    try:
        signature.bind(*range(n), **parameters)
    except TypeError as error:
        named = f" and the parameters {', '.join(parameters)}" if parameters else ""
        raise TypeError(
            f"{owner}: its function must take {n} argument{'s' * (n != 1)}, one for each of on="
            f"{named}, got {signature} ({error})"
        ) from None


def _as_variables(parameters: Mapping[str, Any]) -> tuple[list[ex.Operation], dict[str, Any]]:
    """Return variables for parameters, and these by name in the shapes of the parameters."""
    numbers: list[ex.Operation] = []
    handed: dict[str, Any] = {}
    for name, value in parameters.items():
        own = [ex.variable(f"{name}[{i}]") for i in range(np.size(value))]
        handed[name] = ex.array(own).reshape(np.shape(value)) if np.ndim(value) else own[0]
        numbers += own
    return numbers, handed


class Row(Part):
    r"""A constraint :math:`u(x_1, \dots, x_n) = 0`, u a function of places of bodies (1 row).

    Parameters
    ----------
    name : str
    function : callable or Function
        ``f(p, ...) -> number`` of a `Placed` for each entry of `on`, called once: smooth, of
        arithmetic, numpy and math. Parameters of a ``Function`` are numbers that may be varied.
    on : sequence of bodies and Frames
        A body stands for its origin; ``system.ground`` and its Frames may be among them.
    unit : {"m", "rad", "-", "m^2"}
        Of u.
    compliance : float [unit/(unit of load)], optional
        C, by which the row gives way, :math:`u = C\lambda`; default 0.

    Notes
    -----
    ``solution[name].load`` is :math:`-\lambda` [N, N m or N/m]: the bodies receive it times the
    gradient of u. Where the gradient vanishes, as that of :math:`p\cdot p` at zero, the row holds
    nothing.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, position=(1, 0, 0.1)))
    >>> bowl = mbd.Row("bowl", lambda p: p[2] - 0.1 * (p[0]**2 + p[1]**2), on=[ball])
    >>> system.add(bowl)
    Row('bowl', ['ball'])
    """

    reads: ClassVar[dict[str, float]] = {"load": -1.0}

    __repr__ = listed

    def __init__(
        self, name: str, function: Callable[..., Any], on: Any, *,
        unit: Literal["m", "rad", "-", "m^2"] = "m", compliance: float = 0.0,
    ) -> None:  # fmt: skip
        self.name = label(name, "Row")
        self.unit = one_of(self.name, "unit", unit, LOAD_UNITS)
        self.recording = recorded(self.name, "function", function, on, self.unit)
        self.ends, self.relative = self.recording.ends, self.recording.relative
        if not self.recording.gradient.any():
            raise ValueError(
                f"{self.name}: the gradient of its function must not be zero at the initial pose, "
                "where the row would hold nothing; describe the bodies elsewhere, or take a "
                "function that passes through zero there (no square of what is to be zero)"
            )
        self.units = {"load": LOAD_UNITS[unit]}
        per_load = f"{unit}/({LOAD_UNITS[unit]})"
        self.compliance = compliance_of(self.name, "compliance", compliance, per_load)

    def elements(self) -> list[Element]:
        """Return the row."""
        u, C = _coordinate(self), self.compliance
        if C:
            return [u.element(compliant, (0.0, 0.0, C), "function")]
        return [u.element(row, (0.0,), "function")]


class Load(Part):
    r"""The force of a potential V, a function of places of bodies: :math:`-\partial V/\partial x`.

    Its energy is potential energy of the solution.

    Parameters
    ----------
    name : str
    function : callable or Function
        ``V(p, ...) -> energy`` [J] of a `Placed` for each entry of `on`, called once: smooth, of
        arithmetic, numpy and math. Parameters of a ``Function`` are numbers that may be varied.
    on : sequence of bodies and Frames
        A body stands for its origin; ``system.ground`` and its Frames may be among them.

    Examples
    --------
    >>> import mbd
    >>> import numpy as np
    >>> system = mbd.System()
    >>> moon = system.add(mbd.PointMass("moon", mass=1.0, position=(1, 0, 0), velocity=(0, 1, 0)))
    >>> pull = system.add(mbd.Load("pull", lambda p: -1.0 / np.linalg.norm(p), on=[moon]))
    >>> year = mbd.simulate(system, t_end=2 * np.pi, step=1e-3)
    >>> bool(abs(year["moon"].position[-1] - (1, 0, 0)).max() < 1e-4)
    True
    """

    __repr__ = listed

    def __init__(self, name: str, function: Callable[..., Any], on: Any) -> None:
        self.name = label(name, "Load")
        self.recording = recorded(self.name, "potential", function, on, "J")
        self.ends, self.relative = self.recording.ends, self.recording.relative

    def elements(self) -> list[Element]:
        """Return the force."""
        V = self.recording
        return [Element(potential(V.measure), V.attachments, (1.0, *V.numbers))]


class Gauge(Part):
    """A function of places of bodies as a coordinate, on which springs and drives act.

    ``JointSpring``, ``JointFriction``, ``Motor``, ``Stop``, ``Drive`` and ``Coupler`` take it as
    they take a coordinate of a joint; ``solution[name].value``, ``.value_rate`` and
    ``.value_second_rate`` are its histories. It has no force of its own.

    Parameters
    ----------
    name : str
    function : callable or Function
        ``f(p, ...) -> number`` of a `Placed` for each entry of `on`, called once: smooth, of
        arithmetic, numpy and math. Parameters of a ``Function`` are numbers that may be varied.
    on : sequence of bodies and Frames
        A body stands for its origin; ``system.ground`` and its Frames may be among them.
    unit : {"m", "rad", "-", "m^2"}
        Of the value. An angle by ``arctan2`` jumps after half a turn, unlike that of a joint.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, position=(3, 4, 0)))
    >>> reach = system.add(mbd.Gauge("reach", lambda p: (p @ p) ** 0.5, on=[ball]))
    >>> spring = system.add(mbd.JointSpring("spring", reach, stiffness=100.0, reference=4.0))
    >>> round(reach.value.start, 12)
    5.0
    """

    __repr__ = listed

    def __init__(
        self, name: str, function: Callable[..., Any], on: Any, *,
        unit: Literal["m", "rad", "-", "m^2"] = "m",
    ) -> None:  # fmt: skip
        self.name = label(name, "Gauge")
        self.unit = one_of(self.name, "unit", unit, LOAD_UNITS)
        self.recording = recorded(self.name, "function", function, on, self.unit)
        self.ends = self.recording.ends

    @property
    def value(self) -> Coordinate:
        """Value of the function, as a coordinate."""
        return _coordinate(self)

    @property
    def coordinates(self) -> dict[str, Coordinate]:
        """The value."""
        return {"value": self.value}


def _coordinate(part: Row | Gauge) -> Coordinate:
    """Return the function as a coordinate."""
    u = part.recording
    return Coordinate(
        part.name, "value", part.unit, tuple(part.bodies), u.start, u.measure, u.attachments,
        u.numbers,
    )  # fmt: skip
