"""Laws of a user: a Python or a numba function becomes an address in a table.

Law of time: ``f(t) -> 3 numbers``, or one. Law of a spring: ``f(u, rate, t) -> tension`` or
``(tension, d/du, d/drate)``; with a tension alone the derivatives are taken by central differences.
Law of a motion: ``f(t) -> value`` or ``(value, d/dt, d2/dt2)``; given derivatives are checked
against differences, those not given are taken by differences of fourth order.
"""

import ctypes
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, TypeGuard

import numpy as np

from mbd.algebra.vec import copy
from mbd.base.checked import number_or_array
from mbd.base.dual import plain, value_of
from mbd.base.function import Function
from mbd.base.tolerances import LARGEST
from mbd.interactions.measures import LAW_IN, LAW_OUT
from mbd.interactions.tables_of_time import TimeTable, polynomials
from mbd.machine import buffer as m
from mbd.machine.jit import (
    Kernel,
    address_at,
    external,
    external_of_table,
    ints,
    is_compiled,
    jit,
    law_call,
    vector_at,
)

_OF_TIME = ("t",)
_MANY = 15  # numbers that a law may give
STEP = 6e-6  # relative, the cube root of round-off
TICK = 2e-3  # s, of the differences in time
_TIMES = (0.0, 0.0137, 0.1071, 0.3319, 0.7129, 1.3871, 2.9173, 7.1931)  # where laws are checked [s]
WRONG = 1e-4  # relative difference that is no round-off


class LawError(RuntimeError):
    """A law of a user that raised; its cause is what it raised."""


Evaluate = Callable[[Any, Any, Any], None]


