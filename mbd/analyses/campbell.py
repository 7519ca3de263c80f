r"""``mbd.campbell``: modes over the speed of a rotor, tracked, with their sense of whirl.

Modes of neighbouring speeds belong together where the assurance criterion [1]_

.. math:: \mathrm{MAC} = \frac{|\phi^H M\psi|^2}{(\phi^H M\phi)(\psi^H M\psi)}

is large; speeds are added in between while it is not. The whirl of a mode about the axis n is the
angular momentum of its orbits over that of circular ones, between -1 (backward) and 1 (forward).

References
----------
.. [1] R. J. Allemang, The modal assurance criterion, Sound and Vibration 37 (2003).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from mbd.analyses.coleman import coleman
from mbd.analyses.equilibrium import Equilibrium, base_motion
from mbd.analyses.modes import Modes, modes, modes_about
from mbd.base.checked import listed, shown, sized, whole
from mbd.base.door import array, number, unit_vector
from mbd.base.html_tables import TextColumn
from mbd.base.tolerances import HALVED, MODE_SAME, NEUTRAL_MANY
from mbd.history.program import columns_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.small_motions.eigenvalues import Exponents, alike
from mbd.small_motions.over_speed import OverSpeed
from mbd.small_motions.rotors import bodies_of
from mbd.small_motions.small_motion import SmallMotion, body_motions
from mbd.statics.steady_motion import steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALL = 40  # modes that are all shown, if nobody says how many
_LEAST, _ORDERS = 10, 4.0  # of more: how many at least, and up to which multiple of the speed
_BESIDE = 6  # modes beyond the last one that is shown, to which it may be tracked


@dataclass(frozen=True, eq=False, repr=False)
class Campbell(Exponents):
    """Modes over speed; one column for each mode that oscillates somewhere.

    Attributes
    ----------
    eigenvalues : (n, modes) complex array [1/s]
        nan where a mode does not oscillate.
    speeds : (n,) array [rad/s]
    whirl : (n, modes) array [-]
        1 forward, -1 backward, 0 along a line.
    labels : tuple of str
    """

    speeds: np.ndarray
    whirl: np.ndarray
    labels: tuple[str, ...]

    @property
    def signed(self) -> np.ndarray:
        """Whirl speeds [rad/s], negative for backward whirl."""
        return np.where(self.whirl < 0.0, -1.0, 1.0) * self.eigenvalues.imag

    def critical_speeds(self, order: float = 1.0) -> np.ndarray:
        """Return speeds [rad/s] at which a mode has `order` times the speed, interpolated."""
        order = number("critical_speeds", "order", order, "-")
        critical = []
        for column in self.eigenvalues.imag.T:
            apart = column - order * self.speeds
            for i in np.flatnonzero(apart[:-1] * apart[1:] <= 0.0):
                part = apart[i] / (apart[i] - apart[i + 1]) if apart[i] != apart[i + 1] else 0.0
                critical.append(self.speeds[i] + part * (self.speeds[i + 1] - self.speeds[i]))
        return np.unique(np.round(critical, 12))

    def plot(self, path: str | Path | None = None, *, orders: Iterable[float] = (1.0,)) -> "Figure":
        """Draw frequencies over speed; dashed lines are multiples of the speed."""
        from mbd.drawing.modal import campbell_figure

        expected = "plot: orders must be numbers in a list [-]"
        multiples = [number("plot", "orders", x, "-") for x in listed(expected, orders)]
        return campbell_figure(self.speeds, self.frequency, self.whirl, path, multiples)

    def columns(self) -> list[TextColumn]:
        """Return the columns of a table of the modes at the last speed."""
        whirl = TextColumn("whirl", "-", ">7.3f", self.whirl[-1])
        last = Exponents(self.eigenvalues[-1]).columns()
        return [*last, whirl, TextColumn("mode", "", "", self.labels)]

    def __str__(self) -> str:
        """Return critical speeds, and modes at the last speed, as a table."""
        critical = ", ".join(f"{x:.6g}" for x in self.critical_speeds()) or "none"
        head = f"critical speeds [rad/s]: {critical}; at {self.speeds[-1]:g} rad/s:"
        return f"{head}\n{super().__str__()}"

    def __repr__(self) -> str:
        n, k = self.eigenvalues.shape
        return f"Campbell({k} modes at {n} speeds up to {self.speeds.max():g} rad/s)"


def campbell(
    system: System | Model | Callable[[float], System | Model | Equilibrium], speeds: Any, *,
    bodies: str | Iterable[str] | None = None, axis: Any = (0, 0, 1), n: int | None = None,
    wake: Literal["frozen", "equilibrium"] = "frozen", multiblade: tuple[Any, Any] | None = None,
) -> Campbell:  # fmt: skip
    """Return the modes of a rotor over its speed.

    Equations :eq:`small` and :eq:`carried` of the theory page.

    Parameters
    ----------
    system : System, Model or callable
        Either the system, with ``bodies`` or ``multiblade`` to say what spins, or a function of the
        speed [rad/s] that returns a System, a Model or an Equilibrium.
    speeds : (n,) array [rad/s]
    bodies : str or iterable of str
        Bodies, and parts that have some (a beam), that spin about the axis, through the centre of
        mass of the first of them, in the pose that is described.
    axis : (3,) array [-]
        Of the spin, inertial; whirl is counted about it.
    n : int, optional
        Number of modes, slowest first at the first speed. Default: all up to 40; of more those
        below four times the fastest speed, ten at least.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is, or is at rest with the motion, as of `modes`.
    multiblade : (rotor, blades), optional
        The joint of a rotor and its blades, three or more, as of ``mbd.coleman``: modes in
        multi-blade coordinates, of a pose that is bent by the rotation.

    Returns
    -------
    Campbell

    Raises
    ------
    ValueError
        If the spinning motion is not steady: a rotor that is not symmetric about its axis has
        coefficients that change with time.
    """
    at = array("campbell", "speeds", speeds, "numbers [rad/s]")
    if at.ndim != 1 or len(at) < 1:
        raise ValueError(f"campbell: speeds must be a list of numbers [rad/s], got {shown(speeds)}")
    at = sized("campbell", "speeds", at, "rad/s")
    if n is not None:
        n = whole("campbell", "n", n, 1)
    direction = unit_vector("campbell", "axis", axis)
    if multiblade is not None:
        point_at = _multiblade(system, multiblade, bodies, wake)
    else:
        point_at = _points(system, bodies, direction, wake, float(np.abs(at).max()))

    def evaluate(speed: float, most: int | None = None) -> _Point:
        try:
            return point_at(speed).slowest(most)
        except ValueError as error:
            raise ValueError(f"campbell: at {speed:g} rad/s: {error}") from None

    first = evaluate(float(at[0]))
    if n is None and len(first.s) > _ALL:
        n = max(_LEAST, int(np.count_nonzero(first.s.imag < _ORDERS * np.abs(at).max())))
    most = None if n is None else n + _BESIDE
    evaluate = partial(evaluate, most=most)
    points = [first.slowest(most)]
    columns = [np.arange(len(points[0].s))]
    used = len(points[0].s)
    for speed in at[1:]:
        new = evaluate(float(speed))
        partner = _track(points[-1], new, evaluate, HALVED)
        alone = partner < 0
        points.append(new)
        column = used - 1 + np.cumsum(alone)
        column[~alone] = columns[-1][partner[~alone]]
        columns.append(column)
        used += int(alone.sum())
    return _table(at, points, columns, used, n)


@dataclass(frozen=True, eq=False)
class _Point:
    """Oscillating modes at one speed, slowest first; ``label`` names one of them."""

    speed: float
    s: np.ndarray
    whirl: np.ndarray
    shapes: np.ndarray
    mass: Any
    label: Callable[[int], str]

    def slowest(self, n: int | None) -> "_Point":
        """Return the n slowest modes."""
        return replace(self, s=self.s[:n], whirl=self.whirl[:n], shapes=self.shapes[:, :n])


def _points(
    system: Any, bodies: Any, axis: np.ndarray, wake: Any, fastest: float
) -> Callable[[float], _Point]:
    """Return the modes as a function of the speed."""
    if not isinstance(system, System | Model):
        if not callable(system) or isinstance(system, type):
            raise TypeError(
                "campbell: system must be a System, a Model, or a function of the speed that "
                f"returns one, got {shown(system)}"
            )
        return lambda speed: _point(speed, modes(_at_speed(system, speed), wake=wake), axis)
    model = model_of("campbell", system)
    spin = [] if bodies is None else bodies_of("campbell", "bodies", model, bodies)
    if not spin:
        raise ValueError(
            f"campbell: bodies must name what spins, got {shown(bodies)}; there are "
            f"{', '.join(model.bodies)}"
        )

    def motion_at(speed: float) -> SmallMotion:
        return base_motion("campbell", model, spinning(model, spin, speed * axis), None, wake)

    def directly(speed: float) -> _Point:
        state = spinning(model, spin, speed * axis)
        return _point(speed, modes(model, state, wake=wake), axis)

    if fastest == 0.0 or model.n_v > NEUTRAL_MANY:
        return directly
    try:
        steady(motion_at(fastest))
        family = OverSpeed(motion_at, fastest)
    except ValueError:  # which the speed at which it is so says better
        return directly
    if not family.polynomial:
        return directly
    forms = WhirlForms(family.base.motion, axis)

    def point(speed: float) -> _Point:
        s, shapes = family.at(speed, slow=len(family.base.S) > 2 * _ALL)

        def label(i: int) -> str:
            here = slice(keep[i], keep[i] + 1)
            return modes_about(family.base.motion, s[here], mixed[:, here]).labels[0]

        values, mixed = forms.whirl(s, shapes)
        keep = np.flatnonzero(s.imag > 0.0)
        return _Point(speed, s[keep], values[keep], mixed[:, keep], family.base.motion.M, label)

    return point


def _multiblade(system: Any, multiblade: Any, bodies: Any, wake: Any) -> Callable[[float], _Point]:
    """Return the modes in multi-blade coordinates as a function of the speed."""
    if bodies is not None or not isinstance(multiblade, tuple | list) or len(multiblade) != 2:
        raise ValueError(
            "campbell: multiblade must be (rotor, blades), the joint of a rotor and blades, and "
            f"bodies= left out, got {shown(multiblade)} and {shown(bodies)}"
        )
    rotor, blades = multiblade

    def point(speed: float) -> _Point:
        here = system if isinstance(system, System | Model) else _at_speed(system, speed)
        bladed = coleman(here, rotor=rotor, blades=blades, speed=speed, wake=wake)
        sense = {"forward": 1.0, "backward": -1.0}
        signs = np.array([sense.get(x.split()[0], 0.0) for x in bladed.groups])
        keep = np.flatnonzero(bladed.eigenvalues.imag > 0.0)
        return _Point(
            speed, bladed.eigenvalues[keep], (bladed.parts @ signs)[keep], bladed.shapes[:, keep],
            bladed.mass, lambda i: bladed.labels[keep[i]],
        )  # fmt: skip

    return point


def _at_speed(system: Callable[[float], Any], speed: float) -> Any:
    """Return what the function of the speed returns, if it has modes."""
    answer = system(speed)
    if not isinstance(answer, System | Model | Equilibrium):
        raise TypeError(
            "campbell: the function of the speed must return a System, a Model or an Equilibrium, "
            f"got {shown(answer)} at {speed:g} rad/s"
        )
    return answer


def spinning(model: Model, names: list[str], omega: np.ndarray) -> State:
    """Return the initial state with some bodies spinning about one axis."""
    state = model.state
    v = state.v.copy()
    lead = model.nodes[names[0]]
    center = lead.position + lead.rotation @ lead.center_of_mass
    columns = columns_of(model)
    for name in names:
        body = model.nodes[name]
        velocity = np.cross(omega, body.position - center)
        _, v[columns[name][1]] = body.q_and_v(body.position, velocity=velocity, omega=omega)
    return state.replace(v=v)


class WhirlForms:
    """Kinetic energy and angular momentum of orbits about an axis, as Hermitian forms of shapes."""

    def __init__(self, motion: SmallMotion, axis: np.ndarray) -> None:
        one = np.linalg.svd(axis[None])[2][1]
        two = np.cross(axis, one)
        energies, rounds = [], []
        for body, part, moves, turns, J in body_motions(motion, np.eye(motion.model.n_v)):
            move, turn = moves[:, body.v], turns[:, body.v]
            across = 0.5 * (np.trace(J) - axis @ J @ axis)
            energies.append(part.mass * move.T @ move + turn.T @ J @ turn)
            form = np.zeros_like(energies[-1])
            for size, x in ((part.mass, move), (across, turn)):
                u, v = one @ x, two @ x
                form += size * (np.outer(u, v) - np.outer(v, u))
            rounds.append(1j * form)
        self.energy, self.round = (sp.block_diag(x, format="csr") for x in (energies, rounds))

    def whirl(self, s: np.ndarray, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the whirl of each mode, and shapes; modes alike are mixed to whirl most."""
        shapes = shapes.astype(complex)
        for group in alike(s):
            X = shapes[:, group]
            energy, round_ = (X.conj().T @ (form @ X) for form in (self.energy, self.round))
            _, mix = scipy.linalg.eigh(
                0.5 * (round_ + round_.conj().T), 0.5 * (energy + energy.conj().T)
            )
            shapes[:, group] = X @ mix
        energy, round_ = (
            np.einsum("ij,ij->j", shapes.conj(), form @ shapes).real
            for form in (self.energy, self.round)
        )
        return round_ / np.where(energy > 0.0, energy, 1.0), shapes


