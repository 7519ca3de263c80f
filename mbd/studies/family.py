"""Family of models: the members of a study as models with common tables, or constants alone.

Where a parameter, times a number, is written to places of the constants, such as a mass or a
stiffness, the constants of members are filled for all of them at once. Which places these are say
the names of the model; some members, those with the extreme values among them, are built one by
one: all their constants, what follows from them included, must be the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import called, shown
from mbd.base.door import speaking_as
from mbd.history.totals import masses
from mbd.machine import buffer as m
from mbd.model.description import WHO, lengths
from mbd.model.evaluation import evaluate_kernel, linearise_kernel, measure_kernel
from mbd.model.model import Model
from mbd.model.names import Name
from mbd.model.system import System, model_of
from mbd.model.values import on_tables_of
from mbd.model.workspace import Workspace

Row = tuple[Any, ...]


class MemberModels:
    """Models of members.

    Parameters
    ----------
    build : callable, System or Model
        A function of the parameters that returns a System, or what has the parameters as paths.
    names : tuple of str
    """

    def __init__(self, build: Any, names: tuple[str, ...]) -> None:
        self.names = names
        self.build = build if callable(build) else model_of("study", build, set_valued=True)
        self.first: Model | None = None if callable(build) else self.build

    def model(self, row: Row) -> Model:
        """Return the model of a member, on the tables of the first one if these are the same."""
        values = dict(zip(self.names, row, strict=True))
        if isinstance(self.build, Model):
            with speaking_as("study", WHO):
                return self.build.with_values(values)
        system = called("study: build", self.build, **values)
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
    """Parameters whose numbers, times others, stand in the constants.

    Attributes
    ----------
    model : Model
    places : (k,) array of int
        In the constants, and which parameter is there, `which` (k,).
    which : (k,) array of int
    slopes : (k,) array
        What stands there of a parameter of one.
    nodes : (k,) array of int
        Nodes whose mass a parameter is, and which one, `whose` (k,).
    whose : (k,) array of int
    weights : pair of (k,) arrays of int, optional
        Places among the ``energy.masses``, and which parameter is there; None where these follow.
    same_kinematics : bool
        Whether the places belong to masses and forces alone: rows and faces do not know them.
    """

    model: Model
    places: np.ndarray
    which: np.ndarray
    slopes: np.ndarray
    nodes: np.ndarray
    whose: np.ndarray
    weights: tuple[np.ndarray, np.ndarray] | None
    same_kinematics: bool

    @classmethod
    def of(cls, family: MemberModels, rows: Sequence[Row]) -> "Direct | None":
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
            names = family.build.names.several(family.names)
        except Exception:  # a member that fails: who it is will be seen
            return None
        first = models[0]
        if any(x.I is not first.I or x.redundant != first.redundant for x in models):
            return None
        F = np.array([x.F for x in models])
        direct = cls._read(names, models, values)
        if direct is None or direct.constants(values).tobytes() != F.tobytes():
            return None
        return direct

    @classmethod
    def _read(cls, of: Sequence[Name], models: list[Model], values: Any) -> "Direct | None":
        model = models[0]
        places: np.ndarray = np.concatenate([x.places for x in of])
        if any(x.second or x.by_law or x.value.shape for x in of) or len({*places}) < len(places):
            return None
        which = np.repeat(np.arange(len(of)), [len(x.places) for x in of])
        slopes: np.ndarray = np.concatenate([x.slopes for x in of])
        of_nodes = np.array([[x.mass for x in each.nodes.values()] for each in models])
        nodes = np.flatnonzero((of_nodes != of_nodes[0]).any(axis=0))
        whose = _which(of_nodes[:, nodes], values)
        if whose is None:
            return None
        W = np.array([masses(each) for each in models])
        weights = np.flatnonzero((W != W[0]).any(axis=0))
        of_weights = _which(W[:, weights], values)
        same_kinematics = set(places.tolist()) <= _of_loads(model)
        return cls(
            model, places, which, slopes, nodes, whose,
            None if of_weights is None else (weights, of_weights), same_kinematics,
        )  # fmt: skip

    def masses(self, values: np.ndarray) -> np.ndarray | None:
        """Return ``energy.masses`` (n, .) of members with these values (n, k), if they show."""
        if self.weights is None:
            return None
        of_masses = np.tile(masses(self.model), (len(values), 1))
        of_masses[:, self.weights[0]] = values[:, self.weights[1]]
        return of_masses

    @cached_property
    def _base(self) -> np.ndarray:
        """Constants before anything is measured."""
        F = self.model.F.copy()
        F[self.model.I[m.DIAG] :][: self.model.I[m.N_U]] = 0.0
        return F

    def constants(self, values: np.ndarray) -> np.ndarray:
        """Return the constants (n, .) of members with these values (n, k), as ``Model.prepare``."""
        model, n = self.model, len(values)
        F = np.tile(self._base, (n, 1))
        F[:, self.places] = values[:, self.which] * self.slopes
        work = Workspace(model, runs=F)
        work.F[:, m.SCALE_R], work.F[:, m.W_M] = 1.0, 1.0
        for kernel in (evaluate_kernel, linearise_kernel, measure_kernel):
            work.run(kernel)
        of_nodes = np.tile([x.mass for x in model.nodes.values()], (n, 1))
        of_nodes[:, self.nodes] = values[:, self.whose]
        model.settle(F, work.F, lengths(model.system)[1], of_nodes.max(axis=1))
        return F


def _which(numbers: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """Return the parameter that each number (members, k) is in all members; None if one is none."""
    equal = (numbers[:, :, None] == values[:, None, :]).all(axis=0)
    return equal.argmax(axis=1) if equal.any(axis=1).all() else None


def _of_loads(model: Model) -> set[int]:
    """Return the places of the numbers of bodies and forces."""
    I, places = model.I, set[int]()
    for name, body in model.nodes.items():
        first = int(I[model.node_records[name] + m.NODE_PAR])
        law = body.formulation
        size = len(law.constants(body.mass, body.center_of_mass, body.second_moments))
        places |= set(range(first, first + size))
    for name in model.system.forces:
        for record, element in zip(model.records[name], model.elements[name], strict=True):
            first = int(I[record + m.E_NUMBERS])
            places |= set(range(first, first + len(element.numbers)))
            if element.law is not None:
                first = int(I[I[record + m.E_LAW] + m.LAW_PARAMETERS])
                places |= set(range(first, first + len(element.law.parameters)))
    return places
