"""The table of quantities: name, unit, axes, owner, meaning, formula.

An entry of :class:`PartHistory` is a quantity of bodies, joints or rows, one of :class:`Energy` or
:class:`Momentum` belongs to the whole model. Attributes of results, data sets, files, pictures and
comparisons all read this table: a new quantity is one entry here.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import meant, shown
from mbd.base.read_only import ReadOnly
from mbd.history import observed_forces
from mbd.history.observed import (
    coordinate,
    modal,
    multipliers,
    numbers_of_model,
    point,
    quaternion_kernel,
    rotation_kernel,
    scale_kernel,
    spin_kernel,
    turning,
)
from mbd.history.quantity import (
    BODY_AXES,
    INERTIAL,
    MATRIX,
    QUATERNION,
    SCALAR,
    SECTION_AXES,
    Owner,
    Quantity,
)
from mbd.machine import buffer as m


@dataclass(frozen=True)
class PointHistory(ReadOnly):
    """A body-fixed point over time, inertial: position, velocity, acceleration [m, m/s, m/s^2]."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


@dataclass(frozen=True)
class Reaction(ReadOnly):
    """Force [N] and moment [N m] over time, inertial axes."""

    force: np.ndarray
    moment: np.ndarray


def _matrix(part: Any) -> np.ndarray:
    """Return rotation matrices (n, 3, 3) of quaternions."""
    from scipy.spatial.transform import Rotation

    p = np.reshape(part.quaternion, (-1, 4))
    return Rotation.from_quat(np.roll(p, -1, axis=1)).as_matrix() if len(p) else np.empty((0, 3, 3))


