"""Reactions of joints under small motions: rows of their derivatives."""

from __future__ import annotations

import numpy as np

from mbd.analyses.ports import OutputRows
from mbd.base.tolerances import REACTION_STEP
from mbd.history.joints import JointHistory
from mbd.history.trajectory import Trajectory
from mbd.model.workspace import displaced
from mbd.parts.joint import Joint
from mbd.small_motions.small_motion import SmallMotion


def reaction_rows(motion: SmallMotion, joint: Joint, quantity: str) -> OutputRows:
    """Return force [N] or moment [N m] of a joint on its second body.

    Linear in the multipliers; the attachments turn with the bodies, which enters by differences.
    """
    model, state = motion.model, motion.state
    owned = model.numbering.owners[joint.name]
    k = owned.stop - owned.start
    columns = np.concatenate(
        [np.arange(b.v.start, b.v.stop) for b in motion.maps if b.name in _names(joint)]
    )
    steps = REACTION_STEP * motion.scale[columns]
    q, lam = [], []
    for i, h in zip(columns, steps, strict=True):
        unit = np.zeros(model.n_v)
        unit[i] = h
        for at in (-2, -1, 1, 2):
            there = displaced(model, state, at * unit)
            q.append(there.q)
            lam.append(there.lam)
    for i in range(k):
        one = np.zeros(model.n_lam)
        one[owned.start + i] = 0.0 if model.compliant[owned.start + i] else 1.0
        q.append(state.q)
        lam.append(one)
    n = len(q)
    zero = np.zeros((n, model.n_v))
    poses = Trajectory(model, np.zeros(n), np.array(q), zero, zero, np.array(lam), last=state)
    values = getattr(JointHistory(joint, poses), quantity)
    moved = values[: 4 * len(columns)].reshape(-1, 4, 3)
    slope = np.einsum("i,nic->nc", [1.0, -8.0, 8.0, -1.0], moved) / (12 * steps[:, None])
    P = np.zeros((3, model.n_v))
    P[:, columns] = slope.T
    mu = np.zeros((3, model.n_lam))
    mu[:, owned] = values[4 * len(columns) :].T
    unit_name = "N" if quantity == "force" else "N m"
    labels = tuple(f"{joint.name}.{quantity}.{c}" for c in "xyz")
    return OutputRows(labels, unit_name, P, np.zeros_like(P), mu)


def _names(joint: Joint) -> set[str]:
    return {joint.A.name, joint.B.name}
