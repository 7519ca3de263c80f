"""Process of a unit of co-simulation: ``python -P -m mbd.fmi.process RESOURCES``.

``shim.c`` asks on the socket that is file 0; its head comment says what requests and answers are.
The process ends when the socket is closed: by the tool, or by the end of the tool.
"""

import hashlib
import pickle
import signal
import socket
import struct
import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import shown
from mbd.base.identity import Identity, differences
from mbd.base.tolerances import WHOLE_STEPS
from mbd.control.stepper import Stepper, StepperSnapshot
from mbd.fmi.variables import Variable
from mbd.integration.method import Method
from mbd.model.description import Description, put_system
from mbd.model.system import model_of

_HEAD = struct.Struct("=II")
_TIMES = struct.Struct("=dd")
_NUMBER = struct.Struct("=I")


class Described(NamedTuple):
    """Content of the resources of a unit.

    Attributes
    ----------
    system : System
    variables : sequence of Variable
    step : float [s]
        Largest step of the unit itself.
    method : integrator, optional
    project : bool, optional
        As in ``mbd.simulate``.
    identity : dict, optional
        What it was made of, as ``identity_of`` says.
    """

    system: Description
    variables: Sequence[Variable]
    step: float
    method: Method | None
    project: bool | None
    identity: Mapping[str, str] | None = None


def identity_of(system: Description, method: Method | None) -> dict[str, str]:
    """Return the identity of what a unit carries, and of what it names and finds where it runs."""
    into = Identity()
    put_system(into, system)
    into.put("method", method)
    return into.table


def read(resources: str | Path, token: str = "") -> Described:
    """Return what the resources of a unit hold, if it is the one that has the token."""
    path = Path(resources) / "unit.pickle"
    data = path.read_bytes()
    if token and token != token_of(data):  # before it is run: a pickle is a program
        raise ValueError(
            f"{path} is the unit {token_of(data)}, not {token}, which the tool asks for; unpack "
            "the unit again"
        )
    return pickle.loads(data)  # type: ignore[no-any-return]


def token_of(data: bytes) -> str:
    """Return the token of a unit, by which a tool knows that it has the one it has described."""
    return f"{{{hashlib.sha256(data).hexdigest()[:32]}}}"


class Running:
    """A unit that runs: a ``Stepper``, its inputs and the values of its parameters."""

    def __init__(self, unit: Described) -> None:
        self.unit = unit
        self.model = model_of("unit", unit.system, set_valued=True)
        self.kept: dict[int, tuple[Stepper, StepperSnapshot, np.ndarray]] = {}
        of: dict[str, list[Variable]] = {"input": [], "output": [], "parameter": []}
        self.places: list[int] = []  # of each variable among those of its causality
        for x in unit.variables:
            self.places.append(len(of[x.causality]))
            of[x.causality].append(x)
        self.of = of
        self.reset()

    def reset(self) -> None:
        """Go back to what was described."""
        self.parameters: dict[str, Any] = {x.source: x.start for x in self.of["parameter"]}
        self.u = np.array([x.start for x in self.of["input"]], float)
        self.t_start, self.begun = 0.0, False
        self.stepper: Stepper | None = None

    def _at(self, h: float) -> Stepper:
        """Return the stepper with steps h; before the first one it is at the initial state."""
        now = self.stepper
        if now is None or now.h != h:
            moved, inputs = now is not None and now.run.done, defaultdict[str, list[float]](list)
            for x, value in zip(self.of["input"], self.u.tolist(), strict=True):
                inputs[x.source].append(value)
            taken = {k: x[0] if len(x) == 1 else np.array(x) for k, x in inputs.items()}
            model = self.model.with_values(self.parameters | taken)
            state = now.state if now and moved else None
            if state is None and self.t_start:
                state = model.state.replace(t=self.t_start)
            unit = self.unit
            self.stepper = now = Stepper(
                model, h, method=unit.method, state=state, inputs=list(inputs),
                observe=[*dict.fromkeys(x.source for x in self.of["output"])],
                project=None if moved else unit.project,
            )  # fmt: skip
        now.u = self.u
        return now

    def _now(self) -> Stepper:
        """Return the stepper at the present time."""
        return self._at(self.stepper.h if self.stepper else self.unit.step)

    def enter(self, t_start: float) -> None:
        """Begin at a time [s]."""
        self.t_start, self.stepper = t_start, None

    def go(self) -> None:
        """End the initialisation: parameters hold from here on."""
        self._at(self.unit.step)
        self.begun = True

    def set(self, which: Sequence[int], values: Sequence[float]) -> None:
        """Set inputs, and before the run parameters."""
        for number, value in zip(which, values, strict=True):
            x = self._variable(number)
            if not np.isfinite(value):
                raise ValueError(
                    f"{x.name!r} must be finite [{x.unit or 'SI'}], got {shown(value)}"
                )
            if x.causality == "input":
                self.u[self.places[number - 1]] = value
            elif x.causality == "parameter" and not self.begun:
                self.parameters[x.source] = value
                self.stepper = None
            else:
                why = "changes by itself" if x.causality == "output" else "holds while it runs"
                raise ValueError(f"{x.name!r} cannot be set: an {x.causality} {why}")

    def _variable(self, number: int) -> Variable:
        if not 1 <= number <= len(self.unit.variables):
            raise ValueError(f"there is no variable {number} that can be set")
        return self.unit.variables[number - 1]

    def get(self, which: Sequence[int]) -> list[float]:
        """Return values of variables."""
        outputs = any(n and self._variable(n).causality == "output" for n in which)
        y = self._now().observe() if outputs else self.u
        return [self._get(number, y) for number in which]

    def _get(self, number: int, y: np.ndarray) -> float:
        if number == 0:
            return self.stepper.t if self.stepper else self.t_start
        x = self._variable(number)
        if x.causality == "parameter":
            return self.parameters[x.source]
        return float((self.u if x.causality == "input" else y)[self.places[number - 1]])

    def do(self, t: float, size: float) -> None:
        """Go from t to t + size [s] in equal steps, none larger than that of the unit."""
        if not (np.isfinite(size) and size > 0.0):
            raise ValueError(f"a step must be positive and finite [s], got {size}")
        now = self.stepper.t if self.stepper else self.t_start
        if abs(t - now) > WHOLE_STEPS * max(size, abs(now)):
            raise ValueError(f"a step from t = {t:g} s was asked for, but the unit is at {now:g} s")
        n = max(1, int(np.ceil(size / self.unit.step - WHOLE_STEPS)))
        h = size / n
        if self.stepper and abs(self.stepper.h - h) <= WHOLE_STEPS * h:
            h = self.stepper.h
        self._at(h).step(n)

    def keep(self, number: int) -> int:
        """Keep the state under a number, 0 for a new one; return the number."""
        stepper, number = self._now(), number or max(self.kept, default=0) + 1
        self.kept[number] = stepper, stepper.snapshot(), self.u.copy()
        return number

    def go_back(self, number: int) -> None:
        """Go back to a kept state."""
        self.stepper, snapshot, self.u[:] = self.kept[number]
        self.stepper.restore(snapshot)