@dataclass
class Law:
    """A user's law: its address and what must stay alive while it is used.

    Parameters that a compiled function takes are numbers among the constants of a model, where
    compiled code reads them: other values of them are other constants, and nothing is compiled.

    An exception cannot pass through compiled code: a law that raises says so by what it returns to
    the kernel, which notes it in its work space. What a Python law raised is kept here, under the
    place of its outputs, which is that of one run alone; a compiled one is asked once more.

    Parameters
    ----------
    name : str
        Of the part.
    function : callable
    arguments : tuple of str
        ("t",) or ("u", "rate", "t").
    write : callable
        ``write(function)``: what evaluates a function at ``inputs``, with parameters in a tuple,
        and writes to ``outputs``.
    table : TimeTable, optional
        That in the place of the function: compiled code reads it, as ``tables_of_time`` says.
    of_motion : bool
        Whether it takes more than its ``arguments``, which say where it was evaluated: nobody but
        its kernel can ask it.
    reads : int
        What of the motion that is, in bits (``motion_loads.py``).
    shared : (kernel, addresses, keeper), optional
        The kernel of laws that differ by addresses, in the place of what ``write`` makes.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    write: Callable[[Callable[..., Any]], Evaluate]
    table: TimeTable | None = None
    of_motion: bool = False
    reads: int = 0
    shared: tuple[Kernel, np.ndarray, Any] | None = None
    raised: dict[int, BaseException] = field(default_factory=dict)
    address: int = field(init=False)
    keeper: Any = field(init=False)
    parameters: tuple[Any, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Get an address."""
        if self.table is not None:
            self.address, self.keeper = external_of_table(polynomials, self.table.numbers)
            return
        if self.shared is not None:
            self.address, self.keeper = external_of_table(*self.shared[:2])
            return
        if is_compiled(self.function):
            self.address, self.keeper = _compiled(self.function, self.write, ())
        elif _takes_numbers(self.function):
            handed_in = self._handed_in()
            self.parameters = tuple(x for some in handed_in for x in np.ravel(some).tolist())
            code = self.function.function, self.write, tuple(map(np.shape, handed_in))
            self.address, self.keeper = _compiled(*code)
        else:
            self.address, self.keeper = external(_python(self), compiled=False)

    def _handed_in(self) -> list[Any]:
        """Return the parameters of a compiled function in its order, and defaults between them."""
        if not _takes_numbers(self.function):
            return []
        inner: Any = self.function.function
        taken, own = inspect.signature(inner.py_func).parameters, self.function.parameters
        names = list(taken)[len(self.arguments) :]
        while names and names[-1] not in own:
            names.pop()
        return [own[x] if x in own else number_or_array(self.name, x, taken[x].default, "-")
                for x in names]  # fmt: skip

    def record(self, number: int, parameters: int) -> list[int]:
        """Return its record in tables: number in its model, and where its parameters are."""
        return [*m.halves(self.address), number, parameters]

    def at(self, values: Any) -> str:
        """Return the arguments of an evaluation as text."""
        pairs = zip(self.arguments, values, strict=False)
        text = ", ".join(f"{name} = {float(x):.9g}" for name, x in pairs)
        return text if self.of_motion else f"{text} s"

    def forget(self, F: np.ndarray) -> list[BaseException]:
        """Return what was raised for outputs in these floats, and forget it."""
        first = _place(F)
        places = [x for x in tuple(self.raised) if first <= x < first + F.nbytes]
        return [self.raised.pop(x) for x in places]

    def error(self, F: np.ndarray, parameters: int) -> BaseException:
        """Return the error of the work space whose floats these are, after a law that raised.

        `parameters`: where these are.
        """
        values = F[m.BAD_AT : m.BAD_AT + len(self.arguments)].tolist()
        kept = self.forget(F)
        if kept and not isinstance(kept[0], Exception):  # Ctrl-C
            return kept[0]
        cause, values = self._again(values, F[parameters:][: len(self.parameters)])
        cause = kept[0] if kept else cause
        what = f"{type(cause).__name__}: {cause}" if cause else "an error"
        what += ", or returned a memory that is not finite," * self.of_motion
        error = LawError(
            f"{self.name}: its law raised {what} (at {self.at(values)}); let it return finite "
            "numbers there, or end the run before"
        )
        error.__cause__ = cause
        return error

    def _again(
        self, values: list[float], parameters: np.ndarray
    ) -> tuple[BaseException | None, list[float]]:
        """Evaluate the law again; return what it raises and at which arguments."""
        if self.of_motion:
            return None, values
        last, handed_in, inner = [values], self._handed_in(), self.function
        if _takes_numbers(inner):
            inner = inner.function
        several = np.split(parameters, np.cumsum([np.size(x) for x in handed_in]))
        more = tuple(
            x.reshape(np.shape(own))[()] for own, x in zip(handed_in, several, strict=False)
        )

        def watched(*at: Any) -> Any:
            last[0] = list(at[: len(self.arguments)])
            return inner(*at)

        try:
            self.write(watched)(values, [0.0] * _MANY, more)
        except Exception as error:
            return error, last[0]
        return None, values

    def restless(self, F: np.ndarray) -> LawError:
        """Return the error of a memory that does not come to rest."""
        values = F[m.BAD_AT : m.BAD_AT + len(self.arguments)]
        return LawError(
            f"{self.name}: its memory does not come to rest, or keeps what it was (at "
            f"{self.at(values)}); let accept= with dt = inf return what is remembered after any "
            "time at this motion, or leave the memory as it is: settles=False, wake='frozen'"
        )

    def not_finite(self, F: np.ndarray) -> str:
        """Return the message that a noted law returned a value that is not finite."""
        values = F[m.BAD_AT : m.BAD_AT + len(self.arguments)]
        return (
            f"{self.name}: its law returned a value or derivative that is not finite at "
            f"{self.at(values)}, or beyond {LARGEST:g}; let it return smaller numbers there, or "
            "end the run before"
        )


