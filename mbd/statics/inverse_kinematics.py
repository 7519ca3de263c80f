r"""Inverse kinematics: a pose and velocities in which coordinates and points meet targets.

Two phases. Positions: with the rows :math:`\Phi` and the targets u of a step :math:`\Delta`,

.. math:: B\Delta = -\Phi, \qquad
          \Delta = \Delta_0 + N z, \quad \min_z |W (J (\Delta_0 + N z) + u - u^*)|

with the null space N of B: the mechanism stays closed first. Velocities then solve the same, once.

Steps end where the gradient of the miss vanishes: at the nearest pose, but also at a saddle or a
farthest pose, such as a straight arm that shall reach back along itself. What is still missed there
is looked for again from poses pushed aside along N; the one that misses least is taken.
"""

import re
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space

from mbd.base.checked import mapping, shown
from mbd.base.door import number, vector
from mbd.base.tolerances import POSE_STEP, RANK, ROUND_OFF, ROWS_MET, TARGET_PUSHES
from mbd.integration.consistent import consistent
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.rows import COINCIDE
from mbd.machine import buffer as m
from mbd.model.build import build
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.workspace import Workspace, displaced
from mbd.parts.part import Part
from mbd.statics.balance import accepted


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
                total((u.measure,)), u.attachments, (aim, 0.0, 1.0, *u.numbers), (u.start,), (key,),
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
        rank = int((s > RANK * max(1.0, s[0])).sum())
        s, soften = s[:rank], damping if level else 0.0
        z = (U[:, :rank].T @ (miss + J @ x)) * s / (s * s + soften)
        x -= N @ (Vt[:rank].T @ z)
        N = N @ Vt[rank:].T
    return x


@dataclass(frozen=True, eq=False)
class _TargetPose:
    """A pose, all rows there with their gaps, and by how much targets are missed, hard ones first.

    ``missed`` is infinite where the mechanism is not closed.
    """

    state: State
    B: np.ndarray
    gap: np.ndarray
    missed: float


