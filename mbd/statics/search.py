r"""Search for an equilibrium: its poses, three kinds of steps between them, its result.

*Newton's steps with stresses of their own* come first: stresses are iterates as the pose is
(``stresses.py``), for a step along what is soft stretches what is stiff by the square of its
length, which they do not see. Beams whose stiffness along is 1e12 times that across bend far in
some ten steps. They are shortened until the step that the same matrix makes from their end is
shorter (the natural test of monotony [2]_). "nearest" takes all of them and finds unstable
equilibria as well, "minimum" while K is positive on the motions that the rows allow.

*Along the load* (``load_path.py``) "minimum" goes where these lead to no stable balance, as past a
critical point: close to it another branch begins mildly, at the full load nothing is mild.

*Downhill* both go from the start where nothing else has led to a balance; where no element has
stresses that can be iterates, they begin with it. A step solves, with the out-of-balance forces g,

.. math:: \begin{bmatrix} K + \sigma D & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \delta \\ \mu \end{bmatrix} = -\begin{bmatrix} g \\ \Phi \end{bmatrix} .

It is Newton's step for :math:`\sigma = 0`, which is taken where K is positive, and goes straight
down for large ones [1]_: a :math:`\sigma` with which the matrix is positive, as its inertia says,
and a step if the forces have done work on the way.

Motions without stiffness shall stay where they are. With a little stiffness W added,
:math:`A = K + \epsilon W` on the motions that the rows allow,

.. math:: \delta = -A^{-1} K A^{-1} g

is Newton's step where the stiffness is well above :math:`\epsilon W`, and zero where there is none,
whatever round-off leaves of g there. W has the size of the stiffness body by body.

The search ends where Newton's steps stop getting shorter, or are shorter than positions are
resolved. Steps know stiff directions from soft ones; forces do not: a real load may be small
compared with what a stiff direction makes of the round-off of positions, or of a displacement.

The multipliers are those that balance forces rather than moments (``metric.py``), so that K holds
the stiffness of tensions, and D is the size of these forces: bodies of a long chain turn side by
side, and the number of steps hardly depends on how many there are.

References
----------
.. [1] J. Nocedal and S. J. Wright, Numerical optimization, 2006, section 10.3.
.. [2] P. Deuflhard, Newton methods for nonlinear problems, 2004, section 3.3.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.algebra.norms import norms
from mbd.base.tolerances import HELD, HELD_LEAST, REST_BALANCE, REST_HELD, REST_REACH
from mbd.linear.inertia import Inertia
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.metric import Metric
from mbd.statics.balance import Balance, SaddlePoint, Statics, accepted, least_multipliers
from mbd.statics.curvature import Curvature
from mbd.statics.imbalance import Imbalance, largest_forces


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The pose at which a search ends, the iterations it took, and what is out of balance."""

    balance: Balance
    iterations: int
    imbalance: Imbalance


