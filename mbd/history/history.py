"""The histories of a run by name: bodies, points, joints, energies, momenta."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np

from mbd.base.checked import whole
from mbd.base.read_only import read_only
from mbd.history.all_parts import in_pieces, past_of
from mbd.history.beams import BAR_WORDS, SECTION_WORDS, BeamHistory, CableHistory, Sections, lines
from mbd.history.bodies import StructureHistory
from mbd.history.columns import Column, model_columns
from mbd.history.impacts import Impacts
from mbd.history.joint_coordinates import freedoms
from mbd.history.joints import JointHistory, RowHistory
from mbd.history.loads import all_loads
from mbd.history.program import faces_of
from mbd.history.quantities import COLUMNS, Energy, Momentum, PartHistory, Reaction, no_part, table
from mbd.history.quantity import TOTALS, Owner, Quantity
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
        if name in nodes or (owner in nodes and name in faces_of(nodes[owner])):
            return self.body(name)
        if name in system.joints:
            return self.joint(name)
        rows = name in self.model.numbering.elements
        own = RowHistory(system[name], self) if rows else None
        if name in system.structures:
            part = system[name]
            nodes_of = [self.body(x.name) for x in part.nodes()]
            if (line := lines(self.model).get(name)) is not None:
                of_ends = partial(self._of_structure, name, SECTION_WORDS)
                return BeamHistory(name, nodes_of, own, Sections(self, [line]), of_ends)
            if part.bars:
                of_bars = partial(self._of_structure, name, BAR_WORDS)
                return CableHistory(name, nodes_of, own, of_bars)
            return StructureHistory(name, nodes_of, own)
        if own is not None:
            return own
        if name in system and (system[name].reads or system[name].coordinates):
            return RowHistory(system[name], self)
        raise no_part("Solution", name, [*nodes, *system.structures, *system.joints])

    def _of_structure(self, name: str, words: Mapping[str, Quantity], word: str) -> np.ndarray:
        return self.of_owners([words[word]], [name])[0]

    def joint(self, name: str) -> JointHistory:
        """Return the history of a joint."""
        return JointHistory(self.model.system.joints[name], self)

    @property
    def columns(self) -> dict[str, Column]:
        """Everything by its flat name, ``rod.position``: units and components."""
        return model_columns(self.model)

    def _named(self, entries: Sequence[Quantity]) -> Mapping[str, np.ndarray]:
        """Return quantities of all their owners by flat name, stored or computed."""
        if self.stored is not None:
            return self.stored
        pieces = [[x.values(e) for e in entries] for x in in_pieces(self, alike=True)]
        both = zip(entries, zip(*pieces, strict=True), strict=True)
        values = {entry.array: read_only(np.concatenate(x)) for entry, x in both}
        return {
            name: values[x.array][(slice(None), *x.place)]
            for name, x in self.columns.items()
            if x.array in values
        }

    @cached_property
    def _totals(self) -> Mapping[str, np.ndarray]:
        """Quantities of the whole model."""
        return self._named([x for x in table() if x.of in TOTALS and x.array])

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy, what was dissipated, and work, over time [J]."""
        return Energy(self._totals)

    @cached_property
    def momentum(self) -> Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        return Momentum(self._totals)

    @cached_property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant [m, rad, -; on velocities m/s, rad/s]."""
        return self._totals["gap"]

    @cached_property
    def impacts(self) -> Impacts:
        """All impacts of contacts, one line each, whatever instants are kept."""
        return Impacts(self.model.elements_set_valued, self.impact_numbers)

    @cached_property
    def reactions(self) -> dict[str, Reaction]:
        """Force [N] and moment [N m] of each joint on its second body, at the joint."""
        of = self._named([PartHistory.force, PartHistory.moment])
        return {x: Reaction(of[f"{x}.force"], of[f"{x}.moment"]) for x in self.model.system.joints}

    @cached_property
    def freedoms(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Coordinates of joints, ``hinge.angle``, and their rates (n,) [rad, rad/s; m, m/s]."""
        of = self._named([x for x in COLUMNS if x.of is Owner.COORDINATE])
        return {name: (of[name], of[f"{name}_rate"]) for name in freedoms(self.model)}

    @cached_property
    def loads(self) -> dict[str, np.ndarray]:
        """Loads of motors, drives, transmissions and ropes, ``motor.load``, (n,) each [N m, N]."""
        of = self._named([x for x in COLUMNS if x.of is Owner.LOAD])
        return {name: of[name] for name in all_loads(self.model)}

    def blocks(self, instants: int = 4096) -> Iterator[Self]:
        """Yield this solution in pieces of a number of instants, one after the other in memory."""
        instants, before = whole("Solution.blocks", "instants", instants, 1), self.before
        for first in range(0, len(self.t), instants):
            piece = self.part(slice(first, first + instants), before)
            yield piece
            if first + instants < len(self.t):
                before = past_of(piece)
