r"""``mbd.NonsmoothAlpha``: the method for contacts, impacts, rigid stops and dry friction.

Its steps are those of ``nonsmooth``, which capture all events within them, or of ``located``, which
end at each.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd.algebra.newmark import damping_weights
from mbd.base.checked import one_of
from mbd.base.door import number
from mbd.base.tolerances import ROWS_MET
from mbd.integration import located, nonsmooth
from mbd.integration import set_valued_laws as sv
from mbd.integration.method import Facts
from mbd.integration.tables_of_laws import begun, laws_of, own_floats, write_laws
from mbd.interactions import set_valued as c
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import selected
from mbd.model.state import State
from mbd.model.workspace import Workspace

LAWS_MET = ("contact", "rigid stop", "dry friction")  # the laws that it meets


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
        Events of contacts are captured within steps, any number of them, with an error of the first
        order; or steps end at each, which is of order 2 through events. What is recorded are the
        same instants.
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
        """Facts for runs."""
        return Facts(
            title=f"nonsmooth generalized-alpha with rho = {self.rho:g}",
            orders=(2, 2), level="stabilized", set_valued=LAWS_MET,
            own_floats=self._own_floats, impacts=most_impacts, start=self._start, failure=_failed,
        )  # fmt: skip

    def _own_floats(self, model: FrozenModel) -> int:
        """Return how many numbers the method keeps of its own."""
        if self.contacts == "capture":
            return own_floats(model)
        return own_floats(model) + located.numbers_of_events(len(laws_of(model).at))

    def _start(
        self, model: FrozenModel, state: State, h: float, continued: bool, saddle: Any = None
    ) -> tuple[State, None]:
        """Return the state with accelerations and forces of the contacts that are closed."""
        if continued and begun(model, state):
            return state, None
        work = Workspace(model, state, own=self._own_floats(model))
        self.prepare(model, work.S, work.F)
        work.S[m.LINEAR] = factor_and_solve.address
        work.drop(selected(model, state).dropped)
        work.evaluate()
        gaps = -work.vector(m.X)[laws_of(model).first]
        _refuse_overlap(model, gaps)
        nonsmooth.start_kernel(work.I, work.F)
        _refuse_backwards(model, work.F)
        _warn_of_impacts(model, work.F, gaps)
        done = work.store()
        return done.replace(alg=done.a.copy()), None

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters, and where the contacts are."""
        F[m.TOL], F[m.THETA] = self.tol, 0.5
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = damping_weights(self.rho)
        S[m.LEVEL], S[m.ELASTIC] = m.STABILIZED, 1
        S[m.HAVE_FACTOR] = S[m.HISTORY] = 0
        write_laws(model, F)


def _refuse_overlap(model: FrozenModel, gaps: np.ndarray) -> None:
    """Refuse a state in which bodies are in planes, by the name of the deepest."""
    laws, names = laws_of(model), model.numbering
    gaps = np.where(laws.form == c.DRY, np.inf, gaps)
    if gaps.min(initial=np.inf) >= -ROWS_MET * model.F[m.LENGTH]:
        return
    worst = int(np.argmin(gaps))
    row = names.lam_labels[int(np.flatnonzero(names.lam == laws.first[worst])[0])]
    part, depth = row.rpartition(".")[0], f"{-gaps[worst]:.3g}"
    if laws.form[worst] == c.SIDE:
        raise ValueError(
            f"{part}: must start within its limits, got {depth} {_unit(model, part)} beyond the "
            f"{row!r} one; move the bodies, or the limit"
        )
    raise ValueError(
        f"{part}: must not overlap at the start, got a depth of {depth} m at {row!r}; move the "
        "body, or the plane (through=)"
    )


def _unit(model: FrozenModel, part: str) -> str:
    """Return the unit of a gap: that of the coordinate of a part, of a contact m."""
    u = model.system.parts[part].coordinate
    return "m" if u is None else u.unit


def _refuse_backwards(model: FrozenModel, F: np.ndarray) -> None:
    """Refuse a state in which a freewheel runs backwards, by its name."""
    laws = laws_of(model)
    rates, held = F[laws.at + c.SLIP1], F[laws.at + c.SECOND] == np.inf
    slips = (laws.form == c.DRY) & (F[laws.at + c.MODE] == c.SLIP)
    for k in np.flatnonzero(slips & held & (rates < 0.0)):
        part = model.elements_set_valued[k].rpartition(".")[0]
        raise ValueError(
            f"{part}: must not run backwards at the start, got {rates[k]:.3g} "
            f"{_unit(model, part)}/s; set velocities that do not"
        )


def _warn_of_impacts(model: FrozenModel, F: np.ndarray, gaps: np.ndarray) -> None:
    """Warn of what approaches at a gap of zero: it hits as soon as the run begins."""
    laws = laws_of(model)
    speeds = np.where(laws.form == c.DRY, 0.0, F[laws.at + c.BEFORE])
    hits = np.flatnonzero((gaps <= ROWS_MET * model.F[m.LENGTH]) & (speeds < 0.0))
    if not len(hits):
        return
    names = [model.elements_set_valued[k] for k in hits[:3]]
    units = [_unit(model, x.rpartition(".")[0]) for x in names]
    some = zip(names, -speeds[hits], units, strict=False)
    told = ", ".join(f"{name!r} at {speed:.3g} {unit}/s" for name, speed, unit in some)
    more = f" and {len(hits) - 3} more" if len(hits) > 3 else ""
    warnings.warn(
        f"contacts that are closed approach at the start: {told}{more}; the run begins with an "
        "impact. Set velocities that do not approach, or begin with a gap",
        RuntimeWarning,
        stacklevel=8,
    )


def most_impacts(model: FrozenModel) -> int:
    """Return the most impacts of a step."""
    return located.MOST_HITS * len(laws_of(model).at)


def _failed(work: Workspace, where: str) -> str:
    """Return the message on a step that failed, with the laws that were not met, or that change."""
    F, at = work.F, laws_of(work.model).at
    first = int(work.I[m.METHOD] + sv.N_VECTORS * work.I[m.N_U])
    of_laws, n_rows = F[first + sv.ARRAYS :], int(F[first + sv.N_ROWS])
    resolved, acts = (of_laws[k * n_rows :][: len(at)] for k in (sv.RESOLVED, sv.CANDIDATE))
    unmet, changes = np.isinf(resolved) & (acts != 0.0), F[at + c.NEXT] != F[at + c.MODE]
    whose = next(x for x in (unmet, changes & (acts != 0.0), acts >= 0.0) if x.any())
    told = [repr(work.model.elements_set_valued[k]) for k in np.flatnonzero(whose)]
    more = f" and {len(told) - 5} more" if len(told) > 5 else ""
    return (
        f"no branches of the contacts {', '.join(told[:5])}{more} were found that agree {where}, a "
        "smaller restitution or friction, contacts='locate'"
    )