def _point(speed: float, modes: Modes, axis: np.ndarray) -> _Point:
    """Return the oscillating modes at a speed."""
    values, shapes = WhirlForms(modes.motion, axis).whirl(modes.eigenvalues, modes.shapes)
    keep = np.flatnonzero(modes.eigenvalues.imag > 0.0)
    return _Point(
        speed, modes.eigenvalues[keep], values[keep], shapes[:, keep], modes.motion.M,
        lambda i: modes[int(keep[i])].label,
    )  # fmt: skip


def _mac(a: _Point, b: _Point) -> np.ndarray:
    """Return the assurance criterion of all pairs."""
    M = a.mass

    def size(X: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->j", X.conj(), M @ X).real

    both = np.abs(a.shapes.conj().T @ (M @ b.shapes)) ** 2
    return both / np.outer(size(a.shapes), size(b.shapes))


def _match(a: _Point, b: _Point) -> tuple[np.ndarray, float]:
    """Return the partner in a of each mode of b (-1: none), and the worst MAC of the pairs."""
    mac = _mac(a, b)
    fastest = max(np.abs(a.s).max(initial=1e-300), np.abs(b.s).max(initial=1e-300))
    cost = 1.0 - mac + np.abs(a.s[:, None] - b.s[None, :]) / fastest
    rows, columns = linear_sum_assignment(cost)
    partner = np.full(len(b.s), -1)
    partner[columns] = rows
    return partner, float(mac[rows, columns].min(initial=1.0))


def _track(a: _Point, b: _Point, evaluate: Callable[[float], _Point], depth: int) -> np.ndarray:
    """Return the partners, with speeds in between while they are not sure."""
    partner, worst = _match(a, b)
    if worst >= MODE_SAME or depth == 0:
        return partner
    middle = evaluate(0.5 * (a.speed + b.speed))
    first = _track(a, middle, evaluate, depth - 1)
    second = _track(middle, b, evaluate, depth - 1)
    return np.where(second >= 0, first[second], -1)


def _table(
    speeds: np.ndarray, points: list[_Point], columns: list[np.ndarray], used: int, n: int | None
) -> Campbell:
    """Return the tracks as a table."""
    s = np.full((len(speeds), used), complex(np.nan, np.nan))
    turn = np.full((len(speeds), used), np.nan)
    named = dict[int, tuple[_Point, int]]()
    for k, (point, column) in enumerate(zip(points, columns, strict=True)):
        s[k, column], turn[k, column] = point.s, point.whirl
        named |= {c: (point, j) for j, c in enumerate(column.tolist())}
    labels = tuple(point.label(j) for point, j in (named[c] for c in range(used)[:n]))
    return Campbell(s[:, :n], speeds, turn[:, :n], labels)
