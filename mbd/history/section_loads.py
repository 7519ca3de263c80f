r"""Loads by laws of motion over time, where they act.

Each element is evaluated alone, with what it remembers followed from one instant to the next.
Its forces f on faces, the first at the origin, the others on directors, are at its section x

.. math:: F = -\sum f_0, \qquad M = -\sum\big((y_0 - x)\times f_0 + \sum_k d_k\times f_k\big) .
"""

from typing import NamedTuple

import numpy as np

from mbd.history.trajectory import Trajectory
from mbd.interactions.kind import Element
from mbd.interactions.motion_loads import form_of
from mbd.machine import buffer as m
from mbd.model.appendix import Appendix
from mbd.model.state import State
from mbd.model.turns_so_far import MEMORY
from mbd.model.values import declared
from mbd.model.workspace import Workspace


class SectionLoadHistory(NamedTuple):
    """A load over time: its point x (n, 3) [m], force (n, 3) [N], moment (n, 3) [N m]."""

    part: str
    x: np.ndarray
    force: np.ndarray
    moment: np.ndarray


class _LoadWithTable(NamedTuple):
    """An element with its table and the faces of its ends; weights of its points there (k, 4)."""

    part: str
    element: Element
    head: int
    faces: np.ndarray
    weights: np.ndarray


def _loads_with_tables(tables: Appendix) -> list[_LoadWithTable]:
    """Return the loads by laws of motion, each with a table of its own."""
    model, some = tables.model, []
    for part in model.system.parts:
        for record, e in zip(model.records[part], declared(model, part).elements, strict=True):
            form = form_of(e.kind)
            if form is None:
                continue
            of = [0 if a.body == "ground" else 1 + model.faces[a.body] + a.face
                  for a in e.attachments]  # fmt: skip
            faces = np.unique([x for x in of if x])
            weights = np.zeros((len(faces), 4))
            for a in range(0, form.nodes * form.each, form.each):
                weights[faces == of[a]] += e.attachments[a].weights
            head = tables.table(e.kind.head(1, record, len(e.memory)))
            some.append(_LoadWithTable(part, e, head, faces, weights))
    return some


def section_loads(run: Trajectory) -> list[SectionLoadHistory]:
    """Return the loads by laws of motion of a run, section by section; NaN where one raises."""
    model, tables = run.model, Appendix(run.model)
    elements = _loads_with_tables(tables)
    if not elements:
        return []
    work = Workspace(model, own=tables.end - model.size)
    work.I = tables.all_entries
    y, f = (work.vector(x, 12 * (model.n_faces + 1)).reshape(-1, 4, 3) for x in (m.Y, m.FY))
    both = [np.zeros((2, len(run.t), len(x.faces), 4, 3)) for x in elements]
    memory, last = run.before.get(MEMORY), run.t[0]
    for i in range(len(run.t)):
        work.load(State(run.t[i], run.q[i], run.v[i], run.a[i], run.lam[i], memory=memory))
        work.evaluate()
        work.F[m.T_LAST] = last
        for x, kept in zip(elements, both, strict=True):
            if x.element.memory:
                x.element.kind.accept(work.I, work.F, x.head)
            f[x.faces] = 0.0
            x.element.kind.forces(work.I, work.F, x.head)
            kept[0, i], kept[1, i] = y[x.faces], f[x.faces]
        memory, last = work.store().memory, run.t[i]
    loads = []
    for x, (faces, forces) in zip(elements, both, strict=True):
        at = np.einsum("kw,nkwi->ni", x.weights, faces)
        faces[:, :, 0] -= at[:, None]
        moment = -np.cross(faces, forces).sum(axis=(1, 2))
        loads.append(SectionLoadHistory(x.part, at - y[0, 0], -forces[:, :, 0].sum(1), moment))
    return loads
