"""The report of a model: bodies, joints, degrees of freedom, loops, redundant rows."""

from dataclasses import dataclass

import networkx as nx

from mbd.base.html_tables import facts, page, table
from mbd.model.frozen import FrozenModel
from mbd.model.graph import graph_of
from mbd.model.state import State


@dataclass(frozen=True)
class Report:
    """Facts of a model at a pose; prints as text.

    Attributes
    ----------
    n_constraints, n_forces : int
        Parts with rows that are no joints (drives, transmissions, ...); parts without rows.
    structures : tuple
        Of parts that own nodes: name, class, number of nodes.
    joints : tuple
        Of joints, then of other parts with rows: name, class, first body, the others, rows.
    gruebler_freedoms : int
        Velocities less rows: the count of Gruebler.
    freedoms : int
        Velocities less rank of the rows: what the mechanism really has at this pose.
    redundant : tuple of str
        Labels of rows that repeat others, joint by joint.
    not_unique : tuple of str
        Labels of the multipliers that the equations leave undetermined.
    n_compliant, n_contacts : int
        Rows that give way, among ``n_rows``: they take no freedom, and are never redundant. Those
        of contacts among these.
    """

    n_bodies: int
    n_joints: int
    n_constraints: int
    n_forces: int
    n_q: int
    n_v: int
    n_rows: int
    rank: int
    islands: tuple[tuple[str, ...], ...]
    loops: tuple[tuple[str, ...], ...]
    redundant: tuple[str, ...]
    not_unique: tuple[str, ...]
    joints: tuple[tuple[str, str, str, str, int], ...]
    bodies: tuple[tuple[str, str, float], ...]
    structures: tuple[tuple[str, str, int], ...] = ()
    n_compliant: int = 0
    n_contacts: int = 0

    @property
    def gruebler_freedoms(self) -> int:
        """Velocities less rows that hold."""
        return self.n_v - self.n_rows + self.n_compliant

    @property
    def freedoms(self) -> int:
        """Velocities less rank."""
        return self.n_v - self.rank

    @property
    def n_redundant(self) -> int:
        """Number of redundant rows."""
        return self.n_rows - self.n_compliant - self.rank

    def _repr_html_(self) -> str:
        first, *facts_, _ = str(self).split("\n")[:5]
        redundant = _grouped(self.redundant) if self.redundant else ""
        return page(
            first,
            facts(size=facts_[0], freedoms=facts_[1], loops=len(self.loops),
                  redundant_rows=redundant, not_unique=_grouped(self.not_unique)),
            table("bodies", ("name", "formulation", "mass [kg]"), self.bodies),
            table("parts with nodes", ("name", "kind", "nodes"), self.structures),
            table("joints and rows", ("name", "kind", "first", "second", "rows"), self.joints),
        )  # fmt: skip

    def __str__(self) -> str:
        """Return the report as text; long lists are cut."""
        many, compliant = 12, self.n_compliant - self.n_contacts
        lines = [
            f"{_counted(self.n_bodies, 'body', 'bodies')}, {_counted(self.n_joints, 'joint')}, "
            + (
                f"{_counted(self.n_constraints, 'other constraint')}, "
                if self.n_constraints
                else ""
            )
            + _counted(self.n_forces, "force"),
            f"{self.n_q} coordinates, {self.n_v} velocities, "
            f"{_counted(self.n_rows, 'row')} of rank {self.rank}"
            + (f", {compliant} of them compliant" if compliant else "")
            + (f", {self.n_contacts} of contacts" if self.n_contacts else ""),
            f"degrees of freedom: {self.freedoms} (Gruebler's count: {self.gruebler_freedoms})",
            f"loops: {len(self.loops)}, separate mechanisms: {len(self.islands)}",
        ]
        for name, formulation, mass in self.bodies[:many]:
            lines.append(f"  body  {name}: {formulation}, {mass:g} kg")
        if len(self.bodies) > many:
            lines.append(f"  ... and {len(self.bodies) - many} more bodies")
        for name, cls, n in self.structures[:many]:
            lines.append(f"  part  {name}: {cls} of {_counted(n, 'body', 'bodies')}")
        for i, (name, cls, first, second, n) in enumerate(self.joints[:many]):
            word = "joint" if i < self.n_joints else "rows "
            who = f"between {first} and {second}" if second else f"of {first}"
            lines.append(f"  {word} {name}: {cls} {who}, {_counted(n, 'row')}")
        if len(self.joints) > many:
            lines.append(f"  ... and {len(self.joints) - many} more joints")
        for loop in self.loops[:many]:
            lines.append(f"  loop  {' - '.join(loop[:many])}")
        if self.redundant:
            lines.append(f"redundant rows: {self.n_redundant}: {_grouped(self.redundant)}")
            lines.append(
                "  the motion is not affected; these reactions are not unique (the smallest"
            )
            lines.append(f"  ones are reported): {_grouped(self.not_unique)}")
        return "\n".join(lines)


def _counted(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def _grouped(labels: tuple[str, ...]) -> str:
    """Return labels as text, rows after the name of their joint."""
    rows: dict[str, list[str]] = {}
    for label in labels:
        owner, _, row = label.partition(".")
        rows.setdefault(owner, []).append(row)
    return ", ".join(f"{owner} ({', '.join(names)})" for owner, names in rows.items())


def report(model: FrozenModel, state: State | None = None) -> Report:
    """Return the facts of a model at a state (default: the initial one), by its graph."""
    graph = graph_of(model, model.state if state is None else state)
    system, n = model.system, model.numbering
    held = nx.MultiGraph()
    held.add_nodes_from(model.nodes)
    held.add_edges_from((a, b) for a, b, rows in graph.edges(data="rows") if rows)
    loops = [*nx.cycle_basis(nx.Graph(held))]
    for a, b in nx.Graph(held).edges:  # two joints between the same bodies are a loop too
        loops += [[a, b]] * (held.number_of_edges(a, b) - 1)
    held.remove_nodes_from(["ground"])
    around, n_compliant = model.row_bodies(), int(model.compliant.sum())
    facts = [x for _, x in graph.nodes(data=True)] + [x for *_, x in graph.edges(data=True)]

    def labels(what: str) -> tuple[str, ...]:
        some = {label for each in facts for label in each[what]}
        return tuple(label for label in n.lam_labels if label in some)

    redundant, set_valued = labels("redundant"), dict(model.set_valued).keys() & around.keys()
    return Report(
        n_bodies=len(model.nodes),
        n_joints=len(system.joints),
        n_constraints=len(around.keys() - system.joints.keys()),
        n_forces=len(system.forces.keys() - around.keys()),
        n_q=model.n_q,
        n_v=model.n_v,
        n_rows=model.n_lam,
        rank=model.n_lam - n_compliant - len(redundant),
        islands=tuple(tuple(sorted(x)) for x in nx.connected_components(held)),
        loops=tuple(tuple(x) for x in loops),
        redundant=redundant,
        not_unique=labels("not_unique"),
        joints=tuple(
            (
                x,
                type(system[x]).__name__,
                around[x][0],
                ", ".join(around[x][1:]),
                model.rows_of([x]).size,
            )
            for x in sorted(around, key=lambda x: x not in system.joints)
        ),
        bodies=tuple((b.name, b.formulation.name, b.mass) for b in model.nodes.values()),
        structures=tuple(
            (x.name, type(x).__name__, len(x.nodes())) for x in system.structures.values()
        ),
        n_compliant=n_compliant,
        n_contacts=model.rows_of(set_valued).size,
    )
