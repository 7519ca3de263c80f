r"""Inverse kinematics: a pose and velocities in which coordinates and points meet targets.

Two phases. Positions: with the rows :math:`\Phi` and the targets u of a step :math:`\Delta`,

.. math:: B\Delta = -\Phi, \qquad
          \Delta = \Delta_0 + N z, \quad \min_z |W (J (\Delta_0 + N z) + u - u^*)|

with the null space N of B: the mechanism stays closed first. Velocities then solve the same, once.

Steps end where the gradient of the miss vanishes: at the nearest pose, but also at a saddle or a
farthest pose, such as a straight arm that shall reach back along itself. What is still missed there
is looked for again from poses pushed aside along N; the one that misses least is taken.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import mapping, shown
from mbd.base.door import number, vector
from mbd.base.tolerances import (
    POSE_DUST,
    TARGET_BETTER,
    TARGET_IN_VAIN,
    TARGET_MET,
    TARGET_OPEN,
    TARGET_PUSHES,
    TARGET_RANK,
    TARGET_STALLED,
    TARGET_STEP,
)
from mbd.integration.consistent import consistent
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.rows import COINCIDE
from mbd.machine import buffer as m
from mbd.model.build import build
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import model_of
from mbd.model.workspace import Workspace
from mbd.parts.part import Part
from mbd.statics.balance import accepted

if TYPE_CHECKING:
    from mbd.model.system import System


class _Target:
    """One target: its row, what is wanted, whether it is one on velocities."""

    def __init__(
        self, owner: str, key: str, value: Any, weight: float | None, model: Model
    ) -> None:
        if not isinstance(key, str):
            text = "a target must be named by text, 'joint.coordinate'"
            raise TypeError(f"{owner}: {text}, got {shown(key)}")
        self.key, self.weight = key, weight
        name, point, what = _split(owner, key)
        system = model.system
        if name in system.joints:
            free = system.joints[name].coordinates
            self.rate = what.endswith("_rate")
            word = what.removesuffix("_rate")
            if point or word not in free:
                coordinates = ", ".join(f"{name}.{x}" for x in free) or "none"
                raise ValueError(
                    f"{owner}: no target {shown(key)}; coordinates of the joint are: {coordinates}"
                )
            u = free[word]
            self.unit = u.unit
            self.wanted = np.array(
                [number(owner, f"target {key!r}", value, u.unit + ("/s" if self.rate else ""))]
            )
            aim = 0.0 if self.rate else float(self.wanted[0])
            self.element = Element(
                total((u.measure,)), u.attachments, (aim, 0.0, 1.0), (u.start,), (key,),
                (u.row_kind,),
            )  # fmt: skip
        elif name in model.nodes and what in ("position", "velocity"):
            self.rate, self.unit = what == "velocity", "m"
            self.wanted = vector(owner, f"target {key!r}", value, "m/s" if self.rate else "m")
            x, y, z = point
            X, Y, Z = (0.0, 0.0, 0.0) if self.rate else self.wanted.tolist()
            ends = (Attachment(name, (1.0, x, y, z)), Attachment("ground", (1.0, X, Y, Z)))
            labels = tuple(f"{key} {c}" for c in "xyz")
            self.element = Element(COINCIDE, ends, (), (), labels, (m.FORCE,) * 3)
        else:
            raise ValueError(
                f"{owner}: no target {shown(key)}; a target is written 'joint.coordinate', "
                "'joint.coordinate_rate', 'body(x, y, z).position' or 'body(x, y, z).velocity'; "
                f"joints are {', '.join(system.joints) or 'none'}, bodies "
                f"{', '.join(model.nodes)}"
            )


def _split(owner: str, key: str) -> tuple[str, tuple[float, ...], str]:
    """Return name, point and attribute of "name(x, y, z).attribute"."""
    match = re.fullmatch(r"([^(]+?)(\(([^()]*)\))?\.(\w+)", key)
    if match is None:
        return key, (), ""
    name, parenthesis, inside, what = match.groups()
    if parenthesis is None:
        return name, (0.0, 0.0, 0.0) if what in ("position", "velocity") else (), what
    try:
        point = tuple(float(x) for x in inside.split(","))
    except ValueError:
        point = ()
    if len(point) != 3:
        raise ValueError(f"{owner}: the point of target {shown(key)} must be three numbers")
    return name, point, what


class _TargetRows(Part):
    """A part that holds the rows of all targets."""

    name = "targets of the pose"

    def __init__(self, targets: list[_Target]) -> None:
        self._elements = [t.element for t in targets]

    def elements(self) -> list[Element]:
        """Return the rows."""
        return self._elements


def _extended(model: Model, targets: list[_Target]) -> Model:
    """Return a model with the rows of the targets after all others."""
    system = copy(model.system)
    system.forces = {**system.forces, _TargetRows.name: _TargetRows(targets)}
    return build(system)


Level = tuple[np.ndarray, np.ndarray]  # gradient and what is missed


def _least(levels: list[Level], n: int, damping: float) -> np.ndarray:
    """Return the smallest step that meets the levels in their order: J x = -miss, at best.

    All but the first are damped (Levenberg and Marquardt): at the border of what can be reached
    their gradients vanish.
    """
    x, N = np.zeros(n), np.eye(n)
    for level, (J, miss) in enumerate(levels):
        if not len(J) or not N.shape[1]:
            continue
        U, s, Vt = np.linalg.svd(J @ N, full_matrices=True)
        rank = int((s > TARGET_RANK * max(1.0, s[0])).sum())
        s, soften = s[:rank], damping if level else 0.0
        z = (U[:, :rank].T @ (miss + J @ x)) * s / (s * s + soften)
        x -= N @ (Vt[:rank].T @ z)
        N = N @ Vt[rank:].T
    return x


class _TargetSearch:
    """Rows and targets of a model: what is open at a state, and how it is closed."""

    def __init__(self, model: Model, wanted: list[_Target]) -> None:
        self.model = both = _extended(model, wanted) if wanted else model
        n = both.numbering
        self.size = both.units
        aims = np.arange(both.n_lam)[n.owners[_TargetRows.name]] if wanted else np.zeros(0, int)
        rows = np.setdiff1d(np.arange(both.n_lam), aims)
        places = rows[n.lam_kinds[rows] != m.VELOCITY_ROW]

        def per_row(values: list[Any], dtype: type) -> np.ndarray:
            lengths = [len(t.wanted) for t in wanted]
            return np.repeat(np.array(values, dtype), lengths) if wanted else np.zeros(0, dtype)

        rate = per_row([t.rate for t in wanted], bool)
        soft = per_row([t.weight is not None for t in wanted], bool)
        weight = per_row([1.0 if t.weight is None else t.weight for t in wanted], float)
        self.weight = np.ones(both.n_lam)
        self.weight[aims] = np.sqrt(weight)
        self.wanted = np.zeros(both.n_lam)
        self.wanted[aims[rate]] = np.concatenate([[], *(t.wanted for t in wanted if t.rate)])
        # in order of priority
        self.places = [places, aims[~rate & ~soft], aims[~rate & soft]]
        self.rates = [rows, aims[rate & ~soft], aims[rate & soft]]

    def step(
        self, B: np.ndarray, miss: np.ndarray, levels: list[np.ndarray], damping: float = 0.0
    ) -> np.ndarray:
        """Return the increment that meets the levels, in units of the sizes."""
        w = self.weight
        parts = [(w[i, None] * B[i] * self.size, w[i] * miss[i]) for i in levels]
        return _least(parts, len(self.size), damping)

    def closed(self, state: State) -> tuple[State, np.ndarray, float]:
        """Return the nearest pose that satisfies the rows, all gaps there, the largest of rows."""
        for _ in range(12):
            A = self.model.assemble(state)
            gap = float(np.abs(A.gap[self.places[0]]).max(initial=0.0))
            if gap < 1e-13 * max(1.0, float(self.size.max())):
                break
            step = self.step(A.B.toarray(), A.gap, self.places[:1])
            step *= min(1.0, TARGET_STEP / max(float(np.abs(step).max()), 1e-300))
            state = state.replace(q=_moved(self.model, state, step * self.size))
        return state, A.gap, gap

    def missed(self, gap: np.ndarray) -> float:
        """Return the size of all that is missed, hard targets first."""
        hard, soft = (np.linalg.norm(self.weight[i] * gap[i]) for i in self.places[1:])
        return float(1e3 * hard + soft)

    def posed(self, state: State) -> State:
        """Return the pose in which the targets are met as well as they can be."""
        best, least = self._downhill(state)
        rng, vain = np.random.default_rng(0), 0  # the same pushes every time
        for push in TARGET_PUSHES:
            N = self._free(best)
            met = least <= TARGET_MET * float(self.size.min(initial=1.0))
            if met or vain == TARGET_IN_VAIN or not N.size:
                break
            aside = N @ rng.standard_normal(N.shape[1])
            aside *= push / np.abs(aside).max()
            moved = best.replace(q=_moved(self.model, best, aside * self.size))
            trial, missed = self._downhill(moved)
            better = missed < (1 - TARGET_BETTER) * least
            if better:
                best, least = trial, missed
            vain = 0 if better else vain + 1
        return best

    def _free(self, state: State) -> np.ndarray:
        """Return the motions that the rows allow, (n_v, freedoms), in units of the sizes."""
        B = self.model.assemble(state).B.toarray()[self.places[0]] * self.size
        if not len(B):
            return np.eye(len(self.size))
        _, s, Vt = np.linalg.svd(B, full_matrices=True)
        rank = int((s > TARGET_RANK * max(1.0, float(s.max(initial=0.0)))).sum())
        return np.asarray(Vt[rank:].T)

    def _downhill(self, state: State) -> tuple[State, float]:
        """Return where steps from a pose end, and what is missed there; inf if it is not closed."""
        state, gap, open_by = self.closed(state)
        damping = 1e-6
        for _ in range(100):
            A, now = self.model.assemble(state), self.missed(gap)
            B = A.B.toarray()
            for _ in range(25):
                step = self.step(B, A.gap, self.places, damping)
                step *= min(1.0, TARGET_STEP / max(float(np.abs(step).max()), 1e-300))
                if np.abs(step).max() < 1e-12:
                    return state, now if open_by <= TARGET_OPEN else np.inf
                trial = state.replace(q=_moved(self.model, state, step * self.size))
                trial, gap, trial_open = self.closed(trial)
                if trial_open <= max(open_by, TARGET_OPEN) and self.missed(gap) < now:
                    state, open_by, damping = accepted(self.model, trial), trial_open, damping / 2
                    break
                damping *= 4
            else:
                break
            if self.missed(gap) > (1 - TARGET_STALLED) * now:
                break
        _, gap, open_by = self.closed(state)
        return state, self.missed(gap) if open_by <= TARGET_OPEN else np.inf

    def moving(self, state: State) -> State:
        """Return the state with the velocities nearest to its own that meet rows and targets."""
        work = Workspace(self.model, state)
        work.evaluate()
        rate = work.rates()[0] - self.wanted
        B = self.model.assemble(state).B.toarray()
        return state.replace(v=state.v + self.step(B, rate, self.rates) * self.size)


def reach(
    model: Model, state: State | None, targets: dict[str, Any], weights: dict[str, float]
) -> State:
    """Return a state in which targets are met; see ``assemble_pose``."""
    state = model.state if state is None else state
    for key, weight in weights.items():
        if key not in targets:
            raise ValueError(f"assemble_pose: there is a weight but no target {shown(key)}")
        number("assemble_pose", f"the weight of {key!r}", weight, "-", positive=True)
    who = "assemble_pose"
    wanted = [_Target(who, k, v, weights.get(k), model) for k, v in targets.items()]
    search = _TargetSearch(model, wanted)
    n_lam = search.model.n_lam
    state = state.replace(a=np.zeros(model.n_v), lam=np.zeros(n_lam))
    state = search.moving(search.posed(state))
    state = state.replace(lam=np.zeros(model.n_lam))
    _refuse_missed(model, state, targets, weights)
    return state


def _moved(model: Model, state: State, step: np.ndarray) -> np.ndarray:
    """Return q moved by an increment along the manifold."""
    work = Workspace(model, state)
    work.vector(m.D)[model.numbering.v] = step
    work.evaluate()
    return work.vector(m.Q, model.n_q).copy()


def target_errors(
    system: System | Model, state: State, targets: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Return by how much a state misses targets: what it has less what is wanted, by target.

    Parameters
    ----------
    system : System or Model
    state : State
    targets : dict
        As in ``mbd.assemble_pose``.

    Returns
    -------
    dict of arrays
        By target: [m] of lengths, [rad] of angles, per [s] of rates.
    """
    model = model_of("target_errors", system)
    if state is None:
        raise TypeError("target_errors: state must be a State (model.state), got None")
    state = state_of("target_errors", model, state)
    aims = mapping("target_errors", "targets", targets, "{'hinge.angle': 0.3}")
    wanted = [_Target("target_errors", k, v, None, model) for k, v in aims.items()]
    if not wanted:
        return {}
    both = _extended(model, wanted)
    kept = state.replace(a=np.zeros(both.n_v), lam=np.zeros(both.n_lam))
    work = Workspace(both, kept)
    work.evaluate()
    mine = both.numbering.owners[_TargetRows.name]
    gap = work.vector(m.X)[both.numbering.lam][mine].copy()
    rate = work.rates()[0][mine]
    errors, at = {}, 0
    for t in wanted:
        cut = slice(at, at + len(t.wanted))
        errors[t.key] = rate[cut] - t.wanted if t.rate else gap[cut]
        at += len(t.wanted)
    return errors