def _takes_numbers(function: Any) -> TypeGuard[Function]:
    """Tell whether compiled code hands a function its parameters."""
    return isinstance(function, Function) and is_compiled(function.function)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with plain numbers where its parameters carry slopes."""
    if not _takes_numbers(function):
        return function
    values = {name: plain(x)[()] for name, x in function.parameters.items()}
    return partial(function.function, **values)


def noted(laws: Sequence[Law], I: np.ndarray, F: np.ndarray) -> Law | None:
    """Return the law that numbers of a run note as failed or not finite.

    `laws` are those of the model in their order, then others. Laws of one function have one
    address: the number after it tells them apart.
    """
    S = m.integers(F)
    if not S[m.BAD_HOW]:
        return None
    place = int(S[m.BAD_LAW])
    address, number = m.joined(I, place), int(I[place + m.LAW_NUMBER])
    return next((x for x in (*laws[number : number + 1], *laws) if x.address == address), None)


def check(laws: Sequence[Law], I: np.ndarray, F: np.ndarray) -> None:
    """Raise what a law has raised in a run of these numbers."""
    S = m.integers(F)
    how, law = S[m.BAD_HOW], noted(laws, I, F)
    if how not in (m.RAISED, m.NO_REST):
        return
    assert law is not None
    S[m.BAD_HOW] = 0
    at = int(I[S[m.BAD_LAW] + m.LAW_PARAMETERS])
    error = law.error(F, at) if how == m.RAISED else law.restless(F)
    for other in laws:
        other.forget(F)
    raise error


def _place(array: Any) -> int:
    """Return the address of floats."""
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return ctypes.addressof(array.contents)


def _python(law: Law) -> Callable[..., int]:
    evaluate, raised = law.write(law.function), law.raised

    def guarded(inputs: Any, outputs: Any, _: Any) -> int:
        try:
            evaluate(inputs, outputs, ())
        except BaseException as error:
            raised.setdefault(_place(outputs), error)
            return 1
        return 0

    return guarded


@lru_cache(maxsize=256)
def _compiled(
    function: Callable[..., Any], write: Callable[[Callable[..., Any]], Evaluate],
    shapes: tuple[tuple[int, ...], ...],
) -> tuple[int, Any]:  # fmt: skip
    """Return address and keeper of the code that all laws of a function share.

    `shapes` are those of its parameters.
    """
    evaluate, taken = jit(write(function)), _taken(shapes)

    def guarded(inputs: Any, outputs: Any, parameters: Any) -> int:
        try:
            evaluate(inputs, outputs, taken(parameters))
        except Exception:  # numba knows no other
            return 1
        return 0

    return external(guarded, compiled=True)


def _taken(shapes: Sequence[tuple[int, ...]], at: int = 0) -> Any:
    """Return what makes a tuple of parameters of these shapes of the numbers from a place on."""
    if not shapes:
        return jit(lambda _: ())
    shape, size = shapes[0], math.prod(shapes[0])
    others = _taken(shapes[1:], at + size)
    if not shape:
        return jit(lambda x: (x[at], *others(x)))
    return jit(lambda x: (vector_at(x, at, size).reshape(shape), *others(x)))


def _tried(owner: str, function: Callable[..., Any], names: str, *at: float) -> Any:
    """Return what a law gives, if it takes these arguments."""
    try:
        inspect.signature(getattr(function, "py_func", function)).bind(*at)
    except TypeError as error:
        raise TypeError(
            f"{owner}: its law must be a function f({names}), got {function!r} ({error})"
        ) from None
    except ValueError:  # built-in functions do not tell
        pass
    try:
        return _plain(function)(*at)
    except Exception as error:
        raise ValueError(
            f"{owner}: its law f({names}) raised {type(error).__name__}: {error} at "
            f"({', '.join(f'{x:g}' for x in at)}); let it return a value there"
        ) from error


def _alone(owner: str, value: Any, what: str) -> None:
    """Refuse what is no number."""
    try:
        float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: the law must return {what}, got {value!r}") from None


def _several(value: Any) -> bool:
    """Tell whether a law returns several numbers; an array of no dimension is one."""
    try:
        len(value)
    except TypeError:
        return False
    return True


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of what a law returns, None where it has none."""
    try:
        return np.shape(value)
    except ValueError:  # lists of different lengths
        return None


def _three(function: Callable[..., Any]) -> Evaluate:
    """Write three numbers of a time."""

    def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
        value = function(inputs[0], *more)
        outputs[0] = value[0]
        outputs[1] = value[1]
        outputs[2] = value[2]

    return evaluate


