r"""Independent rows: which rows repeat others at a pose, by kinematics alone.

With velocities in their units (the length of the model, 1 rad) and rows of length one,

.. math:: \hat B = D_r^{-1} B D_v, \qquad D_r = \operatorname{diag} |B_i D_v| ,

the rank is seen: redundant singular values are round-off, some 1e-15, those of honest rows 1e-7 and
more; no mass and no step size is in it. Where the rank is the same all around, rows that depend on
others hold by themselves (constant rank theorem). They may be dropped from an iteration: late rows
first, rows on velocities before those of positions, and a body's own rows never without need.

References
----------
.. [1] M. Wojtyra, Joint reaction forces in multibody systems with redundant constraints, Multibody
   System Dynamics 14 (2005). P. Businger and G. H. Golub, Linear least squares solutions by
   Householder transformations, Numerische Mathematik 7 (1965): column pivoting.
"""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.algebra.graphs import blocks, neighbours
from mbd.base import tolerances
from mbd.base.read_only import read_only
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, LinkedBodies, per_model, some_per_model
from mbd.model.state import State
from mbd.model.workspace import Workspace

DENSE = 300  # rows up to which a component is one dense matrix


class Component(NamedTuple):
    """Rows that may depend on each other: those of a two-connected part of the graph of bodies.

    Attributes
    ----------
    rows, columns : arrays of int
        Rows among all, own rows of bodies first, and the velocities that they reach.
    row, column, places : arrays of int
        Of each entry that may not be zero: its row and column among these, its place in F.
    """

    rows: np.ndarray
    columns: np.ndarray
    row: np.ndarray
    column: np.ndarray
    places: np.ndarray

    def unknowns(self, model: FrozenModel, which: np.ndarray) -> np.ndarray:
        """Return the unknowns of the velocities, then of some of the rows."""
        names = model.numbering
        return np.concatenate([names.v[self.columns], names.lam[self.rows[which]]])


def links_between(links: list[LinkedBodies]) -> dict[frozenset[str], list[int]]:
    """Return which links there are between two bodies."""
    pairs: dict[frozenset[str], list[int]] = {}
    for i, link in enumerate(links):
        for a, b in pairwise(link.bodies):
            pairs.setdefault(frozenset((a, b)), []).append(i)
    return pairs


def rows_in_loops(model: FrozenModel) -> list[np.ndarray]:
    """Return the rows of each two-connected component of the body graph (with ground).

    Only these can be redundant. The rows of the bodies themselves are among them; those that give
    way are not.
    """
    links, n = model.links(), model.numbering
    between = links_between(links)
    pairs = [(a, b) for link in links for a, b in pairwise(link.bodies)]
    groups = []
    for edges in blocks(neighbours(model.nodes, pairs)):
        together = sorted({i for pair in edges for i in between[frozenset(pair)]})
        if len(together) > 1:
            some = [links[i] for i in together]
            bodies = sorted({x for link in some for x in link.bodies} & set(model.bodies))
            spans = [n.owners[b] for b in bodies if b in n.owners]
            own = [i for s in spans for i in range(s.start, s.stop)]
            rows = np.array(own + [i for link in some for i in link.rows])
            groups.append(rows[~model.compliant[rows]])
    return groups


@some_per_model
def components(model: FrozenModel, which: Literal["B", "Bt"]) -> list[Component]:
    """Return what may be redundant in a model, with the entries of its rows B or columns Bt."""
    from mbd.model.pattern import pattern

    at = pattern(model)
    starts, other, places = at.starts, at.columns, at.places
    if which == "Bt":
        by_column = np.argsort(other, kind="stable")
        of_entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        starts = np.searchsorted(other[by_column], np.arange(len(starts)))
        other, places = of_entry[by_column], places[by_column]
    parts = []
    for rows in filter(len, rows_in_loops(model)):
        spans = [np.arange(*starts[model.n_v + i : model.n_v + i + 2]) for i in rows]
        entries = np.concatenate(spans)
        row = np.repeat(np.arange(len(rows)), [len(x) for x in spans])
        of_velocities = other[entries] < model.n_v
        entries, row = entries[of_velocities], row[of_velocities]
        columns, column = np.unique(other[entries], return_inverse=True)
        parts.append(Component(rows, columns, row, column, places[entries]))
    return parts


