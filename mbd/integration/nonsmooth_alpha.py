r"""``mbd.NonsmoothAlpha``: the method for contacts, impacts, rigid stops and dry friction.

Its steps are those of ``nonsmooth``, which capture all events within them, or of ``located``, which
end at each; they find the set-valued laws of a model in tables.
"""

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.algebra.graphs import components, neighbours
from mbd.algebra.newmark import damping_weights
from mbd.base.checked import one_of
from mbd.base.door import number, within
from mbd.base.tolerances import CONTACT_SOFT, ROWS_MET
from mbd.integration import located, nonsmooth
from mbd.integration import set_valued_laws as sv
from mbd.integration.method import Facts
from mbd.interactions import set_valued as c
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, checked_set_valued, per_model
from mbd.model.independent_rows import selected
from mbd.model.state import State
from mbd.model.workspace import Workspace

LAWS_MET = ("contact", "rigid stop", "dry friction")  # the laws that it meets
_FORMS = {"rigid stop": c.SIDE, "dry friction": c.DRY}


# --- tables of the laws of a model ----------------------------------------------------------------
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
    trees : (n, 2) array of int
        Trees of bodies, held together by other parts, of both bodies; -1: ground.
    tree_of : (n_u,) array of int
        Tree of the bodies of each unknown; -1: of a law.
    rows : array of int
        Unknown of each row.
    entries, velocities, places, own : arrays of int
        Of each row its first entry in the matrix, of each entry the velocity and the place in F; of
        each row the place of its diagonal.
    """

    at: np.ndarray
    first: np.ndarray
    form: np.ndarray
    reaction: np.ndarray
    free: np.ndarray
    trees: np.ndarray
    tree_of: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    velocities: np.ndarray
    places: np.ndarray
    own: np.ndarray


@per_model
def laws_of(model: FrozenModel) -> Laws:
    """Return the set-valued laws of a model."""
    numbers, bodies, trees = [], [], _trees(model)
    for name, elements in model.numbering.elements.items():
        for record, (element, _) in zip(model.records[name], elements, strict=False):
            if not element.kind.set_valued:
                continue
            nodes = {x.body: model.nodes[x.body] for x in element.attachments if x.body in trees}
            free = sum(1.0 / x.mass for x in nodes.values())
            if element.row_kinds[0] == m.MOMENT:
                free = sum(3.0 / np.trace(x.inertia) for x in nodes.values())
            joint = model.system.parts[name].reaction_of
            reaction = model.I[model.records[joint][0] + m.E_ROW] if joint else -1
            first = model.I[record + m.E_NUMBERS] + len(element.numbers) - c.OWN
            form = _FORMS.get(element.kind.law, c.POINT)
            numbers.append((first, model.I[record + m.E_ROW], form, reaction, free))
            bodies.append([*nodes])
    table = np.array(numbers, float).reshape(-1, 5).T
    at, first, reaction = table[[0, 1, 3]].astype(int)
    ends = np.array([[trees[x] for x in (*some, None, None)[:2]] for some in bodies], int)
    n_rows = np.where(table[2] == c.POINT, 3, 1)
    rows = np.repeat(first - (np.cumsum(n_rows) - n_rows), n_rows) + np.arange(n_rows.sum())
    of_row = [some for some, n in zip(bodies, n_rows, strict=True) for _ in range(n)]
    tree_of = np.full(int(model.I[m.N_U]), -1)
    names = model.numbering
    owners = [owner for owner, words in names.v_names for _ in words]
    tree_of[names.v] = [trees[x] for x in owners]
    for name, span in names.owners.items():
        part = model.system.parts.get(name)
        on = [name] if name in trees or part is None else [x.name for x in part.bodies]
        tree_of[names.lam[span]] = max((trees.get(x, -1) for x in on), default=-1)
    tree_of[rows] = -1
    entries = _entries_of(model, rows, of_row)
    return Laws(
        at, first, table[2], reaction, table[4], ends.reshape(-1, 2), tree_of, rows, *entries
    )


def _trees(model: FrozenModel) -> dict[str | None, int]:
    """Return the number of the tree of each body; of none -1."""
    held = dict(model.set_valued)
    pairs: list[tuple[str, str]] = []
    for part in model.system.parts.values():
        if part.name not in held:
            some = [x.name for x in (*part.bodies, *part.nodes()) if x.name in model.nodes]
            pairs += pairwise(some)
    trees: dict[str | None, int] = {None: -1}
    for i, some in enumerate(components(neighbours(model.nodes, pairs))):
        trees |= dict.fromkeys(some, i)
    return trees


def _entries_of(model: FrozenModel, rows: np.ndarray, bodies: list[list[str]]) -> Any:
    """Return where entries of rows by the velocities of bodies are, and their diagonals."""
    from mbd.model.pattern import pattern  # scipy.sparse, which most runs do not need

    names, at = model.numbering, pattern(model)
    owners = np.array([owner for owner, words in names.v_names for _ in words], dtype=object)
    number = dict(zip(names.lam.tolist(), range(model.n_v, model.n_v + model.n_lam), strict=True))
    starts, velocities, places, own = [0], [], [], []
    for unknown, some in zip(rows.tolist(), bodies, strict=True):
        row = number[unknown]
        span = slice(at.starts[row], at.starts[row + 1])
        columns, where = at.columns[span], at.places[span]
        moved = columns < model.n_v
        moved[moved] = np.isin(owners[columns[moved]], some)
        velocities.append(names.v[columns[moved]])
        places.append(where[moved])
        own.append(where[columns == row][0])
        starts.append(starts[-1] + len(places[-1]))
    joined = (np.concatenate(x) if x else np.empty(0, int) for x in (velocities, places))
    return np.array(starts[:-1], int), *joined, np.array(own, int)


def write_laws(model: FrozenModel, F: np.ndarray) -> None:
    """Write what a method has to know of the laws to its own numbers, and to those of the laws."""
    laws, n_u = laws_of(model), int(model.I[m.N_U])
    own, n_rows, n = int(model.I[m.METHOD]), len(laws.rows), len(laws.places)
    at = own + sv.N_VECTORS * n_u
    F[at + sv.COUNT], F[at + sv.N_ROWS], F[at + sv.RESTITUTION_PART] = len(laws.at), n_rows, 1.0
    F[at + sv.N_ENTRIES], F[at + sv.N_TREES] = n, laws.trees.max(initial=-1) + 1
    F[at + sv.STIFF] = bool(model.kernels[m.ENERGY])
    sizes = np.where(laws.form == c.POINT, 3, 1)
    for which, values in (
        (sv.RECORDS, laws.at), (sv.FIRST_ROWS, np.cumsum(sizes) - sizes), (sv.ROWS, laws.rows),
        (sv.TREES, laws.trees.ravel()), (sv.ENTRIES, laws.entries), (sv.OWN, laws.own),
    ):  # fmt: skip
        base = at + sv.ARRAYS + which * n_rows
        F[base : base + len(values)] = values
    base = at + sv.ARRAYS + sv.N_ARRAYS * n_rows + n_rows * (2 * n_rows + n_u + 1)
    F[base : base + 2 * n] = np.concatenate([laws.velocities, laws.places])
    F[own + sv.IS_LAW * n_u + laws.rows] = 1.0
    F[own + sv.TREE * n_u : own + (sv.TREE + 1) * n_u] = laws.tree_of
    active = laws.at + c.ACTIVE
    F[at + sv.STARTED] = (F[active] == c.BEGUN).all()  # by steps that left a state
    F[active], F[laws.at + c.FORM] = np.maximum(F[active], c.WAITING), laws.form
    F[laws.at + c.REACTION], F[laws.at + c.LEAST] = laws.reaction, CONTACT_SOFT * laws.free


def begun(model: FrozenModel, state: State) -> bool:
    """Tell whether a state is one that steps have left: it has the modes of all laws."""
    if state.set_valued is None:
        return not model.set_valued and state.alg is not None
    active = np.isin(model.places_set_valued, laws_of(model).at + c.ACTIVE)
    return bool((checked_set_valued(model, state)[active] == c.BEGUN).all())


def own_floats(model: FrozenModel) -> int:
    """Return how many numbers a method keeps of its own."""
    laws = laws_of(model)
    trees = int(laws.trees.max(initial=-1)) + 1
    return sv.numbers_of_method(len(laws.rows), len(laws.places), trees, int(model.I[m.N_U]))


# --- the method -----------------------------------------------------------------------------------
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
        within(who, "rho", self.rho, "-", 0.0, 1.0)
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
