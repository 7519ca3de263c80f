r"""Acting rows of a run: those that depend on others leave the iteration, and are judged.

Rows are chosen where the run begins (`mbd/model/independent_rows.py`), and again after a step that
failed: at the pose where its iteration was left, then at that of its start. Where other rows come
of it, the step is taken again. What dropped rows lacked when they were dropped, they may lack.

Rows that are dropped, open, are taken back and dropped again within a small way are dependent at
first order and hold at second order only: their forces are without bound, and the run ends.
"""

from __future__ import annotations

import numpy as np

from mbd.base.tolerances import RANK_SHAKY, RANK_TRIES
from mbd.integration.newton_loop import undo
from mbd.machine import buffer as m
from mbd.model.independent_rows import dropped_rows
from mbd.model.state import State
from mbd.model.workspace import Workspace


class ActingRows:
    """Which rows of a work space act.

    Attributes
    ----------
    shaky : tuple of str
        Labels of rows that hold at second order only, once they are seen.
    """

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.shaky: tuple[str, ...] = ()
        self._changes: list[np.ndarray] = []  # poses at which rows changed, close to each other
        self._drop(dropped_rows(work.model, work.store()))

    def again(self, tries: int) -> bool:
        """Choose rows after a step that failed, and go back to its start; tell if they changed.

        So many times others were tried for this step.
        """
        work, model = self.work, self.work.model
        left = work.vector(m.Q, model.n_q).copy()
        undo(work.I, work.F)
        start = work.store()
        if tries >= RANK_TRIES or self.shaky:
            return False
        for q in (left, start.q):
            if not np.isfinite(q).all():
                continue
            dropped = dropped_rows(model, start.replace(q=q), self.work.dropped)
            if not np.array_equal(dropped, self.work.dropped):
                return self._changed(start, dropped)
        return False

    def _changed(self, start: State, dropped: np.ndarray) -> bool:
        """Take other rows, unless they are shaky; tell whether they are taken."""
        far = RANK_SHAKY * max(1.0, float(self.work.F[m.LENGTH]))
        near = [q for q in self._changes if np.abs(q - start.q).max() <= far]
        self._changes = [*(q for q in near if (q != start.q).any()), start.q]
        if len(self._changes) > RANK_TRIES:
            rows = np.setxor1d(dropped, self.work.dropped)
            self.shaky = tuple(self.work.model.numbering.lam_labels[i] for i in rows)
            return False
        self._drop(dropped)
        return True

    def _drop(self, dropped: np.ndarray) -> None:
        """Let these rows depend on the others from here."""
        work, numbering = self.work, self.work.model.numbering
        new = np.setdiff1d(dropped, self.work.dropped)
        held = work.vector(m.HELD)
        work.drop(dropped)
        work.S[m.HISTORY], work.S[m.PROJECT] = 0, int(len(dropped) > 0)
        if len(new):
            there = Workspace(work.model, work.store())
            there.evaluate()
            held[numbering.lam[new]] = there.vector(m.X)[numbering.lam[new]]
            held[numbering.lam[new][numbering.lam_kinds[new] == m.VELOCITY_ROW]] = 0.0