class EquilibriumError(RuntimeError):
    """No equilibrium was found; the search says why and keeps where it ended.

    Parameters
    ----------
    message : str
        Why, with the largest residuals by name [N, N m].
    state : State
        Where the search ended.
    path : list of (float, State) [-]
        Load factors and poses of a path with ``arc_length=`` that did not arrive.
    tried : list of State
        The poses that were tried.
    """

    def __init__(
        self, message: str, state: State, path: Sequence[tuple[float, State]] = (),
        tried: Sequence[State] = (),
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.state, self.path, self.tried = state, [*path], [*tried]


@dataclass(frozen=True, eq=False)
class SearchPose:
    """A pose of the search: its balance, its rows in heavy weights, D, the curvature with W."""

    balance: Balance
    rows: SaddlePoint
    drag: sp.csr_matrix
    curvature: Curvature

    @property
    def residual(self) -> np.ndarray:
        """Out-of-balance forces g."""
        return self.balance.residual

    def dragged(self, sigma: float) -> sp.csr_matrix:
        """Return K + sigma D."""
        return sp.csr_matrix(self.balance.K + sigma * self.drag)

    def work(self, delta: np.ndarray) -> float:
        """Return g times an increment."""
        return float(self.residual @ (self.curvature.test @ delta))


class HeldTangent:
    """The matrix [[K + W, B^T], [B, 0]], factored; W is small."""

    def __init__(self, K: sp.csr_matrix, W: sp.csr_matrix, at: Balance) -> None:
        self.W, self.none = W, np.zeros(at.B.shape[0])
        self.point = SaddlePoint(sp.csr_matrix(K + W), at.B, at.Bt)

    def step(self, g: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Return delta for out-of-balance forces and open rows; not finite where singular."""
        delta, back = self.parts(g, gap)
        return delta - back

    def parts(self, g: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step with W added and what of it is taken back."""
        delta, _ = self.point.solve(-g, -gap)
        return delta, self.point.solve(self.W @ delta, self.none)[0]


@dataclass(frozen=True, eq=False)
class Way:
    """A step from a pose and the matrix that made it.

    ``delta`` is not longer than its limits, ``part`` of the whole step; ``whole`` is the largest
    share of its limit that a body would take, ``ahead`` how many steps of that size there are.
    """

    tangent: HeldTangent
    delta: np.ndarray
    part: float
    whole: float
    ahead: float

    @property
    def short(self) -> bool:
        """Whether the search is about to end."""
        return self.whole <= REST_BALANCE


class Search:
    """Search for a balance, as all steps share it: sizes, steps on the manifold, iterations.

    Of iterations so many are given; those that come steadily nearer do not count: a spring that is
    wound up by many turns unwinds by steps of limited size, each of which leaves less ahead; they
    may become longer. In all there are no more than five times as many.
    """

    def __init__(self, problem: Statics, factor: float, state: State, most: int) -> None:
        self.problem, self.factor, self.model = problem, factor, problem.model
        self.scale = problem.scale
        self.weight = sp.diags(1.0 / self.scale**2)
        self.metric = Metric(self.model, state)
        self.heavy = self.metric.heavy()
        self.inertia = Inertia(self.model)
        self.own = np.flatnonzero(self.model.numbering.lam_kinds == m.OWN)
        self.tried = list[State]()
        self.done, self.remaining, self.most = 0, most, 5 * most
        self.begin()
        self.resolved = 4.0 * float(np.finfo(float).eps) * max(1.0, self.metric.far)
        self.near = 1e-13 * max(1.0, self.metric.length)

    def begin(self) -> None:
        """Begin steps of another kind, or from another start."""
        self.reach, self.ahead, self.last = 1.0, np.inf, np.inf

    def took(self, way: Way) -> None:
        """Count a step."""
        steady = 1.0 < way.ahead < self.ahead and self.done < self.most
        self.reach = 1.3 * self.reach if steady else 1.0
        self.ahead = way.ahead
        self.done += 1
        self.remaining -= 0 if steady else 1

    def end(self, now: SearchPose, way: Way) -> SearchResult | None:
        """Return the pose at which Newton's steps end, in balance or not, if they do.

        They are not resolved any more, or do not get shorter.
        """
        last = self.last
        # after a short step a longer one, even a long one, is round-off over no stiffness
        self.last = way.whole if way.short else np.inf
        if self.resolved < way.whole <= 0.5 * last:
            return None
        result = self.result(now)
        shrinks = 0.0 < way.whole <= 0.5 * last  # less than positions are resolved is seen at zero
        return None if shrinks and not result.imbalance.small else result

    def place(self, state: State, stress: np.ndarray | None = None) -> SearchPose:
        """Return a pose that satisfies the rows, with the multipliers of least forces."""
        self.tried.append(state)
        balance = self.problem.at(state, self.factor, stress)
        if not np.isfinite(balance.forces).all():
            raise EquilibriumError(Workspace(self.model, state).no_numbers(), state)
        rows = SaddlePoint(self.heavy, balance.B, balance.Bt)
        if self.model.n_lam:
            _, lam = rows.solve(-balance.carried, np.zeros(self.model.n_lam))
            lam[self.own] -= self._carried(balance, balance.carried + balance.Bt @ lam)
            balance = self.problem.at(state.replace(lam=lam), self.factor, stress)
        acting = np.abs(balance.carried) + np.abs(balance.Bt) @ np.abs(balance.state.lam)
        curvature = Curvature(self.model, balance, self.metric.stiff(balance.added))
        return SearchPose(balance, rows, self.metric.drag(acting), curvature)

    def _carried(self, balance: Balance, g: np.ndarray) -> np.ndarray:
        """Return what the bodies' own rows can carry of forces.

        The heavy weights belong to the start; at a pose far from there they would leave a force
        across a body's own rows, which no motion can see.
        """
        if not len(self.own):
            return np.zeros(0)
        rows = SaddlePoint(self.weight, balance.B[self.own], balance.Bt[:, self.own])
        return rows.solve(g, np.zeros(len(self.own)))[1]

    def way(self, place: SearchPose, sigma: float) -> Way:
        """Return the step of a sigma, what is soft held less where that is what is held back."""
        at, K = place.balance, place.dragged(sigma)
        tangent = HeldTangent(K, HELD * place.curvature.W, at)
        if sigma == 0.0 and self._holds(tangent, at):
            less = HeldTangent(K, HELD_LEAST * place.curvature.W, at)
            tangent = tangent if self._holds(less, at) else less  # else something is free
        delta = tangent.step(at.residual, at.gap)
        if not np.all(np.isfinite(delta)):
            return Way(tangent, delta, 1.0, np.inf, np.inf)
        steps = self.metric.steps(delta)
        whole = float(steps.max())
        turn = float(steps[len(steps) // 2 :].max())
        part = 1.0 / max(1.0, whole / self.reach, turn / REST_REACH)
        return Way(tangent, part * delta, part, whole, float(norms(steps)))

    def _holds(self, tangent: HeldTangent, at: Balance) -> bool:
        """Tell whether much of a step is held back."""
        delta, back = tangent.parts(at.residual, at.gap)
        return not self.metric.steps(back).max() <= REST_HELD * self.metric.steps(delta).max()

    def in_balance(self, end: SearchResult, place: SearchPose, way: Way) -> bool:
        """Tell whether the end of Newton's steps is an equilibrium.

        Where round-off is more than the loads, the last step must be small compared with theirs;
        else other steps tell no more.
        """
        if end.imbalance.balanced or not end.imbalance.round:
            return end.imbalance.balanced
        at = place.balance
        moved = self.metric.steps(way.tangent.step(self.problem.load(at.state), 0.0 * at.gap))
        if way.whole <= REST_BALANCE * float(moved.max()):
            return True
        raise self.failure(place)

    def positive(self, place: SearchPose, sigma: float) -> bool:
        """Tell whether K + sigma D is positive on the motions that the rows allow.

        In a turning frame forces have no potential, and nothing is asked of K.
        """
        if self.problem.turning:
            return True
        held = place.dragged(sigma) + HELD * place.curvature.W
        K = place.curvature.test.T @ held
        return self.inertia.negative(K, place.balance.B) in (0, None)

    def moved(
        self, place: SearchPose, delta: np.ndarray, stress: np.ndarray | None = None
    ) -> SearchPose | None:
        """Return where a step leads, rows restored, or None if it leads nowhere."""
        if not np.all(np.isfinite(delta)):
            return None
        restored = self.restored(displaced(self.model, place.balance.state, delta))
        if restored is None:
            return None
        try:
            return self.place(accepted(self.model, restored), stress)
        except EquilibriumError:  # forces are no numbers there
            return None

    def restored(self, state: State) -> State | None:
        """Return a pose nearby that satisfies the rows."""
        if not self.model.n_lam:
            return state
        last = np.inf
        for i in range(24):
            at = self.problem.at(state, self.factor)
            worst = float(np.abs(at.gap).max())
            if worst <= self.near:
                return state
            if i > 3 and worst > 0.5 * last:
                break
            last = worst
            rows = SaddlePoint(self.heavy, at.B, at.Bt)
            delta, _ = rows.solve(np.zeros(self.model.n_v), -at.gap)
            if not np.all(np.isfinite(delta)) or self.metric.steps(delta).max() > 4.0:
                return None
            state = displaced(self.model, state, delta)
        return state if worst <= 1e4 * self.near else None

    def nearer(self, now: SearchPose, way: Way) -> SearchPose | None:
        """Return where a step leads, shortened until what is left to go has become less."""
        before, ahead = now.balance.stress, None
        if not np.isfinite(way.delta / way.part).all():
            return None
        if before is not None:
            ahead = self.problem.stresses(now.balance.state, way.delta / way.part, before)
        for cut in 0.5 ** np.arange(12):
            stress = None if ahead is None else before + cut * way.part * (ahead - before)
            trial = self.moved(now, cut * way.delta, stress)
            if trial is None:
                continue
            if way.short or self.left(now, way, trial) <= (1 - 0.25 * cut * way.part) * way.whole:
                return trial
        return None

    def left(self, now: SearchPose, way: Way, trial: SearchPose) -> float:
        """Return the length of the step that the same matrix makes elsewhere."""
        at, g = trial.balance, trial.residual
        if at.stress is not None:
            true = self.problem.stresses(at.state, np.zeros(self.model.n_v))
            pull, mean, d = self.problem.pulled, now.balance.stress, true - at.stress
            g = g + at.carried - at.forces  # and what d changes there, of laws quadratic in it
            g += 0.5 * (pull(now.balance.state, mean + d) - pull(now.balance.state, mean - d))
        return float(self.metric.steps(way.tangent.step(g, at.gap)).max())

    def downhill(self, now: SearchPose, way: Way) -> SearchPose | None:
        """Return where a step leads if the forces have done work on the way."""
        if not way.short and now.work(way.delta) > 0.0:
            return None
        trial = self.moved(now, way.delta)
        works = trial is None or way.short or self._work(now, trial, way.delta) < 0.0
        return trial if works else None

    def _work(self, now: SearchPose, then: SearchPose, delta: np.ndarray) -> float:
        """Return minus the work of all forces on the way, by the trapezoidal rule.

        At the end the step is turned into the motions that the rows allow there.
        """
        end, _ = then.rows.solve(self.heavy @ delta, np.zeros(self.model.n_lam))
        return 0.5 * (now.work(delta) + then.work(end))

    def result(self, place: SearchPose) -> SearchResult:
        """Return where the search ended; of multipliers that are not unique the smallest."""
        even = least_multipliers(place.balance, self.scale)
        balance = self.problem.at(even.state, self.factor)
        return SearchResult(balance, self.done, self.problem.imbalance(balance, self.factor))

    def stopped(self, place: SearchPose) -> SearchResult:
        """Return where the search could not go on, if that is a balance; else raise."""
        result = self.result(place)
        if result.imbalance.balanced:
            return result
        raise self.failure(place)

    def failure(self, place: SearchPose) -> EquilibriumError:
        """Name the largest forces that are out of balance."""
        rest, balance = self.result(place).imbalance, place.balance
        head = f"no equilibrium found in {self.done} iterations at load factor {self.factor:g}: "
        if rest.round:
            return EquilibriumError(
                f"{head}loads of {rest.loads} are less than the round-off of the forces that "
                f"stiffness makes at this pose, of which {rest.largest} are left; take larger "
                "loads, or less stiffness",
                balance.state,
            )
        missing = largest_forces(self.model, balance.residual, 3)
        if self.model.n_lam and np.abs(balance.gap).max() > 1e4 * self.near:
            missing += f"; open is the row {self._open_row(balance)}"
        return EquilibriumError(
            f"{head}out of balance are {missing}; does anything hold these bodies? try "
            "load_steps=, another start (state=) or seek='nearest'",
            balance.state,
            tried=self.tried,
        )

    def _open_row(self, balance: Balance) -> str:
        """Name the row that is most open, and by how much."""
        row = int(np.argmax(np.abs(balance.gap)))
        return f"{self.model.numbering.lam_labels[row]!r} by {balance.gap[row]:.3g}"

    def start(self, state: State) -> SearchPose:
        """Return the start, rows satisfied."""
        restored = self.restored(state)
        if restored is None:
            raise EquilibriumError(
                "the start violates constraints that could not be satisfied nearby: "
                f"{self._open_row(self.problem.at(state, self.factor))}; give a pose closer to the "
                "joints",
                state,
            )
        return self.place(restored)

    def starts(self, start: SearchPose, down: bool) -> Iterator[SearchPose]:
        """Yield the start with stresses of its own, or as it is if there are none and not ``down``.

        First with those of the pose; then with those that drag makes from none: the tensions with
        which bars, that have no stiffness across without them, carry what acts.
        """
        state = start.balance.state
        pose = self.problem.stresses(state, np.zeros(self.model.n_v))
        if not len(pose):
            yield from () if down else (start,)
            return
        yield self.place(state, pose)
        way = self.way(self.place(state, 0.0 * pose), 1.0)
        if np.all(np.isfinite(way.delta)):
            yield self.place(state, self.problem.stresses(state, way.delta / way.part))


ByLoad = Callable[[], SearchResult | None]


def _newton(search: Search, now: SearchPose, down: bool) -> SearchResult | SearchPose:
    """Return the balance at which Newton's steps end, or the place from where they lead nowhere.

    With ``down`` they are not taken where K is not positive. Without it those that get no shorter
    in a balance are round-off over a motion that nothing holds.
    """
    last = np.inf
    while search.remaining > 0:
        way = search.way(now, 0.0)
        end = search.end(now, way)
        stalls, last = way.whole > 0.5 * last, way.whole
        if end is None and stalls and not down and search.result(now).imbalance.balanced:
            there = [x for x in (now, search.moved(now, way.delta)) if x is not None]
            return min(map(search.result, there), key=lambda x: x.imbalance.share)
        if end is not None and search.in_balance(end, now, way):
            return end
        if end is not None or (down and not search.positive(now, 0.0)):
            break
        search.took(way)
        better = search.nearer(now, way)
        if better is None:
            break
        now = better
    return now


def _downhill(search: Search, now: SearchPose) -> SearchResult | SearchPose:
    """Return the balance at which steps downhill end, or the place from where they lead nowhere.

    Those of Newton where K is positive, others with a sigma with which it is.
    """
    sigma = 1.0
    while search.remaining > 0:
        taken, way = None, search.way(now, 0.0)
        if way.short or search.positive(now, 0.0):  # to a balance, which may be unstable
            end = search.end(now, way)
            if end is not None and search.in_balance(end, now, way):
                return end
            taken = None if end is not None else search.downhill(now, way)
        for _ in range(0 if taken else 40):
            if search.positive(now, sigma):
                way = search.way(now, sigma)
                taken = search.downhill(now, way)
                if taken is not None:
                    break
            sigma = 8 * sigma
        if taken is None:
            break
        now, sigma = taken, sigma / 30
        search.took(way)
    return now


def nearest(problem: Statics, state: State, factor: float, most: int) -> SearchResult:
    """Return the equilibrium that Newton's method finds from a pose, stable or not.

    Where its steps lead nowhere, one downhill.
    """
    return _searched(problem, state, factor, most, down=False, by_load=lambda: None)


def descend(
    problem: Statics, state: State, factor: float, most: int, by_load: ByLoad = lambda: None
) -> SearchResult:
    """Return an equilibrium that lies downhill of a pose, or one by way of the load."""
    return _searched(problem, state, factor, most, down=True, by_load=by_load)


def _searched(
    problem: Statics, state: State, factor: float, most: int, down: bool, by_load: ByLoad
) -> SearchResult:
    """Return the balance to which Newton's steps lead, else the load, else steps downhill.

    Without stresses of their own those go straight down, and the load comes last.
    """
    search = Search(problem, factor, state, most)
    now, stressed = search.start(state), False
    for start in search.starts(now, down):
        end, stressed = _newton(search, start, down), True
        search.begin()
        if isinstance(end, SearchResult):
            return end
        now = now if search.remaining > 0 else end
    if stressed and (loaded := by_load()) is not None:
        return loaded
    end = _downhill(search, now)
    if isinstance(end, SearchPose):
        end = by_load() or search.stopped(end)
    return end