def _two(function: Callable[..., Any]) -> Evaluate:
    def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
        value = function(inputs[0], *more)
        outputs[0] = value[0]
        outputs[1] = value[1]
        outputs[2] = 0.0

    return evaluate


def _one(function: Callable[..., Any]) -> Evaluate:
    def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
        outputs[0] = function(inputs[0], *more)
        outputs[1] = 0.0
        outputs[2] = 0.0

    return evaluate


def differenced(function: Callable[..., Any]) -> Evaluate:
    """Write the value at a time and two derivatives by differences of fourth order."""

    def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
        t, h = inputs[0], TICK
        a, b, c = function(t - 2 * h, *more), function(t - h, *more), function(t, *more)
        d, e = function(t + h, *more), function(t + 2 * h, *more)
        outputs[0] = c
        outputs[1] = (8 * (d - b) - (e - a)) / (12 * h)
        outputs[2] = (16 * (b + d) - (a + e) - 30 * c) / (12 * h * h)

    return evaluate


def time_law(owner: str, function: Callable[[float], Any]) -> Law:
    """Prepare ``function(t) -> (x, y, z)``."""
    value = _tried(owner, function, "t", 0.0)
    if shape_of(value) != (3,):
        raise ValueError(
            f"{owner}: the law of time must return 3 components, got {value!r} at t = 0; "
            "return a tuple (x, y, z)"
        )
    return Law(owner, function, _OF_TIME, _three)


def number_law(owner: str, function: Callable[[float], float]) -> Law:
    """Prepare ``function(t) -> number``."""
    value = _tried(owner, function, "t", 0.0)
    if not isinstance(value, int | float):
        raise ValueError(f"{owner}: the law of time must return a number, got {value!r} at t = 0")
    return Law(owner, function, _OF_TIME, _one)


def numbers_law(owner: str, function: Callable[[float], Any], n: int) -> Law:
    """Prepare ``function(t) -> n numbers``, which the caller has tried."""
    return Law(owner, function, _OF_TIME, _several_of_time(n))


@cache
def _several_of_time(n: int) -> Callable[[Callable[..., Any]], Evaluate]:
    """Return what writes n numbers of a time."""

    def write(function: Callable[..., Any]) -> Evaluate:
        def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
            value = function(inputs[0], *more)
            for i in range(n):
                outputs[i] = value[i]

        return evaluate

    return write


def check_motion(owner: str, function: Callable[[float], Any], order: int) -> None:
    """Refuse derivatives that are not those of the law; a kink may lie near some of the times.

    Where the law raises, or is no number, there is nothing to compare.
    """
    worst, wrong, function = "", 0, _plain(function)
    for k in range(1, order + 1):
        wrong = 0
        for t in _TIMES:
            h = 1e-5 * (1 + t)
            try:
                derivative = float(function(t)[k])
                before, after = (float(function(t + s * h)[k - 1]) for s in (-1, 1))
            except Exception:
                continue
            if not np.isfinite((derivative, before, after)).all():
                continue
            difference = (after - before) / (2 * h)
            scale = max(
                abs(derivative), abs(difference), 1e-6 * (abs(before) + abs(after)) / h, 1e-9
            )
            if not abs(derivative - difference) <= WRONG * scale:
                wrong += 1
                worst = (
                    f"{'first' if k == 1 else 'second'} derivative at t = {t:g} s is "
                    f"{derivative:.9g}, but differences give {difference:.9g}"
                )
        if wrong > 2:
            raise ValueError(
                f"{owner}: the derivatives that the law returns are not those of its value: the "
                f"{worst}; correct them, or return the value alone"
            )


def motion_law(owner: str, function: Callable[[float], Any], order: int) -> Law:
    """Prepare ``function(t) -> value`` or (value, d/dt, ...) with `order` derivatives, or more."""
    trial = _tried(owner, function, "t", 0.0)
    many = _several(trial)
    if many and len(trial) not in (order + 1, 3):
        form = "(value, rate, second rate)" if order == 2 else "(value, rate)"
        raise ValueError(
            f"{owner}: the law of time must return a number or {form}, got {trial!r} at t = 0"
        )
    if many:
        check_motion(owner, function, order)
    else:
        _alone(owner, trial, "a number or (value, rate, second rate)")
    write = differenced if not many else _three if len(trial) == 3 else _two
    return Law(owner, function, _OF_TIME, write)