class Selection(NamedTuple):
    """Which rows depend on others at a state.

    Attributes
    ----------
    dropped : (n,) array of int
        They do, sorted.
    lack : (n_lam,) array
        What rows lack of zero; zero of rows on velocities.
    share : (n_lam,) array
        Of a dropped row on velocities, how much of rates of positions is in it.
    """

    dropped: np.ndarray
    lack: np.ndarray
    share: np.ndarray


def selected(model: FrozenModel, state: State, before: np.ndarray | None = None) -> Selection:
    """Return which rows depend on others at a state.

    Those that were dropped `before` stay so unless others are better by far. Directions of rows are
    known as well as the rows are met: a loop that is out of true by 1e-8 has rows that are
    independent by as much.
    """
    if not model.I[m.LOOPS]:
        return Selection(np.empty(0, np.int64), *np.zeros((2, model.n_lam)))
    at_first = before is None and not state.off and state.t == 0.0
    if at_first and np.array_equal(state.q, model.state.q):
        return _described(model)
    return _selected(model, state, before)


@per_model
def _described(model: FrozenModel) -> Selection:
    """Return the selection that is asked for most often."""
    return read_only(_selected(model, model.state, None))


def _selected(model: FrozenModel, state: State, before: np.ndarray | None) -> Selection:
    """Return a selection of rows, see `selected`."""
    lam, dropped = model.numbering.lam, [np.empty(0, np.int64)]
    sizes = model.F[model.I[m.DIAG] + lam]
    pose = model.state.replace(t=state.t, q=state.q, off=state.off, memory=state.memory)
    work = _linearised(model, pose)
    lack = work.vector(m.X)[lam].copy()
    lack[model.numbering.lam_kinds == m.VELOCITY_ROW] = 0.0
    released = work.vector(m.OFF)[lam] == m.RELEASED
    stays, share = np.zeros(model.n_lam, bool), np.zeros(model.n_lam)
    parts, before = components(model, "B"), dropped[0] if before is None else before
    numbers = [lack, *(work.F[part.places] for part in parts)]
    if not all(np.abs(x).max(initial=0.0) < tolerances.LARGEST for x in numbers):
        return Selection(before, lack, share)  # at a pose that is lost nothing is told
    stays[before] = True
    for part in parts:
        acts = np.flatnonzero(~released[part.rows])
        rows, B = part.rows[acts], _scaled(model, part, work.F)[acts]
        late = model.numbering.lam_kinds[rows] == m.VELOCITY_ROW
        missed = np.abs(lack[rows] / sizes[rows]).max(initial=0.0)
        nearer = min(max(tolerances.RANK, tolerances.RANK_LACK * missed), tolerances.RANK_MOST)
        if len(rows) <= DENSE:
            which = _dense(B.toarray(), late, stays[rows], nearer)
        else:
            which = _sparse(B, late, stays[rows], part.unknowns(model, acts), nearer)
        dropped.append(rows[which])
        if (these := which[late[which]]).size:
            one = np.setdiff1d(np.arange(len(rows)), which)
            N = combinations(B[one].toarray()[None], B[these].toarray()[None])[0]
            share[rows[these]] = np.abs(N[:, ~late[one]]).sum(axis=1)
    return Selection(np.sort(np.concatenate(dropped)), lack, share)


