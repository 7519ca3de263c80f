"""Laws of motion of a user: numba-jitted functions, whose arguments are told by their names.

``t`` [s], ``s`` [m], ``x`` (3,) [m], ``R`` (3, 3), ``v`` (3,) [m/s], ``omega`` (3,) [rad/s],
``reference`` (x, R, v, omega), ``memory`` (k,), of what a memory follows from ``dt`` [s], and
parameters and tables by names of their own. In compiled code arrays are views of the inputs, see
``motion_loads.py``. Functions and tables are called and read where they are, by their addresses:
what is between is compiled once, and kept, for all laws that take and return the same.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.base.checked import shown
from mbd.interactions import motion_loads as ml
from mbd.interactions.laws import STEP, WRONG, Law
from mbd.machine.jit import (
    PYTHON,
    Kernel,
    address_of,
    calling,
    floats_at,
    is_compiled,
    jit,
    law_of_addresses,
    law_on_arrays,
    user_function,
    vector_at,
)

Returns = Literal["force", "moment", "both"]
_FRAME = {
    "x": (ml.AT_X, "3)"), "R": (ml.AT_R, "9).reshape(3, 3)"), "v": (ml.AT_V, "3)"),
    "omega": (ml.AT_OMEGA, "3)"),
}  # fmt: skip
_BITS = {
    "x": ml.READS_X, "R": ml.READS_R, "v": ml.READS_V, "omega": ml.READS_OMEGA,
    "reference": ml.READS_REFERENCE,
}  # fmt: skip
_WORDS = ("load", "derivative", "accept")
_FORM = {
    "force": "a force, three numbers [N]",
    "moment": "a moment, three numbers [N m]",
    "both": "a force and a moment, (f, m) of three numbers each",
}


class LawOfMotion(NamedTuple):
    """Law of motion as a user gives it: functions, the sizes of what they take, and tables.

    Attributes
    ----------
    owner : str
    load : callable
    derivative, accept : callable or None
    returns : str
        "force", "moment" or "both".
    parameters : tuple of (str, int)
        Names and sizes, 0 of a number.
    tables : tuple of (str, tuple, bytes)
        Names, shapes and numbers.
    n_memory : int
    reference : bool
    along : bool
        Whether there is a length s.
    """

    owner: str
    load: Callable[..., Any]
    returns: Returns = "both"
    derivative: Callable[..., Any] | None = None
    accept: Callable[..., Any] | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    tables: tuple[tuple[str, tuple[int, ...], bytes], ...] = ()
    n_memory: int = 0
    reference: bool = False
    along: bool = True

    def prepared(self, inputs: np.ndarray) -> Law:
        """Return the law, tried where inputs (n, k) are those of the described pose."""
        words = tuple(self._taken())
        try:
            law = _law(self)
        except Exception as error:  # of numba, which says what it cannot make of it
            self._refuse(inputs[0], *words)
            lines = [x.strip() for x in str(error).splitlines() if x.strip()]
            reason = next((x for x in lines if "Error" not in x and "nopython" not in x), lines[0])
            raise TypeError(
                f"{self.owner}: load= must be a function that numba compiles and that returns "
                f"{_FORM[self.returns]}; numba says: {reason}"
            ) from error
        outputs = np.zeros(6 * 2 * ml.COLUMNS + ml.MOST)
        tables = [bytearray(x) for _, _, x in self.tables]
        for row in inputs:
            for word in words:
                row[ml.WHAT], n = self._question(word)
                outputs[:], before = 0.0, row.copy()
                failed = law_on_arrays(law.address, row, outputs)
                if not np.array_equal(before, row):
                    self._refuse_writing(word)
                if failed or not np.isfinite(outputs[:n]).all():
                    self._refuse(row, word)
                    got = "an error, as of a division by zero" if failed else outputs[:n].tolist()
                    raise ValueError(
                        f"{self.owner}: {word}= must return finite numbers, got {got} "
                        f"{self._where(row)}"
                    )
        if tables != [x for _, _, x in self.tables]:
            self._refuse_writing(*words)
        law.raised.clear()
        if self.derivative is not None:
            self._check_derivative(law, inputs)
        return law

    def _question(self, word: str) -> tuple[float, int]:
        """Return what an input says of a question, and how many numbers are its answer."""
        return {"load": (ml.ASK_LOAD, 6), "derivative": (ml.ASK_DERIVATIVE, 6 * self._columns),
                "accept": (ml.ASK_NEXT, self.n_memory)}[word]  # fmt: skip

    def _refuse(self, row: np.ndarray, *words: str) -> None:
        """Raise what functions raise where they are called as Python."""
        evaluate = self.in_python(*words)
        outputs = np.zeros(6 * 2 * ml.COLUMNS + ml.MOST)
        for word in words:
            row[ml.WHAT], _ = self._question(word)
            try:
                with np.errstate(all="ignore"):  # as where it is compiled
                    evaluate(row, outputs, ())
            except Exception as error:
                form = f" {_FORM[self.returns]}" if word == "load" else ""
                raise ValueError(
                    f"{self.owner}: {word}= raised {type(error).__name__}: {error} "
                    f"{self._where(row)}; it must return{form} there"
                ) from error

    def _refuse_writing(self, *words: str) -> None:
        """Refuse functions that write to an argument."""
        raise ValueError(
            f"{self.owner}: {' or '.join(words)}= must not write to what it is handed, which "
            "others read; let it take a copy, such as v.copy()"
        )

    def _where(self, row: np.ndarray) -> str:
        """Say where inputs are."""
        return "at the described pose" + f" (s = {row[ml.PLACE]:g} m)" * self.along

    def _check_derivative(self, law: Law, inputs: np.ndarray) -> None:
        """Refuse a derivative that is not that of the load; a kink may lie near some places."""
        rng, wrong, worst = np.random.default_rng(60427), 0, ""
        for trial in range(4):
            row = inputs[trial % len(inputs)].copy()
            firsts = (ml.SECTION, ml.REFERENCE)[: 2 if self.reference else 1]
            for first in firsts:
                row[first + ml.AT_V :][:6] += rng.uniform(-1.0, 1.0, 6)
            own = self._answer(law, row, ml.ASK_DERIVATIVE).reshape(6, -1)
            told = np.column_stack([self._by_differences(law, row, x) for x in firsts])
            size = np.maximum(np.abs(told).max(axis=1), np.abs(own).max(axis=1))[:, None]
            gap = np.abs(own - told) - WRONG * np.where(size > 0.0, size, 1.0)
            if gap.max() > 0.0:
                wrong += 1
                r, c = np.unravel_index(np.argmax(gap), gap.shape)
                by = f"{('x', 'theta', 'v', 'omega')[c // 3 % 4]}[{c % 3}]"
                by += " of the reference" if c >= ml.COLUMNS else ""
                worst = (
                    f"that of {'fm'[r // 3]}[{r % 3}] by {by} is {own[r, c]:.9g}, differences "
                    f"give {told[r, c]:.9g}"
                )
        if wrong > 2:
            raise ValueError(
                f"{self.owner}: derivative= is not that of load=: {worst}; correct it, or leave it "
                "out: differences in compiled code take its place"
            )

    def _answer(self, law: Law, row: np.ndarray, what: float) -> np.ndarray:
        """Return the answer of the law."""
        outputs = np.zeros(6 * 2 * ml.COLUMNS + ml.MOST)
        row[ml.WHAT] = what
        law_on_arrays(law.address, row, outputs)
        return outputs[: 6 if what == ml.ASK_LOAD else 6 * self._columns]

    def _by_differences(self, law: Law, row: np.ndarray, first: int) -> np.ndarray:
        """Return the derivatives (6, 12) by a frame."""
        R = row[first + ml.AT_R :][:9].reshape(3, 3)
        columns = []
        for c in range(ml.COLUMNS):
            sides = []
            kind, i = divmod(c, 3)
            for h in (-STEP, STEP):
                moved = row.copy()
                if kind == 1:
                    turned = np.cross(np.eye(3)[i], R.T).T
                    moved[first + ml.AT_R :][:9] += h * turned.ravel()
                else:
                    moved[first + (ml.AT_X, 0, ml.AT_V, ml.AT_OMEGA)[kind] + i] += h
                sides.append(self._answer(law, moved, ml.ASK_LOAD))
            columns.append((sides[1] - sides[0]) / (2 * STEP))
        return np.array(columns).T

    @property
    def _columns(self) -> int:
        return ml.COLUMNS * (2 if self.reference else 1)

    def _names(self, word: str) -> dict[str, tuple[str, Any]]:
        """Return code and type, as ``user_function`` has it, of what a function may take."""

        def of_frame(first: int) -> dict[str, tuple[str, Any]]:
            return {x: (f"vector_at(inputs, {first + i}, {n}", 2 if x == "R" else 1)
                    for x, (i, n) in _FRAME.items()}  # fmt: skip

        names = {"t": (f"inputs[{ml.TIME}]", 0), **of_frame(ml.SECTION)}
        if self.along:
            names["s"] = f"inputs[{ml.PLACE}]", 0
        if self.reference:
            codes, several = zip(*of_frame(ml.REFERENCE).values(), strict=True)
            names["reference"] = f"({', '.join(codes)})", several
        at = ml.NUMBERS
        for name, size in self.parameters:
            names[name] = (f"vector_at(inputs, {at}, {size})", 1) if size else (f"inputs[{at}]", 0)
            at += size or 1
        if self.n_memory:
            names["memory"] = f"vector_at(inputs, {at}, {self.n_memory})", 1
        at = len(_WORDS)
        for name, shape, _ in self.tables:
            sizes = [f"places[{at + 1 + i}]" for i in range(len(shape))]
            code = f"vector_at(floats_at(places[{at}]), 0, {' * '.join(sizes)})"
            names[name] = f"{code}.reshape(({', '.join(sizes)},))", len(shape)
            at += 1 + len(shape)
        if word == "accept":
            names["dt"] = f"inputs[{ml.ELAPSED}]", 0
        return names

    def _taken(self) -> dict[str, dict[str, tuple[str, Any]]]:
        """Return what each function that there is takes, in its order."""
        words = {"load": self.load, "derivative": self.derivative, "accept": self.accept}
        return {word: self._of(word, x) for word, x in words.items() if x is not None}

    def _of(self, word: str, function: Any) -> dict[str, tuple[str, Any]]:
        """Return what a function takes; refuse one that asks for others."""
        if not callable(function):
            raise TypeError(f"{self.owner}: {word}= must be a function, got {shown(function)}")
        if not (PYTHON or is_compiled(function)):
            raise TypeError(
                f"{self.owner}: {word}= must be jitted, since compiled code calls it, got "
                f"{shown(function)}; write @numba.njit above it"
            )
        names = self._names(word)
        taken = inspect.signature(getattr(function, "py_func", function)).parameters
        unknown = [x for x in taken if x not in names]
        if unknown:
            raise TypeError(
                f"{self.owner}: {word}= has an argument {unknown[0]!r}; arguments are told by "
                f"their names, here there are {', '.join(names)}"
            )
        return {x: names[x] for x in taken}

    def shared(self) -> tuple[Kernel, np.ndarray, Any]:
        """Return the kernel of laws of this form, addresses of functions and tables, a keeper."""
        taken, tables = self._taken(), [np.frombuffer(x) for _, _, x in self.tables]
        several = {word: user_function(getattr(self, word), [kind for _, kind in x.values()])
                   for word, x in taken.items()}  # fmt: skip
        places = [several[x][0] if x in several else 0 for x in _WORDS]
        forms = tuple((word, form) for word, (_, form, _) in several.items())
        kernel = _kernel(self._text(taken), forms)
        places += self._tables_at([address_of(x) for x in tables])
        return kernel, np.array(places, np.int64), (several, tables)

    def _tables_at(self, addresses: Sequence[int]) -> list[int]:
        """Return of each table its address, then its shape."""
        return [x for at, (_, shape, _) in zip(addresses, self.tables, strict=True)
                for x in (at, *shape)]  # fmt: skip

    def in_python(self, *words: str) -> Callable[[Any, Any, Any], None]:
        """Return the function of inputs and outputs that calls some of the functions as Python."""
        tables = [np.frombuffer(x) for _, _, x in self.tables]
        places = [*_WORDS, *self._tables_at(range(len(tables)))]

        def caller(function: Any) -> Callable[[Any, Any], Any]:
            return lambda _, several: function(*several)

        several = {word: getattr(self, word) for word in _WORDS}
        scope: dict[str, Any] = {
            "floats_at": tables.__getitem__, "vector_at": lambda F, i, n: F[i : i + n],
            **{word: caller(getattr(x, "py_func", x)) for word, x in several.items()},
        }  # fmt: skip
        taken = {word: x for word, x in self._taken().items() if word in words}
        evaluate = _function(self._text(taken), scope)
        return lambda inputs, outputs, _: evaluate(inputs, outputs, places)

    def _text(self, taken: Mapping[str, Mapping[str, tuple[str, Any]]]) -> str:
        """Return the text of a function of inputs, outputs and the places of functions, tables."""
        calls, lines = {}, []
        for word, some in taken.items():
            codes = "".join(f"{code}, " for code, _ in some.values())
            calls[word] = f"{word}(places[{_WORDS.index(word)}], ({codes}))"
        parts = {"both": "fm", "force": "f", "moment": "m"}[self.returns]
        if "load" in calls:
            lines += [f"    if inputs[{ml.WHAT}] == {ml.ASK_LOAD}:",
                      f"        {', '.join(parts)} = {calls['load']}"]  # fmt: skip
        for i, x in enumerate("fm" if "load" in calls else ""):
            if x in parts:
                word = "a force" if x == "f" else "a moment"
                lines += [f"        if len({x}) != 3:",
                          f"            raise ValueError('{word} has three numbers')"]  # fmt: skip
            lines += [f"        outputs[{3 * i + j}] = {f'{x}[{j}]' if x in parts else '0.0'}"
                      for j in range(3)]  # fmt: skip
        if "derivative" in calls:
            n = self._columns
            lines += [
                f"    if inputs[{ml.WHAT}] == {ml.ASK_DERIVATIVE}:",
                f"        J = {calls['derivative']}",
                f"        if J.shape != (6, {n}):",
                f"            raise ValueError('the derivative must have the shape (6, {n}): f and "
                "m by x, theta, v and omega')",
                f"        for i in range(6):\n            for j in range({n}):",
                f"                outputs[{n} * i + j] = J[i, j]",
            ]
        if "accept" in calls:
            lines += [
                f"    if inputs[{ml.WHAT}] == {ml.ASK_NEXT}:",
                f"        new = {calls['accept']}",
                f"        if len(new) != {self.n_memory}:",
                f"            raise ValueError('the memory has {self.n_memory} numbers')",
                *(f"        outputs[{i}] = new[{i}]" for i in range(self.n_memory)),
            ]
        return "\n".join(lines)


def _function(text: str, scope: dict[str, Any], form: str = "") -> Callable[..., Any]:
    """Return the function of a text; those of another form have other names."""
    name = f"law_of_motion_{hashlib.sha256((text + form).encode()).hexdigest()[:16]}"
    scope = {"__name__": __name__, **scope}
    exec(f"def {name}(inputs, outputs, places):\n{text}\n", scope)
    return scope[name]  # type: ignore[no-any-return]


@cache
def _kernel(text: str, callers: tuple[tuple[str, Any], ...]) -> Kernel:
    """Return the kernel of all laws with a text that call functions of the same types."""
    scope = {"vector_at": vector_at, "floats_at": floats_at}
    scope |= {word: calling(*form) for word, form in callers}
    evaluate = jit(_function(text, scope, repr(callers)))

    def guarded(inputs: Any, outputs: Any, places: Any) -> int:
        try:
            evaluate(inputs, outputs, places)
        except Exception:  # numba knows no other
            return 1
        return 0

    return law_of_addresses(guarded)


@lru_cache(maxsize=64)
def _law(of: LawOfMotion) -> Law:
    """Return the law; equal ones are compiled once, parts that are described again keep it."""
    several = (of.load, of.accept, of.derivative)
    reads = sum((ml.READS_ALL + 1) ** i * _reads(x) for i, x in enumerate(several))
    return Law(
        of.owner, of.load, ("t", "s"), lambda _: of.in_python(*_WORDS), of_motion=True,
        reads=reads, shared=None if PYTHON else of.shared(),
    )  # fmt: skip


def _reads(function: Callable[..., Any] | None) -> int:
    """Return which parts of a motion a function takes, in bits."""
    if function is None:
        return 0
    names = inspect.signature(getattr(function, "py_func", function)).parameters
    return sum(bit for name, bit in _BITS.items() if name in names)