def _refuse_missed(
    model: Model, state: State, targets: dict[str, Any], weights: dict[str, float]
) -> None:
    """Refuse a state in which a target without a weight is missed."""
    length = float(model.F[m.LENGTH])
    speed = max(1.0, float(np.abs(state.v).max())) if len(state.v) else 1.0
    missed = []
    for key, error in target_errors(model, state, targets).items():
        t = _Target("assemble_pose", key, targets[key], None, model)
        size = (length if t.unit == "m" else 1.0) * (speed if t.rate else 1.0)
        if key not in weights and np.abs(error).max() > TARGET_MET * size:
            unit = t.unit + ("/s" if t.rate else "")
            missed.append(f"{key!r} by {np.linalg.norm(error):.6g} {unit}")
    if missed:
        raise ValueError(
            f"assemble_pose: targets are missed: {', '.join(missed)}; ask for what the joints "
            "allow, or give such a target a weight to come as near as possible"
        )


def assemble_pose(
    system: System | Model,
    state: State | None = None,
    *,
    targets: dict[str, Any] | None = None,
    weights: dict[str, float] | None = None,
) -> State:
    """Return the consistent state nearest to the described one: positions, then velocities.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where to start; default the described one.
    targets : dict, optional
        What joint coordinates and points shall be: ``{"hinge.angle": 0.3, "hinge.angle_rate": 2.0,
        "rod(0.5, 0, 0).position": (1, 0, 2), "rod.velocity": (0, 0, 1)}``, points in body axes.
        Angles are met up to full turns. Lengths in [m], angles in [rad], rates per [s].
    weights : dict, optional
        Of targets that need not be met: they are met as well as joints and the others allow, in
        the sense of weighted least squares. ``mbd.target_errors`` tells what is left.

    Raises
    ------
    ValueError
        If the mechanism cannot be closed; the worst row is named with its size and unit. If a
        target without a weight is missed: which one, and by how much.
    """
    aims = mapping("assemble_pose", "targets", targets, "{'hinge.angle': 0.3}")
    soft = mapping("assemble_pose", "weights", weights, "{'hinge.angle': 0.3}")
    model = model_of("assemble_pose", system)
    state = state_of("assemble_pose", model, state)
    if aims or soft:
        state = reach(model, state, aims, soft)
    pose = consistent(model, state, project=True)
    rates = np.abs(pose.v) / model.units
    return pose.replace(v=np.where(rates <= POSE_DUST * rates.max(initial=0.0), 0.0, pose.v))
