"""Jumps in the laws of drives, detected before the step that meets them.

A step of size h that meets a row on positions goes where its law f is, however far: a jump J gives
velocities J/h that nothing damps but the method. Within a step that resolves the law the second
difference, f(t) - 2 f(t + h/2) + f(t + h), is h^2/4 of its acceleration; a jump gives J. What is
left of it in a small part of the step is no fast motion but a jump.

Steps that meet rates of rows feel a jump before it comes, where the rate of a law is taken by
differences of its value: by as much they look ahead, and no level can follow it.

Steps that are free end in front of a jump as small as can be, or pass it within their tolerance;
how a law moves within a piece of them says nothing. What counts there is a change in no time.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd.base.tolerances import JUMP, JUMP_PARTS
from mbd.interactions.driven_rotation import DRIVEN_ROTATION
from mbd.interactions.laws import TICK, Law, differenced
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.workspace import Workspace


class Jump(NamedTuple):
    """A jump that a step feels: the steps before it, the time they may reach [s], words."""

    steps: int
    t: float
    words: str


@dataclass(frozen=True, eq=False)
class _Driven:
    """A row on positions that follows a law: what is a jump, its unit, whether axes turn.

    ``ahead`` [s] is how long before a jump steps feel it, ``followed`` whether they can follow it
    where they do not fail.
    """

    law: Law
    large: float
    unit: str
    turns: bool
    ahead: float
    followed: bool

    def changes(self, t: np.ndarray) -> np.ndarray:
        """Return the changes of the law between times, (n - 1, 1), or (n - 1, 3) of a rotation."""
        width = 3 if self.turns else 1
        f = np.array([np.ravel(self.law.function(float(x)))[:width] for x in t], float)
        if not self.turns:
            return np.diff(f, axis=0)
        from scipy.spatial.transform import Rotation

        R = Rotation.from_rotvec(f)
        return np.asarray((R[1:] * R[:-1].inv()).as_rotvec())


class JumpError(RuntimeError):
    """A law of motion that jumps."""


class Jumps:
    """The laws of a model's rows on positions that steps of a level do not follow over a jump.

    That is every law at the level of positions, which jumps throw, and at that of velocities, which
    do not see them. The stabilised form moves positions without velocities, if the law says its
    rates. ``off`` are parts that are switched off, ``start`` is when the run begins [s], ``free``
    whether the steps are.
    """

    def __init__(
        self, model: Model, level: str, start: float, off: tuple[str, ...] = (), free: bool = False
    ) -> None:
        numbering, self.driven, self.start = model.numbering, list[_Driven](), start
        self.free = free
        if not model.laws:
            return
        for name, elements in numbering.elements.items():
            for element, at in elements:
                row_kind = numbering.lam_kinds[at]
                if element.law is None or row_kind == m.VELOCITY_ROW or name in off:
                    continue
                turns = element.kind is DRIVEN_ROTATION
                # of a sum the numbers are c, s, k_1, k_2, ...
                factor = 1.0 if turns else float(np.abs(element.numbers[2:]).max())
                large = JUMP * factor * float(model.F[m.UNIT + row_kind])
                unit = "m" if row_kind == m.FORCE else "rad"
                differences = turns or element.law.write is differenced
                ahead = 2 * TICK if level != "position" and differences else 0.0
                followed = level == "stabilized" and not differences
                self.driven.append(_Driven(element.law, large, unit, turns, ahead, followed))

    def first(self, work: Workspace, begin: np.ndarray, taken: int, failed: bool) -> Jump | None:
        """Return the first jump that steps since a snapshot feel, or one more that failed.

        A law that raises has other words.
        """
        t = self._times(work.F, begin, taken, failed)
        earliest: Jump | None = None
        for driven in self.driven:
            if driven.followed and not failed:
                continue
            late = t[-2:] if driven.followed else t
            reach = np.where(late > self.start, late + driven.ahead, late)
            try:
                jump = _first(driven, reach, self.free)
            except Exception:
                continue
            if jump is not None and (earliest is None or jump.t < earliest.t):
                earliest = jump._replace(steps=jump.steps + len(t) - len(late))
        return earliest

    def _times(self, F: Any, begin: np.ndarray, taken: int, failed: bool) -> np.ndarray:
        """Return the times of the steps since a snapshot, and that of one that failed."""
        S, n = m.integers(begin), taken + 1 + failed
        if self.free:  # they have other sizes; one that failed had hardly any
            steps = np.linspace(begin[m.T], F[m.T], taken + 1)
            if failed:  # the one before may have ended at the jump, but for the round-off of time
                steps[-1] -= 1e-3 * TICK
                steps = np.append(steps, F[m.T] + F[m.H] + 1e-3 * TICK)
            return steps
        return np.asarray(
            begin[m.T_BASE] + (S[m.N_PREDICTED] - S[m.BASE] + np.arange(n)) * begin[m.H]
        )


def _first(driven: _Driven, t: np.ndarray, free: bool) -> Jump | None:
    """Return the first step in which one law jumps."""
    halves = np.empty(2 * len(t) - 1)
    halves[::2], halves[1::2] = t, 0.5 * (t[:-1] + t[1:])
    change = driven.changes(halves)
    second = np.linalg.norm(change[1::2] - change[::2], axis=1)
    for k in map(int, np.flatnonzero(second > 0.5 * driven.large)):
        parts = np.linspace(t[k], t[k + 1], JUMP_PARTS + 1)
        size = np.linalg.norm(driven.changes(parts), axis=1)
        worst = int(np.argmax(size))
        if size[worst] - np.median(size) > 0.5 * driven.large:
            at, jump = _closed_in(driven, parts[worst], parts[worst + 1])
            if np.linalg.norm(jump) > 0.5 * driven.large:
                return Jump(k, (at if free else t[k]) - driven.ahead, _words(driven, at, jump))
            if not free:
                words = _fast(driven, float(t[k + 1] - t[k]), float(at), size[worst])
                return Jump(k, t[k] - driven.ahead, words)
    return None


def _closed_in(driven: _Driven, a: float, b: float) -> tuple[float, np.ndarray]:
    """Return when the law jumps between two times [s], and its change in no time."""
    for _ in range(40):
        middle = 0.5 * (a + b)
        left, right = np.linalg.norm(driven.changes(np.array([a, middle, b])), axis=1)
        a, b = (a, middle) if left > right else (middle, b)
    return b, driven.changes(np.array([a, b]))[0]


def _fast(driven: _Driven, h: float, at: float, size: float) -> str:
    part = h / JUMP_PARTS
    return (
        f"{driven.law.name}: its law moves by {size:.3g} {driven.unit} in {part:.3g} s at "
        f"t = {at:.9g} s, which steps of {h:.3g} s do not resolve; take smaller ones, such as "
        f"{part:.1g} s, or let it take its time (mbd.SmoothStep)"
    )


def _words(driven: _Driven, at: float, jump: np.ndarray) -> str:
    size = jump[0] if len(jump) == 1 else np.linalg.norm(jump)
    rates = (
        "constraints='stabilized' with a law that says its rates too, (value, rate, acceleration)"
    )
    return (
        f"{driven.law.name}: its law jumps by {size:.6g} {driven.unit} at t = {at:.9g} s, which no "
        "step can follow without throwing what it moves; let it take its time (mbd.SmoothStep), or "
        f"take smaller steps where it does{'' if driven.turns else ', or ' + rates}"
    )
