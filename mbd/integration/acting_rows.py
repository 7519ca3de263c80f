r"""Acting rows of a run: those that depend on others leave the iteration, and are judged.

Rows are chosen where the run begins (`mbd/model/independent_rows.py`), and again after a step that
failed: at the pose where its iteration was left, if that is near the rows, then at that of its
start. Where other rows come of it, the step is taken again. A method that sees how near rows are
to each other lets them be chosen before a step fails (``WORN``). What dropped rows lacked when they
were dropped, they may lack.

Rows that are dropped, open, are taken back and dropped again within a small way are dependent at
first order and hold at second order only: their forces are without bound, and the run ends.
"""

from typing import NamedTuple

import numpy as np

from mbd.base.tolerances import RANK_SHAKY, RANK_STAYS, RANK_TRIES, ROWS_MET, START_NEAR
from mbd.integration.newton_loop import undo
from mbd.machine import buffer as m
from mbd.model.independent_rows import Selection, selected
from mbd.model.workspace import Workspace, displaced


class Past(NamedTuple):
    """History of the choice of rows that still matters.

    Attributes
    ----------
    poses : list of (n_q,) array
        Where rows were changed, close to each other.
    turned : tuple of str
        Labels of rows that were dropped, or taken back, close to the present pose.
    shaky : bool
        Whether that has happened too often: they hold at second order only.
    """

    poses: list[np.ndarray]
    turned: tuple[str, ...]
    shaky: bool


class ActingRows:
    """Which rows of a work space act."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.past = Past([], (), False)
        self._drop(selected(work.model, work.store()))

    def again(self, tries: int, refused: bool = False) -> bool:
        """Choose rows after a step that failed, and go back to its start; tell if they changed.

        So many times others were tried for this step. One that is `refused` is undone already, and
        its increment kept by the method.
        """
        work, model = self.work, self.work.model
        left = work.vector(m.Q, model.n_q).copy()
        if not refused:
            undo(work.I, work.F)
        start = work.store()
        if self.past.shaky:
            return False
        if refused:
            increment = work.F[work.I[m.METHOD] + model.numbering.v]
            left = displaced(model, start, increment).q if np.isfinite(increment).all() else start.q
        sizes = START_NEAR * work.vector(m.DIAG)[model.numbering.lam]
        here = selected(model, start, work.dropped)
        there = here
        if np.isfinite(left).all():
            there = selected(model, start.replace(q=left), work.dropped)
        for new in (there, here):
            if (np.abs(new.lack) <= sizes).all() and not np.array_equal(new.dropped, work.dropped):
                return self._changed(start.q, new._replace(lack=here.lack), tries)
        if not self._near(start.q):
            self.past = self.past._replace(turned=())
        return self._hold(here)

    def renew(self) -> None:
        """Choose rows after a step that is well, where those that act come near to each other."""
        here = selected(self.work.model, self.work.store(), self.work.dropped)
        if not np.array_equal(here.dropped, self.work.dropped):
            self._drop(here)

    def words(self) -> str:
        """Return a message on rows that depend on others here, and not close by; or no words."""
        if not self.past.turned:
            return ""
        rows = ", ".join(map(repr, self.past.turned))
        return (
            f"{rows} depend on other rows at a pose close by, and not here: what is held there is "
            "rigid at second order only, by forces without bound; let bodies that lie on one line "
            "leave it, or take a row away"
        )

    def _near(self, q: np.ndarray) -> list[np.ndarray]:
        """Return the poses close to one at which rows were changed."""
        far = RANK_SHAKY * max(1.0, float(self.work.F[m.LENGTH]))
        return [x for x in self.past.poses if np.abs(x - q).max() <= far]

    def _changed(self, start: np.ndarray, new: Selection, tries: int) -> bool:
        """Take other rows, unless they are shaky; tell whether they are taken."""
        poses = [*(q for q in self._near(start) if (q != start).any()), start]
        rows = np.setxor1d(new.dropped, self.work.dropped)
        turned = tuple(self.work.model.numbering.lam_labels[i] for i in rows)
        self.past = Past(poses, turned, len(poses) + tries > RANK_TRIES)
        if not self.past.shaky:
            self._drop(new)
        return not self.past.shaky

    def _drop(self, new: Selection) -> None:
        """Let these rows depend on the others from here."""
        work, lam = self.work, self.work.model.numbering.lam
        rows = np.setdiff1d(new.dropped, work.dropped)
        work.drop(new.dropped)
        work.S[m.HISTORY] = 0
        allowed = ROWS_MET * work.vector(m.DIAG)[lam[rows]] * work.F[m.FAR]
        lack = new.lack[rows]
        work.vector(m.HELD)[lam[rows]] = np.where(np.abs(lack) <= allowed, lack, 0.0)
        self._hold(new)

    def _hold(self, new: Selection) -> bool:
        """Note how much of rates of positions is in rows on velocities; tell if it is more now."""
        names = self.work.model.numbering
        rows = new.dropped[names.lam_kinds[new.dropped] == m.VELOCITY_ROW]
        held, share = self.work.vector(m.HELD), new.share[rows]
        more = bool((share > held[names.lam[rows]] + RANK_STAYS).any())
        held[names.lam[rows]] = share
        return more
