"""The histories of a run by name: bodies, points, joints, energies, momenta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Self

import numpy as np

from mbd.base.checked import whole
from mbd.base.read_only import read_only
from mbd.history.all_parts import AllParts, in_pieces, past_of
from mbd.history.beams import (
    BAR_WORDS,
    BeamHistory,
    CableHistory,
    Helicoids,
    Sections,
    bars_over_time,
    lines,
)
from mbd.history.bodies import StructureHistory
from mbd.history.columns import Column, model_columns
from mbd.history.faces import all_columns
from mbd.history.joint_coordinates import freedoms
from mbd.history.joints import JointHistory, RowHistory
from mbd.history.loads import MotorHistory, all_loads
from mbd.history.quantities import Energy, Momentum, PartHistory, Reaction, no_part, table
from mbd.history.trajectory import Trajectory
from mbd.interactions.kind import face_name


class History(Trajectory):
    """A trajectory whose parts and sums are read by name."""

    def __getitem__(self, name: str) -> PartHistory:
        system, nodes = self.model.system, self.model.nodes
        if not isinstance(name, str):
            raise no_part("Solution", name, nodes)
        owner, _, face = name.partition("/")
        if owner in nodes and face in nodes[owner].face_names:  # by name, not by number
            name = face_name(owner, 1 + nodes[owner].face_names.index(face))
        if name in nodes or ("/" in name and name in all_columns(self.model)):
            return self.body(name)
        if name in system.joints:
            return self.joint(name)
        rows = name in self.model.numbering.elements
        own = RowHistory(system[name], self) if rows else None
        if name in system.structures:
            part = system[name]
            nodes_of = [self.body(x.name) for x in part.nodes()]
            line = lines(self.model).get(name)
            if line is not None:
                faces = self.faces([x.place for e in line.elements for x in e.attachments])
                helicoids = Helicoids.of([line], faces.column)
                sections = Sections(helicoids, faces, self.model.origin)
                return BeamHistory(name, nodes_of, own, sections)
            if part.bars:
                faces = self.faces([x.name for x in part.nodes()])
                both = cache(
                    lambda: dict(zip(BAR_WORDS, bars_over_time(part.bars, faces), strict=True))
                )
                return CableHistory(name, nodes_of, own, lambda word: both()[word])
            return StructureHistory(name, nodes_of, own)
        if own is not None:
            return own
        if name in system and system[name].reads:
            return MotorHistory(system[name], self)
        raise no_part("Solution", name, [*nodes, *system.structures, *system.joints])

    def joint(self, name: str) -> JointHistory:
        """Return the history of a joint."""
        return JointHistory(self.model.system.joints[name], self)

    def _all(self, take: Callable[[AllParts], tuple[np.ndarray, ...]]) -> list[np.ndarray]:
        """Return what is taken of everything, piece by piece."""
        pieces = [take(piece) for piece in in_pieces(self, alike=True)]
        return read_only([np.concatenate(x) for x in zip(*pieces, strict=True)])

    @property
    def columns(self) -> dict[str, Column]:
        """Everything by its flat name, ``rod.position``: units and components."""
        return model_columns(self.model)

    def _totals(self, of: type) -> Mapping[str, np.ndarray]:
        """Return quantities of the whole model by their flat names."""
        if self.stored is not None:
            return self.stored
        entries = [x for x in table(of) if x.take]
        values = self._all(lambda piece: tuple(piece.values(x) for x in entries))
        return {x.flat: y for x, y in zip(entries, values, strict=True)}

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy, what was dissipated, and work, over time [J]."""
        return Energy(self._totals(Energy))

    @cached_property
    def momentum(self) -> Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        return Momentum(self._totals(Momentum))

    @cached_property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant [m, rad, -; on velocities m/s, rad/s]."""
        return self._all(lambda x: (x.gap,))[0] if self.stored is None else self.stored["gap"]

    @cached_property
    def reactions(self) -> dict[str, Reaction]:
        """Force [N] and moment [N m] of each joint on its second body, at the joint."""
        joints, stored = self.model.system.joints, self.stored
        if stored is not None:
            return {x: Reaction(stored[f"{x}.force"], stored[f"{x}.moment"]) for x in joints}
        force, moment = self._all(lambda x: (x.reactions.force, x.reactions.moment))
        return {name: Reaction(force[:, i], moment[:, i]) for i, name in enumerate(joints)}

    @cached_property
    def freedoms(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """What joints leave free, ``hinge.angle``, and its rate, (n,) each [rad, rad/s; m, m/s]."""
        names = freedoms(self.model)
        if self.stored is not None:
            return {name: (self.stored[name], self.stored[f"{name}_rate"]) for name in names}
        u, rate = self._all(lambda x: x.freedoms)
        return {name: (u[:, i], rate[:, i]) for i, name in enumerate(names)}

    @cached_property
    def loads(self) -> dict[str, np.ndarray]:
        """What motors, drives, transmissions and ropes report, ``motor.load``, (n,) each."""
        names = all_loads(self.model).units
        if self.stored is not None:
            return {name: self.stored[name] for name in names}
        return dict(zip(names, self._all(lambda x: (x.loads,))[0].T, strict=True))

    def blocks(self, instants: int = 4096) -> Iterator[Self]:
        """Yield this solution in pieces of so many instants, one after the other in memory."""
        instants, before = whole("Solution.blocks", "instants", instants, 1), self.before
        for first in range(0, len(self.t), instants):
            piece = self.part(slice(first, first + instants), before)
            yield piece
            if first + instants < len(self.t):
                before = past_of(piece)
