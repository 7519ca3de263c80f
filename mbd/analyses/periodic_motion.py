r"""``mbd.periodic``: a motion that repeats after a given time, by shooting.

With independent coordinates, rates and memories of loads x of a state, :math:`x_T(x)` those after
a run of a period, Newton's steps solve :math:`x_T(x) - x = 0` [1]_,

.. math:: (\Xi - 1)\,\Delta x = x - x_T, \qquad \Xi = \partial x_T / \partial x

with the least :math:`\Delta x` where :math:`\Xi - 1` is singular, as where time may begin anywhere.
Eigenvalues of the monodromy matrix :math:`\Xi` are the multipliers of small motions about it.

References
----------
.. [1] A. H. Nayfeh, B. Balachandran, Applied Nonlinear Dynamics, Wiley 1995, section 6.5.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.algebra.differences import FOURTH, fourth_order
from mbd.analyses.steady_rotation import named_rotor
from mbd.base.checked import shown, whole
from mbd.base.door import number, speaking_as
from mbd.base.html_tables import TextColumn
from mbd.base.tolerances import HALVED, LARGEST, ROUND_OFF
from mbd.front.simulate import SimulationError, simulate
from mbd.front.solution import Solution
from mbd.history.columns import of_speeds
from mbd.integration.consistent import consistent
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.null_space import independent, null_space
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.values import followed_memory
from mbd.model.workspace import Workspace, displaced
from mbd.runs.methods import checked_method
from mbd.small_motions.eigenvalues import Exponents
from mbd.small_motions.face_maps import face_maps, inverses
from mbd.small_motions.rotors import speed_of
from mbd.small_motions.small_motion import scale_by_mass
from mbd.statics.rotation import balanced_rotation, rotating

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)  # its multiples are far from simple fractions of a period
_INSTANTS = 16  # of a period at which loads are looked at


@dataclass(frozen=True, eq=False, repr=False)
class PeriodicMotion(Exponents):
    """A motion that repeats after a period, and small motions about it, one of each complex pair.

    Attributes
    ----------
    eigenvalues : (n,) complex array [1/s]
        s = log(multiplier) / period; others are multiples of 2 pi i / period away.
    multipliers : (n,) complex array [-]
        By which a small motion is multiplied in a period, the largest first.
    state : State
        At the begin of the period, a start of runs.
    period : float [s]
    solution : Solution
        One period.
    residual : float [-]
        Largest difference after a period, of a coordinate to the size of the model or a radian, of
        a rate to 2 pi times that in a period.
    converged : bool
    iterations : int
        Matrices that were formed.
    """

    multipliers: np.ndarray
    state: State
    period: float
    solution: Solution
    residual: float
    converged: bool
    iterations: int

    @property
    def stable(self) -> bool:
        """Whether no small motion grows: double multipliers are known to the root of others."""
        growth = np.maximum(np.abs(self.multipliers) - 1.0, 0.0)
        return not (growth**2 > ROUND_OFF**0.5).any()

    def columns(self) -> list[TextColumn]:
        """Return the columns of their table."""
        size = TextColumn("|multiplier|", "-", ">13.6g", np.abs(self.multipliers))
        growth = TextColumn("growth", "1/s", ">12.5g", self.eigenvalues.real)
        return [*super().columns(), growth, size]

    def __repr__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        return f"PeriodicMotion({kind}, period {self.period:g} s, residual {self.residual:.2g})"


def periodic(
    system: System | Model, state: State | None = None, *, period: float | None = None,
    rotor: Any = None, speed: float | None = None, steps: int = 200, method: Method | None = None,
    max_iterations: int = 20,
) -> PeriodicMotion:  # fmt: skip
    """Return a motion near a state that repeats after a period, as a start of runs.

    All bodies are then where they were, with the same velocities; angles may have gone on by whole
    turns. Equation :eq:`shooting` of the theory page. A matrix costs four runs of a period for each
    of the n states (two for each freedom); a linear model needs two matrices, others three to five.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where the search starts; default the described one.
    period : float [s]
        Of laws of time, of a rotor, or a multiple of it: it is not searched for. Where nothing
        depends on time, a motion of this period is found if there is one, be it a state of rest.
    rotor : str, or iterable of str
        Instead of a period: what turns once in it, as of ``mbd.floquet``. The search starts from
        the steady rotation, unsteady as it may be, of the first azimuth.
    speed : float [rad/s], optional
        Of the rotor; default that of the state.
    steps : int
        Of a period, of one size. The motion is that of these steps, and repeats in a run with them.
    method : Method, optional
        Of ``mbd.simulate``; default ``GeneralizedAlpha(tol=1e-11)``.
    max_iterations : int

    Returns
    -------
    PeriodicMotion

    Raises
    ------
    ValueError
        If loads or drives are others after the period, by name.
    SimulationError
        If the run from the start fails.

    Warns
    -----
    RuntimeWarning
        If no periodic motion is found nearby: what is left, by name. The nearest is returned.
    """
    owner = "periodic"
    model = model_of(owner, system)
    steps, most = whole(owner, "steps", steps, 4), whole(owner, "max_iterations", max_iterations, 1)
    speed = None if speed is None else number(owner, "speed", speed, "rad/s")
    if (period is None) == (rotor is None) or (rotor is None and speed is not None):
        raise ValueError(
            f"{owner}: give period= [s], or rotor= that turns once in it with its speed= [rad/s], "
            f"got period={shown(period)}, rotor={shown(rotor)}, speed={shown(speed)}"
        )
    if rotor is None:
        T = number(owner, "period", period, "s", positive=True)
        start = state_of(owner, model, state)
    else:
        T, start = _rotation(owner, model, state, rotor, speed)
    method = GeneralizedAlpha(tol=1e-11) if method is None else method
    method = checked_method(owner, method, free=False)

    def run(start: State) -> Solution:
        done = simulate(model, start.t + T, T / steps, method=method, state=start, progress=False)
        if not done.success:  # one that failed has raised
            raise KeyboardInterrupt(f"{owner}: {done.message}")
        return done

    start = consistent(model, start, project=True).replace(alg=None)
    with warnings.catch_warnings():  # the last run says it all
        warnings.simplefilter("ignore")
        with speaking_as(owner, "simulate"):
            end = run(start).state
        _require_repeating(owner, model, start, end, T)
        nearest, iterations = _shoot(_Chart(model, T, run, start), most)
        mu = np.linalg.eigvals(nearest.Xi).astype(complex)
    solution = run(nearest.base)
    residual, words = nearest.worst(solution.state)
    converged = residual <= ROUND_OFF**0.5
    if not converged:
        warnings.warn(
            f"{owner}: no motion of period {T:g} s found near this state: at the nearest a period "
            f"changes {words}; the model may have none (a load that nothing takes, an angle that "
            "goes on by no whole turns), or steps= are too few, or it is far, give state=",
            RuntimeWarning,
            stacklevel=3,
        )
    mu = mu[mu.imag >= 0.0]
    mu = mu[np.argsort(-np.abs(mu))]
    s = (np.log(np.maximum(np.abs(mu), 1.0 / LARGEST)) + 1j * np.angle(mu)) / T
    return PeriodicMotion(s, mu, nearest.base, T, solution, residual, converged, iterations)


def _rotation(
    owner: str, model: Model, state: State | None, rotor: Any, speed: float | None
) -> tuple[float, State]:
    """Return the period of a rotor, and the state in which it turns at the first azimuth."""
    _, start, hub = named_rotor(owner, model, state, rotor, None)
    if speed is None:
        speed = speed_of(model, state_of(owner, model, state), hub)
    if abs(speed) * LARGEST <= 1.0:
        raise ValueError(
            f"{owner}: speed must be a rate at which {shown(rotor)} turns [rad/s], got {speed:g}; "
            "of a rotor at rest give period="
        )
    return 2 * np.pi / abs(speed), balanced_rotation(rotating(model, hub, speed), start).state


def _require_repeating(owner: str, model: Model, start: State, end: State, T: float) -> None:
    """Refuse loads and rows that are others a period later, all angles on by their turns."""
    v, lam = model.numbering.v, model.numbering.lam
    before, after = _remembered(start), _remembered(end)
    turns = 2 * np.pi * np.round((after - before) / (2 * np.pi))
    turns[_followed(model)] = 0.0

    def at(t: float, angles: np.ndarray) -> np.ndarray:
        work = Workspace(model, start.replace(t=t, memory=angles))
        work.evaluate(all_rows=True)
        X = work.vector(m.X).copy()
        return np.concatenate([X[v], X[lam], work.rates()[0]])

    times = start.t + T * (np.arange(_INSTANTS) * _GOLDEN % 1.0)
    now, later = (np.array([at(t + dt, x) for t in times])
                  for dt, x in ((0.0, before), (T, before + turns)))  # fmt: skip
    size = ROUND_OFF**0.5 * np.ptp(now, axis=0) + ROUND_OFF * np.abs(now).max(initial=0.0)
    apart = np.abs(later - now).max(0)
    if not (apart > size).any():
        return
    i = int(np.argmax(apart / np.maximum(size, 1.0 / LARGEST)))
    names = model.numbering
    if i < len(v):
        body = names.body_of_v(i)
        who = [repr(name) for name, some in model.elements.items() for e in some
                if e.law is not None and any(x.body == body for x in e.attachments)]  # fmt: skip
        what = f"the load on {body!r} (laws of {', '.join(dict.fromkeys(who)) or 'its mass'})"
    else:
        what = f"the row {names.lam_labels[(i - len(v)) % len(lam)]!r}"
    raise ValueError(
        f"{owner}: {what} is not the same after {T:.9g} s: laws of time must repeat after the "
        "period, drives must go on by whole turns; give a multiple of their period"
    )


def _remembered(state: State) -> np.ndarray:
    """Return a copy of what is remembered at a state."""
    return np.zeros(0) if state.memory is None else np.array(state.memory)


def _followed(model: Model) -> np.ndarray:
    """Return which numbers of a memory are those of loads, (n,) of bool; all others are angles."""
    return np.isin(model.memory, followed_memory(model))


class _Chart:
    """Independent coordinates, rates and memories x of states near one, which is x = 0.

    They are chosen among z, those of all: differences of faces, which know neither signs of
    quaternions nor turns. ``left`` is x after a period.
    """

    def __init__(
        self, model: Model, period: float, run: Callable[[State], Solution], base: State
    ) -> None:
        self.model, self.period, self.run, self.base = model, period, run, base
        matrices, scale = model.assemble(base), scale_by_mass(model)
        rows = matrices.B
        on_positions = null_space(rows[~model.rolling], scale).toarray()
        positions, self.Np = independent(on_positions, scale)
        velocities, self.N = independent(null_space(rows, scale).toarray(), scale)
        self.back = sp.block_diag(inverses(face_maps(model, base)), format="csr")
        self.kept = np.flatnonzero(_followed(model))
        kept = np.abs(_remembered(base)[self.kept])
        rates = 2 * np.pi / period * model.units
        self.all_sizes = np.concatenate([model.units, rates, np.where(kept > 0.0, kept, 1.0)])
        others = 2 * model.n_v + np.arange(len(self.kept))
        self.chosen = np.concatenate([positions, model.n_v + velocities, others])
        # stiff directions are displaced by what gives them velocities like those of others
        stiffness, mass = (
            np.abs((self.Np * (x @ self.Np)).sum(0)) for x in (matrices.K, matrices.M)
        )
        self.sizes = self.all_sizes[self.chosen]
        fast = np.sqrt(stiffness / mass) * period / (2 * np.pi)
        self.sizes[: len(fast)] /= np.maximum(fast, 1.0)
        self.zero = self._all(base)
        self.left = self.after(np.zeros(len(self.chosen)))

    def _all(self, state: State) -> np.ndarray:
        """Return z of a state, not yet from the base."""
        work = Workspace(self.model, state)
        work.evaluate()
        y, yd = (self.back @ work.faces(name)[1:].ravel() for name in (m.Y, m.YD))
        return np.concatenate([y, yd, _remembered(state)[self.kept]])

    def of(self, state: State) -> np.ndarray:
        """Return x of a state."""
        return np.asarray((self._all(state) - self.zero)[self.chosen])

    def at(self, x: np.ndarray) -> State:
        """Return the state that the rows allow at x, to first order."""
        base, k, n = self.base, self.Np.shape[1], len(x) - len(self.kept)
        there = displaced(self.model, base, self.Np @ x[:k])
        there = there.replace(v=base.v + self.N @ x[k:n])
        if len(self.kept):
            after = _remembered(base)
            after[self.kept] += x[n:]
            there = there.replace(memory=after)
        return consistent(self.model, there, project=True).replace(alg=None)

    def after(self, x: np.ndarray) -> np.ndarray:
        """Return what is left of x after a period, x_T - x; infinite where the run fails."""
        try:
            start = self.at(x) if x.any() else self.base
            run = self.run(start)
        except (SimulationError, ValueError):  # too far away
            return np.full(len(x), np.inf)
        return self.of(run.state) - self.of(start)

    def size(self, left: np.ndarray) -> float:
        """Return the largest of x, to its size."""
        return float(np.abs(left / self.sizes).max(initial=0.0))

    @cached_property
    def Xi(self) -> np.ndarray:
        """The monodromy matrix, of x to their sizes."""
        unit, columns = np.diag(FOURTH * self.sizes), []
        for e in unit:
            both = fourth_order(lambda k, e=e: np.stack([  # type: ignore[misc]
                self.of(self.run(start := self.at(k * e)).state), self.of(start)
            ]))  # fmt: skip
            columns.append(both / self.sizes)
        after, before = np.reshape(columns, (len(unit), 2, len(unit))).transpose(1, 2, 0)
        return np.asarray(after @ np.linalg.inv(before))

    def step(self, left: np.ndarray, neutral: float) -> np.ndarray:
        """Return Newton's step, the least one where motions return by less than a part."""
        matrix = self.Xi - np.eye(len(left))
        return np.asarray(self.sizes * np.linalg.lstsq(matrix, -left / self.sizes, neutral)[0])

    def worst(self, end: State) -> tuple[float, str]:
        """Return by how much of its size a state is not the base, and what differs most, in words.

        All positions count: angles that a speed drives are held, and go on by whole turns or not.
        """
        model, left = self.model, self._all(end) - self.zero
        v_of = np.arange(2 * model.n_v) % model.n_v
        share = np.abs(left / self.all_sizes)
        share[np.setdiff1d(np.arange(model.n_v, 2 * model.n_v), self.chosen)] = 0.0
        if not len(share):
            return 0.0, ""
        i = int(np.argmax(share))
        if i >= len(v_of):
            name, unit = model.remembered[self.kept[i - len(v_of)]], "in what it remembers"
        else:
            name = model.numbering.v_labels[v_of[i]]
            unit = of_speeds([model.numbering.v_kinds[v_of[i]]])[0]
            unit = unit.removesuffix("/s") if i < model.n_v else unit
        return float(share[i]), f"{name!r} by {left[i]:.3g} {unit}"


def _shoot(here: _Chart, most: int) -> tuple[_Chart, int]:
    """Return where Newton's steps end, and how many matrices they took.

    A step is halved where less is not left; of a motion that hardly returns, as that of a rotor
    whose speed nothing holds, one without it is tried too. A matrix serves as long as it does well.
    """
    shares = [(0.5**k, e) for k in range(HALVED + 1) for e in (ROUND_OFF**0.5, ROUND_OFF**0.25)]
    for i in range(1, most + 1):
        x, left, well = np.zeros(len(here.left)), here.left, True
        while well:
            done = x.any() or here.size(left) <= ROUND_OFF**0.5
            for share, neutral in shares[:2] if done else shares:
                farther = x + share * here.step(left, neutral)
                then = here.after(farther)
                well = here.size(then) < (0.5 if done else 1.0) * here.size(left)
                if well:
                    x, left = farther, then
                    break
        if not x.any():
            return here, i
        here = _Chart(here.model, here.period, here.run, here.at(x))
    return here, most
