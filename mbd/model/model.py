"""The frozen model: its report, its matrices, its graph."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.above import Observing, from_above
from mbd.base.checked import flag
from mbd.base.html_tables import page
from mbd.interactions.kind import Kind
from mbd.machine import buffer as m
from mbd.model.description import lengths
from mbd.model.evaluation import measure_kernel
from mbd.model.frozen import FrozenModel, refuse_set_valued, state_of
from mbd.model.independent_rows import selected
from mbd.model.names import Names
from mbd.model.state import State
from mbd.model.values import changed
from mbd.model.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from networkx import MultiGraph
    from scipy.sparse import csr_array

    from mbd.model.assembly import Assembly
    from mbd.model.report import Report


@dataclass(eq=False)
class Model(FrozenModel):
    """A frozen system: tables, labels, sparsity pattern, elimination order.

    ``system.build()`` makes it. Units are those of the description, SI: coordinates [m, -],
    velocities [m/s, rad/s, 1/s], multipliers [N, N m].

    Attributes
    ----------
    system : System
        The description.
    redundant : bool
        Whether some rows depend on others.
    labels : tuple of str
        Names of all unknowns, velocities first, then multipliers.
    n_q, n_v, n_lam : int
        Numbers of stored coordinates, velocities, rows.
    threads : int
        How many threads take a step.
    set_valued : tuple of (str, str)
        Parts that have a set-valued law, and its kind.
    remembered : tuple of str
        Names of the numbers in ``state.memory``: ``"hinge.angle"`` of a joint, ``"spring.0"`` of
        the first element of a part.

    Other Parameters
    ----------------
    I : (n,) array of int
        All tables, which no run changes (``mbd/machine/buffer.py``).
    F : (n,) array of float
        Constants and the initial state: what the floats of every run begin with.
    size : int
        Floats of one run.
    numbering : Numbering
        Where each body and each row is among the unknowns, and their labels.
    fronts : list of Front
        The order of elimination.
    kernels : dict
        Compiled functions of each stage with their tables.
    elements : dict
        Elements of each part; bodies in one plane leave those that can change.
    node_records, records : dict
        Where in `I` the record of each node is, and those of the elements of each part.
    laws : list
        Laws of all elements, as prepared.
    stacked : StackedBodies
        Mass properties and initial states of all nodes, in arrays.
    """

    def prepare(self) -> None:
        """Measure sizes once: diagonal of M, softness of the rows, round-off of the unknowns."""
        loops = bool(self.I[m.LOOPS])
        length, arm = lengths(self.system)
        self.F[m.LENGTH] = length
        self.F[m.FAR], m.integers(self.F)[m.ELASTIC] = 1.0, 1
        self.F[m.UNIT : m.UNIT + m.N_UNKNOWN_KINDS] = 1.0
        self.F[[m.UNIT + m.TRANSLATION, m.UNIT + m.FORCE]] = length
        work = Workspace(self)
        accelerations = work.vector(m.YDD, 12 * (self.n_faces + 1))[12:]
        if not self.kernels[m.SECOND_MAPS]:  # nothing declares to need them
            accelerations[:] = np.nan
        work.evaluate(declared=True)
        if not np.isfinite(work.vector(m.X)).all() and not work.bad_law():
            accelerations[:] = 0.0
            if wrong := work.no_numbers():
                raise ValueError(f"System: {wrong}")
            self.refuse_undeclared(self.state)
        work.S[m.ELASTIC] = 0
        work.linearise(1.0, 0.0, 0.0)
        measure_kernel(work.I, work.F)
        self.settle(self.F, work.F, arm, self.stacked.mass.max())
        self.redundant = loops and len(selected(self, self.state).dropped) > 0

    def refuse_undeclared(self, state: State) -> None:
        """Refuse a kind whose forces depend on rates of faces where it does not declare so."""
        work = Workspace(self, state)
        work.evaluate()
        size = 12 * (self.n_faces + 1)
        written = work.vector(m.FY, size), work.vector(m.X)

        def finite(kind: Kind) -> bool:
            for x in written:
                x[:] = 0.0
            for forces, at in self.kernels[m.FORCES]:
                if forces is kind.forces:
                    forces(work.I, work.F, at)
            return all(np.isfinite(x).all() for x in written)

        kinds = {e.kind: name for name, own in self.elements.items() for e in own}
        some = {kind: part for kind, part in kinds.items() if finite(kind)}
        for vector, fact, what in (
            (m.YDD, "accelerated", "accelerations"), (m.YD, "damped", "velocities"),
        ):  # fmt: skip
            work.vector(vector, size)[:] = np.nan
            for kind, part in some.items():
                if not getattr(kind, fact) and not finite(kind):
                    raise ValueError(
                        f"{part}: the forces of its kind {str(kind)!r} depend on {what}; "
                        f"declare it, Kind(..., {fact}=True)"
                    )

    def settle(self, F: np.ndarray, measured: np.ndarray, arm: float, mass: Any) -> None:
        """Write what follows from a measurement (n_f,) to constants, or (n, n_f) of many models.

        `arm` is the size of bodies [m], `mass` that of the heaviest one [kg].
        """
        loops, u = bool(self.I[m.LOOPS]), int(self.I[m.N_U])
        at = slice(self.I[m.DIAG], self.I[m.DIAG] + u)
        F[..., at] = measured[..., at]
        lam = self.I[m.DIAG] + self.numbering.lam
        rows, units = F[..., lam], F[..., m.UNIT + self.numbering.lam_kinds]
        F[..., lam] = np.where(rows > 0.0, rows, units)  # one without a gradient here: its unit
        length, tiny = F[..., m.LENGTH], sys.float_info.epsilon
        # the round-off of a position turns a body of size `arm` by length/arm
        turn = length / arm
        n = len(self.nodes)
        # it adds up, and a chain has to move all bodies beyond: a quarter of their sum is measured
        force = mass * length * max(math.sqrt(n), n / 4)
        floors = (length, turn, turn, force, force * arm, force * arm, force * arm)
        for k, size in enumerate(floors):
            F[..., m.FLOOR + k] = tiny * size
        if loops:  # a pose may be singular: what lam does is then seen in v', lam itself is loose
            F[..., m.FLOOR + m.FORCE : m.FLOOR + m.VELOCITY_ROW + 1] = np.inf

    def with_values(self, values: Mapping[str, Any]) -> Model:
        """Return the model with other values of arguments of its parts, such as masses.

        What it computes is, bit for bit, what a model built with these values does; this one stays
        as it is. Tables and elimination order are shared, constants and the initial state written
        again. Values with which a part would have other coordinates, rows or forces are refused.

        Parameters
        ----------
        values : dict
            By part and argument, ``{"rod.mass": 2.0, "hinge.at": (0, 0, 1)}``, units as there, or
            component, ``"rod.inertia.xx"``, ``"rod.velocity.z"``; ``"gravity"`` is that of the
            system, other names without a dot are those of its ``mbd.Parameter``.

        Examples
        --------
        >>> import mbd
        >>> system = mbd.System(gravity=(0, 0, -9.81))
        >>> rod = system.add(mbd.RigidBody("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)))
        >>> model = system.build()
        >>> heavy = model.with_values({"rod.mass": 2.0})
        >>> heavy.nodes["rod"].mass
        2.0
        """
        other: Model = changed(self, values)
        return other

    @property
    def names(self) -> Names:
        """The numbers of the description by name: where they are in F, slopes, unit.

        ``model.names["rod.mass"]`` is a :class:`~mbd.model.names.Name`.
        """
        return Names(self)

    def report(self, state: State | None = None) -> Report:
        """Return bodies, joints, freedoms (counted and actual), loops, redundant rows by name."""
        from mbd.model.report import report  # networkx, which most runs do not need

        return report(self, state_of("Model.report", self, state))

    def plot_topology(self, ax: Any = None) -> Figure:
        """Draw bodies, joints and forces between them as a graph; redundant rows are marked.

        Needs the extra "plot"; ``ax`` are matplotlib Axes to draw in.
        """
        return from_above("Model.plot_topology", self, ax)

    @cached_property
    def joint_coordinates(self) -> Any:
        """The equations of motion in coordinates of its joints, with independent ones of its own.

        ``mbd.JointCoordinates(model, independent=[...])`` has those that are named.
        """
        coordinates: Any = from_above("Model.joint_coordinates", self)
        return coordinates

    def observe(self, what: Sequence[Any]) -> Observing:
        """Return an observation: quantities by name, again and again in one array.

        Names are looked up once; what then runs is compiled, and only reads the run.

        Parameters
        ----------
        what : list
            Names of results, "hip.angle", "tip.position", "tip.position.x"; of a point in body
            axes [m] ("tip", (0, 0, 0.1), "position"), "velocity", "acceleration" or what an
            "accelerometer" there feels; ("tip", "wall", "distance") of two bodies, or after each
            body a point.

        Returns
        -------
        Observation
            ``observation(stepper)`` or ``observation(state)`` is an array.

        Examples
        --------
        >>> import mbd
        >>> system = mbd.System()
        >>> cart = system.add(mbd.PointMass("cart", mass=2.0, velocity=(1.0, 0.0, 0.0)))
        >>> stepper = mbd.Stepper(system, 1e-3)
        >>> observation = stepper.model.observe(["cart.velocity.x", "cart.position"])
        >>> observation.labels
        ('cart.velocity.x', 'cart.position.x', 'cart.position.y', 'cart.position.z')
        >>> stepper.step(500)
        >>> observation(stepper).round(9).tolist()[:2]
        [1.0, 0.5]
        """
        return from_above("Model.observe", self, what)  # type: ignore[no-any-return]

    def graph(self, state: State | None = None) -> MultiGraph:
        """Return bodies, and what is between them, as a graph of networkx.

        Nodes are ``"ground"`` and the bodies, with their ``formulation``, ``mass``, ``velocities``
        (labels) and ``loads``, the names of what acts on one body alone. Edges are joints, drives,
        transmissions, forces and elements of structures, with their name as ``key``, ``part``,
        ``kind``, ``type`` and ``reaction``, the multipliers [N, N m]. Both have their own ``rows``
        (labels), and those of them that are ``redundant`` and ``not_unique`` at the state.
        """
        from mbd.model.graph import graph_of

        return graph_of(self, state_of("Model.graph", self, state))

    def assemble(self, state: State | None = None, *, memories: bool = False) -> Assembly:
        """Return the labelled global matrices M, G, K, B and the residual at a state.

        With ``memories`` G and K are those of loads whose memory is at rest with the motion, of a
        ``SectionLoad`` with ``settles=True``; else all that is remembered stays as it is.
        """
        from mbd.model.assembly import assemble

        refuse_set_valued("Model.assemble", self)
        rest = flag("Model.assemble", "memories", memories)
        return assemble(self, state_of("Model.assemble", self, state), rest)

    def moved(self, state: State, d: Any) -> State:
        r"""Return the state at :math:`q \boxplus d`, all else as it is.

        Parameters
        ----------
        state : State
        d : (n_v,) array [m, rad, -]
            An increment for each velocity, in the order of ``labels``.
        """
        from mbd.model.state_operations import moved, of_velocities

        state = state_of("Model.moved", self, state)
        return moved(self, state, of_velocities("Model.moved", "d", self, d))

    def tangent_operator(self, state: State, d: Any) -> csr_array:
        r"""Return T(d), (n_v, n_v): :math:`q \boxplus (d + e) = (q \boxplus d) \boxplus T(d)\,e`.

        To first order in e; velocities are those of the increment d by :math:`v = T(d)\,\dot d`.
        """
        from mbd.model.state_operations import of_velocities, tangent_operator

        state = state_of("Model.tangent_operator", self, state)
        return tangent_operator(self, state, of_velocities("Model.tangent_operator", "d", self, d))

    def difference(self, a: State, b: State) -> np.ndarray:
        r"""Return d, (n_v,), with :math:`q_a \boxplus d = q_b`.

        Raises
        ------
        ValueError
            Where there is none: beyond half a turn, or off the manifold.
        """
        from mbd.model.state_operations import difference

        who = "Model.difference"
        return difference(self, state_of(who, self, a), state_of(who, self, b))

    def _repr_html_(self) -> str:
        return page(repr(self), self.system._repr_html_())

    def __repr__(self) -> str:
        return (
            f"Model({len(self.nodes)} bodies, {len(self.system.joints)} joints, "
            f"{self.n_v} velocities, {self.n_lam} rows)"
        )