def redundant_rows(model: FrozenModel, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that repeat others at a state, and all whose multipliers are not unique there.

    These are the ones that dropped rows are made of, with N of `least_multipliers`.
    """
    dropped, free = selected(model, state).dropped, [np.empty(0, np.int64)]
    work = _linearised(model, state)
    for part in components(model, "B") if len(dropped) else ():
        off = np.isin(part.rows, dropped)
        acts = work.vector(m.OFF)[model.numbering.lam[part.rows]] == 0.0
        B, two = _scaled(model, part, work.F), np.flatnonzero(off)
        one = np.flatnonzero(acts & ~off)
        if not len(two):
            continue
        if len(one) <= DENSE:
            N = combinations(B[one].toarray()[None], B[two].toarray()[None])[0]
        else:
            N = combination(B[one], B[two].toarray(), part.unknowns(model, one))
        free += [part.rows[one[(np.abs(N) > tolerances.RANK).any(axis=0)]], part.rows[two]]
    return dropped, np.sort(np.concatenate(free))


def _linearised(model: FrozenModel, state: State) -> Workspace:
    """Return a work space with the rows at a state in X, and B in its matrix."""
    work = Workspace(model, state)
    work.evaluate()
    work.linearise(1.0, 0.0, 0.0)
    return work


def _scaled(model: FrozenModel, part: Component, F: np.ndarray) -> Any:
    """Return the rows of a component in kinematic units, each of length one, sparse."""
    import scipy.sparse as sp

    values = F[part.places] * model.units[part.columns][part.column]
    size = np.sqrt(np.bincount(part.row, values**2, minlength=len(part.rows)))
    values /= np.where(size > 0.0, size, 1.0)[part.row]
    shape = len(part.rows), len(part.columns)
    return sp.csr_matrix((values, (part.row, part.column)), shape)


def _dense(rows: np.ndarray, late: np.ndarray, stays: np.ndarray, nearer: float) -> np.ndarray:
    """Return which rows depend on others, by QR with column pivoting of the transpose."""
    weight = np.linspace(1.0, 0.5, len(rows)) * np.where(stays, tolerances.RANK_STAYS, 1.0)
    early = np.flatnonzero(~late)
    kept = early[_pivots(rows[early], weight[early], nearer)]
    if late.any():
        Q = np.linalg.qr(rows[kept].T)[0]
        after = np.flatnonzero(late)
        rest = rows[after]
        for _ in range(2):
            rest = rest - (rest @ Q) @ Q.T
        kept = np.concatenate([kept, after[_pivots(rest, weight[after], nearer)]])
    return np.setdiff1d(np.arange(len(rows)), kept)


def _pivots(rows: np.ndarray, weight: np.ndarray, nearer: float) -> np.ndarray:
    """Return independent rows, the heaviest first."""
    from scipy.linalg import qr

    if not len(rows):
        return np.empty(0, np.int64)
    R, order = qr((weight[:, None] * rows).T, mode="r", pivoting=True)
    distance = np.abs(np.diagonal(R)) / weight[order[: min(R.shape)]]
    return np.asarray(order[: int(np.count_nonzero(distance > nearer))])


def _sparse(
    B: Any, late: np.ndarray, stays: np.ndarray, unknowns: np.ndarray, nearer: float
) -> np.ndarray:
    r"""Return which rows depend on others, of many: squares nominate, distances decide.

    The pivot of a row in the elimination of :math:`[1, \hat B^T; \hat B, 0]` is minus the square of
    its distance from the rows before it. Squares lose half of the digits: rows with pivots below
    the root of round-off are candidates, whose distance from all others is found by solutions
    with these. They keep the corner, round-off, times the square of the length of their null
    vector over their part in it, 1 to 1e5 in meshes of a hundred bodies.
    """
    n = B.shape[1]
    lu, order = _eliminated(B, unknowns, tolerances.ROUND_OFF)
    candidate = (_row_pivots(lu, order, n) < tolerances.ROUND_OFF**0.5) | late | stays
    kept = np.flatnonzero(~candidate)
    B1 = B[kept]
    lu, order = _eliminated(B1, np.concatenate([unknowns[:n], unknowns[n + kept]]), 0.0)
    z = np.empty(n + len(kept))
    added: list[np.ndarray] = []
    dropped = []
    which = np.flatnonzero(candidate)
    for i in which[np.argsort(late[which] * 2 + stays[which], kind="stable")]:
        x = B[[i]].toarray()[0]
        for _ in range(3):
            z[order] = lu.solve(np.concatenate([x, np.zeros(len(kept))])[order])
            x = x - B1.T @ z[n:]
            for y in added:
                x = x - y * (y @ x)
        distance = float(np.linalg.norm(x))
        if distance > nearer:
            added.append(x / distance)
        else:
            dropped.append(i)
    return np.array(sorted(dropped), np.int64)


def _eliminated(B: Any, unknowns: np.ndarray, corner: float) -> tuple[Any, np.ndarray]:
    """Return the factors of [1, B^T; B, -corner] in the order of the unknowns, and this order."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import splu

    k, n = B.shape
    below = sp.diags(np.full(k, -corner))
    matrix = sp.block_array([[sp.identity(n), B.T], [B, below]], format="csr")
    order = np.argsort(unknowns)
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    return splu(matrix[order][:, order].tocsc(), permc_spec="NATURAL", options=options), order


def combination(B1: np.ndarray, B2: np.ndarray, unknowns: np.ndarray) -> np.ndarray:
    """Return N with B2 = N B1, (k2, k1): rows of length one, many; B1 are independent.

    `unknowns` are the places of velocities, then those of the rows of B1, in the elimination.
    """
    import scipy.sparse as sp

    n = B1.shape[1]
    B1 = sp.csr_matrix(B1)
    lu, order = _eliminated(B1, unknowns, 0.0)
    N, rest = np.zeros((len(B2), B1.shape[0])), B2
    z = np.empty((len(order), len(B2)))
    for _ in range(2):
        z[order] = lu.solve(np.vstack([rest.T, np.zeros((B1.shape[0], len(B2)))])[order])
        N = N + z[n:].T
        rest = B2 - N @ B1
    return N


def combinations(B1: np.ndarray, B2: np.ndarray) -> np.ndarray:
    """Return N with B2 = N B1, (n, k2, k1), of few rows; the least where B1 has lost rank."""
    Q, R = np.linalg.qr(B1.transpose(0, 2, 1))
    weakest = np.abs(np.diagonal(R, axis1=1, axis2=2)).min(axis=1, initial=1.0)
    sunk = np.flatnonzero(weakest <= tolerances.RANK)
    R[sunk] = np.eye(R.shape[1])
    N = np.linalg.solve(R, Q.transpose(0, 2, 1) @ B2.transpose(0, 2, 1)).transpose(0, 2, 1)
    for i in sunk:
        N[i] = B2[i] @ np.linalg.pinv(B1[i], rcond=tolerances.RANK)
    return np.asarray(N)


def _row_pivots(lu: Any, order: np.ndarray, n: int) -> np.ndarray:
    """Return the sizes of the pivots of rows, after n velocities in the user's order."""
    pivots = np.empty(len(order))
    pivots[order] = np.abs(lu.U.diagonal())
    return pivots[n:]


def misplaced(model: FrozenModel) -> dict[int, int]:
    """Return row elements that meet others in their front, and the body of this front.

    They are independent of these through bodies that come later: at their place in the order of
    elimination the square of their distance from the rows before them is no number to divide by.
    """
    if not model.I[m.LOOPS]:
        return {}
    import scipy.sparse as sp

    from mbd.model.pattern import pattern

    work, names = _linearised(model, model.state), model.numbering
    B = pattern(model).read(work.F)[model.n_v :, : model.n_v] @ sp.diags(model.units)
    acts = ~model.compliant
    acts[selected(model, model.state).dropped] = False
    rows = np.flatnonzero(acts)
    B = B[rows]
    size = np.sqrt(B.multiply(B).sum(axis=1).A1)
    B = sp.diags(1.0 / np.where(size > 0.0, size, 1.0)) @ B
    unknowns = np.concatenate([names.v, names.lam[rows]])
    lu, order = _eliminated(B.tocsr(), unknowns, tolerances.ROUND_OFF)
    weak = rows[_row_pivots(lu, order, model.n_v) < tolerances.ROUND_OFF**0.5]
    first = np.sort([row for some in names.elements.values() for _, row in some])
    elements = set((np.searchsorted(first, weak[weak >= first[0]], "right") - 1).tolist())
    return {
        ~g: front.body
        for front in model.fronts
        for g in front.pivots
        if front.updates and g < 0 and ~g in elements
    }
