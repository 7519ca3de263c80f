"""Results of all parts together, at as many instants as memory holds easily.

`Solution` evaluates the one part that is asked for; what needs all of them, sums, files and
labelled arrays, takes a solution in pieces and each piece as a whole.

Some quantities look back: quaternions, whose sign does not jump, angles, which count their turns,
and work, which is summed. What they need of the last instant goes from piece to piece.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mbd.history.columns import model_items
from mbd.history.instants import Instants, instants
from mbd.history.joint_coordinates import after, freedoms, periodic
from mbd.history.joint_coordinates import over_time as coordinates_over_time
from mbd.history.loads import all_loads
from mbd.history.loads import over_time as loads_over_time
from mbd.history.quantities import PartHistory, Reaction, table
from mbd.history.quantity import Owner, Quantity
from mbd.history.trajectory import Trajectory
from mbd.model.turns_so_far import Before

_FACES = 1 << 16  # bodies times instants in one piece, some 50 MB
_PIECE = 1 << 12  # instants in one piece


class AllParts:
    """All parts of a solution at all its instants, each kind in one array.

    Attributes
    ----------
    trajectory : Trajectory
        In memory.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory, self.model = trajectory, trajectory.model
        self._of_bodies: dict[Quantity, np.ndarray] = {}
        self._of_owners: dict[Owner, dict[Quantity, np.ndarray]] = {}

    def of_bodies(self, quantity: Quantity) -> np.ndarray:
        """Return a quantity of all bodies, (n, bodies, ...); NaN of what points do not have."""
        if quantity not in self._of_bodies:
            turning = quantity.of is not Owner.BODY
            nodes = self.model.nodes
            names = [x for x in nodes if nodes[x].formulation.axes or not turning]
            some = self.trajectory.of_bodies(quantity, names)
            values = np.full((len(some), len(nodes), *some.shape[2:]), np.nan)
            values[:, [self.model.bodies[x] for x in names]] = some
            self._of_bodies[quantity] = values
        return self._of_bodies[quantity]

    def values(self, quantity: Quantity) -> np.ndarray:
        """Return a quantity of all its owners, (n, owners, ...)."""
        if quantity.of in (Owner.BODY, Owner.TURNING, Owner.BREATHING):
            return self.of_bodies(quantity)
        return (
            self._of_kind(quantity.of)[quantity]
            if quantity.by_kernels
            else quantity.of_history(self)
        )

    def _of_kind(self, of: Owner) -> dict[Quantity, np.ndarray]:
        """Return all that kernels observe of owners of a kind, by one program."""
        if of not in self._of_owners:
            some = [x for x in table() if x.of is of and x.by_kernels]
            owners = [x.name for x in model_items(self.model)[of.dimension] if of in x.owners]
            each = self.trajectory.of_owners(some, owners)
            self._of_owners[of] = dict(zip(some, each, strict=True))
        return self._of_owners[of]

    @property
    def lam(self) -> np.ndarray:
        """Multipliers of all rows, (n, n_lam)."""
        return np.asarray(self.trajectory.lam)

    @property
    def reactions(self) -> Reaction:
        """Reactions of all joints on their second bodies, at the joint, (n, joints, 3)."""
        return Reaction(self.values(PartHistory.force), self.values(PartHistory.moment))

    @cached_property
    def freedoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of joints and their rates, (n, freedoms)."""
        u, rate, _ = coordinates_over_time(self.trajectory, freedoms(self.model))
        return u, rate

    @cached_property
    def loads(self) -> np.ndarray:
        """Loads of motors, drives, transmissions and ropes, (n, loads)."""
        return loads_over_time(self.trajectory, [*all_loads(self.model).values()])

    @cached_property
    def _instants(self) -> Instants:
        return instants(self.trajectory)

    @property
    def energies(self) -> tuple[np.ndarray, ...]:
        """Kinetic, potential and dissipated energy, work, and that of impulses, (n,) each."""
        return self._instants.energies

    @property
    def losses(self) -> np.ndarray:
        """Energy that friction and impacts of set-valued laws took, (n, 2)."""
        return self._instants.losses

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
        last: Before = {}
        if PartHistory.quaternion in self._of_bodies or not alike:
            turning = [x for x in self.model.nodes if self.model.nodes[x].formulation.axes]
            all_of_them = self.of_bodies(PartHistory.quaternion)[-1]
            last |= {x: all_of_them[self.model.bodies[x]] for x in turning}
        if "_instants" in vars(self) or not alike:
            last |= self._instants.after
        free = freedoms(self.model)
        if len(periodic(free)) and ({"freedoms", "loads"} & {*vars(self)} or not alike):
            last |= after(free, self.trajectory.t, *self.freedoms)
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
