"""``mbd.steady_rotation``: a rotor on a support at rest, loaded and turning, as a start of runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.analyses.equilibrium import PartAtPose
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.base.html_tables import facts, page
from mbd.base.tolerances import LARGEST, REST_BALANCE, ROUND_OFF
from mbd.front.solution import Solution, solution_of
from mbd.integration.consistent import limits, violated, violations
from mbd.model.build import build
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.workspace import Workspace
from mbd.parts.drives import Drive
from mbd.parts.part import Part
from mbd.small_motions.face_maps import test_map
from mbd.small_motions.rotors import Rotor, rotor_of, speed_of
from mbd.statics.balance import Statics, scaled_loads
from mbd.statics.imbalance import LoadSize
from mbd.statics.rotation import Rotation, balanced_rotation, require_steady, rotating
from mbd.statics.search import EquilibriumError

_OTHER_ANGLES = (1.0, 2.7)  # at which forces must be in balance as well [rad]
_SPEEDS, _FARTHEST = 30, 10.0  # that are tried for one without a moment; times the first one


@dataclass(frozen=True, eq=False)
class SteadyRotation:
    """A rotor that turns steadily. ``state["blade"].position`` and the like read its state.

    Attributes
    ----------
    model : Model
    state : State
        A start of runs: pose, velocities, accelerations, multipliers; memories of loads at rest
        with the motion.
    speed : float [rad/s]
    moment : float [N m]
        About the axis, what is left of loads, drives and friction: a brake or generator that takes
        it keeps the speed. Its reaction is part of the pose: without it the support springs back.
        Zero where a row (a ``Drive``) holds the speed, whose load it then is.
    acceleration : float [rad/s^2]
        Which this moment gives the rotor; it is in ``state.a``.
    out_of_balance, loads : LoadSize
        The largest force [N] and moment [N m] on a body that are left of all others, and beside
        which loads these are seen, as of :class:`~mbd.analyses.equilibrium.Equilibrium`.
    iterations : int
    """

    model: Model
    state: State
    speed: float
    moment: float
    acceleration: float
    out_of_balance: LoadSize
    loads: LoadSize
    iterations: int

    @cached_property
    def solution(self) -> Solution:
        """The instant as a Solution."""
        return solution_of(self.model, [self.state], message=self.message)

    @property
    def message(self) -> str:
        """What was found, in words."""
        return (
            f"steady rotation at {self.speed:.8g} rad/s, {self.iterations} iterations; left are "
            f"{self.moment:.3g} N m about the axis, which accelerate it by "
            f"{self.acceleration:.3g} rad/s^2, and {self.out_of_balance}, with loads of "
            f"{self.loads}"
        )

    def __getitem__(self, name: str) -> PartAtPose:
        return PartAtPose(self.solution[name])

    def _repr_html_(self) -> str:
        return page("SteadyRotation", facts(
            speed=f"{self.speed:.8g} rad/s", moment=f"{self.moment:.3g} N m",
            acceleration=f"{self.acceleration:.3g} rad/s^2", out_of_balance=self.out_of_balance,
            loads=self.loads, iterations=self.iterations,
        ))  # fmt: skip

    def __repr__(self) -> str:
        return f"SteadyRotation({self.message})"


def steady_rotation(
    system: System | Model, state: State | None = None, *, rotor: Any, speed: float | None = None,
    axis: Any = None, load_factor: float = 1.0, scaled: Iterable[str] | None = None,
    max_iterations: int = 100,
) -> SteadyRotation:  # fmt: skip
    """Return the state in which a rotor turns steadily on a support at rest, under its loads.

    Blades are stretched and bent, the support is as the loads and the rotor leave it, what loads
    remember (a wake) is at rest with the motion. Equation :eq:`statics` of the theory page.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where the search starts; default the described pose.
    rotor : str, or iterable of str
        The joint about whose axis the rotor turns, or the bodies that turn, with an ``axis``.
    speed : float [rad/s], optional
        About the axis, which points as that of the joint does. Default: near that of the ``state``,
        the one at which all moments about the axis are in balance, as those of wind and generator.
    axis : (3,) array [-], optional
        Through the centre of mass of the first body, where ``rotor`` names bodies; default z.
    load_factor : float [-]
        Of gravity and of all point forces and moments; 1 for the loads as described.
    scaled : iterable of str, optional
        Which loads the factor scales, by name, "gravity" for the weight; default all.
    max_iterations : int

    Returns
    -------
    SteadyRotation

    Raises
    ------
    ValueError
        If the rotation is not steady: weight across the axis, a wind or springs that are not the
        same all around it, a drive of another speed.
    EquilibriumError
        If forces are not in balance at any pose nearby, or at any speed.
    """
    owner = "steady_rotation"
    model, start, hub = named_rotor(owner, system, state, rotor, axis)
    names = scaled_loads(owner, model, scaled)
    factor = number(owner, "load_factor", load_factor, "-")
    most = whole(owner, "max_iterations", max_iterations, 1)
    if speed is None:
        omega = _turns(owner, speed_of(model, state_of(owner, model, state), hub), True)
    else:
        omega = _turns(owner, number(owner, "speed", speed, "rad/s"), False)
    free = rotating(model, hub, omega, names)
    held = _held(free, start, rotor)
    start = _over(model, start, held.model)
    if speed is not None:
        rotation = _at_speed(owner, held, start, factor, most)
    elif held is free:
        raise ValueError(
            f"{owner}: no speed can be found where a row holds the rotor, or where it is named by "
            "its bodies; give speed= [rad/s]"
        )
    else:
        rotation = _without_moment(owner, held, start, factor, most)
    if held is free:
        _require_rates(owner, rotation)
        return _told(model, rotation, 0.0)
    return _told(model, rotation, _moment(rotation))


def _held(problem: Statics, start: State, joint: Any) -> Statics:
    """Return the problem with a brake in the joint of the rotor, where no row holds its angle."""
    model, rotor = problem.model, problem.rotor
    assert rotor is not None
    name = joint.name if isinstance(joint, Part) else joint
    if not isinstance(name, str) or name not in model.system.joints:
        return problem
    turn, B = problem.at_speed(1.0).moving(start).v, problem.at(start, 1.0).B
    size = (abs(B) @ np.abs(turn)).max(initial=0.0)
    if (np.abs(B @ turn) > ROUND_OFF**0.5 * size).any():
        return problem
    braked = model.system.frozen()
    brake = f"{name} brake"
    while brake in braked:
        brake += "_"
    braked.add(Drive(brake, braked.joints[name].angle, velocity=0.0))  # type: ignore[attr-defined]
    return rotating(build(braked), rotor, problem.speed, problem.scaled)


def _over(model: Model, state: State, other: Model) -> State:
    """Return a state of a model with or without brake for the one without or with it."""
    if other is model:
        return state
    lam = np.resize(np.append(state.lam, 0.0), other.n_lam) if other.n_lam else state.lam[:0]
    if state.memory is None:
        return state.replace(lam=lam)
    kept = dict(zip(_counted(model.remembered), state.memory, strict=True))
    last = dict(zip(model.remembered, state.memory, strict=True))  # of angles, wherever they are
    taken = [kept.get(x, last.get(x[0], 0.0)) for x in _counted(other.remembered)]
    return state.replace(lam=lam, memory=np.array(taken))


def _counted(labels: Sequence[str]) -> list[tuple[str, int]]:
    """Return labels with how many of the same there were before."""
    return [(x, labels[:i].count(x)) for i, x in enumerate(labels)]


def _moment(rotation: Rotation) -> float:
    """Return the moment about the axis that the brake takes, with its sign turned."""
    return float(
        rotation.state.lam[rotation.model.rows_of([list(rotation.model.system.forces)[-1]])][0]
    )


def _at_speed(owner: str, held: Statics, start: State, factor: float, most: int) -> Rotation:
    """Return the rotation at the speed of the problem; refuse one that is not steady."""
    rotation = balanced_rotation(held, start, factor, most)
    require_steady(owner, rotation)
    for angle in _OTHER_ANGLES:
        require_steady(owner, rotation.turned(angle), angle)
    return rotation


def _without_moment(owner: str, held: Statics, start: State, factor: float, most: int) -> Rotation:
    """Return the steady rotation at a speed nearby at which no moment is left about the axis.

    By secants from the speed of the problem; poses follow.
    """
    speed = held.speed * (1.0 + ROUND_OFF**0.25)
    before = _at_speed(owner, held, start, factor, most)
    for _ in range(_SPEEDS):
        now = balanced_rotation(held.at_speed(speed), before.state, factor, most)
        moment, slope = _moment(now), _moment(now) - _moment(before)
        change = moment * (before.speed - now.speed) / slope if slope else np.inf
        small = abs(moment) <= REST_BALANCE * now.imbalance.loads.moment
        if small and abs(change) <= ROUND_OFF**0.5 * abs(speed):
            return now
        if not 0.0 < (speed + change) / held.speed < _FARTHEST:
            break
        before, speed = now, speed + change
    raise EquilibriumError(
        f"{owner}: no speed found near {held.speed:g} rad/s at which moments about the axis are in "
        f"balance; at {now.speed:g} rad/s {moment:.3g} N m are left",
        start,
    )


def _require_rates(owner: str, rotation: Rotation) -> None:
    """Refuse velocities that rows do not allow."""
    work = Workspace(rotation.model, rotation.state)
    _, rates = violations(work)
    if named := violated(rotation.model, rates, limits(work)[1], rate=True):
        raise ValueError(
            f"{owner}: the rotor cannot turn at {rotation.speed:g} rad/s, its velocities violate "
            f"constraints: {named}; drives must have its speed"
        )


def _turns(owner: str, speed: float, described: bool) -> float:
    """Return a speed that is one."""
    if abs(speed) * LARGEST > 1.0:
        return speed
    if described:
        raise ValueError(
            f"{owner}: a speed at which moments are in balance is sought from that of the state, "
            f"which is {speed:g} rad/s; give the rotor velocities, or speed= [rad/s]"
        )
    raise ValueError(
        f"{owner}: speed must be a rate at which it turns [rad/s], got {speed:g}; of a rotor at "
        "rest take mbd.equilibrium"
    )


def _told(model: Model, rotation: Rotation, moment: float) -> SteadyRotation:
    """Return what was found, without the brake."""
    left, state, acceleration = rotation.imbalance, rotation.state, 0.0
    if moment:
        turn = state.v / rotation.speed
        by_force = test_map(rotation.model, state) @ turn
        acceleration = moment / float(by_force @ (rotation.model.assemble(state).M @ turn))
        state = state.replace(a=state.a + acceleration * turn)
    state = _over(rotation.model, state, model)
    return SteadyRotation(
        model,
        state,
        rotation.speed,
        moment,
        acceleration,
        left.largest,
        left.loads,
        rotation.iterations,
    )


def named_rotor(
    owner: str, system: System | Model, state: State | None, rotor: Any, axis: Any
) -> tuple[Model, State, Rotor]:
    """Return the model, where the search for the rotation starts, and the rotor."""
    model = model_of(owner, system)
    start = state_of(owner, model, state)
    zero = np.zeros(model.n_v)
    start = start.replace(v=zero, a=zero, alg=None)
    return model, start, rotor_of(owner, model, start, rotor, axis)
