r"""Shares of redundant joints: what of their reactions is unique, and how seats split the rest.

Multipliers with the same effect on the motion differ by self-stresses, :math:`\lambda + Nz` with
:math:`B^TN = 0`. Where each joint k sits in a spring :math:`K_k` the split is that of least energy,

.. math:: \min_z\ \tfrac12\sum_k w_k^TK_k^{-1}w_k, \qquad w = W(\lambda + Nz),

with the forces and moments :math:`w_k` of the joint on its second body: the limit of stiff springs
in the ratios of the K.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mbd.base.checked import mapping, meant, shown
from mbd.base.door import symmetric
from mbd.base.tolerances import RANK
from mbd.front.solution import Solution
from mbd.history.instants import acting
from mbd.history.quantities import PartHistory, Reaction
from mbd.model.frozen import refuse_set_valued
from mbd.model.independent_rows import rows_in_loops
from mbd.model.model import Model
from mbd.model.pattern import pattern
from mbd.model.state import State
from mbd.model.workspace import Workspace


@dataclass(frozen=True)
class UniqueReaction(Reaction):
    """Part of a reaction on the second body that does not depend on how redundant rows share it.

    Attributes
    ----------
    force, moment : (n, 3) arrays [N, N m]
        Of the reaction what is normal to all directions that are open; inertial axes, at the joint.
    open_forces, open_moments : (n,) arrays of int
        Number of directions in which it may be anything: 0 where all of it is unique, 3 where
        nothing is.
    """

    open_forces: np.ndarray
    open_moments: np.ndarray


def share_reactions(solution: Solution, stiffness: Mapping[str, Any]) -> Solution:
    r"""Return the run with the reactions of redundant joints shared as their stiffness tells.

    The motion and all reactions that are unique stay as they are. Joints without a stiffness are
    rigid compared with the others; what the stiffness leaves open stays as in the run.

    Parameters
    ----------
    solution : Solution
        Or ``equilibrium.solution``.
    stiffness : dict
        Of joints by name, (6,) or (6, 6) [N/m, N m/rad]: of the seat of the joint on its second
        body, in series with the joint, three translations and three rotations along the joint's
        axes (of a point along inertial axes). Only ratios count, up to 1e16.

    Returns
    -------
    Solution
        ``shared["hinge"].force`` and all else as of the run, in memory.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> beam = mbd.RigidBody("beam", mass=4.0, inertia=(1, 1, 1), position=(0, 0, 0))
    >>> beam = system.add(beam)
    >>> for i in (-1, 0, 1):
    ...     _ = system.add(mbd.Fixed(f"post {i}", system.ground, beam, at=(i, 0, 0)))
    >>> run = mbd.simulate(system, t_end=0.01, step=0.01)
    >>> soft, stiff = (1e6, 1e6, 1e6, 1, 1, 1), (2e6, 2e6, 2e6, 1, 1, 1)
    >>> shared = mbd.share_reactions(run, {"post -1": soft, "post 0": stiff, "post 1": soft})
    >>> round(float(shared["post 0"].force[-1, 2]), 9), 4 * 9.81 / 2  # on the beam
    (19.62, 19.62)
    """
    run = _checked("share_reactions", solution)
    model, joints = run.model, run.model.system.joints
    stiffnesses = mapping("share_reactions", "stiffness", stiffness, '{"hinge": (1e7,) * 6}')
    roots = {}
    for name, value in stiffnesses.items():
        if name not in joints:
            raise ValueError(
                f"share_reactions: stiffness must be of joints, got {shown(name)}; joints are "
                f"{', '.join(joints)}{meant(name, joints)}"
            )
        K = symmetric("share_reactions", f"stiffness of {name!r}", value, "N/m, N m/rad")
        try:
            roots[name] = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"share_reactions: stiffness of {name!r} must be positive in all six directions "
                "[N/m, N m/rad]; leave out a joint that is rigid"
            ) from None
    if not roots:
        raise ValueError("share_reactions: stiffness must name a joint; give {'hinge': (1e7,) * 6}")
    lam = np.array(run.lam)
    W = _wrenches(run)
    turned = {name: _turned(run, name) for name in roots}
    for i, N in _self_stresses(run):
        energy = []  # its square root, one row for each direction of each seat
        for name, L in roots.items():
            rows = model.numbering.owners[name]
            w = turned[name][i] @ W[name][i]
            root = scipy.linalg.solve_triangular(L, w, lower=True)  # w^T K^-1 w = |L^-1 w|^2
            energy.append(np.column_stack([root @ N[rows], root @ lam[i, rows]]))
        E = np.vstack(energy)
        lam[i] -= N @ np.linalg.lstsq(E[:, :-1], E[:, -1], rcond=RANK)[0]
    last = run.state if len(lam) == 0 else run.state.replace(lam=lam[-1])
    return Solution(
        model, run.t, run.q, run.v, run.a, lam, status=run.status, message=run.message,
        stats=run.stats, last=last, method=run.method, before=run.before, options=run.options,
        events=run.events, impulsive=run.impulses, impacts=run.impact_numbers,
    )  # fmt: skip


def unique_reactions(solution: Solution) -> dict[str, UniqueReaction]:
    """Return what of each joint's reaction is the same however redundant rows share it.

    The rest is decided by what rigid bodies do not know, play and stiffness. Besides these, the
    sum of all joints between two sides of a cut is unique.

    Parameters
    ----------
    solution : Solution
        Or ``equilibrium.solution``.

    Returns
    -------
    dict
        By the names of the joints.
    """
    run = _checked("unique_reactions", solution)
    W, n = _wrenches(run), len(run.t)
    joints, owners = run.model.system.joints, run.model.numbering.owners
    values = {name: np.stack([x.force, x.moment], axis=1) for name, x in run.reactions.items()}
    open_ = {name: np.zeros((n, 2), int) for name in joints}
    for i, N in _self_stresses(run):
        for name in joints:
            loose = W[name][i] @ N[owners[name]]
            for k in range(2):  # force, moment
                here = slice(3 * k, 3 * k + 3)
                U, s, _ = np.linalg.svd(loose[here], full_matrices=False)
                size = np.linalg.norm(W[name][i][here])
                U = U[:, s > RANK * size]
                values[name][i, k] -= U @ (U.T @ values[name][i, k])
                open_[name][i, k] = U.shape[1]
    return {
        name: UniqueReaction(x[:, 0], x[:, 1], open_[name][:, 0], open_[name][:, 1])
        for name, x in values.items()
    }


def _checked(who: str, solution: Any) -> Solution:
    """Return a run in memory."""
    if not isinstance(solution, Solution):
        raise TypeError(
            f"{who}: solution must be a Solution (mbd.simulate(...), equilibrium.solution), got "
            f"{shown(solution)}"
        )
    refuse_set_valued(who, solution.model)
    return solution if isinstance(solution.q, np.ndarray) else solution.part(slice(None))


def _wrenches(run: Solution) -> dict[str, np.ndarray]:
    """Return forces and moments (n, 6, rows) of unit multipliers of each joint."""
    model = run.model
    owners = {name: model.numbering.owners[name] for name in model.system.joints}
    W = {name: np.zeros((len(run.t), 6, s.stop - s.start)) for name, s in owners.items()}
    for row in range(max((w.shape[2] for w in W.values()), default=0)):
        unit = np.zeros(np.shape(run.lam))
        with_it = {name: s for name, s in owners.items() if s.start + row < s.stop}
        unit[:, [s.start + row for s in with_it.values()]] = 1.0
        force, moment = run.of_owners([PartHistory.force, PartHistory.moment], [*owners], unit)
        for j, name in enumerate(owners):
            if name in with_it:
                W[name][:, :3, row], W[name][:, 3:, row] = force[:, j], moment[:, j]
    return W


def _turned(run: Solution, name: str) -> np.ndarray:
    """Return T (n, 6, 6) from inertial axes to those of a joint on its second body."""
    B = run.model.system.joints[name].B
    T = np.zeros((len(run.t), 6, 6))
    T[:, :3, :3] = np.eye(3)
    if B.body.formulation.axes:
        axes = [run.vector_of(B.place, B.direction(k)) for k in range(3)]
        T[:, :3, :3] = np.stack(axes, axis=1)
    T[:, 3:, 3:] = T[:, :3, :3]
    return T


def _self_stresses(run: Solution) -> Iterator[tuple[int, np.ndarray]]:
    """Yield instants with an orthonormal basis (n_lam, k) of the multipliers without effect.

    Rows that do not act at an instant take no part; of one without redundant rows k is zero.
    """
    model: Model = run.model
    groups, n = rows_in_loops(model), model.n_v
    if not groups:
        return
    work, acts = Workspace(model), acting(model, np.asarray(run.lam)) != 0.0
    for i, t in enumerate(run.t):
        work.load(State(float(t), run.q[i], run.v[i], run.a[i], run.lam[i]))
        work.evaluate(1.0)
        work.linearise(1.0, 0.0, 0.0)
        B = pattern(model).read(work.F)[n:, :n].tocsr()
        columns = []
        for rows in groups:
            on = rows[acts[i, rows]]
            for null in _null(B[on]).T:
                column = np.zeros(model.n_lam)
                column[on] = null
                columns.append(column)
        yield i, np.array(columns).reshape(-1, model.n_lam).T


def _null(B: Any) -> np.ndarray:
    """Return N with B^T N = 0, of rows of unit length scaled back, (rows, k) of unit columns."""
    if B.shape[0] == 0:
        return np.zeros((0, 0))
    used = np.unique(B.indices)
    dense = B[:, used].toarray()
    length = np.linalg.norm(dense, axis=1)
    U, s, _ = np.linalg.svd(dense / length[:, None], full_matrices=True)
    N = U[:, int((s > RANK * s[0]).sum()) :] / length[:, None]
    return np.asarray(N / np.linalg.norm(N, axis=0))