def _without_jumps(p: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return quaternions (n, bodies, 4), each with the sign nearest to the one before it."""
    last = np.concatenate([np.where(np.isnan(before), p[:1], before[None]), p[:-1]])[: len(p)]
    back = (p * last).sum(-1) < 0
    return p * np.cumprod(np.where(back, -1.0, 1.0), axis=0)[..., None]


class PartHistory:
    """A part over time, by name: ``solution["rod"].position``; time is the first axis.

    The quantities of bodies, joints and parts with rows are all declared here, those that joints
    leave free too, so that editors and type checkers know them. A part has some of them; what it
    does not have is an ``AttributeError`` that names those it has.
    """

    position = Quantity(
        Owner.BODY, "m", INERTIAL, "origin of the body frame", main=True,
        see=lambda t, x: point(t, x, 0),
    )  # fmt: skip
    velocity = Quantity(
        Owner.BODY, "m/s", INERTIAL, "velocity of the origin", main=True,
        see=lambda t, x: point(t, x, 1),
    )  # fmt: skip
    acceleration = Quantity(
        Owner.BODY, "m/s^2", INERTIAL, "acceleration of the origin",
        see=lambda t, x: point(t, x, 2),
    )  # fmt: skip
    quaternion = Quantity(
        Owner.TURNING, "-", QUATERNION,
        "rotation from body to inertial axes, scalar first, without jumps of sign; "
        "NaN for a point mass", keep=True, follow=_without_jumps, see=turning(quaternion_kernel, 4),
    )  # fmt: skip
    rotation = Quantity(
        Owner.TURNING, "-", MATRIX, "rotation matrices (n, 3, 3), from body to inertial axes",
        derive=_matrix, array="", see=turning(rotation_kernel, 9),
    )  # fmt: skip
    angular_velocity = Quantity(
        Owner.TURNING, "rad/s", INERTIAL, "angular velocity; NaN for a point mass", main=True,
        see=turning(spin_kernel, 3, 1),
    )  # fmt: skip
    angular_velocity_body = Quantity(
        Owner.TURNING, "rad/s", BODY_AXES, "angular velocity", array="",
        derive=lambda h: np.einsum("...ij,...i->...j", h.rotation, h.angular_velocity),
        see=turning(spin_kernel, 3, 1, body=True),
    )  # fmt: skip
    angular_acceleration = Quantity(
        Owner.TURNING, "rad/s^2", INERTIAL, "angular acceleration; NaN for a point mass",
        see=turning(spin_kernel, 3, 2),
    )  # fmt: skip
    scale = Quantity(
        Owner.BREATHING, "-", SCALAR, "length of the directors", see=turning(scale_kernel, 1)
    )
    force = Quantity(
        Owner.JOINT, "N", INERTIAL, "reaction on the second body, at the joint", main=True,
        see=observed_forces.of_joint(0),
    )  # fmt: skip
    moment = Quantity(
        Owner.JOINT, "N m", INERTIAL, "reaction on the second body, about the joint", main=True,
        see=observed_forces.of_joint(3),
    )  # fmt: skip
    multipliers = Quantity(
        Owner.ROWS, "{}", SCALAR, "multiplier of each row, in its row_unit", lambda h: h.lam,
        see=multipliers,
    )  # fmt: skip

    # what joints of the library leave free [rad, m], motors and drives report [N m, N]
    angle: np.ndarray
    angle_rate: np.ndarray
    angle_second_rate: np.ndarray
    angle_1: np.ndarray
    angle_1_rate: np.ndarray
    angle_1_second_rate: np.ndarray
    angle_2: np.ndarray
    angle_2_rate: np.ndarray
    angle_2_second_rate: np.ndarray
    displacement: np.ndarray
    displacement_rate: np.ndarray
    displacement_second_rate: np.ndarray
    x: np.ndarray
    x_rate: np.ndarray
    x_second_rate: np.ndarray
    y: np.ndarray
    y_rate: np.ndarray
    y_second_rate: np.ndarray
    load: np.ndarray
    tension: np.ndarray
    # of beams, at both ends of each element [-, 1/m], and of each element [J]; force and moment are
    # those of the sections
    strain: np.ndarray
    curvature: np.ndarray
    energy: np.ndarray
    # of flexible bodies [m], [m/s]
    modal: np.ndarray
    modal_rate: np.ndarray

    name: str
    instants: int
    owners: tuple[Owner, ...]  # whose quantities the part has
    methods: tuple[str, ...] = ()

    def _value(self, quantity: Quantity) -> np.ndarray:
        """Return a quantity of the table."""
        if quantity.of not in self.owners:
            raise AttributeError(self._lacks(quantity.name))
        return quantity.of_history(self)

    def _columns(self) -> list[str]:
        """Return names that are not of the table: coordinates and their rates, loads."""
        return []

    def _column(self, name: str) -> np.ndarray:
        """Return a quantity whose name is not in the table."""
        raise AttributeError(self._lacks(name))

    @property
    def quantities(self) -> list[str]:
        """Names of everything that the part has over time."""
        return [*(x.name for x in table(PartHistory) if x.of in self.owners), *self._columns()]

    def __dir__(self) -> list[str]:
        """Return the names that editors offer: those of the quantities that the part has."""
        lacking = {x.name for x in table(PartHistory)} - set(self.quantities)
        return sorted({*super().__dir__(), *self.quantities} - lacking)

    def _names(self) -> list[str]:
        return [*self.quantities, *self.methods]

    def _there(self) -> str:
        return f"there are {', '.join(self._names())}"

    def _lacks(self, name: str) -> str:
        """Return the text of an error: the part lacks a quantity, and has others."""
        who = "joint " if Owner.JOINT in self.owners else ""
        return f"{who}{self.name!r} has no {name!r}{meant(name, self._names())}; {self._there()}"

    if TYPE_CHECKING:

        def at(self, point: Any) -> PointHistory:
            """Return the history of a point of a body, given in body axes [m]."""

        def reaction(self, on: str = ..., at: str = ...) -> Reaction:
            """Return force and moment of a joint, or of rows, on a body."""

        def curve(self, points: int = ...) -> np.ndarray:
            """Return the line of a beam over time [m]."""

    else:

        def __getattr__(self, name: str) -> np.ndarray:
            if name.startswith("_") or name in _OWN:
                raise AttributeError(name)
            entry = getattr(type(self), name, None)
            if isinstance(entry, Quantity):  # it was tried, and lacked something: say what
                return self._value(entry)
            return self._column(name)

    def __repr__(self) -> str:
        names = ", ".join(self._names())
        return f"{type(self).__name__}({self.name!r}, {self.instants} instants: {names})"


def no_part(who: str, name: Any, parts: Collection[str]) -> Exception:
    """Return the error for a name that no part has."""
    if not isinstance(name, str):
        return TypeError(f"{who}: a part is asked for by its name, got {shown(name)}")
    some = ", ".join(list(parts)[:20])
    return KeyError(f"no body or joint named {shown(name)}{meant(name, parts)}; there are: {some}")


_OWN = ("name", "instants", "owners", "methods")


class _Totals:
    """Quantities of the whole model over time, computed or stored, by flat name."""

    def __init__(self, source: Mapping[str, np.ndarray]) -> None:
        self._values = {x.flat: source[x.flat] for x in table(type(self)) if x.flat in source}

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.flat in self._values:
            return self._values[quantity.flat]
        if quantity.derive is None:
            raise AttributeError(f"there is no {quantity.flat} in what was stored")
        return quantity.derive(self)


def _untold(energy: Any) -> np.ndarray:
    """Return NaN: files of an earlier version do not tell of work."""
    return np.full(len(energy.kinetic), np.nan)


def _none(energy: Any) -> np.ndarray:
    """Return zeros: of what the model does not have, or files of an earlier version."""
    return np.zeros(len(energy.kinetic))


class Energy(_Totals):
    """Energies over time [J], (n,) arrays."""

    kinetic = Quantity(
        Owner.TOTAL, "J", SCALAR, "kinetic energy", lambda x: x.energies[0],
        array="kinetic_energy", see=observed_forces.totals(3),
    )  # fmt: skip
    potential = Quantity(
        Owner.TOTAL, "J", SCALAR,
        "potential energy of gravity and elements; of a law f(u, rate, t) the integral of "
        "f(u, 0, 0) from the described pose on",
        lambda x: x.energies[1], array="potential_energy", see=observed_forces.totals(4),
    )  # fmt: skip
    total = Quantity(
        Owner.TOTAL, "J", SCALAR, "kinetic and potential energy", lambda x: sum(x.energies[:2]),
        derive=lambda e: e.kinetic + e.potential, array="total_energy",
        see=observed_forces.total_energy,
    )  # fmt: skip
    dissipated = Quantity(
        Owner.TOTAL, "J", SCALAR,
        "taken since the first instant by dampers, and by what laws do beyond f(u, 0, t)",
        lambda x: x.energies[2], derive=_untold, array="dissipated_energy",
    )  # fmt: skip
    work = Quantity(
        Owner.TOTAL, "J", SCALAR,
        "put in since the first instant by loads, motors, drives, and laws that change with time",
        lambda x: x.energies[3], derive=_untold,
    )  # fmt: skip
    impulsive = Quantity(
        Owner.TOTAL, "J", SCALAR,
        "put in since the first instant by impulses, negative where they take: by changes at "
        "events (locks, rebounds), and by steps of methods that say so",
        lambda x: x.energies[4], derive=_none, array="impulsive_work",
    )  # fmt: skip
    friction = Quantity(
        Owner.SET_VALUED, "J", SCALAR,
        "taken since the first instant by dry friction of set-valued laws that stay closed; "
        "-impulsive has it",
        lambda x: x.losses[..., 0], derive=_none, array="friction_loss",
    )  # fmt: skip
    impacts = Quantity(
        Owner.SET_VALUED, "J", SCALAR,
        "taken since the first instant by impacts of set-valued laws, their friction included; "
        "-impulsive has it",
        lambda x: x.losses[..., 1], derive=_none, array="impact_loss",
    )  # fmt: skip
    balance = Quantity(
        Owner.TOTAL, "J", SCALAR,
        "kinetic, potential and dissipated energy less work and that of impulses: constant but for "
        "errors",
        derive=lambda e: e.total + e.dissipated - e.work - e.impulsive, array="",
    )  # fmt: skip

    @property
    def conservative(self) -> bool:
        """Whether nothing was dissipated and nothing put in."""
        return not (self.dissipated.any() or self.work.any() or self.impulsive.any())


#: What instants have of the work of impulses.
IMPULSES = (Energy.impulsive, Energy.friction, Energy.impacts)

#: Sums since the first instant of a run: one instant alone does not have them.
SINCE_THE_START = (
    Energy.dissipated, Energy.work, Energy.impulsive, Energy.friction, Energy.impacts,
    Energy.balance,
)  # fmt: skip


class Momentum(_Totals):
    """Momenta over time, (n, 3) arrays: linear [N s], angular about the origin [N m s]."""

    linear = Quantity(
        Owner.TOTAL, "N s", INERTIAL, "linear momentum", lambda x: x.momenta[0],
        array="linear_momentum", see=observed_forces.totals(5, 3),
    )  # fmt: skip
    angular = Quantity(
        Owner.TOTAL, "N m s", INERTIAL, "momentum about the origin", lambda x: x.momenta[1],
        array="angular_momentum", see=observed_forces.totals(8, 3),
    )  # fmt: skip


GAP = Quantity(
    Owner.TOTAL, "{}", SCALAR, "largest violation of a row", lambda x: x.gap, array="gap",
    flat="gap", see=observed_forces.totals(0),
)  # fmt: skip

#: Quantities that are no attributes of a part under their own names; numbers of the model.
COLUMNS = (
    Quantity(
        Owner.TIME, "s", SCALAR, "time", lambda x: x.trajectory.t, array="time",
        see=lambda t, x: [m.T],
    ),
    Quantity(
        Owner.SECTION, "N", SECTION_AXES, "normal force and two shear forces of a section",
        array="section_force", flat=".force", see=observed_forces.sections(0),
    ),
    Quantity(
        Owner.SECTION, "N m", SECTION_AXES, "torsion and two bending moments of a section",
        array="section_moment", flat=".moment", see=observed_forces.sections(1),
    ),
    Quantity(
        Owner.SECTION, "-", SECTION_AXES, "stretch and two shears of a section",
        array="section_strain", flat=".strain", see=observed_forces.sections(2),
    ),
    Quantity(
        Owner.SECTION, "rad/m", SECTION_AXES, "twist and two bendings, from those at rest",
        array="section_curvature", flat=".curvature", see=observed_forces.sections(3),
    ),
    Quantity(
        Owner.ELEMENT, "J", SCALAR, "elastic energy of an element of a beam",
        array="element_energy", flat=".energy", see=observed_forces.energies,
    ),
    Quantity(
        Owner.BAR, "N", SCALAR, "tension of a bar of a cable, with that of damping",
        array="bar_tension", flat=".tension", see=observed_forces.tensions,
    ),
    Quantity(
        Owner.BAR, "J", SCALAR, "elastic energy of a bar of a cable",
        array="bar_energy", flat=".energy", see=observed_forces.energies,
    ),
    Quantity(Owner.MODE, "m", SCALAR, "largest displacement of a shape of a flexible body",
             array="modal", flat=".modal", see=modal(m.QN)),
    Quantity(Owner.MODE, "m/s", SCALAR, "rate of the largest displacement of a shape",
             array="modal_rate", flat=".modal_rate", see=modal(m.V)),
    Quantity(
        Owner.COORDINATE, "{}", SCALAR,
        "what a joint leaves free, in its freedom_unit; angles count turns",
        lambda x: x.freedoms[0], array="joint_coordinate", see=coordinate(0),
    ),
    Quantity(
        Owner.COORDINATE, "{}/s", SCALAR,
        "rate of a joint coordinate, in its freedom_unit per second",
        lambda x: x.freedoms[1], array="joint_rate", flat="_rate", see=coordinate(1),
    ),
    Quantity(
        Owner.LOAD, "{}", SCALAR,
        "load of a motor, drive, transmission or rope, in its reading_unit",
        lambda x: x.loads, array="effort", see=observed_forces.load_by_name,
    ),
    GAP,
    Quantity(
        Owner.POSITIONS, "{}", SCALAR, "stored coordinates, in their coordinate_unit",
        lambda x: x.trajectory.q, array="q", see=numbers_of_model(m.QN),
    ),
    Quantity(
        Owner.SPEEDS, "{}", SCALAR, "velocities of the formulations, in their speed_unit",
        lambda x: x.trajectory.v, array="v", see=numbers_of_model(m.V),
    ),
    Quantity(
        Owner.SPEEDS, "{}", SCALAR, "rates of v, in its speed_unit per second",
        lambda x: x.trajectory.a, array="a", see=numbers_of_model(m.A),
    ),
)  # fmt: skip


def table(*classes: type) -> list[Quantity]:
    """Return the entries of some classes; without any, the whole table, owner by owner."""
    entries = [
        x
        for each in classes or (PartHistory, Energy, Momentum)
        for x in vars(each).values()
        if isinstance(x, Quantity)
    ]
    if classes:
        return entries
    owners = list(Owner)
    return sorted([*entries, *COLUMNS], key=lambda x: owners.index(x.of))
