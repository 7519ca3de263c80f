r"""Prescribed motion: the pose of one frame in another follows laws of time.

.. math:: a_i\cdot(Q - P) - x_i(t) = 0,\qquad
   b_2\cdot\tau_3 = b_3\cdot\tau_1 = b_1\cdot\tau_2 = 0,\quad \tau_c = \sum_k R_{kc}(t)\,a_k

with the rotation vector :math:`\theta` of :math:`R = \exp(\tilde\theta)`. The reaction on the body
is what moves it: :math:`m\ddot x` less its weight, and :math:`J\dot\omega + \omega\times J\omega`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import label, number
from mbd.interactions.driven_rotation import DRIVEN_ROTATION, VALUES, WITH_RATES
from mbd.interactions.kind import Element
from mbd.interactions.laws import TICK, Law, check_motion, numbers_law, shape_of
from mbd.machine.buffer import MOMENT
from mbd.machine.jit import is_compiled, jit
from mbd.parts.coordinates import displacement_between, sum_row
from mbd.parts.drives import followed
from mbd.parts.joint import Joint, check_sides
from mbd.parts.part import Frame

_AXES = "xyz"
_EXPECTED = {
    "position": "three numbers or laws of time [m], or a function of t that returns (x, y, z), or "
    "(values, rates, second rates), 3x3",
    "rotation": "three numbers or laws of time [rad], or a function of t that returns a rotation "
    "vector, or it with rates and second rates, 3x3, or a scipy Rotation",
}


class PrescribedMotion(Joint):
    r"""The pose of a body follows laws of time: its position, its rotation, or both (6 rows).

    .. math:: a_i\cdot(Q - P) - x_i(t) = 0,\quad
              b_2\cdot\tau_3 = b_3\cdot\tau_1 = b_1\cdot\tau_2 = 0,\quad
              \tau_c = \sum_k (\exp\tilde\theta(t))_{kc}\,a_k

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        P and a1, a2, a3 are origin and axes of the first body, Q and b1, b2, b3 of the second,
        which is moved. A Frame (``body.frame(...)``) stands for its own origin and axes.
    position : three laws, or callable, optional [m]
        Components :math:`x_i` of Q from P in the axes of the first. Each is a number, None (free),
        ``ConstantSpeed``, ``SmoothStep``, ``Harmonic`` or a function of t as ``Drive`` takes it.
        Or one function ``f(t)``, Python or numba-jitted, that returns (x, y, z), or rows
        (x, y, z), their rates and their second rates. Default: the position is free.
    rotation : three laws, or callable, optional [rad]
        Components of the rotation vector :math:`\theta` of the second against the first, in the
        axes of either: :math:`R = \exp\tilde\theta`. Laws and function as for ``position``; the
        function may also return a scipy Rotation. Default: the rotation is free.

    Notes
    -----
    Given derivatives are checked. Those that are not given are taken by differences over 4 ms
    around t, as a drive does; of the rotation they are those of R, so that a rotation vector may
    jump by full turns. The motion at the start must agree with the laws, or let ``project=True``
    make it agree, from a pose within a right angle of the wanted one: one that is turned over is
    refused. The reaction ``solution[name].force`` and ``.moment`` is what moves the body.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> body = system.add(mbd.RigidBody("body", mass=2.0, inertia=(1, 2, 3)))
    >>> path = (mbd.Harmonic(0.1, 3.0), 0.0, None)
    >>> turn = (0.0, 0.0, mbd.ConstantSpeed(2.0))
    >>> system.add(mbd.PrescribedMotion("path", system.ground, body, position=path, rotation=turn))
    PrescribedMotion('path', 'ground', 'body')
    """

    with_axes = (False, False)

    def __init__(
        self, name: str, first: Any, second: Any, *, position: Any = None, rotation: Any = None
    ):
        self.name = label(name, "PrescribedMotion")
        check_sides(self.name, first, second)
        self.ends = (*(x if isinstance(x, Frame) else x.frame() for x in (first, second)),)
        self._check()
        if position is None and rotation is None:
            raise ValueError(
                f"{self.name}: give position= or rotation=, or both: {_EXPECTED['position']}"
            )
        for frame, what, motion in ((self.A, "axes", True), (self.B, "rotation", rotation)):
            if motion is not None and not frame.body.formulation.axes:
                raise ValueError(
                    f"{self.name}: {frame.name!r} is a point, it has no {what}; prescribe the "
                    "position of a point against a body or the ground"
                )
        self.position = () if position is None else self._positions(position)
        self.rotation = None if rotation is None else self._rotation(rotation)

    def _positions(self, position: Any) -> tuple[tuple[int, float, float, Any], ...]:
        """Return axis, constant, slope and law of every component that is not free."""
        laws = position if not callable(position) else self._components("position", position)
        _three(self.name, "position", laws)
        components = []
        for i, law in enumerate(laws):
            if law is not None:
                owner = f"{self.name}.{_AXES[i]}" if callable(law) else self.name
                components.append((i, *followed(owner, f"position {_AXES[i]}", law, "m")))
        if not components:
            raise ValueError(
                f"{self.name}: position must prescribe a component, got three times None; leave "
                "position= out"
            )
        return tuple(components)

    def _components(self, what: str, law: Callable[[float], Any]) -> tuple[Any, ...]:
        """Return the components of a law that gives all three, each as a law of its own."""
        shape = shape_of(_tried(self.name, what, law))
        if shape not in ((3,), (3, 3)):
            raise ValueError(
                f"{self.name}: {what} must be {_EXPECTED[what]}, got shape {shape} at t = 0"
            )
        return tuple(_component(law, i, shape == (3, 3)) for i in range(3))

    def _rotation(self, rotation: Any) -> tuple[float, Law]:
        """Return the tick of differences [s], 0 where derivatives are known, and the law."""
        owner = f"{self.name}.rotation"
        if callable(rotation):
            first = _tried(self.name, "rotation", rotation)
            if getattr(first, "as_rotvec", None) is not None:
                return TICK, numbers_law(owner, _values(lambda t: rotation(t).as_rotvec()), VALUES)
            parts = self._components("rotation", rotation)
            if shape_of(first) == (3,):
                return TICK, numbers_law(owner, _values(rotation), VALUES)
            for i, part in enumerate(parts):
                check_motion(f"{owner}.{_AXES[i]}", part, 2)
            return 0.0, numbers_law(owner, _flat(rotation), WITH_RATES)
        _three(self.name, "rotation", rotation)
        compiled = any(map(is_compiled, rotation))
        laws = [
            x if callable(x) else self._constant(i, x, compiled) for i, x in enumerate(rotation)
        ]
        with_rates = [self._derivatives(i, law) for i, law in enumerate(laws)]
        if all(with_rates):
            return 0.0, numbers_law(owner, _by_order(*laws), WITH_RATES)
        plain = [
            _component(law, 0, False) if rates else law
            for law, rates in zip(laws, with_rates, strict=True)
        ]
        return TICK, numbers_law(owner, _values(_together(*plain)), VALUES)

    def _constant(self, i: int, value: Any, compiled: bool) -> Any:
        """Return the law of a component that stays."""
        x = float(number(self.name, f"rotation {_AXES[i]}", value, "rad"))  # no dual in a law

        def law(t: float) -> Any:
            return x, 0.0, 0.0

        return jit(law) if compiled else law

    def _derivatives(self, i: int, law: Any) -> bool:
        """Tell whether a component of the rotation gives its derivatives, which are checked."""
        value = _tried(self.name, "rotation", law)
        if shape_of(value) == (3,):
            check_motion(f"{self.name}.rotation.{_AXES[i]}", law, 2)
        elif shape_of(value) != ():
            raise ValueError(
                f"{self.name}: rotation {_AXES[i]} must be a number [rad] or a law of time that "
                f"returns one, or (value, rate, second rate), got {value!r} at t = 0"
            )
        return shape_of(value) == (3,)

    def elements(self) -> list[Element]:
        """a_i.(Q - P) - x_i(t), then b2.tau3, b3.tau1, b1.tau2."""
        rows = []
        for i, constant, slope, law in self.position:
            along = displacement_between(self.name, _AXES[i], self.A, i, self.B)
            rows.append(
                sum_row((_AXES[i],), (along,), (1.0,), constant=constant, slope=slope, law=law)
            )
        if self.rotation is None:
            return rows
        tick, law = self.rotation
        ends = [f.end(i) for f in self.ends for i in range(3)]
        names, row_kinds = ("turn x", "turn y", "turn z"), (MOMENT,) * 3
        turn = Element(DRIVEN_ROTATION, ends, (tick,), rows=names, row_kinds=row_kinds, law=law)
        return [*rows, turn]


def _tried(owner: str, what: str, law: Callable[[float], Any]) -> Any:
    """Return what a law gives at t = 0."""
    try:
        return law(0.0)
    except Exception as error:
        raise ValueError(
            f"{owner}: {what} must be {_EXPECTED[what]}, got {shown(law)}, which raised "
            f"{type(error).__name__} at t = 0: {error}"
        ) from error


def _three(owner: str, what: str, laws: Any) -> None:
    """Refuse what is not three of something."""
    several = isinstance(laws, list | tuple) or (isinstance(laws, np.ndarray) and laws.ndim)
    if not several or len(laws) != 3:
        raise ValueError(f"{owner}: {what} must be {_EXPECTED[what]}, got {shown(laws)}")


def _either(function: Callable[..., Any], *laws: Any) -> Any:
    """Compile a function of laws if all of them are."""
    return jit(function) if all(map(is_compiled, laws)) else function


def _component(law: Any, i: int, rates: bool) -> Any:
    def value(t: float) -> Any:
        return law(t)[i]

    def with_rates(t: float) -> Any:
        x = law(t)
        return x[0][i], x[1][i], x[2][i]

    return _either(with_rates if rates else value, law)


def _together(x: Any, y: Any, z: Any) -> Any:
    def vector(t: float) -> Any:
        return x(t), y(t), z(t)

    return _either(vector, x, y, z)


def _by_order(x: Any, y: Any, z: Any) -> Any:
    """Return the law of values, rates and second rates of three laws, 9 numbers."""

    def numbers(t: float) -> Any:
        a, b, c = x(t), y(t), z(t)
        return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]

    return _either(numbers, x, y, z)


def _flat(law: Any) -> Any:
    """Return the law of 9 numbers of one that gives three rows."""

    def numbers(t: float) -> Any:
        a = law(t)
        return (
            a[0][0], a[0][1], a[0][2], a[1][0], a[1][1], a[1][2], a[2][0], a[2][1], a[2][2],
        )  # fmt: skip

    return _either(numbers, law)


def _values(law: Any) -> Any:
    """Return the law of 15 numbers, the vector at five times around t."""
    h = TICK

    def numbers(t: float) -> Any:
        a, b, c, d, e = law(t - 2 * h), law(t - h), law(t), law(t + h), law(t + 2 * h)
        return (
            c[0], c[1], c[2], a[0], a[1], a[2], b[0], b[1], b[2], d[0], d[1], d[2],
            e[0], e[1], e[2],
        )  # fmt: skip

    return _either(numbers, law)