def _answer(running: Running, what: str, data: bytes) -> bytes:
    """Do what a request asks for; return the result."""
    if what == "i":
        running.enter(struct.unpack("=d", data)[0])
    elif what == "x":
        running.go()
    elif what == "d":
        running.do(*_TIMES.unpack(data))
    elif what == "g":
        return np.array(running.get(np.frombuffer(data, np.uint32).tolist())).tobytes()
    elif what == "s":
        n = len(data) // 12
        which = np.frombuffer(data[: 4 * n], np.uint32)
        running.set(which.tolist(), np.frombuffer(data[4 * n :], float).tolist())
    elif what == "r":
        running.reset()
    elif what == "n":
        return _NUMBER.pack(running.keep(*_NUMBER.unpack(data)))
    elif what == "t":
        running.go_back(*_NUMBER.unpack(data))
    elif what == "f":
        running.kept.pop(*_NUMBER.unpack(data))
    return b""


class _ClosedError(Exception):
    """The tool has closed the socket, or has ended."""


def _take(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise _ClosedError
        data += more
    return bytes(data)


def serve(resources: Path, link: socket.socket) -> None:
    """Answer requests until the socket is closed."""

    def send(letter: str, data: bytes) -> None:
        link.sendall(_HEAD.pack(ord(letter), len(data)) + data)

    def warn(message: Any, *_: Any) -> None:
        send("w", f"mbd: {' '.join(str(message).split())}".encode())

    warnings.showwarning = warn  # type: ignore[assignment]
    running: Running | None = None
    while True:
        try:
            what, size = _HEAD.unpack(_take(link, _HEAD.size))
            data = _take(link, size)
            try:
                if chr(what) == "h":
                    running, result = begun(resources, data.decode()), b""
                else:
                    assert running is not None
                    result = _answer(running, chr(what), data)
            except Exception as error:
                text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
                text = " ".join(str(text).split()) or type(error).__name__
                send("e", f"mbd: {text}".encode())
            else:
                send("k", result)
        except (_ClosedError, ConnectionError):
            return


def begun(resources: str | Path, token: str = "") -> Running:
    """Return the unit of a folder, if it is the one that the tool has described."""
    unit = read(resources, token)
    if unit.identity is not None:
        now = identity_of(unit.system, unit.method)
        if other := differences(unit.identity, now):
            raise ValueError(
                f"this unit was made with another {other}; export it again, or let the environment "
                "variable MBD_PYTHON name the Python that it was made with"
            )
    return Running(unit)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tool decides when to end
    serve(Path(sys.argv[1]), socket.socket(fileno=0))
