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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment

from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.modes import Modes, modes
from mbd.base.checked import listed, names, shown, sized, whole
from mbd.base.door import array, number, unit_vector
from mbd.base.tolerances import HALVED, MODE_SAME
from mbd.history.program import columns_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.small_motions.eigenvalues import alike
from mbd.small_motions.small_motion import body_motions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Campbell:
    """Modes over speed; one column for each mode that oscillates somewhere.

    Attributes
    ----------
    speeds : (n,) array [rad/s]
    eigenvalues : (n, modes) complex array [1/s]
        nan where a mode does not oscillate.
    whirl : (n, modes) array [-]
        1 forward, -1 backward, 0 along a line.
    labels : tuple of str
    """

    speeds: np.ndarray
    eigenvalues: np.ndarray
    whirl: np.ndarray
    labels: tuple[str, ...]

    @property
    def frequency(self) -> np.ndarray:
        """Frequency [Hz]."""
        return self.eigenvalues.imag / (2 * np.pi)

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

    def __repr__(self) -> str:
        n, k = self.eigenvalues.shape
        return f"Campbell({k} modes at {n} speeds up to {self.speeds.max():g} rad/s)"


def campbell(
    system: System | Model | Callable[[float], System | Model | Equilibrium], speeds: Any, *,
    bodies: str | Iterable[str] | None = None, axis: Any = (0, 0, 1), n: int | None = None,
    wake: Literal["frozen", "equilibrium"] = "frozen",
) -> Campbell:  # fmt: skip
    """Return the modes of a rotor over its speed.

    Equations :eq:`small` and :eq:`carried` of the theory page.

    Parameters
    ----------
    system : System, Model or callable
        Either the system, with ``bodies`` to say what spins, or a function of the speed [rad/s]
        that returns a System, a Model or an Equilibrium.
    speeds : (n,) array [rad/s]
    bodies : str or iterable of str
        Bodies that spin about the axis, through the centre of mass of the first of them.
    axis : (3,) array [-]
        Of the spin, inertial; whirl is counted about it.
    n : int, optional
        Number of modes, slowest first at the first speed; default all.
    wake : {"frozen", "equilibrium"}
        Whether what loads remember stays what it is, or is at rest with the motion, as of `modes`.

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
    modes_at = _modes_over_speed(system, bodies, direction, wake)

    def evaluate(speed: float) -> _Point:
        try:
            return _point(speed, modes_at(speed), direction)
        except ValueError as error:
            raise ValueError(f"campbell: at {speed:g} rad/s: {error}") from None

    points = [evaluate(float(at[0]))]
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
    """Oscillating modes at one speed."""

    speed: float
    s: np.ndarray
    whirl: np.ndarray
    shapes: np.ndarray
    mass: Any
    labels: tuple[str, ...]


def _modes_over_speed(
    system: Any, bodies: Any, axis: np.ndarray, wake: Any
) -> Callable[[float], Modes]:
    """Return the modes as a function of the speed."""
    if not isinstance(system, System | Model):
        if not callable(system) or isinstance(system, type):
            raise TypeError(
                "campbell: system must be a System, a Model, or a function of the speed that "
                f"returns one, got {shown(system)}"
            )
        return lambda speed: modes(_at_speed(system, speed), wake=wake)
    model = model_of("campbell", system)
    spin = [] if bodies is None else list(names("campbell", "bodies", bodies))
    if not spin or any(name not in model.bodies for name in spin):
        raise ValueError(
            f"campbell: bodies must name what spins, got {shown(bodies)}; there are "
            f"{', '.join(model.bodies)}"
        )
    return lambda speed: modes(model, spinning(model, spin, speed * axis), wake=wake)


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


def whirl(modes: Modes, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the whirl of each mode, and shapes; modes alike are mixed to whirl most."""
    shapes = modes.shapes.copy()
    for group in alike(modes.eigenvalues):
        energy, round_ = _forms(modes, shapes[:, group], axis)
        _, mix = scipy.linalg.eigh(round_, energy)
        shapes[:, group] = shapes[:, group] @ mix
    values = np.empty(len(modes))
    for i in range(len(modes)):
        energy, round_ = _forms(modes, shapes[:, i : i + 1], axis)
        values[i] = float(round_[0, 0].real / energy[0, 0].real)
    return values, shapes


def _forms(modes: Modes, X: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kinetic energy and angular momentum of orbits about the axis as Hermitian forms."""
    one = np.linalg.svd(axis[None])[2][1]
    two = np.cross(axis, one)
    k = X.shape[1]
    energy, round_ = np.zeros((k, k), complex), np.zeros((k, k), complex)
    for _, part, move, turn, J in body_motions(modes.motion, X):
        across = 0.5 * (np.trace(J) - axis @ J @ axis)
        energy += part.mass * move.conj().T @ move + turn.conj().T @ J @ turn
        for size, x in ((part.mass, move), (across, turn)):
            u, v = (one @ x)[None], (two @ x)[None]
            round_ += 1j * size * (u.conj().T @ v - v.conj().T @ u)
    return 0.5 * (energy + energy.conj().T), 0.5 * (round_ + round_.conj().T)


def _point(speed: float, modes: Modes, axis: np.ndarray) -> _Point:
    """Return the oscillating modes at a speed."""
    values, shapes = whirl(modes, axis)
    keep = np.flatnonzero(modes.eigenvalues.imag > 0.0)
    labels = modes.labels
    return _Point(
        speed, modes.eigenvalues[keep], values[keep], shapes[:, keep], modes.motion.M,
        tuple(labels[i] for i in keep),
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
    labels = [""] * used
    for k, (point, column) in enumerate(zip(points, columns, strict=True)):
        s[k, column], turn[k, column] = point.s, point.whirl
        for j, c in enumerate(column):
            labels[c] = point.labels[j]
    return Campbell(speeds, s[:, :n], turn[:, :n], tuple(labels[:n]))
