r"""Paths of equilibria over the load factor f, and the curvatures of the energy along them.

From a point of the path Newton's method goes to another factor. Its iterates are the pose, the
multipliers and, of their own, the stresses of elements (``stresses.py``): they come out in balance
with the loads to round-off of these, where stresses of the pose itself have the round-off of the
stiffest part. Each step must be at most half as long as the one before, and the first one no longer
than the search for an equilibrium allows: another branch is no end of such steps.

K on the motions that the rows allow is symmetric where forces have a potential. Its negative
directions are counted by inertia; where their number changes, the path has a critical point. Loads
without a potential leave K unsymmetric: then real negative eigenvalues count.

Motions that meet no stiffness at the start of a path are free on all of it, and the sign of their
curvature is round-off. They are carried along the path by inverse iteration, and rows of their own
take them out of Newton's steps and of the count.

At one load `along_a_valley` goes from an unstable point to a stable one, along the motion that
gives way, which is held while all others come to rest.

Three searches go along a path. `along_the_load` keeps to points without negative curvature, from
branch to branch. `first_critical` doubles its steps until the number of negative curvatures
changes; between two such factors the root of the curvature nearest to zero, negative where the
number is another one, is found by Brent's method [1]_. Towards a limit point, beyond which there is
no pose, Newton's steps are lost at ever smaller steps, and the curvature vanishes as the root of
what is left. `follow` goes on past limit points [2]_: with the tangent :math:`(t, t_f)` of unit
length a step of length s solves

.. math:: g(q, \lambda, f) = 0, \qquad \Phi(q) = 0, \qquad
          t^T W\,\delta + t_f\,(f - f_0) = s ,

where W measures displacements by the model's length and turns in radians.

References
----------
.. [1] R. P. Brent, Algorithms for minimization without derivatives, 1973, chapter 4.
.. [2] H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems, 1977.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import HELD, REST_BALANCE, ROUND_OFF
from mbd.linear.inertia import Inertia
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.metric import Metric
from mbd.statics.balance import Balance, SaddlePoint, Statics, accepted
from mbd.statics.curvature import Curvature
from mbd.statics.search import EquilibriumError, SearchResult, nearest


@dataclass(frozen=True, eq=False)
class LoadPoint:
    """A balance at a load factor, with stresses of its own, and the free motions there (n_v, k).

    ``iterations`` are Newton's on the way from the start of the path.
    """

    balance: Balance
    factor: float
    free: np.ndarray
    iterations: int = 0


@dataclass(frozen=True, eq=False)
class PathTangent:
    """The direction of a path: increments (n_v,) and load factor, together of length one."""

    motion: np.ndarray
    factor: float


class LoadPath:
    """The path of one problem through one equilibrium."""

    def __init__(self, problem: Statics, start: Balance, factor: float) -> None:
        self.problem, self.model = problem, problem.model
        self.metric = Metric(self.model, start.state)
        self.stiff = self.metric.stiff(start.added)
        self.size = np.sqrt(self.stiff.diagonal())
        self.weight = self.model.units**-2.0
        self.inertia = Inertia(self.model)
        self.resolved = 4.0 * float(np.finfo(float).eps) * max(1.0, self.metric.far)
        self.start = self._freed(LoadPoint(start, factor, np.zeros((self.model.n_v, 0))))

    def reach(self) -> float:
        """Return the change of the factor that makes a step of full length at the start."""
        at = self.start.balance
        B, Bt = self._rows(self.start)
        load = self.problem.load(at.state)
        move, _ = SaddlePoint(at.K, B, Bt).solve(-load, np.zeros(B.shape[0]))
        return 1.0 / max(float(self.metric.steps(move).max()), np.finfo(float).tiny)

    def moves_freely(self, point: LoadPoint) -> bool:
        """Tell whether the load does work on free motions: nothing balances it on the way."""
        load, X = self.problem.load(point.balance.state), point.free
        return bool(np.any(np.abs(X.T @ load) > REST_BALANCE * (np.abs(X).T @ np.abs(load))))

    def to(self, point: LoadPoint, factor: float) -> LoadPoint | None:
        """Return the point of the path at a factor, or None where Newton's steps are lost."""
        return self._newton(replace(point, factor=factor), np.zeros((self.model.n_v, 0)))

    def branch(self, point: LoadPoint, usual: int) -> LoadPoint | None:
        """Return a point with so many negative curvatures on another branch, if one is nearby.

        Just beyond a critical point the pose is moved along what gives way, and held there: what
        load is in balance with it is a point of the branch. First by a full step: nearer to the
        critical point curvatures along the branch may be round-off, and pass for free.
        """
        at = point.balance
        shapes = self._nearest_zero(point, self.negative(point) - usual)
        shapes = shapes / [self.metric.steps(x).max() for x in shapes.T]
        border = self.stiff @ shapes
        border = border / np.abs(border).max(axis=0)
        for amplitude in (1.0, -1.0, 0.3, -0.3, 0.1, -0.1):
            state = displaced(self.model, at.state, amplitude * shapes[:, 0])
            new = self._newton(replace(point, balance=replace(at, state=state)), border)
            if new is not None:
                new = self._freed(new)
                if self.negative(new) == usual:
                    return new
        return None

    def ahead(self, point: LoadPoint, tangent: PathTangent, ds: float) -> LoadPoint | None:
        """Return the point of the path at a length of arc along a tangent, or None."""
        at, t = point.balance, tangent.motion
        stress = self.problem.stresses(at.state, ds * t, at.stress)
        balance = replace(at, state=displaced(self.model, at.state, ds * t), stress=stress)
        point = replace(point, balance=balance, factor=point.factor + ds * tangent.factor)
        return self._newton(point, (self.weight * t)[:, None], tangent.factor)

    def tangent(self, point: LoadPoint, before: PathTangent) -> PathTangent:
        """Return the tangent of the path that goes on in the same sense."""
        at = point.balance
        B, Bt = self._rows(point)
        rows = sp.csr_matrix(sp.vstack([B, self.weight * before.motion]))
        columns = sp.csr_matrix(sp.hstack([Bt, self.problem.load(at.state)[:, None]]))
        forward = np.append(np.zeros(B.shape[0]), 1.0)
        t, last = SaddlePoint(at.K, rows, columns, before.factor).solve(0.0 * at.forces, forward)
        size = float(np.sqrt(t @ (self.weight * t) + last[-1] ** 2))
        return PathTangent(t / size, float(last[-1]) / size)

    def held(self, point: LoadPoint, move: np.ndarray) -> tuple[LoadPoint, np.ndarray] | None:
        """Return where a motion leads that is held while all others come to rest, and goes on."""
        at, border = point.balance, (self.stiff @ move)[:, None]
        stress = self.problem.stresses(at.state, move, at.stress)
        balance = replace(at, state=displaced(self.model, at.state, move), stress=stress)
        border = border / np.abs(border).max()
        new = self._newton(replace(point, balance=balance), border, held=True)
        if new is None:
            return None
        B, Bt = self._rows(new)
        rows, columns = sp.vstack([B, border.T]), sp.hstack([Bt, border])
        inverse = SaddlePoint(new.balance.K, sp.csr_matrix(rows), sp.csr_matrix(columns))
        forward = np.append(np.zeros(B.shape[0]), 1.0)
        return new, inverse.solve(np.zeros(self.model.n_v), forward)[0]

    def work(self, point: LoadPoint, move: np.ndarray) -> float:
        """Return what an increment takes against the forces, negative where they do it."""
        at = point.balance
        return float(at.residual @ (self._curvature(at).test @ move))

    def _newton(
        self, point: LoadPoint, border: np.ndarray, corner: float = 0.0, held: bool = False
    ) -> LoadPoint | None:
        """Return the balance at the factor of a point, from its pose, or None.

        With a border (n_v, k) the load changes: delta has no part in its columns, but for what the
        corner makes of a change of the factor. Where they are `held`, forces along them do so.
        """
        state, stress, last = point.balance.state, point.balance.stress, np.inf
        factor, k, rows = point.factor, border.shape[1], point.balance.B.shape[0]
        before = point.iterations
        if stress is None:
            stress = self.problem.stresses(state, np.zeros(self.model.n_v))
        for i in range(40):
            now = self.problem.at(state, factor, stress)
            if not np.isfinite(now.forces).all():
                return None
            point = replace(point, balance=now, factor=factor, iterations=before + i)
            point = self._carried(point)
            B, Bt = self._rows(point)
            if k:
                B = sp.csr_matrix(sp.vstack([B, border.T]))
                push = border[:, :1] if held else self.problem.load(state)[:, None]
                Bt = sp.csr_matrix(sp.hstack([Bt, border[:, 1:], push]))
            open_rows = np.append(now.gap, np.zeros(B.shape[0] - rows))
            delta, lam = SaddlePoint(now.K, B, Bt, corner).solve(-now.forces, -open_rows)
            size = float(self.metric.steps(delta).max())
            if not size <= 1.0 or (size > 0.5 * last and size > REST_BALANCE):
                return None
            if size <= self.resolved or size > 0.5 * last:
                break
            stress, last = self.problem.stresses(state, delta, stress), size
            state = displaced(self.model, state, delta).replace(lam=lam[:rows])
            factor += lam[-1] if k and not held else 0.0
        else:
            return None
        return replace(point, balance=replace(now, state=accepted(self.model, now.state)))

    def negative(self, point: LoadPoint) -> int:
        """Return the number of negative curvatures, free motions left out."""
        return self._curvature(point.balance).negative(self.inertia, point.free)

    def lowest(self, point: LoadPoint) -> tuple[float, np.ndarray]:
        """Return the curvature nearest to zero, against the stiffness of bodies, and its motion."""
        x = self._nearest_zero(point, 1)[:, 0]
        return float(x @ (self._curvature(point.balance).K @ x)), x

    def _nearest_zero(self, point: LoadPoint, k: int) -> np.ndarray:
        """Return k motions with curvatures nearest to zero, (n_v, k)."""
        B, _ = self._rows(point)
        inverse = SaddlePoint(self._curvature(point.balance).K, B, sp.csr_matrix(B.T))
        return self._iterated(inverse, self._random(k), 8)

    def _freed(self, point: LoadPoint) -> LoadPoint:
        """Return a point with the motions whose curvature is round-off of what is added in it."""
        at = point.balance
        K, inverse = self._curvature(at).K, self._nearly_singular(at)
        k = min(4, self.model.n_v)
        while True:
            X = self._iterated(inverse, self._random(k), 8)
            _, turn = np.linalg.eigh(X.T @ (K @ X))
            X = X @ turn
            size = np.einsum("ij,ij->j", np.abs(X), abs(K) @ np.abs(X))
            none = np.abs(np.einsum("ij,ij->j", X, K @ X)) <= ROUND_OFF * size
            if not none.all() or k == self.model.n_v:
                return replace(point, free=X[:, none])
            k = min(2 * k, self.model.n_v)

    def _carried(self, point: LoadPoint) -> LoadPoint:
        """Return a point with the free motions of its pose."""
        if not point.free.shape[1]:
            return point
        inverse = self._nearly_singular(point.balance)
        return replace(point, free=self._iterated(inverse, self._even(point.free), 2))

    def _iterated(self, inverse: SaddlePoint, X: np.ndarray, times: int) -> np.ndarray:
        """Return motions after so many inverse iterations, X <- K^-1 W X on the rows."""
        none = np.zeros(inverse.rows)
        for _ in range(times):
            X = np.column_stack([inverse.solve(self.stiff @ x, none)[0] for x in X.T])
            X = self._even(X)
        return X

    def _random(self, k: int) -> np.ndarray:
        return np.random.default_rng(40961).normal(size=(self.model.n_v, k))

    def _even(self, X: np.ndarray) -> np.ndarray:
        """Return motions that span the same, of size one and apart in the sizes of W."""
        return np.linalg.qr(X * self.size[:, None])[0] / self.size[:, None]

    def _nearly_singular(self, at: Balance) -> SaddlePoint:
        """Return K with little of W, whose inverse brings out what is free."""
        return SaddlePoint(at.K + HELD * self.stiff, at.B, at.Bt)

    def _curvature(self, at: Balance) -> Curvature:
        return Curvature(self.model, at, self.stiff)

    def _rows(self, point: LoadPoint) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return the rows of a point, B and B^T, those that take out free motions last."""
        at, X = point.balance, sp.csr_matrix(self.weight[:, None] * point.free)
        return sp.csr_matrix(sp.vstack([at.B, X.T])), sp.csr_matrix(sp.hstack([at.Bt, X]))


def along_the_load(problem: Statics, start: State, factor: float, most: int) -> SearchResult | None:
    """Return an equilibrium to which a stable one without the load leads, if there is a path.

    In a turning frame forces have no potential, and nothing is asked of K.
    """
    if problem.turning:
        return None
    try:
        point = _followed(problem, start, factor, most)
        if point is None:
            return None
        end = nearest(problem, point.balance.state, factor, most)
    except EquilibriumError:
        return None
    return SearchResult(end.balance, point.iterations + end.iterations, end.imbalance)


def _followed(problem: Statics, start: State, factor: float, most: int) -> LoadPoint | None:
    """Return the point of a path on which no curvature is negative.

    Past a critical point it goes on along another branch. Close to the critical point that begins
    mildly, however stiff the rest is.
    """
    path = LoadPath(problem, nearest(problem, start, 0.0, most).balance, 0.0)
    point, step = path.start, factor
    if path.negative(point) or path.moves_freely(point):
        return None
    for _ in range(most):
        if point.factor == factor or point.iterations > most:
            break
        left = factor - point.factor  # a branch may begin beyond the factor
        step = np.copysign(min(abs(step), abs(left)), left)
        wanted = factor if step == left else point.factor + step
        ahead = path.to(point, wanted)
        if ahead is None:
            step *= 0.5
        elif not path.negative(ahead):
            point, step = ahead, 2.0 * step
        elif abs(step) > 1e-3 * abs(wanted):
            step *= 0.25
        else:
            branch = path.branch(ahead, 0)
            if branch is None:
                return None
            point = branch
        if abs(step) <= 1e-10 * abs(factor):
            return None
    return point if point.factor == factor and point.iterations <= most else None


def along_a_valley(
    problem: Statics, start: Balance, shape: np.ndarray, factor: float, most: int
) -> SearchResult | None:
    """Return the equilibrium to which a motion leads that gives way, or None.

    It is held, a quarter of the longest step at a time, until forces resist: where it meets next to
    no stiffness, as a wheel of many blades under its weight, forces tell nothing of how far to go.
    """
    path = LoadPath(problem, start, factor)
    point, move, work, part = path.start, shape, -1.0, 0.25
    while work < 0.0 and point.iterations < most:
        new = path.held(point, part * move / path.metric.steps(move).max())
        if new is None:
            return None
        (point, move), last = new, work
        work = path.work(point, move / path.metric.steps(move).max())
    if work < 0.0:
        return None
    part *= work / (last - work)
    new = path.held(point, part * move / path.metric.steps(move).max())
    point = point if new is None else new[0]
    try:
        end = nearest(problem, point.balance.state, factor, most)
    except EquilibriumError:
        return None
    return SearchResult(end.balance, point.iterations + end.iterations, end.imbalance)


def follow(
    problem: Statics, start: State, target: float, ds: float, most: int
) -> list[tuple[float, SearchResult]]:
    """Return the points (load factor, equilibrium) from factor 0 to the target."""
    first = nearest(problem, start, 0.0, 100)
    points = [(0.0, first)]
    path, step = LoadPath(problem, first.balance, 0.0), ds
    at = path.start

    def poses() -> list[tuple[float, State]]:
        return [(f, x.balance.state) for f, x in points]

    tangent = path.tangent(at, PathTangent(np.zeros(problem.model.n_v), np.sign(target) or 1.0))
    while len(points) < most:
        new = path.ahead(at, tangent, step)
        if new is None:
            step /= 2
            if step < ds / 1000:
                raise EquilibriumError(
                    f"the path of equilibria could not be followed beyond load factor "
                    f"{at.factor:g}; try a smaller arc_length=",
                    at.balance.state,
                    poses(),
                )
            continue
        state, f = new.balance.state, new.factor
        if (f - target) * (at.factor - target) <= 0.0 and f != at.factor:
            return [*points, (target, nearest(problem, state, target, 100))]
        balance, iterations = problem.at(state, f), new.iterations - at.iterations
        points.append((f, SearchResult(balance, iterations, problem.imbalance(balance, f))))
        tangent, at = path.tangent(new, tangent), new
        step = min(ds, 2.0 * step)
    limits = f"{min(f for f, _ in points):g} to {max(f for f, _ in points):g}"
    raise EquilibriumError(
        f"the path of equilibria did not reach load factor {target:g} in {most} points, it has "
        f"been at {limits} and ended at {at.factor:g}; try a larger arc_length= or "
        "max_iterations=",
        at.balance.state,
        poses(),
    )


def first_critical(
    problem: Statics, start: Balance, base: float
) -> tuple[State, float, np.ndarray] | None:
    """Return pose, load factor and shape (n_v,) of the first critical point beyond a factor.

    None where none is met.
    """
    path = LoadPath(problem, start, base)
    usual, first = path.negative(path.start), abs(path.lowest(path.start)[0])
    last = path.start
    reach = path.reach()
    step = min(1.0, reach)
    for _ in range(200):
        ahead = path.to(last, last.factor + step)
        if ahead is not None and path.negative(ahead) != usual:
            last = _crossed(path, last, ahead, usual)
            break
        if ahead is None:
            step *= 0.5
            if step <= 1e-10 * abs(last.factor):
                break
        else:
            last, step = ahead, 2.0 * step
            if step * np.finfo(float).eps > reach:  # all stiffness is that of the loads
                return None
    size, shape = path.lowest(last)
    vanished = abs(size) <= ROUND_OFF**0.25 * first
    balanced = problem.imbalance(last.balance, last.factor).balanced
    return (last.balance.state, last.factor, shape) if vanished and balanced else None


def _crossed(path: LoadPath, low: LoadPoint, high: LoadPoint, usual: int) -> LoadPoint:
    """Return the point nearest to where the number of negative curvatures changes."""
    from scipy.optimize import brentq

    points = {x.factor: x for x in (low, high)}

    def curvature(factor: float) -> float:
        if factor not in points:
            nearest = max(f for f in points if f <= factor)
            point = path.to(points[nearest], factor)
            if point is None:
                return -abs(path.lowest(low)[0])
            points[factor] = point
        point = points[factor]
        size = abs(path.lowest(point)[0])
        return size if path.negative(point) == usual else -size

    root = brentq(curvature, low.factor, high.factor, xtol=np.finfo(float).tiny, rtol=1e-10)
    return points[min(points, key=lambda f: abs(f - root))]