@cache
def _stiff(sign: float) -> Callable[[Callable[..., Any]], Evaluate]:
    """Return what writes a tension and its derivatives."""

    def write(function: Callable[..., Any]) -> Evaluate:
        def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
            value = function(inputs[0], inputs[1], inputs[2], *more)
            outputs[0] = sign * value[0]
            outputs[1] = sign * value[1]
            outputs[2] = sign * value[2]

        return evaluate

    return write


@cache
def _stiff_by_differences(sign: float) -> Callable[[Callable[..., Any]], Evaluate]:
    """Return what writes a tension, and its derivatives by central differences."""

    def write(function: Callable[..., Any]) -> Evaluate:
        def evaluate(inputs: Any, outputs: Any, more: Any) -> None:
            u, rate, t = inputs[0], inputs[1], inputs[2]
            du, dr = STEP * (1 + abs(u)), STEP * (1 + abs(rate))
            du2, dr2 = 2 * du * sign, 2 * dr * sign  # sign is 1 or -1
            outputs[0] = sign * function(u, rate, t, *more)
            outputs[1] = (function(u + du, rate, t, *more) - function(u - du, rate, t, *more)) / du2
            outputs[2] = (function(u, rate + dr, t, *more) - function(u, rate - dr, t, *more)) / dr2

        return evaluate

    return write


def spring_law(
    owner: str, function: Callable[[float, float, float], Any], u: float, sign: float = 1.0
) -> Law:
    """Prepare ``function(u, rate, t)``; u is a value to try it at, sign -1 for a push."""
    trial = _tried(owner, function, "u, rate, t", value_of(u), 0.0, 0.0)
    many = _several(trial)
    if many and len(trial) != 3:
        raise ValueError(
            f"{owner}: the law must return a tension, or (tension, d/du, d/drate), got {trial!r}"
        )
    if not many:
        _alone(owner, trial, "a number, or (number, d/du, d/drate)")
    write = _stiff(sign) if many else _stiff_by_differences(sign)
    return Law(owner, function, ("u", "rate", "t"), write)


@jit
def evaluate_law(I: Any, F: Any, law: int) -> None:
    """Run the law whose address is at I[law] on three inputs of the scratch space."""
    s = I[m.SCRATCH]
    evaluate_law_at(I, F, law, (s + LAW_IN, s + LAW_OUT, 3, s + LAW_IN))


@jit
def evaluate_now(I: Any, F: Any, law: int) -> int:
    """Run a law of time at the present instant; return where its outputs are."""
    s = I[m.SCRATCH]
    F[s + LAW_IN] = F[m.T]
    evaluate_law(I, F, law)
    return s + LAW_OUT  # type: ignore[no-any-return]


@jit
def evaluate_law_at(I: Any, F: Any, law: int, places: Any) -> None:
    """Run the law whose address is at I[law]; note the first that raises, or is not finite.

    After the address are the number of the law in its model and the place of its parameters.

    Places are those of inputs, of outputs, how many of these, and of three inputs that tell where.
    The value of one that fails is NaN: no step that needs it converges.
    """
    S, (first, out, n, told) = ints(F), places
    how = 0
    if law_call(address_at(I, law), F, first, out, I[law + m.LAW_PARAMETERS]) != 0:
        how = m.RAISED
        for i in range(n):
            F[out + i] = math.nan
    else:
        size = 0.0
        for i in range(n):
            size += abs(F[out + i])
        if not size <= LARGEST:  # nor if it is NaN
            how = m.NOT_FINITE
            F[out] = math.nan
    if how > S[m.BAD_HOW]:
        S[m.BAD_LAW], S[m.BAD_HOW] = law, how
        copy(F, m.BAD_AT, told, 3)