class _TargetSearch:
    """Rows and targets of a model: what is open at a state, and how it is closed."""

    def __init__(self, model: Model, wanted: list[_Target]) -> None:
        self.wanted = wanted
        if wanted:  # their rows come after all others
            system = copy(model.system)
            system.forces = {**system.forces, _TargetRows.name: _TargetRows(wanted)}
            model = build(system)
        self.model = both = model
        n = both.numbering
        self.size = both.units
        mine = n.owners[_TargetRows.name] if wanted else slice(0, 0)
        self.aims = aims = np.arange(both.n_lam)[mine]
        rows = np.setdiff1d(np.arange(both.n_lam), aims)

        def per_row(values: list[Any], dtype: type) -> np.ndarray:
            return np.repeat(
                np.array(values, dtype), np.array([len(t.wanted) for t in wanted], int)
            )

        rate = per_row([t.rate for t in wanted], bool)
        soft = per_row([t.weight is not None for t in wanted], bool)
        self.weight = np.ones(both.n_lam)
        self.weight[aims] = per_row([np.sqrt(t.weight or 1.0) for t in wanted], float)
        self.wanted_rates = np.zeros(both.n_lam)
        self.wanted_rates[aims[rate]] = np.concatenate([[], *(t.wanted for t in wanted if t.rate)])
        # in order of priority
        places = rows[n.lam_kinds[rows] != m.VELOCITY_ROW]
        self.places = [places, aims[~rate & ~soft], aims[~rate & soft]]
        self.rates = [rows, aims[rate & ~soft], aims[rate & soft]]

    def without_forces(self, state: State) -> State:
        """Return a state of the model with the targets: no accelerations, no multipliers."""
        return state.replace(a=np.zeros(self.model.n_v), lam=np.zeros(self.model.n_lam))

    def step(
        self, B: np.ndarray, miss: np.ndarray, levels: list[np.ndarray], damping: float = 0.0
    ) -> np.ndarray:
        """Return the increment that meets the levels, in units of the sizes."""
        w = self.weight
        parts = [(w[i, None] * B[i] * self.size, w[i] * miss[i]) for i in levels]
        return _least(parts, len(self.size), damping)

    def moved(self, state: State, step: np.ndarray) -> State:
        """Return a pose moved along the manifold, no further than by the longest step."""
        step = step * min(1.0, POSE_STEP / max(float(np.abs(step).max()), 1e-300))
        return displaced(self.model, state, step * self.size)

    def closed(self, state: State) -> _TargetPose:
        """Return the nearest pose that satisfies the rows."""
        size = max(1.0, float(self.size.max()))
        for _ in range(12):
            A = self.model.assemble(state)
            B, gap = A.B.toarray(), A.gap
            open_by = float(np.abs(gap[self.places[0]]).max(initial=0.0)) / size
            if open_by < 1e-13:
                break
            state = self.moved(state, self.step(B, gap, self.places[:1]))
        hard, soft = (np.linalg.norm(self.weight[i] * gap[i]) for i in self.places[1:])
        return _TargetPose(
            state, B, gap, float(1e3 * hard + soft) if open_by <= ROWS_MET else np.inf
        )

    def posed(self, state: State) -> State:
        """Return the pose in which the targets are met as well as they can be."""
        best = self._downhill(self.closed(state))
        rng = np.random.default_rng(0)  # the same pushes every time
        for push in TARGET_PUSHES:
            B = best.B[self.places[0]] * self.size
            N = null_space(B, RANK) if len(B) else np.eye(len(self.size))
            met = best.missed <= ROWS_MET * float(self.size.min(initial=1.0))
            if met or not N.size:
                break
            aside = N @ rng.standard_normal(N.shape[1])
            aside *= push / np.abs(aside).max()
            pushed = displaced(self.model, best.state, aside * self.size)
            trial = self._downhill(self.closed(pushed))
            if trial.missed < (1.0 - ROUND_OFF) * best.missed:
                best = trial
        return best.state

    def _downhill(self, now: _TargetPose) -> _TargetPose:
        """Return where damped steps from a pose end: they are short, or miss more."""
        damping = 1e-6
        for _ in range(100):
            step = self.step(now.B, now.gap, self.places, damping)
            if np.abs(step).max() < 1e-12:
                break
            trial, before = self.closed(self.moved(now.state, step)), now.missed
            if trial.missed < before:
                now, damping = replace(trial, state=accepted(self.model, trial.state)), damping / 2
                if trial.missed > (1.0 - ROUND_OFF) * before:
                    break
            else:
                damping *= 4
        return now

    def moving(self, state: State) -> State:
        """Return the state with the velocities nearest to its own that meet rows and targets."""
        work = Workspace(self.model, state)
        work.evaluate()
        rate = work.rates()[0] - self.wanted_rates
        B = self.model.assemble(state).B.toarray()
        return state.replace(v=state.v + self.step(B, rate, self.rates) * self.size)

    def errors(self, state: State) -> dict[str, np.ndarray]:
        """Return what a state has less what is wanted, by target."""
        work = Workspace(self.model, state)
        work.evaluate()
        gap = work.vector(m.X)[self.model.numbering.lam][self.aims]
        rate = (work.rates()[0] - self.wanted_rates)[self.aims]
        ends = np.cumsum([len(t.wanted) for t in self.wanted])
        parts = zip(self.wanted, *(np.split(x, ends) for x in (gap, rate)), strict=False)
        return {t.key: of_rate if t.rate else of_place for t, of_place, of_rate in parts}

    def refuse_missed(self, state: State) -> None:
        """Refuse a state in which a target without a weight is missed."""
        length = float(self.model.F[m.LENGTH])
        speed = max(1.0, float(np.abs(state.v).max(initial=0.0)))
        missed = []
        for t, error in zip(self.wanted, self.errors(state).values(), strict=True):
            size = (length if t.unit == "m" else 1.0) * (speed if t.rate else 1.0)
            if t.weight is None and np.abs(error).max() > ROWS_MET * size:
                unit = t.unit + ("/s" if t.rate else "")
                missed.append(f"{t.key!r} by {np.linalg.norm(error):.6g} {unit}")
        if missed:
            raise ValueError(
                f"assemble_pose: targets are missed: {', '.join(missed)}; ask for what the joints "
                "allow, or give such a target a weight to come as near as possible"
            )


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
    search = _TargetSearch(
        model, [_Target("target_errors", k, v, None, model) for k, v in aims.items()]
    )
    return search.errors(search.without_forces(state))


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
    who = "assemble_pose"
    aims = mapping(who, "targets", targets, "{'hinge.angle': 0.3}")
    soft = mapping(who, "weights", weights, "{'hinge.angle': 0.3}")
    model = model_of(who, system)
    state = state_of(who, model, state)
    for key, weight in soft.items():
        if key not in aims:
            raise ValueError(f"{who}: there is a weight but no target {shown(key)}")
        number(who, f"the weight of {key!r}", weight, "-", positive=True)
    if aims:
        search = _TargetSearch(
            model, [_Target(who, k, v, soft.get(k), model) for k, v in aims.items()]
        )
        state = search.moving(search.posed(search.without_forces(state)))
        search.refuse_missed(state)
        state = state.replace(lam=np.zeros(model.n_lam))
    pose = consistent(model, state, project=True)
    rates = np.abs(pose.v) / model.units
    return pose.replace(v=np.where(rates <= ROUND_OFF * rates.max(initial=0.0), 0.0, pose.v))
