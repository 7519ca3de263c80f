r"""``mbd.NonsmoothAlpha``: the method for set-valued laws; what of a model has such laws.

Its steps are those of ``nonsmooth``, which capture all events within them, or of ``located``, which
end at each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.algebra.newmark import damping_weights
from mbd.base.checked import one_of
from mbd.base.door import number
from mbd.base.tolerances import CONTACT_SOFT, START_POSITION
from mbd.integration import located, nonsmooth
from mbd.integration.method import Facts
from mbd.integration.set_valued_laws import (
    ARRAYS,
    COUNT,
    FIRST_ROWS,
    IS_LAW,
    N_ROWS,
    N_VECTORS,
    RECORDS,
    RESTITUTION_PART,
    ROWS,
    numbers_of_method,
)
from mbd.interactions import set_valued as c
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import selected
from mbd.model.state import State
from mbd.model.workspace import Workspace

LAWS_MET = ("contact", "rigid stop", "dry friction")  # the laws that it meets


class Laws(NamedTuple):
    """The set-valued laws of a model: of each where its numbers are in F, and what they begin with.

    Attributes
    ----------
    at, first, form : arrays of int
        Place of the numbers, first unknown, form of the law.
    reaction : array of int
        First unknown of the force in the bound; -1: none.
    free : array
        1/m [1/kg] or 1/J of both bodies together: what a unit of force does to them without joints.
    """

    at: np.ndarray
    first: np.ndarray
    form: np.ndarray
    reaction: np.ndarray
    free: np.ndarray

    @property
    def n_rows(self) -> int:
        """How many rows they have."""
        return int(np.where(self.form == c.POINT, 3, 1).sum())


_FORMS = {"rigid stop": c.SIDE, "dry friction": c.DRY}


def laws_of(model: FrozenModel) -> Laws:
    """Return the set-valued laws of a model."""
    rows = []
    for name, elements in model.numbering.elements.items():
        for record, (element, _) in zip(model.records[name], elements, strict=False):
            if not element.kind.set_valued:
                continue
            nodes = [model.nodes[x.body] for x in element.attachments if x.body in model.nodes]
            free = {x.name: 1.0 / x.mass for x in nodes}
            if element.row_kinds[0] == m.MOMENT:
                free = {x.name: 3.0 / np.trace(x.inertia) for x in nodes}
            joint = model.system.parts[name].reaction_of
            reaction = model.I[model.records[joint][0] + m.E_ROW] if joint else -1
            numbers = model.I[record + m.E_NUMBERS] + len(element.numbers) - c.OWN
            form = _FORMS.get(element.kind.law, c.POINT)
            row = model.I[record + m.E_ROW]
            rows.append((numbers, row, form, reaction, sum(free.values())))
    table = np.array(rows, float).reshape(-1, 5).T
    at, first, reaction = table[[0, 1, 3]].astype(int)
    return Laws(at, first, table[2], reaction, table[4])


@dataclass(frozen=True)
class NonsmoothAlpha:
    """Generalized-alpha for contacts, impacts and dry friction.

    Parameters
    ----------
    rho : float [-]
        Spectral radius at infinite frequency, from 0 to 1.
    tol : float [-]
        Accepted error of accelerations in one step, relative to the largest of their kind.
    contacts : {"capture", "locate"}
        Events of contacts are captured within steps, any number of them, impacts with an error of
        the first order; or steps end at each, which is of order 2 through events. Instants that
        are recorded are the same.
    """

    rho: float = 0.8
    tol: float = 1e-9
    contacts: Literal["capture", "locate"] = "capture"

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "NonsmoothAlpha"
        if not 0.0 <= number(who, "rho", self.rho, "-") <= 1.0:
            raise ValueError(f"{who}: rho must be in [0, 1] [-], got {self.rho}")
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        one_of(who, "contacts", self.contacts, ("capture", "locate"))

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return (located if self.contacts == "locate" else nonsmooth).advance

    @property
    def facts(self) -> Facts:
        """What the runs are told of it."""
        return Facts(
            title=f"nonsmooth generalized-alpha with rho = {self.rho:g}",
            orders=(2, 2), level="stabilized", set_valued=LAWS_MET,
            own_floats=self._own_floats, start=self._start, failure=_failed,
        )  # fmt: skip

    def _own_floats(self, model: FrozenModel) -> int:
        """Return how many numbers the method keeps of its own."""
        laws = laws_of(model)
        n = numbers_of_method(laws.n_rows, int(model.I[m.N_U]))
        return n + (located.numbers_of_events(len(laws.at)) if self.contacts == "locate" else 0)

    def _start(
        self, model: FrozenModel, state: State, h: float, continued: bool, saddle: Any = None
    ) -> tuple[State, None]:
        """Return the state with accelerations and forces of the contacts that are closed."""
        work = Workspace(model, state, own=self._own_floats(model))
        self.prepare(model, work.S, work.F)
        work.S[m.LINEAR] = factor_and_solve.address
        work.drop(selected(model, state).dropped)
        self._refuse_overlap(model, work)
        nonsmooth.start_kernel(work.I, work.F)
        done = work.store()
        return done.replace(alg=done.a.copy()), None

    def _refuse_overlap(self, model: FrozenModel, work: Workspace) -> None:
        """Refuse a state in which bodies are in planes, by the name of the deepest."""
        laws = laws_of(model)
        apart = laws.form != c.DRY
        normals = laws.first[apart]
        if not len(normals):
            return
        work.evaluate()
        gaps = -work.vector(m.X)[normals]
        allowed, worst = START_POSITION * model.F[m.LENGTH], int(np.argmin(gaps))
        if gaps[worst] >= -allowed:
            return
        names = model.numbering
        row = names.lam_labels[int(np.flatnonzero(names.lam == normals[worst])[0])]
        part, depth = row.rpartition(".")[0], f"{-gaps[worst]:.3g}"
        if laws.form[apart][worst] == c.SIDE:
            u = model.system.parts[part].coordinate
            unit = u.unit if u is not None else "m"
            raise ValueError(
                f"{part}: must start within its limits, got {depth} {unit} beyond the {row!r} one; "
                "move the bodies, or the limit"
            )
        raise ValueError(
            f"{part}: must not overlap at the start, got a depth of {depth} m at {row!r}; move the "
            "body, or the plane (through=)"
        )

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters, and where the contacts are."""
        laws = laws_of(model)
        n, n_u, rows = len(laws.at), int(model.I[m.N_U]), np.where(laws.form == c.POINT, 3, 1)
        F[m.TOL], F[m.THETA] = self.tol, 0.5
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = damping_weights(self.rho)
        S[m.LEVEL], S[m.ELASTIC] = m.STABILIZED, 1
        S[m.HAVE_FACTOR] = S[m.HISTORY] = 0
        own, n_rows = int(model.I[m.METHOD]), laws.n_rows
        at = own + N_VECTORS * n_u
        F[at + COUNT], F[at + N_ROWS], F[at + RESTITUTION_PART] = n, n_rows, 1.0
        first = np.cumsum(rows) - rows
        unknowns = np.repeat(laws.first - first, rows) + np.arange(n_rows)
        for which, values in ((RECORDS, laws.at), (FIRST_ROWS, first), (ROWS, unknowns)):
            base = at + ARRAYS + which * n_rows
            F[base : base + len(values)] = values
        F[own + IS_LAW * n_u + unknowns] = 1.0
        F[laws.at + c.ACTIVE], F[laws.at + c.FORM] = 1.0, laws.form
        F[laws.at + c.REACTION], F[laws.at + c.LEAST] = laws.reaction, CONTACT_SOFT * laws.free


def _failed(model: FrozenModel, where: str) -> str:
    """Return the message on a step that failed."""
    names = ", ".join(repr(part) for part, _ in model.set_valued)
    return (
        f"no branches of the contacts {names} were found that agree {where}, a smaller restitution "
        "or friction"
    )
