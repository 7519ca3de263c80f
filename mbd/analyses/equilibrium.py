"""``mbd.equilibrium``: poses in balance, at rest or in a turning frame."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, Literal

import numpy as np

from mbd.algebra.norms import norms
from mbd.analyses.stability import Stability, stability
from mbd.base.checked import mapping, one_of, shown, whole
from mbd.base.door import number, vector
from mbd.base.html_tables import facts, page, table
from mbd.front.solution import Solution, solution_of
from mbd.history.beams import beyond_limits
from mbd.history.trajectory import Trajectory
from mbd.integration.consistent import consistent, limits, violated, violations
from mbd.interactions.motion_loads import settles
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.values import declared
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.small_motion import SmallMotion, small_motion
from mbd.statics.balance import Statics, accepted, least_multipliers, scaled_loads
from mbd.statics.imbalance import LoadSize, largest_forces
from mbd.statics.load_path import along_a_valley, along_the_load, follow
from mbd.statics.search import EquilibriumError, SearchResult, descend, nearest
from mbd.statics.steady_motion import turned_on, turns_with

_MOST_STEPS = 1_000_000
_FEW = 20  # steps of a search in a frame with which forces at the start do not turn
_WRONG_FRAME = (
    "forces must turn with the frame: springs, supports and loads must be the same all around the "
    "axis, rotating= [rad/s] and about= [m]"
)
WAKES = ("frozen", "equilibrium")


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A pose in balance. ``eq["hinge"].force`` and the like read it as a Solution is read.

    Attributes
    ----------
    model : Model
    state : State
        With the multipliers; velocities and accelerations are those of the frame.
    load_factor : float
    iterations : int
    stable : bool
    stiffness : float [1/s^2]
        Smallest eigenvalue of the stiffness on the motions that the rows allow, against the mass:
        the square of the slowest frequency where nothing turns. Negative: unstable. Free motions
        are left out.
    free : tuple of str
        Bodies with a motion that nothing resists.
    out_of_balance : LoadSize
        The largest ``.force`` [N] and ``.moment`` [N m] about its origin out of balance on a body.
        Above 1e-6 of the loads there is no equilibrium, unless it is what round-off of the
        positions and of the forces that act makes of it.
    loads : LoadSize
        Beside which these are seen: the largest on a body of weight, applied loads and forces of
        steady rotation together, a force times the model's length being a moment; of the forces of
        springs and joints where there are no loads.
    message : str
    path : tuple of Equilibrium
        The equilibria passed on the way, this one last.
    """

    model: Model
    state: State
    load_factor: float
    iterations: int
    stable: bool
    stiffness: float
    free: tuple[str, ...]
    out_of_balance: LoadSize
    loads: LoadSize
    message: str
    rotating: np.ndarray = field(default_factory=lambda: np.zeros(3))
    path: "tuple[Equilibrium, ...]" = ()

    @property
    def lam(self) -> np.ndarray:
        """Multipliers, (n_lam,)."""
        return self.state.lam

    @cached_property
    def solution(self) -> Solution:
        """The pose as a Solution of one instant."""
        return solution_of(self.model, [self.state], message=self.message)

    def __getitem__(self, name: str) -> "PartAtPose":
        return PartAtPose(self.solution[name])

    def _repr_html_(self) -> str:
        nodes = self.model.nodes
        return page(
            repr(self),
            facts(stable=self.stable, stiffness=f"{self.stiffness:.6g} 1/s^2",
                  load_factor=float(self.load_factor), iterations=self.iterations,
                  free=", ".join(self.free),
                  out_of_balance=f"{self.out_of_balance.force:.3g} N, "
                                 f"{self.out_of_balance.moment:.3g} N m"),
            table("pose", ("body", "x [m]", "y [m]", "z [m]"),
                  ((name, *self[name].position.tolist()) for name in list(nodes)[:21])),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Equilibrium({self.message})"


class PartAtPose:
    """Quantities of a body or joint at one instant: those of a Solution, without time."""

    def __init__(self, history: Any, instant: int = 0) -> None:
        self._history, self._instant = history, instant

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _at(getattr(self._history, name), self._instant)

    def __getitem__(self, name: Any) -> Any:
        return _at(self._history[name], self._instant)

    def __dir__(self) -> list[str]:
        return [n for n in dir(self._history) if not n.startswith("_")]


def _at(value: Any, instant: int) -> Any:
    if isinstance(value, np.ndarray):
        return value[instant] if value.ndim else value
    if callable(value):
        return lambda *args, **options: _at(value(*args, **options), instant)
    if isinstance(value, dict):  # of the nodes of a part
        return {name: _at(x, instant) for name, x in value.items()}
    return value if isinstance(value, str | float | int | bool) else PartAtPose(value, instant)


def equilibrium(
    system: System | Model, state: State | None = None, *,
    seek: Literal["minimum", "nearest"] = "minimum", load_factor: float = 1.0, load_steps: int = 1,
    arc_length: float | None = None, scaled: Iterable[str] | None = None, t: float | None = None,
    rotating: Any = None, about: Any = (0.0, 0.0, 0.0), spins: Mapping[str, Any] | None = None,
    max_iterations: int = 200,
) -> Equilibrium:  # fmt: skip
    """Return a pose in which all forces are in balance.

    Equations :eq:`statics`, :eq:`descent` and :eq:`arc` of the theory page.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Where to start; default the described pose. Its velocities are not used.
    seek : {"minimum", "nearest"}
        Go downhill to a stable equilibrium, or take the one that Newton's method finds nearby,
        stable or not.
    load_factor : float [-]
        Of gravity and of all point forces and moments; 1 for the loads as described.
    load_steps : int
        Reach the load factor in so many equal steps from 0; ``.path`` has the steps.
    arc_length : float [-], optional
        Follow the path of equilibria from load factor 0, also backwards past limit points, in
        steps of this length: displacements over the model's length, turns in radians and the load
        factor count alike. Ends where the path first meets ``load_factor``.
    scaled : iterable of str, optional
        Which loads the factor scales, by name, "gravity" for the weight; default all.
    t : float [s], optional
        Time at which laws of time are taken; default that of the state.
    rotating : (3,) array [rad/s], optional
        Rate of a frame in which the pose shall be at rest: steady rotation.
    about : (3,) array [m]
        A point on its axis.
    spins : dict of (3,) arrays [rad/s], optional
        Spin of bodies inside the frame, by name, in body axes: about an axis of symmetry.
    max_iterations : int

    Returns
    -------
    Equilibrium

    Raises
    ------
    EquilibriumError
        A RuntimeError that names what is out of balance; ``.state`` is where the search ended.

    """
    one_of("equilibrium", "seek", seek, ("minimum", "nearest"))
    load_steps = whole("equilibrium", "load_steps", load_steps, 1)
    max_iterations = whole("equilibrium", "max_iterations", max_iterations, 1)
    if load_steps > _MOST_STEPS:
        raise ValueError(
            f"equilibrium: load_steps must not exceed {_MOST_STEPS}, got {load_steps}; each is an "
            "equilibrium that is kept"
        )
    target = number("equilibrium", "load_factor", load_factor, "-")
    model = model_of("equilibrium", system)
    problem, omega = _problem(model, scaled, rotating, about, spins)
    start = _start(model, state, t)
    if arc_length is not None:
        if load_steps != 1:
            raise ValueError(
                f"equilibrium: give load_steps or arc_length, got both ({load_steps} and "
                f"{shown(arc_length)}); the path chooses its load factors itself"
            )
        ds = number("equilibrium", "arc_length", arc_length, "-", positive=True)
        points = follow(problem, start, target, ds, int(max_iterations))
        results = [(f, x, stability(problem, x.balance)) for f, x in points]
    else:
        results = []
        alike = not problem.turning or _may_turn(problem, start, target)
        if not alike:  # maybe at the pose that is sought
            seek, max_iterations = "nearest", min(max_iterations, _FEW)
        for factor in np.linspace(0.0, target, int(load_steps) + 1)[1:]:
            try:
                result, held = _sought(problem, seek, start, float(factor), max_iterations)
            except EquilibriumError as error:
                if not alike:
                    raise EquilibriumError(
                        f"{error}; {_WRONG_FRAME}", error.state, tried=error.tried
                    ) from error
                if beyond := _beyond(model, error.state, *error.tried):
                    raise EquilibriumError(f"{error}; {beyond}", error.state) from error
                raise
            results.append((float(factor), result, held))
            start = result.balance.state
    path: list[Equilibrium] = []
    _check_frame(problem, results[-1][1].balance.state, results[-1][0])
    for factor, result, held in results:
        path.append(_equilibrium(problem, omega, result, held, factor, tuple(path)))
    if beyond := _beyond(model, path[-1].state):
        object.__setattr__(path[-1], "message", f"{path[-1].message}; warning: {beyond}")
        warnings.warn(f"equilibrium: {beyond}", RuntimeWarning, stacklevel=3)
    return path[-1]


def _beyond(model: Model, *states: State) -> str:
    """Return what elements of beams and flexible bodies cannot do at some poses, or nothing."""
    t, *numbers = (np.array([getattr(x, y) for x in states]) for y in ("t", "q", "v", "a", "lam"))
    return beyond_limits(Trajectory(model, t, *numbers, last=states[-1]))


def _problem(
    model: Model, scaled: Any, rotating: Any, about: Any, spins: Any
) -> tuple[Statics, np.ndarray]:
    """Check what is scaled and the frame."""
    names = scaled_loads("equilibrium", model, scaled)
    omega = (
        np.zeros(3) if rotating is None else vector("equilibrium", "rotating", rotating, "rad/s")
    )
    point = vector("equilibrium", "about", about, "m")
    own: dict[str, np.ndarray] = {}
    for name, spin in mapping("equilibrium", "spins", spins, "{'wheel': (0, 0, 9)}").items():
        if name not in model.bodies or not model.nodes[name].formulation.axes:
            rigid = [n for n, b in model.nodes.items() if b.formulation.axes]
            raise ValueError(
                f"equilibrium: spins must name rigid bodies, got {shown(name)}; there are "
                f"{', '.join(rigid)}"
            )
        own[name] = vector("equilibrium", f"spins[{shown(name)}]", spin, "rad/s")
    return Statics(model, names, omega, point - model.origin, own), omega


def _may_turn(problem: Statics, start: State, factor: float) -> bool:
    """Tell whether at the start rows and forces let the pose turn with the frame."""
    work = Workspace(problem.model, problem.moving(start))
    sizes = zip(violations(work), limits(work), strict=True)
    open_, fast = (bool((np.abs(x) > most).any()) for x, most in sizes)
    return (open_ or not fast) and turns_with(problem, start, factor)


def _check_frame(problem: Statics, state: State, factor: float) -> None:
    """Refuse a frame with which the rows do not let the pose turn, or forces do not turn.

    Turned on, the pose must still be in balance, at the time that is asked for or at that when it
    is there.
    """
    if not problem.turning:
        return
    model, moving = problem.model, problem.moving(state)
    _, rates = violations(Workspace(model, moving))
    if named := violated(model, rates, limits(Workspace(model, moving))[1], rate=True):
        raise ValueError(
            "equilibrium: the pose cannot turn with the frame, for velocities of the frame violate "
            f"constraints: {named}; give rotating= [rad/s] and about= [m] along the axis of the "
            "joint that lets it turn"
        )
    turned = turned_on(small_motion(model, moving, problem.omega))
    for pose in (turned, turned.replace(t=state.t)):
        balance = least_multipliers(problem.at(pose, factor), problem.scale)
        left = problem.imbalance(balance, factor)
        if left.balanced:
            return
    raise ValueError(
        "equilibrium: the pose cannot turn with the frame, for forces do not turn with it: turned "
        f"on it is out of balance by {left.largest}, most at "
        f"{largest_forces(model, balance.residual, 1)}, with loads of "
        f"{left.loads}; {_WRONG_FRAME}"
    )


def _start(model: Model, state: State | None, t: float | None) -> State:
    """Return where the search begins."""
    start = state_of("equilibrium", model, state)
    zero = np.zeros(model.n_v)
    time = start.t if t is None else number("equilibrium", "t", t, "s")
    return start.replace(t=time, v=zero, a=zero, lam=np.zeros(model.n_lam), alg=None)


def _sought(
    problem: Statics, seek: str, start: State, factor: float, most: int
) -> tuple[SearchResult, Stability]:
    """Return the equilibrium nearby, or a stable one: nearby, by the load, or downhill."""
    if seek == "nearest":
        result = nearest(problem, start, factor, most)
        return result, stability(problem, result.balance)
    by_load = cache(partial(along_the_load, problem, start, factor, most))
    lost: EquilibriumError | None = None
    try:
        result = descend(problem, start, factor, most, by_load)
    except EquilibriumError as error:  # as where a motion meets next to no stiffness
        lost = error
        try:
            result = nearest(problem, start, factor, most)
        except EquilibriumError:
            raise lost from None
    held = stability(problem, result.balance)
    if held.downhill is not None and (other := by_load()) is not None:
        result, held = other, stability(problem, other.balance)
    result, held = _settled(problem, result, held, factor, most)
    if lost is not None and not held.stable:
        raise lost
    return result, held


def _settled(
    problem: Statics, result: SearchResult, held: Stability, factor: float, most: int
) -> tuple[SearchResult, Stability]:
    """Go on downhill from an equilibrium that is unstable, along what is unstable there.

    Where that leads to no other one, the unstable one is what was found.
    """
    part = 0.02
    while held.downhill is not None and result.iterations < most:
        lower = None
        if not problem.turning:
            lower = along_a_valley(problem, result.balance, held.downhill, factor, most)
        if lower is None:
            away = part * held.downhill / float(np.abs(held.downhill).max())
            start = displaced(problem.model, result.balance.state, away)
            try:
                lower = descend(problem, start, factor, most)
            except EquilibriumError:
                break
        result = replace(lower, iterations=result.iterations + max(1, lower.iterations))
        held, part = stability(problem, result.balance), 1.5 * part
    return result, held


def _equilibrium(
    problem: Statics, omega: np.ndarray, result: SearchResult, verdict: Stability, factor: float,
    passed: tuple[Any, ...],
) -> Equilibrium:  # fmt: skip
    """Return the pose with its stability and its message, memories at rest there."""
    stability = "stable" if verdict.stable else "unstable"
    free = f"; free motion of {', '.join(map(repr, verdict.free))}" if verdict.free else ""
    where = f" in a frame turning at {float(norms(omega)):g} rad/s" if omega.any() else ""
    rest = result.imbalance
    message = (
        f"{stability} equilibrium at load factor {factor:g}{where}, {result.iterations} iterations"
        f"{free}; out of balance are {rest.largest}, with loads of {rest.loads}"
    )
    pose = Equilibrium(
        problem.model, accepted(problem.model, result.balance.state), factor, result.iterations,
        verdict.stable, verdict.stiffness, verdict.free, rest.largest, rest.loads, message, omega,
    )  # fmt: skip
    object.__setattr__(pose, "path", (*passed, pose))
    return pose


def remembers_at_rest(model: Model) -> bool:
    """Tell whether loads of a model have memories that come to rest with a pose."""
    return any(settles(e) for part in model.system.parts for e in declared(model, part).elements)


def base_motion(
    owner: str, system: System | Model | Equilibrium, state: State | None, rotating: Any,
    wake: str = "frozen",
) -> SmallMotion:  # fmt: skip
    """Return the small motions about a state, with consistent accelerations and multipliers.

    With an equilibrium wake the memory of loads that settle is brought to rest there.
    """
    if isinstance(system, Equilibrium):
        if state is not None:
            raise TypeError(f"{owner}: an equilibrium has its state; leave out state=")
        model, state = system.model, system.state
        rotating = system.rotating if rotating is None else rotating
    else:
        expected = "a System, a Model or what mbd.equilibrium returned"
        model = model_of(owner, system, expected=expected)
        state = state_of(owner, model, state)
    omega = np.zeros(3) if rotating is None else vector(owner, "rotating", rotating, "rad/s")
    follows = wake_follows(owner, model, wake)
    state = accepted(model, state) if follows else state
    return small_motion(model, consistent(model, state), omega, follows)


def wake_follows(owner: str, model: Model, wake: str) -> bool:
    """Tell whether memories of loads follow small motions; there must be some that do."""
    follows = one_of(owner, "wake", wake, WAKES) == "equilibrium"
    if follows and not remembers_at_rest(model):
        raise ValueError(
            f"{owner}: wake='equilibrium' is of loads with a memory that settles, of which there "
            "are none; give a SectionLoad memory=, accept= and settles=True, or leave it out"
        )
    return follows
