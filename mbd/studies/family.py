"""Family of models: the members of a study as models with common tables, or constants alone.

Where a parameter is written to places of the constants as it is, such as a mass or a stiffness, the
constants of members are filled for all of them at once. Which places these are is seen in some
members, those with the extreme values among them, built one by one: all their constants, what
follows from them included, must be the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.machine import buffer as m
from mbd.model.description import lengths
from mbd.model.evaluation import evaluate_kernel, linearise_kernel, measure_kernel
from mbd.model.model import Model
from mbd.model.system import System, model_of
from mbd.model.values import on_tables_of
from mbd.model.workspace import Workspace

__all__ = ["Direct", "Family"]

Row = tuple[Any, ...]


class Family:
    """Models of members.

    Parameters
    ----------
    build : callable, System or Model
        A function of the parameters that returns a System, or what has the parameters as paths.
    names : tuple of str
    """

    def __init__(self, build: Any, names: tuple[str, ...]) -> None:
        self.names = names
        self.build = build if callable(build) else model_of("study", build)
        self.first: Model | None = None if callable(build) else self.build

    def model(self, row: Row) -> Model:
        """Return the model of a member, on the tables of the first one if these are the same."""
        values = dict(zip(self.names, row, strict=True))
        if isinstance(self.build, Model):
            return self.build.with_values(values)
        system = self.build(**values)
        if isinstance(system, Model):
            system = system.system
        if not isinstance(system, System):
            raise TypeError(f"study: build must return a System, got {shown(system)}")
        if self.first is None:
            self.first = system.build()
            return self.first
        same: Model | None = on_tables_of(self.first, system)
        return system.build() if same is None else same


@dataclass(frozen=True)
class Direct:
    """Parameters whose numbers stand in the constants as they are.

    Attributes
    ----------
    model : Model
    places : (k,) array of int
        In the constants, and which parameter is there, `which` (k,).
    which : (k,) array of int
    nodes : tuple of int
        Nodes whose mass a parameter is, and which one, `masses`.
    masses : tuple of int
    at_ease : bool
        Whether the places belong to masses and forces alone: rows and faces do not know them.
    """

    model: Model
    places: np.ndarray
    which: np.ndarray
    nodes: tuple[int, ...]
    masses: tuple[int, ...]
    at_ease: bool

    @classmethod
    def of(cls, family: Family, rows: Sequence[Row]) -> Direct | None:
        """Look whether parameters are direct, in some members; None if not, or one is refused.

        A function is asked for each member: what it does between two of them nobody foresees.
        """
        if not isinstance(family.build, Model):
            return None
        try:
            values: np.ndarray = np.array(rows)
            if values.dtype != float or not np.isfinite(values).all():
                return None
            models = [family.model(row) for row in rows]
        except Exception:  # a member that fails: who it is will be seen
            return None
        first = models[0]
        if any(x.I is not first.I or x.redundant != first.redundant for x in models):
            return None
        F = np.array([x.F for x in models])
        direct = cls._read(first, models, values, F)
        if direct is None or direct.constants(values).tobytes() != F.tobytes():
            return None
        return direct

    @classmethod
    def _read(cls, model: Model, models: list[Model], values: Any, F: Any) -> Direct | None:
        I = model.I
        own = np.zeros(len(model.F), bool)  # what follows from the constants
        for name in (m.DIAG, m.EPS):
            own[I[name] : I[name] + I[m.N_U]] = True
        own[m.FLOOR : m.FLOOR + m.N_KINDS] = True
        places: np.ndarray = np.flatnonzero((F != F[0]).any(axis=0) & ~own)
        equal = (F[:, places, None] == values[:, None, :]).all(axis=0)
        if not equal.any(axis=1).all():
            return None
        masses = np.array([[x.mass for x in each.nodes.values()] for each in models])
        moved = np.flatnonzero((masses != masses[0]).any(axis=0))
        who = (masses[:, moved, None] == values[:, None, :]).all(axis=0)
        if not who.any(axis=1).all():
            return None
        return cls(
            model, places, equal.argmax(axis=1), tuple(map(int, moved)),
            tuple(map(int, who.argmax(axis=1))), set(places.tolist()) <= _of_loads(model),
        )  # fmt: skip

    @cached_property
    def _base(self) -> np.ndarray:
        """Constants before anything is measured."""
        F = self.model.F.copy()
        for name in (m.DIAG, m.EPS):
            F[self.model.I[name] :][: self.model.I[m.N_U]] = 0.0
        return F

    def constants(self, values: np.ndarray) -> np.ndarray:
        """Return the constants (n, .) of members with these values (n, k), as ``Model.prepare``."""
        model, n = self.model, len(values)
        F = np.tile(self._base, (n, 1))
        F[:, self.places] = values[:, self.which]
        work = Workspace(model, runs=F)
        work.F[:, m.SCALE_R], work.F[:, m.W_M] = 1.0, 1.0
        for kernel in (evaluate_kernel, linearise_kernel, measure_kernel):
            work.run(kernel)
        masses = np.tile([x.mass for x in model.nodes.values()], (n, 1))
        masses[:, self.nodes] = values[:, self.masses]
        model.settle(F, work.F, lengths(model.system)[1], masses.max(axis=1))
        return F


def _of_loads(model: Model) -> set[int]:
    """Return the places of the numbers of bodies and forces."""
    I, places = model.I, set[int]()
    for name, body in model.nodes.items():
        first = int(I[model.node_records[name] + m.NODE_PAR])
        law = body.formulation
        size = len(law.constants(body.mass, body.center_of_mass, body.second_moments))
        places |= set(range(first, first + size))
    for name, part in model.system.forces.items():
        for record, element in zip(model.records[name], part.elements(), strict=True):
            first = int(I[record + m.E_NUMBERS])
            places |= set(range(first, first + len(element.numbers)))
    return places
