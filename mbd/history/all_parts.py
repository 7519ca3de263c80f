"""Results of all parts together, at as many instants as memory holds easily.

`Solution` evaluates the one part that is asked for; what needs all of them, sums, files and
labelled arrays, takes a solution in pieces and each piece as a whole.

Some quantities look back: quaternions, whose sign does not jump, angles, which count their turns,
and work, which is summed. What they need of the last instant goes from piece to piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from mbd.history.beams import Sections, all_helicoids, bars_over_time, cables
from mbd.history.bodies import BodyHistory, Shown
from mbd.history.faces import Faces, Group, all_columns, all_groups, columns_of
from mbd.history.instants import Instants, instants
from mbd.history.joint_coordinates import all_freedoms
from mbd.history.joints import all_reactions
from mbd.history.loads import all_loads
from mbd.history.quantities import Reaction
from mbd.history.quantity import Owner, Quantity
from mbd.history.trajectory import Trajectory
from mbd.model.turns_so_far import Before

_FACES = 1 << 16  # bodies times instants in one piece, some 50 MB
_PIECE = 1 << 12  # instants in one piece


def _kept(faces: Shown) -> Callable[[slice], Shown]:
    return lambda here: (faces[0][here], faces[1][here], faces[2][here])


class AllParts:
    """All parts of a solution at all its instants, each kind in one array.

    Attributes
    ----------
    trajectory : Trajectory
        In memory.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory, self.model = trajectory, trajectory.model

    @cached_property
    def faces(self) -> Faces:
        """The faces of all bodies."""
        return self.trajectory.faces()

    @cached_property
    def _bodies(self) -> list[tuple[Group, BodyHistory]]:
        """The bodies of each formulation."""
        s, f, histories = self.trajectory, self.faces, list[tuple[Group, BodyHistory]]()
        origin = s.model.origin
        for g in all_groups(self.model):
            body = self.model.nodes[g.names[0]]
            quaternions = [s.before[name] for name in g.names if name in s.before]
            first = all_columns(self.model)
            at = g.faces if g.formulation.n_faces == 1 else [first[name] for name in g.names]
            faces = (f.y[:, at], f.yd[:, at], f.ydd[:, at])
            before = np.array(quaternions) if quaternions else None
            histories.append((g, BodyHistory(body, (s.q, s.v, s.a), _kept(faces), origin, before)))
        return histories

    def of_bodies(self, what: str, width: tuple[int, ...], turning: bool) -> np.ndarray:
        """Return a property of all bodies, (n, bodies, ...); NaN for points if it is a turning."""
        values = np.full((len(self.trajectory.t), len(self.model.bodies), *width), np.nan)
        for g, history in self._bodies:
            if g.formulation.axes or not turning:
                values[:, g.at] = getattr(history, what)
        return values

    def values(self, quantity: Quantity) -> np.ndarray:
        """Return a quantity of all its owners, (n, owners, ...)."""
        if quantity.of not in (Owner.BODY, Owner.TURNING, Owner.BREATHING):
            return quantity.of_history(self)
        n = len(quantity.axes.components)
        return self.of_bodies(quantity.name, (n,) * bool(n), quantity.of is not Owner.BODY)

    @property
    def lam(self) -> np.ndarray:
        """Multipliers of all rows, (n, n_lam)."""
        return np.asarray(self.trajectory.lam)

    @cached_property
    def reactions(self) -> Reaction:
        """Reactions of all joints on their second bodies, at the joint, (n, joints, 3)."""
        return all_reactions(self.model).over_time(self.faces, self.trajectory.lam)

    @cached_property
    def sections(self) -> Sections:
        """Forces, moments and strains of the sections of all beams, (n, elements, ...)."""
        helicoids = all_helicoids(self.model)
        assert helicoids is not None  # quantities of sections are asked of models with beams
        return Sections(helicoids, self.faces, self.model.origin)

    @cached_property
    def bars(self) -> tuple[np.ndarray, np.ndarray]:
        """Tension and energy of the bars of all cables, (n, bars) each."""
        bars = [x for some in cables(self.model).values() for x in some]
        return bars_over_time(bars, self.faces)

    @property
    def modal(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the shapes of all flexible bodies and their rates, (n, modes) each."""
        numbers: tuple[list[int], list[int]] = [], []
        for name, both in columns_of(self.model).items():
            n = self.model.nodes[name].formulation.n_inner
            for own, x in zip(numbers, both, strict=True):
                own.extend(range(x.stop - n, x.stop))
        return self.trajectory.q[:, numbers[0]], self.trajectory.v[:, numbers[1]]

    @cached_property
    def freedoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of joints and their rates, (n, freedoms)."""
        s = self.trajectory
        u, rate, _ = all_freedoms(self.model).over_time(self.faces, s.t, s.before)
        return u, rate

    @cached_property
    def _loads(self) -> tuple[np.ndarray, Before]:
        s = self.trajectory
        return all_loads(self.model).over_time(self.faces, s.lam, s.t, s.before)

    @property
    def loads(self) -> np.ndarray:
        """Loads of motors, drives, transmissions and ropes, (n, loads)."""
        return self._loads[0]

    @cached_property
    def _instants(self) -> Instants:
        return instants(self.trajectory)

    @property
    def energies(self) -> tuple[np.ndarray, ...]:
        """Kinetic, potential and dissipated energy, work, and that of impulses, (n,) each."""
        return self._instants.energies

    @property
    def momenta(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular momentum, (n, 3) each."""
        return self._instants.momenta

    @property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant."""
        return self._instants.gap

    def after(self, *, alike: bool = False) -> Before:
        """Return the memory at the last instant, from which later ones go on.

        `alike`: if nothing else is wanted of them than of these.
        """
        needed = vars(self) if alike else ("_bodies", "_instants", "freedoms", "_loads")
        last: Before = {}
        for g, history in self._bodies if "_bodies" in needed else ():
            if g.formulation.axes:
                last |= zip(g.names, history.quaternion[-1], strict=True)
        if "_instants" in needed:
            last |= self._instants.after
        free = all_freedoms(self.model)
        if free.periodic.any() and "freedoms" in needed:
            last |= free.after(self.trajectory.t, *self.freedoms)
        if all_loads(self.model).laws and "_loads" in needed:
            last |= self._loads[1]
        return last


def in_pieces(
    trajectory: Trajectory, most: int = _PIECE, *, alike: bool = False
) -> Iterator[AllParts]:
    """Yield everything of some instants after the other, not too many for memory.

    `alike`: the same is wanted of each, before the next one is taken.
    """
    n, before = len(trajectory.t), trajectory.before
    step = max(1, min(most, _FACES // trajectory.model.n_faces))
    for first in range(0, n or 1, step):
        whole = step >= n and isinstance(trajectory.q, np.ndarray)
        here = slice(first, first + step)
        piece = AllParts(trajectory if whole else trajectory.part(here, before))
        yield piece
        if first + step < n:
            before = piece.after(alike=alike)


def past_of(trajectory: Trajectory) -> Before:
    """Return the memory at the end of a trajectory: turns, signs and sums so far."""
    for piece in in_pieces(trajectory):
        last = piece
    return last.after()
